"""What was handed in, by whom, and for which puzzle: in nbgrader's `submitted/` or elsewhere."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker import catalog

KINDS = (".ipynb", ".py")
_OURS = {"checker", "solutions", "tests"}  # in a clone of the course: files with a puzzle's number, and nobody's work
MOST_DEEP = 20  # folders in folders; some unpackers, and Git, make a thousand for who asks for them
_NUMBER = re.compile(r"(?:^|[^A-Za-z0-9])p(\d+)(?=_)")
# What a learning platform writes before a file's name, or calls a folder. Canvas's second number is the file's.
_CANVAS = re.compile(r"(?P<student>[^_]+(?:_LATE)?_\d+)_\d+_(?P<file>.+)")
_MOODLE = re.compile(r"(?P<student>.+?)_(?P<participant>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)")


class NothingFound(Exception):
    """A place holds no submission: a sentence."""


@dataclass(frozen=True, order=True)
class Work:
    """The files that somebody has handed in for a puzzle; `chosen` says which of them is meant."""

    student: str
    number: int
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Download:
    """A file that came through a learning platform: whose it is, and how he had called it."""

    student: str
    participant: str  # Moodle's number, which tells people of one name apart; another one in each assignment
    file: str


def download(path: Path) -> Download | None:
    """What Canvas or Moodle says of a file, by its path in their archive.

    Only what the path begins with is theirs: the rest is the student's, who might write somebody else's name there.
    """
    if moodle := _MOODLE.fullmatch(path.parts[0]):
        return Download(moodle["student"], moodle["participant"], moodle["file"] or path.name)
    if len(path.parts) == 1 and (canvas := _CANVAS.fullmatch(path.name)):
        return Download(canvas["student"].replace("_LATE_", "_"), "", canvas["file"])
    return None


def found(places: Sequence[Path]) -> list[Work]:
    """All submissions in these folders and files, in order. Raises NothingFound.

    In a folder, whoever has a folder is a student: STUDENT/…/p1_naive_softmax.ipynb, as nbgrader lays it out. A file
    without one is its student's by the rest of its name: anna_p1_naive_softmax.py. In a folder that is called as a
    puzzle, everything is for this puzzle.
    """
    works: set[Work] = set()
    for place in places:
        if not place.exists():
            raise NothingFound(f"There is no {place}.")
        here = _works([place], place.parent) if place.is_file() else _works(_files(place), place)
        if not here:
            raise NothingFound(
                f"{place} holds no submission: no .py or .ipynb with a puzzle's number in its name, such as "
                f"{catalog.stems()[min(catalog.stems())]}.ipynb."
            )
        works.update(here)
    return sorted(works)


def of_puzzle(folder: Path, number: int, *, any_name: bool = True) -> tuple[Path, ...]:
    """What may be the submission for a puzzle in somebody's folder.

    `any_name`: nothing else is expected there, so files without the puzzle's number may be it if none has it.
    """
    paths = _called(_files(folder), number)
    return paths if any_name else tuple(path for path in paths if _number(path) == number)


def _files(folder: Path) -> Iterator[Path]:
    """Plain files below a folder. Links are not followed: they may lead to what nobody has handed in."""
    for place, folders, names in os.walk(folder, followlinks=False):
        ours = _OURS if os.access(Path(place, "checker", "__main__.py"), os.F_OK) else set()
        deepest = len(Path(place).relative_to(folder).parts) == MOST_DEEP
        folders[:] = sorted(n for n in folders if not n.startswith(".") and n not in ours and not deepest)
        for name in sorted(names):
            path = Path(place, name)
            if path.suffix in KINDS and not name.startswith(".") and not _special(path):
                yield path


def _special(path: Path) -> bool:
    """Whether something is known to be a link, a pipe or the like."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # its folder is closed, or its name too long: whoever reads it will be told
        return False


def _works(paths: Iterable[Path], folder: Path) -> list[Work]:
    of: dict[tuple[str, str, int], list[Path]] = defaultdict(list)
    for path in paths:
        inside = path.relative_to(folder)
        above, platform = inside.parts[:-1], download(inside)
        number = next((number for number, stem in catalog.stems().items() if stem in above), None) or _number(path)
        if number is None:
            continue
        if platform is not None:
            of[platform.student, platform.participant, number].append(path)
        else:
            of[above[0] if above else _before(path), "", number].append(path)
    people = Counter((student, number) for student, _, number in of)
    return [
        Work(student if people[student, number] == 1 else f"{student}_{participant}", number, _called(files, number))
        for (student, participant, number), files in of.items()
    ]


def _called(paths: Iterable[Path], number: int) -> tuple[Path, ...]:
    """Those with the puzzle's number in their names; if there are none those with no number, and else all."""
    by_name = {path: _number(path) for path in paths}
    for wanted in (number, None):
        if some := tuple(path for path, named in by_name.items() if named == wanted):
            return some
    return tuple(by_name)


def _number(path: Path) -> int | None:
    """The puzzle that a file's name says it is for."""
    named = _NUMBER.search(path.stem)
    return int(named[1]) if named is not None and int(named[1]) in catalog.stems() else None


def _before(path: Path) -> str:
    """What stands before the puzzle's number in a file's name; if nothing does, its name."""
    named = _NUMBER.search(path.stem)
    return (path.stem[: named.start()].strip("_- .") if named else "") or path.stem
