"""Functions of tensors, as a launch has them: load them, make their inputs, believe what they return, answer.

Whoever calls them (`pytorch` under its mode, `autograd` in both directions) has these steps in common.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from checker.box.inside import harness, reached
from checker.box.inside.answering import run_pass
from checker.box.inside.running import running
from checker.box.inside.work import work
from checker.box.protocol.records import RECORD_FIELDS, STORE


class WrongResult(Exception):
    """What the function returned is not what was asked for: a sentence."""


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
    """The functions `names` of the submission, each with the line of its last `return`. `known`: names beside torch."""
    running.filename = path
    tree = ast.parse(source)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    returns = {name: _last_return(functions[name]) for name in names}
    running.loops = reached.mark(list(functions.values()))
    namespace: dict[str, Any] = {"__name__": "submission", "torch": torch, reached.NAME: running.enter, **known}
    exec(compile(tree, path, "exec"), namespace)
    return {name: (namespace[name], returns[name]) for name in names}


def _last_return(function: ast.FunctionDef) -> int:
    return max((node.lineno for node in ast.walk(function) if isinstance(node, ast.Return)), default=0)


def answered(
    tensors: list[tuple[dict[str, Any], npt.NDArray[Any]]],
    after: Mapping[str, torch.Tensor],
    records: list[tuple[int, ...]],
    line: int,
) -> tuple[list[bytes], bytes, bytes]:
    """What `called` gives, of all tensors `after` the call; `line` has returned what was returned."""
    elements = []
    for position, (spec, _) in enumerate(tensors):
        if spec["output"]:
            size = after[spec["name"]].numel()
            records.append((STORE, position, 0, line, size, size, 0))
            elements.append(np.arange(size, dtype=np.int32))
    return (
        [after[spec["name"]].contiguous().numpy().tobytes() for spec, _ in tensors],
        np.array(records, np.int32).reshape(-1, RECORD_FIELDS).tobytes(),
        np.concatenate(elements).tobytes(),
    )


def laid_out(spec: dict[str, Any], values: npt.NDArray[Any]) -> torch.Tensor:
    """A tensor with these strides, in a buffer that is NaN between its elements."""
    shape, strides = spec["shape"], spec["strides"]
    span = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + 1
    flat = torch.full((span,), float("nan"), dtype=getattr(torch, values.dtype.name))
    view = torch.as_strided(flat, shape, strides)
    if 0 in strides:  # all elements are one, as in the gradient of a sum
        return torch.as_strided(flat.fill_(float(values[0])), shape, strides)
    view.copy_(torch.from_numpy(values.reshape(shape).copy()))
    return view


def believed(returned: Any, asked: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """The outputs by name. Raises WrongResult."""
    given = returned if isinstance(returned, tuple | list) else (returned,)
    names = ", ".join(spec["name"] for spec in asked)
    if len(given) != len(asked):
        one = "one tensor" if isinstance(returned, torch.Tensor) else _described(returned)
        wanted = f"{len(asked)} tensors: {names}" if len(asked) > 1 else names
        raise WrongResult(f"it returned {one}, and not {wanted}")
    shapes = [list(one.shape) for one in given if isinstance(one, torch.Tensor)]
    exchanged = sorted(shapes) == sorted(list(spec["shape"]) for spec in asked)
    for spec, one in zip(asked, given, strict=True):
        kind = getattr(torch, spec["dtype"])
        if not isinstance(one, torch.Tensor):
            raise WrongResult(f"for {spec['name']} it returned {_described(one)}, and not a tensor")
        wrong_shape = list(one.shape) != list(spec["shape"])
        if wrong_shape or one.dtype is not kind:
            right = f"{tuple(spec['shape'])} and type {spec['dtype']}"
            order = f"; the shapes are those of {names}, in another order" if exchanged and wrong_shape else ""
            raise WrongResult(f"{spec['name']} has {_described(one)}, and not shape {right}{order}")
    return {spec["name"]: one.detach() for spec, one in zip(asked, given, strict=True)}


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"shape {tuple(value.shape)} and type {str(value.dtype).removeprefix('torch.')}"
    if isinstance(value, tuple | list):
        return f"{len(value)} values"
    return "None" if value is None else f"a {type(value).__name__}"
