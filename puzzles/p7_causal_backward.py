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
# # Puzzle 7: the causal backward pass
#
# ## What you will build
#
# The gradients of puzzle 6: from dO, the gradient of some loss with respect to O, those with respect to Q, K and V.
# Three kernels, each judged and credited by itself, so you can do them in any order:
#
# ```
#   delta_kernel     O, dO ──▶ delta                              one program per tile of queries
#
#   dk_dv_kernel     one program per tile of keys,                dq_kernel     one program per tile of queries,
#                    loop down the queries:                                     loop along the keys:
#                          K1    K2    K3                                             K1    K2    K3
#                        ┌─────┬─────┬─────┐                                        ┌─────┬─────┬─────┐
#                    Q1  │ ╲   │     │     │                                    Q1  │ ─▶╲ │     │     │ ──▶ dQ1
#                        ├──┼──┼─────┼─────┤                                        ├─────┼─────┼─────┤
#                    Q2  │  │  │ ╲   │     │                                    Q2  │ ────┼─▶╲  │     │ ──▶ dQ2
#                        ├──┼──┼──┼──┼─────┤                                        ├─────┼─────┼─────┤
#                    Q3  │  ▼  │  ▼  │ ╲   │                                    Q3  │ ────┼─────┼─▶╲  │ ──▶ dQ3
#                        └─────┴─────┴─────┘                                        └─────┴─────┴─────┘
#                        dK1,dV1 …
# ```
#
# ## The idea
#
# **Recompute instead of remember.** The forward pass threw P away. Computing it again costs a matrix product, about as much time
# as reading it back would; but nobody had to write it, and nobody needs $n^2$ of memory to keep it. LSE makes it simple: $P = e^{S - \mathrm{LSE}}$, no maximum, no sum, no second sweep.
#
# **Two matrix products backwards.** dX has the shape of X and holds the derivative of the loss with respect to each of its elements; a
# product $C = A B$ gives $dA = dC\, B^T$ and $dB = A^T dC$. So $O = P V$ gives $dV = P^T dO$ and $dP = dO\, V^T$. $S = \text{scale} \cdot Q K^T$ gives
# $dQ = \text{scale} \cdot dS\, K$ and $dK = \text{scale} \cdot dS^T Q$. What is left is the softmax between S and P.
#
# **The softmax backwards.** For one row, $p_j = e^{s_j} / \sum_k e^{s_k}$, so $\partial p_j / \partial s_k = p_j ([j = k] - p_k)$, where $[j = k]$ is 1 if
# $j$ is $k$ and else 0, and
#
# $$ds_k = \sum_j dp_j \, p_j ([j = k] - p_k) = p_k \Big( dp_k - \sum_j p_j \, dp_j \Big)$$
#
# The sum runs over all keys, which no tile has. But $dp_j = do \cdot v_j$, so
# $\sum_j p_j\, dp_j = do \cdot \sum_j p_j v_j = do \cdot o$: a product of two rows that are known. That is **delta**,
# computed once for each query:
#
# $$\text{delta}_i = \operatorname{rowsum}(dO_i \circ O_i), \qquad dS_{ij} = P_{ij} \circ (dP_{ij} - \text{delta}_i)$$
#
# where $\circ$ multiplies element by element.
#
# ```
#    4  delta = rowsum(dO * O)
#    5  for each tile j of keys:                                 (dk_dv_kernel: each is a program)
#    6      load Kj, Vj
#    7      dKj = 0, dVj = 0, in registers
#    8      for each tile i of queries that sees any of these keys:
#    9          load Qi, dOi, LSEi, delta_i
#   10          Sij = scale Qi Kj^T
#   11          Pij = exp(Sij - LSEi), 0 where hidden
#   12          dVj += Pij^T dOi
#   13          dPij = dOi Vj^T
#   14          dSij = Pij * (dPij - delta_i)
#   15          dQi += dSij Kj                                   (dq_kernel, with the loops exchanged; stores scale * dQi)
#   16          dKj += dSij^T Qi
#   18      store scale * dKj, and dVj
# ```
#
# **Two loop orders.** dK and dV are sums over queries, dQ is a sum over keys. In one kernel, two programs would have to add to the
# same tile, which takes atomic operations and gives other bits each time. Two kernels, each with its own outer
# side, compute S and P twice and never meet.
#
# **Causal.** A key $j$ is seen by queries from $j - (n_k - n_q)$ on: for a tile of keys, the loop begins at the tile of queries that holds
# the first of them, rounded down to a multiple of Br. The number may be negative: clamp it to 0. (Triton's `//` rounds towards zero, Python's down.) In tiles on the diagonal, set P to 0 where it is hidden, *after*
# the exponential: for a query that sees nothing LSE is $-\infty$, and `tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0)` throws away whatever came out, while
# $-\infty - (-\infty)$ inside the exponential would be NaN. Keys behind the last one need no mask of
# their own: for a query that exists, $j \le i + n_k - n_q$ is below $n_k$. Load all of a query behind the last one as 0, LSE too (with $-\infty$, P would
# be infinite): then $P = e^{0 - 0} = 1$, and the zeros in dO and delta keep it out of dV and dK.
#
# ## The signatures
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `o_ptr`, `do_ptr`, `dq_ptr` | Q, O, dO, dQ, shape `(heads, n_q, D)`, fp32 or fp16, one pair of strides |
# | `k_ptr`, `v_ptr`, `dk_ptr`, `dv_ptr` | K, V, dK, dV, shape `(heads, n_k, D)`, same type, one pair of strides |
# | `lse_ptr`, `delta_ptr` | LSE and delta, shape `(heads, n_q)`, contiguous, fp32 |
# | `q_head_stride`, `q_row_stride`, `k_head_stride`, `k_row_stride` | elements from head to head and from row to row |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores (positive) |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
#
# Query $i$ sees key $j$ if $j \le i + n_k - n_q$. Grids: (tiles of queries, heads); for `dk_dv_kernel` (tiles of keys,
# heads). The rows of one head lie within $2^{31}$ elements; heads may lie further apart. Each kernel gets right inputs,
# whatever your other kernels do. P and dS are rounded to the inputs' type before a product: `Pij.to(dOi.dtype)`.
#
# ## The traffic bound
#
# What a program owns is loaded **once**; the other side once for each tile that is not hidden altogether; each output
# is stored **once**. A tile that is needed in both orientations is loaded once: use `tl.trans`. Loads and
# stores take a tile at a time, and no product takes more.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About 5, 30 and 25 lines are missing.

# %%
@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr,
    q_head_stride, q_row_stride,
    n_q,
    D: tl.constexpr, Br: tl.constexpr,
):
    queries = tl.program_id(0) * Br + tl.arange(0, Br)
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 5 lines)


@triton.jit
def dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    keys = start_k + tl.arange(0, Bc)
    dims = tl.arange(0, D)
    # FILL IN (roughly 30 lines)


@triton.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    # FILL IN (roughly 25 lines)


# %% [markdown]
# ## How it is launched
#
# You need not change this: the judge launches your kernels by itself, with many shapes.

# %%
def causal_backward(q, k, v, o, lse, do, scale):
    """dQ, dK and dV of causal attention of (heads, n, D) tensors on the GPU."""
    import torch

    (heads, n_q, d), n_k = q.shape, k.shape[1]
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    delta = torch.empty_like(lse)
    of_queries, of_keys = (triton.cdiv(n_q, 64), heads), (triton.cdiv(n_k, 64), heads)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    delta_kernel[of_queries](o, do, delta, q.stride(0), q.stride(1), n_q, D=d, Br=64)
    dk_dv_kernel[of_keys](q, k, v, do, lse, delta, dk, dv, *strides, n_q, n_k, scale, D=d, Br=64, Bc=64)
    dq_kernel[of_queries](q, k, v, do, lse, delta, dq, *strides, n_q, n_k, scale, D=d, Br=64, Bc=64)
    return dq, dk, dv


# %% [markdown]
# ## How to check
#
# In a notebook, run the first code cell once, then the cell that you have filled in, then the one below this text. In a
# terminal: `make check PUZZLE=7`, or `make watch`, which checks whenever you save. Kernels that you have not begun are
# passed over. `print("dSij", dSij)` inside a kernel shows you a block.

# %%
from checker.notebook import check

check("p7")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=7` shows one at a time; so does `hint(7)`, from `checker.notebook`.
#
# <details><summary>1: a nudge</summary>
#
# Begin with `delta_kernel`: load a tile of O and one of dO, convert to fp32, multiply, `tl.sum(..., axis=1)`. Then
# `dq_kernel`: it is puzzle 6 with other mathematics in the loop, and no maximum to keep.
#
# </details>
# <details><summary>2: the loops</summary>
#
# `dq_kernel`: `for start_k in range(0, tl.minimum(n_k, start_q + Br + n_k - n_q), Bc)`. `dk_dv_kernel`:
# `first_q = tl.maximum(0, start_k - (n_k - n_q)) // Br * Br`, then `for start_q in range(first_q, n_q, Br)`. Both
# accumulate into `tl.zeros(..., tl.float32)`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# In both loops: `Sij = scale * tl.dot(Qi, tl.trans(Kj))`; `Pij = tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0)`;
# `dPij = tl.dot(dOi, tl.trans(Vj))`; `dSij = Pij * (dPij - delta_i[:, None])`. Then
# `dVj += tl.dot(tl.trans(Pij.to(dOi.dtype)), dOi)`, `dKj += tl.dot(tl.trans(dSij.to(Qi.dtype)), Qi)`; or
# `dQi += tl.dot(dSij.to(Kj.dtype), Kj)`. Multiply dK and dQ by `scale` when you store them.
#
# </details>
#
# ## Experiments
#
# Is delta the same if it is summed over keys, $\sum_j P_{ij}\, dP_{ij}$, instead of over dimensions? Compare.

# %%
import numpy as np

from checker.notebook import run

random = np.random.default_rng(0)
q, k, v, do = (random.normal(size=(1, 16, 16)) for _ in range(4))
s = np.where(np.tri(16, dtype=bool), 0.25 * q @ k.swapaxes(1, 2), -np.inf)
p = np.exp(s - s.max(-1, keepdims=True))
p /= p.sum(-1, keepdims=True)
print("over keys:", (p * (do @ v.swapaxes(1, 2))).sum(-1).round(4))
o, do32, delta = (p @ v).astype(np.float32), do.astype(np.float32), np.zeros((1, 16), np.float32)
run(delta_kernel, o, do32, delta, 16 * 16, 16, 16, D=16, Br=16, grid=(1, 1))

# %% [markdown]
# ## What to notice afterwards
#
# `make trace PUZZLE=7` draws both orders: down the columns for dK and dV, along the rows for dQ.
#
# The backward pass makes five matrix products per tile where the forward pass makes two, and yours makes seven, because
# S and dP are computed in both kernels. It is still faster than reading them: no $n \times n$ matrix ever touches
# memory, in either direction.
#
# You have now written what a training step runs. What is between this and the fastest kernels there are is no other
# algorithm, but scheduling: which tiles go where and when.
#
# ## Where to read on
#
# * [The derivation in full: dS, delta, the loop bounds, the work](../docs/background/backward.md).
# * T. Dao, [*FlashAttention-2*](https://arxiv.org/abs/2307.08691) (2023): algorithm 2, whose line numbers the solution follows; it has one kernel, and adds to dQ atomically.
# * T. Dao et al., [*FlashAttention*](https://arxiv.org/abs/2205.14135) (2022), appendix B: the derivation, and recomputation.
