"""The figures: drawn by their code, shown in the lessons, with words, legible in light and dark."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from checker.course import ladder, places
from tests.browsers import blank_page
from tests.colours import contrast
from tests.conftest import ROOT, check_kernel, importable
from tests.kernels import named

FIGURES = ROOT / "docs" / "figures"
BUILT = ("verdict.svg", "trace.svg")  # by `python -m checker build`, which has tests of its own
MOVING = FIGURES / "at_work.svg"
DRAWN = sorted(path for path in FIGURES.glob("*.svg") if path.name not in (*BUILT, MOVING.name))
SHOWN = re.compile(r"!\[([^\]]*)\]\(\.\./docs/figures/([^)\s]+)\)")
MOST_BYTES = 60_000
RULE = re.compile(r'\[style\*="(fill|stroke): (#\w{6})"\], \[\1="\2"\] \{ \1: (#\w{6}) !important \}')
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(places.script(rung) for rung in ladder.RUNGS)]


def dark_of(svg: str) -> dict[tuple[str, str], str]:
    """The dark colour of each property and light colour."""
    return {(part, light): dark for part, light, dark in RULE.findall(svg)}


def colours_of(svg: str) -> Iterator[tuple[str, str]]:
    """Property and colour of each shape that is drawn, hatches too; black where none is said."""

    def walk(element: ElementTree.Element, inherited: dict[str, str]) -> Iterator[tuple[str, str]]:
        kind = element.tag.rpartition("}")[2]
        if kind in {"style", "metadata", "clipPath"}:
            return
        said = dict(re.findall(r"(fill|stroke): ([#\w]+)", element.get("style", "")))
        said |= {part: element.attrib[part] for part in ("fill", "stroke") if part in element.attrib}
        now = inherited | said
        if kind in {"path", "rect", "use"}:
            yield from ((part, colour) for part, colour in now.items() if colour not in {"none", "url"})
        for child in element:
            if kind != "defs" or child.tag.endswith("pattern"):
                yield from walk(child, now)

    return walk(ElementTree.fromstring(svg), {"fill": "black"})


@pytest.mark.finished
@pytest.mark.parametrize("rung", ladder.RUNGS)
def test_a_lesson_shows_a_figure_and_says_it_in_words(rung: str) -> None:
    shown = SHOWN.findall(places.script(rung).read_text(encoding="utf-8"))
    assert shown
    for words, name in shown:
        assert len(words) >= 40, name
        assert (FIGURES / name).exists(), name


def test_every_figure_is_shown() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    for path in FIGURES.glob("*.svg"):
        assert f"figures/{path.name})" in text or f'figures/{path.name}"' in text, path.name


def test_notebooks_carry_the_twins_of_the_lessons_figures() -> None:
    """A PNG says of which SVG it is the twin."""
    shown = {Path(name) for rung in ladder.RUNGS for _, name in SHOWN.findall(places.script(rung).read_text())}
    assert {path.name for path in FIGURES.glob("*.png")} == {path.with_suffix(".png").name for path in shown}
    for path in FIGURES.glob("*.png"):
        about = importable("PIL.Image").open(path).text
        there = hashlib.sha256(path.with_suffix(".svg").read_bytes()).hexdigest()
        assert about["Source"] == there, f"{path.name}: run docs/figures/draw.py"
        assert path.stat().st_size < MOST_BYTES / 2


def test_the_figures_are_drawn_by_their_code(tmp_path: Path) -> None:
    """Whatever version of matplotlib draws them; in every detail by the version that drew what is there."""
    version = importable("matplotlib").__version__
    copy = tmp_path / "figures"
    shutil.copytree(FIGURES, copy, ignore=shutil.ignore_patterns("*.svg", "*.png", "__pycache__"))
    environment = {**os.environ, "MPLBACKEND": "agg"}
    subprocess.run([sys.executable, str(copy / "draw.py")], check=True, env=environment, capture_output=True)
    assert {path.name for path in copy.glob("*.svg")} == {path.name for path in (*DRAWN, MOVING)}
    assert (copy / MOVING.name).read_text() == MOVING.read_text(), "run docs/figures/draw.py"
    for path in DRAWN:
        there, drawn = path.read_text(encoding="utf-8"), (copy / path.name).read_text(encoding="utf-8")
        assert dark_of(there) == dark_of(drawn), path.name
        if f"Matplotlib v{version}," in there:
            assert there == drawn, f"{path.name}: run docs/figures/draw.py"


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_a_figure_is_small_and_needs_nothing_from_elsewhere(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    assert len(svg.encode()) <= MOST_BYTES
    assert not re.search(r'<script|<image|<text|href="[^#]|url\([^#]', svg)


OUTSIDE = """() => {
    const svg = document.documentElement, { x, y, width, height } = svg.viewBox.baseVal, edge = 0.5;
    const shown = [...svg.querySelectorAll("path, use, rect")].filter(one => !one.closest("defs, clipPath"));
    return shown.map(one => one.getBoundingClientRect()).filter(({ left, top, right, bottom }) => {
        const scale = svg.getBoundingClientRect().width / width;
        return left < -edge || top < -edge || right / scale > width + edge || bottom / scale > height + edge;
    }).length;
}"""


def test_nothing_of_a_figure_is_cut_at_its_edge() -> None:
    with blank_page() as page:
        for path in DRAWN:
            page.goto(path.as_uri())
            assert page.evaluate(OUTSIDE) == 0, path.name


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_every_colour_of_a_figure_has_a_dark_one(path: Path) -> None:
    svg = path.read_text(encoding="utf-8")
    dark, used = dark_of(svg), set(colours_of(svg))
    assert used == set(dark)
    paper, ink = "#ffffff", "#1a1a1a"
    assert contrast(paper, ink) >= 12 and contrast(dark["fill", paper], dark["fill", ink]) >= 12
    for part, colour in used - {("fill", ink), ("stroke", ink)}:
        other = ink if part == "fill" else paper
        least = 4.5 if len({colour[1:3], colour[3:5], colour[5:]}) == 1 else 3  # on greys stand words
        assert contrast(colour, other) >= least, colour
        assert contrast(dark[part, colour], dark["fill", other]) >= least, colour


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_a_figure_as_its_reader_likes(scheme: str) -> None:
    """As an image, as in a notebook or on GitHub: the paper in its corner."""
    data = (FIGURES / "merge_tree.svg").read_bytes()
    with blank_page() as page:
        page.emulate_media(color_scheme=scheme)
        page.set_content(f"<img src='data:image/svg+xml;base64,{base64.b64encode(data).decode()}'>")
        shown = importable("PIL.Image").open(io.BytesIO(page.locator("img").screenshot())).convert("RGB")
    light = "#ffffff"
    paper = light if scheme == "light" else dark_of(data.decode())["fill", light]
    assert "#{:02x}{:02x}{:02x}".format(*shown.getpixel((2, 2))) == paper


def test_the_picture_that_moves_is_small_and_says_what_it_shows() -> None:
    svg = MOVING.read_text(encoding="utf-8")
    assert len(svg.encode()) < 40_000
    assert not re.search(r"<script|<image|href=|url\(|@import", svg)
    root = ElementTree.fromstring(svg)
    named = {element.get("id"): "".join(element.itertext()) for element in root.iter() if element.get("id")}
    assert all(len(named[part]) >= 40 for part in (root.get("aria-labelledby") or "").split())
    described = (ROOT / "docs" / "site" / "index.md").read_text(encoding="utf-8")
    assert f"![{named['words']}](../figures/{MOVING.name})" in described


def test_the_picture_that_moves_can_be_read_in_light_and_in_dark() -> None:
    found = re.findall(r"svg \{ color: (\S+); --paper: (\S+); --good: (\S+); --bad: (\S+) \}", MOVING.read_text())
    assert len(found) == 2
    for ink, paper, good, bad in found:
        assert min(contrast(paper, colour) for colour in (ink, good, bad)) >= 4.5


def test_the_picture_that_moves_shows_what_the_checker_says() -> None:
    verdict = check_kernel(named("p1_padding_loaded_as_zero"))
    [finding] = verdict.findings
    shown = " ".join("".join(element.itertext()) for element in ElementTree.parse(MOVING).iter() if element.text)
    assert f"{verdict.earned}/{verdict.possible}" in shown and f"{finding.title}." in shown
    assert "25.5 instead of 24.5" in finding.explanation and "25.5 instead of 24.5" in shown


SEEN = """seconds => {
    for (const one of document.getAnimations()) { one.pause(); one.currentTime = 1000 * seconds; }
    const words = [...document.querySelectorAll("text")];
    return words.filter(one => getComputedStyle(one).opacity > 0.5).map(one => one.textContent);
}"""


def test_a_picture_moves_unless_its_reader_or_the_page_wants_it_still() -> None:
    with blank_page() as page:

        def seen(address: str, seconds: float = 0) -> list[str]:
            page.goto("about:blank")  # a file is not loaded again for another fragment
            page.goto(address)
            words: list[str] = page.evaluate(SEEN, seconds)
            return words

        page.emulate_media(reduced_motion="no-preference")
        address = MOVING.as_uri()
        wrong, mistake, right = "0.0)", "The padding is counted in the sum.", "✓ accepted  100/100"
        first = seen(address)
        assert {wrong, mistake, right} & {*first} == {wrong, mistake} and "✗ partly right  65/100" in first
        assert not {wrong, mistake, right} & {*seen(address, 9)}  # then it begins anew
        end = seen(address, 8)
        assert {wrong, mistake, right} & {*end} == {mistake, right}
        assert seen(f"{address}#still") == end
        page.emulate_media(reduced_motion="reduce")
        assert seen(address) == end
