"""Kinds of a kernel's names: pointer, integer, float, truth value or block size; a scalar or a block."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

# Of the parameters of a PyTorch function.
_GIVEN = ("q", "k", "v", "o", "lse", "do")
_IN_PYTORCH = dict.fromkeys(_GIVEN, "tensor") | {"scale": "float", "causal": "flag", "Br": "block", "Bc": "block"}


@dataclass(frozen=True)
class Kind:
    """The type of an expression, as far as it decides what it can be mistaken for."""

    # pointer, tensor (one that PyTorch is given), int, float, bool, block (a constexpr that sizes are given in) or flag
    # (another constexpr)
    of: str
    rank: int = 0  # 0 for a scalar


@dataclass(frozen=True)
class Scope:
    """The names of one kernel."""

    kinds: dict[str, Kind] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)  # the line of the first assignment; 0 of a parameter
    wide: set[str] = field(default_factory=set)  # integers of 64 bits
    in_triton: bool = True  # and not in PyTorch

    @property
    def blocks(self) -> list[str]:
        """How many elements a program takes at once along an axis; D, which is never cut, aside."""
        return [name for name, kind in self.kinds.items() if kind.of == "block" and name != "D"]

    def alike(self, name: str, line: int) -> list[str]:
        """Other names that may stand in this line where `name` does; a size or a stride may be a block size too."""
        kind = self.kinds[name]
        return [
            other
            for other, its in self.kinds.items()
            if other != name
            and self.since[other] < max(line, 1)
            and (its == kind or (kind == Kind("int") and its.of == "block"))
        ]

    def of(self, node: ast.expr) -> Kind | None:
        """Return the kind of an expression; None if it is nothing that the kernels here are made of."""
        match node:
            case ast.Name(id=name):
                return self.kinds.get(name)
            case ast.Constant(value=bool()):
                return Kind("bool")
            case ast.Constant(value=int()):
                return Kind("int")
            case ast.Constant(value=float()):
                return Kind("float")
            case ast.Compare():
                return Kind("bool", self._rank(node.left, *node.comparators))
            case ast.UnaryOp(operand=operand):
                return self.of(operand)
            case ast.BinOp(left=left, right=right):
                kinds = {"int" if k.of == "block" else k.of for k in map(self.of, (left, right)) if k}
                of = next((k for k in ("pointer", "float", "bool", "int") if k in kinds), None)
                return Kind(of, self._rank(left, right)) if of else None
            case ast.Subscript(value=value, slice=ast.Tuple(elts=elements)):
                inner = self.of(value)
                return Kind(inner.of, len(elements)) if inner else None
            case ast.Call():
                return self._of_call(node)
        return None

    def _rank(self, *nodes: ast.expr) -> int:
        return max((kind.rank for kind in map(self.of, nodes) if kind), default=0)

    def _of_call(self, node: ast.Call) -> Kind | None:
        match ast.unparse(node.func), node.args:
            case "float", _:
                return Kind("float")
            case "tl.program_id", _:
                return Kind("int")
            case (("tl.arange" | "torch.arange"), _):
                return Kind("int", 1)
            case (("torch.zeros_like" | "torch.full_like" | "torch.where" | "torch.maximum" | "torch.exp"), _):
                return Kind("float", 4)
            case (("tl.zeros" | "tl.full"), [ast.Tuple(elts=shape), *_]):
                return Kind("float", len(shape))
            case "tl.dot", _:
                return Kind("float", 2)
            case (("tl.sum" | "tl.max" | "tl.min"), [block, *axis]):
                inner = self.of(block)
                one_less = bool(axis or any(k.arg == "axis" for k in node.keywords))
                return Kind(inner.of, inner.rank - 1 if one_less else 0) if inner else None
            case "tl.load", [address, *_]:
                return Kind("float", self._rank(address))
            case "tl.where", [condition, one, other]:
                kinds = [kind for kind in map(self.of, (one, other)) if kind]
                return Kind(kinds[0].of, self._rank(condition, one, other)) if kinds else None
            case (("tl.maximum" | "tl.minimum"), [one, other]):
                kinds = [kind for kind in map(self.of, (one, other)) if kind]
                of = "float" if Kind("float") in kinds or any(k.of == "float" for k in kinds) else "int"
                return Kind(of, self._rank(one, other)) if kinds else None
            case (("tl.exp" | "tl.log" | "tl.trans"), [block]):
                return self.of(block)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return self.of(node.func.value)
        return None


def scope_of(kernel: ast.FunctionDef) -> Scope:
    """Return the names of a kernel: its parameters by the course's way to name them, its variables by what they are
    given.
    """
    scope = Scope(in_triton=any(parameter.annotation for parameter in kernel.args.args))
    counted = {
        node.args[1].id
        for node in ast.walk(kernel)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.arange"
        if len(node.args) == 2 and isinstance(node.args[1], ast.Name)
    }
    for parameter in kernel.args.args:
        name = parameter.arg
        if parameter.annotation:
            of = "block" if name in counted else "flag"
        else:
            of = "pointer" if name.endswith("_ptr") else "float" if name == "scale" else "int"
        if not scope.in_triton:
            of = _IN_PYTORCH.get(name, of)
        scope.kinds[name], scope.since[name] = Kind(of), 0
    for node in ast.walk(kernel):  # breadth first: what a loop's bounds say of its variable comes before its body
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            scope.kinds[node.target.id], scope.since[node.target.id] = Kind("int"), node.lineno
    for node in sorted((n for n in ast.walk(kernel) if isinstance(n, ast.Assign)), key=lambda n: n.lineno):
        for name, value in assigned(node):
            kind = scope.of(value)
            if kind and name not in scope.kinds:
                scope.kinds[name], scope.since[name] = (
                    Kind("int" if kind.of == "block" else kind.of, kind.rank),
                    node.lineno,
                )
            names = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
            if kind and kind.of == "int" and ("tl.int64" in ast.unparse(value) or names & scope.wide):
                scope.wide.add(name)
    return scope


def assigned(node: ast.Assign) -> list[tuple[str, ast.expr]]:
    """(name, value) of each variable that an assignment gives a value."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return [(name, value)]
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
            return [(n.id, v) for n, v in zip(names, values, strict=True) if isinstance(n, ast.Name)]
    return []
