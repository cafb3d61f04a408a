"""What leaves this repository: the built files, the students' archive, the autograder for Gradescope, the site."""
