"""Wrong ideas of a kernel that adds two vectors block by block: in addresses, in masks, in what is added."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

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


def _missing(
    elements: Callable[[Ints, int, int], npt.NDArray[np.bool_]], shared: bool = False, line: Part | None = None
) -> Unwritten:
    """What `elements(positions, n, block)` says of z is left out, by a kernel that has such a line."""
    return Unwritten(lambda case: {"z_ptr": elements(_positions(case), _size(case), _block(case))}, shared, line)


def _either_way(elements: Callable[[Ints, int, int], npt.NDArray[np.bool_]]) -> tuple[Unwritten, Unwritten]:
    """The same, whether or not programs meet in what is written."""
    return _missing(elements), _missing(elements, shared=True)


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


def _each(store_too: Callable[[bool], Reaches], line: Part | None = None) -> tuple[Reaches, Reaches]:
    """The load of x or y, and the store of z, with the same mistake, of a kernel that has such a line."""
    return replace(store_too(False), line=line), replace(store_too(True), line=line)


def _up_to_n_less_program(program: int, n: int, block: int) -> tuple[int, int] | None:
    """Lanes below n - program, from the program's own block on."""
    lanes = min(block, n - program)
    return (program * block, program * block + lanes - 1) if lanes > 0 else None


VECTORS: tuple[Misconception, ...] = (
    Misconception(
        "program-forgotten",
        "Programs are numbered along axis 0, and another axis is asked",
        "The launch has one axis of programs, axis 0. Along the other two there is a single program, so its number is "
        "0 everywhere: all programs write z[0] to z[BLOCK_SIZE - 1], and nobody writes the rest.",
        "Keep the stub's line: tl.program_id(0) is the number of the program.",
        question="With n = 10 and BLOCK_SIZE = 4, the grid is (3,). Print the number that your kernel asks for: which "
        "three values should appear, and which do?",
        signs=(_missing(lambda at, n, block: at >= block, shared=True, line=Part.OTHER_AXIS),),
    ),
    Misconception(
        "program-forgotten",
        "Every program stores to the first block",
        "The offsets of the store are the same in every program: 0 to BLOCK_SIZE - 1. With n = 10 and BLOCK_SIZE = 4, "
        "all three programs write z[0] to z[3], in any order, and nobody writes z[4] to z[9].",
        "Program p begins at element p * BLOCK_SIZE: offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE).",
        question="With n = 10 and BLOCK_SIZE = 4, which elements should programs 0, 1 and 2 write? What in your "
        "offsets could make those of program 2 differ from those of program 0?",
        signs=(_missing(lambda at, n, block: at >= block, shared=True),),
    ),
    Misconception(
        "program-forgotten",
        "Every program loads the first block of x and y",
        "The store uses the program's own offsets, but the loads use offsets that are the same in every program. So "
        "each block of z is the sum of the first blocks of x and y: with BLOCK_SIZE = 4, z[4] is x[0] + y[0].",
        "Use the same offsets for the loads and the store: x_ptr + offsets, y_ptr + offsets, z_ptr + offsets.",
        question="With BLOCK_SIZE = 4, program 1 stores z[4] to z[7]. From which elements of x and y must it load, "
        "and from which does it load?",
        signs=(_first_block_of("x_ptr", "y_ptr").at(Part.LOAD),),
    ),
    Misconception(
        "program-forgotten",
        "Every program loads the first block of x",
        "y and z are addressed by the program's own offsets, and x by offsets that are the same in every program. "
        "With BLOCK_SIZE = 4, z[4] is x[0] + y[4].",
        "Load x from x_ptr + offsets.",
        question="With BLOCK_SIZE = 4, which element of x belongs in z[4]? In what do the addresses of your two loads "
        "differ, the pointers apart?",
        signs=(_first_block_of("x_ptr"),),
    ),
    Misconception(
        "program-forgotten",
        "Every program loads the first block of y",
        "x and z are addressed by the program's own offsets, and y by offsets that are the same in every program. "
        "With BLOCK_SIZE = 4, z[4] is x[4] + y[0].",
        "Load y from y_ptr + offsets.",
        question="With BLOCK_SIZE = 4, which element of y belongs in z[4]? In what do the addresses of your two loads "
        "differ, the pointers apart?",
        signs=(_first_block_of("y_ptr"),),
    ),
    Misconception(
        "program-without-block-size",
        "The blocks overlap: program p begins at element p",
        "Each program begins one element after the one before it. With n = 10 and BLOCK_SIZE = 4, program 0 writes "
        "z[0] to z[3], program 1 z[1] to z[4], and program 2 z[2] to z[5], so z[6] to z[9] belong to nobody.",
        "A program steps over the blocks of those before it: offsets = program * BLOCK_SIZE + tl.arange(0, "
        "BLOCK_SIZE).",
        question="With BLOCK_SIZE = 4, how many elements belong to the programs before program 1, before program 2, "
        "and before program p?",
        signs=(_missing(lambda at, n, block: at >= -(-n // block) - 1 + block, shared=True),),
    ),
    Misconception(
        "only-first-block",
        "Only the first block of z is written",
        "In all other programs the mask is false in every lane. Perhaps it compares with the length of one block: "
        "with BLOCK_SIZE = 4, none of program 1's offsets 4 to 7 is below 4. Or the programs begin too far apart, and "
        "the mask rightly stops them.",
        "The mask compares with the length of the vectors: offsets < n. Program p begins at p * BLOCK_SIZE.",
        question="Print the offsets and the mask. With n = 24 and BLOCK_SIZE = 8, program 1 should have the offsets 8 "
        "to 15 and a mask that is true in all eight lanes. Which of the two is different in your kernel?",
        signs=(_missing(lambda at, n, block: at >= block),),
    ),
    Misconception(
        "mask-inverted",
        "The mask is true past the end, and false where there are elements",
        "A mask says which lanes take part. Here these are the lanes past the end: with n = 10 and BLOCK_SIZE = 4, "
        "lanes 2 and 3 of program 2, and no lane of programs 0 and 1. So z stays as it was.",
        "Turn the comparison round: an offset has an element if it is below n, offsets < n.",
        question="With n = 10 and BLOCK_SIZE = 4, in how many of its four lanes is your mask true in program 0? In how "
        "many should it be?",
        signs=(_missing(lambda at, n, block: at >= 0, line=Part.INVERTED_MASK),),
    ),
    Misconception(
        "lanes-far-apart",
        "The lanes of a block are BLOCK_SIZE elements apart",
        "Lane i of program p is at element p + i * BLOCK_SIZE here. With n = 24 and BLOCK_SIZE = 8 there are three "
        "programs: program 0 has elements 0, 8 and 16, program 1 has 1, 9 and 17, program 2 has 2, 10 and 18. Nobody "
        "has element 3.",
        "The program's number is multiplied, and the lanes are neighbours: offsets = program * BLOCK_SIZE + "
        "tl.arange(0, BLOCK_SIZE).",
        question="Print the offsets. With n = 24 and BLOCK_SIZE = 8, which eight elements should program 1 have, and "
        "which ones does it have?",
        signs=_either_way(lambda at, n, block: (at % block >= -(-n // block)) | (at // block >= block)),
    ),
    Misconception(
        "counts-from-one",
        "The first block of z is left out",
        "Programs count from 0, as tl.program_id(0) does. Here program 0 begins at element BLOCK_SIZE, so nobody owns "
        "the elements before it: with BLOCK_SIZE = 4, z[0] to z[3].",
        "Program p begins at p * BLOCK_SIZE, without adding or subtracting 1: offsets = program * BLOCK_SIZE + "
        "tl.arange(0, BLOCK_SIZE).",
        question="Put 0 for the number of the program into your offsets, and 4 for BLOCK_SIZE. Which is the first "
        "offset?",
        signs=(_missing(lambda at, n, block: at < block),),
    ),
    Misconception(
        "tail-left-out",
        "The last elements are left out: those that do not fill a block",
        "n need not be a multiple of BLOCK_SIZE. With n = 10 and BLOCK_SIZE = 4, the launch has a third program for "
        "z[8] and z[9], and this kernel writes nothing there.",
        "No special case is needed. The mask, offsets < n, switches off only the lanes that are past the end.",
        question="With n = 10 and BLOCK_SIZE = 4, which of the four lanes of program 2 have an element? What does "
        "your kernel decide for each lane, and what for the whole block?",
        signs=(_missing(lambda at, n, block: at >= n // block * block),),
    ),
    Misconception(
        "last-element-left-out",
        "The last element is left out",
        "Elements count from 0, so the last of 10 elements is z[9], and it belongs to a program like all the others. "
        "This kernel stops one element earlier.",
        "The mask is offsets < n.",
        question="With n = 10, is your mask true or false for offset 8, for offset 9, and for offset 10?",
        signs=(_missing(lambda at, n, block: at == n - 1),),
    ),
    Misconception(
        "mask-of-lanes",
        "The mask compares lanes with n, not offsets",
        "tl.arange(0, BLOCK_SIZE) counts the lanes of a block, in every program from 0. With n = 10 and BLOCK_SIZE = "
        "4 these numbers are 0 to 3, all below 10. So in program 2 the mask also lets offsets 10 and 11 through.",
        "Compare what you add to the pointer: mask = offsets < n.",
        question="In program 2, with BLOCK_SIZE = 4, which four numbers does your mask compare with n, and which four "
        "do you add to the pointer?",
        signs=_each(lambda store: _outside(store, _whole_block_of_several), line=Part.LANES_AGAINST_N),
    ),
    Misconception(
        "mask-of-lanes",
        "The lanes are compared with too much: n minus the program's number",
        "Lanes count from 0 in every program, so they must be below the number of elements that are left. With n = 10 "
        "and BLOCK_SIZE = 4, the programs before program 2 have 8 elements, and 2 are left. n minus "
        "the program's number is 8.",
        "Subtract the elements before the block, not the programs: n - program * BLOCK_SIZE.",
        question="With n = 10 and BLOCK_SIZE = 4, how many elements are left for program 2? With which number does "
        "your mask compare its lanes?",
        signs=_each(lambda store: _outside(store, _up_to_n_less_program), line=Part.LANES_AGAINST_REST),
    ),
    Misconception(
        "only-first-block",
        "The mask compares with BLOCK_SIZE, not with n",
        "BLOCK_SIZE is the length of a block, and n the length of the vectors. With BLOCK_SIZE = 4 and n = 3, this "
        "mask lets lane 3 past the end. With n = 10, it stops all programs but the first.",
        "The mask compares with the length of the vectors: offsets < n.",
        question="With n = 3 and BLOCK_SIZE = 4, in how many lanes is your mask true, and in how many should it be?",
        signs=_each(lambda store: _outside(store, _whole_block_of_one)),
    ),
    Misconception(
        "load-without-mask",
        "The load has no mask, or one that does not end with the vectors",
        "The last block has more lanes than there are elements left, and the load reads all of them. With n = 10 and "
        "BLOCK_SIZE = 4, program 2 reads elements 10 and 11, which belong to somebody else.",
        "Give both loads the mask, and the store as well: tl.load(x_ptr + offsets, mask=offsets < n, other=0.0).",
        question="With n = 10 and BLOCK_SIZE = 4, which four elements does program 2 read here? In double_kernel, "
        "what kept two of its lanes away from memory?",
        signs=(_outside(False, _whole_block),),
    ),
    Misconception(
        "store-without-mask",
        "The store has no mask, or one that does not end with the vectors",
        "The last block has more lanes than there are elements left, and the store writes all of them. With n = 10 "
        "and BLOCK_SIZE = 4, program 2 overwrites what lies where z[10] and z[11] would be, whatever that is.",
        "Give the store the same mask as the loads: tl.store(z_ptr + offsets, x + y, mask=offsets < n).",
        question="With n = 10 and BLOCK_SIZE = 4, to which four elements of z does program 2 write here, and which of "
        "them exist? What do your loads have that your store lacks?",
        signs=(_outside(True, _whole_block),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one lane too many through",
        "The mask is true for offset n, but elements count from 0, so the last one is n - 1. With n = 10, this kernel "
        "reaches element 10, which is the eleventh.",
        "Compare with <, not with <=: mask = offsets < n.",
        question="With n = 10, how many offsets from 0 on does your comparison let through?",
        signs=_each(lambda store: _outside(store, _one_too_many)),
    ),
    Misconception(
        "lanes-far-apart",
        "The lanes of a block are not neighbours in memory",
        "Here lane 1 takes the element that lies as many places after that of lane 0 as there are programs. Memory "
        "delivers 32 bytes at a time, 8 neighbours in fp32. A program that uses one of the 8 moves eight times as "
        "much as it needs. Of its longest vectors the judge holds only a few runs of neighbours, and it refuses what "
        "lies outside them.",
        "A program owns a run of neighbours: offsets = program * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE).",
        question="In a launch of 1000 programs, how far apart in memory are the elements of lanes 0 and 1 of program "
        "0? Of 8 fp32 numbers that memory delivers together, how many does program 0 use?",
        signs=_each(lambda store: _outside(store, _far_apart)),
    ),
    Misconception(
        "one-vector-twice",
        "x is added to itself",
        "z is 2 x: where x is 10 and y is 1, z holds 20 instead of 11. Either the second block was loaded from x_ptr, "
        "or the sum takes the block of x twice.",
        "Load the second block from y_ptr + offsets.",
        question="Which line of your kernel reads from y_ptr, and where does the sum use what it has read?",
        signs=(_z_is(lambda x, y: x + x),),
    ),
    Misconception(
        "one-vector-twice",
        "y is added to itself",
        "z is 2 y: where x is 10 and y is 1, z holds 2 instead of 11. Either the first block was loaded from y_ptr, "
        "or the sum takes the block of y twice.",
        "Load the first block from x_ptr + offsets.",
        question="Which line of your kernel reads from x_ptr, and where does the sum use what it has read?",
        signs=(_z_is(lambda x, y: y + y),),
    ),
    Misconception(
        "one-vector-only",
        "z is x: nothing was added to it",
        "What was loaded from x is stored as it is: where x is 10 and y is 1, z holds 10 instead of 11. y has no part "
        "in the result.",
        "Load y as well, and store the sum of the two: tl.store(z_ptr + offsets, x + y, mask=mask).",
        question="Where x is 10 and y is 1, which value does your store write, and on which line should the 1 have "
        "come in?",
        signs=(_z_is(lambda x, y: x),),
    ),
    Misconception(
        "one-vector-only",
        "z is y: nothing was added to it",
        "What was loaded from y is stored as it is: where x is 10 and y is 1, z holds 1 instead of 11. x has no part "
        "in the result.",
        "Load x as well, and store the sum of the two: tl.store(z_ptr + offsets, x + y, mask=mask).",
        question="Where x is 10 and y is 1, which value does your store write, and on which line should the 10 have "
        "come in?",
        signs=(_z_is(lambda x, y: y),),
    ),
    Misconception(
        "other-operation",
        "The vectors are subtracted",
        "z is x - y, or y - x: where x is 10 and y is 1, it holds 9 or -9 instead of 11.",
        "The sum is x + y.",
        question="What should z hold where x is 10 and y is 1, and what does your kernel make of these two numbers?",
        signs=(_z_is(lambda x, y: x - y), _z_is(lambda x, y: y - x)),
    ),
    Misconception(
        "other-operation",
        "The vectors are multiplied",
        "z is x * y, element by element: where x is 10 and y is 1, it holds 10 instead of 11.",
        "The sum is x + y.",
        question="What should z hold where x is 10 and y is 1, and what does your kernel make of these two numbers?",
        signs=(_z_is(lambda x, y: x * y),),
    ),
    Misconception(
        "arange-of-run-time-numbers",
        "The ends of tl.arange are not known when the kernel is compiled",
        "The length of a block is a part of the compiled kernel. n, and the number of the program, are known only "
        "when the kernel runs, so tl.arange cannot take them. It takes plain numbers and tl.constexpr parameters.",
        "Count the lanes with tl.arange(0, BLOCK_SIZE), and add to them where the program's block begins: program * "
        "BLOCK_SIZE.",
        question="Which of the names program, n and BLOCK_SIZE have a value before the kernel runs? Which of them do "
        "you give to tl.arange?",
        signs=(Raises(re.compile(r"arange's arguments must be of type")),),
    ),
    Misconception(
        "pointer-is-not-a-block",
        "The mask is a block, but the address is a single one",
        "A pointer plus a number is one address. The mask has a lane for each of BLOCK_SIZE elements, and there must "
        "be as many addresses.",
        "Add the block of offsets to the pointer: x_ptr + offsets.",
        question="With BLOCK_SIZE = 4, how many lanes does the mask on this line have, and how many addresses? Is "
        "what you add to the pointer a number or a block?",
        signs=(Raises(re.compile(r"Mask argument cannot be block type if pointer argument is not a block")),),
    ),
    Misconception(
        "mask-is-not-true-or-false",
        "The mask does not hold true and false",
        "A mask says for each lane whether it takes part: true or false, as a comparison gives. Here numbers stand in "
        "its place. Perhaps the arguments of the store are in the wrong order.",
        "The order is tl.store(addresses, values, mask=...), and the mask is offsets < n.",
        question="What does lane 0 of your mask hold, a number or a truth value? Which of the three arguments of "
        "tl.store comes first, second and third?",
        signs=(Raises(re.compile(r"[Mm]ask must have boolean scalar type")),),
    ),
    Misconception(
        "offset-32-bit",
        "A 32-bit offset overflows",
        "A 32-bit integer ends at 2,147,483,647, and these vectors have more elements than that. So program * "
        "BLOCK_SIZE overflows, and the address is far away from the block.",
        "Keep the stub's .to(tl.int64), and compute the offsets from what it gives.",
        question="At which element does program 3,000,000 begin if BLOCK_SIZE = 1024? Is the number that you multiply "
        "32 or 64 bits wide?",
        signs=(Raises(re.compile(r"int32 overflow detected")),),
    ),
)
