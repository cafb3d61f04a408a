"""Heads in memory, for the capstone."""

from __future__ import annotations

from canvas import GREY, PAPER, SMALL, arrow, board, cell, word
from matplotlib.figure import Figure


def heads_in_memory() -> Figure:
    """c1: Q cut from one product for Q, K and V, and made dense; 2 sequences of 2 tokens, 2 heads."""
    sequences, tokens, heads, left = 2, 2, 2, 4.6
    figure, axes = board(29.2, 9.6)
    top, bottom = 2.4, 6.6
    word(axes, left, 0.5, "a row of d numbers of head h of sequence s is a cell, s.h", ha="left", size=9)
    word(axes, left - 0.3, top + 0.5, "q, k, v cut\nfrom one tensor", ha="right", size=9)
    first = {}
    for number in range(sequences * tokens):
        sequence, token = divmod(number, tokens)
        word(axes, left + number * 6 + 3, top - 0.5, f"sequence {sequence}, token {token}")
        for place in range(6):
            of, head = divmod(place, heads)
            x = left + number * 6 + place
            text = f"{sequence}.{head}" if of == 0 else "qkv"[of]
            cell(axes, x, top, text, fill=GREY if of == 0 else PAPER, size=SMALL if of == 0 else 7)
            if of == 0 and token == 0:
                first[sequence, head] = x + 0.5
    steps = [((0, 0), (0, 1), "d"), ((0, 1), (1, 0), "11 d"), ((1, 0), (1, 1), "d")]
    for start, end, text in steps:
        y = top + 1.7
        arrow(axes, (first[start], top + 1.1), (first[start], y))
        arrow(axes, (first[start], y), (first[end], y))
        word(axes, (first[start] + first[end]) / 2, y + 0.6, text)
    word(axes, left + 24, top + 2.6, "no stride leads from each head to the next", ha="right")
    word(axes, left - 0.3, bottom + 0.5, "q.contiguous()", ha="right", size=9)
    for sequence in range(sequences):
        for head in range(heads):
            for token in range(tokens):
                x = left + 2 * (2 * sequence + head) + token
                cell(axes, x, bottom, f"{sequence}.{head}", fill=GREY)
                if token == 0 and (sequence, head) != (0, 0):
                    arrow(axes, (x - 1.5, bottom + 1.6), (x + 0.5, bottom + 1.6))
                    word(axes, x - 0.5, bottom + 2.2, "n d")
    word(axes, left + 8.6, bottom + 0.5, "the heads of all sequences, one after the other:", ha="left")
    word(axes, left + 8.6, bottom + 1.4, "head stride n d, row stride d", ha="left")
    return figure
