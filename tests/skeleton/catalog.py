"""Puzzle t1: z = x - y, one program per block of elements."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.cases import covering
from checker.catalog.elementwise.launch import FAR_APART, PIECES, far_launch, launch, spaces
from checker.catalog.numbers import BF16, as_type
from checker.course.case import Array, Case
from checker.course.kernel import kernel_of
from checker.course.misconception import Ideas, Writes
from checker.course.puzzle import Budget, Draw, Expected, Property, Puzzle
from checker.course.question import Question, programs, reads

idea = Ideas(__file__)

KERNEL = kernel_of("difference_kernel", "x_ptr y_ptr z_ptr n", constexprs="BLOCK_SIZE")

PROPERTIES = (
    Property("any-length", "vectors of any length", 70),
    Property("half", "half precision in and out", 20),
    Property("traffic", "reads x and y once, writes z once", 10, traffic=True),
)


def cases(draw: Draw) -> list[Case]:
    """Lengths of every class by the block, in each type; and a tile as on a GPU."""
    random, made = draw.case("lengths"), []
    for block, dtype, word in ((8, np.float32, ""), (16, np.float32, ""), (8, np.float16, "fp16"), (16, BF16, "bf16")):
        for n in covering.lengths(block, random):
            proves = ("half",) if word else ("any-length",)
            x, y = (as_type(random.normal(0.0, 2.0, n), dtype) for _ in range(2))
            name = f"{word} every length of {block}".strip()
            made.append(launch(KERNEL, name, proves, x, y, block, bf16=dtype is BF16, once=True))
    for dtype, word in ((np.float32, ""), (np.float16, "fp16 ")):
        x, y = (random.normal(0.0, 2.0, 2500).astype(dtype) for _ in range(2))
        proves = ("half",) if word else ("any-length", "traffic")
        made.append(launch(KERNEL, f"{word}blocks as on a GPU", proves, x, y, 1024))
    x, y = (random.normal(0.0, 2.0, (PIECES, 64)).astype(np.float16) for _ in range(2))
    made.append(far_launch(KERNEL, "fp16 a very long vector", ("half",), x, y, FAR_APART // 64))
    return list({case.name: case for case in made}.values())


def expected(case: Case) -> Mapping[str, Expected]:
    """The difference, and twice what rounding it once to z's type may change."""
    difference, z = _difference(case), case.tensors["z_ptr"]
    return {"z_ptr": Expected(difference, z.eps * np.abs(difference) + max(z.smallest, 1e-37))}


def _difference(case: Case) -> Array:
    x, y = (case.tensors[name].values.astype(np.float64) for name in ("x_ptr", "y_ptr"))
    return np.asarray(x - y)


def budget(case: Case) -> Mapping[str, Budget]:
    """Each element crosses the bus once."""
    n = case.tensors["z_ptr"].values.size
    return {"x_ptr": Budget(loads=n), "y_ptr": Budget(loads=n), "z_ptr": Budget(stores=n)}


A_THOUSAND = launch(KERNEL, "a thousand numbers", (), np.arange(1000.0, dtype="f4"), np.ones(1000, "f4"), block=256)

PUZZLE = Puzzle(
    id="t1",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(KERNEL, "any-length"),
    misconceptions=(idea("wrong-way-round", Writes(lambda case: {"z_ptr": -_difference(case)})),),
    questions=(
        Question(
            "programs",
            "With n = 1000 and BLOCK_SIZE = 256, how many programs store to z?",
            A_THOUSAND,
            programs("z_ptr"),
            "Each program owns 256 elements, and 1000 / 256 rounded up is 4.",
            course=4,
        ),
        Question(
            "x_reads",
            "With n = 1000 and BLOCK_SIZE = 256, how often is each element of x read?",
            A_THOUSAND,
            reads("x_ptr"),
            "Each element belongs to one program alone, and a masked lane touches no memory.",
        ),
    ),
)
