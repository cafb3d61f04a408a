"""Puzzles p1 to p4: a softmax of each row of x, written to y."""
