"""Facts about this machine, as data: one for each thing that some command of the course needs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from checker.doctor import exchange
from checker.sandbox import standin
from checker.sandbox.cage.cage import NoCage, claim
from checker.sandbox.compiling import cache_folder
from checker.sandbox.inside import seccomp
from checker.sandbox.parent import gpu_missing
from checker.sandbox.protocol import supported

CHECKING = "checking"  # what a thing may be needed for
SETTINGS = Path("/proc/sys")  # of the kernel
_PYTHONS = ((3, 10), (3, 14))
_MACHINES = ("x86_64", "aarch64")
_LEAST_DISK = 2 << 30  # what the project with everything that its tests need takes
APPARMOR_PROFILE = (
    "abi <abi/4.0>,",
    "include <tunables/global>",
    "profile bwrap /usr/bin/bwrap flags=(unconfined) {",
    "  userns,",
    "}",
)
_PROFILE_LINES = " ".join(f"'{line}'" for line in APPARMOR_PROFILE)
_SWITCHED_OFF = "are switched off for ordinary users. Switch them on, or grade as root."
# What distributions and administrators set against an ordinary user's bubblewrap: a setting of the kernel, the value
# that forbids user namespaces, a sentence, and what to type.
_FORBIDDEN = (
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor allows them only to programs with a profile (Ubuntu 23.10 and later). Give bubblewrap one, "
        "allow them to all (sysctl), or grade as root.",
        (
            f"printf '%s\\n' {_PROFILE_LINES} | sudo tee /etc/apparmor.d/bwrap",
            "sudo apparmor_parser -r /etc/apparmor.d/bwrap",
            "# or: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    ),
    ("kernel/unprivileged_userns_clone", "0", _SWITCHED_OFF, ("sudo sysctl -w kernel.unprivileged_userns_clone=1",)),
    ("user/max_user_namespaces", "0", _SWITCHED_OFF, ("sudo sysctl -w user.max_user_namespaces=10000",)),
)


@dataclass(frozen=True)
class Fact:
    """One thing: whether it is there, in a sentence, and what to type if it is not."""

    name: str
    there: bool
    sentence: str
    needed_for: str  # what cannot be done without it; nothing if all can
    remedy: tuple[str, ...] = ()  # lines to be typed


@dataclass(frozen=True)
class Diagnosis:
    """All facts, and the tier that grading would have here."""

    facts: tuple[Fact, ...]
    tier: str = ""  # A, B or C; nothing in a student's copy of the course, which cannot grade
    why: str = ""

    @property
    def can_grade(self) -> bool:
        """Whether grading would start."""
        return self.tier in ("A", "B")

    @property
    def can_check(self) -> bool:
        """Whether kernels can be checked."""
        return all(fact.there for fact in self.facts if fact.needed_for == CHECKING)


def diagnosis() -> Diagnosis:
    """Look at this machine. Takes no longer than a bubblewrap that starts once."""
    if not (Path(__file__).parents[1] / "grading").is_dir():
        return Diagnosis((*_for_checking(), *_for_gpus()))
    try:
        with claim() as cage:
            tier, why = cage.tier, cage.described()
    except NoCage as reason:
        tier, why = "C", str(reason)
    return Diagnosis((*_for_checking(), *_for_gpus(), *_for_grading(tier, why)), tier, why)


def _fact(name: str, there: bool, found: str, missing: str, needed_for: str = "", *remedy: str) -> Fact:
    """Return one of two sentences, and what to type only where something is missing."""
    return Fact(name, there, found if there else missing, needed_for, () if there else remedy)


def _for_checking() -> Iterator[Fact]:
    here = f"Python {platform.python_version()} on {platform.system()}, {platform.machine()}"
    carried = standin.needed()
    machine = carried or (sys.platform == "linux" and platform.machine() in _MACHINES)
    fits = _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1] and machine
    needed = f"{here}; the course needs 3.10 to 3.14 on Linux, x86-64 or aarch64."
    yield _fact("Python", fits, f"{here}.", needed, CHECKING)
    triton = _version("triton")
    if carried:
        yield Fact("triton", True, "only its Python files are here: kernels run, and no compiler sees them.", "")
    elif triton is None:
        yield _fact("triton", False, "", "is not installed.", CHECKING, "./check w1")
    else:
        found = f"{triton}; {tried}" if (tried := supported.untried(triton)) else f"{triton}."
        missing = f"{triton} is too old. {supported.instead_of(triton)}"
        yield _fact("triton", not supported.older(triton), found, missing, CHECKING)
    missing = "is not installed; python -m checker does the same without it."
    yield _fact("make", shutil.which("make") is not None, "is installed.", missing, "", "sudo apt install make")
    free = shutil.disk_usage(Path.cwd()).free
    space = f"{free / (1 << 30):.0f} GB are free here; everything that make installs takes 2."
    yield _cache()
    yield _fact("disk", free >= _LEAST_DISK, space, space)


def _cache() -> Fact:
    """Return whether what the compiler says can be kept. Checks are silent about it, since all they lose is time."""
    slower = "What the compiler says is not kept, so it runs at every check."
    try:
        folder = cache_folder()
    except RuntimeError:
        return Fact("cache", False, f"has no place, since nobody says where the home folder is. {slower}", "")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        return Fact("cache", False, f"{folder} cannot be written: {error.strerror}. {slower}", "")
    return Fact("cache", True, f"{folder}.", "")


def _for_gpus() -> Iterator[Fact]:
    torch, missing = _version("torch"), gpu_missing()
    yield _fact(
        "torch",
        torch is not None,
        f"{torch}.",
        "is not installed; for puzzles written in PyTorch, and for timing on a GPU.",
        "",
        "make torch",
    )
    yield _fact("GPU", not missing, f"{len(list(Path('/dev').glob('nvidia[0-9]*')))} of NVIDIA's.", missing)
    if not missing:
        compiler = shutil.which("gcc") or shutil.which("clang")
        needed = "is not installed; kernels are timed by Triton's own launcher, which needs one."
        yield _fact("C compiler", compiler is not None, f"{compiler}.", needed, "make bench", "sudo apt install gcc")


def _for_grading(tier: str, why: str) -> Iterator[Fact]:
    yield _bubblewrap(tier, why)
    if os.geteuid() == 0:
        there = shutil.which("setpriv", path="/usr/bin:/bin") is not None
        missing = "is not installed; with it each grader gets a user of its own."
        yield _fact("setpriv", there, "is installed.", missing, "grading", "apt install util-linux")
    else:
        yield _user_namespaces()
    missing = "is missing: it needs a kernel with seccomp on x86-64 or aarch64."
    yield _fact("system-call filter", seccomp.available(), "is there (seccomp).", missing, "grading")
    yield _nbgrader()
    yield from _exchange()


def _bubblewrap(tier: str, why: str) -> Fact:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        typed = ("sudo apt install bubblewrap", "sudo dnf install bubblewrap")
        return _fact("bubblewrap", False, "", "is not installed.", "grading", *typed)
    asked = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False, timeout=10)
    found = asked.stdout.strip().removeprefix("bubblewrap ") or "an unknown version"
    useless = f"{found} is installed, but no cage can be made with it."
    return _fact("bubblewrap", tier != "C", f"{found}, tried out: {why}.", useless, "grading")


def _user_namespaces() -> Fact:
    """Return why an ordinary user's bubblewrap may fail."""
    name, needed_for = "user namespaces", "grading"
    for setting, forbids, sentence, remedy in _FORBIDDEN:
        if _setting(setting) == forbids:
            allowed = "apparmor" in setting and Path("/etc/apparmor.d/bwrap").exists()
            return _fact(name, allowed, sentence, sentence, needed_for, *remedy)
    return Fact(name, True, "are not forbidden to ordinary users.", needed_for)


def _nbgrader() -> Fact:
    name, needed_for, found = "nbgrader", "grading with nbgrader", _version("nbgrader")
    if found is None:
        return _fact(name, False, "", "is not installed.", needed_for, "make course")
    on_path = shutil.which("nbgrader") is not None and shutil.which("alembic") is not None
    typed = f'export PATH="{Path(sys.executable).parent}:$PATH"'
    return _fact(
        name, True, f"{found}." if on_path else f"{found}. Before its own commands, type: {typed}", "", needed_for
    )


def _exchange() -> Iterator[Fact]:
    """Of the course that is made here, if there is one."""
    try:
        place = exchange.named(Path("course", "own_config.py"))
    except OSError:
        return
    if place is not None:
        wrong, typed = exchange.problem(place) or ("", "")
        yield _fact("exchange", not wrong, f"{place}.", f"{place} {wrong}.", "handing out with nbgrader", typed)


def _setting(name: str) -> str:
    """Return a setting of the kernel; nothing if it does not have it."""
    try:
        return (SETTINGS / name).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _version(package: str) -> str | None:
    if find_spec(package) is None:
        return None
    try:
        return version(package)
    except PackageNotFoundError:
        return "of an unknown version"
