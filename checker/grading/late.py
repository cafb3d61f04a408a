"""What late work loses."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Late:
    """What a submission loses that comes after its deadline, which nbgrader knows."""

    policy: str = "none"  # none; zero: everything; per day: a share of its score for each day that has begun
    percent_per_day: float = 10.0
    most_percent: float = 100.0
    grace_minutes: float = 0.0

    def penalty(self, score: float, seconds_late: float) -> float:
        """The points that a score loses."""
        late = seconds_late - 60 * self.grace_minutes
        if self.policy == "none" or late <= 0:
            return 0.0
        percent = 100.0 if self.policy == "zero" else math.ceil(late / 86400) * self.percent_per_day
        most = self.most_percent if self.policy == "per day" else 100.0
        return score * min(percent, most, 100.0) / 100  # never more than there is
