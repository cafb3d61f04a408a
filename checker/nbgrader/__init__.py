"""The course in nbgrader: assignments, autograding by the judge, the gradebook and what it exports."""
