"""Heat maps of reads and of errors, and traffic against its bound."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.trace import words
from checker.trace.look import FAINT, INK, LOAD, SKIPPED, STORE, VERMILION, edges
from checker.trace.result import Reads, Recorded, Wrongness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import BoundaryNorm, Colormap
    from matplotlib.figure import SubFigure

LEAST_COLOURS = 4  # so that 1, 2 and 3 look alike in all puzzles
MOST_COLOURS = 8  # more counts than that share colours
MOST_LABELS = 64  # tiles of one tensor that get a number each


def height(launch: Recorded) -> float:
    """Inches of a row of maps."""
    return 2.7 if any(r.counts.shape[0] > 8 for r in launch.reads) else 2.1


def draw_reads(part: SubFigure, launch: Recorded) -> None:
    """A heat map for each tensor: how often each element was loaded; darker is oftener, never is hatched."""
    from matplotlib.cm import ScalarMappable

    part.suptitle("Reads per element", x=0.012, ha="left", fontsize=10, weight="bold", color=INK)
    if not launch.reads:
        return
    most = max(1, max(int(r.counts.max()) for r in launch.reads))
    colours, norm = _colours(most)
    widths = [1.0 if r.counts.shape[1] > 1 else 0.32 for r in launch.reads]
    for axes, reads in zip(
        part.subplots(1, len(widths), width_ratios=widths, squeeze=False)[0], launch.reads, strict=True
    ):
        _heat(axes, reads, colours, norm)
    bar = part.colorbar(ScalarMappable(norm, colours), ax=part.axes, fraction=0.05, pad=0.02, aspect=14)
    step = -(-most // MOST_COLOURS)
    bar.set_ticks([n + step / 2 - 0.5 for n in range(1, most + 1, step)])
    bar.set_ticklabels([str(n) if step == 1 else f"{n} to {n + step - 1}" for n in range(1, most + 1, step)])
    bar.ax.tick_params(length=0)
    bar.set_label("loads of an element")
    bar.outline.set_visible(False)


def _colours(most: int) -> tuple[Colormap, BoundaryNorm]:
    """Light for 1, dark for many; in grey the order is the same. An element that is never read has no colour."""
    import matplotlib as mpl
    from matplotlib.colors import BoundaryNorm as Norm

    step = -(-most // MOST_COLOURS)
    steps = np.arange(0.5, most + step, step)
    count = max(LEAST_COLOURS, len(steps) - 1)
    base = mpl.colormaps["Blues"]
    colours = mpl.colors.ListedColormap(base(np.linspace(0.25, 0.97, count))[: len(steps) - 1])
    return colours, Norm(steps, len(steps) - 1)


def _heat(axes: Axes, reads: Reads, colours: Colormap, norm: BoundaryNorm) -> None:
    from matplotlib.patches import Rectangle

    rows, columns = reads.counts.shape
    axes.add_patch(Rectangle((0, 0), columns, rows, zorder=-1, **SKIPPED))
    shown = np.ma.masked_less(reads.counts, 1)
    axes.imshow(shown, cmap=colours, norm=norm, extent=(0, columns, rows, 0), aspect="auto", interpolation="nearest")
    down, across = reads.blocks
    tiles = [(top, left) for top in range(0, rows, down) for left in range(0, columns, across)]
    for top, left in tiles if len(tiles) <= MOST_LABELS else []:
        part = reads.counts[top : top + down, left : left + across]
        low, high = int(part.min()), int(part.max())
        middle = left + part.shape[1] / 2, top + part.shape[0] / 2
        red, green, blue, _ = colours(norm(high)) if high else (1, 1, 1, 1)
        light = 0.299 * red + 0.587 * green + 0.114 * blue > 0.5
        said = str(low) if low == high else f"{low}–{high}"
        axes.text(*middle, said, ha="center", va="center", fontsize=8.5, color=INK if light else "white")
    for edge in range(down, rows, down):
        axes.axhline(edge, color="white", linewidth=0.8)
    for edge in range(across, columns, across):
        axes.axvline(edge, color="white", linewidth=0.8)
    axes.set_yticks(edges(rows, down))
    axes.set_xticks(edges(columns, across, most=4) if reads.columns else [])
    axes.set(title=reads.tensor, xlabel=reads.columns, ylabel=reads.rows)
    axes.tick_params(length=2)


def draw_traffic(part: SubFigure, launch: Recorded) -> None:
    """How often elements are moved on average, and how often is enough: as in the report, of this launch."""
    axes = part.subplots()
    bars = list(words.bars(launch.traffic))
    longest = max((max(done, most) for _, _, done, most in bars), default=1.0)
    for position, (_, store, done, most) in enumerate(bars):
        axes.barh(position, done, height=0.56, **(STORE if store else LOAD))
        axes.plot([most, most], [position - 0.4, position + 0.4], color=INK, linewidth=2.2, solid_capstyle="butt")
        over = done > most
        said = f"{done:.2f} of {most:.2f}" + (" ✗" if over else "")
        look: dict[str, Any] = {"color": VERMILION, "weight": "bold"} if over else {"color": INK}
        axes.text(max(done, most) + 0.03 * longest, position, said, va="center", fontsize=8, **look)
    axes.set_yticks(range(len(bars)), labels=[f"{name} {'written' if store else 'read'}" for name, store, *_ in bars])
    axes.set(xlim=(0, 1.42 * longest), ylim=(len(bars) - 0.4, -0.6), xlabel="times per element; │ is the bound")
    axes.tick_params(length=0)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.set_title("Traffic against its bound")


def draw_wrong(part: SubFigure, wrong: Wrongness) -> None:
    """Where the output is wrong: darker where more of the elements are. Dotted: the blocks it is computed in."""
    import matplotlib as mpl

    picture = wrong.picture
    (rows, columns), (down, across) = picture.shape, wrong.blocks
    left, right = part.subfigures(1, 2, squeeze=False, width_ratios=[1.25, 1]).flat
    axes = left.subplots()
    cells = np.array(picture.wrong)
    extent = (0, picture.cell[1] * cells.shape[1], picture.cell[0] * cells.shape[0], 0)
    colours = mpl.colors.LinearSegmentedColormap.from_list("wrong", [(0, "white"), (1e-6, "#F7D3BA"), (1, "#A83E00")])
    drawn = axes.imshow(cells, cmap=colours, vmin=0, vmax=1, extent=extent, aspect="auto", interpolation="nearest")
    axes.set(xlim=(0, columns), ylim=(rows, 0), xlabel=picture.columns, ylabel=picture.rows)
    for edge in range(down, rows, down):
        axes.axhline(edge, color=INK, linewidth=0.8, linestyle=":")
    for edge in range(across, columns, across):
        axes.axvline(edge, color=INK, linewidth=0.8, linestyle=":")
    axes.set_yticks(edges(rows, down))
    axes.set_xticks(edges(columns, across) if picture.columns else [])
    axes.set_title(f"Where {picture.tensor.removesuffix('_ptr')} is wrong")
    bar = left.colorbar(drawn, ax=axes, fraction=0.05, pad=0.02, aspect=14, ticks=[0, 0.5, 1])
    bar.set_ticklabels(["right", "half", "wrong"])
    bar.ax.tick_params(length=0)
    bar.outline.set_edgecolor(FAINT)
    title = textwrap.fill(wrong.title, 44)
    said = textwrap.fill(wrong.explanation, 54) + "\n\n" + textwrap.fill(f"Seen with: {picture.case}", 54)
    right.text(0.03, 0.93, title, fontsize=10.5, weight="bold", va="top", color=INK)
    right.text(0.03, 0.84 - 0.07 * title.count("\n"), said, fontsize=8.8, va="top", color=INK, linespacing=1.4)
