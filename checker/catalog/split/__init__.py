"""Puzzle b3: attention split along the keys, and the merge of its parts."""
