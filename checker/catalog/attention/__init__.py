"""Attention in tiles: launches and references here; forward, backward, bias, dropout and PyTorch in their folders."""
