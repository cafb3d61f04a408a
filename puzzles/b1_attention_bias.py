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
# A model that knows how far apart two words are adds a number to each score, a *bias*. At 4,096 tokens, with a bias
# for each head, query and key, eager PyTorch takes 14 ms on an H200 (128 heads of 64 dimensions), and the fused kernel
# that PyTorch has for it 6.2 ms. Puzzle p6 with three more lines takes 2.1 ms. Without a bias it was 1.7 ms.
#
# You begin with your own kernel of p6: copy its lines under the new signature, and it lacks only the bias. Then comes a
# second, shorter kernel, the gradient of a bias that all heads share.
#
# ![Left, two heads of three by four tiles of scores; a bias for each key is one row of numbers, and all rows of tiles in both heads point to it: its strides for heads and rows are 0. Right, one tile of dBias and the program that owns it: it goes over the same tile of scores in head 0, head 1 and head 2, adds up their dS, and stores the sum once.](../docs/figures/bias_tiles.svg)
#
# ## The idea
#
# In PyTorch, with the gradient of a bias of shape `(n_q, n_k)`, which is not causal:
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
# The bias is not scaled. It is finite, and has the type of Q. It is part of the scores, so it must be there before
# anything is hidden, before the maximum is taken, and in LSE.
#
# *In numbers*, with the lesson's example of p6: the scores 1 3 | 2 5 and v = 10 20 | 30 40. Let the bias be 2 0 | 1 -2.
# Now all four scores are 3. So $m = 3$ and $l = 4$, O is $100 / 4 = 25$ and not 36.88, and LSE is $3 + \log 4 = 4.386$
# and not 5.185.
#
# **One load, eight kinds of bias.** A bias has an address for each head, query and key:
#
# $$ \text{head} \cdot \text{head stride} + i \cdot \text{row stride} + j \cdot \text{column stride}. $$
#
# Any of these strides may be 0. A row stride of 0 means that all rows begin at the same place: the bias has a number
# for each key, and all queries share it. In PyTorch this is what `expand` gives, which copies nothing. The same line of
# code loads every kind of bias.
#
# | what the bias depends on | strides of heads, rows, columns | for instance |
# |---|---|---|
# | head, query and key | not 0 | a learned bias for each distance and head (T5) |
# | query and key | 0, not 0, not 0 | the same, shared by the heads |
# | key | 0, 0, 1 | keys that count for less; padding of a batch, as a large negative number |
# | head | 1, 0, 0 | a number for each head: it changes LSE, and not O |
#
# Do not assume that the column stride is 1 if it is not 0. A bias may be transposed, and then rows lie 1 apart.
#
# **The ends.** What is loaded is a tile of Br by Bc, so its mask has two sides: queries that exist, and keys that
# exist.
#
# ### The gradient of the bias
#
# Puzzle p7 ends with $dS_{ij} = P_{ij} (dP_{ij} - \delta_i)$, the gradient of a score. A score is the scaled product
# plus the bias. If a number of the bias grows by 1, so does the score. So $dB_{ij}$ is $dS_{ij}$ itself, and `scale` is
# no factor of it.
#
# If the heads share the bias, a number of it is in one score of *each* head, and what they pass back adds up:
#
# $$ dB_{ij} = \sum_{\text{heads}} P_{ij} \, (dP_{ij} - \delta_i), \qquad P_{ij} = e^{S_{ij} - \mathrm{LSE}_i}, \qquad
# dP = dO\, V^T. $$
#
# **Who owns what.** The grid is (tiles of queries, tiles of keys). A program owns its tile of dB, and the heads are a
# loop inside it. The tile of the bias is the same in every head, and is loaded before the loop.
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
# Head 0 is the example of p7. A row of dB sums to 0, as a row of dS does.
#
# **Types.** P and dS go into no product here. They stay fp32, and so does dB, also in memory.
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
# The grid of `attention_bias_kernel` is (tiles of queries, heads), that of `dbias_kernel` (tiles of queries, tiles of
# keys). dB belongs to no head, and may have more than $2^{31}$ elements: so `queries` and `keys` have 64 bits there. A
# loop counter has 32: convert the head yourself. In the first kernel, convert what meets a stride of the bias.
#
# ## The traffic bound
#
# Q, K, V, O and LSE as in p6. The bias is loaded **once for each tile that is visited**, and in a tile a number
# that is shared counts once. With $T_r$ tiles of queries, $T_c$ tiles of keys and $H$ heads, that makes
#
# | a bias for each | loads of it, if not causal | 32 heads, 4096 queries and keys, tiles of 64 |
# |---|---|---|
# | head, query and key | $H \, n_q \, n_k$ | 537 million |
# | key | $H \, T_r \, n_k$ | 8.4 million |
# | query | $H \, n_q \, T_c$ | 8.4 million |
# | head | $H \, T_r \, T_c$ | 0.1 million |
#
# With D = 64, a full bias is as much traffic as K, and no other program wants it.
#
# In `dbias_kernel`, Q, dO, LSE and delta are loaded **$T_c$ times**, K and V **$T_r$ times**, the bias **once**, and dB
# is stored **once**. Each visit may cost two products.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# The first kernel begins with your own accepted kernel of p6: copy all lines of its body. About three lines are
# new, and one changes.
#
# The second one has about nineteen lines. Most of them stand in your p7: take `dq_kernel`, and leave out its loop
# over keys.

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
# tile of the bias. The first kernel alone earns 55 points; *the gradient of the bias* has 20, and the other 25 are for
# both.

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
# Write the address of one number of the bias on paper, for a head, a query and a key. Which of its three parts is the
# same for the whole program, which differs from row to row of a tile, and which from column to column?
#
# </details>
# <details><summary>2: the tile of the bias</summary>
#
# `queries[:, None].to(tl.int64) * bias_row_stride + keys[None, :].to(tl.int64) * bias_col_stride` is a tile of Br by Bc
# offsets. Its mask is `(queries[:, None] < n_q) & (keys[None, :] < n_k)`, with `other=0.0`. The part of the head is
# added to `bias_ptr` once. In the second kernel, load the tile before the loop over heads.
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
# **Predict.** The launches have two heads, 64 queries, 64 keys, D = 16 and tiles of 16 by 16, and are not causal. Write
# a guess in place of each `...`. Once your kernels are accepted, they answer. Guesses are not graded.
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
# **Run.** The next cell is the first kernel with a bias for each head: two numbers, with the strides 1, 0 and 0.
#
# 1. How many loads of the bias does the report count? And with a bias for each key, `bias = np.zeros(64, np.float32)`
#    and the strides 0, 0 and 1?
# 2. **ALiBi** (Press and others, 2021) takes away a little for each step between query and key, and each head has a
#    slope of its own: $B_{ij} = -\text{slope} \cdot (i + n_k - n_q - j)$, of causal attention. As a tensor, that is a
#    full bias. But it can be computed from one number for each head, and that is what `Bij` holds in this cell. Change
#    one line of your kernel and run the cell with `CAUSAL = True`: how many numbers are loaded now, and how many would
#    a full bias have? (The judge does not accept this kernel, so change the line back.)
#
# <details><summary>Answers</summary>
#
# 1. 32 of the bias for each head, one for each visit: 2 heads, 4 tiles of queries, 4 of keys. 512 of the bias for each
#    key: 16 for each visit.
# 2. `Bij = -Bij * (queries[:, None] + offset - keys[None, :])`, after the load. With `CAUSAL` 20 of the 32 tiles are
#    visited, so 20 numbers are loaded. A full bias would load 20 · 256 = 5,120. Loaded once, before the loop over keys,
#    it would be 8.
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
# One kernel now serves every kind of bias, and no bias was ever written out in full. What a stride of 0 saves is memory,
# and not loads: a tile of the bias still has Br · Bc addresses. On an H200, a bias for each key is no faster than one
# for each query and key, and sometimes slower, although it has 4,096 times fewer numbers. Probably too many programs
# ask for the same few lines of the L2 cache at once. A step of the speed track loads a row that all queries share once
# for each tile. With a bias for each key, it has 0.83 to 0.86 of p6's speed, where the solution has 0.68 to 0.80.
#
# The second kernel is the reason why the two loops of p7 have an order. dQ is a sum over keys, dK and dV are sums
# over queries, and dB is a sum over heads. Each time, what is summed over becomes the loop, and what is left becomes
# the grid. So no sum is ever shared between programs. The price is in the other column: Q is read $T_c$ times, although
# the first kernel reads it once.
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
