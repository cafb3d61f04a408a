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
# # Puzzle p1: naive softmax
#
# ## What you will build
#
# The softmax of each row of a matrix, in one kernel. A transformer needs it for every row of attention scores. The
# kernel loads once, computes *on the chip*, next to the arithmetic units, and stores once. FlashAttention is built on
# that.
#
# New to Triton? Start at [w1](w1_vector_add.py).
#
# ```
#          global memory              on the chip, in program 1
#   x   ┌──────────────────┐
# row 0 │ 2.0   1.0   0.1  │            lanes 0 1 2, and padding
# row 1 │ 0.5   3.0   1.0  │ ─load─▶  [ 0.5   3.0   1.0    ?  ]
# row 2 │ 1.0   1.0   1.0  │             │ exp
#       └──────────────────┘          [ 1.65  20.1  2.72   ?  ]
#                                        │ divide by the sum, 24.5
#   y   ┌──────────────────┐             ▼
# row 1 │ .067  .821  .111 │ ◀─store─ [ .067  .821  .111   ?  ]
#       └──────────────────┘
# ```
#
# <details><summary>Rows, strides, padding and sums: unfold if you have not done w2</summary>
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
# </details>
#
# ## The idea
#
# The softmax of a row $x$ of length $N$ is
#
# $$ y_i = \frac{e^{x_i}}{\sum_{j=1}^{N} e^{x_j}}. $$
#
# In PyTorch:
#
# ```python
# e = x.exp()                            # x in, e out
# total = e.sum(dim=-1, keepdim=True)    # e in
# y = e / total                          # e in, y out
# ```
#
# PyTorch runs each line as a kernel, which reads from *global memory*, the GPU's large memory, and writes its result
# back. So a row crosses the *memory bus* between memory and chip five times: in and out, in for the sum, in and out
# again. *Fused* into one kernel, it crosses twice. `tl.exp(x)` is the exponential of each lane.
#
# **Padding that counts.** A masked lane holds `other`, or garbage if you pass none. The sum is over exponentials, and
# $e^0 = 1$. With `other=0.0`, the denominator of row 1 is 25.5, not 24.5, and its results sum to 0.96. Choose `other`
# so that the sum is right.
#
# ![The row 0.5 3.0 1.0 in a block of four, twice. With padding loaded as 0 the exponentials are 1.65, 20.1, 2.72 and 1, and their sum is 25.5; a bar shows the quotients .065, .789 and .107, which sum to 0.96, and the rest of 0.04 that went to the padding. With padding whose exponential is 0 the sum is 24.5, and the quotients .067, .821 and .111 fill the bar.](../docs/figures/padding.svg)
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, shape `(n_rows, n_cols)`, fp32, fp16 or bf16 |
# | `x_row_stride`, `y_row_stride` | elements from the beginning of one row to that of the next, at least `n_cols`; x and y may differ |
# | `n_cols` | length of a row, at least 1 |
# | `BLOCK_SIZE` | a power of two, at least `n_cols` |
#
# Compute in fp32: `x.to(tl.float32)` right after the load. `tl.store` converts back to y's type. Entries are at most 80
# in size, or $-\infty$ (`-float("inf")`), and no sum overflows.
#
# ## The traffic bound
#
# Each element of x is loaded **once**, and each element of y is stored **once**.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About five lines are missing: a mask, a load, the exponentials, their sum, and a store of the quotient.

# %%
@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 5 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes, on *Triton's interpreter*, which
# runs a kernel with NumPy on the CPU.

# %%
def naive_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    block_size = triton.next_power_of_2(n_cols)
    naive_softmax_kernel[(n_rows,)](x, y, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=block_size)
    return y


# %% [markdown]
# ## How to check
#
# In a terminal: `./check p1`. In a notebook: run the cells above, then the one below. The check takes less than a
# second. `make step PUZZLE=p1` runs your kernel line by line. Watch what the padding adds to the sum.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Which lanes of `cols` are columns of the row? That comparison is the mask of the load and of the store. What does a
# masked lane add to the sum?
#
# </details>
# <details><summary>2: the padding</summary>
#
# The sum runs over the whole block, padding included. Which x has the exponential 0? (Minus infinity is
# `-float("inf")`. There is no `np` in a kernel.)
#
# </details>
# <details><summary>3: nearly there</summary>
#
# The row begins at `x_ptr + row * x_row_stride`. Load it with `mask=cols < n_cols, other=-float("inf")`, convert it to
# fp32, and take `tl.exp`. Divide that by its `tl.sum(..., axis=0)`. Store the quotient with the same mask to the row of
# y, which has its own stride.
#
# </details>
#
# ## Experiments
#
# **Predict.** Each question is about a single row. Write a guess in place of each `...`. Once your kernel is accepted,
# it answers. Guesses are not graded.
#
# * `y_0`: five sevens, with `BLOCK_SIZE=8`. What is the first element of y?
# * `idle_lanes`: 1025 columns need `BLOCK_SIZE=2048`. How many lanes are masked off when y is stored?
# * `x_reads`: in that launch of 1025 columns, how often is each element of x read?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p1 GUESS="y_0=... idle_lanes=... x_reads=..."
# ```

# %%
from checker.notebook import predict

predict("p1", y_0=..., idle_lanes=..., x_reads=...)

# %% [markdown]
# **Run.** `run` launches your kernel once on the interpreter, with arrays of your own. Write your guess down first.
# What is in y if you run the cell unchanged? What changes in either row if 88 becomes 89? Which `grid` and which
# `BLOCK_SIZE` do 5 rows of 300 columns need?
#
# <details><summary>Answer</summary>
#
# Row 0 becomes 1, 0, 0 (nearly), because $e^{88} = 1.7 \cdot 10^{38}$ still fits in fp32. $e^{89}$ does not, so the sum
# is infinite. 89 gives $\infty / \infty$ = NaN, and its neighbours give 0. Row 1 stays .6652, .0900, .2447, because
# another program computes it. Five rows of 300 need 5 programs, and a block of 512.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

x = np.array([[88.0, 1.0, 2.0], [3.0, 1.0, 2.0]], np.float32)  # or 89.0
y = np.zeros_like(x)
run(naive_softmax_kernel, x_ptr=x, y_ptr=y, x_row_stride=3, y_row_stride=3, n_cols=3, BLOCK_SIZE=4, grid=2)

# %% [markdown]
# ## What to notice afterwards
#
# On an H200 this kernel runs at 99.7 % of the speed of a plain copy. `torch.softmax`, without `torch.compile`, reaches
# 46 % (fp32, rows of 8192).
#
# It is fast and fragile. The largest fp32 number is $3.4 \cdot 10^{38}$, and $e^x$ exceeds it for $x > 88.7$. Real
# attention scores do get this large. p2 fixes that, and takes rows longer than a block as well.
#
# ## Where to read on
#
# * [What exponentials can do and cannot, in full](../docs/background/softmax.md).
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
# * [Triton's tutorial on fused softmax](https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html):
#   the same kernel, with a loop over rows.
# * M. Milakov, N. Gimelshein, [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867)
#   (2018), sections 1 and 2: the naive and the safe algorithm, and how often each of them touches memory.
