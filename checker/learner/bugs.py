"""Bugs to find: kernels with one mistake each, all made by editing the solution of their puzzle.

`solutions/bugs.toml` lists them, from easy to hard. Their edits stand among those of all wrong kernels, in
`tests/wrong/ID.diff`; a student's copy of the course has neither.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.course import places
from checker.course.edits import changes, code_of, read

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


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


def bugs_of(puzzle_id: str, root: Path = places.ROOT) -> tuple[Bug, ...]:
    """The bugs of a puzzle, from easy to hard; none if this copy of the course has none. Raises BadEdit."""
    wrong, solution = root / "tests" / "wrong" / f"{puzzle_id}.diff", places.solution(puzzle_id, root)
    try:
        names = listed(root / "solutions" / "bugs.toml").get(puzzle_id, ())
        kernels, code = read(wrong), code_of(solution.read_text(encoding="utf-8"))
    except OSError:
        return ()
    found = []
    for number, name in enumerate(names, start=1):
        head = f'"""Puzzle {puzzle_id}, bug {number} of {len(names)}: there is one mistake in it."""\n'
        text = kernels[name].made_of(code)
        [blame] = changes(head + code, head + text)
        found.append(Bug(puzzle_id, number, len(names), head + text, blame))
    return tuple(found)


def listed(path: Path) -> Mapping[str, Sequence[str]]:
    """What `solutions/bugs.toml` says: the names of the bugs of each puzzle. Raises OSError."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
