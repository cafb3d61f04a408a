"""Assembler text, instruction by instruction: of which line each is, and whether it stands in a loop.

LLVM writes both kinds of text that there are, NVIDIA's PTX and AMD's. It names the line before each group of
instructions (`.loc`), and says of each block which loop it belongs to, in a comment next to its label.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

SUBMISSION = "submission.py"  # what the sandbox calls the text that it compiles

_FILE = re.compile(r'^\s*\.file\s+(\d+)(?:\s+"[^"]*")*\s+"([^"]*)"')
_LOC = re.compile(r"^\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)(.*)")
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_INLINED_IN_WORDS = re.compile(rf"@\[ {re.escape(SUBMISSION)}:(\d+):")
_PLACE = tuple[str, str, str]  # file, line, column
_BLOCK = re.compile(r"^(?:\$L__|\.L)BB\w+:|^\s*(?://|;) %bb\.\d+:")
_COMMENT = re.compile(r"^\s*(?://|;)")
_HEADER = re.compile(r"Loop: Header=(\w+)")
_INSTRUCTION = re.compile(r"^\s*(?:@!?%?\w+\s+)?([a-z][\w.:]*)(?:\s+(.*?))?;?\s*$")
_LABEL = re.compile(r"^\s*[\w.$]+:")


@dataclass(frozen=True)
class Instruction:
    """One instruction of one thread."""

    opcode: str
    operands: str
    lines: tuple[int, ...]  # of the submission: its own, then those that have called what it is inlined from
    loop: str  # what the innermost loop around it is called; none: ""

    @property
    def line(self) -> int:
        """Its own line; 0: nothing is said of it."""
        return self.lines[0] if self.lines else 0


def instructions(text: str) -> Iterator[Instruction]:
    """Yield all that a kernel's assembler text has, in order."""
    for lines, loop, one in lined(text):
        if not _LABEL.match(one) and (found := _INSTRUCTION.match(one.partition("//")[0])):
            yield Instruction(found[1], found[2] or "", lines, loop)


def lined(text: str) -> Iterator[tuple[tuple[int, ...], str, str]]:
    """(lines of the submission, loop, text) of each line that is no `.loc`, as an instruction has them."""
    rows = text.split("\n")
    own = {found[1] for row in rows if (found := _FILE.match(row)) and found[2].endswith(SUBMISSION)}
    outer: dict[_PLACE, _PLACE] = {}  # of what is inlined: where it was called
    lines: tuple[int, ...] = ()
    label, loop = "", ""
    for row in rows:
        if found := _LOC.match(row):
            lines, label = _lines(found, own, outer), ""
            continue
        if _BLOCK.match(row):
            label = re.sub(r"^(\$L__|\.L)", "", row.partition(":")[0])
            loop = _loop(row, label)
        elif not _COMMENT.match(row):
            label = ""
        elif label:  # a block's loops are told on several lines, the innermost last
            loop = _loop(row, label) or loop
        yield lines, loop, row


def _loop(row: str, label: str) -> str:
    """Return the loop that a comment puts a block into: its own, if that begins there."""
    if found := _HEADER.search(row):
        return found[1]
    return label if "Loop Header: Depth=" in row else ""


def _lines(loc: re.Match[str], own: set[str], outer: dict[_PLACE, _PLACE]) -> tuple[int, ...]:
    """Return the lines of the submission at a `.loc`: its own, and those that have called what is inlined there."""
    place, rest = (loc[1], loc[2], loc[3]), loc[4]
    if found := _INLINED.search(rest):
        outer[place] = (found[1], found[2], found[3])
    if callers := _INLINED_IN_WORDS.findall(rest):
        return (*((int(place[1]),) if place[0] in own else ()), *map(int, callers))
    return tuple(_chain(place, own, outer))


def _chain(place: _PLACE, own: set[str], outer: Mapping[_PLACE, _PLACE]) -> Iterator[int]:
    for _ in range(len(outer) + 1):
        if place[0] in own:
            yield int(place[1])
        if place not in outer:
            return
        place = outer[place]


# How many bytes each thread moves between registers (or shared memory) and global memory.
_NVIDIA_ACCESS = re.compile(r"^(ld|st)\.(?:\w+\.|L\w+::\w+\.)*?global(?:\.[\w:]+?)*?(?:\.v(\d))?\.[bsuf](\d+)$")
_AMD_ACCESS = re.compile(r"^(?:global|buffer|flat)_(load|store)_(?:lds_)?(\w+?)(?:_d16(?:_hi)?)?$")
_AMD_BYTES = {
    name: size
    for size, names in {
        16: "dwordx4 b128",
        12: "dwordx3 b96",
        8: "dwordx2 b64",
        4: "dword b32",
        2: "ushort sshort short b16 u16",
        1: "ubyte sbyte byte b8",
    }.items()
    for name in names.split()
}
_MATRIX = re.compile(r"^(wgmma\.mma_async|mma\.sync|tcgen05\.mma|v_mfma_|v_smfmac_|v_wmma_)")
_SHAPE = re.compile(r"\.(m\d+n\d+k\d+)|_(\d+x\d+x\d+)")
_DIVISION = re.compile(r"^div\.\w*\.?f\d|^v_div_fixup_f")
_MULTIPLY_ADD = re.compile(r"^fma\.rn(\.ftz)?\.f(32|16)|^v_(pk_)?fmac?_f(32|16)|^v_dot2|^v_fma_mix")
_LOG2_E = re.compile(r"0f3FB8AA3B|0x3fb8aa3b", re.IGNORECASE)


@dataclass(frozen=True)
class Moved:
    """Traffic of one instruction in global memory."""

    store: bool
    bytes: int  # of each thread; 0: a unit of its own copies whole tiles
    asynchronous: bool = False


def moved(one: Instruction) -> Moved | None:
    """Return what an instruction does with global memory; None: nothing."""
    if one.opcode.startswith("cp.async.bulk"):
        return Moved("global.shared" in one.opcode, 0, True) if "tensor" in one.opcode else None
    if re.match(r"cp\.async\.c[ag]\.", one.opcode):
        size = re.search(r"\],\s*(0x[0-9a-f]+|\d+)", one.operands)
        return Moved(False, int(size[1], 0) if size else 16, True)
    if found := _NVIDIA_ACCESS.match(one.opcode):
        return Moved(found[1] == "st", int(found[2] or 1) * int(found[3]) // 8)
    if (found := _AMD_ACCESS.match(one.opcode)) and found[2] in _AMD_BYTES:
        return Moved(found[1] == "store", _AMD_BYTES[found[2]], "lds" in one.opcode or " lds" in one.operands)
    return None


def matrix(one: Instruction) -> str:
    """Return a matrix instruction's name, with its shape and type, such as `wgmma m64n64k16 f16`; "": it is none."""
    if not (found := _MATRIX.match(one.opcode)):
        return ""
    kind, shape = found[1].rstrip("_").removeprefix("v_").partition(".")[0], _SHAPE.search(one.opcode)
    types = re.findall(r"(?:\.|_|::)(tf32|bf16|f16|f32|f64|f8\w*|i8|xf32|fp\w+)", one.opcode)
    numbers = [t for t in types if t != "f32"] or types
    size = (shape[1] or shape[2]) if shape else ""
    return " ".join(filter(None, (kind, size, numbers[0] if numbers else "")))


def multiplies_and_adds(one: Instruction) -> bool:
    """Return whether it is a plain multiplication with an addition: what tl.dot becomes without matrix instructions."""
    return _MULTIPLY_ADD.match(one.opcode) is not None


def divides(one: Instruction) -> bool:
    """Return whether it is a division of floating-point numbers, or its last part."""
    return _DIVISION.match(one.opcode) is not None


def scales_for_base_2(one: Instruction) -> bool:
    """Return whether it multiplies by log2(e), for an exponential in base e."""
    return _LOG2_E.search(one.operands) is not None


def writes_shared(one: Instruction) -> bool:
    """Return whether registers go into shared memory."""
    return one.opcode.startswith(("st.shared", "stmatrix", "ds_write", "ds_store"))
