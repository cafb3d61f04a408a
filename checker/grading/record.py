"""Results on disk: each submission is judged once, whoever hands it in and however often.

A record is one JSON file, named for everything that the result depends on: the program that was handed in and where it
stands, the puzzle, the checker and its catalog, the key and Triton. It holds properties, not points; no student's name,
and no line that anybody has written. So who has the same program with other comments has the same record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from checker import catalog
from checker.course.clean import clean
from checker.course.ladder import RUNGS
from checker.course.places import code
from checker.course.saving import replace_whole
from checker.course.verdict import Verdict
from checker.grading import key
from checker.grading.settings import Settings
from checker.submission.fingerprint import place as placed
from checker.submission.read import Submission

FORM = 4  # of the file
# What a result depends on; the report's words do not belong to it.
JUDGING = ("course", "submission", "sandbox", "catalog", "judge", "check")


def judging(course: Settings) -> dict[str, Any]:
    """Return what a result depends on besides the submission. Raises KeyProblem.

    What was found without a cage is no result for those who ask for one.
    """
    key_id = key.key_id(key.read(course.key_path))
    in_pytorch = any(RUNGS[puzzle_id].pytorch for puzzle_id in course.puzzles)
    return {
        "checker": digest_of(Path(__file__).parents[1]),
        "key": key_id,
        "caged": course.caged,
        "triton": _version_of("triton"),
        "torch": _version_of("torch") if in_pytorch else "",
    }


def identity(puzzle_id: str, submission: Submission, judging: dict[str, Any]) -> dict[str, Any]:
    """Everything that a result depends on; the numbers of its cells are in the words of the findings.

    PyTorch does not belong to it if the puzzle does without: whether it is installed changes no other record.
    """
    return {
        "form": FORM,
        "puzzle": puzzle_id,
        "program": placed(submission, catalog.load(puzzle_id).kernels),
        **(judging if RUNGS[puzzle_id].pytorch else judging | {"torch": ""}),
    }


@dataclass(frozen=True)
class _Record:
    """A file: a result, and what it is the result of."""

    of: dict[str, Any]
    verdict: Verdict


def load(path: Path) -> Verdict | None:
    """Return the recorded result, if there is one that can be read, and that is of what its name says."""
    try:
        record = msgspec.json.decode(path.read_bytes(), type=_Record)
    except (OSError, ValueError):
        return None  # half written by somebody else, or of another form: judge again
    return record.verdict if _name(record.of) == path.name else None  # else a copy of another one


def known(puzzle_id: str, submission: Submission, course: Settings) -> Verdict | None:
    """Return the recorded result of a submission, if there is one, with lines of its own. Raises KeyProblem."""
    verdict = load(place(course.records, identity(puzzle_id, submission, judging(course))))
    return None if verdict is None else with_lines(verdict, submission)


def with_lines(verdict: Verdict, submission: Submission) -> Verdict:
    """Return a recorded verdict on a submission: each finding with the lines that it points at, as
    they were handed in.
    """
    texts = {chunk.cell: chunk.text.split("\n") for chunk in submission.chunks}
    # Lines below the program are no part of it, and here there may be none: the same slice is then empty.
    own = _with_source(verdict, lambda cell, number: [clean(line) for line in texts[cell][number - 1 : number]])
    return replace(own, submission_sha256=submission.sha256)


def _with_source(verdict: Verdict, lines: Callable[[int | None, int], list[str]]) -> Verdict:
    """Return a verdict with these texts of the lines that it shows, by cell and number: one for each, or none."""
    findings = []
    for one in verdict.findings:
        shown = [(number, lines(one.where.cell, number)) for number, _ in one.where.source]
        source = tuple((number, line) for number, found in shown for line in found)
        findings.append(replace(one, where=replace(one.where, source=source)))
    return replace(verdict, findings=tuple(findings))


def keep(path: Path, of: dict[str, Any], verdict: Verdict) -> None:
    """Write a result down, whole or not at all. OSError."""
    bare = replace(_with_source(verdict, lambda cell, number: [""]), submission_sha256="")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_whole(path, msgspec.json.encode(_Record(of, bare)))


def place(folder: Path, of: dict[str, Any]) -> Path:
    """Return the file in which a result is recorded."""
    return folder / str(of["puzzle"]) / _name(of)


def _name(of: dict[str, Any]) -> str:
    return f"{hashlib.sha256(msgspec.json.encode(of, order='deterministic')).hexdigest()[:32]}.json"


@cache
def digest_of(root: Path) -> str:
    """Return a hash of the code that judges, and of its words; `root`: the folder of its rooms."""
    digest = hashlib.sha256()
    for part in JUDGING:
        for path in code(root / part):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:32]


@cache
def _version_of(package: str) -> str:
    """Return the version that is installed here; nothing if there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
