"""Puzzle w1: z = x + y, one program per block of elements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from checker.catalog.cases import covering
from checker.catalog.elementwise.launch import FAR_APART, PIECES, TOO_FAR, far_launch, launch, spaces
from checker.catalog.elementwise.mistakes import VECTORS
from checker.catalog.numbers import BF16, as_type, half_in_words, halves
from checker.course.case import Array, Case, as_bf16
from checker.course.kernel import kernel_of
from checker.course.puzzle import Budget, Draw, Expected, Pictured, Property, Puzzle
from checker.course.question import Question, idle_lanes, programs, reads

KERNEL = kernel_of("vector_add_kernel", "x_ptr y_ptr z_ptr n", constexprs="BLOCK_SIZE", shown=("double_kernel",))

PROPERTIES = (
    Property("whole-blocks", "vectors that fill their blocks", 25),
    Property("any-length", "vectors of any length", 30),
    Property("values", "numbers of every kind", 15),
    Property("half", "half precision in and out", 10),
    Property("far", "vectors of more than 2**31 elements", 10),
    Property("traffic", "reads x and y once, writes z once", 10, traffic=True),
)


def _kinds(random: np.random.Generator, n: int, large: float) -> tuple[Array, Array]:
    """Pairs of numbers of every kind, n of each: x and y."""
    one, other, zeros = random.normal(0.0, 2.0, n), random.normal(0.0, 2.0, n), np.zeros(n)
    kinds = (
        (one, other),
        (5 * one, other / 5),
        (zeros, zeros),
        (one, zeros),
        (zeros, other),
        (one, -one),
        (one, one),
        (-np.abs(one), -np.abs(other)),
        (large * one, other),
        (one, large * other),
        (random.integers(-3, 4, n).astype(float), random.integers(-3, 4, n).astype(float)),
        (np.full(n, 7.0), np.full(n, 7.0)),
    )
    return np.concatenate([x for x, _ in kinds]), np.concatenate([y for _, y in kinds])


def _normal(random: np.random.Generator, *sides: int, dtype: npt.DTypeLike = np.float32) -> tuple[Array, Array]:
    """x and y of normal numbers with sigma 2."""
    x, y = (as_type(random.normal(0.0, 2.0, sides), dtype) for _ in range(2))
    return x, y


def cases(draw: Draw) -> list[Case]:
    """Lengths of every class by the block, in blocks of several sizes; numbers of every kind; a vector without end."""
    sizes = draw.case("sizes")
    block = int(sizes.choice([16, 32]))

    def case(name: str, proves: str, n: int, block: int = block, once: bool = False, dtype: type = np.float32) -> Case:
        return launch(KERNEL, name, (proves,), *_normal(draw.case(name), n, dtype=dtype), block, once=once)

    def every_kind(name: str, proves: str, dtype: type, large: float, n: int = 13, once: bool = False) -> Case:
        x, y = _kinds(draw.case(name), n, large)
        return launch(KERNEL, name, (proves,), x.astype(dtype), y.astype(dtype), block, once=once)

    whole = case("whole blocks", "whole-blocks", 24, block=8)  # few: `print` shows those of the first launch
    return [
        replace(whole, proves=("whole-blocks", "traffic")),
        case("a single block", "whole-blocks", block),
        case("one element more than two blocks", "any-length", 2 * block + 1),
        case("one element short of three blocks", "any-length", 3 * block - 1),
        case("less than a block", "any-length", block - int(sizes.integers(2, block // 2))),
        case("a single element", "any-length", 1, once=True),
        every_kind("every kind of number", "values", np.float32, 1e30),
        every_kind("fp16, every kind of number", "half", np.float16, 3000.0),
        *_of_every_length(draw),
        every_kind("every kind of number, in whole blocks", "values", np.float32, 1e30, 2 * block, once=True),
        case("fp16, whole blocks", "half", 2 * block, once=True, dtype=np.float16),
        case("blocks of one", "any-length", int(sizes.integers(4, 8)), block=1, once=True),
        case("many blocks", "any-length", int(sizes.integers(290, 330)), block=4, once=True),
        case("blocks as on a GPU", "any-length", int(sizes.integers(2100, 3000)), block=1024, once=True),
        case("fp16, blocks as on a GPU", "half", int(sizes.integers(2100, 3000)), 1024, True, np.float16),
        *_far(draw),
    ]


def _of_every_length(draw: Draw) -> list[Case]:
    """Lengths of every class by the block, in one block and in several; half of them in fp16 or bf16."""
    random, made, of_half = draw.case("lengths"), [], halves()
    for block in (8, 16):
        for number, n in enumerate(covering.lengths(block, random)):
            dtype = next(of_half) if (number + block // 8) % 2 == 0 else np.float32
            word = half_in_words(dtype)
            name, proves = (f"{word}, every length", "half") if word else ("every length", "any-length")
            x, y = _normal(random, n, dtype=dtype)
            made.append(launch(KERNEL, name, (proves,), x, y, block, bf16=dtype is BF16, once=True))
    return list({case.name: case for case in made}.values())


def _far(draw: Draw) -> list[Case]:
    """Six blocks of vectors that are too long for memory: in fp32 for any GPU's, so it says that it leaves them out."""
    random = draw.case("far")

    def case(name: str, block: int, apart: int, dtype: type, once: bool) -> Case:
        blocks = apart // block + int(random.integers(1, 1 << 16))
        made = far_launch(KERNEL, name, ("far",), *_normal(random, PIECES, block, dtype=dtype), blocks)
        return replace(made, once=once)

    return [
        case("a very long vector", 128, TOO_FAR, np.float32, once=False),
        case("fp16, a very long vector", 64, FAR_APART, np.float16, once=True),
    ]


def expected(case: Case) -> Mapping[str, Expected]:
    """Return the sum, and twice what rounding it once to z's type may change."""
    x, y = (case.tensors[name].values.astype(np.float64) for name in ("x_ptr", "y_ptr"))
    z = case.tensors["z_ptr"]
    return {"z_ptr": Expected(x + y, z.eps * np.abs(x + y) + max(z.smallest, 1e-37))}


def budget(case: Case) -> Mapping[str, Budget]:
    """Return each element crosses the bus once, and not in pieces smaller than a quarter of a block."""
    n = case.tensors["z_ptr"].values.size
    part = -(-min(n, int(case.constexprs["BLOCK_SIZE"])) // 4)
    read = Budget(loads=n, least_at_once=part)
    return {"x_ptr": read, "y_ptr": read, "z_ptr": Budget(stores=n, least_at_once=part)}


def large_cases(draw: Draw) -> list[Case]:
    """For a GPU: long vectors, and bf16."""
    x, y = _normal(draw.case("long"), 1_000_003)
    return [
        launch(KERNEL, "a long vector", ("any-length",), x, y, 1024),
        launch(KERNEL, "bf16", ("half",), as_bf16(x), as_bf16(y), 1024, bf16=True),
    ]


def _pictured(draw: Draw) -> list[Case]:
    return [launch(KERNEL, "ten numbers, as in the lesson", (), *_normal(draw.case("pictured"), 10), 4)]


A_THOUSAND = launch(
    KERNEL, "a thousand numbers", (), np.arange(1000, dtype=np.float32), np.ones(1000, np.float32), block=256
)
QUESTIONS = (
    Question(
        "programs",
        "With n = 1000 and BLOCK_SIZE = 256, how many programs store to z?",
        A_THOUSAND,
        programs("z_ptr"),
        "Each program owns 256 elements, and 1000 / 256 rounded up is 4.",
        course=4,
    ),
    Question(
        "idle_lanes",
        "With n = 1000 and BLOCK_SIZE = 256, how many lanes of all programs together are masked off when z is stored?",
        A_THOUSAND,
        idle_lanes("z_ptr"),
        "4 programs have 1024 lanes, and the last 24 of them lie past the end.",
        course=24,
    ),
    Question(
        "x_reads",
        "With n = 1000 and BLOCK_SIZE = 256, how often is each element of x read?",
        A_THOUSAND,
        reads("x_ptr"),
        "Each element belongs to one program alone, and a masked lane touches no memory.",
    ),
)

PUZZLE = Puzzle(
    id="w1",
    kernels=(KERNEL,),
    properties=PROPERTIES,
    cases=cases,
    expected=expected,
    budget=budget,
    spaces=spaces(KERNEL, "any-length"),
    large_cases=large_cases,
    pictured=Pictured(_pictured),
    misconceptions=VECTORS,
    questions=QUESTIONS,
)
