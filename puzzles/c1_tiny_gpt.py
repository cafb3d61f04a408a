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
# # The capstone: a small GPT with your own attention
#
# ## What you will build
#
# A language model that is trained with your kernels. The forward pass of its attention is your p6, and the backward
# pass is your p7. You write two short functions of PyTorch that connect them. Everything else is below. Then
# `make train` trains two models from the same start and on the same text. One has your attention, the other PyTorch's
# own:
#
# ```
# loss
# 4.9 ┤●                own kernels   ●
#     │ ●               PyTorch's     ●   the same points:
#     │  ●●             they differ by less than one in a million
#     │    ●●●●
# 2.7 ┤        ●●●●●●●●●●●●●●●●●●●●●●
#     └──────────────────────────────
#      0            step          400
# ```
#
# Without a GPU this takes about a minute: the kernels run in Triton's interpreter, and a tiny model learns from the
# lessons of this course. With `make train DEVICE=cuda`, the model is five hundred times as large, and learns from
# Shakespeare. Trained with the course's own solutions, it then writes:
#
# ```
# Thy father have not made thee hand, in the steel
# Thou would for any man's death a pellass. I have that
# often a top a while infection need of their weeps
# to first this head. And what's huzzed there?
# ```
#
# You need your accepted kernels of p6 and p7: `flash_attention_2_kernel`, `delta_kernel`, `dq_kernel` and
# `dk_dv_kernel`. This puzzle is for practice, and has no points in a graded course.
#
# ## The idea
#
# **How PyTorch learns of your gradient.** A `torch.autograd.Function` has two functions, one for each direction:
#
# ```python
# class Square(torch.autograd.Function):
#     @staticmethod
#     def forward(ctx, x):                  # as many results as you like
#         ctx.save_for_backward(x)
#         return x * x
#
#     @staticmethod
#     def backward(ctx, dy):                # as many results as forward has arguments, but for ctx
#         (x,) = ctx.saved_tensors
#         return 2 * x * dy
# ```
#
# `Square.apply(x)` calls `forward`. Later, `loss.backward()` calls `backward` with the gradient of the result.
# `backward` returns the gradients of the arguments, in their order, and `None` for an argument without a gradient, such
# as a number.
#
# Keep what both directions need on `ctx`: tensors with one call of `ctx.save_for_backward(...)`, and numbers as
# attributes, `ctx.scale = scale`. (Autograd cannot look after a tensor that is an attribute, so the judge refuses
# that.)
#
# **A launch.** `kernel[grid](…)` launches a kernel. The grid is a tuple, and the arguments have the order of the
# kernel's own `def` line. A tensor arrives as a pointer to its first element. Constexprs are passed by name, and so may
# be `num_warps=8` or `num_stages=3`, which only matter on a GPU.
#
# ```python
# delta_kernel[(triton.cdiv(n_q, BLOCK), batch * heads)](o, do, delta, ..., n_q, D=d, Br=BLOCK)
# ```
#
# Make the outputs before the launch. `torch.empty_like(q)` makes a tensor with the shape, type and device of `q`, and
# with nothing in it. O, dQ, dK and dV have the type of `q`. LSE and delta are always fp32: `torch.empty(batch, heads,
# n_q, dtype=torch.float32, device=q.device)`.
#
# **Sequences and heads.** The model's tensors have four axes, (batch, heads, n, d). Your kernels know three: a head, a
# row, and the numbers in it. So head $h$ of sequence $s$ becomes head $s \cdot \text{heads} + h$, and the grid has
# batch · heads programs along its second axis. A kernel finds a head at `head * q_head_stride`. So one stride must lead
# from each head to the next, also from the last head of a sequence to the next sequence.
#
# ![Memory of q for 2 sequences of 2 tokens with 2 heads. Above, q is cut from one tensor with q, k and v: from head 0 to head 1 of a sequence it is d numbers, and from there to head 0 of the next sequence it is 11 d. Below, after q.contiguous(), all four heads follow one another, each n d numbers after the one before.](../docs/figures/heads_in_memory.svg)
#
# At first there is no such stride. The model makes Q, K and V with a single product, and cuts them out of it. Take 2
# sequences of 20 tokens, with 3 heads and d = 16. Each token has 144 numbers, 48 each for Q, K and V, and `q.stride()`
# is `(2880, 16, 144, 1)`. From head to head it is 16 numbers, but from the last head to the next sequence 2848.
#
# `x.contiguous()` copies a tensor so that its elements follow one another in the order of its axes. (If they do
# already, it copies nothing.) Then the head stride is $n \cdot d$, and the row stride is $d$. Head 0 of sequence 1 is
# head 3, and begins at 3 · 320 = 960. Make dO contiguous, too: after a sum, autograd gives you one number, expanded by
# strides of 0.
#
# **In PyTorch**, your two functions together are this, and its gradient:
#
# ```python
# def attention(q, k, v, scale):                                             # all of (batch, heads, n, d)
#     n_q, n_k = q.shape[2], k.shape[2]
#     hidden = torch.arange(n_k) > torch.arange(n_q)[:, None] + n_k - n_q
#     return (scale * (q @ k.transpose(2, 3))).masked_fill(hidden, -float("inf")).softmax(dim=3) @ v
# ```
#
# ## The signatures
#
# | parameter | what it is |
# |---|---|
# | `ctx` | where you keep what the backward pass needs |
# | `q` | Q, shape `(batch, heads, n_q, d)`, fp32, fp16 or bf16 |
# | `k`, `v` | K and V, shape `(batch, heads, n_k, d)`, of Q's type |
# | `scale` | factor of the scores: a number, not always $1/\sqrt{d}$ |
# | `do` | dO, with the shape and type of Q |
#
# Attention is always causal here, and d is a power of two. `attention_forward` returns O, with the shape and type of
# `q`. `attention_backward` returns four results: dQ, dK, dV, and `None` for `scale`. The inputs may have any strides.
#
# ## Memory and work
#
# * **Each kernel is launched once:** `flash_attention_2_kernel` by the forward pass, the other three by the backward
#   pass. The grid covers all sequences and heads, without a loop in Python. Only kernels compute: your functions make
#   tensors, arrange them in memory and launch.
# * **Nothing is computed twice.** Keep Q, K, V, O and LSE.

# %%
from checker.train.kernels import delta_kernel, dk_dv_kernel, dq_kernel, flash_attention_2_kernel  # yours

# %%
import torch
import triton
from torch import nn

# %% [markdown]
# ## Your turn
#
# Two functions are missing. The signatures of your kernels are in your files, and in the lessons of p6 and p7. [The
# guide](../docs/guide.md#what-a-function-of-pytorch-may-use) lists the Python and PyTorch that you may use.

# %%
BLOCK = 64  # queries of a tile, and keys

# %%
def attention_forward(ctx, q, k, v, scale):
    batch, heads, n_q, d = q.shape
    n_k = k.shape[2]
    # FILL IN (roughly 7 lines)


def attention_backward(ctx, do):
    batch, heads, n_q, d = do.shape
    # FILL IN (roughly 9 lines)


# %% [markdown]
# ## How it is called
#
# All of this is given. The class makes one function of your two, and the model calls it. The model is the usual
# decoder: each block adds what attention and a small network make of its input. (You may change it: `make train` takes
# the model from here. It gets `attention` as an argument, because the same model is also trained with PyTorch's own.)

# %%
class Attention(torch.autograd.Function):
    """Causal attention of (batch, heads, n, d) tensors by your kernels, in both directions."""

    forward = staticmethod(attention_forward)
    backward = staticmethod(attention_backward)


def own_attention(q, k, v):
    """O, with the usual scale."""
    return Attention.apply(q, k, v, q.shape[-1] ** -0.5)


class Block(nn.Module):
    """A layer: each token takes from those before it, and then goes through a small network by itself."""

    def __init__(self, width, heads, attention):
        super().__init__()
        self.heads, self.attention = heads, attention
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, n, width = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        o = self.attention(q, k, v).transpose(1, 2).reshape(batch, n, width)
        x = x + self.out(o)
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    """A model that says which character follows each prefix of a text."""

    def __init__(self, characters, context, width, heads, layers, attention):
        super().__init__()
        self.token, self.position = nn.Embedding(characters, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads, attention) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters)

    def forward(self, tokens):
        x = self.token(tokens) + self.position(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.norm(self.blocks(x)))  # (batch, n, characters)


# %% [markdown]
# ## How to check
#
# In a terminal: `./check c1`. In a notebook: run the cells above, then the one below. The judge runs your two functions
# in tiny sizes, with your kernels of p6 and p7. It compares O and the gradients with attention in fp64.
# `make step PUZZLE=c1` goes through both functions.

# %%
from checker.notebook import check, hint, solution, step, trace

check("c1")

# %% [markdown]
# ## Hints
#
# `make hint PUZZLE=c1` shows one at a time.
#
# <details><summary>1: a nudge</summary>
#
# Write the forward pass alone, and check it: the report says that the other one is still empty, and judges this one.
# Make q, k and v dense first. Which two tensors does the kernel write, and of which shapes and types? How many programs
# does it need along each axis of the grid? In the backward pass, which of p7's three kernels stores what the other two
# load?
#
# </details>
# <details><summary>2: shapes and strides</summary>
#
# O is `torch.empty_like(q)`, after `q = q.contiguous()`. LSE has the shape `(batch, heads, n_q)` and is
# `torch.float32`, on `q.device`. The strides of dense tensors are `n_q * d, d` for Q and `n_k * d, d` for K and V. The
# grids are `(triton.cdiv(n_q, BLOCK), batch * heads)`, but for `dk_dv_kernel`, whose programs own tiles of keys.
#
# </details>
# <details><summary>3: nearly there</summary>
#
# `flash_attention_2_kernel[grid](q, k, v, o, lse, n_q * d, d, n_k * d, d, n_q, n_k, scale, D=d, Br=BLOCK, Bc=BLOCK,
# CAUSAL=True)`, then `ctx.save_for_backward(q, k, v, o, lse)`, `ctx.scale = scale` and `return o`. In the backward pass
# `q, k, v, o, lse = ctx.saved_tensors`, `do = do.contiguous()`, `delta = torch.empty_like(lse)`, the gradients like q,
# k and v, the three launches, and `return dq, dk, dv, None`.
#
# </details>
#
# ## Experiments
#
# **Predict.** The call has 2 sequences of 200 tokens, 3 heads, d = 16, and `BLOCK = 64`. Write a guess in place of each
# `...`. Once your function is accepted, it answers. Guesses are not graded.
#
# * `launches`: how many kernels do the forward and the backward pass launch together?
# * `programs`: how many programs do all of these launches run together?
#
# In a terminal:
#
# ```
# make predict PUZZLE=c1 GUESS="launches=... programs=..."
# ```

# %%
from checker.notebook import predict

predict("c1", launches=..., programs=...)

# %% [markdown]
# **Train.** In a notebook the next cell does it, in a terminal `make train`. It shows both losses, their curves, and
# samples of text from before and after. Guess first: with about 110 different characters and a model that knows
# nothing, what is the loss at the first step?
#
# <details><summary>The answer</summary>
#
# log 110 = 4.70: a model that knows nothing gives each character a chance of 1 in 110. (The loss begins a little
# higher, because the first guesses are not quite even.)
#
# </details>

# %%
from checker.notebook import train

train()

# %% [markdown]
# **Change something.** Each time, run the cell of the model again, train, and put back what was there. What do you
# expect of the two curves?
#
# 1. In `own_attention`, return O without its history: `.detach()` at the end of the line.
# 2. In `own_attention`, take $1/d$ for the scale in place of $1/\sqrt{d}$. PyTorch's model keeps its own.
# 3. In `GPT`, leave out `self.position(...)`, so that the model cannot tell the place of a character.
#
# <details><summary>The answers</summary>
#
# 1. No gradient flows back through attention, so the product that makes Q, K and V never learns. Everything else
#    learns, so the loss still falls to about 2.72 (PyTorch's to 2.70). That is a small difference: in 400 steps, a
#    model of this size learns mostly which character follows which.
# 2. The weights are more even. The curves differ by less than 0.01: a model can learn to make its queries larger.
# 3. Both curves change together. They even end lower, at about 2.61: in so few steps, a table of positions helps too
#    little.
#
# </details>
#
# ## What to notice afterwards
#
# The two curves are one. Your kernels and PyTorch's differ by rounding, in the seventh digit, and after 400 steps that
# is still all. No test of single values shows as much: your gradients changed every weight of the model 400 times.
#
# For the backward pass, a layer keeps Q, K, V, O and LSE: $4 n d + n$ numbers for each head. Plain attention keeps
# $n^2$ weights in place of LSE. With n = 64 and d = 16, that is 4160 against 8192 numbers. With 16,384 tokens and d =
# 64, it is 4 million against 273 million.
#
# On an H100, 1000 steps of both of the larger models take 40 seconds. With 65,536 tokens a step, the larger model
# trains on this many thousand tokens per second:
#
# | attention | sequences of 256 | of 4,096 | of 16,384 |
# |---|---|---|---|
# | the solutions of p6, p7 and c1 | 2081 | 1364 | 660 |
# | the same functions with tuned kernels | 2068 | 1576 | 869 |
# | PyTorch's own (SDPA) | 2107 | 1667 | 959 |
# | eager PyTorch, as in puzzle a2 | 1195 | not enough memory | not enough memory |
#
# With short sequences, most of the time goes elsewhere. With long ones, most is attention. The plain weights of six
# layers then take more than the 80 GB of this GPU.
#
# A copy by `.contiguous()` takes as long as reading and writing its tensor once. Libraries give their kernels an extra
# stride, for sequences, and read the tensors where they are. Your kernels could do that, too: it is one more product in
# an address.
#
# ## Where to read on
#
# * [What you have built, and where the field is going](../docs/background/onwards.md): FlashAttention-3 and 4, paged
#   and sparse attention, and languages below Triton.
# * [The backward pass, derived](../docs/background/backward.md).
# * PyTorch, [*Extending torch.autograd*](https://docs.pytorch.org/docs/stable/notes/extending.html): what a function
#   may keep, and what it must not.
# * A. Karpathy, [*nanoGPT*](https://github.com/karpathy/nanoGPT): the same model, grown up.
