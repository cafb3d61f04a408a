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
# # Puzzle a4: the backward pass in PyTorch, by tiles
#
# ## What you will build
#
# In training, every forward pass of attention has a backward pass, where plain attention needs the most memory. With
# 1024 queries and keys in one head of width 16, it has 3,163,136 numbers alive at once. Yours will have about 67,000,
# in tiles of 32 by 32. Take this puzzle before p7 if you want to see the gradients before their kernels.
#
# The forward pass kept no weights, only LSE, one number for each query. You compute the weights again, one tile at a
# time, and each tile adds its part to three gradients.
#
# ```
#           K1,V1    K2,V2    K3,V3    K4,V4
#         ┌────────┬────────┬────────┬────────┐
#    Q1   │  P11 ╲ │   ·    │   ·    │   ·    │ ──▶ dQ1
#         ├────────┼────────┼────────┼────────┤
#    Q2   │  P21   │  P22 ╲ │   ·    │   ·    │ ──▶ dQ2
#         ├────────┼────────┼────────┼────────┤
#    Q3   │  P31   │  P32   │  P33 ╲ │   ·    │ ──▶ dQ3
#         ├────────┼────────┼────────┼────────┤
#    Q4   │  P41   │  P42   │  P43   │  P44 ╲ │ ──▶ dQ4
#         └────────┴────────┴────────┴────────┘
#             │        │        │        │
#             ▼        ▼        ▼        ▼
#          dK1,dV1  dK2,dV2  dK3,dV3  dK4,dV4
#    a row of tiles adds up to a tile of dQ,
#    a column to a tile of dK and one of dV
#    ╲  cut by the causal mask
#    ·  hidden by it: not computed at all
# ```
#
# ## The gradients of attention
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
# ## The idea
#
# In PyTorch, all at once:
#
# ```python
# def backward(q, k, v, o, lse, do, scale, causal):          # all of (batch, heads, n, d), LSE of (batch, heads, n_q)
#     n_q, n_k = q.shape[2], k.shape[2]
#     P = torch.exp(scale * (q @ k.transpose(2, 3)) - lse[..., None])                    # (batch, heads, n_q, n_k)
#     if causal:
#         P = P.masked_fill(torch.arange(n_k) > torch.arange(n_q)[:, None] + n_k - n_q, 0.0)
#     dS = P * (do @ v.transpose(2, 3) - (do * o).sum(dim=3, keepdim=True))              # (batch, heads, n_q, n_k)
#     return scale * (dS @ k), scale * (dS.transpose(2, 3) @ q), P.transpose(2, 3) @ do  # dQ, dK, dV
# ```
#
# **By tiles.** Each of these products is a sum over queries or over keys, so it can be added up tile by tile. Nothing
# is rescaled, because LSE contains the maximum and the sum of the whole row. Let the loop over keys be outside. Then dK
# and dV of a tile are finished with the inner loop, and dQ grows at each visit. (The other order works as well.) Each
# visit makes P and dS of one tile once, for all three gradients. `LSEi` and `delta_i` need a last axis of 1 to
# broadcast.
#
# **Where the loop over queries begins.** Query $i$ sees key $j$ if $j \le i + n_k - n_q$. So the first query that sees
# key $j$ is $j - (n_k - n_q)$. Take 40 queries and 50 keys in tiles of 16: the difference is 10. The tile of keys that
# begins at 32 is first seen by query $32 - 10 = 22$, in the tile of queries that begins at 16. Begin there (or at 22
# itself), and compute no tile before it. For the tile of keys that begins at 0, $0 - 10$ is negative: begin at 0.
#
# ![The scores of 40 queries and 50 keys in tiles of 16, with the staircase of the causal mask. Nine tiles are visited, column by column: 1 to 3 under K1, 4 to 6 under K2, 7 and 8 under K3 from Q2 on, 9 under K4 at Q3. The other three are hidden. Each row of tiles adds up to a tile of dQ, which grows at each visit; each column adds up to a tile of dK and one of dV.](../docs/figures/backward_tiles.svg)
#
# **Queries that see no key.** Their LSE is $-\infty$, and their row of dQ is 0. Where a key is hidden, set P to 0
# *after* the exponential. Before it, $-\infty - (-\infty)$ would be NaN. And a hidden score may be so far above LSE
# that its exponential is $\infty$.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `q`, `o`, `do` | Q, O and dO, shape `(batch, heads, n_q, d)`, fp32 or fp64 |
# | `k`, `v` | K and V, shape `(batch, heads, n_k, d)`, of Q's type |
# | `lse` | LSE of each query, shape `(batch, heads, n_q)`, of Q's type |
# | `scale` | factor of the scores: a positive number, not always $1/\sqrt{d}$ |
# | `causal` | whether queries see no key after their own position |
# | `Br`, `Bc` | queries and keys of a tile: any numbers, at least 1 |
#
# The function returns a tuple: dQ, dK and dV, with the shapes and the type of `q`, `k` and `v`. O and LSE are right,
# whatever your a2 does. As in a2, the inputs may be slices or transposed views, and must not be changed.
#
# ## Memory and work
#
# The checker watches every operation. These are the bounds, with $B$ sequences and $H$ heads:
#
# * **One tensor** has at most $B H \cdot \max(n_q d,\; n_k d,\; B_r B_c)$ numbers: an input, an output or a tile.
# * **Alive at once** are at most: twice the numbers of all outputs, plus $n_q + n_k$ numbers, plus 12 tiles for each
#   head. The largest of $B_r B_c$, $B_r d$ and $B_c d$ counts as a tile here. You need about half of that.
# * **Multiply-adds** in matrix products: five products for each tile that is not completely hidden. (Computing delta as
#   a product, with `einsum`, is allowed once.)

# %%
import torch

# %% [markdown]
# ## Your turn
#
# About 25 lines are missing. The gradients begin as zeros, and each tile adds its part. You have loops, `if`,
# arithmetic, slices, and functions of `torch`: [the guide](../docs/guide.md#what-a-function-of-pytorch-may-use) lists
# them all.

# %%
def flash_attention_backward(q, k, v, o, lse, do, scale, causal, Br, Bc):
    n_q, n_k = q.shape[2], k.shape[2]
    dQ = torch.zeros_like(q)
    dK = torch.zeros_like(k)
    dV = torch.zeros_like(v)
    # FILL IN (roughly 25 lines)


# %% [markdown]
# ## How it is called
#
# It is a function like any other, and the checker calls it with many shapes. PyTorch can call it, too: with a class
# like this one, a function of your own gets a gradient of your own. Its forward pass here is the plain one.

# %%
class Attention(torch.autograd.Function):
    """Full attention of (batch, heads, n, d) tensors, with your backward pass in tiles of 32 queries by 32 keys."""

    @staticmethod
    def forward(ctx, q, k, v):
        """O, and what the backward pass will need is kept."""
        S = q.shape[3] ** -0.5 * (q @ k.transpose(2, 3))
        o, lse = torch.softmax(S, dim=3) @ v, torch.logsumexp(S, dim=3)
        ctx.save_for_backward(q, k, v, o, lse)
        return o

    @staticmethod
    def backward(ctx, do):
        """dQ, dK and dV."""
        q = ctx.saved_tensors[0]
        return flash_attention_backward(*ctx.saved_tensors, do, q.shape[3] ** -0.5, False, 32, 32)


# %% [markdown]
# ## How to check
#
# In a terminal: `./check a4`. In a notebook: run the cells above, then the one below. `make step PUZZLE=a4` runs your
# function line by line: dK grows by one tile of queries after the other. Write the gradients yourself. `.backward()`
# and `torch.autograd` are not allowed in the function.

# %%
from checker.notebook import check, hint, solution, step, trace

check("a4")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=a4` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Forget `causal` at first. Compute delta before the loops, from all of O and dO at once. Then write a loop over
# `start_k`, and in it one over `start_q`. Cut the tiles as in a2. For each tile, make `Pij` and `dSij` with the lines
# of the plain version. Which gradients are finished with the inner loop, and which one is not?
#
# </details>
# <details><summary>2: the mask and the beginning of the loop</summary>
#
# `None` in a slice adds the last axis of LSE: `lse[:, :, start_q : start_q + Br, None]`. As in a2, a key is hidden
# where `keys > queries[:, None] + n_k - n_q`, with positions from `torch.arange`. The first query that sees any key of
# the tile is `start_k - (n_k - n_q)`, or 0 if that is negative. The tile that holds it begins at a multiple of Br:
# `first = max(0, start_k - (n_k - n_q)) // Br * Br`. Without `causal`, `first` is 0.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `delta = (do * o).sum(dim=3, keepdim=True)`. In the loops, `Pij = torch.exp(Sij - LSEi)`, then
# `Pij = Pij.masked_fill(hidden, 0.0)`. `dPij = dOi @ Vj.transpose(2, 3)`. The
# slice of delta belongs to the queries: `dSij = Pij * (dPij - delta[:, :, start_q : start_q + Br])`. Then
# `dVj = dVj + Pij.transpose(2, 3) @ dOi`, `dKj = dKj + scale * (dSij.transpose(2, 3) @ Qi)` and
# `dQ[:, :, start_q : start_q + Br] += scale * (dSij @ Kj)`. After the inner loop,
# `dK[:, :, start_k : start_k + Bc] = dKj`, and `dV` likewise.
#
# </details>
#
# ## Experiments
#
# **Predict.** The calls have 256 queries and keys, one head, d = 16, Bc = 32, and `causal`. Write a guess in place of
# each `...`. Once your function is accepted, it answers. Guesses are not graded.
#
# * `tiles`: with Br = 32, how many of the 8 by 8 tiles are computed?
# * `tiles_tall`: with Br = 64, how many of the 4 by 8 tiles are computed?
# * `largest`: with Br = 32, how many numbers are in the largest tensor that your function makes? P would have 256 · 256
#   = 65,536.
#
# In a terminal:
#
# ```
# make predict PUZZLE=a4 GUESS="tiles=... tiles_tall=... largest=..."
# ```

# %%
from checker.notebook import predict

predict("a4", tiles=..., tiles_tall=..., largest=...)

# %% [markdown]
# **Against `torch.autograd`.** PyTorch differentiates plain attention by itself. The next cell prints by how much your
# gradients differ from its own: by about $10^{-6}$, and with fp64 by about $10^{-15}$.

# %%
q, k, v, do = (torch.randn(2, 3, 50, 16, requires_grad=n < 3) for n in range(4))
torch.nn.functional.scaled_dot_product_attention(q, k, v).backward(do)
try:
    own = torch.autograd.grad(Attention.apply(q, k, v), (q, k, v), do)
    print(*((x - y.grad).abs().max().item() for x, y in zip(own, (q, k, v))))
except RuntimeError as problem:
    print("Not yet:", problem)


# %% [markdown]
# **Run.** The next cell is the example in numbers. Write your answers down before you change it.
#
# 1. `scale` is 1 there. With `scale` 2 and K half as large, all scores stay the same. Which of dQ, dK and dV stay the
#    same, and what happens to the others?
# 2. Make `do` 4 instead of 2. What happens to the three gradients?
# 3. Make both values the same, `v = 10 10`, and `o` 10. What are dQ and dK, and why?
#
# <details><summary>The answers</summary>
#
# 1. P is the same, so dV and dS are the same. dK is scale · dSᵀ Q, so it is twice as large: −7.5 and 7.5. dQ is scale ·
#    dS K, and there the 2 and the half cancel: 4.12 as before.
# 2. Each is twice as large. A backward pass is linear in dO.
# 3. Both are 0. If all values are the same, O is that value, whatever the weights are. Then dP is 20 for both keys,
#    delta is 20 as well, and dS is 0.
#
# </details>

# %%
q = torch.ones(1, 1, 1, 1)
k = torch.log(torch.tensor([1.0, 3.0])).reshape(1, 1, 2, 1)  # scores whose softmax is .25 .75, and LSE is log(4)
v = torch.tensor([10.0, 20.0]).reshape(1, 1, 2, 1)
o, lse, do = 17.5 * q, torch.log(4 * q[..., 0]), 2 * q
flash_attention_backward(q, k, v, o, lse, do, scale=1.0, causal=False, Br=1, Bc=1)

# %% [markdown]
# The last cell counts the multiply-adds of your function, and divides them by those of one tile. It has one head, 256
# queries and keys, d = 16, `causal`, and tiles of 32 by 32. What share of the work does the causal mask save with 1024
# queries and keys?
#
# <details><summary>Answer</summary>
#
# 1 + 2 + … + 32 = 528 of 1024 tiles are computed, so it saves 48 %.
#
# </details>

# %%
from torch.utils.flop_counter import FlopCounterMode

n, Br, Bc = 256, 32, 32
q, k, v, o, do = (torch.randn(1, 1, n, 16) for _ in range(5))
with FlopCounterMode(display=False) as counter:
    flash_attention_backward(q, k, v, o, torch.zeros(1, 1, n), do, scale=0.25, causal=True, Br=Br, Bc=Bc)
counter.get_total_flops() / 2 / (5 * Br * Bc * 16)  # a multiply-add is two operations, and a tile has five products

# %% [markdown]
# ## What to notice afterwards
#
# Your function computes P a second time. That is one more product for each tile: five, where four would be enough if P
# had been kept. In return, no layer keeps $n^2$ numbers for each head.
#
# Look at which tiles add to which gradient. A row of tiles adds to one tile of dQ, a column to one of dK and one of dV.
# Your loops visit the tiles one after the other, so it does not matter. On a GPU, each iteration of your outer loop
# would be a program. Then several programs would add to the same rows of dQ at the same time. p7 avoids that with two
# kernels, one along the rows and one down the columns. Each makes S and dP for itself: seven products for each tile
# instead of your five, and no program waits for another. For 16,384 tokens, causal, in 32 heads of width 64, p7 takes
# 11 ms on an H200. Eager PyTorch takes 80 ms.
#
# ## Where to read on
#
# * [The derivation in full](../docs/background/backward.md): dS, delta, and the bounds of the loops.
# * [Queries that see no key](../docs/background/backward.md#queries-that-see-no-key), and what becomes of their
#   gradients.
# * T. Dao, [*FlashAttention-2*](https://arxiv.org/abs/2307.08691) (2023), algorithm 2: your two loops, line by line.
