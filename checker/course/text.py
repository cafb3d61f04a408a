"""The text of one kernel: what it assigns and calls, what depends on what, and lines in it that show a mistake."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

_NAMES_IN_PYTORCH = {"amax": "max", "matmul": "dot", "bmm": "dot"}


@dataclass(frozen=True, eq=False)
class Assignment:
    """A line that gives a name a value, or that is a call by itself: then the name is empty."""

    target: str
    value: ast.expr
    line: int
    loops: tuple[ast.For, ...]  # around it, the outermost first
    adds: bool = False  # target += value


@dataclass(frozen=True, eq=False)
class Text:
    """One kernel, as the student wrote it."""

    kernel: ast.FunctionDef
    assignments: list[Assignment] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "assignments", list(_assignments(self.kernel.body, ())))

    @cached_property
    def pointers(self) -> frozenset[str]:
        """The parameters that are tensors."""
        return frozenset(a.arg for a in self.kernel.args.args if a.arg.endswith("_ptr"))

    def in_loops(self) -> list[Assignment]:
        """Assignments that are carried out again and again."""
        return [one for one in self.assignments if one.loops]

    def made_by(self, *functions: str) -> set[str]:
        """Names that a loop gives the value of one of these calls."""
        return {one.target for one in self.in_loops() if calls(one.value, *functions)}

    def sums(self, *functions: str) -> list[Assignment]:
        """Return where a loop adds up what these calls give; failing that, where it is assigned."""
        made = self.made_by(*functions)
        own = [one for one in self.in_loops() if calls(one.value, *functions)]
        added = [
            one
            for one in self.in_loops()
            if (one.adds or is_sum(one.value)) and (calls(one.value, *functions) or made & names_in(one.value))
        ]
        return added or own

    def carried(self, name: str) -> bool:
        """Return whether a name has a value before the loop, and another one in it."""
        own = [one for one in self.assignments if one.target == name]
        return len({one.loops for one in own}) > 1

    def stored(self, line: int | None) -> set[str]:
        """Return the names in what is stored in a line."""
        for node in ast.walk(self.kernel):
            if isinstance(node, ast.Call) and called(node) == "store" and node.lineno <= (line or 0) <= end_of(node):
                given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "value")]
                return set().union(*(names_in(value) for value in given))
        return set()

    def closure(self, names: set[str]) -> set[str]:
        """These names, and all that they are computed from."""
        reached: set[str] = set()
        waiting = set(names)
        while waiting:
            name = waiting.pop()
            reached.add(name)
            for one in self.assignments:
                if one.target == name:
                    waiting |= names_in(one.value) - reached
        return reached

    def has(self, line: Line, number: int | None) -> bool:
        """Return whether the line of a number is such a line, or in a statement that is."""
        return any(one.line <= (number or 0) <= end_of(one.value) for one in line(self))

    def line_of(self, line: Line, store: int | None) -> int | None:
        """Return the only such line, or the only one that what is stored in line `store` depends on."""
        found = line(self)
        if len({one.line for one in found}) > 1:
            found = [one for one in found if self.carried(one.target)] or found
        if len({one.line for one in found}) > 1:
            needed = self.closure(self.stored(store))
            found = [one for one in found if one.target in needed]
        lines = {one.line for one in found}
        return lines.pop() if len(lines) == 1 else None

    def product(self, of: frozenset[str]) -> list[Assignment]:
        """Products of blocks that were computed from just these parameters."""
        return [
            one
            for one in self.assignments
            for node in ast.walk(one.value)
            if (sides := multiplied(node)) and self._tensors(set().union(*map(names_in, sides))) == of
        ]

    def _tensors(self, names: set[str]) -> set[str]:
        """Return the parameters that these names are computed from, as a kernel calls them; in PyTorch q stands for
        q_ptr.
        """
        reached = self.closure(names)
        if self.pointers:
            return reached & self.pointers
        sliced = {
            n.value.id for n in ast.walk(self.kernel) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
        }
        return {f"{a.arg}_ptr" for a in self.kernel.args.args if a.arg in reached & sliced}


Line = Callable[[Text], list[Assignment]]  # finds lines of a kernel, whatever things are called in it


def products_of(*of: str) -> Line:
    """Return what finds products of blocks that were computed from just these parameters."""
    return lambda text: text.product(frozenset(of))


def stores_to(tensor: str) -> Line:
    """Return what finds stores to a tensor."""

    def found(text: Text) -> list[Assignment]:
        return [
            one
            for one in text.assignments
            for call in ast.walk(one.value)
            if isinstance(call, ast.Call) and called(call) == "store" and call.args
            if text.closure(names_in(call.args[0])) & text.pointers == {tensor}
        ]

    return found


def _assignments(body: list[ast.stmt], loops: tuple[ast.For, ...]) -> Iterator[Assignment]:
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield Assignment(name, value, statement.lineno, loops)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)) if len(names) == len(values):
                for target, value in zip(names, values, strict=True):
                    if isinstance(target, ast.Name):
                        yield Assignment(target.id, value, statement.lineno, loops)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for target in targets:
                    if isinstance(target, ast.Name):
                        yield Assignment(target.id, value, statement.lineno, loops)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                yield Assignment(name, value, statement.lineno, loops, isinstance(op, ast.Add))
            case ast.Expr(value=value):
                yield Assignment("", value, statement.lineno, loops)
            case ast.For(body=inner):
                yield from _assignments(inner, (*loops, statement))
            case ast.If(body=inner, orelse=others):
                yield from _assignments([*inner, *others], loops)


def called(call: ast.Call) -> str:
    """`exp` for tl.exp(…), `sum` for x.sum(…)."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def calls(value: ast.expr, *names: str) -> bool:
    """Return whether any of these is called in a value; in PyTorch a @ b is a dot, and x.amax a max."""
    found = {_NAMES_IN_PYTORCH.get(called(n), called(n)) for n in ast.walk(value) if isinstance(n, ast.Call)}
    return bool(found & set(names)) or ("dot" in names and any(map(multiplied, ast.walk(value))))


def multiplied(node: ast.AST) -> list[ast.expr]:
    """Both sides of a product of matrices; nothing if it is something else."""
    match node:
        case ast.Call(args=arguments) if _NAMES_IN_PYTORCH.get(called(node), called(node)) == "dot":
            return arguments[:2]
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return [left, right]
    return []


def names_in(value: ast.expr) -> set[str]:
    """Return the names in a value, but for those of which only the shape counts."""
    shapes = {id(n.value) for n in ast.walk(value) if isinstance(n, ast.Attribute) and n.attr == "shape"}
    return {n.id for n in ast.walk(value) if isinstance(n, ast.Name) and id(n) not in shapes} - {"tl", "torch"}


def end_of(node: ast.expr) -> int:
    """Its last line."""
    return node.end_lineno or node.lineno


def is_sum(value: ast.expr) -> bool:
    """Return whether it is a sum, apart from what stands inside a call: a * b + c, (a + b) / c, tl.dot(a, b, c)."""
    match value:
        case ast.BinOp(op=ast.Add()):
            return True
        case ast.BinOp(left=left, right=right):
            return is_sum(left) or is_sum(right)
        case ast.Subscript(value=inner):
            return is_sum(inner)
        case ast.Call(args=arguments, keywords=keywords):
            return called(value) == "dot" and (len(arguments) > 2 or any(k.arg == "acc" for k in keywords))
    return False
