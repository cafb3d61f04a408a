"""The drawing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.trace import chart, maps, run, svg, tiles, timeline
from checker.trace.result import Band, Program, Touch
from tests.browsers import blank_page
from tests.trace.traces import BESIDE_DIAGONAL, STEMS, of_kernel, pairs_of, solution, wrong

MOST_BYTES, HIGHEST = 100_000, 1600
WRONG = ("p1_no_store_mask", "p2_reads_y_back", "p6_last_keys_only", "p7_mask_forgotten_in_dq")
SVG = "{http://www.w3.org/2000/svg}"
CASES = st.text(st.characters(codec="utf-8"), max_size=60)


class Text(NamedTuple):
    """A line of text and the box that it is estimated to fill."""

    said: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Text) -> bool:
        across = min(self.right, other.right) - max(self.left, other.left)
        return across > 1 and min(self.bottom, other.bottom) - max(self.top, other.top) > 1


def parsed(picture: str) -> ElementTree.Element:
    return ElementTree.fromstring(picture)


def texts(picture: str) -> list[str]:
    return [element.text or "" for element in parsed(picture).iter(f"{SVG}text")]


def placed(element: ElementTree.Element, x: float = 0, y: float = 0) -> Iterator[Text]:
    """The lines of text in a picture, where they are; without those that run upwards."""
    move = element.get("transform", "translate(0 0)")
    if "rotate" in move:
        return
    dx, dy = map(float, re.findall(r"-?[\d.]+", move))
    if element.tag == f"{SVG}text" and element.text:
        size = float(element.attrib["font-size"])
        width = svg.width_of(element.text, size) * (svg.WIDER if element.get("font-weight") else 1)
        start = {"start": 0.0, "middle": -width / 2, "end": -width}[element.attrib["text-anchor"]]
        left, base = x + float(element.attrib["x"]) + start, y + float(element.attrib["y"])
        yield Text(element.text, left, base - 0.75 * size, left + width, base + 0.2 * size)
    for child in element:
        yield from placed(child, x + dx, y + dy)


def alone(panel: svg.Panel) -> str:
    """A panel as a picture of its own."""
    return f'<svg xmlns="{SVG[1:-1]}">{panel.marks}</svg>'


def cells(panel: svg.Panel) -> dict[str, float]:
    """What is said of each colour of a map, and how large a share of it has that colour."""
    found = {one[0].text or "": area(one.attrib["d"]) for one in parsed(alone(panel)).iter(f"{SVG}path") if len(one)}
    return {said: size / sum(found.values()) for said, size in found.items()}


def area(commands: str) -> float:
    return sum(float(width) * float(height) for width, height in re.findall(r"h([\d.]+)v([\d.]+)", commands))


def subpaths(picture: str, **look: Any) -> list[int]:
    """How many boxes or lines each path has that looks like this."""
    wanted = {name.replace("_", "-"): value for name, value in look.items()}
    paths = parsed(picture).iter(f"{SVG}path")
    return [one.attrib["d"].count("M") for one in paths if wanted.items() <= one.attrib.items()]


def test_skipped_tiles_and_the_order_are_written_into_the_grid() -> None:
    drawn = texts(chart.page(replace(solution("p6"), beside=None)))
    assert drawn.count("skipped") == len(BESIDE_DIAGONAL)
    assert "Your tiles: row by row" in drawn
    vain = texts(chart.page(replace(wrong("p6_blocks_not_skipped"), beside=None)))
    assert vain.count("in vain") == 6 and "skipped" not in vain


def test_a_neighbour_is_drawn_or_invited() -> None:
    own = replace(solution("p5"), beside=run.Beside("p6", "FlashAttention-2", pairs_of(solution("p6"))))
    drawn = texts(chart.page(own))
    assert "Your tiles: column by column" in drawn and "Your puzzle p6: row by row" in drawn
    assert drawn.count("skipped") == 6
    assert own.beside is not None
    invited = texts(chart.page(replace(own, beside=replace(own.beside, pairs=None))))
    assert any("Solve puzzle p6" in text for text in invited) and "skipped" not in invited


def test_a_wrong_kernel_gets_its_error_map() -> None:
    trace = wrong("p4_padding_counted")
    assert trace.wrong is not None and trace.finding is not None
    assert trace.wrong.title == trace.finding.title
    drawn = chart.page(trace)
    assert "Where y is wrong" in texts(drawn) and trace.finding.title in texts(drawn)
    assert cells(maps.wrong(trace.wrong, 900)) == pytest.approx({"0% wrong": 0.25, "100% wrong": 0.75})
    assert np.mean(trace.wrong.picture.wrong) == 0.75
    assert "Where y is wrong" not in texts(chart.page(solution("p4")))


def test_bounds_and_what_passes_them_are_marked() -> None:
    drawn = texts(chart.page(wrong("p3_three_sweeps")))
    assert "3.00 of 2.00 ✗" in drawn and "1.00 of 1.00" in drawn


def test_reads_are_drawn_as_they_were_counted() -> None:
    trace = replace(solution("p6"), beside=None)
    for reads in trace.launches[0].reads:
        found = cells(maps.reads(replace(trace.launches[0], reads=(reads,)), 400))
        many = {n: f"{n} load{'s' if n > 1 else ''}" for n in np.unique(reads.counts).tolist()}
        assert found == pytest.approx({said: float(np.mean(reads.counts == n)) for n, said in many.items()}, abs=0.01)
    drawn = texts(chart.page(trace))
    first = drawn.index("k", drawn.index("Reads per element"))
    assert drawn[first + 1 : first + 5] == ["4", "3", "2", "1"]


def test_what_is_never_read_is_hatched() -> None:
    drawn = chart.page(wrong("p1_no_store_mask"))
    assert "0–1" in texts(drawn)
    [never] = [one for one in parsed(drawn).iter(f"{SVG}path") if len(one) and one[0].text == "0 loads"]
    assert never.attrib["fill"] == "none" and never.attrib["d"].count("M") > 50


def test_loads_are_solid_and_stores_hatched() -> None:
    launch = solution("p3").launches[0]
    drawn = alone(timeline.drawn(launch, 900))
    assert subpaths(drawn, fill=svg.SKY) == [4 * 8]  # four programs
    assert subpaths(drawn, fill=svg.VERMILION) == [4 * 4]
    assert subpaths(drawn, fill="none", stroke=svg.VERMILION)[0] > 4 * 4


@given(st.integers(1, 30))
def test_colours_are_stronger_with_the_count(most: int) -> None:
    """So that a heat map can be read in grey."""
    strong = [maps.often(count, most)["fill_opacity"] for count in range(1, most + 1)]
    assert strong == sorted(strong) and strong[-1] < 0.9
    assert most == 1 or strong[-1] - strong[0] > 0.1


@pytest.mark.parametrize("name", [*STEMS.values(), *WRONG])
def test_pages_are_small_and_described_and_no_text_is_in_the_way_of_another(name: str) -> None:
    trace = of_kernel(name)
    pages = dict(chart.pages(trace))
    kernels = [launch.kernel.removesuffix("_kernel") for launch in trace.launches]
    assert list(pages) == ([trace.stem] if len(kernels) == 1 else [f"{trace.stem}_{k}" for k in kernels])
    assert pages == dict(chart.pages(trace))
    for page in pages.values():
        assert len(page.encode()) < MOST_BYTES
        root = parsed(page)
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        assert height <= HIGHEST and root.attrib["role"] == "img"
        title, about = root[:2]
        assert (title.tag, about.tag) == (f"{SVG}title", f"{SVG}desc") and (about.text or "").startswith(
            title.text or "?"
        )
        lines = list(placed(root))
        assert all(one.left >= 0 and one.right <= width and one.top >= 0 and one.bottom <= height for one in lines)
        assert not [(one.said, other.said) for one, other in itertools.combinations(lines, 2) if one.overlaps(other)]


@pytest.mark.parametrize("inline", [False, True])
def test_a_page_can_stand_beside_others_and_on_any_background(inline: bool) -> None:
    """It has no IDs, and neither black nor white."""
    page = chart.page(solution("p7"), inline=inline)
    assert not re.search(r"\bid=|url\(|#000|#fff|white|black", page, re.IGNORECASE)
    assert (":root" in page) is not inline  # it would be the root of the page
    assert {one.get("fill") for one in parsed(page).iter(f"{SVG}text")} == {None}
    assert parsed(page).attrib["fill"] == "currentColor"


@given(CASES, CASES)
def test_names_and_messages_stay_text(case: str, stopped: str) -> None:
    trace = solution("p1")
    hostile = f"<script>&\0\x1b]]>{case}"
    launch = replace(trace.launches[0], kernel=hostile, case=case, stopped=stopped)
    page = chart.page(replace(trace, title=hostile, launches=(launch,)))
    assert not list(parsed(page).iter(f"{SVG}script"))
    assert (parsed(page)[0].text or "").startswith("Puzzle p1: <script>&]]>")


def test_long_text_is_broken_and_keeps_off_the_legend() -> None:
    trace = solution("p7")
    launch = replace(trace.launches[1], kernel="k" * 90, case="word " * 60 + "W" * 300, stopped="m" * 200)
    lines = list(placed(parsed(chart.page(replace(trace, title="T" * 300, launches=(launch,))))))
    assert all(one.right <= chart.WIDTH for one in lines)
    assert not [(one, other) for one, other in itertools.combinations(lines, 2) if one.overlaps(other)]


def test_tiles_that_nobody_touches_are_folded_where_there_are_many() -> None:
    far = Touch(0, "x", False, ((0, 1), (500, 501)))
    program = Program("program 0", None, 1, 0, 1, (far,))
    launch = replace(
        solution("p1").launches[0], bands=(Band("x", "rows", 512, 1),), programs=(program,), count=1, pairs=None
    )
    panel = timeline.drawn(launch, 900)
    folded = [said for said in texts(alone(panel)) if "not shown" in said]
    assert folded == ["rows 1 to 499 not shown", "rows 501 to 511 not shown"]
    every = replace(far, spans=((0, 512),))
    assert timeline.drawn(replace(launch, programs=(replace(program, touches=(every,)),)), 900).height < 400


def test_a_grid_of_many_tiles_stays_small() -> None:
    pairs = pairs_of(solution("p6"))
    many = replace(pairs, query_block=2, key_block=2, visits=())
    panel = tiles.drawn(many, "Your tiles", 448)
    assert panel.height < 400 and "skipped<" not in panel.marks.partition("pairs of tiles")[0].replace(
        "tiles skipped", ""
    )


def test_the_map_of_errors_stands_on_its_own_kernels_page() -> None:
    trace = wrong("p7_mask_forgotten_in_dq")
    assert trace.wrong is not None and trace.wrong.kernel == "dq_kernel"
    assert ["Where dq is wrong" in texts(page) for _, page in chart.pages(trace)] == [False, False, True]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_a_page_as_its_reader_likes_and_keeps_text_apart(scheme: str) -> None:
    with blank_page() as page:
        page.emulate_media(color_scheme=scheme)
        page.set_content(f"<style>:root{{color-scheme:light dark}}</style>{chart.page(solution('p7'), inline=True)}")
        colour = page.eval_on_selector("text", "one => getComputedStyle(one).fill")
        assert (colour == "rgb(0, 0, 0)") is (scheme == "light")
        boxes = page.eval_on_selector_all(
            "text", "all => all.map(one => [one.textContent, ...Object.values(one.getBoundingClientRect().toJSON())])"
        )
    lines = [Text(said, x, y + 2, x + width, y + height - 2) for said, x, y, width, height, *_ in boxes if said]
    assert len(lines) > 100
    assert not [(one.said, other.said) for one, other in itertools.combinations(lines, 2) if one.overlaps(other)]
