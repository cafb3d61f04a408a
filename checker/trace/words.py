"""Words for a trace: for a terminal, however narrow, and in place of the picture where there is none."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from checker.course.verdict import Traffic
from checker.judge.evidence import tensor_name
from checker.report.translated import said
from checker.report.words import PLAIN_WORDS, sign, typed
from checker.trace.result import Beside, Pairs, Reads, Recorded, Trace, Wrongness

ROW_BY_ROW, COLUMN_BY_COLUMN = "row by row", "column by column"
MOST_COLUMNS, WIDEST = 8, 3  # of a grid in a narrow terminal; characters of a number


def outcome(trace: Trace) -> str:
    """Return how the submission was judged, with the first finding."""
    if trace.finding is not None:
        return f"{sign(trace.status)} {said(PLAIN_WORDS[trace.status])}{said(': ')}{said(trace.finding.title)}"
    return said(f"{sign(trace.status)} {PLAIN_WORDS[trace.status]} on the interpreter")  # it was not compiled


def summary(trace: Trace, file: Path | None = None) -> Iterator[str]:
    """Lines of plain text; what is indented belongs to the line above it. `file`: the kernel's, if it was named."""
    yield f"Puzzle {trace.puzzle}: {trace.title}, traced"
    yield outcome(trace)
    if trace.finding is not None:
        yield f"  {typed('check', trace.puzzle, file=file)} says more about it."
    if trace.wrong is not None:
        yield f"  {of_wrongness(trace.wrong)}"
    for launch in trace.launches:
        yield ""
        yield launch.kernel
        yield f"  seen with: {launch.case}"
        yield from (f"  {line}" for line in _of_launch(launch))
    if trace.beside is not None:
        yield ""
        yield of_beside(trace.beside)


def _of_launch(launch: Recorded) -> Iterator[str]:
    if launch.stopped:
        yield launch.stopped
    yield of_programs(launch)
    if launch.pairs is not None:
        yield of_visits(launch.pairs)
        yield from grid(launch.pairs)
        yield from of_tiles(launch.pairs)
    if launch.reads:
        yield "reads per element: " + ", ".join(f"{r.tensor} {often(r)}" for r in launch.reads)
    if written := [f"{name} {_number(done)}" for name, store, done, _ in bars(launch.traffic) if store and done]:
        yield "writes per element: " + ", ".join(written)


def of_programs(launch: Recorded) -> str:
    """Return how many programs there are, and how often each touches memory."""
    loads = _count([p.loads for p in launch.programs], "load")
    stores = _count([p.stores for p in launch.programs], "store")
    if launch.count == 1:
        return f"1 program: {loads}, {stores}"
    of = "" if launch.count == len(launch.programs) else f" of the first {len(launch.programs)}"
    return f"{launch.count} programs, each{of}: {loads}, {stores}"


def _count(numbers: Sequence[int], what: str) -> str:
    low, high = min(numbers), max(numbers)
    return (str(high) if low == high else f"{low} to {high}") + f" {what}{'s' * (high != 1)}"


def of_visits(pairs: Pairs) -> str:
    """Return how many pairs of tiles each program visits, and along what."""
    counts = [len(pairs.of_program(program)) for program in pairs.programs]
    if not counts:
        return "visits: none"
    way = f", {order(pairs)}" if order(pairs) else ""
    shown = ", ".join(map(str, counts[:8])) + (", …" if len(counts) > 8 else "")
    return f"visits of {'one program' if len(counts) == 1 else 'each program'}: {shown}{way}"


def grid(pairs: Pairs) -> Iterator[str]:
    """Yield the visits as a picture of characters: the first number of each pair, if it is small enough."""
    rows, columns = pairs.shape
    if columns > MOST_COLUMNS:
        return
    first: dict[tuple[int, int], int] = {}
    for v in pairs.visits:
        first.setdefault((v.query_tile, v.key_tile), v.number)
    for i in range(rows):
        cells = (str(first.get((i, j), "·")).rjust(WIDEST) for j in range(columns))
        yield "  " + "".join(cells) + ("   keys →" if i == 0 else "   queries ↓, · skipped" if i == 1 else "")


def of_tiles(pairs: Pairs) -> Iterator[str]:
    """Yield how many pairs were skipped, whether the right ones were, and how much was multiplied."""
    rows, columns = pairs.shape
    skipped, hidden = pairs.skipped, pairs.hidden
    right = ", which the mask hides" if skipped and skipped <= hidden else ""
    yield f"{len(skipped) or 'none'} of {rows * columns} pairs of tiles skipped{right}"
    if missing := len(skipped - hidden):
        yield f"{missing} of them would have counted"
    if vain := len(hidden - skipped):
        yield f"{vain} visited in vain: the mask hides all of {'it' if vain == 1 else 'them'}"
    if pairs.effort > 1:
        yield f"tl.dot multiplies {pairs.effort:.3g} times as much as is needed"


def of_beside(beside: Beside) -> str:
    """Return the other puzzle's order, or that there is something to solve."""
    if beside.pairs is None:
        return f"Solve puzzle {beside.puzzle}, {beside.title}, to compare its order of tiles with this one."
    return f"Next to it: puzzle {beside.puzzle}, {beside.title}; {of_visits(beside.pairs)}."


def of_wrongness(wrong: Wrongness) -> str:
    """Return how much of which output is wrong."""
    picture = wrong.picture
    cells = np.array(picture.wrong)
    every = np.kron(cells, np.ones(picture.cell))[: picture.shape[0], : picture.shape[1]]  # the last cells may be cut
    return f"{tensor_name(picture.tensor)}: {every.mean():.0%} of its elements are wrong, with {picture.case}"


def often(reads: Reads) -> str:
    """Return how often elements were read: one number, or from, to and on average."""
    low, high = int(reads.counts.min()), int(reads.counts.max())
    return str(low) if low == high else f"{low} to {high} (on average {_number(float(reads.counts.mean()))})"


def order(pairs: Pairs) -> str:
    """Along what a program goes from visit to visit, if it goes anywhere."""
    steps = [step for program in pairs.programs for step in itertools.pairwise(pairs.of_program(program))]
    moved = [(a.query_tile != b.query_tile, a.key_tile != b.key_tile) for a, b in steps]
    along_keys, along_queries = moved.count((False, True)), moved.count((True, False))
    if along_keys == along_queries:
        return ""
    return ROW_BY_ROW if along_keys > along_queries else COLUMN_BY_COLUMN


def bars(traffic: Sequence[Traffic]) -> Iterator[tuple[str, bool, float, float]]:
    """(tensor, whether stored, times per element, at most) of each tensor and direction that says anything."""
    for t in traffic:
        for store, done, most in ((False, t.loads, t.most_loads), (True, t.stores, t.most_stores)):
            if done or most:
                yield tensor_name(t.tensor), store, done / t.elements, most / t.elements


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
