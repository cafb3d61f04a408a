"""Kernels on a real GPU: each launch between margins, its outputs full of a mark that no sum gives.

What the interpreter sees access by access can only be seen here by what is left behind: margins and
gaps that were written to, inputs that changed, outputs that still hold the mark. Inputs lie among
NaN, so that whatever is read from outside shows in the result.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import fcntl
import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from triton.compiler.errors import CompilationError

from checker.sandbox.inside.gpu import driver, jobs, untouched
from checker.sandbox.inside.lowering import executed
from checker.sandbox.protocol.fitting import LITTLE, smallest_tiles, tile
from checker.sandbox.protocol.launch import CONSTEXPR, Launch, TensorArgument
from checker.sandbox.protocol.results import MARKS

MARGIN = 4096  # elements before and behind each tensor; keeps the first element aligned
_WHOLE = 1 << 24  # elements: an axis that spans more is not copied as a whole
_AT_ONCE = 1 << 20  # elements of rows that are copied together
_ROOM = 0.85  # share of the GPU's free memory that a launch may take
_NAN = {"float32": 0x7FC00000, "float16": 0x7E00, "bfloat16": 0x7FC0}  # bits
_NUMBERS: dict[str, Any] = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "fp32": ctypes.c_float}

_TURN = "turn"  # a file: its lock is held by the runner that uses the GPU's memory
_functions: dict[str, driver.Function] = {}  # by kernel and job
_smallest: dict[str, int] = {}  # tile of all launches of a kernel


class OutOfResources(Exception):
    """A launch does not fit. Triton's own error of this name advises what the launch chooses, and its author not."""


class TooLarge(Exception):
    """A launch needs more memory than this GPU has free. It is left out."""


class TileTooLarge(Exception):
    """A launch has larger tiles than the cores of this GPU, a small one, have room for. It is left out."""


def prepare() -> None:
    """Look which GPU there is, in a process of its own: CUDA, once started, is of no use to what is forked.

    Meanwhile Triton learns here what it asks itself at each process's first kernel.
    """
    reader, writer = os.pipe()
    looking = os.fork()
    if looking == 0:
        with contextlib.suppress(driver.DriverError):
            os.write(writer, json.dumps(vars(driver.look())).encode())
        os._exit(0)
    os.close(writer)
    jobs.compiled(untouched.count_kernel, untouched.JOBS[0])
    with open(reader, encoding="utf-8") as pipe:
        told = pipe.read()
    os.waitpid(looking, 0)
    if not told:
        raise RuntimeError("CUDA finds no GPU here")
    jobs.gpu = driver.Gpu(**json.loads(told))


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the kernels `names` of the submission, to be compiled from the syntax tree that was linted."""
    jobs.printing, jobs.multiplying = "print" in source, "tl.dot" in source
    namespace = executed(source, path)
    return {name: namespace[name] for name in names}


def start(kernels: Mapping[str, Any], launches: Sequence[Launch], number: int, most_shared: int) -> None:
    """Start CUDA in this process, while others compile for the launches: what they have compiled is found on disk.

    `number`: of the runner. The first one has others compile; the second one starts meanwhile, and waits for its turn.
    `most_shared`: bytes of shared memory, as if the GPU had no more; 0: what it has.
    """
    if most_shared:
        jobs.gpu = dataclasses.replace(jobs.gpu, shared=most_shared)
    _smallest.update(smallest_tiles((launch.kernel, launch.constexprs) for launch in launches))
    turn = open(_TURN, "w")  # noqa: SIM115 (until this process ends)
    if number == 0:
        fcntl.flock(turn, fcntl.LOCK_EX)
        pids = jobs.compiling(kernels, launches)
        _warm_up()
        for pid in pids:
            os.waitpid(pid, 0)
    else:
        _warm_up()
        fcntl.flock(turn, fcntl.LOCK_EX)


def _warm_up() -> None:
    """Start CUDA, and launch something, which takes long only the first time."""
    with contextlib.suppress(driver.DriverError):  # the first launch tries again, and tells
        driver.start()
        nothing = driver.Memory(1, np.uint16)
        _changes(nothing, 0)
        nothing.free()


class Buffer:
    """One argument tensor on the GPU: a flat buffer with margins, and which of its elements are the tensor's."""

    def __init__(self, argument: TensorArgument):
        self.argument, self.type, self.extent = argument, argument.type, 2 * MARGIN + argument.span
        self.bits: npt.DTypeLike = np.uint32 if self.type == "float32" else np.uint16
        spans = [stride * (extent - 1) for extent, stride in zip(argument.shape, argument.strides, strict=True)]
        self.far = [axis for axis, span in enumerate(spans) if span >= _WHOLE]
        self.size = self.extent * np.dtype(self.bits).itemsize
        self.values = _bits_of(argument.values, self.type)
        self.memory: driver.Memory | None = None

    def fill(self) -> None:
        """Allocate: NaN everywhere, the values in their places, and the mark where an output has NaN."""
        self.memory = driver.Memory(self.extent, self.bits)
        self.memory.fill(_NAN[self.type])
        for rows, at, part in self._parts(self.values):
            host = np.full((rows.number, rows.count), _NAN[self.type], self.bits)
            host[:, at] = MARKS[self.type] if self.argument.output else part
            self.memory.store(host, rows)

    @property
    def address(self) -> int:
        """What the kernel gets: the address of the first element."""
        assert self.memory is not None
        return self.memory.at(MARGIN)

    def read(self) -> tuple[bytes, bool]:
        """(dense values, in fp32 if they are bf16; whether something outside the tensor's elements has changed).

        Unwritten elements hold the mark of the type.
        """
        assert self.memory is not None
        dense, outside, nan = np.empty_like(self.values), False, _NAN[self.type]
        for rows, at, part in self._parts(dense):
            host = self.memory.load(rows)
            part[...] = host[:, at]
            host[:, at] = nan
            outside = outside or bool((host != nan).any())
            if self.far:
                self.memory.fill(nan, rows)
        if not outside and self.far:
            outside = _changes(self.memory, nan)
        if self.type == "bfloat16":
            unwritten = dense == MARKS["bfloat16"]
            dense = dense.astype(np.uint32) << 16
            dense[unwritten] = MARKS["float32"]
        return dense.tobytes(), outside

    def free(self) -> None:
        """Give the memory back."""
        if self.memory is not None:
            self.memory.free()

    def _parts(self, values: npt.NDArray[Any]) -> Iterator[tuple[driver.Rows, npt.NDArray[np.int64], npt.NDArray[Any]]]:
        """(rows of the buffer, places of the tensor's elements in each row, these elements among `values`), few in all.

        A buffer with far axes is too long to be copied as a whole. Its rows are of elements that lie close together;
        those along the longest far axis are copied together, as many as fit.
        """
        shape, strides = self.argument.shape, self.argument.strides
        if not self.far:
            yield driver.Rows(0, self.extent), MARGIN + _places(shape, strides), values[None]
            return
        steps = [1 if axis in self.far else extent for axis, extent in enumerate(shape)]
        places = _places(steps, strides)
        count = int(places.max()) + 1
        assert all(strides[axis] >= count for axis in self.far), "rows overlap"
        along = max(self.far, key=lambda axis: int(shape[axis]))
        pitch = strides[along]
        if pitch * np.dtype(self.bits).itemsize <= driver.GREATEST_PITCH:
            steps[along] = max(1, _AT_ONCE // count)
        for start in itertools.product(*(range(0, n, step) for n, step in zip(shape, steps, strict=True))):
            part = values[tuple(slice(i, i + step) for i, step in zip(start, steps, strict=True))]
            first = MARGIN + sum(i * stride for i, stride in zip(start, strides, strict=True))
            rows = driver.Rows(first, count, part.shape[along], pitch)
            yield rows, places.squeeze(along), np.moveaxis(part, along, 0)


def _places(shape: Iterable[int], strides: Iterable[int]) -> npt.NDArray[np.int64]:
    """Return where each element lies, counted from the first."""
    axes = [np.arange(extent, dtype=np.int64) * stride for extent, stride in zip(shape, strides, strict=True)]
    return np.asarray(sum(np.ix_(*axes), np.zeros((), np.int64)))


def _changes(memory: driver.Memory, expected: int) -> bool:
    """Return whether there is an element with other bits than those expected."""
    count = driver.Memory(1, np.uint32)
    count.fill(0)
    numbers = (ctypes.c_int64(memory.extent), ctypes.c_int32(expected))
    arguments = (ctypes.c_uint64(memory.address), *numbers, ctypes.c_uint64(count.address), *_SCRATCH)
    job = untouched.JOBS[memory.dtype.itemsize == 4]
    _function(untouched.count_kernel, job).launch([math.ceil(memory.extent / untouched.BLOCK)], arguments)
    changed = int(count.load().item())
    count.free()
    return changed > 0


def _bits_of(values: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    """Return the bits of the elements. Those that are passed as bf16 can be held by it: the upper half of fp32's are
    all.
    """
    bits: npt.NDArray[Any] = values.view(np.uint16 if kind == "float16" else np.uint32)
    return (bits >> 16).astype(np.uint16) if kind == "bfloat16" else bits


def launched(kernel: Any, launch: Launch) -> tuple[list[bytes], str | None]:
    """(dense values of each tensor afterwards, name of a tensor whose surroundings were written to)."""
    by_name = {name: Buffer(argument) for name, argument in launch.tensors.items()}
    buffers = list(by_name.values())
    try:
        try:
            driver.start()
            if sum(buffer.size for buffer in buffers) > _ROOM * driver.free_bytes():
                raise TooLarge
            for buffer in buffers:
                buffer.fill()
        except driver.DriverError:  # nothing of the submission has run yet: the GPU, or who else uses it, is to blame
            raise TooLarge from None
        _run(kernel, launch, {name: buffer.address for name, buffer in by_name.items()})
        read = [buffer.read() for buffer in buffers]
    except driver.OutOfMemory:  # a kernel itself allocates nothing
        raise TooLarge from None
    finally:
        for buffer in buffers:
            buffer.free()
    outside = next((name for name, (_, touched) in zip(by_name, read, strict=True) if touched), None)
    return [dense for dense, _ in read], outside


def _run(kernel: Any, launch: Launch, addresses: dict[str, int]) -> None:
    """Launch the kernel and wait for its end."""
    small = jobs.gpu.shared < LITTLE and tile(launch.constexprs) > _smallest[launch.kernel]
    if small and jobs.multiplies_too_much(launch.constexprs):
        raise TileTooLarge
    job = jobs.job_of(launch)
    try:
        function = _function(kernel, job)
    except CompilationError:
        # Triton makes a constant of an integer that is 1. What fails only then is worth a remark, and no refusal.
        if job == (job := jobs.job_of(launch, ones=False)):
            raise
        function = _function(kernel, job)
    except OutOfResources:
        if small:  # a launch with smaller tiles shows whether the kernel is to blame
            raise TileTooLarge from None
        raise
    arguments = []
    for name in kernel.arg_names:
        kind = job["signature"].get(name, CONSTEXPR)
        if kind.startswith("*"):
            arguments.append(ctypes.c_uint64(addresses[name]))
        elif kind != CONSTEXPR:
            arguments.append(_NUMBERS[kind](launch.scalars[name][1]))
    function.launch(launch.grid, (*arguments, *_SCRATCH))
    driver.wait()


# Memory that Triton's own tools may want, by two pointers after a kernel's arguments; kernels of the course need none.
_SCRATCH = (ctypes.c_uint64(0), ctypes.c_uint64(0))


def _function(kernel: Any, job: dict[str, Any]) -> driver.Function:
    """Return the compiled kernel on the GPU. Raises OutOfResources."""
    key = json.dumps([kernel.__name__, job], sort_keys=True)
    if key in _functions:
        return _functions[key]
    compiled = jobs.fitted(kernel, job)
    if compiled.metadata.shared > jobs.gpu.shared:
        asked, there = compiled.metadata.shared, jobs.gpu.shared
        raise OutOfResources(f"out of resource: shared memory. It asks for {asked} bytes, and a core has {there}.")
    shared, threads = compiled.metadata.shared, compiled.metadata.num_warps * jobs.WARP
    _functions[key] = driver.Function(compiled.asm["cubin"], compiled.metadata.name, shared, threads)
    return _functions[key]


def alive() -> bool:
    """Return whether the GPU takes more from this process: after some errors CUDA answers every
    call with the same one.
    """
    try:
        driver.wait()
    except driver.DriverError:
        return False
    return True
