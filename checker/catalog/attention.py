"""What puzzles about attention share: how heads and rows are laid out, and the forward reference.

Q-shaped tensors have the shape (heads, n_q, D), K-shaped ones (heads, n_k, D), each kind with a head
and a row stride of its own; l, m, LSE and delta have the shape (heads, n_q) and are contiguous.
Causal attention is aligned bottom-right: query i sees key j if j <= i + n_k - n_q.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from checker.catalog import covering
from checker.course.puzzle import Array, Axis, Budget, Case, Expected, Invariant, Kernel, Outputs, Role, Tensor, blank

FAR_APART = 2**30  # elements between heads, and more: head 2 begins beyond int32, head 4 beyond uint32
TF32_EPS = 2.0**-10
EPS32 = float(np.finfo(np.float32).eps)


@dataclass(frozen=True)
class Shape:
    """Sizes of one launch. `q_gaps` and `k_gaps`: unused elements after each row, and after each head."""

    n_q: int
    n_k: int
    D: int
    Br: int
    Bc: int
    heads: int = 1
    q_gaps: tuple[int, int] = (8, 24)
    k_gaps: tuple[int, int] = (16, 56)

    def apart(self, random: np.random.Generator, far: int = 0, layout: int | None = None) -> Shape:
        """The same with rows and heads padded by any number of elements, Q-shaped and K-shaped ones differently.

        `far`: how many elements more there are between heads, and then rows lie more than 2**16 apart. `layout`: one of
        `covering`'s, if it is not to be drawn.
        """
        drawn = int(random.integers(covering.FIRST_WIDER, covering.SECOND_WIDER + 1)) if layout is None else layout
        rows, (q, k) = covering.gaps(drawn, random), covering.gaps(drawn, random)
        if layout in (covering.FIRST_PADDED, covering.SECOND_PADDED):
            q, k = k, q  # dense rows have heads that lie apart, and padded ones heads that follow one another
        if layout == covering.ALIKE:  # heads as well begin equally far apart, of however many rows they are
            most = max(self.n_q, self.n_k)
            q, k = ((most - n) * (self.D + rows[0]) + q for n in (self.n_q, self.n_k))
        wide = far >> 13
        return replace(self, q_gaps=(rows[0] + wide, q + far), k_gaps=(rows[1] + wide, k + far))

    def interleaved(self, random: np.random.Generator, q: bool = True, k: bool = True) -> Shape:
        """The same as if cut from tensors of shape (rows, heads, D): a head's row lies inside that of all heads.

        `q`, `k`: whether Q-shaped and K-shaped tensors are; the other ones are dense.
        """
        found = []
        for rows, gap in zip((self.n_q, self.n_k), random.choice(64, 2, replace=False), strict=True):
            head = self.D + int(gap)
            row = self.heads * head
            found.append((row - self.D, head - rows * row))
        return replace(self, q_gaps=found[0] if q else (0, 0), k_gaps=found[1] if k else (0, 0))

    @property
    def tr(self) -> int:
        """Number of query tiles."""
        return -(-self.n_q // self.Br)

    @property
    def tc(self) -> int:
        """Number of key tiles."""
        return -(-self.n_k // self.Bc)

    def strides(self, side: str) -> tuple[int, int]:
        """(head stride, row stride) in elements of the Q-shaped (`q`) or K-shaped (`k`) tensors."""
        rows, (row_gap, head_gap) = (self.n_q, self.q_gaps) if side == "q" else (self.n_k, self.k_gaps)
        row = self.D + row_gap
        return (head_gap if head_gap >= FAR_APART else rows * row + head_gap), row


FAR, FURTHER = "heads more than 2**30 apart", "heads more than 2**31 apart"
FAR_HALF = f"fp16, {FAR}"
FAR_HEADS = Shape(16, 16, 16, 16, 16, 3, (8, FAR_APART + 8), (16, FAR_APART + 24))  # on a GPU, where they take memory
PICTURED = Shape(64, 64, 16, 16, 16)  # four by four tiles, for pictures


def axes(shape: Shape, side: str, kinds: tuple[str, ...] = ()) -> tuple[Axis, ...]:
    """The axes of a Q-shaped (`q`) or K-shaped (`k`) tensor, in words."""
    rows = Axis("query", shape.Br, kinds) if side == "q" else Axis("key", shape.Bc)
    return (Axis("head"), rows, Axis("dimension"))


def matrix(
    shape: Shape,
    side: str,
    values: Array,
    role: Role = Role.INPUT,
    kinds: tuple[str, ...] = (),
    bf16: bool = False,
) -> Tensor:
    """A Q-shaped (`q`) or K-shaped (`k`) tensor."""
    return Tensor(values, (*shape.strides(side), 1), role, axes(shape, side, kinds), bf16)


def vector(shape: Shape, values: Array, role: Role = Role.INPUT, kinds: tuple[str, ...] = ()) -> Tensor:
    """One number a query: shape (heads, n_q), contiguous."""
    return Tensor(values, (shape.n_q, 1), role, axes(shape, "q", kinds)[:2])


def unwritten(rows: Array, dtype: npt.DTypeLike) -> Array:
    """NaN in the shape of `rows`."""
    return blank(rows.shape, dtype, np.nan)


def launch(
    kernel: Kernel,
    name: str,
    proves: tuple[str, ...],
    shape: Shape,
    tensors: Mapping[str, Tensor],
    scale: float,
    grid: tuple[int, ...],
    causal: bool | None = None,
    once: bool = False,
) -> Case:
    """One launch; scalars and constexprs are those that the kernel has parameters for.

    `once`: chosen for its sizes. The last axis of the grid is the head.
    """
    far = max(shape.strides("q")[0], shape.strides("k")[0]) >= FAR_APART
    (q_head, q_row), (k_head, k_row) = shape.strides("q"), shape.strides("k")
    scalars = {
        "q_head_stride": q_head,
        "q_row_stride": q_row,
        "k_head_stride": k_head,
        "k_row_stride": k_row,
        "n_q": shape.n_q,
        "n_k": shape.n_k,
        "scale": scale,
    }
    constexprs = {"D": shape.D, "Br": shape.Br, "Bc": shape.Bc, "CAUSAL": bool(causal)}
    heads = f"{shape.heads} heads, " if shape.heads > 1 else ""
    mask = {None: "", True: ", causal", False: ", full"}[causal]
    return Case(
        title=name,
        sizes=f"{heads}n_q={shape.n_q}, n_k={shape.n_k}, D={shape.D}, Br={shape.Br}, Bc={shape.Bc}{mask}",
        kernel=kernel.name,
        proves=proves,
        grid=grid,
        tensors={parameter: tensors[parameter] for parameter in kernel.parameters if parameter in tensors},
        scalars={parameter: scalars[parameter] for parameter in kernel.parameters if parameter in scalars},
        constexprs={parameter: constexprs[parameter] for parameter in kernel.constexprs},
        checked_arithmetic=far,
        telling=not far and min(shape.n_q, shape.n_k) > 1 and not once,
        once=far or once,
    )


@dataclass(frozen=True)
class Chosen:
    """A launch by construction: its shape, the type of its inputs, and whether its scale is 1."""

    shape: Shape
    dtype: type
    unit_scale: bool

    @property
    def name(self) -> str:
        """What a report calls the case."""
        return EVERY if self.dtype is np.float32 else f"{EVERY}, fp16"

    def proves(self, otherwise: str) -> tuple[str, ...]:
        """The property that it is evidence for: that of its type, but for queries that see no key, or of its sizes."""
        return ("half",) if self.dtype is np.float16 and otherwise != "hidden-queries" else (otherwise,)


EVERY = "every size"


def of_every_class(random: np.random.Generator, *, causal: bool) -> list[Chosen]:
    """Small launches of all classes that the design asks for, with every pair of what they may have besides."""
    design = covering.CAUSAL if causal else covering.FULL
    sizes = sorted({covering.drawn(stored, causal, random) for stored in design}, key=lambda s: (s[0] > s[1], s))
    made = []
    for (n_q, n_k, Br, Bc), (layout, on) in zip(sizes, covering.besides(len(sizes), random), strict=True):
        heads, D = 2 if on & covering.HEADS else 1, 64 if on & covering.WIDE else 16
        shape = Shape(n_q, n_k, D, Br, Bc, heads).apart(random, layout=layout)
        made.append(Chosen(shape, np.float16 if on & covering.HALF else np.float32, bool(on & covering.SWITCH)))
    return made


def of_other_blocks(random: np.random.Generator) -> list[Shape]:
    """n_k a multiple of Br and not of Bc, n_q one of Bc and not of Br; heads interleaved in Q or in K alone."""
    n_q, n_k = (int(n) for n in random.integers(17, 31, 2))
    wide, tall = Shape(n_q, 48, 16, 16, 32, 2), Shape(48, 48 + n_k, 16, 32, 16, 2)
    return [wide.interleaved(random, k=False), tall.interleaved(random, q=False)]


MANY_HEADS = Shape(5, 7, 16, 16, 16, 1001)  # more than 8 bits can count, of a tile each


def sampled(case: Case, tiles: Collection[int] | None, heads: Collection[int]) -> Case:
    """The launch with some of its programs only: of these heads these tiles, or all where a program is a head."""
    count = case.grid[0] if len(case.grid) > 1 else 1
    some = range(count) if tiles is None else tiles
    asked = {}
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT:
            extents = tensor.values.shape
            mask = np.isin(np.arange(extents[0]), [*heads])[:, None]
            if tiles is not None:
                mask = mask & np.isin(np.arange(extents[1]) // tensor.axes[1].block, [*tiles])[None, :]
            asked[name] = np.broadcast_to(mask.reshape(*mask.shape, *(1,) * (len(extents) - 2)), extents)
    return replace(case, programs=tuple(head * count + tile for head in heads for tile in some), asked=asked)


def some_heads(case: Case, random: np.random.Generator) -> Case:
    """The launch with the first and the last of its heads only, and one between."""
    last = case.grid[-1] - 1
    return sampled(case, None, (0, int(random.integers(1, last)), last))


def shape_of(case: Case) -> Shape:
    """The sizes of a launch again, from its tensors. The gaps are left out."""
    q = case.tensors["q_ptr"] if "q_ptr" in case.tensors else case.tensors["o_ptr"]
    heads, n_q, d = q.values.shape
    n_k = case.tensors["k_ptr"].values.shape[1] if "k_ptr" in case.tensors else n_q
    blocks = case.constexprs
    return Shape(n_q, n_k, d, int(blocks["Br"]), int(blocks.get("Bc", blocks["Br"])), heads)


def wide(case: Case, name: str) -> Array:
    """A tensor's values in float64."""
    return case.tensors[f"{name}_ptr"].values.astype(np.float64)


def offset(case: Case) -> int:
    """n_k - n_q: causal attention is aligned bottom-right, query i sees key j if j <= i + offset."""
    return shape_of(case).n_k - shape_of(case).n_q


def is_causal(case: Case) -> bool:
    """Whether the launch is causal: by its flag, and in the backward pass always."""
    return bool(case.constexprs.get("CAUSAL", "do_ptr" in case.tensors))


def scores(case: Case) -> Array:
    """scale·QKᵀ of every head, shape (heads, n_q, n_k), nothing hidden."""
    return np.asarray(float(case.scalars["scale"]) * (wide(case, "q") @ wide(case, "k").swapaxes(1, 2)))


def visible(n_q: int, n_k: int, causal: bool, offset: int | None = None) -> npt.NDArray[np.bool_]:
    """Which query (row) sees which key (column), shape (n_q, n_k)."""
    if not causal:
        return np.ones((n_q, n_k), bool)
    return np.arange(n_k)[None, :] <= np.arange(n_q)[:, None] + (n_k - n_q if offset is None else offset)


def sees(case: Case) -> npt.NDArray[np.bool_]:
    """Which query sees which key in this launch."""
    s = shape_of(case)
    return visible(s.n_q, s.n_k, is_causal(case))


def has_keys(case: Case) -> npt.NDArray[np.bool_]:
    """Which queries see any key, shape (n_q,). The others have O = 0 and LSE = -inf."""
    return np.asarray(np.any(sees(case), axis=1))


def looked_at(case: Case) -> Array:
    """Which entries lie in tiles that a kernel looks at, whole tiles, shape (n_q, n_k)."""
    s = shape_of(case)
    some = np.zeros((s.tr, s.tc), bool)
    queries, keys = np.nonzero(sees(case))
    some[queries // s.Br, keys // s.Bc] = True
    return np.asarray(np.repeat(np.repeat(some, s.Br, axis=0), s.Bc, axis=1)[: s.n_q, : s.n_k])


def transposed(case: Case, x: Array) -> Array:
    """Scores, P or dS with each tile transposed in its place, where tiles are square; else untouched."""
    s = shape_of(case)
    if s.Br != s.Bc:
        return x
    rows, columns = s.tr * s.Br, s.tc * s.Bc
    full = np.zeros((len(x), rows, columns))
    full[:, : s.n_q, : s.n_k] = x
    tiles = full.reshape(len(x), s.tr, s.Br, s.tc, s.Bc).transpose(0, 1, 4, 3, 2)
    return tiles.reshape(len(x), rows, columns)[:, : s.n_q, : s.n_k]


@dataclass(frozen=True, eq=False)
class Forward:
    """Attention in float64: per head and query m, l and lse; P and O."""

    m: Array
    l: Array
    lse: Array
    p: Array
    o: Array


def forward(s: Array, v: Array) -> Forward:
    """Attention from scores with -inf where a key is hidden. Queries without keys: O = 0, l = 0, LSE = -inf."""
    m = s.max(axis=-1, keepdims=True)
    e = np.exp(s - np.where(np.isinf(m), 0.0, m))
    l = e.sum(axis=-1, keepdims=True)
    p = e / np.where(l == 0, 1.0, l)
    with np.errstate(divide="ignore"):
        lse = m + np.log(l)
    return Forward(m[..., 0], l[..., 0], lse[..., 0], p, p @ v)


def score_error(case: Case) -> Array:
    """How far a score may be off in fp32: √D roundings of Σ|q||k|, and at least 4; per head and query the largest."""
    products = np.abs(wide(case, "q")) @ np.abs(wide(case, "k")).swapaxes(1, 2)
    errors = max(4.0, shape_of(case).D ** 0.5) * dot_eps(case)
    return np.asarray(errors * float(case.scalars["scale"]) * products.max(axis=-1, keepdims=True))


def dot_eps(case: Case) -> float:
    """The precision of tl.dot: fp32's, but TF32's for fp32 inputs on a GPU (two inputs rounded to 10 bits)."""
    q = case.tensors["q_ptr"]
    return TF32_EPS / 2 if case.on_gpu and q.values.dtype == np.float32 and not q.bf16 else EPS32


def expected(case: Case) -> Mapping[str, Expected]:
    """O, and l, m or LSE where the launch has them, with running-error bounds.

    A score errs by `score_error`, its exponential relatively by as much, and by eps per unit of |s| that a
    folded log2(e) costs; l and O are rounded up to four times a tile of keys; P is rounded to V's type before the
    product, O to its own afterwards.
    """
    s = np.where(sees(case), scores(case), -np.inf)
    v = wide(case, "v")
    right = forward(s, v)
    off = score_error(case)[..., 0]
    largest = np.max(np.abs(s), axis=-1, where=np.isfinite(s), initial=0.0)
    relative = off + EPS32 * (16 + 4 * largest + 2 * shape_of(case).tc)
    of_v, of_o = case.tensors["v_ptr"], case.tensors["o_ptr"]
    cast = 4 * max(of_v.eps, dot_eps(case))
    lost = of_v.smallest  # of each P, when it is rounded
    o_error = (right.p @ np.abs(v)) * (relative[..., None] + cast) + lost * np.abs(v).sum(axis=1, keepdims=True)
    outputs = {
        "o_ptr": Expected(right.o, o_error + 2 * of_o.eps * np.abs(right.o) + 1e-30),
        "l_ptr": Expected(right.l, right.l * relative + 1e-30),
        "m_ptr": Expected(right.m, off + EPS32 * np.abs(right.m)),
        "lse_ptr": Expected(right.lse, np.where(np.isinf(right.lse), 0.0, relative + EPS32 * np.abs(right.lse))),
    }
    return {name: value for name, value in outputs.items() if name in case.tensors}


def largest_tile(case: Case) -> int:
    """Elements of the largest tile of the launch: Br x D, Bc x D or Br x Bc."""
    s = shape_of(case)
    return max(s.Br * s.D, s.Bc * s.D, s.Br * s.Bc)


WHY_BLOCKS = (
    "A tile of Br x D, Bc x D or Br x Bc fits into the memory on the chip. All of K, or all scores, would not: never "
    "holding them is what makes this FlashAttention."
)


def in_tiles(case: Case, budgets: Mapping[str, Budget]) -> Mapping[str, Budget]:
    """The same budgets, asking for a part of a tile at once: of the last one, which some launches see nothing but.

    Of queries, no more than see a key are asked for.
    """
    found, seeing = dict(budgets), int(has_keys(case).sum())
    for name, tensor in case.tensors.items():
        if len(tensor.axes) == 3:
            _, rows, d = tensor.values.shape
            block = tensor.axes[1].block or rows
            part = rows % block or block
            part = min(part, seeing) if tensor.axes[1].name == "query" else part
            found[name] = replace(found[name], least_at_once=-(-part * d // 8))
    return found


def visits(case: Case) -> int:
    """Pairs of a query tile and a key tile that must be looked at, in all heads."""
    s = shape_of(case)
    return int(s.heads * (-(-keys_seen(case) // s.Bc)).sum())


def work(products: int) -> Callable[[Case], int]:
    """Multiply-adds of a kernel with so many matrix products for each pair of tiles that must be looked at."""

    def of(case: Case) -> int:
        s = shape_of(case)
        return products * visits(case) * s.Br * s.Bc * s.D

    return of


def keys_needed(case: Case) -> Array:
    """How many keys each query tile cannot do without: up to the last one that any of its rows sees."""
    s = shape_of(case)
    last = np.minimum((np.arange(s.tr) + 1) * s.Br, s.n_q) + (s.n_k - s.n_q)
    return np.asarray(np.clip(last, 0, s.n_k) if is_causal(case) else np.full(s.tr, s.n_k))


def keys_seen(case: Case) -> Array:
    """How many keys each query tile must look at: whole blocks, up to the last key that any of its rows sees."""
    s = shape_of(case)
    return np.asarray(np.minimum(s.n_k, s.Bc * -(-keys_needed(case) // s.Bc)))


def _outside_range_of_v(case: Case, outputs: Outputs) -> npt.NDArray[np.bool_]:
    o, v = outputs["o_ptr"].astype(np.float64), wide(case, "v")
    slack = expected(case)["o_ptr"].tolerance
    low, high = v.min(axis=1, keepdims=True), v.max(axis=1, keepdims=True)
    outside = ((o < low - slack) | (o > high + slack)).any(axis=-1)
    return np.asarray((outside & has_keys(case)).reshape(-1))


O_IS_AN_AVERAGE = Invariant(
    id="outside-the-range-of-v",
    title="O leaves the range of V",
    explanation="Each row of O is a weighted average of V's rows, with weights from 0 to 1 that sum to 1: it cannot be "
    "larger than the largest of them, nor smaller than the smallest.",
    broken=_outside_range_of_v,
)
