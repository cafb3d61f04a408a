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
# # 题 w1：向量加法
#
# ## 你要写什么
#
# 你的第一个 GPU kernel：$z = x + y$。先写一行并检查，再加上掩码。你要会用 Python，以及 NumPy 或
# PyTorch，但不需要 GPU。会 Triton 的话，请从 [p1](p1_naive_softmax.py) 开始。
#
# ## 逐行读懂一个 kernel
#
# *kernel* 是在 GPU 上运行的函数。下面这个把一个由 12 个数组成的向量翻倍，$y = 2x$：
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
# **`kernel[grid](arguments)`**：方括号里写 kernel 要运行多少次，这里是 3 次。每运行一次就是一个
# *程序*，所有程序合起来是 *网格*。它们执行同样的代码，参数也相同，可能同时执行，也可能以任意顺序先后
# 执行。
#
# **`x_ptr`、`y_ptr`**：传进去的是张量，kernel 拿到的是 *指针*，也就是首元素的地址和类型，不带形状和步
# 幅。
#
# **`tl.program_id(0)`** 是这个程序的编号：0、1 或 2。程序之间的差别仅此而已。
#
# **`tl.arange(0, BLOCK_SIZE)`** 是 0 1 2 3 这样一个 *块*：一个变量，多个值，每个 *lane* 里一个。算术
# 运算逐 lane 计算，和张量的逐元素运算一样；一个数和块运算时，与每个 lane 各算一次。
#
# **`tl.load(x_ptr + offsets)`**：指针加上一块偏移，得到一块地址。`x_ptr + 1` 是下一个元素，不是下一个
# 字节。`tl.load` 取出这些地址上的值，所以 `x` 是一块值。
#
# （英文） **`tl.store(addresses, values)`** writes values to memory. A kernel returns nothing. Its
# result is what it stores:
#
# | 程序 | `offsets` | `x`，设 x = 10, 11, …, 21 | `2 * x` | 存储到 |
# |---|---|---|---|---|
# | 0 | 0 1 2 3 | 10 11 12 13 | 20 22 24 26 | y[0] 到 y[3] |
# | 1 | 4 5 6 7 | 14 15 16 17 | 28 30 32 34 | y[4] 到 y[7] |
# | 2 | 8 9 10 11 | 18 19 20 21 | 36 38 40 42 | y[8] 到 y[11] |
#
# （英文） Your puzzle in PyTorch:
#
# ```python
# z = x + y
# ```
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `x_ptr`, `y_ptr` | 指向 x 和 y 首元素的指针；x 和 y 是长度为 `n`、中间没有空隙的向量，同为 fp32、同为 fp16 或同为 bf16 |
# | `z_ptr` | 指向 z 首元素的指针；z 的长度和类型与 x、y 相同，由 kernel 写入 |
# | `n` | 向量的长度，至少为 1 |
# | `BLOCK_SIZE` | 每个程序的元素数，2 的幂 |
#
# ## 访存上限
#
# x 和 y 的每个元素加载 **一次**，z 的每个元素存储 **一次**。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# （英文） Write **one** line below the comment, in this cell or, to check in a terminal, in
# `puzzles/zh/w1_vector_add.py`. It is a
# `tl.store` to z of the sum of two `tl.load`s, worth 70 of 100 points. The finished kernel has about four lines.
# `.to(tl.int64)` is explained further down.

# %%
@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 4 lines)


# %% [markdown]
# ## 怎样检查
#
# 在终端里输入 `./check w1`；或者启动 `make watch`，每次保存文件都会检查。在 notebook 里（`make
# lab`），先运行上面的单元格，再运行下面这个。每次改完，先重新运行自己的单元格再检查：评的只是运行过的
# 代码。
#
# （英文） The report begins with the verdict and your points. Then it says what is wrong, in which
# line and in which launch, and
# asks you a question. *All of the report* adds the reason, more values, and the points of each requirement.
# `make step PUZZLE=w1`, in a notebook `step("w1")`, runs your kernel line by line and shows what each name holds. Look
# at the last program.

# %%
from checker.notebook import check, hint, solution, step, trace

check("w1", language="zh")

# %% [markdown]
# ## 越过末尾
#
# `n` 不一定是 `BLOCK_SIZE` 的倍数。10 个数，每块 4 个，最后一个程序就有两个 lane 没有元素。没有
# *掩码*，这两个 lane 会读取并改写张量末尾之后的内存，那里可能有别的数据。GPU 往往察觉不到。下面的
# `double_kernel` 加上了掩码：

# %%
@triton.jit
def double_kernel(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    program = tl.program_id(0)
    offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(y_ptr + offsets, 2 * x, mask=mask)


# %% [markdown]
# 掩码是由真和假组成的块，值为假的 lane 不碰内存。加载时，这样的 lane 得到的是 `other`，它可以是任何
# 数。不写 `other`，里面就什么都有可能。存储时，这样的 lane 什么也不存储。
#
# ![内存里 x 的十个元素，10 到 19，下面是三个程序，每个程序四个 lane。偏移小于 10 的 lane 加载对应的元素，翻倍后存储到 y。程序 2 的 lane 2 和 lane 3 偏移为 10 和 11：它们被掩码屏蔽，里面是 0，既不加载也不存储。](../../docs/figures/addresses.svg)
#
# （英文） `run` launches a kernel without a GPU, on *Triton's interpreter*, as the checker does.
# Programs run one after the
# other, and each `tl` function is an operation of NumPy. Every address is checked before it is used. `grid=3` replaces
# the square brackets. In every lesson, `run` needs a notebook: in a terminal, read the answers.

# %%
import numpy as np

from checker.notebook import run

x = np.arange(10, 20, dtype=np.float32)
y = np.full(10, -1, np.float32)
run(double_kernel, x_ptr=x, y_ptr=y, n=10, BLOCK_SIZE=4, grid=3)

# %% [markdown]
# **问题 1**：`grid=2` 时，y 里是什么？`BLOCK_SIZE=8` 需要几个程序，最后一个程序里有几个 lane 被掩码屏
# 蔽？
#
# <details><summary>答案</summary>
#
# 20 22 24 26 28 30 32 34 −1 −1：元素 8 和 9 没有程序负责，而 GPU 不会提醒你。每块 8 个需要 2 个程序，
# 因为 10 / 8 向上取整是 2。最后一个程序有 6 个 lane 被掩码屏蔽。一般来说，网格是 ⌈n / BLOCK_SIZE⌉ 个
# 程序，Python 里写作 `triton.cdiv(n, BLOCK_SIZE)`。
#
# </details>
#
# （英文） **Question 2.** With `grid=3` and `BLOCK_SIZE=4` again, remove `mask=mask, other=0.0` from
# `double_kernel`'s load.
# Which elements does `run` refuse?
#
# <details><summary>答案</summary>
#
# 10 和 11。程序 2 要加载元素 8 到 11，`run` 在这里停下，并指出这 4 个里有 2 个越界。换成 GPU，要么那
# 里有什么就读什么，要么整次启动报错终止，报错里也不说是哪一行。
#
# </details>
#
# 现在给你的 kernel 加上掩码。
#
# ## 这几行还说了什么
#
# （英文） **`@triton.jit`.** Triton compiles these lines at the first launch, so on a GPU they do not
# run as Python. A kernel
# may use its parameters, arithmetic, comparisons, `for`, `if` and the functions of `tl`. It knows nothing of `torch`,
# of lists or of your other variables. (Triton also has `while`, `break`, block pointers and scans. This course leaves
# them out.)
#
# **`(3,)`** 写成元组，因为网格可以有两维或三维。`tl.program_id(0)` 数的是第一维。
#
# **`BLOCK_SIZE: tl.constexpr`** 在编译 kernel 时就必须已知，因为它是块的长度。这个长度必须是 2 的幂。
#
# （英文） **`program`.** A vector may have more than $2^{31}$ elements, and `tl.program_id(0)` is an
# int32, whose products
# overflow at that size. `.to(tl.int64)` makes `program` 64 bits wide, and with it all that you compute from `program`.
# So do not call `tl.program_id(0)` a second time. The given lines convert for you; in w3 you do it yourself for the
# first time.
#
# ## 提示
#
# `make hint PUZZLE=w1` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# x、y 和 z 一样长。需要几块偏移，几个掩码？
#
# </details>
# <details><summary>2：掩码</summary>
#
# 拿 `offsets` 和三个向量共同的长度 `n` 比较。两次加载和一次存储用同一个掩码。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# `mask = offsets < n`。从 `x_ptr + offsets` 加载一块，从 `y_ptr + offsets` 加载一块，都带上
# `mask=mask, other=0.0`。把它们的和存储到 `z_ptr + offsets`，带上 `mask=mask`。
#
# </details>
#
# ## 实验
#
# （英文） **Predict.** Your own kernel is launched with n = 1000 and `BLOCK_SIZE=256`. Write a guess
# in place of each `...`.
# Once your kernel is accepted, it answers. Guesses are not graded.
#
# * `programs`：有几个程序向 z 存储？
# * `idle_lanes`：存储 z 时，所有程序合起来有多少个 lane 被掩码屏蔽？
# * `x_reads`：x 的每个元素读几次？
#
# 在终端里：
#
# ```
# make predict PUZZLE=w1 GUESS="programs=... idle_lanes=... x_reads=..."
# ```

# %%
from checker.notebook import predict

predict("w1", programs=..., idle_lanes=..., x_reads=...)

# %% [markdown]
# **运行**：先写下答案，再运行单元格。这些是 fp16 数，有 11 位二进制有效位，最大到 65504。四个和各是多
# 少？

# %%
x = np.array([1, 1000, 2048, 60000], np.float16)
y = np.array([1, 0.25, 1, 10000], np.float16)
run(vector_add_kernel, x_ptr=x, y_ptr=y, z_ptr=np.zeros_like(x), n=4, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# <details><summary>答案</summary>
#
# 2、1000、2048 和无穷。从 512 到 1024，fp16 数的间隔是 0.5。1000.25 在两个数的正中间，舍入到尾数为偶
# 数的那个。从 2048 到 4096，间隔是 2，所以加 1 毫无变化。用 fp16 求一个很长的和，到那里就不再增长，所
# 以求和用 fp32。
#
# </details>
#
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种长度的向量、各种大小的块。

# %%
def vector_add(x, y):
    """The sum of two contiguous vectors of one length on the GPU."""
    import torch

    z = torch.empty_like(x)
    n, block_size = x.numel(), 1024
    vector_add_kernel[(triton.cdiv(n, block_size),)](x, y, z, n, BLOCK_SIZE=block_size)
    return z


# %% [markdown]
# ## 词汇
#
# | PyTorch 里 | kernel 里 |
# |---|---|
# | `x[i:j]` | `tl.load(x_ptr + offsets, mask=mask, other=0.0)` |
# | `y[i:j] = values` | `tl.store(y_ptr + offsets, values, mask=mask)` |
# | `torch.arange(0, 4)` | `tl.arange(0, BLOCK_SIZE)`，长度是事先已知的 2 的幂 |
# | `x + y`, `2 * x`, `offsets < n` | 写法相同，逐 lane 计算 |
# | `(a < n) & (b > 0)` | 写法相同，括号也要 |
# | `x.float()`, `x.half()`, `i.long()` | `x.to(tl.float32)`、`x.to(tl.float16)`、`i.to(tl.int64)` |
# | `-torch.inf` | `-float("inf")` |
# | `print(x)` | `print("x", x)`，先写一段文字；报告会显示每个程序打印了什么 |
# | `return z` | 没有返回值：存储它 |
#
# ## 做完之后值得留意的
#
# （英文） Every kernel of this course has this shape. A program finds out which part is its own,
# loads it with a mask, computes,
# and stores. `make trace PUZZLE=w1` draws the loads and stores of your kernel. No program waited for another: each
# element of z belongs to exactly one. If two programs write different values to one element, either value may remain,
# and the checker says so.
#
# （英文） In a plain copy, an H200, a GPU for data centres, moves 4282 GB a second, reads and writes
# together. An fp32 addition
# moves 12 bytes, so that is enough for 357 billion additions. The arithmetic units could do almost a hundred times as
# many. This kernel waits for memory nearly all of its time, so this course judges an algorithm by its loads and stores,
# which the checker counts.
#
# 下一题是 p1。如果没接触过 kernel 里的步幅或求和，先做 w2。
#
# ## 延伸阅读
#
# * [内存、程序，以及为什么访存量就是时间](../../docs/background/gpu.md)（英文）。
# * [Triton 的向量加法教程
#   ](https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html)（英文）：同一个
#   kernel，与 PyTorch 比速度。
