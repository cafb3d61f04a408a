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
# # 题 p6：FlashAttention-2
#
# ## 你要写什么
#
# 这就是 p5 的注意力，只是两层循环对调。许多程序同时在算同一个头。
#
# 一个程序负责一个查询分块，沿着键一路走下去。O、`l` 和 `m` 留在 *寄存器*（程序存放运算数据的地方）
# 里，直到算完。打开 `CAUSAL` 后，查询只看得到自己所在位置和更早位置的键。（语言模型预测每个词，只根据
# 前面的词。）整个看不到的分块，连加载都省掉。
#
# ```
#                    键：   K1,V1   K2,V2   K3,V3   K4,V4
#                         ┌───────┬───────┬───────┬───────┐
# 程序 0：    Q1          │   ────┼──▶ ╲  │       │       │
#                         ├───────┼───────┼───────┼───────┤
# 程序 1：    Q2          │   ────┼───────┼──▶ ╲  │       │
#                         ├───────┼───────┼───────┼───────┤
# 程序 2：    Q3          │   ────┼───────┼───────┼──▶ ╲  │
#                         └───────┴───────┴───────┴───────┘
# ╲      对角线：这些分块用掩码
# 空白：从不加载
# 这里 n_q < n_k：位置从末尾数起
# ```
#
# <details><summary>直接从 p3 过来，就展开看</summary>
#
# | p3 之后 | 新东西 |
# |---|---|
# | [p4](p4_tiled_softmax.py) | 分块有行有列：`rows[:, None]` 和 `cols[None, :]` 合起来，就是它的偏移和掩码。 |
# | | `m` 和 `l` 是向量，每行一个数，初值是 `tl.full((8,), value, tl.float32)` 和 `tl.zeros((8,), tl.float32)`。归约用 `axis=1`。 |
# | [a1](a1_matmul.py) | `tl.dot(a, b)` 把两个类型相同的分块相乘，得到 fp32 的分块。`tl.trans(b)` 交换分块的两条边。 |
# | [p5](p5_flash_attention_1.py) | 分数是 `scale` 乘以查询和键的点积。对一个查询的分数做 softmax，得到 V 各行的权重；按权重求和，就是 O 的一行。 |
# | | 最大值变大时，这个和要像 `l` 那样重新缩放。所以 O 只要一遍，权重从不存储。 |
# | | 末尾之后的键，分数必须是 $-\infty$：分数为 0 也会算进去。第二个矩阵乘积之前，把权重转换成 `Vj.dtype`。 |
#
# </details>
#
# ## 思路
#
# 用 PyTorch 写：
#
# ```python
# S = scale * q.float() @ k.float().mT                             # (heads, n_q, n_k): never stored
# if CAUSAL:
#     S = S.masked_fill(torch.ones(n_q, n_k).tril(n_k - n_q) == 0, -torch.inf)
# o, lse = S.softmax(dim=-1) @ v.float(), S.logsumexp(dim=-1)
# ```
#
# 分两半写，写完一半检查一次。
#
# ### 全注意力：60 分
#
# 先别管 `CAUSAL`。
#
# **循环对调**：查询放到外层，O 的每个分块就只属于一个程序。O 一直在片上，不必每一轮都除。保留未除的
# 和，像 `l` 那样重新缩放，最后只除一次（FlashAttention-2 论文算法 1 的第 9、10、12 行）：
#
# $$m_i^{new} = \max(m_i, \operatorname{rowmax} S_{ij}), \quad P_{ij} = e^{S_{ij} - m_i^{new}}, \quad
# \alpha = e^{m_i - m_i^{new}}$$
#
# $$l_i \leftarrow \alpha\, l_i + \operatorname{rowsum} P_{ij}, \qquad O_i \leftarrow \alpha\, O_i + P_{ij} V_j$$
#
# 任何两个程序都不会写同一处内存，所以网格里每个头的每个查询分块都有一个程序。
#
# ![两张网格，各有三个查询分块和四个键分块。左图，FlashAttention-1：访问 1 到 12 沿列向下；每对 K 和 V 只加载一次，Q、O、l 和 m 每次访问都要进出。右图，FlashAttention-2：访问 1 到 4 沿着每一行；一行是一个程序，Q 只加载一次，O 只存储一次；K 和 V 每次访问都要加载。](../../docs/figures/loop_orders.svg)
#
# *用数字看*：沿用 p5 的分数 1 3 | 2 5 和 v = 10 20 | 30 40。分块 1 之后，$m = 3$，$l = 1.1353$，O 里
# 是未除的和 21.35。分块 2 把 $m$ 提高到 5，所以 $\alpha = 0.1353$，$l = 1.2034$。O 里是 $0.1353 \cdot
# 21.35 + 41.49 = 44.38$。最后除一次，得到 $44.38 / 1.2034 = 36.88$。
#
# **留给反向的一个数**：p7 要用最终的权重，即除过 $l_i$ 的：$p_{ij} = e^{s_{ij} - m_i} / l_i =
# e^{s_{ij} - \mathrm{LSE}_i}$。这里 $\mathrm{LSE}_i = m_i + \log l_i$ 是指数值之和的对数。要存储的是
# LSE，不是 `l` 和 `m`。上例中它是 $5 + \log 1.2034 = 5.185$。`tl.log` 是自然对数。
#
# ### 因果注意力：40 分
#
# `CAUSAL` 是编译期常量，所以 `if CAUSAL:` 没有开销：编译器只保留一个分支。
#
# **谁看得到什么**：最后一个查询看得到所有键，往前每个查询依次少看一个。令 $\text{off} = n_k - n_q$，
# 只要 $j \le i + \text{off}$，查询 $i$ 就看得到键 $j$。在对角线上的分块里，看不到的分数变成
# $-\infty$。
#
# ![三张网格，分块为 4 × 4，画着因果掩码的阶梯。12 个查询、12 个键：对角线上的分块被阶梯切开，上方的跳过，下方的完整。10 个查询、16 个键：阶梯的起点右移六个键，上面几行各有两个分块被切开。14 个查询、8 个键：前六个查询什么也看不到，第一行分块全部跳过。](../../docs/figures/causal_tiles.svg)
#
# *用数字看*：如果上面四个键的最后一个看不到，分块 2 的分数就是 2 和 $-\infty$。最大值仍是 3，P 是
# $e^{2-3} = 0.3679$ 和 0。于是 $l = 1.1353 + 0.3679 = 1.5032$，$O = (21.35 + 0.3679 \cdot 30) /
# 1.5032 = 21.55$，LSE 是 $3 + \log 1.5032 = 3.408$。
#
# **循环到哪里结束**：过了对角线就什么都看不到，所以循环只走到这个分块的查询所能看到的最靠后的键为止。
# 以 40 个查询、50 个键为例，分块大小 16：$\text{off}$ 是 10。程序 1 负责查询 16 到 31。查询 31 最远看
# 到键 41，所以 `range` 的终点是 42。程序访问起点为 0、16 和 32 的分块。`tl.minimum(a, b)` 取两个数中
# 较小的一个。
#
# **什么都看不到的查询**：如果 $n_q > n_k$，前 $n_q - n_k$ 个查询一个键也看不到。它们的最大值是
# $-\infty$，所以两个指数里都需要 p3 的防护。`l` 和 O 一直是 0。不要除以这个 `l`：PyTorch 在这里给出
# NaN，而 O 必须是 0。LSE 必须是 $-\infty$，而 $m + \log l$ 本来就是。
#
# ## 签名
#
# | 参数 | 含义 |
# |---|---|
# | `q_ptr`, `k_ptr`, `v_ptr` | Q，形状 `(heads, n_q, D)`；K 和 V，形状 `(heads, n_k, D)`；fp32、fp16 或 bf16 |
# | `o_ptr` | O，形状、步幅和类型与 Q 相同 |
# | `lse_ptr` | LSE，形状 `(heads, n_q)`，连续存放，fp32，自然对数 |
# | `q_head_stride`, `q_row_stride` | Q 和 O 里，从一个头到下一个头、从一行到下一行相隔的元素数 |
# | `k_head_stride`, `k_row_stride` | K 和 V 里的，含义同上 |
# | `n_q`, `n_k`, `scale` | 查询数，键数，分数的系数（正数） |
# | `D`, `Br`, `Bc` | 一个头的宽度；一个分块的查询数和键数；都是 2 的幂，至少 16 |
# | `CAUSAL` | 查询是否只看得到自己所在位置和更早位置的键 |
#
# ## 访存上限
#
# Q 只加载 **一次**，O 和 LSE 只存储 **一次**。K 和 V 对每个查询分块加载一次；打开 `CAUSAL` 后，只加载
# 到该分块看得到的最后一个键为止。加载、存储和矩阵乘积都是一次一个分块。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约三十二行，多数在 p5 里写过。

# %%
@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    # FILL IN (roughly 32 lines)


# %% [markdown]
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种形状。

# %%
def flash_attention_2(q, k, v, scale, causal=False):
    """Attention of (heads, n, D) tensors on the GPU: O and LSE."""
    import torch

    heads, n_q, d = q.shape
    o = torch.empty_like(q)
    lse = torch.empty((heads, n_q), device=q.device)
    flash_attention_2_kernel[(triton.cdiv(n_q, 64), heads)](
        q, k, v, o, lse,
        q.stride(0), q.stride(1), k.stride(0), k.stride(1),
        n_q, k.shape[1], scale,
        D=d, Br=64, Bc=64, CAUSAL=causal,
    )  # fmt: skip
    return o, lse


# %% [markdown]
# ## 怎样检查
#
# 终端里：`./check p6`。notebook 里：先运行上面的单元格，再运行下面这个。`make step PUZZLE=p6` 逐行单
# 步执行你的 kernel：在对角线上的分块停下来看。找错时，先把 *运行* 下面单元格里的 64 全部换成 16，并写
# `CAUSAL = False`：只有一个分块。再换成 32，有两个键分块；换成 24，有一个分块没填满；最后才写
# `CAUSAL = True`。

# %%
from checker.notebook import check, hint, solution, step, trace

check("p6", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=p6` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# 先不管 `CAUSAL`。Qi 加载一次，设好 Oi、li 和 mi，走完所有键分块。循环结束后再除、再存储。这个循环就
# 是 p4 的第一个循环，只是多累加一个和。最大值变大时，Oi 要怎么变？
#
# </details>
# <details><summary>2：因果</summary>
#
# `end_k = n_k`，再加上 `if CAUSAL: end_k = tl.minimum(n_k, start_q + Br + n_k - n_q)`。循环里用一个布
# 尔分块：`visible = keys[None, :] < n_k`，打开 `CAUSAL` 后还要满足 `keys[None, :] <= queries[:,
# None] + n_k - n_q`。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# Oi 的初值是 `tl.zeros((Br, D), tl.float32)`。循环里先是 `shift = tl.where(mi_new == -float("inf"),
# 0.0, mi_new)`，然后 `Pij = tl.exp(Sij - shift[:, None])`、`alpha = tl.exp(mi - shift)` 和 `Oi =
# alpha[:, None] * Oi + tl.dot(Pij.to(Vj.dtype), Vj)`。循环之后是 `Oi / tl.where(li == 0.0, 1.0,
# li)[:, None]` 和 `mi + tl.log(li)`。
#
# </details>
#
# ## 实验
#
# **预测**：这几次启动都是一个头、64 个查询、64 个键，D = 16，`Bc=16`。把每个 `...` 换成你的猜测。
# kernel 通过之后，由它给出答案。猜测不计分。
#
# * `k_reads`：`Br=16`，非因果，K 的每个元素读几次？
# * `k_reads_causal`：`Br=16`，打开 `CAUSAL`，K 的一个元素平均读几次？
# * `k_reads_tall`：`Br=32`，打开 `CAUSAL`，K 的一个元素平均读几次？
#
# 在终端里：
#
# ```
# make predict PUZZLE=p6 GUESS="k_reads=... k_reads_causal=... k_reads_tall=..."
# ```

# %%
from checker.notebook import predict

predict("p6", k_reads=..., k_reads_causal=..., k_reads_tall=...)

# %% [markdown]
# **运行**：下一个单元格是上面的第二次启动。运行之前先写下你的猜测。
#
# 1. 打开 `CAUSAL` 后，`Br=16` 和 `Br=32` 时，K 的访存量各是全注意力的百分之几？换成 1024 个查询和键、
# 16 × 16 的分块，又是百分之几？
# 2. 设有 40 个查询、50 个键，分块大小 16。一个头需要几个程序，最后一个程序的循环到哪里结束？如果是 60
# 个查询、40 个键，程序 0 的循环又到哪里结束？
# 3. 没被对角线切开的分块是 *完整* 的，不需要掩码。访问到的分块有几个完整？`Br=16`、`Bc=32` 呢？
# `Br=32`、`Bc=16` 呢？
#
# <details><summary>答案</summary>
#
# 1. 16 个分块剩 10 个，即 62.5 %；8 个剩 6 个，即 75 %：分块越高，能跳过的越少。64 × 64 个分块剩 1 +
# 2 + … + 64 = 2080 个，即 50.8 %。
# 2. 3 个程序。程序 2 负责查询 32 到 47，其中 40 到 47 不存在。它的循环到键数 50 结束，不是 32 + 16 +
# 10 = 58。60 个查询、40 个键时 off 是 −20，程序 0 的循环到 0 + 16 − 20 = −4 结束。这个循环一轮也不
# 走，O 是 0。
# 3. 6 个：除了对角线上的 4 个，其余都完整。`Bc=32` 访问 6 个分块，2 个完整。`Br=32` 时个数相同。
# $B_r > B_c$ 时，对角线会在一行分块里切开好几个分块。$B_r < B_c$ 时，它会在好几行里切开同一个键分块。
# 追求速度的 kernel 有两个循环：一个只处理完整的分块，不用掩码；另一个处理其余的分块。
#
# </details>

# %%
import numpy as np

from checker.notebook import run

CAUSAL, Br, Bc = True, 16, 16
random = np.random.default_rng(0)
q, k, v = (random.normal(size=(1, 64, 16)).astype(np.float32) for _ in range(3))
o, lse = np.zeros_like(q), np.zeros((1, 64), np.float32)
tensors = {"q_ptr": q, "k_ptr": k, "v_ptr": v, "o_ptr": o, "lse_ptr": lse}
strides = {"q_head_stride": 64 * 16, "q_row_stride": 16, "k_head_stride": 64 * 16, "k_row_stride": 16}
sizes = {"n_q": 64, "n_k": 64, "scale": 0.25, "D": 16, "Br": Br, "Bc": Bc, "CAUSAL": CAUSAL}
run(flash_attention_2_kernel, **tensors, **strides, **sizes, grid=(triton.cdiv(64, Br), 1))

# %% [markdown]
# ## 做完之后值得留意的
#
# p5 把 K 和 V 读一次，把 O 读 $T_c$ 次。p6 把 O 写一次，把 K 和 V 读 $T_r$ 次，每个查询分块一次。按元
# 素数算，p6 的访存量大约是 $2 n^2 d / B_r$，而 p5 是 $3 n^2 d / B_c$。`make trace PUZZLE=p6` 把你走分
# 块的顺序与你的 p5 并排画出来，也画出跳过的分块。
#
# 新的顺序还有两点好处。K 和 V 只读不写，许多程序又差不多同时读，所以大部分读取由 L2 缓存满足。能用来
# 填满 GPU 的程序，数量也是原来的 $T_r$ 倍。
#
# 内层循环不再做除法。在 GPU 上，求一次指数值或做一次除法，开销相当于矩阵乘积里的许多次乘法。所以
# FlashAttention-2 更快还有一个原因：矩阵乘积以外的运算更少。
#
# 16,384 个 token，32 个头，每头 64 维，在 H200 上用时：
#
# | | 全注意力 | 因果注意力 |
# |---|---|---|
# | eager 模式的 PyTorch | 33 ms | 70 ms（掩码要把所有分数再读写一遍） |
# | p5 | 80 ms | |
# | 你的 kernel | 6.6 ms | 4.0 ms |
#
# ## 延伸阅读
#
# * [FlashAttention-2、LSE、因果分块、看不到键的查询](../../docs/background/attention.md)（英文）。
# * T. Dao，[*FlashAttention-2: Faster Attention with Better Parallelism and Work
#   Partitioning*](https://arxiv.org/abs/2307.08691)（2023）：算法 1，参考解法沿用其行号。（论文第 10
#   行把重新缩放 O 的系数印错了：印成了倒数。）
# * M. N. Rabe、C. Staats，[*Self-attention Does Not Need O(n²)
#   Memory*](https://arxiv.org/abs/2112.05682)（2021）：每个查询只需要常数大小的内存。
