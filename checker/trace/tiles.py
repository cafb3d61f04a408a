"""The grid of query and key tiles: who came to which pair when, and which pairs nobody came to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from checker.report.translated import said
from checker.trace import svg, words
from checker.trace.result import Beside, Pairs, Visit
from checker.trace.svg import SMALL, VERMILION, Panel

MARGIN = 76.0  # left of a grid, for what its rows are
LARGEST, HIGHEST = 72.0, 288.0  # a tile, and a grid
MOST_NUMBERS = 3  # of the visits to one pair
MOST_LABELS = 8  # beside a grid
STRONG = {**svg.LINE, "stroke_opacity": 0.85}


def drawn(pairs: Pairs, title: str, width: float) -> Panel:
    """Return the grid, each visit with its number, and each program's path; below it the same in words."""
    side = min(LARGEST, HIGHEST / pairs.shape[0], (width - MARGIN) / pairs.shape[1])
    way = words.order(pairs)
    grid = Panel(side * pairs.shape[0] + 36, svg.at(MARGIN, 0, "".join(_grid(pairs, side))))
    about = svg.paragraph([line for one in words.of_tiles(pairs) for line in svg.wrapped(said(one), width - MARGIN)])
    title = title + (said(": ") + said(way) if way else "")
    return svg.below([svg.heading(title, width), grid, svg.beside((MARGIN, about))], gap=8)


def invitation(other: Beside, width: float) -> Panel:
    """Return what to solve in order to see something here."""
    frame = svg.boxes([(0, 0, HIGHEST, HIGHEST)], stroke_dasharray="4 4", **svg.LINE)
    sentences = f"{other.title} visits tiles in another order.", f"Solve puzzle {other.puzzle}, and you see yours here."
    lines = [line for sentence in sentences for line in svg.wrapped(said(sentence), HIGHEST - 16)]
    inside = svg.at(HIGHEST / 2, 0.42 * HIGHEST, svg.paragraph(lines, anchor="middle", fill_opacity=svg.FAINT).marks)
    return svg.below([svg.heading(said(f"Puzzle {other.puzzle}"), width), Panel(HIGHEST, frame + inside)], gap=8)


def _grid(pairs: Pairs, side: float) -> Iterator[str]:
    rows, columns = pairs.shape
    radius = min(13.0, 0.42 * side)
    tiles = {(i, j): (j * side + 1, i * side + 1, side - 2, side - 2) for i, j in np.ndindex(rows, columns)}
    yield svg.boxes((tiles[pair] for pair in sorted(pairs.visited)), fill=svg.SKY, fill_opacity=0.2)
    for i, j in sorted(pairs.skipped):
        labels = [said(one) for one in ["skipped", "✗ it counts"][: 1 + ((i, j) not in pairs.hidden)]]
        yield _skipped(*tiles[i, j], [label for label in labels if svg.width_of(label, SMALL) < side])
    for i, j in sorted(pairs.visited & pairs.hidden):
        inner = (j * side + 4, i * side + 4, side - 8, side - 8)
        yield svg.boxes([inner], stroke=VERMILION, stroke_dasharray="4 3")
        if svg.width_of(said("in vain"), SMALL) < side:
            yield svg.text((j + 0.5) * side, (i + 0.85) * side, said("in vain"), SMALL, "middle", **svg.BOLD)
    if not pairs.sees.all():
        yield svg.path(_mask(pairs, side, radius), stroke=VERMILION, stroke_width=1.8)
    for program in pairs.programs:
        yield from _way(pairs.of_program(program), side, radius, several=len(pairs.programs) > 1)
    yield from _numbers(pairs, side, radius)
    for n in range(0, columns, -(-columns // MOST_LABELS)):
        yield svg.faint((n + 0.5) * side, rows * side + 10, _tile(n, pairs.key_block, pairs.keys), "middle")
    for n in range(0, rows, -(-rows // MOST_LABELS)):
        yield svg.faint(-8, (n + 0.5) * side, _tile(n, pairs.query_block, pairs.queries), "end")
    yield svg.faint(columns * side / 2, rows * side + 27, said("keys →"), "middle")
    yield svg.faint(-8, min(13, side / 4), said("queries ↓"), "end")


def _tile(number: int, block: int, extent: int) -> str:
    return said(" to ").join((f"{number * block}", f"{min((number + 1) * block, extent) - 1}"))


def _skipped(x: float, y: float, width: float, height: float, labels: Sequence[str]) -> str:
    """Return a tile that is hatched above and below its labels."""
    edge = (height - 15 * len(labels)) / 2
    middles = (y + edge + 15 * (n + 0.5) for n in range(len(labels)))
    marks = (svg.text(x + width / 2, m, label, SMALL, "middle") for m, label in zip(middles, labels, strict=True))
    parts = [(x, y, width, edge), (x, y + height - edge, width, edge)]
    return svg.hatched(parts, **svg.EMPTY) + "".join(marks)


def _mask(pairs: Pairs, side: float, radius: float) -> str:
    """Between what each query sees and what is hidden from it; not through numbers."""
    ends = pairs.sees.sum(axis=1) / pairs.key_block * side
    edges = np.arange(pairs.queries + 1) / pairs.query_block * side
    corners = [complex(x, y) for x, *sides in zip(ends, edges, edges[1:], strict=False) for y in sides]
    centres = [side * complex(j + 0.5, i + 0.5) for i, j in sorted(pairs.visited)]
    lines = [(a, b) for a, b in itertools.pairwise(corners) if all(abs((a + b) / 2 - c) > radius + 1 for c in centres)]
    return "".join(svg.line((a.real, a.imag), (b.real, b.imag)) for a, b in lines)


def _way(visits: Sequence[Visit], side: float, radius: float, *, several: bool) -> Iterator[str]:
    """From visit to visit: neighbours by an arrow, others by a thin dashed one."""
    places = [side * complex(v.key_tile + 0.5, v.query_tile + 0.5) for v in visits]
    for one, after in itertools.pairwise(places):
        near, ahead = abs(after - one) < 1.1 * side, (after - one) / abs(after - one)
        tip = after - (radius + 2) * ahead
        points = (one + (radius + 1) * ahead, tip, tip + ahead * (-5 + 3.5j), tip, tip + ahead * (-5 - 3.5j))
        how = {"stroke_width": 1.6} if near else {"stroke_width": 0.8, "stroke_dasharray": "4 3"}
        yield svg.path(svg.line(*((z.real, z.imag) for z in points)), **STRONG, **how)
    name = said(f"program {visits[0].program}")
    if several and svg.width_of(name, SMALL) < side - 4:
        yield svg.faint(places[0].real + side / 2 - 4, places[0].imag - side / 2 + 9, name, "end")


def _numbers(pairs: Pairs, side: float, radius: float) -> Iterator[str]:
    """Yield the first visits to each pair, in a circle, or in something longer for many."""
    of_pair: dict[tuple[int, int], list[int]] = {}
    for v in pairs.visits:
        of_pair.setdefault((v.query_tile, v.key_tile), []).append(v.number)
    size = min(12.0, 0.95 * radius)
    for (i, j), numbers in of_pair.items():
        more = f" +{len(numbers) - MOST_NUMBERS}" if len(numbers) > MOST_NUMBERS else ""
        shown = svg.fitted(", ".join(map(str, numbers[:MOST_NUMBERS])) + more, side, size)
        half = max(radius, svg.width_of(shown, size) / 2 + 4 * (len(shown) > 2))
        x, y = (j + 0.5) * side, (i + 0.5) * side
        frame: dict[str, Any] = {"x": x - half, "y": y - radius, "width": 2 * half, "height": 2 * radius, "rx": radius}
        yield svg.element("rect", **frame, fill="none", stroke="currentColor")
        yield svg.text(x, y, shown, size, "middle", **svg.BOLD)
