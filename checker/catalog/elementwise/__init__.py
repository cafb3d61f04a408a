"""Puzzles about vectors: one program per block of elements, `x_ptr` and `y_ptr` in, `z_ptr` out."""
