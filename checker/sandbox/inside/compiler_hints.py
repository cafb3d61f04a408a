"""Checks of hints to the compiler: a GPU believes them, and stores in wrong places if they are false.

The meaning is the compiler's (`AxisInfo.h`), of each axis by itself: `max_contiguous` and `max_constancy` speak of
groups of so many elements, counted from the first; `multiple_of` of the first element of each group of consecutive
numbers, and so of all elements where none follow one another. Pointers count in elements when they follow one another,
in bytes when they are multiples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import triton.language as tl

Ints = npt.NDArray[np.int64]


class FalsePromise(Exception):
    """A promise does not hold."""


def multiple_of(input: Any, values: Any) -> Any:
    """The first of each group of consecutive numbers is a multiple of a value."""
    for elements, step, factor in _axes(input, values, "multiple_of"):
        first = elements[..., :: _run(elements, step)]
        _insist(first % factor == 0, first, f"a multiple of {factor}, as tl.multiple_of has it")
    return input


def max_contiguous(input: Any, values: Any) -> Any:
    """Check that groups of n elements are consecutive."""
    for elements, step, count in _axes(input, values, "max_contiguous"):
        _insist_on_groups(elements, step, count, f"{step} more than the one before it, as tl.max_contiguous has it")
    return input


def max_constancy(input: Any, values: Any) -> Any:
    """Check that groups of n elements are equal."""
    for elements, _, count in _axes(input, values, "max_constancy"):
        _insist_on_groups(elements, 0, count, "equal to the one before it, as tl.max_constancy has it")
    return input


def assume(builder: Any, condition: Any) -> None:
    """A condition holds."""
    if not condition.data.all():
        raise FalsePromise("the condition of tl.assume is false")


def _axes(input: Any, values: Any, name: str) -> Iterator[tuple[Ints, int, int]]:
    """(elements with the axis last, difference of consecutive ones, what is promised) of each axis."""
    if not isinstance(input, tl.tensor):
        return  # known when compiling: the compiler takes no promise of it
    several = values if isinstance(values, list | tuple | tl.tuple) else [values]
    plain: list[Any] = [getattr(one, "value", one) for one in several]
    data = np.atleast_1d(input.handle.data)
    if len(plain) != data.ndim:
        raise ValueError(f"Shape of input to {name} does not match the length of values")
    element = input.dtype.element_ty if input.dtype.is_ptr() else None
    step: int = 1 if element is None else max(1, element.primitive_bitwidth // 8)
    for axis, promised in enumerate(plain):
        yield np.moveaxis(data, axis, -1).astype(np.int64), step, promised


def _broken(elements: Ints, step: int) -> npt.NDArray[np.bool_]:
    """Return which elements but the first of their axis are not `step` more than the one before."""
    return np.asarray(elements[..., 1:] - elements[..., :-1] != step)


def _run(elements: Ints, step: int) -> int:
    """Return how many numbers follow one another in all groups: a power of two, as an extent is."""
    places = np.unique(np.nonzero(_broken(elements, step))[-1]) + 1
    together = math.gcd(elements.shape[-1], *places.tolist())
    return together & -together


def _insist_on_groups(elements: Ints, step: int, count: int, what: str) -> None:
    inside = np.arange(1, elements.shape[-1]) % count != 0
    _insist(~(_broken(elements, step) & inside), elements[..., 1:], what)


def _insist(holds: npt.NDArray[np.bool_], elements: Ints, what: str) -> None:
    if not holds.all():
        raise FalsePromise(f"{elements[~holds][0]} is not {what}")


INSTEAD = {"multiple_of": multiple_of, "max_contiguous": max_contiguous, "max_constancy": max_constancy}
