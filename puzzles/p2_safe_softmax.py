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
# # Puzzle p2: safe softmax, three passes
#
# ## What you will build
#
# The softmax of p1, without its two restrictions: a row may be longer than a block, and its values may have any size.
# The last layer of a language model needs both: rows as long as the vocabulary, and values without a bound. A program
# walks along its row three times, block by block. Each walk is a *pass*.
#
# ```
# one row of x, BLOCK_SIZE = 4, n_cols = 10
# ┌─────────────┬─────────────┬───────┄┄┄┄┄┐
# │  block 0    │  block 1    │ block 2    ┆
# └─────────────┴─────────────┴───────┄┄┄┄┄┘
#              columns 10 and 11 are padding
# pass 1   ──▶ ──▶ ──▶   m = maximum of the whole row
# pass 2   ──▶ ──▶ ──▶   l = sum of exp(x - m) over the whole row
# pass 3   ──▶ ──▶ ──▶   y = exp(x - m) / l, block by block
# ```
#
# ## The idea
#
# **Shift invariance.** Subtract any number $c$ from every element of a row, and its softmax stays the same:
#
# $$ \frac{e^{x_i - c}}{\sum_j e^{x_j - c}} = \frac{e^{-c}\, e^{x_i}}{e^{-c} \sum_j e^{x_j}} = \frac{e^{x_i}}{\sum_j e^{x_j}}. $$
#
# Choose $c = m = \max_j x_j$. Then every exponent is at most 0, and no exponential overflows. One of them is exactly
# $e^0 = 1$, so the sum is at least 1, and nothing is divided by 0. That is the *safe* softmax:
#
# $$ m = \max_j x_j, \qquad l = \sum_j e^{x_j - m}, \qquad y_i = \frac{e^{x_i - m}}{l}. $$
#
# The sum $l$ is called the *normaliser*. In PyTorch:
#
# ```python
# m = x.amax(dim=-1, keepdim=True)
# l = (x - m).exp().sum(dim=-1, keepdim=True)
# y = (x - m).exp() / l
# ```
#
# **In numbers.** The row 1 3 2 5 has $m = 5$ and
# $l = e^{-4} + e^{-2} + e^{-3} + e^0$ $= 0.0183 + 0.1353 + 0.0498 + 1 = 1.2034$. Dividing by $l$ gives y = .015 .112 .041
# .831.
#
# **Why three passes.** $m$ is known only at the end of the row, and $l$ needs $m$. $y_i$ needs $l$, which is known only
# at the end of a second pass. A row may not fit on the chip, so each pass reads it again.
#
# ![The row 1 3, 2 5, 4 0, 5 1 in four blocks, loaded three times. Pass 1 carries the maximum from block to block: 3, 5, 5, 5. Pass 2 carries the sum of the exponentials relative to 5: 0.15, 1.20, 1.58, 2.60. Pass 3 carries nothing and writes each block of y: .007 .052, .019 .385, .142 .003, .385 .007.](../docs/figures/three_passes.svg)
#
# **From block to block.** A loop in a kernel looks like one in Python, and its end need not be a `tl.constexpr`. What
# you assign inside it keeps its value for the next iteration. This loop finds the largest number of all blocks of a
# vector:
#
# ```
# # lanes = tl.arange(0, BLOCK_SIZE)
# top = 0.0
# for start in range(0, n, BLOCK_SIZE):
#     offsets = start + lanes  # a new name: lanes stays as it is
#     x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
#     top = tl.maximum(top, tl.max(x, axis=0))
# ```
#
# With `lanes = start + lanes`, the blocks begin at 0, 1, 3, 6, … times `BLOCK_SIZE`, and columns between them are
# skipped. A carried value must keep its type: start a sum with 0.0, not with 0. This loop is right for numbers that are
# not negative. Which float is below every other?
#
# | in PyTorch | in a kernel |
# |---|---|
# | `x.amax(dim=0)` | `tl.max(x, axis=0)`, one number from a block |
# | `torch.maximum(a, b)` | `tl.maximum(a, b)`, the larger of two, lane by lane |
# | `x.sum(dim=0)`, `x.exp()` | `tl.sum(x, axis=0)`, `tl.exp(x)` |
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, shape `(n_rows, n_cols)`, fp32, fp16 or bf16 |
# | `x_row_stride`, `y_row_stride` | elements from the beginning of one row to that of the next, at least `n_cols`; x and y may differ |
# | `n_cols` | length of a row, at least 1 |
# | `BLOCK_SIZE` | columns in a block, a power of two; **may be smaller than the row** |
#
# Values can be as large now as their type allows. (In fp16, the checker uses up to about 2000.) Individual values may be
# $-\infty$, never a whole row. Compute in fp32.
#
# ## The traffic bound
#
# Per row, x is loaded at most **three times**. y is stored **once**, a block at a time, and never read. That is 4
# crossings of the memory bus, against 2 in p1.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About sixteen lines are missing: three loops, each with a mask and a load.

# %%
@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 16 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def safe_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    safe_softmax_kernel[(n_rows,)](x, y, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=1024)
    return y


# %% [markdown]
# ## How to check
#
# In a terminal: `./check p2`. In a notebook: run the cells above, then the one below. `make step PUZZLE=p2` runs the
# three passes line by line. Watch what each of them keeps.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p2")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p2` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Write pass 1 alone, print `m` after it, and check. In each iteration, `start` is the first column of the block. Which
# are the other columns? Which of them exist in the last block?
#
# </details>
# <details><summary>2: the padding</summary>
#
# The columns of a block are `start + cols`, and the mask compares them with `n_cols`. Padding must change neither the
# maximum nor the sum. One value for `other` is right for both.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Pass 1: `m = tl.maximum(m, tl.max(x, axis=0))`, from `m = -float("inf")`. Pass 2:
# `l += tl.sum(tl.exp(x - m), axis=0)`, from `l = 0.0`. Pass 3: store `tl.exp(x - m) / l`. Each pass loads x again,
# with the same mask and `other=-float("inf")`, from `x_ptr + row * x_row_stride + start + cols`.
#
# </details>
#
# ## Experiments
#
# **Predict.** Each question is about a single row. Write a guess in place of each `...`. Once your kernel is accepted,
# it answers. Guesses are not graded.
#
# * `x_reads`: a row of 10 columns fits into one block of `BLOCK_SIZE=16`. How often is each element of x read?
# * `y_0`: the softmax of 1, 2, 3 begins with .0900. What is the first number for 1001, 1002, 1003?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p2 GUESS="x_reads=... y_0=..."
# ```

# %%
from checker.notebook import predict

predict("p2", x_reads=..., y_0=...)

# %% [markdown]
# **Run.** Write your guess down before you run the cell.
#
# 1. In the cell's row, 0 to 9, the 9 becomes $-\infty$. What is y there? How large is the largest element of y?
# 2. All elements are $-\infty$: `np.full((1, 10), -np.inf, np.float32)`. What is y?
# 3. Which grid do 25 rows of 10 columns need? How many iterations has a pass with blocks of 4, and with blocks of 16?
#
# <details><summary>Answers</summary>
#
# 1. y is 0 there, because $e^{-\infty} = 0$. The other nine sum to 1, and the largest of them is .6322. The largest of
#    ten was .6321.
# 2. NaN everywhere, unless you guarded against it: m is $-\infty$, and $-\infty - (-\infty)$ is not a number. No row of
#    this puzzle is like that. In p3 the first block of a row may be.
# 3. (25,), because each program owns one row. A pass has 3 iterations with blocks of 4, and one with blocks of 16.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

x = np.arange(10, dtype=np.float32).reshape(1, 10)  # then x[0, 9] = -np.inf
y = np.zeros_like(x)
run(safe_softmax_kernel, x_ptr=x, y_ptr=y, x_row_stride=10, y_row_stride=10, n_cols=10, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# ## What to notice afterwards
#
# Most people first try the softmax of each block by itself. In blocks of two, the row 1 3 | 2 5 becomes .119 .881 |
# .047 .953. Each row of y then sums to the number of blocks, not to 1.
#
# `make trace PUZZLE=p2` draws the three passes. Passes 1 and 2 read the same data. Could one pass do both? The sum
# needs the maximum, which is not known yet. But a sum that was computed with *another* maximum can be corrected
# afterwards. That is p3.
#
# On rows of 131,072 numbers, an H200 runs this kernel at 50 % of the speed of a copy. `torch.softmax` reaches 49 %. On
# such rows, p2 takes 4/3 of p3's time. On short rows p3 gains nothing, because after pass 1 each row is in the L2
# cache, a fast memory that all programs share.
#
# ## Where to read on
#
# * [Shift invariance, and what three passes cost](../docs/background/softmax.md).
# * M. Milakov, N. Gimelshein, [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867)
#   (2018), algorithm 2: the safe softmax, and its count of memory accesses.
