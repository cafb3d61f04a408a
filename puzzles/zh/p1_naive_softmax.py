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
# # 题 p1：朴素 softmax
#
# ## 你要写什么
#
# 用一个 kernel 求矩阵每一行的 softmax。Transformer 要对注意力分数的每一行求 softmax。这个 kernel 加载
# 一次，*在片上*（紧挨着运算单元）计算，存储一次。FlashAttention 就建立在这个做法上。
#
# 没写过 Triton？请从 [w1](w1_vector_add.py) 开始。
#
# ```
#          全局内存                   片上，程序 1 里
#   x   ┌──────────────────┐
# 行 0  │ 2.0   1.0   0.1  │            lane 0 1 2，和填充
# 行 1  │ 0.5   3.0   1.0  │ ─加载─▶  [ 0.5   3.0   1.0    ?  ]
# 行 2  │ 1.0   1.0   1.0  │             │ exp
#       └──────────────────┘          [ 1.65  20.1  2.72   ?  ]
#                                        │ 除以总和 24.5
#   y   ┌──────────────────┐             ▼
# 行 1  │ .067  .821  .111 │ ◀─存储── [ .067  .821  .111   ?  ]
#       └──────────────────┘
# ```
#
# <details><summary>行、步幅、填充与求和：没做过 w2 就展开看</summary>
#
# <!-- rows -->
# 在内存里，矩阵是长长的一条线，一行接一行，行与行之间可能有空隙。这里的 x 是一个 5 列矩阵靠左的部分，
# `x = wide[:, :3]`：
#
# ```
#  x_ptr               x_ptr + 5           x_ptr + 10
#    │                   │                   │
#  ┌─▼─┬───┬───┬───┬───┬─▼─┬───┬───┬───┬───┬─▼─┬───┬───┬───┬───┐
#  │ 1 │ 2 │ 3 │ · │ · │ 4 │ 5 │ 6 │ · │ · │ 7 │ 8 │ 9 │ · │ · │
#  └───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┴───┘
#    0   1   2   3   4   5   6   7   8   9  10  11  12  13  14
#  ╰── 行 0  ──╯  空   ╰── 行 1  ──╯  空   ╰── 行 2  ──╯  空
#  每个元素下面是它的偏移
# ```
#
# *步幅*，就是从一行到下一行、或从一列到下一列相隔多少个元素。（NumPy 数的是字节。）这个 x 的步幅是
# (5, 1)。在本课程里，列的步幅总是 1。行的步幅作为 `x_row_stride` 传给 kernel，第 `row` 行从 `x_ptr +
# row * x_row_stride` 开始。
#
# 每个程序负责一行，`row = tl.program_id(0)`，把它加载到一个块里。块的长度是 2 的幂：行长 3，块长就是
# 4。`cols` 是覆盖整个块的 `tl.arange`，每一列占一个 lane。其余的 lane，从 `n_cols` 起，叫作 *填充*。
# 掩码拿 `cols` 和 `n_cols` 比较，填充里放什么由 `other` 决定。（不要拿偏移比较：第 1 行的偏移从 5 开
# 始，已经大于 `n_cols`。）
#
# *归约*，例如 `tl.sum(block, axis=0)`，把一个块变成一个数，填充也算在内。`axis` 就是 PyTorch 的
# `dim`，一维的块只有轴 0。求和用 fp32：fp16 最大到 65504，而且在 fp16 里，2048 + 1 等于 2048。
# `x.to(tl.float32)` 在片上转换，不增加访存量。
# <!-- /rows -->
#
# </details>
#
# ## 思路
#
# 长度为 $N$ 的一行 $x$，其 softmax 是
#
# $$ y_i = \frac{e^{x_i}}{\sum_{j=1}^{N} e^{x_j}}. $$
#
# 用 PyTorch 写：
#
# ```python
# e = x.exp()                            # x in, e out
# total = e.sum(dim=-1, keepdim=True)    # e in
# y = e / total                          # e in, y out
# ```
#
# PyTorch 把每条语句当作一个 kernel 来运行：从 *全局内存*（GPU 的大内存）读输入，再把结果写回去。于是
# 一行数据要过五次 *内存总线*，也就是内存与芯片之间的通道：一进一出，求和时一进，再一进一出。*融合* 成
# 一个 kernel 就只过两次。`tl.exp(x)` 求每个 lane 的指数值。
#
# **填充会影响结果**：被掩码屏蔽的 lane 里是 `other`；什么都不传，里面就是不确定的值。这里加的是指数
# 值，而 $e^0 = 1$。用 `other=0.0`，第 1 行的分母就是 25.5 而不是 24.5，这一行的结果加起来就只有
# 0.96。请选一个 `other`，让指数值的总和算对。
#
# ![行 0.5 3.0 1.0 放在长度为四的块里，画了两遍。填充加载为 0 时，指数值是 1.65、20.1、2.72 和 1，和为 25.5；横条上是商 .065、.789 和 .107，加起来是 0.96，剩下的 0.04 归了填充。填充的指数值为 0 时，和为 24.5，商 .067、.821 和 .111 占满横条。](../../docs/figures/padding.svg)
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `x_ptr`, `y_ptr` | 指向 x 和 y 首元素的指针，形状 `(n_rows, n_cols)`，fp32、fp16 或 bf16 |
# | `x_row_stride`, `y_row_stride` | 从一行开头到下一行开头的元素数，至少为 `n_cols`；x 和 y 的可以不同 |
# | `n_cols` | 行的长度，至少为 1 |
# | `BLOCK_SIZE` | 2 的幂，至少为 `n_cols` |
#
# 用 fp32 计算：加载后立刻 `x.to(tl.float32)`。`tl.store` 会转换回 y 的类型。元素的绝对值不超过 80，或
# 者元素是 $-\infty$（`-float("inf")`），指数值的总和不会上溢。
#
# ## 访存上限
#
# x 的每个元素加载 **一次**，y 的每个元素存储 **一次**。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约五行：算掩码，加载，求指数值，求它们的和，最后把商存到 y。

# %%
@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 5 lines)


# %% [markdown]
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器在 *Triton 的解释器* 上启动你的 kernel，并换用各种形状；解
# 释器用 NumPy 在 CPU 上运行 kernel。

# %%
def naive_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    block_size = triton.next_power_of_2(n_cols)
    naive_softmax_kernel[(n_rows,)](x, y, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=block_size)
    return y


# %% [markdown]
# ## 怎样检查
#
# 终端里：`./check p1`。notebook 里：先运行上面的单元格，再运行下面这个。检查用不了一秒。`make step
# PUZZLE=p1` 逐行单步执行你的 kernel。看看填充给总和加上了多少。

# %%
from checker.notebook import check, hint, solution, step, trace

check("p1", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=p1` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# `cols` 的哪些 lane 是这一行的列？判断这一点的那个比较，就是加载和存储共用的掩码。一个被掩码屏蔽的
# lane，会给总和加上多少？
#
# </details>
# <details><summary>2：填充</summary>
#
# 求和覆盖整个块，包括填充。哪个 x 的指数值是 0？（负无穷写作 `-float("inf")`。kernel 里没有 `np`。）
#
# </details>
# <details><summary>3：只差一步</summary>
#
# 这一行从 `x_ptr + row * x_row_stride` 开始。加载时带上 `mask=cols < n_cols, other=-float("inf")`，转
# 成 fp32，求 `tl.exp`，再把结果除以自己的 `tl.sum(..., axis=0)`。用同一个掩码把商存储到 y 的这一行，y
# 有自己的步幅。
#
# </details>
#
# ## 实验
#
# **预测**：每个问题都只针对一行。把每个 `...` 换成你的猜测。kernel 通过之后，由它给出答案。猜测不计
# 分。
#
# * `y_0`：一行五个七，`BLOCK_SIZE=8`。y 的第一个元素是多少？
# * `idle_lanes`：1025 列需要 `BLOCK_SIZE=2048`。存储 y 时有多少个 lane 被掩码屏蔽？
# * `x_reads`：还是 1025 列的那次启动，x 的每个元素读几次？
#
# 在终端里：
#
# ```
# make predict PUZZLE=p1 GUESS="y_0=... idle_lanes=... x_reads=..."
# ```

# %%
from checker.notebook import predict

predict("p1", y_0=..., idle_lanes=..., x_reads=...)

# %% [markdown]
# **运行**：`run` 用你自己的数组，在解释器上把你的 kernel 启动一次。先写下猜测。单元格照原样运行，y 里
# 会是什么？把 88 改成 89，两行各有什么变化？5 行 300 列，`grid` 和 `BLOCK_SIZE` 各该取多少？
#
# <details><summary>答案</summary>
#
# 第 0 行变成 1、0、0（后两个约等于零），因为 $e^{88} = 1.7 \cdot 10^{38}$ 在 fp32 里还放得下。
# $e^{89}$ 放不下，所以指数值的和成了无穷。89 得到 $\infty / \infty$ = NaN，旁边的数得到 0。第 1 行仍
# 是 .6652、.0900、.2447，因为算它的是另一个程序。五行各 300 列，需要 5 个程序，块长 512。
#
# </details>

# %%
import numpy as np

from checker.notebook import run

x = np.array([[88.0, 1.0, 2.0], [3.0, 1.0, 2.0]], np.float32)  # or 89.0
y = np.zeros_like(x)
run(naive_softmax_kernel, x_ptr=x, y_ptr=y, x_row_stride=3, y_row_stride=3, n_cols=3, BLOCK_SIZE=4, grid=2)

# %% [markdown]
# ## 做完之后值得留意的
#
# 在 H200 上，这个 kernel 能跑到纯拷贝速度的 99.7 %。不用 `torch.compile` 的 `torch.softmax` 是 46 %
# （fp32，每行长 8192）。
#
# 这个 kernel 很快，也很脆弱。fp32 最大到 $3.4 \cdot 10^{38}$，$x > 88.7$ 时 $e^x$ 就超过了它。真实的
# 注意力分数确实会这么大。p2 解决这个问题，也能处理比块更长的行。
#
# ## 延伸阅读
#
# * [指数函数能做什么、不能做什么，完整版](../../docs/background/softmax.md)（英文）。
# * [内存、程序，以及为什么访存量就是时间](../../docs/background/gpu.md)（英文）。
# * [Triton 的融合 softmax 教程
#   ](https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html)（英文）：同一个
#   kernel，多一个遍历各行的循环。
# * M. Milakov、N. Gimelshein，[*Online normalizer calculation for
#   softmax*](https://arxiv.org/abs/1805.02867)（2018），第 1 节和第 2 节：朴素算法和安全算法，以及各
#   自访问内存的次数。
