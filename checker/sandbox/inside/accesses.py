"""Accesses of a kernel to memory, and its block sizes: taken from Triton's interpreter, and noted here."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from triton.language import semantic
from triton.runtime import interpreter

from checker.sandbox.inside import block_arithmetic, language
from checker.sandbox.inside.bfloat16 import is_bf16
from checker.sandbox.inside.budget import work
from checker.sandbox.inside.running import memory, running


def _masked_load(builder: Any, ptrs: Any, mask: Any, other: Any, *hints: Any, **named: Any) -> Any:
    """Return what a load gives, through the launch's memory. The last of two or three hints is `is_volatile`."""
    is_volatile = named["is_volatile"] if "is_volatile" in named else hints[-1]
    element = ptrs.get_element_ty()
    dtype = interpreter._get_np_dtype(element)
    lanes, padding = np.asarray(mask.data, dtype=bool), None if other is None else other.data
    values = memory().load(ptrs.data, lanes, padding, dtype, bool(is_volatile), is_bf16(element))
    return interpreter.TensorHandle(values, element)


def _masked_store(builder: Any, ptrs: Any, value: Any, mask: Any, *_: Any, **__: Any) -> None:
    """Every store, through the launch's memory."""
    block_arithmetic.stored(value)
    element = ptrs.get_element_ty()
    lanes = np.asarray(mask.data, dtype=bool)
    memory().store(ptrs.data, value.data, lanes, interpreter._get_np_dtype(element), is_bf16(element))


def _barrier(builder: Any) -> None:
    """`tl.debug_barrier`."""
    memory().barrier()


ATOMICS: dict[str, Callable[[Any, Any], Any]] = {"ADD": np.add, "OR": np.bitwise_or, "XCHG": lambda old, new: new}


def _atomic(builder: Any, operation: Any, ptrs: Any, value: Any, mask: Any, *_: Any, **__: Any) -> Any:
    """Return what an atomic operation gives, through the launch's memory. Its order is that of the programs."""
    if operation.name not in ATOMICS:
        raise TypeError(f"the atomic operation {operation.name} is not part of this course")
    dtype = interpreter._get_np_dtype(ptrs.get_element_ty())
    addresses, lanes = np.atleast_1d(ptrs.data), np.atleast_1d(np.asarray(mask.data, dtype=bool))
    lanes = np.broadcast_to(lanes, addresses.shape)
    found = memory().atomic(ATOMICS[operation.name], addresses, np.atleast_1d(value.data), lanes, dtype)
    return interpreter.TensorHandle(found.reshape(ptrs.data.shape), value.dtype.scalar)


def _compare_and_swap(builder: Any, *_: Any, **__: Any) -> Any:
    """Refuse what no tuned version needs. TypeError."""
    raise TypeError("the atomic operation CAS is not part of this course")


def _dot(result: Any, a: Any, *_: Any) -> None:
    """Triton's own matrix product is noted."""
    work.spend(result.data.size * a.data.shape[-1])
    memory().dot(result.data.size, a.data.shape[-1])


def _block(result: Any, *_: Any) -> None:
    """A block that Triton has made out of something smaller is noted."""
    if running.memory is not None:
        running.memory.block(result.data.size)


def _number(builder: Any, ptrs: Any, kind: Any) -> Any:
    """Refuse an address as a number: it differs from launch to launch, and tells this interpreter from a GPU."""
    raise TypeError(f"an address was converted to {kind}")


def truth(tensor: Any) -> bool:
    """A block has no truth value. Triton's interpreter calls every block true; a GPU refuses it.

    Triton itself asks `if mask:` of blocks in its own code, so only the submission is refused. And where it asks
    `if other`, it means "is there one": for the compiler every tensor is true, a scalar that is 0 as well.
    """
    caller = sys._getframe(1)
    if caller.f_globals.get("__name__") == semantic.__name__:
        return True
    if tensor.handle.data.size != 1 and caller.f_code.co_filename != running.filename:
        return True
    return language.truth(tensor)


def index(tensor: Any) -> int:
    """Triton 3.6 converts a one-element array here, which NumPy 2.4 refuses."""
    return int(tensor.handle.data.squeeze())


INSTEAD = {
    "create_masked_load": _masked_load,
    "create_masked_store": _masked_store,
    "create_barrier": _barrier,
    "create_atomic_rmw": _atomic,
    "create_atomic_cas": _compare_and_swap,
    "create_ptr_to_int": _number,
}
NOTES = {"create_dot": _dot, "create_splat": _block, "create_broadcast": _block}
