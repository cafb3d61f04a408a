"""Patterns of wrong values that no misconception explains: a type, or the sizes at which they come."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

import numpy as np

from checker.course.case import Array, Case, as_bf16
from checker.course.puzzle import Expected
from checker.sandbox.protocol.records import is_size

ENOUGH = 16  # values that all lie on a grid by more than chance


def _telling(actual: Array) -> Array:
    told: Array = actual[np.isfinite(actual) & (actual != 0)]
    return told


def says_how_rounded(actual: Array) -> bool:
    """Return whether an output has enough values to say to which type they were rounded."""
    return _telling(actual).size >= ENOUGH


def rounded_to(actual: Array, expected: Expected) -> str | None:
    """Return the type of 16 bits that all of an output was rounded to, another one than its own; or None.

    And that is all that is wrong with it.
    """
    values, right = _telling(actual), expected.values
    if values.size < ENOUGH:
        return None
    with np.errstate(all="ignore"):
        for name, rounded, eps in (
            ("fp16", values.astype(np.float16).astype(np.float32), 2.0**-10),
            ("bf16", as_bf16(values), 2.0**-7),
        ):
            near = np.abs(actual - right) <= eps * np.abs(right) + 2.0**-24 + expected.tolerance
            if name == "fp16" and actual.dtype == np.float16:
                continue
            if np.array_equal(rounded, values) and bool(np.all(near | (actual == right))):
                return name
    return None


def common_sizes(failed: list[Case], right: list[Case]) -> str:
    """Return what the sizes of all launches that came out wrong have in common, and of none of the others; else
    nothing.

    It says where to look when a kernel is wrong only at the edge of a tile.
    """
    if not failed or not right:
        return ""
    facts = [fact for fact in _facts(failed[0]) if all(fact in _facts(case) for case in failed)]
    others = [set(_facts(case)) for case in right]
    for several in (1, 2):
        for chosen in combinations(facts, several):
            if not any(set(chosen) <= other for other in others):
                launches = (
                    "The launch that came out wrong has"
                    if len(failed) == 1
                    else (f"The {len(failed)} launches that came out wrong have")
                )
                none = "none has" if several == 1 else "none has both"
                return f"{launches} {' and '.join(chosen)}; of those that came out right, {none}."
    return ""


def _facts(case: Case) -> Iterator[str]:
    """Yield how the sizes of a launch lie to its blocks, the plainest first."""
    sizes: Mapping[str, int] = {n: v for n, v in case.scalars.items() if is_size(n) and isinstance(v, int)}
    blocks = {n: int(v) for n, v in case.constexprs.items() if not isinstance(v, bool) and n != "D"}
    if "n_q" in sizes and "n_k" in sizes:
        sizes = {**sizes, "(n_k - n_q)": sizes["n_k"] - sizes["n_q"]}
    for flag, value in case.constexprs.items():
        if isinstance(value, bool):
            yield f"{flag}={value}"
    for name, size in sizes.items():
        if size < 0:
            yield f"{name} < 0"
        for block, width in blocks.items():
            for residue in (0, 1, width - 1):
                if size % width == residue:
                    yield f"{name} % {block} == {residue if residue < 2 else f'{block} - 1'}"
            if 0 <= size <= width:
                yield f"{name} <= {block}"
    for (one, a), (other, b) in combinations(blocks.items(), 2):
        yield f"{one} {'<' if a < b else '>' if a > b else '=='} {other}"
