"""Puzzle a3: attention in two passes over K, a program per tile of queries: p4 with tl.dot for the load."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention import launch as attention
from checker.catalog.attention import values
from checker.catalog.attention.bounds import in_tiles, work
from checker.catalog.attention.forward.cases import LARGE, CaseMaker, of_other_blocks, pictured
from checker.catalog.attention.forward.mistakes import SCORES
from checker.catalog.attention.forward.two_pass_mistakes import PASSES
from checker.catalog.attention.launch import Proves, Shape, shape_of, tensors, tiled_kernel, unwritten
from checker.catalog.attention.puzzle import puzzle
from checker.catalog.attention.reference import O_IS_AN_AVERAGE, expected
from checker.catalog.attention.space import spaces
from checker.catalog.attention.tiles import ADDRESSING
from checker.catalog.attention.timing import SIZES, attention_timed
from checker.course.case import Case, Role
from checker.course.puzzle import Budget, Draw, Property, Remark, Timed, Tuning, Work
from checker.course.question import Question, reads
from checker.course.verdict import Traffic

KERNEL = tiled_kernel("two_sweep_attention_kernel", "q k v o")

PROPERTIES = (
    Property("values", "queries of every kind", 25),
    Property("any-length", "any number of queries and keys, any tile", 25),
    Property("heads", "several heads, which lie apart in memory", 15),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "reads Q once, K twice and V once for each tile of queries, writes O once", 20, traffic=True),
)


def launch(name: str, proves: Proves, shape: Shape, inputs: values.Inputs, once: bool = False) -> Case:
    """Return one launch: a program per head and tile of queries."""
    output = {"o": unwritten(inputs.q, inputs.q.dtype)}
    arguments = inputs.tensors(shape) | tensors(shape, output, Role.OUTPUT, inputs.kinds, inputs.bf16)
    return attention.launch(
        KERNEL, name, proves, shape, arguments, inputs.scale, grid=(shape.tr, shape.heads), once=once
    )


def cases(draw: Draw) -> list[Case]:
    """Up to three by five tiles, square and not; sizes that leave the last tile partly empty; of real size."""
    make = CaseMaker(draw, launch)
    normal, hard, shape, some = make.normal, make.hard, make.shape, make.some
    random, sizes = draw.case, make.sizes
    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 3).interleaved(sizes)
    fp16, large = shape(31, 79, 32, 32, 16), shape(17, 40)
    wide, head = shape(20 + some(), 144 + some(), 64, 16, 128), shape(20 + some(), 40 + some(), 512)
    far_size, tail = 16 + some(), shape(47, 31, Bc=32)
    low = values.normal_inputs(random("fp16, a tail of both"), tail, np.float16)
    made = [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32)),
        normal("a tail of keys", "any-length", shape(16, 32 + some())),
        normal("a tail of both", ("any-length", "traffic"), shape(32 + some(), 32 - some(), Bc=32)),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("a wide head", "values", shape(33, 64, 128, 16, 32)),
        normal("one query, one key", "any-length", shape(1, 1)),
        normal("two heads", ("heads", "traffic"), shape(64 + some(), 81, 16, 32, 32, heads=2)),
        launch("fp16", "half", fp16, values.with_large_v(values.hard_inputs(random("fp16"), fp16, np.float16))),
        launch("fp16, a tail of both", "half", tail, values.with_cancelling_terms(values.with_low_scores(low))),
        *make.far_cases(far_size, {}),
        make.many_heads(),
        normal("real tiles", "any-length", shape(128 + some(), 48 + some(), 64, 64, 64, heads=2), once=True),
        normal("real tiles", "half", shape(64 + some(), 1024 + some(), 128, 64, 64), np.float16, once=True),
        normal("many keys", "any-length", shape(2, 1024 + some(), Bc=64), once=True),
        normal("many queries", "heads", shape(290 + some(), some(), heads=2), once=True),
        launch("very wide heads", "half", head, values.rising_scores(random("head"), head, np.float16), once=True),
        normal("narrow heads", "half", narrow, np.float16, once=True),
        normal("all sizes alike", "heads", shape(16, 16, heads=16), once=True),
        hard("few keys", "values", shape(16 + some(), 16 - some() % 12), huge=1e5),
        *(normal("blocks exchanged", "any-length", s, once=True) for s in of_other_blocks(sizes)),
        launch("wide tiles", "half", wide, values.rising_scores(random("wide"), wide, np.float16), once=True),
        normal("tall tiles", "half", shape(132 + some(), 20 + some(), 64, 128, 16), np.float16, once=True),
        launch("large scores", "any-length", large, values.large_scores(random("large"), large), once=True),
        *make.every_class("any-length"),
        make.long_sum(),
        make.far_below(),
        *make.plain_cases(),
    ]
    return [*made, *make.every_order(made), make.far_rows()]


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16."""
    make = CaseMaker(draw, launch)
    return [make.large("large", "a thousand keys", "any-length", LARGE), *make.on_gpu()]


def budget(case: Case) -> Mapping[str, Budget]:
    """Q once; for each tile of queries K twice, or once in the better algorithm, and V once; O stored once."""
    shape = shape_of(case)
    q, every = case.tensors["q_ptr"].values.size, shape.tr * case.tensors["k_ptr"].values.size
    return in_tiles(
        case,
        {
            "q_ptr": Budget(q, place="before both loops"),
            "k_ptr": Budget(2 * every, least_loads=every, anew="each tile of queries"),  # programs share no registers
            "v_ptr": Budget(every, least_loads=every, place="in the second loop", anew="each tile of queries"),
            "o_ptr": Budget(stores=q),
        },
    )


def _one_pass(case: Case, moved: Mapping[str, Traffic]) -> bool:
    return moved["k_ptr"].loads <= shape_of(case).tr * case.tensors["k_ptr"].values.size


ONE_PASS = "You read K only once: that is p6, FlashAttention-2."

TUNINGS = (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 64}, 8))  # as in p6


def timed(_: int) -> list[Timed]:
    """Full attention, as in p5 and p6."""
    return [
        attention_timed(lambda _, *of: launch("timed", (), *of), n, d, Work.ATTENTION, {KERNEL.name: TUNINGS})
        for n, d in SIZES
    ]


FOUR_TILES, WIDE_TILES = (
    launch("four tiles of queries", (), shape, values.normal_inputs(np.random.default_rng(0), shape))
    for shape in (Shape(64, 64, 16, 16, Bc) for Bc in (16, 32))
)
QUESTIONS = (
    Question(
        "k_reads",
        "64 queries, 64 keys, one head, Br = Bc = 16: how often is each element of K read?",
        FOUR_TILES,
        reads("k_ptr"),
        "There are 4 programs, and each reads all of K in both passes.",
        course=8,
    ),
    Question(
        "v_reads",
        "64 queries, 64 keys, one head, Br = Bc = 16: how often is each element of V read?",
        FOUR_TILES,
        reads("v_ptr"),
        "There are 4 programs, and none can write O without having read all of V.",
    ),
    Question(
        "k_reads_wide",
        "64 queries, 64 keys, one head, Br = 16, Bc = 32: how often is each element of K read?",
        WIDE_TILES,
        reads("k_ptr"),
        "Bc decides how much of K is loaded at a time, and Br, with the number of programs, how often.",
        course=8,
    ),
)

PUZZLE = puzzle(
    id="a3",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(
        lambda _, name, shape, inputs, *__: launch(name, "any-length", shape, inputs), {KERNEL.name: "any-length"}
    ),
    large_cases=large_cases,
    work=work(products=3),
    timed=timed,
    pictured=pictured(launch),
    remarks=(Remark(ONE_PASS, _one_pass),),
    misconceptions=(*SCORES, *PASSES, *ADDRESSING),
    invariants=(O_IS_AN_AVERAGE,),
    questions=QUESTIONS,
)
