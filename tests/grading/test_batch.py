"""Many submissions at once: nothing is lost or judged twice, whatever dies."""

from __future__ import annotations

import contextlib
import csv
import errno
import io
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.check import Conditions
from checker.commands.grade import _summary, grade_all
from checker.course import ladder
from checker.course.lesson import emptied
from checker.course.status import ExitStatus
from checker.grading import batch, export
from checker.grading.chosen import Unresolved, chosen
from checker.grading.crew import Crew, WorkerLost, local
from checker.grading.found import Work, found
from checker.grading.grade import MachineTooBusy, checked
from checker.nbgrader.folder import make
from checker.sandbox.parent import Limits
from checker.submission.read import from_cells
from tests.conftest import ROOT, SOLUTION, cage_or_skip, ran, typed
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
    done = graded(desk, "--json", "all.json", ends=3)  # one of them has no score
    assert "carl/p1_naive_softmax.py: p1_naive_softmax.py holds zero bytes" in done.stdout
    assert "7 submissions, 0 of them known before" in done.stdout
    assert len(records(desk)) == len(SMALL) + 1
    scores = {row["student"]: row["earned"] for row in rows(desk)}
    assert scores == {
        **{Path(name).stem: scores[Path(name).stem] for name in SMALL},
        "anna": "100",
        "ben": "100",
        "carl": "",
    }
    assert {row["student"]: row["verdict"] for row in rows(desk)}["carl"] == "no-score"
    assert {row["possible"] for row in rows(desk)} == {"100"}  # of what cannot be read, too
    (line,) = (line.split() for line in done.stdout.split("\n") if line.startswith("p1 Naive softmax"))
    some = sum(0 < int(row["earned"] or 0) < 100 for row in rows(desk))
    assert line[3:9] == ["7", "2", str(some), str(4 - some), "0", "1"]  # all, with all points, some, none, not started
    everything = json.loads((desk / "all.json").read_text())
    assert [one["student"] for one in everything] == [row["student"] for row in rows(desk)]
    assert next(one for one in everything if one["student"] == "ben")["result"]["score"]["earned"] == 100

    before = records(desk)
    again = graded(desk)
    assert (again.returncode, records(desk)) == (3, before)
    assert "7 submissions, 6 of them known before" in again.stdout


def notebook_of(*cells: str) -> str:
    made = [
        {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None} for text in cells
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_points_by_property_are_a_line_each_and_add_up(desk: Path) -> None:
    graded(desk, "--properties", "properties.csv", ends=0)
    with (desk / "properties.csv").open() as file:
        lines = list(csv.DictReader(file))
    for row in rows(desk):
        of = [line for line in lines if (line["student"], line["puzzle"]) == (row["student"], row["puzzle"])]
        assert sum(int(line["earned"]) for line in of) == int(row["earned"])
        assert sum(int(line["possible"]) for line in of) == int(row["possible"])
    assert {line["property"] for line in lines if line["puzzle"] == "p1_naive_softmax"} >= {"full-block", "any-length"}
    assert {line["earned"] for line in lines} > {"0"}
    own = desk / "course" / "submitted" / "anna" / "p1_naive_softmax.py"
    own.parent.mkdir(parents=True)
    own.write_text(SOLUTION)
    # Beside what is written of a whole course anyway.
    typed("grade", "--properties", "again.csv", cwd=desk, ends=0)
    assert (desk / "course" / "verdicts.csv").exists() and (desk / "again.csv").exists()


def test_a_copy_that_is_cut_elsewhere_costs_only_its_own_points(desk: Path) -> None:
    """The text is the same, and so are the numbers of the cells; but a kernel that is cut in two is none."""
    shutil.rmtree(desk / "handed in")
    lines = SOLUTION.split("\n")
    kernel = lines.index("@triton.jit")
    for student, at in {"anna": kernel + 3, "ben": kernel}.items():
        hand_in(desk, {"p1_x.ipynb": notebook_of("\n".join(lines[:at]), "\n".join(lines[at:]))}, student)
    assert graded(desk, "--jobs", "1").returncode == 0
    assert [(row["student"], row["earned"]) for row in rows(desk)] == [("anna", "0"), ("ben", "100")]


def test_what_is_for_a_puzzle_that_the_course_does_not_name_is_left_out_by_name(desk: Path) -> None:
    """It is no fault, and neither judged nor exported nor summed up."""
    shutil.rmtree(desk / "handed in")
    toml = desk / "course" / "course.toml"
    toml.write_text('puzzles = ["p1"]\n')
    others = {f"p3_{n}.py": SOLUTION for n in range(7)}
    for name, files in {"anna": {"p1_naive_softmax.py": SOLUTION} | others, "ben": {"p2_\x1b[2J.py": SOLUTION}}.items():
        hand_in(desk, files, name)
    done = graded(desk, "--json", "all.json")
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Left out, because course.toml does not name p2: handed in/ben/p2_" in said and "\x1b" not in said
    assert "does not name p3: handed in/anna/p3_0.py, " in said and "p3_4.py and 2 more." in said
    assert "1 submissions" in said and "p2 Safe" not in said
    assert [(row["student"], row["puzzle"]) for row in rows(desk)] == [("anna", "p1_naive_softmax")]
    assert len(json.loads((desk / "all.json").read_text())) == 1
    assert [path.name for path in (desk / "course" / "records").iterdir()] == ["p1"]
    toml.write_text('puzzles = ["p4"]\n')
    done = graded(desk)
    assert (done.returncode, "There is nothing to grade. Left out" in " ".join(done.stderr.split())) == (2, True)


def test_the_summary_is_sorted_as_puzzles_stand_on_the_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ladder, "RUNGS", {puzzle_id: ladder.RUNGS[puzzle_id] for puzzle_id in ("p2", "p3", "p1")})
    works = [Work("anna", puzzle_id, ()) for puzzle_id in ("p1", "p2", "p3")]
    table = _summary(export.Row(batch.Outcome(work), None, 100) for work in works)
    assert [str(cell).split()[0] for cell in table.columns[0].cells] == ["p2", "p3", "p1"]


def test_a_record_does_not_tell_how_somebody_called_his_file(desk: Path) -> None:
    """It serves all who have handed in the same text, and nbgrader shows it to them."""
    shutil.rmtree(desk / "handed in")
    stub = emptied((ROOT / "puzzles" / "p1_naive_softmax.py").read_text(), catalog.load("p1"))
    hand_in(desk, {"anna_p1_naive_softmax.py": stub, "p1_look at example.org.py": stub})
    assert graded(desk, "--json", "all.json").returncode == 0
    (kept,) = (desk / "course" / "records").rglob("*.json")
    for text in (kept.read_text(), json.dumps([one["result"] for one in json.loads((desk / "all.json").read_text())])):
        assert "p1_naive_softmax.py" in text  # as the file should be called
        assert "anna" not in text and "example.org" not in text


def test_nbgrader_takes_over_what_was_graded(desk: Path) -> None:
    """One record serves both."""
    from checker.grading import settings
    from checker.grading.chosen import handed
    from checker.grading.record import identity, judging, place

    path = desk / "course" / "submitted" / "eva" / "p1_naive_softmax" / "p1_naive_softmax.ipynb"
    path.parent.mkdir(parents=True)
    path.write_text(notebook_of(SOLUTION))
    typed("grade", cwd=desk, ends=0)
    course = settings.read(desk / "course")
    (work,) = found([desk / "course" / "submitted"])
    assert work.student == "eva"
    (one,) = chosen(work)
    assert [one.submission] == [same.submission for same in handed(path, catalog.load("p1"))]
    assert place(course.records, identity("p1", one.submission, judging(course))).exists()


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
    graded(desk, ends=0)
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


def test_what_is_killed_from_outside_has_no_score_and_is_named(desk: Path) -> None:
    """As by the system when memory is short: nothing in a cage can send a signal. It is tried again once."""
    cage_or_skip().close()
    hand_in(desk, {"p1_nested_tuples.py": (ROOT / "tests" / "hostile" / "p1_nested_tuples.py").read_text()})
    grader, killed = running(desk, "--jobs", "1"), set()
    while grader.poll() is None:
        for pid in busy_in_cages(grader.pid):
            if pid not in killed:
                killed.add(pid)
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    said = (desk / "said").read_text()
    assert grader.returncode == 3 and said.count("No score") == 1, said
    assert "p1_nested_tuples.py: RuntimeError: the sandbox was killed from outside" in " ".join(said.split())
    assert len(killed) == 4  # both processes of a try
    (row,) = (row for row in rows(desk) if row["student"] == "p1_nested_tuples")
    assert (row["verdict"], row["earned"], row["possible"]) == ("no-score", "", "100")
    assert len(records(desk)) == len(SMALL)


def busy_in_cages(grader: int) -> list[int]:
    """Processes in a name space of their own that have taken more time than a kernel of the class does."""
    busy, own = [], Path("/proc/self/ns/pid").readlink()
    for pid in descendants(grader):
        with contextlib.suppress(OSError):
            ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            caged = Path(f"/proc/{pid}/ns/pid").readlink() != own
            if caged and sum(map(int, ticks)) > 4 * os.sysconf("SC_CLK_TCK"):
                busy.append(pid)
    return busy


def descendants(pid: int) -> Iterator[int]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, children.read_text().split()):
                yield child
                yield from descendants(child)


def test_a_full_disk_stops_the_batch_and_loses_nothing(desk: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a small disk")
    script = (
        "mount -t tmpfs -o size=16k tmpfs course/records || exit 99\n"
        '"$@"; echo "status $?"; find course/records -name "*.json" | wc -l; find course/records -name "*.tmp"\n'
        'mount -o remount,size=100m course/records; "$@"; echo "status $?"\n'
    )
    line = command("handed in", "--csv", "verdicts.csv", "--jobs", "1")
    done = ran("unshare", "--mount", "sh", "-c", script, "sh", *line, cwd=desk, env=environment())
    assert done.stdout.count("status 3") == 1 and done.stdout.strip().endswith("status 0"), done.stdout + done.stderr
    assert "No space left on device. Nothing is lost" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stdout + done.stderr
    assert rows(desk) == uninterrupted(desk)


def dies(number: int) -> int:
    if number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_ends_its_worker_each_time_is_a_fault_and_the_others_are_done() -> None:
    with local(2) as crew:
        answers = dict(crew.run(dies, [(number,) for number in range(4)]))
        assert isinstance(answers.pop(1), WorkerLost)
        assert answers == {0: 0, 2: 2, 3: 3}
        asked: list[int] = []

        class Watched:
            def run(self, function: Any, calls: list[tuple[Any, ...]], window: int) -> Iterator[tuple[int, Any]]:
                asked.extend(call[0] for call in calls)
                return crew.run(dies, [(call[0],) for call in calls])

        each = batch._each(dies, [0, 1, 2], Path(), Watched(), lambda done: None)  # type: ignore[arg-type, list-item]
    assert asked == [0, 1, 2, 1, 1]
    assert "3 times" in batch._fault(each[1])


def test_what_the_machine_was_too_busy_for_is_tried_once_more_after_all_others() -> None:
    asked: list[int] = []

    class Busy:
        def run(self, function: Any, calls: list[tuple[Any, ...]], window: int) -> Iterator[tuple[int, Any]]:
            for position, call in enumerate(calls):
                asked.append(call[0])
                first = asked.count(call[0]) == 1
                yield position, MachineTooBusy("no time") if call[0] == 0 or (call[0] == 2 and first) else call[0]

    each = batch._each(dies, [0, 1, 2, 3], Path(), Busy(), lambda done: None)  # type: ignore[arg-type, list-item]
    assert asked == [0, 1, 2, 3, 0, 2]
    assert each[1:] == [1, 2, 3] and batch._fault(each[0]) == "no time"


def test_a_busy_machine_is_not_asked_again_at_once() -> None:
    conditions = Conditions(targets=(), limits=Limits(wall_seconds=0.001))
    with pytest.raises(MachineTooBusy, match="This machine is too busy"):
        checked("p1", from_cells([("code", SOLUTION)], "p1.py", numbered=False), conditions)


def test_what_ended_a_batch_is_told_and_not_what_its_end_met(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its processes are killed, a pool may find its pipes closed, or not."""
    shutdown = ProcessPoolExecutor.shutdown

    def too_late(pool: ProcessPoolExecutor, *arguments: Any, **named: Any) -> None:
        shutdown(pool, *arguments, **named)
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    with pytest.raises(OSError, match="No space left"), local(1) as crew:
        list(crew.run(dies, [(0,)]))
        monkeypatch.setattr(ProcessPoolExecutor, "shutdown", too_late)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_what_cannot_be_opened_here_has_no_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, or was: it might be right."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    unseen, folder = Work("anna", "p1", (tmp_path / "p1_naive_softmax.py",)), make(tmp_path / "course")[0].folder
    with local(1) as crew:
        (outcome,) = batch.grade([unseen], folder, crew, lambda what, done, of: None)
    assert "cannot be opened" in outcome.fault and outcome.record is None
    with pytest.raises(Unresolved):
        batch.judge(unseen, folder)


def test_who_hands_in_a_thousand_makes_nobody_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    judged: list[str] = []

    class InProcess:
        def run(self, function: Any, calls: list[tuple[Any, ...]], window: int) -> Iterator[tuple[int, Any]]:
            return ((number, function(*call)) for number, call in enumerate(calls))

    monkeypatch.setattr(batch, "look", lambda work, folder: batch.Outcome(work, records=work.paths))
    monkeypatch.setattr(batch, "judge", lambda work, folder: judged.append(work.paths[0].name))
    works = [Work("mallory", "p1", (Path(f"m{n}"),)) for n in range(3)]
    works += [Work("zoe", f"p{n}", (Path(f"z{n}"),)) for n in (1, 2)]
    outcomes = list(batch.grade(works, Path(), InProcess(), lambda *_: None))  # type: ignore[arg-type]
    assert judged == ["m0", "z1", "m1", "z2", "m2"]
    assert [outcome.work for outcome in outcomes] == works


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("=cmd()", "'=cmd()"),
        (" \t@x", " \t'@x"),
        ("anna;=1+1", "anna;'=1+1"),
        ("anna\n+1", "anna\n'+1"),
        ("＝1+1", "'＝1+1"),
        ("anna-maria x=y", "anna-maria x=y"),
    ],
)
def test_no_cell_is_a_formula(name: str, written: str) -> None:
    file = io.StringIO(newline="")
    export.to_csv([export.Row(batch.Outcome(Work(name, "p1", (Path(name),)), fault=name), None, 100)], file)
    (row,) = csv.DictReader(io.StringIO(file.getvalue(), newline=""))
    assert (row["student"], row["file"], row["fault"]) == (written,) * 3


def test_a_name_gives_no_orders_to_a_terminal(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "\x1b]0;evil\x07zoe\nNo score: anna"
    shutil.rmtree(desk / "handed in")
    hand_in(desk, {"p1_x.py": SOLUTION}, name)
    monkeypatch.setenv("COLUMNS", "1000")

    def fails(works: list[Work], folder: Path, crew: Crew, tell: object) -> list[batch.Outcome]:
        return [batch.Outcome(works[0], fault="\x1b[2J")]

    def stops(works: list[Work], folder: Path, crew: Crew, tell: object) -> list[batch.Outcome]:
        raise OSError(28, "No space left on device", str(works[0].paths[0]))

    for does in (fails, stops):
        monkeypatch.setattr(batch, "grade", does)
        assert grade_all([desk / "handed in"], desk / "course", 1, {}) == ExitStatus.FAULT
        said = capsys.readouterr().out
        assert "zoe No score: anna" in said
        assert not set(said) & {"\x1b", "\x07"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("nowhere",), "There is no nowhere"),
        (("handed in", "--course", "no course"), "cannot be read"),
        (("course/source", "--jobs", "-1"), "-1"),
    ],
)
def test_misuse_is_a_sentence(desk: Path, arguments: tuple[str, ...], sentence: str) -> None:
    done = typed("grade", *arguments, cwd=desk, ends=2)
    assert sentence in done.stdout + done.stderr and "Traceback" not in done.stderr
