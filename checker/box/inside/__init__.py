"""What runs behind the wall, beside the submission. It imports `protocol`, NumPy and Triton; on a GPU, torch."""
