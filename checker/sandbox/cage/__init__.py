"""Isolation of a sandbox in grading: namespaces, users of their own, a view of the disk with almost nothing in it."""
