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
# # Puzzle w2: row sums
#
# ## What you will build
#
# A kernel that adds up each row of a matrix, `x.float().sum(dim=1)`. Such a sum is part of every softmax, every layer
# norm and every loss. Take this puzzle before p1 if strides or sums in a kernel are new to you.
#
# Tensors are in the GPU's *global memory*. What a program has loaded is *on the chip*, next to the arithmetic units,
# until the program stores it or ends.
#
# ```
#         global memory             on the chip, in program 1
#   x   ┌─────────────┐
# row 0 │  1   2   3  │              lanes 0 1 2, and padding
# row 1 │  4   5   6  │ ──load──▶  [ 4   5   6   0 ]
# row 2 │  7   8   9  │                   │ sum
#       └─────────────┘                   ▼
#  out  [  6  15  24  ]   ◀─store──      15
# ```
#
# ## Rows, and a number from each
#
# <!-- rows -->
# In memory a matrix is one long line, row by row, perhaps with gaps between rows. Here x is the left part of a matrix
# with 5 columns, `x = wide[:, :3]`:
#
# ```
#  x_ptr               x_ptr + 5           x_ptr + 10
#    │                   │                   │
#  ┌─▼─┬───┬───┬───┬───┬─▼─┬───┬───┬───┬───┬─▼─┬───┬───┬───┬───┐
#  │ 1 │ 2 │ 3 │ · │ · │ 4 │ 5 │ 6 │ · │ · │ 7 │ 8 │ 9 │ · │ · │
#  └───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┘
#    0   1   2   3   4   5   6   7   8   9  10  11  12  13  14
#  ╰── row 0 ──╯  gap  ╰── row 1 ──╯  gap  ╰── row 2 ──╯  gap
#  below each element: its offset
# ```
#
# A *stride* is the number of elements from one row to the next, or from one column to the next. (NumPy counts bytes.)
# The strides of this x are (5, 1). In this course the column stride is always 1. The kernel gets the row stride,
# `x_row_stride`, and row `row` begins at `x_ptr + row * x_row_stride`.
#
# Each program owns one row, `row = tl.program_id(0)`, and loads it into one block. The block's length is a power of
# two: 4 for a row of 3. `cols`, the `tl.arange` over the block, has one lane per column. The remaining lanes, from
# `n_cols` up, are *padding*. The mask compares `cols` with `n_cols`, and `other` is what the padding holds. (Do not
# compare offsets: in row 1 they begin at 5, above `n_cols`.)
#
# A *reduction*, such as `tl.sum(block, axis=0)`, turns a block into one number, padding included. `axis` is PyTorch's
# `dim`, and a block of one dimension has only axis 0. Sums are kept in fp32: the largest fp16 number is 65504, and in
# fp16, 2048 + 1 is 2048. `x.to(tl.float32)` converts on the chip and costs no traffic.
# <!-- /rows -->
#
# ![A matrix of three rows, each with three elements and a gap of two. In memory the rows follow one another and begin at the offsets 0, 5 and 10. Program 1 adds the block of columns 0 to 3 to 1 · 5: it loads the offsets 5, 6 and 7, which hold 4, 5 and 6, and lane 3, at the offset 8 in the gap, is masked.](../docs/figures/row_addresses.svg)
#
# A single number is stored to a single address, a pointer plus one offset. Such a store needs no mask.
#
# | in PyTorch | in a kernel |
# |---|---|
# | `x.stride(0)` | a pointer does not know it: passed as a number, `x_row_stride` |
# | `x.sum(dim=0)` | `tl.sum(x, axis=0)` |
# | `x.sum(dim=0, keepdim=True)` | `tl.sum(x, axis=0, keep_dims=True)`, which is still a block |
# | `x.float()` | `x.to(tl.float32)` |
#
# ## The idea
#
# $$ \text{out}_i = \sum_{j=0}^{N-1} x_{ij}, \qquad N = \text{n\_cols}. $$
#
# In PyTorch:
#
# ```python
# out = torch.empty(len(x), dtype=torch.float32)
# for row in range(len(x)):                  # on a GPU: all at once
#     out[row] = x[row].float().sum(dim=0)
# ```
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr` | pointer to the first element of x, shape `(n_rows, n_cols)`, fp32, fp16 or bf16 |
# | `out_ptr` | pointer to the first element of out, a vector of `n_rows` numbers without gaps, fp32, to be written |
# | `x_row_stride` | elements from the beginning of one row to that of the next, at least `n_cols` |
# | `n_cols` | length of a row, at least 1 |
# | `BLOCK_SIZE` | a power of two, at least `n_cols` |
#
# The number of rows is not a parameter, because it is the number of programs.
#
# ## The traffic bound
#
# Each element of x is loaded **once**, and each element of out is stored **once**.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About four lines are missing: the columns, a load, the sum, and a store.

# %%
@triton.jit
def row_sum_kernel(x_ptr, out_ptr, x_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    # FILL IN (roughly 4 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes. `triton.next_power_of_2(3)` is 4.

# %%
def row_sum(x):
    """The sums of the rows of a matrix on the GPU, in fp32."""
    import torch

    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, dtype=torch.float32, device=x.device)
    row_sum_kernel[(n_rows,)](x, out, x.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols))
    return out


# %% [markdown]
# ## How to check
#
# In a terminal: `./check w2`. In a notebook: run the cells above, then the one below. `make step PUZZLE=w2` runs your
# kernel line by line. Follow the padding from the load to the sum.

# %%
from checker.notebook import check, hint, solution, step, trace

check("w2")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=w2` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Take the kernel of w1, and change what a program owns. Which part of its offsets said where the program's block
# begins? Where does a row begin? Which lanes are columns of the row?
#
# </details>
# <details><summary>2: the padding</summary>
#
# `cols` is a `tl.arange` over the whole block, and the mask of the load is `cols < n_cols`. Adding 0 changes no sum.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Load from `x_ptr + row * x_row_stride + cols` with `mask=cols < n_cols, other=0.0`. Convert what you loaded with
# `.to(tl.float32)`, take `tl.sum(..., axis=0)` of it, and store that number to `out_ptr + row`.
#
# </details>
#
# ## Experiments
#
# **Predict.** Both questions are about launches of your kernel. Write a guess in place of each `...`. Once your kernel
# is accepted, it answers. Guesses are not graded.
#
# * `idle_lanes`: 3 rows of 5 columns need `BLOCK_SIZE=8`. How many lanes of all programs together are masked off when x
#   is loaded?
# * `total`: a row of fp16 numbers begins with 2048, and 1000 ones follow. What does your kernel store as its sum?
#
# In a terminal:
#
# ```
# make predict PUZZLE=w2 GUESS="idle_lanes=... total=..."
# ```

# %%
from checker.notebook import predict

predict("w2", idle_lanes=..., total=...)

# %% [markdown]
# **Run.** Write down your answer before you run the cell. The numbers are those of the picture, with tens in the gaps.

# %%
import numpy as np

from checker.notebook import run

wide = np.array([[1, 2, 3, 10, 10], [4, 5, 6, 10, 10], [7, 8, 9, 10, 10]], np.float32)
out = np.zeros(3, np.float32)
run(row_sum_kernel, x_ptr=wide, out_ptr=out, x_row_stride=5, n_cols=3, BLOCK_SIZE=4, grid=3)

# %% [markdown]
# **Question 1.** What comes out with `x_row_stride=3`, the length of a row? Which grid and which block do 7 rows of 300
# columns need?
#
# <details><summary>Answer</summary>
#
# 6, 24 and 21. Row 0 is right, because it begins at offset 0 with any stride. "Row 1" begins at offset 3 and is 10 10
# 4, and "row 2" begins at offset 6 and is 5 6 10. All of these elements are inside the tensor, so nothing complains.
# Seven rows of 300 need the grid (7,), and a block of 512.
#
# </details>
#
# **Question 2.** With `x_row_stride=5` again, write `other=1.0`. What comes out, with `BLOCK_SIZE=4` and with
# `BLOCK_SIZE=8`?
#
# <details><summary>Answer</summary>
#
# Each padded lane adds 1. A block of 4 has one of them, and the sums are 7, 16 and 25. A block of 8 has five, and the
# sums are 11, 20 and 29. With `other=-float("inf")`, one padded lane makes every sum $-\infty$.
#
# </details>
#
# **Question 3.** Here is a row of 1024 fp16 numbers, all of them 100. What is the sum? What is it without
# `.to(tl.float32)`?

# %%
hundreds = np.full((1, 1024), 100, np.float16)
out = np.zeros(1, np.float32)
run(row_sum_kernel, x_ptr=hundreds, out_ptr=out, x_row_stride=1024, n_cols=1024, BLOCK_SIZE=1024, grid=1)

# %% [markdown]
# <details><summary>Answer</summary>
#
# 102,400, and infinity without the conversion, because the largest fp16 number is 65504. An fp32 `out` does not help:
# the sum is infinite before it is stored.
#
# </details>
#
# ## What to notice afterwards
#
# A sum needs its whole row, so one program takes all of it, and the row must fit into one block. Longer rows come in
# p2.
#
# You do not choose the order of the additions. A GPU adds the lanes in pairs, then pairs of pairs, and PyTorch may use
# another order. In fp32 both are right up to rounding, but seldom equal to the last digit. The checker allows for the
# rounding of each addition, and nothing more.
#
# A sum in fp32 costs no traffic, and so no time. The softmax of p1 sums in fp32 as well, and ran on an H200 with
# 131,072 rows of 8192. It took 1.03 ms with bf16 input and 2.01 ms with fp32 input: half the bytes, half the time.
#
# | type | bytes | binary digits | whole numbers without a gap up to | largest number |
# |---|---|---|---|---|
# | fp16 | 2 | 11 | 2048 | 65504 |
# | bf16 | 2 | 8 | 256 | $3.4 \cdot 10^{38}$ |
# | fp32 | 4 | 24 | 16,777,216 | $3.4 \cdot 10^{38}$ |
#
# ## Where to read on
#
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
# * [What strides are, and which operations of PyTorch only change
#   them](https://pytorch.org/docs/stable/tensor_view.html).
# * N. J. Higham, [*The accuracy of floating point summation*](https://doi.org/10.1137/0914050) (1993): how far off a
#   sum can be, for each order of its additions.
