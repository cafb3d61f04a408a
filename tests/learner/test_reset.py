"""Back to the stub, from whatever a learner has made of it, without ever losing a word."""

from __future__ import annotations

import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checker import catalog
from checker.check import check, started
from checker.course import ladder, places
from checker.course.language import LANGUAGES
from checker.course.lesson import as_lesson, notebook_text, script_text, span, with_figures
from checker.learner import stub
from checker.submission.read import from_cells, from_file
from tests.conftest import ROOT
from tests.learner.conftest import STEMS, Course, solution_text, solved, stub_text

STUB = stub_text("p1")
NOTEBOOK = (ROOT / "notebooks" / f"{ladder.numbered('p1')}.ipynb").read_text()
every_puzzle = pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
SHIPPED = [(id, code) for code in LANGUAGES for id in STEMS if places.notebook(id, ROOT, code).exists()]


def notebook_of(text: str, puzzle_id: str) -> str:
    return notebook_text(text, catalog.load(puzzle_id))


@every_puzzle
def test_a_notebooks_cells_make_the_puzzle_file_again(puzzle_id: str) -> None:
    """Its links and its figures, too."""
    cells = json.loads(with_figures(notebook_of(stub_text(puzzle_id), puzzle_id), places.figures()))["cells"]
    figures = "docs/figures/" in stub_text(puzzle_id)
    assert any("attachment:" in cell["source"] for cell in cells) == figures
    assert script_text([(cell["cell_type"], as_lesson(cell)) for cell in cells]) == stub_text(puzzle_id)


@every_puzzle
def test_files_without_their_marks_are_stubs_again(puzzle_id: str, course: Course) -> None:
    course.script(puzzle_id).write_text(solved(puzzle_id))
    course.notebook(puzzle_id).write_text(notebook_of(solved(puzzle_id), puzzle_id))
    done = course.run("reset", puzzle_id)
    assert (done.returncode, done.stderr) == (0, "")
    assert course.script(puzzle_id).read_text() == stub_text(puzzle_id)
    assert course.notebook(puzzle_id).read_text() == notebook_of(stub_text(puzzle_id), puzzle_id)
    assert course.script(puzzle_id).with_name(f"{STEMS[puzzle_id]}.py.bak").read_text() == solved(puzzle_id)


DAMAGES = {
    "the solution copied over it": lambda text: solution_text("p1"),
    "empty": lambda text: "",
    "not Python": lambda text: text.replace("    # FILL IN", "    x = (1,\n    y = )\n    # FILL IN"),
    "not Python below the mark": lambda text: text.replace("lines)\n", "lines)\n    x = (1,\n    y = )\n", 1),
    "no function any more": lambda text: text.replace("def naive_softmax_kernel", "def my_kernel"),
    "twice": lambda text: text + "\n# %%\n@triton.jit\ndef naive_softmax_kernel(x):\n    pass\n",
    "another signature": lambda text: text.replace("n_cols, BLOCK_SIZE: tl.constexpr", "BLOCK_SIZE: tl.constexpr", 1),
    "import gone": lambda text: text.replace("import triton.language as tl\n", ""),
    "line above the mark": lambda text: text.replace("    # FILL IN", "    mask = cols < n_cols\n    # FILL IN"),
    "a forbidden line above the mark": lambda text: text.replace("    # FILL IN", "    y = x.item()\n    # FILL IN"),
    "everything above the mark": lambda text: text.replace(
        "    # FILL IN", "    tl.store(y_ptr, tl.load(x_ptr))\n\n    # FILL IN"
    ),
    "mark kept, comment far below": lambda text: text.replace(
        "lines)\n", "lines)\n    x = 1\n\n\n    # why\n# col 0\n    y = 2\n", 1
    ),
    "a shell's line, as in a notebook": lambda text: text.replace("# %%\nimport", "# %%\n!pip list\nimport"),
    "zero bytes": lambda text: "\0" * 100,
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGES)
def test_whatever_it_has_become_the_notebook_brings_it_back(name: str, course: Course) -> None:
    damaged = DAMAGES[name](STUB)
    course.script("p1").write_text(damaged)
    done = course.run("reset", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert course.script("p1").read_text() == STUB
    assert course.script("p1").with_name(f"{STEMS['p1']}.py.bak").read_text() == damaged
    assert not course.notebook("p1").with_name(f"{ladder.numbered('p1')}.ipynb.bak").exists()


@pytest.mark.parametrize("name", sorted(DAMAGES.keys() - {"a shell's line, as in a notebook"}))
def test_whatever_the_notebook_has_become_the_file_brings_it_back(name: str, course: Course) -> None:
    before = DAMAGES[name](STUB)
    damaged = before if name in ("empty", "zero bytes") else notebook_of(before, "p1")
    course.notebook("p1").write_text(damaged)
    done = course.run("reset", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert course.script("p1").read_text() == STUB
    assert json.loads(course.notebook("p1").read_text()) == json.loads(notebook_of(STUB, "p1"))
    assert course.notebook("p1").with_name(f"{ladder.numbered('p1')}.ipynb.bak").read_text() == damaged


def test_a_missing_file_comes_back(course: Course) -> None:
    course.script("p1").unlink()
    assert course.run("reset", "1").returncode == 0
    assert course.script("p1").read_text() == STUB
    course.notebook("p1").unlink()
    assert course.run("reset", "1", "--file", f"notebooks/{ladder.numbered('p1')}.ipynb").returncode == 0
    assert course.notebook("p1").read_text() == notebook_of(STUB, "p1")


@pytest.mark.parametrize(("puzzle_id", "language"), SHIPPED)
def test_a_notebook_as_it_is_shipped_brings_the_file_back(puzzle_id: str, language: str, tmp_path: Path) -> None:
    notebook, script = (place(puzzle_id, tmp_path, language) for place in (places.notebook, places.script))
    notebook.parent.mkdir(parents=True)
    notebook.write_bytes(places.notebook(puzzle_id, ROOT, language).read_bytes())
    made, shipped = stub.planned(puzzle_id, script, tmp_path).after.decode(), places.script(puzzle_id, ROOT, language)
    assert "".join(made.split()).replace("#", "") == "".join(shipped.read_text("utf-8").split()).replace("#", "")


@pytest.mark.parametrize("gone", ["the lesson", "the stubs"])
def test_without_a_lesson_or_stubs_nothing_is_changed(gone: str, course: Course) -> None:
    if gone == "the lesson":
        course.script("p1").write_text("# nothing is left\n")
        course.notebook("p1").write_text("{}")
    else:
        (course.root / "checker" / "learner" / "stubs" / f"{STEMS['p1']}.py").unlink()
    before = course.script("p1").read_text()
    done = course.run("reset", "1")
    assert (done.returncode, done.stdout) == (2, "") and "Nothing was changed" in done.stderr
    assert course.script("p1").read_text() == before
    assert list(course.root.rglob("*.bak*")) == []


# More help: the stub with the solution's comments, and the solution with holes.


@pytest.mark.finished
@every_puzzle
def test_with_comments_the_stub_is_no_other_code(puzzle_id: str) -> None:
    """They are all that stand in the solution on lines of their own, as deep as there."""
    puzzle, solution = catalog.load(puzzle_id), solution_text(puzzle_id).split("\n")
    stubs = stub.shipped(puzzle)
    for name, text in stub.shipped(puzzle, stub.COMMENTS).items():
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(stubs[name]))
        added = [line for line in text.split("\n") if line and line not in stubs[name].split("\n")]
        body = [solution[n] for n in span(solution, name) or ()]
        assert added == [line for line in body if line.lstrip().startswith("#")] != []


@every_puzzle
def test_with_the_solutions_lines_the_holes_are_the_solution(puzzle_id: str) -> None:
    """Each kernel has two at least, and none is another one's copy or the stub's. A hole is refused as one."""
    puzzle, solution = catalog.load(puzzle_id), re.sub(r"\bBLOCK\b", "64", solution_text(puzzle_id)).split("\n")
    for name, text in stub.shipped(puzzle, stub.HOLES).items():
        body = [solution[n] for n in span(solution, name) or ()]
        pairs = list(zip(text.split("\n"), body, strict=True))
        filled = [line if holed.endswith(" = ...") else holed for holed, line in pairs]
        assert ast.dump(ast.parse("\n".join(filled))) == ast.dump(ast.parse("\n".join(body)))
        holes = [line for holed, line in pairs if holed.endswith(" = ...")]
        assert 2 <= len(holes) <= len(body) / 4
        assert not {*holes} & {*stub.shipped(puzzle)[name].split("\n")}
        assert all(body.count(line) == 1 for line in holes)
    code = "\n\n\n".join([solution_text(puzzle_id).split("\n\n\n")[0], *stub.shipped(puzzle, stub.HOLES).values()])
    assert check(puzzle_id, from_cells([("code", code)], "", numbered=False)).verdict.findings[0].id == "hole"


def test_each_level_of_help_in_turn(course: Course) -> None:
    """What was there is kept, and progress remembers the highest."""
    course.script("p3").write_text(solved("p3"))
    done = course.run("reset", "p3", "--level", "1")
    assert (done.returncode, done.stdout.count("is now the stub with the solution's comments.")) == (0, 2)
    assert course.script("p3").with_name(f"{STEMS['p3']}.py.bak").read_text() == solved("p3")
    for text in (course.script("p3").read_text(), json.loads(course.notebook("p3").read_text())["cells"]):
        assert "    # Pass 2: the result." in str(text) and "m_new" not in str(text).partition("## Hints")[0][-900:]
    assert course.run("check", "p3").returncode == 4
    assert course.run("reset", "p3", "--level", "2").returncode == 0
    done = course.run("check", "p3")
    assert done.returncode == 1 and "This line is a hole." in done.stdout and "shift = ..." in done.stdout
    filled = course.script("p3").read_text()
    for hole in ("shift", "l"):
        line = next(line for line in solution_text("p3").split("\n") if line.startswith(f"        {hole} = "))
        filled = filled.replace(f"        {hole} = ...", line)
    course.script("p3").write_text(filled)
    assert course.run("check", "p3").returncode == 0
    assert course.run("reset", "p3").returncode == 0
    assert course.script("p3").read_text() == stub_text("p3")
    assert ", helped at level 2" in course.progress
    assert "0 of 3, help 2" in course.run("progress").stdout


def test_a_students_copy_has_the_comments_and_no_holes(course: Course) -> None:
    shutil.rmtree(course.root / "solutions")
    before = course.script("p3").read_text()
    for level, sentence in (("2", "needs the solution of puzzle p3"), ("3", "HELP is 1 or 2, and not 3.")):
        done = course.run("reset", "p3", "--level", level)
        assert (done.returncode, done.stdout) == (2, "") and sentence in done.stderr
    assert (course.script("p3").read_text(), course.progress) == (before, "")
    assert course.run("reset", "p3", "--level", "1").returncode == 0
    assert course.progress == "puzzle p3: not solved, helped at level 1\n"


def test_a_stub_is_left_as_it_is(course: Course) -> None:
    notebook = json.loads(NOTEBOOK)
    notebook["cells"][1]["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "a result"}]
    course.notebook("p1").write_text(json.dumps(notebook))  # results and another layout are no change

    def written() -> list[tuple[int, int]]:
        return [(path.stat().st_ino, path.stat().st_mtime_ns) for path in (course.script("p1"), course.notebook("p1"))]

    before = written()
    done = course.run("reset", "1")
    assert (done.returncode, done.stdout.count("is the stub already")) == (0, 2)
    assert written() == before
    assert list(course.root.rglob("*.bak*")) == []


def test_backups_are_numbered_and_never_overwritten(course: Course) -> None:
    path = course.script("p1")
    for turn, name in enumerate(["bak", "bak2", "bak3"]):
        path.write_text(STUB.replace("lines)\n", f"lines)\n    x = {turn}\n", 1))
        course.run("reset", "1")
        assert f"x = {turn}" in path.with_name(f"{path.name}.{name}").read_text()
    assert "x = 0" in path.with_name(f"{path.name}.bak").read_text()


def test_only_the_kernels_are_emptied(course: Course) -> None:
    """Notes, tests and experiments of one's own stay; a notebook's results go."""
    mine = "\n# my notes\n\ndef my_test():\n    return 1\n"
    course.script("p1").write_text(STUB.replace("lines)\n", "lines)\n    x = 1\n", 1) + mine)
    notebook = json.loads(NOTEBOOK)
    kernel = next(cell for cell in notebook["cells"] if "def naive_softmax_kernel" in cell["source"])
    kernel["source"] += "\n    x = 1"
    kernel["source"] = kernel["source"].splitlines(keepends=True)  # as Jupyter writes it
    kernel |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": "old"}], "execution_count": 7}
    notebook["cells"].append({"cell_type": "markdown", "id": "mine", "metadata": {}, "source": ["my ", "notes"]})
    notebook["metadata"]["mine"] = "kept"
    course.notebook("p1").write_text(json.dumps(notebook))
    assert course.run("reset", "1").returncode == 0
    assert course.script("p1").read_text() == STUB + mine
    after = json.loads(course.notebook("p1").read_text())
    assert after["cells"][:-1] == json.loads(NOTEBOOK)["cells"]
    assert (after["cells"][-1], after["metadata"]["mine"]) == (notebook["cells"][-1], "kept")


def test_one_of_the_two_if_it_is_named(course: Course) -> None:
    for path in (course.script("p1"), course.notebook("p1")):
        path.write_text(path.read_text().replace("FILL IN (roughly 5 lines)", "FILL IN\\n    x = 1" if path.suffix == ".ipynb" else "FILL IN\n    x = 1"))  # fmt: skip  # noqa: E501
    filled = course.notebook("p1").read_text()
    course.run("reset", "1", "--file", f"../puzzles/{STEMS['p1']}.py", cwd=course.root / "notebooks", ends=0)
    assert course.notebook("p1").read_text() == filled
    assert "x = 1" not in course.script("p1").read_text()


def test_a_course_without_notebooks_has_only_files(course: Course) -> None:
    shutil.rmtree(course.root / "notebooks")
    course.script("p1").write_text(STUB.replace("lines)\n", "lines)\n    x = 1\n", 1))
    done = course.run("reset", "1")
    assert (done.returncode, done.stdout.count("stub")) == (0, 1)
    assert course.script("p1").read_text() == STUB


def test_links_permissions_and_line_ends_stay(course: Course) -> None:
    path, real = course.script("p1"), course.root / "elsewhere.py"
    filled = STUB.replace("lines)\n", "lines)\n    x = 1\n", 1).replace("\n", "\r\n").encode()
    real.write_bytes(filled)
    real.chmod(0o640)
    path.unlink()
    path.symlink_to(real)
    assert course.run("reset", "1").returncode == 0
    assert path.is_symlink() and real.stat().st_mode & 0o777 == 0o640
    assert real.read_bytes() == STUB.replace("\n", "\r\n").encode()
    assert path.with_name(f"{path.name}.bak").read_bytes() == filled


@pytest.mark.parametrize("what", ["read-only folder", "a folder in its place"])
def test_what_cannot_be_written_is_a_sentence(what: str, course: Course) -> None:
    course.script("p1").write_text(solved("p1"))
    if what == "read-only folder":
        course.script("p1").parent.chmod(0o555)
    else:
        course.script("p1").unlink()
        course.script("p1").mkdir()
    done = course.run("reset", "1")
    course.script("p1").parent.chmod(0o755)
    assert done.returncode == 2 and "Nothing is lost" in done.stderr
    assert course.script("p1").is_dir() or course.script("p1").read_text() == solved("p1")


PIECES = st.sampled_from(STUB.split("\n")) | st.sampled_from(solution_text("p1").split("\n"))
TEXT = st.one_of(
    st.binary(max_size=200),
    st.text(max_size=200).map(lambda t: t.encode("utf-8", "replace")),
    st.lists(PIECES | st.text(max_size=20), max_size=60).map(lambda lines: "\n".join(lines).encode("utf-8", "replace")),
    st.builds(
        lambda at, lines, gone: "\n".join([*STUB.split("\n")[: at % 200], *lines, *STUB.split("\n")[at % 200 + gone :]]).encode("utf-8", "replace"),  # noqa: E501
        st.integers(80, 100) | st.integers(0, 199),
        st.lists(PIECES | st.text(max_size=20) | st.text(max_size=20).map("    {}".format), max_size=5),
        st.integers(0, 5),
    ),
)  # fmt: skip
CELL = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", "raw", 3]), "source": st.text(max_size=40) | st.lists(PIECES, max_size=9) | st.none()},  # noqa: E501
    optional={"outputs": st.just([{}])},
)  # fmt: skip
BOOK = TEXT | st.just(NOTEBOOK.encode()) | st.builds(
    lambda cells, at: json.dumps({**json.loads(NOTEBOOK), "cells": [*json.loads(NOTEBOOK)["cells"][:at], *cells, *json.loads(NOTEBOOK)["cells"][at:]]}).encode(),  # noqa: E501
    st.lists(CELL, max_size=3), st.integers(0, 8),
)  # fmt: skip


@settings(max_examples=200)
@given(script=TEXT, notebook=BOOK, of_notebook=st.booleans())
def test_no_text_is_ever_lost(script: bytes, notebook: bytes, of_notebook: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        paths = [root / "puzzles" / f"{STEMS['p1']}.py", root / "notebooks" / f"{ladder.numbered('p1')}.ipynb"]
        for path, content in zip(paths, (script, notebook), strict=True):
            path.parent.mkdir()
            path.write_bytes(content)
        path, before = paths[of_notebook], (script, notebook)[of_notebook]
        try:
            plan = stub.planned("p1", path, root)
        except stub.NoStub:
            assert path.read_bytes() == before
            assert list(root.rglob("*.bak*")) == []
            return
        if plan.needed:
            backup = stub.carry_out(plan)
            assert backup and backup.read_bytes() == before
        assert path.read_bytes() == plan.after
        assert not started("p1", from_file(path))
        assert not stub.planned("p1", path, root).needed  # once is enough


LOOP = """
import sys
from pathlib import Path
from checker.learner import stub
from checker.course.saving import replace_whole

root, path, filled = Path(sys.argv[1]), Path(sys.argv[2]), sys.stdin.read()
for turn in range(10_000):
    text = filled.replace("lines)\\n", f"lines)\\n    x = {turn}\\n", 1)
    replace_whole(path, text.encode())
    print(turn, flush=True)
    stub.carry_out(stub.Reset(path, text.encode(), filled.encode()))
"""


def test_whenever_it_is_killed_every_text_is_in_the_file_or_in_a_backup(tmp_path: Path) -> None:
    """A real kill at any moment, here of a process that fills in and resets without a pause."""
    for turn in range(10):
        folder = tmp_path / str(turn)
        folder.mkdir()
        path = folder / "puzzle.py"
        child = subprocess.Popen(
            [sys.executable, "-c", LOOP, str(folder), str(path)],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert child.stdin and child.stdout
        child.stdin.write(STUB)
        child.stdin.close()
        child.stdout.readline()
        time.sleep(random.uniform(0.0, 0.3))
        child.kill()
        saved = [0, *map(int, child.stdout.read().split())]
        child.wait()
        found = [path.read_text(), *(p.read_text() for p in folder.glob("puzzle.py.bak*"))]
        assert found[0] == STUB or f"    x = {saved[-1]}\n" in found[0] or f"    x = {saved[-1] + 1}\n" in found[0]
        for turn in saved:
            assert any(f"    x = {turn}\n" in text for text in found), turn


def test_a_save_in_between_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "puzzle.py"
    path.write_text("saved by an editor just now")
    with pytest.raises(stub.Changed, match="try again"):
        stub.carry_out(stub.Reset(path, b"as it was read", b"the stub"))
    assert path.read_text() == "saved by an editor just now"
    assert [p.name for p in tmp_path.iterdir()] == ["puzzle.py"]


def test_reset_does_not_unsolve(course: Course) -> None:
    (course.root / "progress.txt").write_text("puzzle p1: solved 2025-01-01 10:00\n")
    course.script("p1").write_text(solved("p1"))
    course.run("reset", "1")
    assert course.progress == "" and "solved" in (course.root / "progress.txt").read_text()
