"""A function of PyTorch's autograd that launches kernels: two functions of the submission, and kernels that it is lent.

The kernels run in Triton's interpreter. Each pointer that they get leads to the whole storage of its tensor, as on a
GPU: what a wrong stride reaches there is read and written, and what lies outside is refused.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.overrides import TorchFunctionMode

from checker.box.inside import child, functions, interpreter, pytorch
from checker.box.inside.memory import BoxTensor, Memory, RefusedAccess
from checker.box.inside.running import running
from checker.box.protocol.launch import CONSTEXPR, Launch, TensorArgument, scalar_type
from checker.box.protocol.records import LAUNCHED, STORE, Record

_OPTIONS = frozenset({"num_warps", "num_stages", "num_ctas", "maxnreg"})  # for a compiler
_lent: dict[str, Any] = {}  # kernels by name
MOST_PROGRAMS = (1 << 31) - 1  # of a grid
MOST_FORMS = 8  # of the launches of one call that are told
_launched: list[Record] = []  # records of the call in progress


_MAKERS = {torch.empty, torch.zeros, torch.ones, torch.full, torch.arange}


# Of the namespace aten: what makes tensors, copies them, or looks at them otherwise.
_CONNECTING = pytorch.words("""
    empty zeros ones full arange empty_like zeros_like ones_like full_like empty_strided new_empty new_zeros new_ones
    new_full new_empty_strided zero fill clone copy _to_copy contiguous lift_fresh
    view _unsafe_view _reshape_alias alias detach transpose t permute unsqueeze squeeze expand slice select split
    split_with_sizes unbind as_strided stack cat
""")


class ByPyTorch(Exception):
    """An operation that computes, where only kernels are to."""


class _Connecting(pytorch.Counted):  # type: ignore[no-untyped-call]
    """Refuses what computes: these functions are to arrange tensors, and to launch kernels."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one operation. Raises ByPyTorch, TooMuchWork."""
        if not pytorch.among(name := pytorch.operation(func), _CONNECTING):
            raise ByPyTorch(name)
        return super().__torch_dispatch__(func, types, args, kwargs)


class OutsideMemory(Exception):
    """A kernel has accessed something outside the memory of a tensor: a sentence."""


class OnAnotherDevice(Exception):
    """A tensor that lies on the CPU wherever the inputs lie: a sentence."""


class _AsOnAGPU(TorchFunctionMode):
    """Refuses what is right only as long as everything lies on the CPU. A single number may lie there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one call as it is written: later, a device that was not named is named as well."""
        given, name = kwargs or {}, getattr(func, "__name__", "")
        made = func(*args, **given)
        if func in _MAKERS and given.get("device") is None and made.dim():
            raise OnAnotherDevice(f"torch.{name} without device= makes a tensor on the CPU")
        if "cpu" in (given.get("device"), *(args[1:] if name == "to" else ())):
            raise OnAnotherDevice(f"{name} is told to make a tensor on the CPU")
        return made


def prepare() -> None:
    """PyTorch, and Triton's interpreter."""
    pytorch.prepare()
    interpreter.prepare()
    torch.use_deterministic_algorithms(True)  # which fills what is empty with NaN: nobody mistakes it for a result


def rehearse() -> None:
    """What takes long only the first time: of PyTorch nothing, of the interpreter what it does for other kernels."""
    child.rehearse()


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Load the kernels of other programs, each as (source, names), and run the pass of that `number`."""
    for place, (source, names) in enumerate(header["lent"]):
        _lent.update(interpreter.load_kernels(f"lent-{place}", source, names))
    functions.serve(header, buffers, number, sys.modules[__name__])


held = functions.held


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """For each of the functions all of them up to that one: it runs on what those have left."""
    names = list(names)
    triton = SimpleNamespace(cdiv=lambda x, y: -(-x // y), next_power_of_2=lambda n: 1 << (n - 1).bit_length())
    kernels = {name: _Launcher(name, number, kernel) for number, (name, kernel) in enumerate(_lent.items())}
    loaded = functions.load(path, source, names, triton=triton, **kernels)
    return {name: [loaded[one] for one in names[: n + 1]] for n, name in enumerate(names)}


class _Launcher:
    """What stands for a kernel: `kernel[grid](…)` launches it."""

    def __init__(self, name: str, number: int, kernel: Any):
        self.name, self.number, self.kernel = name, number, kernel
        self.signature = inspect.signature(kernel.fn)
        self.constexprs = {
            parameter.name
            for parameter in self.signature.parameters.values()
            if "constexpr" in str(parameter.annotation)
        }

    def __getitem__(self, grid: Any) -> Any:
        if not isinstance(grid, tuple) or not 1 <= len(grid) <= 3 or not all(type(side) is int for side in grid):
            raise TypeError(f"{self.name}[grid](…): the grid must be a tuple of one to three whole numbers")
        sides = (*grid, 1, 1)[:3]
        if min(sides) < 1:
            raise ValueError(f"{self.name} is launched with a grid of {grid}: no program runs")
        if math.prod(sides) > MOST_PROGRAMS:
            raise ValueError(f"{self.name} is launched with a grid of {grid}: more programs than can be run")
        return lambda *given, **named: self._launch(sides, given, named)

    def _launch(self, grid: tuple[int, int, int], given: tuple[Any, ...], named: dict[str, Any]) -> None:
        try:
            bound = self.signature.bind(*given, **{k: v for k, v in named.items() if k not in _OPTIONS}).arguments
        except TypeError as error:
            raise TypeError(f"{self.name}: {error}") from None
        tensors: list[BoxTensor] = []
        copied: list[tuple[torch.Tensor, npt.NDArray[Any]]] = []
        memory = Memory(tensors, interpreter.running_position, float("nan"))
        arguments = {name: self._argument(name, value, tensors, copied) for name, value in bound.items()}
        programs = np.arange(grid[0] * grid[1] * grid[2])
        _launched.append(Record(LAUNCHED, line=running.where()[1], lanes=programs.size, detail=self.number))
        self._note(tensors, bound, named)
        bodies = dict(running.entered)  # a launch begins a count of its own, and these are the calling function's
        try:
            interpreter.launch(self.kernel, memory, arguments, grid, programs, debug=False)
            for whole, values in copied:
                whole.copy_(torch.from_numpy(values))
        except RefusedAccess as refused:
            raise OutsideMemory(self._sentence(refused.report, tensors)) from None
        except Exception as error:
            if isinstance(error.__cause__, RefusedAccess):  # as Triton wraps what a device function raises
                raise OutsideMemory(self._sentence(error.__cause__.report, tensors)) from None
            raise
        finally:
            running.entered.clear()
            running.entered.update(bodies)

    def _note(self, tensors: list[BoxTensor], bound: dict[str, Any], named: dict[str, Any]) -> None:
        """Note as what Triton would compile this launch."""
        options = {name: value for name, value in named.items() if name in _OPTIONS}
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
        self,
        name: str,
        value: Any,
        tensors: list[BoxTensor],
        copied: list[tuple[torch.Tensor, npt.NDArray[Any]]],
    ) -> Any:
        """What the kernel gets for a value; a tensor's memory goes to `tensors`, and to `copied` if it is a copy."""
        if isinstance(value, torch.Tensor):
            if value.dtype not in (torch.float32, torch.float16, torch.bfloat16):
                kind = str(value.dtype).removeprefix("torch.")
                raise TypeError(f"{self.name} gets {kind} for {name}: it takes float32, float16 or bfloat16")
            storage, half = value.detach().untyped_storage(), value.dtype is torch.bfloat16
            count = storage.nbytes() // value.element_size()
            whole = value.detach().as_strided((count,), (1,), 0)
            values = (whole.float() if half else whole).numpy()
            tensors.append(BoxTensor(name, values, (1,), slot=len(tensors) + 1, bf16=half))
            if half:  # NumPy has a copy
                copied.append((whole, values))
            return interpreter.pointer(tensors[-1], int(value.storage_offset()))
        if name in self.constexprs:
            if value is not None and not isinstance(value, bool | int | float):
                raise TypeError(f"{self.name} gets {type(value).__name__} for {name}, which must be a number")
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise TypeError(f"{self.name} gets {type(value).__name__} for {name}, and not a number or a tensor")
        return interpreter.scalar(value, scalar_type(value))

    def _sentence(self, refused: dict[str, Any], tensors: list[BoxTensor]) -> str:
        """What was accessed, of which tensor."""
        did = "writes to" if refused["kind"] == STORE else "reads"
        program = f"program {refused['program']} of {self.name} {did}"
        sizes = {tensor.name: tensor.values.size for tensor in tensors}
        if refused["tensor"] is None:
            return f"{program} memory that belongs to no tensor"
        of = refused["tensor"]
        return f"{program} element {refused['first']} of {of}, counted from 0 in a memory of {sizes[of]} elements"


def _is_plain(value: Any) -> bool:
    """A number, a shape or the like."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.device)


def called(loaded: list[tuple[Any, int]], launch: Launch) -> tuple[list[bytes], bytes, bytes]:
    """(dense values of each tensor afterwards, log, elements of the log) of one call: forward, and maybe back."""
    running.entered.clear()
    running.launched.clear()
    _launched.clear()
    inputs, outputs = functions.inputs(launch), functions.outputs(launch)
    returned: dict[str, torch.Tensor] = {}

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *given: Any) -> Any:
            with _AsOnAGPU(), _Connecting():  # type: ignore[no-untyped-call]
                o = loaded[0][0](ctx, *given)
            returned["o"] = functions.believed(o, {"O": launch.tensors["q"]})["O"]
            for name, value in vars(ctx).items():
                if not _is_plain(value):
                    what = type(value).__name__.lower()
                    raise functions.WrongResult(
                        f"ctx.{name} holds a {what}: autograd frees only what ctx.save_for_backward keeps"
                    )
            return o

        @staticmethod
        def backward(ctx: Any, *given: Any) -> Any:
            with _AsOnAGPU(), _Connecting():  # type: ignore[no-untyped-call]  # autograd runs it outside other modes
                made = loaded[1][0](ctx, *given)
            if not isinstance(made, tuple | list) or len(made) != 4 or made[3] is not None:
                got = f"{len(made)} values" if isinstance(made, tuple | list) else type(made).__name__
                last = ", the last of them not None" if got == "4 values" else ""
                raise functions.WrongResult(f"it returned {got}{last}, and not 4: dQ, dK, dV, and None for scale")
            returned.update(functions.believed(tuple(made[:3]), {name: outputs[name] for name in ("dq", "dk", "dv")}))
            return tuple(made)

    wanted = {name: inputs[name].requires_grad_() for name in ("q", "k", "v")}
    try:
        with pytorch.Counted():  # type: ignore[no-untyped-call]
            o: torch.Tensor = Function.apply(*wanted.values(), float(launch.scalars["scale"][1]))  # type: ignore[no-untyped-call]
            before = o.detach().clone()
            if "do" in inputs:
                torch.autograd.backward(o, inputs["do"])
    except RuntimeError as error:
        raise pytorch.translated(error) from None
    if not torch.equal(o.detach().nan_to_num(), before.nan_to_num()):
        raise functions.WrongResult("the backward pass has changed O, which the caller has got")
    after = {name: tensor.detach() for name, tensor in (inputs | returned).items()}
    return functions.answered(launch.tensors, after, list(_launched), loaded[-1][1])
