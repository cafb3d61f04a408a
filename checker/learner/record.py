"""A record that a learner may keep, and send to the authors: when which puzzle was checked, and what came of it.

It is kept only where the learner has made the file, says nothing of who they are, and has none of their code.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from checker.course import ladder
from checker.course.places import ROOT
from checker.course.verdict import Verdict

NAME = "record.txt"
# No link to elsewhere, and no pipe that waits for a reader; Windows has neither.
_PLAIN = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FORM = "%Y-%m-%d %H:%M"
_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d) (\w+): ([a-z-]+)(?: .*)?")


def noted(verdict: Verdict, root: Path = ROOT) -> None:
    """Add a line about a check, if the file is there. What cannot be written is not."""
    if verdict.puzzle is None:
        return
    what = [f"{verdict.earned}/{verdict.possible}", *(finding.id for finding in verdict.findings[:1])]
    line = f"{time.strftime(_FORM)} {verdict.puzzle}: {verdict.status.value} {' '.join(what)}\n"
    with contextlib.suppress(OSError):  # of one write, so that no other process's line is cut in two
        file = os.open(root / NAME, os.O_WRONLY | os.O_APPEND | _PLAIN)
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)


def summary(root: Path = ROOT) -> Iterator[str]:
    """For each puzzle that was checked: how often, and how long after the first check it was accepted."""
    try:
        lines = (root / NAME).read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return
    checks: dict[str, list[tuple[datetime, str]]] = {}
    for line in lines:
        if (found := _LINE.fullmatch(line)) and found[2] in ladder.RUNGS:
            with contextlib.suppress(ValueError):  # no such day
                when = datetime.strptime(found[1], _FORM)
                checks.setdefault(found[2], []).append((when, found[3]))
    for puzzle, all_of_it in checks.items():
        till = next((n for n, (_, status) in enumerate(all_of_it) if status == "accepted"), None)
        times = f"{len(all_of_it)} check{'s' * (len(all_of_it) > 1)}"
        if till is None:
            yield f"{puzzle}: {times}, not accepted yet"
            continue
        minutes = round((all_of_it[till][0] - all_of_it[0][0]).total_seconds() / 60)
        yield f"{puzzle}: accepted at check {till + 1}, {minutes} minutes after the first; {times} in all"
