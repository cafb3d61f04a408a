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
# （英文） The attention of p5 with its loops exchanged. Many programs work on each head at the same
# time.
#
# 一个程序负责一个查询分块，沿着键一路走下去。O、`l` 和 `m` 留在 *寄存器*（程序存放运算数据的地方）
# 里，直到算完。打开 `CAUSAL` 后，查询只看得到自己所在位置和更早位置的键。（语言模型预测每个词，只根据
# 前面的词。）整个看不到的分块，连加载都省掉。
#
# ```
#                   keys:   K1,V1   K2,V2   K3,V3   K4,V4
#                         ┌───────┬───────┬───────┬───────┐
# program 0:  Q1          │   ────┼──▶ ╲  │       │       │
#                         ├───────┼───────┼───────┼───────┤
# program 1:  Q2          │   ────┼───────┼──▶ ╲  │       │
#                         ├───────┼───────┼───────┼───────┤
# program 2:  Q3          │   ────┼───────┼───────┼──▶ ╲  │
#                         └───────┴───────┴───────┴───────┘
# ╲      the diagonal: these tiles are masked
# empty: never loaded
# here n_q < n_k: positions are counted from the end
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
# （英文） **Loops exchanged.** With the queries outside, each tile of O belongs to one program. O
# stays on the chip, so do not
# divide it in every iteration. Keep the undivided sum, rescale it like `l`, and divide once at the end (lines 9, 10 and
# 12 of algorithm 1 in the FlashAttention-2 paper):
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
# （英文） **One number for the backward pass.** p7 needs the final weights, which are divided by
# $l_i$:
# $p_{ij} = e^{s_{ij} - m_i} / l_i = e^{s_{ij} - \mathrm{LSE}_i}$. Here $\mathrm{LSE}_i = m_i + \log l_i$ is the
# logarithm of the sum of exponentials. Store LSE instead of `l` and `m`. In the example, it is
# $5 + \log 1.2034 = 5.185$. `tl.log` is the natural logarithm.
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
# （英文） About thirty-two lines are missing, most from p5.

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
# （英文） In a terminal: `./check p6`. In a notebook: run the cells above, then the one below. `make
# step PUZZLE=p6` runs your
# kernel line by line: stop at the tile on the diagonal. To find a mistake, write 16 for every 64 in the cell under
# *Run*, and `CAUSAL = False`: a single tile. Then write 32 for two tiles of keys, 24 for one that is partly empty, and
# only then `CAUSAL = True`.

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
# （英文） Start without `CAUSAL`. Load Qi once, set up Oi, li and mi, and go over all tiles of keys.
# Divide and store after the
# loop. The loop is the first loop of p4 with one more sum. What happens to Oi when the maximum grows?
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
# （英文） 1. What share of the full traffic of K is left with `CAUSAL`, for `Br=16` and for `Br=32`?
# What share would be left
#    with 1024 queries and keys, in tiles of 16 by 16?
# 2. Take 40 queries and 50 keys in tiles of 16. How many programs does a head need, and where does the last one's loop
#    end? Where does the loop of program 0 end with 60 queries and 40 keys?
# 3. A tile that the diagonal does not cut is *whole*, and needs no mask. How many of the visited tiles are whole? And
#    with `Br=16`, `Bc=32`, or `Br=32`, `Bc=16`?
#
# <details><summary>答案</summary>
#
# （英文） 1. 10 of 16 tiles, which is 62.5 %, and 6 of 8, which is 75 %: taller tiles hide less. Of
# 64 by 64 tiles, 1 + 2 + … +
#    64 = 2080 are left, which is 50.8 %.
# 2. 3 programs. Program 2 owns queries 32 to 47, and 40 to 47 do not exist. Its end is 50, the number of keys, and not
#    32 + 16 + 10 = 58. With 60 queries and 40 keys off is −20, and the end of program 0 is 0 + 16 − 20 = −4. That loop
#    has no iteration, and O is 0.
# 3. 6: all but the 4 on the diagonal. With `Bc=32`, 6 tiles are visited and 2 are whole. With `Br=32` the numbers are
#    the same. If $B_r > B_c$, the diagonal cuts several tiles of one row of tiles. If $B_r < B_c$, it cuts the same
#    tile of keys in several of them. Fast kernels have two loops: one over whole tiles without a mask, and one over the
#    others.
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
# （英文）
#
# | | full | causal |
# |---|---|---|
# | eager PyTorch | 33 ms | 70 ms (masking reads and writes all scores again) |
# | p5 | 80 ms | |
# | your kernel | 6.6 ms | 4.0 ms |
#
# ## 延伸阅读
#
# （英文）
#
# * [FlashAttention-2, LSE, causal tiles, queries that see no key](../../docs/background/attention.md).
# * T. Dao, [*FlashAttention-2: Faster Attention with Better Parallelism and Work
#   Partitioning*](https://arxiv.org/abs/2307.08691) (2023): algorithm 1, whose line numbers the solution follows. (Its
#   line 10 misprints the factor that rescales O: it gives the inverse.)
# * M. N. Rabe and C. Staats, [*Self-attention Does Not Need O(n²) Memory*](https://arxiv.org/abs/2112.05682) (2021):
#   per query, constant memory is enough.
