"""The record that a learner may keep: only where its file is, one line a check, and no code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.course.verdict import Finding, PropertyResult, Status, Verdict
from checker.learner import record

RIGHT = Verdict("p1", "", Status.ACCEPTED, (), (PropertyResult("any", "", True, 100, ""),))
WRONG = Verdict("p1", "", Status.WRONG, (Finding("no-division", Status.WRONG, "T", "E", "H"),))


def test_nothing_is_kept_that_nobody_asked_for(tmp_path: Path) -> None:
    record.noted(RIGHT, tmp_path)
    assert [*tmp_path.iterdir()] == [] and [*record.summary(tmp_path)] == []


def test_a_line_a_check(tmp_path: Path) -> None:
    file = tmp_path / record.NAME
    file.write_text("mine\n")
    for verdict in (WRONG, RIGHT, Verdict(None, "", Status.MISUSED, ())):
        record.noted(verdict, tmp_path)
    when = r"\d{4}-\d\d-\d\d \d\d:\d\d"
    assert re.fullmatch(f"mine\n{when} p1: wrong 0/0 no-division\n{when} p1: accepted 100/100\n", file.read_text())
    assert [*record.summary(tmp_path)] == ["p1: accepted at check 2, 0 minutes after the first; 2 checks in all"]
    file.chmod(0)
    record.noted(RIGHT, tmp_path)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["2026-11-28 23:50 p3: wrong 5/100 x"], ["p3: 1 check, not accepted yet"]),
        (["2026-11-28 23:50 p3: crashed 0/0", "2026-11-29 00:20 p3: accepted 9/9", "2026-11-29 00:30 p3: wrong 0/9"],
         ["p3: accepted at check 2, 30 minutes after the first; 3 checks in all"]),
        (["2026-11-28 23:50 p99: wrong 0/0", "2026-11-28 p1: wrong 0/0", "\x00", ""], []),
        (["2026-13-45 99:99 p1: accepted 1/1"], []),
    ],
)  # fmt: skip
def test_what_it_says_in_all(lines: list[str], said: list[str], tmp_path: Path) -> None:
    (tmp_path / record.NAME).write_text("\n".join(lines))
    assert [*record.summary(tmp_path)] == said
