"""`make train`: a small GPT, trained with the learner's own attention kernels next to PyTorch's attention.

Nothing is judged here. The learner's text runs in this process as it would if they ran their file.
"""
