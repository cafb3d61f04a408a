"""Tiles that each program touches, over time: solid where it loads, hatched where it stores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from checker.report.translated import said
from checker.trace import svg
from checker.trace.record import MOST_STEPS
from checker.trace.result import Band, Program, Recorded
from checker.trace.svg import SMALL, Box, Panel

TILE = 12.0  # how high one is
MOST_TILES, MOST_IN_ALL = 16, 64  # of a band, and of all of them: the rest is folded
FOLD = 14.0  # how high a line is that stands for folded tiles
LOWEST, GAP = 28.0, 9.0  # a band with what stands beside it, and what is between two of them
MARGIN, BETWEEN = 92.0, 14.0  # left of the bands, for their names; between two programs
NARROWEST = 0.1  # of all steps: room for a program's name
MOST_TICKS = 28


class _Section(NamedTuple):
    """One program: from where on its steps are drawn, how many, how wide each is, and how much room there is."""

    program: Program
    left: float
    steps: int
    step: float
    room: float


class _Run(NamedTuple):
    """Tiles, as [first, end), each so high, or folded and 0 high."""

    first: int
    end: float  # the last tile of a tensor may be cut
    tile: float
    top: float


def drawn(launch: Recorded, width: float) -> Panel:
    """Return one band per tensor, tiles downwards; steps to the right, one program after the other."""
    sections = list(_sections(launch.programs, width - MARGIN))
    labels = [svg.wrapped(_label(s.program), s.room, SMALL, most=3) for s in sections]
    written = [svg.paragraph(lines, SMALL, "middle", fill_opacity=svg.FAINT) for lines in labels]
    names = svg.beside(*((s.left + s.steps * s.step / 2, panel) for s, panel in zip(sections, written, strict=True)))
    most = max(4, min(MOST_TILES, MOST_IN_ALL // len(launch.bands)))
    bands = svg.below((_band(band, sections, most) for band in launch.bands), GAP)
    every = -(-sum(s.steps for s in sections) // MOST_TICKS)
    ticks = ((s.left + (n + 0.5) * s.step, str(n + 1)) for s in sections for n in range(0, s.steps, every))
    shown = "" if launch.count == len(launch.programs) else f"; {len(launch.programs)} of {launch.count} programs"
    axis = said(f"steps of each program: a step is one iteration of its loop{shown}")
    under = "".join(svg.faint(x, 9, tick, "middle") for x, tick in ticks)
    under += svg.faint((width - MARGIN) / 2, 25, axis, "middle")
    body = svg.below([names, bands, Panel(32, under)], gap=2)
    return svg.below([svg.heading(said("Tiles over time"), width), svg.beside((MARGIN, body))], gap=2)


def _sections(programs: Sequence[Program], width: float) -> Iterator[_Section]:
    """Steps as wide as possible, all alike."""
    steps = [max(1, min(MOST_STEPS, program.steps)) for program in programs]
    rooms = [max(count, NARROWEST * sum(steps)) for count in steps]
    step, left = (width - BETWEEN * (len(programs) - 1)) / sum(rooms), 0.0
    for program, count, room in zip(programs, steps, rooms, strict=True):
        yield _Section(program, left, count, step, room * step)
        left += room * step + BETWEEN


def _label(program: Program) -> str:
    if not program.steps:
        return said(f"{program.name}: nothing")
    label = program.name
    if program.rows is not None:
        first, last = program.rows
        label += f", row {first}" if first == last else f", rows {first} to {last}"
    return said(label + (f", {program.steps - MOST_STEPS} steps more" if program.steps > MOST_STEPS else ""))


def _band(band: Band, sections: Sequence[_Section], most: int) -> Panel:
    touches = (touch for s in sections for touch in s.program.touches if touch.tensor == band.tensor)
    runs = _runs(band, [span for touch in touches for span in touch.spans], most)
    high = max(run.top + ((run.end - run.first) * run.tile or FOLD) for run in runs)
    marks = []
    for run in runs:
        if not run.tile:
            folded = said(f"{band.axis} {run.first * band.block} to {round(run.end * band.block) - 1} not shown")
            marks.append(svg.faint(4, run.top + FOLD / 2, folded))
            continue
        pale = ((s.left, run.top, s.steps * s.step, (run.end - run.first) * run.tile) for s in sections)
        marks.append(svg.boxes(pale, **svg.PALE))
        edges = range(1, math.ceil(run.end - run.first)) if run.tile >= TILE else ()
        across = ((n, s.left, s.left + s.steps * s.step) for n in edges for s in sections)
        lines = (svg.line((a, run.top + n * run.tile), (b, run.top + n * run.tile)) for n, a, b in across)
        marks.append(svg.path("".join(lines), **svg.FAINT_LINE))
    for store in (False, True):
        marks.append(svg.touched([box for s in sections for box in _boxes(band, s, runs, store=store)], store=store))
    marks.append(svg.text(-10, high / 2 - 6.5, svg.fitted(band.tensor, MARGIN - 12), anchor="end"))
    marks.append(svg.faint(-10, high / 2 + 6.5, svg.fitted(said(band.axis), MARGIN - 12, SMALL), "end"))
    return Panel(max(LOWEST, high), svg.at(0, max(0, LOWEST - high) / 2, "".join(marks)))


def _runs(band: Band, touched: Sequence[tuple[int, int]], most: int) -> list[_Run]:
    """Return all tiles; of many those that are touched, and each is lower if these are many, too."""
    tiles = band.extent / band.block
    if tiles <= most:
        return [_Run(0, tiles, TILE * max(1.0, 1 / tiles), 0)]
    kept = {tile for first, end in touched for tile in range(first // band.block, -(-end // band.block))}
    tile, top, runs = min(TILE, TILE * most / max(1, len(kept))), 0.0, []
    for is_kept, group in itertools.groupby(range(math.ceil(tiles)), kept.__contains__):
        run = [*group]
        runs.append(_Run(run[0], min(run[-1] + 1, tiles), tile * is_kept, top))
        top += len(run) * tile if is_kept else FOLD
    return runs


def _boxes(band: Band, section: _Section, runs: Sequence[_Run], *, store: bool) -> Iterator[Box]:
    """Yield every access: the whole width of its step, or a half if the tensor is both loaded (left) and stored
    (right).
    """
    of_band = [touch for touch in section.program.touches if touch.tensor == band.tensor]
    both = len({touch.store for touch in of_band}) > 1
    left, width = (0.51 if store else 0.06, 0.43) if both else (0.06, 0.88)
    for touch in of_band:
        for (first, end), run in itertools.product(touch.spans if touch.store == store else (), runs):
            above, under = (min(max(z / band.block, run.first), run.end) - run.first for z in (first, end))
            if run.tile and above < under:
                x = section.left + (touch.step + left) * section.step
                yield x, run.top + above * run.tile, width * section.step, (under - above) * run.tile
