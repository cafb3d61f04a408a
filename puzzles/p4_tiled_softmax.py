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
# # Puzzle 4: tiled softmax
#
# ## What you will build
#
# The softmax of puzzle 3 for several rows at once. A program owns a *tile* of BLOCK_ROWS rows and moves it along
# the columns; `m` and `l` become vectors, with one entry per row. All kernels of attention have this shape.
#
# ```
#                  cols ──▶  BLOCK_COLS
#                ┌──────────┬──────────┬─────┄┄┄┄┐
#   program 0    │  tile    │          │     ┆   ┆   m [ ]   l [ ]
#   BLOCK_ROWS   │          │ ──▶      │     ┆   ┆     [ ]     [ ]
#                ├──────────┼──────────┼─────┄┄┄┄┤
#   program 1    │          │          │     ┆   ┆
#                ├┄┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄┤   rows behind the last one are padding too
#                └┄┄┄┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┄┄┘
# ```
#
# ## The idea
#
# **Blocks of two dimensions.** `rows[:, None]` makes a column of a vector, shape `(BLOCK_ROWS, 1)`, and
# `cols[None, :]` a row, shape `(1, BLOCK_COLS)`. Combined, a side of length 1 is repeated:
# `rows[:, None] * stride + cols[None, :]` is a tile of offsets, shape `(BLOCK_ROWS, BLOCK_COLS)`.
# A comparison of each, combined with `&`, is a tile of masks. Both sides need one: the number of rows is no
# multiple of BLOCK_ROWS, as the number of columns is no multiple of BLOCK_COLS.
#
# **Vectors to start with.** `tl.zeros((BLOCK_ROWS,), tl.float32)` is a vector of zeros, `tl.full((BLOCK_ROWS,), value, tl.float32)`
# one of any value. What a loop carries on must have its final shape and type before the loop.
#
# **Reductions along an axis.** Axis 0 goes from row to row, axis 1 from column to column: `tl.max(x, axis=1)` looks through all
# columns of each row, and has one entry per row, shape `(BLOCK_ROWS,)`. To combine it with the tile again, give it back the side that was
# reduced: `m[:, None]`. With `[None, :]` it would be laid along the columns, which fails at once, or, in a square
# tile, goes wrong in silence.
#
# **Why.** A single row is often too short to keep a GPU's core busy, and a block as long as the row too large for
# it. A tile lets you choose both sides.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, shape `(n_rows, n_cols)`, fp32 or fp16 |
# | `x_row_stride`, `y_row_stride` | elements from the beginning of one row to that of the next, at least `n_cols`; x and y may differ |
# | `n_rows`, `n_cols` | shape of x and y |
# | `BLOCK_ROWS`, `BLOCK_COLS` | shape of a tile, powers of two |
#
# Values as in puzzle 3: large ones, also $-\infty$, but not a whole row of it.
#
# ## The traffic bound
#
# x is loaded **twice**, y stored **once**, a tile at a time.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About eleven lines are missing: puzzle 3, with an axis more.

# %%
@triton.jit
def tiled_softmax_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.arange(0, BLOCK_COLS)
    # FILL IN (roughly 11 lines)


# %% [markdown]
# ## How it is launched
#
# You need not change this: the judge launches your kernel by itself, with many shapes.

# %%
def tiled_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(n_rows, 4),)
    tiled_softmax_kernel[grid](x, y, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_ROWS=4, BLOCK_COLS=256)
    return y


# %% [markdown]
# ## How to check
#
# In a notebook, run the first code cell once, then the cell that you have filled in, then the one below this
# text. In a terminal: `make check PUZZLE=4`, or `make watch`, which checks whenever you save. `print("x", x)` inside the
# kernel shows you a block.

# %%
from checker.notebook import check

check("p4")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=4` shows one at a time; so does `hint(4)`, from `checker.notebook`.
#
# <details><summary>1: a nudge</summary>
#
# `m` and `l` are vectors now: start with `tl.full((BLOCK_ROWS,), -float("inf"), tl.float32)` and
# `tl.zeros((BLOCK_ROWS,), tl.float32)`.
#
# </details>
# <details><summary>2: the mask</summary>
#
# `(rows < n_rows)[:, None] & (start + cols < n_cols)[None, :]`, with `other=-float("inf")`. Rows that do not exist are
# then all -inf; the guard of puzzle 3 keeps them harmless, and the mask of the store keeps them out of y.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Take puzzle 3 line by line. Offsets: `rows[:, None] * x_row_stride + start + cols[None, :]`. Reductions: `axis=1`.
# Wherever a vector meets the tile: `[:, None]`.
#
# </details>
#
# ## Experiments
#
# Five rows in tiles of four, two or one: the grid changes, the traffic does not. The tiles are square at first: write
# `m[None, :]` for `m[:, None]`, and see that nothing complains, and what comes out.

# %%
import numpy as np

from checker.notebook import run

at_once = 4  # or 2, or 1
x = np.random.default_rng(0).normal(size=(5, 10)).astype(np.float32)
y = np.zeros_like(x)
run(tiled_softmax_kernel, x, y, 10, 10, 5, 10, BLOCK_ROWS=at_once, BLOCK_COLS=4, grid=-(-5 // at_once))

# %% [markdown]
# ## What to notice afterwards
#
# Rows of a tile have nothing to do with each other: they only share a program. In attention the rows are queries, the
# columns are keys, and the tile is computed on the chip by a matrix product instead of being loaded. The rest
# of the loop is what you have just written.
#
# ## Where to read on
#
# * [Tiling, and what it saves](../docs/background/gpu.md).
# * T. Dao et al., [*FlashAttention*](https://arxiv.org/abs/2205.14135) (2022), section 3.1: the same two vectors
#   m and l, under the names used here.
