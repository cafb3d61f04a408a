"""The end of a command: its exit status, and the sentence if it was misused."""

from __future__ import annotations

from enum import IntEnum

from checker.course.clean import clean

TRACEBACK_VARIABLE = "CHECKER_TRACEBACK"  # set in the environment: show where the checker itself has failed


class ExitStatus(IntEnum):
    """Exit status of the command line; of several puzzles, the worst."""

    ACCEPTED = 0
    REFUSED = 1
    MISUSED = 2
    FAULT = 3
    NOT_STARTED = 4  # or nothing of a whole file could be judged
    INTERRUPTED = 130


class Ended(SystemExit):
    """A signal has ended the command, and nothing else has: whoever takes a SystemExit for a library's lets this by."""


class Misuse(Exception):
    """The command was used wrongly: a sentence, and nothing was checked.

    The sentence may name a file, and a file may be named by its author: no terminal shall obey its name.
    """

    def __init__(self, sentence: str):
        super().__init__(clean(sentence))
