"""Products of this repository: built files, the students' archive, the wheel, Gradescope's autograder, the site."""
