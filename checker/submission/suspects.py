"""Numbers in a submission that a size may be compared with: each gives cases on both sides of it.

A kernel that is right hardly needs any: 0, 1, 2 and constants of nature like log2(e). So every other number is a
suspect, wherever it stands, and so is what the numbers of a statement give together: `n_cols // 100 > 50` means 5000.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from checker.course.puzzle import Suspect, Suspects
from checker.submission.extract import Program

LEAST, MOST = 3, 2**31  # smaller ones stand in every right kernel; no size is larger
LEAST_OF_DATA = 1e-6  # what is smaller is hardly more than a rounding
MOST_OF_DATA = 10**12  # what is larger may stand for infinity
MOST_SUSPECTS = 24  # of one kernel; those written down come before those computed
SMALL = 9  # for what has no number of its own
RANGES = {"int8": 2**7, "uint8": 2**8, "int16": 2**15, "uint16": 2**16, "float16": 2**11, "bfloat16": 2**8}
MOST_LOOKED_AT = 10_000
MOST_TOGETHER = 8  # numbers of a statement, or of a kernel, that are computed with


Place = Callable[[int], tuple[int | None, int]]  # a line of the text → (cell, line in it)


@dataclass(frozen=True)
class _Found:
    """A constant as it stands in the code, folded."""

    value: int | float
    line: int
    shifts: bool = False  # it is the right side of << or >>
    compared: bool = False  # it stands in a comparison


@dataclass(frozen=True)
class _Number:
    """What a size may be compared with, and how it is written."""

    value: int | float
    text: str
    line: int
    computed: bool = True
    compared: bool = False  # where it is written down


def suspects(program: Program, place: Place) -> dict[str, Suspects]:
    """What is suspicious in each kernel and in the helpers that it calls."""
    known = {name: value for name, node in program.constants.items() if (value := _folded(node, {})) is not None}
    return {name: _of_kernel(program, name, known, place) for name in program.kernels}


def _of_kernel(program: Program, kernel: str, known: Mapping[str, int | float], place: Place) -> Suspects:
    statements: list[list[_Found]] = []
    others: list[_Number] = []
    for name in sorted({kernel} | program.calls[kernel]):
        function = program.functions[name]
        inside = _locals(function, known)
        for part in _parts(function):
            found = [replace(f, compared=isinstance(part, ast.Compare)) for f in _constants(part, inside)]
            statements += [found] if found else []
            others += _remainders(part, inside)
        others += _types_and_products(function)
    sizes: dict[int, Suspect] = {}
    numbers = itertools.chain(_written(statements), others, _computed(statements))
    for number in itertools.islice(numbers, MOST_LOOKED_AT):
        if (LEAST <= number.value <= MOST or (number.value == 2 and number.compared)) and number.value not in sizes:
            sizes[int(number.value)] = _suspect(number, place)
    of_data = [*_written(statements), *_exponents(statements)]
    values = {n.value: _suspect(n, place) for n in reversed(of_data) if LEAST <= n.value <= MOST_OF_DATA}
    values |= {n.value: _suspect(n, place) for n in _small(statements)}
    return Suspects(tuple(sizes.values())[:MOST_SUSPECTS], tuple(values.values())[::-1][:MOST_SUSPECTS])


def _suspect(number: _Number, place: Place) -> Suspect:
    cell, line = place(number.line)
    where = f"line {line}" if cell is None else f"cell {cell}, line {line}"
    text = f"{number.text}, from {where}" if number.computed else f"{number.text} in {where}"
    return Suspect(number.value, text, number.computed)


def _parts(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands together: comparisons first, then simple statements, conditions and bounds of loops."""
    yield from (node for node in ast.walk(function) if isinstance(node, ast.Compare))
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            yield node.test
        elif isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            yield node
    yield from function.args.defaults


def _locals(function: ast.FunctionDef, known: Mapping[str, int | float]) -> dict[str, int | float]:
    """What is `known`, and variables that are assigned once, and a number at that."""
    assigned: dict[str, list[ast.expr | None]] = {a.arg: [None] for a in function.args.args}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.For):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            plain = isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(targets[0], ast.Name)
            for name in (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)):
                assigned.setdefault(name, []).append(getattr(node, "value", None) if plain else None)
    found = dict(known)
    for name, values in assigned.items():  # in the order of the text, nearly
        found.pop(name, None)
        if len(values) == 1 and values[0] is not None and (value := _folded(values[0], found)) is not None:
            found[name] = value
    return found


def _constants(node: ast.AST, known: Mapping[str, int | float], shifts: bool = False) -> Iterator[_Found]:
    """The largest constant parts of an expression or of a simple statement, except for comparisons inside it."""
    value = _folded(node, known) if isinstance(node, ast.expr) else None
    if value is not None:
        assert isinstance(node, ast.expr)
        yield _Found(value, node.lineno, shifts)
        return
    shifting = isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift | ast.RShift)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Compare):
            continue  # a part of its own
        yield from _constants(child, known, shifting and child is getattr(node, "right", None))


def _folded(node: ast.expr, known: Mapping[str, int | float]) -> int | float | None:
    """The number that an expression is, if it is one whatever the launch."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return known.get(name)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=operand):
            value = _folded(operand, known)
            return -value if value is not None and isinstance(sign, ast.USub) else value
        case ast.Call(func=ast.Attribute(attr="constexpr") | ast.Name(id="int" | "float"), args=[inner]):
            return _folded(inner, known)
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _folded(left, known), _folded(right, known)
            return None if a is None or b is None else _result(a, op, b)
    return None


def _result(a: int | float, op: ast.operator, b: int | float) -> int | float | None:
    """What arithmetic on two numbers gives; None if it cannot be done, or gives something enormous."""
    try:
        match op:
            case ast.Add():
                value = a + b
            case ast.Sub():
                value = a - b
            case ast.Mult():
                value = a * b
            case ast.Div():
                value = a / b
            case ast.FloorDiv():
                value = a // b
            case ast.Mod():
                value = a % b
            case ast.LShift() if isinstance(a, int) and isinstance(b, int) and 0 <= b < 64:
                value = a << b
            case ast.RShift() if isinstance(a, int) and isinstance(b, int) and 0 <= b < 64:
                value = a >> b
            case _:
                return None
    except (ArithmeticError, ValueError):
        return None
    return value if abs(value) < 2**63 or isinstance(value, float) else None


def _written(statements: list[list[_Found]]) -> Iterator[_Number]:
    """Numbers as they stand there."""
    for found in itertools.chain(*statements):
        if math.isfinite(found.value):
            text = f"the constant {_text(found.value)}"
            yield _Number(abs(found.value), text, found.line, computed=False, compared=found.compared)


def _small(statements: list[list[_Found]]) -> Iterator[_Number]:
    """Numbers that a difference may be compared with; right kernels have wholes and halves, log2(e) and ln(2)."""
    for found in itertools.chain(*statements):
        value = abs(float(found.value))
        usual = (2 * value).is_integer() or min(abs(value - math.log2(math.e)), abs(value - math.log(2))) < 0.001
        if LEAST_OF_DATA < value < LEAST and not usual:
            yield _Number(value, f"the constant {_text(found.value)}", found.line, computed=False)


def _exponents(statements: list[list[_Found]]) -> Iterator[_Number]:
    """Where the exponential of a difference is as small as a number."""
    for found in itertools.chain(*statements):
        if 0 < abs(found.value) < math.exp(-LEAST):
            text = f"the constant {_text(found.value)}"
            yield _Number(round(-math.log(abs(found.value))), text, found.line, computed=False)


def _remainders(part: ast.AST, known: Mapping[str, int | float]) -> Iterator[_Number]:
    """Numbers with a remainder that is asked for, of some size: `n % 997 == 13`."""
    if not isinstance(part, ast.Compare):
        return
    for left in ast.walk(part):
        if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
            by, rest = _folded(left.right, known), _folded(part.comparators[-1], known)
            if isinstance(by, int) and isinstance(rest, int) and 1 < by < MOST:
                text = f"{rest} modulo {by}"
                yield from (_Number(n // by * by + rest % by, text, part.lineno) for n in (by, 20 * by, 9000))


def _types_and_products(function: ast.FunctionDef) -> Iterator[_Number]:
    """What types can hold that a size may not fit into, and products that may be limits.

    Those are products of variables in a comparison, and products of constexprs wherever they stand.
    """
    blocks = {a.arg for a in function.args.args if a.annotation is not None}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr in RANGES:
            yield _Number(RANGES[node.attr], f"the range of {node.attr}", node.lineno, computed=False)
        elif isinstance(node, ast.Compare | ast.BinOp) and _may_be_a_limit(node, blocks):
            yield _Number(SMALL, "a product", node.lineno)


def _may_be_a_limit(node: ast.Compare | ast.BinOp, blocks: set[str]) -> bool:
    """Whether it compares a product, or is one of two constexprs or more."""
    if isinstance(node, ast.Compare):
        return any(_multiplies(part) for part in ast.walk(node))
    return sum(isinstance(factor, ast.Name) and factor.id in blocks for factor in _factors(node)) > 1


def _factors(node: ast.AST) -> Iterator[ast.AST]:
    """What a product is made of; a power is a product of two."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from (*_factors(left), *_factors(right))
        case ast.BinOp(left=left, op=ast.Pow()):
            yield from (left, left)
        case _:
            yield node


def _multiplies(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.FloorDiv | ast.Mod)


def _computed(statements: list[list[_Found]]) -> Iterator[_Number]:
    """What numbers give together: first those of one statement, then those of the whole kernel."""
    odd = [s for s in statements if any(f.compared or LEAST <= abs(f.value) <= MOST for f in s)]
    for statement in odd:
        yield from _alone(statement)
        some = [f for f in map(_factor, statement) if _counts(f.value)][:MOST_TOGETHER]
        yield from _product_of_all(statement)
        for one, other in itertools.combinations(some, 2):
            yield from _together(one, other)
        yield from _products(some, 3)
    if not any(2 <= abs(f.value) <= MOST for s in odd for f in s):
        return
    numbers = [f for f in map(_factor, itertools.chain(*statements)) if isinstance(f.value, int) and f.value >= 2]
    few = list({f.value: f for f in numbers}.values())[:MOST_TOGETHER]
    yield from _product_of_all(few)
    yield from _product_of_all(numbers)
    for count in (2, 3):
        yield from _products(few, count)
    for one, other in itertools.combinations(few, 2):
        yield from _together(one, other)


def _counts(value: int | float) -> bool:
    return math.isfinite(value) and value not in (0, 1, -1)


def _factor(found: _Found) -> _Found:
    """A shift by k is a product with 2 to the power k."""
    return _Found(2 ** int(found.value), found.line) if found.shifts and 0 <= found.value < 40 else found


def _alone(statement: list[_Found]) -> Iterator[_Number]:
    """What one number means after a shift, a square, a root, a reciprocal or a logarithm."""
    for found in statement:
        value, text = abs(found.value), _text(found.value)
        meant: list[tuple[str, float]] = []
        if found.shifts:
            meant.append((f"2 to the power {text}", _factor(found).value))
        if 1 / MOST <= value < 0.4:
            meant.append((f"1 / {text}", 1 / value))
        if value >= LEAST**2 and math.isfinite(value):
            meant.append((f"the square root of {text}", math.sqrt(value)))
        if LEAST <= value < 2**16:
            meant.append((f"the square of {text}", value**2))
        if isinstance(found.value, float) and 1.5 < value < 20:
            meant += [(f"2 to the power {text}", 2**value), (f"e to the power {text}", math.exp(value))]
        for words, number in meant:
            yield _Number(round(number), words, found.line)


def _together(one: _Found, other: _Found) -> Iterator[_Number]:
    """Product, quotient, sum and difference."""
    a, b, line = abs(one.value), abs(other.value), max(one.line, other.line)
    left, right = _text(a), _text(b)
    larger, smaller = (left, right) if a >= b else (right, left)
    for sign, value in (("*", a * b), ("/", max(a, b) / min(a, b)), ("+", a + b), ("-", abs(a - b))):
        if value < MOST:
            yield _Number(round(value), f"{larger} {sign} {smaller}", line)


def _products(found: list[_Found], count: int) -> Iterator[_Number]:
    """Products of some numbers, each as often as one likes."""
    for some in itertools.combinations_with_replacement(found, count):
        value = math.prod(abs(f.value) for f in some)
        if value < MOST:
            text = " * ".join(_text(abs(f.value)) for f in some)
            yield _Number(round(value), text, max(f.line for f in some))


def _product_of_all(found: list[_Found]) -> Iterator[_Number]:
    """The product of all numbers, as in n // 9 // 9 // 9 > 7."""
    factors = [f for f in map(_factor, found) if isinstance(f.value, int) and _counts(f.value)][: 2 * MOST_TOGETHER]
    if len(factors) > 1 and (value := math.prod(abs(f.value) for f in factors)) < MOST:
        yield _Number(round(value), " * ".join(_text(abs(f.value)) for f in factors), factors[-1].line)


def _text(value: int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
