"""What nbgrader loads to apply a course's late policy and its number of attempts, and to collect with care."""

from __future__ import annotations

import shutil
import stat
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect
from nbgrader.plugins import BasePlugin

from checker.course import settings


class LatePolicy(BasePlugin):
    """The penalty that course.toml asks for."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """The points that a late submission loses."""
        converter = self.parent.parent.parent  # the preprocessor's exporter's converter
        late = settings.read(Path(converter.coursedir.root)).late
        return late.penalty(score, total_seconds_late)


class CollectAllowed(ExchangeCollect):
    """Collect the newest submission, but none after the last attempt that counts, and only plain files of it."""

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A student's submissions, the newest first."""
        newest_first: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        allowed = settings.read(Path(self.coursedir.root)).allowed_attempts(self.coursedir.assignment_id)
        if not allowed or len(newest_first) <= allowed:
            return newest_first
        name = newest_first[0]["username"]
        self.log.warning("%s has submitted %d times; the first %d count", name, len(newest_first), allowed)
        return newest_first[-allowed:]

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy a submission; one that cannot be copied is told, and the others are collected.

        nbgrader follows links, with the rights of whoever collects: to the key, or to another student's work.
        """
        with tempfile.TemporaryDirectory() as folder:
            own = str(Path(folder) / "submission")  # where nobody can exchange a file for a link any more
            try:
                shutil.copytree(src, own, ignore=self._not_plain)
                super().do_copy(own, dest, log)
            except (OSError, RuntimeError) as problem:  # shutil.Error, too; RuntimeError: nbgrader's, too big
                self.log.error("%s was not collected: %s", src, problem)
                shutil.rmtree(dest, ignore_errors=True)

    def _not_plain(self, folder: str, names: Iterable[str]) -> list[str]:
        """Names of links, pipes, devices and the like."""
        left_out = []
        for name in names:
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                self.log.warning("%s is no plain file, and was left out", path)
                left_out.append(name)
        return left_out
