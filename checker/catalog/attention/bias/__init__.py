"""Attention with a bias on its scores, and the gradient of that bias."""
