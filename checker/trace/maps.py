"""Heat maps of reads and of errors, and traffic against its bound."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import BoundaryNorm, Colormap, LinearSegmentedColormap, ListedColormap
from matplotlib.figure import SubFigure

from checker.judge.evidence import tensor_name
from checker.trace import words
from checker.trace.look import FAINT, INK, LOAD, SKIPPED, STORE, VERMILION, divide
from checker.trace.result import Reads, Recorded, Wrongness

LEAST_COLOURS = 4  # so that 1, 2 and 3 look alike in all puzzles
MOST_COLOURS = 8  # more counts than that share colours
MOST_LABELS = 64  # tiles of one tensor that get a number each
WRONG = LinearSegmentedColormap.from_list("wrong", [(0, "white"), (1e-6, "#F7D3BA"), (1, "#A83E00")])


def height(launch: Recorded) -> float:
    """Inches of a row of maps."""
    return 2.7 if any(r.counts.shape[0] > 8 for r in launch.reads) else 2.1


def draw_reads(part: SubFigure, launch: Recorded) -> None:
    """A heat map for each tensor: how often each element was loaded; darker is oftener, never is hatched."""
    part.suptitle("Reads per element", x=0.012, ha="left", fontsize=10, weight="bold", color=INK)
    if not launch.reads:
        return
    most = max(1, *(int(r.counts.max()) for r in launch.reads))
    colours, norm = _colours(most)
    widths = [1.0 if r.counts.shape[1] > 1 else 0.32 for r in launch.reads]
    every = part.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0]
    for axes, reads in zip(every, launch.reads, strict=True):
        _heat(axes, reads, colours, norm)
    bar = part.colorbar(ScalarMappable(norm, colours), ax=part.axes, fraction=0.05, pad=0.02, aspect=14)
    step = -(-most // MOST_COLOURS)
    firsts = range(1, most + 1, step)
    bar.set_ticks([n + step / 2 - 0.5 for n in firsts])
    bar.set_ticklabels([str(n) if step == 1 else f"{n} to {n + step - 1}" for n in firsts])
    bar.ax.tick_params(length=0)
    bar.ax.minorticks_off()
    bar.set_label("loads of an element")
    bar.outline.set_visible(False)


def _colours(most: int) -> tuple[Colormap, BoundaryNorm]:
    """Light for 1, dark for many; in grey the order is the same. An element that is never read has no colour."""
    step = -(-most // MOST_COLOURS)
    steps = np.arange(0.5, most + step, step)
    shades = mpl.colormaps["Blues"](np.linspace(0.25, 0.97, max(LEAST_COLOURS, len(steps) - 1)))
    return ListedColormap(shades[: len(steps) - 1]), BoundaryNorm(steps, len(steps) - 1)


def _heat(axes: Axes, reads: Reads, colours: Colormap, norm: BoundaryNorm) -> None:
    (rows, columns), (down, across) = reads.counts.shape, reads.blocks
    axes.axhspan(0, rows, zorder=-1, **SKIPPED)
    shown = np.ma.masked_less(reads.counts, 1)
    axes.imshow(shown, cmap=colours, norm=norm, extent=(0, columns, rows, 0), aspect="auto", interpolation="nearest")
    tiles = [(top, left) for top in range(0, rows, down) for left in range(0, columns, across)]
    for top, left in tiles if len(tiles) <= MOST_LABELS else []:
        part = reads.counts[top : top + down, left : left + across]
        low, high = int(part.min()), int(part.max())
        said = str(low) if low == high else f"{low}–{high}"
        light = high == 0 or np.dot(colours(norm(high))[:3], (0.299, 0.587, 0.114)) > 0.5
        middle = left + part.shape[1] / 2, top + part.shape[0] / 2
        axes.text(*middle, said, ha="center", va="center", fontsize=8.5, color=INK if light else "white")
    divide(axes, (rows, columns), reads.blocks, most_columns=4, color="white", linewidth=0.8)
    axes.set(title=reads.tensor, xlabel=reads.columns, ylabel=reads.rows)
    axes.tick_params(length=2, labelbottom=bool(reads.columns), bottom=bool(reads.columns))


def draw_traffic(part: SubFigure, launch: Recorded) -> None:
    """How often elements are moved on average, and how often is enough: as in the report, of this launch."""
    axes = part.subplots()
    bars = list(words.bars(launch.traffic))
    longest = max((max(done, most) for _, _, done, most in bars), default=1.0)
    for position, (_, store, done, most) in enumerate(bars):
        axes.barh(position, done, height=0.56, **(STORE if store else LOAD))
        axes.vlines(most, position - 0.4, position + 0.4, color=INK, linewidth=2.2)
        over = done > most
        look: dict[str, Any] = {"color": VERMILION, "weight": "bold"} if over else {"color": INK}
        said = f"{done:.2f} of {most:.2f}" + (" ✗" if over else "")
        axes.text(max(done, most) + 0.03 * longest, position, said, va="center", fontsize=8, **look)
    axes.set_yticks(range(len(bars)), labels=[f"{name} {'written' if store else 'read'}" for name, store, *_ in bars])
    axes.set(xlim=(0, 1.5 * longest), ylim=(len(bars) - 0.4, -0.6), xlabel="times per element; │ is the bound")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_title("Traffic against its bound")


def draw_wrong(part: SubFigure, wrong: Wrongness) -> None:
    """Where the output is wrong: darker where more of the elements are. Dotted: the blocks it is computed in."""
    picture = wrong.picture
    left, right = part.subfigures(1, 2, squeeze=False, width_ratios=[1.25, 1]).flat
    axes = left.subplots()
    cells = np.array(picture.wrong)
    extent = (0, picture.cell[1] * cells.shape[1], picture.cell[0] * cells.shape[0], 0)
    drawn = axes.imshow(cells, cmap=WRONG, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest")
    divide(axes, picture.shape, wrong.blocks, color=INK, linewidth=0.8, linestyle=":")
    axes.set(title=f"Where {tensor_name(picture.tensor)} is wrong", xlabel=picture.columns, ylabel=picture.rows)
    axes.tick_params(labelbottom=bool(picture.columns), bottom=bool(picture.columns))
    bar = left.colorbar(drawn, ax=axes, fraction=0.05, pad=0.02, aspect=14, ticks=[0, 0.5, 1])
    bar.set_ticklabels(["right", "half", "wrong"])
    bar.ax.tick_params(length=0)
    bar.outline.set_edgecolor(FAINT)
    title = textwrap.fill(wrong.title, 44)
    said = textwrap.fill(wrong.explanation, 54) + "\n\n" + textwrap.fill(f"Seen with: {picture.case}", 54)
    right.text(0.03, 0.93, title, fontsize=10.5, weight="bold", va="top", color=INK)
    right.text(0.03, 0.84 - 0.07 * title.count("\n"), said, fontsize=8.8, va="top", color=INK, linespacing=1.4)
