"""What nbgrader loads to apply a course's late policy and its number of attempts, and to collect with care."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange import ExchangeError
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import BasePlugin

from checker.grading import settings
from checker.grading.found import MOST_DEEP


class LatePolicy(BasePlugin):
    """The penalty that course.toml asks for."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """The points that a late submission loses."""
        converter = self.parent.parent.parent  # the preprocessor's exporter's converter
        late = settings.read(Path(converter.coursedir.root)).late
        return late.penalty(score, total_seconds_late)


class CollectAllowed(ExchangeCollect):
    """Collect the newest submission, but none after the last attempt that counts, and only plain files of it."""

    src_records: list[dict[str, Any]]

    def init_src(self) -> None:
        """Find the submissions that are collected."""
        super().init_src()
        self.src_records = [record for record in self.src_records if record["username"] is not None]

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """What a submission's name says. Anybody may write to the exchange: nbgrader would stop at an odd name."""
        try:
            record: dict[str, Any] = super()._path_to_record(path)
            odd = record["username"] in ("", ".", "..") or not stat.S_ISDIR(Path(path).lstat().st_mode)
        except (ValueError, OverflowError, OSError, ExchangeError):
            odd = True
        if odd:
            self.log.warning("%s is no submission, and was left out", path)
            return {"username": None, "filename": "", "timestamp": datetime.min}
        return record

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A student's submissions, the newest first."""
        newest_first: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        name = newest_first[0]["username"]
        allowed = settings.read(Path(self.coursedir.root)).allowed_attempts(self.coursedir.assignment_id)
        if name is None or not allowed or len(newest_first) <= allowed:
            return newest_first
        self.log.warning("%s has submitted %d times; the first %d count", name, len(newest_first), allowed)
        return newest_first[-allowed:]

    def copy_files(self) -> None:
        """Copy what is collected. With --update also what is older than what was: it came after the last that counts.

        nbgrader would keep the newer one, which was collected before course.toml limited attempts.
        """
        course = self.coursedir
        if self.update and settings.read(Path(course.root)).allowed_attempts(course.assignment_id):
            for record in self.src_records:
                folder = course.format_path(course.submitted_directory, record["username"], course.assignment_id)
                collected = course.get_existing_timestamp(folder)
                if collected is not None and collected > record["timestamp"]:
                    self.log.warning("%s was collected of %s, and does not count", collected, record["username"])
                    shutil.rmtree(folder)
        super().copy_files()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission; one that cannot be copied is told, and the others are collected.

        nbgrader follows links, with the rights of whoever collects: to the key, or to another student's work.
        """
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder) / "submission"  # where nobody can exchange a file for a link any more
            try:
                self._copy_plain(src, own)
                # As nbgrader named the folder; what the student may have written would decide whether it is late, and
                # the next collection would stop at what is no time.
                (own / "timestamp.txt").write_text(Path(src).name.rsplit("+", 3)[2], encoding="utf-8")
                super().do_copy(str(own), dest, log)
            except (OSError, RuntimeError) as problem:  # shutil.Error, too; RuntimeError: nbgrader's, too big
                self.log.error("%s was not collected: %s", src, problem)
                shutil.rmtree(dest, ignore_errors=True)

    def _copy_plain(self, src: str, own: Path) -> None:
        """Copy plain files only. The student may change the folder meanwhile, so what was opened is what is asked."""
        most = 1000 * self.coursedir.max_dir_size
        for folder, folders, files, opened in os.fwalk(src, onerror=_raise):  # goes into no link
            inside = Path(folder).relative_to(src)
            if len(inside.parts) > MOST_DEEP:
                raise RuntimeError(f"its folders are nested more than {MOST_DEEP} deep")
            (own / inside).mkdir()
            for name in files:
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
            raise RuntimeError("it is no folder")

    def _left_out(self, folder: str, name: str) -> None:
        self.log.warning("%s is no plain file, and was left out", Path(folder) / name)


def _raise(error: OSError) -> None:
    raise error


def _plain(name: str, folder: int, most: int) -> bytes | None:
    """What a file in an open folder holds; None if it is a link, a pipe or the like. OSError, RuntimeError."""
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
