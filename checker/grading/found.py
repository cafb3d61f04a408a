"""Which files are submissions: of nbgrader's `submitted/`, of any other folder, or named one by one."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker import catalog

KINDS = (".ipynb", ".py")
_OURS = {"checker", "solutions", "tests"}  # in a clone of the course: files with a puzzle's number, and nobody's work
MOST_DEEP = 20  # folders in folders; some unpackers, and Git, make a thousand for who asks for them
_NUMBER = re.compile(r"(?:^|[^A-Za-z0-9])p(\d+)(?=_)")


class NothingFound(Exception):
    """A place holds no submission: a sentence."""


@dataclass(frozen=True, order=True)
class Work:
    """One file that somebody has handed in for a puzzle."""

    student: str
    number: int
    path: Path


def found(places: Sequence[Path]) -> list[Work]:
    """All submissions in these folders and files, in order. Raises NothingFound.

    In a folder, whoever has a folder is a student: STUDENT/…/p1_naive_softmax.ipynb, as nbgrader lays it out. A file
    without one is its student's by the rest of its name: anna_p1_naive_softmax.py.
    """
    works = set()
    for place in places:
        if not place.exists():
            raise NothingFound(f"There is no {place}.")
        here = [_work(place, place.parent)] if place.is_file() else [_work(path, place) for path in _files(place)]
        here = [work for work in here if work is not None]
        if not here:
            raise NothingFound(
                f"{place} holds no submission: no .py or .ipynb with a puzzle's number in its name, such as "
                f"{catalog.stems()[min(catalog.stems())]}.ipynb."
            )
        works.update(here)
    return sorted(work for work in works if work is not None)


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


def _work(path: Path, folder: Path) -> Work | None:
    named = _NUMBER.search(path.stem)
    if named is None or int(named[1]) not in catalog.stems():
        return None
    above = path.relative_to(folder).parts[:-1]
    before = path.stem[: named.start()].strip("_- .")
    return Work(above[0] if above else before or path.stem, int(named[1]), path)
