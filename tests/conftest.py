"""Shared fixtures: the solutions, tools, cages and sandboxes, and ways to check a kernel."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import importlib
import os

os.environ["LANGUAGE"] = "en"  # whatever this machine speaks
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `python -m checker` does; read when numpy is imported
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else hundreds of processes compile the same files

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import settings

from checker.check import Conditions, check
from checker.course import ladder, places
from checker.course.verdict import Verdict
from checker.sandbox.cage.cage import Cage, NoCage, claim
from checker.sandbox.cage.slots import FIRST_USER, SLOTS
from checker.sandbox.host import Host
from checker.submission.read import from_cells, from_file
from tests import slices
from tests.kernels import Kernel

ROOT = Path(__file__).parents[1]
TOLD = "told"
FOR_A_SITE = 4  # tests at least: it takes as long as all other tests of a puzzle
SLICE = pytest.StashKey[tuple[int, list[str]]]()  # which one runs, and what has changed
settings.register_profile("course", deadline=None)  # machines are shared: how long something takes proves nothing
settings.load_profile("course")
# What a `make` that runs the tests was told, such as VENV, is not for those that the tests run.
for _name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "VENV"):
    os.environ.pop(_name, None)
SOLUTIONS = [places.solution(puzzle_id) for puzzle_id in ladder.RUNGS]
SOLUTION = places.solution("p1").read_text()
LINKED = {needed: from_file(places.solution(needed)) for rung in ladder.LADDER for needed in rung.launches}
STEMS_OF_KERNELS = {rung.id: rung.stem for rung in ladder.RUNGS.values() if not rung.pytorch}  # of PyTorch, no kernel


def puzzle_of(path: Path) -> str:
    """The ID of the puzzle that a kernel file is for."""
    found = path.name.partition("_")[0]
    assert found == ladder.entry(found).id, f"{path} must be named ID_….py"
    return found


PACKAGES = {  # the tools that tests need, and what Debian's packages of them are called
    "bash": "bash",
    "bwrap": "bubblewrap",
    "chromium": "chromium",
    "firefox": "firefox-esr",
    "git": "git",
    "make": "make",
    "node": "nodejs",
    "npm": "npm",
    "setpriv": "util-linux",
}


def need(tool: str) -> None:
    """Skip the test if a tool is missing; under REQUIRE_ALL_TOOLS that is a failure."""
    assert tool in PACKAGES
    if shutil.which(tool) is None:
        if os.environ.get("REQUIRE_ALL_TOOLS"):
            pytest.fail(f"{tool} is missing, and REQUIRE_ALL_TOOLS is set")
        pytest.skip(f"{tool} is not installed")


def cage_or_skip() -> Cage:
    """A cage as grading has it, or skip the test; under REQUIRE_ALL_TOOLS its absence is a failure."""
    try:
        return claim()
    except NoCage as reason:
        if os.environ.get("REQUIRE_ALL_TOOLS"):
            pytest.fail(f"{reason} And REQUIRE_ALL_TOOLS is set")
        pytest.skip(str(reason))


def installed(package: str) -> None:
    """Skip the test, or the file, where a package is missing; under REQUIRE_ALL_TOOLS that is a failure."""
    if find_spec(package) is None:
        if os.environ.get("REQUIRE_ALL_TOOLS"):
            pytest.fail(f"{package} is missing, and REQUIRE_ALL_TOOLS is set")
        pytest.skip(f"{package} is not installed", allow_module_level=True)


def importable(module: str) -> Any:
    """Import a module, or skip the test; under REQUIRE_ALL_TOOLS a missing one is a failure."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        installed(missing.name or module)
        raise


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests of PyTorch programs where there is no PyTorch, and of drafts what a finished puzzle has."""
    asked = [item.path.stem.removeprefix("test_"), item.path.parent.name]
    if call := getattr(item, "callspec", None):
        asked += [*call.id.split("-"), *(getattr(one, "name", one) for one in call.params.values())]
    ids = {str(one).partition("_")[0] for one in asked}
    programs = {"pytorch", "own", *(rung.id for rung in ladder.LADDER if rung.pytorch)}
    if ids & programs and not find_spec("torch"):
        installed("torch")
    drafts = ids & {rung.id for rung in ladder.LADDER if rung.draft}
    if drafts and item.get_closest_marker("finished") and not item.config.option.finished:
        pytest.skip(f"{', '.join(drafts)} is a draft, and may lack it: make puzzle")


def sandboxed_processes(folder: Path) -> list[str]:
    """Command lines of processes that live in a sandbox below `folder`."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if str(folder).encode() in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:200])
            except OSError:
                continue
    return found


@contextlib.contextmanager
def killing(base: int, runner: bool) -> Iterator[None]:
    """Meanwhile kill a child of the sandbox, or one of its runners, once there is one."""

    def kill() -> None:
        while not over.wait(0.01):
            with contextlib.suppress(OSError):
                if runners := Path(f"/proc/{base}/task/{base}/children").read_text().split():
                    over.wait(0.05)  # until it is forked and runs
                    os.kill(int(runners[0]) if runner else base, signal.SIGKILL)
                    return

    over = threading.Event()
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield
    finally:
        over.set()
        killer.join()


@pytest.fixture
def sandbox_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Boxes of this test keep their folders here. Afterwards nothing may be left, in it or running."""
    folder = tmp_path / "sandboxes"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []
    assert sandboxed_processes(folder) == []


@pytest.fixture(scope="session")
def cage() -> Iterator[Cage]:
    """A cage that the tests share."""
    with cage_or_skip() as one:
        yield one


@pytest.fixture(scope="session")
def kept(cage: Cage) -> Iterator[Host]:
    """A host as grading has it, which keeps its servers, in the cage that the tests share."""
    with Host(cage, kept=True) as one:
        yield one


@cache
def quick_conditions() -> Conditions:
    """The conditions of practice, with servers that this process keeps: a check takes half the time.

    `test_host` shows that a verdict does not depend on that.
    """
    host = Host(kept=True)
    atexit.register(host.close)
    return Conditions(host=host, linked=LINKED)


@pytest.fixture(scope="session")
def quick() -> Conditions:
    """Conditions under which a check takes little time."""
    return quick_conditions()


def caged_processes() -> list[str]:
    """What runs in cages of these tests, or was left by them: of no user whose slot somebody else holds."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it ended meanwhile
                user, status = entry.stat().st_uid, (entry / "status").read_text()
                if user == os.getuid() != 0:
                    boxed = re.search(r"^NSpid:\t\d+\t", status, re.MULTILINE) is not None  # a number inside as well
                else:
                    boxed = user in range(FIRST_USER, FIRST_USER + SLOTS) and not held_by_others(user)
                # One that has ended waits for the machine's first process to take notice, which takes its time.
                if boxed and "State:\tZ" not in status and not is_idle_server(entry):
                    found.append(f"{entry.name}, user {user}: {(entry / 'cmdline').read_bytes()[:200]!r}")
    return found


def is_idle_server(process: Path) -> bool:
    """Whether it waits for the next submission, or holds one that does: kept on purpose, with nothing of the last one.

    What a server forks bears the same name; but its parent is the server.
    """
    if b"checker.sandbox.inside.harness" not in (process / "cmdline").read_bytes():
        return False
    if is_bubblewrap(process):
        return True
    [parent] = re.findall(r"^PPid:\t(\d+)$", (process / "status").read_text(), re.MULTILINE)
    return is_bubblewrap(Path("/proc") / parent) and not (process / "task" / process.name / "children").read_text()


def is_bubblewrap(process: Path) -> bool:
    return (process / "cmdline").read_bytes().partition(b"\0")[0].endswith(b"bwrap")


def held_by_others(user: int) -> bool:
    """Whether another process than this one grades as a user."""
    inode = Path(f"/run/flash-puzzles/slot-{user}").stat().st_ino
    locks = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" not in line]  # who waits
    return any(
        kind == "FLOCK" and int(pid) != os.getpid() and file.endswith(f":{inode}")
        for _, kind, _, _, pid, file, *_ in locks
    )


@pytest.fixture
def nothing_left(sandbox_folder: Path) -> Iterator[None]:
    """After the test there is no process, mount or file that was not there before."""
    mounts = Path("/proc/self/mountinfo").read_text()
    yield
    deadline = time.monotonic() + 60
    while caged_processes() and time.monotonic() < deadline:
        time.sleep(0.1)  # other graders on this machine come and go
    assert caged_processes() == []
    assert Path("/proc/self/mountinfo").read_text() == mounts


@pytest.fixture
def told(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Say something that stands at the end of the run, also if several processes run the tests."""
    return lambda sentence: request.node.user_properties.append((TOLD, sentence))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--finished", action="store_true", help="of drafts of puzzles, also what they may lack yet")
    parser.addoption("--slice", help="only cheap tests, and a slice of the dear ones: a number, 'now' or 'all'")


def pytest_configure(config: pytest.Config) -> None:
    """Started in the background of a shell, a run and all that it starts would ignore Ctrl-C, which tests send."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.option.slice not in (None, "all"):
        now = config.option.slice == "now"
        here = slices.commits() if now else int(config.option.slice), sorted(slices.changed())
        config.stash[SLICE] = getattr(config, "workerinput", {}).get("slice", here)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Processes that run tests together are told, lest one of them sees that something changes meanwhile."""
    if SLICE in node.config.stash:
        node.workerinput["slice"] = node.config.stash[SLICE]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Leave out what is not in the slice, and a few tests for which the site would be built; say so."""
    every = [slices.Item(item.nodeid) for item in items]
    chosen = slices.chosen(every, slices.read(), *config.stash[SLICE]) if SLICE in config.stash else {*every}
    _leave_out(config, items, [one not in chosen for one in every])
    yield  # others choose too, by -k
    if SLICE in config.stash:
        of_site = ["built_site" in getattr(item, "fixturenames", ()) for item in items]
        left, (number, _) = "", config.stash[SLICE]
        if 0 < sum(of_site) < FOR_A_SITE and not all(of_site):
            _leave_out(config, items, of_site)
            left = f", without {sum(of_site)} of the site"
        told = f"tests: {len(items)} of {len(every)}{left}, slice {number} (again: SLICE={number}; all: make test-all)"
        for item in items[:1]:  # each process has the same first test, and one of them runs it
            item.user_properties.append((TOLD, told))


def _leave_out(config: pytest.Config, items: list[pytest.Item], which: list[bool]) -> None:
    config.hook.pytest_deselected(items=[item for item, out in zip(items, which, strict=True) if out])
    items[:] = [item for item, out in zip(items, which, strict=True) if not out]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have told, which slices have passed here, and what to install for those that were skipped."""
    config, failed = terminalreporter.config, "failed" in terminalreporter.stats or "error" in terminalreporter.stats
    if config.option.slice and hasattr(config, "cache") and not hasattr(config, "workerinput"):
        passed = config.cache.get("slices", {})
        number = config.stash.get(SLICE, ("all",))[0]
        if number == "all":
            last = {slice: day for slice, day in passed.items() if slice != "all"}
            told = ", ".join(f"{slice} on {day}" for slice, day in sorted(last.items(), key=lambda one: one[::-1]))
            terminalreporter.write_line(f"slices that passed here before: {told or 'none'}")
        if not failed and config.args_source.name != "ARGS":
            config.cache.set("slices", passed | {str(number): f"{date.today()}"})
    reports = [r for kind in terminalreporter.stats.values() for r in kind if getattr(r, "when", "") == "call"]
    for sentence in sorted(text for report in reports for name, text in report.user_properties if name == TOLD):
        terminalreporter.write_line(sentence)
    if missing := sorted(package for tool, package in PACKAGES.items() if shutil.which(tool) is None):
        terminalreporter.write_line(
            f"Not all tests could run here. For the others, install what is missing: {' '.join(missing)}."
        )


@pytest.fixture
def check_text() -> Callable[..., Verdict]:
    """Check a text, or a change of the solution: `check_text(old="…", new="…")`."""

    def run(text: str | None = None, *, old: str = "", new: str = "", conditions: Conditions | None = None) -> Verdict:
        if text is None:
            assert old in SOLUTION
            text = SOLUTION.replace(old, new)
        return check(
            "p1", from_cells([("code", text)], "kernel.py", numbered=False), conditions or quick_conditions()
        ).verdict

    return run


def ran(
    *line: str | Path,
    cwd: Path = ROOT,
    ends: int | None = None,
    env: Mapping[str, str] | None = None,
    input: str | None = None,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """How a command ends, and what it says. `ends`: the exit status that it must have.

    `env`: all of its variables; None: ours, with the checker to be imported, and what is given by name.
    """
    known = {**os.environ, "PYTHONPATH": str(ROOT), **variables} if env is None else env
    encoding = variables.get("PYTHONIOENCODING", "utf-8")
    done = subprocess.run(
        line, cwd=cwd, env=known, input=input, capture_output=True, encoding=encoding, timeout=3600, check=False
    )
    assert ends in (None, done.returncode), done.stdout + done.stderr
    return done


def typed(
    *arguments: str, cwd: Path, root: Path = ROOT, ends: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """How `python -m checker …` ends in a folder, and what it says; `ends`: as for `ran`."""
    variables = {"PYTHONPATH": str(root), "COLUMNS": "120", **variables}
    return ran(sys.executable, "-m", "checker", *arguments, cwd=cwd, ends=ends, **variables)


Started = Callable[..., subprocess.CompletedProcess[str]]
_WITH = """import runpy, sys; sys.path[:0] = sys.argv.pop(1), sys.argv.pop(1); module = sys.argv.pop(1)
runpy.run_module(module, run_name='__main__', alter_sys=True)"""


@pytest.fixture
def without_pytorch(tmp_path_factory: pytest.TempPathFactory) -> Started:
    """`python -m MODULE …` where all packages are installed that are installed here, but for PyTorch."""
    packages = tmp_path_factory.mktemp("packages")
    for path in Path(click.__file__).parents[1].iterdir():
        if "torch" not in path.name:
            (packages / path.name).symlink_to(path)

    def start(
        module: str, *arguments: str, cwd: Path = ROOT, ends: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, "-S", "-c", _WITH, str(ROOT), str(packages), module, *arguments]
        scripts = str(Path(sys.executable).parent)  # nbgrader starts alembic by name
        environment = {**os.environ, "COLUMNS": "120", "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
        return ran(*line, cwd=cwd, ends=ends, env=environment)

    return start


def check_path(path: Path, conditions: Conditions | None = None) -> Verdict:
    """Check a kernel file."""
    return check(puzzle_of(path), from_file(path), lending(conditions)).verdict


def lending(conditions: Conditions | None = None) -> Conditions:
    """The same conditions, or the quick ones, with the course's kernels for programs that launch a learner's."""
    return replace(conditions or quick_conditions(), linked=LINKED)


def check_kernel(kernel: Kernel, conditions: Conditions | None = None) -> Verdict:
    """Check a kernel of `tests/kernels.py`. One of PyTorch is skipped where there is none."""
    if ladder.RUNGS[kernel.puzzle].pytorch:
        importable("torch")
    submission = from_cells([("code", kernel.text)], f"{kernel.name}.py", numbered=False)
    return check(kernel.puzzle, submission, lending(conditions)).verdict


def check_changed(puzzle_id: str, old: str, new: str, conditions: Conditions) -> Verdict:
    """A solution with one change."""
    text = places.solution(puzzle_id).read_text()
    assert old in text
    return check(
        puzzle_id, from_cells([("code", text.replace(old, new, 1))], "kernel.py", numbered=False), conditions
    ).verdict


@pytest.fixture(scope="session")
def built_site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Its folder. Processes that run the tests together build it once, and read it only."""
    site = importable("checker.publish.site")  # which needs Sphinx
    need("npm")
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "site"
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            site.build(folder)
    return folder
