"""Progress of a long command without a terminal: lines, and few of them."""

from __future__ import annotations

import io

import pytest

from checker.commands import progress
from checker.report.screen import console


@pytest.mark.parametrize(("every", "lines"), [(0.0, 3), (3600.0, 0)])
def test_a_log_gets_a_line_from_time_to_time(every: float, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", every)
    out = io.StringIO()
    with progress.progress(console(file=out)) as tell:
        for done in range(1, 4):
            tell("judging", done, 3)
    said = out.getvalue().splitlines()
    assert len(said) == lines and (not said or said[-1] == "judging: 3 of 3")
