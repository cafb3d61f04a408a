"""Bodies of code that no case has entered: code that never ran is not judged right."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, PropertyResult, Status
from checker.judge.evidence import Locator
from checker.judge.general import finding
from checker.judge.wrong import MOST_EXAMPLES
from checker.sandbox.inside.coverage import Body, bodies
from checker.submission.extract import Program

ID = "never-reached"
MOST_ROUNDS = 50  # to find out what is known; a kernel of the course needs two or three
_PLAIN = frozenset({"tl.cdiv", "tl.constexpr", "tl.maximum", "tl.minimum", "min", "max", "abs", "int", "float", "bool"})
_SAYING = frozenset({"print", "tl.device_print", "tl.static_print", "tl.device_assert", "tl.static_assert"})


def not_entered(program: Program, reached: Set[int]) -> list[Body]:
    """Bodies that no launch has entered, in the order of the text.

    The outermost ones only, and helpers only if something that was entered calls them. Excused are bodies that do
    nothing, and those whose condition is the same in each launch.
    """
    functions = {f.name: f for f in sorted(program.functions.values(), key=lambda f: f.lineno)}
    every = bodies(list(functions.values()))
    decided = _Decided(functions, program.kernels)
    entered = {body.number for body in every if body.number in reached}
    called = _called([body for body in every if body.number in entered], decided)

    def missing(body: Body) -> bool:
        if body.number in entered or all(_does_nothing(statement) for statement in body.statements):
            return False
        if body.parent is None:
            return body.function.name in called
        return body.parent.number in entered and not decided.condition(body)

    return sorted((body for body in every if missing(body)), key=lambda body: body.statements[0].lineno)


def finding_on(missing: Sequence[Body], where: Locator) -> Finding:
    """Return one finding on all of them; it stands at the first."""
    first, *others = missing
    holes: dict[str, Any] = {}
    if isinstance(first.owner, ast.FunctionDef):
        key, holes = f"{ID}/function", {"function": first.function.name}
    else:
        key = f"{ID}/loop" if isinstance(first.owner, ast.For | ast.While) else ID
    lines = [where(body.statements[0].lineno).line for body in others]
    same = tuple(f"The same in line {line}." for line in lines)[:MOST_EXAMPLES]
    return finding(key, Status.WRONG, where(first.statements[0].lineno), same, **holes)


def unproven(
    puzzle: Puzzle, program: Program, missing: Sequence[Body], results: tuple[PropertyResult, ...]
) -> tuple[PropertyResult, ...]:
    """Return the properties without the one that says that a kernel is right at any size, if a part of it was never
    run.
    """
    names = {body.function.name for body in missing}
    concerned = [name for name in program.kernels if names & ({name} | program.calls[name])]
    lost = {puzzle.spaces[one].proves if one in puzzle.spaces else puzzle.properties[0].name for one in concerned}
    return tuple(replace(r, passed=False, detail="a branch was never taken") if r.name in lost else r for r in results)


def _does_nothing(statement: ast.stmt) -> bool:
    """Return a bare `return`, `pass`, a text, an assertion or a print."""
    match statement:
        case ast.Pass() | ast.Return(value=None) | ast.Assert() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function) in _SAYING
    return False


def _called(entered: list[Body], decided: _Decided) -> set[str]:
    """Names in bodies that were entered: helpers that they call are among them.

    Not in the way of a conditional expression that is the same in each launch.
    """
    names: set[str] = set()
    for body in entered:
        waiting: list[ast.AST] = [*body.statements]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Name):
                names.add(node.id)
            elif isinstance(node, ast.If | ast.While):
                waiting.append(node.test)  # its bodies have their own entries
            elif isinstance(node, ast.For):
                waiting.append(node.iter)
            elif not (isinstance(node, ast.IfExp) and decided.in_each_launch(node.test, body.function.name)):
                waiting += ast.iter_child_nodes(node)
    return names


@dataclass
class _Decided:
    """Values that no launch changes: literals, constants of the submission, helper defaults, arithmetic on them.

    What the kernel's own constexprs and types decide is not: the compiler makes another kernel for each of them, and
    what no launch has had compiled in has not been judged. A variable is known if all that is assigned to it is, and no
    `if` or loop that is not known decides about it; a helper's parameter, if every call passes something known.
    """

    functions: Mapping[str, ast.FunctionDef]
    kernels: Collection[str]
    unknown: dict[str, set[str]] = field(default_factory=dict)  # by function: names of run-time values

    def __post_init__(self) -> None:
        for name, function in self.functions.items():
            self.unknown[name] = {a.arg for a in function.args.args} if name in self.kernels else set()
        before = -1
        for _ in range(MOST_ROUNDS):
            if before == (before := sum(map(len, self.unknown.values()))):
                break
            for function in self.functions.values():
                self._assignments(function.body, function.name, known=True)
                self._calls(function)

    def condition(self, body: Body) -> bool:
        """Return whether it is known, whatever is launched, if this body is entered."""
        assert not isinstance(body.owner, ast.FunctionDef)
        asked = body.owner.iter if isinstance(body.owner, ast.For) else body.owner.test
        return self.in_each_launch(asked, body.function.name)

    def in_each_launch(self, node: ast.expr, function: str) -> bool:
        """Return whether the value of an expression in a function is known, whatever is launched."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name not in self.unknown[function]
            case ast.Subscript(value=value):
                return self.in_each_launch(value, function)
            case ast.Call(func=called):
                plain = ast.unparse(called) in _PLAIN or self._is_range(called)
                parts = [*node.args, *(k.value for k in node.keywords)]
                return plain and all(self.in_each_launch(part, function) for part in parts)
        parts = [child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        return bool(parts) and all(self.in_each_launch(part, function) for part in parts)

    @staticmethod
    def _is_range(called: ast.expr) -> bool:
        return ast.unparse(called) in {"range", "tl.range", "tl.static_range"}

    def _assignments(self, statements: list[ast.stmt], function: str, known: bool) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    self._assigned(targets, known and self.in_each_launch(value, function), function)
                case ast.AugAssign(target=target, value=value):
                    self._assigned([target], known and self.in_each_launch(value, function), function)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assigned([target], known and self.in_each_launch(value, function), function)
                case ast.If(test=test, body=body, orelse=orelse) | ast.While(test=test, body=body, orelse=orelse):
                    inside = known and self.in_each_launch(test, function)
                    self._assignments([*body, *orelse], function, inside)
                case ast.For(target=target, iter=asked, body=body):
                    inside = known and self.in_each_launch(asked, function)
                    self._assigned([target], inside, function)
                    self._assignments(body, function, inside)

    def _assigned(self, targets: list[ast.expr], known: bool, function: str) -> None:
        if not known:
            names = (node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name))
            self.unknown[function].update(names)

    def _calls(self, caller: ast.FunctionDef) -> None:
        """Remove from the known names the parameters of helpers that get an unknown value."""
        for node in ast.walk(caller):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.functions):
                continue
            parameters = self.functions[node.func.id].args.args
            given = [
                *zip((p.arg for p in parameters), node.args, strict=False),
                *((k.arg, k.value) for k in node.keywords if k.arg),
            ]
            self.unknown[node.func.id].update(
                name for name, value in given if not self.in_each_launch(value, caller.name)
            )
