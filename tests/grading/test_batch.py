"""Many submissions at once: nothing is lost or judged twice, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from checker.course.folder import make
from checker.grading import batch
from checker.grading.batch import WorkerLost
from checker.grading.found import NothingFound, Work, found
from checker.grading.local import Local
from tests.conftest import SOLUTION
from tests.grading.conftest import (
    CLASS,
    SMALL,
    command,
    ended,
    environment,
    graded,
    hand_in,
    records,
    rows,
    running,
    uninterrupted,
    wait_for,
    workers,
)


def test_each_distinct_submission_is_judged_once(desk: Path) -> None:
    hand_in(desk, {"p1_naive_softmax.py": SOLUTION}, "anna")
    hand_in(desk, {"p1_naive_softmax.py": SOLUTION}, "ben")
    hand_in(desk, {"p1_naive_softmax.py": "\0"}, "carl")
    hand_in(desk, {"notes.txt": "no submission", "p99_nothing.py": ""}, "dora")
    done = graded(desk, "--json", "all.json", "--junit", "all.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "7 submissions, 0 of them known before" in done.stdout
    assert len(records(desk)) == len(SMALL) + 1
    scores = {row["student"]: row["earned"] for row in rows(desk)}
    assert scores == {
        **{Path(name).stem: scores[Path(name).stem] for name in SMALL},
        "anna": "100",
        "ben": "100",
        "carl": "0",
    }
    assert {row["student"]: row["verdict"] for row in rows(desk)}["carl"] == "invalid"
    everything = json.loads((desk / "all.json").read_text())
    assert [one["student"] for one in everything] == [row["student"] for row in rows(desk)]
    assert {one["student"]: one["result"]["score"]["earned"] for one in everything}["ben"] == 100
    suites = ElementTree.parse(desk / "all.xml").getroot()
    assert len(suites) == 7 and len(suites[0]) == int(suites[0].get("tests", 0))

    before = records(desk)
    again = graded(desk)
    assert (again.returncode, records(desk)) == (0, before)
    assert "7 submissions, 6 of them known before" in again.stdout


def test_nbgrader_takes_over_what_was_graded(desk: Path) -> None:
    """One record serves both."""
    from checker.course import settings
    from checker.grading.cells import handed
    from checker.grading.grade import identity
    from checker.grading.record import place

    cell = {"cell_type": "code", "source": SOLUTION, "metadata": {}, "outputs": [], "execution_count": None}
    path = desk / "course" / "submitted" / "eva" / "p1_naive_softmax" / "p1_naive_softmax.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    done = subprocess.run(command(), cwd=desk, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    course = settings.read(desk / "course")
    (work,) = found([desk / "course" / "submitted"])
    assert work.student == "eva"
    notebook = batch.read(work)
    assert notebook.submission == handed(path, batch.catalog.load(1)).submission is not None
    assert place(course.records, identity(1, notebook.submission, course)).exists()


def test_a_grader_that_is_killed_goes_on_where_it_was(desk: Path) -> None:
    hand_in(desk, dict(list(CLASS.items())[4:10]))
    for enough in (1, 3):
        grader = running(desk)
        wait_for(lambda: len(records(desk)) >= enough)  # noqa: B023
        crew = workers(grader.pid)
        assert crew
        grader.kill()
        grader.wait()
        wait_for(lambda: all(ended(pid) for pid in crew))  # noqa: B023 (nobody is left behind)
    kept = records(desk)
    done = graded(desk)
    assert done.returncode == 0, done.stdout + done.stderr
    assert kept.items() <= records(desk).items()  # none judged twice
    result = rows(desk)
    assert len(result) == 10 and result == uninterrupted(desk)


def test_workers_that_are_killed_cost_nothing(desk: Path) -> None:
    grader = running(desk)
    for _ in range(2):
        wait_for(lambda: workers(grader.pid) or grader.poll() is not None)
        time.sleep(0.7)  # somewhere in the middle of its work
        for pid in workers(grader.pid)[:1]:
            os.kill(pid, signal.SIGKILL)
    assert grader.wait(120) == 0
    assert rows(desk) == uninterrupted(desk)


def test_a_full_disk_stops_the_batch_and_loses_nothing(desk: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a small disk")
    script = (
        "mount -t tmpfs -o size=16k tmpfs course/records || exit 99\n"
        '"$@"; echo "status $?"; find course/records -name "*.json" | wc -l; find course/records -name "*.tmp"\n'
        'mount -o remount,size=100m course/records; "$@"; echo "status $?"\n'
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *command("handed in", "--csv", "grades.csv", "--jobs", "1")],
        cwd=desk,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.count("status 3") == 1 and done.stdout.strip().endswith("status 0"), done.stdout + done.stderr
    assert "No space left on device" in done.stdout and ".tmp" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert rows(desk) == uninterrupted(desk)


def dies(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_ends_its_worker_each_time_is_a_fault_and_the_others_are_done() -> None:
    with Local(2) as crew:
        answers = dict(crew.run(dies, [(number,) for number in range(4)]))
        assert isinstance(answers.pop(1), WorkerLost)
        assert answers == {0: 0, 2: 2, 3: 3}
        asked: list[int] = []

        class Watched:
            def run(self, function: Any, calls: list[tuple[Any, ...]]) -> Iterator[tuple[int, Any]]:
                asked.extend(call[0] for call in calls)
                return crew.run(dies, [(call[0],) for call in calls])

        each = batch._each(dies, [0, 1, 2], Path(), Watched(), lambda done: None)  # type: ignore[arg-type, list-item]
    assert asked == [0, 1, 2, 1, 1]
    assert "3 times" in batch._fault(each[1])


def test_what_cannot_be_opened_here_has_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, or was: it might be right."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    unseen, folder = Work("anna", 1, tmp_path / "p1_naive_softmax.py"), make(tmp_path / "course")[0].folder
    with Local(1) as crew:
        (outcome,) = batch.grade([unseen], folder, crew, lambda what, done, of: None)
    assert "cannot be opened" in outcome.fault and outcome.record is None
    with pytest.raises(batch.Unseen):
        batch.judge(unseen, folder)


@pytest.mark.parametrize(
    ("path", "student"),
    [
        ("eva/p1_naive_softmax/p1_naive_softmax.ipynb", "eva"),
        ("p1_naive_softmax.py", "p1_naive_softmax"),
        ("anna_p1_naive_softmax.py", "anna"),
        ("anna maria-p1_x.ipynb", "anna maria"),
        ("eva/.ipynb_checkpoints/p1_naive_softmax.ipynb", None),
        (".p1_x.py", None),
        ("eva/p1.py", None),
        ("eva/warp1_x.py", None),
    ],
)
def test_who_has_handed_in_what(tmp_path: Path, path: str, student: str | None) -> None:
    (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / path).write_text("")
    if student is None:
        with pytest.raises(NothingFound):
            found([tmp_path])
    else:
        assert found([tmp_path]) == [Work(student, 1, tmp_path / path)]


def test_of_a_clone_only_the_students_files_count(tmp_path: Path) -> None:
    for name in ("checker/__main__.py", "checker/catalog/p1_x.py", "solutions/p1_x.py", "tests/wrong/p1_x.py"):
        (tmp_path / "anna" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "anna" / name).write_text("")
    with pytest.raises(NothingFound):
        found([tmp_path])
    for name in ("anna/puzzles/p1_x.py", "ben/solutions/p1_x.py"):  # a folder's name alone says nothing
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert [work.path.parent.parent.name for work in found([tmp_path])] == ["anna", "ben"]


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "p1_key.py").write_text("")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "secret")
    (tmp_path / "in" / "p1_link.py").symlink_to(tmp_path / "secret" / "p1_key.py")
    with pytest.raises(NothingFound):
        found([tmp_path / "in"])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere",), "There is no nowhere"),
        (("handed in", "--course", "no course"), "cannot be read"),
        (("course/source", "--jobs", "-1"), "-1"),
    ],
)
def test_misuse_is_a_sentence(desk: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = subprocess.run(command(*arguments), cwd=desk, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert sentence in done.stdout + done.stderr and "Traceback" not in done.stderr
