"""Mistakes of a kernel that sums the rows of a matrix, each row in one block."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from checker.catalog.matrix.launch import matrix
from checker.catalog.softmax import rows
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Raises, Reach, Reaches, Writes


def _out_is(formula: Callable[[Array, Case], Array]) -> Writes:
    """The kernel writes `formula(x, case)` to out; x in float64."""
    return Writes(lambda case: {"out_ptr": formula(matrix(case), case)})


def _padding(case: Case) -> int:
    return rows.block_size(case) - rows.columns(case)


def _half_sum(x: Array, case: Case) -> Array:
    if case.tensors["x_ptr"].values.dtype != np.float16:
        return np.asarray(x.sum(axis=1))
    return np.asarray(x.astype(np.float16).sum(axis=1, dtype=np.float16).astype(np.float64))


def _stores(lowest: Callable[[Case, int], int], widths: Callable[[Case], Sequence[int]] = lambda _: (1,)) -> Reaches:
    """Each program stores to one of so many elements of out, from the lowest on."""

    def of(case: Case, program: int) -> list[Reach]:
        first = lowest(case, program)
        return [Reach(True, "out_ptr", first, first + width - 1) for width in widths(case)]

    return Reaches(of)


def _row_or_block(case: Case) -> tuple[int, int]:
    """How much a program stores that stores a row, with a mask and without one."""
    return rows.columns(case), rows.block_size(case)


SUMS = (
    Misconception(
        "padding-counted",
        "The padding is counted in the sum",
        "The last BLOCK_SIZE - n_cols lanes hold no element of the row. Loaded with other=1.0, each of them adds 1.",
        "What a padded lane holds must not change the sum: other=0.0.",
        signs=(_out_is(lambda x, case: x.sum(axis=1) + _padding(case)).at(Part.LOAD),),
    ),
    Misconception(
        "padding-counted",
        "The padding makes the sum minus infinity",
        "The last BLOCK_SIZE - n_cols lanes hold no element of the row. Loaded as -inf, a single one of them makes the "
        "sum -inf, whatever the row holds.",
        "-inf changes no maximum, but it changes a sum. What a padded lane holds must add nothing: other=0.0.",
        signs=(_out_is(lambda x, case: x.sum(axis=1) - (np.inf if _padding(case) else 0.0)).at(Part.LOAD),),
    ),
    Misconception(
        "max-for-sum",
        "out holds the largest element of each row",
        "tl.max keeps the largest lane; tl.sum adds all lanes up.",
        "Use tl.sum(x, axis=0).",
        signs=(
            _out_is(lambda x, _: x.max(axis=1)),
            _out_is(lambda x, case: x.max(axis=1, initial=0.0) if _padding(case) else x.max(axis=1)),
        ),
    ),
    Misconception(
        "mean-for-sum",
        "out holds the mean of each row",
        "The sum was divided by n_cols. A sum is not divided by anything.",
        "Store the sum as it is.",
        signs=(_out_is(lambda x, _: x.mean(axis=1)),),
    ),
    Misconception(
        "mean-for-sum",
        "The sum is divided by BLOCK_SIZE",
        "out is the mean of all lanes of the block, padding included. A sum is not divided by anything.",
        "Store the sum as it is.",
        signs=(_out_is(lambda x, case: x.sum(axis=1) / rows.block_size(case)),),
    ),
    Misconception(
        "first-element-only",
        "out holds the first element of each row",
        "x_ptr + row * x_row_stride is one address, that of column 0. A load from it gives one number.",
        "Add the block cols to the address: the load then gives a block, with a lane for each column.",
        signs=(_out_is(lambda x, _: x[:, 0]),),
    ),
    Misconception(
        "mask-off-by-one",
        "The last column is left out",
        "The sum ends one column too early: the last column of a row is n_cols - 1, and it belongs to the sum.",
        "Columns count from 0, so the mask is cols < n_cols.",
        signs=(_out_is(lambda x, _: x[:, :-1].sum(axis=1)),),
    ),
    Misconception(
        "only-first-row",
        "Only row 0 is summed, all other sums are 0",
        "In all other programs the mask of the load is false everywhere. That happens when it compares offsets into "
        "the whole matrix, which grow from row to row, with the length of one row.",
        "The mask compares columns: cols < n_cols. Add the row's offset to the pointer only.",
        signs=(_out_is(lambda x, _: np.where(np.arange(len(x)) == 0, x.sum(axis=1), 0.0)),),
    ),
    Misconception(
        "absolute-values",
        "The absolute values are summed",
        "Negative elements count as positive ones: out is the sum of |x|.",
        "Sum x as it was loaded.",
        signs=(_out_is(lambda x, _: np.abs(x).sum(axis=1)),),
    ),
    Misconception(
        "half-sum",
        "The sum is taken in fp16",
        "tl.sum keeps the type of its block, and the block is fp16. fp16 holds no odd number beyond 2048, so "
        "2048 + 1 is 2048; and a sum beyond 65504 is infinite.",
        "Convert before you sum: tl.sum(x.to(tl.float32), axis=0).",
        signs=(_out_is(_half_sum),),
    ),
    Misconception(
        "block-to-one-address",
        "A block is stored to a single address",
        "out_ptr + row is one address, and what is stored there must be one number. Here it is a block: the lanes of "
        "the row before they are summed, or a sum that keeps its axis.",
        "tl.sum(x, axis=0) makes one number of a block.",
        signs=(Raises(re.compile(r"Value argument cannot be block type if pointer argument is not a block")),),
    ),
    Misconception(
        "wrong-row-map",
        "Every program sums the same row",
        "All elements of out hold the sum of row 0 of x.",
        "tl.program_id(0) says which row a program owns: use row in the load as well.",
        signs=(_out_is(lambda x, _: np.full(len(x), x[0].sum())),),
    ),
    Misconception(
        "out-with-row-stride",
        "out is addressed with the stride of x",
        "out has one number for each row, one right after the other: row 1 of x has its sum in element 1 of out, not "
        "in element x_row_stride.",
        "Store to out_ptr + row.",
        signs=(_stores(lambda case, program: program * rows.X(case)),),
    ),
    Misconception(
        "row-stored",
        "A program stores a whole row to out, not one number",
        "The addresses of the store are a block: cols was added to the pointer. So each program writes n_cols "
        "elements, and it owns just one.",
        "Store one number to one address: tl.store(out_ptr + row, total). No mask is needed.",
        signs=(
            _stores(lambda case, program: 0, _row_or_block),
            _stores(lambda case, program: program, _row_or_block),
            _stores(lambda case, program: program * rows.X(case), _row_or_block),
        ),
    ),
)
