"""Back to the stub: what was filled in goes into a backup, and the kernels end with their FILL IN marks again.

A stub has no second home. What is left of it is found in the puzzle's file and its notebook, and in what git keeps.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker import catalog
from checker.course import places
from checker.course.lesson import GAP, emptied, notebook_text, script_text, span
from checker.course.puzzle import Kernel, Puzzle
from checker.course.saving import keep_copy, replace_whole
from checker.submission.extract import NotASubmission, extract
from checker.submission.lint import lint
from checker.submission.read import Unreadable, cells_in, from_cells, notebook_of

_IMPORTS = "import triton\nimport triton.language as tl\n\n\n"
_GIT_SECONDS = 10
_UNCHANGED = "Nothing was changed. Take the file from where you got the course."


class NoStub(Exception):
    """No stub is left anywhere: a sentence, and nothing was changed."""


class Changed(Exception):
    """Somebody else wrote the file just now: a sentence, and it was not changed."""


@dataclass(frozen=True)
class Reset:
    """What a file holds, and what it will hold."""

    path: Path
    before: bytes | None  # None: there is no such file
    after: bytes

    @property
    def needed(self) -> bool:
        """Whether the file is not the stub already."""
        return self.before != self.after


@dataclass(frozen=True)
class _Lesson:
    """What is left of a puzzle, in one place: a script's text or a notebook's cells."""

    text: str = ""
    notebook: dict[str, Any] | None = None

    @property
    def cells(self) -> list[tuple[str, str]]:
        """(kind, text) of each cell; a script is one."""
        if self.notebook is None:
            return [("code", self.text)]
        return [(cell.kind, cell.text) for cell in cells_in(self.notebook, "")]

    @property
    def code(self) -> str:
        """The Python in it."""
        return "\n\n\n".join(text for kind, text in self.cells if kind == "code")

    @property
    def told(self) -> bool:
        """Whether it has the texts of the lesson, and not only code."""
        return "# %% [markdown]" in self.text or any(kind == "markdown" for kind, _ in self.cells)


def planned(number: int, path: Path, root: Path = places.ROOT) -> Reset:
    """How a puzzle's file or notebook becomes the stub again. Changes nothing. Raises NoStub and OSError."""
    puzzle = catalog.load(number)
    script, notebook = places.script(number, root), places.notebook(number, root)
    is_script = path == script
    other = notebook if is_script else script
    before = _read(path)
    found = [_lesson(before, is_script), _lesson(_readable(other), not is_script)]  # the nearest first
    found += [_lesson(_committed(path, root), is_script), _lesson(_committed(other, root), not is_script)]
    lessons = [lesson for lesson in found if lesson is not None]
    stubs = _stubs(puzzle, [lesson.code for lesson in lessons])
    if stubs is None:
        raise NoStub(_nowhere(number, script, notebook))
    for lesson in sorted(lessons, key=lambda lesson: not lesson.told):
        made = _as_script(lesson, puzzle, stubs) if is_script else _as_notebook(lesson, puzzle, stubs)
        if made is not None:
            return Reset(path, before, _unless_same(before, made, is_script))
    raise NoStub(f"{places.shown(path)} is too far from a lesson to be mended, and no copy of it is left. {_UNCHANGED}")


def carry_out(reset: Reset) -> Path | None:
    """Write the backup, then the stub; where the backup is, if there was a file. Raises Changed and OSError."""
    backup = None
    if reset.before is not None:
        backup = keep_copy(reset.path, reset.before)
        if _read(reset.path) != reset.before:
            backup.unlink()
            raise Changed(f"{reset.path.name} was saved by another program just now. It was left as it is: try again.")
    replace_whole(reset.path, reset.after)
    return backup


def _stubs(puzzle: Puzzle, texts: list[str]) -> dict[str, str] | None:
    """The stub of each kernel: what most texts agree on; else the shortest, for lines may be added above a mark."""
    stubs = {}
    for kernel in puzzle.kernels:
        found = [stub for text in texts if (stub := _stub(puzzle, kernel, text)) is not None]
        if not found:
            return None
        votes = Counter(found)
        stubs[kernel.name] = max(votes, key=lambda stub: (votes[stub], -stub.count("\n")))
    return stubs


def _stub(puzzle: Puzzle, kernel: Kernel, text: str) -> str | None:
    """A kernel's stub as a text has it, once it is emptied; None if that is not one."""
    lines = emptied(text, puzzle).split("\n")
    where = span(lines, kernel.name)
    stub = "" if where is None else "\n".join(lines[n].rstrip() for n in where)
    return stub if GAP in stub and _empty([kernel], [("code", _IMPORTS + stub)]) else None


def _empty(kernels: Sequence[Kernel], cells: Sequence[tuple[str, str]], *, notebook: bool = False) -> bool:
    """Whether a checker would call every kernel not started."""
    try:
        program = extract(from_cells(cells, "", numbered=notebook), kernels)
    except (NotASubmission, Unreadable, RecursionError, MemoryError, ValueError):
        return False
    return all(program.empty(kernel.name) for kernel in kernels) and not lint(program)


def _as_script(lesson: _Lesson, puzzle: Puzzle, stubs: Mapping[str, str]) -> str | None:
    """A puzzle file with these stubs; None if it cannot be made of this."""
    text = lesson.text
    if lesson.notebook is not None:
        text = script_text(lesson.cells)
    made = _with(text, stubs)
    return made if made is not None and _empty(puzzle.kernels, [("code", made)]) else None


def _as_notebook(lesson: _Lesson, puzzle: Puzzle, stubs: Mapping[str, str]) -> str | None:
    """A notebook with these stubs and without results; None if it cannot be made of this."""
    if lesson.notebook is None:
        script = _as_script(lesson, puzzle, stubs)
        try:
            return script and _as_notebook(_Lesson(notebook=json.loads(notebook_text(script, puzzle))), puzzle, stubs)
        except Exception:  # jupytext belongs to the lab layer, and knows many ways to dislike a header
            return None
    left = dict(stubs)
    cells = []
    for cell in lesson.notebook["cells"]:
        if cell.get("cell_type") == "code":
            here = [name for name in left if span(_source(cell).split("\n"), name) is not None]
            filled = _with(_source(cell), {name: left.pop(name) for name in here})
            cell = {**cell, "source": filled, "outputs": [], "execution_count": None}
        cells.append(cell)
    notebook = {**lesson.notebook, "cells": cells}
    made = _Lesson(notebook=notebook).cells
    if left or not _empty(puzzle.kernels, made, notebook=True):
        return None
    return _dumped(lesson.notebook if made == lesson.cells else notebook)  # results alone are no change


def _dumped(notebook: dict[str, Any]) -> str:
    """A notebook as Jupyter writes it. Half a character, which UTF-8 does not have, is spelt out."""
    try:
        text = json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(notebook, indent=1, sort_keys=True) + "\n"
    return text


def _with(text: str, stubs: Mapping[str, str]) -> str | None:
    """A text whose kernels are these stubs, and all else is as it was; None if one of them is not there."""
    lines = text.split("\n")
    for name, stub in stubs.items():
        where = span(lines, name)
        if where is None:
            return None
        lines[where.start : where.stop] = stub.split("\n")
    return "\n".join(lines)


def _unless_same(before: bytes | None, made: str, is_script: bool) -> bytes:
    """The new content; the very same bytes if only its layout would differ."""
    lesson = _lesson(before, is_script)
    if before is not None and lesson is not None:
        same = lesson.text == made if is_script else lesson.notebook == json.loads(made)
        if same:
            return before
        if is_script and b"\r\n" in before:
            made = made.replace("\n", "\r\n")
    return made.encode()


def _lesson(data: bytes | None, is_script: bool) -> _Lesson | None:
    """What a file holds; None if it is missing or no such file."""
    try:
        text = (data or b"").decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        if not text.strip():
            return None
        lesson = _Lesson(text) if is_script else _Lesson(notebook=notebook_of(text, ""))
        from_cells(lesson.cells, "")  # its limits hold here too
    except (Unreadable, UnicodeDecodeError):
        return None
    return lesson


def _source(cell: Mapping[str, Any]) -> str:
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _readable(path: Path) -> bytes | None:
    """The same, of a file that we can do without."""
    try:
        return _read(path)
    except OSError:
        return None


def _committed(path: Path, root: Path) -> bytes | None:
    """The file as it was last committed; None without git, without a repository, or if it is not there."""
    command = ["git", "-C", str(root), "show", f"HEAD:./{path.relative_to(root)}"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _nowhere(number: int, script: Path, notebook: Path) -> str:
    names = " and ".join(places.shown(path) for path in (script, notebook))
    return (
        f"No stub of puzzle {number} is left to go back to: the FILL IN mark is gone from {names}, and git has no "
        f"copy with it. {_UNCHANGED}"
    )
