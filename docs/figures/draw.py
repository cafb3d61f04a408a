"""Draws the figures of the lessons and of the background pages: `python docs/figures/draw.py` writes them as SVG.

Each function of the modules beside this one that is named below draws one figure, into a file of its name. Those of
lessons are written as PNG as well, for notebooks to carry. The picture that moves is no drawing of matplotlib's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from at_work import at_work
from attention import (
    backward_kernels,
    backward_tiles,
    bias_tiles,
    causal_tiles,
    dropout_positions,
    loop_orders,
    two_passes,
)
from canvas import STYLE, png, svg
from heads import heads_in_memory
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from memory import alive, memory_passes, roofline
from rows import addresses, merge_tree, padding, row_addresses, three_passes
from splits import splits
from tiles import product_tiles, tiled_rows, transposed_tile

HERE = Path(__file__).resolve().parent

# As the ladder goes.
OF_LESSONS: tuple[Callable[[], Figure], ...] = (
    addresses,
    row_addresses,
    transposed_tile,
    padding,
    three_passes,
    merge_tree,
    tiled_rows,
    product_tiles,
    alive,
    two_passes,
    backward_tiles,
    memory_passes,
    loop_orders,
    causal_tiles,
    backward_kernels,
    heads_in_memory,
    bias_tiles,
    dropout_positions,
    splits,
)


def main() -> None:
    """Draw all figures."""
    mpl.use("svg")
    with mpl.rc_context(STYLE):
        for draw in (*OF_LESSONS, roofline):
            figure = draw()
            drawn = svg(figure)
            (HERE / f"{draw.__name__}.svg").write_text(drawn, encoding="utf-8", newline="\n")
            if draw in OF_LESSONS:
                (HERE / f"{draw.__name__}.png").write_bytes(png(figure, drawn))
            plt.close(figure)
    (HERE / "at_work.svg").write_text(at_work(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
