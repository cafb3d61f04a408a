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
# # Puzzle p6: FlashAttention-2
#
# ## What you will build
#
# The attention of p5 with its loops exchanged. Many programs work on each head at the same time.
#
# A program owns one tile of queries and goes along the keys. O, `l` and `m` stay in *registers*, the memory that a
# program computes in, until they are finished. With `CAUSAL`, a query sees only keys up to its own position. (A
# language model predicts each word from the words before it.) Tiles that are completely hidden are not even loaded.
#
# ```
#                   keys:   K1,V1   K2,V2   K3,V3   K4,V4
#                         ┌───────┬───────┬───────┬───────┐
# program 0:  Q1          │   ────┼──▶ ╲  │       │       │
#                         ├───────┼───────┼───────┼───────┤
# program 1:  Q2          │   ────┼───────┼──▶ ╲  │       │
#                         ├───────┼───────┼───────┼───────┤
# program 2:  Q3          │   ────┼───────┼───────┼──▶ ╲  │
#                         └───────┴───────┴───────┴───────┘
# ╲      the diagonal: these tiles are masked
# empty: never loaded
# here n_q < n_k: positions are counted from the end
# ```
#
# <details><summary>If you come straight from p3</summary>
#
# | since p3 | what is new |
# |---|---|
# | [p4](p4_tiled_softmax.py) | A tile has rows and columns: `rows[:, None]` and `cols[None, :]` together give its offsets and its masks. |
# | | `m` and `l` are vectors with an entry for each row: they begin as `tl.full((8,), value, tl.float32)` and `tl.zeros((8,), tl.float32)`. Reductions take `axis=1`. |
# | [a1](a1_matmul.py) | `tl.dot(a, b)` multiplies two tiles of one type, and gives a tile of fp32. `tl.trans(b)` exchanges the sides of a tile. |
# | [p5](p5_flash_attention_1.py) | A score is `scale` times the dot product of a query and a key. The softmax of its scores weighs the rows of V, and their sum is the row of O. |
# | | If the maximum grows, that sum is rescaled as `l` is. So O needs one pass, and the weights are never stored. |
# | | A key past the end needs the score $-\infty$: a score of 0 would count. Convert the weights to `Vj.dtype` before the second product. |
#
# </details>
#
# ## The idea
#
# In PyTorch:
#
# ```python
# S = scale * q.float() @ k.float().mT                             # (heads, n_q, n_k): never stored
# if CAUSAL:
#     S = S.masked_fill(torch.ones(n_q, n_k).tril(n_k - n_q) == 0, -torch.inf)
# o, lse = S.softmax(dim=-1) @ v.float(), S.logsumexp(dim=-1)
# ```
#
# Write it in two halves, and check after each.
#
# ### Full: 60 points
#
# Leave `CAUSAL` alone for now.
#
# **Loops exchanged.** With the queries outside, each tile of O belongs to one program. O stays on the chip, so do not
# divide it in every iteration. Keep the undivided sum, rescale it like `l`, and divide once at the end (lines 9, 10 and
# 12 of algorithm 1 in the FlashAttention-2 paper):
#
# $$m_i^{new} = \max(m_i, \operatorname{rowmax} S_{ij}), \quad P_{ij} = e^{S_{ij} - m_i^{new}}, \quad
# \alpha = e^{m_i - m_i^{new}}$$
#
# $$l_i \leftarrow \alpha\, l_i + \operatorname{rowsum} P_{ij}, \qquad O_i \leftarrow \alpha\, O_i + P_{ij} V_j$$
#
# No two programs write to the same memory, so the grid has one program per tile of queries and per head.
#
# ![Two grids of three tiles of queries by four tiles of keys. Left, FlashAttention-1: visits 1 to 12 run down the columns; each pair of K and V is loaded once, Q, O, l and m go in and out at each visit. Right, FlashAttention-2: visits 1 to 4 run along each row; a row is one program, which loads Q once and stores O once; K and V are loaded at each visit.](../docs/figures/loop_orders.svg)
#
# *In numbers*, with the scores 1 3 | 2 5 and v = 10 20 | 30 40 of p5. After tile 1, $m = 3$ and $l = 1.1353$, and O
# holds the undivided sum 21.35. Tile 2 raises $m$ to 5, so $\alpha = 0.1353$ and $l = 1.2034$. O holds
# $0.1353 \cdot 21.35 + 41.49 = 44.38$. Divided once, at the end, it is $44.38 / 1.2034 = 36.88$.
#
# **One number for the backward pass.** p7 needs the final weights, which are divided by $l_i$:
# $p_{ij} = e^{s_{ij} - m_i} / l_i = e^{s_{ij} - \mathrm{LSE}_i}$. Here $\mathrm{LSE}_i = m_i + \log l_i$ is the
# logarithm of the sum of exponentials. Store LSE instead of `l` and `m`. In the example, it is
# $5 + \log 1.2034 = 5.185$. `tl.log` is the natural logarithm.
#
# ### Causal: 40 points
#
# `CAUSAL` is a constexpr, so `if CAUSAL:` costs nothing: the compiler keeps one branch.
#
# **Who sees what.** The last query sees every key, and each query before it sees one fewer. With
# $\text{off} = n_k - n_q$, query $i$ sees key $j$ if $j \le i + \text{off}$. In a tile on the diagonal, hidden scores
# become $-\infty$.
#
# ![Three grids of tiles of 4 by 4 with the staircase of the causal mask. With 12 queries and 12 keys, the tiles on the diagonal are cut by it, those above are skipped, those below are whole. With 10 queries and 16 keys the staircase begins six keys further right and cuts two tiles in each of the upper rows. With 14 queries and 8 keys, the first six queries see nothing, and the first row of tiles is skipped altogether.](../docs/figures/causal_tiles.svg)
#
# *In numbers:* if the last of the four keys above is hidden, tile 2 has the scores 2 and $-\infty$. The maximum stays
# 3, and P is $e^{2-3} = 0.3679$ and 0. Then $l = 1.1353 + 0.3679 = 1.5032$,
# $O = (21.35 + 0.3679 \cdot 30) / 1.5032 = 21.55$, and LSE is $3 + \log 1.5032 = 3.408$.
#
# **Where the loop ends.** Past the diagonal nothing is visible, so the loop ends after the last key that any query of
# the tile sees. Take 40 queries and 50 keys in tiles of 16: $\text{off}$ is 10. Program 1 owns queries 16 to 31. Query
# 31 sees the keys up to 41, so the end of the `range` is 42. The program visits the tiles that begin at 0, 16 and 32.
# `tl.minimum(a, b)` is the smaller of two numbers.
#
# **Queries that see nothing.** If $n_q > n_k$, the first $n_q - n_k$ queries see no key. Their maximum is $-\infty$, so
# both exponentials need p3's guard. `l` and O stay 0. Do not divide by this `l`: O must be 0, where PyTorch gives NaN.
# LSE must be $-\infty$, and $m + \log l$ already is.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q, shape `(heads, n_q, D)`; K and V, shape `(heads, n_k, D)`; fp32, fp16 or bf16 |
# | `o_ptr` | O, shape, strides and type of Q |
# | `lse_ptr` | LSE, shape `(heads, n_q)`, contiguous, fp32, natural logarithm |
# | `q_head_stride`, `q_row_stride` | elements from head to head and from row to row in Q and O |
# | `k_head_stride`, `k_row_stride` | the same in K and V |
# | `n_q`, `n_k`, `scale` | number of queries, number of keys, factor of the scores (positive) |
# | `D`, `Br`, `Bc` | width of a head; queries and keys of a tile; powers of two, at least 16 |
# | `CAUSAL` | whether queries see only keys up to their own position |
#
# ## The traffic bound
#
# Q is loaded **once**, O and LSE are stored **once**. K and V are loaded once for each tile of queries, and with
# `CAUSAL` only up to the last key that the tile sees. Loads, stores and products take one tile at a time.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About thirty-two lines are missing, most from p5.

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
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    # FILL IN (roughly 32 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

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
# In a terminal: `./check p6`. In a notebook: run the cells above, then the one below. `make step PUZZLE=p6` runs your
# kernel line by line: stop at the tile on the diagonal. To find a mistake, write 16 for every 64 in the cell under
# *Run*, and `CAUSAL = False`: a single tile. Then write 32 for two tiles of keys, 24 for one that is partly empty, and
# only then `CAUSAL = True`.

# %%
from checker.notebook import check, hint, solution, step, trace

check("p6")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=p6` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Start without `CAUSAL`. Load Qi once, set up Oi, li and mi, and go over all tiles of keys. Divide and store after the
# loop. The loop is the first loop of p4 with one more sum. What happens to Oi when the maximum grows?
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
# Oi starts as `tl.zeros((Br, D), tl.float32)`. In the loop, `shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)`,
# then `Pij = tl.exp(Sij - shift[:, None])`, `alpha = tl.exp(mi - shift)`, and
# `Oi = alpha[:, None] * Oi + tl.dot(Pij.to(Vj.dtype), Vj)`. After the loop come
# `Oi / tl.where(li == 0.0, 1.0, li)[:, None]` and `mi + tl.log(li)`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launches have one head, 64 queries, 64 keys, D = 16 and `Bc=16`. Write a guess in place of each
# `...`. Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `k_reads`: with `Br=16`, not causal, how often is each element of K read?
# * `k_reads_causal`: with `Br=16` and `CAUSAL`, how often is an element of K read, on average?
# * `k_reads_tall`: with `Br=32` and `CAUSAL`, how often is an element of K read, on average?
#
# In a terminal:
#
# ```
# make predict PUZZLE=p6 GUESS="k_reads=... k_reads_causal=... k_reads_tall=..."
# ```

# %%
from checker.notebook import predict

predict("p6", k_reads=..., k_reads_causal=..., k_reads_tall=...)

# %% [markdown]
# **Run.** The next cell is the second of these launches. Write your guesses down before you run it.
#
# 1. What share of the full traffic of K is left with `CAUSAL`, for `Br=16` and for `Br=32`? What share would be left
#    with 1024 queries and keys, in tiles of 16 by 16?
# 2. Take 40 queries and 50 keys in tiles of 16. How many programs does a head need, and where does the last one's loop
#    end? Where does the loop of program 0 end with 60 queries and 40 keys?
# 3. A tile that the diagonal does not cut is *whole*, and needs no mask. How many of the visited tiles are whole? And
#    with `Br=16`, `Bc=32`, or `Br=32`, `Bc=16`?
#
# <details><summary>Answers</summary>
#
# 1. 10 of 16 tiles, which is 62.5 %, and 6 of 8, which is 75 %: taller tiles hide less. Of 64 by 64 tiles, 1 + 2 + … +
#    64 = 2080 are left, which is 50.8 %.
# 2. 3 programs. Program 2 owns queries 32 to 47, and 40 to 47 do not exist. Its end is 50, the number of keys, and not
#    32 + 16 + 10 = 58. With 60 queries and 40 keys off is −20, and the end of program 0 is 0 + 16 − 20 = −4. That loop
#    has no iteration, and O is 0.
# 3. 6: all but the 4 on the diagonal. With `Bc=32`, 6 tiles are visited and 2 are whole. With `Br=32` the numbers are
#    the same. If $B_r > B_c$, the diagonal cuts several tiles of one row of tiles. If $B_r < B_c$, it cuts the same
#    tile of keys in several of them. Fast kernels have two loops: one over whole tiles without a mask, and one over the
#    others.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

CAUSAL, Br, Bc = True, 16, 16
random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
o, lse = np.zeros_like(q), np.zeros((1, 64), np.float32)
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "lse_ptr": lse}
strides = {"q_head_stride": 64 * 16, "q_row_stride": 16, "k_head_stride": 64 * 16, "k_row_stride": 16}
sizes = {"n_q": 64, "n_k": 64, "scale": 0.25, "D": 16, "Br": Br, "Bc": Bc, "CAUSAL": CAUSAL}
run(flash_attention_2_kernel, **tensors, **strides, **sizes, grid=(triton.cdiv(64, Br), 1))

# %% [markdown]
# ## What to notice afterwards
#
# p5 reads K and V once, and O $T_c$ times. p6 writes O once, and reads K and V $T_r$ times, once for each tile of
# queries. In elements that is about $2 n^2 d / B_r$ instead of p5's $3 n^2 d / B_c$. `make trace PUZZLE=p6` draws your
# order of tiles next to the order of your p5, and the tiles that you skip.
#
# The new order has two more advantages. K and V are only read, by many programs at about the same time, so the L2 cache
# serves most reads. And there are $T_r$ times as many programs to fill the GPU with.
#
# The inner loop no longer divides. On a GPU, one exponential or division costs as much as many multiplications of a
# matrix product. So FlashAttention-2 is also faster because it does less work other than matrix products.
#
# For 16,384 tokens in 32 heads of 64 dimensions, an H200 takes:
#
# | | full | causal |
# |---|---|---|
# | eager PyTorch | 33 ms | 70 ms (masking reads and writes all scores again) |
# | p5 | 80 ms | |
# | your kernel | 6.6 ms | 4.0 ms |
#
# ## Where to read on
#
# * [FlashAttention-2, LSE, causal tiles, queries that see no key](../docs/background/attention.md).
# * T. Dao, [*FlashAttention-2: Faster Attention with Better Parallelism and Work
#   Partitioning*](https://arxiv.org/abs/2307.08691) (2023): algorithm 1, whose line numbers the solution follows. (Its
#   line 10 misprints the factor that rescales O: it gives the inverse.)
# * M. N. Rabe and C. Staats, [*Self-attention Does Not Need O(n²) Memory*](https://arxiv.org/abs/2112.05682) (2021):
#   per query, constant memory is enough.
