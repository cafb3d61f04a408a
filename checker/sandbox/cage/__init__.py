"""What holds a sandbox in grading: namespaces, users of their own, and a view of the disk with almost nothing in it."""
