"""Teachers' pages are true: numbers are the lesson's, mistakes have these names, slides can be made."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from checker import catalog
from checker.check import Conditions
from checker.course import places
from tests.conftest import ROOT, check_changed, importable

TEACHING = ROOT / "docs" / "teaching"
NUMBER = re.compile(r"\d+\.\d+")


@pytest.mark.parametrize("puzzle_id", ["p3", "p6"])
def test_a_plan_says_what_lesson_and_judge_say(puzzle_id: str, quick: Conditions) -> None:
    page = (TEACHING / f"{puzzle_id}.md").read_text(encoding="utf-8")
    slides = (ROOT / "docs" / f"slides_{puzzle_id}.ipynb").read_text(encoding="utf-8")
    board = page.partition("## Live")[0] + re.sub(r"!\[[^\]]*\]", "", slides)
    assert {*NUMBER.findall(board)} <= {*NUMBER.findall(places.script(puzzle_id).read_text(encoding="utf-8"))}
    names = {one.id for one in catalog.load(puzzle_id).misconceptions}
    asked = page.partition("## Three questions")[2]
    assert len(re.findall(r"^\*\*\d\. ", asked, re.MULTILINE)) == 3
    said = re.findall(r"`([a-z]+(?:-[a-z]+)+)`", asked)
    assert len(said) >= 7 and {*said} <= names
    ((old, new),) = re.findall(r"```diff\n-(.*)\n\+(.*)\n```", page)
    (finding, *_) = check_changed(puzzle_id, old, new, quick).findings
    assert f"then names it: `{finding.id}`" in " ".join(page.split())


@pytest.mark.parametrize("puzzle_id", ["p3", "p6"])
def test_slides_are_made_with_their_figures_in_them(puzzle_id: str, tmp_path: Path) -> None:
    importable("nbconvert")
    page = " ".join((TEACHING / "README.md").read_text(encoding="utf-8").split())
    (typed,) = re.findall(r"\.venv/bin/jupyter (nbconvert .*?\.ipynb)", page)
    line = typed.replace("p3", puzzle_id).replace("--output-dir build", f"--output-dir {tmp_path}").split()
    subprocess.run([sys.executable, "-m", *line], cwd=ROOT, check=True, capture_output=True)
    made = (tmp_path / f"slides_{puzzle_id}.slides.html").read_text(encoding="utf-8")
    assert made.count("<section") > 10 and "figures/" not in made
    assert made.count('src="data:image/svg+xml;base64') == 2
