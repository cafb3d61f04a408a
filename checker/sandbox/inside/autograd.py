"""A function of PyTorch's autograd that launches kernels: two functions of the submission, and kernels linked to it.

The kernels run in Triton's interpreter. Each pointer that they get leads to the whole storage of its tensor, as on a
GPU: what a wrong stride reaches there is read and written, and what lies outside is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from checker.sandbox.inside import functions, interpreter, launching, pytorch, runner
from checker.sandbox.inside.launching import Launcher
from checker.sandbox.inside.running import running
from checker.sandbox.protocol.launch import Launch

_linked: dict[str, Any] = {}  # kernels by name

MAKERS = {torch.empty, torch.zeros, torch.ones, torch.full, torch.arange}


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


class OnAnotherDevice(Exception):
    """A tensor that lies on the CPU wherever the inputs lie: a sentence."""


class _AsOnAGPU(TorchFunctionMode):
    """Refuses what is right only as long as everything lies on the CPU. A single number may lie there."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one call as it is written: later, a device that was not named is named as well."""
        given, name = kwargs or {}, getattr(func, "__name__", "")
        made = func(*args, **given)
        if func in MAKERS and given.get("device") is None and made.dim():
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
    """Do what takes long only the first time: of PyTorch nothing, of the interpreter what it does for other kernels."""
    runner.rehearse()


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Load the kernels of other programs, each as (source, names), and run the pass of that `number`."""
    for place, (source, names) in enumerate(header["linked"]):
        _linked.update(interpreter.load_kernels(f"linked-{place}", source, names))
    functions.serve(header, buffers, number, sys.modules[__name__])


held, like = functions.held, functions.like


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """For each of the functions all of them up to that one: it runs on what those have left."""
    names = list(names)
    triton = SimpleNamespace(cdiv=lambda x, y: -(-x // y), next_power_of_2=lambda n: 1 << (n - 1).bit_length())
    kernels = {name: Launcher(name, number, kernel) for number, (name, kernel) in enumerate(_linked.items())}
    loaded = functions.load(path, source, names, triton=triton, **kernels)
    return {name: [loaded[one] for one in names[: n + 1]] for n, name in enumerate(names)}


def _is_plain(value: Any) -> bool:
    """Return a number, a shape or the like."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, bool | int | float | str | torch.dtype | torch.device)


def called(loaded: list[tuple[Any, int]], launch: Launch) -> functions.Answer:
    """Return the results of one call: forward, and maybe back."""
    running.entered.clear()
    running.launched.clear()
    launching.records.clear()
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
    return functions.answered(launch.tensors, after, list(launching.records), loaded[-1][1])
