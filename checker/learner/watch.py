"""Check a puzzle whenever its file or notebook is saved, and show one report at a time.

It never moves on by itself: whichever file is saved is checked, and after success it says which one comes next.
A thread listens for saves all the time. If the file that is being checked is saved again, it sends the main thread a
signal, which ends that check as Ctrl-C would, so that nobody waits for a verdict on a text that is gone.
"""

from __future__ import annotations

import queue
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from rich.console import Console
from watchfiles import watch

from checker import catalog
from checker.course import ladder, places
from checker.course.status import Misuse
from checker.course.verdict import Verdict
from checker.learner import practice
from checker.learner.progress import opened
from checker.report import terminal
from checker.report.screen import say

SETTLED = 50  # milliseconds without a change, and an editor has done with writing, renaming and deleting
LONGEST = 400  # milliseconds to wait for that
TICK = 100  # milliseconds between looks at what has vanished
GONE = 0.5  # seconds after which a file that has vanished is not about to be written anew
ECHO = 1.0  # seconds in which the same text, written again, is one save that came in two parts


class NothingToWatch(Exception):
    """There is no folder that could be watched: a sentence."""


class Stale(BaseException):
    """What is being checked has been saved again. Not an Exception: nothing on the road may take it for a fault."""


class Watcher:
    """The files to look after, what they held when they were last checked, and the screen."""

    def __init__(self, console: Console, only: int | None = None, root: Path = places.ROOT):
        """`only`: one puzzle; None: all of them."""
        self.console = console
        self.only = only
        self.root = root
        self.numbers = {
            place(number, root): number
            for number in ([only] if only is not None else ladder.stems())
            for place in (places.script, places.notebook)
        }
        self.folders = [folder for folder in dict.fromkeys(p.parent for p in self.numbers) if folder.is_dir()]
        self.checked: dict[Path, tuple[bytes, float]] = {}  # what a file held when it was checked, and when that was
        self.missed: dict[Path, float] = {}  # since when a file has been gone
        self.unchecked: set[Path] = set()  # saved, but their check was ended
        self.checking: tuple[Path, bytes] | None = None  # the file that is being checked, and what it held
        self.heard: queue.SimpleQueue[set[Path] | Exception] = queue.SimpleQueue()

    def run(self) -> None:
        """Watch until interrupted. Raises KeyboardInterrupt and NothingToWatch."""
        if not self.folders:
            raise NothingToWatch("There is neither a folder puzzles nor a folder notebooks here to be watched.")
        signal.signal(signal.SIGUSR1, self._end_check)
        greeted = False
        for saved in self._batches():
            if not greeted:  # only now is it certain that no save goes unnoticed
                self._greet()
                self._warm_up()
                greeted = True
            self._look(saved)

    def _batches(self) -> Iterator[set[Path]]:
        """The files that have changed, after each change, and nothing every now and then."""
        over = threading.Event()
        listener = threading.Thread(target=self._listen, args=(over,), daemon=True)
        listener.start()
        try:
            while True:
                heard = [self.heard.get()]
                while not self.heard.empty():  # what came in during a check
                    heard.append(self.heard.get())
                for problem in heard:
                    if isinstance(problem, (OSError, RuntimeError)):  # such as: the system lends no more watches
                        raise NothingToWatch(
                            f"The folders cannot be watched: {problem}. Try: WATCHFILES_FORCE_POLLING=1 make watch"
                        ) from problem
                    if isinstance(problem, Exception):
                        raise problem
                yield {path for some in heard if isinstance(some, set) for path in some}
        finally:
            over.set()
            listener.join(1.0)

    def _listen(self, over: threading.Event) -> None:
        """Hear of changes until it is over; in a thread of its own."""
        wanted = {str(path) for path in self.numbers}
        resaved: set[Path] = set()
        try:
            for changes in watch(
                *self.folders,
                watch_filter=lambda _, path: path in wanted,
                debounce=LONGEST,
                step=SETTLED,
                stop_event=over,
                rust_timeout=TICK,
                yield_on_timeout=True,
                recursive=False,
            ):
                changed = {Path(path) for _, path in changes}
                self.heard.put(changed)
                resaved = resaved | changed if self.checking else set()
                if self._makes_stale(resaved):  # asked again at every tick, until that check has ended
                    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)
        except Exception as error:
            self.heard.put(error)

    def _makes_stale(self, resaved: set[Path]) -> bool:
        """Whether the file that is being checked holds something else by now."""
        path, content = self.checking or (None, b"")
        return path in resaved and path is not None and path.exists() and _content(path) != content

    def _end_check(self, number: int, frame: FrameType | None) -> None:
        """End the check that is going on, once; what it has started is taken down on the way out."""
        if self.checking is not None and not _opening_or_closing(frame):
            self.checking = None
            raise Stale

    def _look(self, changed: set[Path]) -> None:
        """Check what was saved, and speak of what has vanished."""
        now = time.monotonic()
        self.missed |= {path: now for path in changed if not path.exists()}
        back = {path for path in self.missed if path.exists()}
        gone = [path for path, since in self.missed.items() if path not in back and now - since > GONE]
        waiting = changed | back | self.unchecked
        saved = [path for path in self.numbers if path in waiting and path.exists() and not self._echo(path)]
        if saved and self.console.is_terminal:
            self._clear()
            say(self.console, f"Checking {', '.join(map(places.shown, saved))} …")
        try:
            answers = [self._answer(path) for path in saved]
        except Stale:
            self.unchecked = set(saved)
            for path in saved:
                self.checked.pop(path, None)  # nobody has seen that verdict
            return
        self.unchecked = set()
        self.missed = {p: since for p, since in self.missed.items() if p not in back and p not in gone}
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

    def _answer(self, path: Path) -> Verdict | Misuse:
        """The verdict on a file; or a sentence, if it has just gone."""
        content = _content(path)
        try:
            self.checking = path, content
            return practice.checked(self.numbers[path], Path(places.shown(path)), None)
        except Misuse as problem:
            return problem
        finally:
            self.checking = None
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
        from checker.box.protocol import results  # noqa: F401
        from checker.judge import compiled, judge  # noqa: F401

        for number in dict.fromkeys(self.numbers.values()):
            catalog.load(number)

    def _clear(self) -> None:
        """One screen for one report; without a terminal they follow each other."""
        if self.console.is_terminal:
            self.console.clear()


def _opening_or_closing(frame: FrameType | None) -> bool:
    """Whether something is just being set up or taken down, such as the box: not the moment to be interrupted."""
    while frame is not None:
        if frame.f_code.co_name in ("__enter__", "__exit__"):
            return True
        frame = frame.f_back
    return False


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
