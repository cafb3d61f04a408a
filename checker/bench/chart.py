"""A benchmark's result as a picture: the roofline above, a bar per implementation below.

Colours are those of Okabe and Ito, which can be told apart without colour sight; shape and labels say the same.
"""

from __future__ import annotations

import io

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from checker.bench.result import IN_GLUON, Result, Size, span
from checker.bench.roofline import NAMED, Gpu

COLOURS = {"yours": "#D55E00", "solution": "#0072B2", "tuned": "#009E73", IN_GLUON: "#CC79A7"}
PEER_COLOUR, ROOF_COLOUR = "#999999", "#444444"
ROOF_STYLES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1))]
MARKERS = "osD^"  # of sizes; no more are drawn
DOTS_PER_INCH = 110


def figure(result: Result) -> Figure:
    """Return the picture, not yet written anywhere."""
    sizes = result.alike[: len(MARKERS)]
    made = Figure(figsize=(9, 3.4 + 1.9 * len(sizes)), layout="constrained", facecolor="white")
    axes = made.subplots(1 + len(sizes), 1, squeeze=False, height_ratios=[2.2] + [1.0] * len(sizes))[:, 0]
    _roofline(axes[0], result, result.sizes[: len(MARKERS)])
    for one, size in zip(axes[1:], sizes, strict=True):
        _bars(one, result, size[0], "; ".join(alike.name for alike in size))
    return made


def png(result: Result) -> bytes:
    """Return the picture as PNG."""
    buffer = io.BytesIO()
    figure(result).savefig(buffer, dpi=DOTS_PER_INCH, format="png")
    return buffer.getvalue()


def _roofline(axes: Axes, result: Result, sizes: tuple[Size, ...]) -> None:
    """Each size at two intensities: as counted, and as if every byte were moved once."""
    roofs = [gpu for timing in sizes[0].ordered for gpu in NAMED if gpu.name == timing.name]  # in the order of the bars
    roofs = [Gpu(f"{result.gpu}, measured", result.copy, result.matrix)] if result.measured else roofs
    x = np.geomspace(0.05, 2e4, 200)
    for roof, style in zip(roofs, ROOF_STYLES, strict=False):
        axes.plot(x, [roof.tflops(i) for i in x], color=ROOF_COLOUR, linestyle=style, label=roof.name, linewidth=1.4)
    for number, (size, marker) in enumerate(zip(sizes, MARKERS, strict=False)):
        low, high = size.operations / size.counted, size.operations / size.least
        for name, colour in COLOURS.items():
            if timing := size.of(name):
                height = size.operations / timing.median * 1e-9
                axes.plot([low, high], [height, height], color=colour, linewidth=1, alpha=0.6)
                axes.plot([high], [height], marker, color=colour, markersize=6, label=f"{name}, {size.name}")
        if not result.measured:
            height = 0.0012 * 2.1**number  # below all roofs
            axes.plot([low, high], [height, height], marker=marker, color=COLOURS["solution"], markersize=5)
            axes.annotate(f"{size.name}  ", (low, height), fontsize=8, ha="right", va="center")
    axes.set(xscale="log", yscale="log", xlabel="operations per byte", ylabel="TFLOP/s")
    axes.set_ylim(0.02 if result.measured else 7e-4, 3e3)
    kind = "measured" if result.measured else "predicted, not measured"
    axes.set_title(f"Puzzle {result.puzzle}: {result.title}, roofline ({kind})", loc="left", fontsize=11)
    axes.grid(True, which="major", alpha=0.25)
    axes.legend(fontsize=8, loc="upper left")


def _bars(axes: Axes, result: Result, size: Size, name: str) -> None:
    """The speed of each implementation: measured, or from all that programs load to every byte moved once."""
    timings = size.ordered[::-1]
    names = [timing.name for timing in timings]
    slow, middle, fast = (
        np.array([size.speed(getattr(timing, which)) for timing in timings]) for which in ("high", "median", "low")
    )
    if result.measured:
        colours = [COLOURS.get(name, PEER_COLOUR) for name in names]
        errors = np.stack([middle - slow, fast - middle])
        axes.barh(names, middle, color=colours, xerr=errors, error_kw={"linewidth": 1, "capsize": 2})
        axes.axvline(result.limit(size), color=ROOF_COLOUR, linestyle="--", linewidth=1)
        if size.own_limit < 1:
            axes.axvline(result.limit(size) * size.own_limit, color=ROOF_COLOUR, linestyle=":", linewidth=1)
        labels = [f"{speed:.0f}" for speed in middle]
    else:
        axes.barh(names, fast, color=COLOURS["solution"], alpha=0.35)
        axes.barh(names, slow, color=COLOURS["solution"])
        labels = [span(*ends, ".0f") for ends in zip(slow, fast, strict=True)]
    for position, (label, end) in enumerate(zip(labels, fast, strict=True)):
        axes.annotate(f" {label}", (end, position), va="center", fontsize=8)
    axes.margins(x=0.12)
    axes.set_title(f"{name}: {size.unit}{'' if result.measured else ' at best'}", loc="left", fontsize=10)
    axes.tick_params(labelsize=8)
