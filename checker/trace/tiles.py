"""The grid of query and key tiles: who came to which pair when, and which pairs nobody came to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import SubFigure
from matplotlib.patches import Rectangle

from checker.trace import words
from checker.trace.look import BLUE, GREY, SKIPPED, VERMILION
from checker.trace.result import Beside, Pairs, Visit

VISITED = "#E3F1FB"
MOST_NUMBERS = 3  # of the visits to one pair
MOST_TICKS = 8


def draw(part: SubFigure, pairs: Pairs, title: str, lines: int) -> None:
    """The grid, each visit with its number, and each program's path; `lines` of words below it, so many at least."""
    axes = part.subplots()
    rows, columns = pairs.shape
    came = np.zeros(pairs.shape, bool)
    came[tuple(np.array(sorted(pairs.visited)).reshape(-1, 2).T)] = True
    axes.add_patch(Rectangle((0, 0), columns, rows, zorder=-1, **SKIPPED))
    axes.pcolormesh(np.ma.masked_equal(came, False), cmap=ListedColormap([VISITED]))
    axes.hlines(range(rows + 1), 0, columns, color="white", linewidth=2)
    axes.vlines(range(columns + 1), 0, rows, color="white", linewidth=2)
    for i, j in sorted(pairs.skipped):
        _label(axes, i, j, 0.5, "skipped", GREY)
        if (i, j) not in pairs.hidden:
            _label(axes, i, j, 0.78, "✗ it counts", VERMILION)
    for i, j in sorted(pairs.visited & pairs.hidden):
        axes.add_patch(Rectangle((j + 0.04, i + 0.04), 0.92, 0.92, fill=False, edgecolor=VERMILION, linestyle="--"))
        _label(axes, i, j, 0.85, "in vain", VERMILION)
    if not pairs.sees.all():  # a line between what each query sees and what is hidden from it
        ends, edges = pairs.sees.sum(axis=1) / pairs.key_block, np.arange(pairs.queries + 1) / pairs.query_block
        axes.stairs(ends, edges, orientation="horizontal", baseline=None, color=VERMILION, linewidth=1.4, zorder=2)
    for program in pairs.programs:
        _path(axes, pairs.of_program(program), len(pairs.programs) > 1)
    _numbers(axes, pairs)
    axes.set(xlim=(-0.02, columns + 0.02), ylim=(rows + 0.02, -0.02), aspect="equal")
    for axis, extent, block in (
        (axes.xaxis, pairs.keys, pairs.key_block),
        (axes.yaxis, pairs.queries, pairs.query_block),
    ):
        count = -(-extent // block)
        shown = range(0, count, -(-count // MOST_TICKS))
        labels = [f"{n * block} to {min((n + 1) * block, extent) - 1}" for n in shown]
        axis.set_ticks([n + 0.5 for n in shown], labels=labels)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    said = list(words.of_tiles(pairs))
    axes.set(ylabel="queries", xlabel="\n".join(["keys", "", *said]) + "\n" * (lines - len(said)))
    way = words.order(pairs)
    axes.set_title(title + (f": {way}" if way else ""))


def draw_invitation(part: SubFigure, beside: Beside) -> None:
    """What to solve in order to see something here."""
    axes = part.subplots()
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[], box_aspect=1)
    axes.spines[:].set(linestyle=(0, (4, 4)), color=GREY)
    axes.set_title(f"Puzzle {beside.puzzle}", color=GREY)
    said = f"{beside.title}\nvisits tiles in another order.\n\nSolve puzzle {beside.puzzle},\nand you see yours here."
    axes.text(0.5, 0.56, said, ha="center", va="center", fontsize=10, color=GREY, linespacing=1.5)


def _label(axes: Axes, i: int, j: int, down: float, text: str, colour: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
    axes.text(j + 0.5, i + down, text, ha="center", va="center", fontsize=7.5, color=colour, bbox=box)


def _path(axes: Axes, visits: Sequence[Visit], several: bool) -> None:
    """From visit to visit: neighbours by an arrow, others by a thin dashed line."""
    at = [(v.key_tile + 0.5, v.query_tile + 0.5) for v in visits]
    for one, after in itertools.pairwise(at):
        near = abs(one[0] - after[0]) + abs(one[1] - after[1]) == 1
        style: dict[str, Any] = {"linewidth": 1.6} if near else {"linewidth": 0.8, "linestyle": (0, (4, 3))}
        arrow = {"arrowstyle": "->", "shrinkA": 10, "shrinkB": 10, "color": BLUE, **style}
        axes.annotate("", after, one, arrowprops=arrow, zorder=3)
    if several:
        (x, y), box = at[0], {"facecolor": VISITED, "edgecolor": "none", "pad": 0.6}
        place: dict[str, Any] = {"ha": "right", "va": "center", "fontsize": 7, "color": GREY, "zorder": 5, "bbox": box}
        axes.text(x + 0.45, y - 0.37, f"program {visits[0].program}", **place)


def _numbers(axes: Axes, pairs: Pairs) -> None:
    """The first visits to each pair, in a circle, or in something longer for many."""
    of_pair: dict[tuple[int, int], list[int]] = {}
    for v in pairs.visits:
        of_pair.setdefault((v.query_tile, v.key_tile), []).append(v.number)
    frame: dict[str, Any] = {"facecolor": "white", "edgecolor": BLUE, "linewidth": 1.2}
    for (i, j), numbers in of_pair.items():
        more = f" +{len(numbers) - MOST_NUMBERS}" if len(numbers) > MOST_NUMBERS else ""
        text = ", ".join(map(str, numbers[:MOST_NUMBERS])) + more
        box = {"boxstyle": "round,pad=0.35", **frame} if len(text) > 2 else None
        if box is None:
            axes.scatter(j + 0.5, i + 0.5, s=380, zorder=4, **frame)
        place: dict[str, Any] = {"ha": "center", "va": "center_baseline", "zorder": 5}
        axes.text(j + 0.5, i + 0.5, text, fontsize=9, weight="bold", bbox=box, **place)
