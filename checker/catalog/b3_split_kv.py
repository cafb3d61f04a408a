"""Puzzle b3: attention split along the keys, for a few queries and many keys; then one merge of all parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from checker.catalog.attention import values
from checker.catalog.attention.forward.cases import FAR, FAR_HEADS, FAR_ON_GPU, FAR_ROWS, PLAIN
from checker.catalog.attention.launch import Shape
from checker.catalog.attention.reference import sees
from checker.catalog.attention.space import spaces
from checker.catalog.split.bounds import WHY_BLOCKS, budget, by_hand, largest_block, work
from checker.catalog.split.cases import SplitCaseMaker, drawn_parts, of_programs, right_parts
from checker.catalog.split.launch import MERGE, SPLIT, Cut, Parts, launch_merge, launch_split
from checker.catalog.split.merge_mistakes import ADDRESSING, MERGES
from checker.catalog.split.reference import expected
from checker.catalog.split.split_mistakes import SPLITS
from checker.catalog.split.timing import timed
from checker.course.case import Array, Case
from checker.course.puzzle import Draw, Pictured, Property, Puzzle
from checker.course.question import Question, products, reads, value
from checker.course.space import power

PROPERTIES = (
    Property("values", "splits: queries of every kind", 15),
    Property("any-length", "splits of any length, and those without a key", 20),
    Property("merge", "the merge: parts of every kind", 20),
    Property("any-count", "the merge: any number of parts and of queries", 10),
    Property("heads", "several heads, which lie apart in memory", 10),
    Property("half", "half precision in and out, fp32 between", 10),
    Property("far-offsets", "head and row offsets beyond 2**31", 5),
    Property("traffic", "reads Q once a split, K, V and the parts once, and writes once", 10, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Return each kernel alone, the merge with parts from the judge: up to three splits of three tiles, and of real
    size.
    """
    make = SplitCaseMaker(draw)
    return [*_splits(make), *_merges(make)]


def _splits(make: SplitCaseMaker) -> list[Case]:
    normal, hard, shape, some, random, half = make.normal, make.hard, make.shape, make.some, make.random, np.float16
    fp16, tail, wide = shape(16, 79, 32), shape(7, 47), shape(16, 144 + some(), 64, 16, 128)
    low = values.normal_inputs(random("fp16, splits that end in a tile"), tail, half)
    head, large, long = shape(9, 40 + some(), 512), shape(13, 40), shape(16, 384)
    narrow = Shape(9, 40 + some(), 16, 16, 32, 3).interleaved(make.sizes)
    made = [
        normal("two splits of two tiles", ("any-length", "traffic"), shape(5, 64), cut=Cut(2, 32)),
        normal("splits that end in a tile", ("any-length", "traffic"), shape(3, 45 + some()), cut=Cut(3, 21)),
        normal("splits without keys", ("any-length", "traffic"), shape(4, 17 + some()), cut=Cut(4, 16)),
        normal("one query", ("any-length", "traffic"), shape(1, 50 + some(), Bc=32), cut=Cut(2, 40)),
        normal("one key", "any-length", shape(1, 1), cut=Cut(2, 16)),
        normal("splits of one key", "any-length", shape(2, 3), cut=Cut(3, 1)),
        hard("every kind of query", ("values", "traffic"), shape(16, 64 + some(), 32), cut=Cut(2, 40)),
        hard("every kind of query, wider tiles", "values", shape(24, 52 + some(), 32, 32, 32), cut=Cut(3, 23)),
        normal("a wide head", "values", shape(11, 64, 128, 16, 32), cut=Cut(2, 48)),
        normal("two heads", ("heads", "traffic"), shape(3, 40 + some(), heads=2), cut=Cut(3, 20)),
        launch_split(
            "fp16", "half", fp16, Cut(2, 45), values.with_large_v(values.hard_inputs(random("fp16"), fp16, half))
        ),
        launch_split(
            "fp16, splits that end in a tile",
            "half",
            tail,
            Cut(2, 25),
            values.with_cancelling_terms(values.with_low_scores(low)),
        ),
        *make.far_splits(),
        normal("real tiles", "any-length", shape(1, 280 + some(), 64, 16, 64, heads=2), once=True, cut=Cut(2, 150)),
        normal("real tiles", "half", shape(1, 400 + some(), 128, 16, 128), half, once=True, cut=Cut(2, 210)),
        launch_split(
            "very wide heads", "half", head, Cut(2, 33), values.rising_scores(random("head"), head, half), True
        ),
        normal("narrow heads", "half", narrow, half, once=True, cut=Cut(2, 37)),
        hard("few keys", "values", shape(12, 16 - some() % 12), huge=1e5, cut=Cut(1, 16)),
        launch_split(
            "wide tiles", "any-length", wide, Cut(2, 140), values.rising_scores(random("wide"), wide, np.float32), True
        ),
        normal("tall tiles", "half", shape(100 + some(), 20 + some(), 64, 128, 16), half, once=True, cut=Cut(2, 18)),
        launch_split(
            "large scores", "any-length", large, Cut(2, 20), values.large_scores(random("large"), large), True
        ),
        launch_split(
            "fp16, a sum of small terms", "half", long, Cut(1, 384), values.long_sums(random("long"), long), True
        ),
        of_programs(normal("many splits", "any-length", shape(2, 600), once=True, cut=Cut(300, 2)), (0, 255, 256, 299)),
        of_programs(
            normal("all sizes alike", "heads", shape(16, 16, heads=16), once=True, cut=Cut(16, 16)),
            (0, 1, 15),
            (0, 7, 15),
        ),
        *(normal("blocks exchanged", "any-length", s, once=True, cut=c) for s, c in _of_other_blocks(make)),
        normal("a split longer than all keys", "any-length", shape(2, 17 + some()), once=True, cut=Cut(3, 2**16 + 8)),
        make.far_below(n_q=16, cut=Cut(2, 6_200)),
        *make.every_split(),
        *make.plain_cases(whole=replace(PLAIN, n_q=16), cut=Cut(3, 16)),
    ]
    return [*made, make.of_many_heads()[0], *make.split_in_every_order(made)]


def _of_other_blocks(make: SplitCaseMaker) -> list[tuple[Shape, Cut]]:
    """Keys of a split that are a multiple of Br and not of Bc, queries that are one of Bc and not of Br."""
    wide, tall = Shape(9, 48, 16, 16, 32, 2), Shape(16, 33 + make.some(), 16, 32, 16, 2)
    return [(wide.interleaved(make.sizes, k=False), Cut(3, 16)), (tall.interleaved(make.sizes, q=False), Cut(2, 32))]


def _merges(make: SplitCaseMaker) -> list[Case]:
    merge, rows, shape, random, half = make.merge, make.rows, make.shape, make.random, np.float16
    sixteen, many = rows(16, 32), rows(2)
    hard = shape(16, 70, 32)
    of_hard = right_parts(hard, Cut(5, 16), values.hard_inputs(random("right parts"), hard))
    large, apart = make.parts("large O", many, 64), make.parts("large LSEs", rows(5), 6)
    levels = np.array([1e5, -1e5, 3e4, -3e4, 0.0], np.float32)  # beyond fp16, and beyond what only looks like -inf
    made = [
        merge("two parts", ("any-count", "traffic"), rows(8), 2, 2),
        merge("parts of every kind", ("merge", "traffic"), sixteen, 5, 8),
        launch_merge("right parts", "merge", replace(hard, Br=1, Bc=1), 8, of_hard),
        merge("one part", "any-count", rows(2), 1, 1),
        merge("three heads", ("heads", "traffic"), rows(2, heads=3), 3, 4),
        merge("fp16, parts of every kind", "half", rows(8), 6, 8, half),
        launch_merge("fp16, large O", "half", many, 64, replace(large, o=_large(large.o)), half),
        launch_merge("large LSEs", "merge", rows(5), 8, replace(apart, lse=apart.lse + levels), once=True),
        *make.far_merges(),
        merge("real tiles", "any-count", rows(1, 64, heads=2), 33, 64, once=True),
        merge("real tiles", "half", rows(1, 128), 33, 64, half, once=True),
        merge("very wide heads", "half", rows(1, 512), 5, 8, half, once=True),
        merge("many parts", "any-count", rows(2), 300, 512, once=True),
        of_programs(
            merge("many queries", "any-count", rows(4100, heads=2), 3, 4, once=True), (0, 255, 256, 4099), (0, 1)
        ),
        of_programs(merge("all sizes alike", "heads", rows(16, heads=16), 16, 16, once=True), (0, 15), (0, 7, 15)),
        *make.every_merge(),
        *(
            merge("parts of every kind, without gaps", of, replace(PLAIN, n_k=1, Br=1, Bc=1), splits, 4, once=True)
            for of, splits in (("merge", 4), ("any-count", 3))
        ),
    ]
    return [*made, make.of_many_heads()[1]]


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: ten thousand keys, a wide head, bf16, heads that lie far apart, and hundreds of parts."""
    make = SplitCaseMaker(draw)
    wide = Shape(3, 10_061, 128, 16, 64, heads=2)
    narrow, far = Shape(1, 5_003, 64, 16, 128, heads=3), replace(FAR_HEADS, n_q=3)
    return [
        make.large("large", "ten thousand keys", "any-length", wide, cut=Cut(33, 311)),
        make.large("bf16", "bf16", "half", narrow, bf16=True, cut=Cut(8, 700)),
        make.large("far", FAR, "far-offsets", far, cut=Cut(2, 9)),
        make.large("far rows", FAR_ROWS, "far-offsets", replace(FAR_ON_GPU, n_q=3, Br=16), cut=Cut(2, 80)),
        make.merge("hundreds of parts", "any-count", Shape(3, 1, 128, 1, 1, 2), 300, 512),
    ]


def _large(o: Array) -> Array:
    """Around 1500: fp16 cannot hold the sum of 64 such numbers, but their average."""
    return np.asarray(np.where(o == 0.0, 0.0, 1500.0 + np.clip(o, -9, 9)), np.float32)


def _pictured(draw: Draw) -> list[Case]:
    """64 keys in four splits of a tile each, in three heads, and the merge of their parts."""
    shape, cut = Shape(16, 64, 16, 16, 16, 3), Cut(4, 16)
    inputs = values.normal_inputs(draw.case("pictured"), shape)
    rows = replace(shape, Br=1, Bc=1)
    return [
        launch_split("four splits", (), shape, cut, inputs),
        launch_merge("four parts", (), rows, 4, right_parts(shape, cut, inputs)),
    ]


WHOLE_TILES, CUT_TILES = (
    launch_split("four splits", (), shape, Cut(4, keys), values.normal_inputs(np.random.default_rng(0), shape))
    for shape in [Shape(2, 64, 16, 16, 16)]
    for keys in (16, 20)
)
FOUR_PARTS = launch_merge(
    "four parts",
    (),
    Shape(1, 1, 16, 1, 1),
    4,
    Parts(np.ones((4, 1, 1, 16), np.float32), np.full((4, 1, 1), 3.0, np.float32)),
)
QUESTIONS = (
    Question(
        "q_reads",
        "2 queries, 64 keys, one head, 4 splits of 16 keys, Bc = 16: how often does split_kernel read an element of Q?",
        WHOLE_TILES,
        reads("q_ptr"),
        "Each of the 4 splits is a program of its own, and needs the queries.",
        course=4,
    ),
    Question(
        "products",
        "2 queries, 64 keys, one head, 4 splits of 20 keys, Br = Bc = 16: how many times does split_kernel call "
        "tl.dot, in all programs together?",
        CUT_TILES,
        products(16, 16, 16),
        "Three splits have 20 keys, in 2 tiles each, the last one has 4 keys, in 1 tile, and each of these 7 tiles "
        "takes 2 products.",
        course=14,
    ),
    Question(
        "merged_lse",
        "A query has four parts, each with the LSE 3: what LSE does merge_kernel store?",
        FOUR_PARTS,
        value("lse_ptr", 0, 0),
        "The four sums of exponentials are e^3 each, together 4 e^3, and the logarithm of that is 3 + log(4).",
    ),
)


def _of_a_point(
    kernel: str, name: str, shape: Shape, inputs: values.Inputs, at: Mapping[str, int], random: np.random.Generator
) -> Case:
    if kernel == SPLIT.name:
        cut = Cut(-(-shape.n_k // at["keys_per_split"]), at["keys_per_split"])
        return launch_split(name, "any-length", replace(shape, Br=int(power(max(shape.n_q, 16)))), cut, inputs)
    shape, parts = replace(shape, Br=1, Bc=1), drawn_parts(random, shape, at["splits"])
    return launch_merge(name, "any-count", shape, int(power(at["splits"])), parts, inputs.q.dtype.type)


PUZZLE = Puzzle(
    id="b3",
    kernels=(SPLIT, MERGE),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces={
        **spaces(_of_a_point, {SPLIT.name: "any-length"}, n_q=(1, 4_000), keys_per_split=(1, 60_000)),
        **spaces(_of_a_point, {MERGE.name: "any-count"}, n_q=(1, 4_000), splits=(1, 2_000)),
    },
    work=work,
    by_hand=by_hand,
    largest_block=largest_block,
    why_blocks=WHY_BLOCKS,
    timed=timed,
    large_cases=large_cases,
    pictured=Pictured(_pictured, sees=sees),
    misconceptions=(*SPLITS, *MERGES, *ADDRESSING),
    questions=QUESTIONS,
)
