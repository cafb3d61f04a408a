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
# # 题 p2：安全 softmax，三遍
#
# ## 你要写什么
#
# 还是 p1 的 softmax，但去掉两条限制：行可以比块长，值可以任意大。语言模型的最后一层两样都需要：行和词
# 表一样长，值没有界限。程序逐块走过自己的那一行，一共走三次，每走一次就是一 *遍*。
#
# ```
# x 的一行，BLOCK_SIZE = 4，n_cols = 10
# ┌─────────────┬─────────────┬───────┄┄┄┄┄┐
# │  块 0       │  块 1       │ 块 2       ┆
# └─────────────┴─────────────┴───────┄┄┄┄┄┘
#              第 10、11 列是填充
# 第 1 遍  ──▶ ──▶ ──▶   m = 整行的最大值
# 第 2 遍  ──▶ ──▶ ──▶   l = 整行各个 exp(x - m) 之和
# 第 3 遍  ──▶ ──▶ ──▶   y = exp(x - m) / l，逐块计算
# ```
#
# ## 思路
#
# **平移不变性**：一行的每个元素都减去任意一个数 $c$，softmax 不变：
#
# $$ \frac{e^{x_i - c}}{\sum_j e^{x_j - c}} = \frac{e^{-c}\, e^{x_i}}{e^{-c} \sum_j e^{x_j}} = \frac{e^{x_i}}{\sum_j e^{x_j}}. $$
#
# 取 $c = m = \max_j x_j$。这样每个指数最大是 0，指数值不会上溢。其中有一个恰好是 $e^0 = 1$，所以和至
# 少为 1，不会除以 0。这就是 *安全* softmax：
#
# $$ m = \max_j x_j, \qquad l = \sum_j e^{x_j - m}, \qquad y_i = \frac{e^{x_i - m}}{l}. $$
#
# 和 $l$ 叫作 *归一化因子*。用 PyTorch 写：
#
# ```python
# m = x.amax(dim=-1, keepdim=True)
# l = (x - m).exp().sum(dim=-1, keepdim=True)
# y = (x - m).exp() / l
# ```
#
# **用数字看**：行 1 3 2 5 的 $m = 5$，$l = e^{-4} + e^{-2} + e^{-3} + e^0$ $= 0.0183 + 0.1353 +
# 0.0498 + 1 = 1.2034$。除以 $l$，得到 y = .015 .112 .041 .831。
#
# **为什么要三遍**：$m$ 到行尾才知道，而 $l$ 要用 $m$。$y_i$ 要用 $l$，那要到第二遍的行尾才知道。一行
# 可能在片上放不下，所以每一遍都要重新读。
#
# ![行 1 3、2 5、4 0、5 1 分成四块，加载三次。第 1 遍把最大值从一块带到下一块：3、5、5、5。第 2 遍带的是相对于 5 的指数值之和：0.15、1.20、1.58、2.60。第 3 遍什么也不带，写出 y 的每一块：.007 .052、.019 .385、.142 .003、.385 .007。](../../docs/figures/three_passes.svg)
#
# **从一块到下一块**：kernel 里的循环看起来和 Python 的一样，终点不必是 `tl.constexpr`。循环里赋的值会
# 保留到下一轮。这个循环求一个向量所有块中最大的数：
#
# ```
# # lanes = tl.arange(0, BLOCK_SIZE)
# top = 0.0
# for start in range(0, n, BLOCK_SIZE):
#     offsets = start + lanes  # 新的变量：lanes 保持原样
#     x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
#     top = tl.maximum(top, tl.max(x, axis=0))
# ```
#
# 如果写成 `lanes = start + lanes`，各块就会从 `BLOCK_SIZE` 的 0、1、3、6……倍开始，跳过中间的一些列。
# 从一轮带到下一轮的变量，类型不能变：求和从 0.0 开始，不能从 0 开始。这个循环对非负数是正确的。哪个浮
# 点数比其他所有的都小？
#
# | PyTorch 里 | kernel 里 |
# |---|---|
# | `x.amax(dim=0)` | `tl.max(x, axis=0)`，一个块得到一个数 |
# | `torch.maximum(a, b)` | `tl.maximum(a, b)`，逐 lane 取两者中较大的 |
# | `x.sum(dim=0)`, `x.exp()` | `tl.sum(x, axis=0)`、`tl.exp(x)` |
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `x_ptr`, `y_ptr` | 指向 x 和 y 首元素的指针，形状 `(n_rows, n_cols)`，fp32、fp16 或 bf16 |
# | `x_row_stride`, `y_row_stride` | 从一行开头到下一行开头的元素数，至少为 `n_cols`；x 和 y 的可以不同 |
# | `n_cols` | 行的长度，至少为 1 |
# | `BLOCK_SIZE` | 一块的列数，2 的幂；**可以小于行长** |
#
# 现在值可以大到其类型所能表示的范围。（fp16 时，检查器用到大约 2000。）个别值可以是 $-\infty$，但不会
# 整行都是。用 fp32 计算。
#
# ## 访存上限
#
# 每一行，x 最多加载 **三次**。y 逐块存储，只存 **一次**，从不读。内存总线一共过 4 次，p1 是 2 次。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约十六行：三个循环，每个循环里有一个掩码和一次加载。

# %%
@triton.jit
def safe_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 16 lines)


# %% [markdown]
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种形状。

# %%
def safe_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    safe_softmax_kernel[(n_rows,)](x, y, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=1024)
    return y


# %% [markdown]
# ## 怎样检查
#
# 终端里：`./check p2`。notebook 里：先运行上面的单元格，再运行下面这个。`make step PUZZLE=p2` 逐行单
# 步执行这三遍。看每一遍留下了什么。

# %%
from checker.notebook import check, hint, solution, step, trace

check("p2", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=p2` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# 先只写第 1 遍，在它后面打印 `m`，然后检查。每一轮里，`start` 是块的第一列。其余的列是哪些？到了最后
# 一块，其中哪些真的存在？
#
# </details>
# <details><summary>2：填充</summary>
#
# 块里的列是 `start + cols`，掩码拿它们和 `n_cols` 比较。填充既不能改变最大值，也不能改变和。`other`
# 取一个值就能兼顾。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# 第 1 遍：`m = tl.maximum(m, tl.max(x, axis=0))`，从 `m = -float("inf")` 开始。第 2 遍：`l +=
# tl.sum(tl.exp(x - m), axis=0)`，从 `l = 0.0` 开始。第 3 遍：存储 `tl.exp(x - m) / l`。每一遍都重新加
# 载 x，用同样的掩码和 `other=-float("inf")`，地址是 `x_ptr + row * x_row_stride + start + cols`。
#
# </details>
#
# ## 实验
#
# **预测**：每个问题都只针对一行。把每个 `...` 换成你的猜测。kernel 通过之后，由它给出答案。猜测不计
# 分。
#
# * `x_reads`：10 列，`BLOCK_SIZE=16`，一个块就放得下整行。x 的每个元素读几次？
# * `y_0`：1、2、3 的 softmax 第一个数是 .0900。1001、1002、1003 的第一个数是多少？
#
# 在终端里：
#
# ```
# make predict PUZZLE=p2 GUESS="x_reads=... y_0=..."
# ```

# %%
from checker.notebook import predict

predict("p2", x_reads=..., y_0=...)

# %% [markdown]
# **运行**：先写下猜测，再运行单元格。
#
# 1. 单元格里的那一行是 0 到 9，把 9 换成 $-\infty$。y 在那里是多少？y 的最大元素又是多少？
# 2. 所有元素都是 $-\infty$：`np.full((1, 10), -np.inf, np.float32)`。y 是什么？
# 3. 25 行，每行 10 列，需要什么网格？块长为 4 时一遍有几轮，为 16 时呢？
#
# <details><summary>答案</summary>
#
# 1. y 在那里是 0，因为 $e^{-\infty} = 0$。其余九个合起来是 1，最大的是 .6322。原来十个里最大的是
# .6321。
# 2. 全是 NaN，除非你做了防备：m 是 $-\infty$，而 $-\infty - (-\infty)$ 不是一个数。本题没有这样的行。
# 在 p3 里，一行的第一块可能是这样。
# 3. (25,)：每个程序负责一行。块长为 4 时一遍有 3 轮，为 16 时只有一轮。
#
# </details>

# %%
import numpy as np

from checker.notebook import run

x = np.arange(10, dtype=np.float32).reshape(1, 10)  # then x[0, 9] = -np.inf
y = np.zeros_like(x)
run(safe_softmax_kernel, x_ptr=x, y_ptr=y, x_row_stride=10, y_row_stride=10, n_cols=10, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# ## 做完之后值得留意的
#
# 多数人会先试这个办法：每一块各求各的 softmax。每块两个数，行 1 3 | 2 5 就变成 .119 .881 | .047
# .953。这样 y 的每一行加起来等于块数，而不是 1。
#
# `make trace PUZZLE=p2` 画出这三遍。第 1 遍和第 2 遍读同样的数据。能不能用一遍完成两件事？求和要用最
# 大值，而这时最大值还不知道。不过，用 *另一个* 最大值算出来的和，事后可以修正。这就是 p3。
#
# 在 H200 上，行长 131,072 时，这个 kernel 能跑到拷贝速度的 50 %，`torch.softmax` 是 49 %。这么长的
# 行，p2 的用时是 p3 的 4/3。行短的时候 p3 快不了，因为第 1 遍之后每一行都在 L2 缓存里，那是所有程序共
# 享的快速内存。
#
# ## 延伸阅读
#
# * [平移不变性，以及三遍的代价](../../docs/background/softmax.md)（英文）。
# * M. Milakov、N. Gimelshein，[*Online normalizer calculation for
#   softmax*](https://arxiv.org/abs/1805.02867)（2018），算法 2：安全 softmax，以及它访问内存的次数。
