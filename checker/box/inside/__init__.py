"""What runs behind the wall, beside the submission.

It imports `protocol`, NumPy and Triton; for programs that are PyTorch, torch.
"""
