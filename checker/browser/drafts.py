"""Drafts in a puzzle's editor, and the files that they come from and are saved to."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from checker import catalog
from checker.course import places
from checker.course.lesson import kernel_cell, notebook_text, script_cells, script_text, with_stubs
from checker.course.puzzle import Puzzle
from checker.learner import stub
from checker.submission.read import Submission, Unreadable, cells_in, from_cells, notebook_of

NAME = "editor"  # what reports call it
IMPORTS = "import triton\nimport triton.language as tl"  # stands above the editor


def submission_of(draft: str) -> Submission:
    """Return what the editor holds, as a submission; lines count from its first. Raises Unreadable."""
    return from_cells([("code", IMPORTS), ("code", draft)], NAME, numbered=False)


def filled(puzzle_id: str, draft: str) -> str:
    """Return a puzzle's file with this in place of its kernels."""
    cells = list(_lesson(puzzle_id))
    cells[kernel_cell(cells, catalog.load(puzzle_id))] = ("code", draft)
    return script_text(cells)


def commented(puzzle_id: str) -> str:
    """Return a puzzle's stub, as the editor has it, with the solution's comments."""
    cells, puzzle = _lesson(puzzle_id), catalog.load(puzzle_id)
    return with_stubs(cells[kernel_cell(cells, puzzle)][1], stub.shipped(puzzle, stub.COMMENTS)) or ""


def write(puzzle_id: str, draft: str) -> None:
    """Write a puzzle's file, so that the rest of the checker finds it where it always is."""
    places.spoken_script(puzzle_id).write_text(filled(puzzle_id, draft), encoding="utf-8")


def file_of(puzzle_id: str, draft: str, kind: str) -> tuple[str, str]:
    """(name, text) of a puzzle's file, or of its notebook, to be taken along. `kind`: `py` or `ipynb`."""
    puzzle = catalog.load(puzzle_id)
    script = filled(puzzle_id, draft)
    return f"{puzzle.stem}.{kind}", notebook_text(script, puzzle) if kind == "ipynb" else script


def script_of_all(puzzle_id: str, text: str) -> str:
    """Return a puzzle's script from a file of all drafts, as `docs/site/app/files.js` saves it.

    Raises ValueError, LookupError, TypeError or RecursionError if it is none, or has no draft of this puzzle.
    """
    return f"{IMPORTS}\n\n\n" + str.strip(json.loads(text)["drafts"][puzzle_id], "\n") + "\n"


def draft_in(puzzle_id: str, name: str, text: str) -> str:
    """Return what of a file or a notebook goes into the editor: the cells with kernels. Raises Unreadable."""
    puzzle, plain = catalog.load(puzzle_id), text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    if name.endswith(".ipynb"):
        cells = [(cell.kind, cell.text) for cell in cells_in(notebook_of(plain, name), name)]
    elif name.endswith(".json"):
        question = "Are all drafts in it? Choose Bring back all drafts."
        raise Unreadable(f"{name} is neither a .py file nor a notebook. {question}")
    else:
        cells = script_cells(plain)
    shipped = {source.strip() for kind, source in _lesson(puzzle_id) if kind == "code"}
    code = [source.strip("\n") for kind, source in cells if kind == "code"]
    # A cell of the learner's own with functions for kernels to call is kept, too.
    helping = {source for source in code if "@triton.jit" in source and source.strip() not in shipped}
    kept = [source for source in code if _defines(source, puzzle) or source in helping]
    if not any(_defines(source, puzzle) for source in kept):
        names = ", ".join(kernel.name for kernel in puzzle.kernels)
        raise Unreadable(f"{name} does not define {names}. Is it a file of puzzle {puzzle_id}?")
    return "\n\n\n".join(kept) + "\n"


def _defines(source: str, puzzle: Puzzle) -> bool:
    return any(f"def {kernel.name}(" in source for kernel in puzzle.kernels)


def _lesson(puzzle_id: str) -> tuple[tuple[str, str], ...]:
    """Return the cells of a puzzle's file as it was shipped, in the language that is spoken."""
    return _shipped(places.spoken_script(puzzle_id))


@cache
def _shipped(path: Path) -> tuple[tuple[str, str], ...]:
    """This is read before anything is written there."""
    return tuple(script_cells(path.read_text(encoding="utf-8")))
