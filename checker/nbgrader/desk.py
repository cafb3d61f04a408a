"""nbgrader's steps for one assignment, made one after the other in this process: each of its commands takes seconds to
start. They are configured as its own commands are, so they do what these do.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from nbgrader.apps import ExportApp, NbGrader, ZipCollectApp
from nbgrader.converters import Autograde, GenerateAssignment, GenerateFeedback
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory
from nbgrader.exchange import ExchangeError, ExchangeFactory

from checker.course import ladder
from checker.course.clean import one_line
from checker.course.saving import reason
from checker.course.status import Ended
from checker.grading import settings
from checker.nbgrader.gradebook import Grades, when
from checker.nbgrader.students import is_odd

Tell = Callable[[], None]  # one more is done


class Stopped(Exception):
    """nbgrader could not go on: a sentence."""


class _Some:
    """A step of nbgrader's for some folders, with their notebooks, and not for all that a pattern finds."""

    def __init__(self, wanted: Mapping[str, list[str]], tell: Tell, **options: Any):
        super().__init__(**options)
        self.wanted, self.tell, self.at = wanted, tell, ""

    def init_notebooks(self) -> None:
        """Find what is to be converted."""
        self.assignments = dict(self.wanted)
        self.notebooks: list[str] = []

    def init_destination(self, assignment_id: str, student_id: str) -> bool:
        """Prepare a folder."""
        self.tell()
        self.at = student_id
        made: bool = super().init_destination(assignment_id, student_id)  # type: ignore[misc]
        return made


class _Autograde(_Some, Autograde):
    """`nbgrader autograde`."""


class _Feedback(_Some, GenerateFeedback):
    """`nbgrader generate_feedback`."""


class _Folders(CourseDirectory):
    """A course's folders. What a student calls a time may be none."""

    def get_existing_timestamp(self, dest_path: str) -> datetime | None:
        """When what lies there was handed in."""
        return when(super(), Path(dest_path))


class Desk:
    """An assignment on an instructor's desk. What nbgrader has to say is in `said`."""

    def __init__(self, course: settings.Settings, assignment: str):
        self.course, self.assignment, self.puzzle = course, assignment, ladder.ids().get(assignment)
        self.said: list[str] = []  # what went wrong in a step, and what was left out in collecting
        # nbgrader starts alembic by name.
        os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        self.app = ExportApp(log_level=logging.ERROR)
        self.app.load_cwd_config = False
        self.app.initialize([], root=str(course.folder))
        self.folders: Any = _Folders(parent=self.app, root=str(course.folder), assignment_id=assignment)
        self.exchange: Any = ExchangeFactory(parent=self.app)
        self.app.coursedir = self.folders

    def gradebook(self) -> Any:
        """Return the gradebook, as a context manager."""
        return Gradebook(self.folders.db_url, self.folders.course_id)

    def place(self, step: str, student: str = ".") -> Path:
        """Return one of nbgrader's folders of the assignment: source, release, submitted, autograded or feedback."""
        return Path(self.folders.format_path(getattr(self.folders, f"{step}_directory"), student, self.assignment))

    # The steps, in their order.

    def generate(self) -> None:
        """Make the students' notebook, and enter the assignment into the gradebook. Raises Stopped."""
        step = GenerateAssignment(coursedir=self.folders, parent=self.app)
        step.force, step.create_assignment = True, True
        self._run(step)

    def due(self, when: datetime | None = None) -> datetime | None:
        """The deadline, after it was set if one is given; both in UTC."""
        with self.gradebook() as book:
            if when is not None:
                book.update_or_create_assignment(self.assignment, duedate=when)
            try:
                found: datetime | None = book.find_assignment(self.assignment).duedate
            except MissingEntry:
                return None
        return found

    def release(self) -> None:
        """Hand the students' notebook out. Raises Stopped."""
        self._run(self._exchanging("ReleaseAssignment", force=True))

    def collect(self) -> None:
        """Collect what is new, from the exchange and from what a learning platform has exported. Raises Stopped."""
        step = self._exchanging("Collect", update=True)
        if any(Path(step.root, self.folders.course_id, "inbound").glob(f"*+{self.assignment}+*")):
            self._run(step, least=logging.WARNING)
        unpacker = ZipCollectApp(parent=self.app, log_level=logging.ERROR)
        unpacker.load_cwd_config = False
        # Its own way to initialize puts the current folder into sys.path.
        NbGrader.initialize(unpacker, [], root=str(self.course.folder))
        unpacker.coursedir.assignment_id, unpacker.force = self.assignment, True
        archive = Path(unpacker._format_collect_path(unpacker.archive_directory))
        if archive.is_dir() and any(archive.iterdir()):
            self._run(unpacker, least=logging.WARNING)

    def autograde(self, students: Mapping[str, list[str]], tell: Tell) -> None:
        """Autograde these students' notebooks, also again."""
        self._convert(_Autograde, "submitted", students, tell)

    def write_feedback(self, students: Mapping[str, list[str]], tell: Tell) -> None:
        """Write these students' feedback, also again."""
        self._convert(_Feedback, "autograded", students, tell)

    def release_feedback(self) -> list[str]:
        """Release all feedback that was written; whose could not be released. Raises Stopped."""
        step, before = self._exchanging("ReleaseFeedback"), len(self.said)
        self._run(step)
        del self.said[before + 1 :]  # there is a line for each of these, and the first says why
        return list(step.left_out)

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of the assignment, as `nbgrader export` writes them, after it has written all."""
        grades = Grades(parent=self.app)
        grades.to = str(self.course.folder / "grades.csv")
        with self.gradebook() as book:
            return [row for row in grades.export(book) if row["assignment"] == self.assignment]

    def handed_in(self) -> list[str]:
        """Return who has a folder in `submitted/`."""
        folders = sorted(Grades(parent=self.app).folders(self.assignment))
        for name in filter(is_odd, folders):
            sentence = f"submitted/{one_line(name)} was left out: that cannot be a student's name"
            self.said += [sentence] if sentence not in self.said else []
        return [name for name in folders if not is_odd(name)]

    def is_graded(self, student: str) -> bool:
        """Return whether what was autograded is what is there now."""
        submitted, autograded = self.place("submitted", student), self.place("autograded", student)
        return Grades(parent=self.app).is_graded(self.assignment, submitted, autograded)

    def _exchanging(self, name: str, **options: Any) -> Any:
        """Return a step of the exchange's."""
        step = getattr(self.exchange, name)(
            coursedir=self.folders, parent=self.app, authenticator=self.app.authenticator
        )
        for option, value in options.items():
            setattr(step, option, value)
        return step

    def _convert(self, kind: Any, step: str, students: Mapping[str, list[str]], tell: Tell) -> None:
        wanted = {
            str(folder): [str(folder / f"{name}.ipynb") for name in names]
            for student, names in students.items()
            if (folder := self.place(step, student))
        }
        converter = kind(wanted=wanted, tell=tell, coursedir=self.folders, parent=self.app)
        converter.force = True
        try:
            with suppress(Stopped):  # whoever could not be converted has no grade, and why is told in `said`
                self._run(converter)
        except OSError as problem:
            raise Stopped(f"at the work of {converter.at}: {reason(problem)}") from problem

    def _run(self, step: Any, least: int = logging.ERROR) -> None:
        """Make a step, from the course's folder. Raises Stopped."""
        before = Path.cwd()
        os.chdir(self.course.folder)
        try:
            with _heard(step.log, least, self.said), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # nbgrader's dependencies warn whoever programs them
                step.start()
        except Ended:
            raise
        except (NbGraderException, ExchangeError, SystemExit) as problem:
            raise Stopped(self.said[-1] if self.said else str(problem)) from problem
        finally:
            os.chdir(before)


_PROCESSING = "There was an error processing assignment: "
_NO_NEWS = re.compile(
    "There was an error processing assignment '|Please see the the above traceback|Directory not found. Creating"
    "|Clearing existing files|No release notebooks found"
    # Of what a platform exports: it knows no names of ours, and what was left out is told by itself.
    r"|Invalid submission notebook name|Skipped submission|Replacing previously collected|\d+ files collected, \d+ "
)
_OWNER = re.compile(r"claims to be submitted by (.*) but is owned by")
_STRANGERS = "The folders of some in the exchange belong to another account than theirs (grading.md says more)"


@contextmanager
def _heard(log: Any, least: int, said: list[str]) -> Iterator[None]:
    """Gather what is logged, each thing once: of a traceback whose it is, and its last line, which says what to do."""
    handler, others = _Ear(least, said), log.handlers[:]
    log.handlers[:] = [handler]
    try:
        yield
    finally:
        log.handlers[:] = others


class _Ear(logging.Handler):
    def __init__(self, least: int, said: list[str]):
        super().__init__(least)
        self.said, self.whose = said, ""
        self.strangers: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage().strip()
        if text.startswith(_PROCESSING):
            self.whose = f"{Path(text.removeprefix(_PROCESSING)).parent.name}: "
        elif found := _OWNER.search(text):  # in some exchanges all folders are of one account
            self.strangers.append(found[1])
            line = f"{_STRANGERS}: {', '.join(self.strangers[:3])}{' and others' * (len(self.strangers) > 3)}."
            self.said[:] = [*(one for one in self.said if not one.startswith(_STRANGERS)), line]
        elif record.module != "autograde" and not _NO_NEWS.match(text):  # who waits, and why, is told anyway
            line = self.whose + text.splitlines()[-1] if text.startswith("Traceback") else " ".join(text.split())
            if line not in self.said:
                self.said.append(line)
