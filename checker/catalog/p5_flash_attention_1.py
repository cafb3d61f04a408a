"""Puzzle p5: FlashAttention-1 (Dao et al. 2022, algorithm 1), one program a head, O, l and m in memory."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention import launch as attention
from checker.catalog.attention import values
from checker.catalog.attention.bounds import in_tiles, work
from checker.catalog.attention.forward.cases import LARGE, CaseMaker, of_other_blocks, pictured
from checker.catalog.attention.forward.flash_1_mistakes import VISITS
from checker.catalog.attention.forward.mistakes import SCORES
from checker.catalog.attention.launch import Proves, Shape, shape_of, tensors, tiled_kernel
from checker.catalog.attention.puzzle import puzzle
from checker.catalog.attention.reference import O_IS_AN_AVERAGE, expected
from checker.catalog.attention.space import spaces
from checker.catalog.attention.tiles import ADDRESSING
from checker.catalog.attention.timing import HIDDEN, SIZES, attention_timed
from checker.course.case import Case, Role, blank
from checker.course.misconception import Ideas, Moves
from checker.course.puzzle import Budget, Draw, Property, Timed, Tuning, Work
from checker.course.question import Question, reads, writes
from checker.course.verdict import Traffic

idea = Ideas(__file__)

KERNEL = tiled_kernel("flash_attention_1_kernel", "q k v o l m")

PROPERTIES = (
    Property("values", "queries of every kind", 25),
    Property("any-length", "any number of queries and keys, any tile", 25),
    Property("heads", "several heads, which lie apart in memory", 10),
    Property("half", "half precision in, fp32 inside", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "reads K and V once, comes back to O, l and m for every tile of keys", 25, traffic=True),
)


def launch(name: str, proves: Proves, shape: Shape, inputs: values.Inputs, once: bool = False) -> Case:
    """Return one launch, with the state that line 2 of the algorithm starts from: O = 0, l = 0, m = -inf."""
    rows = (shape.heads, shape.n_q)
    state = {
        "o": blank(inputs.q.shape, np.float32),
        "l": blank(rows, np.float32),
        "m": blank(rows, np.float32, -np.inf),
    }
    arguments = inputs.tensors(shape) | tensors(shape, state, Role.STATE, inputs.kinds)
    return attention.launch(KERNEL, name, proves, shape, arguments, inputs.scale, grid=(shape.heads,), once=once)


def cases(draw: Draw) -> list[Case]:
    """Up to three by five tiles, square and not; sizes that leave the last tile partly empty; of real size."""
    make = CaseMaker(draw, launch)
    normal, hard, shape, some = make.normal, make.hard, make.shape, make.some
    random, sizes = draw.case, make.sizes
    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 3).interleaved(sizes)
    fp16, large = shape(31, 79, 32, 32, 16), shape(17, 40)
    wide, head = shape(20 + some(), 144 + some(), 64, 16, 128), shape(20 + some(), 40 + some(), 512)
    far_size = 16 + some()
    made = [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32)),
        normal("a tail of keys", "any-length", shape(16, 32 + some())),
        normal("a tail of both", ("any-length", "traffic"), shape(32 + some(), 32 - some(), Bc=32)),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("a wide head", "values", shape(33, 64, 128, 16, 32)),
        normal("one query, one key", "any-length", shape(1, 1)),
        normal("two heads", ("heads", "traffic"), shape(64 + some(), 81, 16, 32, 32, heads=2)),
        launch("fp16", "half", fp16, values.with_large_v(values.hard_inputs(random("fp16"), fp16, np.float16))),
        normal("fp16, a tail of both", "half", shape(47, 31, Bc=32), np.float16),
        *_lossy(make),
        *make.far_cases(far_size, {}),
        make.many_heads(),
        normal("real tiles", "any-length", shape(1024 + some(), 64 + some(), 64, 64, 64, heads=2), once=True),
        normal("real tiles", "half", shape(64 + some(), 1024 + some(), 128, 64, 64), np.float16, once=True),
        normal("many keys", "any-length", shape(2, 384 + some()), once=True),
        normal("many queries", "any-length", shape(280 + some(), some()), once=True),
        launch("very wide heads", "half", head, values.rising_scores(random("head"), head, np.float16), once=True),
        normal("narrow heads", "half", narrow, np.float16, once=True),
        normal("all sizes alike", "heads", shape(16, 16, heads=16), once=True),
        hard("few keys", "values", shape(16 + some(), 16 - some() % 12), huge=1e5),
        *(normal("blocks exchanged", "any-length", s, once=True) for s in of_other_blocks(sizes)),
        launch("wide tiles", "half", wide, values.rising_scores(random("wide"), wide, np.float16), once=True),
        normal("tall tiles", "half", shape(132 + some(), 20 + some(), 64, 128, 16), np.float16, once=True),
        launch("large scores", "any-length", large, values.large_scores(random("large"), large), once=True),
        *make.every_class("any-length"),
        make.far_below(),
        *make.plain_cases(),
    ]
    return [*made, *make.every_order(made), make.far_rows()]


def _lossy(make: CaseMaker) -> list[Case]:
    """fp16 inputs that show what is added up in half: many small terms, and terms that fp16 can hardly hold."""
    long, small = make.shape(16, 384), make.shape(16, 48)
    sums = values.long_sums(make.random("long sum"), long)
    tiny = values.with_small_v(values.normal_inputs(make.random("small V"), small, np.float16))
    return [
        launch("fp16, a sum of small terms", "half", long, sums, once=True),
        launch("fp16, small V", "half", small, tiny),
    ]


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16."""
    make = CaseMaker(draw, launch)
    return [make.large("large", "a thousand keys", "any-length", LARGE), *make.on_gpu()]


LINE_6 = "before the inner loop (line 6 of the algorithm)"
ANEW = "each tile of keys"


def budget(case: Case) -> Mapping[str, Budget]:
    """K and V once; Q, O, l and m for each of the Tc tiles of keys. O, l and m must really be revisited."""
    shape = shape_of(case)
    q, k = case.tensors["q_ptr"].values.size, case.tensors["k_ptr"].values.size
    rows = shape.heads * shape.n_q
    visited = {"o_ptr": q, "l_ptr": rows, "m_ptr": rows}
    state = {
        name: Budget(
            shape.tc * size, shape.tc * size, least_loads=(shape.tc - 1) * size, least_stores=shape.tc * size, anew=ANEW
        )
        for name, size in visited.items()
    }
    kept = shape.heads * min(shape.Br, shape.n_q) * shape.D  # a tile of Q, from one tile of keys to the next
    least_q = shape.tc * q - (shape.tc - 1) * kept
    kv = Budget(k, place=LINE_6)
    q_budget = Budget(shape.tc * q, least_loads=least_q, anew=ANEW)
    return in_tiles(case, {"q_ptr": q_budget, "k_ptr": kv, "v_ptr": kv, **state})


def _never_comes_back(case: Case, moved: Mapping[str, Traffic]) -> bool:
    return moved["o_ptr"].loads == 0 and moved["o_ptr"].stores == case.tensors["o_ptr"].values.size


LOOPS_SWAPPED = idea("loops-swapped", Moves(_never_comes_back))

TUNINGS = {
    64: (Tuning({"Br": 128, "Bc": 128}, 8, 2), Tuning({"Br": 64, "Bc": 128}, 4, 2)),
    128: (Tuning({"Br": 128, "Bc": 128}, 8, 3), Tuning({"Br": 64, "Bc": 128}, 4, 2)),
}
HEADS = 128  # as large models have


def timed(_: int) -> list[Timed]:
    """Full attention. One program a head: 128 heads in each sequence, and at last too few of them for a large GPU."""
    sizes = [(n, d, HEADS * d) for n, d in SIZES] + [(16384, d, HIDDEN) for d in (64, 128)]
    return [
        attention_timed(
            lambda _, *of: launch("timed", (), *of), n, d, Work.ATTENTION, {KERNEL.name: TUNINGS[d]}, hidden
        )
        for n, d, hidden in sizes
    ]


TWO_TILES_OF_KEYS = Shape(64, 64, 16, Br=16, Bc=32)
OF_TWO_TILES = launch(
    "two tiles of keys", (), TWO_TILES_OF_KEYS, values.normal_inputs(np.random.default_rng(0), TWO_TILES_OF_KEYS)
)
QUESTIONS = (
    Question(
        "k_reads",
        "64 queries, 64 keys, one head, Br = 16, Bc = 32: how often is each element of K read?",
        OF_TWO_TILES,
        reads("k_ptr"),
        "K belongs to the outer loop, so a tile of it is loaded once and meets all queries while it is on the chip.",
    ),
    Question(
        "o_writes",
        "64 queries, 64 keys, one head, Br = 16, Bc = 32: how often is each element of O written?",
        OF_TWO_TILES,
        writes("o_ptr"),
        "There are 2 tiles of keys, and O comes back from memory and returns to it for each of them.",
    ),
    Question(
        "q_reads",
        "64 queries, 64 keys, one head, Br = 16, Bc = 32: how often is each element of Q read?",
        OF_TWO_TILES,
        reads("q_ptr"),
        "The inner loop goes over all queries for each of the 2 tiles of keys, and Br does not occur in the count.",
        course=2,
    ),
)

PUZZLE = puzzle(
    id="p5",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(
        lambda _, name, shape, inputs, *__: launch(name, "any-length", shape, inputs),
        {KERNEL.name: "any-length"},
    ),
    large_cases=large_cases,
    work=work(products=2),
    timed=timed,
    pictured=pictured(launch, beside="p6"),
    misconceptions=(LOOPS_SWAPPED, *VISITS, *SCORES, *ADDRESSING),
    invariants=(O_IS_AN_AVERAGE,),
    questions=QUESTIONS,
)
