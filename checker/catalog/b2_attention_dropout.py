"""Puzzle b2: FlashAttention-2 with dropout, forward and for dK and dV; the mask is drawn from positions, twice."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.backward.cases import delta_of_zero, half_inputs, large_products, large_values
from checker.catalog.attention.backward.gradients import expected as expected_gradients
from checker.catalog.attention.backward.mistakes import FULL
from checker.catalog.attention.backward.operands import of_gradients
from checker.catalog.attention.bounds import in_tiles, work
from checker.catalog.attention.dropout.cases import (
    Dropout,
    DropoutCaseMaker,
    backward_launch,
    forward_launch,
    pictured,
    timed_backward,
)
from checker.catalog.attention.dropout.mistakes import DROPOUT
from checker.catalog.attention.forward.cases import PLAIN, of_other_blocks
from checker.catalog.attention.forward.flash_2_mistakes import ACCUMULATION, LSE
from checker.catalog.attention.forward.mistakes import SCORES
from checker.catalog.attention.launch import Shape, sampled, shape_of, tiled_kernel
from checker.catalog.attention.puzzle import puzzle
from checker.catalog.attention.reference import expected
from checker.catalog.attention.space import spaces
from checker.catalog.attention.tiles import ADDRESSING
from checker.catalog.attention.timing import SIZES, attention_timed
from checker.catalog.attention.values import (
    Inputs,
    hard_inputs,
    large_scores,
    normal_inputs,
    rising_scores,
    with_large_v,
)
from checker.course.case import Case
from checker.course.kernel import Kernel
from checker.course.misconception import without
from checker.course.puzzle import Budget, Draw, Expected, Property, Timed, Tuning, Work
from checker.course.question import Question, products, reads

FORWARD = tiled_kernel("attention_dropout_kernel", "q k v o lse", sizes="n_q n_k scale p seed")
DK_DV = tiled_kernel("dropout_dk_dv_kernel", "q k v do lse delta dk dv", sizes="n_q n_k scale p seed")
KERNELS = {kernel.name: kernel for kernel in (FORWARD, DK_DV)}

PROPERTIES = (
    Property("values", "O and LSE of queries of every kind", 20),
    Property("any-length", "O and LSE with any number of queries and keys, any tile", 10),
    Property("dk-dv", "dK and dV with any number of queries and keys, any tile", 25),
    Property("positions", "each entry has the number of its position, whatever p, seed and tile are", 15),
    Property("heads", "several heads, which lie apart in memory", 5),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "reads each tile once, and no mask: it is drawn", 10, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Return each kernel alone, with LSE and delta from the judge; up to four tiles a side, and of real size."""
    return _forward_cases(draw) + _backward_cases(draw)


def _forward_cases(draw: Draw) -> list[Case]:
    make = DropoutCaseMaker(draw, FORWARD)
    normal, hard, shape, some, random = make.normal, make.hard, make.shape, make.some, draw.case
    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 3).interleaved(make.sizes)
    fp16, large, wide = shape(31, 79, 32, 32, 16), shape(17, 40), shape(20 + some(), 144 + some(), 64, 16, 128)
    head = shape(20 + some(), 40 + some(), 512)
    in_half = with_large_v(hard_inputs(random("fp16"), fp16, np.float16))
    made = [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32)),
        normal("a tail of keys", "any-length", shape(16, 32 + some())),
        normal("a tail of both", ("any-length", "traffic"), shape(32 + some(), 32 - some(), Bc=32)),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("p is 0", ("values", "positions"), shape(20, 40), p=0.0),
        normal("tall tiles", "positions", shape(64 + some(), 70 + some(), Br=64)),
        normal("wide tiles", "positions", shape(30 + some(), 64 + some(), Bc=64)),
        normal("two heads", ("heads", "positions", "traffic"), shape(33 + some(), 49 + some(), Br=32, heads=2)),
        make.exactly("an entry whose number is p", "positions", shape(23, 39)),
        make.far_positions("positions beyond 2**32", "positions"),
        normal("one query, one key", "any-length", shape(1, 1), p=0.25),
        make.with_next("fp16", "half", fp16, in_half),
        *make.far_cases(16 + some(), {}),
        make.many_heads(),
        normal("real tiles", "any-length", shape(128 + some(), 48 + some(), 64, 64, 64, heads=2), once=True),
        normal("real tiles", "half", shape(64 + some(), 1024 + some(), 128, 64, 64), np.float16, once=True),
        normal("many keys", "any-length", shape(2, 1024 + some(), Bc=64), once=True),
        normal("many queries", "any-length", shape(290 + some(), some()), once=True),
        sampled(normal("many of both", "any-length", shape(290, 290 + some()), once=True), (0, 18), (0,)),
        make.with_next("very wide heads", "half", head, rising_scores(random("head"), head, np.float16), once=True),
        normal("narrow heads", "half", narrow, np.float16, once=True),
        normal("all sizes alike", "heads", shape(16, 16, heads=16), once=True),
        hard("few keys", "values", shape(16 + some(), 16 - some() % 12), huge=1e5),
        *(normal("blocks exchanged", "any-length", s, once=True) for s in of_other_blocks(make.sizes)),
        make.with_next("wide tiles", "half", wide, rising_scores(random("wide"), wide, np.float16), once=True),
        normal("tall tiles", "half", shape(132 + some(), 20 + some(), 64, 128, 16), np.float16, once=True),
        make.with_next("large scores", "any-length", large, large_scores(random("large"), large), once=True),
        *make.every_class("any-length"),
        make.long_sum(),
        make.far_below(),
        *make.plain_cases(),
        normal("whole tiles of one head", "positions", PLAIN, once=True),
    ]
    return [*made, *make.every_order(made), make.far_rows()]


def _backward_cases(draw: Draw) -> list[Case]:
    make = DropoutCaseMaker(draw, DK_DV)
    normal, hard, shape, some, random = make.normal, make.hard, make.shape, make.some, draw.case
    half, small, dropout = shape(47, 79, 32, 16, 16), shape(32, 48), make.dropouts.next()
    none = Dropout(0.0, dropout.seed)
    in_half = half_inputs(random("fp16"), half, dropout.factors(half))
    large_dp, large_v = large_products(random("large dP"), small), large_values(random("large values"), small)
    cancelling = delta_of_zero(random("a delta of 0"), small)
    made = [
        normal("three by three tiles", ("dk-dv", "traffic"), shape(48, 48)),
        normal("tails of both", ("dk-dv", "traffic"), shape(48 + some(), 31, 32, 16, 32)),
        hard("every kind of query", ("dk-dv", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16)),
        normal("p is 0", ("dk-dv", "positions"), shape(20, 40), p=0.0),
        normal("tall tiles", "positions", shape(64 + some(), 70 + some(), Br=64)),
        normal("wide tiles", "positions", shape(30 + some(), 64 + some(), Bc=64)),
        normal("two heads", ("heads", "positions", "traffic"), shape(33 + some(), 49 + some(), Br=32, heads=2)),
        make.exactly("an entry whose number is p", "positions", shape(23, 39)),
        make.far_positions("positions beyond 2**32", "positions"),
        normal("one query, one key", "dk-dv", shape(1, 1), p=0.25),
        make.launched("fp16", "half", half, in_half[0], dropout, in_half[1]),
        make.launched("fp16, large dP", "half", small, large_dp[0], none, large_dp[1]),
        *make.far_cases(16, {}),
        make.many_heads(),
        normal("real tiles", "dk-dv", shape(64 + some(), 128 + some(), 64, 64, 64), once=True),
        normal("real tiles", "half", shape(64 + some(), 512 + some(), 128, 64, 64), np.float16, once=True),
        normal("many queries", "dk-dv", shape(1024 + some(), 18, 64, 64, 64), once=True),
        normal("many keys", "dk-dv", shape(some(), 290 + some()), once=True),
        normal("very wide heads", "half", shape(20, 24 + some(), 512), np.float16, once=True),
        normal("all sizes alike", "heads", shape(16, 16, heads=16), once=True),
        *(normal("blocks exchanged", "dk-dv", s, once=True) for s in of_other_blocks(make.sizes)),
        normal("wide tiles", "half", shape(20 + some(), 144 + some(), 64, 16, 128), np.float16, once=True),
        normal("tall tiles", "half", shape(132 + some(), 20 + some(), 64, 128, 16), np.float16, once=True),
        make.launched("large values", "dk-dv", small, large_v[0], none, large_v[1], once=True),
        make.launched("a delta of 0", "dk-dv", small, cancelling[0], none, cancelling[1], once=True),
        *make.every_class("dk-dv"),
        *make.plain_cases("dk-dv", "dk-dv"),
    ]
    return [*made, *make.every_order(made, "dk-dv"), make.far_rows()]


LARGEST = 5e4  # as in p7
ANY_SIZE = {FORWARD.name: "any-length", DK_DV.name: "dk-dv"}


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16, heads far apart."""
    return [case for kernel in KERNELS.values() for case in _large(draw, kernel)]


def _large(draw: Draw, kernel: Kernel) -> list[Case]:
    return DropoutCaseMaker(draw, kernel).large_cases(ANY_SIZE[kernel.name])


def budget(case: Case) -> Mapping[str, Budget]:
    """Return a program's own tile once; of the other side all tiles, once; nothing of a mask, which is in no tensor."""
    shape = shape_of(case)
    q, k, rows = shape.heads * shape.n_q * shape.D, shape.heads * shape.n_k * shape.D, shape.heads * shape.n_q
    if case.kernel == FORWARD.name:
        kv = Budget(shape.tr * k, least_loads=shape.tr * k, anew="each tile of queries")  # programs share no registers
        bounds = {"q_ptr": Budget(q), "k_ptr": kv, "v_ptr": kv, "o_ptr": Budget(stores=q)}
        return in_tiles(case, {**bounds, "lse_ptr": Budget(stores=rows)})
    of_rows, of_q = (Budget(shape.tc * n, least_loads=shape.tc * n, anew="each tile of keys") for n in (rows, q))
    own, stored = Budget(k), Budget(stores=k)
    bounds = {"q_ptr": of_q, "do_ptr": of_q, "lse_ptr": of_rows, "delta_ptr": of_rows}
    return in_tiles(case, {**bounds, "k_ptr": own, "v_ptr": own, "dk_ptr": stored, "dv_ptr": stored})


def right(case: Case) -> Mapping[str, Expected]:
    """Return what a launch of either kernel should write."""
    return expected(case) if case.kernel == FORWARD.name else expected_gradients(case)


def multiply_adds(case: Case) -> int:
    """Multiply-adds that are enough: two products for each pair of tiles, or four for dK and dV."""
    return work(products=2 if case.kernel == FORWARD.name else 4)(case)


def _of_a_point(
    kernel: str, name: str, shape: Shape, inputs: Inputs, _: Mapping[str, int], random: np.random.Generator
) -> Case:
    dropout = Dropout(float(np.float32(random.choice([0.1, 0.3, 0.5, 0.8]))), int(random.integers(2**40)))
    if kernel == FORWARD.name:
        return forward_launch(FORWARD, name, ANY_SIZE[kernel], shape, inputs, dropout)
    do = random.normal(0.0, 1.0, inputs.q.shape).astype(inputs.q.dtype)
    return backward_launch(DK_DV, name, ANY_SIZE[kernel], shape, inputs, dropout, do)


TIMED = Dropout(float(np.float32(0.1)), 12345)
NARROW, SQUARE = Tuning({"Br": 64, "Bc": 32}, 4), Tuning({"Br": 64, "Bc": 64}, 4)
TUNINGS = {FORWARD.name: (NARROW, SQUARE), DK_DV.name: (NARROW, SQUARE, Tuning({"Br": 64, "Bc": 64}, 4, 2))}


def timed(_: int) -> list[Timed]:
    """Return the forward pass, and dK and dV, each by itself; p is 0.1."""

    def forward(_: str, shape: Shape, inputs: Inputs) -> Case:
        return forward_launch(FORWARD, "timed", (), shape, inputs, TIMED)

    def backward(_: str, shape: Shape, inputs: Inputs) -> Case:
        return timed_backward(DK_DV, shape, inputs, TIMED)

    both = ((forward, Work.DROPOUT, FORWARD), (backward, Work.DROPOUT_BACKWARD, DK_DV))
    return [
        attention_timed(launch, n, d, work, {kernel.name: TUNINGS[kernel.name]})
        for n, d in SIZES
        for launch, work, kernel in both
    ]


RANDOM = np.random.default_rng(0)
FOUR_TILES = Shape(64, 64, 16, 16, 16)
OF_FORWARD = forward_launch(FORWARD, "four by four tiles", (), FOUR_TILES, normal_inputs(RANDOM, FOUR_TILES), TIMED)
OF_DK_DV = timed_backward(DK_DV, FOUR_TILES, normal_inputs(RANDOM, FOUR_TILES), TIMED)
QUESTIONS = (
    Question(
        "k_reads",
        "64 queries, 64 keys, one head, Br = Bc = 16: how often does attention_dropout_kernel read an element of K?",
        OF_FORWARD,
        reads("k_ptr"),
        "Each of the 4 programs reads all of K, also what its mask drops: an entry that is dropped from P is still in "
        "the normaliser, and a tile is loaded as a whole.",
    ),
    Question(
        "q_reads",
        "64 queries, 64 keys, one head, Br = Bc = 16: how often does dropout_dk_dv_kernel read an element of Q?",
        OF_DK_DV,
        reads("q_ptr"),
        "Each of the 4 programs owns a tile of keys, and reads all of Q for it.",
    ),
    Question(
        "products",
        "64 queries, 64 keys, one head, Br = Bc = 16: how many times does dropout_dk_dv_kernel call tl.dot, in all "
        "programs together?",
        OF_DK_DV,
        products(16, 16, 16),
        "There are 4 by 4 pairs of tiles, and each takes 4 products, for S, dP, dV and dK, to which dropout adds none.",
        course=64,
    ),
)

PUZZLE = puzzle(
    id="b2",
    kernels=(FORWARD, DK_DV),
    properties=PROPERTIES,
    cases=cases,
    expected=right,
    budget=budget,
    spaces=spaces(_of_a_point, ANY_SIZE),
    large_cases=large_cases,
    work=multiply_adds,
    timed=timed,
    pictured=pictured((FORWARD, DK_DV)),
    misconceptions=(
        *DROPOUT,
        *ACCUMULATION,
        *without(LSE, "lse-of-hidden-rows"),  # every query sees a key
        *SCORES,
        *FULL,
        *of_gradients("dv", "dk"),
        *ADDRESSING,
    ),
    questions=QUESTIONS,
)
