"""What is wrong with the text of a submission: one shape for all of it, whoever finds it."""

from __future__ import annotations

from dataclasses import dataclass

from checker.course.words import Page

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


class Problems(Page):
    """Makes problems of the words in one file, by their keys: the title is the sentence, and a hint may be missing."""

    needed = ("title",)

    def __call__(self, key: str, *, compiles: bool = True, **holes: str) -> Problem:
        """The problem of this key, with its holes filled in. Raises LookupError as `said` does."""
        words = self.said(key, holes)
        return Problem(key.partition("/")[0], words.title, words.hint or KEEP, compiles)


class NotASubmission(Exception):
    """The text is not what the puzzle asks for, so there is no program in it."""

    def __init__(self, id: str, sentence: str, hint: str, line: int = 0):
        super().__init__(sentence)
        self.problem = Problem(id, sentence, hint, line=line)
