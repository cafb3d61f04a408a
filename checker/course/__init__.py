"""Puzzle, case, verdict; the list of puzzles, the format of a lesson, where files lie, how they are saved."""
