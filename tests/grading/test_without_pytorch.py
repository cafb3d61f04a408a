"""A course as it is made, with all puzzles, where PyTorch is not installed."""

from __future__ import annotations

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from checker.course import ladder
from checker.course.places import solution
from checker.grading import record, settings
from checker.grading.worker import _why_unfit, needs
from tests.conftest import Started, importable, typed

WHAT_TO_DO = "`make torch` installs it"


@pytest.fixture
def desk(without_pytorch: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a new course. A cage would not see the packages through links."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    made = without_pytorch("checker", "course", cwd=tmp_path, ends=0)
    assert f"needed for a2 and a4: {WHAT_TO_DO}. The other puzzles" in " ".join(made.stdout.split())
    toml = tmp_path / "course" / "course.toml"
    toml.write_text(toml.read_text().replace('sandbox = "required"', 'sandbox = "none"'))
    return tmp_path


def hand_in(desk: Path, puzzle_id: str) -> None:
    """The solution, as nbgrader collects it."""
    stem = ladder.stems()[puzzle_id]
    folder = desk / "course" / "submitted" / "anna" / stem
    folder.mkdir(parents=True)
    shutil.copy(solution(puzzle_id), folder / f"{stem}.py")


def points(desk: Path) -> dict[str, str]:
    with (desk / "course" / "verdicts.csv").open() as file:
        return {row["puzzle"]: row["earned"] or row["verdict"] for row in csv.DictReader(file)}


def test_only_puzzles_that_need_pytorch_wait_for_it(without_pytorch: Started, desk: Path) -> None:
    for puzzle_id in ("p1", "a2"):
        hand_in(desk, puzzle_id)
    done = without_pytorch("checker", "grade", cwd=desk, ends=3)
    assert done.stdout.count("No score") == 1
    assert f"a2_attention_in_pytorch.py: PyTorch is not installed here, which is needed for a2: {WHAT_TO_DO}." in (
        " ".join(done.stdout.split())
    )
    assert points(desk) == {"p1_naive_softmax": "100", "a2_attention_in_pytorch": "no-score"}
    without_pytorch("checker", "class-report", "--student", "anna", cwd=desk, ends=0)
    assert "make torch" in (desk / "course" / "student-anna.html").read_text()
    asked = without_pytorch("checker", "viva", "a2", cwd=desk)
    assert asked.returncode == 2 and WHAT_TO_DO in asked.stderr
    importable("torch")
    done = typed("grade", cwd=desk)
    assert done.returncode == 0 and "1 of them known before" in done.stdout, done.stdout + done.stderr
    assert points(desk) == {"p1_naive_softmax": "100", "a2_attention_in_pytorch": "100"}


@pytest.mark.parametrize(("handed_in", "fit"), [(("p1",), True), (("p1", "a2"), False)])
def test_a_worker_without_pytorch_is_fit_unless_somebody_needs_it(
    handed_in: tuple[str, ...], fit: bool, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importable("torch")
    wanted = needs(replace(settings.read(desk / "course"), puzzles=handed_in), desk, desk)
    version_of = record._version_of
    monkeypatch.setattr(record, "_version_of", lambda package: "" if package == "torch" else version_of(package))
    assert ("its torch is missing" not in _why_unfit(wanted)) == fit
    assert fit == (_why_unfit(wanted) == "")
