"""A puzzle on Classroom 50: the folder of its autograder, and what it does there with a submission."""
