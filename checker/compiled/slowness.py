"""What is known to cost time, by name. Nothing here refuses a kernel: it is right, and could be faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from checker.compiled.result import Made, Slow
from checker.judge.evidence import listed

A_TILE = 8  # multiplications of one thread: of fewer, a row is scaled, and not a tile


class Cause(Enum):
    """Why instructions move less than they could: what makes them wide when it is changed."""

    ALIGNMENT = "alignment"
    MASK = "mask"
    STRIDE = "stride"  # or where it begins: whatever is left


@dataclass(frozen=True)
class Narrow:
    """Why the accesses of one line are narrow; `integers`: those that would have to be multiples of 16."""

    cause: Cause
    integers: tuple[str, ...] = ()


def slow(made: Made, narrow: Mapping[tuple[int, bool], Sequence[Narrow]]) -> list[Slow]:
    """What costs time in a kernel; lines with the same fault together. `narrow`: by line, and whether it stores."""
    together: dict[Slow, list[int]] = {}
    for one in (*_narrow(made, narrow), *(one for find in _KINDS for one in find(made))):
        together.setdefault(replace(one, lines=()), []).extend(one.lines)
    return [replace(one, lines=tuple(dict.fromkeys(lines))) for one, lines in together.items()]


def _narrow(made: Made, causes: Mapping[tuple[int, bool], Sequence[Narrow]]) -> Iterator[Slow]:
    for one in made.accesses:
        for why in causes.get((one.line, one.store), ()) if one.narrow else ():
            what, wide = ("stores" if one.store else "loads"), f"{one.possible} bytes at once"
            title = f"It {what} {_bytes(one.widths[0])} at a time, where {one.possible} are possible"
            waits = _NO_COPIES if one.looped and not one.store and one.widths[0] < 4 and made.dots else ""
            yield Slow(
                f"narrow-{why.cause.value}", (one.line,), title, _WHY[why.cause](why, wide) + waits, _HINT[why.cause]
            )


_NO_COPIES = " Nor can it be copied into shared memory in the background: such a copy moves at least 4 bytes."
_WHY: dict[Cause, Callable[[Narrow, str], str]] = {
    Cause.ALIGNMENT: lambda why, wide: (
        f"An instruction that moves {wide} must start at a multiple of that size. The compiler can prove it only "
        f"from numbers that are multiples of 16, and in this launch {listed([*why.integers])} "
        f"{'are not' if len(why.integers) > 1 else 'is not'}."
    ),
    Cause.MASK: lambda _, wide: (
        f"An instruction that moves {wide} moves all of them or none. Here the mask may differ from one element to the "
        "next, so there is an instruction for each."
    ),
    Cause.STRIDE: lambda _, wide: (
        f"An instruction that moves {wide} needs neighbours in memory, from a multiple of that size on. As far as the "
        "compiler can tell, the block has none."
    ),
}
_HINT = {
    Cause.ALIGNMENT: "Launch it with sizes and strides that are multiples of 16: pad the rows, and mask the padding.",
    Cause.MASK: "Give the loop whole blocks, without this mask, and handle the last block after it. Or compare with a "
    "number that Triton knows to be a multiple of 16.",
    Cause.STRIDE: "Let the block's last axis run along the tensor's last axis, where the stride is 1 and is not a "
    "parameter, and begin at a multiple of the block. If a block must be transposed, do it on chip: tl.trans.",
}


def _spills(made: Made) -> Iterator[Slow]:
    if made.spilled:
        unit = "values" if made.target.warp == 64 else "bytes"
        yield Slow(
            "spilled-registers",
            (),
            f"Each thread spills {made.spilled:,} {unit}, for want of registers",
            "What does not fit is written to memory, and fetched from there when it is needed.",
            "Make the blocks smaller, or launch more warps: then each thread holds less of a block.",
        )


def _alone(made: Made) -> Iterator[Slow]:
    if made.at_once == 1:
        core, other = made.target.core, "one stage fewer" if "memory" in made.limited_by else "more warps"
        yield Slow(
            "one-program-at-once",
            (),
            f"Only one program at a time fits on {'an SM' if core == 'SM' else 'a CU'}: a second would "
            f"run out of {made.limited_by}",
            "While that program waits at a barrier, or for memory, nothing else computes. Two programs that each wait "
            "half the time can keep the core busy.",
            f"Try smaller blocks, or {other}, so that two fit. But large blocks read less: measure both.",
        )


_AS_LOADED = "Give tl.dot fp16 or bf16, as it was loaded: no .to(tl.float32) before it."


def _plain_dots(made: Made) -> Iterator[Slow]:
    for dot in made.dots:
        if dot.instruction:
            continue
        if made.target.name == "sm_75":
            why, hint = (
                "Its tensor cores have matrix instructions, but Triton does not use them.",
                "There is nothing to change in the kernel.",
            )
        else:
            why, hint = (
                "A tensor core computes a small matrix product in one instruction. It takes fp16, bf16, and fp32 only "
                "if rounded to TF32, which keeps 11 bits.",
                f'{_AS_LOADED} If it has to be fp32: input_precision="tf32" rounds, "tf32x3" makes three products and '
                "loses little.",
            )
        yield Slow(
            "dot-in-plain-arithmetic",
            (dot.line,),
            f"tl.dot became {dot.count} multiplications and additions of single numbers",
            why,
            hint,
        )


_NEWEST = {"sm_90": "wgmma", "sm_100": "tcgen05"}


def _older(made: Made) -> Iterator[Slow]:
    newest = _NEWEST.get(made.target.name)
    for dot in made.dots:
        if newest and dot.instruction and newest not in dot.instruction:
            yield Slow(
                "older-matrix-instruction",
                (dot.line,),
                f"tl.dot became {dot.instruction.split()[0]}, which older GPUs also have, not {newest}",
                f"{newest} reads from shared memory, and runs while the warps do something else. It computes at least "
                "64 rows at once, and needs 4 warps.",
                "Let the product have 64 rows or more, and launch 4 warps or more. If there are only a few rows, as "
                "for a single query, nothing can be done.",
            )


def _tf32(made: Made) -> Iterator[Slow]:
    for dot in made.dots:
        if ("tf32" in dot.instruction or "xf32" in dot.instruction) and dot.precision != "tf32x3":
            yield Slow(
                "dot-rounds-to-tf32",
                (dot.line,),
                "fp32 is rounded to TF32 before it is multiplied",
                "Each number keeps 11 binary digits, as in fp16. The product still takes twice as long, because every "
                "number is read with 32 bits.",
                f'{_AS_LOADED} If 11 digits are not enough: input_precision="tf32x3", or "ieee".',
            )


def _not_ahead(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        if loop.dots and loop.loads and not loop.kept_ready and made.target.copies_asynchronously:
            yield Slow(
                "loop-not-pipelined",
                (loop.line,),
                "The loop waits for each of its loads",
                "Nothing is loaded ahead: each iteration begins with loads, and the tensor cores are idle until the "
                "data arrives.",
                "The compiler loads ahead what goes from tl.load to tl.dot unchanged, if num_stages is 2 or more and "
                "loads are 4 bytes or wider. Look at what lies between the two.",
            )


def _base_e(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        if loop.dots and len(loop.scaled) >= A_TILE:
            line = max(set(loop.scaled), key=loop.scaled.count)
            yield Slow(
                "exponential-in-base-e",
                (line,),
                f"Only to change the base of tl.exp, {_count(loop.scaled, 'multiplication')} per iteration",
                "GPUs have an instruction for 2 to the power of x. For tl.exp(x), each thread first multiplies every x "
                "by log2(e).",
                "Multiply the scale by 1.4426950408889634 before the loop, and call tl.exp2. What you store must be "
                "in base e again.",
            )


def _divisions(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        if loop.dots and loop.divisions:  # without products, memory is what a loop waits for
            line = max(set(loop.divisions), key=loop.divisions.count)
            yield Slow(
                "division-in-loop",
                (line,),
                f"{_count(loop.divisions, 'division')} per thread and iteration",
                "Each takes about ten instructions.",
                "Divide once, after the loop. If every iteration needs it, compute 1 / x once per row, and multiply "
                "the row by that.",
            )


def _conversions(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        for line in loop.conversions:
            yield Slow(
                "layout-changed-in-loop",
                (line,),
                "In each iteration a block goes through shared memory, to other threads",
                "Two operations want the block's elements in different threads. All threads write it, wait for each "
                "other, and read it again.",
                "Look for an operation whose axis or shape differs from that of the one before. Most often two "
                "products share a block, which the second wants transposed, or a sum runs along the other axis.",
            )


def _idle(made: Made) -> Iterator[Slow]:
    threads = made.warps * made.target.warp
    if made.accesses and made.largest_block < threads:
        yield Slow(
            "more-threads-than-elements",
            (),
            f"{threads} threads share blocks of {max(made.largest_block, 1)} elements at most",
            "The rest repeat what others do, or do nothing.",
            f"Launch fewer warps, or use larger blocks: a thread can move {16 // 4} numbers of fp32 at once.",
        )


_KINDS: tuple[Callable[[Made], Iterator[Slow]], ...] = (
    *(_spills, _plain_dots, _not_ahead, _conversions, _alone),
    *(_older, _divisions, _base_e, _tf32, _idle),
)


def _bytes(count: int) -> str:
    return f"{count} byte{'s' if count != 1 else ''}"


def _count(lines: Sequence[int], what: str) -> str:
    return f"{len(lines)} {what}{'s' if len(lines) != 1 else ''}"
