"""A benchmark's result as a picture: the roofline above, a bar per implementation below.

Colours are those of Okabe and Ito, which can be told apart without colour sight; shape and labels say the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.bench.result import Result, Size
from checker.bench.roofline import NAMED, Gpu
from checker.bench.table import ordered

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {"yours": "#D55E00", "solution": "#0072B2", "tuned": "#009E73"}
PEER_COLOUR, ROOF_COLOUR = "#999999", "#444444"
MOST_BARS = 4  # sizes that are drawn


def figure(result: Result) -> Figure:
    """The picture, not yet written anywhere."""
    from matplotlib.figure import Figure as NewFigure

    sizes = result.sizes[:MOST_BARS]
    made = NewFigure(figsize=(9, 3.4 + 1.9 * len(sizes)), layout="constrained", facecolor="white")
    axes = made.subplots(1 + len(sizes), 1, squeeze=False, height_ratios=[2.2] + [1.0] * len(sizes))[:, 0]
    _roofline(axes[0], result, sizes)
    for one, size in zip(axes[1:], sizes, strict=True):
        _bars(one, result, size)
    return made


def write(result: Result, path: Path) -> None:
    """Write the picture as PNG."""
    figure(result).savefig(path, dpi=110, format="png")


def _roofline(axes: Axes, result: Result, sizes: tuple[Size, ...]) -> None:
    if result.measured:
        roofs: tuple[Gpu, ...] = (Gpu(f"{result.gpu}, measured", result.copy, result.matrix, "this run"),)
    else:
        roofs = NAMED
    x = np.geomspace(0.05, 2e4, 200)
    styles = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
    for roof, style in zip(roofs, styles, strict=False):
        axes.plot(x, [roof.tflops(i) for i in x], color=ROOF_COLOUR, linestyle=style, label=roof.name, linewidth=1.4)
    for size, marker in zip(sizes, "osD^", strict=False):
        low, high = size.operations / size.counted, size.operations / size.least
        if result.measured:
            _points(axes, size, marker, low, high)
        else:
            axes.axvspan(low, high * 1.02, alpha=0.12, color=COLOURS["solution"])
            axes.annotate(size.name, (high, 0.03), rotation=90, fontsize=8, ha="right", va="bottom")
    axes.set(xscale="log", yscale="log", xlabel="operations per byte", ylabel="TFLOP/s", ylim=(0.02, 3e3))
    kind = "measured" if result.measured else "predicted, not measured"
    axes.set_title(f"Puzzle {result.puzzle}: {result.title}, roofline ({kind})", loc="left", fontsize=11)
    axes.grid(True, which="major", alpha=0.25)
    axes.legend(fontsize=8, loc="upper left")


def _points(axes: Axes, size: Size, marker: str, low: float, high: float) -> None:
    """Each form of the kernel at both intensities: as counted, and as if every byte were moved once."""
    for name, colour in COLOURS.items():
        timing = size.of(name)
        if timing is not None:
            height = size.operations / timing.median * 1e-9
            axes.plot([low, high], [height, height], color=colour, linewidth=1, alpha=0.6)
            axes.plot([high], [height], marker, color=colour, markersize=6, label=f"{name}, {size.name}")


def _bars(axes: Axes, result: Result, size: Size) -> None:
    rows = ordered(size)[::-1]
    names = [timing.name for timing in rows]
    low, middle, high = ([size.speed(getattr(timing, which)) for timing in rows] for which in ("high", "median", "low"))
    colours = [COLOURS.get(name, PEER_COLOUR) for name in names]
    errors: Any = [np.subtract(middle, low), np.subtract(high, middle)]
    axes.barh(names, middle, color=colours, xerr=errors, error_kw={"linewidth": 1, "capsize": 2})
    if result.measured:
        limit = result.matrix if size.flops else result.copy
        axes.axvline(limit, color=ROOF_COLOUR, linestyle="--", linewidth=1)
        if size.own_limit < 1:
            axes.axvline(limit * size.own_limit, color=ROOF_COLOUR, linestyle=":", linewidth=1)
    for position, value in enumerate(middle):
        axes.annotate(f" {value:.0f}", (value, position), va="center", fontsize=8)
    axes.set_title(f"{size.name}: {size.unit}", loc="left", fontsize=10)
    axes.tick_params(labelsize=8)
