"""The figure of decoding: keys split among programs, and the merge of their parts."""

from __future__ import annotations

from canvas import GREY, MASKED, PALE, arrow, board, cell, frame, word
from matplotlib.figure import Figure

N_K, SPLITS, KEYS, BC = 50, 4, 20, 16
KEY = 0.3  # of the board, for each key


def splits() -> Figure:
    """b3: 50 keys in 4 splits of 20, in tiles of 16; a part of each split, and their merge."""
    figure, axes = board(24.6, 13.2)
    left, top = 3.4, 0.9
    word(axes, left - 0.4, top + 0.5, "keys", ha="right", size=9)
    cell(axes, left, top, width=N_K * KEY, fill=PALE)
    for split in range(SPLITS):
        first, end = min(split * KEYS, N_K), min((split + 1) * KEYS, N_K)
        y = top + 2 + 1.8 * split
        word(axes, left - 0.4, y + 0.5, f"split {split}", ha="right", size=9)
        if first < end:
            frame(axes, left + first * KEY, top, (end - first) * KEY, 1)
            word(axes, left + (first + end) / 2 * KEY, top + 0.5, f"{first} to {end - 1}", paper=True)
        else:
            word(axes, left + first * KEY, y + 0.5, "begins past the last key: no tile", ha="right")
        for start in range(first, end, BC):
            real = min(BC, end - start)
            cell(axes, left + start * KEY, y, f"{real} keys" if real > 8 else str(real), GREY, real * KEY)
            if real < BC:
                cell(axes, left + (start + real) * KEY, y, "masked", width=(BC - real) * KEY, hatch=MASKED)
        x = left + (N_K + 10) * KEY
        part = f"O{split}, LSE{split}" if first < end else "0, \u2212\u221e"
        arrow(axes, (x - 1.0, y + 0.5), (x - 0.1, y + 0.5))
        cell(axes, x, y, part, width=2.4, fill=PALE)
    x, y = left + (N_K + 10) * KEY, top + 2 + 1.8 * SPLITS
    arrow(axes, (x + 1.2, y - 0.7), (x + 1.2, y + 0.4))
    cell(axes, x - 0.4, y + 0.5, "merge", width=3.2, fill=GREY)
    arrow(axes, (x + 1.2, y + 1.55), (x + 1.2, y + 2.05))
    word(axes, x + 1.2, y + 2.4, "O, LSE", size=9, bold=True)
    word(axes, left, y + 1, "each tile ends where its split does: what is masked belongs to the next one", ha="left")
    return figure
