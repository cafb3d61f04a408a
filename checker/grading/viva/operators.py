"""The operators: what a node of a kernel may be replaced by, each for a class of mistakes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from checker.grading.viva.kinds import Kind, Scope, assigned

Changes = Iterator[ast.AST]
Operator = Callable[[ast.AST, Scope], Changes]

_BINARY: dict[type[ast.operator], list[type[ast.operator]]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Add],
    ast.Div: [ast.Mult],
    ast.FloorDiv: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
}
_COMPARE: dict[type[ast.cmpop], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.Gt],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.Lt],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
}
_CALLS = {
    "tl.maximum": ["tl.minimum"],
    "tl.minimum": ["tl.maximum"],
    "tl.max": ["tl.min", "tl.sum"],
    "tl.sum": ["tl.max"],
    "tl.exp": ["tl.exp2"],
    "tl.log": ["tl.log2"],
    "torch.maximum": ["torch.minimum"],
    "torch.exp": ["torch.exp2"],
    "torch.log": ["torch.log2"],
}
_IN_PYTORCH = ("torch.exp", "torch.log", "torch.maximum")
_METHODS = {"amax": ["amin", "sum"], "sum": ["amax"]}  # of a tensor
_TYPES = {"tl.float32": ["tl.float16"], "tl.int64": ["tl.uint32"]}
LARGE = 1000  # a size that a kernel might secretly stop at
GAPS = (8, 24)  # elements between rows, or heads, that a kernel might count on


def _parsed(text: str, **parts: ast.expr) -> ast.expr:
    """Return an expression as it is written, with parts put in for their names."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return parts.get(node.id, node)

    expression: ast.expr = Put().visit(ast.parse(text, mode="eval").body)
    return expression


def _moved(value: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """Yield an integer that is one, two or a block larger or smaller."""
    for by in ("1", "2", *scope.blocks):
        yield _parsed(f"e + {by}", e=value)
        yield _parsed(f"e - {by}", e=value)


def _is_int(node: ast.expr, scope: Scope) -> bool:
    kind = scope.of(node)
    return kind is not None and kind.of in ("int", "block")


def _with(node: ast.AST, field: str, value: object, index: int | None = None) -> ast.AST:
    """Return the node with another value in one of its fields, or at one place of it."""
    fields = dict(ast.iter_fields(node))
    fields[field] = value if index is None else [*fields[field][:index], value, *fields[field][index + 1 :]]
    new = type(node)(**fields)
    return ast.copy_location(new, node) if "lineno" in node._attributes else new


def _function(node: ast.AST) -> str:
    return ast.unparse(node.func) if isinstance(node, ast.Call) else ""


def shifted(node: ast.AST, scope: Scope) -> Changes:
    """Yield each bound, offset and index, by 1, 2 and a block."""
    places: list[tuple[str, int | None, ast.expr]] = []  # where integers stand
    match node:
        case ast.Compare(comparators=[right]) if _is_int(right, scope):
            places = [("comparators", 0, right)]
        case ast.Call(args=args) if _function(node) == "range":
            places = [("args", n, arg) for n, arg in enumerate(args[:2])]
        case ast.Call(args=args) if _function(node) in ("tl.minimum", "tl.maximum"):
            places = [("args", n, arg) for n, arg in enumerate(args) if _is_int(arg, scope)]
        case ast.Call(args=args) if _function(node) in ("tl.load", "tl.store"):
            places = [("args", 0, args[0])]
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if _is_int(node, scope):
            places = [("left", None, left), ("right", None, right)]
        case ast.Assign(value=ast.Tuple(elts=values)):
            for n, value in enumerate(values):
                for new in _moved(value, scope) if _is_int(value, scope) else ():
                    yield _with(node, "value", _with(node.value, "elts", new, n))
        case ast.Assign(value=value) if _is_int(value, scope):
            places = [("value", None, value)]
    for field, index, value in places:
        for new in _moved(value, scope):
            yield _with(node, field, new, index)


def compared(node: ast.AST, scope: Scope) -> Changes:
    """Inclusive for exclusive, and the other way round."""
    if isinstance(node, ast.Compare):
        for other in _COMPARE.get(type(node.ops[0]), []):
            yield _with(node, "ops", [other()])


def renamed(node: ast.AST, scope: Scope) -> Changes:
    """Another name of the same type."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in scope.kinds:
        for other in scope.alike(node.id, node.lineno):
            yield ast.Name(other, ast.Load())


def dropped_term(node: ast.AST, scope: Scope) -> Changes:
    """Yield one of two operands."""
    if isinstance(node, ast.BinOp):
        yield node.left
        if isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd):
            yield node.right


def fixed(node: ast.AST, scope: Scope) -> Changes:
    """Yield a constant for a parameter; for a stride what it is where nothing lies between, or always as much."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or scope.since.get(node.id) != 0:
        return
    kind, name = scope.kinds[node.id], node.id
    if kind.of == "flag":
        yield from (ast.Constant(True), ast.Constant(False))
    elif kind.of in ("int", "float", "block"):
        yield ast.Constant({"int": 1, "float": 1.0, "block": 16}[kind.of])
    size, row = f"n_{name[0]}", name.replace("head", "row")
    if name.endswith("_head_stride") and size in scope.kinds:
        yield from map(_parsed, (f"{size} * {row}", f"{size} * D", f"{size} * {row} + {GAPS[1]}"))
    elif name.endswith("_stride"):
        width = "D" if "D" in scope.kinds else "n_cols"
        yield from (_parsed(f"{width} + {gap}") for gap in GAPS)


def capped(node: ast.AST, scope: Scope) -> Changes:
    """Yield a size that is believed only so far."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id.startswith("n_"):
        smaller = "tl.minimum" if scope.in_triton else "min"
        yield _parsed(f"{smaller}({node.id}, {LARGE})")


def arithmetic(node: ast.AST, scope: Scope) -> Changes:
    """Another operation; a sign dropped; a constant one larger or smaller."""
    match node:
        case ast.BinOp(op=op):
            for other in _BINARY.get(type(op), []):
                yield _with(node, "op", other())
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield from (operand, ast.Constant(0.0), ast.Constant(-10000.0))
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield from (ast.Constant(value + 1), ast.Constant(value - 1))


def called(node: ast.AST, scope: Scope) -> Changes:
    """Another function, without the function, without one of its keywords, or with arguments exchanged."""
    if not isinstance(node, ast.Call):
        return
    function = _function(node)
    for name in _CALLS.get(function, []):
        yield _with(node, "func", _parsed(name))
    if isinstance(node.func, ast.Attribute) and function not in _CALLS:
        for name in _METHODS.get(node.func.attr, []):
            yield _with(node, "func", _with(node.func, "attr", name))
    for n in range(len(node.keywords)):
        yield _with(node, "keywords", node.keywords[:n] + node.keywords[n + 1 :])
    if function in ("tl.where", "torch.where") and len(node.args) == 3:
        condition, one, other = node.args
        yield from (_with(node, "args", [condition, other, one]), one, other)
    if function in ("tl.exp", "tl.trans", "tl.log", "tl.maximum", "tl.minimum", *_IN_PYTORCH):
        yield from node.args
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("transpose", "masked_fill"):
        yield node.func.value
    if function == "tl.dot":
        yield _with(node, "args", node.args[::-1])


def looped(node: ast.AST, scope: Scope) -> Changes:
    """Yield a loop that begins a block later, takes longer or shorter steps, or continues twice as far."""
    if isinstance(node, ast.Call) and _function(node) == "range" and node.args:
        begins = [_parsed("0")] if len(node.args) == 1 else []  # where nothing else is said
        start, end, step, *_ = [*begins, *node.args, _parsed("1")]
        yield _with(node, "args", [step, end, step])
        yield _with(node, "args", [start, end, _parsed("e * 2", e=step)])
        yield _with(node, "args", [start, end, _parsed("e // 2", e=step)])
        yield _with(node, "args", [start, _parsed("e * 2", e=end), step])


def indexed(node: ast.AST, scope: Scope) -> Changes:
    """Yield a vector that lies along the other axis, or is not laid along any."""
    match node:
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[one, other])):
            yield _with(node, "slice", ast.Tuple([other, one], ast.Load()))
            yield value


def stated(node: ast.AST, scope: Scope) -> Changes:
    """Yield a statement left out; a sum that forgets what it had."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If):
        yield ast.Pass()
    if isinstance(node, ast.AugAssign):
        yield ast.Assign(targets=[node.target], value=node.value)


def addresses_in_32_bits(node: ast.AST, scope: Scope) -> Changes:
    """64 bits that come too late: after the product that they are for, or after another type has rounded it.

    Only where a stride is multiplied: no case can have so many rows that their number needs more than 32 bits.
    """
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=ast.Name(id=stride) as right) if stride.endswith("_stride"):
            if scope.wide & {n.id for n in ast.walk(left) if isinstance(n, ast.Name)}:
                for narrow in ("int32", "uint32", "float32"):
                    yield _parsed(f"(a.to(tl.{narrow}) * b).to(tl.int64)", a=left, b=right)


def converted(node: ast.AST, scope: Scope) -> Changes:
    """Yield a conversion left out, or to another type."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr="to")):
            yield value
        case ast.Attribute(attr="dtype"):
            yield from (_parsed("tl.float16"), _parsed("tl.float32"))
        case ast.Attribute():
            yield from (_parsed(other) for other in _TYPES.get(ast.unparse(node), []))


def half_inside(node: ast.AST, scope: Scope) -> Changes:
    """Sums, products and what is kept from one tile to the next, in fp16."""
    rounded = "(e).to(tl.float16).to(tl.float32)" if scope.in_triton else "(e).to(torch.float16).to(e.dtype)"
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _function(value) != "tl.load":
            if (kind := scope.of(value)) and kind.of == "float" and name in scope.kinds:
                yield _with(node, "value", _parsed(rounded, e=value))
        case ast.AugAssign(target=ast.Name(id=name), value=value):
            yield ast.Assign([node.target], _parsed(rounded, e=_parsed(f"{name} + e", e=value)))
        case ast.Call(args=[one, other]) if _function(node) == "tl.dot":
            yield _parsed("tl.dot(a, b, out_dtype=tl.float16)", a=one, b=other)
            yield _parsed("tl.dot(a.to(tl.float16), b.to(tl.float16))", a=one, b=other)
        case ast.Call(args=[block, *_]) if _function(node) == "tl.sum":
            yield _with(node, "args", _parsed("e.to(tl.float16)", e=block), 0)


def untiled(node: ast.AST, scope: Scope) -> Changes:
    """Yield a product without tl.dot; a transposition that only looks like one."""
    match node:
        case ast.Call(args=[one, other]) if _function(node) == "tl.dot":
            yield _parsed("tl.sum(a[:, :, None] * b[None, :, :], axis=1)", a=one, b=other)
        case ast.Call(args=[ast.Name() as block]) if _function(node) == "tl.trans":
            yield _parsed("tl.reshape(e, (e.shape[1], e.shape[0]))", e=block)


def promised(node: ast.AST, scope: Scope) -> Changes:
    """Yield what the compiler is told of a number, and need not be true."""
    match node:
        case _ if not scope.in_triton:
            return
        case ast.Compare(comparators=[ast.Name() as size]) if _is_int(size, scope):
            yield _with(node, "comparators", [_parsed("tl.multiple_of(e, 16)", e=size)])
        case ast.Assign() if len(values := assigned(node)) == 1:
            [(_, value)] = values
            if scope.of(value) in (Kind("int"), Kind("int", 1)):
                yield _with(node, "value", _parsed("tl.multiple_of(e, 16)", e=value))
            if scope.of(value) == Kind("int", 1):
                yield _with(node, "value", _parsed("tl.max_constancy(e, 16)", e=value))


OPERATORS: tuple[Operator, ...] = (
    *(shifted, compared, renamed, dropped_term, fixed, capped, arithmetic, called, looped, indexed, stated),
    *(addresses_in_32_bits, converted, half_inside, untiled, promised),
)
