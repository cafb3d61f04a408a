"""What the autograders for services that students hand in to have in common; the form of each lies beside this."""
