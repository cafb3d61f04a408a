"""Every kernel that differs from a solution in one place: an operator, a constant, a mask, a statement…"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A changed solution: its whole text, and what was changed where."""

    text: str
    change: str  # "before -> after", as source
    statement: str  # the first line of the statement that it stands in
    occurrence: int  # 1 for the first of all mutants that read the same, and so on

    @property
    def name(self) -> str:
        """What survivors are listed by; does not depend on line numbers."""
        return f"{self.statement}  |  {self.change}  |  #{self.occurrence}"


Change = Callable[[ast.AST], Iterator[ast.AST]]

_BINARY = {ast.Add: [ast.Sub], ast.Sub: [ast.Add], ast.Mult: [ast.Add], ast.Div: [ast.Mult], ast.BitAnd: [ast.BitOr]}
_COMPARE = {ast.Lt: [ast.LtE, ast.Gt], ast.Eq: [ast.NotEq]}
_CALLS = {
    "tl.maximum": ["tl.minimum"],
    "tl.max": ["tl.min", "tl.sum"],
    "tl.sum": ["tl.max"],
    "tl.exp": ["tl.exp2"],
    "tl.log": ["tl.log2"],
    "tl.minimum": ["tl.maximum"],
}
_NAMES = {
    "x_row_stride": ["y_row_stride", "n_cols"],
    "y_row_stride": ["x_row_stride", "n_cols"],
    "x_ptr": ["y_ptr"],
    "y_ptr": ["x_ptr"],
    "x_row_ptr": ["y_row_ptr"],
    "y_row_ptr": ["x_row_ptr"],
    "x_rows_ptr": ["y_rows_ptr"],
    "y_rows_ptr": ["x_rows_ptr"],
    "n_cols": ["BLOCK"],
    "n_rows": ["n_cols"],
    "m": ["m_new"],
    "m_new": ["m"],
    "shift": ["m_new"],
    "BLOCK_ROWS": ["BLOCK_COLS"],
    "BLOCK_COLS": ["BLOCK_ROWS"],
    # attention
    **{
        name: [other]
        for pair in (
            *("q_head_stride k_head_stride", "q_row_stride k_row_stride", "n_q n_k", "Br Bc", "queries keys"),
            *("q_head o_head", "k_head v_head", "l_head m_head", "lse_head delta_head", "q_mask kv_mask"),
            *("q_offsets kv_offsets", "start_q start_k", "Qi dOi", "Kj Vj", "Pij dSij", "LSEi delta_i", "dKj dVj"),
            *("mi mi_new", "li li_new", "mi li", "old new", "Oi dOi"),
        )
        for name, other in (pair.split(), reversed(pair.split()))
    },
    "alpha": ["li"],
    "mij": ["mi_new"],
    "mi_new": ["mi", "mij"],
    "lse": ["mi"],
}


def mutants(solution: str) -> list[Mutant]:
    """All mutants of all kernels of a solution, each text once."""
    tree = ast.parse(solution)
    found: dict[str, Mutant] = {}
    for number, function in enumerate(tree.body):
        if not isinstance(function, ast.FunctionDef):
            continue
        for path, node in _nodes(function):
            for new in _changes(node, {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}):
                changed = copy.deepcopy(tree)
                _put(changed.body[number], path, new)
                text = ast.unparse(ast.fix_missing_locations(changed))
                before = ast.unparse(node).split("\n")[0]
                after = "nothing" if isinstance(new, ast.Pass) else ast.unparse(new).split("\n")[0]
                change, statement = f"{before} -> {after}", _statement(function, path)
                if text not in found:
                    same = sum((m.change, m.statement) == (change, statement) for m in found.values())
                    found[text] = Mutant(text, change, statement, same + 1)
    found.pop(ast.unparse(tree), None)
    return list(found.values())


Path = tuple[tuple[str, int | None], ...]


def _nodes(root: ast.AST, path: Path = ()) -> Iterator[tuple[Path, ast.AST]]:
    for field, value in ast.iter_fields(root):
        if field in ("decorator_list", "args") and isinstance(root, ast.FunctionDef):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else ((None, value),):
            if isinstance(child, ast.AST):
                yield (*path, (field, index)), child
                yield from _nodes(child, (*path, (field, index)))


def _put(root: ast.AST, path: Path, new: ast.AST) -> None:
    for field, index in path[:-1]:
        value = getattr(root, field)
        root = value if index is None else value[index]
    field, index = path[-1]
    if index is None:
        setattr(root, field, new)
    else:
        getattr(root, field)[index] = new


def _statement(function: ast.FunctionDef, path: Path) -> str:
    node: ast.AST = function
    statement: ast.AST = function
    for field, index in path:
        value = getattr(node, field)
        node = value if index is None else value[index]
        if isinstance(node, ast.stmt):
            statement = node
    return ast.unparse(statement).split("\n")[0]


def _changes(node: ast.AST, names: set[str]) -> Iterator[ast.AST]:
    """What a node may be replaced by."""
    match node:
        case ast.Assign() | ast.AugAssign() | ast.Expr() | ast.If():
            yield ast.Pass()
            if isinstance(node, ast.AugAssign):
                yield ast.Assign(targets=[node.target], value=node.value)
        case ast.BinOp(left=left, op=op, right=right):
            for other in _BINARY.get(type(op), []):
                yield ast.BinOp(left, other(), right)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            for other in _COMPARE.get(type(op), []):
                yield ast.Compare(left, [other()], [right])
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            yield operand
            yield ast.Constant(0.0)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            yield ast.Constant(value + 1)
        case ast.Name(id=name, ctx=ast.Load()):
            for other in _NAMES.get(name, []):
                other = next((n for n in ("BLOCK_SIZE", "BLOCK_COLS") if n in names), "") if other == "BLOCK" else other
                if other in names:
                    yield ast.Name(other, ast.Load())
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[a, b])):
            yield ast.Subscript(value, ast.Tuple([b, a], ast.Load()), ast.Load())
            yield value
        case ast.Call():
            yield from _call_changes(node)


def _call_changes(node: ast.Call) -> Iterator[ast.AST]:
    function = ast.unparse(node.func)
    for other in _CALLS.get(function, []):
        yield ast.Call(ast.parse(other, mode="eval").body, node.args, node.keywords)
    for number in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, node.keywords[:number] + node.keywords[number + 1 :])
    if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
        yield node.func.value
    if function == "tl.where":
        yield ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], node.keywords)
    if function in ("tl.exp", "tl.trans"):
        yield node.args[0]
    if function == "range" and len(node.args) == 3:
        start, end, step = node.args
        for bounds in (
            [step, end, step],
            [start, ast.BinOp(end, ast.Sub(), step), step],
            [start, end, ast.BinOp(step, ast.Mult(), ast.Constant(2))],
        ):
            yield ast.Call(node.func, bounds, [])
