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
# # Puzzle 1: naive softmax
#
# ## What you will build
#
# A kernel that turns each row of a matrix into a probability distribution. It is the first of seven
# steps to FlashAttention, and already has its shape: load a piece of memory once, do all the
# arithmetic on it while it is on the chip, store the result once.
#
# ```
#            global memory                        on the chip, in program 1
#   x   ┌──────────────────┐
# row 0 │ 2.0   1.0   0.1  │
# row 1 │ 0.5   3.0   1.0  │ ──load──▶  [ 0.5   3.0   1.0    ?  ]   lanes 0 1 2, and padding
# row 2 │ 1.0   1.0   1.0  │                    │ exp
#       └──────────────────┘            [ 1.65  20.1  2.72   ?  ]
#                                               │ divide by the sum, 24.5
#   y   ┌──────────────────┐                    ▼
# row 1 │ .067  .821  .111 │ ◀─store──  [ .067  .821  .111   ?  ]
#       └──────────────────┘
# ```
#
# ## The idea
#
# The softmax of a row $x$ of length $N$ is
#
# $$ y_i = \frac{e^{x_i}}{\sum_{j=1}^{N} e^{x_j}}. $$
#
# Every $y_i$ is positive, and a row sums to 1. Written with ordinary tensor operations this is three
# kernels: one for `exp`, one for `sum`, one for the division. Each of them reads its input from
# global memory and writes its output back, so the row crosses the memory bus five times. *Fused* into
# one kernel it crosses twice: in, and out.
#
# A Triton kernel is a program that runs once for each point of a grid. Here the grid has one program
# per row, and a program computes with *blocks*: many values at once, one in each *lane* of the block.
# `tl.arange(0, BLOCK_SIZE)` is a block of the numbers 0, 1, 2, …: here, of columns.
#
# **Where a row begins.** Memory is one long line. Row 0 of x begins at `x_ptr`, and each further row
# `x_row_stride` elements after the one before it. So row `row` begins at `x_ptr + row * x_row_stride`,
# and adding the block `cols` to that gives a block of addresses, one for each column of the row.
# `tl.load` of a block of addresses is a block of values. `tl.exp(x)` takes the exponential lane by lane, and `tl.sum(x, axis=0)`
# adds up all lanes of a block, which gives one number.
#
# **Where a row ends.** A block's length must be a power of two that is known when the kernel is compiled;
# rows are as long as they are. So the launch takes the next power of two as `BLOCK_SIZE` (4 for a row of
# 3), and the lanes from `n_cols` on are *padding*: no element of the row belongs to them. A **mask**, a
# block of true and false, keeps them from touching memory. What a masked lane holds after a load is for
# you to say, with `other=`. Choose it so that the sum of the exponentials is right.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, shape `(n_rows, n_cols)`, fp32 or fp16 |
# | `x_row_stride`, `y_row_stride` | elements from the beginning of one row to that of the next, at least `n_cols`; x and y may differ |
# | `n_cols` | length of a row, at least 1 |
# | `BLOCK_SIZE` | a power of two, at least `n_cols` |
#
# Neighbours within a row are 1 element apart. Compute in fp32 (`x.to(tl.float32)` right after the load);
# `tl.store` converts back to y's type. Inputs are such that $e^x$ and its sum stay finite in fp32: $|x| \le 80$.
#
# `row` is 64 bits wide in the stub, because `row * x_row_stride` passes $2^{31}$ in a large tensor.
#
# ## The traffic bound
#
# Per row, each element of x is loaded **once**, and each element of y stored **once**. The checker counts.
# Moving data is what this kernel spends its time on: while an H200 moves one fp32 number to the chip or
# back, it could do dozens of additions.

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
# You need not change this: the checker does not read it, and launches your kernel by itself, with many shapes. It does so on
# *Triton's interpreter*, which runs a kernel with NumPy on the CPU.

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
# In a notebook, run the first code cell once, then the cell that you have filled in, then the one below this text. In a
# terminal: `make check PUZZLE=1`, or `make watch`, which checks whenever you save. It takes less than a second, and
# needs no GPU. `print("x", x)` inside the kernel shows you a block; `make trace PUZZLE=1`, or `trace(1)` from
# `checker.notebook`, draws what your kernel loads and stores.

# %%
from checker.notebook import check

check("p1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=1` shows one at a time; so does `hint(1)`, from `checker.notebook`.
#
# <details><summary>1: a nudge</summary>
#
# Which lanes of `cols` are columns of the row? That comparison is the mask, of the load and of the store.
#
# </details>
# <details><summary>2: the padding</summary>
#
# The sum runs over the whole block, padding included. Which x has the exponential 0? (Minus infinity is
# `-float("inf")`; there is no `np` in a kernel.)
#
# </details>
# <details><summary>3: nearly there</summary>
#
# The row begins at `x_ptr + row * x_row_stride`. Load it with `mask=cols < n_cols, other=-float("inf")`,
# convert it to fp32, take `tl.exp` of it, divide that by `tl.sum(..., axis=0)` of it, and store the
# quotient with the same mask to the row of y, which has its own stride.
#
# </details>
#
# ## Experiments
#
# Change a number, run the cell, and look. `run` launches your kernel once on the interpreter, with arrays of
# your own, and tells how often each element was moved.

# %%
import numpy as np

from checker.notebook import run

x = np.array([[88.0, 1.0, 2.0], [3.0, 1.0, 2.0]], np.float32)  # what if 88 becomes 89?
y = np.zeros_like(x)
run(naive_softmax_kernel, x, y, 3, 3, 3, BLOCK_SIZE=4, grid=2)

# %% [markdown]
# ## What to notice afterwards
#
# The kernel is fast, and it is fragile. fp32 ends at $3.4 \cdot 10^{38}$, and $e^{89}$ is more than that: a
# single $x \ge 89$ makes the sum infinite, its own result $\infty / \infty$ = NaN, and all others 0. If you
# have a GPU, try `naive_softmax(torch.tensor([[100.0, 1.0]], device="cuda"))`. Real attention scores get
# there. Puzzle 2 mends it, and takes rows that are longer than a block.
#
# ## Where to read on
#
# * [What exponentials can do and cannot, in full](../docs/background/softmax.md).
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
# * [Triton's tutorial on fused softmax](https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html):
#   the same kernel, with a loop over rows.
# * M. Milakov, N. Gimelshein, [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867)
#   (2018), sections 1 and 2: the naive and the safe algorithm, and how often each of them touches memory.
