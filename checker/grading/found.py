"""Files handed in, their students and puzzles: in nbgrader's `submitted/` or elsewhere."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from checker.course import ladder

KINDS = (".ipynb", ".py")
_OURS = {"checker", "solutions", "tests"}  # in a clone of the course: files with a puzzle's ID, and nobody's work
_NBGRADERS = {"timestamp.txt", "submission_secret.txt"}  # which it adds to what is submitted
MOST_DEEP = 20  # folders in folders; some unpackers, and Git, make a thousand for whoever asks
MOST_NAMED = 5  # files in a sentence
_ID = re.compile(rf"(?:^|[^A-Za-z0-9])({'|'.join(ladder.RUNGS)})(?=_)")
# What a learning platform writes before a file's name, or calls a folder. Canvas's second number is the file's.
_CANVAS = re.compile(r"(?P<student>[^_]+(?:_LATE)?_\d+)_\d+_(?P<file>.+)")
_MOODLE = re.compile(r"(?P<student>.+?)_(?P<participant>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)")


class NothingFound(Exception):
    """A place holds no submission: a sentence."""


@dataclass(frozen=True)
class Work:
    """The files that somebody has handed in for a puzzle; `chosen` says which of them is meant."""

    student: str
    puzzle: str  # its ID
    paths: tuple[Path, ...]


@dataclass(frozen=True)
class Download:
    """A file that came through a learning platform: who handed it in, and under which name."""

    student: str
    participant: str  # Moodle's number, which tells people of one name apart; another one in each assignment
    file: str


def download(path: Path) -> Download | None:
    """Return what Canvas or Moodle says of a file, by its path in their archive.

    Only what the path begins with is theirs: the rest is the student's, who might write somebody else's name there.
    """
    top = path.parts[0]  # a folder of Moodle's, a file, or a student's own archive, unpacked
    if named := _MOODLE.fullmatch(top) or _CANVAS.fullmatch(top):
        rest = named["file"] if len(path.parts) == 1 else path.name
        return Download(named["student"].replace("_LATE_", "_"), named.groupdict().get("participant", ""), rest)
    return None


def found(places: Sequence[Path], puzzles: Collection[str] = ladder.RUNGS) -> list[Work]:
    """Return all submissions in these folders and files, in order. Raises NothingFound.

    `puzzles`: what is expected. What was handed in for others is found as well.

    In a folder, whoever has a folder is a student: STUDENT/…/p1_naive_softmax.ipynb, as nbgrader lays it out. A file
    without one is its student's by the rest of its name: anna_p1_naive_softmax.py. Everything in a folder that is named
    after a puzzle is for this puzzle, and what nobody can read there, such as a .docx, was handed in, too.
    """
    works: set[Work] = set()
    for place in places:
        if not place.exists():
            raise NothingFound(f"There is no {place}.")
        here = _works([place], place.parent, puzzles) if place.is_file() else _works(_plain(place), place, puzzles)
        if not here:
            raise NothingFound(
                f"{place} holds no submission: no .py or .ipynb with a puzzle's ID in its name, such as "
                f"{ladder.LADDER[0].stem}.ipynb."
            )
        works.update(here)
    return sorted(works, key=lambda work: (work.student, ladder.place_of(work.puzzle), work.paths))


def in_folder(folder: Path) -> tuple[Path, ...]:
    """Return all that may be a submission in somebody's folder."""
    return tuple(path for path in _plain(folder) if path.suffix in KINDS)


def of_assignment(folder: Path) -> tuple[Path, ...]:
    """Return the same of what was handed in for one assignment; if there is none, the files that nobody can read."""
    return in_folder(folder) or tuple(path for path in _plain(folder) if path.name not in _NBGRADERS)


def any_handed_in(folder: Path) -> bool:
    """Return whether there is anything in a folder of nbgrader's that a student has handed in."""
    return any(path.name not in _NBGRADERS for path in folder.iterdir())


def collected(course: Path, puzzles: Collection[str] = ladder.RUNGS) -> list[Work]:
    """Return all submissions that a course has collected. Raises NothingFound."""
    if not (course / "submitted").is_dir():
        raise NothingFound(f"Nothing has been collected in {course} yet. Type: make round ASSIGNMENT=…")
    return found((course / "submitted",), puzzles)


def puzzle_of(path: Path, puzzles: Collection[str]) -> str | None:
    """Return the puzzle that a file's name says it is for, which may be none of those that are expected."""
    named = _named(path, puzzles)
    return None if named is None else named[1]


def some_of(paths: Sequence[Path | str]) -> str:
    """Return the names of files for a sentence: at most MOST_NAMED, and how many more there are."""
    more = len(paths) - MOST_NAMED
    return ", ".join(map(str, paths[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _plain(folder: Path) -> Iterator[Path]:
    """Plain files below a folder. Links are not followed: they may lead to what nobody has handed in."""
    for place, folders, names in os.walk(folder, followlinks=False):
        ours = _OURS if os.access(Path(place, "checker", "__main__.py"), os.F_OK) else set()
        deepest = len(Path(place).relative_to(folder).parts) == MOST_DEEP
        folders[:] = sorted(
            n for n in folders if not n.startswith(".") and n not in ours and not by_macos(n) and not deepest
        )
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and not _special(path):
                yield path


def by_macos(name: str) -> bool:
    """Return whether a file or folder is what macOS puts into an archive next to others: nobody's work."""
    return name == "__MACOSX" or name.startswith("._")


def _special(path: Path) -> bool:
    """Return whether something is known to be a link, a pipe or the like."""
    try:
        return not stat.S_ISREG(path.lstat().st_mode)
    except OSError:  # its folder is closed, or its name too long: whoever reads it will be told
        return False


def _works(paths: Iterable[Path], folder: Path, puzzles: Collection[str]) -> list[Work]:
    of: dict[tuple[str, str, str], list[Path]] = defaultdict(list)
    unread: dict[tuple[str, str, str], list[Path]] = defaultdict(list)
    ids = ladder.ids()
    for path in paths:
        inside = path.relative_to(folder)
        above, platform = inside.parts[:-1], download(inside)
        puzzle_id = next((ids[name] for name in above if name in ids), None)
        if path.suffix in KINDS:
            puzzle_id, whose = puzzle_id or puzzle_of(path, puzzles), of
        else:
            whose = unread
        if puzzle_id is None or path.name in _NBGRADERS:
            continue
        if platform is not None:
            whose[platform.student, platform.participant, puzzle_id].append(path)
        else:
            whose[above[0] if above else _before(path, puzzles), "", puzzle_id].append(path)
    of |= {who: files for who, files in unread.items() if who not in of}
    people = Counter((student, puzzle_id) for student, _, puzzle_id in of)
    return [
        Work(student if people[student, puzzle_id] == 1 else f"{student}_{participant}", puzzle_id, tuple(files))
        for (student, participant, puzzle_id), files in of.items()
    ]


def _named(path: Path, puzzles: Collection[str]) -> re.Match[str] | None:
    """Return where a file's name says which puzzle it is for.

    a1_p3_online_softmax.py may be of the first assignment: what is expected goes before what is not, a puzzle's whole
    name before an ID, and then what comes first.
    """

    def last(one: re.Match[str]) -> tuple[bool, bool]:
        return one[1] not in puzzles, not path.stem.startswith(ladder.RUNGS[one[1]].stem, one.start(1))

    return min(_ID.finditer(path.stem), key=last, default=None)


def _before(path: Path, puzzles: Collection[str]) -> str:
    """Return what stands before the puzzle's ID, and before its number, in a file's name; if nothing does, its name."""
    named = _named(path, puzzles)
    if named is None:
        return path.stem
    number, _, _ = ladder.numbered(named[1]).partition("_")
    before = path.stem[: named.start(1)].removesuffix(f"{number}_").strip("_- .")
    return before or ladder.without_number(path.stem)
