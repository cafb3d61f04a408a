"""Shared parts of the figures: colours for light and dark, a board of cells, SVG that follows the reader's theme.

Grey levels, hatches, markers and words carry the meaning; colour only repeats it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from hashlib import sha256
from io import BytesIO, StringIO
from typing import Any

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image
from PIL.PngImagePlugin import PngInfo

# Light, then dark. The colours are Okabe and Ito's palette, as far as it is used.
INK, PAPER = "#1a1a1a", "#ffffff"
PALE, GREY = "#e6e6e6", "#b0b0b0"
ORANGE, SKY, GREEN, BLUE, VERMILION = "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00"
DARK = {
    INK: "#e6edf3",
    PAPER: "#0d1117",
    PALE: "#2b323b",
    GREY: "#545d68",
    ORANGE: "#8f6400",
    SKY: "#1f6a9c",
    GREEN: "#00805d",
    BLUE: "#2f81d6",
    VERMILION: "#f0883e",
}

STYLE = {
    "figure.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "text.color": INK,
    "axes.facecolor": PAPER,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
    "svg.fonttype": "path",  # the same on every machine, and no font has to be there
    "svg.hashsalt": "flash-puzzles",
}

DPI = 120  # of a PNG: its words are as large as JupyterLab's own

SMALL = 8.0  # points
MASKED, OFTEN = "////", "xx"  # hatches: lanes past the end; what is loaded at each visit

Point = tuple[float, float]


def board(width: float, height: float, unit: float = 0.36) -> tuple[Figure, Axes]:
    """An empty board of `width` by `height` cells of `unit` inches: x to the right, y downwards, 0 at the top left."""
    figure = plt.figure(figsize=(width * unit, height * unit))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    return figure, axes


def word(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    ha: str = "center",
    size: float = SMALL,
    bold: bool = False,
    paper: bool = False,
) -> None:
    """Words around a point, or with `ha` left or right of it; on paper, where there is a hatch or a line below them."""
    if not text:
        return
    box = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.0} if paper else None
    weight = "bold" if bold else "normal"
    axes.text(x, y, text, ha=ha, va="center", fontsize=size, linespacing=1.5, fontweight=weight, bbox=box)


def cell(
    axes: Axes,
    x: float,
    y: float,
    text: str = "",
    fill: str = PAPER,
    width: float = 1,
    height: float = 1,
    hatch: str = "",
    dashed: bool = False,
    size: float = SMALL,
) -> None:
    """A rectangle with its top left corner at (x, y), and words in its middle: on paper, if it is hatched."""
    line = (0, (3, 3)) if dashed else "-"
    box = Rectangle((x, y), width, height, facecolor=fill, edgecolor=INK, hatch=hatch, linewidth=0.8, linestyle=line)
    box.set_clip_on(False)
    axes.add_patch(box)
    word(axes, x + width / 2, y + height / 2, text, size=size, paper=bool(hatch))


def cells(
    axes: Axes, x: float, y: float, texts: Sequence[str], fill: str = PAPER, width: float = 1, **more: Any
) -> None:
    """Cells side by side, in one rectangle."""
    cell(axes, x, y, "", fill, width * len(texts), **more)
    _lines(axes, [((x + at * width, y), (x + at * width, y + 1)) for at in range(1, len(texts))])
    for at, text in enumerate(texts):
        word(axes, x + (at + 0.5) * width, y + 0.5, text, paper="hatch" in more)


def grid(axes: Axes, x: float, y: float, shape: tuple[int, int], real: tuple[int, int]) -> None:
    """Empty cells, `shape` rows and columns of them, hatched where they are past the `real` rows and columns."""
    (rows, cols), (n_rows, n_cols) = shape, real
    cell(axes, x, y, width=min(cols, n_cols), height=min(rows, n_rows))
    if cols > n_cols:
        cell(axes, x + n_cols, y, width=cols - n_cols, height=min(rows, n_rows), hatch=MASKED)
    if rows > n_rows:
        cell(axes, x, y + n_rows, width=cols, height=rows - n_rows, hatch=MASKED)
    _lines(axes, [((x + col, y), (x + col, y + rows)) for col in range(1, cols)])
    _lines(axes, [((x, y + row), (x + cols, y + row)) for row in range(1, rows)])


def _lines(axes: Axes, lines: Sequence[tuple[Point, Point]]) -> None:
    """Thin lines, all of them in one path."""
    xs = [x for line in lines for x in (line[0][0], line[1][0], math.nan)]
    ys = [y for line in lines for y in (line[0][1], line[1][1], math.nan)]
    axes.plot(xs, ys, color=INK, linewidth=0.6)


def frame(axes: Axes, x: float, y: float, width: float, height: float) -> None:
    """A bold outline around cells."""
    axes.add_patch(Rectangle((x, y), width, height, fill=False, edgecolor=INK, linewidth=2))


def arrow(axes: Axes, start: Point, end: Point, colour: str = VERMILION) -> None:
    """An arrow from one point to another."""
    shape = {"arrowstyle": "->", "color": colour, "linewidth": 1.3, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=shape)


def svg(figure: Figure) -> str:
    """The figure as an SVG, the same at each call, with a dark colour for each of its colours.

    It brings its own paper. A page can be dark where the system is light, and the media query may ask the system.
    """
    drawn = StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None})
    text = re.sub(r"<!--.*?-->|^ +| +$", "", drawn.getvalue(), flags=re.MULTILINE)
    text = re.sub(r"(?<!scale\(0)(\.\d\d)\d+", r"\1", text).replace("\n\n", "\n")  # hundredths of a point do
    rules = [
        f'[style*="{part}: {colour}"], [{part}="{colour}"] {{ {part}: {DARK[colour]} !important }}'
        for colour in sorted(set(re.findall(r"#[0-9a-f]{6}\b", text)))
        for part in ("fill", "stroke")
        if f"{part}: {colour}" in text or f'{part}="{colour}"' in text
    ]
    style = "\n".join(["<style>", "@media (prefers-color-scheme: dark) {", *rules, "}", "</style>", ""])
    return text.replace("<metadata>", style + "<metadata>", 1)


def png(figure: Figure, drawn: str) -> bytes:
    """The figure as a PNG for notebooks, on white paper. It says of which SVG it is the twin."""
    pixels, made, about = BytesIO(), BytesIO(), PngInfo()
    figure.savefig(pixels, format="png", dpi=DPI)
    about.add_text("Source", sha256(drawn.encode()).hexdigest())
    colours = Image.open(pixels).convert("RGB").quantize(32, dither=Image.Dither.NONE)  # a third of the bytes
    colours.save(made, "png", optimize=True, pnginfo=about)
    return made.getvalue()
