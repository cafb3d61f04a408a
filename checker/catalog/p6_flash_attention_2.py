"""Puzzle p6: FlashAttention-2 (Dao 2023, algorithm 1), a program per tile of queries, full and causal."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention import launch as attention
from checker.catalog.attention import values
from checker.catalog.attention.bounds import forward_budget, work
from checker.catalog.attention.forward.cases import CaseMaker, of_other_blocks, pictured
from checker.catalog.attention.forward.causal_mistakes import CAUSAL
from checker.catalog.attention.forward.flash_2_mistakes import ACCUMULATION, LSE
from checker.catalog.attention.forward.mistakes import SCORES
from checker.catalog.attention.forward.visit_mistakes import tiles_looked_at
from checker.catalog.attention.launch import Proves, Shape, sampled, tensors, tiled_kernel, unwritten
from checker.catalog.attention.puzzle import puzzle
from checker.catalog.attention.reference import O_IS_AN_AVERAGE, expected
from checker.catalog.attention.space import spaces
from checker.catalog.attention.tiles import ADDRESSING
from checker.catalog.attention.timing import IN_BF16, SIZES, attention_timed
from checker.course.case import Case, Role
from checker.course.puzzle import Draw, Property, Timed, Tuning, Work
from checker.course.question import Question, reads

KERNEL = tiled_kernel("flash_attention_2_kernel", "q k v o lse", constexprs="D Br Bc CAUSAL")

PROPERTIES = (
    Property("values", "queries of every kind", 20),
    Property("any-length", "any number of queries and keys, any tile", 15),
    Property("causal", "causal, with as many queries as keys or fewer", 20),
    Property("hidden-queries", "queries that see no key", 10),
    Property("heads", "several heads, which lie apart in memory", 10),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "reads Q once, skips hidden tiles of K and V, writes O once", 10, traffic=True),
)


def launch(
    name: str, proves: Proves, shape: Shape, inputs: values.Inputs, causal: bool = False, once: bool = False
) -> Case:
    """Return one launch: a program per head and tile of queries."""
    outputs = {"o": unwritten(inputs.q, inputs.q.dtype), "lse": unwritten(inputs.q[..., 0], np.float32)}
    arguments = inputs.tensors(shape) | tensors(shape, outputs, Role.OUTPUT, inputs.kinds, inputs.bf16)
    grid = (shape.tr, shape.heads)
    return attention.launch(KERNEL, name, proves, shape, arguments, inputs.scale, grid, causal, once)


def cases(draw: Draw) -> list[Case]:
    """Up to five by five tiles, square and not, full and causal; more queries than keys and fewer; of real size."""
    make = CaseMaker(draw, launch)
    normal, hard, shape, some = make.normal, make.hard, make.shape, make.some
    random, sizes, half = draw.case, make.sizes, np.float16
    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 6).interleaved(sizes)
    fp16, large = shape(31, 79, 32, 32, 16), shape(17, 40)
    wide, head = shape(20 + some(), 144 + some(), 64, 16, 128), shape(20 + some(), 40 + some(), 512)
    far_size = 16 + some()
    made = [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32)),
        normal("a tail of keys", "any-length", shape(16, 32 + some())),
        normal("a tail of both", ("any-length", "traffic"), shape(32 + some(), 32 - some(), Bc=32)),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("as many queries as keys", ("causal", "traffic"), shape(48, 48), causal=True),
        normal("more keys than queries", ("causal", "traffic"), shape(31, 48 + some(), 32), causal=True),
        hard("every kind of query, causal", "causal", shape(48, 53, 32, 16, 32), causal=True),
        normal("tall tiles", ("causal", "traffic"), shape(64 + some(), 85 + some(), Br=64), causal=True),
        normal("a wide head", "values", shape(33, 64, 128, 16, 32)),
        normal("one query, one key", "any-length", shape(1, 1), causal=True),
        normal("two heads", ("heads", "traffic"), shape(64 + some(), 80, 16, 32, 32, heads=2), causal=True),
        launch("fp16", "half", fp16, values.with_large_v(values.hard_inputs(random("fp16"), fp16, half))),
        normal("fp16, causal", "half", shape(47, 47, Bc=32), half, causal=True),
        normal("more queries than keys", "hidden-queries", shape(40 + some() % 8, 17), causal=True),
        *make.far_cases(far_size, {}, {"causal": True}),
        make.many_heads(),
        normal("real tiles", "any-length", shape(1024 + some(), 48 + some(), 64, 64, 64, heads=2), once=True),
        normal("many keys", "any-length", shape(2, 1024 + some(), Bc=64), once=True),
        launch(
            "very wide heads", "half", head, values.rising_scores(random("head"), head, half), causal=True, once=True
        ),
        normal("narrow heads", "half", narrow, half, causal=True, once=True),
        normal("all sizes alike", "heads", shape(16, 16, heads=16), causal=True, once=True),
        hard("few keys", "values", shape(16 + some(), 16 - some() % 12), huge=1e5),
        *(
            normal("blocks exchanged", "causal" if causal else "any-length", s, causal=causal, once=True)
            for s in of_other_blocks(sizes)
            for causal in (False, True)
        ),
        normal("real tiles", "half", shape(128 + some(), 1024 + some(), 128, 64, 64), half, causal=True, once=True),
        launch("large scores", "causal", large, values.large_scores(random("large"), large), causal=True, once=True),
        normal("wide tiles", "half", shape(144 + some(), 160 + some(), 64, 16, 128), half, causal=True, once=True),
        normal("tall tiles", "half", shape(132 + some(), 148 + some(), 64, 128, 16), half, causal=True, once=True),
        launch("wide tiles", "any-length", wide, values.rising_scores(random("wide"), wide, np.float32), once=True),
        normal("tall tiles", "any-length", shape(132 + some(), 20 + some(), 64, 128, 16), once=True),
        normal("many queries", "heads", shape(290 + some(), 20, heads=2), once=True),
        sampled(normal("many of both", "causal", shape(290, 290 + some()), causal=True, once=True), (0, 18), (0,)),
        *make.every_class("any-length", causal=False),
        *make.every_class("causal", causal=True),
        make.long_sum(causal=True),
        make.far_below(),
        *make.plain_cases(),
        *make.plain_causal(),
    ]
    return [*made, *make.every_order(made, causal="causal"), make.far_rows(causal=True)]


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: thousands of queries and keys, a wide head, bf16."""
    make, large = CaseMaker(draw, launch), Shape(2061, 2109, 128, 64, 64, heads=2)
    return [
        make.large("large", "thousands of keys", "any-length", large),
        make.large("causal", "thousands of keys, causal", "causal", large, causal=True),
        *make.on_gpu(causal=True),
    ]


TUNINGS = (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 64}, 8))


def timed(_: int) -> list[Timed]:
    """Full and causal, both head dimensions, in fp16; one size in bf16."""

    def size(n: int, d: int, work: Work, bf16: bool = False) -> Timed:
        causal = work is Work.CAUSAL_ATTENTION

        def case(_: str, shape: Shape, inputs: values.Inputs) -> Case:
            return launch("timed", (), shape, inputs, causal)

        return attention_timed(case, n, d, work, {KERNEL.name: TUNINGS}, bf16=bf16)

    made = [size(n, d, work) for n, d in SIZES for work in (Work.ATTENTION, Work.CAUSAL_ATTENTION)]
    return [*made, size(*IN_BF16, Work.CAUSAL_ATTENTION, bf16=True)]


FULL, CAUSAL_LAUNCH, TALL_TILES = (
    launch("four tiles of keys", (), shape, values.normal_inputs(np.random.default_rng(0), shape), causal)
    for shape, causal in (
        (Shape(64, 64, 16, 16, 16), False),
        (Shape(64, 64, 16, 16, 16), True),
        (Shape(64, 64, 16, 32, 16), True),
    )
)
QUESTIONS = (
    Question(
        "k_reads",
        "64 queries, 64 keys, one head, Br = Bc = 16, not causal: how often is each element of K read?",
        FULL,
        reads("k_ptr"),
        "Each of the 4 programs owns a tile of queries, and reads all of K for it.",
    ),
    Question(
        "k_reads_causal",
        "64 queries, 64 keys, one head, Br = Bc = 16, causal: how often is an element of K read, on average?",
        CAUSAL_LAUNCH,
        reads("k_ptr"),
        "The four programs read 1, 2, 3 and 4 of the 4 tiles of keys: 10 / 4.",
    ),
    Question(
        "k_reads_tall",
        "64 queries, 64 keys, one head, Br = 32, Bc = 16, causal: how often is an element of K read, on average?",
        TALL_TILES,
        reads("k_ptr"),
        "The two programs read 2 and 4 of the 4 tiles of keys: 6 / 4.",
    ),
)

PUZZLE = puzzle(
    id="p6",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=forward_budget,
    spaces=spaces(
        lambda _, name, shape, inputs, at, __: launch(name, "any-length", shape, inputs, at["CAUSAL"] == 1),
        {KERNEL.name: "any-length"},
        masks=(0, 1),
    ),
    large_cases=large_cases,
    work=work(products=2),
    timed=timed,
    pictured=pictured(launch, beside="p5", causal=True),
    misconceptions=(*tiles_looked_at(forward_budget, "6"), *ACCUMULATION, *CAUSAL, *LSE, *SCORES, *ADDRESSING),
    invariants=(O_IS_AN_AVERAGE,),
    questions=QUESTIONS,
)
