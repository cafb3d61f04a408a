"""Wrong kernels that are edits of a solution: each edit is made once, and changes what the kernel computes."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from checker.course import ladder, places
from checker.course.edits import BadEdit, edited, read
from tests.conftest import ran
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
    for path in FOLDERS["wrong"].glob("*.diff"):
        names = list(read(path))
        assert names == sorted(names), f"{path.name} is not in alphabetical order"
        assert all(name.startswith(f"{path.stem}_") for name in names)
    assert len(EDITED) > 300


def test_edits_change_the_code() -> None:
    right = {puzzle_id: without_docstring(places.solution(puzzle_id).read_text()) for puzzle_id in ladder.RUNGS}
    for kernel in EDITED:
        assert without_docstring(kernel.text) != right[kernel.puzzle], kernel.name
        assert kernel.says and kernel.findings, kernel.name


@pytest.mark.parametrize(("old", "times"), {"-b = 3": 0, "- = 2": 0, "-a = 1": 2, "+c": 0, "-c = 3\n d = 4": 0}.items())
def test_an_edit_that_fits_no_place_or_two_is_refused(old: str, times: int) -> None:
    edit = f"{old}\n+d = 4"
    sentence = f"p1_x: what goes or stays must be there once, and is there {times} times:\n{edit}"
    with pytest.raises(BadEdit, match=f"^{re.escape(sentence)}$"):
        edited("p1_x", CODE, (edit,))


def test_edits_are_of_whole_lines_and_made_in_order() -> None:
    assert edited("p1_x", CODE, ("-b = 2\n+b = 5\n+b = 6",)) == CODE.replace("\nb = 2", "\nb = 5\nb = 6")
    assert edited("p1_x", CODE, (" b = 2\n+b = 6",)) == CODE.replace("\nb = 2", "\nb = 2\nb = 6")
    assert edited("p1_x", CODE, ("-    b = 2\n-a = 1", "-a = 1\n+a = 7")) == "a = 7\nb = 2\nc = 3\n"
    with pytest.raises(BadEdit, match="p1_x"):
        edited("p1_x", CODE, ("-a = 1\n+a = 7", "-    b = 2\n-a = 1"))


@pytest.mark.parametrize("text", ["p1_x: a", "# p1_x: a\n\n-b", "# p1_x: a\nSays.", "# p1_x: a\nSays.\n\n-b\n" * 2])
def test_a_file_of_another_form_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "p1.diff").write_text(text)
    with pytest.raises(BadEdit, match=r"^p1\.diff: a kernel begins with"):
        read(tmp_path / "p1.diff")


def test_a_line_without_a_sign_is_refused() -> None:
    with pytest.raises(BadEdit, match=r"^p1_x: each line of an edit begins with"):
        edited("p1_x", CODE, ("-b = 2\nb = 3",))


def command(*names: str) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, "-m", "tests.kernels", *names)


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
