"""Python's own forms in a kernel, as Triton's compiler reads them.

On the interpreter a kernel is Python: its loops count in Python's integers, its `and` stops early. For the compiler
a loop counter is a 32-bit value that wraps and whose `//` truncates, and both sides of an `and` are computed. What it
knows when compiling (constexprs, literals) is Python there as well. The rules are those of `compiler/code_generator.py`
in triton 3.6, 3.7 and 3.9, which agree.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import triton.language as tl
from triton.runtime import interpreter

# No text can contain these: they are no identifiers.
_ENDS_AND, _ENDS_OR, _AND, _OR = "a decides a and b", "a decides a or b", "a and b", "a or b"
_NOT, _HOLDS, _CHOSEN, _UNPACKED = "not a", "c in a if c else b", "a if c else b", "a, b ="
_LEFT = "what was computed last"  # the only name of a variable


class BlockAsCondition(TypeError):
    """A block decides which way a kernel goes. It has many values, so it has no truth value."""

    def __init__(self, shape: tuple[int, ...]):
        super().__init__(f"`if` and its like need a scalar, but this is a block of shape {shape}: use tl.where instead")


def truth(tensor: Any) -> bool:
    """Return whether a run-time condition holds."""
    if tensor.handle.data.size != 1:
        raise BlockAsCondition(tensor.handle.data.shape)
    return bool(tensor.handle.data.squeeze())


def rewritten(functions: ast.Module) -> ast.Module:
    """Return a submission's functions, with calls of what is below in place of the forms that
    Python reads otherwise.
    """
    tree: ast.Module = _Rewriter().visit(functions)
    return tree


def names() -> dict[str, Any]:
    """Return what rewritten functions call, to be put among their globals."""
    return {
        _ENDS_AND: partial(_ends, False),
        _ENDS_OR: partial(_ends, True),
        _AND: partial(_connected, False, "logical_and"),
        _OR: partial(_connected, True, "logical_or"),
        _NOT: _not,
        _HOLDS: _holds,
        _CHOSEN: _chosen,
        _UNPACKED: _unpacked,
        "range": _range,
        "min": _smallest,
        "max": _largest,
    }


def _with_tensors(operation: Any, plain: Any, left: Any, right: Any) -> Any:
    """A constexpr with a tensor on its right is a tensor. Triton's interpreter makes a constexpr of it."""
    return operation(_plain(left), right) if isinstance(right, tl.tensor) else plain(left, right)


class _Rewriter(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`x += y` is `x = x + y`: so a constexpr becomes a value of the kernel."""
        if not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        total = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        assigned = ast.Assign([node.target], ast.copy_location(total, node))
        return self.visit_Assign(ast.copy_location(assigned, node))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Triton's own rewriting makes a value of what is assigned to one name."""
        self.generic_visit(node)
        if any(isinstance(target, ast.Tuple) for target in node.targets):
            node.value = _call(node.value, _UNPACKED, node.value)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`a and b` is `a if it decides else the two connected`; `a and b and c` is `a and (b and c)`."""
        self.generic_visit(node)
        ends, both = (_ENDS_AND, _AND) if isinstance(node.op, ast.And) else (_ENDS_OR, _OR)
        right = node.values[-1]
        for left in reversed(node.values[:-1]):
            connected = _call(node, both, _left(node), right)
            right = ast.copy_location(ast.IfExp(_call(node, ends, _kept(left)), _left(node), connected), node)
        return right

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call(node, _NOT, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        node.test = _call(node, _HOLDS, _kept(node.test))
        node.body = _call(node, _CHOSEN, _left(node), node.body)
        node.orelse = _call(node, _CHOSEN, _left(node), node.orelse)
        return node

    def _of_python(self, node: ast.AST) -> ast.AST:
        """Return what has names of its own does not compile, and stays what it is in Python."""
        return node

    visit_Lambda = visit_ClassDef = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _of_python


def _call(place: ast.expr, name: str, *arguments: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name(name, ast.Load()), list(arguments), []), place)


def _kept(value: ast.expr) -> ast.expr:
    """`value`, also to be had as `_left`, until something else is kept."""
    return ast.copy_location(ast.NamedExpr(ast.Name(_LEFT, ast.Store()), value), value)


def _left(place: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Name(_LEFT, ast.Load()), place)


def _plain(value: Any) -> Any:
    """Return a constexpr's value. On the interpreter one that was combined with a tensor holds a tensor."""
    while isinstance(value, tl.constexpr):
        value = value.value
    return value


def _ends(deciding: bool, side: Any) -> bool:
    """Return whether the compiler knows a side, and it decides: a false one an `and`, a true one an `or`."""
    side = _plain(side)
    return not isinstance(side, tl.tensor) and bool(side) is deciding


def _connected(deciding: bool, method: str, left: Any, right: Any) -> Any:
    """Both sides, the left of which does not decide: the other one if a side is known and does not matter."""
    left, right = _plain(left), _plain(right)
    if not isinstance(left, tl.tensor) or _ends(deciding, right):
        return right
    return getattr(left, method)(right) if isinstance(right, tl.tensor) else left


def _not(value: Any) -> Any:
    value = _plain(value)
    return value.__not__() if isinstance(value, tl.tensor) else not value


def _holds(condition: Any) -> bool:
    """Return whether the condition of `a if condition else b` is true."""
    condition = _plain(condition)
    return truth(condition) if isinstance(condition, tl.tensor) else bool(condition)


def _chosen(condition: Any, value: Any) -> Any:
    """Return the side that was computed, as on a GPU only one is: chosen at run time, it is a run-time value."""
    if isinstance(_plain(condition), tl.tensor):
        return interpreter.interpreter_semantic.to_tensor(value, False)
    return value


def _unpacked(value: Any) -> Any:
    """Return what is assigned to several names."""
    if isinstance(value, tuple | tl.tuple):
        return tuple(_unpacked(one) for one in value)
    return interpreter.interpreter_semantic.to_tensor(value, False)


def _range(*bounds: Any) -> Iterator[Any]:
    """Python's `range` in a kernel."""
    return _counted(range(*map(_bound, bounds)), bounds)


def tl_range(arg1: Any, arg2: Any = None, step: Any = None, **_: Any) -> Iterator[Any]:
    """Triton's, whose other arguments are for speed."""
    return _range(*((0, arg1) if arg2 is None else (arg1, arg2)), 1 if step is None else step)


def _bound(value: Any) -> int:
    value = _plain(value)
    return int(value.handle.data.item() if isinstance(value, tl.tensor) else value)


def _counted(numbers: range, bounds: tuple[Any, ...]) -> Iterator[Any]:
    """Yield a scalar tensor for each of `numbers`, of the type to which all bounds are promoted."""
    if len(bounds) == 3 and numbers.step < 0 and isinstance(_plain(bounds[2]), tl.tensor):
        raise ValueError("a step that is only known at run time must be positive: write a negative one as a constant")
    semantic = interpreter.interpreter_semantic
    kind, counts = tl.int32, False
    for bound in bounds:
        tensor = semantic.to_tensor(_plain(bound))
        counts = counts or tensor.handle.counts
        if tensor.dtype.is_int():  # the compiler refuses all others
            kind = semantic.integer_promote_impl(kind, tensor.dtype)
    numpy_kind = interpreter._get_np_dtype(kind)
    for number in numbers:
        counter = tl.tensor(interpreter.TensorHandle(np.array([number], numpy_kind), kind), kind)
        counter.handle.counts = counts
        yield counter


def _smallest(*values: Any) -> Any:
    """Python's `min` in a kernel."""
    return _extreme(builtins.min, tl.minimum, values)


def _largest(*values: Any) -> Any:
    """Python's `max` in a kernel."""
    return _extreme(builtins.max, tl.maximum, values)


def _extreme(of_numbers: Any, of_tensors: Any, values: tuple[Any, ...]) -> Any:
    plain = [_plain(value) for value in values]
    if not any(isinstance(value, tl.tensor) for value in plain):
        return of_numbers(*plain)
    result = plain[0]
    for value in plain[1:]:
        result = of_tensors(result, value)
    return result


OF_CONSTEXPR = {
    f"__{name}__": partial(_with_tensors, getattr(operator, f"__{name}__"))
    for name in (
        *("add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift"),
        *("and", "or", "xor", "lt", "le", "gt", "ge", "eq", "ne"),
    )
}
