"""Progress of a long command: bars on a terminal; elsewhere, such as in a log, a line from time to time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from checker.report.screen import say

EVERY = 10.0  # seconds


@contextmanager
def progress(screen: Console) -> Iterator[Callable[[str, int, int], None]]:
    """`tell(what, done, of)`: shows it."""
    if not screen.is_terminal:
        yield _lines(screen)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=of)
            bar.update(tasks[what], completed=done)

        yield tell


def _lines(screen: Console) -> Callable[[str, int, int], None]:
    said = time.monotonic()

    def tell(what: str, done: int, of: int) -> None:
        nonlocal said
        if time.monotonic() - said >= EVERY:
            said = time.monotonic()
            say(screen, f"{what}: {done} of {of}")

    return tell
