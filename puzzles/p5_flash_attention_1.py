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
# # Puzzle 5: FlashAttention-1
#
# ## What you will build
#
# Attention. Each row of Q is a *query*; each row of K a *key*, with the same row of V as its *value*. Row $i$ of O is a
# mean of V's rows, weighted by how well query $i$ fits each key:
# $O = \operatorname{softmax}(\text{scale} \cdot Q K^T)\, V$, with the softmax taken along each row. A model does this
# many times side by side, on matrices of its own: each is a *head*. You will compute it without ever holding the scores
# $S = \text{scale} \cdot Q K^T$. A program walks over the tiles of one head: for each tile of keys, over all tiles of
# queries. What a query has seen so far, its row of O with `l` and `m`, lies in memory and is brought up to date at each
# visit.
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
# **Why attention can do with one sweep what a softmax cannot.** Row $i$ of O is a weighted sum of V's rows,
# $o_i = \sum_j p_{ij} v_j$ with $p_{ij} = e^{s_{ij} - m_i} / l_i$. Puzzle 3 needed its second sweep because
# each $p_{ij}$ was an output, and none is final before the last key has been seen. Here nobody wants the $p_{ij}$: only
# their sum with the $v_j$. If the maximum grows, every term of that sum gets the same factor $e^{m - m_{new}}$, so
# the *sum* can be rescaled, just as `l` is. One sweep is enough.
#
# **One visit.** Tile $(i, j)$ has scores $S_{ij}$, shape `(Br, Bc)`. By itself it has the maximum
# $m_{ij}$, the exponentials $P_{ij} = e^{S_{ij} - m_{ij}}$ and their sum $l_{ij}$ (line 10 of the algorithm). Merging that with what
# was there is puzzle 3's rule for two parts, each brought to the new maximum (line 11):
#
# $$m_i^{new} = \max(m_i, m_{ij}), \qquad
# l_i^{new} = e^{m_i - m_i^{new}}\, l_i + e^{m_{ij} - m_i^{new}}\, l_{ij}$$
#
# $O_i$ in memory is finished: it was divided by $l_i$. So multiply it by $l_i$ first; that gives back the sum relative
# to $m_i$. Then bring both parts to the new maximum, add, and divide by the new normaliser (line 12):
#
# $$O_i^{new} = \frac{l_i\, e^{m_i - m_i^{new}}\, O_i + e^{m_{ij} - m_i^{new}}\, P_{ij} V_j}{l_i^{new}}$$
#
# At the first visit $l_i = 0$ and $m_i = -\infty$, so the old part vanishes. No special case is needed.
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
# **Matrix products.** `tl.dot(a, b)` multiplies two tiles and gives fp32; here all sides are at least 16, and
# both sides must have one type: after computing in fp32, write `Pij.to(Vj.dtype)`. `tl.trans(Kj)` exchanges the sides of a tile that is already
# loaded. Loading K a second time, the other way round, would be traffic. (On an NVIDIA GPU a product of fp32 tiles first rounds
# them to TF32, which keeps 10 bits, unless it says `input_precision="ieee"`; the interpreter rounds nothing, and fp16 tiles lose nothing.)
#
# **Keys behind the end** are loaded as 0. Their score is then 0, which is not nothing: what score would make their exponential 0?
#
# **Block sizes.** The chip has room for $M$ numbers. A tile of each of Q, K, V and O must fit: the paper takes
# $B_c = \lceil M / 4d \rceil$ and $B_r = \min(B_c, d)$. With 227 KB of shared memory, fp32 and d = 64
# that is 227; rounded down to a power of two, $B_c = 128$ and $B_r = 64$.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q, shape `(heads, n_q, D)`; K and V, shape `(heads, n_k, D)`; fp32 or fp16 |
# | `o_ptr` | O, shape and strides of Q, fp32; holds 0 at the start |
# | `l_ptr`, `m_ptr` | l and m, shape `(heads, n_q)`, contiguous, fp32; hold 0 and $-\infty$ at the start |
# | `q_head_stride`, `q_row_stride` | elements from head to head and from row to row in Q and O |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores: positive, not always $1/\sqrt{d}$ |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
#
# Neighbours within a row are 1 apart. The rows of one head lie within $2^{31}$ elements; heads may lie further apart.
# Afterwards O is the attention, `l` and `m` are normaliser and maximum of each row of scores.
#
# ## The traffic bound
#
# K and V are loaded **once**. Q, O, l and m are loaded, and O, l, m stored, once for each of the
# $T_c = \lceil n_k / B_c \rceil$ tiles of keys, and that is asked for: O must be revisited. Loads and stores
# take a tile at a time, and no product takes more.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About twenty lines are missing. The numbers are those of algorithm 1 in the paper. The barrier at the end is needed on
# a GPU: a program is many threads, and the ones that load O, l and m in the next turn are not the ones that stored
# them.

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
        # FILL IN (roughly 20 lines): lines 6 to 13
        tl.debug_barrier()


# %% [markdown]
# ## How it is launched
#
# You need not change this: the judge launches your kernel by itself, with many shapes.

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
# In a notebook, run the first code cell once, then the cell that you have filled in, then the one below this text. In a
# terminal: `make check PUZZLE=5`, or `make watch`, which checks whenever you save. `print("Sij", Sij)` inside the
# kernel shows you a block.

# %%
from checker.notebook import check

check("p5")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=5` shows one at a time; so does `hint(5)`, from `checker.notebook`.
#
# <details><summary>1: a nudge</summary>
#
# Line 6 belongs into the outer loop, before the inner one: load Kj and Vj, with the offsets
# `head * k_head_stride + keys[:, None] * k_row_stride + dims[None, :]`. The inner loop is
# `for start_q in range(0, n_q, Br):`.
#
# </details>
# <details><summary>2: the inner loop</summary>
#
# Load Qi, Oi (tiles), li, mi (vectors: `l_ptr + head * n_q + queries`). Masked lanes get 0, or $-\infty$ for mi. Then
# five lines of mathematics, 9 to 12 above, with `[:, None]` wherever a vector meets a tile; then three stores.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `Sij = scale * tl.dot(Qi, tl.trans(Kj))`, with `tl.where(keys[None, :] < n_k, Sij, -float("inf"))` behind the end;
# `mij = tl.max(Sij, axis=1)`; `Pij = tl.exp(Sij - mij[:, None])`; `old = tl.exp(mi - mi_new) * li`;
# `new = tl.exp(mij - mi_new)`; `li_new = old + new * tl.sum(Pij, axis=1)`;
# `Oi = (old[:, None] * Oi + new[:, None] * tl.dot(Pij.to(Vj.dtype), Vj)) / li_new[:, None]`.
#
# </details>
#
# ## Experiments
#
# Wider tiles of keys, fewer visits: how does the traffic of O change with Bc, and how that of K?

# %%
import numpy as np

from checker.notebook import run

random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
o, l, m = np.zeros_like(q), np.zeros((1, 64), np.float32), np.full((1, 64), -np.inf, np.float32)
strides = 64 * 16, 16, 64 * 16, 16  # head and row of Q, head and row of K
run(flash_attention_1_kernel, q, k, v, o, l, m, *strides, 64, 64, 0.25, D=16, Br=16, Bc=16, grid=1)  # Bc=32, Bc=64

# %% [markdown]
# ## What to notice afterwards
#
# Standard attention writes S, reads it for the softmax, writes P and reads it again: about $4 n d + 4 n^2$ accesses for
# $n$ queries and keys. Yours makes about $2 n d + T_c \cdot 3 n d$: O goes back and forth $T_c$ times. With
# $B_c = M / 4d$ that is $\Theta(n^2 d^2 / M)$, of smaller order than $n^2$ as long as $d^2$ is smaller than $M$.
# Counted out, it is less as long as $B_c > \frac{3}{4} d$: at d = 64 with $B_c = 128$ it is 2.6 times less, at d = 128
# with $B_c = 64$ no longer. It can be much better: nothing but the order of the loops makes O travel:
# `make trace PUZZLE=5` draws yours, tile by tile. Exchange them, and each O stays on the chip until it is finished.
# That is puzzle 6.
#
# And only one program works on a head, because two of them would meet in O. A GPU with 132 cores and a
# model with 16 heads have 116 cores idle. That is the other reason for puzzle 6.
#
# ## Where to read on
#
# * [FlashAttention-1 line by line, block sizes, traffic](../docs/background/attention.md).
# * T. Dao et al., [*FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness*](https://arxiv.org/abs/2205.14135)
#   (2022): algorithm 1, and theorem 2 for the traffic.
