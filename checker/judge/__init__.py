"""Judging of the sandbox's results, by trusted code only."""
