"""Bugs to find: kernels with one mistake each, all made by editing the solution of their puzzle.

`solutions/bugs.toml` lists them, from easy to hard. Their edits stand among those of all wrong kernels, in
`tests/wrong/ID.toml`; a student's copy of the course has neither.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.course import places

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class BadEdit(Exception):
    """An edit does not fit the solution: a sentence that names the kernel and the text."""


@dataclass(frozen=True)
class Bug:
    """A kernel with one mistake."""

    puzzle: str
    number: int  # from 1
    total: int
    text: str  # of its file
    lines: range  # of the file: any of them is to blame

    def path(self, root: Path = places.ROOT) -> Path:
        """Where the learner gets it."""
        return root / "bugs" / f"{self.puzzle}_bug_{self.number}.py"


def code_of(solution: str) -> str:
    """A solution without its docstring, which says what it solves."""
    return solution.partition('"""\n')[2]


def edited(name: str, code: str, edits: Sequence[Sequence[str]]) -> str:
    """The code after all edits, made one after the other; each is a pair of old and new lines. Raises BadEdit.

    The old lines must occur exactly once in what the edits before have made. If there are no new ones, they are
    taken out.
    """
    lines = code.split("\n")
    for old, new in edits:
        gone = _lines(old)
        found = [at for at in range(len(lines)) if gone and lines[at : at + len(gone)] == gone]
        if len(found) != 1:
            raise BadEdit(f"{name}: these lines must occur once, and occur {len(found)} times:\n{old}")
        lines[found[0] : found[0] + len(gone)] = _lines(new)
    return "\n".join(lines)


def changes(before: str, after: str) -> list[range]:
    """Where two texts differ, as lines of the second, from 1; where lines are gone, their neighbours."""
    codes = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    return [
        range(first + 1, last + 1) if last > first else range(first, first + 2)
        for kind, _, _, first, last in codes
        if kind != "equal"
    ]


def bugs_of(puzzle_id: str, root: Path = places.ROOT) -> tuple[Bug, ...]:
    """The bugs of a puzzle, from easy to hard; none if this copy of the course has none. Raises BadEdit."""
    wrong, solution = root / "tests" / "wrong" / f"{puzzle_id}.toml", places.solution(puzzle_id, root)
    try:
        names: Sequence[str] = entries(root / "solutions" / "bugs.toml").get(puzzle_id, ())
        kernels, code = entries(wrong), code_of(solution.read_text(encoding="utf-8"))
    except OSError:
        return ()
    found = []
    for number, name in enumerate(names, start=1):
        head = f'"""Puzzle {puzzle_id}, bug {number} of {len(names)}: there is one mistake in it."""\n'
        text = edited(name, code, kernels[name]["edits"])
        [blame] = changes(head + code, head + text)
        found.append(Bug(puzzle_id, number, len(names), head + text, blame))
    return tuple(found)


def entries(path: Path) -> Mapping[str, Any]:
    """What a file of wrong kernels, or `solutions/bugs.toml`, says, by name. Raises OSError."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []
