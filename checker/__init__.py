"""The judge of the course: one straight road from a submission to a verdict.

    submission ──▶ submission/ ──▶ box/ ──▶ judge/ ──▶ Verdict ──▶ report/

`checker.check` walks it; everything else is a room along it.
"""

__version__ = "0.1.0"
