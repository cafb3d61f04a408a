"""`watch` in a real pseudo-terminal: what it shows, how soon, and what it leaves behind."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console

from checker import catalog
from checker.course import ladder
from checker.learner.watch import Watcher
from tests.conftest import ROOT, need, sandboxed_processes
from tests.learner.conftest import STEMS, Course, solved, stub_text

STUB, RIGHT = stub_text("p1"), solved("p1")
WRONG = RIGHT.replace("/ denominator", "/ (denominator + 1)")
CLEARED = "\x1b[2J"
LAST_KEY = "q(uit)"  # ends what is shown, at a terminal
SOON = 300.0  # a machine may be busy: what does not come at all fails, not what comes late


class Watched:
    """A `watch` that runs, and what it has shown."""

    def __init__(
        self, command: list[str], course: Course, terminal: bool, environment: dict[str, str], own: bool = True
    ):
        self.terminal = terminal
        self.ours, theirs = pty.openpty() if terminal else os.pipe()
        self.before = termios.tcgetattr(self.ours) if terminal else None
        self.theirs = theirs  # kept open, so that the terminal's state can be read afterwards
        self.child = subprocess.Popen(
            command,
            cwd=course.root,
            env=course.environment(TERM="xterm", NO_COLOR="1", **environment),
            stdin=theirs if terminal else subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_own_terminal if terminal and own else _hears_interrupts,
        )
        self.shown = ""

    def until(self, words: str, seconds: float = SOON) -> str:
        """What is shown until these words are, which must be in time."""
        begun = time.monotonic()
        while words not in self.shown:
            left = begun + seconds - time.monotonic()
            assert left > 0, f"not shown within {seconds} s: {words!r}; but: {self.shown!r}"
            if select.select([self.ours], [], [], left)[0]:
                self.take()
        found, _, self.shown = self.shown.partition(words)
        return found + words

    def take(self) -> None:
        """Read what is there; bold and dim do not matter here."""
        self.shown = re.sub(r"\x1b\[[0-9;]*m", "", self.shown + os.read(self.ours, 65536).decode(errors="replace"))

    def nothing(self, seconds: float) -> None:
        """For so long, nothing is shown."""
        self.shown = ""
        assert not select.select([self.ours], [], [], seconds)[0], os.read(self.ours, 65536)

    def settle(self, seconds: float = 0.8) -> str:
        """What is shown within this time."""
        begun = time.monotonic()
        while (left := begun + seconds - time.monotonic()) > 0:
            if select.select([self.ours], [], [], left)[0]:
                self.take()
        shown, self.shown = self.shown, ""
        return shown

    def end(self, key: bytes = b"\x03") -> int:
        """Press Ctrl-C, or send an interrupt where there is no keyboard; the exit status."""
        if self.terminal:
            os.write(self.ours, key)
        else:
            self.child.send_signal(signal.SIGINT)
        status = self.child.wait(10)
        while select.select([self.ours], [], [], 0)[0]:
            self.take()
        return status


def _own_terminal() -> None:
    """Make standard input the terminal that Ctrl-C is typed on."""
    import fcntl

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    _hears_interrupts()


def _hears_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a test run in the background ignores it


Start = Callable[..., Watched]


@pytest.fixture
def start(course: Course) -> Iterator[Start]:
    running: list[Watched] = []

    def begin(*arguments: str, terminal: bool = True, **environment: str) -> Watched:
        command = [sys.executable, "-m", "checker", "watch", "--", *arguments]
        running.append(Watched(command, course, terminal, environment))
        running[-1].until("Ctrl-C ends this.")
        if terminal:  # there, the file that is named is checked at once
            running[-1].until(LAST_KEY)
        return running[-1]

    yield begin
    for watched in running:
        watched.child.kill()
        watched.child.wait()
        os.close(watched.ours)
        os.close(watched.theirs)


def atomically(path: Path, text: str) -> None:
    """As vim, VS Code and Jupyter save: a new file takes the name."""
    new = path.with_name(f".{path.name}.swp")
    new.write_text(text)
    new.replace(path)


def removing_first(path: Path, text: str) -> None:
    path.unlink()
    time.sleep(0.15)
    path.write_text(text)


def with_a_backup(path: Path, text: str) -> None:
    """As vim with `backup` saves: the old file gets another name, the old name a new file."""
    path.rename(path.with_name(path.name + "~"))
    path.write_text(text)
    path.chmod(0o600)
    path.with_name(path.name + "~").unlink()


def in_parts(path: Path, text: str) -> None:
    with path.open("w") as file:
        for start in range(0, len(text), 1000):
            file.write(text[start : start + 1000])
            file.flush()
            time.sleep(0.005)


def at_once(path: Path, text: str) -> None:
    path.write_text(text)


def touched_afterwards(path: Path, text: str) -> None:
    path.write_text(text)
    time.sleep(0.2)
    path.chmod(0o600)


SAVES = [at_once, atomically, removing_first, with_a_backup, in_parts, touched_afterwards]


@pytest.mark.parametrize(
    ("save", "terminal"),
    [*((save, True) for save in SAVES), (atomically, False)],
    ids=[*(save.__name__.replace("_", " ") for save in SAVES), "into a pipe"],
)
def test_a_save_shows_its_report_soon_and_once(
    save: Callable[[Path, str], None], terminal: bool, course: Course, start: Start
) -> None:
    watched = start(terminal=terminal)
    for text, words in ((WRONG, "--full"), (RIGHT, f"Next: puzzles/{STEMS['p2']}.py"), (STUB, "not started")):
        save(course.script("p1"), text)
        report = watched.until(words, SOON)
        assert "Puzzle p1: Naive softmax" in report
        assert (CLEARED in report) == terminal
        assert "\x1b" not in report or terminal
        assert "vanished" not in report
        assert "Puzzle p1" not in watched.settle(1.2)
    assert "puzzle p1: solved" in (course.root / "progress.txt").read_text()


def test_it_says_which_file_to_open_and_never_goes_on_by_itself(course: Course, start: Start) -> None:
    (course.root / "progress.txt").write_text("puzzle p1: solved\npuzzle p3: solved\n")
    watched = start()
    watched.nothing(0.4)
    assert watched.end() == 0
    again = start()
    course.script("p2").write_text(solved("p2"))
    again.until(f"Next: puzzles/{STEMS['p4']}.py", SOON)
    again.until("Open it; it is checked when you save it. Ctrl-C ends this.", SOON)
    again.settle()
    again.nothing(1.0)


@pytest.mark.parametrize("done", [(), ("p1", "p2"), tuple(STEMS)], ids=["none", "two", "all"])
def test_the_greeting(done: tuple[str, ...], course: Course) -> None:
    (course.root / "progress.txt").write_text("".join(f"puzzle {puzzle_id}: solved\n" for puzzle_id in done))
    watched = Watched([sys.executable, "-m", "checker", "watch"], course, True, {})
    greeting = watched.until("Ctrl-C ends this.")
    ahead = next((puzzle_id for puzzle_id in STEMS if puzzle_id not in done), None)
    assert ("All puzzles are solved" if ahead is None else f"puzzles/{STEMS[ahead]}.py") in greeting
    assert watched.end() == 0
    os.close(watched.ours)
    os.close(watched.theirs)


def test_one_puzzle_only(course: Course, start: Start) -> None:
    watched = start("1")
    course.script("p2").write_text(solved("p2"))
    watched.nothing(0.8)
    course.script("p1").write_text(RIGHT)
    watched.until("To continue with it, press n.", SOON)
    assert watched.end() == 0
    alone = start("1", terminal=False)
    course.script("p1").write_text(f"{RIGHT}\n")
    alone.until("press Ctrl-C and type:", SOON)
    alone.until("  make watch PUZZLE=p2", SOON)


def test_at_a_terminal_the_file_that_is_named_is_checked_at_once(course: Course) -> None:
    course.script("p1").write_text(WRONG)
    (course.root / "progress.txt").write_text("puzzle w1: solved\n")
    for arguments in ((), ("p1",)):
        watched = Watched([sys.executable, "-m", "checker", "watch", *arguments], course, True, {})
        report = watched.until(LAST_KEY)
        assert "Puzzle p1: Naive softmax" in report and "--full" in report
        os.write(watched.ours, b"q")
        assert watched.child.wait(10) == 0
        watched.until("No longer watching.")
        assert termios.tcgetattr(watched.ours) == watched.before
        os.close(watched.ours)
        os.close(watched.theirs)


def test_a_pipe_has_no_keys_and_nothing_is_checked_before_it_is_saved(course: Course, start: Start) -> None:
    course.script("p1").write_text(WRONG)
    watched = start(terminal=False)
    watched.nothing(1.0)
    assert watched.end() == 0


def test_a_terminal_that_controls_another_session_has_no_keys(course: Course) -> None:
    watched = Watched([sys.executable, "-m", "checker", "watch", "p1"], course, True, {}, own=False)
    watched.until("Ctrl-C ends this.")
    course.script("p1").write_text(RIGHT)
    watched.until("press Ctrl-C and type:", SOON)
    watched.child.send_signal(signal.SIGINT)
    assert watched.child.wait(10) == 0
    os.close(watched.ours)
    os.close(watched.theirs)


@pytest.mark.parametrize("only", [(), ("p1",)], ids=["all", "one"])
def test_keys_do_what_there_are_commands_for(only: tuple[str, ...], course: Course, start: Start) -> None:
    (course.root / "progress.txt").write_text("puzzle w1: solved\n")
    watched = start(*only)

    def pressed(key: bytes) -> str:
        os.write(watched.ours, key)
        return watched.until(LAST_KEY)

    assert "Puzzle p1, hint 1 of 3" in pressed(b"h")
    course.script("p1").write_text(WRONG)
    watched.until(LAST_KEY)
    assert f"Written: step/{STEMS['p1']}.html" in pressed(b"s")
    assert "is now the stub. What it held is in" in " ".join(pressed(b"r").split())
    watched.until("not started")  # which the file's change brings
    watched.until(LAST_KEY)
    assert course.script("p1").read_text() == STUB
    assert "Puzzle p2: Safe softmax" in pressed(b"N")
    course.script("p2").write_text(solved("p2"))  # which is watched now
    assert "accepted" in watched.until(LAST_KEY)
    assert watched.end(b"q") == 0


def test_a_key_waits_for_the_end_of_a_check(course: Course, start: Start) -> None:
    watched = start()
    course.script("p7").write_text(solved("p7"))
    watched.until("Checking")
    os.write(watched.ours, b"h")
    assert "Puzzle p7:" in watched.until(LAST_KEY, 3 * SOON)
    assert "Puzzle p7, hint 1 of 3" in watched.until(LAST_KEY)


def test_a_notebook_is_checked_too(course: Course, start: Start) -> None:
    watched = start()
    notebook = json.loads(course.notebook("p1").read_text())
    cell = next(cell for cell in notebook["cells"] if "def naive_softmax_kernel" in cell["source"])
    cell["source"] = RIGHT.partition("# %%\n@triton.jit")[2].join(["@triton.jit", ""]).partition("\n\n\n#")[0]
    atomically(course.notebook("p1"), json.dumps(notebook))
    watched.until(f"Next: notebooks/{ladder.numbered('p2')}.ipynb", SOON)


def test_other_files_are_nobodys_business(course: Course, start: Start) -> None:
    watched = start()
    for name in ("mine.py", f"{STEMS['p1']}.py~", f".{STEMS['p1']}.py.swp", f"{STEMS['p1']}.py.bak", "4913"):
        (course.root / "puzzles" / name).write_text(RIGHT)
        (course.root / "puzzles" / name).unlink()
    (course.root / "notebooks" / ".ipynb_checkpoints").mkdir()
    (course.root / "notebooks" / ".ipynb_checkpoints" / f"{STEMS['p1']}-checkpoint.ipynb").write_text("{}")
    watched.nothing(1.0)


def test_a_file_that_vanishes_is_a_sentence(course: Course, start: Start) -> None:
    watched = start()
    course.script("p1").write_text(f"{STUB}\n")
    watched.until("not started", SOON)
    for _ in range(2):
        course.script("p1").unlink()
        assert f"puzzles/{STEMS['p1']}.py has vanished" in watched.until("make reset PUZZLE=p1", SOON)
        course.script("p1").write_text(STUB)
        watched.until("not started", SOON)
    course.script("p1").unlink()
    watched.until("make reset PUZZLE=p1", SOON)
    assert "vanished" not in watched.settle()  # said once


def test_another_folder_in_its_place_is_watched(course: Course, start: Start) -> None:
    watched = start()
    course.script("p1").write_text(f"{STUB}\n")
    watched.until("not started", SOON)
    folder = course.root / "puzzles"
    shutil.copytree(folder, course.root / "new")
    folder.rename(course.root / "old")
    (course.root / "new").rename(folder)
    watched.settle()
    course.script("p1").write_text(RIGHT)
    watched.until("accepted", SOON)


def test_what_a_link_leads_to_is_watched(course: Course, start: Start, tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine.py"
    elsewhere.write_text(STUB)
    course.script("p1").unlink()
    course.script("p1").symlink_to(elsewhere)
    watched = start()
    elsewhere.write_text(RIGHT)
    watched.until("accepted", SOON)


def test_a_pipe_in_its_place_is_a_file_that_has_vanished(course: Course, start: Start) -> None:
    watched = start()
    course.script("p1").unlink()
    os.mkfifo(course.script("p1"))
    watched.until("has vanished", SOON)
    course.script("p2").write_text(stub_text("p2") + "\n")
    watched.until("not started", SOON)


def test_two_files_at_once_give_two_reports_on_one_screen(course: Course, start: Start) -> None:
    watched = start()
    course.script("p1").write_text(WRONG)
    course.script("p2").write_text(stub_text("p2") + "\n")
    screen = watched.until("not started", 2 * SOON).rpartition(CLEARED)[2]
    assert "Puzzle p1:" in screen and "Puzzle p2:" in screen


def test_what_cannot_be_read_is_a_report_too(course: Course, start: Start) -> None:
    watched = start()
    course.script("p1").write_bytes(b"\xff\xfe")
    watched.until("is not UTF-8 text", SOON)
    course.script("p1").write_text("")
    watched.until("is empty", SOON)
    course.script("p1").write_text(STUB.replace("    # FILL IN", "    x = (\n    # FILL IN"))
    watched.until("Python cannot read this", SOON)


def test_forty_columns_are_enough(course: Course, start: Start) -> None:
    watched = start("1", COLUMNS="40")
    course.script("p1").write_text(RIGHT)
    shown = watched.until("press n.", SOON) + watched.until(LAST_KEY)
    assert all(len(re.sub(r"\x1b\[[0-9;]*\w", "", line).rstrip()) <= 40 for line in shown.split("\r\n"))


def test_leaving_restores_the_terminal_and_leaves_nothing_running(course: Course, start: Start, tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    sandboxes.mkdir()
    watched = start(TMPDIR=str(sandboxes))
    course.script("p1").write_text((ROOT / "tests" / "hostile" / "p1_nested_tuples.py").read_text())
    watched.until("Checking")
    until_running(sandboxes)
    assert watched.end() in (0, 130)
    assert "Traceback" not in watched.shown
    assert (list(sandboxes.iterdir()), sandboxed_processes(sandboxes)) == ([], [])
    assert termios.tcgetattr(watched.ours) == watched.before
    assert "\x1b[?1049" not in watched.shown and "\x1b[?25l" not in watched.shown


LONG = (ROOT / "tests" / "hostile" / "p1_nested_tuples.py").read_text()  # runs until its time is up


def until_running(sandboxes: Path) -> None:
    """Wait until a kernel runs: watch, its check, the base, runners or a compiler."""
    deadline = time.monotonic() + SOON
    while len(sandboxed_processes(sandboxes)) < 5:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_save_during_a_check_ends_it_and_is_checked(course: Course, start: Start, tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    sandboxes.mkdir()
    watched = start(TMPDIR=str(sandboxes))
    course.script("p1").write_text(LONG)
    until_running(sandboxes)
    atomically(course.script("p1"), RIGHT)
    report = watched.until(f"Next: puzzles/{STEMS['p2']}.py", SOON)
    assert "did not finish" not in report and report.count("Puzzle p1:") == 1
    assert (list(sandboxes.iterdir()), watched.settle(1.2).count("Puzzle p1:")) == ([], 0)
    assert len(sandboxed_processes(sandboxes)) == 1  # watch itself


def test_verdicts_that_nobody_has_seen_are_made_again(course: Course, start: Start) -> None:
    """Two files were saved at once, and the check of one of them was ended."""
    watched = start()
    course.script("p2").write_text(stub_text("p2") + "\n")
    course.script("p1").write_text(LONG)
    watched.until("Checking")
    time.sleep(0.2)
    course.script("p1").write_text(WRONG)
    screen = watched.until("not started", 2 * SOON).rpartition(CLEARED)[2]
    assert "--full" in screen and "Puzzle p2:" in screen


def test_of_many_saves_the_last_is_shown(course: Course, start: Start, tmp_path: Path) -> None:
    """Whatever a check is doing when it is ended, it leaves nothing behind."""
    sandboxes = tmp_path / "sandboxes"
    sandboxes.mkdir()
    watched = start(TMPDIR=str(sandboxes))
    for turn in range(12):
        atomically(course.script("p1"), f"{LONG}# {turn}\n")
        time.sleep(0.1 + turn * 0.04)
    atomically(course.script("p1"), RIGHT)
    assert "did not finish" not in watched.until(f"Next: puzzles/{STEMS['p2']}.py", SOON)
    watched.settle()
    assert (list(sandboxes.iterdir()), len(sandboxed_processes(sandboxes))) == ([], 1)


def test_a_check_goes_on_if_its_file_is_only_touched_or_another_one_saved(course: Course, start: Start) -> None:
    watched = start()
    course.script("p7").write_text(solved("p7"))
    watched.until("Checking")
    course.script("p7").chmod(0o600)
    course.script("p1").write_text(RIGHT)
    assert "Puzzle p7:" in watched.until("accepted", 3 * SOON)
    assert f"Checking puzzles/{STEMS['p1']}.py" in watched.until(f"Next: puzzles/{STEMS['p2']}.py", SOON)
    assert "Puzzle p7" not in watched.settle(1.2)


def test_what_was_being_undone_is_checked_again(course: Course, start: Start, tmp_path: Path) -> None:
    """The text of the last verdict, saved once more while another is checked, is no echo."""
    sandboxes = tmp_path / "sandboxes"
    sandboxes.mkdir()
    watched = start(TMPDIR=str(sandboxes))
    course.script("p1").write_text(WRONG)
    watched.until("--full", SOON)
    course.script("p1").write_text(LONG)
    watched.until("Checking")
    time.sleep(0.2)
    course.script("p1").write_text(WRONG)
    watched.until("--full", SOON)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_end_it_quietly(number: signal.Signals, start: Start) -> None:
    watched = start(terminal=False)
    watched.child.send_signal(number)
    assert watched.child.wait(10) in (0, 130, 128 + number)
    assert "Traceback" not in watched.shown


def test_an_interrupt_waits_until_what_the_checks_need_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def interrupted(puzzle_id: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        loaded.append(puzzle_id)

    monkeypatch.setattr(catalog, "load", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            Watcher(Console())._warm_up()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert loaded == list(STEMS)


def test_make_watch_ends_with_ctrl_c(course: Course) -> None:
    need("make")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        (course.root / name).write_bytes((ROOT / name).read_bytes())
    venv = f"VENV={Path(sys.executable).parents[1]}"
    watched = Watched(["make", "watch", "PUZZLE=1", venv], course, True, {})
    watched.until("Ctrl-C ends this.")
    watched.end()
    assert "No longer watching" in watched.shown and "Traceback" not in watched.shown
    os.close(watched.ours)
    os.close(watched.theirs)


def test_polling_works_where_the_system_tells_nothing(course: Course, start: Start) -> None:
    watched = start(WATCHFILES_FORCE_POLLING="1")
    atomically(course.script("p1"), WRONG)
    watched.until("--full", 2 * SOON)


def test_without_folders_there_is_nothing_to_watch(course: Course) -> None:
    for name in ("puzzles", "notebooks"):
        (course.root / name).rename(course.root / f"no {name}")
    done = course.run("watch")
    assert done.returncode == 2 and "no folder puzzles and no folder notebooks" in done.stderr


def test_without_watchfiles_it_says_what_to_do(course: Course) -> None:
    with contextlib.suppress(FileExistsError):
        (course.root / "watchfiles.py").write_text("raise ModuleNotFoundError('gone', name='watchfiles')\n")
    done = course.run("watch")
    assert done.returncode == 2 and "watchfiles is missing here" in done.stderr
