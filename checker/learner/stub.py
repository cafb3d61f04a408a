"""Back to the stub: a copy of the file is kept, and its kernels are again as the course ships them.

`stubs/` holds every kernel's stub with the solution's comments, built by `python -m checker build`. All else in a file
is the learner's and stays. A file that has no place left for the stubs is made anew from its twin: the notebook of a
puzzle's file, the file of its notebook.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from checker import catalog
from checker.check import started
from checker.course import places
from checker.course.language import ENGLISH, LANGUAGES
from checker.course.lesson import (
    HOSTED,
    as_lesson,
    emptied,
    notebook_json,
    notebook_text,
    script_text,
    span,
    with_stubs,
)
from checker.course.puzzle import Puzzle
from checker.course.saving import keep_copy, replace_whole
from checker.course.status import Misuse
from checker.submission.read import Submission, Unreadable, cells_in, from_cells, notebook_of

LEVELS = ("the stub", "the stub with the solution's comments", "the solution with some holes")
COMMENTS, HOLES = 1, 2  # of these


class NoStub(Misuse):
    """The file cannot be made the stub again: a sentence, and nothing was changed."""


class Changed(Misuse):
    """Somebody else wrote the file just now: a sentence, and it was not changed."""


@dataclass(frozen=True)
class Reset:
    """A file's content, before and after."""

    path: Path
    before: bytes | None  # None: there is no such file
    after: bytes

    @property
    def needed(self) -> bool:
        """Whether the file is not the stub already."""
        return self.before != self.after


def shipped(puzzle: Puzzle, level: int = 0, root: Path = places.ROOT) -> dict[str, str]:
    """Return the text of each kernel at one of LEVELS, by its name. Raises NoStub."""
    if level not in range(len(LEVELS)):
        raise NoStub(f"HELP is 1 or 2, and not {level}. Nothing was changed.")
    path = places.solution(puzzle.id, root) if level == HOLES else places.stubs(puzzle.id)
    if level == HOLES and not path.exists():
        raise NoStub(
            f"HELP=2 needs the solution of puzzle {puzzle.id}, which this copy of the course does not have. "
            "HELP=1 shows its comments. Nothing was changed."
        )
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise NoStub(f"{places.shown(path)} cannot be read: {error.strerror}. Nothing was changed.") from error
    made = {0: emptied, COMMENTS: lambda text, _: text, HOLES: with_holes}[level](text, puzzle)
    lines = made.split("\n")
    where = {kernel.name: span(lines, kernel.name) for kernel in puzzle.kernels}
    return {name: "\n".join(lines[n] for n in found) for name, found in where.items() if found is not None}


def with_holes(solution: str, puzzle: Puzzle) -> str:
    """Return a solution with `...` for a quarter of the values that each of its functions computes, two at least.

    Those with most operations go. Constants of the module become numbers, as only kernels go into a learner's file.
    """
    lines = solution.replace("  # fmt: skip", "").split("\n")
    given = {line for stub in shipped(puzzle).values() for line in stub.split("\n")}
    for function in ast.parse(solution).body:
        own = lines[function.lineno - 1 : function.end_lineno] if isinstance(function, ast.FunctionDef) else []
        values = [
            node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.end_lineno == node.lineno
            if own.count(line := lines[node.lineno - 1]) == 1 and line not in given
        ]
        for value in sorted(values, key=_operations)[-max(2, len(values) // 4) :]:
            lines[value.lineno - 1] = f"{lines[value.lineno - 1][: value.col_offset]}..."
    text = "\n".join(lines)
    for name, number in re.findall(r"^(\w+) = (\d+)\b", solution, re.MULTILINE):
        text = re.sub(rf"\b{name}\b", number, text)
    return text


def _operations(value: ast.expr) -> int:
    """Return how many operations a value takes; none if it is loaded."""
    loads = "tl.load(" in ast.unparse(value)
    return 0 if loads else sum(isinstance(part, ast.Call | ast.BinOp | ast.Compare) for part in ast.walk(value))


def planned(puzzle_id: str, path: Path, root: Path = places.ROOT, level: int = 0) -> Reset:
    """Return how a file or notebook becomes the stub of a level. Changes nothing. Raises NoStub and OSError."""
    puzzle = catalog.load(puzzle_id)
    stubs, chosen = shipped(puzzle), shipped(puzzle, level, root)
    language = next((code for code in LANGUAGES if path.parent.name == code), ENGLISH)
    script, notebook = places.script(puzzle_id, root, language), places.notebook(puzzle_id, root, language)
    before = path.read_bytes() if path.exists() else None
    twin = notebook if path == script else script
    for source, with_lesson in ((path, True), (twin, True), (path, False)):
        try:
            data = (before or b"") if source == path else source.read_bytes()
            text = data.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
            lesson = (
                text
                if source == path
                else _as_script(text, language)
                if path == script
                else notebook_text(text, puzzle)
            )
            put = _script if path == script else _notebook
            made, submission = put(lesson, stubs)
            if started(puzzle_id, submission) or (with_lesson and "markdown" not in made):  # its texts are gone
                continue
            made, _ = put(lesson, chosen)
            if source == path and made == text and before is not None:
                return Reset(path, before, before)
            return Reset(path, before, made.replace("\n", "\r\n" if b"\r\n" in (before or b"") else "\n").encode())
        except (OSError, Unreadable, ValueError):
            continue
    raise NoStub(
        f"{places.shown(path)} is too far from a lesson to be repaired, and so is {places.shown(twin)}. "
        "Nothing was changed. Take the file from where you got the course."
    )


def carry_out(reset: Reset) -> Path | None:
    """Write the backup, then the stub; where the backup is, if there was a file. Raises Changed and OSError."""
    backup = None
    if reset.before is not None:
        backup = keep_copy(reset.path, reset.before)
        if not reset.path.exists() or reset.path.read_bytes() != reset.before:
            backup.unlink()
            raise Changed(f"{reset.path.name} was saved by another program just now. It was left as it is: try again.")
    replace_whole(reset.path, reset.after)
    return backup


def _script(text: str, stubs: Mapping[str, str]) -> tuple[str, Submission]:
    """Return a puzzle's file with these stubs, as text and as a checker sees it. ValueError: there is no place for
    them.
    """
    made = with_stubs(text, stubs)
    if made is None:
        raise ValueError("no such kernel")
    return made, from_cells([("code", made)], "", numbered=False)


def _notebook(text: str, stubs: Mapping[str, str]) -> tuple[str, Submission]:
    """Return a notebook with these stubs and without results; the same text if its kernels are stubs already."""
    notebook = notebook_of(text, "")
    before = cells_in(notebook, "")
    for cell in notebook["cells"]:
        if cell.get("cell_type") == "code":
            source = "".join(cell.get("source", ""))
            here = {name: stub for name, stub in stubs.items() if span(source.split("\n"), name) is not None}
            cell |= {"source": with_stubs(source, here), "outputs": [], "execution_count": None}
    cells = cells_in(notebook, "")
    submission = from_cells([(cell.kind, cell.text) for cell in cells], "")
    return text if cells == before else notebook_json(notebook), submission


def _as_script(notebook: str, language: str) -> str:
    """Return a puzzle's file made of its notebook, without what only a notebook has above its lesson."""
    read = notebook_of(notebook, "")
    cells = zip(cells_in(read, ""), read["cells"], strict=True)
    text = script_text([(cell.kind, as_lesson(raw)) for cell, raw in cells if raw.get("id") not in HOSTED])
    return text if language == ENGLISH else text.replace("](../docs/", "](../../docs/")  # it lies one folder deeper
