"""Figures of attention: in which order tiles of scores are visited, which ones are hidden, what a bias adds to them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from canvas import GREY, INK, MASKED, OFTEN, PALE, PAPER, VERMILION, arrow, board, cell, cells, frame, word
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon


@dataclass(frozen=True)
class Tile:
    """Row and column among the tiles, and its rectangle on the board."""

    i: int
    j: int
    x: float
    y: float
    width: int
    height: int
    hidden: bool

    @property
    def middle(self) -> tuple[float, float]:
        """The point in its middle."""
        return self.x + self.width / 2, self.y + self.height / 2


def under_mask(axes: Axes, x: float, y: float, n_q: int, n_k: int, side: int) -> list[Tile]:
    """Draw the scores of `n_q` queries and `n_k` keys in tiles, one score a unit, with the causal mask's staircase.

    Whole tiles are grey; of those that the mask cuts, what is seen is hatched; skipped ones are empty.
    """
    off, tiles = n_k - n_q, []
    for top in range(0, n_q, side):
        for left in range(0, n_k, side):
            queries, keys = range(top, min(top + side, n_q)), range(left, min(left + side, n_k))
            seen = [sum(key <= query + off for key in keys) for query in queries]
            whole, hidden = min(seen) == len(keys), max(seen) == 0
            one = Tile(top // side, left // side, x + left, y + top, len(keys), len(queries), hidden)
            tiles.append(one)
            if not whole and not hidden:
                corners = [(one.x + width, one.y + row + down) for row, width in enumerate(seen) for down in (0, 1)]
                outline = [(one.x, one.y), *corners, (one.x, one.y + one.height)]
                axes.add_patch(Polygon(outline, facecolor=PALE, edgecolor=INK, hatch=MASKED, linewidth=0))
            fill = GREY if whole else PAPER if hidden else "none"
            cell(axes, one.x, one.y, "", fill, one.width, one.height)
    edge = [(min(max(query + off + 1, 0), n_k), query) for query in range(n_q)]
    steps = [(x + at, y + query + down) for at, query in edge for down in (0, 1)]
    axes.plot(*zip(*steps, strict=True), color=VERMILION, linewidth=1.8)
    return tiles


def causal_tiles() -> Figure:
    """p6: tiles of 4 by 4 under a causal mask, for as many queries as keys, fewer and more."""
    figure, axes = board(53, 21.2, 0.16)
    left = 5.0
    for n_q, n_k in ((12, 12), (10, 16), (14, 8)):
        under_mask(axes, left, 4.6, n_q, n_k, 4)
        title = f"$n_q$ = {n_q}, $n_k$ = {n_k}\n$n_k - n_q$ = ${n_k - n_q}$"
        word(axes, left + n_k / 2, 1.6, title, size=9)
        for key in (0, n_k - 1):
            word(axes, left + key + 0.5, 3.9, f"key {key}" if key == 0 else str(key), size=7)
        for query in (0, n_q - 1):
            word(axes, left - 0.3, 5.1 + query, f"query {query}" if query == 0 else str(query), ha="right", size=7)
        left += n_k + 5
    legend = "grey: whole        hatched, left of the line: on the diagonal, cut by the mask        empty: skipped"
    word(axes, 26.5, 20.2, legend)
    return figure


def loop_orders() -> Figure:
    """p6: the visits to the tiles of one head, in the order of FlashAttention-1 and of FlashAttention-2."""
    rows, columns = 3, 4
    figure, axes = board(16.4, 7.4, 0.5)
    titles = ("FlashAttention-1: down the queries", "FlashAttention-2: along the keys")
    notes = (
        "a column: K, V loaded once (grey)\nat each visit: Q, O, l, m in, O, l, m out (crossed)",
        "a row: one program; Q in once, O out once (grey)\nat each visit: K, V in (crossed)",
    )
    side = 1.5
    for flash_2 in (0, 1):
        left, top = 1.7 + 8.2 * flash_2, 1.7
        word(axes, left + side * columns / 2, 0.4, titles[flash_2], size=9)
        once, often = {"fill": GREY}, {"hatch": OFTEN}
        for j in range(columns):
            kind = often if flash_2 else once
            cell(axes, left + j * side + 0.1, top - 0.8, f"K{j + 1}, V{j + 1}", width=side - 0.2, height=0.6, **kind)
        for i in range(rows):
            kind = once if flash_2 else often
            cell(axes, left - 1.5, top + i * side + 0.45, f"Q{i + 1}, O{i + 1}", width=1.3, height=0.6, **kind)
            for j in range(columns):
                visit = j + 1 if flash_2 else j * rows + i + 1
                cell(axes, left + j * side, top + i * side, str(visit), width=side, height=side, size=10)
        for k in range(rows if flash_2 else columns):
            across, begin = k * side + 1.2, 0.2
            if flash_2:
                arrow(axes, (left + begin, top + across), (left + columns * side - begin, top + across))
            else:
                arrow(axes, (left + across, top + begin), (left + across, top + rows * side - begin))
        word(axes, left + side * columns / 2 - 0.5, top + rows * side + 0.65, notes[flash_2])
    return figure


def two_passes() -> Figure:
    """a3: one query goes over four keys twice, in tiles of two."""
    scores, values = ((1.0, 3.0), (2.0, 5.0)), ((10.0, 20.0), (30.0, 40.0))
    figure, axes = board(22, 11.6)
    left, step, width = 4.6, 7.2, 5.2
    m, l, o = -math.inf, 0.0, 0.0
    state = []
    for tile in scores:
        m_new = max(m, *tile)
        l = l * math.exp(m - m_new) + sum(math.exp(s - m_new) for s in tile)
        m = m_new
        state.append((m, l))
    for number in (1, 2):
        top = 1.0 + (number - 1) * 5.6
        word(axes, 0.3, top + 2.9, f"pass {number}", ha="left", size=9, bold=True)
        cell(axes, 2.4, top + 2.3, "Q1", GREY, 1.2, 1.2)
        for at, (tile, vs) in enumerate(zip(scores, values, strict=True)):
            x, row = left + at * step, " ".join(f"{s:.0f}" for s in tile)
            loaded = [f"K{at + 1}"] if number == 1 else [f"K{at + 1}", f"V{at + 1}"]
            cells(axes, x + 0.2, top, loaded, width=1.4, hatch=OFTEN)
            arrow(axes, (x + 0.9, top + 1.05), (x + 0.9, top + 1.55))
            if number == 2:
                arrow(axes, (x + 2.3, top + 1.05), (x + 2.3, top + 1.55))
            if number == 1:
                lines = f"S = {row}\nm = {state[at][0]:.0f}\nl = {state[at][1]:.2f}"
            else:
                p = [math.exp(s - m) / l for s in tile]
                o += sum(weight * v for weight, v in zip(p, vs, strict=True))
                weights = "  ".join(f"{weight:.3f}".lstrip("0") for weight in p)
                lines = f"S = {row}, made again\nP = {weights}\nO = {o:.2f}"
            cell(axes, x, top + 1.6, lines, PALE if number == 1 else PAPER, width, 2.6, size=9)
            if at:
                arrow(axes, (x - step + width + 0.1, top + 2.9), (x - 0.1, top + 2.9))
        end = left + step + width
        arrow(axes, (end + 0.1, top + 2.9), (end + 0.9, top + 2.9))
        word(axes, end + 1.1, top + 2.9, ("m, l are\nfinal", "store O")[number - 1], ha="left", size=9)
    end = left + step + width + 2.2
    axes.plot([end, end, left + 4.2], [4.9, 5.9, 5.9], color=VERMILION, linewidth=1.3)
    for x in (left + 4.2, left + step + 4.2):
        arrow(axes, (x, 5.9), (x, 8.1))
    return figure


def backward_tiles() -> Figure:
    """a4: which tiles the mask hides, in which order the others are visited, and what they add up to."""
    figure, axes = board(116, 60, 0.068)
    left, top, n_q, n_k, side = 14, 6, 40, 50, 16
    tiles = under_mask(axes, left, top, n_q, n_k, side)
    visit = 0
    for tile in sorted(tiles, key=lambda one: (one.j, one.i)):
        narrow = tile.width < 3
        visit += not tile.hidden
        text = str(visit) if not tile.hidden else "" if narrow else "hidden"
        word(axes, *tile.middle, text, size=7 if narrow else 9, paper=True)
    bottom, right = top + n_q, left + n_k
    for tile in tiles:
        x, y = tile.middle
        if tile.j == 0:
            word(axes, left - 1.5, y, f"Q{tile.i + 1}, dO{tile.i + 1}", ha="right")
            arrow(axes, (right + 1, y), (right + 6, y))
            cell(axes, right + 7, y - 2.5, f"dQ{tile.i + 1}", width=9, height=5, hatch=OFTEN)
        if tile.i == 0:
            number = tile.j + 1
            word(axes, x + 2 * (tile.width < 3), top - 2.5, f"K{number}, V{number}")
            arrow(axes, (x, bottom + 1), (x, bottom + 5))
            cell(axes, x - (7 if tile.width > 2 else 2), bottom + 6, f"dK{number}, dV{number}", GREY, 14, 5)
    notes = "numbers: the order of the visits,\nkeys outside, queries inside"
    word(axes, right + 20, top + 8, notes, ha="left")
    word(axes, right + 20, top + 24, "crossed: a row adds up to dQ,\nwhich grows at each visit", ha="left")
    word(axes, right + 20, bottom + 8.5, "grey: a column adds up\nto dK and dV, which are\nthen finished", ha="left")
    return figure


def _visits(axes: Axes, left: float, top: float, own: int, rows: bool) -> None:
    """What a program visits that owns a row of tiles, or a column: with numbers; and at the sides what it loads."""
    tiles = under_mask(axes, left, top, 40, 50, 16)
    visited = [tile for tile in tiles if (tile.i if rows else tile.j) == own and not tile.hidden]
    for number, tile in enumerate(visited, 1):
        word(axes, *tile.middle, str(number), size=10, paper=True)
        frame(axes, tile.x, tile.y, tile.width, tile.height)

    def look(at: int, owners_side: bool) -> dict[str, str]:
        if owners_side:
            return {"fill": GREY if at == own else PAPER}
        return {"hatch": OFTEN if at in {tile.j if rows else tile.i for tile in visited} else ""}

    for tile in tiles:
        number = max(tile.i, tile.j) + 1
        if tile.j == 0:
            cell(
                axes,
                left - 10,
                tile.y,
                f"Q{number}\ndO{number}",
                width=8,
                height=tile.height,
                size=7,
                **look(tile.i, rows),
            )
        if tile.i == 0:
            text = f"K{number}, V{number}" if tile.width > 2 else ""
            cell(axes, tile.x, top - 9, text, width=tile.width, height=7, size=7, **look(tile.j, not rows))


def backward_kernels() -> Figure:
    """p7: what program 1 of delta_kernel and of dq_kernel, and program 2 of dk_dv_kernel, own and visit."""
    figure, axes = board(194, 90, 0.044)
    n_q, n_k, side, top = 40, 50, 16, 20
    delta, dq, dk = 8, 54, 138
    for x, title in ((delta, "delta_kernel\nprogram 1"), (dq, "dq_kernel\nprogram 1"), (dk, "dk_dv_kernel\nprogram 2")):
        word(axes, x - 3, 5, title, ha="left", size=9, bold=True)

    for i, height in enumerate((side, side, n_q - 2 * side)):
        fill = GREY if i == 1 else PAPER
        for at, text in enumerate((f"O{i + 1}", f"dO{i + 1}", "")):
            cell(axes, delta + 10 * at, top + i * side, text, fill, 8 if text else 4, height, size=7)
    word(axes, delta + 22, top - 3, "delta")
    word(axes, delta + 12, top + n_q + 8, "no key is visited")

    _visits(axes, dq, top, own=1, rows=True)
    arrow(axes, (dq + 1, top + 29), (dq + n_k + 4, top + 29))
    cell(axes, dq + n_k + 5, top + 17, "dQ2", GREY, 11, 14)
    _visits(axes, dk, top, own=2, rows=False)
    arrow(axes, (dk + 46, top + 17), (dk + 46, top + n_q + 4))
    cell(axes, dk + 30, top + n_q + 5, "dK3, dV3", GREY, 20, 7)
    word(axes, dq - 10, 83, "grey at the sides: owned\ncrossed: loaded at a visit", ha="left")
    return figure


def _scores(axes: Axes, x: float, y: float, own: tuple[int, int] | None = None) -> None:
    """Three by four tiles of scores, two units high and three wide; one of them may be marked."""
    for row in range(3):
        for column in range(4):
            mark = OFTEN if (row, column) == own else ""
            cell(axes, x + 3 * column, y + 2 * row, "", PAPER if mark else PALE, 3, 2, hatch=mark)


def bias_tiles() -> Figure:
    """b1: one row of numbers that the tiles of all queries and heads read; one tile of dB, summed over the heads."""
    figure, axes = board(62, 25, 0.17)
    left, right, top = 2.0, 36.0, 8.0
    word(axes, left, 1, "a bias for each key: strides 0, 0, 1", ha="left", size=9, bold=True)
    for tile in range(4):
        cell(axes, left + 8 + 3 * tile, 3, f"B{tile + 1}", GREY, 3, 2)
    for head, x in enumerate((left, left + 16)):
        _scores(axes, x, top)
        word(axes, x + 6, top + 7.2, f"head {head}")
        for tile in range(4):
            arrow(axes, (left + 9.5 + 3 * tile, 5.1), (x + 1.5 + 3 * tile, top - 0.2))
    word(axes, left, top + 10, "each row of tiles, in each head, adds the same numbers", ha="left")

    word(axes, right, 1, "dB: the program of tile (2, 3)", ha="left", size=9, bold=True)
    for head, end in enumerate((11.6, 12.2, 12.8)):
        y = 3 + 7 * head
        _scores(axes, right, y, own=(1, 2))
        word(axes, right - 0.6, y + 3, f"head {head}", ha="right")
        arrow(axes, (right + 9, y + 3), (right + 17.6, end))
    cell(axes, right + 18, 11.2, "dB23", GREY, 4.6, 2)
    word(axes, right + 20.3, 15, "stored once")
    return figure


def dropout_positions() -> Figure:
    """b2: the offsets of 4 by 6 entries and which are dropped, under the tiles and in the order of each kernel."""
    n_q, n_k, top = 4, 6, 3.2
    dropped = {1, 4, 9, 12, 15, 20, 22}  # any will do: what matters is that both sides have the same
    figure, axes = board(24, 9.4, 0.34)
    kernels = (
        (3, "attention_dropout_kernel", "Br = 2, Bc = 3: along the rows", (2, 3)),
        (15.5, "dropout_dk_dv_kernel", "Br = 4, Bc = 2: down the columns", (4, 2)),
    )
    for left, name, tiles, (rows, cols) in kernels:
        word(axes, left - 1, 0.6, name, ha="left", size=9, bold=True)
        word(axes, left - 1, 1.5, tiles, ha="left")
        for i in range(n_q):
            word(axes, left - 0.4, top + i + 0.5, f"q{i}", ha="right")
            row = range(i * n_k, (i + 1) * n_k)
            cells(axes, left, top + i, ["" if at in dropped else str(at) for at in row])
            for at in dropped & {*row}:
                cell(axes, left + at % n_k, top + i, str(at), hatch=MASKED)
        for j in range(n_k):
            word(axes, left + j + 0.5, top - 0.4, f"k{j}")
        for i in range(0, n_q, rows):
            for j in range(0, n_k, cols):
                frame(axes, left + j, top + i, cols, rows)
    left = kernels[0][0]
    for i in range(0, n_q, 2):
        arrow(axes, (left + n_k + 0.2, top + i + 1), (left + n_k + 1.6, top + i + 1))
        word(axes, left + n_k + 1.8, top + i + 1, f"O{i // 2 + 1}", ha="left")
    left = kernels[1][0]
    for j in range(0, n_k, 2):
        arrow(axes, (left + j + 1, top + n_q + 0.2), (left + j + 1, top + n_q + 1))
        word(axes, left + j + 1, top + n_q + 1.4, f"dK{j // 2 + 1}, dV{j // 2 + 1}", size=7)
    word(axes, 2, 9, "hatched: dropped; bold: tiles", ha="left")
    return figure
