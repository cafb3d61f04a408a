"""The course's solution of a puzzle with its walk-through, once the learner's own is accepted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from checker.course import places
from checker.course.paragraphs import in_language
from checker.course.status import Misuse
from checker.learner.hints import hints_of
from checker.learner.progress import opened
from checker.report.words import typed


@dataclass(frozen=True)
class Page:
    """The solution and its walk-through if `open`, and the sentences that end the page in any case."""

    open: bool
    code: str
    walk_through: str  # Markdown; "" if this copy of the course has none of this puzzle
    closing: tuple[tuple[str, str], ...]  # sentences, each with what to type or to open, if anything
    remark: str = ""  # about the progress file


def page(puzzle_id: str, *, in_notebook: bool, force: bool = False, root: Path = places.ROOT) -> Page:
    """Return the page of a puzzle. Raises Misuse if this copy of the course has no solution.

    `in_notebook`: where it is shown; `force`: open it although the puzzle is not solved.
    """
    try:
        code = places.solution(puzzle_id, root).read_text(encoding="utf-8")
    except OSError as error:
        raise Misuse(
            f"This copy of the course has no solution of puzzle {puzzle_id}: ask whoever gave it to you."
        ) from error
    found = opened(root)
    if not (force or found.progress.of(puzzle_id).solved):
        opens = f"The solution of puzzle {puzzle_id} opens once yours is accepted:"
        closing = (
            (opens, typed("check", puzzle_id, in_notebook=in_notebook)),
            ("Perhaps a hint is enough:", typed("hint", puzzle_id, in_notebook=in_notebook)),
            ("To open it anyway:", typed("solution", puzzle_id, in_notebook=in_notebook, force=True)),
        )
        return Page(False, "", "", closing, found.remark)
    try:
        walk_through = in_language(places.walk_through(puzzle_id, root).read_text(encoding="utf-8"), root)
    except OSError:
        walk_through = ""
    entry, total = found.progress.of(puzzle_id), len(hints_of(puzzle_id, root))
    facts = [(f"You have seen {min(entry.hints, total)} of {total} hints.", "")] if total else []
    ahead = found.progress.next_open(puzzle_id) if entry.solved else puzzle_id
    if ahead is None:
        facts.append(("All puzzles are solved.", ""))
    else:
        place = places.spoken_notebook if in_notebook else places.spoken_script
        sentence = "Next:" if entry.solved else "Your own is not accepted yet:"
        facts.append((sentence, places.shown(place(ahead, root))))
    return Page(True, code, walk_through, tuple(facts), found.remark)
