"""A learner's progress: one small text file, which terminal and notebook share.

Whoever changes it holds a lock, reads it, and replaces it whole; so nothing is lost between two processes, and
whoever only reads needs no lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from checker.course import ladder
from checker.course.places import ROOT
from checker.course.saving import keep_copy, replace_whole

try:
    import fcntl
except ImportError:  # in a browser, where no other process could change the file
    fcntl = None  # type: ignore[assignment]

NAME = "progress.txt"
ABOUT = (
    "# What you have solved, and what you have seen on the way: one line a puzzle. `make progress` shows it. "
    "You may delete this file; then everything is open again."
)
_DIGITS = 12  # of a text's SHA-256: enough to tell one learner's texts apart
PATIENCE = 2.0  # seconds to wait for another process, which needs milliseconds
_NAMES = r"[a-z][a-z0-9_-]*(?: [a-z][a-z0-9_-]*)*"
_SETS = {name: f"{name} about" for name in ("asked", "told", "right", "wrong")} | {"pieces": "fixed in the museum"}
_LINE = re.compile(
    r"puzzle (?P<puzzle>[a-z]?[1-9]\d{0,3}): (?:solved(?: (?P<when>\d{4}-\d\d-\d\d \d\d:\d\d))?|(?P<open>not solved))"
    r"(?:, last accepted as (?P<text>[0-9a-f]{12}))?"
    r"(?:, (?P<hints>\d{1,3}) hints? seen)?(?:, helped at level (?P<level>[12]))?"
    + "".join(rf"(?:, {words} (?P<{name}>{_NAMES}))?" for name, words in _SETS.items())
    + r"(?:, (?P<bugs>\d{1,3}) bugs? fixed)?",
    re.ASCII,
)


@dataclass(frozen=True)
class Entry:
    """The progress in one puzzle."""

    solved: bool = False
    when: str = ""  # it was first accepted, to the minute
    hints: int = 0  # seen so far
    asked: frozenset[str] = frozenset()  # findings whose question was shown
    told: frozenset[str] = frozenset()  # findings whose hint was shown, too
    right: frozenset[str] = frozenset()  # predictions: what the first guess at each was
    wrong: frozenset[str] = frozenset()
    pieces: frozenset[str] = frozenset()  # of the museum, found and fixed
    bugs: int = 0  # of the puzzle, in the same way
    text: str = ""  # which text was accepted last: the beginning of its SHA-256
    level: int = 0  # the most help that a stub gave: 1, the solution's comments; 2, its code with holes

    def merged(self, other: Entry) -> Entry:
        """Return what both together say."""
        when = min(filter(None, (self.when, other.when)), default="")
        told, wrong = self.told | other.told, self.wrong | other.wrong
        return Entry(
            self.solved or other.solved,
            when,
            max(self.hints, other.hints),
            (self.asked | other.asked) - told,
            told,
            (self.right | other.right) - wrong,
            wrong,
            self.pieces | other.pieces,
            max(self.bugs, other.bugs),
            max(self.text, other.text),
            max(self.level, other.level),
        )


@dataclass(frozen=True)
class Progress:
    """The progress in every puzzle. A puzzle that is not mentioned was not begun."""

    entries: Mapping[str, Entry] = field(default_factory=dict)

    def of(self, puzzle_id: str) -> Entry:
        """Return what was reached in one puzzle."""
        return self.entries.get(puzzle_id, Entry())

    def having(self, puzzle_id: str, entry: Entry) -> Progress:
        """Return the same, with one puzzle's entry replaced."""
        return Progress({**self.entries, puzzle_id: entry})

    def next_open(self, after: str = "") -> str | None:
        """Return the first puzzle after this one that is not solved, else the first at all; None: all are solved."""
        last = ladder.SPINE[-1] if all(self.of(one).solved for one in ladder.SPINE) else ""  # no rung that leads to it
        return next((one for one in ladder.following(after or last) if not self.of(one).solved), None)


@dataclass(frozen=True)
class Opened:
    """Progress as it was found, and a sentence if there is something to say about the file."""

    progress: Progress
    remark: str = ""


def parse(data: bytes) -> tuple[Progress, int]:
    """Return what can be read, and how many lines cannot."""
    progress, lost = Progress(), 0
    for position, line in enumerate(data.decode("utf-8-sig", errors="replace").split("\n")):
        text = line.strip()
        if not text or (position == 0 and text.startswith("#")):
            continue
        if found := _LINE.fullmatch(text):
            puzzle_id = found["puzzle"] if found["puzzle"][0].isalpha() else f"p{found['puzzle']}"  # as it was once
            names = {name: frozenset((found[name] or "").split()) for name in _SETS}
            hints, bugs, level = (int(found[name] or 0) for name in ("hints", "bugs", "level"))
            when, text = found["when"] or "", found["text"] or ""
            entry = Entry(not found["open"], when, hints, bugs=bugs, text=text, level=level, **names)
            progress = progress.having(puzzle_id, progress.of(puzzle_id).merged(entry))
        else:
            lost += 1
    return progress, lost


def written(progress: Progress) -> bytes:
    """Return the file's content."""
    lines = [ABOUT]
    for puzzle_id, entry in sorted(progress.entries.items(), key=lambda one: ladder.place_of(one[0])):
        reached = f"solved {entry.when}".rstrip() if entry.solved else "not solved"
        clauses = [reached]
        if entry.text:
            clauses.append(f"last accepted as {entry.text}")
        if entry.hints:
            clauses.append(f"{entry.hints} hint{'s' if entry.hints > 1 else ''} seen")
        if entry.level:
            clauses.append(f"helped at level {entry.level}")
        for name, words in _SETS.items():
            if names := getattr(entry, name):
                clauses.append(f"{words} {' '.join(sorted(names))}")
        if entry.bugs:
            clauses.append(f"{entry.bugs} bug{'s' if entry.bugs > 1 else ''} fixed")
        lines.append(f"puzzle {puzzle_id}: {', '.join(clauses)}")
    return ("\n".join(lines) + "\n").encode()


def opened(root: Path = ROOT) -> Opened:
    """Progress, from wherever the file leaves us: missing, damaged or unreadable, it is a start all the same."""
    path = root / NAME
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a file")
        data = path.read_bytes()
    except FileNotFoundError:
        return Opened(Progress())
    except OSError as error:
        return Opened(Progress(), f"{NAME} cannot be read ({error.strerror}), so it is not known what is solved.")
    progress, lost = parse(data)
    if not lost:
        return Opened(progress)
    try:
        return changed(lambda same: same, root)
    except OSError as error:
        return Opened(progress, f"{NAME} is damaged, and cannot be repaired here ({error.strerror}).")


def changed(change: Callable[[Progress], Progress], root: Path = ROOT) -> Opened:
    """Change the file; how it is afterwards. Raises OSError where it cannot be written."""
    path = root / NAME
    with _locked(path):
        data = path.read_bytes()
        before, lost = parse(data)
        remark = ""
        if lost:
            copy = keep_copy(path, data)
            lines = "a line" if lost == 1 else f"{lost} lines"
            remark = f"{NAME}: {lines} could not be read. The rest is kept; {copy.name} holds the file as it was."
        after = change(before)
        if lost or after != before:
            replace_whole(path, written(after))
    return Opened(after, remark)


def noted(puzzle_id: str, change: Callable[[Entry], Entry], root: Path = ROOT) -> Opened:
    """Change what was reached in one puzzle, in the same way."""
    return changed(lambda progress: progress.having(puzzle_id, change(progress.of(puzzle_id))), root)


def solved(puzzle_id: str, sha256: str = "", root: Path = ROOT) -> Opened:
    """Note that a puzzle is solved, when it was for the first time, and by which text now. Raises OSError."""
    now, text = time.strftime("%Y-%m-%d %H:%M"), sha256[:_DIGITS]

    def to_solved(was: Entry) -> Entry:
        when = was.when if was.solved else now
        return replace(was, solved=True, when=when, text=text, asked=frozenset(), told=frozenset())

    return noted(puzzle_id, to_solved, root)


def helped(puzzle_id: str, level: int, root: Path = ROOT) -> None:
    """Note that a stub gave help at a level. Raises OSError."""
    noted(puzzle_id, lambda was: replace(was, level=max(was.level, level)), root)


def accepted_as(puzzle_id: str, sha256: str, root: Path = ROOT) -> bool:
    """Return whether this text of a puzzle is the one that was accepted last."""
    return opened(root).progress.of(puzzle_id).text == sha256[:_DIGITS]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the file, which is made if it is missing, against all others who want to change it. OSError."""
    deadline = time.monotonic() + PATIENCE
    while (descriptor := _held(path)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(0, "another process holds it")
        time.sleep(0.005)
    try:
        yield
    finally:
        os.close(descriptor)


def _held(path: Path) -> int | None:
    """Return a descriptor that holds the lock; None if another process has it, or has just replaced the file."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    with contextlib.ExitStack() as unless_held:
        unless_held.callback(os.close, descriptor)
        held = os.fstat(descriptor)
        if not stat.S_ISREG(held.st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        with contextlib.suppress(OSError):  # some network file systems have no locks: better to go on without
            try:
                if fcntl is not None:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return None
        with contextlib.suppress(FileNotFoundError):  # it was removed since
            if os.path.samestat(path.stat(), held):
                unless_held.pop_all()
                return descriptor
    return None
