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
# With a context of 16,384 tokens, each head in each layer of a transformer has 0.5 GB of scores in fp16. The kernel of
# this puzzle never stores them, and its result is *exact*.
#
# <details><summary>What attention is: unfold this if you have not done a2 or a3</summary>
#
# <!-- attention -->
# Each row of Q is a *query*. Each row of K is a *key*, and the same row of V is its *value*. A *score* says how well a
# query fits a key. It is their dot product, times a factor `scale`. (Often this is $1/\sqrt{d}$, so that scores do not
# grow with the width $d$ of a row.) A softmax turns the scores of one query into *weights*. The query's row of O is the
# mean of all values with these weights:
#
# $$ s_{ij} = \text{scale} \cdot q_i \cdot k_j, \qquad m_i = \max_j s_{ij}, \qquad l_i = \sum_j e^{s_{ij} - m_i}, \qquad
# o_i = \frac{1}{l_i} \sum_j e^{s_{ij} - m_i}\, v_j. $$
#
# A model does this many times in parallel, each time with its own matrices. Each of these is a *head*. All queries are
# independent of each other, within a head and across heads.
# <!-- /attention -->
#
# </details>
#
# A program owns one head. For each tile of keys, it goes over all tiles of queries. A query's running result is its row
# of O, with its `l` and `m`. It stays in global memory, and every visit updates it.
#
# ```
#                    keys:   K1,V1   K2,V2   K3,V3
#                          ┌───────┬───────┬───────┐
# queries:  Q1  O1 l1 m1   │  1    │  4    │  7    │
#                          ├───────┼───────┼───────┤
#           Q2  O2 l2 m2   │  2    │  5    │  8    │
#                          ├───────┼───────┼───────┤
#           Q3  O3 l3 m3   │  3    │  6    │  9    │
#                          └───────┴───────┴───────┘
# 1, 2, 3 …:  the order of the visits
# outer loop: over j, K and V are read once
# inner loop: over i, O, l and m are read and written
#             for each tile of keys, Tc times
# ```
#
# <details><summary>Heads, ends and types in a kernel: unfold this if you have not done a3</summary>
#
# <!-- heads -->
# **Where a head begins.** A tensor of three dimensions needs two strides. Element $(h, i, c)$ of Q is
# $h \cdot \text{head stride} + i \cdot \text{row stride} + c$ elements after the first one. Do not assume that the head
# stride is $n_q \cdot D$. A model often computes all heads as one matrix with heads · D columns. Then head 1 begins
# only D elements after head 0. O has the strides of Q, and V those of K.
#
# **The ends.** The last tiles may be partly empty. Load a *query* past the end as 0. Its result does not matter, if you
# do not store it. Load a *key* past the end as 0, too. But then its score is 0, and $e^0 = 1$ counts. Which score has
# the exponential 0? Hide the score before the maximum. If all scores of a query are near −100, a padded 0 becomes its
# maximum, and all true weights vanish.
#
# **Types.** `tl.dot` gives fp32. So keep scores, maxima, sums and weights in fp32. If O has another type, convert its
# tile when you store it. The product with `Vj` needs two tiles of one type: convert `Pij` to `Vj.dtype`.
# <!-- /heads -->
#
# </details>
#
# ## The idea
#
# In PyTorch:
#
# ```python
# S = scale * q.float() @ k.float().mT       # (heads, n_q, n_k): never stored by your kernel
# m = S.amax(dim=-1)                         # (heads, n_q)
# l = (S - m[..., None]).exp().sum(dim=-1)   # (heads, n_q)
# o = S.softmax(dim=-1) @ v.float()          # (heads, n_q, D)
# ```
#
# A tile of scores $S_{ij}$ is a product as in a1, times `scale`. Three things are new.
#
# **1. One pass.** p3 needed its second pass because it stores the weights, and none is final before the end of the row.
# Here you only need the sum of the values with these weights. If the maximum grows, every term of that sum gets the
# same factor. So rescale the *sum*, as you rescale `l`.
#
# **2. A divided update.** The loop over keys is outside, the loop over queries inside. While a program visits other
# queries, O, `l` and `m` wait in global memory. The FlashAttention paper stores O already divided by $l_i$: it is the
# attention to the keys seen so far. Tile $(i, j)$ alone has the maximum $m_{ij}$, the exponentials
# $P_{ij} = e^{S_{ij} - m_{ij}}$ and their sum $l_{ij}$ (line 10 below). To merge the tile with the result so far, bring
# both to the larger maximum (line 11):
#
# $$m_i^{new} = \max(m_i, m_{ij}), \qquad
# l_i^{new} = e^{m_i - m_i^{new}}\, l_i + e^{m_{ij} - m_i^{new}}\, l_{ij}$$
#
# $O_i$ was divided by $l_i$. So multiply it by $l_i$ first, which gives back the sum relative to $m_i$. Then bring both
# parts to the new maximum, add them, and divide by the new normaliser (line 12):
#
# $$O_i^{new} = \frac{l_i\, e^{m_i - m_i^{new}}\, O_i + e^{m_{ij} - m_i^{new}}\, P_{ij} V_j}{l_i^{new}}$$
#
# At the first visit $l_i = 0$ and $m_i = -\infty$, so the old part vanishes.
#
# *In numbers*, for one query with the scores 1 3 | 2 5 of p3, and v = 10 20 | 30 40:
#
# | after | $m$ | $l$ | O |
# |---|---|---|---|
# | tile 1 | 3 | $0.1353 + 1 = 1.1353$ | $(0.1353 \cdot 10 + 1 \cdot 20) / 1.1353 = 18.81$ |
# | tile 2 alone | 5 | $0.0498 + 1 = 1.0498$ | $0.0498 \cdot 30 + 1 \cdot 40 = 41.49$, not divided |
# | both | 5 | $1.1353 \cdot e^{3-5} + 1.0498 = 1.2034$ | $(1.1353 \cdot e^{3-5} \cdot 18.81 + 41.49) / 1.2034 = 36.88$ |
#
# **3. A barrier.** On a GPU a program is many threads. A thread may load numbers that another thread stored, one
# iteration of the outer loop earlier. `tl.debug_barrier()`, at the end of the stub, makes all threads wait for each
# other.
#
# **The order**, with the line numbers of the paper's algorithm 1, which the checker's reports use too:
#
# ```
#      5 for each tile j of keys:
#      6     load Kj, Vj
#      7     for each tile i of queries:
#      8         load Qi, Oi, li, mi
#      9         the scores, -inf for keys past the end
# 10, 11         mij, Pij, lij of the tile; then mi_new and li_new
# 12, 13         the new Oi; store it, li_new and mi_new
# ```
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
# At the end, O is the attention. `l` and `m` are the normaliser and the maximum of each row of scores.
#
# **64 bits.** A product of two 32-bit integers has 32 bits. Let Q, K and V be parts of one matrix, each with 56 heads
# of 128. Its rows are $3 \cdot 56 \cdot 128 = 21504$ elements apart. Row 99,865 begins at
# $99865 \cdot 21504 = 2^{31} + 13312$, which is negative in 32 bits. So convert an index before you multiply. The stub
# does this for `head` and `keys`: do the same for your queries.
#
# ## The traffic bound
#
# K and V are loaded **once**. For each of the $T_c = \lceil n_k / B_c \rceil$ tiles of keys, Q, O, l and m are loaded
# once, and O, l and m are stored once. This loop order is required: O must be revisited. Loads, stores and products
# take one tile at a time.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About twenty-seven lines are missing.

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
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        # FILL IN (roughly 27 lines): lines 6 to 13
        tl.debug_barrier()


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def flash_attention_1(q, k, v, scale):
    """Attention of (heads, n, D) tensors on the GPU: O, l and m."""
    import math

    import torch

    heads, n_q, d = q.shape
    o = torch.zeros_like(q, dtype=torch.float32)
    l = torch.zeros((heads, n_q), device=q.device)
    m = torch.full((heads, n_q), -float("inf"), device=q.device)
    # M below: how many fp32 numbers fit on the chip
    on_chip = torch.cuda.get_device_properties(q.device).shared_memory_per_block_optin // 4
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
# In a terminal: `./check p5`. In a notebook: run the cells above, then the one below. `make step PUZZLE=p5` runs your
# kernel line by line. To find a mistake, write 16 for every 64 in the cell under *Run*: one tile, where line 11 has
# nothing to merge. Then write 32 for two tiles of keys, and 24 for one that is partly empty.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p5")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p5` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Line 6 belongs in the outer loop, before the inner one, because all tiles of queries use Kj and Vj. Then go line by
# line through the algorithm. Which names are tiles, and which are vectors with one number for each query? Which of them
# does a program load again at each visit?
#
# </details>
# <details><summary>2: the inner loop</summary>
#
# Kj and Vj are at `kv_offsets`, counted from `k_ptr + head * k_head_stride`, and from `v_ptr` likewise. The inner loop
# goes over `start_q` in steps of Br. In it, load the tiles Qi and Oi. Load the vectors li and mi from
# `l_ptr + head * n_q + queries`, and from `m_ptr` likewise. Masked lanes get 0, or $-\infty$ for mi. Then come lines 9
# to 12 above, with `[:, None]` wherever a vector is combined with a tile, and three stores.
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
# `...`. Once your kernel is accepted, it answers.
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
# **Run.** The next cell is the same launch with `Bc=16`. Write your guesses down before you run it.
#
# 1. How often is each element of O read, and how often written? And with `Bc=64`?
# 2. Which grid would 8 heads need?
# 3. O starts from 0. Let it start from 5: `np.full_like(q, 5)` instead of `np.zeros_like(q)`. What changes in the
#    result?
#
# <details><summary>Answers</summary>
#
# 1. 4 times each way, once for each tile of keys. With `Bc=64` there is one tile of keys: once each way.
# 2. 8 programs, whatever the heads' length.
# 3. Nothing. The first visit multiplies the old O by `li`, which is 0.
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
# Plain attention is three kernels: one stores S, one turns it into P, one multiplies P by V. Four of their passes are
# over an n by n matrix: S out, S in, P out, P in. Four are over a small one: Q, K and V in, O out. For $n$ queries and
# keys, these [eight passes](../docs/background/gpu.md#the-eight-passes-of-standard-attention) are about $4 n d + 4 n^2$
# accesses. Yours makes about $2 n d + T_c \cdot 3 n d$, because O goes back and forth $T_c$ times.
#
# **Block sizes.** The chip has room for $M$ numbers: on an H100 or H200 227 KiB, which is 58,112 in fp32. The paper
# fills it with one tile each of Q, K, V and O: $B_c = \lceil M / 4d \rceil$ and $B_r = \min(B_c, d)$. The launch above
# rounds down to a power of two: for d = 64, $B_c = 128$ and $B_r = 64$. With $B_c = M / 4d$ and $T_c = n / B_c$, your
# traffic is of order $n^2 d^2 / M$: $d^2 / M$ times $n^2$.
#
# ![Bars of the MiB moved for one head. Standard attention 130, of which S out, S in, P out and P in are 32 each. FlashAttention-1 with Bc = 128: 83, of which Q is 16, O in and O out 32 each. FlashAttention-2: 65 with Br = 64 and 33 with Br = 128, nearly all of it K and V in equal parts. Q, K, V and O once: 2.](../docs/figures/memory_passes.svg)
#
# Constants decide whether it pays. $T_c \cdot 3 n d = 3 n^2 d / B_c$ is less than $4 n^2$ if $B_c > \frac{3}{4} d$. At
# n = 4096 and d = 64, as in the figure, plain attention makes 2.6 times as many accesses as yours, with l and m
# counted. In bytes that is 1.6 times, because your O is kept in fp32. At d = 128 with $B_c = 64$, plain attention makes
# fewer.
#
# **The order of the loops.** O travels only because keys are outside: `make trace PUZZLE=p5` shows it. And only one
# program works on a head, because two would write to the same O. So with few heads, most of the GPU is idle. For 16,384
# tokens and heads of 64 dimensions, an H200 takes:
#
# | | your kernel | eager PyTorch |
# |---|---|---|
# | 128 heads | 89 ms | 138 ms |
# | 32 heads | 80 ms | 33 ms |
#
# p6 exchanges the loops.
#
# ## Where to read on
#
# * [FlashAttention-1 line by line, block sizes, traffic](../docs/background/attention.md).
# * T. Dao et al., [*FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness*](https://arxiv.org/abs/2205.14135) (2022): algorithm 1, and theorem 2 for the traffic.
