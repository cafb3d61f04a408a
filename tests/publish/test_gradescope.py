"""The archive for Gradescope, unpacked and run as Gradescope does: in a folder with source, submission and results."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.language import CHINESE, speaking
from checker.course.lesson import emptied
from checker.course.places import solution
from checker.course.verdict import PropertyResult, Status, Verdict
from checker.grading import key, settings
from checker.publish.gradescope import archive
from checker.publish.gradescope.results import Graded, graded, not_graded
from tests.conftest import ROOT, SOLUTION, cage_or_skip, ran, typed

STUB = emptied((ROOT / "puzzles" / "p1_naive_softmax.py").read_text(), catalog.load("p1"))
PARTLY = (ROOT / "tests" / "wrong" / "p1_padding_loaded_as_zero.py").read_text()
OTHER = (ROOT / "tests" / "right" / "p1_two_dimensional.py").read_text()
NAME = "p1_naive_softmax.py"
HOSTILE = ("p1_ansi_message", "p1_reads_the_course", "p1_output_flood_by_the_rules")
SEEN = {"hidden", "after_due_date", "after_published", "visible"}
FORMATS = {"text", "html", "simple_format", "md", "ansi"}


@pytest.fixture(scope="module")
def packed(course: settings.Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive for p1."""
    path = tmp_path_factory.mktemp("packed") / "gradescope.zip"
    archive.write(path, course, ["p1"])
    return path


def hostile(name: str) -> str:
    return (ROOT / "tests" / "hostile" / f"{name}.py").read_text()


class Container:
    """A folder as Gradescope lays out /autograder."""

    def __init__(self, folder: Path, packed: Path):
        self.home = folder / "auto grader"
        self.source = self.home / "source"
        for name in ("source", "submission", "results"):
            (self.home / name).mkdir(parents=True)
        (self.home / "submission_metadata.json").write_text('{"id": 1, "users": [], "previous_submissions": []}')
        with zipfile.ZipFile(packed) as file:
            file.extractall(self.source)  # forgets all modes
        shutil.copy(self.source / "run_autograder", self.home)
        (self.source / ".venv").symlink_to(sys.prefix)

    def hand_in(self, **files: str | bytes) -> None:
        for name, text in files.items():
            path = self.home / "submission" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)

    def run(self, path: str = "", script: str = "run_autograder") -> dict[str, Any]:
        """Run the script with nothing of these tests in its environment; the results, which fit Gradescope's form."""
        environment = {"PATH": path or os.environ["PATH"], "HOME": str(self.home), "LC_ALL": "C"}
        self.done = ran("sh", self.home / script, cwd=self.home, env=environment)
        assert [entry.name for entry in (self.home / "results").iterdir()] == ["results.json"]
        results: dict[str, Any] = json.loads((self.home / "results" / "results.json").read_text(encoding="utf-8"))
        insist_on_form(results)
        return results


def insist_on_form(results: dict[str, Any]) -> None:
    """What gradescope-autograders.readthedocs.io/en/latest/specs says of results.json."""
    kinds: dict[str, Any] = {"score": int | float, "output": str, "tests": list, "extra_data": dict}
    assert set(results) <= {*kinds, "execution_time", "output_format", "visibility", "stdout_visibility", "leaderboard"}
    assert all(isinstance(results[name], kind) for name, kind in kinds.items())
    assert results["output_format"] in FORMATS
    assert {results["visibility"], results["stdout_visibility"]} <= SEEN
    of_a_test: dict[str, Any] = {"score": int | float, "max_score": int | float, "name": str, "output": str}
    more = {"number", "status", "name_format", "output_format", "visibility", "tags", "extra_data"}
    for test in results["tests"]:
        assert set(of_a_test) <= set(test) <= {*of_a_test, *more}
        assert all(isinstance(test[name], kind) for name, kind in of_a_test.items())
        assert test["status"] in {"passed", "failed"} and test["visibility"] in SEEN
        assert {test["name_format"], test["output_format"]} <= FORMATS
        assert 0 <= test["score"] <= test["max_score"]
    assert results["score"] == sum(test["score"] for test in results["tests"])
    # Ours: nothing is ever taken for HTML, nothing printed is shown, nothing orders a terminal about.
    assert results["stdout_visibility"] == "hidden"
    assert {results["output_format"], *(test["output_format"] for test in results["tests"])} == {"text"}
    assert "\\u00" not in json.dumps(results, ensure_ascii=False)  # how JSON writes what gives orders


@pytest.fixture
def container(tmp_path: Path, packed: Path) -> Container:
    cage_or_skip().close()
    return Container(tmp_path, packed)


def refused(container: Container, reason: str, path: str = "") -> None:
    """Nothing is graded, the student is told that it is not his fault, and the instructor why."""
    results = container.run(path)
    assert results == json.loads(json.dumps(not_graded()))
    assert results["score"] == 0 and results["extra_data"] == {"graded": False}
    assert "not the fault of your work" in results["output"]
    assert reason in container.done.stdout + container.done.stderr


@pytest.mark.parametrize(
    ("name", "text", "scores", "said"),
    [
        (NAME, SOLUTION, [55, 25, 15, 10, 10, 5, 10], "✓ accepted  130/130 points"),
        ("homework/p1_naive_softmax (1).py", PARTLY, [55, 0, 15, 10, 10, 5, 0], "The padding is counted in the sum"),
        (NAME, STUB, [0, 0, 0, 0, 0, 0, 0], "not started"),
        *((f"{name}.py", hostile(name), [0, 0, 0, 0, 0, 0, 0], "") for name in HOSTILE),
    ],
    ids=["right", "wrong", "stub", *HOSTILE],
)
def test_a_submission_gets_what_it_has_proven(
    name: str, text: str, scores: list[int], said: str, container: Container
) -> None:
    container.hand_in(**{name: text})
    results = container.run()
    assert container.done.returncode == 0, container.done.stdout + container.done.stderr
    assert [test["score"] for test in results["tests"]] == scores and results["score"] == sum(scores)
    assert [test["max_score"] for test in results["tests"]] == [55, 25, 15, 10, 10, 5, 10]
    assert {test["status"] for test in results["tests"]} <= ({"passed"} if sum(scores) == 130 else {"passed", "failed"})
    assert results["output"].startswith("Puzzle p1: Naive softmax") and said in results["output"]
    assert text != PARTLY or results["tests"][1]["output"] == "failed with: seven short of a block"
    assert results["extra_data"]["puzzles"]["p1"]["sandbox"].startswith(("A: ", "B: "))
    secret = key.read(container.source / "course" / "key")
    assert secret not in (container.home / "results" / "results.json").read_text() + container.done.stdout


def test_what_is_missing_or_unreadable_is_said(container: Container) -> None:
    results = container.run()
    assert "no file is called p1_naive_softmax.ipynb" in results["output"]
    assert [(test["score"], test["max_score"]) for test in results["tests"]] == [(0, 130)]
    container.hand_in(**{"p1_naive_softmax.ipynb": '{"cells": ['})
    results = container.run()
    assert "not a whole notebook" in results["output"]
    assert {test["score"] for test in results["tests"]} == {0}
    assert sum(test["max_score"] for test in results["tests"]) == 130


def test_it_speaks_the_language_in_which_it_was_made(course: settings.Settings, tmp_path: Path) -> None:
    cage_or_skip().close()
    with speaking(CHINESE):
        archive.write(tmp_path / "packed.zip", course, ["p1"])
    container = Container(tmp_path, tmp_path / "packed.zip")
    assert "什么也没有交：没有文件叫 p1_naive_softmax.ipynb 或 p1_naive_softmax.py。" in container.run()["output"]
    container.hand_in(**{NAME: PARTLY, "p2_other.py": ""})
    results = container.run()
    told = [results["output"], *(test[part] for test in results["tests"] for part in ("name", "output"))]
    assert results["output"].startswith("题 p1：朴素 softmax") and results["score"] == 95
    assert results["extra_data"]["puzzles"]["p1"]["findings"] == ["sums-padded-lanes"]
    assert all(re.search("[\u4e00-\u9fff]", text) for text in told if text) and "（英文）" not in str(told)
    (container.source / "course" / "key").write_text("short")
    assert container.run()["output"].startswith("这次提交没能评分。")


def test_of_several_files_the_best_counts_and_what_cannot_be_judged_has_no_score(container: Container) -> None:
    container.hand_in(
        **{"puzzles/p1_naive_softmax.py": STUB, "notebooks/p1_copy.py": SOLUTION, "p1_again.py": SOLUTION}
    )
    assert container.run(script="source/run_autograder")["score"] == 130  # not the copy that Gradescope makes
    container.hand_in(**{"p1_<b>other\x1b[2J.py": OTHER})
    assert container.run()["score"] == 130
    other_puzzle = (ROOT / "solutions" / "p3_online_softmax.py").read_text()
    for text, why in ((other_puzzle, "the kernel of puzzle p3, and none of puzzle p1."), ("", "is empty.")):
        shutil.rmtree(container.home / "submission")
        container.hand_in(**{NAME: text})
        results = container.run()
        assert why in results["output"] and "The 0 here is not a score" in " ".join(results["output"].split())
        assert results["score"] == 0 and results["extra_data"]["graded"] is False


def test_the_solutions_of_a_clone_are_nobodys_work(container: Container) -> None:
    clone = {"checker/__main__.py": "", f"solutions/{NAME}": SOLUTION, "tests/right/p1_x.py": OTHER}
    container.hand_in(**{f"clone/{name}": text for name, text in clone.items()}, **{f"clone/puzzles/{NAME}": STUB})
    assert "not started" in container.run()["output"]
    container.hand_in(**{f"solutions/{NAME}": SOLUTION})  # a folder's name alone says nothing
    assert container.run()["score"] == 130


def without_bubblewrap(folder: Path) -> str:
    """A PATH with what the script needs, and no bwrap."""
    folder.mkdir()
    for name in ("sh", "cp", "mv", "chmod", "mkdir", "dirname", "setpriv"):
        if (found := shutil.which(name)) is not None:
            (folder / name).symlink_to(found)
    return str(folder)


def test_without_a_sandbox_nothing_is_graded_unless_the_instructor_says_so(packed: Path, tmp_path: Path) -> None:
    container = Container(tmp_path, packed)
    path = without_bubblewrap(tmp_path / "programs")
    refused(container, "bubblewrap is not installed", path)  # nor is it said what is missing
    container.hand_in(**{NAME: SOLUTION})
    refused(container, "bubblewrap is not installed", path)
    toml = container.source / "course" / settings.NAME
    toml.write_text(toml.read_text().replace('sandbox = "required"', 'sandbox = "none"'))
    results = container.run(path)
    assert results["score"] == 130
    assert results["extra_data"]["puzzles"]["p1"]["sandbox"].startswith("C, no sandbox")


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("checker/judge/judge.py", "raise RuntimeError('our own')", "Not graded: CheckerFault: RuntimeError: our own"),
        ("checker/publish/gradescope/run.py", "def", "SyntaxError"),
        (
            "checker/publish/gradescope/results.py",
            "import os\nos.kill(os.getpid(), 9)",
            "",
        ),  # as a container without memory
        ("course/key", "short", "Not graded: KeyProblem"),
        ("course/course.toml", "points = 1", "Not graded: SettingsError"),
        ("autograder.json", "{", "Not graded: JSONDecodeError"),
    ],
)
def test_a_fault_of_ours_is_no_score(file: str, text: str, reason: str, container: Container) -> None:
    container.hand_in(**{NAME: SOLUTION})
    (container.home / "results" / "results.json").write_text('{"score": 130}')  # of another run
    (container.source / file).write_text(text)
    refused(container, reason)
    assert container.done.returncode != 0


def test_students_are_told_as_much_as_the_course_says(container: Container) -> None:
    toml = container.source / "course" / settings.NAME
    plain = toml.read_text()
    container.hand_in(**{NAME: PARTLY})
    finding, fix, place = "The padding is counted in the sum", "Try:", "failed with: seven short of a block"
    for detail, seen in (("full", (True, True, True)), ("finding", (True, False, True)), ("points", (False,) * 3)):
        toml.write_text(plain.replace('detail = "full"', f'detail = "{detail}"'))
        results = container.run()
        told = results["output"] + "".join(test["output"] for test in results["tests"])
        assert tuple(text in told for text in (finding, fix, place)) == seen
        assert results["score"] == 95
        assert results["extra_data"]["puzzles"]["p1"]["findings"]  # for the instructor, whatever students are told


def test_what_a_flood_has_proven_counts_nothing() -> None:
    properties = (PropertyResult("any", "any length", True, 25, ""),)
    results = graded([Graded("p1", 25, Verdict("p1", "Naive softmax", Status.OUTPUT_FLOOD, (), properties))])
    insist_on_form(results)
    assert (results["score"], results["tests"][0]["score"], results["tests"][0]["status"]) == (0, 0, "failed")


def test_one_archive_serves_all_puzzles(course: settings.Settings, tmp_path: Path) -> None:
    cage_or_skip().close()
    archive.write(tmp_path / "all.zip", course, list(ladder.RUNGS))
    container = Container(tmp_path, tmp_path / "all.zip")
    container.hand_in(**{NAME: SOLUTION, "p2_safe_softmax.py": solution("p2").read_text()})
    results = container.run()
    points = [course.possible(puzzle_id) for puzzle_id in ladder.RUNGS]
    assert results["score"] == sum(points[:2])
    assert sum(test["max_score"] for test in results["tests"]) == sum(points)
    assert results["output"].count("Nothing was handed in") == len(points) - 2


def test_what_cannot_be_read_waits(container: Container) -> None:
    container.hand_in(**{"notes.txt": "See my laptop."})
    results = container.run()
    assert "only notes.txt" in results["output"] and not results["extra_data"]["graded"]


def test_what_is_for_another_puzzle_is_left_out_by_name(course: settings.Settings, tmp_path: Path) -> None:
    cage_or_skip().close()
    archive.write(tmp_path / "two.zip", course, ["p1", "p2"])
    container = Container(tmp_path, tmp_path / "two.zip")
    container.hand_in(**{"deep/p3_online_\x1b[2J.py": SOLUTION, "plots.py": ""})
    results = container.run()
    assert (container.done.returncode, results["score"]) == (0, 0)
    assert results["output"].count("Nothing was handed in") == 2
    assert "does not ask for their puzzles: deep/p3_online_" in results["output"] and "plots" not in results["output"]


def test_the_same_files_give_the_same_bytes(
    course: settings.Settings, packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another place, at another time, with files of another age."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "checker", copy / "checker", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, copy)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    (copy / "checker" / "link.py").symlink_to("/etc/passwd")
    monkeypatch.setattr(time, "time", lambda: 1e9)
    archive.write(tmp_path / "again.zip", course, ["p1"], copy)
    assert (tmp_path / "again.zip").read_bytes() == packed.read_bytes()


def test_what_is_in_it(course: settings.Settings, packed: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(packed) as file:
        modes = {entry.filename: entry.external_attr >> 16 for entry in file.infolist()}
        assert file.read("course/key").decode().strip() == key.read(course.key_path)
        needed = file.read("requirements.txt").decode()
    assert needed.startswith("triton") and "torch" not in needed
    assert "\ntorch>=" in archive.requirements(ROOT, ["p1", "a2"])
    assert {"setup.sh", "run_autograder", "constraints.txt", "course/course.toml", "checker/commands/cli.py"} <= set(
        modes
    )
    assert not [name for name in modes if name.startswith(("solutions", "tests", "/")) or ".." in name]
    assert all(stat.S_ISREG(mode) for mode in modes.values())
    assert {name for name, mode in modes.items() if mode & 0o111} == {"setup.sh", "run_autograder"}
    assert stat.S_IMODE(modes["course/key"]) == 0o600
    open_to_all = tmp_path / "old.zip"
    open_to_all.write_bytes(b"")
    open_to_all.chmod(0o644)
    archive.write(open_to_all, course, ["p1"])
    assert stat.S_IMODE(open_to_all.stat().st_mode) == 0o600


def test_the_command(course: settings.Settings, packed: Path, tmp_path: Path) -> None:
    course_option = ("--course", str(course.folder))
    done = typed("gradescope", *course_option, "p1", cwd=tmp_path)
    assert done.returncode == 0 and "130 points" in done.stdout, done.stderr
    assert (tmp_path / "gradescope.zip").read_bytes() == packed.read_bytes()
    for arguments, reason in [
        (("p99",), "There is no puzzle"),
        (("--file", "no such/folder.zip"), "could not be written"),
        (("--course", "nowhere"), "cannot be read"),
    ]:
        done = typed("gradescope", *course_option, *arguments, cwd=tmp_path)
        assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr


def test_the_command_is_about_the_puzzles_of_the_course_unless_one_is_named(
    course: settings.Settings, tmp_path: Path
) -> None:
    shutil.copytree(course.folder, tmp_path / "course")
    toml = tmp_path / "course" / settings.NAME
    toml.write_text('puzzles = ["P2", 1]\n' + toml.read_text().replace("\npuzzles =", "\n#"))
    for asked, points in ((), "230 points"), (("p3",), "100 points"):
        done = typed("gradescope", *asked, cwd=tmp_path)
        assert done.returncode == 0 and points in done.stdout, done.stdout + done.stderr
        with zipfile.ZipFile(tmp_path / "gradescope.zip") as file:
            assert json.loads(file.read("autograder.json"))["puzzles"] == (list(asked) or ["p1", "p2"])


@pytest.mark.parametrize("name", archive.PROGRAMS)
def test_the_shell_can_read_its_scripts(name: str) -> None:
    path = ROOT / "checker" / "publish" / "gradescope" / name
    subprocess.run(["bash" if name.endswith(".sh") else "sh", "-n", path], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", path], check=True)


def test_setup_installs_what_grading_needs(container: Container, tmp_path: Path) -> None:
    """All but apt's part, in a fresh environment."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, does in {"apt-get": 'echo "$@" >> "$0.log"', "python3": f"exec '{sys.executable}' \"$@\""}.items():
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    (container.source / ".venv").unlink()
    path = f"{programs}:{os.environ['PATH']}"
    done = ran("bash", container.source / "setup.sh", env={**os.environ, "PATH": path})
    if done.returncode and not os.environ.get("REQUIRE_ALL_TOOLS"):
        pytest.skip(f"pip cannot install here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    assert "bubblewrap" in (programs / "apt-get.log").read_text()
    container.hand_in(**{NAME: SOLUTION})
    assert container.run()["score"] == 130, container.done
