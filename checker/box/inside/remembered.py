"""What Triton's interpreter works out again at each operation, although it depends on types only: remembered.

That is half of the time of a large launch. A type is known by its name, which says shape and element; nothing of a
value, of a kernel or of a launch is kept. Each function below takes Triton's own, and gives what takes its place.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl


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
    """Two operands, allowed, cast and broadcast: those of some types are allowed, and need not be cast."""
    fitting: set[tuple[Any, ...]] = set()

    def binary_op_type_checking_impl(self: Any, lhs: Any, rhs: Any, *how: Any, **named: Any) -> Any:
        if type(lhs) is not tl.tensor or type(rhs) is not tl.tensor or named:
            return plain(self, lhs, rhs, *how, **named)
        key = (lhs.type.name, rhs.type.name, *how)
        if key in fitting:
            return self.broadcast_impl_value(lhs, rhs)
        made = plain(self, lhs, rhs, *how)
        if made[0].dtype == lhs.dtype and made[1].dtype == rhs.dtype:
            fitting.add(key)
        return made

    return binary_op_type_checking_impl


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


OF_SEMANTIC = {"broadcast_impl_value": broadcast, "binary_op_type_checking_impl": checked}
OF_BLOCK_TYPE = {"__init__": block_type, "to_ir": of_type, "with_element_ty": with_element_ty}
