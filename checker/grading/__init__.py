"""Grading for a course: the key, the records, and what nbgrader loads. The student's bundle leaves this out."""
