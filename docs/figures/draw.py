"""Draws the figures of the background pages: `python docs/figures/draw.py` writes them (PNG) next to this file.

Each function draws one figure. Grey levels, hatches, markers and words carry the meaning; colour only repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle
from PIL import Image

HERE = Path(__file__).resolve().parent

# Okabe and Ito's palette, as far as it is used.
BLACK, ORANGE, SKY, GREEN, BLUE, VERMILION = "#000000", "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00"
GREY, PALE = "#B0B0B0", "#E6E6E6"

STYLE = {
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.6,
}

# H200 SXM by its vendor: bytes and operations a second.
BANDWIDTH, MATRIX, VECTOR = 4.8e12, 989e12, 67e12
MIB = 2.0**20

Pair = tuple[float, float]


def passes(n: int = 4096, d: int = 64) -> dict[str, list[tuple[str, float]]]:
    """MiB that a head of attention moves, by algorithm and part, as the kernels' loads and stores count them.

    fp16, but O, l, m and LSE of the flash kernels as in the puzzles: FlashAttention-1 keeps O in fp32.
    """
    nd, nn = n * d, n * n
    flash_1 = n // 128  # Tc, with Bc = 128

    def flash_2(tile: int) -> list[tuple[str, float]]:
        again = n // tile  # Tr
        return [("K", 2 * again * nd), ("V", 2 * again * nd), ("Q, O", 4 * nd + 4 * n)]

    return {
        "standard attention": [
            ("S out", 2 * nn),
            ("S in", 2 * nn),
            ("P out", 2 * nn),
            ("P in", 2 * nn),
            ("Q, K, V, O", 8 * nd),
        ],
        "FlashAttention-1, Bc = 128": [
            ("Q", 2 * flash_1 * nd),
            ("O in", 4 * flash_1 * nd),
            ("O out", 4 * flash_1 * nd),
            ("K, V, l, m", 4 * nd + 16 * flash_1 * n),
        ],
        "FlashAttention-2, Br = 64": flash_2(64),
        "FlashAttention-2, Br = 128": flash_2(128),
        "Q, K, V, O once": [("Q, K, V, O", 8 * nd)],
    }


def memory_passes() -> Figure:
    """Bars: bytes of one head that each algorithm asks memory for, by matrix."""
    figure: Figure
    figure, axes = plt.subplots(figsize=(7.2, 2.9))
    fills = [(PALE, ""), (GREY, "///"), ("white", "..."), (SKY, "\\\\\\"), (ORANGE, "xxx")]
    bars = passes()
    for y, parts in enumerate(bars.values()):
        left = 0.0
        for (name, moved), (colour, hatch) in zip(parts, fills, strict=False):
            width = moved / MIB
            axes.barh(y, width, left=left, height=0.62, color=colour, hatch=hatch, edgecolor=BLACK, linewidth=0.8)
            if width > 12:
                box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}
                axes.text(left + width / 2, y, name, ha="center", va="center", fontsize=8, bbox=box)
            left += width
        axes.text(left + 1.5, y, f"{left:.0f} MiB", va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), list(bars))
    axes.invert_yaxis()
    axes.set_xlim(0, 146)
    axes.set_xlabel("MiB loaded and stored for one head, N = 4096, d = 64, fp16")
    figure.tight_layout()
    return figure


def roofline() -> Figure:
    """The roofline of an H200, with softmax and four ways to compute attention on it."""
    figure: Figure
    figure, axes = plt.subplots(figsize=(7.2, 4.3))
    intensity = np.logspace(-1, 4, 200)
    for peak, line, name in (
        (MATRIX, "-", "matrix units: 989 TFLOP/s"),
        (VECTOR, "--", "vector units, fp32: 67 TFLOP/s"),
    ):
        axes.plot(intensity, np.minimum(peak, intensity * BANDWIDTH) / 1e12, line, color=BLACK, linewidth=1.4)
        axes.text(9e3, peak / 1e12 * 1.22, name, ha="right", fontsize=8)
    axes.text(1.6, 5.2, "memory: 4.8 TB/s", rotation=36, rotation_mode="anchor", fontsize=8)
    ridge = MATRIX / BANDWIDTH
    axes.plot([ridge, ridge], [0.3, MATRIX / 1e12], ":", color=BLACK, linewidth=0.9)
    axes.text(ridge * 1.08, 0.36, f"ridge point\n{ridge:.0f} operations a byte", fontsize=8)

    work = 4 * 4096**2 * 64
    moved = {name: sum(size for _, size in parts) for name, parts in passes().items()}
    points = [
        ("softmax, fp32", 5 / 8, VECTOR, "o", VERMILION, (-9, 1)),
        ("standard attention", work / moved["standard attention"], MATRIX, "s", ORANGE, (-9, 1)),
        ("FlashAttention-2, Br = 64", work / moved["FlashAttention-2, Br = 64"], MATRIX, "^", BLUE, (-9, 1)),
        ("FlashAttention-2, Br = 128", work / moved["FlashAttention-2, Br = 128"], MATRIX, "D", SKY, (-9, 1)),
        ("Q, K, V, O once", work / moved["Q, K, V, O once"], MATRIX, "v", GREEN, (32, -17)),
    ]
    for name, at, peak, marker, colour, shift in points:
        height = min(peak, at * BANDWIDTH) / 1e12
        axes.plot(at, height, marker, color=colour, markeredgecolor=BLACK, markersize=8)
        axes.annotate(name, (at, height), xytext=shift, textcoords="offset points", fontsize=8, ha="right")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.1, 1e4)
    axes.set_ylim(0.3, 2500)
    axes.set_xlabel("arithmetic intensity: operations a byte")
    axes.set_ylabel("at most, TFLOP/s")
    figure.tight_layout()
    return figure


def merge(one: Pair, other: Pair) -> Pair:
    """The pair (m, l) of two sets of columns together."""
    m = max(one[0], other[0])
    return m, one[1] * math.exp(one[0] - m) + other[1] * math.exp(other[0] - m)


def _box(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    shape = FancyBboxPatch((x - 0.47, y - 0.2), 0.94, 0.4, boxstyle="round,pad=0.02", facecolor=colour, edgecolor=BLACK)
    axes.add_patch(shape)
    axes.text(x, y, text, ha="center", va="center", fontsize=8)


def _pair(pair: Pair) -> str:
    return f"({pair[0]:.0f}, {pair[1]:.2f})"


def merge_tree() -> Figure:
    """Four blocks of a row, merged one after the other and as a tree: the same pair at the root."""
    blocks = [[1.0, 3.0], [2.0, 5.0], [4.0, 0.0], [5.0, 1.0]]
    leaves = [(max(b), sum(math.exp(x - max(b)) for x in b)) for b in blocks]
    figure: Figure
    figure, both = plt.subplots(1, 2, figsize=(8.2, 3.5))
    for axes, title in zip(both, ("one after the other", "as a tree"), strict=True):
        axes.set_axis_off()
        axes.set_xlim(-0.6, 3.75)
        axes.set_ylim(-0.85, 3.45)
        axes.set_title(title, fontsize=9)
        for x, (block, leaf) in enumerate(zip(blocks, leaves, strict=True)):
            _box(axes, x * 1.05, 0, _pair(leaf), PALE)
            axes.text(x * 1.05, -0.42, "x = " + ", ".join(f"{v:.0f}" for v in block), ha="center", va="top", fontsize=8)

    def join(axes: Axes, at: Pair, children: list[Pair], value: Pair, last: bool = False) -> None:
        for x, y in children:
            axes.plot([x, at[0]], [y + 0.22, at[1] - 0.22], color=BLACK, linewidth=1)
        _box(axes, *at, _pair(value), GREY if last else "white")

    chain, at = leaves[0], (0.0, 0.0)
    for k in (1, 2, 3):
        chain, parent = merge(chain, leaves[k]), (1.05 * k - 0.3, float(k))
        join(both[0], parent, [at, (1.05 * k, 0.0)], chain, last=k == 3)
        at = parent
    left, right = merge(*leaves[:2]), merge(*leaves[2:])
    join(both[1], (0.525, 1.4), [(0, 0), (1.05, 0)], left)
    join(both[1], (2.625, 1.4), [(2.1, 0), (3.15, 0)], right)
    join(both[1], (1.575, 2.8), [(0.525, 1.4), (2.625, 1.4)], merge(left, right), last=True)
    figure.tight_layout()
    return figure


def loop_orders() -> Figure:
    """The visits to the tiles of one head, in the order of FlashAttention-1 and of FlashAttention-2."""
    rows, columns = 3, 4
    figure: Figure
    figure, both = plt.subplots(1, 2, figsize=(8.2, 3.4))
    titles = (
        "FlashAttention-1: down the queries",
        "FlashAttention-2: along the keys",
    )
    notes = (
        "a column: K, V loaded once (grey)\nat each visit: Q, O, l, m in, O, l, m out (dots)",
        "a row: one program; Q in once, O out once (grey)\nat each visit: K, V in (dots)",
    )
    for flash_2, axes in enumerate(both):
        axes.set_axis_off()
        axes.set_xlim(-1.2, columns + 0.1)
        axes.set_ylim(rows + 1.0, -1.15)
        axes.set_aspect("equal")
        axes.set_title(titles[flash_2], fontsize=9)
        often: dict[str, Any] = {"facecolor": "white", "hatch": "...", "edgecolor": BLACK, "linewidth": 0.8}
        once: dict[str, Any] = {"facecolor": GREY, "edgecolor": BLACK, "linewidth": 0.8}
        label: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8}
        white: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        for j in range(columns):
            axes.add_patch(Rectangle((j + 0.08, -0.62), 0.84, 0.44, **(often if flash_2 else once)))
            axes.text(j + 0.5, -0.4, f"K{j + 1}, V{j + 1}", bbox=white if flash_2 else None, **label)
        for i in range(rows):
            axes.add_patch(Rectangle((-1.1, i + 0.28), 0.92, 0.44, **(once if flash_2 else often)))
            axes.text(-0.64, i + 0.5, f"Q{i + 1}, O{i + 1}", bbox=None if flash_2 else white, **label)
            for j in range(columns):
                axes.add_patch(Rectangle((j, i), 1, 1, facecolor="white", edgecolor=BLACK, linewidth=1))
                visit = j + 1 if flash_2 else j * rows + i + 1
                axes.text(j + 0.5, i + 0.5, str(visit), ha="center", va="center", fontsize=10)
        arrow: dict[str, Any] = {"arrowstyle": "->", "color": VERMILION, "linewidth": 1.4}
        for k in range(rows if flash_2 else columns):
            start, end = ((0.2, k + 0.8), (columns - 0.2, k + 0.8)) if flash_2 else ((k + 0.8, 0.2), (k + 0.8, 2.8))
            axes.annotate("", end, start, arrowprops=arrow)
        axes.text(columns / 2 - 0.4, rows + 0.55, notes[flash_2], **label)
    figure.tight_layout()
    return figure


def causal_tiles() -> Figure:
    """Tiles of 4 by 4 under a causal mask, for as many queries as keys, fewer and more."""
    side = 4
    figure: Figure
    figure, panels = plt.subplots(1, 3, figsize=(8.2, 3.7), width_ratios=(12, 16, 8))
    for axes, (n_q, n_k) in zip(panels, ((12, 12), (10, 16), (14, 8)), strict=True):
        off = n_k - n_q
        for top in range(0, n_q, side):
            for left in range(0, n_k, side):
                queries, keys = range(top, min(top + side, n_q)), range(left, min(left + side, n_k))
                seen = [j <= i + off for i in queries for j in keys]
                face, hatch = (GREY, "") if all(seen) else ("white", "////") if any(seen) else ("white", "")
                box = Rectangle((left, top), len(keys), len(queries), facecolor=face, edgecolor=BLACK, linewidth=0.9)
                axes.add_patch(box)
                if any(seen) and not all(seen):
                    for i in queries:
                        width = sum(j <= i + off for j in keys)
                        axes.add_patch(Rectangle((left, i), width, 1, facecolor=PALE, hatch=hatch, linewidth=0))
                    axes.add_patch(Rectangle((left, top), len(keys), len(queries), fill=False, linewidth=0.9))
                word = "whole" if all(seen) else "diagonal" if any(seen) else "skipped"
                white: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
                middle = (left + len(keys) / 2, top + len(queries) / 2)
                axes.text(*middle, word, ha="center", va="center", fontsize=7, bbox=white)
        edge = [(min(max(i + off + 1, 0), n_k), i) for i in range(n_q)]
        steps = [point for x, i in edge for point in ((x, i), (x, i + 1))]
        axes.plot(*zip(*steps, strict=True), color=VERMILION, linewidth=1.8)
        axes.set_xlim(-0.1, n_k + 0.1)
        axes.set_ylim(14.1, -0.1)
        axes.set_aspect("equal")
        axes.set_xticks([0, n_k - 1], ["key 0", str(n_k - 1)], fontsize=7)
        axes.set_yticks([0.5, n_q - 0.5], ["query 0", str(n_q - 1)], fontsize=7)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_title(f"$n_q$ = {n_q}, $n_k$ = {n_k}\n$n_k - n_q$ = ${off}$", fontsize=9, pad=8)
    figure.tight_layout()
    return figure


FIGURES: tuple[Callable[[], Figure], ...] = (memory_passes, roofline, merge_tree, loop_orders, causal_tiles)


def main() -> None:
    """Draw all figures, each into a PNG of its function's name."""
    mpl.use("agg")
    with mpl.rc_context(STYLE):
        for draw in FIGURES:
            figure = draw()
            drawn = BytesIO()
            figure.savefig(drawn, dpi=150)
            few_colours = Image.open(drawn).convert("RGB").quantize(128)
            few_colours.save(HERE / f"{draw.__name__}.png", optimize=True)
            plt.close(figure)


if __name__ == "__main__":
    main()
