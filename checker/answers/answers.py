"""Answers to what a notebook asks about its cells, as the fields of a `Report`."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from types import MappingProxyType
from typing import Any

from checker import catalog
from checker.answers.saved import SESSION, VALIDATING, links_to, not_run
from checker.bench import run, table
from checker.bench.result import Result
from checker.check import Conditions, check
from checker.check.own import own
from checker.compiled import command as compiling
from checker.course import ladder
from checker.course.claims import Claims
from checker.course.kernel import Kernel
from checker.course.lesson import as_calls
from checker.course.places import spoken_notebook
from checker.course.status import Misuse
from checker.course.verdict import Verdict
from checker.learner import predict
from checker.learner.practice import all_checked, best, fault, for_learner, held_back, misused
from checker.learner.progress import opened
from checker.report.html import html, overview
from checker.report.screen import lines, plain
from checker.report.terminal import blocks_of, report
from checker.report.terminal import overview as table_of
from checker.report.translated import said, translated
from checker.submission.definitions import among, candidates, newest, submission_of
from checker.submission.read import Cell, Submission, Unreadable, defines
from checker.trace import chart, words
from checker.trace.page import framed
from checker.trace.result import Trace
from checker.trace.run import traced
from checker.trace.stepped import Asked, data_of, summary


def answered(verb: str, puzzle: int | str | None, conditions: Conditions, **asked: Any) -> dict[str, Any]:
    """Return what is shown. Raises what checking all puzzles does."""
    puzzle_id = None
    try:
        if puzzle is not None:
            puzzle_id = ladder.id_of(puzzle)
            return _served(puzzle_id, verb, conditions, **asked)
        return _own(asked["cells"], asked["claims"], conditions) if verb == "own" else _all(conditions)
    except (Unreadable, Misuse, run.BenchmarkFailed) as problem:
        return _shown(misused(str(problem)))
    except Exception as error:
        if puzzle is None and verb != "own":
            raise  # of all puzzles: the cell says what to type
        return _shown(fault(puzzle_id, error))


def _own(cells: list[str], claims: dict[str, Any], conditions: Conditions) -> dict[str, Any]:
    """Return the report on a function of the cells' own."""
    if strange := claims.keys() - vars(Claims()).keys():
        raise Misuse(f"own() knows no {min(strange)}.")
    known: dict[str, Any] = {name: tuple(x) if isinstance(x, list) else x for name, x in claims.items()}
    return _shown(own(submission_of(cells), Claims(**known), conditions).verdict)


def _all(conditions: Conditions) -> dict[str, Any]:
    """Return one line for each puzzle."""
    verdicts, left_out = all_checked(conditions, in_notebook=True)
    closing = 'check("ID") in a puzzle\'s own notebook tells more.'
    below = "\n".join(said(one) for one in (left_out, closing) if one)
    page = f"<div>{overview(verdicts)}{escape(below)}</div>"
    return {
        "html": page,
        "text": f"{plain(table_of(verdicts))}\n{below}",
        "accepted": all(v.accepted for v in verdicts),
    }


def _served(
    puzzle_id: str, verb: str, conditions: Conditions, cells: list[str], place: str | None, **options: Any
) -> dict[str, Any]:
    """Return what was asked about a puzzle."""
    if verb == "predict":
        return {"text": "\n\n".join(_predicted(puzzle_id, conditions, cells, place, **options))}
    if verb == "step":
        return _stepped(puzzle_id, conditions, submission_of(cells), Asked(**options))
    if verb == "compiled":
        return _compiled(puzzle_id, conditions, submission_of(cells), **options)
    return _judged(puzzle_id, verb, conditions, cells, place, **options)


def _predicted(
    puzzle_id: str, conditions: Conditions, cells: list[str], place: str | None, guesses: dict[str, Any]
) -> list[str]:
    """Answers to what was guessed, and the questions that are open."""
    puzzle = catalog.load(puzzle_id)
    found = predict.guesses_of(puzzle, guesses)
    shown = []
    if any(guess is not None for guess in found.values()):
        outcome = check(puzzle_id, submission_of(cells), conditions)
        if not outcome.verdict.accepted:
            return [f'{said(predict.not_accepted(puzzle))} check("{puzzle_id}")']
        answers = predict.answered(puzzle, outcome, found)
        path = None if place is None else _file(puzzle_id, Path(place))
        shown.append(plain(lines(predict.shown(puzzle, answers, predict.noted(puzzle, answers, path)))))
    if still_open := predict.still_open(puzzle, found):
        shown.append(plain(lines(predict.asked(still_open))))
        shown.append(said("Write your guesses in place of the dots, and run the cell again."))
    return shown


def _stepped(puzzle_id: str, conditions: Conditions, submission: Submission, asked: Asked) -> dict[str, Any]:
    """Return a page that steps through the cells' kernels; the report of a check, if nothing can be run."""
    outcome = check(puzzle_id, submission, conditions)
    data = data_of(outcome, asked)
    return (
        _shown(outcome.verdict) if data is None else {"text": "\n".join(map(said, summary(data))), "html": framed(data)}
    )


def _compiled(
    puzzle_id: str,
    conditions: Conditions,
    submission: Submission,
    targets: str,
    size: str,
    launch: str,
    before: str | None,
) -> dict[str, Any]:
    """Return what the compiler made of the cells; the report of a check, if they cannot be compiled."""
    puzzle = catalog.load(puzzle_id)
    older = None if before is None else newest(Path(before), puzzle.kernels)
    found = compiling.shown(puzzle, submission, older, targets, size, launch, in_notebook=True)
    if found is None:
        return _shown(check(puzzle_id, submission, conditions).verdict)
    return {"text": "\n".join(plain(part) for part in found.parts)}


def _judged(
    puzzle_id: str,
    verb: str,
    conditions: Conditions,
    cells: list[str],
    place: str | None,
    every: bool = False,
    times: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Any]:
    kernels, submission = catalog.load(puzzle_id).kernels, submission_of(cells)
    if VALIDATING in os.environ:  # all cells above were run in their order, so they are as grading sees them
        numbered = [Cell("code" if text else "", text, ran=n) for n, text in enumerate(cells, start=1)]
        return _shown(best(puzzle_id, among(numbered, kernels, ""), conditions).verdict)
    outcome = check(puzzle_id, submission, conditions)
    verdict = outcome.verdict
    if verb == "trace":
        seen = traced(outcome)
        return _shown(verdict) if seen.empty else _drawn(seen)
    if verb == "hint":
        asked = opened().progress.of(puzzle_id).asked
        finding = held_back(asked, _learned(verdict, place))
        return {"text": "" if finding is None else plain(blocks_of(finding.worded(lambda text: as_calls(said(text)))))}
    if place is not None:
        file = _file(puzzle_id, Path(place))
        changed = not_run(cells, {int(n): when for n, when in times.items()}, file)
        remarks = [
            f"cell [{changed[kernel.name]}] was changed after you ran it. Judged was {kernel.name} as you ran it last: "
            "run the cell, then check again."
            for kernel in kernels
            if kernel.name in changed
        ]
        verdict = replace(verdict, remarks=(*remarks, *verdict.remarks, *_of_several(file, kernels, submission)))
    verdict = _learned(verdict, place)
    links = {} if place is None or place != os.environ.get(SESSION) else links_to(cells, Path(place))
    if verb == "bench" and verdict.accepted:
        result = run.result_of(outcome, run.Extent(every), lambda _: None)
        return _pictured(result, plain(table.report(result)))
    return _shown(verdict, links)


def _of_several(file: Path, kernels: Sequence[Kernel], submission: Submission) -> Iterator[str]:
    """Yield a remark for each kernel that a notebook, as it was saved last, defines in several cells."""
    with suppress(Unreadable):  # nobody has saved it yet
        for kernel, every in candidates(file, kernels)[0].every.items():
            for judged in (chunk.cell for chunk in submission.chunks if defines(chunk.text, kernel)):
                yield (
                    f"this notebook, as it was saved last, defines {kernel} in cells {every}. Judged was what was run "
                    f"last, [{judged}]. In grading the best one counts, as it is saved: after an edit, check again."
                )


def _learned(verdict: Verdict, place: str | None) -> Verdict:
    """Return what the learner gets, if it is known which notebook this is."""
    if place is None or verdict.puzzle is None:
        return verdict
    return for_learner(verdict, _file(verdict.puzzle, Path(place)))


def _file(puzzle_id: str, place: Path) -> Path:
    """Return the notebook's file. If only its folder is known, it is taken to be the puzzle's own."""
    return place / spoken_notebook(puzzle_id).name if place.is_dir() else place


def _drawn(seen: Trace) -> dict[str, Any]:
    """Pictures in the colours of the notebook, and the same in words."""
    pages = "".join(page for _, page in chart.pages(seen, inline=True))
    return {"text": as_calls("\n".join(map(said, words.summary(seen)))), "html": f"<div>{as_calls(pages)}</div>"}


def _pictured(result: Result, text: str) -> dict[str, Any]:
    """Return the picture of a benchmark, if matplotlib is there, and the same in words."""
    try:
        from checker.bench.chart import png
    except ImportError as error:
        return {"text": f"{text}\n\nNothing was drawn: {error.name} is missing."}
    return {"text": text, "png": base64.b64encode(png(result)).decode("ascii")}


def _shown(verdict: Verdict, links: Mapping[int, str] | None = None) -> dict[str, Any]:
    said = of_verdict(verdict)
    return {"html": html(said, links), "text": plain(report(said)), "accepted": verdict.accepted}


def of_verdict(verdict: Verdict) -> Verdict:
    """Return a verdict in the words of a notebook."""
    verdict = translated(verdict)
    return replace(verdict, findings=tuple(finding.worded(as_calls) for finding in verdict.findings))
