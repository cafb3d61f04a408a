"""A new puzzle is what `make puzzle` writes, and passes all that its author is told to run before anything is changed.

A mistake that it names is a sign, a paragraph beside it, and an edit of the solution.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker.course import ladder
from tests.conftest import ROOT, ran
from tests.skeleton import RUNG

TOY = "t1_difference"
NOT_COPIED = shutil.ignore_patterns("__pycache__", ".git", ".venv", ".*_cache", ".hypothesis", "build", "*.egg-info")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the toy puzzle."""
    root = tmp_path_factory.mktemp("made") / "course"
    shutil.copytree(ROOT, root, ignore=NOT_COPIED)
    begun = python(root, "-m", "tests.puzzle", TOY, ends=0)
    assert f"checker/catalog/{TOY}.py" in begun.stdout
    return root


def python(copy: Path, *arguments: str, ends: int | None = None) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, *arguments, cwd=copy, ends=ends, PYTHONPATH=str(copy), COLUMNS="200")


def test_no_test_fails_and_what_it_lacks_is_named(copy: Path) -> None:
    done = python(copy, "-m", "tests.puzzle", "t1")
    assert (done.returncode, "✗ tests/" in done.stdout) == (0, False), done.stdout
    assert "  ○ a puzzle has six and no two are the same" in done.stdout.split("\n")
    catalog = copy / "checker" / "catalog" / f"{TOY}.py"
    text = catalog.read_text()
    try:
        catalog.write_text(text.replace("return np.asarray(x - y)", "return np.asarray(x + y)"))
        done = python(copy, "-m", "tests.puzzle", "t1", "tests/test_kernels.py")
        assert done.returncode == 1 and "✗ tests/test_kernels.py" in done.stdout, done.stdout
    finally:
        catalog.write_text(text)


def test_it_is_written_once(copy: Path) -> None:
    for said, told in (("t2", "begins a puzzle"), ("T2_../x", "begins a puzzle"), ("", "begins a puzzle")):
        done = python(copy, "-m", "tests.puzzle", said)
        assert (done.returncode, told in done.stderr) == (2, True), said
    (copy / "solutions" / "t2_x.py").touch()
    done = python(copy, "-m", "tests.puzzle", "t2_x")
    assert (done.returncode, "solutions/t2_x.py: it is there already" in done.stderr) == (2, True), done.stderr
    assert not (copy / "puzzles" / "t2_x.py").exists()


def test_it_is_checked(copy: Path) -> None:
    stub = python(copy, "-m", "checker", "check", "t1")
    assert (stub.returncode, f"puzzles/{TOY}.py, line 5" in stub.stdout) == (4, True), stub.stdout + stub.stderr
    solution = copy / "solutions" / f"{TOY}.py"
    right = python(copy, "-m", "checker", "check", "t1", "--file", str(solution))
    assert (right.returncode, "100/100" in right.stdout) == (0, True), right.stdout
    (copy / "wrong.py").write_text(python(copy, "-m", "tests.kernels", "t1_wrong_way_round").stdout)
    wrong = python(copy, "-m", "checker", "check", "t1", "--file", "wrong.py")
    named = "x is taken from y" in wrong.stdout and "[wrong-way-round]" in wrong.stdout
    assert (wrong.returncode, named) == (1, True), wrong.stdout
    page = python(copy, "-m", "checker", "ideas", "t1").stdout
    assert "**x is taken from y.** z is y - x: of 3 and 1 it has -2." in page and "\n-    tl.store(z_ptr +" in page, (
        page
    )
    undefined = solution.read_text().replace("mask=mask)\n    tl.store", "mask=offsets < n - 1)\n    tl.store")
    (copy / "wrong.py").write_text(undefined)
    undefined = python(copy, "-m", "checker", "check", "t1", "--file", "wrong.py").stdout
    assert "[undefined-masked-lanes]" in undefined


def test_of_all_puzzles_the_worst_status_counts(copy: Path) -> None:
    """One solved and the others not started: 4. One of those wrong: 1."""
    first, second = (next((copy / "puzzles").glob(f"p{n}_*.py")) for n in (1, 2))
    stubs = first.read_text(), second.read_text()
    try:
        first.write_text((copy / "solutions" / first.name).read_text())
        done = python(copy, "-m", "checker", "check")
        assert (done.returncode, "accepted" in done.stdout, "not started" in done.stdout) == (4, True, True)
        table = [line.split()[0] for line in done.stdout.split("\n") if line[:1] in ("p", "b", "t")]
        assert (table[:2], table[-2:]) == (["p1", "p2"], ["b3", "t1"])  # as they stand on the ladder
        second.write_text((copy / "solutions" / second.name).read_text().replace("/ l", "/ (l + 1)"))
        done = python(copy, "-m", "checker", "check")
        assert (done.returncode, "not started" in done.stdout) == (1, True)
    finally:
        first.write_text(stubs[0])
        second.write_text(stubs[1])


def test_it_is_drawn(copy: Path) -> None:
    """A launch that was not chosen for it."""
    done = python(copy, "-m", "checker", "trace", "t1", "--file", f"solutions/{TOY}.py", ends=0)
    assert "programs, each: 2 loads, 1 store" in done.stdout and "reads per element: x 1" in done.stdout
    assert (copy / "trace" / f"{TOY}.svg").exists()


def test_moved_on_the_ladder_it_moves_all_behind_it(copy: Path, tmp_path: Path) -> None:
    shutil.copytree(copy, moved := tmp_path / "course")
    rungs = moved / "checker" / "course" / "ladder.py"
    text = rungs.read_text()
    line = RUNG.format(id="t1", slug="difference", title="Difference", helps="when it helps")
    before = '    Rung(\n        "p2",\n'
    assert text.count(line) == text.count(before) == 1
    rungs.write_text(text.replace(line, "").replace(before, '    Rung("t1", "difference", "Difference"),\n' + before))
    built = python(moved, "-m", "checker", "build", ends=0)
    assert f"_{TOY}.ipynb" in built.stdout
    assert "Difference" in (moved / "README.md").read_text()
    notebooks = [(path.parent, ladder.without_number(path.stem)) for path in (moved / "notebooks").rglob("*.ipynb")]
    assert len({*notebooks}) == len(notebooks)  # none is left under its old number
    [behind] = (moved / "notebooks" / "zh").glob("*_p2_*.ipynb")
    assert behind.name.startswith("04_") and f"]({behind.name})" in behind.with_name("00_start_here.ipynb").read_text()
