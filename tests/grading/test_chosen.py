"""Whose files these are, and which is the submission: the same rules for `make grade`, nbgrader and Gradescope."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.lesson import emptied
from checker.course.puzzle import Puzzle
from checker.grading.chosen import Unresolved, chosen, handed
from checker.grading.found import NothingFound, Work, found, in_folder
from checker.submission.extract import extract
from tests.conftest import ROOT, SOLUTION

PUZZLE: Puzzle = catalog.load("p1")
STUB = emptied((ROOT / "puzzles" / "p1_naive_softmax.py").read_text(), PUZZLE)
LESSON = STUB.partition("@triton.jit")[0] + SOLUTION.partition("\n\n\n")[2] + '\ncheck("p1")\n'
OTHER, THIRD, FOURTH = (SOLUTION.replace("tl.exp", f"tl.{name}") for name in ("exp2", "log", "sqrt"))
OTHER_PUZZLE = (ROOT / "solutions" / "p3_online_softmax.py").read_text()
NAME = "p1_naive_softmax.ipynb"


def notebook(text: str) -> str:
    cell = {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(notebook(text) if path.suffix == ".ipynb" and text[:1] != "{" else text)


@pytest.mark.parametrize(
    ("files", "meant"),
    [
        ({NAME: SOLUTION}, NAME),
        ({"p1_naive_softmax-Copy1.ipynb": SOLUTION}, "p1_naive_softmax-Copy1.ipynb"),
        ({NAME: SOLUTION, "p1_naive_softmax-Copy1.ipynb": OTHER}, [NAME, "p1_naive_softmax-Copy1.ipynb"]),
        ({NAME: STUB, "p1_naive_softmax-Copy1.ipynb": OTHER}, "p1_naive_softmax-Copy1.ipynb"),
        ({NAME: STUB, "p1_naive_softmax.py": SOLUTION}, "p1_naive_softmax.py"),
        ({NAME: SOLUTION, "p1_naive_softmax.py": SOLUTION}, NAME),
        ({NAME: "{ broken", "p1_copy.ipynb": SOLUTION}, "p1_copy.ipynb"),
        ({NAME: "{ broken"}, None),
        ({NAME: STUB, "p1_copy.ipynb": STUB + "# a note"}, NAME),
        ({NAME: STUB, "plots.py": "import math"}, NAME),
        ({"my solution.ipynb": SOLUTION, "plots.py": "import math"}, "my solution.ipynb"),
        ({NAME: STUB, "my solution.ipynb": SOLUTION}, "my solution.ipynb"),
        ({NAME: "{ broken", "notes.ipynb": SOLUTION}, "notes.ipynb"),
        ({NAME: "# mine\n" + SOLUTION, "p1_naive_softmax.py": LESSON}, NAME),
        ({"my solution.ipynb": OTHER, "p1_copy.ipynb": SOLUTION}, ["my solution.ipynb", "p1_copy.ipynb"]),
        ({NAME: STUB, "p1_copy.ipynb": "{ broken"}, None),
        ({NAME: "{ broken", "p1_copy.ipynb": "import math"}, None),
        ({NAME: OTHER_PUZZLE}, None),
        ({NAME: OTHER_PUZZLE, "p1_copy.py": SOLUTION}, "p1_copy.py"),
        ({"deep/down/p1_x.ipynb": SOLUTION}, "deep/down/p1_x.ipynb"),
        ({NAME: SOLUTION, "p1_naive_softmax.py": OTHER}, [NAME, "p1_naive_softmax.py"]),
        ({"a.ipynb": SOLUTION, "b.ipynb": OTHER, "c.py": THIRD, "d.py": FOURTH}, ["a.ipynb", "b.ipynb", "c.py"]),
        ({"02_p1_naive_softmax.ipynb": SOLUTION, "a.ipynb": OTHER}, ["02_p1_naive_softmax.ipynb", "a.ipynb"]),
    ],
)
def test_the_files_that_are_candidates(tmp_path: Path, files: dict[str, str], meant: str | list[str] | None) -> None:
    """In a folder as nbgrader has it, `make grade` and nbgrader see the same files, and choose the same ones."""
    folder = tmp_path / "submitted" / "anna" / "p1_naive_softmax"
    put(folder, files)
    (work,) = found([tmp_path / "submitted"])
    assert work == Work("anna", "p1", in_folder(folder))
    if meant is None:
        with pytest.raises(Unresolved, match=r"not a whole notebook|the kernel of puzzle p3, and none of puzzle p1"):
            chosen(work)
        return
    every = chosen(work)
    assert [one.path for one in every] == [folder / name for name in ([meant] if isinstance(meant, str) else meant)]
    for one in every:
        assert any("also handed in" in note for note in one.notes) == (len(files) > 1)
        called = one.path.stem in ("p1_naive_softmax", "02_p1_naive_softmax")
        assert any("is called" in note for note in one.notes) == (not called)


def test_the_order_of_files_decides_nothing(tmp_path: Path) -> None:
    put(tmp_path, {NAME: SOLUTION, "p1_a.ipynb": OTHER, "p1_z.ipynb": STUB, "p1_b.py": SOLUTION})
    paths = in_folder(tmp_path)
    for turn in range(len(paths)):
        every = chosen(Work("", "p1", (*paths[turn:], *paths[:turn])))
        assert [one.path.name for one in every] == [NAME, "p1_a.ipynb"]


def test_a_folder_called_as_a_puzzle_says_which_one(tmp_path: Path) -> None:
    """The outermost one, as for nbgrader."""
    names = ("anna/p2_safe_softmax/mine.ipynb", "anna/p2_safe_softmax/p1_naive_softmax/p1_naive_softmax.ipynb")
    put(tmp_path, dict.fromkeys(names, SOLUTION))
    (work,) = found([tmp_path])
    assert (work.student, work.puzzle, set(work.paths)) == ("anna", "p2", {tmp_path / name for name in names})


@pytest.mark.parametrize(
    ("files", "students"),
    [
        (("smithbob_12345_987655_p1_x.ipynb", "smithbob_LATE_12345_987656_p2_x.ipynb"), ["smithbob_12345"] * 2),
        (("smithbob_1_2_p1_x.ipynb", "smithbob_3_4_p1_x.ipynb"), ["smithbob_1", "smithbob_3"]),
        (("Bo Wu_7_assignsubmission_file_/p1_x.ipynb", "Bo Wu_8_assignsubmission_file_/p2_x.ipynb"), ["Bo Wu"] * 2),
        (("Bo Wu_7_assignsubmission_file_/p1_x.py", "Bo Wu_8_assignsubmission_file_/p1_x.py"), ["Bo Wu_7", "Bo Wu_8"]),
        (("anna/smithbob_12345_987655_p1_x.ipynb",), ["anna"]),
        (("mallory_22_101_work/smithbob_12345_987655_p1_x.ipynb",), ["mallory_22"]),
        (("anna/p1_x.py", "anna/sub/p1_y.py"), ["anna"]),
        (("eva/p1_naive_softmax/p1_naive_softmax.ipynb",), ["eva"]),
        (("p1_naive_softmax.py",), ["p1_naive_softmax"]),
        (("02_p1_naive_softmax.ipynb",), ["p1_naive_softmax"]),
        (("anna_02_p1_naive_softmax.ipynb",), ["anna"]),
        (("anna_p1_naive_softmax.py", "anna maria-p1_x.ipynb"), ["anna", "anna maria"]),
        (("eva/.ipynb_checkpoints/p1_x.ipynb", ".p1_x.py", "eva/p1.py", "eva/warp1_x.py", "a/p99_x.py"), []),
        # Of a clone only what the student has written; a folder's name alone says nothing.
        (("anna/checker/__main__.py", "anna/checker/catalog/p1_x.py", "anna/solutions/p1_x.py"), []),
        (("anna/checker/__main__.py", "anna/tests/p1_x.py", "anna/p1_y.py", "ben/tests/p1_x.py"), ["anna", "ben"]),
    ],
)
def test_whose_it_is(tmp_path: Path, files: tuple[str, ...], students: list[str]) -> None:
    put(tmp_path, dict.fromkeys(files, ""))
    if students:
        assert [work.student for work in found([tmp_path])] == students
    else:
        with pytest.raises(NothingFound, match="holds no submission"):
            found([tmp_path])


@pytest.mark.parametrize(
    ("name", "puzzles", "meant"),
    [
        ("p1_p3_x.py", None, "p1"),
        ("p1_p3_online_softmax.py", None, "p3"),
        ("p1_p3_online_softmax.py", ["p1", "p2"], "p1"),
        ("p1_p3_x.py", ["p3"], "p3"),
        ("p1_x.py", ["p3"], "p1"),
    ],
)
def test_of_several_puzzles_in_a_name_one_that_is_expected_is_meant(
    tmp_path: Path, name: str, puzzles: list[str] | None, meant: str
) -> None:
    """The first assignment is called a1 by many. What is for another puzzle is found, too, to be left out by name."""
    put(tmp_path, {f"anna/{name}": SOLUTION})
    (work,) = found([tmp_path]) if puzzles is None else found([tmp_path], puzzles)
    assert (work.student, work.puzzle) == ("anna", meant)


def test_submissions_are_sorted_as_puzzles_stand_on_the_ladder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, dict.fromkeys(("anna/p1_x.py", "anna/p2_x.py", "anna/p3_x.py", "ben/p1_x.py"), SOLUTION))
    rungs = {puzzle_id: ladder.RUNGS[puzzle_id] for puzzle_id in ("p2", "p3", "p1")}
    monkeypatch.setattr(ladder, "RUNGS", rungs)
    there = [(work.student, work.puzzle) for work in found([tmp_path])]
    assert there == [("anna", "p2"), ("anna", "p3"), ("anna", "p1"), ("ben", "p1")]


def test_files_named_one_by_one_are_one_each(tmp_path: Path) -> None:
    put(tmp_path, {"a/p1_x.py": SOLUTION, "b/p1_x.py": OTHER})
    assert len(found([tmp_path / "a" / "p1_x.py", tmp_path / "b" / "p1_x.py"])) == 2
    with pytest.raises(NothingFound, match="There is no"):
        found([tmp_path / "c"])


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "p1_key.py").write_text("")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "folder").symlink_to(tmp_path / "secret")
    (tmp_path / "in" / "p1_link.py").symlink_to(tmp_path / "secret" / "p1_key.py")
    with pytest.raises(NothingFound):
        found([tmp_path / "in"])


@pytest.fixture
def nested(tmp_path: Path) -> Iterator[Callable[[str, int], Path]]:
    """Makes folders in folders, deeper than a path can name."""

    def make_folders(name: str, levels: int) -> Path:
        folder = tmp_path / "in" / "mallory"
        folder.mkdir(parents=True)
        here = os.open(folder, os.O_RDONLY)
        for _ in range(levels):
            os.mkdir(name, dir_fd=here)
            inner = os.open(name, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
        os.close(os.open(f"p1_{'x' * 40}.py", os.O_WRONLY | os.O_CREAT, dir_fd=here))
        os.close(here)
        return folder.parent

    yield make_folders
    subprocess.run(["rm", "-rf", tmp_path / "in"], check=True)  # Python's own is too shallow for it


def test_folders_without_end_stop_nobody(nested: Callable[[str, int], Path]) -> None:
    folder = nested("ddd", 1100)
    put(folder, {"zoe/p1_x.py": ""})
    assert [work.student for work in found([folder])] == ["zoe"]


def test_a_path_that_is_too_long_costs_only_its_own_score(nested: Callable[[str, int], Path]) -> None:
    levels = 16
    folder = nested("d" * 200, levels)
    room = 4095 - len(str(folder / "mallory")) - levels * 201  # what the folder's own path leaves
    shutil.rmtree(folder)
    folder = nested("d" * (200 + room // levels), levels)
    (work,) = found([folder])
    assert len(str(work.paths[0])) > 4095 > len(str(work.paths[0].parent))
    for path in (work.paths[0], work.paths[0].with_suffix(".ipynb")):
        with pytest.raises(Unresolved):
            chosen(Work("mallory", "p1", (path,)))


@pytest.mark.parametrize("name", ["p1_naive_softmax", "a2_attention_in_pytorch"])
def test_the_courses_own_imports_are_not_the_students_fault(name: str, tmp_path: Path) -> None:
    """A notebook in which nothing is imported is judged by its kernel; who imports something else has meant it."""
    puzzle, text = catalog.load(name[:2]), (ROOT / "solutions" / f"{name}.py").read_text()
    kernel = "".join(line for line in text.splitlines(True) if not line.startswith(("import", "from")))
    path = tmp_path / f"{name}.ipynb"
    path.write_text(notebook(kernel))
    (handed_in,) = handed(path, puzzle)
    assert "imports" in handed_in.notes[-1]
    assert extract(handed_in.submission, puzzle.kernels).kernels
    line = next(number for number, one in enumerate(kernel.splitlines(), 1) if one.startswith("def "))
    at = handed_in.submission.text.split("\n").index(kernel.splitlines()[line - 1]) + 1
    assert handed_in.submission.place(at) == (1, line)  # lines are those of the student's own cell
    path.write_text(notebook(kernel.replace('"""', "import triton as tl\n", 1).replace('"""', "", 1)))
    assert not any("imports" in note for note in handed(path, puzzle)[0].notes)
