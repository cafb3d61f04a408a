"""What a puzzle, a case and a verdict are; the list of puzzles, the format of a lesson, where files lie, how they are saved."""
