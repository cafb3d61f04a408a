"""What there is to do at one size: bytes and operations, and the launches themselves as data."""

from __future__ import annotations

from collections.abc import Iterable

from checker.bench.inside import request
from checker.bench.result import Size
from checker.course.case import Case, Role, Tensor
from checker.course.puzzle import Budget, Puzzle, Timed, Tuning
from checker.course.verdict import Traffic

_OF_SOFTMAX = 5.0  # operations an element: maximum, difference, exponential, sum, division


def size_of(puzzle: Puzzle, timed: Timed, traffic: Iterable[Traffic] = ()) -> Size:
    """The size, with nothing timed yet. Blocks are those that are tried first.

    `traffic` is what a kernel moved on the interpreter, against its bounds; at this size it moves the
    same share of what the bounds are here. Without it, the bounds themselves.
    """
    cases = [timed.launch(kernel, tunings[0].blocks) for kernel, tunings in timed.tunings.items()]
    shares = {(t.kernel, t.tensor): t for t in traffic}
    counted = 0.0
    for case in cases:
        for name, bound in puzzle.budget(case).items():
            counted += _moved(bound, shares.get((case.kernel, name))) * _bytes(case.tensors[name])
    unique = {name: tensor for case in cases for name, tensor in case.tensors.items()}
    least = sum(_bytes(tensor) * tensor.values.size for tensor in unique.values())
    operations = timed.flops or _OF_SOFTMAX * next(iter(unique.values())).values.size
    return Size(timed.name, timed.work, timed.flops, operations, float(least), counted, timed.own_limit)


def _moved(bound: Budget, seen: Traffic | None) -> float:
    if seen is None:
        return bound.loads + bound.stores
    loads = bound.loads * seen.loads / seen.most_loads if seen.most_loads else 0.0
    return loads + (bound.stores * seen.stores / seen.most_stores if seen.most_stores else 0.0)


def _bytes(tensor: Tensor) -> int:
    return 2 if tensor.bf16 else tensor.values.itemsize


def asked(timed: Timed) -> request.Size:
    """The launches of one size, as the child is told of them: without roles, budgets or expectations."""
    tensors: dict[str, request.Tensor] = {}
    kernels = []
    for kernel, tunings in timed.tunings.items():
        cases = [timed.launch(kernel, tuning.blocks) for tuning in tunings]
        for name, tensor in cases[0].tensors.items():
            dtype = "bfloat16" if tensor.bf16 else tensor.values.dtype.name
            shared: request.Tensor = {
                "dtype": dtype,
                "shape": list(tensor.values.shape),
                "random": tensor.role is Role.INPUT,
            }
            tensors.setdefault(name, shared)
        kernels.append([_launch(case, tuning) for case, tuning in zip(cases, tunings, strict=True)])
    if len(kernels) > 1:
        for launch in (launch for launches in kernels for launch in launches):
            launch["tuning"] = f"{launch['kernel']}: {launch['tuning']}"
    return {
        "name": timed.name,
        "work": timed.work.value,
        "usual": timed.usual,
        "tensors": tensors,
        "kernels": kernels,
    }


def _launch(case: Case, tuning: Tuning) -> request.Launch:
    inputs = [name for name, tensor in case.tensors.items() if tensor.role is Role.INPUT]
    return {
        "kernel": case.kernel,
        "inputs": inputs,
        "outputs": {n: float(t.values.flat[0]) for n, t in case.tensors.items() if n not in inputs},
        "scalars": dict(case.scalars),
        "constexprs": dict(case.constexprs),
        "grid": list(case.grid),
        "num_warps": tuning.num_warps,
        "num_stages": tuning.num_stages,
        "tuning": str(tuning),
    }
