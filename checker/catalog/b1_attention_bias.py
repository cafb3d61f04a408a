"""Puzzle b1: a bias on the scores of FlashAttention-2, of which any stride may be 0, and the gradient of that bias."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention import values
from checker.catalog.attention.backward.cases import half_inputs, large_products, large_values
from checker.catalog.attention.bias.cases import BiasMaker, bias_of_a_point
from checker.catalog.attention.bias.gradient import bias_loads, expected_gradient, gradient_budget
from checker.catalog.attention.bias.gradient_mistakes import BIAS_GRADIENT
from checker.catalog.attention.bias.launch import (
    FULL,
    OF_ALL_HEADS,
    OF_KEYS,
    OF_QUERIES,
    ONE,
    PER_HEAD,
    PER_KEY,
    PER_QUERY,
    TRANSPOSED,
    Kind,
    attention_launch,
    drawn_bias,
    extents,
    gradient_launch,
    laid_out,
)
from checker.catalog.attention.bias.mistakes import BIAS_OF_SCORES
from checker.catalog.attention.bias.models import gradient_with_p
from checker.catalog.attention.bounds import forward_budget, work
from checker.catalog.attention.forward.cases import (
    FAR,
    FAR_HALF,
    FAR_HEADS,
    FAR_ON_GPU,
    FAR_ROWS,
    FURTHER,
    LARGE,
    NARROW,
    PICTURED,
    PLAIN,
    of_every_class,
    of_every_order,
    of_other_blocks,
)
from checker.catalog.attention.forward.causal_mistakes import CAUSAL
from checker.catalog.attention.forward.flash_2_mistakes import ACCUMULATION, LSE
from checker.catalog.attention.forward.mistakes import SCORES, scaled_in_half
from checker.catalog.attention.forward.visit_mistakes import tiles_looked_at
from checker.catalog.attention.launch import FAR_APART, Shape, sampled, shape_of, tiled_kernel
from checker.catalog.attention.puzzle import puzzle
from checker.catalog.attention.reference import O_IS_AN_AVERAGE, expected, is_causal, sees
from checker.catalog.attention.space import spaces
from checker.catalog.attention.tiles import ADDRESSING
from checker.catalog.attention.timing import attention_timed
from checker.course.case import Array, Case, blank
from checker.course.puzzle import Budget, Draw, Expected, Pictured, Property, Timed, Tuning, Work
from checker.course.question import Question, reads

ATTENTION = tiled_kernel(
    "attention_bias_kernel",
    "q k v bias o lse",
    "bias_head_stride bias_row_stride bias_col_stride",
    constexprs="D Br Bc CAUSAL",
)
GRADIENT = tiled_kernel(
    "dbias_kernel", "q k v bias do lse delta dbias", "bias_row_stride bias_col_stride", sizes="n_q n_k heads scale"
)

PROPERTIES = (
    Property("values", "queries and biases of every kind", 15),
    Property("broadcast", "a bias that heads, queries or keys share", 10),
    Property("any-length", "any number of queries and keys, any tile", 10),
    Property("causal", "causal, with as many queries as keys or fewer", 10),
    Property("hidden-queries", "queries that see no key", 5),
    Property("heads", "several heads, which lie apart in memory", 5),
    Property("dbias", "the gradient of the bias", 20),
    Property("half", "half precision in and out, fp32 inside", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "loads the bias once for each tile it meets, and all else as before", 10, traffic=True),
)
ANY_SIZE = {ATTENTION.name: "any-length", GRADIENT.name: "dbias"}


def cases(draw: Draw) -> list[Case]:
    """Both kernels: a few tiles, square and not, and of real size; full and causal; with a bias of every kind."""
    make = BiasMaker(draw, ATTENTION, GRADIENT)
    return [*_of_attention(make), *_of_gradient(make)]


def _of_attention(make: BiasMaker) -> list[Case]:
    normal, hard, shape, some = make.normal, make.hard, make.shape, make.some
    random, sizes, half = make.random, make.sizes, np.float16
    fp16, large, head = shape(31, 79, 32, 32, 16), shape(17, 40), shape(20 + some(), 40 + some(), 512)
    heads = [shape(4 + some() % 12, 16 + some(), heads=2) for _ in range(4)]
    in_half = values.with_large_v(values.hard_inputs(random("fp16"), fp16, half))
    made = [
        normal("two by two tiles", ("any-length", "traffic"), shape(32, 32), kind=FULL),
        normal("one bias for all", "broadcast", shape(16, 32 + some()), kind=ONE),
        normal("a bias for each key", ("broadcast", "traffic"), shape(32 + some(), 32 - some(), Bc=32), kind=PER_KEY),
        normal("a bias for each query", ("broadcast", "traffic"), shape(20, 16 + some(), 32), kind=PER_QUERY),
        normal("a bias for each head", ("broadcast", "heads", "traffic"), heads[0], causal=True, kind=PER_HEAD),
        normal("a bias that all heads share", ("broadcast", "heads"), heads[1], kind=OF_ALL_HEADS),
        normal("a bias that all queries share", ("broadcast", "heads"), heads[2], causal=True, kind=OF_KEYS),
        normal("a bias that all keys share", ("broadcast", "heads"), heads[3], kind=OF_QUERIES),
        hard("every kind of query", ("values", "traffic"), shape(32 + some(), 64 + some(), 32, 32, 16), kind=FULL),
        normal("a bias of keys by queries", "values", shape(12, 16 + some(), heads=2), kind=FULL, layout=TRANSPOSED),
        normal("a large bias", "values", shape(20 + some(), 48), level=200.0, kind=FULL),
        normal("a large bias", "values", shape(20 + some(), 40), level=1e30, kind=PER_QUERY, once=True),
        normal("as many queries as keys", ("causal", "traffic"), shape(48, 48), causal=True, kind=FULL),
        normal("more keys than queries", ("causal", "traffic"), shape(31, 48 + some(), 32), causal=True, kind=PER_KEY),
        hard("every kind of query, causal", "causal", shape(48, 53, 32, 16, 32), causal=True, kind=FULL),
        normal("a large bias, causal", "causal", shape(24, 32), causal=True, level=200.0, kind=FULL),
        normal("tall tiles", ("causal", "traffic"), shape(65, 80 + some(), Br=64, Bc=32), causal=True),
        normal("one query, one key", "any-length", shape(1, 1), causal=True),
        normal("two heads", ("heads", "traffic"), shape(32 + some(), 48, 16, 32, 32, heads=2), causal=True, kind=FULL),
        make.of_inputs("fp16", "half", fp16, in_half, kind=PER_QUERY),  # a bias that leaves the weights as they are
        normal("fp16, causal", "half", shape(47, 47, Bc=32), half, causal=True, kind=FULL),
        normal("a bias as a mask", "half", shape(24, 40), half, level=1e4, kind=FULL),
        normal("more queries than keys", "hidden-queries", shape(40 + some() % 8, 17), causal=True, kind=FULL),
        normal("a large bias, few keys", "hidden-queries", shape(30, 18), causal=True, level=1e4, kind=FULL),
        *make.far_cases(4 + some() % 12, {}, {"causal": True}),
        make.many_heads(),
        normal("real tiles", "any-length", shape(192 + some(), 48 + some(), 64, 64, 64), once=True),
        normal("real tiles", "half", shape(68 + some(), 192 + some(), 128, 64, 64), half, causal=True, once=True),
        normal("many keys", "any-length", shape(2, 1024 + some(), Bc=64), once=True),
        make.of_inputs(
            "very wide heads", "half", head, values.rising_scores(random("head"), head, half), causal=True, once=True
        ),
        normal("all sizes alike", "heads", shape(16, 16, heads=16), causal=True, once=True),
        hard("few keys", "values", shape(16 + some(), 16 - some() % 12), huge=1e5),
        *(
            normal("blocks exchanged", "causal" if causal else "any-length", s, causal=causal, once=True)
            for s, causal in zip(of_other_blocks(sizes), (True, False), strict=True)
        ),
        make.of_inputs(
            "large scores", "causal", large, values.large_scores(random("large"), large), causal=True, once=True
        ),
        normal("wide tiles", "half", shape(32 + some(), 160 + some(), 64, 16, 128), half, causal=True, once=True),
        normal("tall tiles", "half", shape(132 + some(), 36 + some(), 64, 128, 16), half, once=True),
        normal("wide tiles", "any-length", shape(20 + some(), 144 + some(), 64, 16, 128), once=True),
        normal("tall tiles", "any-length", shape(132 + some(), 20 + some(), 64, 128, 16), once=True),
        make.far_below(kind=PER_QUERY),
        *make.every_class("any-length", causal=False),
        *make.every_class("causal", causal=True),
        *make.plain_cases(kind=FULL),
        *make.plain_causal(kind=FULL),
        normal("whole tiles of one head, a bias for each key", "broadcast", PLAIN, kind=PER_KEY, once=True),
        normal("whole tiles of one head, a bias for each query", "broadcast", PLAIN, kind=PER_QUERY, once=True),
    ]
    return [*made, *make.every_order(made, causal="causal"), *make.far_rows_of_attention()]


def _of_gradient(make: BiasMaker) -> list[Case]:
    gradient, shape, some, sizes, half = make.gradient, make.shape, make.some, make.sizes, np.float16
    of, large, small = make.gradient_of, shape(15, 31, 32, 16, 16, heads=2), shape(32, 32, heads=2)
    apart = [shape(16, 16, heads=heads, far=n * FAR_APART) for n, heads in ((1, 6), (1, 6), (2, 2))]
    made = [
        gradient("two heads", ("dbias", "traffic"), shape(16 + some(), 16 + some(), heads=2), layout=TRANSPOSED),
        gradient("three heads, whole tiles", ("dbias", "traffic"), shape(16, 32, heads=3)),
        gradient(
            "every kind of query", ("dbias", "traffic"), shape(32 + some(), 16 + some(), 32, 32, 16, 2), hard=True
        ),
        gradient("one head", "dbias", shape(20 + some(), 30)),
        gradient("one query, one key", "dbias", shape(1, 1)),
        of("fp16", "half", large, *half_inputs(make.random("dbias fp16"), large)),
        of("fp16, large dP", "half", small, *large_products(make.random("large dP"), small)),
        *(
            gradient(name, "far-offsets", one, dtype)
            for name, one, dtype in zip((FAR, FAR_HALF, FURTHER), apart, (np.float32, half, np.float32), strict=True)
        ),
        gradient("real tiles", "dbias", shape(64 + some(), 64 + some(), 64, 64, 64), once=True),
        gradient("real tiles", "half", shape(64, 100 + some(), 128, 64, 64), half, once=True),
        gradient("wide tiles", "half", shape(32 + some(), 130 + some(), 64, 16, 128), half, once=True),
        gradient("tall tiles", "half", shape(130 + some(), 32 + some(), 64, 128, 16), half, once=True),
        gradient("very wide heads", "half", shape(20, 24 + some(), 512), half, once=True),
        gradient("all sizes alike", "dbias", shape(16, 16, heads=16), once=True),
        *(gradient("blocks exchanged", "dbias", s, once=True) for s in of_other_blocks(sizes)),
        of("large values", "dbias", small, *large_values(make.random("large values"), small), once=True),
        sampled(gradient("many of both", "dbias", shape(290, 290 + some()), once=True), (0, 18), (0, 18)),
        *(make.gradient_of_class(c, "dbias") for c in of_every_class(sizes, causal=False)),
        gradient("whole tiles of one head", "dbias", PLAIN, once=True),
    ]
    in_order = [make.gradient_of_class(c, "dbias") for c, _ in of_every_order(made, sizes)]
    return [*made, *in_order, *make.far_rows_of_gradient()]


def budget(case: Case) -> Mapping[str, Budget]:
    """As p6, and the bias once for each pair of tiles that is looked at; of the gradient, see there."""
    if case.kernel == GRADIENT.name:
        return gradient_budget(case)
    shape, own = shape_of(case), case.tensors["bias_ptr"].values.shape
    sides = ((shape.n_q, shape.Br, own[1]), (shape.n_k, shape.Bc, own[2]))
    rows, keys = (min(n % block or block, extent) for n, block, extent in sides)
    least = 0 if is_causal(case) else -(-rows * keys // 8)  # a causal mask on the load may leave less
    return {**forward_budget(case), "bias_ptr": Budget(bias_loads(case), least_at_once=least, anew="each head")}


def right(case: Case) -> Mapping[str, Expected]:
    """Return what the launch should write."""
    return expected_gradient(case) if case.kernel == GRADIENT.name else expected(case)


def _of_a_point(
    kernel: str, name: str, shape: Shape, inputs: values.Inputs, at: Mapping[str, int], random: np.random.Generator
) -> Case:
    if kernel == ATTENTION.name:
        bias = bias_of_a_point(random, shape, inputs, (FULL, FULL, OF_ALL_HEADS, PER_KEY, PER_QUERY, OF_KEYS))
        return attention_launch(ATTENTION, name, ANY_SIZE[kernel], shape, inputs, bias, at["CAUSAL"] == 1)
    bias = bias_of_a_point(random, shape, inputs, (OF_ALL_HEADS,))
    do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(inputs.q.dtype)
    return gradient_launch(GRADIENT, name, ANY_SIZE[kernel], shape, inputs, bias, do)


# The largest score without its bias: those of four times that size are off by a hundredth in fp32, and P by as much.
LARGEST = 2.5e4


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: a thousand queries and keys, a wide head, bf16, heads that lie far apart."""
    make, made = BiasMaker(draw, ATTENTION, GRADIENT), []
    for kind in (FULL, PER_KEY, PER_HEAD):
        made.append(make.large("large", "a thousand keys", "any-length", LARGE, kind=kind))
        made.append(make.large("causal", "a thousand keys, causal", "causal", LARGE, causal=True, kind=kind))
    made += make.on_gpu(causal=True)
    return [
        *made,
        make.gradient("a thousand keys", "dbias", LARGE, np.float16),
        make.gradient("three heads", "dbias", NARROW),
        make.gradient(FAR, "far-offsets", FAR_HEADS),
        make.gradient(FAR_ROWS, "far-offsets", FAR_ON_GPU),
    ]


FOR_ATTENTION = (Tuning({"Br": 64, "Bc": 64}, 4), Tuning({"Br": 128, "Bc": 64}, 8))
TUNINGS: Mapping[int, Mapping[str, tuple[Tuning, ...]]] = {
    64: {
        ATTENTION.name: FOR_ATTENTION,
        GRADIENT.name: (Tuning({"Br": 64, "Bc": 64}, 8), Tuning({"Br": 128, "Bc": 64}, 8, 2)),
    },
    128: {ATTENTION.name: (*FOR_ATTENTION, Tuning({"Br": 64, "Bc": 32}, 4))},
}
TIMED: tuple[tuple[int, int, Work, Kind, str], ...] = (
    (4096, 64, Work.BIASED_ATTENTION, PER_KEY, "a bias for each key"),
    (4096, 64, Work.BIASED_ATTENTION, OF_ALL_HEADS, "a bias for each query and key"),
    (4096, 64, Work.BIASED_ATTENTION, FULL, "a bias for each head, query and key"),
    (4096, 64, Work.CAUSAL_BIASED_ATTENTION, PER_HEAD, "a bias for each head"),
    (4096, 128, Work.BIASED_ATTENTION, PER_KEY, "a bias for each key"),
    (16384, 64, Work.BIASED_ATTENTION, PER_KEY, "a bias for each key"),
    (4096, 64, Work.BIAS_GRADIENT, OF_ALL_HEADS, "gradient of a bias for each query and key"),
)


def timed(_: int) -> list[Timed]:
    """Attention with biases of several kinds, at sizes of p6; and the gradient of a bias that all heads share."""

    def size(n: int, d: int, work: Work, kind: Kind, what: str) -> Timed:
        def case(name: str, shape: Shape, inputs: values.Inputs) -> Case:
            bias = laid_out(np.random.default_rng(0), blank(extents(shape, kind), inputs.q.dtype), kind)
            if name == ATTENTION.name:
                return attention_launch(
                    ATTENTION, "timed", (), shape, inputs, bias, causal=work is Work.CAUSAL_BIASED_ATTENTION
                )
            row = blank((shape.heads, n), np.float32)
            return gradient_launch(
                GRADIENT, "timed", (), shape, inputs, bias, inputs.q, rows={"lse": row, "delta": row}
            )

        kernel = GRADIENT.name if work is Work.BIAS_GRADIENT else ATTENTION.name
        return attention_timed(case, n, d, work, {kernel: TUNINGS[d][kernel]}, what=what)

    return [size(*one) for one in TIMED]


def _pictured(draw: Draw) -> list[Case]:
    inputs, random = values.normal_inputs(draw.case("pictured"), PICTURED), draw.case("pictured bias")
    bias, do = drawn_bias(random, PICTURED, inputs, OF_ALL_HEADS), random.normal(0.0, 1.0, inputs.q.shape)
    return [
        attention_launch(ATTENTION, "four by four tiles", (), PICTURED, inputs, bias, causal=True),
        gradient_launch(GRADIENT, "four by four tiles", (), PICTURED, inputs, bias, do.astype(np.float32)),
    ]


def _in_question(kind: Kind) -> Case:
    random, shape = np.random.default_rng(0), Shape(64, 64, 16, 16, 16, heads=2)
    inputs = values.normal_inputs(random, shape)
    return attention_launch(ATTENTION, "four by four tiles", (), shape, inputs, drawn_bias(random, shape, inputs, kind))


def _gradient_in_question() -> Case:
    random, shape = np.random.default_rng(0), Shape(64, 64, 16, 16, 16, heads=2)
    inputs = values.normal_inputs(random, shape)
    do: Array = random.normal(0.0, 1.0, inputs.q.shape).astype(np.float32)
    bias = drawn_bias(random, shape, inputs, OF_ALL_HEADS)
    return gradient_launch(GRADIENT, "four by four tiles", (), shape, inputs, bias, do)


QUESTIONS = (
    Question(
        "full_reads",
        "64 queries, 64 keys, two heads, Br = Bc = 16: how often does attention_bias_kernel read each number of a bias "
        "for each head, query and key?",
        _in_question(FULL),
        reads("bias_ptr"),
        "Each number belongs to one score, and the tile of that score is visited once.",
    ),
    Question(
        "key_reads",
        "64 queries, 64 keys, two heads, Br = Bc = 16: how often does attention_bias_kernel read each number of a bias "
        "for each key?",
        _in_question(PER_KEY),
        reads("bias_ptr"),
        "Each of the 8 programs, 4 tiles of queries in 2 heads, goes over all keys, and in a tile a shared number "
        "counts once.",
    ),
    Question(
        "q_reads",
        "64 queries, 64 keys, two heads, Br = Bc = 16: how often does dbias_kernel read each element of Q?",
        _gradient_in_question(),
        reads("q_ptr"),
        "Each of the 4 tiles of keys has a program of its own that needs the same tile of queries, in every head.",
    ),
)

PUZZLE = puzzle(
    id="b1",
    kernels=(ATTENTION, GRADIENT),
    properties=PROPERTIES,
    cases=cases,
    expected=right,
    budget=budget,
    spaces={
        **spaces(_of_a_point, {ATTENTION.name: ANY_SIZE[ATTENTION.name]}, masks=(0, 1)),
        **spaces(_of_a_point, {GRADIENT.name: ANY_SIZE[GRADIENT.name]}),
    },
    large_cases=large_cases,
    work=work(products=2),
    timed=timed,
    pictured=Pictured(_pictured, sees=sees),
    misconceptions=(
        *(*BIAS_OF_SCORES, *BIAS_GRADIENT, *scaled_in_half(gradient_with_p), *tiles_looked_at(budget, "b1")),
        *(*ACCUMULATION, *CAUSAL, *LSE, *SCORES, *ADDRESSING),
    ),
    invariants=(O_IS_AN_AVERAGE,),
    questions=QUESTIONS,
)
