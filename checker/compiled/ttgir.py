"""Triton's own text for GPUs: which blocks are loaded and stored, what loops keep ready, and what changes its layout.

A layout says which thread holds which elements of a block. `ttg.convert_layout` gives a block another one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from checker.compiled.assembler import SUBMISSION

_LOC = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_DIRECT = re.compile(rf'"(?:[^"]*/)?{re.escape(SUBMISSION)}":(\d+):\d+')
_AT = re.compile(r"loc\((.*)\)$")
_ALIAS = re.compile(r"#loc\d*")
_OPERATION = re.compile(r'^(?:%[\w:#-]+(?:, %[\w:#-]+)* = )?"?([a-z_]+\.[\w.]+)"?')
_POINTERS = re.compile(r"tensor<([\dx]+)x!tt\.ptr<(\w+)>")
_VALUES = re.compile(r"tensor<([\dx]+)x([a-z]+\d+\w*)[,>]")
_BUFFERS = re.compile(r"ttg\.local_alloc\s*:\s*\(\)\s*->\s*!ttg\.memdesc<(\d+)x\d+x.*mutable")
_LOADED = re.compile(r"^(%[\w-]+) = tt\.load")
_INTO_SHARED = re.compile(r"ttg\.local_alloc (%[\w-]+)")
_AS_A_FACTOR = re.compile(r"tensor<[^,]+, (#\w+)> -> tensor<[^,]+, #ttg\.dot_op<\{opIdx = 0,")
_MOVES = ("tt.load", "tt.store", "ttg.async_copy_global_to_local")


@dataclass(frozen=True)
class Block:
    """A block of a load or a store, all threads together."""

    elements: int
    bytes: int  # of an element


@dataclass(frozen=True)
class Loops:
    """Facts by line; those of an inlined function are at its own line."""

    blocks: Mapping[int, Block] = field(default_factory=dict)  # the largest that is loaded or stored there
    kept_ready: Mapping[int, int] = field(default_factory=dict)  # of a load: so many tiles have room in shared memory
    moved: tuple[tuple[int, ...], ...] = ()  # in loops, what gives a block another layout: its line, and its callers


class Unknown(ValueError):
    """The text is not what this module knows."""


def loops(text: str) -> Loops:
    """Read a kernel's text. Raises Unknown."""
    if "tt.func" not in text or not _LOC.search(text):
        raise Unknown("there is no function with lines")
    blocks: dict[int, Block] = {}
    ready: dict[int, int] = {}
    moved = []
    fragments = set(re.findall(r"^(#\w+) = #ttg\.nvidia_mma", text, re.MULTILINE))
    loaded: set[str] = set()
    open_regions: list[bool] = []  # whether each is a loop's
    for lines, line in ((lines, line.strip()) for lines, line in lined(text)):
        place = lines[0] if lines else 0
        if line.startswith("}") and open_regions:
            open_regions.pop()
        found = _OPERATION.match(line)
        name = found[1] if found else ""
        if block := _block(name, line):
            blocks[place] = max(block, blocks.get(place, block), key=lambda one: one.elements * one.bytes)
        if found := _BUFFERS.search(line):
            ready[place] = max(int(found[1]), ready.get(place, 0))
        if found := _LOADED.match(line):
            loaded.add(found[1])
        if any(open_regions) and _changes_layout(name, line, fragments, loaded):
            moved.append(lines)
        if re.search(r"\{(?: loc\(.*\))?$", line) or line.endswith("({"):
            open_regions.append(name in ("scf.for", "scf.while"))
    if open_regions:
        raise Unknown("a region is not closed")
    return Loops(blocks, ready, tuple(moved))


def _changes_layout(name: str, line: str, fragments: set[str], loaded: set[str]) -> bool:
    """Return whether a computed block gets to other threads, as far as types tell; a result as a factor stays in
    registers.
    """
    if found := _INTO_SHARED.search(line):
        return found[1] not in loaded  # or it is a load that goes there
    found = _AS_A_FACTOR.search(line)
    return name == "ttg.convert_layout" and not (found and found[1] in fragments)


def lined(text: str) -> Iterator[tuple[tuple[int, ...], str]]:
    """(lines of the submission, text) of each line but those that say what places are called.

    The first line is its own, the others have called what it is inlined from.
    """
    lines = text.split("\n")
    places = {found[1]: found[2] for line in lines if (found := _LOC.match(line))}
    for line in lines:
        if not line.startswith(("#", "//")):
            yield tuple(_lines(line, places)), line


def _block(name: str, line: str) -> Block | None:
    if not (name in _MOVES or "buffer_load" in name or "buffer_store" in name):
        return None
    if found := _POINTERS.search(line) or _VALUES.search(line):
        bits = re.search(r"\d+", found[2])
        return Block(math.prod(map(int, found[1].split("x"))), int(bits[0]) // 8 if bits else 4)
    return None


def _lines(line: str, places: Mapping[str, str]) -> Iterator[int]:
    """Yield the submission's lines that an operation is from, the innermost first."""
    found = _AT.search(line)
    waiting, seen = [found[1] if found else ""], set[str]()
    while waiting:
        place = waiting.pop(0)
        if direct := _DIRECT.search(place):
            yield int(direct[1])
        aliases = [alias for alias in _ALIAS.findall(place) if alias not in seen]
        seen |= {*aliases}
        waiting = [places.get(alias, "") for alias in aliases] + waiting
