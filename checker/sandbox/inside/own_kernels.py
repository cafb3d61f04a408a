"""The kernels of a whole file: what its decorators give here, and what their launches leave behind.

`triton.jit`, `autotune` and `heuristics` give what launches a kernel on Triton's interpreter; of an autotuner's
configurations the first one is taken.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
import triton.language as tl
from triton.runtime import interpreter as of_triton
from triton.tools.tensor_descriptor import TensorDescriptor

from checker.sandbox.inside import accesses, bfloat16, interpreter, language, launching
from checker.sandbox.inside.launching import OPTIONS, Launcher
from checker.sandbox.inside.memory import ADDRESS_BITS, Memory, SandboxTensor
from checker.sandbox.protocol.launch import CONFIGURATIONS
from checker.sandbox.protocol.records import IN_DOT, IN_LOOP, IN_SUM, LOAD, LOSS, STORE, Record

_WAYS = {"FADD": np.add, "ADD": np.add, "MAX": np.maximum, "MIN": np.minimum, "UMAX": np.maximum, "UMIN": np.minimum}
_LOSSES = {IN_DOT, IN_SUM, IN_LOOP}  # of digits, that are told: what is added up in half precision


class State:
    """State that the launches of a call share."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}  # the file's
        self.kernels: dict[int, tuple[int, ast.FunctionDef]] = {}  # number and rewritten definition, by first line
        self.path = ""
        self.loaded = False  # whether the file has run to its end
        self.shuffled = False  # whether programs run in another order
        self.poison = float("nan")
        self.poisoned = self.atomic = False
        self.kept: list[torch.UntypedStorage] = []  # so that no other one gets its place
        self.lines: dict[int, npt.NDArray[np.int32]] = {}  # by storage: the line that stored each element last
        self.moved: dict[int, list[int]] = {}  # by storage: elements loaded and stored


state = State()


def put_in_place() -> None:
    """Put what is below in the place of Triton's own, for the life of this process."""
    for module in (triton, triton.runtime, triton.runtime.jit):
        vars(module)["jit"] = jit
    for module in (triton, triton.runtime, triton.runtime.autotuner):
        vars(module).update(autotune=autotune, heuristics=heuristics)
    accesses.ATOMICS.update(_WAYS)


def rewritten(kernel: ast.FunctionDef) -> ast.FunctionDef:
    """Return a kernel as Triton's compiler reads it, as a definition of its own."""
    alone = ast.Module([copy.deepcopy(kernel)], [])
    alone.body[0].decorator_list = []  # type: ignore[attr-defined]
    interpreter.Asserts().visit(alone)
    made = of_triton.ASTTransformer().visit(language.rewritten(alone))
    definition: ast.FunctionDef = ast.fix_missing_locations(made).body[0]
    return definition


def jit(fn: Any = None, **_: Any) -> Any:
    """`triton.jit`, with or without arguments: a kernel of the file can be launched; others are as Triton has them."""
    if fn is None:
        return jit
    function, code = of_triton.InterpretedFunction(fn), getattr(fn, "__code__", None)
    if code is None or code.co_filename != state.path or code.co_firstlineno not in state.kernels:
        return function
    return Kernel(fn.__name__, *state.kernels[code.co_firstlineno], function)


def autotune(configs: Any = (), *_: Any, **__: Any) -> Callable[[Kernel], Kernel]:
    """`triton.autotune`: the first configuration, whatever it is."""

    def chosen(kernel: Kernel) -> Kernel:
        kernel.configurations = len(configs)
        for config in configs[:1]:
            options = {name: getattr(config, name, None) for name in OPTIONS}
            kernel.prepared = getattr(config, "pre_hook", None)
            kernel.defaults |= config.kwargs | {name: value for name, value in options.items() if type(value) is int}
        return kernel

    return chosen


def heuristics(values: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> Callable[[Kernel], Kernel]:
    """`triton.heuristics`: values that follow from the other arguments."""

    def with_them(kernel: Kernel) -> Kernel:
        kernel.computed |= values
        return kernel

    return with_them


class SharedElement(Exception):
    """Programs add to the same element one after the other, and on a GPU at the same time: a sentence."""


class _Memory(Memory):
    """Memory in which atomic operations may touch any tensor: as a load and a store, in the order of programs.

    What a program loads and stores otherwise, no other one may have stored.
    """

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.alone = True  # no atomic operation is in progress
        self.writers: dict[int, npt.NDArray[np.int32]] = {}  # of each tensor: the program that stored each element last
        self.readers: dict[int, npt.NDArray[np.int32]] = {}

    def _record(
        self, kind: int, tensor: SandboxTensor, elements: Any, lanes: int, detail: int, volatile: bool = False
    ) -> None:
        if self.alone:
            program, _ = self.where()
            of = self.writers if kind == STORE else self.readers
            noted = of.setdefault(tensor.slot, np.full(tensor.values.size, -1, np.int32))
            if kind == STORE and tensor.slot in self.readers:
                before = noted[elements]
                met = (before >= 0) & (before != program) & (self.readers[tensor.slot][elements] == program)
                if met.any():
                    at = int(np.argmax(met))
                    raise SharedElement(
                        f"programs {before[at]} and {program} both load element {int(np.asarray(elements)[at])} of "
                        f"{tensor.name}, and store to it"
                    )
            noted[elements] = program
        super()._record(kind, tensor, elements, lanes, detail, volatile)

    def atomic(
        self,
        operation: Callable[[Any, Any], Any],
        addresses: npt.NDArray[np.uint64],
        values: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        dtype: np.dtype[Any],
    ) -> npt.NDArray[Any]:
        """As memory has it, and recorded."""
        found = np.zeros(addresses.shape, dtype)
        state.atomic = True
        if mask.any():
            slot = int(addresses[mask].flat[0]) >> ADDRESS_BITS
            half = 1 <= slot <= len(self.tensors) and self.tensors[slot - 1].bf16
            held = self.tensors[slot - 1].values.dtype if 1 <= slot <= len(self.tensors) else dtype
            # Triton makes a maximum of fp32 of two operations on whole numbers with the same bits.
            known = held if not half and held.itemsize == dtype.itemsize else dtype
            tensor, elements = self._translate(STORE, addresses[mask], known, half)
            flat = tensor.values.reshape(-1)
            flat = flat.view(dtype) if known is held else flat
            given = np.broadcast_to(values, addresses.shape)[mask]
            found[mask] = flat[elements]
            if isinstance(operation, np.ufunc):
                operation.at(flat, elements, given)
            else:
                flat[elements] = given
            if half:
                flat[elements] = bfloat16.rounded(flat[elements])
            self.alone = False
            for kind in (LOAD, STORE):
                self._record(kind, tensor, elements, addresses.size, 0)
            self.alone = True
        return found


class _Compiled:
    """A kernel that `warmup` has compiled, with constants: what it needs of a GPU is little, and it can be launched."""

    n_regs, n_spills, metadata = 32, 0, SimpleNamespace(shared=4096, num_warps=4)

    def __init__(self, kernel: Kernel, known: Mapping[str, Any]):
        self.kernel = kernel
        self.constants = {name: value for name, value in known.items() if name not in kernel.signature.parameters}
        self.constants |= {name: known[name] for name in kernel.constexprs & known.keys()}

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: Any) -> Any:
        def launch(*given: Any) -> None:
            every = self.kernel.signature.parameters
            names = every if len(given) == len(every) else [name for name in every if name not in self.constants]
            self.kernel[grid](**{**self.constants, **dict(zip(names, given, strict=True))})

        return launch


class Kernel(Launcher):
    """A kernel of the file."""

    types = (*Launcher.types, torch.int32, torch.int64)

    def __init__(self, name: str, number: int, definition: ast.FunctionDef, kernel: Any):
        super().__init__(name, number, kernel)
        self.definition = definition
        self.defaults: dict[str, Any] = {}
        self.prepared: Callable[[dict[str, Any]], Any] | None = None  # what a configuration does before a launch
        self.configurations = 0  # of its autotuner
        self.computed: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
        self.fn = kernel.fn

    def __call__(self, *given: Any, **named: Any) -> Any:
        """As another kernel calls it."""
        return self.kernel(*given, **named)

    def run(self, *given: Any, grid: Any, **named: Any) -> None:
        """As `kernel[grid]`."""
        self._launch(grid, given, named)

    def warmup(self, *given: Any, grid: Any = None, **named: Any) -> _Compiled:
        """As if it was compiled."""
        return _Compiled(self, {**self.defaults, **named, **dict(zip(self.signature.parameters, given, strict=False))})

    def _launch(self, grid: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        named = {**self.defaults, **named}
        named.pop("warmup", None)
        _make_visible()
        super()._launch(grid, given, named)

    def _bound(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        known = {name: value for name, value in named.items() if name in self.signature.parameters}
        if self.computed:
            told = self.signature.bind_partial(*given, **known)
            told.apply_defaults()
            known |= {name: value(told.arguments) for name, value in self.computed.items()}
        if strange := named.keys() - known.keys():
            raise TypeError(f"{self.name}: got an unexpected keyword argument '{min(strange)}'")
        bound = super()._bound(given, known)
        if self.prepared is not None:
            self.prepared(bound)
        return bound

    def _sides(self, grid: Any, bound: Mapping[str, Any]) -> tuple[int, int, int]:
        if callable(grid):
            defaults = {n: p.default for n, p in self.signature.parameters.items() if p.default is not p.empty}
            grid = grid({**defaults, **bound})
        grid = tuple(grid) if isinstance(grid, list | torch.Size) else grid
        return super()._sides(grid if isinstance(grid, tuple) else (grid,), bound)

    def _memory(self, tensors: list[SandboxTensor]) -> Memory:
        return _Memory(tensors, interpreter.running_position, state.poison)

    def _order(self, programs: int) -> npt.NDArray[np.int64]:
        return np.random.default_rng(0).permutation(programs) if state.shuffled else super()._order(programs)

    def _constant(self, name: str, value: Any) -> Any:
        return value

    def _memory_of(self, value: Any) -> torch.Tensor | None:
        return super()._memory_of(value.base if isinstance(value, TensorDescriptor) else value)

    def _argument(self, name: str, value: Any, tensors: list[SandboxTensor], copied: list[Any]) -> Any:
        if value is None:  # a constant, as Triton has it
            return None
        if not isinstance(value, TensorDescriptor):
            return super()._argument(name, value, tensors, copied)
        sizes, steps = (
            [interpreter.scalar(int(n), "int32") for n in numbers] for numbers in (value.shape, value.strides)
        )
        return of_triton.interpreter_semantic.make_tensor_descriptor(
            base=super()._argument(name, value.base, tensors, copied),
            shape=sizes,
            strides=[*steps[:-1], tl.constexpr(1)],
            block_shape=[tl.constexpr(int(n)) for n in value.block_shape],
        )

    def _sentence(self, refused: dict[str, Any], tensors: list[SandboxTensor]) -> str:
        said = super()._sentence(refused, tensors)
        past = {one.name for one in tensors if not 0 <= refused["first"] < one.values.size}
        return said + (
            ", and none inside it" if refused["tensor"] in past and refused["outside"] == refused["lanes"] else ""
        )

    def _note(self, tensors: list[SandboxTensor], bound: dict[str, Any], options: dict[str, Any]) -> None:
        told = {n: (bool | int | float) if n in self.constexprs else (torch.Tensor | bool | int | float) for n in bound}
        if all(isinstance(value, told[name]) for name, value in bound.items()):  # others no compiler is told of
            known = {name: value for name, value in options.items() if value is not None}
            super()._note(tensors, bound, known | ({CONFIGURATIONS: n} if (n := self.configurations) > 1 else {}))

    def _done(self, memory: Memory, given: Mapping[str, torch.Tensor]) -> None:
        state.poisoned = state.poisoned or memory.poisoned
        for way in _LOSSES & memory.losses.keys():
            times, _, line = memory.losses[way]
            launching.records.append(Record(LOSS, line=line, lanes=times, detail=way))
        storages = [tensor.untyped_storage() for tensor in given.values()]
        state.kept += storages
        accesses = [record for record in memory.records if record.kind in (LOAD, STORE)]
        for record, elements in zip(accesses, memory.touched, strict=True):
            storage = storages[record.tensor]
            moved = state.moved.setdefault(storage._cdata, [0, 0])
            moved[record.kind == STORE] += record.distinct
            if record.kind == STORE:
                count = storage.nbytes() // memory.tensors[record.tensor].itemsize
                lines = state.lines.setdefault(storage._cdata, np.zeros(count, np.int32))
                lines[elements] = record.line


def _make_visible() -> None:
    """Let each kernel see what the file has defined so far, and Python's own forms as the compiler reads them."""
    for kernel in [one for one in state.namespace.values() if isinstance(one, Kernel)]:
        seen = {**state.namespace, **language.names(), "print": interpreter.printed}
        for name in ("interpreter_semantic", "_InterpreterComparison"):
            seen[name] = getattr(of_triton, name, None)
        plain: dict[str, Any] = {}
        code = compile(ast.Module([kernel.definition], []), state.path, "exec")
        exec(code, seen, plain)
        of_triton.InterpretedFunction.rewritten_fn[kernel.fn] = plain[kernel.name]
