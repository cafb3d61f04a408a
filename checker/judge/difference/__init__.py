"""Where a kernel first differs from the solution, computed from recordings of both: no mistake has to be known."""
