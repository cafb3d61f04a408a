"""A puzzle's kernels as text, from a file, a notebook or cells: nothing is ever executed."""
