"""Numbers in a submission that a size may be compared with: each gives cases on both sides of it.

A kernel that is right hardly needs any: 0, 1, 2 and constants of nature like log2(e). So every other number is a
suspect, wherever it stands, and so is what the numbers of a statement give together: `n_cols // 100 > 50` means 5000.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checker.course.puzzle import Suspect, Suspects
from checker.submission import refusals
from checker.submission.extract import Program
from checker.submission.folding import folded, numbers_in, of_size
from checker.submission.problem import Problem

LEAST, MOST = 3, 2**31  # smaller ones stand in every right kernel; no size is larger
AXES = 4  # of PyTorch's tensors here: smaller numbers stand wherever an axis does
LEAST_OF_DATA = 1e-6  # what is smaller is hardly more than a rounding
MOST_OF_DATA = 10**12  # what is larger may stand for infinity
MOST_SUSPECTS = 24  # of one kernel, which has a case for each; those written down come before those computed
MOST_WRITTEN = 12  # of these; no right kernel that was ever seen has more than three
SMALL = 9  # for what has no number of its own
RANGES = {"int8": 2**7, "uint8": 2**8, "int16": 2**15, "uint16": 2**16, "float16": 2**11, "bfloat16": 2**8}
MOST_LOOKED_AT = 10_000
MOST_TRIED = 100_000  # parts of expressions that are computed to find sizes with a remainder
MOST_TOGETHER = 8  # numbers of a statement, or of a kernel, that are computed with

Place = Callable[[int], tuple[int | None, int]]  # a line of the text → (cell, line in it)


@dataclass(frozen=True)
class _Number:
    """A number that a size may be compared with, and its spelling."""

    value: int | float
    text: str
    line: int
    computed: bool = False  # else it stands in the code, folded
    solved: bool = False  # it is a size of which the code asks for a remainder
    shifts: bool = False  # it is the right side of << or >>
    compared: bool = False  # it stands in a comparison

    def suspect(self, place: Place) -> Suspect:
        """Return the same for a report."""
        cell, line = place(self.line)
        where = f"line {line}" if cell is None else f"cell {cell}, line {line}"
        text = f"{self.text}, from {where}" if self.computed else f"{self.text} in {where}"
        return Suspect(self.value, text, self.computed, self.solved)


def suspects(program: Program, place: Place) -> dict[str, Suspects]:
    """Return what is suspicious in each kernel and in the helpers that it calls."""
    kept = (
        [sorted(some, key=lambda number: number.computed and not number.solved)[:MOST_SUSPECTS] for some in both]
        for both in (_of_kernel(program, name) for name in program.kernels)
    )
    made = (Suspects(*(tuple(number.suspect(place) for number in some) for some in both)) for both in kept)
    return dict(zip(program.kernels, made, strict=True))


def crowded(program: Program) -> Problem | None:
    """Return what is said of a program of which one kernel has so many suspicious numbers that they
    would hide others.
    """
    for name, function in program.kernels.items():
        if any(sum(not n.computed for n in some) > MOST_WRITTEN for some in _of_kernel(program, name)):
            return replace(refusals.problem("too-many-numbers/kernel", name=name), line=function.lineno)
    return None


def _of_kernel(program: Program, kernel: str) -> tuple[list[_Number], list[_Number]]:
    """Return what sizes may be compared with, and what data may be, the most likely first."""
    known = {name: value for name, node in program.constants.items() if (value := folded(node, {})) is not None}
    statements: list[list[_Number]] = []
    others: list[_Number] = []
    for name in sorted({kernel} | program.calls[kernel]):
        function = program.functions[name]
        inside = numbers_in(function, known)
        for part in _parts(function):
            numbers = [n for n in _constants(part, inside) if not (program.pytorch and 0 <= n.value < AXES)]
            if found := [replace(n, compared=isinstance(part, ast.Compare)) for n in numbers]:
                statements.append(found)
        others += _remainders(_parts(function), inside)
        others += [] if program.pytorch else _types_and_products(function)  # integers of Python have no end
    constants = list(_written(statements))
    sizes: dict[int, _Number] = {}
    for number in itertools.islice(itertools.chain(constants, others, _computed(statements)), MOST_LOOKED_AT):
        if LEAST <= number.value <= MOST or (number.value == 2 and number.compared):
            kept = sizes.setdefault(int(number.value), number)
            if number.solved:
                sizes[int(number.value)] = replace(kept, solved=True)
    of_data = [n for n in (*constants, *_exponents(constants)) if LEAST <= n.value <= MOST_OF_DATA]
    values = {n.value: n for n in (*reversed(of_data), *_small(constants))}
    return [*sizes.values()], [*values.values()][::-1]


def _parts(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield what stands together: comparisons first, then simple statements, conditions and bounds of loops."""
    yield from (node for node in ast.walk(function) if isinstance(node, ast.Compare))
    for node in ast.walk(function):
        if isinstance(node, ast.If):
            yield node.test
        elif isinstance(node, ast.For):
            yield node.iter
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef):
            yield node
    yield from function.args.defaults


def _constants(node: ast.AST, known: Mapping[str, int | float], shifts: bool = False) -> Iterator[_Number]:
    """Yield the largest constant parts of an expression or of a simple statement, except for comparisons inside it."""
    value = folded(node, known) if isinstance(node, ast.expr) else None
    if value is not None:
        assert isinstance(node, ast.expr)
        yield _Number(value, f"the constant {_text(value)}", node.lineno, shifts=shifts)
        return
    shifting = isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift | ast.RShift)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Compare):
            continue  # a part of its own
        yield from _constants(child, known, shifting and child is getattr(node, "right", None))


def _written(statements: Iterable[Sequence[_Number]]) -> Iterator[_Number]:
    """Numbers as they stand there, without their sign."""
    return (replace(n, value=abs(n.value)) for n in itertools.chain(*statements) if math.isfinite(n.value))


def _small(constants: Iterable[_Number]) -> Iterator[_Number]:
    """Numbers that a difference may be compared with; right kernels have wholes and halves, log2(e) and ln(2)."""
    for number in constants:
        value = float(number.value)
        usual = (2 * value).is_integer() or min(abs(value - math.log2(math.e)), abs(value - math.log(2))) < 0.001
        if LEAST_OF_DATA < value < LEAST and not usual:
            yield number


def _exponents(constants: Iterable[_Number]) -> Iterator[_Number]:
    """Yield where the exponential of a difference is as small as a number."""
    for number in constants:
        if 0 < number.value < math.exp(-LEAST):
            yield replace(number, value=round(-math.log(number.value)))


def _remainders(parts: Iterable[ast.AST], known: Mapping[str, int | float]) -> Iterator[_Number]:
    """Return sizes with a remainder that is asked for: `n % 997 == 13`, `(7 * n - m) % 997 == 13`.

    Where there are several names, all of them are this size, and then each by itself, with the others at 1.
    """
    budget = MOST_TRIED
    for part in parts:
        if not isinstance(part, ast.Compare):
            continue
        for left in ast.walk(part):
            if not (isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod)):
                continue
            by, rest = folded(left.right, known), folded(part.comparators[-1], known)
            if not (isinstance(by, int) and isinstance(rest, int) and 1 < by < MOST):
                continue
            nodes = [*ast.walk(left.left)]
            of_all = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node.id not in known)
            names = [*of_all][:MOST_TOGETHER]
            tried = [(near, known) for near in (by, 20 * by, 9000)]
            if len(names) > 1:
                tried += [(by, {**known, **dict.fromkeys({*names} - {name}, 1)}) for name in names]
            for near, given in tried:
                size = start = near // by * by + rest % by
                end = start + min(by, budget // len(nodes))
                while size < end and (of_size(left.left, size, given) - rest) % by:
                    size += 1
                budget -= len(nodes) * (size - start)
                value, solved = (size, True) if size < end else (start, False)
                yield _Number(value, f"{rest} modulo {by}", part.lineno, computed=True, solved=solved)


def _types_and_products(function: ast.FunctionDef) -> Iterator[_Number]:
    """Yield what types can hold that a size may not fit into, and products that may be limits.

    Those are products of variables in a comparison, and products of constexprs wherever they stand.
    """
    blocks = {a.arg for a in function.args.args if a.annotation is not None}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and node.attr in RANGES:
            yield _Number(RANGES[node.attr], f"the range of {node.attr}", node.lineno)
        elif isinstance(node, ast.Compare | ast.BinOp) and _may_be_a_limit(node, blocks):
            yield _Number(SMALL, "a product", node.lineno, computed=True)


def _may_be_a_limit(node: ast.Compare | ast.BinOp, blocks: set[str]) -> bool:
    """Return whether it compares a product, or is one of two constexprs or more."""
    if isinstance(node, ast.Compare):
        operators = (part.op for part in _compared(node) if isinstance(part, ast.BinOp))
        return any(isinstance(op, ast.Mult | ast.FloorDiv | ast.Mod) for op in operators)
    return sum(isinstance(factor, ast.Name) and factor.id in blocks for factor in _factors(node)) > 1


def _compared(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all parts of a comparison, but for what a random number is drawn at: that number says
    nothing of its size.
    """
    yield node
    for part in () if _is_drawn(node) else ast.iter_child_nodes(node):
        yield from _compared(part)


def _is_drawn(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "rand"


def _factors(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what a product is made of; a power is a product of two."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            yield from (*_factors(left), *_factors(right))
        case ast.BinOp(left=left, op=ast.Pow()):
            yield from (left, left)
        case _:
            yield node


def _computed(statements: Iterable[Sequence[_Number]]) -> Iterator[_Number]:
    """Yield what numbers give together: first those of one statement, then those of the whole kernel."""
    odd = [s for s in statements if any(n.compared or LEAST <= abs(n.value) <= MOST for n in s)]
    for statement in odd:
        yield from itertools.chain.from_iterable(map(_alone, statement))
        some = [n for n in map(_factor, statement) if _counts(n.value)][:MOST_TOGETHER]
        yield from _product_of_all(statement)
        for one, other in itertools.combinations(some, 2):
            yield from _together(one, other)
        yield from _products(some, 3)
    if not any(2 <= abs(n.value) <= MOST for s in odd for n in s):
        return
    numbers = [n for n in map(_factor, itertools.chain(*statements)) if isinstance(n.value, int) and n.value >= 2]
    few = list({n.value: n for n in numbers}.values())[:MOST_TOGETHER]
    yield from _product_of_all(few)
    yield from _product_of_all(numbers)
    for count in (2, 3):
        yield from _products(few, count)
    for one, other in itertools.combinations(few, 2):
        yield from _together(one, other)


def _counts(value: int | float) -> bool:
    return math.isfinite(value) and value not in (0, 1, -1)


def _factor(number: _Number) -> _Number:
    """A shift by k is a product with 2 to the power k."""
    shifts = number.shifts and 0 <= number.value < 40
    return replace(number, value=2 ** int(number.value), shifts=False) if shifts else number


def _alone(number: _Number) -> Iterator[_Number]:
    """Yield what one number means after a shift, a square, a root, a reciprocal or a logarithm."""
    value, text = abs(number.value), _text(number.value)
    meant: dict[str, float] = {}
    if number.shifts:
        meant[f"2 to the power {text}"] = _factor(number).value
    if 1 / MOST <= value < 0.4:
        meant[f"1 / {text}"] = 1 / value
    if value >= LEAST**2 and math.isfinite(value):
        meant[f"the square root of {text}"] = math.sqrt(value)
    if LEAST <= value < 2**16:
        meant[f"the square of {text}"] = value**2
    if isinstance(number.value, float) and 1.5 < value < 20:
        meant |= {f"2 to the power {text}": 2**value, f"e to the power {text}": math.exp(value)}
    for words, result in meant.items():
        yield _Number(round(result), words, number.line, computed=True)


def _together(one: _Number, other: _Number) -> Iterator[_Number]:
    """Product, quotient, sum and difference."""
    larger, smaller = sorted((abs(one.value), abs(other.value)), reverse=True)
    results = {"*": larger * smaller, "/": larger / smaller, "+": larger + smaller, "-": larger - smaller}
    for sign, value in results.items():
        if value < MOST:
            text = f"{_text(larger)} {sign} {_text(smaller)}"
            yield _Number(round(value), text, max(one.line, other.line), computed=True)


def _products(numbers: Sequence[_Number], count: int) -> Iterator[_Number]:
    """Products of some numbers, each as often as one likes."""
    for some in itertools.combinations_with_replacement(numbers, count):
        yield from _product(some, max(n.line for n in some))


def _product_of_all(numbers: Iterable[_Number]) -> Iterator[_Number]:
    """Yield the product of all numbers, as in n // 9 // 9 // 9 > 7."""
    factors = [n for n in map(_factor, numbers) if isinstance(n.value, int) and _counts(n.value)][: 2 * MOST_TOGETHER]
    if len(factors) > 1:
        yield from _product(factors, factors[-1].line)


def _product(factors: Sequence[_Number], line: int) -> Iterator[_Number]:
    values = [abs(n.value) for n in factors]
    if (value := math.prod(values)) < MOST:
        yield _Number(round(value), " * ".join(map(_text, values)), line, computed=True)


def _text(value: int | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
