"""Which program touches what, over time: solid where it is loaded, hatched where it is stored."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from checker.trace.look import FAINT, GREY, INK, LOAD, PALE, STORE, VERMILION
from checker.trace.record import MOST_STEPS
from checker.trace.result import Band, Program, Recorded

TILE, BAND = 0.135, 0.36  # inches that a tile is high, and a tensor with what stands beside it
GAP = 0.7  # tiles between two tensors
BETWEEN = 0.45  # steps between two programs
MOST_TICKS = 28


def height(launch: Recorded) -> float:
    """Inches."""
    return 1.0 + max(TILE * sum(_tiles(band) + GAP for band in launch.bands), BAND * len(launch.bands))


def _tiles(band: Band) -> float:
    return max(1.0, band.extent / band.block)


def draw(part: SubFigure, launch: Recorded) -> None:
    """One band per tensor, tiles downwards; steps to the right, one program after the other."""
    axes = part.subplots()
    bands: dict[str, tuple[float, Band]] = {}  # by tensor: where its band begins
    bottom = 0.0
    for band in launch.bands:
        bands[band.tensor] = bottom, band
        bottom += _tiles(band) + GAP
    sections: list[tuple[float, int]] = []  # of each program: where it begins, and how many steps are drawn
    for program in launch.programs:
        start = sum(sections[-1]) + BETWEEN if sections else 0.0
        steps = max(1, min(MOST_STEPS, program.steps))
        sections.append((start, steps))
        _touches(axes, program, start, bands)
        axes.text(start + steps / 2, -0.45, _label(program), ha="center", va="bottom", fontsize=8, color=GREY)
    for top, band in bands.values():
        axes.broken_barh(sections, (top, _tiles(band)), facecolor=PALE, zorder=0)
        edges = [top + edge for edge in range(1, math.ceil(band.extent / band.block))]
        for start, steps in sections:
            axes.hlines(edges, start, start + steps, color=FAINT, linewidth=0.6, zorder=0.5)
    axes.set(xlim=(0, sum(sections[-1])), ylim=(bottom - GAP + 0.1, -0.2))
    names = [f"{band.tensor}\n{band.axis}" for band in launch.bands]
    axes.set_yticks([top + _tiles(band) / 2 for top, band in bands.values()], labels=names, color=INK)
    every = -(-sum(steps for _, steps in sections) // MOST_TICKS)
    ticks = {start + step + 0.5: str(step + 1) for start, steps in sections for step in range(0, steps, every)}
    axes.set_xticks(list(ticks), labels=list(ticks.values()))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    shown = "" if launch.count == len(launch.programs) else f"; {len(launch.programs)} of {launch.count} programs"
    axes.set_xlabel(f"steps of each program: a step is one iteration of its loop{shown}")
    axes.set_title("Tiles over time", pad=18)


def _touches(axes: Axes, program: Program, start: float, bands: dict[str, tuple[float, Band]]) -> None:
    """Every access: the whole width of its step, or a half if the tensor is both loaded (left) and stored (right)."""
    ways = {(touch.tensor, touch.store) for touch in program.touches}
    for touch in program.touches:
        both = {(touch.tensor, True), (touch.tensor, False)} <= ways
        left, width = (0.51 if touch.store else 0.06, 0.43) if both else (0.06, 0.88)
        top, band = bands[touch.tensor]
        look = STORE if touch.store else LOAD
        for first, end in touch.spans:
            down = top + first / band.block, (end - first) / band.block
            axes.broken_barh([(start + touch.step + left, width)], down, clip_on=False, **look)


def _label(program: Program) -> str:
    if not program.steps:
        return f"{program.name}: nothing"
    label = program.name
    if program.rows is not None:
        first, last = program.rows
        label += f", row {first}" if first == last else f", rows {first} to {last}"
    return label + (f", {program.steps - MOST_STEPS} steps more" if program.steps > MOST_STEPS else "")


def draw_legend(part: SubFigure, launch: Recorded, masked: bool) -> None:
    """What solid and hatched mean, on the right; and the line of a mask if one is drawn."""
    stored = any(touch.store for program in launch.programs for touch in program.touches)
    handles: list[Any] = [Patch(**LOAD, label="loaded"), *([Patch(**STORE, label="stored")] if stored else [])]
    if masked:
        handles.append(Line2D([], [], color=VERMILION, label="everything to the right is hidden by the mask"))
    part.legend(handles=handles, loc="right", ncols=3, frameon=False, fontsize=9, handlelength=2.2, handleheight=1.1)
