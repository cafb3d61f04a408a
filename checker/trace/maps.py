"""Heat maps, of reads and of errors."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.judge.evidence import tensor_name
from checker.report.translated import said
from checker.trace import svg
from checker.trace.result import Reads, Recorded, Wrongness
from checker.trace.svg import SMALL, Box, Panel

LEAST_COLOURS = 4  # so that 1, 2 and 3 look alike in all puzzles
MOST_COLOURS = 8  # more counts than that share colours
MARGIN, UNDER = 50.0, 34.0  # left of a map and below it, for what is counted
MOST_TICKS = 8
NARROWEST = 4.0  # tiles between which lines are drawn
VECTOR = 0.32  # how wide it is beside a matrix
SHARES = 20  # of wrong elements: so many are told apart


@dataclass(frozen=True)
class _Map:
    """A matrix in the drawing: its rows and columns, and those of a tile."""

    shape: tuple[int, int]
    blocks: tuple[int, int]
    names: tuple[str, str]  # what is counted downwards and across
    width: float
    height: float

    def box(self, top: float, left: float, bottom: float, right: float) -> Box:
        """Return where some rows and columns, as [first, end), are drawn."""
        down, across = self.height / self.shape[0], self.width / self.shape[1]
        bottom, right = min(bottom, self.shape[0]), min(right, self.shape[1])
        return left * across, top * down, (right - left) * across, (bottom - top) * down

    def areas(self, values: npt.NDArray[Any], cell: tuple[int, int] = (1, 1)) -> list[tuple[float, list[Box]]]:
        """Return the boxes that cover each value. `cell`: rows and columns that one entry stands for."""
        found: dict[float, list[Box]] = {}
        for top, bottom in itertools.pairwise(_changes(values)):
            for left, right in itertools.pairwise(_changes(values[top:bottom].T)):
                box = self.box(top * cell[0], left * cell[1], bottom * cell[0], right * cell[1])
                found.setdefault(values[top, left].item(), []).append(box)
        return sorted(found.items())

    def framed(self, marks: str, most_columns: int, **look: Any) -> Panel:
        """Marks with lines between tiles, a number where a tile begins as far as there is room, and names."""
        (rows, columns), (down, across), (_, _, wide, high) = self.shape, self.blocks, self.box(0, 0, *self.blocks)
        edges = [self.box(n, 0, n, columns) for n in range(down, rows, down) if high >= NARROWEST]
        edges += [self.box(0, n, rows, n) for n in range(across, columns, across) if wide >= NARROWEST]
        marks += svg.path("".join(svg.line((x, y), (x + w, y + h)) for x, y, w, h in edges), **look)
        marks += svg.boxes([(0, 0, self.width, self.height)], **svg.LINE)
        for n in _edges(rows, down, MOST_TICKS):
            marks += svg.faint(-5, self.box(n, 0, n, 0)[1], str(n), "end")
        for n in _edges(columns, across, most_columns) if self.names[1] else ():
            marks += svg.faint(self.box(0, n, 0, n)[0], self.height + 10, str(n), "middle")
        marks += svg.faint(self.width / 2, self.height + 25, said(self.names[1]), "middle")
        upwards = svg.faint(0, 0, said(self.names[0]), "middle")
        marks += svg.at(9 - MARGIN, self.height / 2, upwards, "rotate(-90)")
        return svg.beside((MARGIN, Panel(self.height + UNDER, marks)))


def reads(launch: Recorded, width: float) -> Panel:
    """Return a heat map for each tensor: how often each element was loaded; stronger is oftener, never is hatched."""
    title = svg.heading(said("Reads per element"), width)
    if not launch.reads:
        return title
    most = max(1, *(int(r.counts.max()) for r in launch.reads))
    step = -(-most // MOST_COLOURS)
    key = [(_range(n, n + step - 1), often(n, most)) for n in range(1, most + 1, step)]
    shares = [1.0 if r.counts.shape[1] > 1 else VECTOR for r in launch.reads]
    widths = [max(8.0, (width - MARGIN * len(shares)) * share / sum(shares)) for share in shares]
    height = 160.0 if any(r.counts.shape[0] > 8 for r in launch.reads) else 100.0
    lefts = itertools.accumulate((MARGIN + wide for wide in widths), initial=0.0)
    maps = [(x, _reads(r, most, wide, height)) for x, r, wide in zip(lefts, launch.reads, widths, strict=False)]
    return svg.below([title, _key(said("loads of an element:"), key), svg.beside(*maps)], gap=6)


def _reads(one: Reads, most: int, width: float, height: float) -> Panel:
    where, marks = _Map(one.counts.shape, one.blocks, (one.rows, one.columns), width, height), ""
    for count, boxes in where.areas(one.counts):
        times = said(f"{count:.0f} load{'s' * (count != 1)}")
        marks += svg.boxes(boxes, times, **often(int(count), most)) if count else svg.hatched(boxes, times, **svg.EMPTY)
    (rows, columns), (down, across) = one.counts.shape, one.blocks
    for top, left in itertools.product(range(0, rows, down), range(0, columns, across)):
        part = one.counts[top : top + down, left : left + across]
        counts = _range(int(part.min()), int(part.max()))
        x, y, wide, high = where.box(top, left, top + down, left + across)
        if high > SMALL + 2 and wide > svg.width_of(counts, SMALL):
            marks += svg.text(x + wide / 2, y + high / 2, counts, SMALL, "middle")
    name = svg.heading(svg.fitted(one.tensor, width + MARGIN - 8, svg.WIDER * svg.HEADING), width + MARGIN)
    return svg.below([svg.beside((MARGIN, name)), where.framed(marks, most_columns=4, **svg.LINE)], gap=4)


def wrong(one: Wrongness, width: float) -> Panel:
    """Return where the output is wrong: stronger where more of the elements are; dotted: the blocks
    it is computed in.
    """
    picture, half, room = one.picture, 0.52 * width, 0.44 * width
    where = _Map(picture.shape, one.blocks, (picture.rows, picture.columns), half - MARGIN, 160)
    shares, marks = np.ceil(np.array(picture.wrong) * SHARES) / SHARES, ""
    for share, boxes in where.areas(shares, picture.cell):
        marks += svg.boxes(boxes, said(f"{share:.0%} wrong"), **_wrong(share))
    title = svg.heading(said(f"Where {tensor_name(picture.tensor)} is wrong"), half)
    shown = (("right", 0), ("half", 0.5), ("wrong", 1))
    key = _key(said("elements:"), [(said(name), _wrong(share)) for name, share in shown])
    left = svg.below([title, key, where.framed(marks, MOST_TICKS, stroke_dasharray="1.5 3", **svg.LINE)], gap=6)
    about = svg.paragraph(svg.wrapped(said(one.explanation), room))
    seen = svg.paragraph(svg.wrapped(said(f"Seen with: {picture.case}"), room), fill_opacity=svg.FAINT)
    return svg.beside((0, left), (width - room, svg.below([svg.heading(said(one.title), room), about, seen], gap=10)))


def often(count: int, most: int) -> dict[str, Any]:
    """Weak for 1, strong for many."""
    step = -(-most // MOST_COLOURS)
    colours = max(LEAST_COLOURS, -(-most // step))
    return {"fill": svg.BLUE, "fill_opacity": round(0.14 + 0.71 * ((count - 1) // step) / (colours - 1), 3)}


def _wrong(share: float) -> dict[str, Any]:
    return {"fill": svg.VERMILION, "fill_opacity": round(0.2 + 0.7 * share, 3)} if share else svg.PALE


def _changes(values: npt.NDArray[Any]) -> list[int]:
    """Return the rows that differ from the one above, and both ends."""
    return [0, *(np.flatnonzero((values[1:] != values[:-1]).any(axis=1)) + 1).tolist(), len(values)]


def _edges(extent: int, block: int, most: int) -> range:
    """Return where tiles begin, or every second, third, … of them; of a single tile, positions inside it."""
    if block >= extent > 1:
        block = 2 ** max(0, (extent // most).bit_length() - 1) if extent > most else 1
    return range(0, extent, block * max(1, math.ceil(-(-extent // block) / most)))


def _key(what: str, colours: list[tuple[str, dict[str, Any]]]) -> Panel:
    """Return what colours stand for."""
    marks, left = svg.faint(0, 8, what), svg.width_of(what, SMALL)
    for label, look in colours:
        width = svg.width_of(label, SMALL) + 12
        marks += svg.boxes([(left, 0, width, 16)], **look)
        marks += svg.text(left + width / 2, 8, label, SMALL, "middle")
        left += width
    return Panel(18, marks)


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}–{high}"
