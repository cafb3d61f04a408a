"""The text of a kernel: what it assigns and calls, which line plays which part, what no case has entered."""
