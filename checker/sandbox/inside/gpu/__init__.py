"""Kernels on a real GPU: memory and launches by the driver, without PyTorch."""
