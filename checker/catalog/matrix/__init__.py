"""Kernels that read a matrix as a softmax does, and write sums of rows or the transpose."""
