"""Puzzle p7: the causal backward pass (Dao 2023, algorithm 2) in three kernels: delta, dK and dV, dQ."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.backward.cases import (
    BackwardCaseMaker,
    delta_of_zero,
    half_inputs,
    large_cases,
    large_products,
    large_values,
    launch_with,
    pictured,
)
from checker.catalog.attention.backward.gradients import expected, given, given_all, launch_given
from checker.catalog.attention.backward.mistakes import MISTAKES
from checker.catalog.attention.backward.operands import OPERANDS
from checker.catalog.attention.bounds import in_tiles, keys_needed, keys_seen
from checker.catalog.attention.bounds import work as work_of
from checker.catalog.attention.forward.cases import (
    FAR,
    FAR_HALF,
    FAR_ROWS,
    FURTHER,
    LONG,
    MANY_HEADS,
    first_and_last,
    of_every_class,
    of_every_order,
    of_other_blocks,
)
from checker.catalog.attention.launch import FAR_APART, Shape, sampled, shape_of, some_heads, tiled_kernel
from checker.catalog.attention.puzzle import puzzle
from checker.catalog.attention.space import spaces
from checker.catalog.attention.tiles import ADDRESSING
from checker.catalog.attention.timing import IN_BF16, SIZES, attention_timed
from checker.catalog.attention.values import Inputs, normal_inputs
from checker.course.case import Case, blank
from checker.course.kernel import Kernel, kernel_of
from checker.course.misconception import Ideas, Moves
from checker.course.puzzle import Budget, Draw, Property, Timed, Tuning, Work
from checker.course.question import Question, products, reads
from checker.course.verdict import Traffic

idea = Ideas(__file__)

DELTA = kernel_of("delta_kernel", "o_ptr do_ptr delta_ptr q_head_stride q_row_stride n_q", constexprs="D Br")
DK_DV = tiled_kernel("dk_dv_kernel", "q k v do lse delta dk dv")
DQ = tiled_kernel("dq_kernel", "q k v do lse delta dq")
KERNELS = {kernel.name: kernel for kernel in (DELTA, DK_DV, DQ)}

PROPERTIES = (
    Property("delta", "delta = rowsum(dO * O)", 10),
    Property("dk-dv", "dK and dV", 25),
    Property("dq", "dQ", 25),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("hidden-queries", "queries that see no key", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "loads each tile once, skips hidden tiles, writes once", 15, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Return each kernel alone, with O, LSE and delta from the judge; up to three by four tiles, and of real size."""
    make = BackwardCaseMaker(draw)
    random, sizes, shape, some, case, chosen = draw.case, make.sizes, make.shape, make.some, make.launched, make.chosen
    square = shape(48, 48)
    more_keys = shape(31, 48 + some(), 32, 16, 32)
    tall = shape(32 + some(), 64 + some(), 32, 32, 16)
    two_heads = shape(32, 48, heads=2)
    tall_tiles = shape(64 + some(), 85 + some(), 16, 64, 16)
    more_queries = shape(40 + some() % 8, 17)
    far_size = 16 + some()
    far = shape(far_size, far_size, heads=6, far=FAR_APART)
    apart, further = (shape(16, 16, heads=heads, far=n * FAR_APART) for n, heads in ((1, 6), (2, 2)))
    half = shape(47, 79, 32, 16, 16)
    large = given(half, *half_inputs(random("fp16"), half))
    small = shape(32, 48)
    large_dp = given(small, *large_products(random("large dP"), small))
    large_v = given(small, *large_values(random("large values"), small))
    cancelling = given(small, *delta_of_zero(random("a delta of 0"), small))
    many = MANY_HEADS.apart(sizes)
    real, real_half = shape(64 + some(), 128 + some(), 64, 64, 64), shape(64 + some(), 1024 + some(), 128, 64, 64)
    real_more = shape(1024 + some(), 48 + some(), 64, 64, 64)
    wide, taller = shape(144 + some(), 160 + some(), 64, 16, 128), shape(132 + some(), 148 + some(), 64, 128, 16)
    very_wide, alike = shape(20, 24 + some(), 512, 16, 16), shape(16, 16, heads=16)
    narrow = Shape(70 + some(), 90 + some(), 16, 64, 32, 3).interleaved(sizes)
    many_keys = shape(18, 290 + some())
    many_queries, many_of_both = shape(290 + some(), some(), heads=2), shape(290, 290 + some())
    exchanged = of_other_blocks(sizes)
    every = of_every_class(sizes, causal=True)
    made = [
        case(DELTA, "whole tiles", ("delta", "traffic"), square),
        case(DELTA, "two heads", ("delta", "traffic"), two_heads),
        case(DELTA, "a tail of queries", ("delta", "traffic"), tall),
        case(DELTA, "fp16", "half", half, np.float16),
        case(DELTA, FAR, "far-offsets", far),
        case(DELTA, FAR_HALF, "far-offsets", apart, np.float16),
        case(DELTA, FURTHER, "far-offsets", further),
        some_heads(case(DELTA, "many heads", "delta", many, once=True), sizes),
        case(DELTA, "real tiles", "delta", real, once=True),
        case(DELTA, "real tiles", "half", real_half, np.float16, once=True),
        case(DELTA, "many queries", "delta", real_more, once=True),
        case(DELTA, "narrow heads", "half", narrow, np.float16, once=True),
        case(DELTA, "very wide heads", "half", very_wide, np.float16, once=True),
        case(DELTA, "all sizes alike", "delta", alike, once=True),
        launch_given(DELTA, "large values", "delta", large_v, once=True),
        *(chosen(DELTA, c, "delta") for c in {(c.shape.n_q, c.shape.Br): c for c in every}.values()),
    ]
    for kernel, name in ((DK_DV, "dk-dv"), (DQ, "dq")):
        made += [
            case(kernel, "three by three tiles", (name, "traffic"), square),
            case(kernel, "more keys than queries", (name, "traffic"), more_keys),
            case(kernel, "every kind of query", (name, "traffic"), tall, hard=True),
            case(kernel, "two heads", (name, "traffic"), two_heads),
            case(kernel, "one query, one key", name, shape(1, 1)),
            case(kernel, "tall tiles", name, tall_tiles),
            launch_given(kernel, "fp16", "half", large),
            launch_given(kernel, "fp16, large dP", "half", large_dp),
            case(kernel, "more queries than keys", "hidden-queries", more_queries),
            case(kernel, FAR, "far-offsets", far),
            case(kernel, FAR_HALF, "far-offsets", apart, np.float16),
            case(kernel, FURTHER, "far-offsets", further),
            some_heads(case(kernel, "many heads", name, many, once=True), sizes),
            case(kernel, "real tiles", name, real, once=True),
            case(kernel, "real tiles", "half", real_half, np.float16, once=True),
            case(kernel, "real tiles, more queries than keys", "hidden-queries", real_more, once=True),
            case(kernel, "wide tiles", "half", wide, np.float16, once=True),
            case(kernel, "tall tiles", "half", taller, np.float16, once=True),
            case(kernel, "narrow heads", "half", narrow, np.float16, once=True),
            case(kernel, "very wide heads", "half", very_wide, np.float16, once=True),
            case(kernel, "all sizes alike", name, alike, once=True),
            *(case(kernel, "blocks exchanged", name, s, once=True) for s in exchanged),
            launch_given(kernel, "large values", name, large_v, once=True),
            launch_given(kernel, "a delta of 0", name, cancelling, once=True),
            case(kernel, "many keys", name, many_keys, once=True),
            case(kernel, "many queries", "hidden-queries", many_queries, once=True),
            sampled(case(kernel, "many of both", name, many_of_both, once=True), (0, 18), (0,)),
            *(chosen(kernel, c, "hidden-queries" if c.shape.n_q > c.shape.n_k else name) for c in every),
        ]
        own = [one for one in made if one.kernel == kernel.name]
        made += [chosen(kernel, c, name) for c, _ in of_every_order(own, sizes)]
    far_rows = LONG.with_far_rows(random("far rows"))
    return made + [first_and_last(case(kernel, FAR_ROWS, "far-offsets", far_rows)) for kernel in KERNELS.values()]


LARGEST = 5e4  # score: those of twice that size are off by a hundredth in fp32, and P by as much
ANY_SIZE = {DELTA.name: "delta", DK_DV.name: "dk-dv", DQ.name: "dq"}


def budget(case: Case) -> Mapping[str, Budget]:
    """Own tiles once; of the other side, for each own tile, the tiles that it sees any of."""
    shape = shape_of(case)
    heads, n_q, n_k, d = shape.heads, shape.n_q, shape.n_k, shape.D
    q, k, rows = heads * n_q * d, heads * n_k * d, heads * n_q
    if case.kernel == DELTA.name:
        budgets = {"o_ptr": Budget(q), "do_ptr": Budget(q), "delta_ptr": Budget(stores=rows)}
        return in_tiles(case, budgets)
    anew = "each tile of queries" if case.kernel == DQ.name else "each tile of keys"
    if case.kernel == DQ.name:
        seen = int(heads * keys_seen(case).sum()) * d
        own = {"q_ptr": q, "do_ptr": q, "lse_ptr": rows, "delta_ptr": rows}
        least = int(heads * keys_needed(case).sum()) * d
        others = {"k_ptr": (seen, least), "v_ptr": (seen, least)}
        outputs = {"dq_ptr": q}
    else:
        first = np.maximum(0, np.arange(shape.tc) * shape.Bc - (n_k - n_q))
        seen, least = (int(heads * (n_q - start).sum()) for start in (first // shape.Br * shape.Br, first))
        own = {"k_ptr": k, "v_ptr": k}
        others = dict.fromkeys(("q_ptr", "do_ptr"), (seen * d, least * d))
        others |= dict.fromkeys(("lse_ptr", "delta_ptr"), (seen, least))
        outputs = {"dk_ptr": k, "dv_ptr": k}
    budgets = {
        **{name: Budget(loads=n) for name, n in own.items()},
        **{name: Budget(loads=most, least_loads=least, anew=anew) for name, (most, least) in others.items()},
        **{name: Budget(stores=n) for name, n in outputs.items()},
    }
    return in_tiles(case, budgets)


def work(case: Case) -> int:
    """Multiply-adds that are enough: four products for each pair of tiles in dK and dV, three in dQ."""
    products = {DELTA.name: 0, DK_DV.name: 4, DQ.name: 3}[case.kernel]
    return work_of(products)(case) if products else 0


def _reads_hidden_tiles(case: Case, moved: Mapping[str, Traffic]) -> bool:
    shape = shape_of(case)
    if case.kernel == DELTA.name or case.once:  # who skips no tile is found out before
        return False
    of, times = ("k_ptr", shape.tr) if case.kernel == DQ.name else ("q_ptr", shape.tc)
    return moved[of].loads == times * case.tensors[of].values.size > budget(case)[of].loads


def _whole_tiles_more(case: Case, moved: Mapping[str, Traffic]) -> bool:
    """Return whether what comes from the other side was read equally often, at most once per own tile, and nothing else
    was.

    Numbers of a query, LSE and delta, come once with its row.
    """
    shape, of_queries, of_keys = shape_of(case), ["q_ptr", "do_ptr", "lse_ptr", "delta_ptr"], ["k_ptr", "v_ptr"]
    by_query = case.kernel == DQ.name
    side, own, times = (of_keys, of_queries, shape.tr) if by_query else (of_queries, of_keys, shape.tc)
    often = {moved[name].loads / case.tensors[name].values.size for name in side}
    bounds = budget(case)
    return len(often) == 1 and max(often) <= times and all(moved[n].loads <= bounds[n].loads for n in own)


HIDDEN_TILES = (
    idea("blocks-not-skipped", Moves(_reads_hidden_tiles, products_too=True)),
    idea(
        "hidden-tile-computed",
        Moves(lambda case, moved: case.kernel != DELTA.name and _whole_tiles_more(case, moved), products_too=True),
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

    def case(name: str, shape: Shape, inputs: Inputs) -> Case:
        rows = blank((shape.heads, shape.n_q), np.float32)
        return launch_given(KERNELS[name], "timed", (), given_all(shape, inputs, inputs.q, inputs.q, rows, rows))

    sizes = [(*size, False) for size in SIZES] + [(*IN_BF16, True)]
    return [attention_timed(case, n, d, Work.CAUSAL_BACKWARD, TUNINGS[d], bf16=bf16) for n, d, bf16 in sizes]


def _tall_tiles(kernel: Kernel) -> Case:
    random, shape = np.random.default_rng(0), Shape(64, 64, 16, Br=32, Bc=16)
    inputs = normal_inputs(random, shape)
    do = random.normal(size=inputs.q.shape).astype(np.float32)
    return launch_given(kernel, "tall tiles", (), given(shape, inputs, do))


OF_DK_DV, OF_DQ = _tall_tiles(DK_DV), _tall_tiles(DQ)
QUESTIONS = (
    Question(
        "k_reads",
        "64 queries, 64 keys, one head, Br = 32, Bc = 16: how often does dq_kernel read an element of K, on average?",
        OF_DQ,
        reads("k_ptr"),
        "Its two programs see 2 and 4 of the 4 tiles of keys: 6 / 4.",
    ),
    Question(
        "q_reads",
        "64 queries, 64 keys, one head, Br = 32, Bc = 16: how often does dk_dv_kernel read an element of Q, on "
        "average?",
        OF_DK_DV,
        reads("q_ptr"),
        "The four programs begin with the tiles that hold queries 0, 16, 32 and 48, and read 2, 2, 1 and 1 of the 2 "
        "tiles: 6 / 2.",
        course=3,
    ),
    Question(
        "products",
        "64 queries, 64 keys, one head, Br = 32, Bc = 16: how many times does dk_dv_kernel call tl.dot, in all "
        "programs together?",
        OF_DK_DV,
        products(32, 16, 16),
        "6 pairs of tiles are not hidden, and each takes 4 products, for S, dP, dV and dK.",
        course=24,
    ),
)

PUZZLE = puzzle(
    id="p7",
    kernels=(*KERNELS.values(),),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(
        lambda kernel, name, shape, inputs, _, random: launch_with(
            KERNELS[kernel], name, ANY_SIZE[kernel], shape, inputs, random
        ),
        ANY_SIZE,
    ),
    large_cases=large_cases((*KERNELS.values(),), ANY_SIZE),
    work=work,
    timed=timed,
    pictured=pictured((*KERNELS.values(),)),
    misconceptions=(*HIDDEN_TILES, *MISTAKES, *OPERANDS, *ADDRESSING),
    questions=QUESTIONS,
)
