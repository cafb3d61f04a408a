"""A launch, as both sides of the wall have it: its arguments, how they cross it, and what Triton makes of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.sandbox.protocol.records import OPERATION

SMALL = 1 << 30  # bytes; a launch of less fits into every GPU, and a runner that says otherwise is not believed
CONSTEXPR = "constexpr"
CONFIGURATIONS = "configurations"  # among the options of a launch: how many an autotuner has
GIVEN = "__given__"  # what a name is given is the result of this: called with the name and its own value
DIVISOR = 16  # Triton notes which integers are multiples of it
_POINTERS = {"float32": "*fp32", "float16": "*fp16", "bfloat16": "*bf16", "int32": "*i32", "int64": "*i64"}
_SCALARS = {"float32": "fp32", "int32": "i32", "int64": "i64"}


def scalar_type(value: float) -> str:
    """Return the type that Triton gives a number passed to a kernel."""
    if isinstance(value, float):
        return "float32"
    return "int32" if -(2**31) <= value < 2**31 else "int64"


@dataclass(frozen=True)
class TensorArgument:
    """A tensor that a launch passes by pointer: its dense values and its strides in elements."""

    values: npt.NDArray[Any]
    strides: tuple[int, ...]
    bf16: bool = False  # fp32 values that are passed as bf16, which NumPy does not have
    output: bool = False  # starts without values
    scratch: bool = False  # atomic operations may touch it, and volatile loads

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the values."""
        return self.values.shape

    @property
    def type(self) -> str:
        """Of its elements, as a kernel sees them."""
        return "bfloat16" if self.bf16 else self.values.dtype.name

    @property
    def span(self) -> int:
        """Elements from the first to the last, with what lies between."""
        return int(sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))) + 1

    @property
    def span_bytes(self) -> int:
        """The span in bytes."""
        return self.span * (2 if self.bf16 else self.values.itemsize)


@dataclass(frozen=True)
class Form:
    """The specialisation that Triton compiles: types of parameters, constants, and integers known to divide well."""

    signature: dict[str, str]  # Triton's type of each parameter
    constexprs: dict[str, int | float | bool]
    multiples: tuple[str, ...]  # integers that are multiples of DIVISOR, as all pointers are


@dataclass(frozen=True)
class Launch:
    """One launch of one kernel: all data that the runner gets."""

    kernel: str
    grid: tuple[int, int, int]
    tensors: Mapping[str, TensorArgument]
    scalars: Mapping[str, tuple[str, float]]  # name → (int32, int64 or float32; value)
    constexprs: Mapping[str, int | float | bool]
    checked_arithmetic: bool = False  # integers that overflow raise
    most_touched: int = 1_000_000  # elements that it may load and store in all
    most_work: int = 20_000 * OPERATION  # that it may do in all, as `inside.budget` counts
    resident: int = 0  # programs that run at the same time, if they wait for each other; 0: all of them
    in_a_row: int = 1  # launches, of which the last is told; scratch keeps its values from one to the next
    most_steps: int = 0  # that are recorded; 0: none are
    given: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)  # values: see `inside.overrides`
    asked: Mapping[str, str] = field(default_factory=dict)  # of a whole file: what is called, how, and on what layout
    tf32: bool = False  # tl.dot multiplies fp32 as a GPU does, which keeps 11 binary digits of each factor
    options: Mapping[str, int] = field(default_factory=dict)  # on a GPU: num_warps, num_stages, if not Triton's own

    @property
    def programs(self) -> int:
        """Number of programs in the grid."""
        return math.prod(self.grid)

    @property
    def small(self) -> bool:
        """Whether every GPU has the memory for it."""
        return sum(argument.span_bytes for argument in self.tensors.values()) < SMALL

    def form(self, *, ones: bool = True) -> Form:
        """Return what Triton compiles it as. `ones`: of an integer that is 1 it makes a constant."""
        signature = {name: _POINTERS[argument.type] for name, argument in self.tensors.items()}
        constexprs, multiples = dict(self.constexprs), []
        for name, (kind, value) in self.scalars.items():
            if kind == "float32":
                signature[name] = _SCALARS[kind]
            elif value == 1 and ones:
                constexprs[name] = 1
            else:
                signature[name] = _SCALARS[scalar_type(value)]
                multiples += [name] if value % DIVISOR == 0 else []
        return Form(signature, constexprs, tuple(multiples))

    def packed(self, buffers: list[bytes]) -> dict[str, Any]:
        """Return all of it for a frame's header, but for the values, which are appended to its buffers."""
        tensors = {}
        for name, argument in self.tensors.items():
            told = {"dtype": argument.values.dtype.name, "shape": argument.shape, "buffer": len(buffers)}
            tensors[name] = {**vars(argument), "values": told}
            buffers.append(argument.values.tobytes())
        return {**vars(self), "tensors": tensors}

    @staticmethod
    def unpacked(told: Mapping[str, Any], buffers: Sequence[memoryview]) -> Launch:
        """Return the launch that `packed` was asked for."""
        tensors = {}
        for name, argument in told["tensors"].items():
            of = argument["values"]
            values = np.frombuffer(buffers[of["buffer"]], of["dtype"]).reshape(of["shape"])
            tensors[name] = TensorArgument(**{**argument, "values": values, "strides": tuple(argument["strides"])})
        scalars = {name: (kind, value) for name, (kind, value) in told["scalars"].items()}
        return Launch(**{**told, "grid": tuple(told["grid"]), "tensors": tensors, "scalars": scalars})
