"""Which submissions have in common what few others have: for an instructor to look at, and no judgement."""
