"""Help for a learner: hints, progress, the solution after success, the stub again, a check on every save."""
