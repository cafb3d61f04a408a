"""The roofline: a kernel's work at one size, and the limits of GPUs, of their memory and their arithmetic units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from checker.bench.inside import request
from checker.bench.result import Size
from checker.course.case import Case, Role, Tensor
from checker.course.puzzle import Budget, Puzzle, Timed, Tuning
from checker.course.verdict import Traffic

_OF_SOFTMAX = 5.0  # operations an element: maximum, difference, exponential, sum, division


@dataclass(frozen=True)
class Gpu:
    """The limits of a GPU."""

    name: str
    gb_per_s: float  # memory bandwidth
    matrix_tflops: float  # fp16 or bf16 products (dense, without sparsity), summed in fp32

    def seconds(self, flops: float, moved: float) -> float:
        """Return the least time for `flops` operations and `moved` bytes."""
        return max(flops / self.matrix_tflops * 1e-12, moved / self.gb_per_s * 1e-9)

    def tflops(self, intensity: float) -> float:
        """Return the height of the roof over `intensity` operations per byte."""
        return min(self.matrix_tflops, intensity * self.gb_per_s * 1e-3)


NAMED = (  # by NVIDIA's datasheets; the T4 by its product page
    Gpu("H200 SXM", 4800, 989),
    Gpu("H100 SXM", 3350, 989),
    Gpu("A100 80 GB SXM", 2039, 312),
    Gpu("L4", 300, 121),
    Gpu("T4", 320, 65),
)


def size_of(puzzle: Puzzle, timed: Timed, traffic: Iterable[Traffic] = ()) -> Size:
    """Return the size, with nothing timed yet. Blocks are those that are tried first.

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
    operations = timed.flops or timed.operations or _OF_SOFTMAX * next(iter(unique.values())).values.size
    return Size(timed.name, timed.work, timed.flops, operations, float(least), counted, timed.own_limit)


def _moved(bound: Budget, seen: Traffic | None) -> float:
    if seen is None:
        return bound.loads + bound.stores
    loads = bound.loads * seen.loads / seen.most_loads if seen.most_loads else 0.0
    return loads + (bound.stores * seen.stores / seen.most_stores if seen.most_stores else 0.0)


def _bytes(tensor: Tensor) -> int:
    return 2 if tensor.bf16 else tensor.values.itemsize


def asked(timed: Timed) -> request.Size:
    """Return the launches of one size, as the child is told of them: without budgets or expectations."""
    kernels = []
    for kernel, tunings in timed.tunings.items():
        prefix = f"{kernel}: " if len(timed.tunings) > 1 else ""
        kernels.append([_launch(timed.launch(kernel, tuning.blocks), tuning, prefix) for tuning in tunings])
    return {"name": timed.name, "work": timed.work.value, "usual": timed.usual, "kernels": kernels}


def _launch(case: Case, tuning: Tuning, prefix: str) -> request.Launch:
    return {
        "kernel": case.kernel,
        "tensors": {name: _tensor(tensor) for name, tensor in case.tensors.items()},
        "scalars": dict(case.scalars),
        "constexprs": dict(case.constexprs),
        "grid": list(case.grid),
        "num_warps": tuning.num_warps,
        "num_stages": tuning.num_stages,
        "maxnreg": tuning.maxnreg,
        "tuning": f"{prefix}{tuning}",
    }


def _tensor(tensor: Tensor) -> request.Tensor:
    return {
        "dtype": tensor.type,
        "shape": list(tensor.values.shape),
        "scratch": tensor.role is Role.SCRATCH,
        "value": None if tensor.role is Role.INPUT else float(tensor.values.flat[0]),
    }
