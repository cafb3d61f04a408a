"""Figures of memory: what crosses its bus, how fast it can, and what lives in it at the same time."""

from __future__ import annotations

from typing import Any

import numpy as np
from canvas import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PALE,
    PAPER,
    SKY,
    SMALL,
    board,
    cell,
    word,
)  # fmt: skip
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

# H200 SXM by its vendor: bytes and operations a second.
BANDWIDTH, MATRIX, VECTOR = 4.8e12, 989e12, 67e12
MIB = 2.0**20


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
    fills = [(PALE, ""), (GREY, "///"), (PAPER, ""), (SKY, "\\\\\\"), (ORANGE, "xxx")]
    bars = passes()
    for y, parts in enumerate(bars.values()):
        left = 0.0
        for (name, moved), (colour, hatch) in zip(parts, fills, strict=False):
            width = moved / MIB
            axes.barh(y, width, left=left, height=0.62, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.8)
            if width > 12:
                box: dict[str, Any] = {"facecolor": PAPER, "edgecolor": "none", "pad": 1.2}
                axes.text(left + width / 2, y, name, ha="center", va="center", fontsize=SMALL, bbox=box)
            left += width
        axes.text(left + 1.5, y, f"{left:.0f} MiB", va="center", fontsize=SMALL)
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
        axes.plot(intensity, np.minimum(peak, intensity * BANDWIDTH) / 1e12, line, color=INK, linewidth=1.4)
        axes.text(9e3, peak / 1e12 * 1.22, name, ha="right", fontsize=SMALL)
    axes.text(1.6, 5.2, "memory: 4.8 TB/s", rotation=36, rotation_mode="anchor", fontsize=SMALL)
    ridge = MATRIX / BANDWIDTH
    axes.plot([ridge, ridge], [0.3, MATRIX / 1e12], ":", color=INK, linewidth=0.9)
    axes.text(ridge * 1.08, 0.36, f"ridge point\n{ridge:.0f} operations a byte", fontsize=SMALL)

    work = 4 * 4096**2 * 64
    moved = {name: sum(size for _, size in parts) for name, parts in passes().items()}
    points = [
        ("softmax, fp32", 5 / 8, VECTOR, "o", GREY, (-9, 1)),
        ("standard attention", work / moved["standard attention"], MATRIX, "s", ORANGE, (-9, 1)),
        ("FlashAttention-2, Br = 64", work / moved["FlashAttention-2, Br = 64"], MATRIX, "^", BLUE, (-9, 1)),
        ("FlashAttention-2, Br = 128", work / moved["FlashAttention-2, Br = 128"], MATRIX, "D", SKY, (-9, 1)),
        ("Q, K, V, O once", work / moved["Q, K, V, O once"], MATRIX, "v", GREEN, (32, -17)),
    ]
    for name, at, peak, marker, colour, shift in points:
        height = min(peak, at * BANDWIDTH) / 1e12
        axes.plot(at, height, marker, color=colour, markeredgecolor=INK, markersize=8)
        axes.annotate(name, (at, height), xytext=shift, textcoords="offset points", fontsize=SMALL, ha="right")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(0.1, 1e4)
    axes.set_ylim(0.3, 2500)
    axes.set_xlabel("arithmetic intensity: operations a byte")
    axes.set_ylabel("at most, TFLOP/s")
    figure.tight_layout()
    return figure


def alive() -> Figure:
    """a2: the numbers alive at once beside the inputs, plain and by tiles, as areas to one scale."""
    n, d, tile = 1024, 16, 32
    figure, axes = board(3.3 * n, 1.42 * n, 2.4 / n)
    left, top = 0.08 * n, 0.22 * n
    plain, tiled = 2 * n * n + n * d, n * d + n + 4 * tile * tile + tile * d + 6 * tile
    word(axes, left, 0.09 * n, f"plain attention: {plain:,} numbers", ha="left", size=9, bold=True)
    for at, name in enumerate(("S, 1024 × 1024", "P, 1024 × 1024")):
        cell(axes, left + at * 1.08 * n, top, name, GREY if at else PALE, n, n, size=9)
    cell(axes, left + 2.16 * n, top, "", PAPER, d, n)
    word(axes, left + 2.17 * n, top + n + 0.08 * n, "O, 1024 × 16")
    x = left + 2.5 * n
    word(axes, x, 0.09 * n, f"by tiles: {tiled:,}", ha="left", size=9, bold=True)
    cell(axes, x, top, "", PAPER, d, n)
    axes.plot([x + 2.5 * d] * 2, [top, top + n], color=INK, linewidth=0.8)
    word(axes, x + 0.02 * n, top + n + 0.08 * n, "O, LSE")
    for at in range(4):
        cell(axes, x + 6 * d, top + at * 2 * tile, "", GREY if at % 2 else PALE, tile, tile)
    cell(axes, x + 6 * d, top + 8 * tile, "", PAPER, d, tile)
    note = f"tiles of {tile} × {tile}\nand a tile of O:\neach is used up\nbefore the next\nis made"
    word(axes, x + 9.5 * d, top + 5 * tile, note, ha="left")
    return figure
