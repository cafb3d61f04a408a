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
# # Puzzle b2: attention with dropout
#
# ## What you will build
#
# Dropout takes a random part of attention's weights from a model at each step of training. The backward pass needs the
# very mask of the forward pass. Eager PyTorch stores it: 8.6 billion entries for 16,384 tokens and 32 heads.
#
# Your kernels *draw the mask again*. Two kernels, with other tiles and other loops, must come to the same random
# numbers.
#
# **Copy your own accepted kernels**: `flash_attention_2_kernel` of p6 and `dk_dv_kernel` of p7. Every query sees every
# key here, so remove `CAUSAL` and the causal mask. Of p6's `visible`, only `keys[None, :] < n_k` stays; of p7's mask,
# nothing. Then each kernel gets two new lines. One line changes in the first kernel, and two in the second.
# `delta_kernel` stays as it is.
#
# ## The idea
#
# In PyTorch, with the numbers of a head, a query and a key in `head`, `i` and `j`:
#
# ```python
# Z = (rand(seed, (head * n_q + i) * n_k + j) >= p) / (1 - p)      # (heads, n_q, n_k): never stored
# S = scale * q @ k.mT
# P, lse = S.softmax(dim=-1), S.logsumexp(dim=-1)
# o = (P * Z) @ v
# delta = (do * o).sum(dim=-1, keepdim=True)
# dS = P * (Z * (do @ v.mT) - delta)
# dk, dv = scale * dS.mT @ q, (P * Z).mT @ do
# ```
#
# **A number for each position.** `tl.rand(seed, offset)` makes an fp32 number from 0 to 1 for each element of a block
# of integers. Its function is called Philox: the same seed and offset give the same number, in any program. So let the
# offset of an entry be its position in P, if P were stored. Entry $(i, j)$ of a head has the offset
# $(\text{head} \cdot n_q + i) \cdot n_k + j$. With any tiles, in any order, it then gets the same number.
#
# ![A matrix P of 4 queries and 6 keys, twice, with the same 24 offsets, 0 to 23, and the same entries hatched, which are dropped. Left, the forward pass visits tiles of 2 by 3 along each row of tiles. Right, dropout_dk_dv_kernel visits tiles of 4 by 2 down each column of tiles. Entry (1, 4) has the offset 10 in both.](../docs/figures/dropout_positions.svg)
#
# *In numbers:* with 2 heads of 4 queries and 6 keys, entry (1, 4) of head 1 has the offset
# $(1 \cdot 4 + 1) \cdot 6 + 4 = 34$.
#
# Compute offsets in 64 bits: 65,536 queries and as many keys have $2^{32}$ entries in one head. A product with `head`
# has 64 bits, because `head` has.
#
# **What is kept.** An entry is dropped with probability `p`, and *kept* where its number is at least `p`. A kept entry
# is multiplied by $1 / (1 - p)$, so that O stays the same on average. So $Z$ is 0 or $1 / (1 - p)$.
#
# **The softmax knows nothing of it.** Z multiplies P after the softmax, so `m`, `l` and LSE are those of p6. `l` sums
# all of $P_{ij}$, and only the product with $V_j$ takes $P_{ij} \circ Z_{ij}$. ($\circ$ multiplies element by element.)
#
# *In numbers:* take p6's scores 1 3 | 2 5 and values 10 20 | 30 40. Let `p` be 0.2, so $1 / (1 - p) = 1.25$, and let
# key 1 be dropped. After tile 1, O holds $1.25 \cdot 0.1353 \cdot 10 + 0 = 1.69$. After tile 2 it holds $0.1353 \cdot
# 1.69 + 1.25 \cdot (0.0498 \cdot 30 + 1 \cdot 40)$ $= 52.10$. Then $O = 52.10 / 1.2034 = 43.29$ (without dropout
# 36.88), and LSE is still 5.185.
#
# **Backwards.** $O = (P \circ Z) V$ is a product, so $dV = (P \circ Z)^T dO$. Each element of P reaches O with its
# factor of Z, so $dP = Z \circ (dO\, V^T)$. Between S and P is the softmax of p7:
#
# $$dS_{ij} = P_{ij} \circ \left( dP_{ij} - \sum_k P_{ik}\, dP_{ik} \right)$$
#
# This P is the one *before* dropout. Is the sum still delta? With the new dP, the sum over the keys is
# $\sum_k P_{ik} Z_{ik} (do_i \cdot v_k)$ $= do_i \cdot \sum_k P_{ik} Z_{ik}\, v_k = do_i \cdot o_i$. The last sum is O,
# dropout included. So **delta = rowsum(dO ∘ O) still holds**, and your `delta_kernel` is still right.
#
# *In numbers*, with p7's query and keys: P is .25 and .75, v is 10 and 20, and do is 2. Without dropout, dP is 20 and
# 40, delta is 35, and dS is -3.75 and 3.75. Now let `p` be 0.2, and key 1 be dropped:
#
# | | key 0 | key 1 | |
# |---|---|---|---|
# | Z | 1.25 | 0 | $o = .25 \cdot 1.25 \cdot 10 = 3.125$ |
# | dP | $1.25 \cdot 20 = 25$ | 0 | delta $= do \cdot o = 6.25$, as $.25 \cdot 25$ is |
# | dS | $.25 \cdot (25 - 6.25) = 4.69$ | $.75 \cdot (0 - 6.25) = -4.69$ | they sum to 0 |
# | dV | $.25 \cdot 1.25 \cdot 2 = 0.625$ | 0 | |
#
# The value of a dropped key gets no gradient. Its score gets one, because the score is in the normaliser of all others.
#
# ## The signatures
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `o_ptr`, `do_ptr` | Q, O, dO, shape `(heads, n_q, D)`, fp32, fp16 or bf16, one pair of strides |
# | `k_ptr`, `v_ptr`, `dk_ptr`, `dv_ptr` | K, V, dK, dV, shape `(heads, n_k, D)`, same type, one pair of strides |
# | `lse_ptr`, `delta_ptr` | LSE and delta, shape `(heads, n_q)`, contiguous, fp32 |
# | `q_head_stride`, `q_row_stride`, `k_head_stride`, `k_row_stride` | elements from head to head and from row to row |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores (positive) |
# | `p`, `seed` | probability that an entry is dropped, $0 \le p < 1$; an integer of up to 63 bits |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
#
# The grid is (tiles of queries, heads), and for `dropout_dk_dv_kernel` (tiles of keys, heads). Each kernel gets right
# inputs: LSE and delta come from the judge, not from your other kernels. Round $P \circ Z$ and dS to the inputs' type
# before their products.
#
# ## The traffic bound
#
# As in p6 and p7 without a causal mask. The tiles that a program owns are loaded **once**, and the other side once for
# each program of a head. Each output is stored **once**. The mask is neither loaded nor stored.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About 26 and 27 lines are missing, and all but a few of them are your own.

# %%
@triton.jit
def attention_dropout_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale, p, seed,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 26 lines)


@triton.jit
def dropout_dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale, p, seed,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 27 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def attention_dropout(q, k, v, scale, p, seed):
    """Attention with dropout of (heads, n, D) tensors on the GPU: O and LSE."""
    import torch

    (heads, n_q, d), n_k = q.shape, k.shape[1]
    o, lse = torch.empty_like(q), torch.empty((heads, n_q), device=q.device)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    grid = (triton.cdiv(n_q, 64), heads)
    attention_dropout_kernel[grid](q, k, v, o, lse, *strides, n_q, n_k, scale, p, seed, D=d, Br=64, Bc=64)
    return o, lse


def dropout_dk_dv(q, k, v, do, lse, delta, scale, p, seed):
    """dK and dV, from the seed of the forward pass."""
    import torch

    (heads, n_q, d), n_k = q.shape, k.shape[1]
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
    inputs, grid = (q, k, v, do, lse, delta, dk, dv), (triton.cdiv(n_k, 64), heads)
    dropout_dk_dv_kernel[grid](*inputs, *strides, n_q, n_k, scale, p, seed, D=d, Br=64, Bc=64, num_stages=2)
    return dk, dv


# %% [markdown]
# ## How to check
#
# In a terminal: `./check b2`. In a notebook: run the cells above, then the one below. `make step PUZZLE=b2` goes
# through both kernels: do they drop the same elements of a tile?

# %%
from checker.notebook import check, hint, solution, step, trace

check("b2")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=b2` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Begin with your kernel of p6 without the causal mask: with a `p` of 0 it is right already. Which of its lines use P,
# and which of these should take what dropout leaves of P? Then ask the same of p7.
#
# </details>
# <details><summary>2: the numbers</summary>
#
# `kept = tl.rand(seed, (head * n_q + queries[:, None]) * n_k + keys[None, :]) >= p`, with `head` in 64 bits. Both
# kernels have `queries` and `keys` at hand, so this line is the same in both.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `Zij = tl.where(kept, 1.0 / (1.0 - p), 0.0)`. Forward, `tl.dot((Pij * Zij).to(Vj.dtype), Vj)`, and `li` sums `Pij`.
# Backward, `dVj += tl.dot(tl.trans((Pij * Zij).to(dOi.dtype)), dOi)`, `dPij = Zij * tl.dot(dOi, tl.trans(Vj))`, and
# `dSij = Pij * (dPij - delta_i[:, None])`. The loop over queries runs over `range(0, n_q, Br)`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launches have one head of 64 queries and 64 keys, with D = 16, `Br=16` and `Bc=16`. Write a guess in
# place of each `...`. Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `k_reads`: how often does `attention_dropout_kernel` read each element of K?
# * `q_reads`: how often does `dropout_dk_dv_kernel` read each element of Q?
# * `products`: how many times does `dropout_dk_dv_kernel` call `tl.dot`, in all programs together?
#
# In a terminal:
#
# ```
# make predict PUZZLE=b2 GUESS="k_reads=... q_reads=... products=..."
# ```

# %%
from checker.notebook import predict

predict("b2", k_reads=..., q_reads=..., products=...)

# %% [markdown]
# **Run.** Write your guess down before you run the next cell. It computes 2000 rows of O: 16 queries in each of 125
# heads.
#
# 1. All values are 1 here, so each O would be 1 without dropout. What is the average of all rows? How far from 1 is a
#    single row, on average?
# 2. A query has 16 keys, and `p` is 0.9. In what share of the rows is every key dropped? What are O and LSE there?
#
# <details><summary>Answers</summary>
#
# 1. The average is 1, up to a few hundredths. A single row is far from 1: it is 0, or the sum of a few weights, times
#    10.
# 2. In $0.9^{16} = 0.185$ of them, nearly one in five. There O is 0, and LSE is as without dropout.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

random = np.random.default_rng(0)
q, k = (random.normal(size=(125, 16, 16)).astype(np.float32) for _ in range(2))
v, o, lse = np.ones_like(k), np.zeros_like(q), np.zeros((125, 16), np.float32)
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "lse_ptr": lse}
strides = {"q_head_stride": 256, "q_row_stride": 16, "k_head_stride": 256, "k_row_stride": 16}
sizes = {"n_q": 16, "n_k": 16, "scale": 0.25, "p": 0.9, "seed": 7, "D": 16, "Br": 16, "Bc": 16}
done = run(attention_dropout_kernel, **tensors, **strides, **sizes, grid=(1, 125))
print(done.problem or f"average {done['o_ptr'].mean():.2f}, off by {abs(done['o_ptr'] - 1).mean():.2f}")
print(done.problem or f"0 in {(done['o_ptr'] == 0).mean():.3f} of all rows")

# %% [markdown]
# ## What to notice afterwards
#
# Dropout moves no byte more than p6 and p7, but it is not free: each entry of P takes about 68 instructions for its
# number. Compiled for an H200 with tiles of 64 by 64, this kernel has three times as many instructions as p6's. Philox
# makes four numbers at a time, and `tl.rand` throws three away. A kernel that uses all four is about twice as fast, but
# draws another mask than this puzzle asks for. An H200 takes, with 16,384 tokens and 32 heads of 64 dimensions:
#
# | | time |
# |---|---|
# | eager PyTorch | 46 ms |
# | `attention_dropout_kernel` | 37 ms |
# | SDPA flash, PyTorch's FlashAttention-2 | 9.6 ms |
# | p6, without dropout | 6.6 ms |
#
# As in p7, time is traded for memory: p7 computed P twice, and here the mask is drawn twice. So a step of training can
# be repeated exactly: only the seed has to be remembered.
#
# ## Where to read on
#
# * [Dropout in attention: why delta survives, why the mask can be drawn again](../docs/background/dropout.md).
# * N. Srivastava et al., [*Dropout*](https://jmlr.org/papers/v15/srivastava14a.html) (2014).
# * J. K. Salmon et al., [*Parallel Random Numbers: As Easy as 1, 2, 3*](https://doi.org/10.1145/2063384.2063405)
#   (2011): counters instead of streams, and Philox.
# * T. Dao et al., [*FlashAttention*](https://arxiv.org/abs/2205.14135) (2022), appendix B: dropout in the algorithm.
