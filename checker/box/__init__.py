"""Where untrusted code runs.

`parent` and `results` stay on the trusted side: they start the child, feed it data and read its
bytes back. `child`, `interpreter`, `memory` and `seccomp` run inside. Nothing in here imports any
other room of the project, so nothing the judge knows can be found from inside.
"""
