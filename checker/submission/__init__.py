"""From a file, a notebook or cells to the kernels of a puzzle, as text: nothing is ever executed."""
