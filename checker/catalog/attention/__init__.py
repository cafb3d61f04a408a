"""Puzzles 5 to 7: attention in tiles, forward and backward."""
