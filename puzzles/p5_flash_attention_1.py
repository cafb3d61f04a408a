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
# # Puzzle p5: FlashAttention-1
#
# ## What you will build
#
# At a context length of 16,384 tokens, the scores of 16 heads take 8.6 GB in fp16, in every layer of a transformer. The
# kernel of this puzzle never stores them, and its result is *exact*: the softmax over all keys, no approximation. With
# 128 heads of 64 dimensions an H200 takes 89 ms for it, and 138 ms for eager PyTorch.
#
# You computed the same attention in a3, in two passes over the keys. Each row of O is a mean of V's rows, the *values*,
# weighted by the softmax of one *query*'s scores with all *keys*, and each *head* does this by itself. Now one pass is
# enough, and K and V are loaded only once. A program walks over the tiles of one head: for each tile of keys, over all
# tiles of queries. Each query's running result, its row of O with its `l` and `m`, stays in global memory and is
# updated at every visit.
#
# ```
#                      keys:   K1,V1   K2,V2   K3,V3        outer loop: over j, K and V are read once
#                            ┌───────┬───────┬───────┐
#   queries:  Q1  O1 l1 m1   │  1    │  4    │  7    │
#                            ├───────┼───────┼───────┤      inner loop: over i, O, l and m are read
#             Q2  O2 l2 m2   │  2    │  5    │  8    │      and written again in each of the Tc columns
#                            ├───────┼───────┼───────┤
#             Q3  O3 l3 m3   │  3    │  6    │  9    │      1, 2, 3 …: the order of the visits
#                            └───────┴───────┴───────┘
# ```
#
# ## The idea
#
# What is wanted is what a3 computed. In PyTorch:
#
# ```python
# S = scale * q.float() @ k.float().mT       # (heads, n_q, n_k): never stored by your kernel
# m = S.amax(dim=-1)                         # (heads, n_q)
# l = (S - m[..., None]).exp().sum(dim=-1)   # (heads, n_q)
# o = S.softmax(dim=-1) @ v.float()          # (heads, n_q, D)
# ```
#
# From a3 you know how to make a tile of scores, mask it and multiply it by V. Four things are new.
#
# **1. One pass.** Row $i$ of O is a weighted sum of V's rows, $o_i = \sum_j p_{ij} v_j$ with
# $p_{ij} = e^{s_{ij} - m_i} / l_i$. Puzzle p3 needed its second pass because each $p_{ij}$ was an output, and none is
# final before the last key has been seen. Here nobody wants the $p_{ij}$, only their sum with the $v_j$. If the
# maximum grows, every term of that sum gets the same factor, so the *sum* can be rescaled, just as `l` is:
#
# ```
#   m' = max(m, max of the tile's s)
#   l' = l exp(m - m') + sum of the tile's exp(s - m')               p3
#   a' = a exp(m - m') + sum of the tile's exp(s - m') v             the same move for the weighted sum a
# ```
#
# At the end O is $a / l$. One pass is enough.
#
# **2. The other loop order.** The keys are outside and the queries inside. K and V are loaded once, but a program
# leaves each tile of queries before that tile has seen all keys, and comes back to it for the next tile of keys.
#
# **3. State in memory, and a divided update.** While a program visits other queries, O, `l` and `m` wait in global
# memory. The paper stores O *finished*: divided by $l_i$, the attention to the keys seen so far. Tile $(i, j)$ by
# itself has the maximum $m_{ij}$, the exponentials $P_{ij} = e^{S_{ij} - m_{ij}}$ and their sum $l_{ij}$ (line 10 of
# the algorithm). Merging that with what was there is p3's rule for two parts, each brought to the new maximum
# (line 11):
#
# $$m_i^{new} = \max(m_i, m_{ij}), \qquad
# l_i^{new} = e^{m_i - m_i^{new}}\, l_i + e^{m_{ij} - m_i^{new}}\, l_{ij}$$
#
# $O_i$ was divided by $l_i$. So multiply it by $l_i$ first: that gives back the sum relative to $m_i$. Then bring both
# parts to the new maximum, add them, and divide by the new normaliser (line 12):
#
# $$O_i^{new} = \frac{l_i\, e^{m_i - m_i^{new}}\, O_i + e^{m_{ij} - m_i^{new}}\, P_{ij} V_j}{l_i^{new}}$$
#
# At the first visit $l_i = 0$ and $m_i = -\infty$, so the old part vanishes. No special case is needed.
#
# *In numbers*, with one query whose scores are the row 1 3 | 2 5 of p3, and v = 10 20 | 30 40:
#
# | after | $m$ | $l$ | O |
# |---|---|---|---|
# | tile 1 | 3 | $0.1353 + 1 = 1.1353$ | $(0.1353 \cdot 10 + 1 \cdot 20) / 1.1353 = 18.81$ |
# | tile 2 alone | 5 | $0.0498 + 1 = 1.0498$ | $0.0498 \cdot 30 + 1 \cdot 40 = 41.49$, not divided |
# | both | 5 | $1.1353 \cdot e^{3-5} + 1.0498 = 1.2034$ | $(1.1353 \cdot e^{3-5} \cdot 18.81 + 41.49) / 1.2034 = 36.88$ |
#
# A softmax over all four keys gives the weights .0152 .1125 .0414 .8310, and so 36.88 as well.
#
# **4. A barrier.** On a GPU a program is many threads. The thread that loads a number of O, l or m need not be the one
# that stored it, one iteration of the outer loop before. `tl.debug_barrier()` makes all threads wait for each other.
# It stands at the end of the stub.
#
# **The algorithm**, with the paper's line numbers, which the stub and the reports use:
#
# ```
#    2  O = 0, l = 0, m = -inf                                  (done by the launch)
#    5  for each tile j of keys:
#    6      load Kj, Vj
#    7      for each tile i of queries:
#    8          load Qi, Oi, li, mi
#    9          Sij = scale Qi Kj^T
#   10          mij = rowmax(Sij),  Pij = exp(Sij - mij),  lij = rowsum(Pij)
#   11          mi_new = max(mi, mij),  li_new = exp(mi - mi_new) li + exp(mij - mi_new) lij
#   12          store Oi = (li exp(mi - mi_new) Oi + exp(mij - mi_new) Pij Vj) / li_new
#   13          store li = li_new, mi = mi_new
# ```
#
# Neither side need fill its last tile. **Keys past the end** are loaded as 0, so their score is 0. That is a vote, not
# an abstention: $e^0 = 1$. Which score has the exponential 0? **Queries past the end** are masked in every load and
# store of Q, O, l and m. Line 12 multiplies two tiles of one type, as in a3: `Pij.to(Vj.dtype)`.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q, shape `(heads, n_q, D)`; K and V, shape `(heads, n_k, D)`; fp32, fp16 or bf16 |
# | `o_ptr` | O, shape and strides of Q, fp32; holds 0 at the start |
# | `l_ptr`, `m_ptr` | l and m, shape `(heads, n_q)`, contiguous (a head's row begins at `head * n_q`), fp32; hold 0 and $-\infty$ at the start |
# | `q_head_stride`, `q_row_stride` | elements from head to head and from row to row in Q and O |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores: positive, not always $1/\sqrt{d}$ |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
#
# Neighbours within a row are 1 apart. The rows of one head lie within $2^{31}$ elements, but heads may lie further
# apart. A tensor of shape `(batch, heads, n, D)` is one of `(batch * heads, n, D)` here. Afterwards O is the attention,
# `l` and `m` are normaliser and maximum of each row of scores.
#
# ## The traffic bound
#
# K and V are loaded **once**. Q, O, l and m are loaded, and O, l, m stored, once for each of the
# $T_c = \lceil n_k / B_c \rceil$ tiles of keys. This loop order is asked for: O must be revisited. Loads and stores
# take a tile at a time, and so does each product.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About twenty-eight lines are missing. The numbers are those of algorithm 1 in the paper.

# %%
@triton.jit
def flash_attention_1_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, m_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    dims = tl.arange(0, D)
    for start_k in range(0, n_k, Bc):  # line 5: for 1 <= j <= Tc
        keys = start_k + tl.arange(0, Bc)
        # FILL IN (roughly 28 lines): lines 6 to 13
        tl.debug_barrier()


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.
#
# **Block sizes.** The chip has room for $M$ numbers, and a tile of each of Q, K, V and O must fit. So the paper takes
# $B_c = \lceil M / 4d \rceil$ and $B_r = \min(B_c, d)$. With 227 KB of shared memory, fp32 and d = 64,
# $M / 4d$ is 227. Rounded down to a power of two, $B_c = 128$, and $B_r = 64$.

# %%
def flash_attention_1(q, k, v, scale):
    """Attention of (heads, n, D) tensors on the GPU: O, l and m."""
    import math

    import torch

    heads, n_q, d = q.shape
    o = torch.zeros_like(q, dtype=torch.float32)
    l = torch.zeros((heads, n_q), device=q.device)
    m = torch.full((heads, n_q), -float("inf"), device=q.device)
    on_chip = torch.cuda.get_device_properties(q.device).shared_memory_per_block_optin // 4  # M, in numbers of fp32
    Bc = max(16, 2 ** int(math.log2(on_chip / (4 * d))))  # ceil(M / 4d) in the paper; here a power of two
    flash_attention_1_kernel[(heads,)](
        q, k, v, o, l, m,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        n_q, k.shape[1], scale,
        D=d, Br=min(Bc, d), Bc=Bc,
    )  # fmt: skip
    return o, l, m


# %% [markdown]
# ## How to check
#
# In a terminal: `make check PUZZLE=p5`. In a notebook: run the first code cell, your own, and the one below.
# `print("Sij", Sij)` in the kernel shows a block.

# %%
from checker.notebook import check

check("p5")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p5` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Line 6 belongs in the outer loop, before the inner one: what it loads serves all tiles of queries. Then go line by
# line through the algorithm. Which names are tiles, and which are vectors with one number for each query? Which of them
# does a program load again at each visit?
#
# </details>
# <details><summary>2: the inner loop</summary>
#
# Kj and Vj have the offsets `head * k_head_stride + keys[:, None] * k_row_stride + dims[None, :]`. The inner loop goes
# over `start_q` in steps of Br. In it, load Qi and Oi (tiles), li and mi (vectors, from `l_ptr + head * n_q + queries`
# and the same of `m_ptr`). Masked lanes get 0, or $-\infty$ for mi. Then come lines 9 to 12 above, with `[:, None]`
# wherever a vector meets a tile, and three stores.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `Sij = scale * tl.dot(Qi, tl.trans(Kj))`, masked by `tl.where(keys[None, :] < n_k, Sij, -float("inf"))`;
# `mij = tl.max(Sij, axis=1)`; `Pij = tl.exp(Sij - mij[:, None])`; `old = tl.exp(mi - mi_new) * li`;
# `new = tl.exp(mij - mi_new)`; `li_new = old + new * tl.sum(Pij, axis=1)`;
# `Oi = (old[:, None] * Oi + new[:, None] * tl.dot(Pij.to(Vj.dtype), Vj)) / li_new[:, None]`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launch has one head, 64 queries, 64 keys, D = 16, `Br=16` and `Bc=32`. Write a guess in place of each
# `...`. Once it is accepted, your own kernel answers. Guesses are not graded.
#
# * `k_reads`: how often is each element of K read?
# * `o_writes`: how often is each element of O written?
# * `q_reads`: how often is each element of Q read?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p5 GUESS="k_reads=... o_writes=... q_reads=..."
# ```

# %%
from checker.notebook import predict

predict("p5", k_reads=..., o_writes=..., q_reads=...)

# %% [markdown]
# **Run.** Write your guess down before you run the cell, which is the same launch with `Bc=16`.
#
# 1. How often is each element of O read, and how often written? And with `Bc=64`?
# 2. O starts from 0. Let it start from 5: `np.full_like(q, 5)` in place of `np.zeros_like(q)`. What changes in the
#    result?
#
# <details><summary>Answers</summary>
#
# 1. 4 times each way, once for each tile of keys. With `Bc=64` there is one tile of keys: once each way.
# 2. Nothing. The first visit multiplies the old O by `li`, which is 0.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
o, l, m = np.zeros_like(q), np.zeros((1, 64), np.float32), np.full((1, 64), -np.inf, np.float32)
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "l_ptr": l, "m_ptr": m}
strides = {"q_head_stride": 64 * 16, "q_row_stride": 16, "k_head_stride": 64 * 16, "k_row_stride": 16}
sizes = {"n_q": 64, "n_k": 64, "scale": 0.25, "D": 16, "Br": 16, "Bc": 16}  # or Bc 64
run(flash_attention_1_kernel, **tensors, **strides, **sizes, grid=1)

# %% [markdown]
# ## What to notice afterwards
#
# Standard attention writes S, reads it for the softmax, writes P and reads it again: about $4 n d + 4 n^2$ accesses for
# $n$ queries and keys. Yours makes about $2 n d + T_c \cdot 3 n d$, because O goes back and forth $T_c$ times. With
# $B_c = M / 4d$ that is $\Theta(n^2 d^2 / M)$, smaller than $n^2$ by the factor $d^2 / M$.
#
# ![Bars of the MiB moved for one head. Standard attention 130, of which S out, S in, P out and P in are 32 each. FlashAttention-1 with Bc = 128: 83, of which Q is 16, O in and O out 32 each. FlashAttention-2: 65 with Br = 64 and 33 with Br = 128, nearly all of it K and V in equal parts. Q, K, V and O once: 2.](../docs/figures/memory_passes.svg)
#
# Constants decide whether it pays. $T_c \cdot 3 n d = 3 n^2 d / B_c$ is less than $4 n^2$ if $B_c > \frac{3}{4} d$. At
# n = 4096 and d = 64 with $B_c = 128$ plain attention makes 2.7 times as many accesses as yours. (In the figure, which
# counts bytes, it is 1.6 times as much, because your O is kept in fp32.) At d = 128 with
# $B_c = 64$ it makes fewer.
#
# O travels only because of the order of the loops (`make trace PUZZLE=p5` shows it). Swap them, and each tile of O stays
# on the chip until it is finished. That is p6.
#
# There is another reason for p6. Only one program works on a head, because two of them would meet in O. With 16
# heads on a GPU of 132 cores, 116 cores do nothing. With 32 heads of 64 dimensions an H200 takes 80 ms for this kernel,
# and only 33 ms for eager PyTorch, at the same 16,384 tokens.
#
# ## Where to read on
#
# * [FlashAttention-1 line by line, block sizes, traffic](../docs/background/attention.md).
# * T. Dao et al., [*FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness*](https://arxiv.org/abs/2205.14135) (2022): algorithm 1, and theorem 2 for the traffic.
