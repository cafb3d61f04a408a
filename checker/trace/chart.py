"""A trace as a picture: one page for each kernel, or all of them one below the other.

Loads are solid, stores hatched, what was skipped is hatched and says so; colours, those of Okabe and Ito, only
repeat it. The background is the picture's own, so that it can be read in a dark notebook too.
"""

from __future__ import annotations

import contextlib
import io
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.trace import maps, tiles, timeline, words
from checker.trace.look import GREY, INK, STYLE
from checker.trace.result import Recorded, Trace

if TYPE_CHECKING:
    from matplotlib.figure import Figure, SubFigure

WIDTH = 9.6  # inches, as all heights are
DOTS_PER_INCH = 130
COLOURS = 128  # of a PNG: a third of the bytes, and nothing that could be seen
HEADING, WRONG, TILES = 0.66, 3.0, 4.0

Row = tuple[float, Callable[["SubFigure"], None]]  # height, and what draws it


def pages(trace: Trace) -> Iterator[tuple[str, bytes]]:
    """(name, PNG) of each page: of one kernel the puzzle's name, of several each kernel's behind it."""
    for page in each(trace):
        several = f"_{page.launches[0].kernel.removesuffix('_kernel')}" if len(trace.launches) > 1 else ""
        yield trace.stem + several, png(page)


def each(trace: Trace) -> Iterator[Trace]:
    """A trace for each kernel; a map of errors goes with the kernel that made them."""
    if len(trace.launches) < 2:
        yield trace
        return
    of_wrong = trace.wrong.kernel if trace.wrong is not None else ""
    for launch in trace.launches:
        yield replace(trace, launches=(launch,), wrong=trace.wrong if launch.kernel == of_wrong else None)


def png(trace: Trace) -> bytes:
    """The picture as PNG; what it says in words is its description."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image, PngImagePlugin  # comes with matplotlib

    canvas = FigureCanvasAgg(figure(trace))
    with _style():
        canvas.draw()
    about = PngImagePlugin.PngInfo()
    about.add_itxt("Title", f"Puzzle {trace.puzzle}: {trace.title}")
    about.add_itxt("Description", "\n".join(words.summary(trace)))
    drawn = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    buffer = io.BytesIO()
    few_colours = drawn.quantize(COLOURS, dither=Image.Dither.NONE)
    few_colours.save(buffer, format="png", optimize=True, pnginfo=about, dpi=(DOTS_PER_INCH, DOTS_PER_INCH))
    return buffer.getvalue()


def figure(trace: Trace) -> Figure:
    """The picture, not yet written anywhere."""
    from matplotlib.figure import Figure as NewFigure

    rows = list(_rows(trace))
    heights = [height for height, _ in rows]
    size = WIDTH, sum(heights)
    with _style():
        made = NewFigure(figsize=size, dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
        parts = made.subfigures(len(rows), 1, squeeze=False, height_ratios=heights)[:, 0]
        for part, (_, draw) in zip(parts, rows, strict=True):
            draw(part)
    return made


@contextlib.contextmanager
def _style() -> Iterator[None]:
    """Our own look, whatever the user's matplotlib is set to."""
    import matplotlib as mpl
    import matplotlib.style

    with matplotlib.style.context("default"), mpl.rc_context(STYLE):
        yield


def _rows(trace: Trace) -> Iterator[Row]:
    yield HEADING, lambda part: _heading(part, trace)
    wrong = trace.wrong
    if wrong is not None:
        yield WRONG, lambda part: maps.draw_wrong(part, wrong)
    for launch in trace.launches:
        yield from _of_launch(trace, launch)


def _of_launch(trace: Trace, launch: Recorded) -> Iterator[Row]:
    yield _caption_height(launch), lambda part: _caption(part, trace, launch)
    if timeline.in_lanes(launch):
        yield timeline.lanes_height(launch), lambda part: _softmax(part, launch)
        return
    pairs, beside = launch.pairs, trace.beside
    with_traffic = pairs is None or beside is not None  # else traffic stands beside the tiles
    if pairs is not None:
        yield TILES, lambda part: _tiles(part, launch, trace)
    yield timeline.bands_height(launch), lambda part: timeline.draw_bands(part, launch)
    yield maps.height(launch), lambda part: _reads(part, launch, with_traffic)


def _tiles(part: SubFigure, launch: Recorded, trace: Trace) -> None:
    """One's own grid on the left; on the right the other puzzle's, or traffic if there is none."""
    assert launch.pairs is not None
    left, right = part.subfigures(1, 2, squeeze=False, width_ratios=[1, 1]).flat
    other = trace.beside.pairs if trace.beside is not None else None
    lines = max(len(list(words.of_tiles(pairs))) for pairs in (launch.pairs, other) if pairs is not None)
    tiles.draw(left, launch.pairs, "Your tiles", lines)
    if trace.beside is None:
        maps.draw_traffic(right, launch)
    elif other is None:
        tiles.draw_invitation(right, trace.beside)
    else:
        tiles.draw(right, other, f"Your puzzle {trace.beside.puzzle}", lines)


def _reads(part: SubFigure, launch: Recorded, with_traffic: bool) -> None:
    if not with_traffic:
        maps.draw_reads(part, launch)
        return
    left, right = part.subfigures(1, 2, squeeze=False, width_ratios=[1.75, 1]).flat
    maps.draw_reads(left, launch)
    maps.draw_traffic(right, launch)


def _softmax(part: SubFigure, launch: Recorded) -> None:
    """Time on the left; reads and traffic, one above the other, on the right."""
    steps = max((program.steps for program in launch.programs), default=1)
    left, right = part.subfigures(1, 2, squeeze=False, width_ratios=[0.5 + min(steps, 12) / 12, 1.0]).flat
    timeline.draw_lanes(left, launch)
    above, below = right.subfigures(2, 1, squeeze=False, height_ratios=[1.25, 1]).flat
    maps.draw_reads(above, launch)
    maps.draw_traffic(below, launch)


def _heading(part: SubFigure, trace: Trace) -> None:
    said = textwrap.shorten(words.outcome(trace), 110, placeholder=" …")
    _write(part, HEADING, 0.1, f"Puzzle {trace.puzzle}: {trace.title}", fontsize=14, weight="bold")
    _write(part, HEADING, 0.4, said, fontsize=9.5)


def _caption(part: SubFigure, trace: Trace, launch: Recorded) -> None:
    height = _caption_height(launch)
    _write(part, height, 0.06, launch.kernel, fontsize=11, weight="bold", family="monospace")
    _write(part, height, 0.27, f"seen with: {launch.case}", fontsize=8.5, color=GREY)
    _write(part, height, 0.45, f"✗ {launch.stopped}" if launch.stopped else "", fontsize=9, weight="bold")
    grids = [launch.pairs, trace.beside.pairs if trace.beside is not None else None]
    masked = any(pairs is not None and not pairs.sees.all() for pairs in grids)
    timeline.draw_legend(part, launch, masked)


def _caption_height(launch: Recorded) -> float:
    return 0.67 if launch.stopped else 0.48


def _write(part: SubFigure, height: float, below: float, text: str, **look: Any) -> None:
    """A line at the left, so many inches below the top of a part of that height."""
    part.text(0.012, 1 - below / height, text, va="top", **({"color": INK} | look))
