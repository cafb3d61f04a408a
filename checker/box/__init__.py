"""Where untrusted code runs.

`parent`, `compiling` and `results` stay on the trusted side: they start the children, feed them data
and read their bytes back. `child`, `interpreter`, `memory`, `cuda` and `compiler` run inside, under
`seccomp`'s filter. In grading a `cage` is around them: `visible` is what it shows, `slots` and `groups`
are whose it is, `probe` looks whether it holds. Nothing in here imports any other room of the project,
so nothing the judge knows can be found from inside.
"""
