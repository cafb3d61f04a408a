"""The list of puzzles with what is solved: the same rows on a terminal and in a notebook."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from checker import catalog
from checker.course import ladder, places
from checker.learner import hints, predict
from checker.learner.progress import Opened, Progress
from checker.report import html
from checker.report.screen import Prose
from checker.report.translated import said

HEADS = ("solved", "hints", "predicted")
BESIDE = "Optional, when they help:"
NEXT = "Next:"


@dataclass(frozen=True)
class Row:
    """The progress in one puzzle, in words."""

    id: str
    title: str
    solved: bool
    facts: tuple[str, str, str]  # under HEADS
    helps: str  # when to do it, if it is optional and not solved


def rows(progress: Progress) -> Iterator[Row]:
    """Yield all puzzles, the main path first."""
    for puzzle_id in ladder.ORDER:
        entry, puzzle = progress.of(puzzle_id), catalog.load(puzzle_id)
        total = len(hints.hints_of(puzzle_id))
        solved = entry.when[:10] or ("yes" if entry.solved else "not yet")
        seen = f"{min(entry.hints, total)} of {total}" + (f", help {entry.level}" if entry.level else "")
        facts = solved, seen, predict.right_at_first(puzzle, entry)
        helps = "" if entry.solved else ladder.RUNGS[puzzle_id].helps
        yield Row(puzzle_id, puzzle.title, entry.solved, facts, helps)


def summary(progress: Progress) -> str:
    """Return how many are solved, as a sentence, and how many bugs are fixed, if any is."""
    done, entries = sum(progress.of(puzzle_id).solved for puzzle_id in ladder.RUNGS), progress.entries.values()
    bugs, pieces = sum(one.bugs for one in entries), sum(len(one.pieces) for one in entries)
    said = f"{done} of {len(ladder.RUNGS)} puzzles solved."
    return f"{said} Bugs fixed: {bugs}, and {pieces} in the museum." if bugs or pieces else said


def evening(progress: Progress) -> str:
    """Return the short path as a sentence, with a mark behind each of its puzzles that is solved."""
    path = " → ".join(f"{one} ✓" if progress.of(one).solved else one for one in ladder.EVENING)
    return f"One evening, if you have written Triton before: {path}"


def table(progress: Progress) -> RenderableType:
    """For a console of any kind."""
    grid = Table.grid(padding=(0, 1))
    for justify in ("left", "left", "left", "right", "right"):
        grid.add_column(justify=justify, overflow="fold")
    grid.add_row("", "", *HEADS, style="dim")
    for number, row in enumerate(rows(progress)):
        if number == len(ladder.SPINE):
            grid.add_row("", Prose(said(BESIDE), style="dim"))
        sign = Text("✓", style="green") if row.solved else Text("○", style="cyan")
        grid.add_row(sign, f"{row.id} {said(row.title)}", *row.facts)
        if row.helps:
            grid.add_row("", Prose(said(row.helps), style="dim"))
    return Group(grid, Text(), Prose(said(summary(progress))), Prose(said(evening(progress))))


def in_notebook(found: Opened) -> str:
    """Return the same as one HTML element, with links to the notebooks that are there."""
    progress, lines = found.progress, []
    for number, row in enumerate(rows(progress)):
        if number == len(ladder.SPINE):
            lines.append(html.row("", html.faint(said(BESIDE))))
        helps = f"<br>{html.faint(said(row.helps))}" if row.helps else ""
        lines.append(
            html.row(
                "✓" if row.solved else "○",
                _linked(row.id, row.title) + helps,
                *(escape(said(fact)) for fact in row.facts),
            )
        )
    parts = [
        escape(said(found.remark)),
        html.table(("", "", *HEADS), lines),
        *(escape(said(one(progress))) for one in (summary, evening)),
    ]
    if (ahead := progress.next_open()) is not None:
        parts.append(f"{said(NEXT)} <b>{_linked(ahead, ladder.RUNGS[ahead].title)}</b>")
    return f"<div>{''.join(f'<div>{part}</div>' for part in parts if part)}</div>"


def _linked(puzzle_id: str, title: str) -> str:
    path, words = places.spoken_notebook(puzzle_id), f"{puzzle_id} {escape(said(title))}"
    return html.linked(escape(os.path.relpath(path)), words) if path.exists() else words
