"""A real nbgrader course with a small class, through a real exchange."""

from __future__ import annotations

import contextlib
import copy
import csv
import io
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from checker.nbgrader.folder import make
from tests.conftest import ROOT, SOLUTION, importable, need

ASSIGNMENT = "p1_naive_softmax"
RIGHT = SOLUTION.partition("\n\n\n")[2]
KERNEL, CHECK = 3, 7  # cells of the notebook
Notebook = dict[str, Any]


@dataclass
class Done:
    """The exit and output of an nbgrader command."""

    status: int
    said: str


def nbgrader(*arguments: str, cwd: Path) -> Done:
    """Run `nbgrader …` in this process: starting Python anew would take three seconds each time."""
    from jupyter_core.application import NoStart
    from nbgrader.apps import NbGraderApp
    from nbgrader.validator import Validator

    said, before, status = io.StringIO(), Path.cwd(), 0
    os.chdir(cwd)
    stream, Validator.stream = Validator.stream, said
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            app = NbGraderApp.instance()
            app.initialize(list(arguments))
            app.start()
    except NoStart:
        pass
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        Validator.stream = stream
        each = app
        while each is not None:  # `db student add` is four apps, one inside the other
            type(each).clear_instance()
            each = each.subapp
        os.chdir(before)
    return Done(status, said.getvalue())


@dataclass
class Course:
    """A course's folder, its exchange, and the homes of its students."""

    folder: Path
    exchange: Path
    homes: Path

    def run(self, *arguments: str, ends: int | None = None) -> Done:
        """An instructor's command. `ends`: the exit status that it must have."""
        done = nbgrader(*arguments, cwd=self.folder)
        assert ends in (None, done.status), done.said
        return done

    def student(self, name: str, *arguments: str) -> Done:
        """A student's command, in a home without any configuration."""
        home = self.homes / name
        home.mkdir(parents=True, exist_ok=True)
        options = ("--course=flash-puzzles", f"--student={name}", f"--Exchange.root={self.exchange}")
        return nbgrader(*arguments, *options, f"--Exchange.cache={home / '.cache'}", cwd=home)

    def work(self, name: str, assignment: str = ASSIGNMENT) -> Path:
        """A student's copy of the notebook, fetched if it is not there yet."""
        path = self.homes / name / assignment / f"{assignment}.ipynb"
        if not path.exists():
            assert self.student(name, "fetch_assignment", assignment).status == 0
        return path

    def hand_in(self, name: str, change: Callable[[Notebook], object] | bytes, assignment: str = ASSIGNMENT) -> None:
        """Fetch, fill in, submit."""
        path = self.work(name, assignment)
        if isinstance(change, bytes):
            path.write_bytes(change)
        else:
            notebook = json.loads(path.read_text())
            change(notebook)
            path.write_text(json.dumps(notebook))
        assert self.student(name, "submit", assignment).status == 0

    def put(self, name: str, change: Callable[[Notebook], object] | bytes, assignment: str = ASSIGNMENT) -> Path:
        """Lay a notebook where `collect` would."""
        path = self.folder / "submitted" / name / assignment / f"{assignment}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not isinstance(change, bytes):
            notebook = copy.deepcopy(json.loads(self.released(assignment).read_text()))
            change(notebook)
            change = json.dumps(notebook).encode()
        path.write_bytes(change)
        return path

    def released(self, assignment: str = ASSIGNMENT) -> Path:
        """The notebook that students get."""
        return self.folder / "release" / assignment / f"{assignment}.ipynb"

    def scores(self) -> dict[str, float | str]:
        """What `nbgrader export` says, by student: the score, or why there is none."""
        return {
            row["student_id"]: float(row["score"]) if row["status"] == "graded" else row["status"]
            for row in self.exported()
        }

    def exported(self) -> list[dict[str, str]]:
        """The rows that `nbgrader export` writes for the assignment."""
        assert self.run("export", "--to=grades.csv").status == 0
        with (self.folder / "grades.csv").open() as file:
            return [row for row in csv.DictReader(file) if row["assignment"] == ASSIGNMENT]

    def autograded(self, name: str) -> list[dict[str, Any]]:
        """The cells of a student's notebook as it was autograded."""
        path = self.folder / "autograded" / name / ASSIGNMENT / f"{ASSIGNMENT}.ipynb"
        cells: list[dict[str, Any]] = json.loads(path.read_text())["cells"]
        return cells

    def report(self, name: str) -> str:
        """All outputs of the graded cell, as text."""
        cells = self.autograded(name)
        graded = next(cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("grade"))
        return "\n".join("".join(output["data"]["text/plain"]) for output in graded["outputs"])

    def grade(self, name: str, cell: str = f"check-{ASSIGNMENT}", **changes: Any) -> Any:
        """A student's grade in the gradebook, after changes as the formgrader makes them; as a dictionary."""
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{self.folder}/gradebook.db") as gradebook, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grade = gradebook.find_grade(cell, ASSIGNMENT, ASSIGNMENT, name)
            for field, value in changes.items():
                setattr(grade, field, value)
            gradebook.db.commit()
            return grade.to_dict()

    def settings(self, old: str, new: str) -> None:
        """Change course.toml."""
        path = self.folder / "course.toml"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))


def filled(kernel: str) -> Callable[[Notebook], object]:
    """A notebook with this text in the kernel's cell."""
    return lambda notebook: notebook["cells"][KERNEL].update(source=kernel)


@contextlib.contextmanager
def at_home(folder: Path) -> Iterator[None]:
    """Nothing of whoever runs the tests is read or written; nbgrader finds alembic, which it starts by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("HOME", str(folder / "home"))
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        patch.setenv("JUPYTER_CONFIG_DIR", str(folder / "config" / "jupyter"))
        patch.setenv("JUPYTER_DATA_DIR", str(folder / "data"))
        yield


@pytest.fixture(scope="session")
def new_course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course with one assignment, released into an exchange."""
    importable("nbgrader")
    need("bwrap")
    folder = tmp_path_factory.mktemp("new")
    exchange = folder / "exchange"
    exchange.mkdir()
    exchange.chmod(0o1777)
    with at_home(folder):
        (folder / "home").mkdir()
        make(folder / "course", exchange=str(exchange))
        made = Course(folder / "course", exchange, folder / "homes")
        for command in ("generate_assignment", "release_assignment"):
            made.run(command, ASSIGNMENT, ends=0)
    return folder


@contextlib.contextmanager
def copied(course: Path, folder: Path) -> Iterator[Course]:
    """A copy of what lies around a course: the course itself, its exchange, and where students are at home."""
    shutil.copytree(course, folder, dirs_exist_ok=True, symlinks=True)
    own = folder / "course" / "own_config.py"
    own.write_text(own.read_text().replace(str(course), str(folder)))
    with at_home(folder):
        yield Course(folder / "course", folder / "exchange", folder / "homes")


@pytest.fixture
def course(new_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """A copy of the new course, to which nobody has handed in."""
    with copied(new_course, tmp_path_factory.mktemp("class")) as one:
        yield one


@pytest.fixture(scope="module")
def shared_course(new_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Course]:
    """One for all tests of a file, whose order must not matter."""
    with copied(new_course, tmp_path_factory.mktemp("class")) as one:
        yield one


__all__ = [
    "ASSIGNMENT",
    "CHECK",
    "KERNEL",
    "RIGHT",
    "ROOT",
    "Course",
    "Done",
    "Notebook",
    "copied",
    "filled",
    "nbgrader",
]
