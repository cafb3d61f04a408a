"""What is wrong with the text of a submission: one shape for all of it, whoever finds it."""

from __future__ import annotations

from dataclasses import dataclass

KEEP = (
    "The lessons get by with arithmetic, comparisons, `for`, and functions of tl or torch. Which of these does what "
    "you need?"
)


@dataclass(frozen=True)
class Problem:
    """One thing that is not accepted: what it is, what to do instead, and where."""

    id: str
    sentence: str
    hint: str = KEEP
    compiles: bool = True  # False: no GPU will run it
    line: int = 0  # of the submission's text; 0: it is about no line


class NotASubmission(Exception):
    """The text is not what the puzzle asks for, so there is no program in it."""

    def __init__(self, id: str, sentence: str, hint: str, line: int = 0):
        super().__init__(sentence)
        self.problem = Problem(id, sentence, hint, line=line)
