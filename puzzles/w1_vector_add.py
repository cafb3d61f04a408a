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
# Your first GPU kernel: $z = x + y$, five lines of your own. In p1, five more lines make a softmax. On an H200, a
# GPU for data centres, that softmax runs at 99.7 % of the speed of a plain copy, and eager `torch.softmax` at 46 %
# (fp32, rows of 8192). The last puzzles are the attention kernels that transformers are trained with. All of them are
# made of what this lesson explains.
#
# You need to know PyTorch. You need no GPU, and you need to know nothing about GPUs.
#
# * **You have never seen a Triton kernel**: you are in the right place. The ladder is w1, w2, w3, and then p1.
# * **You have written Triton kernels**: begin with [p1](p1_naive_softmax.py). You do not need w1 to w3 for it.
#
# The first `make check PUZZLE=w1` downloads about 220 MB, and the first `make lab`, for notebooks, somewhat more. After
# that, only the links at the end of this page need a network.
#
# ## A whole kernel, line by line
#
# A *kernel* is a function that runs on the GPU. This one doubles a vector: $y = 2x$.

# %%
import triton
import triton.language as tl

# %%
@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, 2 * x, mask=mask)


# %% [markdown]
# It is *launched* from ordinary Python. Here x and y are tensors of 10 numbers on the GPU:
#
# ```python
# double_kernel[(3,)](x, y, 10, BLOCK_SIZE=4)
# #             ────  ────────  ────────────
# #             grid  arguments, in the order of the def line
# ```
#
# **`kernel[grid](arguments)`.** The square brackets say how many times the kernel runs. Each of these runs is a
# *program*, and all programs together are the *grid*. The grid is a tuple, since it may have two or three dimensions.
# `(3,)` is a grid of one dimension with 3 programs. They run at the same time, or one after the other in any order: on
# a GPU you cannot know which. All programs run the same lines with the same arguments.
#
# **`@triton.jit`.** On a GPU these lines do not run as Python. At the first launch Triton reads the function's text and
# compiles it. That is why a kernel knows nothing of `torch`, of lists or of your other variables. It has its
# parameters, arithmetic, comparisons, `for`, `if`, and the functions of `tl`. Of what else Triton has, the course
# leaves out `while`, block pointers and scans: nothing here needs them.
#
# **`x_ptr`, `y_ptr`.** You pass tensors, and the kernel gets *pointers*. Triton converts them at the launch. A pointer
# is the address of the tensor's first element, and the type of its elements. Shape and strides stay behind. What the
# kernel needs of them, you pass as numbers. Here that is `n`, the length.
#
# **`BLOCK_SIZE: tl.constexpr`.** `n` arrives when the kernel runs. `BLOCK_SIZE` must be known earlier, when it is
# compiled, because it decides how many values a program holds at once. `tl.constexpr` says so. Triton compiles one
# version of the kernel for each value that you launch it with.
#
# **`program = tl.program_id(0)`.** The number of this program: 0, 1 or 2 here. The argument 0 is the dimension of the
# grid. Two programs differ in nothing else, so whatever a program does differently from the others begins here.
#
# **`tl.arange(0, BLOCK_SIZE)`.** The numbers 0, 1, 2, 3. This is a *block*: many values under one name, one in each
# *lane*. Operations on blocks work lane by lane, as on tensors. A number combines with every lane, as in broadcasting.
# Both ends must be known when the kernel is compiled, and the length of a block must be a power of two.
#
# **`offsets = program * BLOCK_SIZE + …`.** The elements that this program owns. Program 0 has 0 to 3, program 1 has 4
# to 7, and program 2 has 8 to 11.
#
# **`mask = offsets < n`.** The vector has 10 elements, and 10 is not a multiple of 4. Lanes 2 and 3 of program 2 have
# nothing to do. The mask is a block of true and false, and false keeps a lane away from memory. Without it, program 2
# would read and overwrite what lies past the end of the tensors. That memory is somebody else's, and a GPU often does
# not notice.
#
# **`tl.load(x_ptr + offsets, mask=mask, other=0.0)`.** A pointer plus a block of offsets is a block of addresses. A
# step of 1 is one element, whatever its type. `tl.load` fetches what lies there, so `x` is a block of values. A lane
# that is masked off reads nothing and gets `other`. If you leave `other` out, such a lane may hold anything. `other`
# may be any number. Minus infinity, which p1 needs, is written `-float("inf")`.
#
# **`tl.store(y_ptr + offsets, 2 * x, mask=mask)`.** Addresses first, values second, and the mask again. A masked lane
# stores nothing. A kernel has no return value. Its result is what it has stored.
#
# The addresses, with `n` = 10 and `BLOCK_SIZE` = 4:
#
# ```
#  x_ptr
#    │
#  ┌─▼──┬────┬────┬────┬────┬────┬────┬────┬────┬────┐
#  │ x0 │ x1 │ x2 │ x3 │ x4 │ x5 │ x6 │ x7 │ x8 │ x9 │  not yours
#  └────┴────┴────┴────┴────┴────┴────┴────┴────┴────┘
#    0    1    2    3    4    5    6    7    8    9   10   11    offsets
#    ✓    ✓    ✓    ✓    ✓    ✓    ✓    ✓    ✓    ✓    ✗    ✗    mask
#  ╰─── program 0 ───╯ ╰─── program 1 ───╯ ╰─── program 2 ───╯
# ```
#
# And the values, with x = 10, 11, …, 19:
#
# | program | `offsets` | `mask` | `x` | `2 * x` | stored |
# |---|---|---|---|---|---|
# | 0 | 0 1 2 3 | ✓ ✓ ✓ ✓ | 10 11 12 13 | 20 22 24 26 | y[0] to y[3] |
# | 1 | 4 5 6 7 | ✓ ✓ ✓ ✓ | 14 15 16 17 | 28 30 32 34 | y[4] to y[7] |
# | 2 | 8 9 10 11 | ✓ ✓ ✗ ✗ | 18 19 0 0 | 36 38 0 0 | y[8] and y[9] |
#
# ![Ten elements of x in memory, 10 to 19, and three programs of four lanes below them. Each lane with an offset below 10 loads its element, doubles it and stores it to y. Lanes 2 and 3 of program 2 have the offsets 10 and 11: they are masked off, hold 0, and neither load nor store.](../docs/figures/addresses.svg)
#
# ## Run it
#
# In a notebook (`make lab`), run the three cells of code from the first down to the one below. In a terminal that cell
# does nothing: there you have the table above.
#
# `run` launches a kernel without a GPU, on *Triton's interpreter*. That is a part of Triton which runs a kernel with
# NumPy on the CPU: one program after the other, and each `tl` function as a NumPy operation. Here every address is
# checked before it is used. `grid=3` stands for the square brackets. You get y, and how often each element was read and
# written.

# %%
import numpy as np

from checker.notebook import run

x = np.arange(10, 20, dtype=np.float32)
y = np.full(10, -1, np.float32)
run(double_kernel, x_ptr=x, y_ptr=y, n=10, BLOCK_SIZE=4, grid=3)

# %% [markdown]
# Write down your answer to each question. Then change the cell, run it, and unfold mine. In a terminal, read mine
# at once: cells with `run` do nothing there, in no lesson.
#
# **Question 1.** You forget the last program: `grid=2`. What is in y afterwards?
#
# <details><summary>Answer</summary>
#
# 20 22 24 26 28 30 32 34 −1 −1. Nobody owned elements 8 and 9, so they are as they were. On a GPU nothing tells you.
#
# </details>
#
# **Question 2.** With `BLOCK_SIZE=8`, how many programs are needed, and how many lanes of the last one are masked off?
#
# <details><summary>Answer</summary>
#
# 2 programs, because 10 / 8 rounded up is 2. The last one has offsets 8 to 15 and masks off 6 of its 8 lanes. In general
# it takes ⌈n / BLOCK_SIZE⌉ programs, `triton.cdiv(n, BLOCK_SIZE)` in Python.
#
# </details>
#
# **Question 3.** Take `mask=mask, other=0.0` out of the load, run that cell, and run this one. Which elements are refused?
#
# <details><summary>Answer</summary>
#
# Program 2 reads elements 8 to 11, and 10 and 11 are outside: 2 of 4 loads. The interpreter stops there and names the line.
# A GPU would read whatever lies there, or end the whole launch with an error that names no line.
#
# </details>
#
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
# | `print(x)` | `print("x", x)`, a text first |
# | `return z` | there is none: store it |
#
# `dim`, `keepdim`, `unsqueeze`, `.T` and `@` have other names as well. You meet each of them where you first need it,
# in w2, w3 and a1.
#
# ## The idea
#
# $$ z_i = x_i + y_i, \qquad 0 \le i < n. $$
#
# Program $p$ owns the BLOCK_SIZE elements from $p \cdot \text{BLOCK\_SIZE}$ on, as far as they exist. In PyTorch this
# is all that happens:
#
# ```python
# z = torch.empty_like(x)
# for program in range(triton.cdiv(n, BLOCK_SIZE)):     # on a GPU: all at once
#     first = program * BLOCK_SIZE
#     mine = slice(first, min(first + BLOCK_SIZE, n))
#     z[mine] = x[mine] + y[mine]
# ```
#
# A kernel has no slices: there, `mine` is a block of offsets and a mask.
#
# ## The signature
#
# | parameter | what it is |
# |---|---|
# | `x_ptr`, `y_ptr` | pointers to the first elements of x and y, vectors of length `n`, both fp32, both fp16 or both bf16 |
# | `z_ptr` | pointer to the first element of z, of the same length and type, to be written |
# | `n` | length of the vectors, at least 1 |
# | `BLOCK_SIZE` | elements of a program, a power of two |
#
# Neighbours are 1 element apart in all three vectors. The sum of two fp16 numbers is rounded to fp16 once. You need not
# convert anything.
#
# The stub gives you `tl.program_id(0).to(tl.int64)`. Program numbers have 32 bits, which end at 2,147,483,647, and a
# vector can have more elements than that. `.to(tl.int64)` widens the number, and with it all that is computed from it.
# You can forget about it.
#
# ## The traffic bound
#
# Each element of x and of y is loaded **once**, and each element of z is stored **once**. The checker counts. In fp32
# that is 12 bytes for one addition. In a copy, an H200 moves 4282 GB a second, which is enough for 357 billion such
# additions. Its arithmetic units could do almost a hundred times as many. So this kernel waits for memory nearly all of
# its time, and every needless load makes it slower. That is why this course measures an algorithm by its loads and
# stores.
#
# ## Your turn
#
# Fill in the kernel below the comment, in this cell or in the file `puzzles/w1_vector_add.py`. About five lines are
# missing: offsets, a mask, two loads, and a store.

# %%
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    # FILL IN (roughly 5 lines)


# %% [markdown]
# ## How it is launched
#
# You need not change this, nor run it: it is what you would write on a machine with a GPU. The checker does not read
# it. It launches your kernel itself, with vectors of many lengths and blocks of many sizes.

# %%
def vector_add(x, y):
    """The sum of two contiguous vectors of one length on the GPU."""
    import torch

    z = torch.empty_like(x)
    n, block_size = x.numel(), 1024
    vector_add_kernel[(triton.cdiv(n, block_size),)](x, y, z, n, BLOCK_SIZE=block_size)
    return z


# %% [markdown]
# ## How to check
#
# In a terminal, type `make check PUZZLE=w1`, or start `make watch`, which checks whenever you save the file. In a
# notebook, run the first code cell once, then the cell that you have filled in, then the one below this text. It takes
# less than a second.
#
# The report says, from top to bottom:
#
# * **The verdict and your points.** ✓ accepted, or ✗ and what is wrong. ○ means that the kernel is still empty.
# * **What is wrong**, with the line of your kernel and the launch in which it showed. `n=65, BLOCK_SIZE=32` is a launch
#   of 3 programs, for example.
# * **Why**, two or three of your values beside the right ones, and what to do next.
# * **A line for each property** of a right kernel, ✓ or ✗, with its points: the end of a vector, for example, fp16, or
#   the traffic.
#
# The checker runs your kernel on Triton's interpreter, like `run` above. Once the kernel is right there, the checker
# also compiles it for a GPU, which need not be there. The report says for which one (`sm_90` is an H100 or H200), and
# how much of the fast memory on the chip a program takes. You need neither in this course's first half.
#
# To look inside, write `print("offsets", offsets)` into your kernel: a text, and then one block. The report then shows
# what each program printed: in the launch that went wrong, or else in the first one, on 24 numbers with 3 programs of 8
# lanes. `make trace PUZZLE=w1` draws what your kernel loads and stores for the ten numbers of the picture above.

# %%
from checker.notebook import check

check("w1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=w1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Compare with `double_kernel`. How many vectors did it read? Do the two vectors here need different offsets?
#
# </details>
# <details><summary>2: the offsets</summary>
#
# x, y and z have the same length, so one block of offsets and one mask serve all three. Only the pointer differs. The
# offsets begin at `program * BLOCK_SIZE`.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `offsets` is `program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)`, and `mask` is `offsets < n`. Load one block from
# `x_ptr + offsets` and one from `y_ptr + offsets`, both with the mask. Store their sum to `z_ptr + offsets`, with the
# same mask.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launch is one with n = 1000 and `BLOCK_SIZE=256`. Write a guess in place of each `...`. Once it is
# accepted, your own kernel answers. Guesses are not graded.
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
# **Run.** Write down your answer before you run the cell, and before you unfold mine. In a terminal, read mine at once.

# %%
x = np.array([1, 1000, 2048, 60000], np.float16)
y = np.array([1, 0.25, 1, 10000], np.float16)
run(vector_add_kernel, x_ptr=x, y_ptr=y, z_ptr=np.zeros_like(x), n=4, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# **Question 4.** These are fp16 numbers, which have 11 binary digits and end at 65504. What are the four sums?
#
# <details><summary>Answer</summary>
#
# 2, 1000, 2048 and infinity. From 512 to 1024 fp16 numbers are 0.5 apart, and 1000.25 is rounded to the even neighbour of
# the two. From 2048 to 4096 they are 2 apart, so adding 1 changes nothing. A long sum in fp16 would stop growing there, which
# is why w2 adds up in fp32.
#
# </details>
#
# ## What to notice afterwards
#
# Every kernel of this course has the shape of this one. A program finds out which part is its own, loads it, computes,
# and stores. The offsets say which part that is. In w2 it is a row of a matrix, in w3 a tile, and in the last puzzles a
# tile of queries.
#
# No program waited for another one, and none needed to. Each element of z belongs to exactly one program. If two
# programs write different values to one element, either may be the last, and the checker says so.
#
# ## Where to read on
#
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
# * [Triton's tutorial on vector addition](https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html):
#   the same kernel, timed against PyTorch.
