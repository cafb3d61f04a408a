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
# # Puzzle b1: attention with a bias
#
# ## What you will build
#
# A model that knows how far apart two words are adds a number to each score, a *bias*. Puzzle p6 with three more lines
# does that, about three times as fast as the fused kernel that PyTorch has for it.
#
# Copy your own kernel of p6 under the new signature: it lacks only the bias. Then comes a second, shorter kernel: the
# gradient of a bias that all heads share.
#
# ![Left, two heads of three by four tiles of scores; a bias for each key is one row of numbers, and all rows of tiles in both heads point to it: its strides for heads and rows are 0. Right, one tile of dBias and the program that owns it: it goes over the same tile of scores in head 0, head 1 and head 2, adds up their dS, and stores the sum once.](../docs/figures/bias_tiles.svg)
#
# ## The idea
#
# In PyTorch, where `dbias` is the gradient of a bias of shape `(n_q, n_k)`, without a causal mask:
#
# ```python
# S = scale * q.float() @ k.float().mT + bias.float()              # (heads, n_q, n_k): a bias broadcasts to that
# if CAUSAL:
#     S = S.masked_fill(torch.ones(n_q, n_k).tril(n_k - n_q) == 0, -torch.inf)
# o, lse = S.softmax(dim=-1) @ v.float(), S.logsumexp(dim=-1)
# dS = (S - lse[..., None]).exp() * (do @ v.mT - (o * do).sum(dim=-1, keepdim=True))
# dbias = dS.sum(dim=0)
# ```
#
# ### The scores, with a bias
#
# $$ S_{ij} = \text{scale} \cdot Q_i K_j^T + B_{ij} $$
#
# The bias is not scaled. It is finite, and has the type of Q. It is part of the scores: add it before scores are hidden
# and before the maximum is taken. LSE then contains it, too.
#
# *In numbers*, take p6's scores 1 3 | 2 5 and values 10 20 | 30 40, and the bias 2 0 | 1 -2. Now all four scores are 3,
# so $m = 3$ and $l = 4$. O is $100 / 4 = 25$ (without a bias 36.88). LSE is $3 + \log 4 = 4.386$ (without a bias
# 5.185).
#
# **One load, eight kinds of bias.** A bias has an address for each head, query and key:
#
# $$ \text{head} \cdot \text{head stride} + i \cdot \text{row stride} + j \cdot \text{column stride}. $$
#
# Any of these strides may be 0. With a row stride of 0, all rows begin at the same place, and all queries share one
# number for each key. PyTorch's `expand` makes such strides without a copy. The same line of code loads every kind of
# bias.
#
# | what the bias depends on | strides of heads, rows, columns | for instance |
# |---|---|---|
# | head, query and key | not 0 | a learned bias for each distance and head (T5) |
# | query and key | 0, not 0, not 0 | the same, shared by the heads |
# | key | 0, 0, 1 | keys that count for less; padding of a batch, as a large negative number |
# | head | 1, 0, 0 | a number for each head: it changes LSE, and not O |
#
# A column stride that is not 0 need not be 1: in a transposed bias, the *row* stride is 1.
#
# **The ends.** A tile of the bias has Br rows and Bc columns. Its mask has two parts: queries that exist, and keys that
# exist.
#
# ### The gradient of the bias
#
# In p7, the gradient of a score was $dS_{ij} = P_{ij} (dP_{ij} - \delta_i)$. If a number of the bias grows by 1, its
# score grows by 1. So $dB_{ij}$ is $dS_{ij}$ itself, without the factor `scale`.
#
# If the heads share the bias, each of its numbers is in one score of *each* head. The gradients of these scores add up:
#
# $$ dB_{ij} = \sum_{\text{heads}} P_{ij} \, (dP_{ij} - \delta_i), \qquad P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}, \qquad
# dP = dO\, V^T. $$
#
# **Who owns what.** The grid is (tiles of queries, tiles of keys). A program owns a tile of dB, and loops over the
# heads. It loads its tile of the bias once, before the loop. This kernel is always full: p7's causal mask does not
# belong in it.
#
# *In numbers*: two heads, one query, two keys with the bias 0 and 1.0986, which is $\log 3$.
#
# ```
#          scale·QKᵀ         S                 LSE      P
# head 0   0       0         0       1.0986   1.3863   .25 .75
# head 1   1.0986  0         1.0986  1.0986   1.7918   .5  .5
#
#          dP       delta    dS = P·(dP - delta)
# head 0   20 40     35      -3.75   3.75
# head 1    8  4      6       1     -1
#                     dB =   -2.75   2.75
# ```
#
# Head 0 is the example of p7. A row of dB sums to 0, like a row of dS.
#
# **Types.** No product takes P or dS here. Both stay fp32, and dB is fp32 in memory, too.
#
# ## The signatures
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q, shape `(heads, n_q, D)`; K and V, shape `(heads, n_k, D)`; fp32, fp16 or bf16 |
# | `bias_ptr` | the bias, of Q's type; of the second kernel `(n_q, n_k)`, for all heads |
# | `o_ptr`, `lse_ptr` | O and LSE, as in p6 |
# | `do_ptr`, `lse_ptr`, `delta_ptr` | dO, LSE and delta, as in p7: given |
# | `dbias_ptr` | dB, shape `(n_q, n_k)`, contiguous, fp32 |
# | `q_head_stride`, `q_row_stride` | elements from head to head and from row to row in Q, O and dO |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `bias_head_stride` | elements from head to head in the bias; 0: all heads share it |
# | `bias_row_stride`, `bias_col_stride` | from query to query, and from key to key; 0: they share a number (never in the second kernel) |
# | `n_q`, `n_k`, `heads`, `scale` | numbers of queries, keys and heads, factor of the products (positive) |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
# | `CAUSAL` | whether queries see only keys up to their own position; the second kernel is always full |
#
# The grid of `attention_bias_kernel` is (tiles of queries, heads). dB may have more than $2^{31}$ elements, so
# `queries` and `keys` have 64 bits in the second kernel. Its loop counter has 32: convert the head yourself. In the
# first kernel, convert `queries` and `keys` where a stride of the bias multiplies them.
#
# ## The traffic bound
#
# Q, K, V, O and LSE are as in p6. The bias is loaded **once for each tile that is visited**. A number that a tile
# shares counts once. With $T_r$ tiles of queries, $T_c$ tiles of keys and $H$ heads, that makes
#
# | a bias for each | loads of it, if not causal | 32 heads, 4096 queries and keys, tiles of 64 |
# |---|---|---|
# | head, query and key | $H \, n_q \, n_k$ | 537 million |
# | key | $H \, T_r \, n_k$ | 8.4 million |
# | query | $H \, n_q \, T_c$ | 8.4 million |
# | head | $H \, T_r \, T_c$ | 0.1 million |
#
# With D = 64, a tile of a full bias has as many numbers as a tile of K, and no other program loads it.
#
# In `dbias_kernel`, Q, dO, LSE and delta are loaded **$T_c$ times**, K and V **$T_r$ times**, and the bias **once**. dB
# is stored **once**. Each visit may take two products.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# Copy the body of your accepted kernel of p6 into the first kernel, without the lines that the stub has. About three
# lines are new, and one changes.
#
# The second kernel has about nineteen lines. Most of them are in `dq_kernel` of your p7: leave out its loop over keys,
# its **causal mask**, and dQ.

# %%
@triton.jit
def attention_bias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    bias_head_stride, bias_row_stride, bias_col_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 38 lines)


@triton.jit
def dbias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, do_ptr, lse_ptr, delta_ptr, dbias_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride, bias_row_stride, bias_col_stride,
    n_q, n_k, heads, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    queries = tl.program_id(0).to(tl.int64) * Br + tl.arange(0, Br)
    keys = tl.program_id(1).to(tl.int64) * Bc + tl.arange(0, Bc)
    dims = tl.arange(0, D)
    # FILL IN (roughly 19 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def attention_with_bias(q, k, v, bias, scale, causal=False):
    """Attention of (heads, n, D) tensors on the GPU, with a bias of any shape that broadcasts: O and LSE."""
    import torch

    heads, n_q, d = q.shape
    o, lse = torch.empty_like(q), torch.empty((heads, n_q), device=q.device)
    bias = bias.expand(heads, n_q, k.shape[1])  # copies nothing: what is repeated gets the stride 0
    attention_bias_kernel[(triton.cdiv(n_q, 64), heads)](
        q, k, v, bias, o, lse,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        bias.stride(0), bias.stride(1), bias.stride(2),
        n_q, k.shape[1], scale,
        D=d, Br=64, Bc=64, CAUSAL=causal, num_stages=2,
    )  # fmt: skip
    return o, lse


def gradient_of_bias(q, k, v, bias, do, lse, delta, scale):
    """The gradient of a bias of shape (n_q, n_k) that all heads share."""
    import torch

    heads, n_q, d = q.shape
    n_k = k.shape[1]
    dbias = torch.empty((n_q, n_k), device=q.device)
    dbias_kernel[(triton.cdiv(n_q, 64), triton.cdiv(n_k, 64))](
        q, k, v, bias, do, lse, delta, dbias,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1), bias.stride(0), bias.stride(1),
        n_q, n_k, heads, scale,
        D=d, Br=64, Bc=64, num_warps=8, num_stages=2,
    )  # fmt: skip
    return dbias


# %% [markdown]
# ## How to check
#
# In a terminal: `./check b1`. In a notebook: run the cells above, then the one below. `make step PUZZLE=b1` shows each
# tile of the bias. The first kernel alone earns 55 points. *The gradient of the bias* earns 20, and both kernels
# together the other 25.

# %%
from checker.notebook import check, hint, solution, step, trace

check("b1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=b1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# On paper, write the address of one number of the bias, for a head, a query and a key. Which of its three parts is the
# same for the whole program? Which one changes from row to row of a tile, and which from column to column?
#
# </details>
# <details><summary>2: the tile of the bias</summary>
#
# `queries[:, None].to(tl.int64) * bias_row_stride + keys[None, :].to(tl.int64) * bias_col_stride` is a tile of Br by Bc
# offsets. Its mask is `(queries[:, None] < n_q) & (keys[None, :] < n_k)`, with `other=0.0`. Add the head's part to
# `bias_ptr` once. In the second kernel, load the tile before the loop over heads.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# First kernel: `Sij = scale * tl.dot(Qi, tl.trans(Kj)) + Bij`, above the line that hides scores. Second kernel:
# `for number in range(heads):`, then `head = number.to(tl.int64)`, the loads of this head, and
# `dBij += Pij * (dPij - delta_i[:, None])` with `Pij = tl.exp(scale * tl.dot(Qi, tl.trans(Kj)) + Bij - LSEi[:, None])`.
# Store at `dbias_ptr + queries[:, None] * n_k + keys[None, :]`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launches have two heads of 64 queries and 64 keys, with D = 16 and tiles of 16 by 16. They are not
# causal. Write a guess in place of each `...`. Once your kernels are accepted, they answer. Guesses are not graded.
#
# * `full_reads`: in `attention_bias_kernel`, how often is each number of a bias for each head, query and key read?
# * `key_reads`: how often is each number of a bias for each key read, which has 64 of them?
# * `q_reads`: in `dbias_kernel`, how often is each element of Q read?
#
# In a terminal:
#
# ```
# make predict PUZZLE=b1 GUESS="full_reads=... key_reads=... q_reads=..."
# ```

# %%
from checker.notebook import predict

predict("b1", full_reads=..., key_reads=..., q_reads=...)

# %% [markdown]
# **Run.** The next cell runs the first kernel with a bias for each head: two numbers in all.
#
# 1. How many loads of the bias does the report count? How many with a bias for each key,
#    `bias = np.zeros(64, np.float32)` and `bias_strides = 0, 0, 1`?
# 2. **ALiBi** (Press and others, 2021) subtracts a little for each step between query and key, with a slope for each
#    head: $B_{ij} = -\text{slope} \cdot (i + n_k - n_q - j)$. As a tensor, this is a full bias. But the slopes alone
#    are enough, and in this cell `Bij` holds the head's slope. Change one line of your kernel so that it makes this
#    bias, and run the cell with `CAUSAL = True`. How many numbers are loaded now, and how many would a full bias load?
#    (Change the line back afterwards: the judge does not accept this kernel.)
#
# <details><summary>Answers</summary>
#
# 1. 32 with a bias for each head: one for each of the 4 by 4 tiles of 2 heads. 512 with a bias for each key: 16 for
#    each tile.
# 2. `Bij = -Bij * (queries[:, None] + n_k - n_q - keys[None, :])`, after the load. With `CAUSAL`, 20 tiles of 32 are
#    visited, and each loads one number. A full bias would load 20 · 256 = 5,120. Loaded before the loop over keys, the
#    slopes would take 8 loads.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

CAUSAL, bias, bias_strides = False, np.array([0.5, 0.25], np.float32), (1, 0, 0)
random = np.random.default_rng(0)
q, k, v = (random.normal(size=(2, 64, 16)).astype(np.float32) for _ in range(3))
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "bias_ptr": bias}
outputs = {"o_ptr": np.zeros_like(q), "lse_ptr": np.zeros((2, 64), np.float32)}
strides = {"q_head_stride": 64 * 16, "q_row_stride": 16, "k_head_stride": 64 * 16, "k_row_stride": 16}
strides |= dict(zip(("bias_head_stride", "bias_row_stride", "bias_col_stride"), bias_strides, strict=True))
sizes = {"n_q": 64, "n_k": 64, "scale": 0.25, "D": 16, "Br": 16, "Bc": 16, "CAUSAL": CAUSAL}
run(attention_bias_kernel, **tensors, **outputs, **strides, **sizes, grid=(64 // 16, 2))

# %% [markdown]
# ## What to notice afterwards
#
# One kernel now serves every kind of bias, and no bias was ever expanded in memory. A stride of 0 saves memory, but no
# loads: a tile of the bias still has Br · Bc addresses. An H200 takes, with 4,096 tokens, 128 heads of 64 dimensions
# and a full bias:
#
# | | time |
# |---|---|
# | eager PyTorch | 14 ms |
# | PyTorch's fused kernel | 6.2 ms |
# | `attention_bias_kernel` | 2.1 ms |
# | p6, without a bias | 1.7 ms |
#
# A bias for each key is no faster than a full one, and sometimes slower, although it has 4,096 times fewer numbers.
# Probably too many programs ask for the same few lines of the L2 cache at once. A tuned version loads a shared row once
# for each tile. That raises the speed from 0.68–0.80 of p6's to 0.83–0.86.
#
# dQ is a sum over keys, dK and dV are sums over queries, and dB is a sum over heads. Each time, the summed axis becomes
# the loop, and the other axes become the grid. So programs share no sum. The price is traffic: the second kernel reads
# Q $T_c$ times, and the first one reads it once.
#
# ## Where to read on
#
# * [Where a bias goes, its gradient, and why a program owns a tile of it](../docs/background/bias.md).
# * O. Press, N. A. Smith and M. Lewis, [*Train Short, Test Long: Attention with Linear Biases Enables Input Length
#   Extrapolation*](https://arxiv.org/abs/2108.12409) (2021): ALiBi.
# * C. Raffel and others, [*Exploring the Limits of Transfer Learning with a Unified Text-to-Text
#   Transformer*](https://arxiv.org/abs/1910.10683) (2019): T5, whose layers share a bias learned for each distance.
# * J. Dong and others, [*Flex Attention: A Programming Model for Generating Optimized Attention
#   Kernels*](https://arxiv.org/abs/2412.05496) (2024): PyTorch's compiler writes such a kernel for a bias that is given
#   as a function.
