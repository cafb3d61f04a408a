# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Puzzle w3: the transpose
#
# ## What you will build
#
# A kernel that writes the transpose of a matrix, `x.T.contiguous()`, tile by tile. It computes nothing, so you can give
# all your attention to addresses. Every kernel after p3 works on tiles. Take this puzzle before p4 if tiles are new to
# you.
#
# ```
#           x, 5 x 10                             y, 10 x 5
#   columns 0-3     4-7     8-9               columns 0-1 2-3  4
#         ┌───────┬───────┬───┄┄┐                   ┌───┬───┬─┄┐
# rows 0-1│ (0,0) │ (0,1) │(0,2)┆          rows 0-3 │   │   │ ┆│
#         ├───────┼───────┼───┄┄┤                   ├───┼───┼─┄┤
#      2-3│ (1,0) │▓(1,1)▓│(1,2)┆─transposed─▶  4-7 │   │▓▓▓│ ┆│
#         ├───────┼───────┼───┄┄┤                   ├───┼───┼─┄┤
#        4│ (2,0) │ (2,1) │(2,2)┆               8-9 │   │   │ ┆│
#         └┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┴┄┄┄┄┄┘                   └┄┄┄┴┄┄┄┴┄┄┘
#   tiles of BLOCK_ROWS x BLOCK_COLS = 2 x 4, a program for each
# ```
#
# ## Tiles of a matrix
#
# <!-- tiles -->
# A program works on a *tile*, a rectangular part of a matrix. Two blocks of one dimension, `rows` and `cols`, number
# its rows and columns. `rows[:, None]` turns a block into a column, shape `(BLOCK_ROWS, 1)`. `cols[None, :]` makes a
# row, shape `(1, BLOCK_COLS)`. If you combine the two, each side of length 1 is repeated until the shapes fit:
# *broadcasting*, as in PyTorch. Take rows 2 and 3 and columns 4 to 7 of a matrix with the row stride 10:
#
# ```
#  rows[:, None] * 10   +   cols[None, :]    =   a tile of offsets
#
#       20                                        24  25  26  27
#       30                   4   5   6   7        34  35  36  37
#
#     (2, 1)                    (1, 4)                (2, 4)
# ```
#
# A pointer plus this tile is a tile of addresses, and `tl.load` of that is a tile of values. A lane belongs to the
# matrix if its row *and* its column exist. In a matrix of 5 by 10, take rows 4 and 5 and columns 8 to 11:
#
# ```
# rows exist,       columns exist,
# as a column   &   as a row         =   a tile of masks
#
#      ✓                                     ✓ ✓ ✗ ✗
#      ✗                ✓ ✓ ✗ ✗              ✗ ✗ ✗ ✗
# ```
#
# Write `&` between blocks, with parentheses around each comparison. Python's `and` is for two single conditions.
# <!-- /tiles -->
#
# Tiles are counted in two directions, and so are programs: the grid is `(tiles of rows, tiles of columns)`, (3, 3) in
# the picture. `tl.program_id(0)` counts the tiles of rows, and `tl.program_id(1)` the tiles of columns.
#
# ## Where a tile goes
#
# Column $c$ of x is row $c$ of y. So `cols` become rows, and are multiplied by the row stride of y. There are two ways
# to bring a whole tile there, equally fast:
#
# * **Transpose the tile.** `tl.trans(x)` turns the shape `(BLOCK_ROWS, BLOCK_COLS)` into `(BLOCK_COLS, BLOCK_ROWS)`.
#   The addresses of the store then have that shape, too.
# * **Leave the tile as it is.** Its addresses in y then have its shape, with `cols[None, :]` multiplied by y's row
#   stride.
#
# The addresses, the values and the mask of a store must have one shape. The load needs no `other`, because its masked
# lanes are never stored.
#
# ![Left, x of 5 by 10 in tiles of 2 by 4, of which the last ones stick out. The tile in the middle has the offsets 24 to 27 and 34 to 37. Below: they are the sum of a column, 20 and 30, and a row, 4 to 7. Right, y of 10 by 5: the same tile, transposed, has the offsets 22 and 23, 27 and 28, 32 and 33, 37 and 38.](../docs/figures/transposed_tile.svg)
#
# | in PyTorch | in a kernel |
# |---|---|
# | `rows.unsqueeze(1)` or `rows[:, None]` | `rows[:, None]`, or `tl.expand_dims(rows, 1)` |
# | `x.T` | `tl.trans(x)` |
# | `mask_1 & mask_2` | the same |
#
# ## The idea
#
# $$ y_{cr} = x_{rc}, \qquad 0 \le r < \text{n\_rows}, \quad 0 \le c < \text{n\_cols}. $$
#
# In PyTorch, with slices that end where the matrix ends:
#
# ```python
# y = x.new_empty(n_cols, n_rows)
# for r in range(0, n_rows, BLOCK_ROWS):             # on a GPU: all tiles at once
#     for c in range(0, n_cols, BLOCK_COLS):
#         y[c : c + BLOCK_COLS, r : r + BLOCK_ROWS] = x[r : r + BLOCK_ROWS, c : c + BLOCK_COLS].T
# ```
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr` | pointer to the first element of x, shape `(n_rows, n_cols)`, fp32, fp16 or bf16 |
# | `y_ptr` | pointer to the first element of y, shape `(n_cols, n_rows)`, of the same type, to be written |
# | `x_row_stride` | elements from the beginning of one row of x to that of the next, at least `n_cols` |
# | `y_row_stride` | the same of y, at least `n_rows` |
# | `n_rows`, `n_cols` | shape of x, both at least 1 |
# | `BLOCK_ROWS`, `BLOCK_COLS` | shape of a tile of x, powers of two, equal or not |
#
# `rows` are 64 bits wide in the stub. Convert your `cols` with `.to(tl.int64)` as well: in y, they are the rows.
#
# ## The traffic bound
#
# Each element of x is loaded **once**, and each element of y is stored **once**, one tile at a time.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About five lines are missing: the columns, a mask, a load, the offsets in y, and a store.

# %%
@triton.jit
def transpose_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    # FILL IN (roughly 5 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes. `triton.cdiv(5, 2)` is 5 / 2
# rounded up.

# %%
def transpose(x):
    """The transpose of a matrix on the GPU, as a matrix of its own."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty((n_cols, n_rows), dtype=x.dtype, device=x.device)
    grid = (triton.cdiv(n_rows, 64), triton.cdiv(n_cols, 64))
    transpose_kernel[grid](x, y, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_ROWS=64, BLOCK_COLS=64)
    return y


# %% [markdown]
# ## How to check
#
# In a terminal: `./check w3`. In a notebook: run the cells above, then the one below. `make step PUZZLE=w3` runs your
# kernel line by line. Compare the elements that are loaded with those that are stored.

# %%
from checker.notebook import check, hint, solution, step, trace

check("w3")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=w3` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# What axis 0 of the grid does for `rows`, axis 1 does for `cols`. Write down the shape of each block that you make. In
# the store, three of them must agree.
#
# </details>
# <details><summary>2: the store</summary>
#
# In y, `cols` are the rows. Take `tl.trans(x)`, whose shape is `(BLOCK_COLS, BLOCK_ROWS)`. Which of `cols` and `rows`
# becomes the column of the addresses? The mask has to be transposed as well.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# The mask is `(rows < n_rows)[:, None] & (cols < n_cols)[None, :]`. Load with it from
# `x_ptr + rows[:, None] * x_row_stride + cols[None, :]`. Store `tl.trans(x)` to
# `y_ptr + cols[:, None] * y_row_stride + rows[None, :]`, with the mask `tl.trans(mask)`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The matrix is that of the picture, 5 x 10. Write a guess in place of each `...`. Once your kernel is
# accepted, it answers. Guesses are not graded.
#
# * `idle_lanes`: with tiles of 2 x 4, how many lanes of all programs together are masked off when y is stored?
# * `unwritten`: with the same tiles, the grid is (3, 2), which is too small. How many elements of y does no program
#   write?
# * `programs`: with tiles of 4 x 4, how many programs store to y?
#
# In a terminal:
#
# ```
# make predict PUZZLE=w3 GUESS="idle_lanes=... unwritten=... programs=..."
# ```

# %%
from checker.notebook import predict

predict("w3", idle_lanes=..., unwritten=..., programs=...)

# %% [markdown]
# **Run.** Write down your answer before you run the cell. The matrix is that of the picture, and each element of x is
# its own offset.

# %%
import numpy as np

from checker.notebook import run

x = np.arange(50, dtype=np.float32).reshape(5, 10)
y = np.full((10, 5), -1, np.float32)
blocks = {"BLOCK_ROWS": 2, "BLOCK_COLS": 4}
run(transpose_kernel, x_ptr=x, y_ptr=y, x_row_stride=10, y_row_stride=5, n_rows=5, n_cols=10, **blocks, grid=(3, 3))

# %% [markdown]
# **Question 1.** Which grid do tiles of 4 x 2 need? How many of its lanes does the last program mask off?
#
# <details><summary>Answer</summary>
#
# (2, 5). Program (1, 4) begins at row 4 and column 8. Only row 4 and two columns exist, so 2 lanes take part, and 6 are
# masked off.
#
# </details>
#
# **Question 2.** Write `x_row_stride=8`. What is in the second column of y, and does anything complain?
#
# <details><summary>Answer</summary>
#
# 8 to 17: "row 1" begins at offset 8 and still has 10 columns. Nothing complains, because all of these elements are
# inside x. The addresses in y are right, and the wrong elements are stored there.
#
# </details>
#
# **Question 3.** Now spoil the transposition: in your store, replace `tl.trans(x)` by `x`, or `x` by `tl.trans(x)`.
# What happens here, where tiles are square? And with tiles of 2 x 4 and `grid=(2, 1)`?

# %%
x = np.arange(16, dtype=np.float32).reshape(4, 4)
y = np.full((4, 4), -1, np.float32)
blocks = {"BLOCK_ROWS": 4, "BLOCK_COLS": 4}
run(transpose_kernel, x_ptr=x, y_ptr=y, x_row_stride=4, y_row_stride=4, n_rows=4, n_cols=4, **blocks, grid=(1, 1))

# %% [markdown]
# <details><summary>Answer</summary>
#
# With tiles of 4 x 4 the shapes fit, nothing complains, and y is a copy of x. With tiles of 2 x 4 Triton stops, because
# the values have the shape (2, 4) and the addresses (4, 2), or the other way round. Square tiles hide mistakes of this
# kind, so the checker uses tiles of all shapes.
#
# </details>
#
# ## What to notice afterwards
#
# Why tiles, if nothing is computed? A program could also read a row of x and write it as a column of y. But a GPU's
# memory moves nothing smaller than a *sector* of 32 bytes, or 8 fp32 neighbours. In a column of y no two elements are
# neighbours, so each costs a sector, and 7 of 8 places are wasted. A tile is read along the rows of x, transposed on
# the chip, and written along the rows of y.
#
# A transposed view costs nothing in PyTorch, because `x.T` only exchanges the strides. You need a kernel like this when
# the next operation needs a row's elements next to one another. Attention loads its matrix K by rows and transposes
# tiles on the chip, so $K^T$ never exists in memory.
#
# ## Where to read on
#
# * [Tiling, and what it saves](../docs/background/gpu.md#tiling).
# * [Triton's operations that change a block's shape](https://triton-lang.org/main/python-api/triton.language.html).
# * M. Harris, [*An efficient matrix transpose in CUDA
#   C/C++*](https://developer.nvidia.com/blog/efficient-matrix-transpose-cuda-cc/) (2013): the same tiles by hand, and
#   what the columns cost without them.
