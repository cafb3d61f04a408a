"""`doctor` tells the truth about this machine, and about machines that lack something."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from checker.doctor import facts
from checker.sandbox.cage.cage import Cage
from tests.conftest import ran


def doctor(*arguments: str, ends: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, "-m", "checker", "doctor", *arguments, ends=ends, **environment)


def test_where_a_cage_can_be_had_grading_can_start(cage: Cage) -> None:
    done = doctor()
    assert (done.returncode, done.stderr) == (0, "")
    assert f"✓ Submissions can be graded here: tier {cage.tier}, bubblewrap" in " ".join(done.stdout.split())
    found = json.loads(doctor("--json").stdout)
    assert (found["tier"], found["can_grade"]) == (cage.tier, True)
    [bubblewrap] = [fact for fact in found["facts"] if fact["name"] == "bubblewrap"]
    assert bubblewrap["there"] and "tried out" in bubblewrap["sentence"]


@pytest.mark.parametrize("how", ["absent", "broken"])
def test_without_a_cage_it_says_so_and_what_to_do(how: str, tmp_path: Path) -> None:
    (tmp_path / "bwrap").write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    (tmp_path / "bwrap").chmod(0o755)
    done = doctor(PATH="/nowhere" if how == "absent" else f"{tmp_path}:{os.environ['PATH']}", COLUMNS="60", ends=1)
    words = " ".join(done.stdout.split())
    assert "✗ bubblewrap" in words and "Grading would not start here (tier C)" in words
    assert "Traceback" not in done.stdout + done.stderr
    if how == "absent":
        assert "  sudo apt install bubblewrap\n" in done.stdout
    else:
        assert "setting up uid map: Permission denied" in words
    assert "  python -m checker check N --file FILE --key TEXT --unsafe-no-sandbox\n" in done.stdout
    assert 'sandbox = "none"' in done.stdout  # of a course


@pytest.mark.parametrize("lies_there", ["nothing", "a file", "a pipe"])
def test_a_cache_that_cannot_be_used_is_told_here(lies_there: str, tmp_path: Path) -> None:
    """And nowhere else: a check does without."""
    if lies_there == "a file":
        (tmp_path / "flash-puzzles").write_text("")
    elif lies_there == "a pipe":
        os.mkfifo(tmp_path / "flash-puzzles")
    found = {fact["name"]: fact for fact in json.loads(doctor("--json", XDG_CACHE_HOME=str(tmp_path)).stdout)["facts"]}
    assert found["cache"]["there"] == (lies_there == "nothing")
    assert str(tmp_path / "flash-puzzles") in found["cache"]["sentence"]


KERNELS = {
    # a setting of the kernel and its value: what there is to be typed about it
    ("kernel/apparmor_restrict_unprivileged_userns", "1"): "sudo apparmor_parser -r /etc/apparmor.d/bwrap",
    ("kernel/unprivileged_userns_clone", "0"): "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ("user/max_user_namespaces", "0"): "sudo sysctl -w user.max_user_namespaces=10000",
}


@pytest.mark.parametrize("setting", KERNELS, ids=[name for name, _ in KERNELS])
def test_what_forbids_user_namespaces_is_named(
    setting: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, value = setting
    monkeypatch.setattr(facts, "SETTINGS", tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert next(fact for fact in facts._for_grading("B", "") if fact.name == "user namespaces").there
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{value}\n")
    fact = next(fact for fact in facts._for_grading("C", "") if fact.name == "user namespaces")
    assert not fact.there and "root" in fact.sentence
    assert KERNELS[setting] in fact.remedy


def test_what_is_typed_for_apparmor_makes_the_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts, "SETTINGS", tmp_path)
    (tmp_path / "kernel").mkdir()
    (tmp_path / "kernel" / "apparmor_restrict_unprivileged_userns").write_text("1\n")
    fact = facts._user_namespaces()
    typed = fact.remedy[0].replace("sudo tee /etc/apparmor.d/bwrap", "cat")
    assert ran("sh", "-c", typed, ends=0).stdout.splitlines() == list(facts.APPARMOR_PROFILE)


def test_an_exchange_that_any_student_can_take_over_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(facts._exchange()) == []  # no course here
    exchange = tmp_path / "exchange"
    (tmp_path / "course").mkdir()
    (tmp_path / "course" / "own_config.py").write_text(f"c.Exchange.root = {str(exchange)!r}\n")
    (fact,) = facts._exchange()
    assert not fact.there and fact.remedy == (f"sudo mkdir -p -m 1777 {exchange}",)
    own = tmp_path / "course" / "own_config.py"
    for text in ("c.Exchange.root = str(Path('/srv'))\n", "c.Exchange.root = '\\x'\n", ""):
        own.write_text(text)
        assert list(facts._exchange()) == []  # who knows?
    own.write_text(f"c.Exchange.root = {str(exchange)!r}\n")
    exchange.mkdir()
    for mode, fine in ((0o777, False), (0o1777, True), (0o770, True)):
        exchange.chmod(mode)
        (fact,) = facts._exchange()
        assert fact.there == fine
