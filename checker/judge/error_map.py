"""A picture of the wrong elements, small enough for a report."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from checker.course.verdict import ErrorMap
from checker.judge.evidence import has_columns
from checker.judge.wrong import Wrong

MOST_LINES, MOST_CELLS = 16, 32


def error_map(item: Wrong, name: str) -> ErrorMap:
    """Return the map of one output of a wrong launch; a vector is a single column."""
    wrong = item.wrong[name]
    tensor = item.case.tensors[name]
    flat = wrong.reshape(-1, wrong.shape[-1]) if has_columns(tensor) else wrong.reshape(-1, 1)
    down, across = (-(-extent // most) for extent, most in zip(flat.shape, (MOST_LINES, MOST_CELLS), strict=True))
    axes = [axis.plural for axis in tensor.axes]
    rows, columns = (axes[-2] if len(axes) > 1 else "", axes[-1]) if has_columns(tensor) else (axes[-1], "")
    cells = tuple(
        tuple(_share(flat[row : row + down, column : column + across]) for column in range(0, flat.shape[1], across))
        for row in range(0, flat.shape[0], down)
    )
    return ErrorMap(name, item.case.name, rows, columns, (flat.shape[0], flat.shape[1]), (down, across), cells)


def _share(part: npt.NDArray[np.bool_]) -> float:
    return round(float(part.mean()), 3)
