"""Mistakes of a kernel that sums the rows of a matrix, each row in one block."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from checker.catalog.matrix.launch import matrix
from checker.catalog.softmax import rows
from checker.course.case import Array, Case
from checker.course.misconception import Mask, Misconception, Part, Raises, Reach, Reaches, Unwritten, Writes


def _out_is(formula: Callable[[Array, Case], Array]) -> Writes:
    """The kernel writes `formula(x, case)` to out; x in float64."""
    return Writes(lambda case: {"out_ptr": formula(matrix(case), case)})


def _padding(case: Case) -> int:
    return rows.block_size(case) - rows.columns(case)


def _stores(lowest: Callable[[Case, int], int], widths: Callable[[Case], Sequence[int]] = lambda _: (1,)) -> Reaches:
    """Each program stores to one of so many elements of out, from the lowest on."""

    def of(case: Case, program: int) -> list[Reach]:
        first = lowest(case, program)
        return [Reach(True, "out_ptr", first, first + width - 1) for width in widths(case)]

    return Reaches(of)


def _row_or_block(case: Case) -> tuple[int, int]:
    """How much a program stores that stores a row, with a mask and without one."""
    return rows.columns(case), rows.block_size(case)


def _rows_past_columns(case: Case) -> dict[str, Mask]:
    return {"out_ptr": np.arange(rows.row_count(case)) >= rows.columns(case)}


SUMS = (
    Misconception(
        "padding-counted",
        "The padding is counted in the sum",
        "The last BLOCK_SIZE - n_cols lanes hold no element of the row, but the sum takes them in, and here each of "
        "them holds 1. The lesson's row 4 5 6, in a block of 4, sums to 16 instead of 15.",
        "What a padded lane holds must not change the sum: other=0.0.",
        question="The row 4 5 6 lies in a block of 4. What must the fourth lane hold, so that the four lanes sum to "
        "15?",
        signs=(_out_is(lambda x, case: x.sum(axis=1) + _padding(case)).at(Part.LOAD),),
    ),
    Misconception(
        "padding-counted",
        "The padding makes the sum minus infinity",
        "The last BLOCK_SIZE - n_cols lanes hold no element of the row, but the sum takes them in. Loaded as minus "
        "infinity, a single one of them makes the sum minus infinity, whatever the row holds.",
        "-inf changes no maximum, but it changes a sum. What a padded lane holds must add nothing: other=0.0.",
        question="The lanes 4, 5, 6 and -inf sum to -inf. Which fourth number would leave the sum of the other three "
        "as it is?",
        signs=(_out_is(lambda x, case: x.sum(axis=1) - (np.inf if _padding(case) else 0.0)).at(Part.LOAD),),
    ),
    Misconception(
        "max-for-sum",
        "out holds the largest element of each row",
        "A maximum keeps the largest lane and forgets the others: of the row 4 5 6 it leaves 6, and the sum is 15.",
        "Use tl.sum(x, axis=0): it adds all lanes up.",
        question="Which operation makes 15 of the lanes 4, 5, 6 and 0, and which one makes 6? Which of the two is in "
        "your kernel?",
        signs=(
            _out_is(lambda x, _: x.max(axis=1)),
            _out_is(lambda x, case: x.max(axis=1, initial=0.0) if _padding(case) else x.max(axis=1)),
        ),
    ),
    Misconception(
        "mean-for-sum",
        "out holds the mean of each row",
        "The sum was divided by n_cols, so out holds means: of the row 4 5 6 that is 5, and the sum is 15.",
        "Store what tl.sum gives as it is. A sum is not divided by anything.",
        question="The row 4 5 6 sums to 15, and your kernel stores 5. By which number was the sum divided, and on "
        "which line?",
        signs=(_out_is(lambda x, _: x.mean(axis=1)),),
    ),
    Misconception(
        "mean-for-sum",
        "The sum is divided by BLOCK_SIZE",
        "The sum was divided by BLOCK_SIZE, as if padded lanes were elements, too: of the row 4 5 6, in a block of 4, "
        "that leaves 3.75, and the sum is 15.",
        "Store what tl.sum gives as it is. A sum is not divided by anything.",
        question="The row 4 5 6 sums to 15, and in a block of 4 your kernel stores 3.75. By which number was the sum "
        "divided, and on which line?",
        signs=(_out_is(lambda x, case: x.sum(axis=1) / rows.block_size(case)),),
    ),
    Misconception(
        "first-element-only",
        "out holds the first element of each row",
        "The load has a single address, that of column 0, so it gives one number and not a row. Of the row 4 5 6, out "
        "holds 4.",
        "Add a block of columns to the address: x_ptr + row * x_row_stride + cols, with cols = tl.arange(0, "
        "BLOCK_SIZE).",
        question="With n_cols = 3, how many elements must one load fetch, and how many addresses does yours have?",
        signs=(_out_is(lambda x, _: x[:, 0]),),
    ),
    Misconception(
        "mask-off-by-one",
        "The last column is left out",
        "The sum ends one column too early. The columns of the row 4 5 6 are 0, 1 and 2. Here the mask is false for "
        "column 2, and the sum is 9 instead of 15.",
        "Columns count from 0, so the mask is cols < n_cols.",
        question="With n_cols = 3, for which of the columns 0, 1, 2 and 3 is your mask true?",
        signs=(_out_is(lambda x, _: x[:, :-1].sum(axis=1)),),
    ),
    Misconception(
        "only-first-row",
        "Only row 0 is summed, all other sums are 0",
        "In all other programs the mask of the load is false everywhere, so they add up padding. That happens when "
        "the mask compares offsets into the whole matrix with the length of one row: the lesson's row 1 begins at "
        "offset 5, and 5 is not below 3.",
        "The mask compares columns: mask=cols < n_cols. Add the row's offset to the pointer only.",
        question="Rows have 3 columns and are 5 elements apart. Which numbers does your mask compare with n_cols in "
        "program 1, and which columns do they stand for?",
        signs=(_out_is(lambda x, _: np.where(np.arange(len(x)) == 0, x.sum(axis=1), 0.0)),),
    ),
    Misconception(
        "absolute-values",
        "The absolute values are summed",
        "Negative elements count as positive ones here: the row 1 -2 3 sums to 2, and this kernel stores 6.",
        "Sum x as it was loaded, with its sign: tl.sum(x, axis=0).",
        question="What is the sum of the row 1 -2 3? Which operation in your kernel would make 6 of it?",
        signs=(_out_is(lambda x, _: np.abs(x).sum(axis=1)),),
    ),
    Misconception(
        "summed-as-integers",
        "The elements are converted to integers before they are summed",
        "An integer has no fraction: of the row 1.5 2.5 -0.5, it leaves 1, 2 and 0, which sum to 3 instead of 3.5. And "
        "numbers beyond 2,147,483,647 do not fit into 32 bits at all.",
        "Convert to fp32, which keeps fractions: x.to(tl.float32).",
        question="The row 1.5 2.5 sums to 4. What is left of its two elements on the line that converts them?",
        signs=(_out_is(lambda x, _: np.trunc(x).sum(axis=1)),),
    ),
    Misconception(
        "store-masked-by-columns",
        "The mask of the store compares the row with n_cols",
        "n_cols counts columns. With 33 rows of 5 columns, a store that takes part only if row < n_cols leaves out "
        "rows 5 to 32.",
        "Each program stores one number, that of its own row. The row exists, so this store needs no mask.",
        question="With 33 rows of 5 columns, in which programs is the mask of your store true? Which rows have no "
        "sum then?",
        signs=(Unwritten(_rows_past_columns),),
    ),
    Misconception(
        "block-to-one-address",
        "A block is stored to a single address",
        "out_ptr + row is one address, and what is stored there must be one number. Here it is a block: the lanes of "
        "the row before they are summed, or a sum that keeps its axis.",
        "tl.sum(x, axis=0) makes one number of a block: store that to out_ptr + row.",
        question="How many numbers does program 1 have to store for the row 4 5 6? Which line of your kernel makes "
        "that many of the four lanes?",
        signs=(Raises(re.compile(r"Value argument cannot be block type if pointer argument is not a block")),),
    ),
    Misconception(
        "wrong-row-map",
        "Every program sums the same row",
        "All elements of out hold the sum of row 0: in the lesson that is 6 6 6 instead of 6 15 24. So every program "
        "loads from the same addresses.",
        "tl.program_id(0) says which row a program owns, and it belongs in the load's address: x_ptr + row * "
        "x_row_stride + cols.",
        question="Rows are 5 elements apart. At which element does program 0 begin to load, at which should program "
        "2, and which part of your address makes them differ?",
        signs=(_out_is(lambda x, _: np.full(len(x), x[0].sum())),),
    ),
    Misconception(
        "out-with-row-stride",
        "out is addressed with the stride of x",
        "out is a vector without gaps: the sum of row 1 belongs right after that of row 0, however far apart the rows "
        "of x are. With a stride of 5, this kernel writes elements 0, 5 and 10 of a vector of 3.",
        "Store to out_ptr + row.",
        question="out has one number for each of 3 rows. To which element does program 2 store in your kernel, if "
        "x_row_stride = 5?",
        signs=(_stores(lambda case, program: program * rows.X(case)),),
    ),
    Misconception(
        "row-stored",
        "A program stores a whole row to out, not one number",
        "The addresses of the store are a block, so each program writes n_cols or BLOCK_SIZE elements of out. It owns "
        "just one: 3 rows have 3 sums.",
        "Store one number to one address: tl.store(out_ptr + row, ...), the sum of the row. No mask is needed.",
        question="How many elements of out belong to program 1? With BLOCK_SIZE = 4, to how many addresses does it "
        "store?",
        signs=(
            _stores(lambda case, program: 0, _row_or_block),
            _stores(lambda case, program: program, _row_or_block),
            _stores(lambda case, program: program * rows.X(case), _row_or_block),
        ),
    ),
)
