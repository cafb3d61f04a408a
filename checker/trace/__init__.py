"""What a kernel does to memory, as pictures: made of the accesses that the box has recorded."""
