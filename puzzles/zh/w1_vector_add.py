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
# **`tl.store(addresses, values)`** 把值写进内存。kernel 没有返回值，它存储了什么，结果就是什么：
#
# | 程序 | `offsets` | `x`，设 x = 10, 11, …, 21 | `2 * x` | 存储到 |
# |---|---|---|---|---|
# | 0 | 0 1 2 3 | 10 11 12 13 | 20 22 24 26 | y[0] 到 y[3] |
# | 1 | 4 5 6 7 | 14 15 16 17 | 28 30 32 34 | y[4] 到 y[7] |
# | 2 | 8 9 10 11 | 18 19 20 21 | 36 38 40 42 | y[8] 到 y[11] |
#
# 你要做的，用 PyTorch 写：
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
# 在注释下面只写 **一行**：可以写在这个单元格里，要在终端里检查，就写在 `puzzles/zh/w1_vector_add.py`
# 里。这一行用 `tl.store` 把两个 `tl.load` 的和存储到 z。满分 100 分，它值 70 分。完整的 kernel 大约有
# 四行。`.to(tl.int64)` 后面再解释。

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
# 报告开头是结论和得分。接着说哪里错了，在哪一行、哪次启动中，并问你一个问题。*完整报告* 还给出原因、
# 更多的值和每项要求的得分。`make step PUZZLE=w1`，在 notebook 里是 `step("w1")`，逐行单步执行你的
# kernel，显示每个变量的值。看看最后一个程序。

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
# `run` 和检查器一样，不用 GPU，在 *Triton 的解释器* 上启动 kernel。程序一个接一个执行，每个 `tl` 函数
# 都由一个 NumPy 运算来完成。每个地址都先检查再使用。`grid=3` 代替方括号。每一课里，`run` 都只能在
# notebook 里用：在终端里学，就直接看答案。

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
# **问题 2**：仍用 `grid=3` 和 `BLOCK_SIZE=4`，从 `double_kernel` 的加载里去掉 `mask=mask,
# other=0.0`。`run` 会拦下哪些元素？
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
# **`@triton.jit`**：Triton 在第一次启动时编译这几行，所以在 GPU 上它们不是当作 Python 来执行的。
# kernel 里能用的有参数、算术、比较、`for`、`if` 和 `tl` 里的函数。它不认识 `torch`，不认识列表，也不
# 认识外面的其他变量。（Triton 还有 `while`、块指针和 scan，本课程不用。）
#
# **`(3,)`** 写成元组，因为网格可以有两维或三维。`tl.program_id(0)` 数的是第一维。
#
# **`BLOCK_SIZE: tl.constexpr`** 在编译 kernel 时就必须已知，因为它是块的长度。这个长度必须是 2 的幂。
#
# **`program`**：向量的元素可以多于 $2^{31}$ 个，而 `tl.program_id(0)` 是 int32，乘积到这么大就会溢
# 出。`.to(tl.int64)` 把 `program` 变成 64 位，由 `program` 算出的一切也一样。所以不要再次调用
# `tl.program_id(0)`。给出的代码已替你写好转换；到了 w3，才第一次要自己写。
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
# **预测**：启动的是你自己的 kernel，n = 1000，`BLOCK_SIZE=256`。把每个 `...` 换成你的猜测。kernel 通
# 过之后，由它给出答案。猜测不计分。
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
# 本课程的每个 kernel 都是这个样子：程序先弄清哪一部分归自己，然后用掩码加载、计算、存储。`make trace
# PUZZLE=w1` 画出你的 kernel 的加载和存储。程序之间没有互相等待：z 的每个元素恰好属于一个程序。如果两
# 个程序往同一个元素写不同的值，留下哪个都有可能，检查器会指出来。
#
# H200 是数据中心用的 GPU，单纯拷贝时每秒搬运 4282 GB，读和写合计。一次 fp32 加法要搬 12 个字节，所以
# 每秒够做 357 G 次（G 即十亿）加法，而运算单元能做的几乎是这个数的一百倍。这个 kernel 几乎一直在等内
# 存，所以本课程用加载和存储的次数来衡量算法，检查器会数。
#
# 下一题是 p1。如果没接触过 kernel 里的步幅或求和，先做 w2。
#
# ## 延伸阅读
#
# * [内存、程序，以及为什么访存量就是时间](../../docs/background/gpu.md)（英文）。
# * [Triton 的向量加法教程
#   ](https://triton-lang.org/main/getting-started/tutorials/01-vector-add.html)（英文）：同一个
#   kernel，与 PyTorch 比速度。
