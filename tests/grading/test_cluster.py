"""Grading on a Dask cluster: the same results as without one, whatever dies. Dask is real here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.grading import batch, settings
from checker.grading.crew import WorkerLost
from tests.conftest import ROOT, importable, ran
from tests.grading.conftest import (
    CLASS,
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


@pytest.fixture(autouse=True)
def own_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask without this user's configuration, and with all its files here."""
    importable("distributed")
    monkeypatch.setenv("DASK_CONFIG", str(tmp_path / "dask's configuration"))
    monkeypatch.setenv("DASK_TEMPORARY_DIRECTORY", str(tmp_path / "dask's files"))


class Dask:
    """A scheduler and its workers, as somebody would start them on other machines."""

    def __init__(self, folder: Path):
        self.folder, self.processes = folder, list[subprocess.Popen[bytes]]()
        self.scheduler = self.started("scheduler", "--port", "0")
        wait_for(
            lambda: self.file.exists() and self.file.read_text().strip().endswith("}")
        )  # it is there before it is whole
        self.address = json.loads(self.file.read_text())["address"]

    @property
    def file(self) -> Path:
        return self.folder / "scheduler.json"

    def started(
        self, what: str, *arguments: str, root: Path = ROOT, before: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]:
        common = ["--scheduler-file", str(self.file), "--host", "127.0.0.1", "--no-dashboard"]
        with (self.folder / f"{what}.log").open("ab") as log:
            process = subprocess.Popen(
                [*before, sys.executable, "-m", f"distributed.cli.dask_{what}", *common, *arguments],
                cwd=root,
                env=environment() | {"PYTHONPATH": str(root)},
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def worker(self, *arguments: str, root: Path = ROOT, before: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        return self.started("worker", "--nthreads", "1", *arguments, root=root, before=before)

    def end(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()


@pytest.fixture
def dask(tmp_path: Path) -> Iterator[Dask]:
    one = Dask(tmp_path)
    yield one
    one.end()


def test_a_cluster_says_what_one_machine_says(desk: Path) -> None:
    done = graded(desk, "--json", "all.json", "--cluster", "local", "--jobs", "2")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    there, verdicts, kept = rows(desk), results(desk), records(desk)
    assert there == uninterrupted(desk, "--json", "all.json")
    assert verdicts == results(desk)
    assert kept.keys() == records(desk).keys()


def results(desk: Path) -> list[dict[str, Any]]:
    """All that was exported, without the time that it took."""
    everything: list[dict[str, Any]] = json.loads((desk / "all.json").read_text())
    for one in everything:
        for run in one["result"]["runs"]:
            del run["seconds"]
    return everything


def test_workers_that_are_killed_again_and_again_cost_nothing(desk: Path, dask: Dask) -> None:
    hand_in(desk, dict(list(CLASS.items())[4:6]))
    nannies = [dask.worker(), dask.worker()]
    grader = running(desk, "--cluster", dask.address)
    killed = 0
    while grader.poll() is None:
        before = len(records(desk))
        wait_for(lambda: grader.poll() is not None or len(records(desk)) > before)  # noqa: B023
        for pid in workers(nannies[0].pid):
            os.kill(pid, signal.SIGKILL)
            killed += 1
    assert killed > 1
    assert grader.returncode == 0, (desk / "said").read_text()
    written = records(desk)
    assert rows(desk) == uninterrupted(desk)
    assert records(desk).keys() == written.keys()


def test_a_scheduler_that_is_killed_is_a_sentence_and_nothing_is_lost(desk: Path, dask: Dask) -> None:
    worker = dask.worker()
    grader = running(desk, "--cluster", dask.address)
    wait_for(lambda: len(records(desk)) >= 2)
    dask.scheduler.kill()
    assert grader.wait() == 3
    said = (desk / "said").read_text()
    assert "scheduler" in said and "Nothing is lost" in said and "Traceback" not in said
    worker.terminate()
    worker.wait()
    kept = records(desk)
    graded(desk, ends=0)
    assert kept.items() <= records(desk).items()
    assert rows(desk) == uninterrupted(desk)


def test_ctrl_c_ends_it_at_once_and_leaves_nobody_behind(desk: Path) -> None:
    grader = running(desk, "--cluster", "local")
    wait_for(lambda: records(desk))
    crew = workers(grader.pid)
    grader.send_signal(signal.SIGINT)
    assert grader.wait() == 130
    assert crew and all(ended(pid) for pid in crew)
    assert [path.name for path in (desk / "course" / "records").iterdir()] == ["p1"]


def dies(number: int) -> int:
    if number == 1:
        os._exit(1)
    return number


def fails(number: int) -> int:
    raise FileNotFoundError(2, "No such file", str(number))


def test_what_ends_its_process_costs_only_itself(desk: Path) -> None:
    from distributed import Client, Security

    from checker.grading.cluster import cluster

    with cluster("local", 1, settings.read(desk / "course"), desk / "handed in") as crew:
        answers = dict(crew.run(dies, [(number,) for number in range(4)]))
        assert isinstance(answers.pop(1), WorkerLost)
        assert answers == {0: 0, 2: 2, 3: 3}
        ((_, answer),) = crew.run(fails, [(7,)])
        assert isinstance(answer, FileNotFoundError) and answer.filename == "7"
        with pytest.raises(OSError):  # a stranger, who could have it do anything
            Client(crew.client.scheduler.address, security=Security.temporary(), timeout="2s")
        assert sorted(crew.run(abs, [(-number,) for number in range(25)], window=10)) == [(n, n) for n in range(25)]


def ends_its_worker(number: int, folder: Path) -> int:
    if number == 1:
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    return number


def test_what_ends_its_worker_each_time_is_lost_and_those_beside_it_are_not(
    desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from checker.grading.cluster import cluster

    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    dask = Dask(desk)
    dask.worker()
    with cluster(dask.address, 0, settings.read(desk / "course"), desk / "handed in") as crew:
        answers = batch._each(ends_its_worker, [0, 1, 2], desk, crew, lambda done: None)  # type: ignore[arg-type, list-item]
    dask.end()
    assert isinstance(answers.pop(1), WorkerLost)
    assert answers == [0, 2]


SEES_ALL = ("bwrap", "--dev-bind", "/", "/", "--die-with-parent")


@pytest.mark.parametrize(
    "what", ["another checker", "no checker", "no key", "another key", "no course", "no submissions"]
)
def test_a_worker_that_would_judge_otherwise_is_refused(desk: Path, dask: Dask, what: str) -> None:
    """Without this, it would give other verdicts, write records where nobody finds them, or see nothing handed in."""
    if what == "no checker":
        dask.worker("--preload", "import sys; sys.modules['checker'] = None")
    elif what == "another checker":
        root = desk / "another one"
        shutil.copytree(ROOT / "checker", root / "checker")
        with (root / "checker" / "course" / "verdict.py").open("a") as file:
            file.write("# changed\n")
        dask.worker(root=root)
    elif what == "another key":
        shutil.copytree(desk / "config", desk / "another config")
        (key,) = (desk / "another config").rglob("*.key")
        key.write_text("0" * 64)
        dask.worker(before=(*SEES_ALL, "--bind", str(desk / "another config"), str(desk / "config")))
    else:
        hidden = desk / {"no key": "config", "no course": "course", "no submissions": "handed in"}[what]
        dask.worker(before=(*SEES_ALL, "--tmpfs", str(hidden)))
    done = graded(desk, "--cluster", dask.address, ends=2)
    sentence = {
        "another checker": "its checker is a different one",
        "no checker": "A Dask worker cannot load the checker",
        "no key": ".key cannot be read",
        "another key": "is a different key",
        "no course": "it does not see what is written to",
        "no submissions": "handed in/p1_",
    }[what]
    assert sentence in done.stderr and "Traceback" not in done.stderr
    assert not records(desk) and not (desk / "grades.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("--cluster", "cloud"), 2, "neither local nor a Dask scheduler's address"),
        (("--cluster", "tcp://127.0.0.1:1", "--jobs", "2"), 2, "leave --jobs out"),
        (("--cluster", "tcp://127.0.0.1:1"), 3, "no Dask scheduler answers at tcp://127.0.0.1:1"),
    ],
)
def test_what_cannot_be_used_is_a_sentence(
    desk: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], status: int, sentence: str
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT", "1s")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = graded(desk, *arguments, ends=status)
    assert sentence in " ".join((done.stdout + done.stderr).split()) and "Traceback" not in done.stderr
    assert not records(desk)


def test_without_workers_it_does_not_wait_for_ever(desk: Path, dask: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT", "1s")
    done = graded(desk, "--cluster", dask.address, ends=3)
    assert "for 1 s there was no Dask worker. Nothing is lost" in done.stdout


def test_without_dask_it_is_a_sentence(desk: Path) -> None:
    without = "import sys; sys.modules['distributed'] = None; from checker.commands.cli import main; main()"
    line = [sys.executable, "-c", without, *command("--cluster", "local", "handed in")[3:]]
    done = ran(*line, cwd=desk, ends=2, env=environment())
    assert "distributed is missing" in done.stderr and "[cluster]" in done.stderr and "Traceback" not in done.stderr
