"""Puzzle 7: the causal backward pass (Dao 2023, algorithm 2) in three kernels: delta, dK and dV, dQ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog import attention, backward, suspected_tiles, timing
from checker.catalog.attention import Shape, shape_of
from checker.catalog.attention_inputs import Inputs, hard_inputs, in_bf16, normal_inputs
from checker.catalog.backward_mistakes import MISTAKES
from checker.catalog.tiles import ADDRESSING
from checker.puzzle import (
    Array,
    Budget,
    Case,
    Draw,
    Kernel,
    Misconception,
    Moved,
    Pictured,
    Property,
    Puzzle,
    Timed,
    Tuning,
    Work,
    as_bf16,
)

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
        make = hard_inputs if hard else normal_inputs
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


ANY_SIZE = {DELTA.name: "delta", DK_DV.name: "dk-dv", DQ.name: "dq"}


def _suspected(name: str, title: str, shape: Shape, inputs: Inputs, _: bool, random: np.random.Generator) -> Case:
    """A launch with dO drawn besides."""
    [kernel] = (k for k in PUZZLE.kernels if k.name == name)
    do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(inputs.q.dtype)
    return backward.launch(kernel, title, (ANY_SIZE[name],), shape, inputs, do)


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16."""
    wide, narrow = Shape(1061, 1109, 128, 32, 64, heads=2), Shape(700, 900, 64, 64, 64, heads=3)
    made = []
    for kernel, name in ((DELTA, "delta"), (DK_DV, "dk-dv"), (DQ, "dq")):
        for title, shape, dtype in (("a thousand keys", wide, np.float16), ("bf16", narrow, np.float32)):
            random = draw.case("p7_causal_backward", title)
            inputs = normal_inputs(random, shape, dtype)
            do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(dtype)
            if title == "bf16":
                inputs, do = in_bf16(inputs), as_bf16(do)
            made.append(backward.launch(kernel, title, (name,), shape, inputs, do))
    return made


def pictured(draw: Draw) -> list[Case]:
    """For pictures: four by four tiles, of each kernel."""
    random, shape = draw.case("p7_causal_backward", "pictured"), attention.PICTURED
    inputs = normal_inputs(random, shape)
    do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(np.float32)
    return [backward.launch(kernel, "four by four tiles", (), shape, inputs, do) for kernel in (DELTA, DK_DV, DQ)]


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


HIDDEN_TILES = (
    Misconception(
        "blocks-not-skipped",
        "Tiles that the causal mask hides altogether are computed all the same",
        "Every program goes through all tiles of the other side. One beyond the diagonal adds nothing and costs as "
        "much as any other, which is about half of the work.",
        "For dK and dV, begin at the first tile with a query that sees key j * Bc: max(0, j * Bc - (n_k - n_q)) // "
        "Br * Br. For dQ, end at min(n_k, (i + 1) * Br + n_k - n_q).",
        traffic=_reads_hidden_tiles,
        points_at="product",
    ),
    Misconception(
        "hidden-tile-computed",
        "A tile of which no query sees any key is looked at",
        "The loop begins earlier or ends later than it must: a tile that the causal mask hides, or that lies behind "
        "the last key, changes nothing. A mask on its load does not help, the products are computed all the same. Mind "
        "that // rounds towards zero, not down.",
        "For dK and dV, begin at max(0, j * Bc - (n_k - n_q)) // Br * Br; for dQ, end at min(n_k, (i + 1) * Br + "
        "n_k - n_q).",
        traffic=lambda case, moved: case.kernel != DELTA.name and _whole_tiles_more(case, moved),
        points_at="product",
    ),
)

TUNINGS = {
    64: {
        DELTA.name: (Tuning({"Br": 64}, 4),),
        DK_DV.name: (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 128}, 8, 2)),
        DQ.name: (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 64}, 8)),
    },
    128: {
        DELTA.name: (Tuning({"Br": 64}, 4),),
        DK_DV.name: (Tuning({"Br": 64, "Bc": 64}, 4, 2),),
        DQ.name: (Tuning({"Br": 128, "Bc": 64}, 8), Tuning({"Br": 64, "Bc": 64}, 4, 2)),
    },
}


def timed(_: int) -> list[Timed]:
    """Delta, dK and dV, dQ one after the other; their times add up."""
    return [
        timing.attention_timed((DELTA, DK_DV, DQ), n, d, Work.CAUSAL_BACKWARD, TUNINGS[d], usual=n == 4096)
        for n in (2048, 4096, 8192, 16384)
        for d in (64, 128)
    ]


PUZZLE = Puzzle(
    number=7,
    slug="causal_backward",
    title="The causal backward pass",
    kernels=(DELTA, DK_DV, DQ),
    properties=PROPERTIES,
    cases=cases,
    expected=backward.expected,
    budget=budget,
    suspected=suspected_tiles.of_attention("p7_causal_backward", _suspected, ANY_SIZE),
    large_cases=large_cases,
    work=work,
    timed=timed,
    pictured=Pictured(pictured, sees=attention.sees),
    largest_block=attention.largest_tile,
    why_blocks=attention.WHY_BLOCKS,
    misconceptions=(*HIDDEN_TILES, *MISTAKES, *ADDRESSING),
)
