"""What Triton's interpreter works out again at each operation, although it depends on a type only: remembered.

That is two fifths of the time of a small launch. A type is known by its name, which says shape and element; nothing of
a value, of a kernel or of a launch is kept.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl


def remember(interpreter: Any) -> None:
    """Put memory before Triton's own functions. `interpreter`: its module of that name."""
    interpreter._get_np_dtype = _by_name(interpreter._get_np_dtype)
    tl.block_type.with_element_ty = _with_element_ty(tl.block_type.with_element_ty)
    tl.block_type.__init__ = _init_of_type(tl.block_type.__init__)
    tl.tensor.__init__ = _init_of_tensor(tl.tensor.__init__)


def _by_name(plain: Any) -> Any:
    """From a type to NumPy's: Triton makes a table of all types each time."""
    known: dict[str, Any] = {}

    def get_np_dtype(dtype: Any) -> Any:
        if dtype.name not in known:
            known[dtype.name] = plain(dtype)
        return known[dtype.name]

    return get_np_dtype


def _with_element_ty(plain: Any) -> Any:
    """From a block's type and an element's to that of a block of these: Triton spells out its name each time."""
    known: dict[tuple[str, str], Any] = {}

    def with_element_ty(self: Any, scalar_ty: Any) -> Any:
        names = self.name, scalar_ty.name
        if names not in known:
            known[names] = plain(self, scalar_ty)
        return known[names]

    return with_element_ty


def _init_of_type(plain: Any) -> Any:
    """A block's type, from an element's and extents; what is no list of whole numbers is Triton's to complain of."""
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


def _init_of_tensor(plain: Any) -> Any:
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
