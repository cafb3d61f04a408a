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
# # 题 p4：分块 softmax
#
# ## 你要写什么
#
# 还是 p3 的 softmax，但一次算多行。单独一行短行，喂不饱一个程序。所以一个程序处理一个 *分块*
# （tile），即矩阵的一个矩形部分，两条边的长度都由你选。
#
# p6 的注意力 kernel 就是这个样子：一个程序负责 BLOCK_ROWS 行，让分块沿着各列移动。`m` 和 `l` 变成向
# 量，每行一个元素。
#
# ```
#                cols ──▶  BLOCK_COLS
#              ┌──────────┬──────────┬─────┄┄┄┄┐
# 程序 0       │  分块    │          │     ┆   ┆   m [ ]   l [ ]
# BLOCK_ROWS   │          │ ──▶      │     ┆   ┆     [ ]     [ ]
#              ├──────────┼──────────┼─────┄┄┄┄┤
# 程序 1       │          │          │     ┆   ┆
#              ├┄┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄┄┼┄┄┄┄┄┄┄┄┄┤
#              └┄┄┄┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┄┄┄┴┄┄┄┄┄┄┄┄┄┘
#              末尾之后的行也是填充
# ```
#
# <details><summary>分块的偏移和掩码：没做过 w3 就展开看</summary>
#
# <!-- tiles -->
# 一个程序处理一个 *分块*（tile），即矩阵的一个矩形部分。`rows` 和 `cols` 是两个一维的块，分别是分块的
# 行号和列号。`rows[:, None]` 把块变成一列，形状 `(BLOCK_ROWS, 1)`。`cols[None, :]` 把块变成一行，形状
# `(1, BLOCK_COLS)`。两者做运算时，长度为 1 的那一维会自动复制，直到形状对上：这就是 *广播*，与
# PyTorch 相同。设矩阵的行步幅是 10，取第 2、3 行和第 4 到 7 列：
#
# ```
#  rows[:, None] * 10   +   cols[None, :]    =   偏移的分块
#
#       20                                        24  25  26  27
#       30                   4   5   6   7        34  35  36  37
#
#     (2, 1)                    (1, 4)                (2, 4)
# ```
#
# 指针加上这个分块，得到由地址组成的分块；再经过 `tl.load`，得到由值组成的分块。行 *和* 列都存在，这个
# lane 才属于矩阵。以 5 × 10 的矩阵为例，取第 4、5 行和第 8 到 11 列：
#
# ```
# 行存在，          列存在，
# 竖放        &     横放            =   掩码的分块
#
#      ✓                                     ✓ ✓ ✗ ✗
#      ✗                ✓ ✓ ✗ ✗              ✗ ✗ ✗ ✗
# ```
#
# 块与块之间写 `&`，每个比较都加括号。Python 的 `and` 只用于两个单独的条件。
# <!-- /tiles -->
#
# </details>
#
# ## 思路
#
# p3 再多一个轴。用 PyTorch 写，x 是一个程序负责的那些行，不含 $-\infty$：
#
# ```python
# m, l = torch.full((len(x),), -torch.inf), torch.zeros(len(x))                      # (BLOCK_ROWS,)
# for tile in x.split(BLOCK_COLS, dim=1):
#     m_new = torch.maximum(m, tile.amax(dim=1))
#     m, l = m_new, l * (m - m_new).exp() + (tile - m_new[:, None]).exp().sum(dim=1)
# y = (x - m[:, None]).exp() / l[:, None]
# ```
#
# **沿一个轴归约**：沿轴 1 归约，就是在每一行里看遍所有列，结果每行一个元素。要让结果再与分块做运算，
# 就把归约掉的那一维补回来：`[:, None]`，形状 `(BLOCK_ROWS, 1)`。写成 `[None, :]`，它就会沿着列铺开：
# 要么立刻报错，要么（分块是正方形时）不声不响地算出错误的数。
#
# ![5 行 10 列的矩阵，上面铺着 4 × 4 的分块。程序 0 负责前四行，有三个分块；最后一个分块有两列在末尾之外。程序 1 有一行，还有三行在末尾之外。在每个分块里，各行沿轴 1 归约成向量 m 和 l，每行一个元素。](../../docs/figures/tiled_rows.svg)
#
# **初值就是向量**：循环带进下一轮的变量，在循环之前就要有最终的形状和类型：
#
# | PyTorch 里 | kernel 里 |
# |---|---|
# | `torch.zeros(8)` | `tl.zeros((8,), tl.float32)` |
# | `torch.full((8,), value)` | `tl.full((8,), value, tl.float32)` |
# | `x.amax(dim=1)`，x 是分块 | `tl.max(x, axis=1)`，得到向量 |
#
# **用数字看**：设第一个分块的两行是 1 3 和 4 0，最大值是 (3, 4)。下一个分块的两行是 2 5 和 5 1。它把
# `m` 变成 (5, 5)，把 `l` 从 (1.14, 1.02) 变成 (1.20, 1.39)。每一行的结果都与单独计算时相同。第三行在
# 末尾之外，全是 $-\infty$。有了 p3 的防护，它的 `m` 一直是 $-\infty$，`l` 一直是 0。存储时由掩码挡在
# 外面。
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `x_ptr`, `y_ptr` | 指向 x 和 y 首元素的指针，形状 `(n_rows, n_cols)`，fp32、fp16 或 bf16 |
# | `x_row_stride`, `y_row_stride` | 从一行到下一行的元素个数，至少为 `n_cols`；x 和 y 的可以不同 |
# | `n_rows`, `n_cols` | x 和 y 的形状 |
# | `BLOCK_ROWS`, `BLOCK_COLS` | 分块的形状，都是 2 的幂 |
#
# 取值与 p3 相同。最后的分块可能填不满，行和列两个方向都是如此。
#
# ## 访存上限
#
# x 加载 **两次**，y 存储 **一次**，每次一个分块。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约十五行。

# %%
@triton.jit
def tiled_softmax_kernel(
    x_ptr, y_ptr, x_row_stride, y_row_stride, n_rows, n_cols, BLOCK_ROWS: tl.constexpr, BLOCK_COLS: tl.constexpr
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    cols = tl.arange(0, BLOCK_COLS)
    # FILL IN (roughly 15 lines)


# %% [markdown]
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种形状。

# %%
def tiled_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(n_rows, 4),)
    tiled_softmax_kernel[grid](x, y, x.stride(0), y.stride(0), n_rows, n_cols, BLOCK_ROWS=4, BLOCK_COLS=256)
    return y


# %% [markdown]
# ## 怎样检查
#
# 终端里：`./check p4`。notebook 里：先运行上面的单元格，再运行下面这个。`make step PUZZLE=p4` 逐行单
# 步执行你的 kernel。注意看 `m`：分块的每一行都有自己的最大值。

# %%
from checker.notebook import check, hint, solution, step, trace

check("p4", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=p4` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# `m` 和 `l` 现在是向量，而且进入循环之前就必须已经是向量。把 p3 逐行过一遍，写下每个变量的形状。是
# (BLOCK_ROWS,)，还是分块的形状？
#
# </details>
# <details><summary>2：掩码</summary>
#
# `(rows < n_rows)[:, None] & (start + cols < n_cols)[None, :]`，配上 `other=-float("inf")`。这样，不
# 存在的行全是 $-\infty$。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# 初值：`m` 用 `tl.full((BLOCK_ROWS,), -float("inf"), tl.float32)`，`l` 用 `tl.zeros((BLOCK_ROWS,),
# tl.float32)`。偏移是 `rows[:, None] * x_row_stride + start + cols[None, :]`。归约都带 `axis=1`。与分
# 块一起运算的向量要加 `[:, None]`。
#
# </details>
#
# ## 实验
#
# **预测**：这次启动处理 5 行 10 列，分块是 4 × 4。把每个 `...` 换成你的猜测。kernel 通过之后，由它给
# 出答案。猜测不计分。
#
# * `programs`：有多少个程序往 y 里存储？
# * `x_reads`：x 的每个元素读几次？
# * `idle_lanes`：存储 y 时，所有程序加起来有多少个 lane 被掩码屏蔽？
#
# 在终端里：
#
# ```
# make predict PUZZLE=p4 GUESS="programs=... x_reads=... idle_lanes=..."
# ```

# %%
from checker.notebook import predict

predict("p4", programs=..., x_reads=..., idle_lanes=...)

# %% [markdown]
# **运行**：下一个单元格用同样的分块启动。运行之前先写下你的猜测。
#
# 1. 在最后一个循环里，把减去的 `m[:, None]` 换成 `m[None, :]`。会报错吗？
# 2. 换成两行的分块再试一次：单元格里写 `at_once = 2`。这次会怎样？
# 3. 1000 行，每个分块 8 行，需要多少个程序？
#
# <details><summary>答案</summary>
#
# 1. 没有任何报错，y 却是错的。分块的第 $j$ 列减去的是第 $j$ 行的最大值，各行之和就不再是 1。最后一行
# 里甚至有无穷：它所在的分块有三行不存在，最大值是 $-\infty$。
# 2. Triton 会报错，因为形状 (1, 2) 和 (2, 4) 对不上。
# 3. 125。
#
# </details>

# %%
import numpy as np

from checker.notebook import run

at_once = 4  # or 2
x = np.random.default_rng(0).normal(size=(5, 10)).astype(np.float32)
y = np.zeros_like(x)
sizes = {"x_row_stride": 10, "y_row_stride": 10, "n_rows": 5, "n_cols": 10}
run(tiled_softmax_kernel, x_ptr=x, y_ptr=y, **sizes, BLOCK_ROWS=at_once, BLOCK_COLS=4, grid=-(-5 // at_once))

# %% [markdown]
# ## 做完之后值得留意的
#
# 分块的各行共用一个程序，此外互不相干。在注意力里，行是查询，列是键。那里的分块不是加载来的，而是在片
# 上由矩阵乘积算出来的。循环的其余部分，你已经写好了。
#
# 分块的形状应当适合行长。在 H200 上，与拷贝的速度相比：
#
# | 一行 | 分块 | 你的 kernel | eager 模式的 `torch.softmax` |
# |---|---|---|---|
# | 128 个数 | 8 × 128 | 99.4 % | 99.7 % |
# | 4096 个数 | 4 × 4096 | 94 % | 61 % |
#
# ## 延伸阅读
#
# * [分块，以及它省下了什么](../../docs/background/gpu.md)（英文）。
# * T. Dao 等，[*FlashAttention*](https://arxiv.org/abs/2205.14135)（2022），第 3.1 节：同样的两个向
#   量 m 和 l，名字也与这里相同。
