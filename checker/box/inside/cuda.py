"""Kernels on a real GPU: each launch between margins, its outputs full of a mark that no sum gives.

What the interpreter sees access by access can only be seen here by what is left behind: margins and
gaps that were written to, inputs that changed, outputs that still hold the mark. Inputs lie among
NaN, so that whatever is read from outside shows in the result.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy.typing as npt
import torch
import triton
from triton.compiler.errors import CompilationError

from checker.box.inside.lowering import executed
from checker.box.protocol.results import MARKS

MARGIN = 4096  # elements before and behind each tensor; keeps the first element aligned
_AT_ONCE = 1 << 28  # elements that are summed up
_ROOM = 0.85  # share of the GPU's free memory that a launch may take


class TooLarge(Exception):
    """A launch needs more memory than this GPU has free. It is left out."""


def prepare() -> None:
    """Nothing but a look, in a process of its own: CUDA and NVML, once started, are of no use to what is forked."""
    looking = os.fork()
    if looking == 0:
        os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # in 40 ms instead of 270
        os._exit(0 if torch.cuda.is_available() else 1)
    if os.waitpid(looking, 0)[1] != 0:
        raise RuntimeError("PyTorch finds no CUDA GPU here")


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """The kernels `names` of the submission, to be compiled from the syntax tree that was linted."""
    namespace = executed(source, path)
    return {name: namespace[name] for name in names}


class Buffer:
    """One argument tensor on the GPU: a flat buffer with margins, and which of its elements are the tensor's."""

    def __init__(self, spec: dict[str, Any], values: npt.NDArray[Any]):
        self.spec = spec
        shape, strides = spec["shape"], spec["strides"]
        self.type = torch.bfloat16 if spec["bf16"] else getattr(torch, values.dtype.name)
        span = sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) + 1
        self.size = (2 * MARGIN + span) * torch.empty((), dtype=self.type).element_size()
        self.extent, self.values = 2 * MARGIN + span, values

    def fill(self) -> None:
        """Allocate: NaN everywhere, the values in their places, and the mark where an output has NaN."""
        around = float("nan") if self.type.is_floating_point else 0
        self.flat = torch.full((self.extent,), around, dtype=self.type, device="cuda")
        self.view = torch.as_strided(self.flat, self.spec["shape"], self.spec["strides"], MARGIN)
        self.view.copy_(torch.from_numpy(self.values.reshape(self.spec["shape"]).copy()))
        if self.spec["output"]:
            self._bits(self.view).fill_(_mark(self.type))
        self.before = self._outside_sum()

    @property
    def argument(self) -> Any:
        """What the kernel gets: a tensor that begins at the first element."""
        return self.flat[MARGIN:]

    def touched_outside(self) -> bool:
        """Whether something outside the tensor's elements has changed."""
        return self._outside_sum() != self.before

    def result(self) -> bytes:
        """The dense values, as fp32 if they are bf16; unwritten elements hold the mark of that type."""
        dense = self.view.contiguous()
        if self.type is torch.bfloat16:
            unwritten = self._bits(dense) == _mark(torch.bfloat16)
            dense = dense.to(torch.float32)
            self._bits(dense)[unwritten] = _mark(torch.float32)
        values: npt.NDArray[Any] = dense.cpu().numpy()
        return values.tobytes()

    def _bits(self, tensor: Any) -> Any:
        return tensor.view(torch.int32 if tensor.element_size() == 4 else torch.int16)

    def _outside_sum(self) -> int:
        """The sum of all bits that are not the tensor's: it changes if one of them does, and no other undoes it."""
        parts = self._bits(self.flat).split(_AT_ONCE)  # a sum in 64 bits takes eight bytes an element meanwhile
        whole = sum(int(part.sum(dtype=torch.int64)) for part in parts)
        return whole - int(self._bits(self.view.contiguous()).sum(dtype=torch.int64))


def _mark(kind: torch.dtype) -> int:
    return MARKS[str(kind).removeprefix("torch.")]


def launched(kernel: Any, launch: dict[str, Any], values: list[npt.NDArray[Any]]) -> tuple[list[bytes], str | None]:
    """(dense values of each tensor afterwards, name of a tensor whose surroundings were written to)."""
    buffers = [Buffer(spec, v) for spec, v in zip(launch["tensors"], values, strict=True)]
    free, _ = torch.cuda.mem_get_info()
    if sum(buffer.size for buffer in buffers) > _ROOM * free:
        raise TooLarge
    try:
        return _run(kernel, launch, buffers)
    except torch.OutOfMemoryError:  # others use this GPU as well; a kernel itself allocates nothing
        raise TooLarge from None


def _run(kernel: Any, launch: dict[str, Any], buffers: list[Buffer]) -> tuple[list[bytes], str | None]:
    try:
        for buffer in buffers:
            buffer.fill()
    except RuntimeError:  # nothing of the submission has run yet: the GPU, or who else uses it, is to blame
        raise TooLarge from None
    arguments = {buffer.spec["name"]: buffer.argument for buffer in buffers}
    arguments |= {name: value for name, (_, value) in launch["scalars"].items()}
    arguments |= launch["constexprs"]
    grid = tuple(launch["grid"])
    try:
        kernel[grid](**arguments)
    except CompilationError:
        # Triton makes a constant of an integer that is 1. What fails only then is worth a remark, and no refusal.
        ones = [name for name, (kind, value) in launch["scalars"].items() if kind.startswith("int") and value == 1]
        if not ones:
            raise
        triton.jit(kernel.fn, do_not_specialize=ones)[grid](**arguments)
    for _ in range(
        launch["in_a_row"] - 1
    ):  # inputs are the same again, and scratch is as the launch before has left it
        kernel[grid](**arguments)
    torch.cuda.synchronize()
    outside = next((buffer.spec["name"] for buffer in buffers if buffer.touched_outside()), None)
    return [buffer.result() for buffer in buffers], outside


def alive() -> bool:
    """Whether the GPU takes more from this process: after some errors CUDA answers every call with the same one."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def device() -> dict[str, str]:
    """What the GPU is called, and torch's version."""
    return {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
