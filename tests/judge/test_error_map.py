"""A map of wrong elements is small, and each cell holds its share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from checker.course.case import Axis, AxisKind
from checker.judge.wrong import MOST_CELLS, MOST_LINES, error_map, wrong_outputs
from tests.judge.made import case, code, puzzle, result, right


@given(st.integers(1, 70), st.integers(1, 70), st.integers(0, 69), st.integers(0, 69))
def test_the_shares_of_all_cells_sum_up_to_what_is_wrong(rows: int, columns: int, row: int, column: int) -> None:
    one = case(shape=(rows, columns))
    y = right(one)
    y[row % rows, column % columns] += 1
    item = wrong_outputs(one, puzzle().expected(one), result(one, y), code())
    assert item is not None
    picture = error_map(item, "y_ptr")
    lines, cells = len(picture.wrong), len(picture.wrong[0])
    assert lines <= MOST_LINES and cells <= MOST_CELLS and picture.shape == (rows, columns)
    assert lines == -(-rows // picture.cell[0]) and cells == -(-columns // picture.cell[1])
    assert np.count_nonzero(picture.wrong) == 1
    assert picture.wrong[row % rows // picture.cell[0]][column % columns // picture.cell[1]] > 0


def test_a_number_for_each_query_runs_downwards() -> None:
    one = case(shape=(2, 5))
    for name in ("x_ptr", "y_ptr"):
        object.__setattr__(one.tensors[name], "axes", (Axis(AxisKind.HEAD), Axis(AxisKind.QUERY)))
    item = wrong_outputs(one, puzzle().expected(one), result(one, 0 * right(one)), code())
    assert item is not None
    picture = error_map(item, "y_ptr")
    assert (picture.shape, picture.rows, picture.columns) == ((10, 1), "queries", "")
