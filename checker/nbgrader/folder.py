"""The folder of an nbgrader course: made from the catalog, and brought up to date without losing anything."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from checker.course import ladder
from checker.course.places import ROOT
from checker.course.saving import keep_copy, replace_whole
from checker.doctor.exchange import DEFAULT, make_exchange, problem
from checker.grading import key, settings
from checker.grading.grade import not_installed
from checker.grading.settings import Settings, SettingsError
from checker.nbgrader.assignment import source_notebook, with_questions

CONFIGURATION, OWN = "nbgrader_config.py", "own_config.py"


@dataclass
class Made:
    """The changes of `make`, in the words of its report."""

    written: list[Path] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def make(folder: Path, id: str = "", exchange: str = "", root: Path = ROOT) -> tuple[Settings, Made]:
    """Make a course's folder, or bring it up to date. Raises SettingsError, KeyProblem, NoAssignment, OSError.

    Id and the exchange's place are for a new course; one that is there has them in its own files.

    Written anew are only nbgrader's configuration and the notebooks in `source/`, with a copy of what was there. The
    instructor's own cells there, settings and key are kept; the latter two are made if they are missing.
    """
    folder = folder.absolute()
    if folder.exists() and not (folder / settings.NAME).exists() and any(folder.iterdir()):
        raise SettingsError(f"{folder} is not empty, and not a course. Name a new folder.")
    made = Made()
    settings.check_id(id or Settings.id)  # before course.toml is written, which never is again
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write_once(folder / settings.NAME, settings.template(id or Settings.id), made)
    course = settings.read(folder)
    if id and id != course.id:
        raise SettingsError(f"{folder} is the course {course.id!r}. For the course {id!r}, name another folder.")
    if key.make(course.key_path, folder):
        made.remarks.append(f"A new key was made: {course.key_path}. Keep a copy in a safe place.")
    place = str(settings.expanded(exchange).absolute()) if exchange else ""  # nbgrader is started in another folder
    if not _write_once(folder / OWN, _OWN.format(exchange=repr(place) if place else _NO_EXCHANGE), made):
        made.remarks += _other_exchange(folder / OWN, place)
    elif place:
        made.remarks += _new_exchange(Path(place))
    _write(folder / CONFIGURATION, _CONFIGURATION.format(root=repr(str(root)), own=OWN), folder / "replaced", made)
    for puzzle_id in course.puzzles:
        stem, points = ladder.stems()[puzzle_id], course.possible(puzzle_id)
        path = folder / "source" / stem / f"{stem}.ipynb"
        old = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
        new = source_notebook(root, puzzle_id, points, course.questions(puzzle_id))
        _write(path, with_questions(new, old), folder / "replaced", made)
    course.records.mkdir(exist_ok=True, mode=0o700)
    made.remarks += [*_strays(folder), *_unnamed(folder, course)]
    if missing := not_installed(course.puzzles):
        made.remarks.append(f"{missing}. The other puzzles can be graded without.")
    return course, made


def _write_once(path: Path, text: str, made: Made) -> bool:
    """Write a file that is the instructor's from then on; whether it was written."""
    with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
        file.write(text)
        made.written.append(path)
        return True
    return False


def _other_exchange(own: Path, place: str) -> Iterator[str]:
    """Yield what to do if an exchange is named for a course that has its settings already."""
    if place and place not in own.read_text(encoding="utf-8", errors="replace"):
        yield f"{own.name} is yours, and stays as it is. To move the exchange, write there: c.Exchange.root = {place!r}"


def _new_exchange(place: Path) -> Iterator[str]:
    """Make it; what is wrong with it."""
    with contextlib.suppress(OSError):
        make_exchange(place)
    if (wrong := problem(place)) is not None:
        yield f"{place} {wrong[0]}. Type: {wrong[1]}"


def _write(path: Path, text: str, replaced: Path, made: Made) -> None:
    """Write a built file. What differs in it is kept: not next to it, where nbgrader would release it."""
    old = path.read_bytes() if path.exists() else None
    if old == text.encode():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if old is not None:
        replaced.mkdir(exist_ok=True, mode=0o700)
        made.remarks.append(f"The old {path.name} is kept as {keep_copy(replaced / path.name, old)}.")
    replace_whole(path, text.encode())
    made.written.append(path)


def _strays(folder: Path) -> Iterator[str]:
    """Files next to the notebooks in `source/`: nbgrader hands them to students."""
    for stem in ladder.stems().values():
        for path in sorted((folder / "source" / stem).rglob("*")):
            if path.is_file() and path.name != f"{stem}.ipynb" and ".ipynb_checkpoints" not in path.parts:
                yield f"{path.relative_to(folder)} is next to a notebook, so nbgrader will hand it to students."


def _unnamed(folder: Path, course: Settings) -> Iterator[str]:
    """Assignments in `source/` of puzzles that the course does not have, or no longer: nbgrader still shows them."""
    stems = [stem for puzzle_id, stem in ladder.stems().items() if puzzle_id not in course.puzzles]
    if there := [f"source/{stem}" for stem in stems if (folder / "source" / stem).exists()]:
        yield (
            f"{settings.NAME} does not name the puzzles of {', '.join(there)}: nothing of them is graded, and the "
            "folders stay as they are. Name the puzzles there, or remove the folders."
        )


_CONFIGURATION = '''\
"""nbgrader's configuration of this course. `make course` writes it: settings of your own belong in {own}.

Do not edit it: if this file cannot be loaded, nbgrader continues without it, and executes what students hand in.
"""

import sys
from pathlib import Path

c = get_config()  # noqa: F821

# Whatever goes wrong below, nbgrader must not do what it does by default.
c.Autograde.autograde_preprocessors = ["checker.nbgrader.autograde.NotConfigured"]

HERE, CHECKER = Path(__file__).resolve().parent, {root}
if CHECKER not in sys.path:
    sys.path.append(CHECKER)
try:
    load_subconfig("{own}", path=str(HERE))  # noqa: F821
    from checker.nbgrader.configure import configure

    configure(c, HERE)
except Exception as error:
    print(f"{{__file__}}: the course cannot be graded: {{type(error).__name__}}: {{error}}", file=sys.stderr)
'''

_NO_EXCHANGE = f'"{DEFAULT}"  # nbgrader\'s default'
_OWN = '''\
"""Settings of your own for nbgrader. `make course` wrote this file once, and never overwrites it.

Points, late policy and attempts are in course.toml.
"""

c = get_config()  # noqa: F821

c.Exchange.root = {exchange}
'''
