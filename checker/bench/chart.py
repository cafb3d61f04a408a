"""A benchmark's result as a picture: the roofline above, a bar per implementation below.

Colours are those of Okabe and Ito, which can be told apart without colour sight; shape and labels say the same.
"""

from __future__ import annotations

import io
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
DOTS_PER_INCH = 110
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


def png(result: Result) -> bytes:
    """The picture as PNG."""
    buffer = io.BytesIO()
    figure(result).savefig(buffer, dpi=DOTS_PER_INCH, format="png")
    return buffer.getvalue()


def _roofline(axes: Axes, result: Result, sizes: tuple[Size, ...]) -> None:
    if result.measured:
        roofs: tuple[Gpu, ...] = (Gpu(f"{result.gpu}, measured", result.copy, result.matrix, "this run"),)
    else:
        roofs = NAMED
    x = np.geomspace(0.05, 2e4, 200)
    styles = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
    for roof, style in zip(roofs, styles, strict=False):
        axes.plot(x, [roof.tflops(i) for i in x], color=ROOF_COLOUR, linestyle=style, label=roof.name, linewidth=1.4)
    for number, (size, marker) in enumerate(zip(sizes, "osD^", strict=False)):
        low, high = size.operations / size.counted, size.operations / size.least
        if result.measured:
            _points(axes, size, marker, low, high)
        else:
            height = 0.03 * 2.5**number
            axes.plot([low, high], [height, height], marker=marker, color=COLOURS["solution"], markersize=5)
            axes.annotate(f"{size.name}  ", (low, height), fontsize=8, ha="right", va="center")
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
    slow, middle, fast = (
        [size.speed(getattr(timing, which)) for timing in rows] for which in ("high", "median", "low")
    )
    colours = [COLOURS.get(name, PEER_COLOUR) for name in names]
    if result.measured:
        errors: Any = [np.subtract(middle, slow), np.subtract(fast, middle)]
        axes.barh(names, middle, color=colours, xerr=errors, error_kw={"linewidth": 1, "capsize": 2})
        limit = result.matrix if size.flops else result.copy
        axes.axvline(limit, color=ROOF_COLOUR, linestyle="--", linewidth=1)
        if size.own_limit < 1:
            axes.axvline(limit * size.own_limit, color=ROOF_COLOUR, linestyle=":", linewidth=1)
    else:
        axes.barh(names, fast, color=COLOURS["solution"], alpha=0.35)
        axes.barh(names, slow, color=COLOURS["solution"])
    for position, (least, most) in enumerate(zip(slow if not result.measured else middle, fast, strict=True)):
        text = f"{least:.0f}" if result.measured or most < 1.01 * least else f"{least:.0f} to {most:.0f}"
        axes.annotate(f" {text}", (most, position), va="center", fontsize=8)
    axes.margins(x=0.12)
    kind = size.unit if result.measured else f"{size.unit} at best"
    axes.set_title(f"{size.name}: {kind}", loc="left", fontsize=10)
    axes.tick_params(labelsize=8)
