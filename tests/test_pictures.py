"""The README's pictures: made by the project's own commands, up to date, and to be read on any page."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from checker.check import check
from checker.publish import build, pictures
from checker.submission.read import from_cells
from tests.colours import contrast
from tests.conftest import ROOT, SOLUTION, importable

FIGURES = ROOT / "docs" / "figures"
STALE = "run: python -m checker build"
MOST_BYTES = 100_000


def colours_of(svg: str) -> tuple[str, list[str]]:
    """The background, and the colours of the text."""
    background = re.search(r'<rect fill="(#\w{6})"', svg)
    assert background
    return background[1], re.findall(r"\{ fill: (#\w{6})", svg)


def words_of(svg: str) -> list[str]:
    """What stands in it, from top to bottom: the same for every version of rich."""
    return [html.unescape(text).replace("\xa0", " ") for text in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


def test_the_verdict_is_up_to_date() -> None:
    """Its words are; how a line is laid out is a matter of rich's version."""
    there = (FIGURES / "verdict.svg").read_text()
    fresh = pictures.verdict_svg(pictures.example(ROOT / build.EXAMPLES["refused"]))
    assert words_of(there) == words_of(fresh), STALE
    assert colours_of(there) == colours_of(fresh), STALE
    assert len(there.encode()) < MOST_BYTES


def test_the_verdict_needs_nothing_from_elsewhere_and_shows_no_time() -> None:
    there = (FIGURES / "verdict.svg").read_text()
    assert re.findall(r"\w+://[^\"' )]+", there) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"\d+\.\d+ s on", "\n".join(words_of(there)))


@pytest.mark.parametrize("kernel", ["tests/wrong/p1_padding_loaded_as_zero.py", "solutions/p1_naive_softmax.py"])
def test_every_colour_of_a_verdict_can_be_read(kernel: str) -> None:
    """It brings its own background, so that it can be on a light page as well as on a dark one."""
    background, colours = colours_of(pictures.verdict_svg(pictures.example(ROOT / kernel)))
    assert len(colours) >= 4
    assert min(contrast(colour, background) for colour in colours) >= 4.5


def test_the_trace_is_up_to_date() -> None:
    there = (FIGURES / "trace.svg").read_text(encoding="utf-8")
    assert there == pictures.trace_svg(ROOT) + "\n", STALE
    assert "column by column" in there and "row by row" in there
    assert len(there.encode()) < MOST_BYTES


def test_a_copy_without_solutions_needs_no_pictures(tmp_path: Path) -> None:
    importable("jupytext")
    for name in ("README.md", "docs", "notebooks", "puzzles", "solutions", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    made = pictures.pictures(tmp_path, build.EXAMPLES["refused"])
    assert {path.name for path in made} == {"verdict.svg", "trace.svg"}
    (tmp_path / "solutions").unlink()
    (tmp_path / "tests").unlink()
    assert pictures.pictures(tmp_path, build.EXAMPLES["refused"]) == {}  # as in a student's copy


def test_the_time_is_told_where_it_was_taken() -> None:
    """Only in a picture is it left out."""
    from checker.report import words

    verdict = check("p1", from_cells([("code", SOLUTION)], "kernel.py", numbered=False)).verdict
    assert re.search(r"\(\d+\.\d\d s on the interpreter\)", words.closing(verdict))
