"""Figures of one row: where its elements lie, what its padding holds, and what goes over its blocks."""

from __future__ import annotations

import math

from canvas import GREY, INK, MASKED, PALE, PAPER, SMALL, Point, arrow, board, cell, cells, frame, word
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

Pair = tuple[float, float]

BLOCKS = ((1.0, 3.0), (2.0, 5.0), (4.0, 0.0), (5.0, 1.0))  # a row of 8, in blocks of 2


def addresses() -> Figure:
    """w1: three programs double a vector of 10, in blocks of 4."""
    n, block, left = 10, 4, 3.2
    figure, axes = board(20.5, 10)
    rows = {"x in memory": 0.8, "offsets": 3.8, "mask": 4.8, "x": 5.8, "2 * x": 6.8, "y in memory": 8.7}
    for name, y in rows.items():
        word(axes, left - 0.3, y + 0.5, name, ha="right", size=9)
    values = list(range(10, 10 + n))
    inside = {
        "offsets": [str(lane) for lane in range(n)],
        "mask": ["✓"] * n,
        "x": [str(value) for value in values],
        "2 * x": [str(2 * value) for value in values],
    }
    outside = {"offsets": ["10", "11"], "mask": ["✗", "✗"], "x": ["0", "0"], "2 * x": ["0", "0"]}
    for name in inside:
        cells(axes, left, rows[name], inside[name])
        cells(axes, left + n, rows[name], outside[name], hatch="" if name == "offsets" else MASKED)
    for name, lanes in (("x in memory", "x"), ("y in memory", "2 * x")):
        cells(axes, left, rows[name], inside[lanes], fill=GREY)
        cells(axes, left + n, rows[name], ["", ""], dashed=True)
    for lane in range(n):
        arrow(axes, (left + lane + 0.5, 1.9), (left + lane + 0.5, 2.7))
        arrow(axes, (left + lane + 0.5, 7.9), (left + lane + 0.5, 8.6))
    for lane in range(12):
        word(axes, left + lane + 0.5, 0.4, str(lane), size=7)
    for program in range(3):
        cell(axes, left + program * block, 2.8, f"program {program}", fill=PALE, width=block)
        frame(axes, left + program * block, 2.8, block, 5)
    for y in (1.3, 9.2):
        word(axes, left + 12.3, y, "past the end:\nnot yours", ha="left")
    word(axes, left + 12.3, 6.3, "masked off: no load,\nno store; other=0.0", ha="left")
    return figure


def row_addresses() -> Figure:
    """w2: rows of 3 in a matrix with rows of 5, and the block of the program that owns row 1."""
    n_rows, n_cols, stride, block = 3, 3, 5, 4
    figure, axes = board(21, 10.2)
    word(axes, 2.8, 0.5, "x = wide[:, :3]", ha="left", size=9)
    word(axes, 9.4, 0.5, "row * x_row_stride + cols", ha="left", size=9)
    for row in range(n_rows):
        y, begin = 1 + row, row * stride
        own = GREY if row == 1 else PALE
        word(axes, 2.5, y + 0.5, f"row {row}", ha="right", size=9)
        cells(axes, 2.8, y, [str(1 + row * n_cols + col) for col in range(n_cols)], fill=own)
        cells(axes, 2.8 + n_cols, y, [""] * (stride - n_cols), hatch=MASKED)
        offsets = "  ".join(str(begin + col) for col in range(n_cols))
        sum_of = f"{row} · {stride} + (0  1  2  3)  =  {offsets}  and, masked, {begin + n_cols}"
        word(axes, 9.4, y + 0.5, sum_of, ha="left", size=9)
    left, line = 2.8, 6.2
    for offset in range(n_rows * stride):
        row, col = divmod(offset, stride)
        text = str(1 + row * n_cols + col) if col < n_cols else ""
        fill = PAPER if col >= n_cols else GREY if row == 1 else PALE
        cell(axes, left + offset, line, text, fill=fill, hatch="" if col < n_cols else MASKED)
        word(axes, left + offset + 0.5, line + 1.3, str(offset), size=7)
        if col == 0:
            arrow(axes, (left + offset + 0.5, line - 0.7), (left + offset + 0.5, line - 0.05))
            begin = f"x_ptr + {row} · {stride}" if row else "x_ptr"
            word(axes, left + offset + 0.5, line - 1.05, begin)
    word(axes, left - 0.3, line + 0.5, "memory", ha="right", size=9)
    word(axes, left - 0.3, line + 1.3, "offsets", ha="right", size=9)
    word(axes, left - 0.3, line + 3.2, "program 1", ha="right", size=9)
    for lane in range(block):
        x, inside = left + stride + lane, lane < n_cols
        cell(axes, x, line + 2.7, str(1 + n_cols + lane) if inside else "?", hatch="" if inside else MASKED)
        if inside:
            arrow(axes, (x + 0.5, line + 1.65), (x + 0.5, line + 2.6))
    frame(axes, left + stride, line + 2.7, block, 1)
    word(axes, left + stride + block + 0.3, line + 3.2, "lane 3 is padding: what it holds, you decide", ha="left")
    return figure


def padding() -> Figure:
    """p1: a row of 3 in a block of 4, with a padding that counts and with one that does not."""
    row, scale = (0.5, 3.0, 1.0), 15.2
    figure, axes = board(20.4, 9.6)
    cases = (("padding loaded as 0", "0.0", 1.0), ("padding that has the exponential 0", "?", 0.0))
    for case, (title, held, exponential) in enumerate(cases):
        top, left = 0.3 + 4.8 * case, 3.4
        powers = [*(math.exp(x) for x in row), exponential]
        total = sum(powers)
        word(axes, left, top + 0.3, title, ha="left", size=9, bold=True)
        shown = [[f"{x:.1f}" for x in row] + [held], [f"{power:.3g}" for power in powers]]
        shown[1][3] = f"{exponential:.0f}"
        for at, (name, texts) in enumerate(zip(("x", "exp(x)"), shown, strict=True)):
            x = left + at * 8.2
            word(axes, x - 0.3, top + 1.4, name, ha="right", size=9)
            cells(axes, x, top + 0.9, texts[:3], width=1.2, fill=PALE)
            cell(axes, x + 3.6, top + 0.9, texts[3], width=1.2, hatch=MASKED)
            frame(axes, x, top + 0.9, 4.8, 1)
        arrow(axes, (left + 5.2, top + 1.4), (left + 6.1, top + 1.4))
        word(axes, left + 13.2, top + 1.4, f"sum {total:.1f}", ha="left", size=9)
        x = left
        word(axes, left - 0.3, top + 2.9, "divided\nby the sum", ha="right", size=9)
        for lane, power in enumerate(powers):
            part = power / total
            if part:
                hatch, fill = ("", GREY if lane == 1 else PALE) if lane < 3 else (MASKED, PAPER)
                cell(axes, x, top + 2.4, f"{part:.3f}".lstrip("0") if part > 0.05 else "", fill, part * scale, 1, hatch)
                x += part * scale
        kept = sum(powers[:3]) / total
        arrow(axes, (left, top + 3.7), (left + kept * scale, top + 3.7))
        lost = f"; {exponential / total:.2f} went to the padding" if exponential else ""
        word(axes, left, top + 4.15, f"what is stored sums to {kept:.2f}{lost}", ha="left")
    return figure


def three_passes() -> Figure:
    """p2: a row in four blocks, and what each of three passes makes of them."""
    figure, axes = board(23, 11.0)
    left, step = 6.0, 3.6
    m = max(max(block) for block in BLOCKS)
    total = sum(math.exp(x - m) for block in BLOCKS for x in block)
    passes = ("pass 1\nthe maximum", "pass 2\nthe sum of exp(x − m)", "pass 3\nexp(x − m) / l")
    left_over = (f"m = {m:.0f}", f"l = {total:.2f}", "y")
    highest, so_far = -math.inf, 0.0
    for at, name in enumerate(passes):
        top = 0.9 + 3.6 * at
        word(axes, left - 0.5, top + 1, name, ha="right", size=9)
        for number, block in enumerate(BLOCKS):
            x = left + step * number
            if at == 0:
                word(axes, x + 1, 0.4, f"block {number}")
            cells(axes, x, top, [f"{value:.0f}" for value in block], fill=GREY)
            arrow(axes, (x + 1, top + 1.05), (x + 1, top + 1.55))
            if at < 2:
                highest = max(highest, *block) if at == 0 else highest
                so_far += sum(math.exp(value - m) for value in block) if at == 1 else 0.0
                kept = f"m = {highest:.0f}" if at == 0 else f"l = {so_far:.2f}"
                cell(axes, x, top + 1.6, kept, width=2)
                if number:
                    arrow(axes, (x - step + 2.1, top + 2.1), (x - 0.1, top + 2.1))
            else:
                shares = [f"{math.exp(value - m) / total:.3f}".lstrip("0") for value in block]
                cells(axes, x, top + 1.6, shares, fill=PALE)
        end = left + step * 3 + 2
        arrow(axes, (end + 0.1, top + 2.1), (end + 0.7, top + 2.1))
        word(axes, end + 0.9, top + 2.1, left_over[at], ha="left", size=9, bold=True)
    return figure


def merge(one: Pair, other: Pair) -> Pair:
    """The pair (m, l) of two sets of columns together."""
    m = max(one[0], other[0])
    return m, one[1] * math.exp(one[0] - m) + other[1] * math.exp(other[0] - m)


def _box(axes: Axes, x: float, y: float, text: str, colour: str) -> None:
    shape = FancyBboxPatch((x - 0.47, y - 0.2), 0.94, 0.4, boxstyle="round,pad=0.02", facecolor=colour, edgecolor=INK)
    axes.add_patch(shape)
    word(axes, x, y, text)


def _pair(pair: Pair) -> str:
    return f"({pair[0]:.0f}, {pair[1]:.2f})"


def merge_tree() -> Figure:
    """p3: four blocks of a row, merged one after the other and as a tree: the same pair at the root."""
    leaves = [(max(b), sum(math.exp(x - max(b)) for x in b)) for b in BLOCKS]
    figure: Figure
    figure, both = plt.subplots(1, 2, figsize=(8.2, 3.5))
    for axes, title in zip(both, ("one after the other", "as a tree"), strict=True):
        axes.set_axis_off()
        axes.set_xlim(-0.6, 3.75)
        axes.set_ylim(-0.85, 3.45)
        axes.set_title(title, fontsize=9)
        for x, (block, leaf) in enumerate(zip(BLOCKS, leaves, strict=True)):
            _box(axes, x * 1.05, 0, _pair(leaf), PALE)
            values = "x = " + ", ".join(f"{v:.0f}" for v in block)
            axes.text(x * 1.05, -0.42, values, ha="center", va="top", fontsize=SMALL)

    def join(axes: Axes, at: Point, children: list[Point], value: Pair, last: bool = False) -> None:
        for x, y in children:
            axes.plot([x, at[0]], [y + 0.22, at[1] - 0.22], color=INK, linewidth=1)
        _box(axes, *at, _pair(value), GREY if last else PAPER)

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
