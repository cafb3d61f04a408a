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
# # Puzzle b3: decoding, attention split along the keys
#
# ## What you will build
#
# A new token of a language model has one query in each layer, which sees the keys of all tokens before it. Writing
# token after token like this is called *decoding*. Your two kernels do it at nearly the speed of a copy, with 131,072
# keys.
#
# Puzzle p6 is slow at that. It has one program for each tile of queries and each head. With one query and 32 heads,
# these are 32 programs for 132 multiprocessors. So the keys are split. Each program computes the attention to some of
# the keys of a head, and a second kernel merges these parts. This is *flash-decoding*, or *split-KV*.
#
# ![50 keys of a head in 4 splits of 20, in tiles of 16. Splits 0 and 1 have a whole tile and a second one with 4 keys, whose other 12 lanes are masked: those keys belong to the next split. Split 2 has the last 10 keys, in one tile. Split 3 has none. Each split stores a part, O and LSE, and split 3 stores 0 and minus infinity. The merge makes one O and one LSE of the four parts.](../docs/figures/splits.svg)
#
# ## The idea
#
# **Start from your own kernel.** `split_kernel` is your accepted kernel of p6, without `CAUSAL`, for the keys of
# one split. Copy it, and change where its loop begins and ends, and where it stores. `merge_kernel` is new, and short.
#
# In PyTorch:
#
# ```python
# parts = []
# for k_s, v_s in zip(k.split(keys_per_split, dim=1), v.split(keys_per_split, dim=1)):      # the splits of a head
#     S = scale * q.float() @ k_s.float().mT
#     parts.append((S.softmax(dim=-1) @ v_s.float(), S.logsumexp(dim=-1)))
# o_part, lse_part = (torch.stack(x) for x in zip(*parts))      # (splits, heads, n_q, D) and (splits, heads, n_q)
# o = (lse_part.softmax(dim=0)[..., None] * o_part).sum(dim=0)                                        # the merge
# lse = lse_part.logsumexp(dim=0)
# ```
#
# **The merge is p3's ⊕** (*What to notice afterwards*): two pairs $(m, l)$ become one, in any order and grouping. So a
# row may be cut anywhere, and its pieces computed in parallel.
#
# A split stores one number for its pair, $\mathrm{LSE}_s = m_s + \log l_s$. Its sum of exponentials is
# $e^{\mathrm{LSE}_s} = l_s e^{m_s}$, so the pair $(\mathrm{LSE}_s, 1)$ stands for the same sum. For all parts, ⊕ gives
#
# $$ m = \max_s \mathrm{LSE}_s, \qquad w_s = e^{\mathrm{LSE}_s - m}, \qquad l = \sum_s w_s. $$
#
# $O_s$ is an average of the values of its split, with weights that sum to 1. O is an average of these averages, each
# weighted by its split's share of all exponentials:
#
# $$ O = \frac{1}{l} \sum_s w_s O_s, \qquad \mathrm{LSE} = m + \log l. $$
#
# The merge is a softmax over the LSEs, with the maximum subtracted first.
#
# **In numbers**, with p6's scores 1 3 | 2 5 and values 10 20 | 30 40, in two splits of two keys.
#
# | | $m_s$ | $l_s$ | $O_s$ | $\mathrm{LSE}_s$ | $w_s$ |
# |---|---|---|---|---|---|
# | split 0 | 3 | $e^{1-3} + 1 = 1.1353$ | $21.35 / 1.1353 = 18.81$ | $3 + \log 1.1353 = 3.127$ | $e^{3.127 - 5.049} = 0.1464$ |
# | split 1 | 5 | $e^{2-5} + 1 = 1.0498$ | $41.49 / 1.0498 = 39.53$ | $5 + \log 1.0498 = 5.049$ | 1 |
#
# So $l = 1.1464$, $O = (0.1464 \cdot 18.81 + 39.53) / 1.1464 = 36.88$, and LSE is $5.0486 + \log 1.1464 = 5.185$. In p6,
# O was 21.35 after tile 1, and $44.38 / 1.2034 = 36.88$ at the end.
#
# **Which keys a split has.** Split $s$ begins at key `first_k` = $s$ · `keys_per_split`, and ends before `end_k`. That
# is the beginning of the next split, or `n_k` if it is smaller. `keys_per_split` need not be a multiple of `Bc`. With
# splits of 20 keys and tiles of 16, the second tile of split 0 reaches to key 31. Keys 20 to 31 belong to split 1. If
# both splits count them, the merge gives them twice their weight. So mask each tile at `end_k`, in the scores and in
# the loads, which take most of the time.
#
# **A split without keys.** With 50 keys in 4 splits of 20, split 3 begins at key 60. Its loop has no iteration, so `l`
# and O are 0, and $0 / 0$ would make NaN of all O in the merge. Store O = 0 and LSE = $-\infty$, the neutral element of
# ⊕. Guard the division as in p6; $m + \log l$ is $-\infty$ by itself. Some part, not always the first,
# has keys, so $l$ is at least 1.
#
# **Where a part is stored.** Parts are fp32 and contiguous, of the shapes `(splits, heads, n_q, D)` and
# `(splits, heads, n_q)`. So the row of a query is $(\text{split} \cdot \text{heads} + \text{head}) \cdot n_q +
# \text{query}$. The number of heads is not a parameter. It is the second side of the grid, and `tl.num_programs(1)`
# gives it. In the merge, `parts = tl.arange(0, Bs)` in place of the split makes the rows of all parts of a query at
# once. `Bs` may be more than the number of splits, so mask these loads. Choose `other` so that a part that does not
# exist has the weight 0.
#
# ## The signatures
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q, shape `(heads, n_q, D)`; K and V, shape `(heads, n_k, D)`; fp32, fp16 or bf16 |
# | `o_part_ptr`, `lse_part_ptr` | the parts: O, shape `(splits, heads, n_q, D)`, and LSE, shape `(splits, heads, n_q)`; contiguous, fp32 |
# | `o_ptr` | O, shape, strides and type of Q |
# | `lse_ptr` | LSE, shape `(heads, n_q)`, contiguous, fp32, natural logarithm |
# | `q_head_stride`, `q_row_stride` | elements from head to head and from row to row in Q and O |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `n_q`, `n_k` | number of queries, **at most `Br`**, and of keys; both at least 1 |
# | `keys_per_split` | number of keys of a split; the last ones have fewer, or none |
# | `splits` | number of splits |
# | `scale` | factor of the scores (positive) |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
# | `Bs` | parts of a block, a power of two, at least `splits` |
#
# The grid of `split_kernel` is (splits, heads): all queries are one tile. The grid of `merge_kernel` is (n_q, heads).
#
# ## The traffic bound
#
# K and V are loaded **once**, all splits together. Q is loaded once for each split, and each part is stored once and
# loaded once. Load, store and multiply one tile at a time.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About 29 lines are missing in the first kernel, and 11 in the second. You have written most of the first in p6.

# %%
@triton.jit
def split_kernel(
    q_ptr, k_ptr, v_ptr, o_part_ptr, lse_part_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, keys_per_split, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    split = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 29 lines)


@triton.jit
def merge_kernel(
    o_part_ptr, lse_part_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, n_q, splits,
    D: tl.constexpr, Bs: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 11 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes. Here, each of an H200's 132
# multiprocessors gets eight programs, with any number of heads.

# %%
def decode(q, k, v, scale):
    """Attention of a few queries to many keys, (heads, n, D) tensors on the GPU: O and LSE."""
    import torch

    (heads, n_q, d), n_k = q.shape, k.shape[1]
    splits = max(1, 8 * 132 // heads)
    o, lse = torch.empty_like(q), torch.empty((heads, n_q), device=q.device)
    o_part = torch.empty((splits, heads, n_q, d), device=q.device)
    lse_part = torch.empty((splits, heads, n_q), device=q.device)
    split_kernel[(splits, heads)](
        q, k, v, o_part, lse_part,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        n_q, n_k, triton.cdiv(n_k, splits), scale,
        D=d, Br=max(16, triton.next_power_of_2(n_q)), Bc=64,
    )  # fmt: skip
    merge_kernel[(n_q, heads)](
        o_part, lse_part, o, lse, q.stride(0), q.stride(1), n_q, splits, D=d, Bs=triton.next_power_of_2(splits)
    )
    return o, lse


# %% [markdown]
# ## How to check
#
# In a terminal: `./check b3`. In a notebook: run the cells above, then the one below. Each kernel is judged by itself:
# the merge gets right parts. `make step PUZZLE=b3` goes through both: see the merge make one part of two.

# %%
from checker.notebook import check, hint, solution, step, trace

check("b3")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=b3` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Before you touch the loop of `split_kernel`, write down the first and the last key of each split. Which are they for
# 50 keys in 4 splits of 20? Wherever p6 has the number of keys, ask whether this split ends there. In `merge_kernel`,
# write the softmax of p2 over the LSEs of one query. Its weights multiply rows of O.
#
# </details>
# <details><summary>2: beginnings and ends</summary>
#
# `first_k = split * keys_per_split` and `end_k = tl.minimum(n_k, first_k + keys_per_split)`. The loop is
# `for start_k in range(first_k, end_k, Bc)`, and keys are compared with `end_k`. In the merge,
# `rows = (parts * tl.num_programs(1) + head) * n_q + query`; row `r` of O begins at `o_part_ptr + r * D`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# After the loop: `Oi / tl.where(li == 0.0, 1.0, li)[:, None]` and `mi + tl.log(li)`, at the rows `(split *
# tl.num_programs(1) + head) * n_q + queries`. In the merge: LSEs are loaded with `other=-float("inf")`, then `weights =
# tl.exp(LSEs - tl.max(LSEs, axis=0))`, and `tl.sum(weights[:, None] * Os, axis=0) / tl.sum(weights, axis=0)`.
#
# </details>
#
# ## Experiments
#
# **Predict.** Write a guess in place of each `...`. Once your kernels are accepted, they answer. Guesses are not
# graded.
#
# * `q_reads`: 2 queries, 64 keys, one head, 4 splits of 16 keys, `Bc=16`. How often does `split_kernel` read an element
#   of Q?
# * `products`: 2 queries, 64 keys, one head, 4 splits of 20 keys, `Br=Bc=16`. How many times does `split_kernel` call
#   `tl.dot`, in all programs together?
# * `merged_lse`: a query has four parts, each with the LSE 3. What LSE does `merge_kernel` store?
#
# In a terminal:
#
# ```
# make predict PUZZLE=b3 GUESS="q_reads=... products=... merged_lse=..."
# ```

# %%
from checker.notebook import predict

predict("b3", q_reads=..., products=..., merged_lse=...)

# %% [markdown]
# **Run.** Write your guess down before you run the cell, which merges the two parts of the example above.
#
# 1. Exchange the parts. Which numbers change?
# 2. Add a third part, with an LSE of $-\infty$ and rows of NaN in place of O = 0. Its weight is 0: what is O?
# 3. Add 100 to both LSEs, as if each score had grown by 100. What are O and LSE?
#
# <details><summary>Answers</summary>
#
# 1. None: the merge is commutative (up to rounding).
# 2. NaN: $0 \cdot \mathrm{NaN}$ is NaN. So a split without keys stores 0.
# 3. O is 36.88 as before, and LSE is 105.185. Without the maximum, $e^{105}$ would be infinite.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

o_part = np.zeros((2, 1, 1, 16), np.float32)
lse_part = np.zeros((2, 1, 1), np.float32)
o_part[:, 0, 0, 0], lse_part[:, 0, 0] = (18.808, 39.526), (3.1269, 5.0486)
o, lse = np.zeros((1, 1, 16), np.float32), np.zeros((1, 1), np.float32)
tensors = {"o_part_ptr": o_part, "lse_part_ptr": lse_part, "o_ptr": o, "lse_ptr": lse}
sizes = {"q_head_stride": 16, "q_row_stride": 16, "n_q": 1, "splits": len(o_part), "D": 16, "Bs": 4}
run(merge_kernel, **tensors, **sizes, grid=(1, 1))["o_ptr"][0, 0, 0]

# %% [markdown]
# ## What to notice afterwards
#
# With one query, 15 of the 16 rows that `tl.dot` multiplies are padding. This waste costs no time: each element of K
# and V is used for two operations. In the time of its load, an H200 does four hundred. So memory sets the pace. On an
# H200, a query with 131,072 keys takes 0.26 ms (32 heads of 64 dimensions). That is 97 % of the speed of a copy.
# Smaller K and V are faster: fewer heads for them than for Q, or numbers of 8 bits.
#
# More splits fill the GPU better, up to a few programs for each multiprocessor, and make more parts. In training, and
# when a prompt is read, thousands of queries fill the GPU by themselves. There p6 is right, and splits only add
# traffic.
#
# Parts can also be sent. If the keys of a very long context are on several GPUs, each computes a part. For a query, a
# part is $D + 1$ numbers, however many keys it has seen.
#
# ## Where to read on
#
# * [Splitting along the keys: parts, their merge, and what they cost](../docs/background/split.md).
# * T. Dao, D. Haziza, F. Massa, G. Sizov, [*Flash-Decoding for long-context
#   inference*](https://pytorch.org/blog/flash-decoding/) (2023): the two kernels, and why they are needed.
# * M. Milakov, N. Gimelshein, [*Online normalizer calculation for softmax*](https://arxiv.org/abs/1805.02867) (2018),
#   section 3.1: ⊕, and that it may be computed in parallel.
