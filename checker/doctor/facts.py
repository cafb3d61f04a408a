"""What there is on this machine, as data: one fact for each thing that some command of the course needs."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from checker.box.cage.cage import NoCage, claim
from checker.box.inside import seccomp
from checker.box.parent import gpu_missing
from checker.doctor import exchange

SETTINGS = Path("/proc/sys")  # of the kernel
_PYTHONS = ((3, 10), (3, 14))
_TRITONS = ((3, 6), (3, 9))
_MACHINES = ("x86_64", "aarch64")
_LEAST_DISK = 2 << 30  # what the project with everything that its tests need takes
APPARMOR_PROFILE = (
    "abi <abi/4.0>,",
    "include <tunables/global>",
    "profile bwrap /usr/bin/bwrap flags=(unconfined) {",
    "  userns,",
    "}",
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
    tier: str  # A, B or C
    why: str

    @property
    def can_grade(self) -> bool:
        """Whether grading would start."""
        return self.tier != "C"


def diagnosis() -> Diagnosis:
    """Look at this machine. Takes no longer than a bubblewrap that starts once."""
    try:
        with claim() as cage:
            tier, why = cage.tier, cage.described()
    except NoCage as reason:
        tier, why = "C", str(reason)
    return Diagnosis((*_for_checking(), *_for_gpus(), *_for_grading(tier, why)), tier, why)


def _for_checking() -> Iterator[Fact]:
    here = sys.version_info[:2]
    fits = sys.platform == "linux" and platform.machine() in _MACHINES and _PYTHONS[0] <= here <= _PYTHONS[1]
    found = f"Python {platform.python_version()} on {platform.system()}, {platform.machine()}"
    yield Fact(
        "Python",
        fits,
        f"{found}." if fits else f"{found}; needed is 3.10 to 3.14 on Linux, x86-64 or aarch64.",
        "checking",
    )
    yield _triton()
    yield Fact(
        "make",
        shutil.which("make") is not None,
        "is installed." if shutil.which("make") else "is not installed; python -m checker does the same without it.",
        "",
        () if shutil.which("make") else ("sudo apt install make",),
    )
    free = shutil.disk_usage(Path.cwd()).free
    yield Fact(
        "disk", free >= _LEAST_DISK, f"{free / (1 << 30):.0f} GB are free here; all that make installs takes 2.", ""
    )


def _triton() -> Fact:
    found = _version("triton")
    if found is None:
        return Fact("triton", False, "is not installed.", "checking", ("make check PUZZLE=1",))
    numbers = tuple(int(n) for n in re.findall(r"\d+", found)[:2])
    fits = _TRITONS[0] <= numbers <= _TRITONS[1]
    return Fact("triton", fits, f"{found}." if fits else f"{found} is there; needed is 3.6 to 3.9.", "checking")


def _for_gpus() -> Iterator[Fact]:
    found = _version("torch")
    yield Fact(
        "torch", found is not None, f"{found}." if found else "is not installed; the interpreter needs none.", ""
    )
    missing = gpu_missing()
    if missing:
        yield Fact("GPU", False, missing, "")
        return
    count = len(list(Path("/dev").glob("nvidia[0-9]*")))
    yield Fact("GPU", True, f"{count} of NVIDIA's.", "")
    compiler = shutil.which("gcc") or shutil.which("clang")
    sentence = f"{compiler}." if compiler else "is not installed; Triton needs one to launch kernels."
    yield Fact(
        "C compiler", compiler is not None, sentence, "DEVICE=cuda", () if compiler else ("sudo apt install gcc",)
    )


def _for_grading(tier: str, why: str) -> Iterator[Fact]:
    yield _bubblewrap(tier, why)
    if os.geteuid() == 0:
        there = shutil.which("setpriv", path="/usr/bin:/bin") is not None
        sentence = "is installed." if there else "is not installed; with it each grader gets a user of its own."
        yield Fact("setpriv", there, sentence, "grading", () if there else ("apt install util-linux",))
    else:
        yield from _user_namespaces()
    filtered = seccomp.available()
    sentence = "is there (seccomp)." if filtered else "is missing: a kernel with seccomp on x86-64 or aarch64 has it."
    yield Fact("system-call filter", filtered, sentence, "grading")
    yield _nbgrader()
    yield from _exchange()


def _bubblewrap(tier: str, why: str) -> Fact:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        typed = ("sudo apt install bubblewrap", "sudo dnf install bubblewrap")
        return Fact("bubblewrap", False, "is not installed.", "grading", typed)
    asked = subprocess.run([bwrap, "--version"], capture_output=True, text=True, check=False, timeout=10)
    found = asked.stdout.strip().removeprefix("bubblewrap ") or "an unknown version"
    if tier == "C":
        return Fact("bubblewrap", False, f"{found} is installed, but no cage can be made with it.", "grading")
    return Fact("bubblewrap", True, f"{found}, tried out: {why}.", "grading")


def _user_namespaces() -> Iterator[Fact]:
    """Why an ordinary user's bubblewrap may fail: what distributions and administrators set."""
    name = "user namespaces"
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        lines = " ".join(f"'{line}'" for line in APPARMOR_PROFILE)
        yield Fact(
            name,
            Path("/etc/apparmor.d/bwrap").exists(),
            "AppArmor allows them to programs with a profile only (Ubuntu 23.10 and later). Give bubblewrap one, "
            "allow them to all (sysctl), or grade as root.",
            "grading",
            (
                f"printf '%s\\n' {lines} | sudo tee /etc/apparmor.d/bwrap",
                "sudo apparmor_parser -r /etc/apparmor.d/bwrap",
                "# or: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
            ),
        )
    elif _setting("kernel/unprivileged_userns_clone") == "0":
        yield _switched_off(name, "kernel.unprivileged_userns_clone=1")
    elif _setting("user/max_user_namespaces") == "0":
        yield _switched_off(name, "user.max_user_namespaces=10000")
    else:
        yield Fact(name, True, "are not forbidden to ordinary users.", "grading")


def _switched_off(name: str, setting: str) -> Fact:
    sentence = "are switched off for ordinary users. Switch them on, or grade as root."
    return Fact(name, False, sentence, "grading", (f"sudo sysctl -w {setting}",))


def _nbgrader() -> Fact:
    found = _version("nbgrader")
    if found is None:
        instructors = find_spec("checker.grading") is not None  # students' copies have no such part
        typed = "make course" if instructors else "make lab"
        return Fact("nbgrader", False, "is not installed.", "grading with nbgrader", (typed,))
    if shutil.which("nbgrader") is None or shutil.which("alembic") is None:
        folder = Path(sys.executable).parent
        return Fact(
            "nbgrader",
            False,
            f"{found} is installed, but it and alembic, which it starts, are not on PATH.",
            "grading with nbgrader",
            (f'export PATH="{folder}:$PATH"',),
        )
    return Fact("nbgrader", True, f"{found}.", "grading with nbgrader")


def _exchange() -> Iterator[Fact]:
    """Of the course that is made here, if there is one."""
    try:
        place = exchange.named(Path("course", "own_config.py"))
    except OSError:
        return
    if place is None:
        return
    wrong = exchange.problem(place)
    sentence, remedy = (f"{place}.", ()) if wrong is None else (f"{place} {wrong[0]}.", (wrong[1],))
    yield Fact("exchange", wrong is None, sentence, "handing out with nbgrader", remedy)


def _setting(name: str) -> str:
    """A setting of the kernel; nothing if it does not have it."""
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
