"""What runs behind the wall, next to the submission.

It imports `protocol`, NumPy and Triton; for programs that are PyTorch, torch.
"""
