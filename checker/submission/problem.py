"""Problems in the text of a submission: one class for all of them, whoever finds them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from checker.course.words import Page

KEEP = (
    "The lessons get by with arithmetic, comparisons, `for`, and functions of tl or torch. Which of these does what "
    "you need?"
)


@dataclass(frozen=True)
class Problem:
    """One problem of a submission, with the remedy and the place."""

    id: str
    sentence: str
    hint: str = KEEP
    compiles: bool = True  # False: no GPU will run it
    line: int = 0  # of the submission's text; 0: it is about no line


class Problems(Page):
    """Makes problems of the words in one file, by their keys: the title is the sentence, and a hint may be missing."""

    needed = ("title",)

    def __init__(self, module: str, uncompilable: tuple[str, ...] = (), alike: Mapping[str, str] | None = None):
        """`uncompilable`: ids and keys of what no GPU will run. `alike`: forms that have another's words."""
        super().__init__(module)
        self.uncompilable = {*uncompilable}
        self.alike = alike or {}

    def __call__(self, key: str, **holes: str) -> Problem:
        """Return the problem of this key, with its holes filled in. Raises LookupError as `said` does."""
        words, id = self.said(key, holes), key.partition("/")[0]
        return Problem(id, words.title, words.hint or KEEP, self.uncompilable.isdisjoint({id, key}))

    def by_word(self, keys: Mapping[str, str]) -> dict[str, Problem]:
        """Return the sentence on each word, from keys that are words with blanks between them."""
        return {word: self(key) for key, words in keys.items() for word in words.split()}

    def of_form(self, name: str) -> Problem:
        """Return the sentence on a form of syntax by its name in `ast`, such as IsNot; or that it has no place."""
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", self.alike.get(name, name)).lower()
        keys = (f"syntax/{words}", f"not-a-kernel/{words}")
        return next((self(key) for key in keys if key in self.words), self("syntax/misplaced", word=name))


class NotASubmission(Exception):
    """The text is not what the puzzle asks for, so there is no program in it."""

    def __init__(self, id: str, sentence: str, hint: str, line: int = 0):
        super().__init__(sentence)
        self.problem = Problem(id, sentence, hint, line=line)
