"""Caches for results of Triton's interpreter that depend on types only.

That is half of the time of a large launch. A type is known by its name, which says shape and element; nothing of a
value, of a kernel or of a launch is kept. Each function below takes Triton's own, and gives what takes its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime.interpreter import TensorHandle

from checker.sandbox.inside.bfloat16 import rounded
from checker.sandbox.inside.budget import work
from checker.sandbox.protocol.records import OPERATION


def of_type(plain: Any) -> Any:
    """From a type to NumPy's, for which Triton makes a table of all types; or to what stands for it, a type again."""
    known: dict[str, Any] = {}

    def found(type: Any, *builder: Any) -> Any:
        if type.name not in known:
            known[type.name] = plain(type, *builder)
        return known[type.name]

    return found


def broadcast(plain: Any) -> Any:
    """Two operands, broadcast: of blocks with as many axes, and of a block and a scalar, the types say how."""
    known: dict[tuple[str, str], tuple[Any, Any]] = {}  # what each operand becomes; None: it stays as it is

    def broadcast_impl_value(self: Any, lhs: Any, rhs: Any) -> Any:
        key = lhs.type.name, rhs.type.name
        if key not in known:
            made = plain(self, lhs, rhs)
            if _axes(lhs) == _axes(rhs) or not _axes(lhs) or not _axes(rhs):
                left, right = (None if new is old else new.type for new, old in zip(made, (lhs, rhs), strict=True))
                known[key] = left, right
            return made
        left, right = known[key]
        return _broadcast(self, lhs, left), _broadcast(self, rhs, right)

    return broadcast_impl_value


def _axes(operand: Any) -> int:
    return len(operand.type.get_block_shapes()) if operand.type.is_block() else 0


def _broadcast(semantic: Any, operand: Any, to: Any) -> Any:
    if to is None:
        return operand
    if operand.type.is_block():
        return semantic.tensor(semantic.builder.create_broadcast(operand.handle, to.shape), to)
    return semantic.tensor(semantic.builder.create_splat(to.to_ir(semantic.builder), operand.handle), to)


def checked(plain: Any) -> Any:
    """Two operands, allowed, cast and broadcast: what each is cast to, if anything, their types say.

    A number is looked at each time: it may not fit its type.
    """
    known: dict[tuple[Any, ...], tuple[Any, ...]] = {}  # what each operand is cast to; None: it stays as it is

    def binary_op_type_checking_impl(self: Any, lhs: Any, rhs: Any, *how: Any, **named: Any) -> Any:
        if type(lhs) is not tl.tensor or type(rhs) is not tl.tensor or named:
            return plain(self, lhs, rhs, *how, **named)
        key = (lhs.type.name, rhs.type.name, *how)
        if key not in known:
            made = plain(self, lhs, rhs, *how)
            known[key] = tuple(
                None if new.dtype == old.dtype else new.dtype for new, old in zip(made, (lhs, rhs), strict=True)
            )
            return made
        left, right = known[key]
        if left is not None:
            lhs = self.cast(lhs, left)
        if right is not None:
            rhs = self.cast(rhs, right)
        return self.broadcast_impl_value(lhs, rhs)

    return binary_op_type_checking_impl


def expanded(plain: Any) -> Any:
    """Return a block with one more axis, of extent 1."""
    known: dict[tuple[str, int], Any] = {}

    def expand_dims(self: Any, input: Any, axis: Any) -> Any:
        key = input.type.name, axis
        if type(axis) is not int or key not in known:
            made = plain(self, input, axis)
            if type(axis) is int and input.type.is_block():
                known[key] = made.type
            return made
        return self.tensor(self.builder.create_expand_dims(input.handle, axis), known[key])

    return expand_dims


def handle(plain: Any) -> Any:
    """Return a handle, which is counted: an operation makes one. That its numbers fit its type is looked at once for
    each.
    """
    fit: set[tuple[int, str]] = set()

    def __init__(self: Any, data: Any, dtype: Any, *attr: Any) -> None:
        work.spend(OPERATION + data.size)
        if dtype.name == "bf16" and data.dtype.kind == "f":
            self.data, self.dtype, self.attr, self.bf16 = rounded(data), dtype, {}, True
        elif attr or (data.itemsize, dtype.name) not in fit:
            plain(self, data, dtype, *attr)
            fit.add((data.itemsize, dtype.name))
        else:
            self.data, self.dtype, self.attr = data, dtype, {}

    return __init__


def broadcast_tile(plain: Any) -> Any:
    """Return a tile's numbers, broadcast: to copy them takes less time than NumPy takes for a view."""

    def create_broadcast(self: Any, arg: Any, shape: Any) -> Any:
        numbers = np.empty(shape, arg.data.dtype)
        numbers[...] = arg.data
        return TensorHandle(numbers, arg.dtype.scalar)

    return create_broadcast


def expanded_tile(plain: Any) -> Any:
    """Return a tile's numbers with one more axis."""

    def create_expand_dims(self: Any, arg: Any, axis: Any) -> Any:
        if type(axis) is not int or not 0 <= axis <= arg.data.ndim:
            return plain(self, arg, axis)
        return TensorHandle(arg.data[(slice(None),) * axis + (None,)], arg.dtype.scalar)

    return create_expand_dims


def with_element_ty(plain: Any) -> Any:
    """From a block's type and an element's to that of a block of these: Triton spells out its name each time."""
    known: dict[tuple[str, str], Any] = {}

    def of_block(self: Any, scalar_ty: Any) -> Any:
        names = self.name, scalar_ty.name
        if names not in known:
            known[names] = plain(self, scalar_ty)
        return known[names]

    return of_block


def block_type(plain: Any) -> Any:
    """Return a block's type, from an element's and extents; what is no list of whole numbers is Triton's to complain
    of.
    """
    known: dict[tuple[Any, ...], dict[str, Any]] = {}

    def __init__(self: Any, element_ty: Any, shape: Any) -> None:
        extents = [getattr(extent, "value", extent) for extent in shape] if isinstance(shape, list | tl.tuple) else []
        if not extents or any(type(extent) is not int for extent in extents):  # 8.0 would be found as 8
            plain(self, element_ty, shape)
            return
        key = (element_ty.name, *extents)
        if key not in known:
            plain(self, element_ty, shape)
            known[key] = dict(self.__dict__)
        self.__dict__.update(known[key])

    return __init__


def tensor(plain: Any) -> Any:
    """A tensor has its type's shape and its own handle: Triton makes an object for each extent each time."""
    known: dict[str, dict[str, Any]] = {}

    def __init__(self: Any, handle: Any, type: Any) -> None:
        if type.name in known:
            self.__dict__.update(known[type.name])
            self.handle = handle
        else:
            plain(self, handle, type)
            known[type.name] = {name: value for name, value in self.__dict__.items() if name != "handle"}

    return __init__


OF_SEMANTIC = {"broadcast_impl_value": broadcast, "binary_op_type_checking_impl": checked, "expand_dims": expanded}
OF_BUILDER = {"create_broadcast": broadcast_tile, "create_expand_dims": expanded_tile}
OF_BLOCK_TYPE = {"__init__": block_type, "to_ir": of_type, "with_element_ty": with_element_ty}
