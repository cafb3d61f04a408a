"""Observations on a kernel, as data. The summary and the picture are functions of it.

Positions count along the axis that a tensor's tiles lie along: columns of a row, or queries and keys, there one
head after the other. Tiles count from 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checker.course.verdict import ErrorMap, Finding, Status, Traffic


@dataclass(frozen=True)
class Band:
    """A tensor as it is drawn over time: how many positions it has, and how many of them are a tile."""

    tensor: str
    axis: str  # what is counted, in the plural
    extent: int
    block: int


@dataclass(frozen=True)
class Touch:
    """One load or store: of which tensor, in which step, and the positions it covers, as [first, end) each."""

    step: int
    tensor: str
    store: bool
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Program:
    """One program. A step ends where a tensor is loaded or stored again, or is loaded after a store: an iteration."""

    name: str
    rows: tuple[int, int] | None  # of a matrix whose tiles lie along its columns: the first row touched, and the last
    loads: int  # all of them, as `stores` and `steps` are; touches are kept of the first few steps only
    stores: int
    steps: int
    touches: tuple[Touch, ...]


@dataclass(frozen=True)
class Visit:
    """A tile of queries met a tile of keys in a matrix product; `number` counts from 1 within its program."""

    program: int
    number: int
    query_tile: int
    key_tile: int


@dataclass(frozen=True, eq=False)
class Pairs:
    """The grid of (query tile, key tile), and who went where in which order."""

    queries: int
    keys: int
    query_block: int
    key_block: int
    sees: npt.NDArray[np.bool_]  # which query (row) sees which key (column)
    visits: tuple[Visit, ...]
    effort: float  # products summed in tl.dot, as a multiple of what is enough

    @property
    def shape(self) -> tuple[int, int]:
        """How many tiles of queries and of keys there are."""
        return -(-self.queries // self.query_block), -(-self.keys // self.key_block)

    @property
    def hidden(self) -> frozenset[tuple[int, int]]:
        """Pairs of which no query sees any key."""
        rows, columns = np.arange(0, self.queries, self.query_block), np.arange(0, self.keys, self.key_block)
        seen = np.logical_or.reduceat(np.logical_or.reduceat(self.sees, rows), columns, axis=1)
        return frozenset((i, j) for i, j in np.argwhere(~seen).tolist())

    @property
    def visited(self) -> frozenset[tuple[int, int]]:
        """Pairs that any program came to."""
        return frozenset((v.query_tile, v.key_tile) for v in self.visits)

    @property
    def skipped(self) -> frozenset[tuple[int, int]]:
        """Pairs that no program came to."""
        return frozenset(np.ndindex(self.shape)) - self.visited

    def of_program(self, program: int) -> tuple[Visit, ...]:
        """Return one program's visits, in order."""
        return tuple(v for v in self.visits if v.program == program)

    @property
    def programs(self) -> tuple[int, ...]:
        """Programs that visited anything."""
        return tuple(sorted({v.program for v in self.visits}))


@dataclass(frozen=True, eq=False)
class Reads:
    """The loads of each element of a tensor, shape (rows, columns); heads are one below the other."""

    tensor: str
    counts: npt.NDArray[np.int64]
    rows: str  # what is counted downwards, in the plural
    columns: str  # across; nothing for a vector
    blocks: tuple[int, int]  # rows and columns of a tile


@dataclass(frozen=True, eq=False)
class Recorded:
    """One launch of one kernel."""

    kernel: str
    case: str
    bands: tuple[Band, ...]
    programs: tuple[Program, ...]  # the first few
    count: int  # of all programs
    pairs: Pairs | None  # of attention
    reads: tuple[Reads, ...]  # of tensors that are inputs, or were loaded
    traffic: tuple[Traffic, ...]
    stopped: str = ""  # where it ended early, if it did


@dataclass(frozen=True)
class Wrongness:
    """The wrong elements of an output, and the size of the blocks that it was computed in."""

    kernel: str
    title: str  # of the finding, as the explanation is
    explanation: str
    picture: ErrorMap
    blocks: tuple[int, int]  # rows and columns of a block


@dataclass(frozen=True, eq=False)
class Beside:
    """Another puzzle that visits the same tiles in another order; `pairs` are there if it is solved."""

    puzzle: str  # its ID
    title: str
    pairs: Pairs | None


@dataclass(frozen=True, eq=False)
class Trace:
    """Everything that was seen of one submission."""

    puzzle: str  # its ID
    stem: str
    title: str
    status: Status
    finding: Finding | None  # the first one, if there is any
    launches: tuple[Recorded, ...]
    wrong: Wrongness | None
    beside: Beside | None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to be drawn."""
        return not self.launches and self.wrong is None
