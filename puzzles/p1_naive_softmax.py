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
# On an H200 the five lines that you are about to write run at 99.7 % of the speed of a plain copy. Eager
# `torch.softmax` reaches 46 % (fp32, rows of 8192). A transformer takes the softmax of every row of attention scores,
# in every head of every layer. All of FlashAttention rests on what it does: load once, do all the arithmetic on the
# chip, store once.
#
# If you have never written a Triton kernel, start at [w1](w1_vector_add.py).
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
# <details><summary>Rows, strides, padding and sums in a kernel: unfold this if you have not done w2</summary>
#
# <!-- rows -->
# Memory is one long line. A matrix lies in it row by row, and between two rows there may be a gap. Here x is the left
# part of a wider matrix, `x = wide[:, :3]`, where `wide` has 5 columns:
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
# PyTorch says that the strides of this x are (5, 1). A *stride* is the number of elements from one row to the next, or
# from one column to the next. In this course the next column is always 1 element away. The next row is `x.stride(0)`
# elements away, 5 and not 3, and the kernel gets this number as `x_row_stride`. So row `row` begins at `x_ptr + row *
# x_row_stride`.
#
# A program owns a row, and `row = tl.program_id(0)`. The whole row goes into one block, whose length is a power of two:
# 4 for a row of 3. So `cols`, the `tl.arange` over the block, has one lane for each column, and from `n_cols` on lanes
# that are no columns. These are *padding*. The mask compares `cols` with `n_cols` (offsets would not do: 5 is already
# more than 3), and `other` says what the padding holds.
#
# A block becomes one number by a *reduction*, such as `tl.sum(block, axis=0)`. `axis` is what PyTorch calls `dim`, and
# a block of one dimension has only axis 0. The padding is added up as well. Sums are kept in fp32: fp16 ends at 65504,
# and from 2048 on it has only the even numbers, so 2048 + 1 = 2048. `x.to(tl.float32)` converts on the chip, and costs
# no traffic.
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
# Each line is a kernel of its own, which reads its input from global memory and writes its result back. So the row
# crosses the memory bus five times: twice for the first line, once for the second, which writes a single number, and
# twice for the third. *Fused* into one kernel, it crosses twice, in and out. The only new word is `tl.exp(x)`, which
# takes the exponential of each lane.
#
# **Padding that counts.** A masked lane holds whatever you pass as `other=`, and garbage if you pass nothing. In a
# plain sum, 0 is harmless. Here the sum is over exponentials, and $e^0 = 1$: with `other=0.0` the denominator of row 1
# would be 25.5 instead of 24.5, and the row would sum to 0.96. Choose `other` so that the sum of the exponentials is
# right.
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
# Compute in fp32 (`x.to(tl.float32)` right after the load); `tl.store` converts back to y's type. You may rely on $|x|
# \le 80$ (individual entries may be $-\infty$, in a kernel `-float("inf")`), so neither an exponential nor their sum
# overflows.
#
# ## The traffic bound
#
# Each element of x is loaded **once**, and each element of y stored **once**. The checker counts.

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
# In a terminal: `./check p1`. In a notebook: run the cells above, then the one below. It takes less than a second, and
# needs no GPU. `make step PUZZLE=p1` goes through it line by line: what do the lanes past the end add to the sum?

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
# Which lanes of `cols` are columns of the row? That comparison is the mask, of the load and of the store. What does a
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
# The row begins at `x_ptr + row * x_row_stride`. Load it with `mask=cols < n_cols, other=-float("inf")`,
# convert it to fp32, take `tl.exp` of it, and divide that by its `tl.sum(..., axis=0)`. Store the
# quotient with the same mask to the row of y, which has its own stride.
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
# What does y hold, as the cell stands? What changes in either row if 88 becomes 89? And which `grid` and which
# `BLOCK_SIZE` do you choose for 5 rows of 300 columns?
#
# <details><summary>Answer</summary>
#
# Row 0 is 1 and twice nearly 0, as $e^{88} = 1.7 \cdot 10^{38}$ is still a number. $e^{89}$ is more than fp32 can hold,
# so the sum is infinite: 89 gives $\infty / \infty$ = NaN, and its neighbours give 0. Row 1 stays .6652, .0900, .2447,
# because another program computes it. Five rows of 300 need 5 programs, and a block of 512.
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
# The kernel is fast, and it is fragile. fp32 ends at $3.4 \cdot 10^{38}$, and $e^x$ is more than that from $x = 88.7$
# on. Real attention scores do get this large. p2 fixes that, and takes rows longer than a block as well.
#
# ## Where to read on
#
# * [What exponentials can do and cannot, in full](../docs/background/softmax.md).
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
# * [Triton's tutorial on fused softmax](https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html):
#   the same kernel, with a loop over rows.
# * M. Milakov, N. Gimelshein, [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867)
#   (2018), sections 1 and 2: the naive and the safe algorithm, and how often each of them touches memory.
