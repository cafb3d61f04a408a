"""Puzzles about a product of matrices, C = A Bᵀ."""
