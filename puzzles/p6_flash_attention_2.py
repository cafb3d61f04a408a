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
# # Puzzle 6: FlashAttention-2
#
# ## What you will build
#
# The attention of puzzle 5 with its loops exchanged. A program owns one tile of queries and walks over the
# keys; O, `l` and `m` stay in registers until they are finished. With `CAUSAL`, a query sees only keys up to its
# own position, and tiles that are hidden altogether are not even loaded.
#
# ```
#                     keys:   K1,V1   K2,V2   K3,V3   K4,V4
#                           ┌───────┬───────┬───────┬───────┐
#   program 0:  Q1          │   ────┼──▶ ╲  │       │       │    ╲  the diagonal: these tiles are masked
#                           ├───────┼───────┼───────┼───────┤
#   program 1:  Q2          │   ────┼───────┼──▶ ╲  │       │       empty: never loaded
#                           ├───────┼───────┼───────┼───────┤
#   program 2:  Q3          │   ────┼───────┼───────┼──▶ ╲  │       n_q < n_k: the last query sees the last key
#                           └───────┴───────┴───────┴───────┘
# ```
#
# ## The idea
#
# **Loops exchanged.** With the queries outside, each tile of O has one program and one time when it is worked on.
# It need not go back to memory in between, so it need not be divided in between either: keep the
# plain weighted sum, rescale it like `l`, and divide once at the end. Per tile of keys (lines 8 to 10 of the algorithm):
#
# $$m_i^{new} = \max(m_i, \operatorname{rowmax} S_{ij}), \quad P_{ij} = e^{S_{ij} - m_i^{new}}, \quad
# \alpha = e^{m_i - m_i^{new}}$$
#
# $$l_i \leftarrow \alpha\, l_i + \operatorname{rowsum} P_{ij}, \qquad O_i \leftarrow \alpha\, O_i + P_{ij} V_j$$
#
# and behind the loop $O_i \leftarrow O_i / l_i$. Programs no longer meet in anything, so the grid can have one for each
# tile of queries and each head.
#
# ```
#    3  for each tile i of queries:                              (each is a program)
#    4      load Qi
#    5      Oi = 0, li = 0, mi = -inf, in registers
#    6      for each tile j of keys that Qi sees any of:
#    7          load Kj, Vj
#    8          Sij = scale Qi Kj^T
#    9          mi_new = max(mi, rowmax(Sij)),  Pij = exp(Sij - mi_new),  li = exp(mi - mi_new) li + rowsum(Pij)
#   10          Oi = exp(mi - mi_new) Oi + Pij Vj,  mi = mi_new
#   12      Oi = Oi / li
#   13      LSEi = mi + log(li)
#   14, 15  store Oi, LSEi
# ```
#
# **One number for the backward pass.** Puzzle 7 will need $P$ again, and computes it again instead of reading it. It can
# do so from $\mathrm{LSE}_i = m_i + \log l_i$, the logarithm of the sum of all $e^{s_{ij}}$: $p_{ij} = e^{s_{ij} - \mathrm{LSE}_i}$. So that is
# what is stored, instead of `l` and `m`.
#
# **Causal.** The last query sees all keys, and each one before it one key less: query $i$ sees key $j$ if
# $j \le i + n_k - n_q$. (`CAUSAL` is a constexpr: of `if CAUSAL:` the compiler keeps one branch.) In a tile on the diagonal, hidden scores become $-\infty$. Beyond it nothing is visible: the loop ends
# at the last key that any query of the tile sees. (Masking a tile's load would save its traffic, but not its product.)
#
# **Queries that see nothing.** If $n_q > n_k$, the first $n_q - n_k$ queries see no key. All of their scores are $-\infty$, and
# so is the maximum: puzzle 3's guard is needed again, in $P$ and in $\alpha$. At the end $l = 0$, so do not
# divide by it: O is 0 there, and LSE is $-\infty$, which $m + \log l$ gives by itself.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q, shape `(heads, n_q, D)`; K and V, shape `(heads, n_k, D)`; fp32 or fp16 |
# | `o_ptr` | O, shape, strides and type of Q |
# | `lse_ptr` | LSE, shape `(heads, n_q)`, contiguous, fp32, natural logarithm |
# | `q_head_stride`, `q_row_stride` | elements from head to head and from row to row in Q and O |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores (positive) |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
# | `CAUSAL` | whether queries see only keys up to their own position |
#
# The grid is (tiles of queries, heads). The rows of one head lie within $2^{31}$ elements; heads may lie further apart.
#
# ## The traffic bound
#
# Q is loaded **once**, O and LSE are stored **once**. K and V are loaded once for each tile of queries, with
# `CAUSAL` only up to the last tile of keys that it sees any of. Loads and stores take a tile at a time,
# and no product takes more.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About thirty lines are missing; most of them you know from puzzle 5.

# %%
@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    # FILL IN (roughly 30 lines)


# %% [markdown]
# ## How it is launched
#
# You need not change this: the judge launches your kernel by itself, with many shapes.

# %%
def flash_attention_2(q, k, v, scale, causal=False):
    """Attention of (heads, n, D) tensors on the GPU: O and LSE."""
    import torch

    heads, n_q, d = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((heads, n_q), device=q.device)
    flash_attention_2_kernel[(triton.cdiv(n_q, 64), heads)](
        q, k, v, o, lse,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        n_q, k.shape[1], scale,
        D=d, Br=64, Bc=64, CAUSAL=causal,
    )  # fmt: skip
    return o, lse


# %% [markdown]
# ## How to check
#
# In a notebook, run the first code cell once, then the cell that you have filled in, then the one below this text. In a
# terminal: `make check PUZZLE=6`, or `make watch`, which checks whenever you save. `print("Sij", Sij)` inside the
# kernel shows you a block.

# %%
from checker.notebook import check

check("p6")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=6` shows one at a time; so does `hint(6)`, from `checker.notebook`.
#
# <details><summary>1: a nudge</summary>
#
# Start without `CAUSAL`: load Qi once, set up `Oi = tl.zeros((Br, D), tl.float32)`, `li`, `mi`; loop over
# `range(0, n_k, Bc)`; divide and store behind the loop. That already earns 40 points.
#
# </details>
# <details><summary>2: causal</summary>
#
# `end_k = n_k`, and `if CAUSAL: end_k = tl.minimum(n_k, start_q + Br + n_k - n_q)`. In the loop, a tile of booleans:
# `visible = keys[None, :] < n_k`, and with `CAUSAL` also `keys[None, :] <= queries[:, None] + n_k - n_q`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)`; `Pij = tl.exp(Sij - shift[:, None])`;
# `alpha = tl.exp(mi - shift)`. Behind the loop: `Oi / tl.where(li == 0.0, 1.0, li)[:, None]`, and `mi + tl.log(li)`.
#
# </details>
#
# ## Experiments
#
# How often are K and V read, full and causal? Which share of the full traffic does causal attention still read with Br
# = 16, and which with Br = 32?

# %%
import numpy as np

from checker.notebook import run

CAUSAL, Br, Bc = True, 16, 16
random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
o, lse = np.zeros_like(q), np.zeros((1, 64), np.float32)
strides = 64 * 16, 16, 64 * 16, 16
run(flash_attention_2_kernel, q, k, v, o, lse, *strides, 64, 64, 0.25, D=16, Br=Br, Bc=Bc, CAUSAL=CAUSAL, grid=(64 // Br, 1))

# %% [markdown]
# ## What to notice afterwards
#
# Puzzle 5 read K and V once and O $T_c$ times; now O is written once and K and V are read $T_r$ times:
# `make trace PUZZLE=6` draws your order of tiles beside that of your puzzle 5, and the tiles that you skip. That looks
# like an even trade; by the count alone, with smaller tiles of queries than puzzle 5 had of keys, it may even be a
# worse one. But K and V are only read, by many programs at about the same time, so most reads are served by the L2
# cache; and there are $T_r$ times as many programs to fill the GPU with.
#
# The inner loop divides nothing any more. On a GPU one exponential or division costs as much as many multiplications of
# a matrix product, so moving work out of the matrix unit's way is one of the things that make FlashAttention-2 faster.
#
# ## Where to read on
#
# * [FlashAttention-2, LSE, causal tiles, queries that see no key](../docs/background/attention.md).
# * T. Dao, [*FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning*](https://arxiv.org/abs/2307.08691)
#   (2023): algorithm 1, whose line numbers the solution follows. (Its line 10 prints the inverse of the factor that rescales O; that is
#   a misprint.)
# * M. N. Rabe and C. Staats, [*Self-attention Does Not Need O(n²) Memory*](https://arxiv.org/abs/2112.05682) (2021): per query,
#   constant memory is enough.
