"""The choice of tests, and their costs: each has its turn, no run takes too long, a new one is in every run."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import costs, slices
from tests.conftest import ROOT, need, ran
from tests.slices import (
    CHANGED,
    LEAST,
    LONGEST,
    RIGHT,
    SHARED,
    SHORT,
    SLICES,
    Item,
    about_of,
    chosen,
    cost,
    shared,
    summed,
    turns,
)

FILES = ("judge/test_a.py", "sandbox/test_b.py", "test_c.py", "test_d.py")
COSTS = {
    "judge/test_a.py": {"test_dear": {"p4": 8.0, "p5": 64.0}, "test_one": {"": 2.0}},
    "test_c.py": {"test_dear": {"": 32.0}},
    "test_d.py": {"fixtures": {"": 16.0}, "test_dear": {"": 2.0}},
}
ITEMS = st.builds(
    lambda file, function, puzzle, number: Item(f"tests/{file}::{function}[{puzzle}_softmax-{number}]"),
    st.sampled_from(FILES),
    st.sampled_from(["test_dear", "test_one", "test_new"]),
    st.sampled_from(["p4", "p5"]),
    st.integers(0, 99),
)
SUITES = st.lists(ITEMS, unique=True, max_size=150)


def whole(some: Iterable[Item]) -> float:
    return sum(cost(item, COSTS) for item in some)


@given(SUITES, st.integers(0, 1000))
def test_as_many_runs_as_a_file_has_slices_take_every_test_of_it(every: list[Item], first: int) -> None:
    for file in FILES:
        own = {item for item in every if item.file == file}
        slices, wait = turns(whole(own), shared(file, COSTS))
        runs = [chosen(every, COSTS, first + n) & own for n in range(slices * wait)]
        assert frozenset().union(*runs) == own
        cheap = {item for item in own if not cost(item, COSTS)}
        assert all(cheap <= run for run in runs)


@given(SUITES, st.integers(0, 1000), st.randoms())
def test_a_run_takes_a_slice_of_each_file_and_no_more(every: list[Item], number: int, random: Random) -> None:
    run = chosen(every, COSTS, number)
    for file in FILES:
        own = {item for item in every if item.file == file and cost(item, COSTS)}
        once = shared(file, COSTS)
        assert run & own or once or not {item for item in own if cost(item, COSTS) <= SHORT}
        long = max(LONGEST, once) if once else min(whole(own) / SLICES, LONGEST)
        assert whole(run & own) < long + 64.01  # a test is taken whole
    random.shuffle(every)
    assert chosen(every, COSTS, number) == run  # in whichever order they are collected


@given(SUITES, st.integers(0, 1000), st.sampled_from(["judge", "sandbox", "test_c.py", "p4", "p5"]))
def test_to_it_come_those_of_what_has_changed(every: list[Item], number: int, changed: str) -> None:
    before, after = chosen(every, COSTS, number), chosen(every, COSTS, number, [changed])
    assert before <= after
    about = {item for item in every if changed in (item.room, item.puzzle)}
    assert after - before <= about
    new = {item.file for item in after} - {item.file for item in before}
    assert (left := CHANGED - whole(after - before) - sum(shared(file, COSTS) for file in new)) >= 0
    assert all(cost(item, COSTS) + shared(item.file, COSTS) > left for item in about - after)


def test_of_a_puzzle_that_has_changed_all_right_kernels_run() -> None:
    every = [Item(f"tests/test_kernels.py::{RIGHT}[{id}_x-{n}]") for id in ("b3", "p4") for n in range(40)]
    of_p4 = {item for item in every if item.puzzle == "p4"}
    assert of_p4 <= chosen(every, slices.read(), 0, ["p4"])
    assert not of_p4 <= chosen(every, slices.read(), 0, ["b3"])


def test_a_test_is_about_the_puzzle_that_its_parameters_name() -> None:
    item = Item("tests/judge/test_a.py::test_x[lint-on-p4_tiled_softmax]")
    assert (item.file, item.function, item.puzzle, item.room) == ("judge/test_a.py", "test_x", "p4", "judge")
    assert Item("tests/test_c.py::test_x[b3]").puzzle == "b3"
    for name in ("tests/test_c.py::test_p4", "tests/test_c.py::test_x[4-x9_y-p40]"):
        assert (Item(name).puzzle, Item(name).room) == ("", "test_c.py")


def test_of_another_puzzle_than_was_measured_it_costs_what_most_do() -> None:
    def of(name: str) -> float:
        return cost(Item(f"tests/{name}"), COSTS)

    assert [of(f"judge/test_a.py::test_dear[{one}]") for one in ("p4", "p5", "p6")] == [8.0, 64.0, 64.0]
    assert of("judge/test_a.py::test_one") == 2.0
    assert of("judge/test_a.py::test_new") == of("sandbox/test_b.py::test_dear[p4]") == 0.0


def test_what_is_dear_is_rounded_to_a_power_of_two() -> None:
    measured = [("a", 0.2), ("b", 0.21), ("c[p4]", 2.5), ("c[p4-1]", 3.1), ("c[p5]", 0.1)]
    made = summed((Item(f"tests/x/test_y.py::{name}"), seconds) for name, seconds in measured)
    assert made == {"x/test_y.py": {"b": {"": 0.25}, "c": {"p4": 2.0, "p5": 0.125}}}


def test_what_tests_share_is_summed_of_each_file_however_many_processes_have_made_it() -> None:
    """All tests of such a file are dear, and it has its turn the more rarely."""
    lines = [("fixtures[class]", 5.0), ("fixtures[class]", 7.0), ("fixtures[site]", 10.0), ("test_x", 0.01)]
    made = summed((Item(f"tests/x/test_y.py::{name}"), seconds) for name, seconds in lines)
    assert made == {"x/test_y.py": {"fixtures": {"": 16.0}}}
    assert cost(Item("tests/x/test_y.py::test_x"), made) == LEAST
    assert turns(100.0, 0.0) == (math.ceil(100 / LONGEST), 1)
    assert turns(100.0, 16.0) == (7, 16) and turns(3.0, 16.0) == (1, 10)


def test_what_a_file_is_about() -> None:
    about = {
        "checker/judge/traffic.py": {"judge", *slices.OF_THE_JUDGE},
        "tests/judge/test_traffic.py": {"judge"},
        "tests/test_course.py": {"test_course.py"},
        "checker/catalog/p4_tiled_softmax.py": {"catalog", *slices.OF_THE_JUDGE, "p4"},
        "checker/catalog/attention/dropout/models.py": {"catalog", *slices.OF_THE_JUDGE, "b2"},
        "solutions/p4_tiled_softmax.md": {"p4"},
        "tests/wrong/p4.diff": {"wrong", "p4"},
        "README.md": set(),
    }
    assert {name: set(about_of(name)) for name in about} == about


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With two commits, and `SINCE` unset."""
    need("git")
    monkeypatch.setattr(slices, "ROOT", tmp_path)
    monkeypatch.delenv("SINCE", raising=False)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "x")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "x@example.org")
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, "puzzles/p1_x.py")
    commit(tmp_path, "checker/sandbox/x.py")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True)


def commit(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(name)
    git(folder, "add", name)
    git(folder, "commit", "-q", "-m", name)


def test_the_slice_counts_commits_and_what_has_changed_is_since_the_last_push(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert slices.commits() == 2
    assert slices.changed() == {"sandbox"}  # nothing is known of a push: what the last commit has changed
    git(repository, "clone", "-q", "--bare", ".", "../pushed.git")
    git(repository, "remote", "add", "origin", "../pushed.git")
    git(repository, "fetch", "-q", "origin")
    git(repository, "branch", "-q", "--set-upstream-to=origin/main")
    assert slices.changed() == {"sandbox"}  # all is pushed
    commit(repository, "checker/judge/x.py")
    commit(repository, "puzzles/p4_x.py")
    (repository / "checker" / "sandbox" / "x.py").write_text("changed")
    (repository / "puzzles" / "p5_new.py").touch()
    assert slices.commits() == 4
    assert slices.changed() == {"judge", *slices.OF_THE_JUDGE, "p4", "sandbox", "p5"}
    monkeypatch.setenv("SINCE", "HEAD~1")
    assert slices.changed() == {"p4", "sandbox", "p5"}
    monkeypatch.setenv("SINCE", "0" * 40)  # as of a new branch
    assert slices.changed() == {"p4", "sandbox", "p5"}


def test_without_git_or_a_repository_it_is_slice_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert (slices.commits(), slices.changed()) == (0, frozenset())
    monkeypatch.setattr(slices, "ROOT", ROOT)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (slices.commits(), slices.changed()) == (0, frozenset())


def test_the_costs_are_those_of_tests_that_exist() -> None:
    assert slices.COSTS.stat().st_size < 70_000
    for file, functions in slices.read().items():
        text = (ROOT / "tests" / file).read_text(encoding="utf-8")
        for function, by_puzzle in functions.items():
            there = function == SHARED or f"def {function}(" in text
            assert there, f"{file} has no {function}: make test-costs TESTS=tests/{file}"
            assert all(math.log2(seconds) % 1 == 0 and seconds >= LEAST for seconds in by_puzzle.values())


SUITE = """
import os, subprocess, sys, time, pytest

BURN = "import os\\nwhile sum(os.times()[:2]) < 0.6: pass\\nprint(flush=True)\\n"

def burn(then="", **how):
    return subprocess.Popen([sys.executable, "-c", BURN + then], stdout=subprocess.PIPE, **how)

@pytest.fixture(scope="module")
def shared():
    burn().wait()

def test_with_a_fixture_that_others_use(shared): pass

def test_with_a_child_that_has_ended(): burn().wait()

def test_with_a_child_that_goes_on():
    global child
    child = burn("import time; time.sleep(600)", start_new_session=True)
    child.stdout.readline()

def test_after_it(): child.kill()

def test_that_fails(): assert burn().wait()

def test_that_is_skipped(): pytest.skip("no reason")
"""


def test_a_test_costs_what_it_and_its_children_take(tmp_path: Path) -> None:
    """Of the processor, so it does not matter how busy the machine is; not what fails, nor what others use as well."""
    suite, lines = tmp_path / "test_suite.py", tmp_path / "lines"
    suite.write_text(SUITE)
    line = [sys.executable, "-m", "pytest", "-q", "-p", "tests.costs", "-p", "no:cacheprovider", suite]
    done = ran(*line, cwd=tmp_path, **{costs.VARIABLE: str(lines)})
    assert "1 failed, 4 passed, 1 skipped" in done.stdout, done.stdout
    found = {item.function: seconds for item, seconds in costs.measured(lines)}
    assert list(found) == [
        SHARED,
        "test_with_a_fixture_that_others_use",
        "test_with_a_child_that_has_ended",
        "test_with_a_child_that_goes_on",
        "test_after_it",
    ]
    of_all, none, ended, on, after = found.values()
    assert none < 0.3 and after < 0.3
    assert ended >= 0.5 and on >= 0.5 and of_all >= 0.5


def test_costs_are_renewed_for_what_was_measured_and_kept_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "COSTS", tmp_path / "costs.json")
    monkeypatch.setattr(slices, "COSTS", tmp_path / "costs.json")
    here = "tests/test_slices.py"
    names = (test_what_a_file_is_about.__name__, test_what_is_dear_is_rounded_to_a_power_of_two.__name__)
    costs.renew([(Item(f"{here}::{name}"), 1.0) for name in (*names, "test_that_was_renamed")])
    assert slices.read() == {"test_slices.py": {name: {"": 1.0} for name in sorted(names)}}
    costs.renew([(Item(f"{here}::{names[0]}"), 0.1), (Item(f"{here}::{names[1]}[p4]"), 4.0)])
    assert slices.read() == {"test_slices.py": {names[1]: {"": 4.0}}}


def test_a_run_says_which_slice_it_is_and_one_of_all_when_each_has_passed(tmp_path: Path) -> None:
    """A run of some files alone is no slice."""
    (tmp_path / "test_broken.py").write_text("def test_x(): assert 0")

    def said(slice: str, *files: str) -> str:
        line = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--slice", slice, "-o", f"cache_dir={tmp_path}"]
        some = files or ("-o", f"testpaths=tests/test_english.py {tmp_path if slice == '9' else ''}")
        return ran(*line, *some).stdout

    assert said("7").count("slice 7 (again: SLICE=7; all: make test-all)") == 1
    assert "1 failed" in said("9") and "1 passed" in said("8", "tests/test_english.py::test_each_rule_finds_something")
    assert re.search(r"slices that passed here before: 7 on 20\d\d-\d\d-\d\d$", said("all"), re.MULTILINE)
    few = "--collect-only", "-k", "p3"
    assert "site_pages" in said("7", "tests/publish/test_site_pages.py", *few)
    assert "site_pages" not in said("7", "tests/publish", *few)  # no site is built for two tests among others
