"""What is built from the puzzles: notebooks, and the README's table."""
