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
# # Puzzle a3: attention in two passes
#
# ## What you will build
#
# Attention, without its largest matrix: your first kernel with two products, masks on both sides, and heads, and with
# nothing in it that is rescaled. Take it before p5 if you would rather learn these first, and the rescaling after.
#
# A context of 16,384 tokens has 268 million scores in each head, 0.5 GB in fp16. Plain PyTorch writes them to memory
# and reads them for the softmax. Then it writes as many weights, and reads these. Your kernel stores neither. All that
# it touches is Q, K, V and O: 2 MB each, for a head of width 64. With 32 such heads, an H200 takes 12 ms for it, and 33
# ms for eager PyTorch.
#
# ```
#                  K1,V1    K2,V2    K3,V3
#                ┌────────┬────────┬────────┐
# program 0, Q1  │ S11 ───┼▶ S12 ──┼▶ S13 ──┼─▶ m1, l1   pass 1
#                │ S11 ───┼▶ S12 ──┼▶ S13 ──┼─▶ O1       pass 2
#                ├────────┼────────┼────────┤
# program 1, Q2  │ S21 ───┼▶ S22 ──┼▶ S23 ──┼─▶ m2, l2   pass 1
#                │ S21 ───┼▶ S22 ──┼▶ S23 ──┼─▶ O2       pass 2
#                └────────┴────────┴────────┘
# pass 1 reads K, and pass 2 reads K again, and V
# the same for every head: a grid of (query tiles, heads)
# ```
#
# <details><summary>What attention is: unfold this if you have not done a2</summary>
#
# <!-- attention -->
# Each row of Q is a *query*. Each row of K is a *key*, and the same row of V is its *value*. A *score* says how well a
# query fits a key: their dot product, times a factor `scale` (often $1/\sqrt{d}$, which keeps scores from growing with
# the width $d$ of a row). A softmax turns the scores of one query into *weights*, and its row of O is the mean of all
# values with these weights:
#
# $$ s_{ij} = \text{scale} \cdot q_i \cdot k_j, \qquad m_i = \max_j s_{ij}, \qquad l_i = \sum_j e^{s_{ij} - m_i}, \qquad
# o_i = \frac{1}{l_i} \sum_j e^{s_{ij} - m_i}\, v_j. $$
#
# A model does this many times side by side, each time with matrices of its own: each of these is a *head*. Queries of
# different heads, and different queries of one head, have nothing to do with each other.
# <!-- /attention -->
#
# </details>
#
# ## The idea
#
# In PyTorch:
#
# ```python
# def attention(q, k, v, scale):               # (heads, n_q, D), (heads, n_k, D), (heads, n_k, D)
#     s = scale * (q @ k.transpose(1, 2))      # scores, (heads, n_q, n_k)
#     p = torch.softmax(s, dim=-1)             # weights: each row sums to 1
#     return p @ v                             # O, (heads, n_q, D)
# ```
#
# Nearly all of it is p4. There, a program moved along the columns of its rows twice: once for `m` and `l`, once for the
# result. Here the rows are queries, the columns are keys, and a tile of scores is not loaded but multiplied, as in a1.
#
# **Two passes.** The weights $p_{ij} = e^{s_{ij} - m_i} / l_i$ need $m_i$ and $l_i$, and these are known only when the
# last key has been seen. So pass 1 goes over all tiles of keys for $m_i$ and $l_i$ alone. Pass 2 goes over them again,
# and now each weight is final as soon as its score is: it multiplies its tile of V, and O is the sum of these products.
# The scores were never stored, so pass 2 loads $K_j$ again and multiplies again.
#
# | name | shape |
# |---|---|
# | `Qi`, `Oi` | (Br, D) |
# | `Kj`, `Vj` | (Bc, D) |
# | `Sij`, `Pij` | (Br, Bc) |
# | `mi`, `li` | (Br,) |
#
# **In numbers.** One query, four keys in tiles of two, with the scores 1 3 | 2 5 of p3 and the values 10 20 | 30 40,
# one number each. After pass 1, $m = 5$ and $l = 1.20$, and neither changes any more:
#
# ```
# pass 2, tile 1:   p = e^(1-5)/l, e^(3-5)/l = 0.0152, 0.1125
#                   O = 0.0152 · 10 + 0.1125 · 20 = 2.40
#         tile 2:   p = e^(2-5)/l, e^(5-5)/l = 0.0414, 0.8310
#                   O = 2.40 + 0.0414 · 30 + 0.8310 · 40 = 36.88
# ```
#
# ![One tile of queries, Q1, goes over two tiles of keys twice. Pass 1 loads K1, makes the scores 1 3 and has m = 3 and l = 1.14; with K2 and the scores 2 5 they become 5 and 1.20, which are final. Pass 2 loads K1 and V1, makes the scores again, has the weights .015 .112 and O = 2.40; with K2 and V2 the weights are .041 .831, and O = 36.88 is stored.](../docs/figures/two_passes.svg)
#
# <!-- heads -->
# **Where a head begins.** A tensor of three dimensions needs two strides. Element $(h, i, c)$ of Q lies $h \cdot
# \text{head stride} + i \cdot \text{row stride} + c$ elements after the first one. Do not assume that the head stride
# is $n_q \cdot D$: a model often computes all heads as one matrix with heads · D columns, and then head 1 begins only D
# elements after head 0. Q and O share their strides, and K and V share theirs.
#
# **The ends.** Neither $n_q$ nor $n_k$ need be a multiple of a tile. A *query* past the end is loaded as 0, and what
# becomes of it does not matter, as long as it is not stored. A *key* past the end is loaded as 0 as well, but then its
# score is 0, and $e^0 = 1$ counts. Which score has the exponential 0? Hide the score, and not only V's row: if
# all scores of a query are near −100, the weight $e^{0 + 100}$ is infinite in fp32, and infinity times 0 is NaN.
#
# **Types.** `tl.dot` gives fp32, so scores, `mi`, `li` and `Pij` are fp32, and so is the sum `Oi`, until it is stored.
# The product with `Vj` needs two tiles of one type: convert `Pij` to `Vj.dtype`.
# <!-- /heads -->
#
# If the four keys above lay in a tile of 8, each of the 4 missing ones would add $e^{0 - 5} = 0.007$ to `l`: 1.23
# instead of 1.20, and O would be 36.07. The maximum is never $-\infty$ after the first tile, because each tile has at
# least one key that exists. So p3's guard is not needed here.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q_ptr` | pointer to the first element of Q, shape `(heads, n_q, D)`, fp32, fp16 or bf16 |
# | `k_ptr`, `v_ptr` | the same of K and V, shape `(heads, n_k, D)`, of Q's type |
# | `o_ptr` | the same of O, with the shape, strides and type of Q |
# | `q_head_stride`, `q_row_stride` | elements from head to head, and from row to row, in Q and O |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `n_q`, `n_k` | number of queries and of keys, at least 1 |
# | `scale` | factor of the scores: positive, not always $1/\sqrt{D}$ |
# | `D` | width of a head, a power of two, at least 16 |
# | `Br`, `Bc` | queries and keys of a tile, powers of two, at least 16 |
#
# Neighbours within a row are 1 element apart. An offset can pass $2^{31}$, where 32 bits end. So `head` has 64 bits in
# the stub, and so have rows where they meet a stride: `queries[:, None].to(tl.int64) * q_row_stride`.
#
# ## The traffic bound
#
# Q is loaded **once**, and O stored **once**. With $T_r = \lceil n_q / B_r \rceil$ tiles of queries, K is loaded $2
# T_r$ **times** and V $T_r$ **times**, a tile at a time. Each visit to a tile may cost three products: the scores
# twice, and the one with V.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About 25 lines are missing. They need no `tl.` name that you have not used before, and the second loop is mostly the
# first one again.

# %%
@triton.jit
def two_sweep_attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    # FILL IN (roughly 25 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def two_sweep_attention(q, k, v, scale):
    """Attention of (heads, n, D) tensors on the GPU."""
    import torch

    heads, n_q, d = q.shape
    o = torch.empty_like(q)
    two_sweep_attention_kernel[(triton.cdiv(n_q, 64), heads)](
        q, k, v, o,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        n_q, k.shape[1], scale,
        D=d, Br=64, Bc=64,
    )  # fmt: skip
    return o


# %% [markdown]
# ## How to check
#
# In a terminal: `./check a3`. In a notebook: run the cells above, then the one below. `make step PUZZLE=a3` shows each
# tile of scores; `make trace PUZZLE=a3` draws which tiles each program visits, and when. To find a mistake in
# attention, look at pass 1 first: are `mi` and `li` those of the table above?

# %%
from checker.notebook import check, hint, solution, step, trace

check("a3")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=a3` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Begin with the load of `Qi`, before both loops, because both need it. Then write pass 1 as p4's first loop, over
# keys instead of columns. Three steps take the place of its load: load `Kj`, multiply, hide. Print `mi` after the loop.
#
# </details>
# <details><summary>2: the tiles and their masks</summary>
#
# `keys = start_k + tl.arange(0, Bc)`. `Kj` and `Vj` have the offsets
# `head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]` and the mask
# `keys[:, None] < n_k`. Q and O have the offsets of the stub, and the same mask with `queries`. In the scores, keys run
# along axis 1: there the comparison is `keys[None, :] < n_k`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Both loops: `Sij = scale * tl.dot(Qi, tl.trans(Kj))`, then `Sij = tl.where(keys[None, :] < n_k, Sij, -float("inf"))`.
# Pass 1: `li = tl.exp(mi - mi_new) * li + tl.sum(tl.exp(Sij - mi_new[:, None]), axis=1)`, then `mi = mi_new`. Pass 2:
# `Pij = tl.exp(Sij - mi[:, None]) / li[:, None]`, then `Oi += tl.dot(Pij.to(Vj.dtype), Vj)`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launches have one head, 64 queries, 64 keys, D = 16 and Br = 16. Write a guess in place of each
# `...`. Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `k_reads`: with Bc = 16, how often is each element of K read?
# * `v_reads`: with Bc = 16, how often is each element of V read?
# * `k_reads_wide`: with Bc = 32, how often is each element of K read?
#
# In a terminal:
#
# ```
# make predict PUZZLE=a3 GUESS="k_reads=... v_reads=... k_reads_wide=..."
# ```

# %%
from checker.notebook import predict

predict("a3", k_reads=..., v_reads=..., k_reads_wide=...)

# %% [markdown]
# **Run.** The next cell is the first of these launches. With `Br` 32, how often are Q, K and V read?
#
# <details><summary>Answer</summary>
#
# There are 2 programs instead of 4, so K is read 4 times and V twice. Q is read once in any case.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

Br, Bc = 16, 16
random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": np.zeros_like(q)}
strides = {"q_head_stride": 64 * 16, "q_row_stride": 16, "k_head_stride": 64 * 16, "k_row_stride": 16}
sizes = {"n_q": 64, "n_k": 64, "scale": 0.25, "D": 16, "Br": Br, "Bc": Bc}
run(two_sweep_attention_kernel, **tensors, **strides, **sizes, grid=(64 // Br, 1))

# %% [markdown]
# The next cell is the example above, in a tile of 16 keys: 4 of them exist. Its O is 36.88.
#
# 1. Do not hide the scores in pass 1. What is `l` now, and what is O?
# 2. Hide them in pass 1 again, and not in pass 2. What is O?
# 3. The same, with `k[0, :, 0] -= 100`, which makes each score smaller by 100. What is O, and what should it be?
#
# <details><summary>Answers</summary>
#
# 1. Twelve keys that do not exist add $12 \cdot e^{-5} = 0.08$: `l` is 1.28 instead of 1.20, and O is 34.56.
# 2. 36.88: wrong weights, but each is multiplied with a row of zeros.
# 3. Not a number: now `m` is -95, and $e^{0 + 95}$ is infinite. It should be 36.88, because a softmax does not
#    change if all of its inputs do by the same number.
#
# </details>

# %%
q, k, v = np.zeros((1, 1, 16), np.float32), np.zeros((1, 4, 16), np.float32), np.zeros((1, 4, 16), np.float32)
q[0, 0, :2] = 2, 2
k[0, :, :2] = [[1, 0], [1, 2], [2, 0], [3, 2]]
v[0, :, 0] = 10, 20, 30, 40
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": np.zeros_like(q)}
strides = {"q_head_stride": 16, "q_row_stride": 16, "k_head_stride": 64, "k_row_stride": 16}
sizes = {"n_q": 1, "n_k": 4, "scale": 0.5, "D": 16, "Br": 16, "Bc": 16}
run(two_sweep_attention_kernel, **tensors, **strides, **sizes, grid=(1, 1))["o_ptr"][0, 0, 0]

# %% [markdown]
# ## What to notice afterwards
#
# For one head with $n_q = n_k = 4096$, D = 64 and Br = 64, in millions of elements:
#
# | | Q | K | V | O | S and P, written and read | all |
# |---|---|---|---|---|---|---|
# | plain attention | 0.3 | 0.3 | 0.3 | 0.3 | 67.1 | 68.2 |
# | two passes | 0.3 | 33.6 | 16.8 | 0.3 | – | 50.9 |
# | p6, one pass | 0.3 | 16.8 | 16.8 | 0.3 | – | 34.1 |
#
# With Br = 128, the reads of K and V are half of that, and the L2 cache serves most of them: K and V have only 0.5 MB
# each.
#
# The second pass has a price: K is read twice, and a third of all products are scores that were known before. It is
# there because the *weights* are final only after the last key. But nobody has asked for the weights, only for the
# values' sum with them, and a sum can be rescaled, as `l` was. Then one pass is enough. p5 does that, and p6 does it
# with this kernel's loop over keys: 6.6 ms on an H200 where this kernel takes 12 ms, and PyTorch's own FlashAttention
# 7.2 ms.
#
# ## Where to read on
#
# * [Why attention needs one pass only](../docs/background/attention.md#why-attention-needs-one-pass-only): what comes
#   next, with its proof.
# * A. Vaswani et al., [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762) (2017), section 3.2: scaled
#   dot-product attention, and why it has several heads.
# * M. N. Rabe and C. Staats, [*Self-attention Does Not Need O(n²) Memory*](https://arxiv.org/abs/2112.05682) (2021):
#   the scores need not be stored.
