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
# # 题 p3：在线 softmax，两遍
#
# ## 你要写什么
#
# 还是 p2 的 softmax，但三遍减为两遍：最大值 $m$ 和归一化因子 $l$ 在同一遍里算出。FlashAttention 就建
# 立在这个想法上。
#
# ```
# x:            1   3          2   5          4   0
# m:   -inf  ─────────▶  3  ─────────▶  5  ─────────▶  5
# l:     0   ─────────▶ 1.14 ────────▶ 1.20 ────────▶ 1.58
#   1.14 · e^(3-5) + e^(2-5) + e^(5-5) ─┘
#   旧的总和原以 3 为基准，改为以 5 为基准
# ```
#
# <details><summary>直接从 p1 过来，就展开看</summary>
#
# | p1 之后 | 新东西 |
# |---|---|
# | [p2](p2_safe_softmax.py) | 取指数之前先减去这一行的最大值，就不会上溢。指数值的和叫归一化因子。 |
# | | 一行可以比一块长。循环一块一块往前走，循环里赋的值会保留到下一轮。 |
# | | `tl.max(x, axis=0)` 是一块里最大的数，`tl.maximum(a, b)` 是两者中较大的。一个数也没有时，最大值是 $-\infty$。 |
#
# </details>
#
# ## 思路
#
# 对已经看过的列，记下最大值 $m$ 和归一化因子 $l = \sum_j e^{x_j - m}$。现在来了新的一块，值为 $x_j$。
# 最大值只会变大：
#
# $$ m' = \max(m, \max_{j \in \text{block}} x_j). $$
#
# $l$ 里的和以 *旧* 最大值为基准。每一项是 $e^{x-m}$，而应该是 $e^{x-m'}$。好在 $e^{x - m'} = e^{x -
# m} \cdot e^{m - m'}$，*每一项* 要乘的系数都相同。所以一次乘法就能修正整个和：
#
# $$ l' = l \cdot e^{m - m'} + \sum_{j \in \text{block}} e^{x_j - m'}. $$
#
# **用数字看**：p2 的那一行，每块两个数，就是 1 3 | 2 5。第一块（1 3）：$m = 3$，$l = e^{1-3} +
# e^{3-3} = 0.1353 + 1 = 1.1353$。第二块（2 5）：$m' = 5$。旧的和变成 $1.1353 \cdot e^{3-5} = 1.1353
# \cdot 0.1353 = 0.1536$，新块又贡献 $e^{2-5} + e^{5-5} = 1.0498$。于是 $l' = 1.2034$，与 p2 相同。
#
# 用 PyTorch 写，只处理 x 的一行，行里不含 $-\infty$：
#
# ```python
# m, l = torch.tensor(-torch.inf), 0.0
# for block in x.split(BLOCK_SIZE):
#     m_new = torch.maximum(m, block.max())
#     m, l = m_new, l * (m - m_new).exp() + (block - m_new).exp().sum()
# y = (x - m).exp() / l
# ```
#
# 循环里的两个指数都减 `m_new`，只有修正用的系数里还有 `m`。
#
# 先把它写到下面的 *轮到你了* 里，检查一次，再回来往下读：这样能拿到大部分分数。本节余下的内容讲其余的
# 分数。
#
# **以 $-\infty$ 开头的行**：注意力把被掩码的分数设成 $-\infty$，所以一行的开头可能有一整块都是负无
# 穷。这时 $m' = -\infty$，而 $x - m' = -\infty - (-\infty)$ 是 NaN，会一直留在 $l$ 里。*防护* 的做法
# 是：只要 $m'$ 还是 $-\infty$，两个指数里都改减 0，不减 $m'$。
#
# ```
# x - m'         m' = -inf 时：    -inf - (-inf) = NaN
# x - 0          有防护时：        -inf - 0      = -inf，
#                                  它的指数值是 0
# ```
#
# 但留作当前最大值的仍是 $m'$ 本身，不是 0。以 $-\infty$ $-\infty$ | −200 −198 这一行为例。第一块之
# 后，$m = -\infty$，$l = 0$。第二块之后，$m = -198$，$l = 0 + e^{-2} + e^0 = 1.1353$。如果当初留下的
# 是 0，最大值就一直是 0。那么 $l = e^{-200} + e^{-198}$ 在 fp32 里等于 0，y 就成了 0 / 0。
#
# | PyTorch 里 | kernel 里 |
# |---|---|
# | `torch.where(condition, a, b)` | `tl.where(condition, a, b)`，逐 lane 选择 |
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
# 取值与 p2 相同。个别值可以是 $-\infty$，甚至整块都是，但不会整行都是。用 fp32 计算。
#
# ## 访存上限
#
# 每一行，x 加载 **两次**，y 存储 **一次**，每次一块。数据过内存总线三次，而不是四次。

# %%
import triton
import triton.language as tl

# %% [markdown]
# ## 轮到你了
#
# 还缺大约十五行：两个循环。第一个循环里，赋值的先后很要紧。

# %%
@triton.jit
def online_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    # FILL IN (roughly 15 lines)


# %% [markdown]
# ## 怎样启动
#
# 这段代码用于有 GPU 的机器。检查时由检查器启动你的 kernel，并换用各种形状。

# %%
def online_softmax(x):
    """Softmax over the last axis of a matrix on the GPU."""
    import torch

    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    online_softmax_kernel[(n_rows,)](x, y, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=1024)
    return y


# %% [markdown]
# ## 怎样检查
#
# 终端里：`./check p3`。notebook 里：先运行上面的单元格，再运行下面这个。`make step PUZZLE=p3` 逐行单
# 步执行你的 kernel。停在某一块带来新最大值的地方，看 $l$ 怎么变。

# %%
from checker.notebook import check, hint, solution, step, trace

check("p3", language="zh")

# %% [markdown]
# ## 提示
#
# `make hint PUZZLE=p3` 每次显示一条。
#
# <details><summary>1：点拨一下</summary>
#
# 循环里同时要用到旧最大值和新最大值。给新的另起一个名字，最后再赋给 `m`。
#
# </details>
# <details><summary>2：防护</summary>
#
# `shift = tl.where(m_new == -float("inf"), 0.0, m_new)` 就是最大值；还没有最大值时是 0。凡是要减
# `m_new` 的地方，都改减 `shift`。
#
# </details>
# <details><summary>3：只差一步</summary>
#
# `l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)`，然后 `m = m_new`。第二个循环就是 p2
# 的第三个。
#
# </details>
#
# ## 实验
#
# **预测**：每个问题都只针对一行。把每个 `...` 换成你的猜测。kernel 通过之后，由它给出答案。猜测不计
# 分。
#
# * `x_reads`：与 p2 一样，10 列，`BLOCK_SIZE=16`。现在 x 的每个元素读几次？
# * `y_5`：先是四个负无穷，然后是 2 和 2。`BLOCK_SIZE=4` 时，y 的最后一个元素是多少？
#
# 在终端里：
#
# ```
# make predict PUZZLE=p3 GUESS="x_reads=... y_5=..."
# ```

# %%
from checker.notebook import predict

predict("p3", x_reads=..., y_5=...)

# %% [markdown]
# **运行**：先写下你的猜测，再运行单元格。这一行以一整块 $-\infty$ 开头。
#
# 1. 第一块之后，$m$ 和 $l$ 是多少？第二块之后呢？打印出来看看。
# 2. 没有防护，y 是什么？
# 3. 块长取 1、2、4、8，其中哪些即使没有防护也能得到正确的 y？
#
# <details><summary>答案</summary>
#
# 1. $-\infty$ 和 0，就是一列都没有时的那一对值。第二块随后得到 $m' = 3$，$l' = 1.503$。
# 2. 每个元素都是 NaN，因为 $l$ 里有一个 NaN 就够了。有防护时，y 以四个零开头，以 .0900 .2447 .6652 结
# 尾。
# 3. 只有 8，因为这样第一块里才有不是负无穷的数。
#
# </details>

# %%
import numpy as np

from checker.notebook import run

x = np.array([[-np.inf] * 4 + [1.0, 2.0, 3.0]], np.float32)
y = np.zeros_like(x)
run(online_softmax_kernel, x_ptr=x, y_ptr=y, x_row_stride=7, y_row_stride=7, n_cols=7, BLOCK_SIZE=4, grid=1)

# %% [markdown]
# ## 做完之后值得留意的
#
# **合并**：两组列各有一对数，它们也按同样的规则合并：$(m_1, l_1) \oplus (m_2, l_2) = (m, l)$，其中
# $m = \max(m_1, m_2)$，$l = l_1 e^{m_1 - m} + l_2 e^{m_2 - m}$。不论合并的顺序和分组如何，结果都是全
# 体的最大值，以及以它为基准的和。所以这个运算满足结合律和交换律：一行可以在任意位置切开，各段可以按任
# 意顺序合并。注意力正要用到这一点。
#
# ![两幅图，各有四片叶子，即块 1 3、2 5、4 0 和 5 1 的值对 (3, 1.14)、(5, 1.05)、(4, 1.02) 和 (5, 1.02)。左边逐个合并：(5, 1.20)、(5, 1.58)、(5, 2.60)。右边按树形合并：先得 (5, 1.20) 和 (5, 1.39)，再得 (5, 2.60)。根相同。](../../docs/figures/merge_tree.svg)
#
# 算 softmax 要有第二遍，因为每个 $y_i$ 都要输出，而且都要用到最终的 $l$。但如果要的是 *加权和*
# $\sum_i y_i v_i$，就记下 $\sum_i e^{x_i - m} v_i$，像 $l$ 那样重新缩放，最后除以 $l$。于是一遍就够。
# p5 和 p6 的注意力就是这样算的。
#
# 在 H200 上，行长 131,072 时，这个 kernel 能跑到拷贝速度的 65 %。p2 的三遍是 50 %。
#
# ## 延伸阅读
#
# * [(m, l) 这一对：合并规则、归纳法证明，以及合并顺序为什么无关紧要
#   ](../../docs/background/softmax.md)（英文）。
# * M. Milakov、N. Gimelshein，[*Online normalizer calculation for
#   softmax*](https://arxiv.org/abs/1805.02867)（2018），算法 3，以及第 3.1 节；文中把 $(m, l)$ 的合并
#   记作 $\oplus$。
