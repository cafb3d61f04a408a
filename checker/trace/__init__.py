"""Pictures of a kernel's memory accesses, made of the sandbox's records."""
