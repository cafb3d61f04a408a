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


class _Noting:
    """A builder that notes which operations it is asked for: name, arguments and result of each."""

    def __init__(self, builder: Any) -> None:
        self._builder = builder
        self.asked: list[tuple[str, tuple[Any, ...], Any]] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._builder, name)

        def noted(*arguments: Any) -> Any:
            made = found(*arguments)
            if name.startswith("create_") or isinstance(made, TensorHandle):  # others tell types
                self.asked.append((name, arguments, made))
            return made

        return noted if callable(found) else found


def learned(plain: Any) -> Any:
    """An operation of Triton's on tensors. Which of its builder's it takes, and on what, their types and the other
    arguments say: so Triton is asked once for each of these. What it refuses, it is asked again.
    """
    known: dict[tuple[Any, ...], Any] = {}  # see `_steps`
    tensor = tl.tensor

    def operation(self: Any, *arguments: Any, **named: Any) -> Any:
        builder = self.builder
        key, values = [builder.options.sanitize_overflow, *named], []
        for one in arguments:
            kind = type(one)
            if kind is tensor:
                key.append(one.type.name)
                values.append(one.handle)
            else:
                key += kind, tuple(one) if kind is list else one
        try:
            steps = known.get(types := tuple(key))
        except TypeError:  # what cannot be a key
            return plain(self, *arguments, **named)
        if steps is not None:
            constants, operations, place, made = steps
            values += constants
            for name, places in operations:
                values.append(getattr(builder, name)(*map(values.__getitem__, places)))
            return arguments[place] if made is None else tensor(values[place], made)
        if named or types in known:
            return plain(self, *arguments, **named)
        self.builder = noting = _Noting(builder)
        try:
            made = plain(self, *arguments)
        finally:
            self.builder = builder
        if len(set(map(id, values))) == len(values):  # else it is not seen which of two was taken
            known[types] = _steps(arguments, values, noting.asked, made)
        return made

    operation.__name__ = getattr(plain, "__name__", "")  # which Triton puts into messages
    return operation


def _steps(arguments: tuple[Any, ...], handles: list[Any], asked: list[Any], made: Any) -> tuple[Any, ...] | None:
    """Return how to repeat what was asked of a builder: constants, operations with places of what they get (handles,
    then constants, then results), the result's place and type. An argument has none. None: it cannot be repeated.
    """
    constants = [one for _, given, _ in asked for one in given if not isinstance(one, TensorHandle)]
    values = [*handles, *constants, *(result for _, _, result in asked)]
    places = {id(value): n for n, value in reversed([*enumerate(values)])}
    returned = next((n for n, one in enumerate(arguments) if one is made), None)
    try:
        operations = [(name, [places[id(one)] for one in given]) for name, given, _ in asked]
        place = places[id(made.handle)] if returned is None else returned
        return constants, operations, place, made.type if returned is None else None
    except (KeyError, AttributeError):
        return None


def handle(plain: Any) -> Any:
    """Return a handle, which is counted: an operation makes one. Whether numbers fit a type is asked once a width."""
    fit: dict[str, int] = {}  # bytes of the widest numbers so far, of each type but bf16

    def __init__(self: Any, data: Any, dtype: Any, *attr: Any) -> None:
        work.left -= OPERATION + data.size
        if work.left < 0:
            work.look()
        if not attr and data.itemsize <= fit.get(dtype.name, 0):
            self.data, self.dtype, self.attr = data, dtype, {}
        elif dtype.name == "bf16" and data.dtype.kind == "f":
            self.data, self.dtype, self.attr, self.bf16 = rounded(data), dtype, {}, True
        else:
            plain(self, data, dtype, *attr)
            fit[dtype.name] = 0 if dtype.name == "bf16" else data.itemsize

    return __init__


def _spread(tile: Any, shape: Any) -> Any:
    """Return a tile of another shape: to copy numbers takes less time than NumPy's own functions, which are Python."""
    numbers = np.empty(getattr(shape, "values", shape), tile.data.dtype)
    numbers[...] = tile.data
    return TensorHandle(numbers, tile.dtype.scalar)


def expanded_tile(plain: Any) -> Any:
    """Return a tile's numbers with one more axis."""

    def create_expand_dims(self: Any, arg: Any, axis: Any) -> Any:
        if type(axis) is not int or not 0 <= axis <= arg.data.ndim:
            return plain(self, arg, axis)
        return TensorHandle(arg.data[(slice(None),) * axis + (None,)], arg.dtype.scalar)

    return create_expand_dims


def block_type(plain: Any) -> Any:
    """Return a block's type, from an element's and extents. Triton is asked of what is no list of whole numbers."""
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


def unwrapped(plain: Any) -> Any:
    """Return what a constexpr holds; a tensor is none, and most of what is looked at."""

    whole = {tl.tensor, type(None), bool, int, float, str, slice}

    def _unwrap_if_constexpr(o: Any) -> Any:
        return o if type(o) in whole else plain(o)

    return _unwrap_if_constexpr


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


_LEARNED = "add sub mul truediv floordiv mod less_than less_equal greater_than greater_equal equal not_equal and_ or_"
_LEARNED += " where maximum minimum cast arange full expand_dims permute load store dot"
OF_SEMANTIC = dict.fromkeys(_LEARNED.split(), learned)
OF_BUILDER = {
    "create_splat": lambda plain: lambda self, ret_ty, arg: _spread(arg, ret_ty.shape),
    "create_broadcast": lambda plain: lambda self, arg, shape: _spread(arg, shape),
    "create_expand_dims": expanded_tile,
}
