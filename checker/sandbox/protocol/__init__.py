"""What both sides of the wall share: frames, record codes, results, and the random numbers of `tl.rand`."""
