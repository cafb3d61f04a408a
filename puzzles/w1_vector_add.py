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
# # Puzzle w1: vector addition
#
# ## What you will build
#
# Your first GPU kernel: $z = x + y$. You write one line and check it, then add a mask. You need Python, and NumPy or
# PyTorch, but no GPU. If you know Triton, begin with [p1](p1_naive_softmax.py).
#
# ## A kernel, line by line
#
# A *kernel* is a function that runs on the GPU. This one doubles a vector of 12 numbers, $y = 2x$:
#
# ```python
# @triton.jit
# def double_kernel(x_ptr, y_ptr, BLOCK_SIZE: tl.constexpr):
#     program = tl.program_id(0)
#     offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
#     x = tl.load(x_ptr + offsets)
#     tl.store(y_ptr + offsets, 2 * x)
#
# double_kernel[(3,)](x, y, BLOCK_SIZE=4)     # the launch, from ordinary Python: x and y are tensors
# ```
#
# **`kernel[grid](arguments)`.** The square brackets say how many times the kernel runs: 3. Each run is a *program*, and
# all programs are the *grid*. They run the same lines with the same arguments, at the same time or in any order.
#
# **`x_ptr`, `y_ptr`.** You pass tensors, and the kernel gets *pointers*: the address of the first element and the type,
# without shape and strides.
#
# **`tl.program_id(0)`** is the number of this program: 0, 1 or 2. Programs differ in nothing else.
#
# **`tl.arange(0, BLOCK_SIZE)`** is the *block* 0 1 2 3: many values under one name, one in each *lane*. Arithmetic
# works lane by lane, as on tensors, and a number combines with every lane.
#
# **`tl.load(x_ptr + offsets)`.** A pointer plus a block of offsets is a block of addresses. `x_ptr + 1` is the next
# element, not the next byte. `tl.load` fetches the values at the addresses, so `x` is a block of values.
#
# **`tl.store(addresses, values)`** writes values to memory. A kernel returns nothing. Its result is what it stores:
#
# | program | `offsets` | `x`, if x = 10, 11, …, 21 | `2 * x` | stored |
# |---|---|---|---|---|
# | 0 | 0 1 2 3 | 10 11 12 13 | 20 22 24 26 | y[0] to y[3] |
# | 1 | 4 5 6 7 | 14 15 16 17 | 28 30 32 34 | y[4] to y[7] |
# | 2 | 8 9 10 11 | 18 19 20 21 | 36 38 40 42 | y[8] to y[11] |
#
# Your puzzle in PyTorch:
#
# ```python
# z = x + y
# ```
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, vectors of length `n` without gaps, both fp32, both fp16 or both bf16 |
# | `z_ptr` | pointer to the first element of z, of the same length and type, to be written |
# | `n` | length of the vectors, at least 1 |
# | `BLOCK_SIZE` | elements of a program, a power of two |
#
# ## The traffic bound
#
# Each element of x and y is loaded **once**, and each element of z is stored **once**.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# Write **one** line below the comment, in this cell or, to check in a terminal, in `puzzles/w1_vector_add.py`. It is a
# `tl.store` to z of the sum of two `tl.load`s, worth 70 of 100 points. The finished kernel has about four lines.
# `.to(tl.int64)` is explained further down.

# %%
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 4 lines)


# %% [markdown]
# ## How to check
#
# In a terminal, type `./check w1`, or start `make watch`, which checks whenever you save the file. In a notebook
# (`make lab`), run the cells above, then the one below. After each change, run your own cell again before you check:
# only what was run is judged.
#
# The report begins with the verdict and your points. Then it says what is wrong, in which line and in which launch, and
# asks you a question. *All of the report* adds the reason, more values, and the points of each requirement.
# `make step PUZZLE=w1`, in a notebook `step("w1")`, runs your kernel line by line and shows what each name holds. Look
# at the last program.

# %%
from checker.notebook import check, hint, solution, step, trace

check("w1")

# %% [markdown]
# ## Past the end
#
# `n` need not be a multiple of `BLOCK_SIZE`. With 10 numbers in blocks of 4, the last program has two lanes without an
# element. Without a *mask*, these lanes read and overwrite memory past the end of the tensors, where other data may be.
# A GPU often does not notice. Here `double_kernel` has a mask:

# %%
@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, 2 * x, mask=mask)


# %% [markdown]
# A mask is a block of true and false, and false keeps a lane away from memory. In a load, such a lane gets `other`
# instead, which may be any number. Without `other`, it may hold anything. In a store, it stores nothing.
#
# ![Ten elements of x in memory, 10 to 19, and three programs of four lanes below them. Each lane with an offset below 10 loads its element, doubles it and stores it to y. Lanes 2 and 3 of program 2 have the offsets 10 and 11: they are masked off, hold 0, and neither load nor store.](../docs/figures/addresses.svg)
#
# `run` launches a kernel without a GPU, on *Triton's interpreter*, as the checker does. Programs run one after the
# other, and each `tl` function is an operation of NumPy. Every address is checked before it is used. `grid=3` replaces
# the square brackets. In every lesson, `run` needs a notebook: in a terminal, read the answers.

# %%
import numpy as np

from checker.notebook import run

x = np.arange(10, 20, dtype=np.float32)
y = np.full(10, -1, np.float32)
run(double_kernel, x_ptr=x, y_ptr=y, n=10, BLOCK_SIZE=4, grid=3)

# %% [markdown]
# **Question 1.** What is in y with `grid=2`? How many programs does `BLOCK_SIZE=8` need, and how many lanes of the last
# one are masked off?
#
# <details><summary>Answer</summary>
#
# 20 22 24 26 28 30 32 34 −1 −1: no program owned elements 8 and 9, and a GPU would not tell you. Blocks of 8 need 2
# programs, because 10 / 8 rounded up is 2. The last one masks off 6 of its lanes. In general, the grid is ⌈n /
# BLOCK_SIZE⌉ programs, `triton.cdiv(n, BLOCK_SIZE)` in Python.
#
# </details>
#
# **Question 2.** With `grid=3` and `BLOCK_SIZE=4` again, remove `mask=mask, other=0.0` from `double_kernel`'s load.
# Which elements does `run` refuse?
#
# <details><summary>Answer</summary>
#
# 10 and 11. `run` stops at program 2, which loads elements 8 to 11, and says that 2 of these 4 are outside. A GPU would
# read whatever is there, or end the launch with an error that names no line.
#
# </details>
#
# Now add the mask to your kernel.
#
# ## What else the lines say
#
# **`@triton.jit`.** Triton compiles these lines at the first launch, so on a GPU they do not run as Python. A kernel
# may use its parameters, arithmetic, comparisons, `for`, `if` and the functions of `tl`. It knows nothing of `torch`,
# of lists or of your other variables. (Triton also has `while`, block pointers and scans. This course leaves them out.)
#
# **`(3,)`** is a tuple because a grid may have two or three dimensions. `tl.program_id(0)` counts along the first.
#
# **`BLOCK_SIZE: tl.constexpr`** must be known when the kernel is compiled, because it is the length of a block. That
# length must be a power of two.
#
# **`program`.** A vector may have more than $2^{31}$ elements, and `tl.program_id(0)` is an int32, whose products
# overflow at that size. `.to(tl.int64)` makes `program` 64 bits wide, and with it all that you compute from `program`.
# So do not call `tl.program_id(0)` a second time. The given lines convert for you; in w3 you do it yourself for the
# first time.
#
# ## Hints
#
# `make hint PUZZLE=w1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# x, y and z have the same length. How many blocks of offsets do you need, and how many masks?
#
# </details>
# <details><summary>2: the mask</summary>
#
# Compare `offsets` with `n`, the length of all three vectors. Both loads and the store take the same mask.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `mask = offsets < n`. Load one block from `x_ptr + offsets` and one from `y_ptr + offsets`, both with
# `mask=mask, other=0.0`. Store their sum to `z_ptr + offsets`, with `mask=mask`.
#
# </details>
#
# ## Experiments
#
# **Predict.** Your own kernel is launched with n = 1000 and `BLOCK_SIZE=256`. Write a guess in place of each `...`.
# Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `programs`: how many programs store to z?
# * `idle_lanes`: how many lanes of all programs together are masked off when z is stored?
# * `x_reads`: how often is each element of x read?
#
# In a terminal:
#
# ```
# make predict PUZZLE=w1 GUESS="programs=... idle_lanes=... x_reads=..."
# ```

# %%
from checker.notebook import predict

predict("w1", programs=..., idle_lanes=..., x_reads=...)

# %% [markdown]
# **Run.** Write down your answer before you run the cell. These are fp16 numbers, with 11 binary digits and a maximum
# of 65504. What are the four sums?

# %%
x = np.array([1, 1000, 2048, 60000], np.float16)
y = np.array([1, 0.25, 1, 10000], np.float16)
run(vector_add_kernel, x_ptr=x, y_ptr=y, z_ptr=np.zeros_like(x), n=4, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# <details><summary>Answer</summary>
#
# 2, 1000, 2048 and infinity. From 512 to 1024, fp16 numbers are 0.5 apart. 1000.25 is halfway between two of them, and
# is rounded to the even one. From 2048 to 4096 they are 2 apart, so adding 1 changes nothing. A long sum in fp16 would
# stop growing there, so sums are kept in fp32.
#
# </details>
#
# ## How it is launched
#
# For a machine with a GPU. The checker launches your kernel itself, with vectors of many lengths and blocks of many
# sizes.

# %%
def vector_add(x, y):
    """The sum of two contiguous vectors of one length on the GPU."""
    import torch

    z = torch.empty_like(x)
    n, block_size = x.numel(), 1024
    vector_add_kernel[(triton.cdiv(n, block_size),)](x, y, z, n, BLOCK_SIZE=block_size)
    return z


# %% [markdown]
# ## Words
#
# | in PyTorch | in a kernel |
# |---|---|
# | `x[i:j]` | `tl.load(x_ptr + offsets, mask=mask, other=0.0)` |
# | `y[i:j] = values` | `tl.store(y_ptr + offsets, values, mask=mask)` |
# | `torch.arange(0, 4)` | `tl.arange(0, BLOCK_SIZE)`, a power of two known in advance |
# | `x + y`, `2 * x`, `offsets < n` | the same, lane by lane |
# | `(a < n) & (b > 0)` | the same, with the parentheses |
# | `x.float()`, `x.half()`, `i.long()` | `x.to(tl.float32)`, `x.to(tl.float16)`, `i.to(tl.int64)` |
# | `-torch.inf` | `-float("inf")` |
# | `print(x)` | `print("x", x)`, a text first; the report then shows what each program printed |
# | `return z` | there is none: store it |
#
# ## What to notice afterwards
#
# Every kernel of this course has this shape. A program finds out which part is its own, loads it with a mask, computes,
# and stores. `make trace PUZZLE=w1` draws the loads and stores of your kernel. No program waited for another: each
# element of z belongs to exactly one. If two programs write different values to one element, either value may remain,
# and the checker says so.
#
# In a plain copy, an H200, a GPU for data centres, moves 4282 GB a second, reads and writes together. An fp32 addition
# moves 12 bytes, so that is enough for 357 billion additions. The arithmetic units could do almost a hundred times as
# many. This kernel waits for memory nearly all of its time, so this course judges an algorithm by its loads and stores,
# which the checker counts.
#
# The next puzzle is p1. Take w2 first if strides or sums in a kernel are new to you.
#
# ## Where to read on
#
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
# * [Triton's tutorial on vector addition](https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html):
#   the same kernel, timed against PyTorch.
