"""What leaves this repository: built files, the students' archive, the wheel, an autograder for Gradescope, the site."""
