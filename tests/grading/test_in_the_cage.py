"""Grading in the cage: where it is granted, what a verdict says of it, and what cannot be got out of it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from checker.check import Conditions
from checker.course.verdict import Status, Verdict
from checker.report.as_json import as_dict
from checker.sandbox.cage import cage as cages
from checker.sandbox.cage.cage import Cage, NoCage
from checker.sandbox.host import Host
from tests.conftest import ROOT, check_kernel, check_path, typed
from tests.kernels import named

pytestmark = pytest.mark.usefixtures("nothing_left")
SOLVED = ROOT / "solutions" / "p1_naive_softmax.py"

# A bwrap that is not what it seems: what it does to its arguments in Python, and what is said of it.
BROKEN = {
    "exits": ("sys.exit(1)", "does not work here: it ends without a word."),
    "is forbidden": ("sys.exit('bwrap: No permissions to create new namespace')", "here: No permissions"),
    "with processes": (
        "words.remove('--unshare-pid'); "
        "at = words.index('--proc'); words[at : at + 2] = ['--ro-bind', '/proc', '/proc']",
        "sees other processes",
    ),
    "with the network": ("words.remove('--unshare-net')", "has a network"),
    "with a folder": ("at = words.index('--ro-bind'); words[at:at] = ['--ro-bind', '/srv', '/srv']", "sees /srv"),
    "without the filter": ("at = words.index('--seccomp'); del words[at : at + 2]", "lacks cage filter"),
}


def put_bwrap(folder: Path, python: str) -> Path:
    """Put a `bwrap` into `folder` that does something to its arguments before it becomes the real one."""
    file, program = folder / "bwrap", folder / "program.py"
    head = "import os, sys\nwords = sys.argv[1:]\n"
    program.write_text(f"{head}{python}\nos.execv({shutil.which('bwrap')!r}, ['bwrap', *words])\n")
    file.write_text(f"#!/bin/sh\nexec '{sys.executable}' -IS '{program}' \"$@\"\n")  # `#!` knows no path with a space
    file.chmod(0o755)
    return file


@pytest.mark.parametrize("how", BROKEN)
def test_a_cage_that_does_not_hold_is_not_granted(
    how: str, cage: Cage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "with the network" and len(socket.if_nameindex()) < 2:
        pytest.skip("this machine has no network itself")
    python, reason = BROKEN[how]
    put_bwrap(tmp_path, python)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(cages, "_proven", set())
    with pytest.raises(NoCage, match=reason):
        cages.claim()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives users of their own to cages")
@pytest.mark.usefixtures("cage")
def test_a_checker_that_others_cannot_read_says_what_to_do(tmp_path: Path) -> None:
    """As root's umask may have left it; tmp_path itself is closed to others, which is no obstacle."""
    shutil.copytree(ROOT / "checker", tmp_path / "checker")
    done = typed("doctor", cwd=tmp_path, root=tmp_path, ends=0)
    (tmp_path / "checker" / "__init__.py").chmod(0o600)
    done = typed("doctor", cwd=tmp_path, root=tmp_path, ends=1)
    assert "chmod -R o+rX" in done.stdout


@pytest.mark.parametrize("how", ["absent", "broken"])
def test_grading_without_a_cage_is_refused(how: str, tmp_path: Path) -> None:
    put_bwrap(tmp_path, "sys.exit(1)")
    asked = ["check", "1", "--file", str(SOLVED), "--no-compile", "--key", "autumn"]
    path = "/nowhere" if how == "absent" else f"{tmp_path}:{os.environ['PATH']}"
    done = typed(*asked, cwd=tmp_path, PATH=path, ends=2)
    words = " ".join(done.stdout.split())
    assert "Grading was not started" in words and "accepted" not in words and "Traceback" not in words
    assert {"absent": "bubblewrap is not installed", "broken": "bubblewrap does not work here"}[how] in words
    done = typed(*asked, "--unsafe-no-sandbox", "--json", "-", cwd=tmp_path, PATH=path, ends=0)
    assert '"sandbox": "C, no sandbox: process limits' in done.stdout


def test_a_cage_that_fails_later_fails_the_check(cage: Cage, tmp_path: Path) -> None:
    """A fault of ours, without a verdict; never a run without a cage, and never a refusal of the kernel."""
    later = Cage(cage.tier, str(put_bwrap(tmp_path, "sys.exit(1)")), cage.slot)
    with pytest.raises(RuntimeError, match="did not start"):
        check_path(SOLVED, Conditions(key="autumn", host=Host(later)))


def test_a_compiler_that_does_not_start_is_no_fault_of_the_kernel(cage: Cage, tmp_path: Path) -> None:
    file = put_bwrap(tmp_path, "if any('\"compiler\"' in word for word in words): sys.exit(1)")
    later = Cage(cage.tier, str(file), cage.slot)
    assert check_path(SOLVED, Conditions(key="autumn", host=Host(later), targets=())).accepted
    with pytest.raises(RuntimeError, match="the compiler did not start"):
        check_path(SOLVED, Conditions(key="autumn", host=Host(later)))


# --- a check in the cage ---


def canonical(verdict: Verdict) -> dict[str, object]:
    """The verdict without what may differ from run to run."""
    made = as_dict(verdict)
    for run in made["runs"]:
        del run["seconds"]
    return {name: value for name, value in made.items() if name != "sandbox"}


SAME = ("p1_naive_softmax", "p6_flash_attention_2", "p1_no_load_mask", "p1_reads_twice", "p3_not_rescaled")


@pytest.mark.parametrize("name", SAME)
def test_the_verdict_is_that_of_practice(name: str, cage: Cage) -> None:
    kernel = named(name)
    outside = check_kernel(kernel, Conditions(key="autumn"))
    caged = check_kernel(kernel, Conditions(key="autumn", host=Host(cage)))
    assert canonical(caged) == canonical(outside)
    assert caged.accepted == (kernel.folder == "solutions")
    assert outside.sandbox.startswith("C, no sandbox: ")
    assert caged.sandbox == cage.described()
    tier = "A: bubblewrap, a user of its own" if os.geteuid() == 0 else "B: bubblewrap, user namespace"
    assert caged.sandbox.startswith(tier)


def test_grading_does_not_believe_what_practice_has_kept(
    cage: Cage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A submission that practised here may have written anything into the cache of compilations."""
    wrong = named("p3_starts_as_an_integer")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert check_kernel(wrong, Conditions()).status is Status.DOES_NOT_COMPILE
    [kept] = (tmp_path / "flash-puzzles" / "compiled").iterdir()
    fine = {"error": None, "shared": 0, "registers": 1, "spilled": 0}
    poison = json.dumps([fine] * len(json.loads(kept.read_text())))
    kept.write_text(poison)
    assert check_kernel(wrong, Conditions()).accepted  # as expected of a cache
    for conditions in (Conditions(key="autumn", host=Host(cage)), Conditions(key="autumn")):
        assert check_kernel(wrong, conditions).status is Status.DOES_NOT_COMPILE
    assert [path.read_text() for path in kept.parent.iterdir()] == [poison]


LEAKS = {
    "p1_reads_the_course": "secret",
    "p1_reads_solutions": "solutions/p1_naive_softmax.py",
    "p1_through_other_roots": "etc/passwd",
    "p1_watches_processes": "COURSE_KEY=secret",
}


@pytest.mark.parametrize("name", LEAKS)
def test_what_leaks_without_a_cage_does_not_leak_from_it(
    name: str, cage: Cage, tmp_path: Path, check_text: Callable[..., Verdict]
) -> None:
    (tmp_path / "course.key").write_text("secret")
    text = (ROOT / "tests" / "hostile" / f"{name}.py").read_text().replace("/srv/course", str(tmp_path))
    grader = subprocess.Popen(["sleep", "600"], env={**os.environ, "COURSE_KEY": "secret"})
    try:
        outside = check_text(text, conditions=Conditions(key="autumn", lint=False))
        caged = check_text(text, conditions=Conditions(key="autumn", lint=False, host=Host(cage)))
    finally:
        grader.kill()
        grader.wait()
    assert LEAKS[name] in str(outside.findings)
    assert "read 0: []" in str(caged.findings), caged.findings
