"""Wrong kernels that are edits of a solution: each edit is made once, and changes what the kernel computes."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from checker.course import ladder, places
from checker.learner.bugs import BadEdit, edited
from tests.conftest import ROOT
from tests.kernels import FOLDERS, kernels, named

CODE = "a = 1\nb = 2\n    b = 2\na = 1\nc = 3\n"
WHOLE = {path.stem for path in FOLDERS["wrong"].glob("*.py")}
EDITED = [kernel for kernel in kernels("wrong") if kernel.name not in WHOLE]


def without_docstring(text: str) -> str:
    """The code, whatever its comments and its layout."""
    tree = ast.parse(text)
    return ast.dump(ast.Module(tree.body[1:], []))


def test_every_name_is_there_once_and_says_the_puzzle() -> None:
    every = [kernel for folder in FOLDERS for kernel in kernels(folder)]
    assert len({kernel.name for kernel in every}) == len(every)
    for path in FOLDERS["wrong"].glob("*.toml"):
        names = [line for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("[")]
        assert names == sorted(names)
        assert all(name.startswith(f"[{path.stem}_") for name in names)
    assert len(EDITED) > 300


def test_edits_change_the_code() -> None:
    right = {puzzle_id: without_docstring(places.solution(puzzle_id).read_text()) for puzzle_id in ladder.RUNGS}
    for kernel in EDITED:
        assert without_docstring(kernel.text) != right[kernel.puzzle], kernel.name
        assert kernel.says and kernel.findings, kernel.name


@pytest.mark.parametrize(("old", "times"), {"b = 3": 0, " = 2": 0, "a = 1": 2, "": 0, "c = 3\nd = 4": 0}.items())
def test_an_edit_that_fits_no_place_or_two_is_refused(old: str, times: int) -> None:
    with pytest.raises(BadEdit, match=f"^p1_x: these lines must occur once, and occur {times} times:\n{old}$"):
        edited("p1_x", CODE, [[old, "d = 4"]])


def test_edits_are_of_whole_lines_and_made_in_order() -> None:
    assert edited("p1_x", CODE, [["b = 2", "b = 5\nb = 6\n"]]) == CODE.replace("\nb = 2", "\nb = 5\nb = 6")
    assert edited("p1_x", CODE, [["    b = 2\na = 1\n", ""], ["a = 1", "a = 7"]]) == "a = 7\nb = 2\nc = 3\n"
    with pytest.raises(BadEdit, match="p1_x"):
        edited("p1_x", CODE, [["a = 1", "a = 7"], ["    b = 2\na = 1\n", ""]])


def command(*names: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "tests.kernels", *names]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_kernel_is_printed_and_all_are_listed() -> None:
    done = command("p6_lse_is_l")
    assert done.returncode == 0 and done.stdout == named("p6_lse_is_l").text
    assert done.stdout.startswith('"""l is stored.\n\nFinding: lse-is-the-normaliser\n"""\n\nimport triton\n')
    done = command()
    assert "p6_lse_is_l: lse-is-the-normaliser. l is stored." in done.stdout.split("\n")
    assert done.stdout.count("\n") == len(kernels("wrong"))


def test_a_name_that_is_not_there_is_a_sentence() -> None:
    done = command("p6_lse_is_k")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("There is no kernel p6_lse_is_k. Is it p6_lse_is_") and "Traceback" not in done.stderr
    assert command("nothing like it").stderr.count("`python -m tests.kernels`") == 1
