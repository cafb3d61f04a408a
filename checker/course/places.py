"""Paths of a puzzle's files."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from checker.course import ladder
from checker.course.language import ENGLISH, LANGUAGES, spoken

PACKAGE = Path(__file__).parents[1]
SHIPPED = PACKAGE / "carried" / "course"  # an installed package has the learner's files here, to be copied from
INSTALLED = SHIPPED.is_dir()


def _root() -> Path:
    """Return the course's folder: the one around the package, or, if that is installed, the one that we are in or
    below.
    """
    if not INSTALLED:
        return PACKAGE.parent
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if holds_course(folder)), here)


def holds_course(folder: Path) -> bool:
    """Return whether it has a puzzle where puzzles are."""
    return any((folder / "puzzles" / f"{stem}.py").is_file() for stem in ladder.stems().values())


ROOT = _root()


def code(room: Path) -> list[Path]:
    """Files of a room of the checker, in order: modules, words and numbers. Or a file by itself."""
    if not room.is_dir():
        return [room]
    return sorted(path for path in room.rglob("*") if path.suffix in (".py", ".md", ".npz") and path.is_file())


def script(puzzle_id: str, root: Path = ROOT, language: str = ENGLISH) -> Path:
    """Return a puzzle's lesson and stub, which the learner fills in."""
    return _room("puzzles", root, language) / f"{ladder.stems()[puzzle_id]}.py"


def notebook(puzzle_id: str, root: Path = ROOT, language: str = ENGLISH) -> Path:
    """Return the same as a notebook."""
    return _room("notebooks", root, language) / f"{ladder.numbered(puzzle_id)}.ipynb"


def start(root: Path = ROOT, language: str = ENGLISH) -> Path:
    """Return the notebook to open first."""
    return _room("notebooks", root, language) / "00_start_here.ipynb"


def _room(name: str, root: Path, language: str) -> Path:
    return root / name if language == ENGLISH else root / name / language


def earlier(now: Path) -> list[Path]:
    """Return the files next to a puzzle's with its name in an earlier version: another number in front, or none."""
    stem = ladder.without_number(now.stem)
    there = sorted(now.parent.glob(f"*{stem}{now.suffix}"))
    return [path for path in there if path != now and ladder.without_number(path.stem) == stem]


def figures(root: Path = ROOT) -> Path:
    """Return the folder of the pictures that lessons show: as SVG, and as PNG for notebooks, which
    only authors need.
    """
    return root / "docs" / "figures"


def stubs(puzzle_id: str, package: Path = PACKAGE) -> Path:
    """Return the stub of each of its kernels as it was shipped; built."""
    return package / "learner" / "stubs" / f"{ladder.stems()[puzzle_id]}.py"


def solution(puzzle_id: str, root: Path = ROOT) -> Path:
    """Return the same kernels, solved. A student's copy of the course need not have it."""
    return root / "solutions" / f"{ladder.stems()[puzzle_id]}.py"


def steps(puzzle_id: str, root: Path = ROOT) -> list[Path]:
    """Return the tuned versions of a puzzle, one technique a file. A student's copy of the course has none."""
    return sorted((root / "solutions" / "tuned").glob(f"{puzzle_id}_*.py"))


def launches_itself(step: Path) -> bool:
    """Return whether a tuned version is more than the puzzle's kernels: neither the linter nor the judge takes it.

    It defines `launch`, which a benchmark calls.
    """
    return re.search(r"^def launch\(", step.read_text(encoding="utf-8"), re.MULTILINE) is not None


def walk_through(puzzle_id: str, root: Path = ROOT) -> Path:
    """Return the solution explained, part by part, in Markdown. It lies next to the solution."""
    return solution(puzzle_id, root).with_suffix(".md")


def spoken_script(puzzle_id: str, root: Path = ROOT) -> Path:
    """Return the puzzle's file in the language that is spoken; the English one where its lesson has not been
    translated.
    """
    if _translated(puzzle_id, root, spoken()):
        return script(puzzle_id, root, spoken())
    return _spoken(lambda language: script(puzzle_id, root, language))


def spoken_notebook(puzzle_id: str, root: Path = ROOT) -> Path:
    """Return the same as a notebook."""
    return _spoken(lambda language: notebook(puzzle_id, root, language))


def spoken_start(root: Path = ROOT) -> Path:
    """Return the notebook to open first, in that language."""
    return _spoken(lambda language: start(root, language))


def _translated(puzzle_id: str, root: Path, language: str) -> bool:
    """Return whether there is a translation, from which the puzzle's files are made: one that is
    not there is missing.
    """
    return language != ENGLISH and script(puzzle_id, root, language).with_suffix(".md").exists()


def _spoken(place: Callable[[str], Path]) -> Path:
    there = place(spoken())
    return there if there.exists() else place(ENGLISH)


def files(puzzle_id: str, root: Path = ROOT) -> tuple[Path, ...]:
    """Return what a learner may write the puzzle's kernels into: its file, its notebook, and those of an earlier
    version.

    Those in the language that is spoken come first; in others than English, as far as they are there or translated.
    """
    found, before = [], []
    for language in sorted(LANGUAGES, key=lambda language: language != spoken()):
        pair = script(puzzle_id, root, language), notebook(puzzle_id, root, language)
        whole = language == ENGLISH or _translated(puzzle_id, root, language)
        found += [path for path in pair if whole or path.exists()]
        before += earlier(pair[1])
    return (*found, *before)


def is_own(path: Path, puzzle_id: str, root: Path = ROOT) -> bool:
    """Return whether a path leads to one of the puzzle's own files, by whatever way."""
    return os.path.realpath(path) in map(os.path.realpath, files(puzzle_id, root))


def check_typed(puzzle_id: str, file: object = "") -> str:
    """Return the command that checks a puzzle."""
    command = "py -m checker check" if os.name == "nt" else "./check"
    return f"{command} {puzzle_id}{f' --file {shlex.quote(str(file))}' if file else ''}"


def shown(path: Path) -> str:
    """Return a path as it can be typed here: short if it is below the current folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)
