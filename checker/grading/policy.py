"""What nbgrader loads to apply a course's late policy and its number of attempts."""

from __future__ import annotations

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
    """Collect the newest submission, but none after the last attempt that counts."""

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """A student's submissions, the newest first."""
        newest_first: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        allowed = settings.read(Path(self.coursedir.root)).allowed_attempts(self.coursedir.assignment_id)
        if not allowed or len(newest_first) <= allowed:
            return newest_first
        name = newest_first[0]["username"]
        self.log.warning("%s has submitted %d times; the first %d count", name, len(newest_first), allowed)
        return newest_first[-allowed:]
