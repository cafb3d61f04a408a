"""Wrong ideas of a kernel that adds two vectors block by block: in addresses, in masks, in what is added."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Raises, Reach, Reaches, Unwritten, Writes

Ints = npt.NDArray[np.int64]


def _size(case: Case) -> int:
    return int(case.scalars["n"])


def _block(case: Case) -> int:
    return int(case.constexprs["BLOCK_SIZE"])


def _positions(case: Case) -> Ints:
    """Where each element of a tensor lies in the vector, as n counts."""
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


def _missing(elements: Callable[[Ints, int, int], npt.NDArray[np.bool_]], shared: bool = False) -> Unwritten:
    """What `elements(positions, n, block)` says of z is left out."""
    return Unwritten(lambda case: {"z_ptr": elements(_positions(case), _size(case), _block(case))}, shared=shared)


def _outside(
    store: bool, reach: Callable[[int, int, int], tuple[int, int] | None], tensors: tuple[str, ...] = ()
) -> Reaches:
    """An access of `reach(program, n, block)`: the first and the last offset of its active lanes."""

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


def _far_apart(program: int, n: int, block: int) -> tuple[int, int]:
    programs = -(-n // block)
    return program, program + (n - 1 - program) // programs * programs


def _each(store_too: Callable[[bool], Reaches]) -> tuple[Reaches, Reaches]:
    """The load of x or y, and the store of z, with the same mistake."""
    return store_too(False), store_too(True)


VECTORS: tuple[Misconception, ...] = (
    Misconception(
        "program-forgotten",
        "Every program works on the first block",
        "The offsets are 0 to BLOCK_SIZE - 1 in every program. So all of them write the first block of z, in any "
        "order, and nobody writes the rest. tl.program_id(0) is the only thing in which two programs differ.",
        "Program p begins at element p * BLOCK_SIZE: offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE).",
        signs=(_missing(lambda at, n, block: at >= block, shared=True),),
    ),
    Misconception(
        "program-forgotten",
        "Every program loads the first block of x and y",
        "Each block of z is the sum of the first blocks of x and y. The store uses the program's own offsets, and the "
        "loads use offsets that are the same in every program.",
        "Use the same offsets for the loads and the store: x_ptr + offsets, y_ptr + offsets, z_ptr + offsets.",
        signs=(_first_block_of("x_ptr", "y_ptr").at(Part.LOAD),),
    ),
    Misconception(
        "program-forgotten",
        "Every program loads the first block of x",
        "y and z are addressed by the program's own offsets, and x by offsets that are the same in every program.",
        "Load x from x_ptr + offsets.",
        signs=(_first_block_of("x_ptr"),),
    ),
    Misconception(
        "program-forgotten",
        "Every program loads the first block of y",
        "x and z are addressed by the program's own offsets, and y by offsets that are the same in every program.",
        "Load y from y_ptr + offsets.",
        signs=(_first_block_of("y_ptr"),),
    ),
    Misconception(
        "program-without-block-size",
        "The blocks overlap: program p begins at element p",
        "Program 0 has elements 0 to BLOCK_SIZE - 1, and program 1 has elements 1 to BLOCK_SIZE. They write nearly the "
        "same elements, and the last elements of z belong to nobody.",
        "A program steps over the blocks of those before it: its first element is program * BLOCK_SIZE.",
        signs=(_missing(lambda at, n, block: at >= -(-n // block) - 1 + block, shared=True),),
    ),
    Misconception(
        "only-first-block",
        "Only the first block of z is written",
        "In all other programs the mask is false in every lane. Perhaps it compares the offsets with BLOCK_SIZE, which "
        "is the length of one block. Or the programs begin too far apart, and the mask rightly stops them.",
        "The mask compares with the length of the vectors: offsets < n. Program p begins at p * BLOCK_SIZE.",
        signs=(_missing(lambda at, n, block: at >= block),),
    ),
    Misconception(
        "counts-from-one",
        "The first block of z is left out",
        "Programs count from 0, as tl.program_id(0) does. If the first one begins at element BLOCK_SIZE, nobody owns "
        "elements 0 to BLOCK_SIZE - 1.",
        "Program p begins at p * BLOCK_SIZE, without adding or subtracting 1.",
        signs=(_missing(lambda at, n, block: at < block),),
    ),
    Misconception(
        "tail-left-out",
        "The last elements are left out: those that do not fill a block",
        "n need not be a multiple of BLOCK_SIZE. The launch has a program for what is left over, and this kernel "
        "writes nothing there.",
        "No special case is needed. The mask, offsets < n, switches off only the lanes that are past the end.",
        signs=(_missing(lambda at, n, block: at >= n // block * block),),
    ),
    Misconception(
        "last-element-left-out",
        "The last element is left out",
        "Elements count from 0, so the last one is n - 1, and it is one of yours.",
        "The mask is offsets < n.",
        signs=(_missing(lambda at, n, block: at == n - 1),),
    ),
    Misconception(
        "mask-of-lanes",
        "The mask compares lanes with n, not offsets",
        "tl.arange(0, BLOCK_SIZE) counts the lanes of a block, in every program from 0. Where n is larger than "
        "BLOCK_SIZE, all of these numbers are below n, so the mask keeps nobody from reaching past the end.",
        "Compare what you add to the pointer: mask = offsets < n.",
        signs=_each(lambda store: _outside(store, _whole_block_of_several)),
    ),
    Misconception(
        "only-first-block",
        "The mask compares with BLOCK_SIZE, not with n",
        "BLOCK_SIZE is the length of a block, and n the length of the vectors. Where the vectors are shorter than a "
        "block, this mask lets lanes past the end. Where they are longer, it stops all programs but the first.",
        "The mask compares with the length of the vectors: offsets < n.",
        signs=_each(lambda store: _outside(store, _whole_block_of_one)),
    ),
    Misconception(
        "load-without-mask",
        "The load has no mask",
        "The last block has more lanes than there are elements left, and the load reads all of them. What lies past "
        "the end of a tensor belongs to somebody else.",
        "Give both loads the mask, and the store as well: mask=offsets < n.",
        signs=(_outside(False, _whole_block),),
    ),
    Misconception(
        "store-without-mask",
        "The store has no mask",
        "The last block has more lanes than there are elements left, and the store writes all of them. So it "
        "overwrites what lies past the end of z, whatever that is.",
        "Give the store the same mask as the loads.",
        signs=(_outside(True, _whole_block),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one lane too many through",
        "The mask is true for offset n, but elements count from 0, so the last one is n - 1.",
        "Compare with <, not with <=.",
        signs=_each(lambda store: _outside(store, _one_too_many)),
    ),
    Misconception(
        "lanes-far-apart",
        "The lanes of a block are not neighbours in memory",
        "Here lane 1 takes the element that lies as many places after that of lane 0 as there are programs. Memory "
        "delivers 32 bytes at a time, 8 neighbours in fp32. A program that uses one of the 8 moves eight times "
        "as much as it needs. Of its longest vectors the judge has a few runs of neighbours, and no more.",
        "A program owns a run of neighbours: program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE).",
        signs=_each(lambda store: _outside(store, _far_apart)),
    ),
    Misconception(
        "one-vector-twice",
        "x is added to itself",
        "z is 2 x: y was not loaded, or was loaded from x_ptr.",
        "Load the second block from y_ptr + offsets.",
        signs=(_z_is(lambda x, y: x + x),),
    ),
    Misconception(
        "one-vector-twice",
        "y is added to itself",
        "z is 2 y: x was not loaded, or was loaded from y_ptr.",
        "Load the first block from x_ptr + offsets.",
        signs=(_z_is(lambda x, y: y + y),),
    ),
    Misconception(
        "one-vector-only",
        "z is x: nothing was added to it",
        "What was loaded from x is stored as it is.",
        "Load y as well, and store the sum of the two.",
        signs=(_z_is(lambda x, y: x),),
    ),
    Misconception(
        "one-vector-only",
        "z is y: nothing was added to it",
        "What was loaded from y is stored as it is.",
        "Load x as well, and store the sum of the two.",
        signs=(_z_is(lambda x, y: y),),
    ),
    Misconception(
        "other-operation",
        "The vectors are subtracted",
        "z is x - y, or y - x.",
        "The sum is x + y.",
        signs=(_z_is(lambda x, y: x - y), _z_is(lambda x, y: y - x)),
    ),
    Misconception(
        "other-operation",
        "The vectors are multiplied",
        "z is x * y, element by element.",
        "The sum is x + y.",
        signs=(_z_is(lambda x, y: x * y),),
    ),
    Misconception(
        "arange-of-run-time-numbers",
        "The ends of tl.arange are not known when the kernel is compiled",
        "n, and the number of the program, are known only when the kernel runs. tl.arange takes plain numbers and "
        "tl.constexpr parameters such as BLOCK_SIZE.",
        "Count the lanes with tl.arange(0, BLOCK_SIZE), and add to them where the program's block begins.",
        signs=(Raises(re.compile(r"arange's arguments must be of type")),),
    ),
    Misconception(
        "pointer-is-not-a-block",
        "The mask is a block, but the address is a single one",
        "A pointer plus a number is one address. A pointer plus a block of numbers is a block of addresses.",
        "Add the block of offsets to the pointer: x_ptr + offsets.",
        signs=(Raises(re.compile(r"Mask argument cannot be block type if pointer argument is not a block")),),
    ),
    Misconception(
        "mask-is-not-true-or-false",
        "The mask does not hold true and false",
        "A mask says for each lane whether it takes part, as a comparison does.",
        "The order is tl.store(addresses, values, mask=...), and the mask is offsets < n.",
        signs=(Raises(re.compile(r"[Mm]ask must have boolean scalar type")),),
    ),
    Misconception(
        "offset-32-bit",
        "A 32-bit offset overflows",
        "These vectors have more than 2**31 elements, and program * BLOCK_SIZE passes what 32 bits can hold. The "
        "address is then far away from the block.",
        "Keep the stub's .to(tl.int64), and compute the offsets from what it gives.",
        signs=(Raises(re.compile(r"int32 overflow detected")),),
    ),
)
