"""Known causes of slowness, by name. Nothing here refuses a kernel: it is right, and could be faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from checker.compiled.result import Made, Slow
from checker.course.words import Page
from checker.judge.evidence import listed

A_TILE = 8  # multiplications of one thread: of fewer, a row is scaled, and not a tile
_PAGE = Page(__file__)
_NEWEST = {"sm_90": "wgmma", "sm_100": "tcgen05"}
_NO_COPIES = " Nor can it be copied into shared memory in the background: such a copy moves at least 4 bytes."


class Cause(Enum):
    """Causes of narrow instructions: a change of it makes them wide."""

    ALIGNMENT = "alignment"
    MASK = "mask"
    STRIDE = "stride"  # or where it begins: whatever is left


@dataclass(frozen=True)
class Narrow:
    """The cause of one line's narrow accesses; `integers`: those that would have to be multiples of 16."""

    cause: Cause
    integers: tuple[str, ...] = ()


def slow(made: Made, narrow: Mapping[tuple[int, bool], Sequence[Narrow]]) -> list[Slow]:
    """Return what costs time in a kernel; lines with the same fault together. `narrow`: by line,
    and whether it stores.
    """
    together: dict[Slow, list[int]] = {}
    for one in (*_narrow(made, narrow), *(one for find in _KINDS for one in find(made))):
        together.setdefault(replace(one, lines=()), []).extend(one.lines)
    return [replace(one, lines=tuple(dict.fromkeys(lines))) for one, lines in together.items()]


def _slow(key: str, *lines: int, **holes: object) -> Slow:
    """Return what the page has under a key, on these lines."""
    said = _PAGE.said(key, {name: str(value) for name, value in holes.items()})
    return Slow(key.partition("/")[0], lines, said.title, said.explanation, said.hint)


def _narrow(made: Made, causes: Mapping[tuple[int, bool], Sequence[Narrow]]) -> Iterator[Slow]:
    for one in made.accesses:
        for why in causes.get((one.line, one.store), ()) if one.narrow else ():
            waits = _NO_COPIES if one.looped and not one.store and one.widths[0] < 4 and made.dots else ""
            holes = {"what": "stores" if one.store else "loads", "width": _counted(one.widths[0], "byte")}
            holes |= {"possible": str(one.possible), "waits": waits}
            if why.cause is Cause.ALIGNMENT:
                holes["integers"] = f"{listed([*why.integers])} {'are not' if len(why.integers) > 1 else 'is not'}"
            yield _slow(f"narrow-{why.cause.value}", one.line, **holes)


def _spills(made: Made) -> Iterator[Slow]:
    if made.spilled:
        unit = "values" if made.target.warp == 64 else "bytes"
        yield _slow("spilled-registers", spilled=f"{made.spilled:,} {unit}")


def _alone(made: Made) -> Iterator[Slow]:
    if made.at_once == 1:
        core = "an SM" if made.target.core == "SM" else "a CU"
        other = "one stage fewer" if "memory" in made.limited_by else "more warps"
        yield _slow("one-program-at-once", core=core, limit=made.limited_by, other=other)


def _plain_dots(made: Made) -> Iterator[Slow]:
    for dot in made.dots:
        if not dot.instruction:
            variant = "/on-sm-75" if made.target.name == "sm_75" else ""
            yield _slow(f"dot-in-plain-arithmetic{variant}", dot.line, count=dot.count)


def _older(made: Made) -> Iterator[Slow]:
    newest = _NEWEST.get(made.target.name)
    for dot in made.dots:
        if newest and dot.instruction and newest not in dot.instruction:
            yield _slow("older-matrix-instruction", dot.line, older=dot.instruction.split()[0], newest=newest)


def _tf32(made: Made) -> Iterator[Slow]:
    for dot in made.dots:
        if ("tf32" in dot.instruction or "xf32" in dot.instruction) and dot.precision != "tf32x3":
            yield _slow("dot-rounds-to-tf32", dot.line)


def _not_ahead(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        if loop.dots and loop.loads and not loop.kept_ready and made.target.copies_asynchronously:
            yield _slow("loop-not-pipelined", loop.line)


def _base_e(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        if loop.dots and len(loop.scaled) >= A_TILE:
            multiplications = _counted(len(loop.scaled), "multiplication")
            yield _slow("exponential-in-base-e", _busiest(loop.scaled), multiplications=multiplications)


def _divisions(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        if loop.dots and loop.divisions:  # without products, memory is what a loop waits for
            divisions = _counted(len(loop.divisions), "division")
            yield _slow("division-in-loop", _busiest(loop.divisions), divisions=divisions)


def _conversions(made: Made) -> Iterator[Slow]:
    for loop in made.loops:
        for line in loop.conversions:
            yield _slow("layout-changed-in-loop", line)


def _idle(made: Made) -> Iterator[Slow]:
    threads = made.warps * made.target.warp
    if made.accesses and made.largest_block < threads:
        yield _slow("more-threads-than-elements", threads=threads, elements=max(made.largest_block, 1))


_KINDS: tuple[Callable[[Made], Iterator[Slow]], ...] = (
    *(_spills, _plain_dots, _not_ahead, _conversions, _alone),
    *(_older, _divisions, _base_e, _tf32, _idle),
)


def _busiest(lines: Sequence[int]) -> int:
    """Return the line that is there most often."""
    return max(set(lines), key=lines.count)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' if count != 1 else ''}"
