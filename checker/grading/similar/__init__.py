"""Submissions that share passages which few others have: for an instructor to look at, and no judgement."""
