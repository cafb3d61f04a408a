"""The judge for a notebook, in a process of its own."""
