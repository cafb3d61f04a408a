"""Softmax and attention as anybody may write them: cases, references and ideas are those of the puzzles."""
