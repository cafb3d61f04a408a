"""A bank of questions on a puzzle's wrong kernels: for Moodle, and as notebooks to hand out or print."""
