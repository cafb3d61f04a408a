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
# # Puzzle p4: tiled softmax
#
# ## What you will build
#
# The softmax of p3, for several rows at once. A short row alone is too little work for a program. So a program takes a
# *tile*, a rectangular part of the matrix, and you choose both its sides.
#
# The attention kernel of p6 has this shape: a program owns BLOCK_ROWS rows and moves a tile along their columns. `m`
# and `l` become vectors, with one entry per row.
#
# ```
#                cols ──▶  BLOCK_COLS
#              ┌──────────┬──────────┬─────┄┄┄┄┐
# program 0    │  tile    │          │     ┆   ┆   m [ ]   l [ ]
# BLOCK_ROWS   │          │ ──▶      │     ┆   ┆     [ ]     [ ]
#              ├──────────┼──────────┼─────┄┄┄┄┤
# program 1    │          │          │     ┆   ┆
#              ├┄┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄┤
#              └┄┄┄┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┄┄┘
#              rows past the end are padding too
# ```
#
# <details><summary>Offsets and masks of a tile: unfold this if you have not done w3</summary>
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
# </details>
#
# ## The idea
#
# p3 with one more axis. In PyTorch, for the rows x of one program, and without $-\infty$:
#
# ```python
# m, l = torch.full((len(x),), -torch.inf), torch.zeros(len(x))                      # (BLOCK_ROWS,)
# for tile in x.split(BLOCK_COLS, dim=1):
#     m_new = torch.maximum(m, tile.amax(dim=1))
#     m, l = m_new, l * (m - m_new).exp() + (tile - m_new[:, None]).exp().sum(dim=1)
# y = (x - m[:, None]).exp() / l[:, None]
# ```
#
# **Reductions along an axis.** A reduction along axis 1 looks through all columns of a row, and gives one entry per
# row. To combine the result with the tile again, add the reduced axis back: `[:, None]`, shape `(BLOCK_ROWS, 1)`.
# `[None, :]` would put it along the columns. That fails at once or, in a square tile, silently gives wrong numbers.
#
# ![Tiles of 4 by 4 over a matrix of 5 rows and 10 columns. Program 0 has the first four rows and three tiles; the last tile has two columns past the end. Program 1 has one row and three rows past the end. In each tile the rows are reduced along axis 1, to vectors m and l with one entry for each row.](../docs/figures/tiled_rows.svg)
#
# **Vectors to start with.** A name that a loop carries into its next iteration must have its final shape and type
# before the loop:
#
# | in PyTorch | in a kernel |
# |---|---|
# | `torch.zeros(8)` | `tl.zeros((8,), tl.float32)` |
# | `torch.full((8,), value)` | `tl.full((8,), value, tl.float32)` |
# | `x.amax(dim=1)` of a tile | `tl.max(x, axis=1)`, a vector |
#
# **In numbers.** Let the first tile have the rows 1 3 and 4 0, with the maxima (3, 4). The next tile has the rows 2 5
# and 5 1. It takes `m` to (5, 5) and `l` from (1.14, 1.02) to (1.20, 1.39). Each row is computed as if it were alone. A
# third row, past the end, is all $-\infty$. With p3's guard, its `m` stays $-\infty$ and its `l` stays 0. The store's
# mask leaves it out.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, shape `(n_rows, n_cols)`, fp32, fp16 or bf16 |
# | `x_row_stride`, `y_row_stride` | elements from one row to the next, at least `n_cols`; x and y may differ |
# | `n_rows`, `n_cols` | shape of x and y |
# | `BLOCK_ROWS`, `BLOCK_COLS` | shape of a tile, powers of two |
#
# Values as in p3. The last tiles may be partly empty, along both axes.
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
# About fifteen lines are missing.

# %%
@triton.jit
def tiled_softmax_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.arange(0, BLOCK_COLS)
    # FILL IN (roughly 15 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

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
# In a terminal: `./check p4`. In a notebook: run the cells above, then the one below. `make step PUZZLE=p4` runs your
# kernel line by line. Watch `m`: each row of a tile has its own maximum.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p4")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p4` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# `m` and `l` are vectors now, and must be vectors before the loop begins. Go through p3 line by line, and write down
# the shape of each name. Is it (BLOCK_ROWS,), or the shape of the tile?
#
# </details>
# <details><summary>2: the mask</summary>
#
# `(rows < n_rows)[:, None] & (start + cols < n_cols)[None, :]`, with `other=-float("inf")`. Rows that do not exist are
# then all $-\infty$.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Start with `tl.full((BLOCK_ROWS,), -float("inf"), tl.float32)` for `m` and `tl.zeros((BLOCK_ROWS,), tl.float32)` for
# `l`. Offsets are `rows[:, None] * x_row_stride + start + cols[None, :]`. Reductions have `axis=1`. A vector that is
# combined with the tile gets `[:, None]`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launch has 5 rows of 10 columns, in tiles of 4 x 4. Write a guess in place of each `...`. Once your
# kernel is accepted, it answers. Guesses are not graded.
#
# * `programs`: how many programs store to y?
# * `x_reads`: how often is each element of x read?
# * `idle_lanes`: how many lanes of all programs together are masked off when y is stored?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p4 GUESS="programs=... x_reads=... idle_lanes=..."
# ```

# %%
from checker.notebook import predict

predict("p4", programs=..., x_reads=..., idle_lanes=...)

# %% [markdown]
# **Run.** The next cell launches the same tiles. Write your guesses down before you run it.
#
# 1. In the last loop, subtract `m[None, :]` instead of `m[:, None]`. Does anything complain?
# 2. Do the same with tiles of two rows: `at_once = 2` in the cell. What happens now?
# 3. How many programs would 1000 rows need, with 8 rows in a tile?
#
# <details><summary>Answers</summary>
#
# 1. Nothing complains, and y is wrong. Column $j$ of a tile is shifted by the maximum of row $j$, so rows no longer sum
#    to 1. The last row even holds infinities: three rows of its tile do not exist, and have the maximum $-\infty$.
# 2. Triton stops, because the shapes (1, 2) and (2, 4) do not fit.
# 3. 125.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

at_once = 4  # or 2
x = np.random.default_rng(0).normal(size=(5, 10)).astype(np.float32)
y = np.zeros_like(x)
sizes = {"x_row_stride": 10, "y_row_stride": 10, "n_rows": 5, "n_cols": 10}
run(tiled_softmax_kernel, x_ptr=x, y_ptr=y, **sizes, BLOCK_ROWS=at_once, BLOCK_COLS=4, grid=-(-5 // at_once))

# %% [markdown]
# ## What to notice afterwards
#
# The rows of a tile share a program, and nothing else. In attention the rows are queries and the columns are keys.
# There the tile is not loaded, but computed on the chip by a matrix product. The rest of the loop is yours.
#
# The tile should fit the rows. On an H200, compared with the speed of a copy:
#
# | row | tile | your kernel | eager `torch.softmax` |
# |---|---|---|---|
# | 128 numbers | 8 x 128 | 99.4 % | 99.7 % |
# | 4096 numbers | 4 x 4096 | 94 % | 61 % |
#
# ## Where to read on
#
# * [Tiling, and what it saves](../docs/background/gpu.md).
# * T. Dao et al., [*FlashAttention*](https://arxiv.org/abs/2205.14135) (2022), section 3.1: the same two vectors
#   m and l, under the names used here.
