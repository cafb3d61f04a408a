"""A trace as a picture: one page for each kernel, or all of them one below the other.

Loads are solid, stores hatched, what was skipped is hatched and says so; colours, those of Okabe and Ito, only
repeat it. The background is the picture's own, so that it can be read in a dark notebook too.
"""

from __future__ import annotations

import contextlib
import io
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.style
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, SubFigure
from matplotlib.transforms import blended_transform_factory
from PIL import Image, PngImagePlugin  # comes with matplotlib

from checker.trace import maps, tiles, timeline, words
from checker.trace.look import GREY, STYLE
from checker.trace.result import Beside, Recorded, Trace

WIDTH = 9.6  # inches, as all heights are
DOTS_PER_INCH = 130
COLOURS = 128  # of a PNG: a third of the bytes, and nothing that could be seen
LINE = 1.8 / 72  # of a text, for each point of its type
WRONG, TILES = 3.0, 4.0

Panel = tuple[float, Callable[[SubFigure], None]]  # its share of the width, and what draws it
Row = tuple[float, Sequence[Panel]]  # its height
Text = tuple[str, dict[str, Any]]  # a line, and how it looks


def save(trace: Trace, folder: Path) -> list[Path]:
    """Write the pictures, one for each kernel; the files written. OSError."""
    made = [(folder / f"{name}.png", png) for name, png in pages(trace)]
    folder.mkdir(parents=True, exist_ok=True)
    for path, png in made:
        path.write_bytes(png)
    return [path for path, _ in made]


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
    rows = list(_rows(trace))
    heights = [height for height, _ in rows]
    with _style():
        made = Figure(figsize=(WIDTH, sum(heights)), dpi=DOTS_PER_INCH, layout="constrained", facecolor="white")
        parts = made.subfigures(len(rows), 1, squeeze=False, height_ratios=heights).flat
        for part, (_, panels) in zip(parts, rows, strict=True):
            shares = [share for share, _ in panels]
            sides = part.subfigures(1, len(panels), squeeze=False, width_ratios=shares).flat
            for side, (_, draw) in zip(sides, panels, strict=True):
                draw(side)
    return made


@contextlib.contextmanager
def _style() -> Iterator[None]:
    """Our own look, whatever the user's matplotlib is set to."""
    with matplotlib.style.context("default"), mpl.rc_context(STYLE):
        yield


def _rows(trace: Trace) -> Iterator[Row]:
    said = textwrap.shorten(words.outcome(trace), 110, placeholder=" …")
    title = f"Puzzle {trace.puzzle}: {trace.title}"
    yield _text((title, {"fontsize": 14, "weight": "bold"}), (said, {"fontsize": 9.5}))
    if trace.wrong is not None:
        yield WRONG, [(1.0, partial(maps.draw_wrong, wrong=trace.wrong))]
    for launch in trace.launches:
        yield from _of_launch(launch, trace.beside)


def _of_launch(launch: Recorded, beside: Beside | None) -> Iterator[Row]:
    """A caption; tiles, if there are any; time; reads. Traffic stands beside the tiles if nothing else does."""
    grids = [pairs for pairs in (launch.pairs, beside.pairs if beside else None) if pairs is not None]
    height, caption = _text(
        (launch.kernel, {"fontsize": 11, "weight": "bold", "family": "monospace"}),
        (f"seen with: {launch.case}", {"fontsize": 8.5, "color": GREY}),
        *([(f"✗ {launch.stopped}", {"fontsize": 9, "weight": "bold"})] if launch.stopped else []),
    )
    masked = not all(pairs.sees.all() for pairs in grids)
    yield height, [*caption, (1.0, partial(timeline.draw_legend, launch=launch, masked=masked))]
    reads: list[Panel] = [(1.75, partial(maps.draw_reads, launch=launch))]
    traffic: Panel = 1.0, partial(maps.draw_traffic, launch=launch)
    if launch.pairs is None or beside is not None:
        reads.append(traffic)
    if launch.pairs is not None:
        draw = partial(tiles.draw, lines=max(len(list(words.of_tiles(pairs))) for pairs in grids))
        right = traffic
        if beside is not None and beside.pairs is None:
            right = 1.0, partial(tiles.draw_invitation, beside=beside)
        elif beside is not None:
            right = 1.0, partial(draw, pairs=beside.pairs, title=f"Your puzzle {beside.puzzle}")
        yield TILES, [(1.0, partial(draw, pairs=launch.pairs, title="Your tiles")), right]
    yield timeline.height(launch), [(1.0, partial(timeline.draw, launch=launch))]
    yield maps.height(launch), reads


def _text(*lines: Text) -> Row:
    """Lines at the left, one below the other."""
    tops = [sum(look["fontsize"] for _, look in lines[:n]) + 3 for n in range(len(lines) + 1)]

    def write(part: SubFigure) -> None:
        place = blended_transform_factory(part.dpi_scale_trans, part.transSubfigure)
        for (text, look), top in zip(lines, tops, strict=False):
            part.text(0.12, 1 - top / tops[-1], text, va="top", transform=place, **look)

    return LINE * tops[-1], [(1.0, write)]
