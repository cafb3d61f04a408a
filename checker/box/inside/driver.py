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
    """Which GPU there is. Starts the driver, which is of no use to what is forked afterwards. Raises DriverError."""
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


class Memory:
    """Elements on the GPU, of an integer type as wide as they are: what counts here are bits."""

    def __init__(self, extent: int, dtype: npt.DTypeLike):
        """So many elements. Raises OutOfMemory."""
        self.extent, self.dtype = extent, np.dtype(dtype)
        pointer = ctypes.c_uint64()
        _call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(extent * self.dtype.itemsize))
        self.address = pointer.value

    def at(self, element: int) -> int:
        """The address of an element."""
        return self.address + element * self.dtype.itemsize

    def fill(self, bits: int, first: int = 0, count: int | None = None) -> None:
        """Store the same bits in `count` elements from `first` on, or in all."""
        words = {2: ("cuMemsetD16_v2", ctypes.c_uint16), 4: ("cuMemsetD32_v2", ctypes.c_uint32)}
        name, kind = words[self.dtype.itemsize]
        length = self.extent - first if count is None else count
        _call(name, ctypes.c_uint64(self.at(first)), kind(bits), ctypes.c_size_t(length))

    def store(self, elements: npt.NDArray[Any], first: int = 0) -> None:
        """Copy `elements` there, from `first` on."""
        assert elements.dtype == self.dtype and elements.flags.c_contiguous
        _call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.at(first)), _of(elements), ctypes.c_size_t(elements.nbytes))

    def load(self, first: int = 0, count: int | None = None) -> npt.NDArray[Any]:
        """A copy of `count` elements from `first` on, or of all."""
        elements = np.empty(self.extent - first if count is None else count, self.dtype)
        _call("cuMemcpyDtoH_v2", _of(elements), ctypes.c_uint64(self.at(first)), ctypes.c_size_t(elements.nbytes))
        return elements

    def free(self) -> None:
        """Give it back. After some errors the driver will not even do that."""
        _library().cuMemFree_v2(ctypes.c_uint64(self.address))


def _of(elements: npt.NDArray[Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(elements.ctypes.data)


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
