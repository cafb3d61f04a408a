"""Predictions: a guess at a number of a launch, next to what the learner's own accepted kernel does, and why.

The first guess at each question is kept in progress.txt. Nothing here is graded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from checker.check import Conditions, Outcome, device_of, launch
from checker.course.case import Case
from checker.course.places import ROOT, is_own
from checker.course.puzzle import Puzzle
from checker.course.question import Done, Question
from checker.course.status import Misuse
from checker.judge.compare import wrong_elements
from checker.judge.footprint import used
from checker.judge.memory import never_stored
from checker.judge.requests import launch_of
from checker.judge.traffic import multiply_adds
from checker.learner import progress
from checker.learner.progress import Entry, Opened, opened
from checker.report.translated import said
from checker.sandbox.exchange import Ending
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from checker.sandbox.protocol.records import LAUNCHED, LOAD, STORE
from checker.sandbox.protocol.results import LaunchResult

DIGITS = 4  # that a number is shown with, or so many decimals
Guesses = Mapping[str, float | None]  # by question; None: not guessed yet


@dataclass(frozen=True)
class Answer:
    """A guess, and the number that the learner's own kernel gave."""

    question: Question
    guess: float
    own: float

    @property
    def right(self) -> bool:
        """Whether the guess is that number; one that is no whole number need only agree as far as it is shown."""
        if self.own == round(self.own):
            return math.isclose(self.guess, self.own, rel_tol=1e-6, abs_tol=1e-6)
        unit = 10.0 ** (math.floor(math.log10(abs(self.own))) + 1 - DIGITS)
        return abs(self.guess - self.own) <= 0.51 * max(unit, 10.0**-DIGITS)


def guesses_of(puzzle: Puzzle, said: Mapping[str, object]) -> Guesses:
    """Return the guesses that are meant by names and what was given for each: a number or its text; None and ... are
    open.

    Without any name, all questions are. Raises Misuse for a name that there is none of, and for what is no number.
    """
    names = [question.name for question in puzzle.questions]
    if unknown := [name for name in said if name not in names]:
        raise Misuse(f"Puzzle {puzzle.id} has no question {unknown[0]!r}. It has: {', '.join(names)}.")
    return {name: _number(name, said.get(name)) for name in names if name in said or not said}


def said_in(words: Sequence[str]) -> dict[str, object]:
    """Names and texts of `k_reads=4 o_writes=2`, from a command line. Raises Misuse."""
    text = re.sub(r"\s*=\s*", "=", " ".join(words))
    said: dict[str, object] = {}
    for word in re.split(r"\s+|,(?=\s|$)", text):
        name, sign, guess = word.partition("=")
        if word and not (name and sign and guess):
            raise Misuse(f"{word!r} is not a guess: write NAME=NUMBER, as in k_reads=4.")
        if word:
            said[name] = guess
    return said


def _number(name: str, given: object) -> float | None:
    """Raises Misuse. A text may be a fraction, 5/2, and have commas as in 1,024."""
    text = str(given).strip()
    if given is None or given is ... or text in ("...", "…"):
        return None
    if re.fullmatch(r"\d{1,3}(,\d{3})+", text):
        text = text.replace(",", "")
    above, line, below = text.partition("/")
    try:
        number = float(above) / float(below) if line else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise Misuse(f"{name}={text} is not a number: write {name}=4, {name}=2.5 or {name}=5/2.")
    return number


def still_open(puzzle: Puzzle, guesses: Guesses) -> list[Question]:
    """Return those of the questions asked for that have no guess yet."""
    return [question for question in puzzle.questions if guesses.get(question.name, 0) is None]


def not_accepted(puzzle: Puzzle) -> str:
    """Return why a guess gets no answer; what to type comes after it."""
    what = "function" if puzzle.pytorch else "kernel"
    return f"Only an accepted {what} can answer, and yours is not accepted yet. Check it first:"


def answered(puzzle: Puzzle, outcome: Outcome, guesses: Guesses, host: Host | None = None) -> tuple[Answer, ...]:
    """Return what the accepted kernels of an outcome say to each guess. Raises Misuse if one of these launches goes
    wrong.
    """
    questions = [question for question in puzzle.questions if guesses.get(question.name) is not None]
    cases = list(dict.fromkeys(question.launch for question in questions))
    done = dict(zip(cases, _done(puzzle, outcome, cases, host), strict=True))
    answers = []
    for question in questions:
        guess = guesses[question.name]
        assert guess is not None
        answers.append(Answer(question, guess, float(question.measure(done[question.launch]))))
    return tuple(answers)


def noted(puzzle: Puzzle, answers: Sequence[Answer], path: Path | None, root: Path = ROOT) -> Opened | None:
    """Keep the first guess at each question, if it was the puzzle's own file that answered; else None."""
    if path is None or not is_own(path, puzzle.id, root):
        return None

    def with_firsts(was: Entry) -> Entry:
        first = [answer for answer in answers if answer.question.name not in was.right | was.wrong]
        right = was.right.union(answer.question.name for answer in first if answer.right)
        wrong = was.wrong.union(answer.question.name for answer in first if not answer.right)
        return replace(was, right=right, wrong=wrong)

    try:
        return progress.noted(puzzle.id, with_firsts, root)
    except OSError as error:
        found = opened(root).progress
        remark = f"Your guesses cannot be noted in progress.txt ({error.strerror})."
        return Opened(found.having(puzzle.id, with_firsts(found.of(puzzle.id))), remark)


def right_at_first(puzzle: Puzzle, entry: Entry) -> str:
    """`2 of 3`: first guesses that were right, and questions."""
    names = {question.name for question in puzzle.questions}
    return f"{len(names & entry.right)} of {len(names)}"


class Line(NamedTuple):
    """A line of an answer: a question that is `asked`, what is `right` or `wrong`, what is `said` of it, a `remark`."""

    kind: Literal["asked", "right", "wrong", "said", "remark"]
    text: str


def asked(questions: Sequence[Question]) -> Iterator[Line]:
    """Questions in words."""
    for question in questions:
        yield Line("asked", f"{question.name}{said(': ')}{said(question.asks)}")


def shown(puzzle: Puzzle, answers: Sequence[Answer], found: Opened | None) -> Iterator[Line]:
    """Yield the answers in words, and how many first guesses were right if that is known."""
    what = "function" if puzzle.pytorch else "kernel"
    for answer in answers:
        question, own, guess = answer.question, number(answer.own), number(answer.guess)
        yield from asked([question])
        mark = "✓" if answer.right else "✗"
        sentence = f"{mark} You said {guess}. In your {what} it is {own}."
        yield Line("right" if answer.right else "wrong", sentence)
        if question.course is None or question.course == answer.own:
            yield Line("said", question.reason)
        else:
            yield Line("said", f"In the course's solution it is {number(question.course)}. {question.reason}")
    if found is not None:
        yield Line("remark", f"Right at the first guess: {right_at_first(puzzle, found.progress.of(puzzle.id))}.")
        if found.remark:
            yield Line("remark", found.remark)


def number(value: float) -> str:
    """Return a whole number as it is, any other with as many digits as are compared."""
    if value == round(value) and abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.{DIGITS}f}" if 10.0**-DIGITS < abs(value) < 1 else f"{value:.{DIGITS}g}"


def _done(puzzle: Puzzle, outcome: Outcome, cases: list[Case], host: Host | None) -> list[Done]:
    assert outcome.program is not None
    launches = [launch_of(case, puzzle) for case in cases]
    ran = launch(outcome.program, launches, Limits(), host, device_of(puzzle.id, Conditions()), outcome.linked)
    if ran.ending is Ending.KILLED_FROM_OUTSIDE:
        raise RuntimeError("the sandbox was killed from outside, as by the system when memory is short")
    results = [ran.results.get(n) for n in range(len(cases))]
    done = []
    for case, result in zip(cases, results, strict=True):
        if result is None or result.error or result.refused or _wrong(puzzle, case, result):
            what = "function" if puzzle.pytorch else "kernel"
            raise Misuse(f"Your {what} passed its check, but it fails in this question's launch: {case.name}.")
        done.append(_counted(case, result))
    return done


def _wrong(puzzle: Puzzle, case: Case, result: LaunchResult) -> bool:
    """Return whether anything that was stored is wrong, or anything is missing that must be there."""
    for name, expected in puzzle.expected(case).items():
        missing = never_stored(case, result, name)
        if (wrong_elements(result.tensors[name], expected) & ~missing).any():
            return True
        if (missing & case.asked.get(name, np.array(True))).any():
            return True
    return False


def _counted(case: Case, result: LaunchResult) -> Done:
    log, names = result.log, list(case.tensors)
    touched = {name: (log.tensor == n) & np.isin(log.kind, (LOAD, STORE)) for n, name in enumerate(names)}
    return Done(
        outputs=result.tensors,
        loads={name: log.moved(LOAD, n) for n, name in enumerate(names)},
        stores={name: log.moved(STORE, n) for n, name in enumerate(names)},
        lanes={name: int(log.lanes[mask].sum(dtype=np.int64)) for name, mask in touched.items()},
        programs={name: np.unique(log.program[mask & (log.kind == STORE)]).size for name, mask in touched.items()},
        multiply_adds=multiply_adds(result),
        largest=used(result).largest,
        launches=len(log.launched),
        launched=int(log.lanes[log.kind == LAUNCHED].sum(dtype=np.int64)),
    )
