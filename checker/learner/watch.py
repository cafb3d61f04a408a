"""Check a puzzle whenever its file or notebook is saved, and show one report at a time.

It never moves on by itself: whichever file is saved is checked, and after success it says which one comes next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from watchfiles import watch

from checker import catalog, practice
from checker.judge.verdict import Verdict
from checker.learner import places
from checker.learner.progress import opened
from checker.learner.screen import say
from checker.report import terminal

SETTLED = 50  # milliseconds without a change, and an editor has done with writing, renaming and deleting
LONGEST = 400  # milliseconds to wait for that
TICK = 100  # milliseconds between looks at what has vanished
GONE = 0.5  # seconds after which a file that has vanished is not about to be written anew
ECHO = 1.0  # seconds in which the same text, written again, is one save that came in two parts


class NothingToWatch(Exception):
    """There is no folder that could be watched: a sentence."""


class Watcher:
    """The files to look after, what they held when they were last checked, and the screen."""

    def __init__(self, console: Console, only: int | None = None, root: Path = places.ROOT):
        """`only`: one puzzle; None: all of them."""
        self.console = console
        self.only = only
        self.root = root
        self.numbers = {
            place(number, root): number
            for number in ([only] if only is not None else catalog.stems())
            for place in (places.script, places.notebook)
        }
        self.folders = [folder for folder in dict.fromkeys(p.parent for p in self.numbers) if folder.is_dir()]
        self.checked: dict[Path, tuple[bytes, float]] = {}  # what a file held when it was checked, and when that was
        self.missed: dict[Path, float] = {}  # since when a file has been gone

    def run(self) -> None:
        """Watch until interrupted. Raises KeyboardInterrupt and NothingToWatch."""
        if not self.folders:
            raise NothingToWatch("There is neither a folder puzzles nor a folder notebooks here to be watched.")
        greeted = False
        for saved in self._batches():
            if not greeted:  # only now is it certain that no save goes unnoticed
                self._greet()
                self._warm_up()
                greeted = True
            self._look(saved)

    def _batches(self) -> Iterator[set[Path]]:
        """The files that have changed, after each change, and nothing every now and then."""
        wanted = {str(path) for path in self.numbers}
        try:
            for changes in watch(
                *self.folders,
                watch_filter=lambda _, path: path in wanted,
                debounce=LONGEST,
                step=SETTLED,
                rust_timeout=TICK,
                yield_on_timeout=True,
                recursive=False,
            ):
                yield {Path(path) for _, path in changes}
        except (OSError, RuntimeError) as error:  # such as: the system lends no more watches
            raise NothingToWatch(
                f"The folders cannot be watched: {error}. Try: WATCHFILES_FORCE_POLLING=1 make watch"
            ) from error

    def _look(self, changed: set[Path]) -> None:
        """Check what was saved, and speak of what has vanished."""
        now = time.monotonic()
        self.missed |= {path: now for path in changed if not path.exists()}
        back = {path for path in self.missed if path.exists()}
        gone = [path for path, since in self.missed.items() if path not in back and now - since > GONE]
        self.missed = {p: since for p, since in self.missed.items() if p not in back and p not in gone}
        saved = [path for path in self.numbers if path in changed | back and path.exists() and not self._echo(path)]
        if saved and self.console.is_terminal:
            self._clear()
            say(self.console, f"Checking {', '.join(map(places.shown, saved))} …")
        answers = [self._answer(path) for path in saved]
        if saved or gone:
            self._clear()
        for path in gone:
            self.checked.pop(path, None)
            sentence = f"{places.shown(path)} has vanished. Save it again, or get the stub back:"
            say(self.console, sentence, f"make reset PUZZLE={self.numbers[path]}")
        for answer in answers:
            if isinstance(answer, Verdict):
                terminal.show(self.console, answer)
                self._advise(answer)
            else:
                say(self.console, str(answer))

    def _echo(self, path: Path) -> bool:
        """Whether this text was checked only just now."""
        data, when = self.checked.get(path, (None, 0.0))
        return time.monotonic() - when < ECHO and _content(path) == data

    def _answer(self, path: Path) -> Verdict | practice.Misuse:
        """The verdict on a file; or a sentence, if it has just gone."""
        content = _content(path)
        try:
            return practice.checked(self.numbers[path], Path(places.shown(path)), None)
        except practice.Misuse as problem:
            return problem
        finally:
            self.checked[path] = (content, time.monotonic())

    def _advise(self, verdict: Verdict) -> None:
        """What to do after success; the report has just said which file comes next."""
        if verdict.upcoming and self.only is None:
            say(self.console, "Open it; it is checked when you save it. Ctrl-C ends this.")
        elif verdict.upcoming:
            say(self.console, "To go on with it, press Ctrl-C and type:", f"make watch PUZZLE={self._next()}")

    def _next(self) -> int | None:
        return opened(self.root).progress.next_open(self.only or 0)

    def _greet(self) -> None:
        self._clear()
        ahead = self.only if self.only is not None else self._next()
        if ahead is None:
            say(self.console, "All puzzles are solved. Any of their files is checked when you save it.")
        else:
            say(
                self.console,
                "Open this file. It is checked when you save it:",
                places.shown(places.script(ahead, self.root)),
            )
        say(self.console, "Ctrl-C ends this.")

    def _warm_up(self) -> None:
        """Import now, while nobody waits, what the first check would import."""
        from checker.box import compiling, results  # noqa: F401
        from checker.judge import compiled, judge  # noqa: F401

        for number in dict.fromkeys(self.numbers.values()):
            catalog.load(number)

    def _clear(self) -> None:
        """One screen for one report; without a terminal they follow each other."""
        if self.console.is_terminal:
            self.console.clear()


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
