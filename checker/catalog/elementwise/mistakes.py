"""Wrong ideas of a kernel that adds two vectors block by block: in addresses, in masks, in what is added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from checker.catalog.lines import inverted_mask, lanes_against_n, lanes_against_rest, other_axis, times_n
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Load, Misconception, Raises, Reach, Reaches, Unwritten, Writes
from checker.course.text import Line

idea = Ideas(__file__)

Ints = npt.NDArray[np.int64]


def _size(case: Case) -> int:
    return int(case.scalars["n"])


def _block(case: Case) -> int:
    return int(case.constexprs["BLOCK_SIZE"])


def _positions(case: Case) -> Ints:
    """Return where each element of a tensor lies in the vector, as n counts."""
    z = case.tensors["z_ptr"]
    sides = np.meshgrid(*(np.arange(side) for side in z.values.shape), indexing="ij")
    return np.asarray(sum(side * stride for side, stride in zip(sides, z.strides, strict=True)))


def _z_is(formula: Callable[[Array, Array], Array]) -> Writes:
    """The kernel writes `formula(x, y)` to z; both in float64."""

    def of(case: Case) -> dict[str, Array]:
        x, y = (case.tensors[name].values.astype(np.float64) for name in ("x_ptr", "y_ptr"))
        return {"z_ptr": formula(x, y)}

    return Writes(of)


def _first_block_of(*taken: str) -> Writes:
    """Every program loads the first block of these tensors, and its own of the others."""

    def of(case: Case) -> dict[str, Array]:
        def loaded(name: str) -> Array:
            values = case.tensors[name].values.astype(np.float64)
            return values.reshape(-1)[_positions(case) % _block(case)] if name in taken else values

        return {"z_ptr": loaded("x_ptr") + loaded("y_ptr")}

    return Writes(of)


def _missing(
    elements: Callable[[Ints, int, int], npt.NDArray[np.bool_]], shared: bool = False, line: Line | None = None
) -> Unwritten:
    """Return what `elements(positions, n, block)` says of z is left out, by a kernel that has such a line."""
    return Unwritten(lambda case: {"z_ptr": elements(_positions(case), _size(case), _block(case))}, shared, line)


def _either_way(elements: Callable[[Ints, int, int], npt.NDArray[np.bool_]]) -> tuple[Unwritten, Unwritten]:
    """Return the same, whether or not programs meet in what is written."""
    return _missing(elements), _missing(elements, shared=True)


def _outside(
    store: bool, reach: Callable[[int, int, int], tuple[int, int] | None], tensors: tuple[str, ...] = ()
) -> Reaches:
    """Return an access of `reach(program, n, block)`: the first and the last offset of its active lanes."""

    def of(case: Case, program: int) -> tuple[Reach, ...]:
        ends = reach(program, _size(case), _block(case))
        of_these = ("z_ptr",) if store else ("x_ptr", "y_ptr")
        return () if ends is None else tuple(Reach(store, name, *ends) for name in tensors or of_these)

    return Reaches(of)


def _whole_block(program: int, n: int, block: int) -> tuple[int, int]:
    return program * block, (program + 1) * block - 1


def _whole_block_of_several(program: int, n: int, block: int) -> tuple[int, int] | None:
    return _whole_block(program, n, block) if n >= block else None


def _whole_block_of_one(program: int, n: int, block: int) -> tuple[int, int] | None:
    return _whole_block(program, n, block) if n < block else None


def _one_too_many(program: int, n: int, block: int) -> tuple[int, int]:
    return program * block, min((program + 1) * block - 1, n)


def _of_several(several: int) -> tuple[Reaches, ...]:
    """Each program has so many blocks, one access for each."""

    def signs(number: int) -> tuple[Reaches, Reaches]:
        def reach(program: int, n: int, block: int) -> tuple[int, int] | None:
            first = (several * program + number) * block
            return (first, min(first + block, n) - 1) if first < n else None

        return _each(lambda store: _outside(store, reach))

    return tuple(sign for number in range(several) for sign in signs(number))


def _far_apart(program: int, n: int, block: int) -> tuple[int, int]:
    programs = -(-n // block)
    return program, program + (n - 1 - program) // programs * programs


def _each(store_too: Callable[[bool], Reaches], line: Line | None = None) -> tuple[Reaches, Reaches]:
    """Return the load of x or y, and the store of z, with the same mistake, of a kernel that has such a line."""
    return replace(store_too(False), line=line), replace(store_too(True), line=line)


def _up_to_n_less_program(program: int, n: int, block: int) -> tuple[int, int] | None:
    """Lanes below n - program, from the program's own block on."""
    lanes = min(block, n - program)
    return (program * block, program * block + lanes - 1) if lanes > 0 else None


VECTORS: tuple[Misconception, ...] = (
    idea("program-forgotten", _missing(lambda at, n, block: at >= block, shared=True, line=other_axis)),
    idea("program-forgotten/store", _missing(lambda at, n, block: at >= block, shared=True)),
    idea("program-forgotten/loads", _first_block_of("x_ptr", "y_ptr").at(Load.LAST)),
    idea("program-forgotten/x", _first_block_of("x_ptr")),
    idea("program-forgotten/y", _first_block_of("y_ptr")),
    idea("program-without-block-size", _missing(lambda at, n, block: at >= -(-n // block) - 1 + block, shared=True)),
    idea("only-first-block/programs-n-apart", _missing(lambda at, n, block: at >= block, line=times_n)),
    idea("only-first-block", _missing(lambda at, n, block: at >= block)),
    idea("mask-inverted", _missing(lambda at, n, block: at >= 0, line=inverted_mask)),
    idea("lanes-far-apart", *_either_way(lambda at, n, block: (at % block >= -(-n // block)) | (at // block >= block))),
    idea("counts-from-one", _missing(lambda at, n, block: at < block)),
    idea("tail-left-out", _missing(lambda at, n, block: at >= n // block * block)),
    idea("last-element-left-out", _missing(lambda at, n, block: at == n - 1)),
    idea("mask-of-lanes", *_each(lambda store: _outside(store, _whole_block_of_several), line=lanes_against_n)),
    idea(
        "mask-of-lanes/n-minus-program",
        *_each(lambda store: _outside(store, _up_to_n_less_program), line=lanes_against_rest),
    ),
    idea("only-first-block/block-size", *_each(lambda store: _outside(store, _whole_block_of_one))),
    idea("load-without-mask", _outside(False, _whole_block)),
    idea("store-without-mask", _outside(True, _whole_block)),
    idea("mask-off-by-one", *_each(lambda store: _outside(store, _one_too_many))),
    idea("lanes-far-apart/in-memory", *_each(lambda store: _outside(store, _far_apart))),
    idea("several-blocks", *(sign for several in (2, 4, 8) for sign in _of_several(several))),
    idea("one-vector-twice", _z_is(lambda x, y: x + x)),
    idea("one-vector-twice/y", _z_is(lambda x, y: y + y)),
    idea("arange-of-run-time-numbers", Raises(r"arange's arguments must be of type")),
    idea("pointer-is-not-a-block", Raises(r"Mask argument cannot be block type if pointer argument is not a block")),
    idea("mask-is-not-true-or-false", Raises(r"[Mm]ask must have boolean scalar type")),
    idea("offset-32-bit", Raises(r"int32 overflow detected")),
)
