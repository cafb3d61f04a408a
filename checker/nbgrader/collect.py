"""Collectors for nbgrader: from its exchange with care, and from exports of Canvas or Moodle.

All that is collected is students': folders, names, links, archives. None may stop the collecting of the others, lead to
what nobody has handed in, or be taken for somebody else's.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
import zlib
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from nbgrader.api import Gradebook
from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import ExtractorPlugin, FileNameCollectorPlugin

from checker.browser.drafts import script_of_all
from checker.course import ladder
from checker.course.clean import one_line
from checker.grading import settings
from checker.grading.chosen import Unresolved, chosen_in
from checker.grading.found import MOST_DEEP, Download, any_handed_in, by_macos, download
from checker.grading.grade import CheckerFault, NotInstalled, NotReady, judged
from checker.grading.key import KeyProblem
from checker.nbgrader.gradebook import when
from checker.nbgrader.students import is_odd
from checker.submission.read import SIZE_LIMIT

NOT_A_SUBMISSION = "is not a submission, and was left out"
OURS = ("timestamp.txt", "submission_secret.txt")  # which nbgrader takes for its own
LONGEST_NAME = 200  # bytes of a file's name: file systems take 255, and nbgrader puts something before it
MOST_BYTES, MOST_FILES = 100 << 20, 1000  # in a student's own archive
_NOT_JUDGED = (Unresolved, CheckerFault, NotInstalled, NotReady, KeyProblem, OSError)
_NO_ARCHIVE = (OSError, BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError)


class CollectAllowed(ExchangeCollect):
    """Collect the best submission or the newest, of those that count, and only plain files of it."""

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """Find the submissions that are collected."""
        self.course = settings.read(Path(self.coursedir.root))
        self.times: dict[str, set[datetime]] = {}  # of all attempts, by student
        super().init_src()
        self.src_records = [record for record in self.src_records if record["username"] is not None]
        for hidden in sorted(Path(self.inbound_path).glob(f".*+{self.coursedir.assignment_id}+*")):  # from nbgrader
            self.log.warning("%s %s", one_line(str(hidden)), NOT_A_SUBMISSION)
        given = self.course.extension.get(self.coursedir.assignment_id, {}).keys() | self.course.accommodations.keys()
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as book:
            known = {student.id for student in book.students}
        for name in sorted(given - known - {record["username"] for record in self.src_records}):
            self.log.warning("course.toml gives %s more time, and nobody of this name is known", name)

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """Return what a submission's name says. Anybody may write to the exchange: nbgrader would
        stop at an odd name.
        """
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            odd = is_odd(record["username"]) or not stat.S_ISDIR(Path(path).lstat().st_mode)
        except (ValueError, OverflowError, OSError, ExchangeError):
            odd = True
        if odd:
            self.log.warning("%s %s", one_line(path), NOT_A_SUBMISSION)
            return {"username": None, "filename": "", "timestamp": datetime.min}
        return record

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return a student's submissions that count, first the one that is collected."""
        newest_first: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        name, assignment = newest_first[0]["username"], self.coursedir.assignment_id
        if name is None:
            return newest_first
        self.times[name] = {record["timestamp"] for record in newest_first}
        allowed = self.course.allowed_attempts(assignment)
        if 0 < allowed < len(newest_first):
            self.log.warning("%s has submitted %d times; the first %d count", name, len(newest_first), allowed)
        counting = [*reversed(self.course.counting(assignment, newest_first[::-1]))]
        if self.course.counts == "newest" or len(counting) == 1 or assignment not in ladder.ids():
            return counting
        return sorted(counting, key=lambda record: self._worth(record, newest=record is counting[0]), reverse=True)

    def _worth(self, record: dict[str, Any], *, newest: bool) -> tuple[float, bool]:
        """Return the points of a submission after its penalty, and whether these are sure.

        If nobody can judge the newest, it has all that it could have: another goes first that has as many.
        """
        assignment, course = self.coursedir.assignment_id, self.course
        puzzle_id, folder = ladder.ids()[assignment], Path(self.inbound_path, record["filename"])
        try:
            points, sure = judged(puzzle_id, chosen_in(folder, puzzle_id, assignment), course)[1].earned, True
        except _NOT_JUDGED:
            points, sure = course.possible(puzzle_id) if newest else -1, False
        late = 0.0 if self.duedate is None else (record["timestamp"] - self.duedate).total_seconds()
        return points - course.penalty(assignment, record["username"], points, late, self.duedate), sure

    def copy_files(self) -> None:
        """Copy what is collected. With --update also in place of a newer attempt, which nbgrader would keep."""
        course = self.coursedir
        for record in self.src_records:
            folder = Path(course.format_path(course.submitted_directory, record["username"], course.assignment_id))
            if (
                folder.is_dir()
                and not any_handed_in(folder)
                and any_handed_in(Path(self.inbound_path, record["filename"]))
            ):
                shutil.rmtree(folder)  # somebody has broken off, or has taken the files out
            collected, others = when(course, folder), self.times[record["username"]]
            if self.update and collected is not None and record["timestamp"] < collected in others:
                self.log.warning("%s was collected from %s, and does not count", collected, record["username"])
                shutil.rmtree(folder)
        super().copy_files()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission; one that cannot be copied is told, and the others are collected.

        nbgrader follows links, with the rights of whoever collects: to the key, or to another student's work.
        """
        part = Path(dest).with_name(f".{Path(dest).name}.part")
        shutil.rmtree(part, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder) / "submission"  # where nobody can exchange a file for a link any more
            try:
                self._copy_plain(src, own)
                # As nbgrader named the folder; what the student may have written would decide whether it is late, and
                # the next collection would stop at what is no time.
                (own / "timestamp.txt").write_text(Path(src).name.rsplit("+", 3)[2], encoding="utf-8")
                super().do_copy(str(own), str(part), log)
                part.rename(dest)  # whoever breaks off leaves a whole submission there, or none
            except (OSError, RuntimeError) as problem:  # shutil.Error, too; RuntimeError: nbgrader's, too big
                self.log.error("%s was not collected: %s", src, problem)
            finally:
                shutil.rmtree(part, ignore_errors=True)

    def _copy_plain(self, src: str, own: Path) -> None:
        """Copy plain files only. The student may change the folder meanwhile, so what was opened is what is asked."""
        most = 1000 * self.coursedir.max_dir_size
        for folder, folders, files, opened in os.fwalk(src, onerror=_raise):  # goes into no link
            inside = Path(folder).relative_to(src)
            if len(inside.parts) > MOST_DEEP:
                raise RuntimeError(f"its folders are nested more than {MOST_DEEP} deep")
            (own / inside).mkdir()
            for name in files:
                if by_macos(name):
                    continue
                data = _plain(name, opened, most)
                if data is None:
                    self._left_out(folder, name)
                else:
                    most -= len(data)
                    (own / inside / name).write_bytes(data)
            for name in folders:
                if stat.S_ISLNK(os.stat(name, dir_fd=opened, follow_symlinks=False).st_mode):
                    self._left_out(folder, name)
        if not own.exists():
            raise RuntimeError("it is not a folder")

    def _left_out(self, folder: str, name: str) -> None:
        self.log.warning("%s is not a plain file, and was left out", Path(folder) / name)


def _raise(error: OSError) -> None:
    raise error


def _plain(name: str, folder: int, most: int) -> bytes | None:
    """Return what a file in an open folder holds; None if it is a link, a pipe or the like. OSError, RuntimeError."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link; a socket
            return None
        raise
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(most + 1)
    if len(data) > most:
        raise RuntimeError("it is bigger than nbgrader's CourseDirectory.max_dir_size")
    return data


class Unpack(ExtractorPlugin):
    """Unpacks the platform's archives, and the students' in them. What cannot be unpacked is told, and stays."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Copy what lies in one folder to another, archives as folders."""
        source = Path(archive_path)
        for path in sorted(source.rglob("*")):
            if any(map(by_macos, path.relative_to(source).parts)):
                continue
            place = Path(extracted_path) / path.relative_to(source)
            if path.suffix == ".zip":
                students = download(Path(path.name)) is not None  # Canvas's folder, unpacked by hand
                self._unpack(path, place.with_suffix(""), students=students)
            elif path.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(path.read_bytes())
        for path in sorted(Path(extracted_path).rglob("*.json")):
            self._from_drafts(path)

    def _from_drafts(self, path: Path) -> None:
        """Put a script in place of a file of all drafts, as the site's pages save it; anything else stays."""
        with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
            if path.stat().st_size <= SIZE_LIMIT:
                puzzle_id = ladder.ids()[self.parent.coursedir.assignment_id]
                path.with_suffix(".py").write_text(script_of_all(puzzle_id, path.read_text("utf-8")), "utf-8")
                path.unlink()

    def _unpack(self, path: Path, folder: Path, *, students: bool) -> None:
        try:
            with ZipFile(path) as archive:
                members = archive.infolist()
                if students and (len(members) > MOST_FILES or sum(one.file_size for one in members) > MOST_BYTES):
                    raise ValueError("it holds more than a submission does")
                folder.mkdir(parents=True, exist_ok=True)
                for member in members:
                    if any(map(by_macos, member.filename.split("/"))):
                        continue
                    self._extract(archive, member, folder)
        except _NO_ARCHIVE as problem:
            self.log.warning("%s cannot be unpacked, and stays as it is: %s", path, problem)
            return
        if not students:
            for inner in sorted(folder.rglob("*.zip")):
                self._unpack(inner, inner.with_suffix(""), students=True)

    def _extract(self, archive: ZipFile, member: ZipInfo, folder: Path) -> None:
        """Unpack one file, never outside of the folder; a name that is too long for a file becomes shorter."""
        *above, name = member.filename.split("/")
        if len(name.encode()) > LONGEST_NAME:
            suffix = Path(name).suffix[:16]
            kept = name.encode()[: LONGEST_NAME - len(suffix.encode())].decode(errors="ignore")
            member.filename = "/".join([*above, kept + suffix])
        try:
            archive.extract(member, folder)
        except OSError as problem:
            name = one_line(member.filename)
            self.log.warning("%s in %s was left out: %s", name, archive.filename, problem.strerror or problem)


class WhoseFile(FileNameCollectorPlugin):
    """Says who has handed in a file. With a `named_regexp` of the instructor's own, that holds."""

    def collect(self, submitted_file: str) -> dict[str, str] | None:
        """Return the student, and a name for the file; None if nothing says whose it is."""
        path = Path(submitted_file)
        if self.named_regexp or (path.suffix not in self.valid_ext and path not in self._names):
            own: dict[str, str] | None = super().collect(submitted_file)
            return own
        if path not in self._names:
            self.log.warning("%s has no name as Canvas or Moodle writes it", path)
            return None
        student, file = self._names[path]
        if is_odd(student) or file in OURS:
            self.log.warning("%s was left out: its name cannot be a student's", path)
            return None
        return {"student_id": student, "file_id": file}

    @cached_property
    def _names(self) -> dict[Path, tuple[str, str]]:
        """Student and file's name by path. nbgrader would stop at a student with two files of one name."""
        folder = Path(self.parent._format_collect_path(self.parent.extracted_directory))
        downloads: dict[Path, Download] = {}
        for path in sorted(folder.rglob("*")):
            inside = path.relative_to(folder)
            in_archive = inside.relative_to(inside.parts[0]) if len(inside.parts) > 1 else inside
            if path.is_file() and (one := download(inside) or download(in_archive)):
                downloads[path] = one
        names: dict[Path, tuple[str, str]] = {}
        for path, one in downloads.items():
            people = {other.participant for other in downloads.values() if other.student == one.student}
            student = one.student if len(people) == 1 else f"{one.student}_{one.participant}"
            file = Path(one.file)
            while (student, str(file)) in names.values():
                file = file.with_stem(f"{file.stem}-again")
            names[path] = student, str(file)
        return names
