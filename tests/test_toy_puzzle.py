"""A puzzle is three files, one in puzzles/, one in solutions/, one in checker/catalog/, and a line of the ladder.

A mistake that it names is a sign, a paragraph beside it, and an edit of the solution.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from checker.course import ladder
from tests.conftest import ROOT

TOY = "t1_double"
BEHIND = '    Rung(\n        "p2",\n'
LINE = '    Rung("t1", "double", "Twice as much"),\n'

KERNEL = """
@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # FILL IN (roughly 2 lines)
"""

STUB = f"""# %% [markdown]
# # Puzzle t1: twice as much

# %%
import triton
import triton.language as tl

# %%{KERNEL}"""

SOLUTION = (
    '"""Puzzle t1, solved."""\n\nimport triton\nimport triton.language as tl\n\n'
    + KERNEL.replace("    # FILL IN (roughly 2 lines)\n", "")
    + "    x = tl.load(x_ptr + at, mask=at < n)\n    tl.store(y_ptr + at, 2 * x, mask=at < n)\n"
)

CATALOG = '''"""A puzzle: a vector, doubled."""

import numpy as np

from checker.course.case import Case, Tensor
from checker.course.misconception import Writes
from checker.course.puzzle import Budget, Expected, Kernel, Property, Puzzle
from checker.course.words import Ideas

idea = Ideas(__file__)
KERNEL = Kernel("double_kernel", ("x_ptr", "y_ptr", "n", "BLOCK"), ("BLOCK",))


def cases(draw):
    x = draw.case("x").normal(size=50).astype(np.float32)
    y = Tensor.output(x.shape, x.dtype, (1,))
    tensors = {"x_ptr": Tensor(x, (1,)), "y_ptr": y}
    return [Case("fifty", KERNEL.name, ("right", "traffic"), (4,), tensors, {"n": 50}, {"BLOCK": 16})]


def expected(case):
    y = 2.0 * case.tensors["x_ptr"].values.astype(float)
    return {"y_ptr": Expected(y, 1e-6 * abs(y))}


PUZZLE = Puzzle(
    id="t1",
    kernels=(KERNEL,),
    properties=(Property("right", "doubles", 90), Property("traffic", "reads once", 10, traffic=True)),
    cases=cases,
    expected=expected,
    budget=lambda case: {"x_ptr": Budget(loads=50), "y_ptr": Budget(stores=50)},
    misconceptions=(idea("copied", Writes(lambda case: {"y_ptr": case.tensors["x_ptr"].values})),),
)
'''

WORDS = """# copied: x was copied
y is x: of 3 it has 3.
? Which number should y have where x has a 3?
> Multiply by 2.
"""

WRONG = """# t1_copied: copied
Nothing is doubled.

-    tl.store(y_ptr + at, 2 * x, mask=at < n)
+    tl.store(y_ptr + at, x, mask=at < n)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository with the toy puzzle added, as the second one, and its mistake; nothing else is touched."""
    root = tmp_path_factory.mktemp("course")
    for name in ("checker", "docs", "puzzles", "solutions", "notebooks"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    (root / "tests").mkdir()
    for name in (
        "README.md",
        "pyproject.toml",
        "tests/__init__.py",
        "tests/conftest.py",
        "tests/kernels.py",
        "tests/slices.py",
        "tests/test_course.py",
    ):
        shutil.copy(ROOT / name, root / name)
    (root / "puzzles" / f"{TOY}.py").write_text(STUB)
    (root / "solutions" / f"{TOY}.py").write_text(SOLUTION)
    (root / "checker" / "catalog" / f"{TOY}.py").write_text(CATALOG)
    (root / "checker" / "catalog" / f"{TOY}.md").write_text(WORDS)
    (root / "tests" / "wrong").mkdir()
    (root / "tests" / "wrong" / "t1.diff").write_text(WRONG)
    registry = root / "checker" / "course" / "ladder.py"
    text = registry.read_text()
    assert text.count(BEHIND) == 1
    registry.write_text(text.replace(BEHIND, LINE + BEHIND))
    return root


def python(copy: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(copy), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
    )


def test_it_is_checked(copy: Path) -> None:
    stub = python(copy, "-m", "checker", "check", "t1")
    assert (stub.returncode, "line 12" in stub.stdout) == (4, True), stub.stdout + stub.stderr
    right = python(copy, "-m", "checker", "check", "t1", "--file", f"solutions/{TOY}.py")
    assert (right.returncode, "100/100" in right.stdout) == (0, True), right.stdout
    (copy / "wrong.py").write_text(python(copy, "-m", "tests.kernels", "t1_copied").stdout)
    wrong = python(copy, "-m", "checker", "check", "t1", "--file", "wrong.py")
    assert (wrong.returncode, "x was copied" in wrong.stdout, "[copied]" in wrong.stdout) == (1, True, True), (
        wrong.stdout
    )
    page = python(copy, "-m", "checker", "ideas", "t1").stdout
    assert "**x was copied.** y is x: of 3 it has 3." in page and "\n-    tl.store(y_ptr + at, 2 * x" in page, page
    (copy / "wrong.py").write_text(SOLUTION.replace("mask=at < n)\n    tl.store", "mask=at < n - 1)\n    tl.store"))
    undefined = python(copy, "-m", "checker", "check", "t1", "--file", "wrong.py")
    assert "[undefined-masked-lanes]" in undefined.stdout


def test_of_all_puzzles_the_worst_status_counts(copy: Path) -> None:
    """One solved and the others not started: 4. One of those wrong: 1."""
    first, second = (next((copy / "puzzles").glob(f"p{n}_*.py")) for n in (1, 2))
    stubs = first.read_text(), second.read_text()
    try:
        first.write_text((copy / "solutions" / first.name).read_text())
        done = python(copy, "-m", "checker", "check")
        assert (done.returncode, "accepted" in done.stdout, "not started" in done.stdout) == (4, True, True)
        table = [line.split()[0] for line in done.stdout.split("\n") if line[:1] in ("p", "t")]
        assert table[:3] == ["p1", "t1", "p2"]  # as they stand on the ladder
        second.write_text((copy / "solutions" / second.name).read_text().replace("/ l", "/ (l + 1)"))
        done = python(copy, "-m", "checker", "check")
        assert (done.returncode, "not started" in done.stdout) == (1, True)
    finally:
        first.write_text(stubs[0])
        second.write_text(stubs[1])


def test_it_is_drawn(copy: Path) -> None:
    """Of tensors without named axes, a launch that was not chosen for it."""
    done = python(copy, "-m", "checker", "trace", "t1", "--file", f"solutions/{TOY}.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 programs, each: 1 load, 1 store" in done.stdout and "reads per element: x 1" in done.stdout
    assert (copy / "trace" / f"{TOY}.svg").exists()


def test_it_is_built_and_tested(copy: Path) -> None:
    built = python(copy, "-m", "checker", "build")
    assert built.returncode == 0, built.stderr
    assert f"_{TOY}.ipynb" in built.stdout
    assert "Twice as much" in (copy / "README.md").read_text()
    notebooks = [(path.parent, ladder.without_number(path.stem)) for path in (copy / "notebooks").rglob("*.ipynb")]
    assert len({*notebooks}) == len(notebooks)  # none is left under its old number
    [moved] = (copy / "notebooks" / "zh").glob("*_p2_*.ipynb")
    assert f"]({moved.name})" in moved.with_name("00_start_here.ipynb").read_text()
    others = " and ".join(f"not {puzzle_id}" for puzzle_id in ladder.RUNGS)
    tested = python(copy, "-m", "pytest", "-q", "tests/test_course.py", "-k", others, "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    assert TOY in python(copy, "-m", "pytest", "--collect-only", "-q", "tests/test_course.py").stdout
