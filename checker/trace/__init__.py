"""What a kernel does to memory, as pictures: made of the accesses that the sandbox has recorded."""
