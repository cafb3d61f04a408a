"""Which program touches what, over time: solid where it is loaded, hatched where it is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from checker.trace.look import FAINT, GREY, INK, LOAD, PALE, STORE, VERMILION, edges
from checker.trace.record import MOST_STEPS
from checker.trace.result import Band, Program, Recorded

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

TILE = 0.135  # inches that a tile is high
GAP = 0.7  # tiles between two tensors
BETWEEN = 0.45  # steps between two programs
MOST_TICKS = 14


def in_lanes(launch: Recorded) -> bool:
    """Whether each program has one lane: all tensors have the same positions, as x and y of a softmax.

    A tensor that is both loaded and stored would be taken for another one there.
    """
    return len({(band.axis, band.extent) for band in launch.bands}) == 1 and not _both(launch)


def _both(launch: Recorded) -> set[str]:
    """Tensors that are loaded and stored."""
    touches = [touch for program in launch.programs for touch in program.touches]
    return {touch.tensor for touch in touches if touch.store} & {touch.tensor for touch in touches if not touch.store}


def lanes_height(launch: Recorded) -> float:
    """Inches."""
    return max(3.4, 0.9 + 0.85 * len(launch.programs))


def bands_height(launch: Recorded) -> float:
    """Inches."""
    return 1.0 + TILE * sum(_tiles(band) + GAP for band in launch.bands)


def _tiles(band: Band) -> float:
    return max(1.0, band.extent / band.block)


def draw_lanes(part: SubFigure, launch: Recorded) -> None:
    """Columns downwards, steps to the right, one lane per program; loads are the left half of a step."""
    band = launch.bands[0]
    axes = part.subplots(len(launch.programs), 1, sharex=True, squeeze=False)[:, 0]
    steps = min(MOST_STEPS, max(program.steps for program in launch.programs))
    for lane, program in zip(axes, launch.programs, strict=True):
        lane.set(ylim=(band.extent, 0), xlim=(0, max(steps, 1)), facecolor=PALE)
        lane.set_yticks(edges(band.extent, band.block, most=4))
        for edge in range(band.block, band.extent, band.block):
            lane.axhline(edge, color=FAINT, linewidth=0.6, zorder=0)
        for touch in program.touches:
            for first, end in touch.spans:
                _mark(lane, touch.step, (first, end), 1 if touch.store else 0, touch.store)
        lane.tick_params(axis="x", length=0)
        lane.tick_params(axis="y", length=2)
        lane.spines[:].set_visible(False)
        lane.set_ylabel(_label(program), rotation=0, ha="right", va="center", color=INK)
        _cut_off(lane, program)
    _ticks(axes[-1], [(0, steps)])
    axes[-1].set_xlabel("steps of a program: a step is one turn of its loop")
    axes[0].set_title(f"{band.axis.capitalize()} over time")


def _label(program: Program) -> str:
    if not program.steps:
        return f"{program.name}\ndid nothing"
    if program.rows is None:
        return program.name
    first, last = program.rows
    return f"{program.name}\n" + (f"row {first}" if first == last else f"rows {first} to {last}")


def draw_bands(part: SubFigure, launch: Recorded) -> None:
    """One band per tensor, tiles downwards; steps to the right, one program after the other."""
    axes = part.subplots()
    tops: dict[str, float] = {}
    height = 0.0
    for band in launch.bands:
        tops[band.tensor] = height
        height += _tiles(band) + GAP
    sections = []
    x = 0.0
    both = _both(launch)
    for program in launch.programs:
        steps = max(1, min(MOST_STEPS, program.steps))
        _background(axes, launch, tops, x, steps)
        blocks = {band.tensor: band.block for band in launch.bands}
        for touch in program.touches:
            for first, end in touch.spans:
                top = tops[touch.tensor]
                covered = top + first / blocks[touch.tensor], top + end / blocks[touch.tensor]
                half = (1 if touch.store else 0) if touch.tensor in both else None
                _mark(axes, x + touch.step, covered, half, touch.store)
        more = f", {program.steps - steps} steps more" if program.steps > steps else ""
        more = more or ("" if program.steps else ": nothing")
        axes.text(x + steps / 2, -0.45, program.name + more, ha="center", va="bottom", fontsize=8, color=GREY)
        sections.append((x, steps))
        x += steps + BETWEEN
    axes.set(xlim=(0, x - BETWEEN), ylim=(height - GAP + 0.1, -0.2))
    axes.set_yticks(
        [tops[band.tensor] + _tiles(band) / 2 for band in launch.bands],
        labels=[f"{band.tensor}\n{band.axis}" for band in launch.bands],
    )
    axes.tick_params(axis="y", labelcolor=INK)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    _ticks(axes, sections)
    shown = "" if launch.count == len(launch.programs) else f"; {len(launch.programs)} of {launch.count} programs"
    axes.set_xlabel(f"steps of each program: a step is one turn of its loop{shown}")
    axes.set_title("Tiles over time", pad=18)


def _background(axes: Axes, launch: Recorded, tops: dict[str, float], x: float, steps: int) -> None:
    from matplotlib.patches import Rectangle

    for band in launch.bands:
        top, tiles = tops[band.tensor], _tiles(band)
        axes.add_patch(Rectangle((x, top), steps, tiles, facecolor=PALE, edgecolor="none", zorder=0))
        for edge in range(1, int(tiles + 0.999)):
            axes.plot([x, x + steps], [top + edge] * 2, color=FAINT, linewidth=0.6, zorder=0.5)


def _mark(axes: Axes, step: float, covered: tuple[float, float], half: int | None, store: bool) -> None:
    """One access: the whole width of its step, or its left (0) or right (1) half."""
    from matplotlib.patches import Rectangle

    left, width = (step + 0.06, 0.88) if half is None else (step + (0.06, 0.51)[half], 0.43)
    first, end = covered
    axes.add_patch(Rectangle((left, first), width, end - first, clip_on=False, **(STORE if store else LOAD)))


def _ticks(axes: Axes, sections: list[tuple[float, int]]) -> None:
    """Steps are counted from 1 in each program."""
    every = max(1, -(-sum(steps for _, steps in sections) // (MOST_TICKS * 2)))
    at = [(x + step + 0.5, step + 1) for x, steps in sections for step in range(0, steps, every)]
    axes.set_xticks([x for x, _ in at], labels=[str(step) for _, step in at])


def _cut_off(axes: Axes, program: Program) -> None:
    if program.steps > MOST_STEPS:
        said = f" … {program.steps - MOST_STEPS} more"
        axes.annotate(said, (1, 0.5), xycoords="axes fraction", fontsize=8, color=GREY, va="center")


def draw_legend(part: SubFigure, launch: Recorded, masked: bool) -> None:
    """What solid and hatched mean, on the right; and the line of a mask if one is drawn."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    stored = any(touch.store for program in launch.programs for touch in program.touches)
    handles: list[Any] = [Patch(**LOAD, label="loaded"), *([Patch(**STORE, label="stored")] if stored else [])]
    if masked:
        handles.append(Line2D([], [], color=VERMILION, label="right of it all is hidden by the mask"))
    part.legend(handles=handles, loc="right", ncols=3, frameon=False, fontsize=9, handlelength=2.2, handleheight=1.1)
