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
# # Puzzle t1: difference
#
# ## What you will build
#
# The difference of two vectors, $z = x - y$.
#
# ## The idea
#
# Each program has a block of elements. In PyTorch:
#
# ```python
# z = x - y
# ```
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
# ## The traffic bound
#
# Each element of x and of y is loaded **once**, and each element of z is stored **once**.

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## Your turn
#
# The offsets are there.

# %%
@triton.jit
def difference_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 4 lines)


# %% [markdown]
# ## How it is launched
#
# For a machine with a GPU.

# %%
def difference(x, y):
    """The difference of two contiguous vectors of one length on the GPU."""
    import torch

    z = torch.empty_like(x)
    difference_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, z, x.numel(), BLOCK_SIZE=1024)
    return z


# %% [markdown]
# ## How to check
#
# In a terminal, type `./check t1`. In a notebook (`make lab`), run the cells above, then the one below.

# %%
from checker.notebook import check, hint, solution, step, trace

check("t1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=t1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# The length need not be a multiple of the block. What must a lane do that has no element?
#
# </details>
# <details><summary>2: the mask</summary>
#
# Compare the offsets with the length of the vectors; both loads and the store need the result.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# Load both blocks with `mask=offsets < n`, and store their difference with the same mask.
#
# </details>
#
# ## Experiments
#
# **Predict.** The launch is one of your own kernel, with n = 1000 and `BLOCK_SIZE=256`.
#
# * `programs`: how many programs store to z?
# * `x_reads`: how often is each element of x read?
#
# In a terminal:
#
# ```
# make predict PUZZLE=t1 GUESS="programs=... x_reads=..."
# ```

# %%
from checker.notebook import predict

predict("t1", programs=..., x_reads=...)

# %% [markdown]
# ## What to notice afterwards
#
# No program waited for another one.
#
# ## Where to read on
#
# * [Memory, programs, and why traffic is time](../docs/background/gpu.md).
