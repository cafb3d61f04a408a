"""What puzzles about a product of matrices share, C = A Bᵀ."""
