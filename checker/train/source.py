"""The learner's text that runs here, and where in it something went wrong."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from pathlib import Path

from checker.course.status import TRACEBACK_VARIABLE
from checker.submission.read import Submission

_RUNNING: dict[str, Submission] = {}  # by the name of the file that Python takes each text for


def running(filename: str, submission: Submission) -> None:
    """Remember what stands in a file: the text of a submission, each line at its number."""
    _RUNNING[filename] = submission


def at(submission: Submission, line: int) -> str:
    """Return a line of a submission's text as its author finds it."""
    cell, line = submission.place(line)
    name = Path(submission.name).name
    return f"{name}, line {line}" if cell is None else f"{name}, cell {cell}, line {line}"


def sentence_on(error: BaseException) -> str:
    """Return what was raised, in a sentence that names the line of the learner's text if one was running."""
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exception(error)
    chain = [error]
    while (cause := chain[-1].__cause__) is not None:  # Triton's interpreter wraps what a kernel raises
        chain.append(cause)
    first = chain[-1]
    message = f"{type(first).__name__}: {first}".strip(": ")
    return next((f"{place}: {message}" for one in reversed(chain) for place in _places(one)), message)


def _places(error: BaseException) -> Iterator[str]:
    """Yield the lines of the learner's text that were running when this was raised, the innermost first."""
    if isinstance(error, SyntaxError) and error.filename in _RUNNING:
        yield at(_RUNNING[error.filename], error.lineno or 1)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename in _RUNNING:
            yield at(_RUNNING[frame.filename], frame.lineno or 1)
