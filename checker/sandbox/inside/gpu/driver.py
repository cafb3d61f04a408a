"""CUDA's driver, called without PyTorch: memory, modules and launches on one GPU.

Importing PyTorch takes longer than a whole check. The driver's library comes with every GPU, and a dozen of its
functions are enough here. Names, arguments and error codes are those of the CUDA Driver API's reference.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

_OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
_MAJOR, _MINOR, _SHARED = 75, 76, 97  # of CUdevice_attribute: the compute capability, shared memory a program may have
_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_USUAL_SHARED = 48 << 10  # bytes; a kernel gets more only after it has asked
_LONGEST_NAME = 256
_HOST, _DEVICE = 1, 2  # of CUmemorytype
GREATEST_PITCH = (1 << 31) - 1  # bytes from one row to the next: CU_DEVICE_ATTRIBUTE_MAX_PITCH of every GPU


class DriverError(RuntimeError):
    """A call failed, or a launch before it did: CUDA says so late."""


class OutOfMemory(DriverError):
    """The GPU has no room for it."""


@dataclass(frozen=True)
class Gpu:
    """The GPU that is used: the first one that CUDA_VISIBLE_DEVICES leaves."""

    name: str
    capability: int  # 90 for sm_90
    shared: int  # bytes of shared memory that one program may have


@cache
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise DriverError("the driver's library, libcuda.so.1, cannot be loaded") from None


def _call(name: str, *arguments: Any) -> None:
    code = getattr(_library(), name)(*arguments)
    if code != 0:
        text = ctypes.c_char_p()
        _library().cuGetErrorString(code, ctypes.byref(text))
        kind = OutOfMemory if code == _OUT_OF_MEMORY else DriverError
        raise kind(f"CUDA error: {(text.value or b'unknown').decode()}")


def look() -> Gpu:
    """Return this machine's GPU. Starts the driver, which is of no use to processes forked afterwards. Raises
    DriverError.
    """
    _call("cuInit", 0)
    device, value = ctypes.c_int(), ctypes.c_int()
    _call("cuDeviceGet", ctypes.byref(device), 0)
    name = ctypes.create_string_buffer(_LONGEST_NAME)
    _call("cuDeviceGetName", name, _LONGEST_NAME, device)
    told = []
    for attribute in (_MAJOR, _MINOR, _SHARED):
        _call("cuDeviceGetAttribute", ctypes.byref(value), attribute, device)
        told.append(value.value)
    return Gpu(name.value.decode(), 10 * told[0] + told[1], told[2])


@cache
def start() -> None:
    """Use the GPU from now on, in this thread. Raises DriverError."""
    _call("cuInit", 0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    _call("cuDeviceGet", ctypes.byref(device), 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _call("cuCtxSetCurrent", context)


def wait() -> None:
    """Wait for all that was launched. Raises DriverError if it failed."""
    _call("cuCtxSynchronize")


def free_bytes() -> int:
    """Memory that nobody has."""
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    _call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    return free.value


@dataclass(frozen=True)
class Rows:
    """Elements of a buffer: `number` rows of `count`, the first from `first` on, and `pitch` from start to start."""

    first: int
    count: int
    number: int = 1
    pitch: int = 0


_SIDE: list[tuple[str, Any]] = [
    ("XInBytes", ctypes.c_size_t),
    ("Y", ctypes.c_size_t),
    ("MemoryType", ctypes.c_int),
    ("Host", ctypes.c_void_p),
    ("Device", ctypes.c_uint64),
    ("Array", ctypes.c_void_p),
    ("Pitch", ctypes.c_size_t),
]


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D."""

    _fields_ = [
        *((f"src{name}", kind) for name, kind in _SIDE),
        *((f"dst{name}", kind) for name, kind in _SIDE),
        ("WidthInBytes", ctypes.c_size_t),
        ("Height", ctypes.c_size_t),
    ]


class Memory:
    """Elements on the GPU, of an integer type as wide as they are: what counts here are bits."""

    def __init__(self, extent: int, dtype: npt.DTypeLike):
        """So many elements. Raises OutOfMemory."""
        self.extent, self.dtype = extent, np.dtype(dtype)
        pointer = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(extent * self.dtype.itemsize))
        self.address = pointer.value

    def at(self, element: int) -> int:
        """Return the address of an element."""
        return self.address + element * self.dtype.itemsize

    def fill(self, bits: int, rows: Rows | None = None) -> None:
        """Store the same bits in the elements of these rows, or in all."""
        rows = rows or Rows(0, self.extent)
        kind, width = {2: (ctypes.c_uint16, 16), 4: (ctypes.c_uint32, 32)}[self.dtype.itemsize]
        start, count = ctypes.c_uint64(self.at(rows.first)), ctypes.c_size_t(rows.count)
        if rows.number == 1:
            _call(f"cuMemsetD{width}_v2", start, kind(bits), count)
        else:
            pitch, number = ctypes.c_size_t(rows.pitch * self.dtype.itemsize), ctypes.c_size_t(rows.number)
            _call(f"cuMemsetD2D{width}_v2", start, pitch, kind(bits), count, number)

    def store(self, elements: npt.NDArray[Any], rows: Rows) -> None:
        """Copy `elements`, one row for each of `rows`, there."""
        assert elements.dtype == self.dtype and elements.flags.c_contiguous
        assert elements.shape == (rows.number, rows.count)
        self._copy("src", elements, "dst", rows)

    def load(self, rows: Rows | None = None) -> npt.NDArray[Any]:
        """Return a copy of these rows, or of all elements as one row: (number, count)."""
        rows = rows or Rows(0, self.extent)
        elements = np.empty((rows.number, rows.count), self.dtype)
        self._copy("dst", elements, "src", rows)
        return elements

    def _copy(self, host: str, elements: npt.NDArray[Any], device: str, rows: Rows) -> None:
        """Between an array and the GPU; `host` and `device` are each one of src and dst."""
        size = self.dtype.itemsize
        copy = _Copy2D(WidthInBytes=rows.count * size, Height=rows.number)
        setattr(copy, f"{host}MemoryType", _HOST)
        setattr(copy, f"{host}Host", elements.ctypes.data)
        setattr(copy, f"{host}Pitch", rows.count * size)
        setattr(copy, f"{device}MemoryType", _DEVICE)
        setattr(copy, f"{device}Device", self.at(rows.first))
        setattr(copy, f"{device}Pitch", (rows.count if rows.number == 1 else rows.pitch) * size)
        _call("cuMemcpy2D_v2", ctypes.byref(copy))

    def free(self) -> None:
        """Give it back. After some errors the driver will not even do that."""
        _library().cuMemFree_v2(ctypes.c_uint64(self.address))


class Function:
    """A kernel, loaded from machine code."""

    def __init__(self, code: bytes, name: str, shared: int, threads: int):
        """`shared`: bytes of shared memory for each program, of `threads` threads."""
        self.shared, self.threads = shared, threads
        module, self.handle = ctypes.c_void_p(), ctypes.c_void_p()
        _call("cuModuleLoadData", ctypes.byref(module), code)
        _call("cuModuleGetFunction", ctypes.byref(self.handle), module, name.encode())
        if shared > _USUAL_SHARED:
            _call("cuFuncSetAttribute", self.handle, _DYNAMIC_SHARED, shared)

    def launch(self, grid: Sequence[int], arguments: Sequence[Any]) -> None:
        """Launch it, with `arguments` of ctypes' types. Failures may only show at `wait`."""
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
        x, y, z = (*grid, 1, 1)[:3]
        _call("cuLaunchKernel", self.handle, x, y, z, self.threads, 1, 1, self.shared, None, pointers, None)
