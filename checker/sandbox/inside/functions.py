"""Calls of functions of tensors: loading, inputs, checks of the returned tensors, answers.

Whoever calls them (`pytorch` under its mode, `autograd` in both directions) has these steps in common.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch.utils._python_dispatch import _disable_current_modes

from checker.sandbox.inside import coverage, harness, outcomes
from checker.sandbox.inside.answering import run_pass
from checker.sandbox.inside.budget import work
from checker.sandbox.inside.overrides import given
from checker.sandbox.inside.running import running
from checker.sandbox.inside.stepping import block, other
from checker.sandbox.protocol.launch import GIVEN, Launch, TensorArgument
from checker.sandbox.protocol.records import STORE, Record, table
from checker.sandbox.protocol.steps import Value


class Answer(NamedTuple):
    """The result of one call."""

    dense: list[bytes]  # values of each tensor afterwards
    log: bytes
    elements: bytes  # of the log
    filled: Sequence[list[bytes]] = ()  # the values with other ones in undefined masked lanes
    moved: Mapping[str, Sequence[int]] = {}  # elements that kernels have loaded from tensors, and stored to them


class WrongResult(Exception):
    """The function returned something else than was asked for: a sentence."""


def serve(header: dict[str, Any], buffers: list[memoryview], number: int, device: Any) -> None:
    """Run the pass of that `number`. What may be mapped is counted from what is mapped already.

    `device`: the module that calls functions.
    """
    path = f"{os.getcwd()}/submission.py"
    sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    limits = header["limits"] | {"AS": header["limits"]["AS"] + mapped}
    harness.limit(limits, filtered=header["filter"])
    work.watch(header["patience"])
    run_pass(os.fdopen(harness.ANSWER, "wb", buffering=0), device, header, buffers, number, path)


def load(path: str, source: str, names: Iterable[str], **known: Any) -> dict[str, Any]:
    """Return the functions `names` of the submission, each with its last `return`'s line. `known`: more names."""
    running.filename = path
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    returns = {name: _last_return(functions[name]) for name in names}
    outcomes.mark(list(functions.values()))
    running.loops = coverage.mark(list(functions.values()))
    namespace: dict[str, Any] = {"__name__": "submission", "torch": torch, **known}
    namespace |= {coverage.NAME: running.enter, coverage.COUNTED: running.counted, GIVEN: given.value}
    namespace[outcomes.NAME] = outcomes.noted
    exec(compile(tree, path, "exec"), namespace)
    return {name: (namespace[name], returns[name]) for name in names}


def _last_return(function: ast.FunctionDef) -> int:
    return max((node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)), default=0)


def answered(
    tensors: Mapping[str, TensorArgument], after: Mapping[str, torch.Tensor], records: list[Record], line: int
) -> Answer:
    """Return what `called` gives, of all tensors `after` the call; `line` has returned what was returned."""
    elements = []
    for position, (name, argument) in enumerate(tensors.items()):
        if argument.output:
            size = after[name].numel()
            records.append(Record(STORE, position, line=line, distinct=size, lanes=size))
            elements.append(np.arange(size, dtype=np.int32))
    dense = [in_numpy(after[name]).tobytes() for name in tensors]
    return Answer(dense, table(records).tobytes(), np.concatenate(elements).tobytes())


def in_numpy(tensor: torch.Tensor) -> npt.NDArray[Any]:
    """Its values; those of bf16 as fp32."""
    return (tensor.float() if tensor.dtype is torch.bfloat16 else tensor).contiguous().numpy()


def held(value: Any) -> Value:
    """Return what a name of a function holds, as data. Nobody counts that it was looked at."""
    if not isinstance(value, torch.Tensor):
        return other(value)
    with _disable_current_modes():
        numbers = value.detach().double().numpy()
    return block(str(value.dtype).removeprefix("torch."), numbers)


def like(own: Any, numbers: npt.NDArray[np.float64]) -> Any:
    """Return what a name of a function holds with other numbers; as it is if they do not fit."""
    if not isinstance(own, torch.Tensor) or own.numel() != numbers.size:
        return own
    with _disable_current_modes():
        return torch.from_numpy(numbers).reshape(own.shape).to(own.dtype)


def inputs(launch: Launch) -> dict[str, torch.Tensor]:
    """Return what a function gets: each tensor with its strides, in a buffer that is NaN between its elements."""
    return {name: _laid_out(argument) for name, argument in launch.tensors.items() if not argument.output}


def _laid_out(argument: TensorArgument) -> torch.Tensor:
    flat = torch.full((argument.span,), float("nan"), dtype=getattr(torch, argument.type))
    view = torch.as_strided(flat, argument.shape, argument.strides)
    if 0 in argument.strides:  # all elements are one, as in the gradient of a sum
        return torch.as_strided(flat.fill_(float(argument.values.flat[0])), argument.shape, argument.strides)
    view.copy_(torch.from_numpy(argument.values.copy()))
    return view


def outputs(launch: Launch) -> dict[str, TensorArgument]:
    """Return what a function is asked for."""
    return {name: argument for name, argument in launch.tensors.items() if argument.output}


def believed(returned: Any, asked: Mapping[str, TensorArgument], *, connected: bool = False) -> dict[str, torch.Tensor]:
    """Return the outputs by name, `connected` with what they are computed from or not. Raises WrongResult."""
    given = returned if isinstance(returned, tuple | list) else (returned,)
    names = ", ".join(asked)
    if len(given) != len(asked):
        one = "one tensor" if isinstance(returned, torch.Tensor) else _described(returned)
        wanted = f"{len(asked)} tensors: {names}" if len(asked) > 1 else names
        raise WrongResult(f"it returned {one}, and not {wanted}")
    shapes = [tuple(one.shape) for one in given if isinstance(one, torch.Tensor)]
    exchanged = sorted(shapes) == sorted(argument.shape for argument in asked.values())
    for (name, argument), one in zip(asked.items(), given, strict=True):
        kind = argument.type
        if not isinstance(one, torch.Tensor):
            raise WrongResult(f"for {name} it returned {_described(one)}, and not a tensor")
        wrong_shape = tuple(one.shape) != argument.shape
        if wrong_shape or one.dtype is not getattr(torch, kind):
            right = f"{argument.shape} and type {kind}"
            order = f"; the shapes are those of {names}, in another order" if exchanged and wrong_shape else ""
            raise WrongResult(f"{name} has {_described(one)}, and not shape {right}{order}")
    return {name: one if connected else one.detach() for name, one in zip(asked, given, strict=True)}


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"shape {tuple(value.shape)} and type {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, tuple | list):
        return f"{len(value)} values"
    return "None" if value is None else f"a {type(value).__name__}"
