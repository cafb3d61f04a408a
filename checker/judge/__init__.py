"""From what came out of the sandbox to a `Verdict`, by trusted code only."""
