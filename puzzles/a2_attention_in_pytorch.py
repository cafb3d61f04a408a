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
# # Puzzle a2: attention in PyTorch, by tiles
#
# ## What you will build
#
# FlashAttention in PyTorch: the algorithm itself, without a GPU and without Triton. Take it before p5 or p6 if you want
# to see the algorithm before its kernel. For 1024 tokens, plain attention keeps more than two million numbers at once,
# and your function about 22,000. Twice the length makes four times as many for plain attention, and twice as many for
# yours.
#
# ![Areas to one scale. Plain attention: two squares of 1024 by 1024 numbers, S and P, and a thin strip, O; 2,113,536 numbers. By tiles: the thin strips O and LSE, four tiny squares of 32 by 32 and a tile of O; 22,208 numbers.](../docs/figures/alive.svg)
#
# ```
#           K1,V1    K2,V2    K3,V3    K4,V4
#         ┌────────┬────────┬────────┬────────┐
#    Q1   │  S11 ╲ │   ·    │   ·    │   ·    │ ──▶ O1, LSE1
#         ├────────┼────────┼────────┼────────┤
#    Q2   │  S21 ──┼▶ S22 ╲ │   ·    │   ·    │ ──▶ O2, LSE2
#         ├────────┼────────┼────────┼────────┤
#    Q3   │  S31 ──┼▶ S32 ──┼▶ S33 ╲ │   ·    │ ──▶ O3, LSE3
#         ├────────┼────────┼────────┼────────┤
#    Q4   │  S41 ──┼▶ S42 ──┼▶ S43 ──┼▶ S44 ╲ │ ──▶ O4, LSE4
#         └────────┴────────┴────────┴────────┘
#    one tile of scores after the other;
#    each is used up before the next is made
#    ╲  cut by the causal mask
#    ·  hidden by it: not computed at all
# ```
#
# ## What attention is
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
# Here Q, K and V also hold a batch of sequences. `@` multiplies all their matrices at once, so you need no loop over
# heads. The checker compares your results with this function:
#
# ```python
# def attention(q, k, v, scale, causal):            # (batch, heads, n_q, d), and two of (batch, heads, n_k, d)
#     n_q, n_k = q.shape[2], k.shape[2]
#     S = scale * (q @ k.transpose(2, 3))           # scores, (batch, heads, n_q, n_k)
#     if causal:
#         S = S.masked_fill(torch.arange(n_k) > torch.arange(n_q)[:, None] + n_k - n_q, -float("inf"))
#     return torch.softmax(S, dim=3) @ v, torch.logsumexp(S, dim=3)     # O, and LSE
# ```
#
# ## The idea
#
# **By tiles.** From p3 you know how to keep `m` and `l` while a row comes in pieces. When the maximum grows, the old
# `l` is multiplied by $\alpha = e^{m - m_{new}}$. The sum in $o_i$ has the same exponentials as $l_i$. So keep it in
# the same way, with the same factor:
#
# $$ l \leftarrow \alpha\, l + \operatorname{rowsum} P, \qquad O \leftarrow \alpha\, O + P V, \qquad
# P = e^{S - m_{new}}. $$
#
# Write a loop over tiles of Br queries, and in it one over tiles of Bc keys. Divide O by $l$ once, after the inner
# loop.
#
# **In numbers.** Take one query with the scores 1 3 | 2 5 of p3, in tiles of two keys. The values are 10 20 | 30 40,
# one number each.
#
# ```
# tile 1:   m = 3   P = e^(1-3), e^(3-3) = 0.135, 1      l = 1.135
#           O = 0.135 · 10 + 1 · 20 = 21.35
# tile 2:   m = 5   alpha = e^(3-5) = 0.135
#           P = e^(2-5), e^(5-5) = 0.050, 1
#           l = 0.135 · 1.135 + 1.050 = 1.203
#           O = 0.135 · 21.35 + 0.050 · 30 + 1 · 40 = 44.38
# finally:  O = 44.38 / 1.203 = 36.88
#           LSE = 5 + log(1.203) = 5.185
# ```
#
# **LSE** $= m + \log l$ is the logarithm of $\sum_j e^{s_{ij}}$. From this one number, the backward pass computes the
# weights again, as $e^{s_{ij} - LSE_i}$.
#
# **The causal mask.** A language model predicts each word from the words before it. With `causal`, the queries are the
# *last* $n_q$ of $n_k$ positions, and none sees a position after its own. With more queries than keys, the same formula
# says who sees what:
#
# $$ \text{query } i \text{ sees key } j \text{ exactly if } j \le i + n_k - n_q. $$
#
# ```
#            key 0  1  2  3  4
# query 0        ×  ×  ×  ·  ·   0 + 5 - 3 = 2
# query 1        ×  ×  ×  ×  ·
# query 2        ×  ×  ×  ×  ×   the last query sees all keys
# ```
#
# A hidden score is $-\infty$, because $e^{-\infty} = 0$. Hide the last of the four keys above: tile 2 has the scores 2
# and $-\infty$. Then m stays 3, alpha is 1, and O is $(21.35 + 0.368 \cdot 30) / 1.503 = 21.55$. A tile that is
# completely hidden changes nothing, and must not be computed. What is the last key that the tile of queries beginning
# at `start_q` can see?
#
# **Queries that see no key.** With more queries than keys, the first $n_q - n_k$ see nothing. Their sums are empty: O
# is 0, and LSE is $\log 0 = -\infty$. While the maximum is $-\infty$, p3's guard helps. At the end, do not divide 0 by
# 0.
#
# **The ends.** The last tiles may be shorter. You need no mask, because a slice stops where its tensor stops. With 70
# keys, `k[:, :, 64:96]` has 6. But `torch.arange` does not stop there. Make every tensor for a tile as long as that
# tile.
#
# | word | what it does |
# |---|---|
# | `x.amax(dim=3, keepdim=True)`, `x.sum(dim=3, keepdim=True)` | leave an axis of length 1, which broadcasts |
# | `torch.zeros_like(x)`, `torch.full_like(x, value)` | have the shape and the type of `x` |
# | `torch.maximum(x, y)`, `torch.where(condition, 0.0, x)` | choose entry by entry |
# | `torch.exp(x)`, `torch.log(x)` | the natural ones |
#
# You have loops, `if`, arithmetic, slices, and the functions and methods of `torch` that compute with tensors. [The
# guide](../docs/guide.md#what-a-function-of-pytorch-may-use) lists them all, without `scaled_dot_product_attention` and
# the like, which you build. An `if` on a tensor's value is allowed, a few times for each product.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q` | Q, shape `(batch, heads, n_q, d)`, fp32 or fp64 |
# | `k`, `v` | K and V, shape `(batch, heads, n_k, d)`, of Q's type |
# | `scale` | factor of the scores: a positive number, not always $1/\sqrt{d}$ |
# | `causal` | whether queries see no key after their own position |
# | `Br`, `Bc` | queries and keys of a tile: any numbers, at least 1 |
#
# The function returns a tuple: O, with the shape and the type of `q`, and LSE, `(batch, heads, n_q)`, of the same type.
# The inputs must not be changed. They may be slices or transposed views of larger tensors, which are not contiguous. So
# `.view` may fail, where `.reshape` copies.
#
# ## Memory and work
#
# The checker watches every operation. These are the bounds, with $B$ sequences and $H$ heads:
#
# * **One tensor** has at most $B H \cdot \max(n_q d,\; n_k d,\; B_r B_c)$ numbers: an input, an output or a tile of
#   scores. A strip of Br queries by all keys is too much.
# * **Alive at once** are at most: twice the numbers of all outputs, plus $n_q + n_k$ numbers, plus 12 tiles for each
#   head. The largest of $B_r B_c$, $B_r d$ and $B_c d$ counts as a tile here. You need far fewer, but you may not keep
#   all tiles in a list.
# * **Multiply-adds** in matrix products: two products for each tile of scores that is not completely hidden.

# %%
import torch

# %% [markdown]
# ## Your turn
#
# About 24 lines are missing. The last one returns O and LSE. Both exist from the start, and each tile of queries fills
# in its rows.

# %%
def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    O = torch.zeros_like(q)
    LSE = torch.zeros_like(q[..., 0])
    # FILL IN (roughly 24 lines)


# %% [markdown]
# ## How it is called
#
# It is a function like any other, and the checker calls it with many shapes. You can call it, too:

# %%
def flash_attention(q, k, v, causal=False):
    """Attention of (batch, heads, n, d) tensors, in tiles of 32 queries by 32 keys."""
    O, _ = flash_attention_forward(q, k, v, q.shape[3] ** -0.5, causal, 32, 32)
    return O


# %% [markdown]
# ## How to check
#
# In a terminal: `./check a2`. In a notebook: run the cells above, then the one below. `make step PUZZLE=a2` runs your
# function line by line. Watch mi when a tile brings a new maximum. To find a mistake, begin with one tile (`Br` and
# `Bc` as long as Q and K). Then take two, then a short one at the end, and `causal` last.

# %%
from checker.notebook import check, hint, solution, step, trace

check("a2")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=a2` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Forget `causal` at first. Write a loop over `start_q`, and in it one over `start_k`. A tile is a slice of axis 2, a
# short one at the end. Which names have one number for each query? Give them the shape (batch, heads, Br, 1), and they
# broadcast everywhere. `Qi[..., :1]` has this shape.
#
# </details>
# <details><summary>2: the mask and the end of the loop</summary>
#
# A tile of queries is `q[:, :, start_q : start_q + Br]`. Its positions are
# `queries = torch.arange(start_q, start_q + Qi.shape[2])`, and `keys` likewise. A score is hidden where
# `keys > queries[:, None] + n_k - n_q`. The last query that a tile can have is `start_q + Br - 1`, and it sees the
# most. So the end of the inner loop is `min(n_k, start_q + Br + n_k - n_q)`. If that is negative, the loop has no
# iteration, and O and LSE come from the values that were set before it.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# The scores: `Sij = scale * (Qi @ Kj.transpose(2, 3))`, then `Sij = Sij.masked_fill(hidden, -float("inf"))`. The guard:
# `shift = torch.where(mi_new == -float("inf"), 0.0, mi_new)`, and subtract `shift` in both exponentials. After the
# inner loop: `O[:, :, start_q : start_q + Br] = Oi / torch.where(li == 0, 1.0, li)`, and for LSE
# `(mi + torch.log(li))[..., 0]`. The logarithm of 0 is $-\infty$, as it should be.
#
# </details>
#
# ## Experiments
#
# **Predict.** The calls have 256 keys, one head, d = 16, Br = Bc = 32, and `causal`. Write a guess in place of each
# `...`. Once your function is accepted, it answers. Guesses are not graded.
#
# * `tiles`: 256 queries. How many of the 8 by 8 tiles of scores are computed?
# * `tiles_late`: 128 queries. How many of the 4 by 8 tiles of scores are computed?
# * `largest`: 256 queries. How many numbers are in the largest tensor that your function makes? All scores would be 256
#   · 256 = 65,536.
#
# In a terminal:
#
# ```
# make predict PUZZLE=a2 GUESS="tiles=... tiles_late=... largest=..."
# ```

# %%
from checker.notebook import predict

predict("a2", tiles=..., tiles_late=..., largest=...)

# %% [markdown]
# **Run.** The next cell counts the multiply-adds of your function, and divides them by those of one tile. How many
# tiles are computed with Br = Bc = 64? What share of all scores is that, and what was the share before?
#
# <details><summary>Answer</summary>
#
# 1 + 2 + 3 + 4 = 10 of 16 tiles, which is 62.5 %. Before, it was 36 of 64, which is 56 %. Smaller tiles follow the
# diagonal more closely.
#
# </details>

# %%
from torch.utils.flop_counter import FlopCounterMode

n_q, n_k, Br, Bc = 256, 256, 32, 32
q, k, v = (torch.randn(1, 1, n, 16) for n in (n_q, n_k, n_k))
with FlopCounterMode(display=False) as counter:
    flash_attention_forward(q, k, v, scale=0.25, causal=True, Br=Br, Bc=Bc)
counter.get_total_flops() / 2 / (2 * Br * Bc * 16)  # a multiply-add is two operations, and a tile has two products

# %% [markdown]
# The next cell is the example with the scores 1 3 | 2 5. Its O is 36.88, and its LSE is 5.185.
#
# 1. With `Bc = 1`, or `Bc = 4`, what changes?
# 2. Multiply `k` by 100, so that the scores are 100 300 | 200 500. What are O and LSE, and why is nothing infinite?
# 3. Make six copies of the query, two more than there are keys: `q.repeat(1, 1, 6, 1)`, and `causal=True`. Which
#    queries see no key? What do query 2 and query 5 get?
#
# <details><summary>Answers</summary>
#
# 1. Nothing, except the last digits.
# 2. O is 40 and LSE is 500: the largest score is subtracted before any exponential, and $e^{-200}$ rounds to 0 in fp32.
# 3. With six queries and four keys, queries 0 and 1 see none: O is 0, and LSE is $-\infty$. Query 2 sees the first key
#    alone, so its O is 10 and its LSE is 1. Query 5 sees all keys: 36.88.
#
# </details>

# %%
q = torch.ones(1, 1, 1, 1)
k = torch.tensor([1.0, 3.0, 2.0, 5.0]).reshape(1, 1, 4, 1)
v = torch.tensor([10.0, 20.0, 30.0, 40.0]).reshape(1, 1, 4, 1)
flash_attention_forward(q, k, v, scale=1.0, causal=False, Br=2, Bc=2)

# %% [markdown]
# ## What to notice afterwards
#
# No line of your function needed a whole row of scores. Yet the softmax is exact: it is the same sum in another order.
#
# | 256 queries and keys, d = 16, tiles of 32 by 32 | alive at once | multiply-adds | causal |
# |---|---|---|---|
# | plain attention | 135,168 | 2,097,152 | 2,097,152 |
# | all tiles in a list | 72,960 | 2,097,152 | 1,179,648 |
# | the solution | 9,152 | 2,097,152 | 1,179,648 |
# | allowed | 21,504 | 2,097,152 | 1,179,648 |
#
# The tiles of queries are independent. On a GPU, each of them can be a program of its own. A slice becomes a load with
# a mask, `@` becomes `tl.dot`, and `mi`, `li` and `Oi` stay on the chip. That is p6. PyTorch itself gains no time,
# because every tile goes to memory and back between two operations. The kernel does: for 16,384 tokens, causal, in 32
# heads of width 64, an H200 takes 4.0 ms. Eager PyTorch takes 70 ms.
#
# With keys outside and queries inside, the numbers are the same, if O, `m` and `l` of all queries are kept until the
# end. That is p5.
#
# ## Where to read on
#
# * [Why attention needs one pass only](../docs/background/attention.md#why-attention-needs-one-pass-only): the proof
#   that O can be rescaled.
# * [Queries that see no key](../docs/background/attention.md#queries-that-see-no-key), and what a large negative number
#   in place of $-\infty$ does.
# * T. Dao, [*FlashAttention-2*](https://arxiv.org/abs/2307.08691) (2023), algorithm 1: your two loops, line by line.
