"""A teacher's page: all ideas of a puzzle and all of its wrong kernels are on it, each once."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from checker import catalog
from checker.course import ladder
from checker.course.edits import code_of
from checker.publish.ideas import page
from tests.conftest import ROOT, typed
from tests.kernels import kernels, named


@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
def test_every_idea_and_every_wrong_kernel_is_on_the_page(puzzle_id: str) -> None:
    text = page(puzzle_id)
    for one in catalog.load(puzzle_id).misconceptions:
        assert text.count(f"\n## {one.id}\n") == 1
        assert f"**{one.title}.** {one.explanation}\n" in text and f"*Hint:* {one.hint}\n" in text
    for kernel in (one for one in kernels("wrong") if one.puzzle == puzzle_id):
        above, _, below = text.partition(f"\n`{kernel.name}`: ")
        assert below and f"\n`{kernel.name}`: " not in below
        heading = re.findall(r"^## (.+)$", above, re.MULTILINE)[-1]
        assert heading in (kernel.findings[0], "What any kernel may do wrong")


def test_a_kernel_is_shown_as_what_it_changes() -> None:
    _, _, below = page("p6").partition("`p6_scale_missing`: ")
    gone, new = (re.findall(rf"^\{sign}(.*)$", below.partition("\n```\n")[0], re.MULTILINE) for sign in "-+")
    solution = code_of((ROOT / "solutions" / "p6_flash_attention_2.py").read_text(encoding="utf-8"))
    assert gone and all(line in solution.split("\n") for line in gone)
    assert new and all(line in named("p6_scale_missing").text.split("\n") for line in new)


def test_a_copy_without_wrong_kernels_says_so(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "checker", tmp_path / "checker", ignore=shutil.ignore_patterns("__pycache__"))
    done = typed("ideas", "p3", cwd=tmp_path, root=tmp_path)
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("This copy of the course has no wrong kernels of puzzle p3: ")
    done = typed("ideas", "w1", cwd=ROOT)
    assert done.returncode == 0 and done.stdout.startswith("# Puzzle w1, ")
