"""Rung a3 and puzzles 5 to 7: attention in tiles, forward and backward."""
