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
# # Puzzle a1: matrix product in tiles
#
# ## What you will build
#
# A kernel that multiplies two matrices. Almost all arithmetic of a transformer is such products: its linear layers, and
# the two inside attention. `tl.dot` is how a Triton kernel uses the matrix units of a GPU.
#
# $C = A B^T$: A is $(m, k)$, B is $(n, k)$ and C is $(m, n)$. Here `m` is a number of rows, not a maximum. A program
# owns one tile of C. It moves along $k$, and each step multiplies a tile of A by a tile of B:
#
# ```
#         k ──▶  Bk                           n ──▶  Bn
#       ┌─────┬─────┬─────┐                 ┌─────┬─────┐
# i = 0 │     │     │     │           i = 0 │     │     │
#       ├─────┼─────┼─────┤                 ├─────┼─────┤
# i = 1 │ a 1 │ a 2 │ a 3 │           i = 1 │     │ acc │
#       ├─────┼─────┼─────┤                 ├─────┼─────┤
# i = 2 │     │     │     │           i = 2 │     │     │
#       └─────┴─────┴─────┘                 └─────┴─────┘
#       A: a strip of Bm rows                j = 0 j = 1
#                                         C: one tile, Bm x Bn
#       ┌─────┬─────┬─────┐
# j = 0 │     │     │     │        program (i, j) = (1, 1):
#       ├─────┼─────┼─────┤        acc = 0
# j = 1 │ b 1 │ b 2 │ b 3 │        acc = acc + a1 b1ᵀ
#       └─────┴─────┴─────┘        acc = acc + a2 b2ᵀ
#       B: a strip of Bn rows      acc = acc + a3 b3ᵀ,  then store
# ```
#
# ## The idea
#
# **The product.** Entry $c_{pq}$ of C multiplies row $p$ of A by row $q$ of B:
#
# $$ c_{pq} = \sum_{u=1}^{k} a_{pu}\, b_{qu}. $$
#
# In PyTorch:
#
# ```python
# c = torch.empty(m, n)
# for row in range(m):
#     for col in range(n):
#         c[row, col] = (a[row] * b[col]).sum()     # all of it: c = a @ b.T
# ```
#
# B is stored with a row for each column of C. Linear layers store their weights like this, and attention stores its
# keys like this: $Q K^T$ is this product.
#
# **Tiles.** A sum can be cut into parts. Cut $k$ into steps of $B_k$ columns. ($B_m$, $B_n$, $B_k$ are sizes. $B_{jt}$
# is a tile of B.) Then a tile of C is a sum of products of small tiles, which fit on the chip:
#
# $$ C_{ij} = \sum_{t=1}^{T_k} A_{it}\, B_{jt}^T, \qquad T_m = \lceil m / B_m \rceil, \quad
# T_n = \lceil n / B_n \rceil, \quad T_k = \lceil k / B_k \rceil. $$
#
# ![C in tiles, 3 by 4, with A to its left and the transpose of B above it. One tile of C, acc, needs the strip of A in its row, with the tiles a1, a2 and a3, and the strip of B in its column, with b1, b2 and b3. It starts at 0, adds the products a1 b1ᵀ, a2 b2ᵀ and a3 b3ᵀ, and is stored. Each strip of A is loaded once for each of 4 tiles of C, each strip of B once for each of 3.](../docs/figures/product_tiles.svg)
#
# **By hand.** Let all tiles be 2 x 2. Program (0, 0) needs two rows of A and two rows of B, here with $k = 4$:
#
# ```
# A = 1 2 | 0 1      B = 1 2 | 0 1
#     0 1 | 3 0          0 1 | 1 0
#
# iteration 1:  a = 1 2   bᵀ = 1 0   a bᵀ = 5 2   acc = 5 2
#                   0 1        2 1          2 1         2 1
# iteration 2:  a = 0 1   bᵀ = 0 1   a bᵀ = 1 0   acc = 6 2
#                   3 0        1 0          0 3         2 4
# ```
#
# | PyTorch | Triton | what it does |
# |---|---|---|
# | `a @ b` | `tl.dot(a, b)` | the product of two tiles of one type, as a tile of fp32; their common side is at least 16 |
# | `b.T` | `tl.trans(b)` | the tile with its sides exchanged |
# | `torch.zeros(8, 4)` | `tl.zeros((8, 4), tl.float32)` | a tile of zeros |
#
# A tile of A has the shape `(Bm, Bk)`, a tile of B `(Bn, Bk)`. So `tl.dot` needs the second one transposed, `(Bk, Bn)`.
# That moves no memory, because the tile is already on the chip.
#
# **The accumulator.** The sum needs a tile of its own, made before the loop and stored after it. It is fp32, whatever
# the type of A and B. A product of two fp16 numbers is exact in fp32, so only the additions round. Then C is rounded to
# its type when it is stored.
#
# **The mask along k.** The last tiles may be partly empty. A row past the end gives a row of C that is not stored, so
# it does no harm. A column past the end of k does harm: it adds something to *every* entry of the tile. What must its
# lanes hold, so that they add nothing? Take the example with $k = 3$. The second step has one column instead of two,
# and the final acc is `5 2` over `2 4`.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `a_ptr` | pointer to the first element of A, shape `(m, k)`, fp32, fp16 or bf16 |
# | `b_ptr` | the same of B, shape `(n, k)`, of A's type |
# | `c_ptr` | the same of C, shape `(m, n)`, of A's type |
# | `a_row_stride`, `b_row_stride`, `c_row_stride` | elements from one row to the next, at least the row's length; all three may differ |
# | `m`, `n`, `k` | the sizes, at least 1 |
# | `Bm`, `Bn`, `Bk` | sides of the tiles, powers of two, at least 16 |
#
# The grid is $(T_m, T_n)$: $i$ is `tl.program_id(0)`, and $j$ is `tl.program_id(1)`. The stub turns them into `rows`
# and `cols`, the numbers of C's rows and columns. The rows of B are the columns of C, so `cols` also numbers the rows
# of B. The columns of A and B, along $k$, need numbers of their own: make a block for them.
#
# ## The traffic bound
#
# In a row of C there are $T_n$ tiles, and their programs all need the same strip of A. So A is loaded $T_n$ **times**,
# B $T_m$ **times**, and C is stored **once**. Mask the rows past the end. (Triton's tutorial wraps them around with
# `rows % m`, which loads the first rows again.) Do not load a whole strip at once. No block may have more numbers than
# the largest of the tiles of A, B and C. Make the products with `tl.dot`, at most $T_m T_n T_k$ of them.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# About ten lines are missing: the accumulator, the loop along k with two masks and two loads, the product, and the
# store with its mask.

# %%
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, a_row_stride, b_row_stride, c_row_stride, m, n, k,
    Bm: tl.constexpr, Bn: tl.constexpr, Bk: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * Bm + tl.arange(0, Bm)
    cols = tl.program_id(1).to(tl.int64) * Bn + tl.arange(0, Bn)
    # FILL IN (roughly 10 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with many shapes.

# %%
def matmul(a, b):
    """A Bᵀ on the GPU, of A with shape (m, k) and B with shape (n, k)."""
    import torch

    (m, k), n = a.shape, b.shape[0]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(m, 128), triton.cdiv(n, 128))
    matmul_kernel[grid](a, b, c, a.stride(0), b.stride(0), c.stride(0), m, n, k, Bm=128, Bn=128, Bk=32)
    return c


# %% [markdown]
# ## How to check
#
# In a terminal: `./check a1`. In a notebook: run the cells above, then the one below. `make step PUZZLE=a1` shows a
# tile of C grow, iteration by iteration; `make trace PUZZLE=a1` draws how often each tile of A and B is read.

# %%
from checker.notebook import bench, check, hint, solution, step, trace

check("a1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=a1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# The loop is the loop of p4, with k for n_cols and Bk for BLOCK_COLS. Which columns of A and B does each iteration
# load? Make a block of their numbers, like `cols` in p4. Address the tile of A like the tile of x there.
#
# </details>
# <details><summary>2: the tiles and their masks</summary>
#
# `inner = start + tl.arange(0, Bk)`. The tile of A has the offsets `rows[:, None] * a_row_stride + inner[None, :]`, the
# tile of B the same with `cols` and `b_row_stride`. A lane counts if its row and its column exist. All others hold 0.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Before the loop, `acc = tl.zeros((Bm, Bn), tl.float32)`. In it, `acc += tl.dot(a, tl.trans(b))`. After it, store acc
# at `c_ptr + rows[:, None] * c_row_stride + cols[None, :]` with the mask `(rows < m)[:, None] & (cols < n)[None, :]`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launch has m = 48, n = 32, k = 40, and 16 for `Bm`, `Bn` and `Bk`. Write a guess in place of each
# `...`. Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `a_reads`: how often is each element of A read?
# * `b_reads`: how often is each element of B read?
# * `multiply_adds`: the product needs 48 · 32 · 40 = 61,440 multiply-adds. How many does `tl.dot` make?
#
# In a terminal:
#
# ```
# make predict PUZZLE=a1 GUESS="a_reads=... b_reads=... multiply_adds=..."
# ```

# %%
from checker.notebook import predict

predict("a1", a_reads=..., b_reads=..., multiply_adds=...)

# %% [markdown]
# **Run.** The next cell is the same launch. Change one side of the tiles. How often are A and B read then, and how many
# programs and iterations are there? Write your guesses down first.
#
# 1. With `Bn` 32?
# 2. With `Bk` 32, and `Bn` 16 again?
#
# <details><summary>Answers</summary>
#
# 1. The grid is 3 x 1, so 3 programs with 3 iterations each. C has only one tile across, so A is read once. B is still
#    read three times.
# 2. 6 programs with 2 iterations each. A is read twice, B three times.
#
# </details>

# %%
import numpy as np

from checker.notebook import run

Bm, Bn, Bk = 16, 16, 16
m, n, k = 48, 32, 40
random = np.random.default_rng(0)
a = random.normal(size=(m, k)).astype(np.float32)
b = random.normal(size=(n, k)).astype(np.float32)
strides = {"a_row_stride": k, "b_row_stride": k, "c_row_stride": n}
sizes = {"m": m, "n": n, "k": k, "Bm": Bm, "Bn": Bn, "Bk": Bk}
grid = triton.cdiv(m, Bm), triton.cdiv(n, Bn)
run(matmul_kernel, a_ptr=a, b_ptr=b, c_ptr=np.zeros((m, n), np.float32), **strides, **sizes, grid=grid)

# %% [markdown]
# The next cell multiplies matrices of ones, but the second half of A holds 0.9. What is an entry of C? What if the
# accumulator is fp16? Start your accumulator with `tl.float16`, write
# `acc = (acc + tl.dot(a, tl.trans(b))).to(tl.float16)`, and restore your kernel afterwards.
#
# <details><summary>Answers</summary>
#
# In fp16, 0.9 is 0.8999, and $2048 + 2048 \cdot 0.8999 = 3891$. C is fp16, which has only even numbers there: the tie
# is rounded to 3892. With an fp16 accumulator, each of the last 128 of 256 iterations adds $16 \cdot 0.9 = 14.4$ to an
# even number, and rounds to an even one. So each adds 14: $2048 + 128 \cdot 14 = 3840$. That is an error of 1.3 %, and
# k is often larger.
#
# </details>

# %%
a = np.ones((16, 4096), np.float16)
a[:, 2048:] = 0.9
b, c = np.ones((16, 4096), np.float16), np.zeros((16, 16), np.float16)
strides = {"a_row_stride": 4096, "b_row_stride": 4096, "c_row_stride": 16}
sizes = {"m": 16, "n": 16, "k": 4096, "Bm": 16, "Bn": 16, "Bk": 16}
run(matmul_kernel, a_ptr=a, b_ptr=b, c_ptr=c, **strides, **sizes, grid=(1, 1))

# %% [markdown]
# ## What to notice afterwards
#
# This is the loop of p4, with a product instead of a maximum and a sum. In attention, rows of A are queries and rows of
# B are keys. C is their scores, and a tile of C is used at once instead of being stored.
#
# Larger tiles mean fewer loads. The *arithmetic intensity* is the number of operations per loaded byte. A multiply-add
# is two operations, an fp16 number two bytes. So in fp16 it is $B_m B_n / (B_m + B_n)$:
#
# | tile of C | operations a byte | loads for $m = n = k = 4096$ |
# |---|---|---|
# | 16 x 16 | 8 | 17.2 GB |
# | 64 x 64 | 32 | 4.3 GB |
# | 128 x 128 | 64 | 2.1 GB |
# | 128 x 256 | 85 | 1.6 GB |
#
# For sizes that are multiples of 16, Triton compiles a version in which one instruction copies many numbers, while the
# program continues to compute. For all others, each number gets a load and a mask of its own. On an H200, in fp16 with
# m = n = 4096:
#
# | k | time |
# |---|---|
# | 4096 | 0.23 ms |
# | 4088 | 1.11 ms |
#
# The first is 586 TFLOP/s, 78 % of the speed of PyTorch's own product. It is almost nine times what that GPU can do in
# fp32 without its matrix units. `make bench PUZZLE=a1 EVERY=1` times both sizes on a GPU of yours.
#
# The matrix units of an NVIDIA GPU do not take fp32 as it is. `tl.dot` of fp32 tiles first rounds them to TF32, which
# keeps 11 binary digits, like fp16. `tl.dot(a, b, input_precision="ieee")` does not. The checker accepts either.
#
# ## Where to read on
#
# * [Tiling, and what it saves](../docs/background/gpu.md#tiling).
# * [Triton's tutorial on matrix
#   multiplication](https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html): the same
#   loop. Its programs are ordered so that those which run at the same time share strips in the L2 cache.
