"""How all pictures of a trace look: colours of Okabe and Ito, and what loads and stores are drawn as."""

from __future__ import annotations

import math
from typing import Any

SKY, BLUE, VERMILION = "#56B4E9", "#0072B2", "#D55E00"
INK, GREY, FAINT, PALE = "#1A1A1A", "#595959", "#D4D4D4", "#F4F4F4"
LOAD: dict[str, Any] = {"facecolor": SKY, "edgecolor": BLUE, "linewidth": 0.7}
STORE: dict[str, Any] = {"facecolor": "#FFF3EA", "edgecolor": VERMILION, "linewidth": 0.7, "hatch": "//////"}
SKIPPED: dict[str, Any] = {"facecolor": "white", "edgecolor": "#A8A8A8", "linewidth": 0.0, "hatch": "////"}
MOST_TICKS = 8


def edges(extent: int, block: int, most: int = MOST_TICKS) -> list[int]:
    """Where tiles begin, as far as there is room for so many numbers; of a single tile, what is inside."""
    if block >= extent > 1:
        block = 2 ** max(0, (extent // most).bit_length() - 1) if extent > most else 1
    tiles = list(range(0, extent, block))
    return tiles[:: max(1, math.ceil(len(tiles) / most))]


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
