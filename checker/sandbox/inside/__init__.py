"""The side of the sandbox on which the submission runs.

It imports `protocol`, NumPy and Triton; for programs that are PyTorch, torch.
"""
