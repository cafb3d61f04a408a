"""How all pictures of a trace look: colours of Okabe and Ito, what loads and stores are drawn as, and tiles."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes

SKY, BLUE, VERMILION = "#56B4E9", "#0072B2", "#D55E00"
INK, GREY, FAINT, PALE = "#1A1A1A", "#595959", "#D4D4D4", "#F4F4F4"
LOAD: dict[str, Any] = {"facecolor": SKY, "edgecolor": BLUE, "linewidth": 0.7}
STORE: dict[str, Any] = {"facecolor": "#FFF3EA", "edgecolor": VERMILION, "linewidth": 0.7, "hatch": "//////"}
SKIPPED: dict[str, Any] = {"facecolor": "white", "edgecolor": "#A8A8A8", "linewidth": 0.0, "hatch": "////"}
MOST_TICKS = 8
STYLE = {
    "font.family": "DejaVu Sans",  # comes with matplotlib
    "font.size": 9,
    "hatch.linewidth": 0.8,
    "text.parse_math": False,  # a dollar is a dollar
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": GREY,
    "axes.labelsize": 8.5,
    "axes.edgecolor": GREY,
    "axes.linewidth": 0.7,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "text.color": INK,
    "axes.titlecolor": INK,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.constrained_layout.w_pad": 0.06,
}


def divide(
    axes: Axes, shape: tuple[int, int], blocks: tuple[int, int], most_columns: int = MOST_TICKS, **line: Any
) -> None:
    """Lines between the tiles of a matrix, and a number where each begins, as far as there is room for numbers."""
    (rows, columns), (down, across) = shape, blocks
    axes.hlines(range(down, rows, down), 0, columns, **line)
    axes.vlines(range(across, columns, across), 0, rows, **line)
    axes.set(xlim=(0, columns), ylim=(rows, 0), yticks=_edges(rows, down, MOST_TICKS))
    axes.set_xticks(_edges(columns, across, most_columns))


def _edges(extent: int, block: int, most: int) -> range:
    """Where tiles begin, or every second, third, … of them; of a single tile, positions inside it."""
    if block >= extent > 1:
        block = 2 ** max(0, (extent // most).bit_length() - 1) if extent > most else 1
    return range(0, extent, block * max(1, math.ceil(-(-extent // block) / most)))
