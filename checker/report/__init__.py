"""Verdicts for people and for machines. Every report is a function of a `Verdict` and nothing else."""
