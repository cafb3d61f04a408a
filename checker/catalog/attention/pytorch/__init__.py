"""Attention as a function in PyTorch: forward, backward, and of autograd by kernels."""
