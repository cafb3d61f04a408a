"""The command line: a file has the verbs of one kind of reader, or of one need."""
