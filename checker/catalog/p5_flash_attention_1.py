"""Puzzle 5: FlashAttention-1 (Dao et al. 2022, algorithm 1), one program a head, O, l and m in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
    with_small_v,
)
from checker.catalog.attention_mistakes import SCORES
from checker.catalog.by_hand import by_hand
from checker.catalog.flash_1_mistakes import VISITS
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
    Remark,
    Role,
    Timed,
    Tuning,
    Work,
)

KERNEL = Kernel(
    name="flash_attention_1_kernel",
    parameters=(
        *("q_ptr", "k_ptr", "v_ptr", "o_ptr", "l_ptr", "m_ptr"),
        *("q_head_stride", "q_row_stride", "k_head_stride", "k_row_stride", "n_q", "n_k", "scale"),
        *("D", "Br", "Bc"),
    ),
    constexprs=("D", "Br", "Bc"),
)

PROPERTIES = (
    Property("values", "queries of every kind", 25),
    Property("any-length", "any number of queries and keys, any tile", 25),
    Property("heads", "several heads, which lie apart in memory", 10),
    Property("half", "fp16 in, fp32 inside", 10),
    Property("far-heads", "head offsets beyond 2**31", 5),
    Property("traffic", "reads K and V once, comes back to O, l and m for every tile of keys", 25, traffic=True),
)


def _case(name: str, proves: tuple[str, ...], shape: Shape, inputs: Inputs, once: bool = False) -> Case:
    """One launch, with the state that line 2 of the algorithm starts from: O = 0, l = 0, m = -inf."""
    rows = np.zeros((shape.heads, shape.n_q), np.float32)
    tensors = {
        "q_ptr": attention.matrix(shape, "q", inputs.q, kinds=inputs.kinds, bf16=inputs.bf16),
        "k_ptr": attention.matrix(shape, "k", inputs.k, bf16=inputs.bf16),
        "v_ptr": attention.matrix(shape, "k", inputs.v, bf16=inputs.bf16),
        "o_ptr": attention.matrix(shape, "q", np.zeros(inputs.q.shape, np.float32), Role.STATE, inputs.kinds),
        "l_ptr": attention.vector(shape, rows, Role.STATE, inputs.kinds),
        "m_ptr": attention.vector(shape, rows - np.float32(np.inf), Role.STATE, inputs.kinds),
    }
    return attention.launch(KERNEL, name, proves, shape, tensors, inputs.scale, grid=(shape.heads,), once=once)


def cases(draw: Draw) -> list[Case]:
    """Up to three by five tiles, square and not; sizes that leave the last tile partly empty; of real size."""

    def random(name: str) -> np.random.Generator:
        return draw.case(name)

    sizes = random("sizes")

    def normal(
        name: str,
        proves: tuple[str, ...],
        shape: Shape,
        dtype: type = np.float32,
        once: bool = False,
        unit_scale: bool = False,
    ) -> Case:
        source = random(f"{name} {shape.n_q} {shape.n_k}")
        factor = drawn_factor(sizes, dtype) if once else 1.0
        return _case(name, proves, shape, normal_inputs(source, shape, dtype, factor, unit_scale), once)

    def hard(name: str, proves: tuple[str, ...], shape: Shape, dtype: type = np.float32, huge: float = 300.0) -> Case:
        return _case(name, proves, shape, hard_inputs(random(name), shape, dtype, huge))

    def some() -> int:
        return int(sizes.integers(1, 16))

    def shape(n_q: int, n_k: int, D: int, Br: int, Bc: int, heads: int = 1, far: int = 0) -> Shape:
        return Shape(n_q, n_k, D, Br, Bc, heads).apart(sizes, far)

    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 3).interleaved(sizes)
    fp16, large = shape(31, 79, 32, 32, 16), shape(17, 40, 16, 16, 16)
    wide, head = shape(20 + some(), 144 + some(), 64, 16, 128), shape(20 + some(), 40 + some(), 512, 16, 16)
    far_size = 16 + some()
    return [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32, 16, 16, 16)),
        normal("a tail of keys", ("any-length",), shape(16, 32 + some(), 16, 16, 16)),
        normal("a tail of both", ("any-length", "traffic"), shape(32 + some(), 32 - some(), 16, 16, 32)),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("a wide head", ("values",), shape(33, 64, 128, 16, 32)),
        normal("one query, one key", ("any-length",), shape(1, 1, 16, 16, 16)),
        normal("two heads", ("heads", "traffic"), shape(64 + some(), 81, 16, 32, 32, heads=2)),
        _case("fp16", ("half",), fp16, with_large_v(hard_inputs(random("fp16"), fp16, np.float16))),
        normal("fp16, a tail of both", ("half",), shape(47, 31, 16, 16, 32), np.float16),
        *_lossy(random, sizes),
        normal(FAR, ("far-heads",), shape(far_size, far_size, 16, 16, 16, heads=6, far=FAR_APART)),
        normal(attention.FAR_HALF, ("far-heads",), shape(16, 16, 16, 16, 16, heads=6, far=FAR_APART), np.float16),
        normal(attention.FURTHER, ("far-heads",), shape(16, 16, 16, 16, 16, heads=2, far=2 * FAR_APART)),
        attention.some_heads(normal("many heads", ("heads",), attention.MANY_HEADS.apart(sizes), once=True), sizes),
        normal("real tiles", ("any-length",), shape(1024 + some(), 48 + some(), 64, 64, 64, heads=2), once=True),
        normal("real tiles", ("half",), shape(64 + some(), 1024 + some(), 128, 64, 64), np.float16, once=True),
        normal("many keys", ("any-length",), shape(2, 384 + some(), 16, 16, 16), once=True),
        normal("many queries", ("any-length",), shape(280 + some(), some(), 16, 16, 16), once=True),
        _case("very wide heads", ("half",), head, rising_scores(random("head"), head, np.float16), once=True),
        normal("narrow heads", ("half",), narrow, np.float16, once=True),
        normal("all sizes alike", ("heads",), shape(16, 16, 16, 16, 16, heads=16), once=True),
        hard("few keys", ("values",), shape(16 + some(), 16 - some() % 12, 16, 16, 16), huge=1e5),
        *(normal("blocks exchanged", ("any-length",), s, once=True) for s in attention.of_other_blocks(sizes)),
        _case("wide tiles", ("half",), wide, rising_scores(random("wide"), wide, np.float16), once=True),
        normal("tall tiles", ("half",), shape(132 + some(), 20 + some(), 64, 128, 16), np.float16, once=True),
        _case("large scores", ("any-length",), large, large_scores(random("large"), large), once=True),
        *(
            normal(c.name, c.proves("any-length"), c.shape, c.dtype, once=True, unit_scale=c.unit_scale)
            for c in of_every_class(sizes, causal=False)
        ),
    ]


def _lossy(random: Callable[[str], np.random.Generator], sizes: np.random.Generator) -> list[Case]:
    """fp16 inputs that show what is added up in half: many small terms, and terms that fp16 can hardly hold."""
    long, small = (Shape(16, n_k, 16, 16, 16).apart(sizes) for n_k in (384, 48))
    sums = long_sums(random("long sum"), long)
    tiny = with_small_v(normal_inputs(random("small V"), small, np.float16))
    return [
        _case("fp16, a sum of small terms", ("half",), long, sums, once=True),
        _case("fp16, small V", ("half",), small, tiny),
    ]


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16."""

    def inputs(name: str, shape: Shape, dtype: type) -> Inputs:
        return normal_inputs(draw.case(name), shape, dtype)

    wide, narrow = Shape(1061, 1109, 128, 32, 64, heads=2), Shape(700, 900, 64, 64, 64, heads=3)
    return [
        _case("a thousand keys", ("any-length",), wide, inputs("large", wide, np.float16)),
        _case("bf16", ("half",), narrow, in_bf16(inputs("bf16", narrow, np.float32))),
        _case(FAR, ("far-heads",), attention.FAR_HEADS, inputs("far", attention.FAR_HEADS, np.float16)),
    ]


def pictured(draw: Draw) -> list[Case]:
    """For pictures: four by four tiles."""
    inputs = normal_inputs(draw.case("pictured"), attention.PICTURED)
    return [_case("four by four tiles", (), attention.PICTURED, inputs)]


LINE_6 = "before the inner loop (line 6 of the algorithm)"


def budget(case: Case) -> Mapping[str, Budget]:
    """K and V once; Q, O, l and m for each of the Tc tiles of keys. O, l and m must really be revisited."""
    shape = attention.shape_of(case)
    q, k = case.tensors["q_ptr"].values.size, case.tensors["k_ptr"].values.size
    rows = shape.heads * shape.n_q
    visited = {"o_ptr": q, "l_ptr": rows, "m_ptr": rows}
    state = {
        name: Budget(shape.tc * size, shape.tc * size, least_loads=(shape.tc - 1) * size, least_stores=shape.tc * size)
        for name, size in visited.items()
    }
    kept = shape.heads * min(shape.Br, shape.n_q) * shape.D  # a tile of Q, from one tile of keys to the next
    least_q = shape.tc * q - (shape.tc - 1) * kept
    kv = Budget(k, place=LINE_6)
    q_budget = Budget(shape.tc * q, least_loads=least_q)
    return attention.in_tiles(case, {"q_ptr": q_budget, "k_ptr": kv, "v_ptr": kv, **state})


def _never_comes_back(case: Case, moved: Mapping[str, Moved]) -> bool:
    return moved["o_ptr"].loads == 0 and moved["o_ptr"].stores == case.tensors["o_ptr"].values.size


LOOPS_SWAPPED = Misconception(
    "loops-swapped",
    "This is FlashAttention-2: the loops are the other way round",
    "O is written once and never read, so the queries are in the outer loop, and all of K and V is read again for "
    "each tile of queries. It is the better algorithm, and puzzle 6. FlashAttention-1 reads K and V once, and comes "
    "back to O, l and m for each tile of keys.",
    "Outer loop over tiles of keys, inner loop over tiles of queries; load O, l and m in the inner loop.",
    traffic=_never_comes_back,
)

TF32 = (
    "with fp32 inputs a GPU's tl.dot rounds them to TF32, which keeps 10 bits; the interpreter does not. "
    "input_precision='ieee' would keep all of them, much more slowly. fp16 inputs lose nothing."
)

TUNINGS = {
    64: (Tuning({"Br": 128, "Bc": 128}, 8, 2), Tuning({"Br": 64, "Bc": 128}, 4, 2)),
    128: (Tuning({"Br": 128, "Bc": 128}, 8, 3), Tuning({"Br": 64, "Bc": 128}, 4, 2)),
}


HEADS = 128  # as large models have


def timed(_: int) -> list[Timed]:
    """Full attention. One program a head: 128 heads in each sequence, and at last too few of them for a large GPU."""

    def size(n: int, d: int, hidden: int) -> Timed:
        tunings = {KERNEL.name: TUNINGS[d]}
        return timing.attention_timed([KERNEL], n, d, Work.ATTENTION, tunings, hidden, usual=n == 4096)

    many = [size(n, d, HEADS * d) for n in (2048, 4096, 8192, 16384) for d in (64, 128)]
    return many + [size(16384, d, timing.HIDDEN) for d in (64, 128)]


PUZZLE = Puzzle(
    number=5,
    slug="flash_attention_1",
    title="FlashAttention-1",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=attention.expected,
    budget=budget,
    suspected=suspected_tiles.of_attention(
        lambda _, name, shape, inputs, *__: _case(name, ("any-length",), shape, inputs),
        {KERNEL.name: "any-length"},
        by_head=True,
    ),
    large_cases=large_cases,
    work=attention.work(products=2),
    timed=timed,
    pictured=Pictured(pictured, sees=attention.sees, beside=6),
    by_hand=by_hand,
    largest_block=attention.largest_tile,
    why_blocks=attention.WHY_BLOCKS,
    remarks=(Remark(TF32, lambda case, loads: True),),
    misconceptions=(LOOPS_SWAPPED, *VISITS, *SCORES, *ADDRESSING),
    invariants=(attention.O_IS_AN_AVERAGE,),
)
