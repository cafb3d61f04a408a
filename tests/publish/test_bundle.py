"""The students' archive: everything that checking needs, and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.lesson import with_stubs
from checker.course.status import Misuse
from checker.learner import stub
from checker.publish import bundle
from tests.conftest import ROOT, need, ran


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "b.tar.gz"
    bundle.write(path)
    return path


@pytest.fixture
def unpacked(archive: Path, tmp_path: Path) -> Path:
    shutil.unpack_archive(archive, tmp_path)
    return tmp_path / bundle.NAME


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    need("make")
    return ran("make", *arguments, f"VENV={sys.prefix}", cwd=folder, env=os.environ)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The files that it is made of, elsewhere."""
    folder = tmp_path / "copy"
    for name in ("checker", "puzzles", "docs", "benchmarks/results"):
        shutil.copytree(ROOT / name, folder / name)
    for name in (*bundle.TOP, "README.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


def test_the_same_files_give_the_same_bytes(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another place, at another time, with files of another age."""
    bundle.write(tmp_path / "1", ROOT)
    for path in copy.rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(time, "time", lambda: 1e9)
    bundle.write(tmp_path / "2", copy)
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_no_solution_no_test_no_key_is_in_it(unpacked: Path) -> None:
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert not [
        name
        for name in names
        if re.search(r"solutions/|tests/|grad(e|ing)|similar|viva|questions|\.key|instructor|\.pyc", name)
    ]
    solution = (ROOT / "solutions" / "p1_naive_softmax.py").read_text().strip().split("\n")[-1].strip()
    assert not [
        name for name in names if name.startswith(("puzzles", "notebooks")) and solution in text(unpacked / name)
    ]
    for puzzle_id, stem in ladder.stems().items():
        assert {f"puzzles/{stem}.py", f"notebooks/{ladder.numbered(puzzle_id)}.ipynb"} <= names
    assert {
        "check",
        ".vscode/tasks.json",
        "notebooks/00_start_here.ipynb",
        "checker/notebook/lab/labconfig/page_config.json",
    } <= names


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def test_a_stub_that_an_author_has_filled_in_is_empty_again(copy: Path) -> None:
    lesson = copy / "puzzles" / "p1_naive_softmax.py"
    mark = re.search(r"    # FILL IN.*\n", lesson.read_text())
    if mark is None:
        pytest.skip("the stub has been filled in, and its FILL IN mark is gone")
    lesson.write_text(lesson.read_text().replace(mark[0], f"{mark[0]}    secret = 1\n"))
    assert not [name for name, (data, _) in bundle.contents(copy).items() if b"secret = 1" in data]


def test_the_solution_with_holes_goes_to_nobody(copy: Path) -> None:
    lesson, holes = copy / "puzzles" / "p1_naive_softmax.py", stub.shipped(catalog.load("p1"), stub.HOLES)
    lesson.write_text(with_stubs(lesson.read_text(), holes) or "")
    with pytest.raises(Misuse, match="make reset PUZZLE=p1"):
        bundle.contents(copy)


def pages(unpacked: Path) -> list[Path]:
    """Those that people open; what reports say is in Markdown, too."""
    return sorted(path for path in unpacked.rglob("*.md") if not path.is_relative_to(unpacked / "checker"))


def test_its_links_lead_somewhere(unpacked: Path) -> None:
    assert {"README.md", "AGENTS.md", "guide.md", "gpu.md", "sources.md"} <= {page.name for page in pages(unpacked)}
    for page in [*pages(unpacked), *unpacked.glob("puzzles/*.py")]:
        said = text(page)
        for target in re.findall(r"\]\(([^)\s]+)\)", said) + re.findall(r'<img src="([^"]*)"', said):
            if (
                "." in target and "://" not in target and not target.startswith("#")
            ):  # `kernel[grid](arguments)` is code
                assert (page.parent / target.partition("#")[0]).exists(), f"{page.name}: {target}"
    for page in (unpacked / "README.md", unpacked / "docs" / "guide.md"):
        assert "nstructors" not in text(page) and "full course" not in text(page)
        assert not re.search(r"solutions/|make solution", text(page))


def targets_of(makefile: Path) -> set[str]:
    return set(re.findall(r"^([a-z-]+):.*##", makefile.read_text(), re.MULTILINE))


def test_it_speaks_of_no_command_that_is_not_there(unpacked: Path) -> None:
    """`make test` would install 1.5 GB, and find no test."""
    need("make")
    targets, instructors = targets_of(unpacked / "Makefile"), targets_of(ROOT / "instructor.mk")
    assert {"check", "lab", "doctor", "clean"} <= targets
    assert not instructors & targets and "grade" in instructors
    for page in pages(unpacked):
        in_code = re.findall(r"`[^`\n]+`|^```\n.*?^```", text(page), re.MULTILINE | re.DOTALL)
        assert {target for code in in_code for target in re.findall(r"\bmake ([a-z-]+)", code)} <= targets, page.name
    assert make(unpacked, "help").returncode == 0 and make(unpacked, "test").returncode == 2
    guide, readme = text(unpacked / "docs" / "guide.md"), text(unpacked / "README.md")
    assert "`make trace PUZZLE=p5` draws" in guide and "known misconceptions" in guide and "[MIT licence]" in readme
    assert ".devcontainer" not in guide or (unpacked / ".devcontainer" / "devcontainer.json").exists()


def test_it_checks_without_make_being_typed(unpacked: Path) -> None:
    done = ran("./check", "p1", cwd=unpacked, env={**os.environ, "VENV": sys.prefix})
    assert (done.returncode, done.stderr) == (4, "") and "\n  ./check p1\n" in done.stdout


def test_its_doctor_speaks_of_nothing_that_students_cannot_do(unpacked: Path) -> None:
    done = make(unpacked, "doctor")
    assert (done.returncode, done.stderr) == (0, "") and "✓ Kernels can be checked here." in done.stdout
    assert not re.search(r"grad|bubblewrap|nbgrader|exchange|cage", done.stdout)


def test_its_guide_has_every_command(unpacked: Path) -> None:
    """Those for students stand in its first table."""
    typed = set(re.findall(r"^\| `make ?([a-z-]*)", text(unpacked / "docs" / "guide.md"), re.MULTILINE))
    assert typed - {""} == targets_of(unpacked / "Makefile") - {"help", "check"}  # that is ./check


def test_coding_assistants_are_told_to_be_tutors(unpacked: Path) -> None:
    """In words that hold in the archive: each file, folder and section that is named is there."""
    rules = text(unpacked / "AGENTS.md")
    assert rules.count("\n") <= 40
    named = re.findall(r"`((?:puzzles|notebooks|docs|checker)/[^`]*)`", rules)
    assert {"puzzles/", "notebooks/", "docs/guide.md"} <= set(named)
    assert not [name for name in named if not (unpacked / name).exists()]
    lesson = text(unpacked / "puzzles" / "p1_naive_softmax.py")
    sections = [words for words in re.findall(r"\*(\w[^*\n]*\w)\*", rules) if words != "another"]
    assert sections and not [section for section in sections if f"## {section}" not in lesson]
    assert not (ROOT / "AGENTS.md").exists()  # there it would bind whoever works on the course itself


def test_a_student_can_check_with_it(unpacked: Path) -> None:
    done = make(unpacked, "check", "PUZZLE=1")
    assert done.returncode == 0 and "not started" in done.stdout, done.stderr
    shutil.copy(ROOT / "solutions" / "p1_naive_softmax.py", unpacked / "puzzles")
    done = make(unpacked, "check", "PUZZLE=1")
    assert done.returncode == 0 and "accepted" in done.stdout, done.stderr


def test_its_hints_promise_no_solution(unpacked: Path) -> None:
    for _ in range(4):
        done = make(unpacked, "hint", "PUZZLE=1")
        assert done.returncode == 0 and "solution" not in done.stdout.replace("the solution's comments", ""), (
            done.stdout
        )
    assert "You have seen all 3 hints" in done.stdout


def test_it_has_no_instructors_part_and_says_so(unpacked: Path) -> None:
    done = ran(sys.executable, "-m", "checker", "course", cwd=unpacked, ends=2, env={"PATH": ""})
    assert "no instructor's part" in done.stderr and "Traceback" not in done.stderr


def test_what_is_called_a_zip_is_one(archive: Path, tmp_path: Path) -> None:
    bundle.write(tmp_path / "b.zip")
    for kind, path in (("gztar", archive), ("zip", tmp_path / "b.zip")):
        shutil.unpack_archive(path, tmp_path / kind, kind)
    names = [
        sorted(one.relative_to(tmp_path / kind) for one in (tmp_path / kind).rglob("*")) for kind in ("gztar", "zip")
    ]
    assert names[0] == names[1]
    assert all(
        (tmp_path / "gztar" / n).read_bytes() == (tmp_path / "zip" / n).read_bytes() for n in names[0] if n.suffix
    )
