"""From what came out of the box to a `Verdict`, by trusted code only."""
