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
# # 题 a1：分块矩阵乘法
#
# ## 你要写什么
#
# 写一个 kernel，把两个矩阵相乘。Transformer 的运算几乎全是这种乘积：线性层是，注意力里的两次也是。
# Triton kernel 要用上 GPU 的矩阵单元，靠的就是 `tl.dot`。
#
# $C = A B^T$：A 是 $(m, k)$，B 是 $(n, k)$，C 是 $(m, n)$。这里 `m` 是行数，不是最大值。一个程序负责
# C 的一个分块。它沿 $k$ 移动，每一步把 A 的一个分块与 B 的一个分块相乘：
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
#       A：Bm 行的条带                       j = 0 j = 1
#                                         C：一个分块，Bm x Bn
#       ┌─────┬─────┬─────┐
# j = 0 │     │     │     │        程序 (i, j) = (1, 1)：
#       ├─────┼─────┼─────┤        acc = 0
# j = 1 │ b 1 │ b 2 │ b 3 │        acc = acc + a1 b1ᵀ
#       └─────┴─────┴─────┘        acc = acc + a2 b2ᵀ
#       B：Bn 行的条带             acc = acc + a3 b3ᵀ，然后存储
# ```
#
# ## 思路
#
# **乘积**：C 的元素 $c_{pq}$ 由 A 的第 $p$ 行与 B 的第 $q$ 行相乘得到：
#
# $$ c_{pq} = \sum_{u=1}^{k} a_{pu}\, b_{qu}. $$
#
# 用 PyTorch 写：
#
# ```python
# c = torch.empty(m, n)
# for row in range(m):
#     for col in range(n):
#         c[row, col] = (a[row] * b[col]).sum()     # all of it: c = a @ b.T
# ```
#
# B 按行存放，一行对应 C 的一列。线性层就是这样存权重的，注意力也是这样存键的：$Q K^T$ 正是这个乘积。
#
# **分块**：求和可以拆成几段。把 $k$ 切开，每步 $B_k$ 列。（$B_m$、$B_n$、$B_k$ 是尺寸，$B_{jt}$ 是 B
# 的分块。）于是 C 的一个分块就是若干小分块的乘积之和，而小分块在片上放得下：
#
# $$ C_{ij} = \sum_{t=1}^{T_k} A_{it}\, B_{jt}^T, \qquad T_m = \lceil m / B_m \rceil, \quad
# T_n = \lceil n / B_n \rceil, \quad T_k = \lceil k / B_k \rceil. $$
#
# ![C 切成 3 × 4 个分块，左边是 A，上边是 B 的转置。C 的一个分块 acc 需要 A 在它那一行的条带，即分块 a1、a2 和 a3，以及 B 在它那一列的条带，即 b1、b2 和 b3。它从 0 开始，依次加上乘积 a1 b1ᵀ、a2 b2ᵀ 和 a3 b3ᵀ，然后存储。A 的每条条带要为 C 的 4 个分块各加载一次，B 的每条条带要为 3 个分块各加载一次。](../../docs/figures/product_tiles.svg)
#
# **手算**：设所有分块都是 2 × 2。程序 (0, 0) 需要 A 的两行和 B 的两行，这里 $k = 4$：
#
# ```
# A = 1 2 | 0 1      B = 1 2 | 0 1
#     0 1 | 3 0          0 1 | 1 0
#
# 第 1 轮：     a = 1 2   bᵀ = 1 0   a bᵀ = 5 2   acc = 5 2
#                   0 1        2 1          2 1         2 1
# 第 2 轮：     a = 0 1   bᵀ = 0 1   a bᵀ = 1 0   acc = 6 2
#                   3 0        1 0          0 3         2 4
# ```
#
# | PyTorch | Triton | 作用 |
# |---|---|---|
# | `a @ b` | `tl.dot(a, b)` | 两个同类型分块的乘积，结果是 fp32 分块；两者共有的边至少为 16 |
# | `b.T` | `tl.trans(b)` | 交换分块的两条边 |
# | `torch.zeros(8, 4)` | `tl.zeros((8, 4), tl.float32)` | 全零分块 |
#
# A 的分块形状是 `(Bm, Bk)`，B 的是 `(Bn, Bk)`。所以 `tl.dot` 需要把第二个转置成 `(Bk, Bn)`。转置不产
# 生访存，因为分块已经在片上。
#
# **累加器**：和要放在单独的一个分块里，循环之前建好，循环之后存储。不管 A 和 B 是什么类型，它都是
# fp32。两个 fp16 数的乘积在 fp32 里是精确的，所以只有加法才舍入。存储时，C 再舍入到它自己的类型。
#
# **沿 k 的掩码**：最后的分块可能填不满。末尾之后的行，只会得到 C 中不存储的行，没有害处。k 末尾之后的
# 列却有害处：它会往分块的 *每个* 元素里加东西。它的 lane 该放什么，才什么也不加？拿上面的例子，取
# $k = 3$。第二步只有一列，而不是两列，acc 最后上面是 `5 2`，下面是 `2 4`。
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `a_ptr` | 指向 A 首元素的指针，形状 `(m, k)`，fp32、fp16 或 bf16 |
# | `b_ptr` | B 的指针，同上，形状 `(n, k)`，类型与 A 相同 |
# | `c_ptr` | C 的指针，同上，形状 `(m, n)`，类型与 A 相同 |
# | `a_row_stride`, `b_row_stride`, `c_row_stride` | 从一行到下一行的元素个数，至少为行长；三者可以各不相同 |
# | `m`, `n`, `k` | 尺寸，至少为 1 |
# | `Bm`, `Bn`, `Bk` | 分块的边长，都是 2 的幂，至少为 16 |
#
# 网格是 $(T_m, T_n)$：$i$ 是 `tl.program_id(0)`，$j$ 是 `tl.program_id(1)`。代码框架已经把它们换算成
# C 的行号 `rows` 和列号 `cols`。B 的行就是 C 的列，所以 `cols` 也是 B 的行号。A 和 B 沿 $k$ 的列要有
# 自己的编号：为它们建一个块。
#
# ## 访存上限
#
# C 的一行有 $T_n$ 个分块，它们的程序都需要 A 的同一条条带。所以 A 加载 $T_n$ **次**，B 加载 $T_m$
# **次**，C 存储 **一次**。末尾之后的行要用掩码屏蔽。（Triton 的教程用 `rows % m` 绕回开头，于是把开头
# 的行再加载一遍。）不要一次加载整条条带。任何块里的数都不能多于 A、B、C 的分块中最大的那个。乘积由
# `tl.dot` 来做，至多 $T_m T_n T_k$ 次。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约十行：累加器，沿 k 的循环（含两个掩码和两次加载），乘积，带掩码的存储。

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
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种形状。

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
# ## 怎样检查
#
# 终端里：`./check a1`。notebook 里：先运行上面的单元格，再运行下面这个。`make step PUZZLE=a1` 逐轮展
# 示 C 的一个分块怎样累加起来；`make trace PUZZLE=a1` 画出 A 和 B 的每个分块读了几次。

# %%
from checker.notebook import bench, check, hint, solution, step, trace

check("a1", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=a1` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# 循环与 p4 相同，n_cols 换成 k，BLOCK_COLS 换成 Bk。每一轮加载 A 和 B 的哪些列？把这些列号做成一个
# 块，就像 p4 里的 `cols`。A 的分块怎样寻址，也与那里 x 的分块一样。
#
# </details>
# <details><summary>2：分块和它们的掩码</summary>
#
# `inner = start + tl.arange(0, Bk)`。A 的分块的偏移是 `rows[:, None] * a_row_stride + inner[None,
# :]`，B 的分块同理，用 `cols` 和 `b_row_stride`。行和列都存在的 lane 才算数，其余的都放 0。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# 循环之前，`acc = tl.zeros((Bm, Bn), tl.float32)`。循环里，`acc += tl.dot(a, tl.trans(b))`。循环之
# 后，把 acc 存到 `c_ptr + rows[:, None] * c_row_stride + cols[None, :]`，掩码是 `(rows < m)[:, None]
# & (cols < n)[None, :]`。
#
# </details>
#
# ## 实验
#
# **预测**：这次启动中 m = 48，n = 32，k = 40，`Bm`、`Bn` 和 `Bk` 都是 16。把每个 `...` 换成你的猜测。
# kernel 通过之后，由它给出答案。猜测不计分。
#
# * `a_reads`：A 的每个元素读几次？
# * `b_reads`：B 的每个元素读几次？
# * `multiply_adds`：这个乘积需要 48 · 32 · 40 = 61,440 次乘加。`tl.dot` 做了多少次？
#
# 在终端里：
#
# ```
# make predict PUZZLE=a1 GUESS="a_reads=... b_reads=... multiply_adds=..."
# ```

# %%
from checker.notebook import predict

predict("a1", a_reads=..., b_reads=..., multiply_adds=...)

# %% [markdown]
# **运行**：下一个单元格就是同一次启动。改变分块的一条边。这时 A 和 B 各读几次，有多少个程序、多少轮？
# 先写下你的猜测。
#
# 1. `Bn` 取 32 呢？
# 2. `Bk` 取 32，`Bn` 改回 16 呢？
#
# <details><summary>答案</summary>
#
# 1. 网格是 3 × 1，所以有 3 个程序，各 3 轮。C 横向只有一个分块，所以 A 读一次。B 仍然读三次。
# 2. 6 个程序，各 2 轮。A 读两次，B 读三次。
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
# 下一个单元格把元素全为一的矩阵相乘，只是 A 的后半部分是 0.9。C 的元素是多少？如果累加器是 fp16 呢？
# 把累加器的初值改用 `tl.float16`，循环里写 `acc = (acc + tl.dot(a, tl.trans(b))).to(tl.float16)`，试
# 完再把 kernel 改回来。
#
# <details><summary>答案</summary>
#
# 在 fp16 里，0.9 是 0.8999，$2048 + 2048 \cdot 0.8999 = 3891$。C 是 fp16，在这个范围里只有偶数：正好
# 在两数中间，舍入到 3892。如果累加器也是 fp16，256 轮中的最后 128 轮，每轮都把 $16 \cdot 0.9 = 14.4$
# 加到一个偶数上，再舍入到偶数。所以每轮只加上 14：$2048 + 128 \cdot 14 = 3840$。误差是 1.3 %，而 k 往
# 往更大。
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
# ## 做完之后值得留意的
#
# 这就是 p4 的循环，只是最大值与和换成了乘积。在注意力里，A 的行是查询，B 的行是键。C 是它们的分数，C
# 的分块算出来马上就用，不存储。
#
# 分块越大，加载越少。*算术强度* 是每加载一字节所做的运算次数。一次乘加是两次运算，一个 fp16 数是两字
# 节。所以在 fp16 下，它是 $B_m B_n / (B_m + B_n)$：
#
# | C 的分块 | 每字节运算次数 | $m = n = k = 4096$ 时的加载量 |
# |---|---|---|
# | 16 × 16 | 8 | 17.2 GB |
# | 64 × 64 | 32 | 4.3 GB |
# | 128 × 128 | 64 | 2.1 GB |
# | 128 × 256 | 85 | 1.6 GB |
#
# 尺寸是 16 的倍数时，Triton 编译出的版本用一条指令拷贝许多个数，同时程序继续计算。其他尺寸下，每个数
# 都要单独加载，各带各的掩码。在 H200 上，fp16，m = n = 4096：
#
# | k | 用时 |
# |---|---|
# | 4096 | 0.23 ms |
# | 4088 | 1.11 ms |
#
# 前者是 586 TFLOP/s，相当于 PyTorch 自带矩阵乘积速度的 78 %。这将近这块 GPU 不用矩阵单元时 fp32 速度
# 的九倍。`make bench PUZZLE=a1 EVERY=1` 会在你自己的 GPU 上测这两种情况。
#
# NVIDIA GPU 的矩阵单元不能直接处理 fp32。遇到 fp32 分块，`tl.dot` 先舍入到 TF32，它与 fp16 一样保留
# 11 位二进制有效位。`tl.dot(a, b, input_precision="ieee")` 则不舍入。两种写法检查器都算通过。
#
# ## 延伸阅读
#
# * [分块，以及它省下了什么](../../docs/background/gpu.md#tiling)（英文）。
# * [Triton 的矩阵乘法教程
#   ](https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html)（英文）：
#   循环相同。教程安排了程序的次序，让同时运行的程序在 L2 缓存里共用条带。
