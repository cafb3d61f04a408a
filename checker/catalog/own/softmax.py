"""Softmax of each row of a matrix, called on rows of any length at any distance.

The reference and its bounds are the puzzles', and ideas those of p3; more rows come from p1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from checker import catalog
from checker.catalog.attention.pytorch.autograd_mistakes import IN_AUTOGRAD
from checker.catalog.numbers import BF16, as_type
from checker.catalog.own.task import Task, rounded_up, through, translated, unlimited
from checker.catalog.softmax import reference
from checker.catalog.softmax.cases import hard_rows, stacked
from checker.course.case import Array, Axis, AxisKind, Case, Outputs, Tensor, asked_besides, numbered
from checker.course.claims import Claims
from checker.course.kernel import Kernel
from checker.course.misconception import Misconception, Unwritten, Writes, chosen
from checker.course.puzzle import Draw, Expected, Property

KERNEL = Kernel("softmax", ("x",), pytorch=True)
LARGEST = 30_000  # numbers in a call
_TYPES = {"fp32": np.float32, "fp16": np.float16, "bf16": BF16}


def properties(claims: Claims) -> tuple[Property, ...]:
    """Return what is asked."""
    asked = {
        "values": "rows of every kind of value",
        "any-length": "" if claims.whole_tiles else "rows of any length",
        "strides": "" if claims.dense else "rows that lie apart in memory",
        "half": "half precision in and out" if {*claims.types} - {claims.types[0]} else "",
    }
    return tuple(Property(name, title, 0) for name, title in asked.items() if title)


def task(claims: Claims, kernels: tuple[str, ...], name: str, compared: tuple[int, ...]) -> Task:
    """Return what is asked of a function that is called so, which is called `name` in reports.

    `compared`: whole numbers that something is compared with in its file.
    """

    def cases(draw: Draw) -> list[Case]:
        return numbered((*_basic(draw, claims), *_others(draw, claims, compared)))

    return Task(
        id="softmax",
        kernels=(replace(KERNEL, launches=kernels),),
        properties=properties(claims),
        cases=cases,
        expected=expected,
        budget=unlimited,
        steps=lambda case: float(sum(case.tensors["x"].values.shape)),
        name=name,
        basic=sum(1 for _ in _basic(Draw("own-softmax"), claims)),
    )


def expected(case: Case) -> Mapping[str, Expected]:
    """Return the softmax of each row."""
    return {"y": reference.expected(family(case, 0))["y_ptr"]}


def family(case: Case, block: int) -> Case:
    """Return a launch of the puzzles' on these rows, in blocks of so many columns; 0: of a whole row."""
    n = case.tensors["x"].values.shape[1]
    block = block or 1 << (n - 1).bit_length()
    axes = (Axis(AxisKind.ROW), Axis(AxisKind.COLUMN, block))
    tensors = {f"{name}_ptr": replace(tensor, axes=axes) for name, tensor in case.tensors.items()}
    strides = {f"{name}_row_stride": tensor.strides[0] for name, tensor in case.tensors.items()}
    sizes = {"n_rows": len(case.tensors["x"].values), "n_cols": n}
    blocks = {"BLOCK_SIZE": block, "BLOCK_COLS": block, "BLOCK_ROWS": 1}
    return replace(case, tensors=tensors, scalars={**strides, **sizes}, constexprs=blocks)


def _case(title: str, proves: str, x: Array, claims: Claims, kind: str = "", gap: int = 0) -> Case:
    kind = kind if kind in claims.types else claims.types[0]
    values = as_type(x, _TYPES[kind])
    count, n = values.shape
    axes, bf16 = (Axis(AxisKind.ROW), Axis(AxisKind.COLUMN)), kind == "bf16"
    return Case(
        title=title,
        sizes=f"{count} x {n}" + (f", {kind}" if kind != "fp32" else ""),
        kernel=KERNEL.name,
        proves=(proves,),
        grid=(1,),
        tensors={
            "x": Tensor(values, (n + gap, 1), axes=axes, bf16=bf16),
            "y": replace(Tensor.output(values.shape, values.dtype, (n, 1), axes), bf16=bf16),
        },
        asks=asked_besides((proves,), {"any-length": n % 128 > 0, "strides": gap > 0}),
        informative=n > 1,
    )


def _basic(draw: Draw, claims: Claims) -> Iterator[Case]:
    """Yield what most mistakes show in."""
    random = draw.case("basic")

    def rows(count: int, n: int) -> Array:
        return random.normal(0.0, 2.0, (count, -(-n // 128) * 128 if claims.whole_tiles else n))

    length = "values" if claims.whole_tiles else "any-length"
    yield _case("whole blocks", "values", rows(3, 128), claims)
    yield _case("more rows" if claims.whole_tiles else "a tail", length, rows(4, 77), claims)
    yield _case("large numbers", "values", rows(2, 200) + 500.0, claims)
    low = rows(2, 200) - 500.0
    yield _case("numbers far below 0", "values", low, claims)
    columns, offset = 384 if claims.whole_tiles else 193, 1e4 if claims.types[0] == "fp32" else 200.0
    every = stacked(hard_rows(random, columns, 64, offset))
    yield _case("every kind of row", "values", every, claims)
    if not claims.dense:
        yield _case("rows that lie apart", "strides", rows(5, 50), claims, gap=13)
    yield _case("many rows", "values", rows(1201, 3), claims)


def _others(draw: Draw, claims: Claims, compared: tuple[int, ...]) -> Iterator[Case]:
    """Lengths on both sides of common blocks, a block of -inf, half precision."""
    random = draw.case("others")
    empty = random.normal(0.0, 2.0, (3, 384))
    empty[:, :130] = -np.inf
    yield _case("rows that begin with -inf", "values", empty, claims)
    if "fp32" in claims.types:  # others do not hold such numbers
        low = np.stack([np.linspace(-2e5, -1.9e5, 384), np.linspace(-3e10, -2e10, 384)])
        yield _case("rows far below 0", "values", low, claims, "fp32")
    yield replace(_case("one call after another", "values", random.normal(0.0, 2.0, (4, 384)), claims), in_a_row=2)
    yield _case(
        "very many rows", "values", random.normal(0.0, 2.0, (5000, 3 if not claims.whole_tiles else 128)), claims
    )
    for n in () if claims.whole_tiles else (1, 2, 1000, 1025, 2048, 5000, 20_000):
        empty = random.normal(0.0, 2.0, (2, n))
        empty[1, : n // 2] = -np.inf
        yield _case("a row of this length", "any-length", empty, claims)
    for n in () if claims.whole_tiles else compared:
        yield _case("beyond a number of the file", "any-length", random.normal(0.0, 2.0, (2, n + 1)), claims)
        yield _case("beyond a number of the file", "values", random.normal(0.0, 2.0, (n + 1, 3)), claims)
    for kind in claims.types[1:]:
        yield _case("half precision", "half", random.normal(0.0, 2.0, (4, 256)), claims, kind)
    known = {p.name for p in properties(claims)}
    for puzzle in map(catalog.load, ("p1", "p3")):
        for case in puzzle.cases(puzzle.draw()):
            made = _as_called(case)
            kind = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}[made.tensors["x"].type]
            allowed = known.issuperset(made.proves) and not claims.whole_tiles and kind in claims.types
            if allowed and not (claims.dense and "strides" in made.asks) and made.tensors["x"].values.size <= LARGEST:
                yield made


def first_call(claims: Claims) -> Case:
    """Return a call with whole blocks."""
    return replace(next(_basic(Draw("own-softmax"), claims)), id=0)


def trials(claims: Claims) -> Mapping[str, Case]:
    """Return by claim a call that a function with this claim need not take, of those that were not made."""
    x = Draw("own-softmax").case("trials").normal(0.0, 2.0, (3, 128))
    made = {
        "whole_tiles": _case("a trial", "values", x[:, :77], claims),
        "dense": _case("a trial", "values", x, claims, gap=13),
    }
    return {claim: replace(case, id=0) for claim, case in made.items() if not getattr(claims, claim)}


def of_blocks(claims: Claims, blocks: Sequence[int]) -> Iterator[Case]:
    """Yield rows of two blocks that begin with a block of -inf and one more, or of a low number."""
    random = Draw("own-softmax").case("blocks")
    for block in blocks:
        for low in (-np.inf, -1e4):
            x = random.normal(0.0, 2.0, (2, 2 * block))
            x[1, : block + 1] = low
            if rounded_up(2 * block, claims) == 2 * block:
                yield _case("rows that begin with a block of one number", "values", x, claims)


def _as_called(case: Case) -> Case:
    """Return a call with what a puzzle's launch is given."""
    x = case.tensors["x_ptr"]
    n, proves = x.values.shape[1], tuple(p for p in case.proves if p != "traffic")
    kinds = {"prefix": "values", "full-block": "values"}
    tensors = {"x": x, "y": replace(case.tensors["y_ptr"], strides=(n, 1))}
    return replace(
        case,
        sizes=f"{len(x.values)} x {n}" + (f", {x.type}" if x.type != "float32" else ""),
        kernel=KERNEL.name,
        proves=tuple(kinds.get(name, name) for name in proves),
        asks=frozenset({"strides"}) if x.strides[0] != n else frozenset(),
        grid=(1,),
        tensors={name: replace(t, axes=(Axis(AxisKind.ROW), Axis(AxisKind.COLUMN))) for name, t in tensors.items()},
        scalars={},
        constexprs={},
        checked_arithmetic=False,
    )


def named_by(blocks: Sequence[int]) -> tuple[Misconception, ...]:
    """Return the ideas of p3, for kernels in blocks of any of these lengths, or of whole rows."""

    def in_blocks(sign: Writes | Unwritten) -> list[Writes | Unwritten]:
        return [through(sign, partial(_of_rows, block)) for block in (0, *blocks)]

    return (*chosen(IN_AUTOGRAD, "on-the-cpu"), *translated(catalog.load("p3").misconceptions, in_blocks))


def _of_rows(block: int, case: Case, of: Callable[[Case], Outputs]) -> Outputs:
    return {name.removesuffix("_ptr"): x for name, x in of(family(case, block)).items()}
