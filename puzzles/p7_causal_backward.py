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
# # Puzzle p7: the causal backward pass
#
# ## What you will build
#
# In training, every forward pass of attention has a backward pass, with more than twice as many matrix products. You
# write three kernels, each checked and credited on its own. This order is the easiest:
#
# ```
# 1  delta_kernel      O, dO ──▶ delta, one number for each query
# one program per tile of queries
#
# 2  dq_kernel                       3  dk_dv_kernel
# one program per tile of queries,   one program per tile of keys,
# loop along the keys:               loop down the queries:
#       K1    K2    K3                     K1    K2    K3
#     ┌─────┬─────┬─────┐                ┌─────┬─────┬─────┐
# Q1  │ ─▶╲ │     │     │ ──▶ dQ1    Q1  │ ╲   │     │     │
#     ├─────┼─────┼─────┤                ├──┼──┼─────┼─────┤
# Q2  │ ────┼─▶╲  │     │ ──▶ dQ2    Q2  │  │  │ ╲   │     │
#     ├─────┼─────┼─────┤                ├──┼──┼──┼──┼─────┤
# Q3  │ ────┼─────┼─▶╲  │ ──▶ dQ3    Q3  │  ▼  │  ▼  │ ╲   │
#     └─────┴─────┴─────┘                └─────┴─────┴─────┘
#                                        dK1,dV1 …
# ```
#
# <details><summary>The gradients of attention, derived: unfold this if you have not done a4</summary>
#
# <!-- gradients -->
# Training has a *loss*: one number that depends on O, and therefore on Q, K and V. dX has the shape of X, and holds the
# derivative of the loss with respect to each number of X. You get dO, and want dQ, dK and dV.
# $P = e^{S - \mathrm{LSE}}$ is computed again, so the forward pass need not keep $n^2$ numbers.
#
# **A product backwards.** If $C = A B$, then $dA = dC\, B^T$ and $dB = A^T dC$. The shapes leave no other choice: A is
# `(m, k)`, B is `(k, n)` and dC is `(m, n)`. (Proof: $c_{ij}$ contains $a_{ik} b_{kj}$, so
# $da_{ik} = \sum_j dc_{ij}\, b_{kj}$.) Attention has two products:
#
# * $O = P V$ gives $dP = dO\, V^T$ and $dV = P^T dO$.
# * $S = \text{scale} \cdot Q K^T$ gives $dQ = \text{scale} \cdot dS\, K$ and $dK = \text{scale} \cdot dS^T Q$.
#
# **The softmax backwards.** Differentiate $p_j = e^{s_j} / \sum_i e^{s_i}$ by the quotient rule:
# $\partial p_j / \partial s_k = p_j ([j = k] - p_k)$, where $[j = k]$ is 1 if $j$ is $k$, and 0 otherwise. Hence
#
# $$ ds_k = \sum_j dp_j\, p_j ([j = k] - p_k) = p_k \left( dp_k - \sum_j p_j\, dp_j \right). $$
#
# The last sum runs over all keys, and no tile has all keys. But $dp_j = do \cdot v_j$, so the sum is
# $do \cdot \sum_j p_j v_j = do \cdot o$, a product of two rows that you are given. It is called **delta**, one number
# for each query:
#
# $$ \text{delta}_i = \operatorname{rowsum}(dO_i \circ O_i), \qquad dS_{ij} = P_{ij} \circ (dP_{ij} - \text{delta}_i), $$
#
# where $\circ$ multiplies element by element. *In numbers*, take one query and two keys of width 1, with `scale` 1. Let
# `q = 1`, `k = 0 1.0986`, `v = 10 20` and `do = 2`. The scores are 0 and $1.0986 = \log 3$, so LSE is
# $\log(1 + 3) = 1.3863$.
#
# | | key 0 | key 1 | |
# |---|---|---|---|
# | P | $e^{0 - 1.3863} = .25$ | $e^{1.0986 - 1.3863} = .75$ | $o = .25 \cdot 10 + .75 \cdot 20 = 17.5$ |
# | dP | $2 \cdot 10 = 20$ | $2 \cdot 20 = 40$ | delta $= do \cdot o = 35 = .25 \cdot 20 + .75 \cdot 40$ |
# | dS | $.25 \cdot (20 - 35) = -3.75$ | $.75 \cdot (40 - 35) = 3.75$ | their sum is 0 |
# | dV | $.25 \cdot 2 = 0.5$ | $.75 \cdot 2 = 1.5$ | |
# | dK | $-3.75 \cdot 1 = -3.75$ | $3.75 \cdot 1 = 3.75$ | $dQ = -3.75 \cdot 0 + 3.75 \cdot 1.0986 = 4.12$ |
#
# dS must sum to 0, because a softmax does not change if all scores grow by the same number. If key 1 is hidden, P is 1
# and 0, $o = 10$ and delta is 20. Then dS is 0 and 0.
# <!-- /gradients -->
#
# </details>
#
# ## The idea
#
# In PyTorch, where `hidden` marks the keys that a query does not see:
#
# ```python
# delta = (do * o).sum(dim=-1, keepdim=True)
# P = (scale * q @ k.mT - lse[..., None]).exp().masked_fill(hidden, 0)
# dS = P * (do @ v.mT - delta)
# dq, dk, dv = scale * dS @ k, scale * dS.mT @ q, P.mT @ do
# ```
#
# ### delta
#
# Multiply a row of O by the same row of dO, element by element, and sum. delta is fp32, so convert O and dO before you
# multiply.
#
# ### dQ
#
# dQ is a sum over keys, so a program owns a tile of queries. Its loop over keys has the bounds of p6, and no maximum to
# keep. Each visit computes four tiles, with the line numbers of algorithm 2 in the FlashAttention-2 paper: $S_{ij}$
# (10), $P_{ij}$ (11), $dP_{ij}$ (13) and $dS_{ij}$ (14). Then add $dS_{ij} K_j$ to dQ, in registers (15). Multiply by
# `scale` once, at the end.
#
# **Hidden entries.** Query $i$ sees key $j$ if $j \le i + n_k - n_q$. Set P to 0 elsewhere, with `tl.where`, *after*
# the exponential. A query that sees nothing has the LSE $-\infty$. If you hid its scores before the exponential,
# $-\infty - (-\infty)$ would be NaN.
#
# ### dK and dV
#
# dK and dV are sums over queries, so a program owns a tile of keys, and goes down the queries. Each visit computes the
# same four tiles. Then add $P_{ij}^T dO_i$ to dV (12) and $dS_{ij}^T Q_i$ to dK (16).
#
# **Where the loop begins.** The first query that sees key $j$ is $j - (n_k - n_q)$. Take 40 queries and 50 keys in
# tiles of 16: the difference is 10. The tile of keys that begins at 32 is first seen by query $32 - 10 = 22$. Round
# down to a multiple of Br: that query's tile begins at 16. (A loop that begins at 22 is also right.) For the tile that
# begins at 0, $0 - 10$ is negative: clamp it to 0 before you round. Unlike Python's, Triton's `//` rounds towards 0.
# With a difference of 10 this happens to give 0. With 40 it gives −2, and a loop from −32 reads memory that is not
# yours.
#
# ![What one program of each kernel visits, for 40 queries and 50 keys in tiles of 16. Program 1 of delta_kernel has O2 and dO2, and visits no keys. Program 1 of dq_kernel owns Q2 and dQ2: it visits K1, K2 and K3, along its row up to the staircase of the causal mask. Program 2 of dk_dv_kernel owns K3, V3 and their gradients: it visits Q2 and Q3, down its column from the staircase on.](../docs/figures/backward_kernels.svg)
#
# **Past the end.** *Queries:* load everything as 0, LSE included. Then $P = e^{0 - 0} = 1$, but it is multiplied by the
# zeros of dO and delta. (With LSE = $-\infty$, P would be $\infty$, and $\infty \cdot 0$ is NaN.) *Keys* need no mask
# of their own in P. A query that exists sees only $j \le i + n_k - n_q$, which is below $n_k$. For all other queries, P
# is multiplied by zeros.
#
# ## The signatures
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `o_ptr`, `do_ptr`, `dq_ptr` | Q, O, dO, dQ, shape `(heads, n_q, D)`, fp32, fp16 or bf16, one pair of strides |
# | `k_ptr`, `v_ptr`, `dk_ptr`, `dv_ptr` | K, V, dK, dV, shape `(heads, n_k, D)`, same type, one pair of strides |
# | `lse_ptr`, `delta_ptr` | LSE and delta, shape `(heads, n_q)`, contiguous, fp32 |
# | `q_head_stride`, `q_row_stride`, `k_head_stride`, `k_row_stride` | elements from head to head and from row to row |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores (positive) |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
#
# The grid is (tiles of queries, heads), and for `dk_dv_kernel` (tiles of keys, heads). Each kernel gets right inputs,
# whatever your other kernels do. Round P and dS to the inputs' type before a product, like P in p6.
#
# ## The traffic bound
#
# A program loads its own tiles **once**, and the tiles it loops over once for each tile of scores that is not
# completely hidden. Each output is stored **once**. `dk_dv_kernel` needs some tiles in both orientations: load them
# once, and use `tl.trans`. Loads, stores and products take one tile at a time.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About 4, 22 and 26 lines are missing in the three kernels. Check after each: an empty kernel costs only its own
# points.

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
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    # FILL IN (roughly 4 lines)


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
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    # FILL IN (roughly 22 lines)


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
    kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
    # FILL IN (roughly 26 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes. `num_stages=2` keeps two tiles of
# each load in shared memory: one in use, one on its way. Triton's default of three takes 105 KB with D = 128, and an
# RTX 30 or 40 has 99 KB. A T4 has 64 KB, and Triton does not use its matrix units: replace every 64 in the cell by 32.

# %%
def causal_backward(q, k, v, o, lse, do, scale):
    """dQ, dK and dV of causal attention of (heads, n, D) tensors on the GPU."""
    import torch

    (heads, n_q, d), n_k = q.shape, k.shape[1]
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    delta = torch.empty_like(lse)
    of_queries, of_keys = (triton.cdiv(n_q, 64), heads), (triton.cdiv(n_k, 64), heads)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    inputs = (q, k, v, do, lse, delta)
    delta_kernel[of_queries](o, do, delta, q.stride(0), q.stride(1), n_q, D=d, Br=64)
    dq_kernel[of_queries](*inputs, dq, *strides, n_q, n_k, scale, D=d, Br=64, Bc=64, num_stages=2)
    dk_dv_kernel[of_keys](*inputs, dk, dv, *strides, n_q, n_k, scale, D=d, Br=64, Bc=64, num_stages=2)
    return dq, dk, dv


# %% [markdown]
# ## How to check
#
# In a terminal: `./check p7`. In a notebook: run the cells above, then the one below. `make step PUZZLE=p7` shows one
# tile three times, once in each kernel. To find a mistake, take one kernel at a time: each gets right inputs. The cells
# under *Run* have a single tile.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p7")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p7` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Begin with `delta_kernel`: two tiles, a product element by element, and a sum. Which axis disappears? Then write
# `dq_kernel`, which is p6 with other mathematics in the loop, and no maximum to keep. `dk_dv_kernel` has the same
# mathematics. Which loads move out of its loop, and which move in?
#
# </details>
# <details><summary>2: the loops</summary>
#
# `delta_kernel` converts both tiles to fp32 and takes `tl.sum(..., axis=1)`. `dq_kernel` has
# `for start_k in range(0, tl.minimum(n_k, start_q + Br + n_k - n_q), Bc)`. `dk_dv_kernel` has
# `first_q = tl.maximum(0, start_k - (n_k - n_q)) // Br * Br`, then `for start_q in range(first_q, n_q, Br)`. Both
# accumulate into `tl.zeros(..., tl.float32)`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# In both loops: `Sij = scale * tl.dot(Qi, tl.trans(Kj))`; `Pij = tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0)`;
# `dPij = tl.dot(dOi, tl.trans(Vj))`; `dSij = Pij * (dPij - delta_i[:, None])`. Then
# `dQi += tl.dot(dSij.to(Kj.dtype), Kj)`; or `dVj += tl.dot(tl.trans(Pij.to(dOi.dtype)), dOi)`,
# `dKj += tl.dot(tl.trans(dSij.to(Qi.dtype)), Qi)`. Multiply dQ and dK by `scale` when you store them.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launches have one head, 64 queries, 64 keys, D = 16, `Br=32` and `Bc=16`. Write a guess in place of
# each `...`. Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `k_reads`: how often does `dq_kernel` read an element of K, on average?
# * `q_reads`: how often does `dk_dv_kernel` read an element of Q, on average?
# * `products`: how many times does `dk_dv_kernel` call `tl.dot`, in all programs together?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p7 GUESS="k_reads=... q_reads=... products=..."
# ```

# %%
from checker.notebook import predict

predict("p7", k_reads=..., q_reads=..., products=...)

# %% [markdown]
# **Run.** Write your guesses down before you run the next cell. Answer the second question with pen and paper.
#
# 1. Is delta the same if you sum over keys, $\sum_j P_{ij}\, dP_{ij}$, instead of over dimensions?
# 2. Query 0 sees only key 0. What is row 0 of dQ? Which key has a dV to which only one query contributes?
#
# <details><summary>Answers</summary>
#
# 1. Yes, up to rounding, as was shown above. The cell prints the sum over keys, and then your delta.
# 2. Row 0 of dQ is 0. A softmax of one score is 1, whatever the score is, so delta equals dP and dS is 0. The key is
#    the last one: only the last query sees it.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

random = np.random.default_rng(0)
q, k, v, do = (random.normal(size=(1, 16, 16)).astype(np.float32) for _ in range(4))
s = np.where(np.tri(16, dtype=bool), 0.25 * q @ k.swapaxes(1, 2), -np.float32(np.inf))
lse = np.log(np.exp(s).sum(-1))
p = np.exp(s - lse[..., None])
o, delta, dq, dk, dv = p @ v, np.zeros_like(lse), *np.zeros((3, *q.shape), np.float32)
print("over keys:", (p * (do @ v.swapaxes(1, 2))).sum(-1).round(4))
q_strides, k_strides = {"q_head_stride": 256, "q_row_stride": 16}, {"k_head_stride": 256, "k_row_stride": 16}
run(delta_kernel, o_ptr=o, do_ptr=do, delta_ptr=delta, **q_strides, n_q=16, D=16, Br=16, grid=(1, 1))

# %% [markdown]
# **Against `torch.autograd`.** If PyTorch is installed, the next cell compares your gradients with its own. The
# differences should be about $10^{-6}$.

# %%
try:
    import torch
except ImportError:
    print("PyTorch is not installed here.")
else:
    leaves = [torch.from_numpy(x).requires_grad_() for x in (q, k, v)]
    scores = 0.25 * leaves[0] @ leaves[1].mT
    hidden = torch.ones(16, 16).tril() == 0
    (scores.masked_fill(hidden, -torch.inf).softmax(dim=-1) @ leaves[2]).backward(torch.from_numpy(do))

    inputs = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "do_ptr": do, "lse_ptr": lse, "delta_ptr": (do * o).sum(-1)}
    sizes = {**q_strides, **k_strides, "n_q": 16, "n_k": 16, "scale": 0.25, "D": 16, "Br": 16, "Bc": 16}
    theirs = {name: leaf.grad.numpy() for name, leaf in zip(("dq_ptr", "dk_ptr", "dv_ptr"), leaves)}
    for kernel, outputs in ((dq_kernel, {"dq_ptr": dq}), (dk_dv_kernel, {"dk_ptr": dk, "dv_ptr": dv})):
        done = run(kernel, **inputs, **outputs, **sizes, grid=(1, 1))
        print(done.problem or f"{done.kernel} ran.")
        for name in () if done.problem else outputs:
            print(f"  {name} differs from autograd by at most {np.abs(done[name] - theirs[name]).max():.1e}")


# %% [markdown]
# ## What to notice afterwards
#
# `make trace PUZZLE=p7` draws both orders: along the rows for dQ, down the columns for dK and dV.
#
# Why two kernels for three gradients? In a single one, several programs would add to the same tile of dQ. That needs
# *atomic* additions, which no other program can interrupt, and the last bits would differ from run to run. In two
# kernels, every output has exactly one owner. The price is seven matrix products per tile instead of five, because both
# kernels compute S and dP. (The forward pass makes two.) In return, no $n \times n$ matrix ever touches memory.
#
# You have now written FlashAttention, forward and backward, as a training step of a transformer runs it. For 16,384
# tokens, causal, in 32 heads of 64 dimensions, the backward pass on an H200 takes:
#
# | eager PyTorch | your kernels |
# |---|---|
# | 80 ms | 11 ms |
#
# For 2048 to 16,384 tokens, your backward pass is between 0.92 and 1.36 times as fast as PyTorch's own FlashAttention.
# The fastest kernels use the same mathematics. They differ mainly in scheduling: which tiles go where and when.
#
# ## Where to read on
#
# * [The derivation in full: dS, delta, the loop bounds, the work](../docs/background/backward.md).
# * T. Dao, [*FlashAttention-2*](https://arxiv.org/abs/2307.08691) (2023): algorithm 2, whose line numbers the solution
#   follows. It has one kernel, and adds to dQ atomically.
# * T. Dao et al., [*FlashAttention*](https://arxiv.org/abs/2205.14135) (2022), appendix B: the derivation, and
#   recomputation.
