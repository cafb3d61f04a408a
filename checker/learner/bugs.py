"""Bugs to find: kernels with one mistake each, all made by editing the solution of their puzzle.

`solutions/bugs.toml` lists them, from easy to hard. `solutions/museum.md` has those that public projects had, with
what happened there. Their edits stand among those of all wrong kernels, in `tests/wrong/ID.diff`; a student's copy of
the course has none of these files.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from checker.course import places
from checker.course.edits import changes, code_of, read
from checker.course.paragraphs import in_language
from checker.learner.progress import Entry, Progress

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_COMMENTS = re.compile(r"\s*(?:#.*)?$", re.MULTILINE)  # with empty lines, and spaces at the ends of others


@dataclass(frozen=True)
class Bug:
    """A kernel with one mistake."""

    puzzle: str
    name: str  # of its kernel
    number: int  # from 1; of the puzzle's bugs, or of the museum
    total: int
    text: str  # of its file
    lines: range  # of the file: any of them is to blame
    story: str = ""  # Markdown of what happened in a public project, if it is of the museum

    def path(self, root: Path = places.ROOT) -> Path:
        """Return where the learner gets it."""
        return root / "bugs" / (f"museum_{self.number}.py" if self.story else f"{self.puzzle}_bug_{self.number}.py")

    @property
    def command(self) -> str:
        """What shows it again."""
        chosen = f"MUSEUM={self.number}" if self.story else f"PUZZLE={self.puzzle} NUMBER={self.number}"
        return f"make bug {chosen}"

    def edits(self, text: str) -> int:
        """Return in how many places a text has other code."""
        return len(changes(_COMMENTS.sub("", self.text), _COMMENTS.sub("", text)))

    @property
    def shown_story(self) -> str:
        """Its story in the language that is spoken, without the kernel's name."""
        return in_language(self.story).replace(f"## {self.name}: ", "## ")

    def is_fixed(self, progress: Progress) -> bool:
        """Return whether it was fixed before."""
        entry = progress.of(self.puzzle)
        return self.name in entry.pieces if self.story else self.number <= entry.bugs

    def noted(self, was: Entry) -> Entry:
        """Return what was reached in its puzzle once it is fixed."""
        if self.story:
            return replace(was, pieces=was.pieces | {self.name})
        return replace(was, bugs=max(was.bugs, self.number))


def bugs_of(puzzle_id: str, root: Path = places.ROOT) -> tuple[Bug, ...]:
    """Return the bugs of a puzzle, from easy to hard; none if this copy of the course has none. Raises BadEdit."""
    try:
        names = listed(root / "solutions" / "bugs.toml").get(puzzle_id, ())
        return _made(dict.fromkeys(names, ""), f"Puzzle {puzzle_id}, bug", root)
    except OSError:
        return ()


def museum(root: Path = places.ROOT) -> tuple[Bug, ...]:
    """Return the bugs of the museum, in its order; none if this copy of the course has none. Raises BadEdit."""
    try:
        text = (root / "solutions" / "museum.md").read_text(encoding="utf-8")
        sections = re.findall(r"^## (\w+): (.*?)\n*(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)
        return _made({name: f"## {name}: {story}" for name, story in sections}, "The museum, piece", root)
    except OSError:
        return ()


def _made(stories: Mapping[str, str], called: str, root: Path) -> tuple[Bug, ...]:
    """Return a bug for each name of a wrong kernel. Raises OSError and BadEdit."""
    ids = {name.partition("_")[0] for name in stories}
    kernels = {name: one for id in ids for name, one in read(root / "tests" / "wrong" / f"{id}.diff").items()}
    codes = {id: code_of(places.solution(id, root).read_text(encoding="utf-8")) for id in ids}
    found = []
    for number, (name, story) in enumerate(stories.items(), start=1):
        head = f'"""{called} {number} of {len(stories)}: there is one mistake in it."""\n'
        code = codes[id := name.partition("_")[0]]
        text = kernels[name].made_of(code)
        [blame] = changes(head + code, head + text)
        found.append(Bug(id, name, number, len(stories), head + text, blame, story))
    return tuple(found)


def listed(path: Path) -> Mapping[str, Sequence[str]]:
    """Return what `solutions/bugs.toml` says: the names of the bugs of each puzzle. Raises OSError."""
    return tomllib.loads(path.read_text(encoding="utf-8"))
