"""The outcomes that the expressions of a kernel can have, evaluated at many points at once.

A point is one value of each scalar and constexpr, one program, one lane of each `tl.arange`, one step of each loop and
one number of each tensor. Reductions are the identity, as they are for a row of one column. What cannot be followed is
None. So an outcome that looks possible may not be: that costs a launch, never a verdict.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from checker.course.space import Ints, Points
from checker.sandbox.inside.outcomes import ABOVE, BELOW, FALSE, TRUE, ZERO, expressions
from checker.submission.extract import Program

MOST = 4_000  # expressions that are evaluated; a kernel of the course has some 200
KEPT = 10  # points of an outcome: the cheapest, and as many others, with several steps and several of everything
_NUMPY = """Eq equal, NotEq not_equal, Lt less, LtE less_equal, Gt greater, GtE greater_equal, Not logical_not,
And logical_and, Or logical_or, Add add, Sub subtract, Mult multiply, Div divide, Pow power, USub negative,
BitAnd bitwise_and, BitOr bitwise_or, BitXor bitwise_xor, Invert invert, exp exp, exp2 exp2, log log, log2 log2,
sqrt sqrt, abs abs, where where, dot multiply, min minimum, max maximum, minimum minimum, maximum maximum"""
_KNOWN: Mapping[str, Callable[..., Any]] = {  # operators and functions of tl, by name
    **{name: getattr(np, own) for name, own in re.findall(r"(\w+) (\w+)", _NUMPY)},
    "LShift": lambda a, b: a << np.clip(b, 0, 62),
    "RShift": lambda a, b: a >> np.clip(b, 0, 62),
    "Mod": lambda a, b: np.fmod(a, np.where(b == 0, 1, b)),  # as C has it
    "FloorDiv": lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.where(b == 0, 1, np.abs(b))),
    "cdiv": lambda a, b: -(-a // np.where(b == 0, 1, b)),
    "full": lambda _, value, *__: value * 1.0,
}
_TYPES = {"tl.float32": 0, "tl.float16": 1, "tl.bfloat16": 2}
_SAME = ("sum", "trans", "reshape", "broadcast_to", "expand_dims", "permute", "constexpr", "multiple_of", "int", "cast")


class Possible:
    """Values of the expressions of one kernel at some points.

    `at`: by number and outcome, points that have it, the cheapest first, for outcomes that no launch has `shown`.
    """

    def __init__(
        self, program: Program, kernel: str, points: Points, shown: Mapping[int, int], random: np.random.Generator
    ):
        self.functions, self.points, self.shown, self.random = program.functions, points, shown, random
        self.texts = expressions(program.functions.values())
        self.numbers = {id(node): number for number, node in enumerate(self.texts)}
        self.here = np.ones(points.total, bool)  # points that come to the statement in question
        self.done = 0
        calls = (node for function in self.functions.values() for node in ast.walk(function) if _saves(node))
        self.saved = tuple(points.columns.get(ast.unparse(one)) for call in calls for one in call.args)
        self.repeated = np.ones(points.total, bool)  # points at which each loop has several steps
        self.had: dict[tuple[int, int], npt.NDArray[np.bool_]] = {}  # points by number and outcome
        self.varying: set[int] = set()  # comparisons of integers that are not the same everywhere
        with np.errstate(all="ignore"):
            self.constants = {name: self._value(node, {}) for name, node in program.constants.items()}
            names = [argument.arg for argument in self.functions[kernel].args.args]
            env = {name: points.columns.get(name, name if name.endswith("_ptr") else None) for name in names}
            self._run(self.functions[kernel].body, env)
        self.at = {outcome: self._kept(np.flatnonzero(holds)) for outcome, holds in self.had.items()}

    def _kept(self, points: Ints) -> Ints:
        """Return the cheapest of some points, and others."""
        if len(points) <= KEPT:
            return points
        several = self.points.several[points]
        among = next(some for some in (points[several & self.repeated[points]], points[several], points) if len(some))
        return np.asarray(np.r_[points[:KEPT], self.random.choice(among, KEPT)])

    def _run(self, body: Sequence[ast.stmt], env: dict[str, Any]) -> Any:
        """Do statements; `env` is changed. The first result that is returned."""
        result = None
        for statement in body:
            returned = None
            match statement:
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    _bind(target, self._value(value, env), env)
                case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                    env[name] = self._of(ast.BinOp(ast.Name(name), op, value), env)
                case ast.If():
                    returned = self._if(statement, env)
                case ast.For() | ast.While():
                    self._loop(statement, env)
                case ast.Return(value=value):
                    returned = self._value(value, env) if value else None
                    self.here = np.zeros(self.points.total, bool)
                case ast.Expr(value=value) | ast.Assert(test=value):
                    self._value(value, env)
            result = returned if result is None else result
        return result

    def _if(self, statement: ast.If, env: dict[str, Any]) -> Any:
        """Do both sides, each at the points that take it, or at all if that is not known."""
        yes, no = dict(env), dict(env)
        sides = partial(self._run, statement.body, yes), partial(self._run, statement.orelse, no)
        taken, result, other = self._either(statement.test, env, *sides)
        for name in {**yes, **no}:
            a, b = yes.get(name), no.get(name)
            merged = np.where(taken, a, b) if taken is not None and _numeric(a, b) else None
            env[name] = a if a is b else merged
        return other if result is None else result

    def _either(self, test: ast.expr, env: Mapping[str, Any], *sides: Callable[[], Any]) -> tuple[Any, Any, Any]:
        """Return where a test holds, if that is known, and what the sides are, each done where it is taken."""
        value, before = self._value(test, env), self.here
        taken = np.broadcast_to(np.asarray(value) != 0, self.points.total) if _numeric(value) else None
        self.here = before if taken is None else before & taken
        one, after = sides[0](), self.here
        self.here = before if taken is None else before & ~taken
        other = sides[1]()
        self.here = self.here | after
        return taken, one, other

    def _loop(self, statement: ast.For | ast.While, env: dict[str, Any]) -> None:
        """Do one step, drawn from all of them, with what is carried as it is at first."""
        before, step = self.here, None
        if isinstance(statement, ast.While):
            self._value(statement.test, env)
        elif isinstance(asked := statement.iter, ast.Call) and ast.unparse(asked.func).endswith("range"):
            bounds = [self._value(one, env) for one in asked.args]
            if bounds and _numeric(*bounds):
                first, end, by = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
                steps = -np.floor_divide(first - end, by)  # 0 if by is 0
                self.here = before & (steps > 0)
                self.repeated &= ~self.here | (steps > 1)
                step = first + by * self.random.integers(0, np.maximum(steps, 1), self.points.total)
        if isinstance(statement, ast.For):
            _bind(statement.target, step, env)
        self._run(statement.body, env)
        self.here = before

    def _value(self, node: ast.expr, env: Mapping[str, Any]) -> Any:
        """Return what an expression is, and keep points of its outcomes if it has a number."""
        self.done += 1
        if self.done > MOST:
            return None
        value, number = self._of(node, env), self.numbers.get(id(node))
        if number is not None and _numeric(value) and not isinstance(node, ast.Call):
            values = np.asarray(value)
            if values.dtype == bool:
                self._keep(number, {TRUE: values, FALSE: ~values})
            elif values.dtype.kind in "iu":
                self._keep(number, {BELOW: values < 0, ZERO: values == 0, ABOVE: values > 0})
        return value

    def _keep(self, number: int, found: Mapping[int, npt.NDArray[np.bool_]]) -> None:
        for outcome, holds in found.items():
            if not self.shown.get(number, 0) & outcome:
                self.had[number, outcome] = self.had.get((number, outcome), False) | (holds & self.here)

    def _of(self, node: ast.expr, env: Mapping[str, Any]) -> Any:
        try:
            match node:
                case ast.Constant(value=int() | float() as number):
                    return None if isinstance(number, int) and number >= 2**62 else number
                case ast.Name(id=name):
                    return env[name] if name in env else self.constants.get(name)
                case ast.Tuple(elts=parts):
                    return tuple(self._value(part, env) for part in parts)
                case ast.Attribute(attr="saved_tensors"):
                    return self.saved
                case ast.Attribute(value=value, attr="shape"):
                    return self._value(value, env)
                case ast.Attribute(attr=attribute):
                    return self.points.columns["half"] if attribute == "element_ty" else _TYPES[ast.unparse(node)]
                case ast.Subscript(value=value, slice=index):
                    of = self._value(value, env)
                    return of[ast.literal_eval(index)] if isinstance(of, tuple) else of
                case ast.UnaryOp(op=op, operand=operand):
                    return _operation(op)(*self._numbers(env, operand))
                case ast.BoolOp(op=op, values=parts):
                    return reduce(_operation(op), self._numbers(env, *parts))
                case ast.IfExp(test=test, body=body, orelse=orelse):
                    either = self._either(test, env, *(partial(self._value, side, env) for side in (body, orelse)))
                    return np.where(*_arrays(either))
                case ast.Compare(left=left, ops=ops, comparators=others):
                    sides = self._numbers(env, left, *others)
                    if all(side.dtype.kind in "iu" for side in sides) and np.ptp(sides[0] - sides[1]) > 0:
                        self.varying.add(self.numbers.get(id(node), -1))
                    holds = (_operation(op)(a, b) for op, a, b in zip(ops, sides, sides[1:], strict=False))
                    return reduce(np.logical_and, holds)
                case ast.BinOp(left=left, op=op, right=right):
                    both = self._value(left, env), self._value(right, env)
                    pointer = next((value for value in both if isinstance(value, str)), None)  # and an offset
                    return pointer or _operation(op)(*_arrays(both))
                case ast.Call():
                    return self._call(node, env)
        except (TypeError, ValueError, LookupError, ArithmeticError, RecursionError):
            pass
        return None

    def _numbers(self, env: Mapping[str, Any], *nodes: ast.expr) -> list[Any]:
        return _arrays([self._value(node, env) for node in nodes])

    def _call(self, node: ast.Call, env: Mapping[str, Any]) -> Any:
        name = ast.unparse(node.func)
        last, of_tl = name.rpartition(".")[2], name.startswith("tl.")
        if name == "float" and isinstance(node.args[0], ast.Constant):
            return float(node.args[0].value)  # type: ignore[arg-type]
        given = [self._value(one, env) for one in node.args]
        named = {keyword.arg: self._value(keyword.value, env) for keyword in node.keywords}
        if isinstance(node.func, ast.Attribute) and ("(" in name or not name.startswith(("tl.", "triton.", "torch."))):
            of = self._value(node.func.value, env)
            if last != "to":
                return of if last in (*_SAME, "max", "min") else None
            if node.keywords or not _numeric(of):  # what bits mean is not known
                return None
            return np.nan_to_num(of).astype(np.int64) if "int" in ast.unparse(node.args[0]) else of
        if isinstance(node.func, ast.Subscript):  # the grid of a launch
            self._value(node.func.slice, env)
        if name in self.functions:
            return self._helper(self.functions[name], given, named)
        if last in ("program_id", "num_programs"):
            return self.points.columns[f"{last}{int((*given, *named.values(), 0)[0])}"]
        if last == "load":
            return self.points.numbers[given[0]]
        if last == "arange" and of_tl:
            return given[0] + self.random.integers(0, given[1] - given[0], self.points.total)
        if last in ("rand", "zeros"):
            return self.random.random(self.points.total) * (last == "rand")
        if last in _SAME or (of_tl and last in ("max", "min")):
            return given[0]
        known = given[1:2] if last == "full" else given
        number = self.numbers.get(id(node))
        if number is not None and _numeric(*given) and all(np.asarray(one).dtype.kind in "iu" for one in given):
            less = np.asarray(np.less(*given))
            self._keep(number, {TRUE: less, FALSE: ~less})
        return _KNOWN[last](*given) if name[:6] != "torch." and _numeric(*known) else None

    def _helper(self, function: ast.FunctionDef, given: Sequence[Any], named: Mapping[str | None, Any]) -> Any:
        names, defaults = [argument.arg for argument in function.args.args], function.args.defaults
        inner = {name: self._value(one, {}) for name, one in zip(names[::-1], defaults[::-1], strict=False)}
        inner |= dict(zip(names, given, strict=False)) | {name: value for name, value in named.items() if name}
        before = self.here
        result = self._run(function.body, inner)
        self.here = before
        return result


def _saves(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "save_for_backward"


def _numeric(*values: Any) -> bool:
    return all(isinstance(value, bool | int | float | np.ndarray | np.generic) for value in values)


def _bind(target: ast.expr, value: Any, env: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        env[target.id] = value
    elif isinstance(target, ast.Tuple):
        parts = value if isinstance(value, tuple) and len(value) == len(target.elts) else (None,) * len(target.elts)
        for part, one in zip(target.elts, parts, strict=True):
            _bind(part, one, env)


def _arrays(values: Sequence[Any]) -> list[Any]:
    """Return values as arrays. Raises TypeError if one is not known."""
    if not _numeric(*values):
        raise TypeError("a value that is not known")
    return [np.asarray(value) for value in values]


def _operation(op: ast.AST) -> Callable[..., Any]:
    return _KNOWN[type(op).__name__]
