"""Code for both sides of the wall: frames, record codes, results, and the random numbers of `tl.rand`."""
