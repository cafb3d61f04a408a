"""First differences of a kernel from the solution, computed from recordings of both: no mistake has to be known."""
