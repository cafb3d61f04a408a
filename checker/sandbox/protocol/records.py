"""The access log as it crosses the wall: its codes, what masked lanes are filled with, and which numbers are sizes.

A `Record` is some numbers of 32 bits; what its lanes and its detail are depends on its kind. `results.AccessLog` has
a column of each, and gives these meanings a name.

| kind | lanes | detail |
|---|---|---|
| LOAD | of the block, masked or not | masked lanes that do not hold -inf; negative if nothing says what they hold |
| STORE | of the block, masked or not | lanes whose element another gave another value; else, minus those that repeat |
| BARRIER | 0 | 0 |
| DOT | of the result | how many terms each element sums |
| BLOCK | of a block, the largest of its launch so far | 0 |
| PRODUCT | 0 | elements that one line of one program multiplies one by one, all together |
| LOSS | how often digits or bits are lost | in which of WAYS |
| HELD | numbers in all tensors that live, the most so far; of a PyTorch program | 0 |
| LAUNCHED | programs of a kernel that a PyTorch program has launched | which one it is of those that are linked to it |

A PyTorch program has BLOCK for each tensor that is the largest so far, and STORE for each output that it returns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

LOAD, STORE, BARRIER, DOT, BLOCK, PRODUCT, LOSS, HELD, LAUNCHED = KINDS = range(9)
IN_DOT, IN_SUM, IN_LOOP, IN_STORE, ON_THE_WAY = range(5)  # where something is added up or kept in half
MULTIPLIED, AS_FLOAT, NARROWED = range(5, 8)  # what is done with positions and sizes
WAYS = range(8)  # to lose digits or bits
OPERATION = 10_000  # elements of an operation, or terms of a product, that take as long as the rest of it does
TOO_MUCH_WORK = "TooMuchWork"  # the type of the error that ends a launch and its pass
MEMORY, TILE = "memory", "tile"  # what a GPU has too little of, or too small a core for, to run a launch
FILLS = (0.0, 6e4)  # what undefined masked lanes hold in the repetitions; the second fits into fp16


class Record(NamedTuple):
    """One event: its fields, in this order, are sent by the sandbox."""

    kind: int
    tensor: int = 0  # position among the launch's tensors
    program: int = 0
    line: int = 0
    distinct: int = 0  # number of distinct elements
    lanes: int = 0
    detail: int = 0


def table(records: Iterable[Record]) -> npt.NDArray[np.int32]:
    """Records, a row each, as they cross the wall; what is too large for its field is the most that it can hold."""
    rows = np.array([*records], np.int64).reshape(-1, len(Record._fields))
    return np.minimum(rows, np.iinfo(np.int32).max).astype(np.int32)


def columns(data: memoryview) -> dict[str, npt.NDArray[np.int32]]:
    """Return the fields of records that came. Raises ValueError for a length that no records have."""
    rows = np.frombuffer(data, np.int32).reshape(-1, len(Record._fields))
    return dict(zip(Record._fields, rows.T, strict=True))


def is_size(parameter: str) -> bool:
    """Return whether a number that a kernel gets is a size of its tensors, by its name: n_rows, n_q; n, m, k of
    formulas.
    """
    return parameter.startswith("n_") or parameter in ("n", "m", "k")
