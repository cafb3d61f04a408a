"""What runs behind the wall, beside the submission.

It imports `protocol`, NumPy and Triton; on a GPU, and for programs that are PyTorch, torch.
"""
