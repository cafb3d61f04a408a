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
# # Puzzle p3: online softmax, two passes
#
# ## What you will build
#
# The softmax of p2 in two passes instead of three: one pass finds both the maximum $m$ and the normaliser $l$.
# FlashAttention rests on this idea.
#
# ```
# x:            1   3          2   5          4   0
# m:   -inf  ─────────▶  3  ─────────▶  5  ─────────▶  5
# l:     0   ─────────▶ 1.14 ────────▶ 1.20 ────────▶ 1.58
#   1.14 · e^(3-5) + e^(2-5) + e^(5-5) ─┘
#   the old sum, relative to 3, becomes relative to 5
# ```
#
# <details><summary>If you come straight from p1</summary>
#
# | since p1 | what is new |
# |---|---|
# | [p2](p2_safe_softmax.py) | The maximum of the row is subtracted before the exponential, so nothing overflows. The sum of the exponentials is called the normaliser. |
# | | A row may be longer than a block. A loop goes from block to block, and what is assigned in it keeps its value for the next iteration. |
# | | `tl.max(x, axis=0)` is the largest number of a block, and `tl.maximum(a, b)` the larger of two. The largest of no numbers is $-\infty$. |
#
# </details>
#
# ## The idea
#
# For the columns seen so far, keep the maximum $m$ and the normaliser $l = \sum_j e^{x_j - m}$. A new block with values
# $x_j$ comes in. The maximum can only grow:
#
# $$ m' = \max(m, \max_{j \in \text{block}} x_j). $$
#
# The sum in $l$ is relative to the *old* maximum. Each of its terms is $e^{x-m}$, and should be $e^{x-m'}$. But
# $e^{x - m'} = e^{x - m} \cdot e^{m - m'}$, with the same factor for *every* term. So one multiplication corrects the
# whole sum:
#
# $$ l' = l \cdot e^{m - m'} + \sum_{j \in \text{block}} e^{x_j - m'}. $$
#
# **In numbers**, the row of p2 in blocks of two is 1 3 | 2 5. Block 1 3: $m = 3$ and
# $l = e^{1-3} + e^{3-3} = 0.1353 + 1 = 1.1353$. Block 2 5: $m' = 5$. The old sum becomes
# $1.1353 \cdot e^{3-5} = 1.1353 \cdot 0.1353 = 0.1536$, and the block adds $e^{2-5} + e^{5-5} = 1.0498$. So
# $l' = 1.2034$, as in p2.
#
# In PyTorch, for one row without $-\infty$:
#
# ```python
# m, l = torch.tensor(-torch.inf), 0.0
# for block in x.split(BLOCK_SIZE):
#     m_new = torch.maximum(m, block.max())
#     m, l = m_new, l * (m - m_new).exp() + (block - m_new).exp().sum()
# y = (x - m).exp() / l
# ```
#
# Both exponentials of the loop take `m_new`. Only the factor also takes `m`.
#
# Write this below, under *Your turn*, and check before you read on here: it earns most of the points. The rest of
# this section is about the others.
#
# **Rows that begin with $-\infty$.** Attention sets masked scores to $-\infty$, so a row may begin with a whole block
# of it. Then $m' = -\infty$ too, and $x - m' = -\infty - (-\infty)$ is NaN, which stays in $l$ to the end. The *guard*:
# while $m'$ is $-\infty$, subtract 0 instead of $m'$ in both exponentials.
#
# ```
# x - m'         with m' = -inf:   -inf - (-inf) = NaN
# x - 0          guarded:          -inf - 0      = -inf,
#                                  and its exponential is 0
# ```
#
# But keep $m'$ itself as the running maximum, not the 0. Take the row $-\infty$ $-\infty$ | −200 −198. After the first
# block, $m = -\infty$ and $l = 0$. After the second, $m = -198$ and $l = 0 + e^{-2} + e^0 = 1.1353$. If you had kept 0,
# the maximum would still be 0. Then $l = e^{-200} + e^{-198}$ would be 0 in fp32, and y would be 0 / 0.
#
# | in PyTorch | in a kernel |
# |---|---|
# | `torch.where(condition, a, b)` | `tl.where(condition, a, b)`, lane by lane |
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
# Values are as in p2. Individual values may be $-\infty$, even whole blocks of them, but never a whole row. Compute in
# fp32.
#
# ## The traffic bound
#
# Per row, x is loaded **twice**, and y is stored **once**, a block at a time. That is three crossings of the memory bus
# instead of four.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About fifteen lines are missing: two loops. In the first one, the order of the assignments matters.

# %%
@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 15 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def online_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    online_softmax_kernel[(n_rows,)](x, y, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=1024)
    return y


# %% [markdown]
# ## How to check
#
# In a terminal: `./check p3`. In a notebook: run the cells above, then the one below. `make step PUZZLE=p3` runs your
# kernel line by line. Stop where a block brings a new maximum, and watch $l$.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p3")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p3` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# The loop needs the old maximum and the new one at the same time. Give the new one its own name, and assign it to `m`
# last.
#
# </details>
# <details><summary>2: the guard</summary>
#
# `shift = tl.where(m_new == -float("inf"), 0.0, m_new)` is the maximum, or 0 while there is none. Use `shift` wherever
# you would subtract `m_new`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)`, then `m = m_new`. The second loop is the third one of
# p2.
#
# </details>
#
# ## Experiments
#
# **Predict.** Each question is about a single row. Write a guess in place of each `...`. Once your kernel is accepted,
# it answers. Guesses are not graded.
#
# * `x_reads`: 10 columns with `BLOCK_SIZE=16`, as in p2. How often is each element of x read now?
# * `y_5`: minus infinity four times, and then 2 and 2. With `BLOCK_SIZE=4`, what is the last element of y?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p3 GUESS="x_reads=... y_5=..."
# ```

# %%
from checker.notebook import predict

predict("p3", x_reads=..., y_5=...)

# %% [markdown]
# **Run.** Write your guess down before you run the cell. The row begins with a block of $-\infty$.
#
# 1. What are $m$ and $l$ after the first block, and after the second? Print them.
# 2. What is y without the guard?
# 3. Which of the block sizes 1, 2, 4 and 8 give the right y even without the guard?
#
# <details><summary>Answers</summary>
#
# 1. $-\infty$ and 0, the pair of no columns at all. The second block then finds $m' = 3$ and $l' = 1.503$.
# 2. Every element is NaN, because one NaN in $l$ is enough. With the guard, y begins with four zeros and ends with
#    .0900 .2447 .6652.
# 3. Only 8, because then the first block has a number in it.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

x = np.array([[-np.inf] * 4 + [1.0, 2.0, 3.0]], np.float32)
y = np.zeros_like(x)
run(online_softmax_kernel, x_ptr=x, y_ptr=y, x_row_stride=7, y_row_stride=7, n_cols=7, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# ## What to notice afterwards
#
# **Merging.** The pairs of two sets of columns merge by the same rule: $(m_1, l_1) \oplus (m_2, l_2) = (m, l)$ with
# $m = \max(m_1, m_2)$ and $l = l_1 e^{m_1 - m} + l_2 e^{m_2 - m}$. In any order and grouping, the result is the maximum
# of all and the sum relative to it. So the operation is associative and commutative: you may cut a row anywhere, and
# combine the pieces in any order. Attention will use this freedom.
#
# ![Two drawings of four leaves, the pairs (3, 1.14), (5, 1.05), (4, 1.02) and (5, 1.02) of the blocks 1 3, 2 5, 4 0 and 5 1. On the left they are merged one after the other: (5, 1.20), (5, 1.58), (5, 2.60). On the right as a tree: (5, 1.20) and (5, 1.39), then (5, 2.60). The root is the same.](../docs/figures/merge_tree.svg)
#
# A softmax needs a second pass, because every $y_i$ is an output and needs the final $l$. But for a *weighted sum*
# $\sum_i y_i v_i$, keep $\sum_i e^{x_i - m} v_i$, rescale it like $l$, and divide by $l$ at the end. Then one pass is
# enough. That is attention, in p5 and p6.
#
# On rows of 131,072 numbers, an H200 runs this kernel at 65 % of the speed of a copy. With three passes, in p2, it
# reaches 50 %.
#
# ## Where to read on
#
# * [The pair (m, l): the merge rule, its proof by induction, and why the order of merging does not
#   matter](../docs/background/softmax.md).
# * M. Milakov, N. Gimelshein, [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867)
#   (2018), algorithm 3 and section 3.1, where the merge of $(m, l)$ is called $\oplus$.
