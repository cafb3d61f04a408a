"""The facts on one piece of work, small enough for a class of ten thousand."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from checker import catalog
from checker.course import places
from checker.course.verdict import Status
from checker.grading import settings
from checker.grading.chosen import Unresolved, chosen
from checker.grading.found import Work
from checker.grading.grade import recorded
from checker.grading.similar.fingerprints import tokens
from checker.submission.definitions import program_text
from checker.submission.nodes import parsed
from checker.submission.read import Submission


@dataclass(frozen=True)
class Seen:
    """One piece of work. `status` is None if there is no verdict: nobody has judged it, or `problem` says why not."""

    status: Status | None = None
    earned: int = 0
    proven: tuple[str, ...] = ()  # names of the properties that bring their points
    findings: tuple[tuple[str, str], ...] = ()  # (id, sentence), each once, the worst first
    digest: str = ""  # of a program with findings, whatever is written around it
    published: bool = False  # word for word the solution of this course, but for names, layout and comments
    problem: str = ""


def seen(work: Work, folder: Path) -> Seen:
    """Look at one piece of work. Judges nothing. Raises KeyProblem if there is no key, and so no record."""
    course = settings.read_once(folder)
    try:
        handed, verdict = recorded(work.puzzle, chosen(work), course)
    except Unresolved as problem:
        return Seen(problem=str(problem))
    if verdict is None:
        return Seen()
    return Seen(
        verdict.status,
        verdict.earned,
        tuple(one.name for one in verdict.properties if verdict.counts(one)),
        tuple(dict.fromkeys((one.id, one.title) for one in verdict.findings)),
        _digest(work.puzzle, handed.submission) if verdict.findings else "",
        verdict.accepted and _is_published(work.puzzle, handed.submission.text),
    )


@cache
def _digest(puzzle_id: str, submission: Submission) -> str:
    text = program_text(submission, catalog.load(puzzle_id).kernels)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _is_published(puzzle_id: str, text: str) -> bool:
    """Return whether a text's kernels are the course's own solution; a class hands in many texts often."""
    own = _words(puzzle_id, text)
    return bool(own) and own == _published(puzzle_id)


@cache
def _published(puzzle_id: str) -> tuple[str, ...]:
    path = places.solution(puzzle_id)
    return _words(puzzle_id, path.read_text(encoding="utf-8")) if path.exists() else ()


def _words(puzzle_id: str, text: str) -> tuple[str, ...]:
    """Return the kernels' tokens that count, with each name that could be any other as the number
    of its first place.
    """
    asked = {kernel.name for kernel in catalog.load(puzzle_id).kernels}
    tree = parsed(text)
    if tree is None:
        return ()
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in asked]
    source = "\n".join(ast.get_source_segment(text, node) or "" for node in sorted(found, key=lambda one: one.name))
    names: dict[str, str] = {}
    return tuple(names.setdefault(one.text, f"#{len(names)}") if one.free else one.text for one in tokens(source))
