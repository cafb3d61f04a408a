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
#                  global memory                         on the chip (one program)
#   x   ┌─────────────────────────────┐
# row 0 │ 2.0  1.0  0.1               │
# row 1 │ 0.5  3.0  1.0  ◀── program 1 │──load──▶ [0.5  3.0  1.0  -inf]   cols 0 1 2 (3 is padding)
# row 2 │ 1.0  1.0  1.0               │              │ exp
#       └─────────────────────────────┘          [1.65 20.1 2.72  0  ]
#                                                    │ sum = 24.5
#   y   ┌─────────────────────────────┐              ▼
# row 1 │ .067 .822 .111              │◀─store── [.067 .822 .111  0  ]   stored with the same mask
#       └─────────────────────────────┘
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
# per row, and a program works on *blocks*: `tl.arange(0, BLOCK_SIZE)` is a block of column numbers,
# `x_ptr + cols` a block of addresses, `tl.load` of that a block of values.
#
# A block's length must be a power of two that is known when the kernel is compiled, and rows are as
# long as they are. So the launch takes `BLOCK_SIZE`, the next power of two, and the lanes from `n_cols`
# on are *padding*. A **mask** keeps them from touching memory. What they hold instead is for you to
# say, with `other=`: choose it so that it leaves the sum alone.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, shape `(n_rows, n_cols)`, fp32 or fp16 |
# | `x_row_stride`, `y_row_stride` | elements from one row to the next; rows may be padded, and x and y differently |
# | `n_cols` | length of a row, at least 1 |
# | `BLOCK_SIZE` | a power of two, at least `n_cols` |
#
# Neighbours within a row are 1 element apart. Compute in fp32 (`x.to(tl.float32)`); `tl.store` converts
# back to y's type. Inputs here are such that $e^x$ and its sum stay finite in fp32: $|x| \le 80$.
#
# `row` is 64 bits wide in the stub, because `row * x_row_stride` passes $2^{31}$ in a large tensor.
#
# ## The traffic bound
#
# Per row: each element of x is loaded **once**, each element of y stored **once**. The checker counts.
# Moving data is what this kernel spends its time on: an H200 moves a few bytes in the time in which it
# could do a hundred additions.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About five lines are missing: a mask, a load, the exponentials, their sum, a store.

# %%
@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 5 lines)


# %% [markdown]
# ## How it is launched
#
# You need not change this, and no checker reads it: the judge launches your kernel by itself, with many
# shapes.

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
# In a terminal: `make check PUZZLE=1`. It takes less than a second, and needs no GPU.
#
# ## Hints
#
# <details><summary>1: a nudge</summary>
# Which lanes of <code>cols</code> are columns of the row? That comparison is the mask, of the load and of
# the store.
# </details>
# <details><summary>2: the padding</summary>
# The sum runs over the whole block, padding included. Which value of x has the exponential 0?
# </details>
# <details><summary>3: nearly there</summary>
# Load with <code>mask=cols &lt; n_cols, other=-float("inf")</code>, take <code>tl.exp</code> of it in fp32,
# divide by <code>tl.sum(..., axis=0)</code>, and store with the same mask at
# <code>y_ptr + row * y_row_stride + cols</code>.
# </details>
#
# ## What to notice afterwards
#
# The kernel is fast, and it is fragile. fp32 ends at $3.4 \cdot 10^{38}$, and $e^{89}$ is more than that: one
# single $x \ge 89$ makes the sum infinite, its own result $\infty / \infty$ = NaN, and all others 0. Try it on
# a GPU with `naive_softmax(torch.tensor([[100.0, 1.0]], device="cuda"))`. Real attention scores get there.
# Puzzle 2 mends it, and takes rows that are longer than a block.
#
# ## Where to read on
#
# * Triton's own tutorial on fused softmax, for the same kernel with a loop over rows.
# * M. Milakov, N. Gimelshein, *Online normalizer calculation for softmax* (2018), sections 1 and 2: the naive
#   and the safe algorithm, and how often each of them touches memory.
