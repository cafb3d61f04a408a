"""From what came out of the box to a `Verdict`. Trusted code only; runs after every child has ended."""
