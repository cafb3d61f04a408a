"""What is drawn."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.trace import run
from checker.trace.result import Trace
from tests.conftest import importable
from tests.trace.traces import BESIDE_DIAGONAL, STEMS, of_kernel, pairs_of, solution, wrong

MOST_BYTES = 200_000
WRONG = ("p1_no_store_mask", "p2_reads_y_back", "p6_last_keys_only", "p7_mask_forgotten_in_dq")


@pytest.fixture(autouse=True)
def _matplotlib() -> None:
    importable("matplotlib")


def figure(trace: Trace) -> Any:
    from checker.trace import chart

    return chart.figure(trace)


def texts(drawn: Any) -> list[str]:
    matplotlib = importable("matplotlib")
    return [text.get_text() for text in drawn.findobj(matplotlib.text.Text) if text.get_text()]


def test_skipped_tiles_and_the_order_are_written_into_the_grid() -> None:
    drawn = texts(figure(replace(solution("p6"), beside=None)))
    assert drawn.count("skipped") == len(BESIDE_DIAGONAL)
    assert "Your tiles: row by row" in drawn
    vain = texts(figure(replace(wrong("p6_blocks_not_skipped"), beside=None)))
    assert vain.count("in vain") == 6 and "skipped" not in vain


def test_a_neighbour_is_drawn_or_invited() -> None:
    own = replace(solution("p5"), beside=run.Beside("p6", "FlashAttention-2", pairs_of(solution("p6"))))
    drawn = texts(figure(own))
    assert "Your tiles: column by column" in drawn and "Your puzzle p6: row by row" in drawn
    assert drawn.count("skipped") == 6
    assert own.beside is not None
    invited = texts(figure(replace(own, beside=replace(own.beside, pairs=None))))
    assert any("Solve puzzle p6" in text for text in invited) and "skipped" not in invited


def test_a_wrong_kernel_gets_its_error_map() -> None:
    trace = wrong("p4_padding_counted")
    assert trace.wrong is not None and trace.finding is not None
    assert trace.wrong.title == trace.finding.title
    drawn = figure(trace)
    assert "Where y is wrong" in texts(drawn) and trace.finding.title in texts(drawn)
    [axes] = [axes for axes in _axes(drawn) if axes.get_title(loc="left") == "Where y is wrong"]
    assert np.allclose(axes.images[0].get_array(), trace.wrong.picture.wrong)
    assert "Where y is wrong" not in texts(figure(solution("p4")))


def _axes(drawn: Any) -> list[Any]:
    matplotlib = importable("matplotlib")
    found: list[Any] = drawn.findobj(matplotlib.axes.Axes)
    return found


def test_bounds_and_what_passes_them_are_marked() -> None:
    drawn = texts(figure(wrong("p3_three_sweeps")))
    assert "3.00 of 2.00 ✗" in drawn and "1.00 of 1.00" in drawn


def test_reads_are_drawn_as_they_were_counted() -> None:
    launch = solution("p6").launches[0]
    by_title = {axes.get_title(loc="left"): axes for axes in _axes(figure(replace(solution("p6"), beside=None)))}
    for reads in launch.reads:
        assert (by_title[reads.tensor].images[0].get_array() == reads.counts).all()
    labels = [text.get_text() for text in by_title["k"].texts]
    assert labels == ["4", "3", "2", "1"]


def test_loads_are_solid_and_stores_hatched() -> None:
    [axes] = [axes for axes in _axes(figure(solution("p3"))) if axes.get_title(loc="left") == "Tiles over time"]
    hatches = [mark.get_hatch() for mark in axes.collections if not mark.get_clip_on()]
    assert hatches.count(None) == 4 * 8 and len(hatches) == 4 * 12  # four programs


@given(st.integers(1, 30))
def test_colours_darken_with_the_count(most: int) -> None:
    """So that a heat map can be read in grey."""
    from checker.trace.maps import _colours

    colours, norm = _colours(most)
    light = [float(np.dot(colours(norm(count))[:3], (0.299, 0.587, 0.114))) for count in range(1, most + 1)]
    assert light == sorted(light, reverse=True)
    assert most == 1 or light[0] - light[-1] > 0.1


@pytest.mark.parametrize("name", [*STEMS.values(), *WRONG])
def test_pictures_are_small_white_and_described(name: str) -> None:
    image = importable("PIL.Image")
    from checker.trace import chart

    trace = of_kernel(name)
    pages = dict(chart.pages(trace))
    kernels = [launch.kernel.removesuffix("_kernel") for launch in trace.launches]
    assert list(pages) == ([trace.stem] if len(kernels) == 1 else [f"{trace.stem}_{k}" for k in kernels])
    assert sum(b"Where" in page for page in pages.values()) == 0  # text is drawn, not kept
    for page in pages.values():
        assert len(page) < MOST_BYTES
        read = image.open(io.BytesIO(page))
        assert read.convert("RGBA").getpixel((2, 2)) == (255, 255, 255, 255)
        assert read.text["Description"].startswith(f"Puzzle {trace.puzzle}")


def test_the_users_own_style_changes_nothing() -> None:
    matplotlib = importable("matplotlib")
    from checker.trace import chart

    plain = chart.png(solution("p1"))
    dark = {"figure.facecolor": "black", "axes.facecolor": "black", "text.color": "white", "font.size": 20}
    with matplotlib.rc_context(dark):
        assert chart.png(solution("p1")) == plain


def test_the_map_of_errors_stands_on_its_own_kernels_page() -> None:
    from checker.trace import chart

    drawn: list[Sequence[str]] = []
    trace = wrong("p7_mask_forgotten_in_dq")
    assert trace.wrong is not None and trace.wrong.kernel == "dq_kernel"
    for page in chart.each(trace):
        drawn.append(texts(chart.figure(page)))
    assert ["Where dq is wrong" in page for page in drawn] == [False, False, True]
