"""Puzzle 7: the causal backward pass (Dao 2023, algorithm 2) in three kernels: delta, dK and dV, dQ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from checker.catalog import attention, backward
from checker.catalog.attention import Shape, sees, shape_of, visible, wide
from checker.catalog.backward import delta_is, from_ds, from_p, p_of, scaled, writes
from checker.catalog.softmax_mistakes import exp32
from checker.catalog.tiles import ADDRESSING
from checker.puzzle import Array, Budget, Case, Draw, Kernel, Misconception, Moved, Property, Puzzle, Reach, as_bf16

STRIDES = ("q_head_stride", "q_row_stride", "k_head_stride", "k_row_stride")
INPUTS = ("q_ptr", "k_ptr", "v_ptr", "do_ptr", "lse_ptr", "delta_ptr")
BLOCKS = ("D", "Br", "Bc")
DELTA = Kernel(
    "delta_kernel",
    ("o_ptr", "do_ptr", "delta_ptr", "q_head_stride", "q_row_stride", "n_q", "D", "Br"),
    ("D", "Br"),
    {"D": 64, "Br": 64},
)
DK_DV = Kernel(
    "dk_dv_kernel",
    (*INPUTS, "dk_ptr", "dv_ptr", *STRIDES, "n_q", "n_k", "scale", *BLOCKS),
    BLOCKS,
    attention.COMPILED_WITH,
)
DQ = Kernel("dq_kernel", (*INPUTS, "dq_ptr", *STRIDES, "n_q", "n_k", "scale", *BLOCKS), BLOCKS, attention.COMPILED_WITH)

PROPERTIES = (
    Property("delta", "delta = rowsum(dO * O)", 10),
    Property("dk-dv", "dK and dV", 25),
    Property("dq", "dQ", 25),
    Property("half", "fp16 in and out, fp32 inside", 10),
    Property("hidden-queries", "queries that see no key", 10),
    Property("far-heads", "head offsets beyond 2**31", 5),
    Property("traffic", "loads each tile once, skips hidden tiles, writes once", 15, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Each kernel alone, with O, LSE and delta from the judge; up to three by four tiles."""

    def random(name: str) -> np.random.Generator:
        return draw.case("p7_causal_backward", name)

    def case(
        kernel: Kernel, name: str, proves: tuple[str, ...], shape: Shape, dtype: type = np.float32, hard: bool = False
    ) -> Case:
        source = random(name)
        make = attention.hard_inputs if hard else attention.normal_inputs
        inputs = make(source, shape, dtype)
        do: Array = source.normal(0.0, 1.0, inputs.q.shape).astype(dtype)
        return backward.launch(kernel, name, proves, shape, inputs, do)

    sizes = random("sizes")

    def some() -> int:
        return int(sizes.integers(1, 16))

    far = {"q_gaps": (8, attention.FAR_APART), "k_gaps": (16, attention.FAR_APART + 64)}
    square = Shape(48, 48, 16, 16, 16)
    more_keys = Shape(31, 48 + some(), 32, 16, 32)
    tall = Shape(32 + some(), 64 + some(), 32, 32, 16)
    two_heads = Shape(32, 48, 16, 16, 16, heads=2)
    tall_tiles = Shape(64 + some(), 85 + some(), 16, 64, 16)
    more_queries = Shape(40 + some() % 8, 17, 16, 16, 16)
    apart = Shape(16, 16, 16, 16, 16, heads=3, **far)
    half = Shape(47, 79, 32, 16, 16)
    made = [
        case(DELTA, "whole tiles", ("delta", "traffic"), square),
        case(DELTA, "two heads", ("delta", "traffic"), two_heads),
        case(DELTA, "fp16", ("half",), half, np.float16),
        case(DELTA, "heads 2**30 apart", ("far-heads",), apart),
    ]
    for kernel, name in ((DK_DV, "dk-dv"), (DQ, "dq")):
        made += [
            case(kernel, "three by three tiles", (name, "traffic"), square),
            case(kernel, "more keys than queries", (name, "traffic"), more_keys),
            case(kernel, "every kind of query", (name, "traffic"), tall, hard=True),
            case(kernel, "two heads", (name, "traffic"), two_heads),
            case(kernel, "one query, one key", (name,), Shape(1, 1, 16, 16, 16)),
            case(kernel, "tall tiles", (name,), tall_tiles),
            backward.launch(kernel, "fp16", ("half",), half, *backward.half_inputs(random("fp16"), half)),
            case(kernel, "more queries than keys", ("hidden-queries",), more_queries),
            case(kernel, "heads 2**30 apart", ("far-heads",), apart),
        ]
    return made


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16."""
    wide, narrow = Shape(1061, 1109, 128, 32, 64, heads=2), Shape(700, 900, 64, 64, 64, heads=3)
    made = []
    for kernel, name in ((DELTA, "delta"), (DK_DV, "dk-dv"), (DQ, "dq")):
        for title, shape, dtype in (("a thousand keys", wide, np.float16), ("bf16", narrow, np.float32)):
            random = draw.case("p7_causal_backward", title)
            inputs = attention.normal_inputs(random, shape, dtype)
            do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(dtype)
            if title == "bf16":
                inputs, do = attention.in_bf16(inputs), as_bf16(do)
            made.append(backward.launch(kernel, title, (name,), shape, inputs, do))
    return made


def budget(case: Case) -> Mapping[str, Budget]:
    """Own tiles once; of the other side, for each own tile, the tiles that it sees any of."""
    shape = shape_of(case)
    heads, n_q, n_k, d = shape.heads, shape.n_q, shape.n_k, shape.D
    q, k, rows = heads * n_q * d, heads * n_k * d, heads * n_q
    if case.kernel == DELTA.name:
        return {"o_ptr": Budget(q), "do_ptr": Budget(q), "delta_ptr": Budget(stores=rows)}
    if case.kernel == DQ.name:
        seen = int(heads * attention.keys_seen(case).sum()) * d
        own = {"q_ptr": q, "do_ptr": q, "lse_ptr": rows, "delta_ptr": rows}
        others = {"k_ptr": seen, "v_ptr": seen}
        outputs = {"dq_ptr": q}
    else:
        first = np.maximum(0, np.arange(shape.tc) * shape.Bc - (n_k - n_q)) // shape.Br * shape.Br
        seen = int(heads * (n_q - first).sum())
        own = {"k_ptr": k, "v_ptr": k}
        others = {"q_ptr": seen * d, "do_ptr": seen * d, "lse_ptr": seen, "delta_ptr": seen}
        outputs = {"dk_ptr": k, "dv_ptr": k}
    return {
        **{name: Budget(loads=n) for name, n in (own | others).items()},
        **{name: Budget(stores=n) for name, n in outputs.items()},
    }


def work(case: Case) -> int:
    """Multiply-adds that are enough: four products for each pair of tiles in dK and dV, three in dQ."""
    products = {DELTA.name: 0, DK_DV.name: 4, DQ.name: 3}[case.kernel]
    return attention.work(products)(case) if products else 0


def _reads_hidden_tiles(case: Case, moved: Mapping[str, Moved]) -> bool:
    shape = shape_of(case)
    if case.kernel == DELTA.name:
        return False
    of, times = ("k_ptr", shape.tr) if case.kernel == DQ.name else ("q_ptr", shape.tc)
    return moved[of].loads == times * case.tensors[of].values.size > budget(case)[of].loads


def _whole_tiles_more(case: Case, moved: Mapping[str, Moved]) -> bool:
    """Whether both tensors of the other side were read equally often, and no more than once per own tile."""
    shape = shape_of(case)
    (one, other), times = (("k_ptr", "v_ptr"), shape.tr) if case.kernel == DQ.name else (("q_ptr", "do_ptr"), shape.tc)
    return moved[one].loads == moved[other].loads <= times * case.tensors[one].values.size


def _another_mask(case: Case, offset: int | None) -> Array:
    """P with another causal mask, over the tiles that are looked at."""
    shape = shape_of(case)
    seen = visible(shape.n_q, shape.n_k, offset is not None, offset)
    lse = wide(case, "lse")[..., None]
    return p_of(case, attention.scores(case), lse, seen & attention.looked_at(case))


def _delta_in_half(case: Case, rounded: bool) -> dict[str, Array]:
    if "o_ptr" not in case.tensors:
        return {}
    products = case.tensors["o_ptr"].values * case.tensors["do_ptr"].values  # in their own type
    exact = products.astype(np.float64).sum(axis=-1)
    return {"delta_ptr": exact.astype(products.dtype) if rounded else exact}


def _before_the_first_query(case: Case, program: int) -> tuple[Reach, ...]:
    if case.kernel != DK_DV.name:
        return ()
    shape = shape_of(case)
    head_stride, row_stride = int(case.scalars["q_head_stride"]), int(case.scalars["q_row_stride"])
    first = program // case.grid[0] * head_stride
    return tuple(
        Reach(False, "q_ptr", first + start * row_stride, first + (start + shape.Br - 1) * row_stride + shape.D - 1)
        for start in range(-shape.Br * (1 + shape.n_k // shape.Br), 0, shape.Br)
    )


def _in_base_two(case: Case, folded: float) -> Array:
    """P of exp2, with a factor on the scores only."""
    with np.errstate(all="ignore"):
        exponent = folded * attention.scores(case) - wide(case, "lse")[..., None]
        return np.where(sees(case), exp32(exponent * np.log(2)), 0.0)


def _delta(case: Case) -> Array:
    return wide(case, "delta")[..., None]


def _offset(case: Case) -> int:
    return shape_of(case).n_k - shape_of(case).n_q


def collected_of(case: Case, p: Array, ds: Array, only: str) -> dict[str, Array]:
    """The gradients made of P and dS, if the launch writes `only`; else nothing."""
    return backward.collected(case, p, ds) if only in case.tensors else {}


def _begun_late(case: Case, g: backward.Gradients, first: Callable[[int, int, int], int]) -> dict[str, Array]:
    p, ds = (backward.begun_late(case, x, first) for x in (g.p, g.ds))
    return collected_of(case, p, ds, only="dk_ptr")


MISTAKES = (
    Misconception(
        "blocks-not-skipped",
        "Tiles that the causal mask hides altogether are computed all the same",
        "Every program goes through all tiles of the other side. One beyond the diagonal adds nothing and costs as "
        "much as any other, which is about half of the work.",
        "For dK and dV, begin at the first tile with a query that sees key j * Bc: max(0, j * Bc - (n_k - n_q)) // "
        "Br * Br. For dQ, end at min(n_k, (i + 1) * Br + n_k - n_q).",
        traffic=_reads_hidden_tiles,
    ),
    Misconception(
        "hidden-tile-computed",
        "A tile that the causal mask hides altogether is looked at",
        "The loop begins earlier or ends later than it must: a tile of which no query sees any key changes nothing. "
        "A mask on its load does not help, the products are computed all the same. Mind that // rounds towards "
        "zero, not down.",
        "For dK and dV, begin at max(0, j * Bc - (n_k - n_q)) // Br * Br; for dQ, end at min(n_k, (i + 1) * Br + "
        "n_k - n_q).",
        traffic=lambda case, moved: case.kernel != DELTA.name and _whole_tiles_more(case, moved),
    ),
    Misconception(
        "delta-of-the-output",
        "delta is rowsum(O * O)",
        "delta is the product of the output with its own gradient.",
        "delta = rowsum(dO * O).",
        outputs=delta_is(lambda o, do: (o * o).sum(axis=-1)),
    ),
    Misconception(
        "delta-of-the-gradient",
        "delta is rowsum(dO)",
        "delta is the product of the output with its own gradient.",
        "delta = rowsum(dO * O).",
        outputs=delta_is(lambda o, do: do.sum(axis=-1)),
    ),
    Misconception(
        "delta-in-half",
        "O * dO was computed in fp16",
        "Each product was rounded to fp16 before the sum: a thousandth of it is lost.",
        "Convert both right after the load, .to(tl.float32).",
        outputs=lambda case: _delta_in_half(case, rounded=False),
    ),
    Misconception(
        "delta-in-half",
        "delta was computed in fp16",
        "Each product, and the sum of them, was rounded to fp16: a thousandth is lost at every step.",
        "Convert O and dO right after the load, .to(tl.float32).",
        outputs=lambda case: _delta_in_half(case, rounded=True),
    ),
    Misconception(
        "delta-missing",
        "delta is missing in dS",
        "The gradient of a softmax is dS = P * (dP - delta): delta keeps each row's probabilities summing to 1. "
        "Without it, dS = P * dP.",
        "Load delta and subtract it: dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: g.p * g.dp),
    ),
    Misconception(
        "delta-added",
        "delta is added to dP",
        "dS = P * (dP - delta), with a minus.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: g.p * (g.dp + _delta(case))),
    ),
    Misconception(
        "delta-of-one-tile",
        "delta was computed from one tile only",
        "rowsum(P * dP) is delta if it runs over all keys. Over the keys of one tile it is something else for each "
        "tile.",
        "Load delta: it was computed once for each query, from dO and O.",
        outputs=from_ds(lambda case, g: g.p * (g.dp - backward.tile_delta(case, g))),
    ),
    Misconception(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta, but the softmax's own derivative is missing.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: np.where(sees(case), g.dp - _delta(case), 0.0)),
    ),
    Misconception(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta, but the softmax's own derivative is missing, and with it the mask.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: np.where(attention.looked_at(case), g.dp - _delta(case), 0.0)),
    ),
    Misconception(
        "delta-outside-the-product",
        "delta is subtracted from the product",
        "dS is P * dP - delta, but delta belongs into the parentheses.",
        "dSij = Pij * (dPij - delta_i[:, None]).",
        outputs=from_ds(lambda case, g: np.where(attention.looked_at(case), g.p * g.dp - _delta(case), 0.0)),
    ),
    Misconception(
        "base-two",
        "2**x was used where e**x is asked for",
        "exp(x) = exp2(x * log2(e)), for S and for LSE alike: LSE is a natural logarithm.",
        "Use tl.exp; or multiply both S and LSE by log2(e) = 1.4426950408889634 before tl.exp2.",
        outputs=from_p(lambda case: _in_base_two(case, 1.0)),
    ),
    Misconception(
        "base-two",
        "log2(e) was folded into S, but not into LSE",
        "exp(x) = exp2(x * log2(e)), for S and for LSE alike: LSE is a natural logarithm.",
        "Multiply LSE by log2(e) = 1.4426950408889634 as well.",
        outputs=from_p(lambda case: _in_base_two(case, float(np.log2(np.e)))),
    ),
    Misconception(
        "accumulator-in-half",
        "A gradient is accumulated in fp16",
        "Each gradient is a sum over all queries or keys: fp16 ends at 65504, and loses a thousandth at every step "
        "besides.",
        "Accumulate in fp32, tl.zeros(..., tl.float32); tl.store converts at the end.",
        outputs=writes(backward.in_half),
    ),
    Misconception(
        "scale-missing",
        "The scale is missing in the gradient",
        "S = scale * Q K^T, so by the chain rule dQ = scale * dS K and dK = scale * dS^T Q.",
        "Multiply by scale once, before the gradient is stored.",
        outputs=scaled(lambda scale: 1 / scale, "dq_ptr", "dk_ptr"),
    ),
    Misconception(
        "scale-twice",
        "The scale was applied twice to the gradient",
        "dK = scale * dS^T Q. If Q was multiplied by the scale already, the factor is in there.",
        "Multiply by scale once.",
        outputs=scaled(lambda scale: scale, "dq_ptr", "dk_ptr"),
    ),
    Misconception(
        "scale-on-dv",
        "dV was scaled",
        "dV = P^T dO has no scale: V is multiplied with P, not with scores.",
        "Store dV as it is.",
        outputs=scaled(lambda scale: scale, "dv_ptr"),
    ),
    Misconception(
        "scores-not-scaled",
        "The scores are not scaled",
        "P must be the forward pass's P: exp(scale * Q K^T - LSE).",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        outputs=from_p(
            lambda case: p_of(
                case, attention.scores(case) / float(case.scalars["scale"]), wide(case, "lse")[..., None], sees(case)
            )
        ),
    ),
    Misconception(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass: without it P is not normalised, and overflows.",
        "Pij = exp(Sij - LSEi[:, None]).",
        outputs=from_p(lambda case: p_of(case, attention.scores(case), 0.0, sees(case))),
    ),
    Misconception(
        "tile-max-for-lse",
        "P is taken relative to the tile's own maximum instead of LSE",
        "The backward pass needs neither a maximum nor a sum of its own: exp(S - LSE) is P, finished.",
        "Pij = exp(Sij - LSEi[:, None]).",
        outputs=from_p(lambda case: p_of(case, attention.scores(case), backward.tile_max(case), sees(case))),
    ),
    Misconception(
        "mask-forgotten",
        "The causal mask is missing",
        "In tiles on the diagonal, P of hidden entries is exp(S - LSE), not 0: they had no part in LSE.",
        "Pij = tl.where(keys[None, :] <= queries[:, None] + n_k - n_q, exp(...), 0.0).",
        outputs=from_p(lambda case: _another_mask(case, None)),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i. Queries are the last n_q positions of n_k: the last query sees all keys.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=from_p(lambda case: _another_mask(case, 0)),
    ),
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "The mask is j < i + n_k - n_q, one key too few.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=from_p(lambda case: _another_mask(case, _offset(case) - 1)),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=from_p(lambda case: _another_mask(case, _offset(case) + 1)),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key bring NaN into the gradients",
        "Their LSE is -inf. Where a score was set to -inf before the exponential, -inf - (-inf) is NaN, and it "
        "spreads to every row that the tile is added to.",
        "Hide entries after the exponential: tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0).",
        outputs=writes(lambda case, g: _nan_from_hidden(case, g)),
    ),
    Misconception(
        "tile-transposed",
        "A tile is multiplied in the wrong orientation",
        "dV = P^T dO and dK = dS^T Q: rows of P and dS are queries, rows of dV and dK are keys. With square tiles "
        "the shapes fit without the transposition, too.",
        "tl.dot(tl.trans(Pij), dOi), and tl.dot(tl.trans(dSij), Qi).",
        outputs=writes(lambda case, g: _transposed(case, g, p=True, ds=True)),
    ),
    Misconception(
        "tile-transposed",
        "P is multiplied in the wrong orientation",
        "dV = P^T dO: rows of P are queries, rows of dV are keys. With square tiles the shapes fit without the "
        "transposition, too.",
        "tl.dot(tl.trans(Pij), dOi).",
        outputs=writes(lambda case, g: _transposed(case, g, p=True, ds=False)),
    ),
    Misconception(
        "tile-transposed",
        "dS is multiplied in the wrong orientation",
        "dK = dS^T Q and dQ = dS K: rows of dS are queries. With square tiles the shapes fit either way.",
        "tl.dot(tl.trans(dSij), Qi) for dK, tl.dot(dSij, Kj) for dQ.",
        outputs=writes(lambda case, g: _transposed(case, g, p=False, ds=True)),
    ),
    *(
        Misconception(
            "first-tile-left-out",
            "The loop over queries begins too late",
            why,
            "Begin at max(0, j * Bc - (n_k - n_q)) // Br * Br.",
            outputs=writes(partial(_begun_late, first=first)),
        )
        for why, first in (
            (
                "Its beginning lacks n_k - n_q: with more keys than queries, a key is seen by queries that many "
                "positions earlier.",
                lambda start, offset, Br: start // Br * Br,
            ),
            (
                "Its beginning was rounded up to a whole tile, but the tile on the diagonal is only partly hidden.",
                lambda start, offset, Br: -(-max(0, start - offset) // Br) * Br,
            ),
            (
                "It begins one tile behind the one on the diagonal, which is only partly hidden.",
                lambda start, offset, Br: max(0, start - offset + Br) // Br * Br,
            ),
        )
    ),
    Misconception(
        "begins-before-the-first-query",
        "The loop over queries begins before the first one",
        "j * Bc - (n_k - n_q) is negative where a key is seen by all queries: the first tile then lies before "
        "the tensor.",
        "Begin at tl.maximum(0, ...) // Br * Br.",
        reach=_before_the_first_query,
    ),
    Misconception(
        "last-tile-left-out",
        "The last tile of keys that a query sees is left out",
        "The loop ends one tile too early: the tile on the diagonal is only partly hidden, and must be looked at.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q).",
        outputs=writes(lambda case, g: collected_of(case, g.p, backward.without_last_tile(case, g.ds), "dq_ptr")),
    ),
    Misconception(
        "v-for-do",
        "dV was computed with V's gradient of the scores",
        "dV = P^T dO, but P was replaced by dS.",
        "dVj += tl.dot(tl.trans(Pij), dOi).",
        outputs=writes(lambda case, g: collected_of(case, g.ds, g.ds, "dv_ptr")),
    ),
)


def _transposed(case: Case, g: backward.Gradients, p: bool, ds: bool) -> dict[str, Array]:
    if "dq_ptr" in case.tensors and p:
        return {}
    return backward.collected(
        case, attention.transposed(case, g.p) if p else g.p, attention.transposed(case, g.ds) if ds else g.ds
    )


def _nan_from_hidden(case: Case, g: backward.Gradients) -> dict[str, Array]:
    """NaN in the entries of queries without keys, in tiles that are looked at."""
    alone = ~attention.has_keys(case)
    spoilt = attention.looked_at(case) & alone[:, None]
    return backward.collected(case, np.where(spoilt, np.nan, g.p), np.where(spoilt, np.nan, g.ds))


PUZZLE = Puzzle(
    number=7,
    slug="causal_backward",
    title="The causal backward pass",
    kernels=(DELTA, DK_DV, DQ),
    properties=PROPERTIES,
    cases=cases,
    expected=backward.expected,
    budget=budget,
    large_cases=large_cases,
    work=work,
    largest_block=attention.largest_tile,
    why_blocks=attention.WHY_BLOCKS,
    misconceptions=(*MISTAKES, *ADDRESSING),
)
