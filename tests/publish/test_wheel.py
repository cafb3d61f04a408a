"""The course as a package, installed in an environment of its own: with Triton, and without it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from checker.course import ladder, places
from checker.course.language import LANGUAGES
from checker.publish import hosted
from tests.conftest import ROOT, importable, need, ran
from tests.languages import IN_CHINESE


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "course"  # setuptools writes into the folder that it builds from
    ignored = shutil.ignore_patterns(".git", ".venv", "build", "tests", "*.egg-info", ".*_cache", "node_modules")
    shutil.copytree(ROOT, copy, ignore=ignored)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", folder, copy], check=True, capture_output=True)
    [made] = folder.glob("flash_puzzles-*.whl")
    return made


class Environment:
    """A virtual environment with the wheel, if one is given, and with most of what our own environment has."""

    def __init__(self, folder: Path, wheel: Path | None, *, hidden: tuple[str, ...]) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        self.bin = folder / "bin"
        [packages] = (folder / "lib").glob("python*/site-packages")
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if entry.suffix != ".pth" and not entry.name.startswith((*hidden, "flash_puzzles", "__editable__")):
                (packages / entry.name).symlink_to(entry)
        if wheel is not None:
            pip = [sys.executable, "-m", "pip", f"--python={self.bin / 'python'}", "install", "-q", "--no-deps"]
            subprocess.run([*pip, "--no-index", "--ignore-installed", wheel], check=True)

    def typed(self, *words: str | Path, cwd: Path, ends: int | None = None) -> subprocess.CompletedProcess[str]:
        path = f"{self.bin}:{os.environ['PATH']}"
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"PATH": path, "COLUMNS": "120"}
        return ran(*words, cwd=cwd, ends=ends, env=environment)


@pytest.fixture(scope="module")
def with_triton(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    name = "ven$v#1"  # make would read it otherwise
    return Environment(tmp_path_factory.mktemp("with") / name, wheel, hidden=("torch",))


@pytest.fixture(scope="module")
def without(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("without") / "venv", wheel, hidden=("torch", "triton"))


def test_it_holds_the_students_course_and_triton_with_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        [metadata] = (packed.read(name).decode() for name in names if name.endswith("/METADATA"))
    carried = [name.removeprefix("checker/carried/") for name in names if name.startswith("checker/carried/")]
    for puzzle_id, stem in ladder.stems().items():
        assert {f"course/puzzles/{stem}.py", f"course/notebooks/{ladder.numbered(puzzle_id)}.ipynb"} <= set(carried)
    assert {
        "course/Makefile",
        "course/README.md",
        "python/triton/language/core.py",
        "python/LICENSE-of-triton.txt",
    } <= set(carried)
    assert "checker/train/shakespeare.txt" in names
    assert not [name for name in names if name.startswith(("solutions", "tests")) or "/grading/" in name]
    assert 'Requires-Dist: triton<3.10,>=3.6; sys_platform == "linux"' in metadata


def test_from_an_empty_folder_to_the_first_verdict(with_triton: Environment, tmp_path: Path) -> None:
    done = with_triton.typed("flash-puzzles", "check", "1", cwd=tmp_path)
    assert done.returncode == 2 and "flash-puzzles init flash-puzzles" in done.stdout
    assert with_triton.typed("flash-puzzles", "init", "mine", cwd=tmp_path).returncode == 0
    mine = tmp_path / "mine"
    done = with_triton.typed("flash-puzzles", "check", "1", cwd=mine / "docs")  # from anywhere in it
    assert done.returncode == 4 and "not started" in done.stdout
    shutil.copy(ROOT / "solutions" / "p1_naive_softmax.py", mine / "puzzles")
    need("make")
    done = with_triton.typed("make", "check", "PUZZLE=1", cwd=mine)
    assert done.returncode == 0 and "accepted  100/100" in done.stdout, done
    done = with_triton.typed("./check", "p2", cwd=mine)
    assert done.returncode == 4 and "\n  ./check p2\n" in done.stdout, done
    assert "solved" in (mine / "progress.txt").read_text()
    assert with_triton.typed("flash-puzzles", "hint", "1", cwd=mine).returncode == 0
    assert not (mine / "checker").exists() and not (mine / ".venv").exists()


def test_an_upgrade_keeps_what_is_the_learners(with_triton: Environment, tmp_path: Path) -> None:
    assert with_triton.typed("flash-puzzles", "init", ".", cwd=tmp_path).returncode == 0
    puzzle, readme = tmp_path / "puzzles" / "p1_naive_softmax.py", tmp_path / "README.md"
    new = readme.read_text()
    puzzle.write_text("mine")
    readme.write_text("notes of mine")
    renamed, in_chinese = (places.notebook("p1", tmp_path, language) for language in LANGUAGES)
    for path in (renamed, in_chinese):
        path.write_text(f"my notebook in {path.parent.name}")
        path.rename(path.with_name("p1_naive_softmax.ipynb"))  # as it was called once
    (tmp_path / "notebooks" / "17_p2_safe_softmax.ipynb").write_text("a copy of mine")
    (tmp_path / "LICENSE").unlink()
    done = with_triton.typed("flash-puzzles", "init", ".", cwd=tmp_path)
    there = 2 * len(ladder.stems()) + 1 + 2 * len(IN_CHINESE) + 1
    assert f"1 file added. {there} puzzles and notebooks were there" in done.stdout
    assert "Your old README.md was saved as README.md.bak" in done.stdout
    assert "Your notebooks/p1_naive_softmax.ipynb is now called 02_p1_naive_softmax.ipynb." in done.stdout
    for path in (renamed, in_chinese):
        assert path.read_text() == f"my notebook in {path.parent.name}" and len([*path.parent.glob("*p1*.ipynb")]) == 1
    assert (tmp_path / "notebooks" / "17_p2_safe_softmax.ipynb").read_text() == "a copy of mine"
    assert puzzle.read_text() == "mine" and readme.read_text() == new
    assert (tmp_path / "README.md.bak").read_text() == "notes of mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "Makefile").write_text("all:")
    done = with_triton.typed("flash-puzzles", "init", "other", cwd=tmp_path)
    assert done.returncode == 2 and "other files" in done.stderr and (other / "Makefile").read_text() == "all:"
    (tmp_path / "file").touch()
    done = with_triton.typed("flash-puzzles", "init", "file/folder", cwd=tmp_path)
    assert done.returncode == 2 and "cannot be written" in done.stderr and "Traceback" not in done.stderr


def test_without_triton_kernels_are_checked_all_the_same(without: Environment, tmp_path: Path) -> None:
    assert without.typed("flash-puzzles", "init", ".", cwd=tmp_path).returncode == 0
    shutil.copy(ROOT / "solutions" / "p5_flash_attention_1.py", tmp_path / "puzzles")
    done = without.typed("flash-puzzles", "check", "p5", cwd=tmp_path)
    assert done.returncode == 0 and "accepted  100/100" in done.stdout, done
    assert "without Triton: no compile step, one process, no memory limit." in done.stdout
    done = without.typed("flash-puzzles", "doctor", cwd=tmp_path)
    assert "only its Python files" in done.stdout and done.returncode == 0
    need("make")
    assert without.typed("make", "check", "PUZZLE=p5", cwd=tmp_path).returncode == 0
    done = without.typed("flash-puzzles", "check", cwd=tmp_path)
    assert done.stderr.startswith(
        "Left out: a2, a4, c1. Puzzles in PyTorch are checked on Linux only, without LIGHT=1."
    )
    guessed = without.typed("flash-puzzles", "predict", "p5", "k_reads=4", cwd=tmp_path)
    assert guessed.returncode == 0 and "You said 4" in guessed.stdout
    done = without.typed("flash-puzzles", "check", "p5", "--key", "autumn", cwd=tmp_path)
    assert done.returncode == 2 and "only practice" in done.stdout
    done = without.typed("flash-puzzles", "check", "a2", cwd=tmp_path)
    assert done.returncode == 2 and "Traceback" not in done.stderr


IN_A_NOTEBOOK = """
import sys, nbclient, nbformat
book = nbformat.read(sys.argv[1], 4)
[install] = (cell for cell in book.cells if cell.id == "install")
if sys.argv[2:]:
    install.source = install.source.replace(install.source.rpartition("-q ")[2], f"--no-deps --no-index {sys.argv[2]}")
nbclient.NotebookClient(book, timeout=300).execute()
print(*(out.data["text/plain"] for cell in book.cells for out in cell.get("outputs", []) if "data" in out))
"""


@pytest.mark.parametrize("there", [True, False], ids=["is there", "is installed"])
def test_a_hosted_notebook_needs_its_first_cell_only(
    there: bool, wheel: Path, with_triton: Environment, tmp_path: Path
) -> None:
    """Far from any folder of the course, as on Colab; where the course is there already, nothing is installed."""
    importable("nbclient")
    nbformat = importable("nbformat")
    environment = with_triton if there else Environment(tmp_path / "venv", None, hidden=("torch",))
    lesson = (ROOT / "solutions" / "p1_naive_softmax.py").read_text()
    book = nbformat.reads(places.notebook("p1").read_text(), 4)
    [kernel] = (cell for cell in book.cells if "def naive_softmax_kernel" in cell.source)
    kernel.source = lesson[lesson.index("@triton.jit") :]
    book.cells.append(nbformat.v4.new_code_cell('from checker.notebook import hint\nhint("p1")', id="asks"))
    notebook = tmp_path / "colab.ipynb"
    nbformat.write(book, notebook)
    address = [] if there else [wheel]
    done = environment.typed(environment.bin / "python", "-c", IN_A_NOTEBOOK, notebook, *address, cwd=tmp_path, ends=0)
    assert "accepted  100/100" in done.stdout and "hint 1 of 3" in done.stdout.lower()
    assert (environment.bin / "flash-puzzles").exists()
    assert hosted.WHEEL.endswith(f"/{wheel.name}")
