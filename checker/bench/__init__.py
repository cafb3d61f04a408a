"""How fast is a kernel, how far from the limit, and from what people use? Measured on a GPU, or predicted without."""
