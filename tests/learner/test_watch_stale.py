"""What `watch` does when the check that is going on is ended, step by step and in this process."""

from __future__ import annotations

import io
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import pytest
from rich.console import Console

from checker.learner import practice
from checker.learner.watch import Stale, Watcher
from tests.learner.conftest import Course

Watching = Callable[[Callable[[int], None]], Watcher]


@pytest.fixture
def watching(course: Course, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watching]:
    """A watcher for which checking is what one says, and then a sentence with the puzzle's number."""

    def begin(doing: Callable[[int], None]) -> Watcher:
        def checked(number: int, file: Path, terms: None) -> None:
            doing(number)
            raise practice.Misuse(f"said of {number}")

        monkeypatch.setattr(practice, "checked", checked)
        watcher = Watcher(Console(file=io.StringIO()), root=course.root)
        signal.signal(signal.SIGUSR1, watcher._end_check)
        return watcher

    before = signal.getsignal(signal.SIGUSR1)
    yield begin
    signal.signal(signal.SIGUSR1, before)


def shown(watcher: Watcher) -> list[str]:
    assert isinstance(watcher.console.file, io.StringIO)
    return [line for line in watcher.console.file.getvalue().split("\n") if line]


def interrupt(_: int = 0) -> None:
    signal.raise_signal(signal.SIGUSR1)


def test_verdicts_that_nobody_has_seen_are_made_again(course: Course, watching: Watching) -> None:
    """Two files were saved at once, and the check of the second one was ended."""
    turns: list[int] = []

    def doing(number: int) -> None:
        turns.append(number)
        if turns == [1, 2]:
            interrupt()

    watcher = watching(doing)
    watcher._look({course.script(1), course.script(2)})
    assert (turns, shown(watcher)) == ([1, 2], [])
    watcher._look(set())
    assert (turns, shown(watcher)) == ([1, 2, 1, 2], ["said of 1", "said of 2"])
    watcher.checked.clear()  # as if much later
    watcher._look(set())
    assert turns == [1, 2, 1, 2]


def test_between_checks_nothing_is_ended(course: Course, watching: Watching) -> None:
    watcher = watching(lambda _: None)
    interrupt()
    watcher._look({course.script(1)})
    interrupt()
    assert shown(watcher) == ["said of 1"]


class Box:
    """Something that is set up and taken down, and each time the file is saved just then."""

    state = ""

    def __enter__(self) -> Box:
        interrupt()
        self.state += "opened "
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        interrupt()
        self.state += "closed"


def test_what_is_set_up_or_taken_down_is_not_interrupted(course: Course, watching: Watching) -> None:
    box = Box()

    def doing(number: int) -> None:
        with box:
            pass

    watcher = watching(doing)
    watcher._look({course.script(1)})
    assert (box.state, shown(watcher)) == ("opened closed", ["said of 1"])


def test_what_was_set_up_is_taken_down(course: Course, watching: Watching) -> None:
    box = Box()

    def doing(number: int) -> None:
        with box:
            interrupt()

    watcher = watching(doing)
    with pytest.raises(Stale):
        watcher._answer(course.script(1))
    assert box.state == "opened closed"


def test_only_another_text_in_the_file_that_is_checked_makes_it_stale(course: Course, watching: Watching) -> None:
    watcher = watching(lambda _: None)
    one, other = course.script(1), course.script(2)
    assert not watcher._makes_stale({one})
    watcher.checking = one, one.read_bytes()
    assert not watcher._makes_stale({one})
    other.write_text("x")
    assert not watcher._makes_stale({other})
    one.write_text("x")
    assert not watcher._makes_stale({other})  # not heard of yet: it may be half a text
    assert watcher._makes_stale({one, other})
    one.unlink()  # to be written anew, perhaps
    assert not watcher._makes_stale({one})
