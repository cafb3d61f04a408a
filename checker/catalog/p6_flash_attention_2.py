"""Puzzle 6: FlashAttention-2 (Dao 2023, algorithm 1), a program per tile of queries, full and causal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog import attention, suspected_tiles, timing
from checker.catalog.attention import FAR, FAR_APART, Shape, of_every_class
from checker.catalog.attention_inputs import (
    Inputs,
    drawn_factor,
    hard_inputs,
    in_bf16,
    large_scores,
    long_sums,
    normal_inputs,
    rising_scores,
    with_large_v,
)
from checker.catalog.attention_mistakes import SCORES
from checker.catalog.by_hand import by_hand
from checker.catalog.causal_mistakes import CAUSAL
from checker.catalog.flash_2_mistakes import ACCUMULATION, LSE
from checker.catalog.tiles import ADDRESSING
from checker.course.puzzle import (
    Budget,
    Case,
    Draw,
    Kernel,
    Misconception,
    Moved,
    Pictured,
    Property,
    Puzzle,
    Role,
    Timed,
    Tuning,
    Work,
)

KERNEL = Kernel(
    name="flash_attention_2_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "o_ptr", "lse_ptr"),
        *("q_head_stride", "q_row_stride", "k_head_stride", "k_row_stride", "n_q", "n_k", "scale"),
        *("D", "Br", "Bc", "CAUSAL"),
    ),
    constexprs=("D", "Br", "Bc", "CAUSAL"),
)

PROPERTIES = (
    Property("values", "queries of every kind", 20),
    Property("any-length", "any number of queries and keys, any tile", 15),
    Property("causal", "causal, with as many queries as keys or fewer", 20),
    Property("hidden-queries", "queries that see no key", 10),
    Property("heads", "several heads, which lie apart in memory", 10),
    Property("half", "fp16 in and out, fp32 inside", 10),
    Property("far-heads", "head offsets beyond 2**31", 5),
    Property("traffic", "reads Q once, skips hidden tiles of K and V, writes O once", 10, traffic=True),
)


def _case(name: str, proves: tuple[str, ...], shape: Shape, inputs: Inputs, causal: bool, once: bool = False) -> Case:
    tensors = {
        "q_ptr": attention.matrix(shape, "q", inputs.q, kinds=inputs.kinds, bf16=inputs.bf16),
        "k_ptr": attention.matrix(shape, "k", inputs.k, bf16=inputs.bf16),
        "v_ptr": attention.matrix(shape, "k", inputs.v, bf16=inputs.bf16),
        "o_ptr": attention.matrix(
            shape, "q", attention.unwritten(inputs.q, inputs.q.dtype), Role.OUTPUT, inputs.kinds, inputs.bf16
        ),
        "lse_ptr": attention.vector(
            shape, attention.unwritten(inputs.q[..., 0], np.float32), Role.OUTPUT, inputs.kinds
        ),
    }
    return attention.launch(KERNEL, name, proves, shape, tensors, inputs.scale, (shape.tr, shape.heads), causal, once)


def cases(draw: Draw) -> list[Case]:
    """Up to five by five tiles, square and not, full and causal; more queries than keys and fewer; of real size."""

    def random(name: str) -> np.random.Generator:
        return draw.case(name)

    sizes = random("sizes")

    def normal(
        name: str,
        proves: tuple[str, ...],
        shape: Shape,
        causal: bool = False,
        dtype: type = np.float32,
        once: bool = False,
        unit_scale: bool = False,
    ) -> Case:
        source = random(f"{name} {shape.n_q} {shape.n_k}")
        factor = drawn_factor(sizes, dtype) if once else 1.0
        return _case(name, proves, shape, normal_inputs(source, shape, dtype, factor, unit_scale), causal, once)

    def hard(
        name: str,
        proves: tuple[str, ...],
        shape: Shape,
        causal: bool = False,
        dtype: type = np.float32,
        huge: float = 300.0,
    ) -> Case:
        return _case(name, proves, shape, hard_inputs(random(name), shape, dtype, huge), causal)

    def some() -> int:
        return int(sizes.integers(1, 16))

    def shape(n_q: int, n_k: int, D: int, Br: int, Bc: int, heads: int = 1, far: int = 0) -> Shape:
        return Shape(n_q, n_k, D, Br, Bc, heads).apart(sizes, far)

    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 6).interleaved(sizes)
    fp16, large = shape(31, 79, 32, 32, 16), shape(17, 40, 16, 16, 16)
    wide, head = shape(20 + some(), 144 + some(), 64, 16, 128), shape(20 + some(), 40 + some(), 512, 16, 16)
    far_size = 16 + some()
    return [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32, 16, 16, 16)),
        normal("a tail of keys", ("any-length",), shape(16, 32 + some(), 16, 16, 16)),
        normal("a tail of both", ("any-length", "traffic"), shape(32 + some(), 32 - some(), 16, 16, 32)),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("as many queries as keys", ("causal", "traffic"), shape(48, 48, 16, 16, 16), causal=True),
        normal("more keys than queries", ("causal", "traffic"), shape(31, 48 + some(), 32, 16, 16), causal=True),
        hard("every kind of query, causal", ("causal",), shape(48, 53, 32, 16, 32), causal=True),
        normal("tall tiles", ("causal", "traffic"), shape(64 + some(), 85 + some(), 16, 64, 16), causal=True),
        normal("a wide head", ("values",), shape(33, 64, 128, 16, 32)),
        normal("one query, one key", ("any-length",), shape(1, 1, 16, 16, 16), causal=True),
        normal("two heads", ("heads", "traffic"), shape(64 + some(), 80, 16, 32, 32, heads=2), causal=True),
        _case("fp16", ("half",), fp16, with_large_v(hard_inputs(random("fp16"), fp16, np.float16)), causal=False),
        normal("fp16, causal", ("half",), shape(47, 47, 16, 16, 32), causal=True, dtype=np.float16),
        normal("more queries than keys", ("hidden-queries",), shape(40 + some() % 8, 17, 16, 16, 16), causal=True),
        normal(FAR, ("far-heads",), shape(far_size, far_size, 16, 16, 16, heads=6, far=FAR_APART)),
        normal(FAR, ("far-heads",), shape(far_size, far_size, 16, 16, 16, heads=6, far=FAR_APART), causal=True),
        normal(attention.FAR_HALF, ("far-heads",), shape(16, 16, 16, 16, 16, heads=6, far=FAR_APART), True, np.float16),
        normal(attention.FURTHER, ("far-heads",), shape(16, 16, 16, 16, 16, heads=2, far=2 * FAR_APART)),
        attention.some_heads(normal("many heads", ("heads",), attention.MANY_HEADS.apart(sizes), once=True), sizes),
        normal("real tiles", ("any-length",), shape(1024 + some(), 48 + some(), 64, 64, 64, heads=2), once=True),
        normal("many keys", ("any-length",), shape(2, 1024 + some(), 16, 16, 64), once=True),
        _case("very wide heads", ("half",), head, rising_scores(random("head"), head, np.float16), True, once=True),
        normal("narrow heads", ("half",), narrow, True, np.float16, once=True),
        normal("all sizes alike", ("heads",), shape(16, 16, 16, 16, 16, heads=16), True, once=True),
        hard("few keys", ("values",), shape(16 + some(), 16 - some() % 12, 16, 16, 16), huge=1e5),
        *(
            normal("blocks exchanged", ("causal" if causal else "any-length",), s, causal, once=True)
            for s in attention.of_other_blocks(sizes)
            for causal in (False, True)
        ),
        normal("real tiles", ("half",), shape(128 + some(), 1024 + some(), 128, 64, 64), True, np.float16, once=True),
        _case("large scores", ("causal",), large, large_scores(random("large"), large), True, once=True),
        normal("wide tiles", ("half",), shape(144 + some(), 160 + some(), 64, 16, 128), True, np.float16, once=True),
        normal("tall tiles", ("half",), shape(132 + some(), 148 + some(), 64, 128, 16), True, np.float16, once=True),
        _case("wide tiles", ("any-length",), wide, rising_scores(random("wide"), wide, np.float32), False, once=True),
        normal("tall tiles", ("any-length",), shape(132 + some(), 20 + some(), 64, 128, 16), once=True),
        normal("many queries", ("heads",), shape(290 + some(), 20, 16, 16, 16, heads=2), once=True),
        attention.sampled(
            normal("many of both", ("causal",), shape(290, 290 + some(), 16, 16, 16), True, once=True), (0, 18), (0,)
        ),
        *(
            normal(c.name, c.proves("any-length"), c.shape, False, c.dtype, once=True, unit_scale=c.unit_scale)
            for c in of_every_class(sizes, causal=False)
        ),
        *(
            normal(
                c.name,
                c.proves("hidden-queries" if c.shape.n_q > c.shape.n_k else "causal"),
                c.shape,
                True,
                c.dtype,
                once=True,
                unit_scale=c.unit_scale,
            )
            for c in of_every_class(sizes, causal=True)
        ),
        _long_sum(random("long sum")),
    ]


def _long_sum(random: np.random.Generator) -> Case:
    """fp16 inputs that show what is added up in half: many small terms."""
    shape = Shape(16, 384, 16, 16, 16).apart(random)
    return _case("fp16, a sum of small terms", ("half",), shape, long_sums(random, shape), causal=True, once=True)


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: thousands of queries and keys, a wide head, bf16."""

    def inputs(name: str, shape: Shape, dtype: type) -> Inputs:
        return normal_inputs(draw.case(name), shape, dtype)

    wide, narrow = Shape(2061, 2109, 128, 64, 64, heads=2), Shape(700, 900, 64, 64, 64, heads=3)
    return [
        _case("thousands of keys", ("any-length",), wide, inputs("large", wide, np.float16), causal=False),
        _case("thousands of keys, causal", ("causal",), wide, inputs("causal", wide, np.float16), causal=True),
        _case("bf16", ("half",), narrow, in_bf16(inputs("bf16", narrow, np.float32)), causal=True),
        _case(FAR, ("far-heads",), attention.FAR_HEADS, inputs("far", attention.FAR_HEADS, np.float16), causal=False),
    ]


def pictured(draw: Draw) -> list[Case]:
    """For pictures: four by four tiles, causal."""
    inputs = normal_inputs(draw.case("pictured"), attention.PICTURED)
    return [_case("four by four tiles", (), attention.PICTURED, inputs, causal=True)]


def budget(case: Case) -> Mapping[str, Budget]:
    """Q once; of K and V, for each tile of queries, the tiles that it sees any of; O and LSE stored once."""
    heads, n_q, d = case.tensors["q_ptr"].values.shape
    seen = int(heads * d * attention.keys_seen(case).sum())
    kv = Budget(seen, least_loads=int(heads * d * attention.keys_needed(case).sum()))  # programs share no registers
    q = Budget(loads=heads * n_q * d)
    outputs = {"o_ptr": Budget(stores=heads * n_q * d), "lse_ptr": Budget(stores=heads * n_q)}
    return attention.in_tiles(case, {"q_ptr": q, "k_ptr": kv, "v_ptr": kv, **outputs})


def _reads_hidden_tiles(case: Case, moved: Mapping[str, Moved]) -> bool:
    if case.once:  # who skips no tile is found out before
        return False
    every = attention.shape_of(case).tr * case.tensors["k_ptr"].values.size
    return every == moved["k_ptr"].loads == moved["v_ptr"].loads > budget(case)["k_ptr"].loads


BLOCKS_NOT_SKIPPED = Misconception(
    "blocks-not-skipped",
    "Tiles that the causal mask hides altogether are computed all the same",
    "Every program reads all of K and V. A tile beyond the diagonal is masked to the last element: it changes "
    "nothing and costs as much as any other, which is about half of the work.",
    "End the loop at the last key that any query of the tile sees: min(n_k, (i + 1) * Br + n_k - n_q).",
    traffic=_reads_hidden_tiles,
    points_at="product",
)
HIDDEN_TILE = Misconception(
    "hidden-tile-computed",
    "A tile of which no query sees any key is looked at",
    "The loop over keys ends later than it must: a tile that the causal mask hides, or that lies past the last key, "
    "changes nothing. A mask on its load does not help, the product is computed all the same. Mind that // rounds "
    "towards zero, not down.",
    "End the loop at the last key that any query of the tile sees: min(n_k, (i + 1) * Br + n_k - n_q).",
    traffic=lambda case, moved: (
        bool(case.constexprs["CAUSAL"])
        and moved["o_ptr"].loads == 0
        and moved["q_ptr"].loads <= budget(case)["q_ptr"].loads
        and moved["k_ptr"].loads <= attention.shape_of(case).tr * case.tensors["k_ptr"].values.size
        and moved["k_ptr"].loads == moved["v_ptr"].loads
    ),
    points_at="product",
)
IN_MEMORY = Misconception(
    "accumulator-in-memory",
    "This is FlashAttention-1: O goes back and forth between memory and the chip",
    "O is read, so it is accumulated in memory. FlashAttention-2 has the queries in the outer loop, here in the "
    "grid, so that O stays in registers until it is finished.",
    "Keep Oi, li and mi in registers, and store Oi once, after the loop.",
    traffic=lambda case, moved: moved["o_ptr"].loads > 0,
)

TUNINGS = (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 64}, 8))


def timed(_: int) -> list[Timed]:
    """Full and causal, both head dimensions."""
    return [
        timing.attention_timed([KERNEL], n, d, work, {KERNEL.name: TUNINGS}, usual=n == 4096)
        for n in (2048, 4096, 8192, 16384)
        for d in (64, 128)
        for work in (Work.ATTENTION, Work.CAUSAL_ATTENTION)
    ]


PUZZLE = Puzzle(
    number=6,
    slug="flash_attention_2",
    title="FlashAttention-2, full and causal",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=attention.expected,
    budget=budget,
    suspected=suspected_tiles.of_attention(
        lambda _, name, shape, inputs, causal, __: _case(name, ("any-length",), shape, inputs, causal),
        {KERNEL.name: "any-length"},
        both_masks=True,
    ),
    large_cases=large_cases,
    work=attention.work(products=2),
    timed=timed,
    pictured=Pictured(pictured, sees=attention.sees, beside=5),
    by_hand=by_hand,
    largest_block=attention.largest_tile,
    why_blocks=attention.WHY_BLOCKS,
    misconceptions=(BLOCKS_NOT_SKIPPED, IN_MEMORY, HIDDEN_TILE, *ACCUMULATION, *CAUSAL, *LSE, *SCORES, *ADDRESSING),
    invariants=(attention.O_IS_AN_AVERAGE,),
)
