"""One kernel as compiled for one target, as data; and the known causes of slowness in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from checker.course.targets import Target


@dataclass(frozen=True)
class Access:
    """Traffic of one line between global memory and the chip; counts are instructions of one thread."""

    line: int
    store: bool
    widths: tuple[int, ...]  # bytes that an instruction moves, the narrowest first; 0: a unit copies whole tiles
    count: int
    looped: bool  # in a loop; then only what stands there is counted
    asynchronous: bool  # straight into shared memory, while the threads go on
    possible: int  # bytes that an instruction could move if all threads shared the block evenly

    @property
    def narrow(self) -> bool:
        """Whether instructions move far less than they could; half of it costs next to nothing."""
        return 0 < 2 * self.widths[0] < self.possible


@dataclass(frozen=True)
class Dot:
    """A `tl.dot` as compiled."""

    line: int
    instruction: str  # kind, shape and type of a matrix instruction; "": plain multiplications and additions
    precision: str  # what it asks for, such as tf32x3
    count: int
    looped: bool


@dataclass(frozen=True)
class Loop:
    """A `for` of the kernel that is still a loop."""

    line: int
    last: int
    dots: bool  # whether there is a tl.dot in it
    loads: tuple[int, ...]  # lines of its loads from global memory
    kept_ready: int  # so many tiles of a load have room in shared memory; 0: nothing is loaded ahead
    instructions: int
    divisions: tuple[int, ...]  # lines, one for each
    scaled: tuple[int, ...]  # the same of products with log2(e)
    conversions: tuple[int, ...]  # lines of changes of layout that go through shared memory
    ready: int = 0  # so many of its loads have such room


@dataclass(frozen=True)
class Made:
    """One kernel, compiled for one target. What is not known is None."""

    kernel: str
    target: Target
    launch: str  # at which size, and with which blocks, warps and stages
    warps: int
    instructions: int = 0
    registers: int | None = None
    spilled: int | None = None
    shared: int | None = None
    tensor_memory: int | None = None
    at_once: int | None = None  # programs on one core
    limited_by: str = ""
    accesses: tuple[Access, ...] = ()
    dots: tuple[Dot, ...] = ()
    loops: tuple[Loop, ...] = ()
    largest_block: int = 0  # elements; 0: only single numbers are loaded and stored
    statements: Mapping[int, int] = field(default_factory=dict)  # from a line to the first one of its statement
    unknown: str = ""  # what of the compiler's texts could not be read
    error: str = ""  # why it did not compile, in a sentence; with the line if there is one
    error_line: int = 0
    texts: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Slow:
    """Something that is known to cost time, and what to change."""

    id: str
    lines: tuple[int, ...]  # none: it is true of the whole kernel
    title: str
    explanation: str
    hint: str
