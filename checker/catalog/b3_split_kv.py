"""Rung b3: attention split along the keys, for a few queries and many keys; then one merge of all parts."""

from __future__ import annotations

from checker.catalog.split.bounds import WHY_BLOCKS, budget, by_hand, largest_block, work
from checker.catalog.split.launch import MERGE, SPLIT
from checker.catalog.split.reference import expected
from checker.catalog.split.timing import timed
from checker.course.puzzle import Property, Puzzle

PROPERTIES = (
    Property("values", "splits: queries of every kind", 15),
    Property("any-length", "splits of any length, and those without a key", 20),
    Property("merge", "the merge: parts of every kind", 20),
    Property("any-count", "the merge: any number of parts and of queries", 10),
    Property("heads", "several heads, which lie apart in memory", 10),
    Property("half", "fp16 in and out, fp32 between", 10),
    Property("far-heads", "head offsets beyond 2**31", 5),
    Property("traffic", "reads Q once a split, K, V and the parts once, and writes once", 10, traffic=True),
)

PUZZLE = Puzzle(
    id="b3",
    kernels=(SPLIT, MERGE),
    properties=PROPERTIES,
    cases=lambda draw: [],
    expected=expected,
    budget=budget,
    work=work,
    by_hand=by_hand,
    largest_block=largest_block,
    why_blocks=WHY_BLOCKS,
    timed=timed,
)
