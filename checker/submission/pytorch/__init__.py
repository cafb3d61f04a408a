"""The allow-list of PyTorch: every name, and every form of syntax, that a function of a student's may use."""
