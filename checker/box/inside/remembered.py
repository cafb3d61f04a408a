"""What Triton's interpreter works out again at each operation, although it depends on types only: remembered.

That is half of the time of a small launch. A type is known by its name, which says shape and element; nothing of a
value, of a kernel or of a launch is kept.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl


def remember(interpreter: Any) -> None:
    """Put memory before Triton's own functions: before it patches its language. `interpreter`: its module."""
    interpreter._patch_attr = _patch_attr(interpreter)
    interpreter._get_np_dtype = _by_name(interpreter._get_np_dtype)
    interpreter._validate_np_data_size = _by_size(interpreter._validate_np_data_size)
    interpreter.TensorHandle.__init__ = _init_of_handle(interpreter)
    tl.block_type.with_element_ty = _with_element_ty(tl.block_type.with_element_ty)
    tl.block_type.to_ir = _to_ir(tl.block_type.to_ir)
    tl.block_type.__init__ = _init_of_type(tl.block_type.__init__)
    tl.tensor.__init__ = _init_of_tensor(tl.tensor.__init__)
    semantic = interpreter.TritonSemantic
    semantic.broadcast_impl_value = _of_one_shape(semantic.broadcast_impl_value)
    semantic.binary_op_type_checking_impl = _of_one_type(semantic.binary_op_type_checking_impl)


def _patch_attr(interpreter: Any) -> Any:
    """What gives a function of the language its `_semantic`: Triton calls two functions in between each time."""
    of_builtin = tl.core.builtin(lambda: None).__code__

    def patch_attr(obj: Any, name: str, member: Any, builder: Any, scope: Any) -> None:
        plain = member.__wrapped__ if getattr(member, "__code__", None) is of_builtin else member

        def with_semantic(*arguments: Any, **options: Any) -> Any:
            options["_semantic"] = interpreter.interpreter_semantic
            return plain(*arguments, **options)

        scope.set_attr(obj, name, with_semantic)

    return patch_attr


def _by_name(plain: Any) -> Any:
    """From a type to NumPy's: Triton makes a table of all types each time."""
    known: dict[str, Any] = {}

    def get_np_dtype(dtype: Any) -> Any:
        if dtype.name not in known:
            known[dtype.name] = plain(dtype)
        return known[dtype.name]

    return get_np_dtype


def _by_size(plain: Any) -> Any:
    """Whether the elements of an array fit into a type."""
    known: dict[tuple[int, str], bool] = {}

    def validate_np_data_size(np_array: Any, tl_dtype: Any) -> bool:
        key = np_array.itemsize, tl_dtype.name
        if key not in known:
            known[key] = plain(np_array, tl_dtype)
        return known[key]

    return validate_np_data_size


def _init_of_handle(interpreter: Any) -> Any:
    """A handle as its dataclass makes it, in one call for three."""
    plain = interpreter.TensorHandle.__init__

    def __init__(self: Any, data: Any, dtype: Any, attr: Any = None) -> None:
        if attr is None and interpreter._validate_np_data_size(data, dtype):
            self.data, self.dtype, self.attr = data, dtype, {}
        else:
            plain(self, data, dtype, {} if attr is None else attr)

    return __init__


def _of_one_shape(plain: Any) -> Any:
    """Two operands, broadcast: those of some types need not be."""
    fitting: set[tuple[str, str]] = set()

    def broadcast_impl_value(self: Any, lhs: Any, rhs: Any) -> Any:
        key = lhs.type.name, rhs.type.name
        if key in fitting:
            return lhs, rhs
        made = plain(self, lhs, rhs)
        if made[0] is lhs and made[1] is rhs:
            fitting.add(key)
        return made

    return broadcast_impl_value


def _of_one_type(plain: Any) -> Any:
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


def _to_ir(plain: Any) -> Any:
    """From a block's type to what stands for it in the interpreter, which is a type again."""
    known: dict[str, Any] = {}

    def to_ir(self: Any, builder: Any) -> Any:
        if self.name not in known:
            known[self.name] = plain(self, builder)
        return known[self.name]

    return to_ir


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
