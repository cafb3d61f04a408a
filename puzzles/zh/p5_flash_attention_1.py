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
# # 题 p5：FlashAttention-1
#
# ## 你要写什么
#
# 上下文长度为 16,384 个 token 时，transformer 的每一层里，每个头的分数在 fp16 下要占 0.5 GB。这道题的
# kernel 从不存储分数，结果却是 *精确* 的。
#
# <details><summary>什么是注意力：没做过 a2 或 a3 就展开看</summary>
#
# <!-- attention -->
# Q 的每一行是一个 *查询*（query）。K 的每一行是一个 *键*（key），V 的同一行是这个键的 *值*（value）。
# *分数*（score）表示查询与键的匹配程度，等于两者的点积乘系数 `scale`。（常取 $1/\sqrt{d}$，免得分数随
# 行宽 $d$ 变大。）softmax 把一个查询的所有分数变成 *权重*（weight）。O 的对应行就是所有值按这些权重的
# 加权平均：
#
# $$ s_{ij} = \text{scale} \cdot q_i \cdot k_j, \qquad m_i = \max_j s_{ij}, \qquad l_i = \sum_j e^{s_{ij} - m_i}, \qquad
# o_i = \frac{1}{l_i} \sum_j e^{s_{ij} - m_i}\, v_j. $$
#
# 模型把这件事并行做很多份，每份用各自的矩阵，这样的一份叫一个 *头*（head）。所有查询都互不相干，无论
# 是否在同一个头里。
# <!-- /attention -->
#
# </details>
#
# 一个程序负责一个头。它逐个处理键分块，每处理一个，就把所有查询分块走一遍。一个查询的中间结果，就是 O
# 的那一行和对应的 `l`、`m`。它们放在全局内存里，每次访问都更新。
#
# ```
#                     键：   K1,V1   K2,V2   K3,V3
#                          ┌───────┬───────┬───────┐
# 查询：    Q1  O1 l1 m1   │  1    │  4    │  7    │
#                          ├───────┼───────┼───────┤
#           Q2  O2 l2 m2   │  2    │  5    │  8    │
#                          ├───────┼───────┼───────┤
#           Q3  O3 l3 m3   │  3    │  6    │  9    │
#                          └───────┴───────┴───────┘
# 1、2、3 …：访问的次序
# 外层循环：沿 j，K 和 V 各读一次
# 内层循环：沿 i，每个键分块都读写一遍
#           O、l 和 m，共 Tc 次
# ```
#
# <details><summary>kernel 里的头、末尾和类型：没做过 a3 就展开看</summary>
#
# <!-- heads -->
# **头从哪里开始**：三维张量需要两个步幅。Q 的元素 $(h, i, c)$ 在第一个元素之后 $h \cdot \text{head
# stride} + i \cdot \text{row stride} + c$ 个元素处。不要假定头的步幅就是 $n_q \cdot D$。模型常把所有
# 头一次算成一个 heads · D 列的矩阵。这时头 1 的起点只比头 0 晚 D 个元素。O 的步幅与 Q 相同，V 的步幅
# 与 K 相同。
#
# **末尾**：最后的分块可能填不满。末尾之后的 *查询* 按 0 加载，只要最后不存储，算成什么都无所谓。末尾
# 之后的 *键* 也按 0 加载。但这样分数就是 0，而 $e^0 = 1$ 会算进去。什么样的分数，指数值是 0？取最大值
# 之前就要屏蔽这个分数。如果一个查询的分数全在 −100 附近，填充出来的 0 就成了最大值，真正的权重全部消
# 失。
#
# **类型**：`tl.dot` 的结果是 fp32。所以分数、最大值、和与权重都保持 fp32。如果 O 是别的类型，存储时再
# 转换它的分块。与 `Vj` 相乘要求两个分块类型相同：把 `Pij` 转换成 `Vj.dtype`。
# <!-- /heads -->
#
# </details>
#
# ## 思路
#
# 用 PyTorch 写：
#
# ```python
# S = scale * q.float() @ k.float().mT       # (heads, n_q, n_k): never stored by your kernel
# m = S.amax(dim=-1)                         # (heads, n_q)
# l = (S - m[..., None]).exp().sum(dim=-1)   # (heads, n_q)
# o = S.softmax(dim=-1) @ v.float()          # (heads, n_q, D)
# ```
#
# 分数的分块 $S_{ij}$ 是 a1 那样的矩阵乘积，再乘 `scale`。新东西有三样。
#
# **1. 只要一遍**：p3 需要第二遍，是因为要存储权重，而一行结束之前，哪个权重都不是最终值。这里只需要值
# 按这些权重的加权和。最大值变大时，和里的每一项都乘同一个系数。所以像对 `l` 那样，直接重新缩放这个
# *和*。
#
# **2. 带除法的更新**：对键的循环在外层，对查询的循环在内层。程序访问别的查询期间，O、`l` 和 `m` 在全
# 局内存里等着。FlashAttention 论文存储的 O 已经除过 $l_i$：就是只看已处理过的键所得的注意力输出。单看
# 分块 $(i, j)$，最大值是 $m_{ij}$，指数值是 $P_{ij} = e^{S_{ij} - m_{ij}}$，指数值的和是 $l_{ij}$（下
# 面的第 10 行）。要把分块与已有的结果合并，就把两者都换算到较大的最大值（第 11 行）：
#
# $$m_i^{new} = \max(m_i, m_{ij}), \qquad
# l_i^{new} = e^{m_i - m_i^{new}}\, l_i + e^{m_{ij} - m_i^{new}}\, l_{ij}$$
#
# $O_i$ 已经除过 $l_i$，所以先乘回 $l_i$，还原成相对于 $m_i$ 的和；再把两部分都换算到新的最大值，相
# 加，除以新的归一化因子（第 12 行）：
#
# $$O_i^{new} = \frac{l_i\, e^{m_i - m_i^{new}}\, O_i + e^{m_{ij} - m_i^{new}}\, P_{ij} V_j}{l_i^{new}}$$
#
# 首次访问时 $l_i = 0$，$m_i = -\infty$，旧的部分自然消失。
#
# *用数字看*：一个查询，分数是 p3 的 1 3 | 2 5，v = 10 20 | 30 40：
#
# | 算完 | $m$ | $l$ | O |
# |---|---|---|---|
# | 分块 1 | 3 | $0.1353 + 1 = 1.1353$ | $(0.1353 \cdot 10 + 1 \cdot 20) / 1.1353 = 18.81$ |
# | 单独的分块 2 | 5 | $0.0498 + 1 = 1.0498$ | $0.0498 \cdot 30 + 1 \cdot 40 = 41.49$，未除 |
# | 两者合并 | 5 | $1.1353 \cdot e^{3-5} + 1.0498 = 1.2034$ | $(1.1353 \cdot e^{3-5} \cdot 18.81 + 41.49) / 1.2034 = 36.88$ |
#
# **3. 屏障**：在 GPU 上，一个程序由许多线程组成。一个线程要加载的数，可能是外层循环的上一轮由另一个线
# 程存储的。代码框架末尾的 `tl.debug_barrier()` 让所有线程互相等齐。
#
# **顺序**，行号取自论文的算法 1，检查器的报告也用这套行号：
#
# ```
#      5 对键的每个分块 j：
#      6     加载 Kj、Vj
#      7     对查询的每个分块 i：
#      8         加载 Qi、Oi、li、mi
#      9         分数；末尾之后的键是 -inf
# 10, 11         分块的 mij、Pij、lij；再算 mi_new 和 li_new
# 12, 13         新的 Oi；存储 Oi、li_new 和 mi_new
# ```
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q，形状 `(heads, n_q, D)`；K 和 V，形状 `(heads, n_k, D)`；fp32、fp16 或 bf16 |
# | `o_ptr` | O，形状和步幅与 Q 相同，fp32；开始时是 0 |
# | `l_ptr`, `m_ptr` | l 和 m，形状 `(heads, n_q)`，连续存放（一个头的那一行从 `head * n_q` 开始），fp32；开始时分别是 0 和 $-\infty$ |
# | `q_head_stride`, `q_row_stride` | Q 和 O 里，从一个头到下一个头、从一行到下一行相隔的元素数 |
# | `k_head_stride`, `k_row_stride` | K 和 V 里的，含义同上 |
# | `n_q`, `n_k`, `scale` | 查询数，键数，分数的系数：正数，不一定是 $1/\sqrt{d}$ |
# | `D`, `Br`, `Bc` | 一个头的宽度；一个分块的查询数和键数；都是 2 的幂，至少 16 |
#
# 运行结束后，O 是注意力。`l` 和 `m` 是每行分数的归一化因子和最大值。
#
# **64 位**：两个 32 位整数的乘积仍是 32 位。设 Q、K、V 是同一个矩阵的三部分，各有 56 个头、每头 128
# 维。它的相邻两行相隔 $3 \cdot 56 \cdot 128 = 21504$ 个元素。第 99,865 行从 $99865 \cdot 21504 =
# 2^{31} + 13312$ 开始，用 32 位算会得到负数。所以下标要先转换再乘。代码框架已经转换了 `head` 和
# `keys`：查询的下标要由你来转换。
#
# ## 访存上限
#
# K 和 V 只加载 **一次**。键分块共 $T_c = \lceil n_k / B_c \rceil$ 个，每个键分块把 Q、O、l 和 m 加载
# 一次，把 O、l 和 m 存储一次。循环顺序是题目规定的：O 必须反复访问。加载、存储和矩阵乘积都是一次一个
# 分块。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约二十七行。

# %%
@triton.jit
def flash_attention_1_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, m_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    dims = tl.arange(0, D)
    for start_k in range(0, n_k, Bc):  # line 5: for 1 <= j <= Tc
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        # FILL IN (roughly 27 lines): lines 6 to 13
        tl.debug_barrier()


# %% [markdown]
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种形状。

# %%
def flash_attention_1(q, k, v, scale):
    """Attention of (heads, n, D) tensors on the GPU: O, l and m."""
    import math

    import torch

    heads, n_q, d = q.shape
    o = torch.zeros_like(q, dtype=torch.float32)
    l = torch.zeros((heads, n_q), device=q.device)
    m = torch.full((heads, n_q), -float("inf"), device=q.device)
    # M below: how many fp32 numbers fit on the chip
    on_chip = torch.cuda.get_device_properties(q.device).shared_memory_per_block_optin // 4
    Bc = max(16, 2 ** int(math.log2(on_chip / (4 * d))))  # ceil(M / 4d) in the paper; here a power of two
    flash_attention_1_kernel[(heads,)](
        q, k, v, o, l, m,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        n_q, k.shape[1], scale,
        D=d, Br=min(Bc, d), Bc=Bc,
    )  # fmt: skip
    return o, l, m


# %% [markdown]
# ## 怎样检查
#
# 终端里：`./check p5`。notebook 里：先运行上面的单元格，再运行下面这个。`make step PUZZLE=p5` 逐行单
# 步执行你的 kernel。找错时，先把 *运行* 下面单元格里的 64 全部换成 16：只有一个分块，第 11 行没有东西
# 可合并。再换成 32，有两个键分块；换成 24，有一个分块没填满。

# %%
from checker.notebook import check, hint, solution, step, trace

check("p5", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=p5` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# 第 6 行放在外层循环里、内层循环之前，因为所有查询分块都要用 Kj 和 Vj。然后照着算法逐行写。哪些变量是
# 分块，哪些是每个查询对应一个数的向量？其中哪些每次访问都要重新加载？
#
# </details>
# <details><summary>2：内层循环</summary>
#
# Kj 和 Vj 的偏移是 `kv_offsets`，从 `k_ptr + head * k_head_stride` 算起，`v_ptr` 同理。内层循环的变量
# 是 `start_q`，步长 Br。循环里加载分块 Qi 和 Oi。向量 li 和 mi 从 `l_ptr + head * n_q + queries` 加
# 载，`m_ptr` 同理。被掩码屏蔽的 lane 填 0，mi 则填 $-\infty$。接着是上面的第 9 到 12 行，凡是向量与分
# 块一起运算的地方都写 `[:, None]`，最后存储三次。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# `Sij = scale * tl.dot(Qi, tl.trans(Kj))`，用 `tl.where(keys[None, :] < n_k, Sij, -float("inf"))` 屏
# 蔽；`mij = tl.max(Sij, axis=1)`；`Pij = tl.exp(Sij - mij[:, None])`；`old = tl.exp(mi - mi_new) *
# li`；`new = tl.exp(mij - mi_new)`；`li_new = old + new * tl.sum(Pij, axis=1)`；`Oi = (old[:, None] *
# Oi + new[:, None] * tl.dot(Pij.to(Vj.dtype), Vj)) / li_new[:, None]`。
#
# </details>
#
# ## 实验
#
# **预测**：这次启动有一个头，64 个查询，64 个键，D = 16，`Br=16`，`Bc=32`。把每个 `...` 换成你的猜
# 测。kernel 通过之后，由它给出答案。
#
# * `k_reads`：K 的每个元素读几次？
# * `o_writes`：O 的每个元素写几次？
# * `q_reads`：Q 的每个元素读几次？
#
# 在终端里：
#
# ```
# make predict PUZZLE=p5 GUESS="k_reads=... o_writes=... q_reads=..."
# ```

# %%
from checker.notebook import predict

predict("p5", k_reads=..., o_writes=..., q_reads=...)

# %% [markdown]
# **运行**：下一个单元格是同样的启动，只是 `Bc=16`。运行之前先写下你的猜测。
#
# 1. O 的每个元素读几次，写几次？`Bc=64` 呢？
# 2. 8 个头需要怎样的网格？
# 3. O 从 0 开始。让它从 5 开始：用 `np.full_like(q, 5)` 代替 `np.zeros_like(q)`。结果有什么变化？
#
# <details><summary>答案</summary>
#
# 1. 读写各 4 次，每个键分块一次。`Bc=64` 只有一个键分块：读写各一次。
# 2. 8 个程序，与头的长度无关。
# 3. 没有变化。首次访问时旧的 O 要乘 `li`，此时它还是 0。
#
# </details>

# %%
import numpy as np

from checker.notebook import run

random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
o, l, m = np.zeros_like(q), np.zeros((1, 64), np.float32), np.full((1, 64), -np.inf, np.float32)
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "l_ptr": l, "m_ptr": m}
strides = {"q_head_stride": 64 * 16, "q_row_stride": 16, "k_head_stride": 64 * 16, "k_row_stride": 16}
sizes = {"n_q": 64, "n_k": 64, "scale": 0.25, "D": 16, "Br": 16, "Bc": 16}  # or Bc 64
run(flash_attention_1_kernel, **tensors, **strides, **sizes, grid=1)

# %% [markdown]
# ## 做完之后值得留意的
#
# 普通注意力是三个 kernel：一个存储 S，一个把 S 变成 P，一个算 P 乘 V。其中四遍走过 n × n 的矩阵：S 写
# 出，S 读入，P 写出，P 读入。另外四遍走过小矩阵：Q、K、V 读入，O 写出。$n$ 个查询和键，这[八遍
# ](../../docs/background/gpu.md#the-eight-passes-of-standard-attention)大约访存 $4 n d + 4 n^2$ 次。
# 你的 kernel 大约 $2 n d + T_c \cdot 3 n d$ 次，因为 O 要来回 $T_c$ 次。
#
# **块大小**：片上放得下 $M$ 个数：H100 或 H200 有 227 KiB，按 fp32 是 58,112 个。论文让 Q、K、V、O 各
# 占一个分块：$B_c = \lceil M / 4d \rceil$，$B_r = \min(B_c, d)$。上面的启动代码向下取到 2 的幂：d =
# 64 时，$B_c = 128$，$B_r = 64$。取 $B_c = M / 4d$，$T_c = n / B_c$，你的访存量是 $n^2 d^2 / M$ 的量
# 级：$n^2$ 的 $d^2 / M$ 倍。
#
# ![条形图：一个头搬运的 MiB 数。标准注意力 130，其中 S 写出、S 读入、P 写出、P 读入各 32。FlashAttention-1，Bc = 128：83，其中 Q 16，O 读入和 O 写出各 32。FlashAttention-2：Br = 64 时 65，Br = 128 时 33，几乎全是 K 和 V，两者各半。Q、K、V、O 各一遍：2。](../../docs/figures/memory_passes.svg)
#
# 划不划算，由常数决定。只要 $B_c > \frac{3}{4} d$，$T_c \cdot 3 n d = 3 n^2 d / B_c$ 就小于 $4 n^2$。
# n = 4096、d = 64 时，如图所示，普通注意力的访存次数是你这个 kernel 的 2.6 倍（l 和 m 也计入）。按字
# 节算是 1.6 倍，因为你的 O 以 fp32 保存。d = 128、$B_c = 64$ 时，普通注意力反而更少。
#
# **循环的顺序**：O 之所以来回搬运，只因为键在外层：用 `make trace PUZZLE=p5` 可以看到。而且一个头只有
# 一个程序在算，因为两个程序会同时改写同一份 O。所以头少的时候，GPU 大部分都闲着。16,384 个 token，每
# 头 64 维，在 H200 上用时：
#
# | | 你的 kernel | eager 模式的 PyTorch |
# |---|---|---|
# | 128 个头 | 89 ms | 138 ms |
# | 32 个头 | 80 ms | 33 ms |
#
# p6 把两层循环对调。
#
# ## 延伸阅读
#
# * [FlashAttention-1 逐行讲解、块大小、访存量](../../docs/background/attention.md)（英文）。
# * T. Dao 等，[*FlashAttention: Fast and Memory-Efficient Exact Attention with
#   IO-Awareness*](https://arxiv.org/abs/2205.14135)（2022）：算法 1；访存量见定理 2。
