"""Attention in PyTorch: calls on tensors (batch, heads, n, d), what they give, and what they may take.

References and models of the family know one axis of heads. `folded` makes a launch of theirs of a call: a head of a
sequence is a head like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from checker.catalog.attention import reference
from checker.catalog.attention.bounds import keys_seen
from checker.catalog.attention.launch import Proves, Shape, shape_of
from checker.catalog.attention.values import Inputs
from checker.catalog.cases import covering
from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor, asked_besides
from checker.course.kernel import Kernel
from checker.course.misconception import Footprint, Writes
from checker.course.puzzle import Expected, Property

DOUBLE_ERROR = 1e-9  # relative, in fp64: far below what fp32 can do, and room for an epsilon that guards a division
TILES_AT_ONCE = 12  # largest tiles that may be alive beside the outputs: a right function needs half of them

KERNEL = Kernel(name="flash_attention_forward", parameters=("q", "k", "v", "scale", "causal", "Br", "Bc"), pytorch=True)

PROPERTIES = (
    Property("values", "queries of every kind", 20),
    Property("any-length", "any number of queries and keys, any tile", 20),
    Property("causal", "causal, with any number of queries and keys", 20),
    Property("hidden-queries", "queries that see no key", 5),
    Property("any-layout", "sequences and heads, however they lie in memory", 10),
    Property("double", "fp64 in and out", 5),
    Property("memory-and-work", "a few tiles at once, and no product that is not needed", 20, traffic=True),
)


@dataclass(frozen=True)
class Size:
    """Sizes of one call, and how its tensors lie: `shape` is that of one sequence, its heads and strides."""

    shape: Shape
    batch: int = 1
    transposed_k: bool = False  # the numbers of a key do not lie side by side, but those of a dimension

    @property
    def every_head(self) -> Shape:
        """The same with the heads of all sequences on one axis, to draw values for."""
        return replace(self.shape, heads=self.batch * self.shape.heads)

    def strides(self, side: str) -> tuple[int, int, int, int]:
        """Of sequences, heads, rows and dimensions, in elements, of Q (`q`) or of K and V (`k`)."""
        head, row = self.shape.strides(side)
        rows = self.shape.n_q if side == "q" else self.shape.n_k
        return max(self.shape.heads * head, rows * row), head, row, 1


def size(n_q: int, n_k: int, d: int = 8, Br: int = 8, Bc: int = 8, heads: int = 1) -> Size:
    """Return one sequence without gaps after rows and heads."""
    return Size(Shape(n_q, n_k, d, Br, Bc, heads, (0, 0), (0, 0)))


def in_pytorch(shape: Shape, inputs: Inputs) -> tuple[Size, Inputs]:
    """Return what a launch of the family is given, for a call: without gaps, and what is fp16 in a
    kernel is fp64 here.
    """
    if inputs.q.dtype == np.float16:
        inputs = replace(inputs, **{x: getattr(inputs, x).astype(np.float64) for x in "qkv"})
    return Size(replace(shape, q_gaps=(0, 0), k_gaps=(0, 0))), inputs


def of_every_size(made: Callable[..., Case], sizes: np.random.Generator, *, causal: bool) -> Iterator[Case]:
    """Calls by construction: a size of any class by its tile, and what else a call may have.

    `made(name, proves, size, dtype, unit_scale, causal=…, once=…)` makes one.
    """
    design = covering.CAUSAL[::3] if causal else covering.FULL[::4]
    drawn = [covering.drawn(stored, causal, sizes) for stored in design]
    for (n_q, n_k, Br, Bc), (_, on) in zip(drawn, covering.besides(len(drawn), sizes), strict=True):
        dtype = np.float64 if on & covering.HALF else np.float32
        proves = "any-length" if not causal else "hidden-queries" if n_q > n_k else "causal"
        of = size(n_q, n_k, 8, Br, Bc, 2 if on & covering.HEADS else 1)
        unit = bool(on & covering.SWITCH)
        yield made("every size", proves, of, dtype, unit, causal=causal, once=True)


def plain_calls(normal: Callable[..., Case], hard: Callable[..., Case], sizes: np.random.Generator) -> tuple[Case, ...]:
    """Return what each property is about and nothing else: whole tiles, of one head, without gaps; made as a puzzle
    does.
    """
    apart = Size(Shape(16, 24, 8, 8, 8, 2).apart(sizes), batch=2)
    return (
        hard("every kind of query, of whole tiles", size(24, 40, 16)),
        normal("a tail of both, of one head", "any-length", size(20, 27), once=True),
        normal("whole tiles", "causal", size(24, 24), causal=True, once=True),
        normal("whole tiles", "hidden-queries", size(24, 16), causal=True, once=True),
        normal("whole tiles, apart in memory", "any-layout", apart, once=True),
        normal("fp64, whole tiles", "double", size(16, 24), np.float64, once=True),
    )


def call(name: str, proves: Proves, size: Size, inputs: Inputs, causal: bool = False, once: bool = False) -> Case:
    """Return one call of the function. `once`: chosen for its sizes. What is asked for in fp64
    tells no mistake's name.
    """
    shape, dtype = size.shape, inputs.q.dtype
    queries = (
        Axis(AxisKind.SEQUENCE),
        Axis(AxisKind.HEAD),
        Axis(AxisKind.QUERY, shape.Br, inputs.kinds),
        Axis(AxisKind.DIMENSION),
    )
    keys = (Axis(AxisKind.SEQUENCE), Axis(AxisKind.HEAD), Axis(AxisKind.KEY, shape.Bc), Axis(AxisKind.DIMENSION))
    q, k, v = (x.reshape(size.batch, shape.heads, *x.shape[1:]) for x in (inputs.q, inputs.k, inputs.v))
    k_strides = size.strides("k")
    if size.transposed_k:
        sequence, head = shape.heads * shape.D * shape.n_k, shape.D * shape.n_k
        k_strides = (sequence, head, 1, shape.n_k)
    rows = q.shape[:3]
    proven = (proves,) if isinstance(proves, str) else proves
    asks = {
        "any-length": shape.n_q % shape.Br > 0 or shape.n_k % shape.Bc > 0,
        "causal": causal,
        "hidden-queries": causal and shape.n_q > shape.n_k,
        "any-layout": size.batch > 1 or shape.heads > 1 or not shape.dense or size.transposed_k,
        "double": dtype == np.float64,
    }
    of = [f"{size.batch} sequences"] if size.batch > 1 else []
    of += [f"{shape.heads} heads"] if shape.heads > 1 else []
    of += [f"n_q={shape.n_q}", f"n_k={shape.n_k}", f"d={shape.D}", f"Br={shape.Br}", f"Bc={shape.Bc}"]
    return Case(
        title=name,
        sizes=", ".join([*of, "causal" if causal else "full"]),
        kernel=KERNEL.name,
        proves=proven,
        asks=asked_besides(proven, asks),
        grid=(1,),
        tensors={
            "q": Tensor(q, size.strides("q"), axes=queries),
            "k": Tensor(k, k_strides, axes=keys),
            "v": Tensor(v, size.strides("k"), axes=keys),
            "o": Tensor.output(q.shape, dtype, dense(q.shape), queries),
            "lse": Tensor.output(rows, dtype, dense(rows), queries[:3]),
        },
        scalars={"scale": inputs.scale},
        constexprs={"causal": causal, "Br": shape.Br, "Bc": shape.Bc},
        informative=min(shape.n_q, shape.n_k) > 1 and not once and dtype == np.float32,
        once=once,
    )


def dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides without gaps, in elements."""
    return tuple(int(np.prod(shape[n + 1 :])) for n in range(len(shape)))


def steps(case: Case, side: int = 1) -> float:
    """Pairs of tiles, and tiles, in all heads of a call; `side`: of tiles that the function itself may choose."""
    q, k = case.tensors["q"], case.tensors["k"]
    rows, columns = (-(-x.values.shape[2] // (x.axes[2].block or side)) for x in (q, k))
    return float(q.values.shape[0] * q.values.shape[1] * (rows * columns + rows + columns))


def folded(case: Case) -> Case:
    """Return a launch of the family with the values and sizes of this call, heads of all sequences on one axis."""
    tensors = {}
    for name, tensor in case.tensors.items():
        values = tensor.values.reshape(-1, *tensor.values.shape[2:])
        tensors[f"{name}_ptr"] = Tensor(values, dense(values.shape), tensor.role, tensor.axes[1:])
    blocks = {"D": case.tensors["q"].values.shape[-1], "CAUSAL": bool(case.constexprs["causal"])}
    return replace(case, tensors=tensors, constexprs={**case.constexprs, **blocks})


def _unfolded(case: Case, name: str, values: Array) -> Array:
    """Values of an output of the folded launch, in the shape that the call has."""
    return np.asarray(values.reshape(case.tensors[name].values.shape))


def as_in_the_family(sign: Writes) -> Writes:
    """Return what a function in PyTorch returns with the idea of a kernel of the family."""

    def outputs(case: Case) -> Mapping[str, Array]:
        made = sign.outputs(folded(case))
        return {name.removesuffix("_ptr"): _unfolded(case, name.removesuffix("_ptr"), x) for name, x in made.items()}

    return replace(sign, outputs=outputs)


def expected(case: Case) -> Mapping[str, Expected]:
    """O and LSE with the family's running-error bounds in fp32, and to `DOUBLE_ERROR` in fp64."""
    right = {}
    one = folded(case)
    for name, of in reference.expected(one).items():
        tolerance = of.tolerance
        if case.tensors["q"].values.dtype == np.float64:
            # LSE errs by as much as a probability does relatively; O by that of its terms, which do not cancel.
            largest = np.abs(one.tensors["v_ptr"].values).max(axis=(1, 2)).reshape(-1, *[1] * (of.values.ndim - 1))
            size = largest if name == "o_ptr" else np.where(np.isinf(of.values), 0.0, 1.0 + np.abs(of.values))
            tolerance = DOUBLE_ERROR * np.broadcast_to(size, of.values.shape)
        plain = name.removesuffix("_ptr")
        right[plain] = Expected(_unfolded(case, plain, of.values), _unfolded(case, plain, tolerance))
    return right


def products_for_a_tile(case: Case) -> int:
    """Return how many products of matrices each tile of scores takes part in: two forward, five backward."""
    return 5 if "do" in case.tensors else 2


def products_in_tiles(case: Case) -> int:
    """Multiply-adds of these products, of the tiles in which some query sees some key: so many that none is too much.

    Whether keys or queries are outside, they are the same tiles.
    """
    s = shape_of(folded(case))
    rows = np.minimum(s.Br, s.n_q - s.Br * np.arange(s.tr))
    return int(products_for_a_tile(case) * s.heads * s.D * (rows * keys_seen(folded(case))).sum())


def most(case: Case) -> Footprint:
    """Return what is enough: no tensor beyond an input, an output or a tile; few tiles at once; no tile that is hidden.

    Products of rows may be made like those of matrices: delta once.
    """
    s = shape_of(folded(case))
    tile = max(s.Br * s.Bc, s.Br * s.D, s.Bc * s.D)
    outputs = sum(tensor.values.size for tensor in case.tensors.values() if tensor.role is Role.OUTPUT)
    # Where tiles are small, positions weigh more than they; around a number of the text, outputs do as well.
    more = 2 * (outputs + s.n_q + s.n_k) if case.why else s.n_q + s.n_k
    return Footprint(
        largest=s.heads * max(s.n_q * s.D, s.n_k * s.D, s.Br * s.Bc),
        at_once=2 * outputs + s.heads * TILES_AT_ONCE * tile + more,
        products=products_in_tiles(case) + (case.tensors["do"].values.size if "do" in case.tensors else 0),
    )


def plain(case: Case) -> Footprint:
    """Return what attention takes that makes whole matrices: all scores, all weights, and then O; or P, dP and dS."""
    s = shape_of(folded(case))
    scores, products = s.heads * s.n_q * s.n_k, products_for_a_tile(case)
    if "do" in case.tensors:
        beside = s.heads * (s.n_k * s.D + s.n_q)  # dV and delta
        return Footprint(largest=scores, at_once=3 * scores + beside, products=products * scores * s.D)
    return Footprint(largest=scores, at_once=2 * scores + s.heads * s.n_q * s.D, products=products * scores * s.D)
