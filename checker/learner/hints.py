"""Hints, one at a time. Their home is the lesson, where each stands folded away."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, replace
from pathlib import Path

from checker.course import places
from checker.course.columns import joined
from checker.course.lesson import Hint, hints, script_cells
from checker.learner.progress import Entry, Opened, noted, opened
from checker.submission.read import Unreadable, cells_of


@dataclass(frozen=True)
class Shown:
    """The hints to show now, and where the learner stands."""

    puzzle: str
    hints: tuple[Hint, ...]
    seen: int
    total: int
    solved: bool
    remark: str = ""
    solution: bool = True  # whether this copy of the course has one
    counted: bool = True  # whether the next hint will be another one


def hints_of(puzzle_id: str, root: Path = places.ROOT) -> tuple[Hint, ...]:
    """Return all hints of a puzzle, from its file, or from its notebook if they have gone from there.

    A hosted notebook has no files next to it: there they are those of the installed package.
    """
    for folder in (root, places.SHIPPED):
        with contextlib.suppress(OSError):
            script = places.spoken_script(puzzle_id, folder).read_text(encoding="utf-8", errors="replace")
            if found := hints(script_cells(script)):
                return found
    try:
        return hints([(cell.kind, cell.text) for cell in cells_of(places.spoken_notebook(puzzle_id, root))])
    except Unreadable:
        return ()


def next_hint(puzzle_id: str) -> Shown:
    """Return one hint more than were seen so far, and remember that; none if there are no more."""
    every, before = hints_of(puzzle_id), opened()
    seen = before.progress.of(puzzle_id).hints
    if seen >= len(every):
        return _shown(puzzle_id, (), before, every)

    def one_more(was: Entry) -> Entry:
        nonlocal seen
        seen = was.hints  # another process may have been faster
        return replace(was, hints=min(seen + 1, len(every)))

    try:
        after, counted = noted(puzzle_id, one_more), True
    except OSError as error:
        sentence = (
            f"progress.txt cannot be written ({error.strerror}), so this hint is not counted. All hints end the lesson."
        )
        after, counted = Opened(before.progress, sentence), False
    remark = " ".join(filter(None, (before.remark, after.remark)))
    shown = _shown(puzzle_id, every[seen : seen + 1], replace(after, remark=remark), every)
    return replace(shown, counted=counted)


def seen_hints(puzzle_id: str) -> Shown:
    """Return the hints that were seen so far."""
    found, every = opened(), hints_of(puzzle_id)
    return _shown(puzzle_id, every[: found.progress.of(puzzle_id).hints], found, every)


def closing(shown: Shown, next_one: str, again: str, comments: str, solution: str) -> list[tuple[str, str]]:
    """Return sentences to end with, each with what to type, if anything.

    `next_one`, `again`, `comments`, `solution`: what to type for the next hint, for all that were seen, for the stub
    with the solution's comments, and for the solution.
    """
    if shown.total == 0:
        return [(f"Puzzle {shown.puzzle} has no hints.", "")]
    if not shown.counted:
        return []
    if shown.seen < shown.total:
        seen = f"{shown.seen} of {shown.total} hints seen." if shown.hints else "No hint seen so far."
        return [(f"{seen} One more:", next_one)]
    last = [
        ("That was the last hint.", "") if shown.hints else (f"You have seen all {shown.total} hints. Again:", again)
    ]
    if not shown.solved:
        last.append(("To begin again from the solution's comments (your own work is kept):", comments))
    opens = "The solution is open:" if shown.solved else "The solution opens after success:"
    return [*last, (opens, solution)] if shown.solution else last


def plain(text: str) -> str:
    """Markdown for a terminal: a paragraph is one line, and a formula is what it looks like."""
    paragraphs = [joined(paragraph) for paragraph in text.split("\n\n")]
    return "\n".join(re.sub(r"\$([^$]*)\$", lambda m: m[1].replace(r"\infty", "∞"), p) for p in paragraphs)


def _shown(puzzle_id: str, hints: tuple[Hint, ...], found: Opened, every: tuple[Hint, ...]) -> Shown:
    entry = found.progress.of(puzzle_id)
    there = places.solution(puzzle_id).exists()
    return Shown(puzzle_id, hints, min(entry.hints, len(every)), len(every), entry.solved, found.remark, there)
