"""Wrong kernels made by machine: change one thing in a solution, and the judge must refuse it."""
