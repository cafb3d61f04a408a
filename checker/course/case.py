"""Cases: launches with tensors in their layout, and the properties that each proves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Outputs = Mapping[str, Array]

BF16_EPS = 2.0**-7


class Role(str, Enum):
    """A kernel's use of a tensor."""

    INPUT = "input"  # must be unchanged afterwards
    OUTPUT = "output"  # starts as NaN; every element must be stored
    STATE = "state"  # read and written; starts with the launch's own values
    SCRATCH = "scratch"  # where programs exchange numbers, by atomics and volatile loads only; kept between launches


class AxisKind(str, Enum):
    """The unit of a tensor's axis; the value is the word for one of it."""

    POSITION = "position"
    ELEMENT = "element"
    PIECE = "piece"
    ROW = "row"
    COLUMN = "column"
    SEQUENCE = "sequence"
    HEAD = "head"
    QUERY = "query"
    KEY = "key"
    DIMENSION = "dimension"
    SPLIT = "split"
    WORD = "word"
    COUNTER = "counter"


@dataclass(frozen=True)
class Axis:
    """One axis of a tensor: what it counts, and how a launch cuts it."""

    kind: AxisKind
    block: int = 0  # how much of it a tile covers; 0: all of it
    labels: tuple[str, ...] = ()  # what stands at each position, in a few words
    number: int = 0  # among a tensor's axes, if nothing else tells them apart

    @property
    def word(self) -> str:
        """For a report, in the singular."""
        return f"axis-{self.number} position" if self.kind is AxisKind.POSITION else self.kind.value

    @property
    def plural(self) -> str:
        """`queries` for `query`."""
        return f"{self.word[:-1]}ies" if self.word.endswith("ry") else f"{self.word}s"


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor argument: dense `values` and the `strides` (in elements) that it is laid out with."""

    values: Array
    strides: tuple[int, ...]
    role: Role = Role.INPUT
    axes: tuple[Axis, ...] = ()
    bf16: bool = False  # fp32 values that bf16 can hold, passed as bf16, which NumPy does not have

    @cached_property
    def type(self) -> str:
        """Of its elements, as a kernel sees them."""
        return "bfloat16" if self.bf16 else self.values.dtype.name

    @property
    def eps(self) -> float:
        """The distance from 1 to the next number of its type."""
        return BF16_EPS if self.bf16 else float(np.finfo(self.values.dtype).eps)

    @property
    def smallest(self) -> float:
        """The smallest positive number of its type, where that matters: 0 for types with fp32's range."""
        return float(np.finfo(self.values.dtype).smallest_subnormal) if self.values.dtype == np.float16 else 0.0

    def __post_init__(self) -> None:
        """Axes of which nothing is said are numbered."""
        if not self.axes:
            object.__setattr__(self, "axes", tuple(Axis(AxisKind.POSITION, number=n) for n in range(self.values.ndim)))

    @staticmethod
    def output(
        shape: tuple[int, ...], dtype: npt.DTypeLike, strides: tuple[int, ...], axes: tuple[Axis, ...] = ()
    ) -> Tensor:
        """Return a tensor to be written, full of NaN."""
        return Tensor(blank(shape, dtype, np.nan), strides, Role.OUTPUT, axes)


@dataclass(frozen=True, eq=False)
class Case:
    """One launch: inputs, grid and arguments, and the properties that it is evidence for."""

    title: str  # what is special about it, in a few words
    kernel: str
    proves: tuple[str, ...]
    grid: tuple[int, ...]
    tensors: Mapping[str, Tensor]  # by parameter name
    scalars: Mapping[str, int | float] = field(default_factory=dict)
    constexprs: Mapping[str, int | float | bool] = field(default_factory=dict)
    checked_arithmetic: bool = False  # integers that overflow raise
    on_gpu: bool = False  # tl.dot may round fp32 inputs to TF32, and nobody counts accesses
    informative: bool = True  # False: most mistakes look alike in it, so it is diagnosed only if no other case failed
    once: bool = False  # chosen for its sizes: one run will do, on the interpreter only
    programs: tuple[int, ...] = ()  # those that are run, if not all are; their traffic is not counted
    asked: Mapping[str, npt.NDArray[np.bool_]] = field(default_factory=dict)  # then: what they write of each output
    why: str = ""  # a sentence on why this submission gets the case, if not every one does
    sizes: str = ""  # of its tensors and blocks, in words
    asks: frozenset[str] = frozenset()  # properties that it needs as well as those it proves
    resident: int = 0  # programs that run at the same time, if they wait for each other; 0: all of them
    in_a_row: int = 1  # launches, one after the other, of which the last is judged; scratch is not reset between them
    id: int = -1  # its place among the cases that are run together, see `numbered`

    @property
    def name(self) -> str:
        """What reports call it: its title and its sizes."""
        return f"{self.title} ({self.sizes})" if self.sizes else self.title


def numbered(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that are run together, each with its place as its id: that identifies it,
    whatever it is called.
    """
    return [replace(case, id=n) for n, case in enumerate(cases)]


def asked_besides(proves: tuple[str, ...], of: Mapping[str, bool]) -> frozenset[str]:
    """Return what a case asks for besides what it proves; `of`: each property that a launch may ask for, and if it
    does.
    """
    return frozenset(name for name, asked in of.items() if asked and name not in proves)


def for_gpu(case: Case) -> Case:
    """Return the launch as a GPU runs it: with all of its programs, so that all of its outputs are asked for."""
    return replace(case, on_gpu=True, once=False, checked_arithmetic=False, programs=(), asked={})


def blank(shape: tuple[int, ...], dtype: npt.DTypeLike, value: float = 0.0) -> Array:
    """Return an array that holds one value everywhere, and takes no memory."""
    return np.broadcast_to(np.array(value, dtype), shape)


def as_bf16(values: Array) -> Array:
    """Values rounded to the nearest that bf16 can hold (ties to even), as fp32."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    return np.asarray(rounded.astype(np.uint32).view(np.float32))
