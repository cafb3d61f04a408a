"""What this machine can do for the course, what is missing, and how to get it."""
