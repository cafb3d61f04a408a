"""Kernels that functions of PyTorch launch: what stands for one, and runs it on Triton's interpreter.

Each pointer that a kernel gets leads to the whole storage of its tensor, as on a GPU: what a wrong stride reaches there
is read and written, and what lies outside is refused.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from checker.sandbox.inside import interpreter, outcomes
from checker.sandbox.inside.memory import Memory, RefusedAccess, SandboxTensor
from checker.sandbox.inside.running import running
from checker.sandbox.protocol.launch import CONSTEXPR, Launch, TensorArgument, scalar_type
from checker.sandbox.protocol.records import LAUNCHED, STORE, Record

OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})  # for a compiler
MOST_PROGRAMS = (1 << 31) - 1  # of a grid
MOST_FORMS = 8  # of the launches of one call that are told
records: list[Record] = []  # of the launches of the call in progress


class OutsideMemory(Exception):
    """A kernel has accessed something outside the memory of a tensor: a sentence."""


class Launcher:
    """A substitute for a kernel: `kernel[grid](…)` launches it."""

    types: tuple[torch.dtype, ...] = (torch.float32, torch.float16, torch.bfloat16)

    def __init__(self, name: str, number: int, kernel: Any):
        self.name, self.number, self.kernel = name, number, kernel
        self.signature = inspect.signature(kernel.fn)
        self.constexprs = {
            parameter.name
            for parameter in self.signature.parameters.values()
            if "constexpr" in str(parameter.annotation)
        }

    def __getitem__(self, grid: Any) -> Any:
        return lambda *given, **named: self._launch(grid, given, named)

    def _sides(self, grid: Any, bound: Mapping[str, Any]) -> tuple[int, int, int]:
        """Return the grid as Triton has it."""
        if not isinstance(grid, tuple) or not 1 <= len(grid) <= 3 or not all(type(side) is int for side in grid):
            raise TypeError(f"{self.name}[grid](…): the grid must be a tuple of one to three whole numbers")
        if min(grid) < 1:
            raise ValueError(f"{self.name} is launched with a grid of {grid}: no program runs")
        if math.prod(grid) > MOST_PROGRAMS:
            raise ValueError(f"{self.name} is launched with a grid of {grid}: more programs than can be run")
        x, y, z = (*grid, 1, 1)[:3]
        return x, y, z

    def _bound(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments by parameter."""
        try:
            return dict(self.signature.bind(*given, **named).arguments)
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None

    def _memory(self, tensors: list[SandboxTensor]) -> Memory:
        return Memory(tensors, interpreter.running_position, float("nan"))

    def _order(self, programs: int) -> npt.NDArray[np.int64]:
        """In which order the programs run."""
        return np.arange(programs)

    def _done(self, memory: Memory, given: Mapping[str, torch.Tensor]) -> None:
        """Note what a launch did that ran to its end; `given`: its tensors by parameter."""

    def _launch(self, grid: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        options = {name: value for name, value in named.items() if name in OPTIONS - self.signature.parameters.keys()}
        bound = self._bound(given, {name: value for name, value in named.items() if name not in options})
        sides = self._sides(grid, bound)
        tensors: list[SandboxTensor] = []
        copied: list[tuple[torch.Tensor, npt.NDArray[Any]]] = []
        memory = self._memory(tensors)
        arguments = {name: self._argument(name, value, tensors, copied) for name, value in bound.items()}
        programs = math.prod(sides)
        records.append(Record(LAUNCHED, line=running.where()[1], lanes=programs, detail=self.number))
        self._note(tensors, bound, options)
        bodies, had = dict(running.entered), dict(outcomes.had)  # the calling function's: a launch counts its own
        try:
            interpreter.launch(self.kernel, memory, arguments, sides, self._order(programs), checked_arithmetic=False)
            for whole, values in copied:
                whole.copy_(torch.from_numpy(values))
        except Exception as error:
            refused = error if isinstance(error, RefusedAccess) else error.__cause__  # Triton wraps a device function's
            if isinstance(refused, RefusedAccess):
                sentence = self._sentence(refused.report, tensors)
                raise OutsideMemory(sentence).with_traceback(refused.__traceback__) from None
            raise
        finally:
            running.entered.clear()
            running.entered.update(bodies)
            outcomes.had.clear()
            outcomes.had.update(had)
        passed = {name: self._memory_of(value) for name, value in bound.items()}
        self._done(memory, {name: tensor for name, tensor in passed.items() if tensor is not None})

    def _memory_of(self, value: Any) -> torch.Tensor | None:
        """Return the tensor that an argument leads to, if it does."""
        return value if isinstance(value, torch.Tensor) else None

    def _note(self, tensors: list[SandboxTensor], bound: dict[str, Any], options: dict[str, Any]) -> None:
        """Note as what Triton would compile this launch."""
        if wrong := next((name for name, value in options.items() if type(value) is not int), None):
            raise TypeError(f"{self.name}: {wrong} must be a whole number")
        known = {one.name: TensorArgument(one.values, (1,), one.bf16) for one in tensors}
        constexprs = {name: value for name, value in bound.items() if name in self.constexprs}
        numbers = {n: (scalar_type(v), v) for n, v in bound.items() if n not in known and n not in constexprs}
        form = Launch(self.name, (1, 1, 1), known, numbers, constexprs).form()
        signature = {name: form.signature.get(name, CONSTEXPR) for name in bound}
        launch = {"kernel": self.number, "options": options, "line": running.where()[1]}
        # Which integers are 1, or multiples of 16, says nothing of whether a GPU has room for it.
        kind = str((self.number, [one.type for one in known.values()], constexprs, options))
        if len(running.launched) < MOST_FORMS:
            running.launched.setdefault(kind, {**vars(form), "signature": signature, **launch})

    def _argument(
        self, name: str, value: Any, tensors: list[SandboxTensor], copied: list[tuple[torch.Tensor, npt.NDArray[Any]]]
    ) -> Any:
        """Return what the kernel gets for a value; a tensor's memory goes to `tensors`, and to `copied` if it is a
        copy.
        """
        if isinstance(value, torch.Tensor):
            if value.dtype not in self.types:
                kind = str(value.dtype).removeprefix("torch.")
                raise TypeError(f"{self.name} gets {kind} for {name}: it takes float32, float16 or bfloat16")
            storage, half = value.detach().untyped_storage(), value.dtype is torch.bfloat16
            count = storage.nbytes() // value.element_size()
            whole = value.detach().as_strided((count,), (1,), 0)
            values = (whole.float() if half else whole).numpy()
            tensors.append(SandboxTensor(name, values, (1,), slot=len(tensors) + 1, bf16=half))
            if half:  # NumPy has a copy
                copied.append((whole, values))
            return interpreter.pointer(tensors[-1], int(value.storage_offset()))
        if name in self.constexprs:
            return self._constant(name, value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{self.name} gets {type(value).__name__} for {name}, and not a number or a tensor")
        return interpreter.scalar(value, scalar_type(value))

    def _constant(self, name: str, value: Any) -> Any:
        """Return what the kernel gets for a constexpr."""
        if value is not None and not isinstance(value, bool | int | float):
            raise TypeError(f"{self.name} gets {type(value).__name__} for {name}, which must be a number")
        return value

    def _sentence(self, refused: dict[str, Any], tensors: list[SandboxTensor]) -> str:
        """Return the accessed element and its tensor."""
        did = "writes to" if refused["kind"] == STORE else "reads"
        program = f"program {refused['program']} of {self.name} {did}"
        sizes = {tensor.name: tensor.values.size for tensor in tensors}
        if refused["tensor"] is None:
            return f"{program} memory that belongs to no tensor"
        of = refused["tensor"]
        if not 0 <= refused["first"] < sizes[of]:
            return f"{program} element {refused['first']} of {of}, counted from 0 in a memory of {sizes[of]} elements"
        return f"{program} {of} as {refused['dtype']}, which its elements are not"
