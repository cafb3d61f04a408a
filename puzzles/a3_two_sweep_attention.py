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
# Attention, without its largest matrix. It is your first kernel with heads, two products, and masks on both sides, but
# O is never rescaled. Take it before p5 to learn these first, and the rescaling of O afterwards.
#
# With a context of 16,384 tokens, each head has 268 million scores. Plain PyTorch writes them to memory, 0.5 GB in
# fp16, and reads them for the softmax. Then it writes as many weights, and reads these. Your kernel stores neither. It
# touches only Q, K, V and O, which are 2 MB each for a head of width 64.
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
# result. Here the rows are queries and the columns are keys. A tile of scores is not loaded, but computed as a product,
# as in a1.
#
# **Two passes.** The weights $p_{ij} = e^{s_{ij} - m_i} / l_i$ need $m_i$ and $l_i$, and these are known only when the
# last key has been seen. So pass 1 goes over all tiles of keys for $m_i$ and $l_i$ alone. Pass 2 goes over them again.
# Now each weight is final at once: it multiplies its tile of V, and O is the sum of these products. The scores were
# never stored, so pass 2 loads $K_j$ again and multiplies again.
#
# | name | shape |
# |---|---|
# | `Qi`, `Oi` | (Br, D) |
# | `Kj`, `Vj` | (Bc, D) |
# | `Sij`, `Pij` | (Br, Bc) |
# | `mi`, `li` | (Br,) |
#
# **In numbers.** Take one query and four keys in tiles of two. The scores are 1 3 | 2 5 as in p3, the values 10 20 | 30
# 40, one number each. After pass 1, $m = 5$ and $l = 1.20$ are final:
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
# If the four keys above were in a tile of 8, each of the 4 missing ones would add $e^{0 - 5} = 0.007$ to `l`. Then `l`
# would be 1.23 instead of 1.20, and O would be 36.07. Hide their scores in both passes. You do not need p3's guard:
# each tile has a key that exists, so the maximum is finite after the first tile.
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
# Elements of a row are adjacent. An offset can exceed $2^{31}$, which is too much for 32 bits. So the stub gives `head`
# 64 bits. Give them to rows, too, before you multiply by a stride: `queries[:, None].to(tl.int64) * q_row_stride`.
#
# ## The traffic bound
#
# Q is loaded **once**, and O stored **once**. With $T_r = \lceil n_q / B_r \rceil$ tiles of queries, K is loaded
# $2 T_r$ **times** and V $T_r$ **times**, one tile at a time. For each tile of scores you may make three products: the
# scores twice, and the one with V.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About 25 lines are missing. You know every `tl.` name that they need, and the second loop is mostly the first one
# again.

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
# tile of scores. `make trace PUZZLE=a3` draws which tiles each program visits, and when. To find a mistake, look at
# pass 1 first: are `mi` and `li` those of the example above?

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
# Begin with the load of `Qi`, before both loops, because both need it. Then write pass 1 as p4's first loop, over keys
# instead of columns. Three steps replace its load: load `Kj`, multiply, hide. Print `mi` after the loop.
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
# 2. Hide them in pass 1 again, but not in pass 2. What is O?
# 3. Do the same with `k[0, :, 0] -= 100`, which makes each score smaller by 100. What is O, and what should it be?
#
# <details><summary>Answers</summary>
#
# 1. Twelve keys that do not exist add $12 \cdot e^{-5} = 0.08$: `l` is 1.28 instead of 1.20, and O is 34.56.
# 2. 36.88. The extra weights are wrong, but each is multiplied by a row of zeros.
# 3. NaN: now `m` is -95, and $e^{0 + 95}$ is infinite. It should be 36.88, because a softmax does not change if all
#    inputs change by the same number.
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
# With Br = 128, K and V are read half as often. The L2 cache serves most of these reads, because K and V have only 0.5
# MB each.
#
# The second pass has a price: K is read twice, and a third of all products only repeat scores. It is there because the
# *weights* are final only after the last key. But the result is a sum with these weights, and a sum can be rescaled,
# like `l`. Then one pass is enough. p5 does that, and p6 does it with this kernel's loop over keys. For 16,384 tokens
# in 32 heads of width 64, an H200 takes:
#
# | eager PyTorch | this kernel | PyTorch's own FlashAttention | p6 |
# |---|---|---|---|
# | 33 ms | 12 ms | 7.2 ms | 6.6 ms |
#
# ## Where to read on
#
# * [Why attention needs one pass only](../docs/background/attention.md#why-attention-needs-one-pass-only): what comes
#   next, with its proof.
# * A. Vaswani et al., [*Attention Is All You Need*](https://arxiv.org/abs/1706.03762) (2017), section 3.2: scaled
#   dot-product attention, and why it has several heads.
# * M. N. Rabe and C. Staats, [*Self-attention Does Not Need O(n²) Memory*](https://arxiv.org/abs/2112.05682) (2021):
#   the scores need not be stored.
