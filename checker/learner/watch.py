"""Check a puzzle whenever its file or notebook is saved, and show one report at a time.

It never moves on by itself: whichever file is saved is checked, and after success it says which one comes next. At a
terminal, the file that it names is checked at once, and single keys do the rest: see KEYS.
A check runs in a process of its own, forked from this one, which has imported all it needs. If a file that is being
checked is saved again, that process is ended, so that nobody waits for a verdict on a text that is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Iterable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType

from rich.console import Console
from watchfiles import watch

from checker import catalog
from checker.course import ladder, places
from checker.course.status import ExitStatus, Misuse
from checker.course.verdict import Verdict
from checker.learner import practice
from checker.learner.progress import opened
from checker.report import terminal
from checker.report.screen import say

SETTLED = 50  # milliseconds without a change, and an editor has done with writing, renaming and deleting
LONGEST = 400  # milliseconds to wait for that
TICK = 100  # milliseconds between looks at what has vanished, and at the check that is going on
GONE = 0.5  # seconds after which a file that has vanished is not about to be written anew
_ENDING = (signal.SIGTERM, signal.SIGINT)  # ends a check; at a terminal, Ctrl-C reaches its process too
KEYS = "n(ext), h(int), s(tep), f(ull report), r(eset), q(uit)"
COMMANDS = {"h": ["hint"], "s": ["step"], "f": ["check", "--full"], "r": ["reset"]}  # of keys
ECHO = 1.0  # seconds in which the same text, written again, is one save that came in two parts


class Watcher:
    """The files to look after, the check that is going on, and the screen."""

    def __init__(self, console: Console, only: str | None = None, root: Path = places.ROOT):
        """`only`: one puzzle; None: all of them."""
        self.console = console
        self.only = only
        self.root = root
        self.every = {path: puzzle_id for puzzle_id in ladder.stems() for path in places.files(puzzle_id, root)}
        self.puzzles = self._those_of(only)
        self.keys = False  # whether somebody can press them
        self.key = ""  # that was pressed, and waits for the end of a check
        self.current: Path | None = None  # what was checked last, or is to be opened
        self.folders = [folder for folder in dict.fromkeys(p.parent for p in self.puzzles) if folder.is_dir()]
        self.saved: set[Path] = set()  # since the last check began
        self.missed: dict[Path, float] = {}  # since when a file has been gone
        self.check: BaseProcess | None = None
        self.checking: list[Path] = []  # what that process checks
        self.checked: dict[Path, bytes] = {}  # what a file held when its check began
        self.ended: dict[Path, float] = {}  # when that check ended

    def run(self) -> None:
        """Watch until nobody reads it. Raises KeyboardInterrupt, and Misuse where there is nothing to watch."""
        if not self.folders:
            raise Misuse("There is nothing to watch here: no folder puzzles and no folder notebooks.")
        greeted = False
        output = select.poll()
        output.register(1, 0)
        with _single_keys(self.console) as self.keys:
            try:
                for changed in self._changes():
                    if output.poll(0):  # nobody reads it any more
                        return
                    if not greeted:  # only now is it certain that no save goes unnoticed
                        self._greet()
                        self._warm_up()
                        greeted = True
                    self._look(changed)
                    if self.keys:
                        self._listen()
            finally:
                while self.check is not None and self.check.is_alive():
                    self.check.terminate()
                    self.check.join(TICK / 1000)

    def _listen(self) -> None:
        """Do what a key asks for, as soon as no check is going on. Raises KeyboardInterrupt for q."""
        if select.select([0], [], [], 0)[0]:
            self.key = os.read(0, 64).decode(errors="replace")[-1:].lower()
        if self.key == "q":
            raise KeyboardInterrupt
        if self.check is None and self.key:
            key, self.key = self.key, ""
            if key == "n":
                self._turn_to_next()
            elif key in COMMANDS and self.current is not None:
                file = [] if key == "h" else ["--file", places.shown(self.current)]
                command = [sys.executable, "-m", "checker", *COMMANDS[key], self.every[self.current], *file]
                self._clear()
                subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
                say(self.console, f"\n{KEYS}")

    def _turn_to_next(self) -> None:
        """Check the next open puzzle, and watch it where one alone is watched."""
        ahead = opened(self.root).progress.next_open("" if self.current is None else self.every[self.current])
        if ahead is None:
            say(self.console, "All puzzles are solved.")
            return
        self.only = self.only and ahead
        self.puzzles = self._those_of(self.only)
        self._name(ahead)

    def _name(self, puzzle_id: str) -> Path:
        """Return the file of a puzzle that is to be opened; where there are keys, it is checked now."""
        self.current = places.spoken_script(puzzle_id, self.root)
        if self.keys:
            self.saved.add(self.current)
        return self.current

    def _those_of(self, puzzle_id: str | None) -> dict[Path, str]:
        """Return the files of a puzzle, or of all, with their puzzles."""
        return {path: one for path, one in self.every.items() if puzzle_id in (None, one)}

    def _changes(self) -> Iterator[set[Path]]:
        """Yield the files that have changed, after each change, and nothing every now and then."""
        wanted = {str(path): path for path in self.every} | {os.path.realpath(path): path for path in self.every}
        try:
            while True:
                folders = [*self.folders, *{Path(os.path.realpath(p)).parent for p in self.puzzles if p.is_symlink()}]
                these = _which(self.folders)
                for changes in watch(
                    *dict.fromkeys(folders),
                    watch_filter=lambda _, path: path in wanted,
                    debounce=LONGEST,
                    step=SETTLED,
                    rust_timeout=TICK,
                    yield_on_timeout=True,
                    recursive=False,
                ):
                    yield {wanted[path] for _, path in changes} & self.puzzles.keys()
                    now = _which(self.folders)
                    if now != these and None not in now:
                        break  # another folder has taken its place, and the system only tells of the old one
                yield {path for path in self.checked if self._differs(path)}
        except (OSError, RuntimeError) as problem:  # such as: the system lends no more watches
            raise Misuse(
                f"The folders cannot be watched: {problem}. Try: WATCHFILES_FORCE_POLLING=1 make watch"
            ) from problem

    def _look(self, changed: set[Path]) -> None:
        """Check what was saved, as soon as no other check is going on, and speak of what has vanished."""
        now = time.monotonic()
        self.saved |= changed
        self.missed |= {path: now for path in changed if not path.is_file()}
        if self.check is not None:
            if self.check.is_alive():
                if any(path in self.saved and self._differs(path) for path in self.checking):
                    self.check.terminate()  # asked again at every tick, until it has ended
                return
            if self.check.exitcode == ExitStatus.ACCEPTED:
                self.ended |= dict.fromkeys(self.checking, now)
            else:  # nobody has seen its verdicts
                self.saved |= set(self.checking)
            self.check = None
        back = {path for path in self.missed if path.is_file()}
        gone = [path for path, since in self.missed.items() if path not in back and now - since > GONE]
        waiting = self.saved | back
        saved = [path for path in self.puzzles if path in waiting and path.is_file() and not self._echo(path, now)]
        self.saved.clear()
        self.missed = {p: since for p, since in self.missed.items() if p not in back and p not in gone}
        for path in gone:
            self.ended.pop(path, None)
        if saved:
            self._begin(saved, gone)
        elif gone:
            self._report(saved, gone)

    def _begin(self, saved: list[Path], gone: list[Path]) -> None:
        """Check these files, in a process of their own."""
        if self.console.is_terminal:
            self.console.clear()
            say(self.console, f"Checking {', '.join(map(places.shown, saved))} …")
        for path in saved:
            self.checked[path] = _content(path)
            self.ended.pop(path, None)
        self.checking, self.current = saved, saved[0]
        self.check = multiprocessing.get_context("fork").Process(target=self._child, args=(saved, gone))
        self.check.start()

    def _child(self, saved: list[Path], gone: list[Path]) -> None:
        for number in _ENDING:
            signal.signal(number, _end)
        self._report(saved, gone)

    def _report(self, saved: list[Path], gone: list[Path]) -> None:
        """Check, and show everything on one screen."""
        answers = [self._answer(path) for path in saved]
        self._clear()
        for path in gone:
            sentence = f"{places.shown(path)} has vanished. Save it again, or get the stub back:"
            say(self.console, sentence, f"make reset PUZZLE={self.puzzles[path]}")
        for answer in answers:
            if isinstance(answer, Verdict):
                terminal.show(self.console, answer)
                self._advise(answer)
            else:
                say(self.console, str(answer))
        if self.keys:
            say(self.console, f"\n{KEYS}")

    def _answer(self, path: Path) -> Verdict | Misuse:
        """Return the verdict on a file; or a sentence, if it has just gone."""
        try:
            return practice.checked(self.puzzles[path], Path(places.shown(path)), None)
        except Misuse as problem:
            return problem

    def _differs(self, path: Path) -> bool:
        """Return whether a file holds something else than when its check began."""
        return path.is_file() and _content(path) != self.checked[path]

    def _echo(self, path: Path, now: float) -> bool:
        """Return whether this text was checked only just now."""
        return path in self.ended and now - self.ended[path] < ECHO and not self._differs(path)

    def _advise(self, verdict: Verdict) -> None:
        """Say what to do after success; the report has just said which file comes next."""
        if verdict.upcoming and self.only is None:
            say(self.console, "Open it; it is checked when you save it. Ctrl-C ends this.")
        elif verdict.upcoming and self.keys:
            say(self.console, "To continue with it, press n.")
        elif verdict.upcoming:
            say(self.console, "To continue with it, press Ctrl-C and type:", f"make watch PUZZLE={self._next()}")

    def _next(self) -> str | None:
        return opened(self.root).progress.next_open(self.only or "")

    def _greet(self) -> None:
        self._clear()
        ahead = self.only if self.only is not None else self._next()
        if ahead is None:
            say(self.console, "All puzzles are solved. Any of their files is checked when you save it.")
        else:
            path = places.shown(self._name(ahead))
            say(self.console, "Open this file. It is checked when you save it:", path)
        say(self.console, "Ctrl-C ends this.")

    def _warm_up(self) -> None:
        """Import now, while nobody waits, what the first check would import."""
        with _held():
            from checker.check import steps  # noqa: F401
            from checker.judge import compiled  # noqa: F401
            from checker.submission import extract, lint  # noqa: F401

            for puzzle_id in dict.fromkeys(self.puzzles.values()):
                catalog.load(puzzle_id)

    def _clear(self) -> None:
        """One screen for one report; without a terminal they follow each other."""
        if self.console.is_terminal:
            self.console.clear()


@contextlib.contextmanager
def _single_keys(console: Console) -> Iterator[bool]:
    """Let keys be read one by one, if somebody sits at this terminal; whether that is so. It is left as it was."""
    if not (console.is_terminal and os.isatty(0) and _in_front()):
        yield False
        return
    before, ended = termios.tcgetattr(0), signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    tty.setcbreak(0)
    try:
        yield True
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, ended)


def _in_front() -> bool:
    """Return whether what is typed is for this process: not in the background, nor if the terminal is another's."""
    try:
        return os.tcgetpgrp(0) == os.getpgrp()
    except OSError:  # it controls no process, or those of another session
        return False


@contextlib.contextmanager
def _held() -> Iterator[None]:
    """Keep an interrupt until the block has ended: inside the import of a library it can be lost."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _end(number: int, frame: FrameType | None) -> None:
    """End the check, once, but not while something is just being set up or taken down, such as the sandbox."""
    while frame is not None:
        if frame.f_code.co_name in ("__enter__", "__exit__", "__del__"):
            return
        frame = frame.f_back
    for one in _ENDING:
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


def _which(folders: Iterable[Path]) -> list[int | None]:
    """Return which folders these are, whatever their names."""
    return [folder.stat().st_ino if folder.is_dir() else None for folder in folders]


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
