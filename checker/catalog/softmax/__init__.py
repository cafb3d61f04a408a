"""Puzzles 1 to 4: a softmax of each row of x, written to y."""
