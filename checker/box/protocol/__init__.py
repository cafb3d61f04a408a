"""What both sides of the wall share: frames, record codes, results."""
