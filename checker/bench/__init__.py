"""Speed of a kernel next to the hardware's limit and to common implementations, measured or predicted."""
