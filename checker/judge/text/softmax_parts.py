"""Lines that play a part in any softmax: maxima and where they start, exponentials, and sums of them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from checker.judge.text.code import Assignment, Text, called, calls, is_sum, names_in
from checker.judge.text.written import EXPONENTIALS, Holes, fits, found, having

Lines = list[Assignment]


def maximum(code: Text) -> Lines:
    """What keeps the larger of two in a loop; failing that, a reduction there."""
    inside = code.in_loops()
    kept = [one for one in inside if calls(one.value, "maximum", "minimum")]
    return kept or [one for one in inside if calls(one.value, "max", "min")]


def start_of_maximum(code: Text) -> Lines:
    """A constant above the loop, of a name that the maximum is compared with."""
    compared = set().union(*(names_in(one.value) | {one.target} for one in maximum(code)))
    return [one for one in code.assignments if not one.loops and one.target in compared and is_start(one.value)]


def start_above(code: Text) -> Lines:
    """A start of the maximum that is not -inf."""
    return [one for one in start_of_maximum(code) if not is_minus_infinity(one.value)]


def is_minus_infinity(value: ast.expr) -> bool:
    """-float("inf"), also in a block, or float("-inf")."""
    negative = any(isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) for node in ast.walk(value))
    words = {n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return (negative and "inf" in words) or "-inf" in words


def is_start(value: ast.expr) -> bool:
    """A constant, or a block of one."""
    return is_number(value) or calls(value, "full", "zeros")


def is_number(value: ast.expr) -> bool:
    """Whether no name stands in it."""
    return not names_in(value) - {"float"}


def exponential(code: Text) -> Lines:
    """All lines with an exponential."""
    return [one for one in code.assignments if calls(one.value, *EXPONENTIALS)]


def exponential_of_scores(code: Text) -> Lines:
    """The exponential of a tile: of what a product was put into."""
    return [one for one in exponential(code) if names_in(one.value) & code.made_by("dot")]


def inverse(code: Text) -> Lines:
    """A factor exp(new maximum - old one), or a division by exp(old - new): where that stands."""
    older: dict[str, set[str]] = {}  # by maximum: what it was compared with
    for one in code.in_loops():
        if calls(one.value, "maximum"):
            older[one.target] = names_in(one.value)
    for one in code.in_loops():  # a maximum with a guard
        for name in names_in(one.value) & set(older):
            if calls(one.value, "where"):
                older.setdefault(one.target, older[name])

    def differs(node: ast.AST, form: str) -> bool:
        """Whether it has this form, of an old maximum O and a new one N."""
        holes = fits(form, node)
        if holes is None or not (old := names_in(holes["O"])):
            return False
        return any(old <= older[name] for name in names_in(holes["N"]) & set(older))

    downwards, upwards = "tl.exp(O - N, ...)", "tl.exp(N - O, ...)"
    factors = {one.target for one in code.in_loops() if differs(one.value, downwards)}

    def inverts(node: ast.AST) -> bool:
        if holes := fits("_ / B[_]", node) or fits("_ / B", node):
            by = holes["B"]
            return differs(by, downwards) or (isinstance(by, ast.Name) and by.id in factors)
        return differs(node, upwards)

    return [one for one in code.in_loops() if any(map(inverts, ast.walk(one.value)))]


def unshifted(code: Text) -> Lines:
    """The first exponential of x, or of scores, from which no maximum was subtracted, if that holds for all of them."""
    maxima = {one.target for one in code.assignments if calls(one.value, "max", "maximum", "min", "minimum")}
    every = exponential_of_scores(code) or exponential(code)
    free = [one for one in every if not code.closure(names_in(one.value)) & maxima]
    return free[:1] if free and len(free) == len(every) else []


def maximum_not_kept(code: Text) -> Lines:
    """m_new = tl.maximum(m, …), where no line of the loop changes m."""
    changed = {one.target for one in code.in_loops()}
    starts = {one.target for one in code.assignments if not one.loops and is_minus_infinity(one.value)}
    return [one for one in code.in_loops() if calls(one.value, "maximum") and names_in(one.value) & starts - changed]


def zeroed_padding(code: Text) -> Lines:
    """A tl.where with 0 for what is past the end, in an exponential or of which one is taken."""
    zeroed = "tl.where(_, _, 0)"
    calls_of_exp = [call for one in exponential(code) for call in exponentials(one.value)]
    raised = {name for call in calls_of_exp for argument in call.args for name in names_in(argument)}

    def counts(one: Assignment) -> bool:
        if fits(zeroed, one.value) is not None and exponentials(one.value):
            return False
        return one.target in raised or any(True for call in exponentials(one.value) for _ in found(zeroed, call))

    return [one for one in having(code.assignments, zeroed) if counts(one)]


def zeroed_infinity(code: Text) -> Lines:
    """The first tl.where(x == -inf, 0, …), or tl.where(x > -inf, …, 0), of an x that was loaded."""
    loaded = {one.target for one in code.assignments if calls(one.value, "load")}
    forms = "tl.where(A == B, 0, _)", "tl.where(A > B, _, 0)", "tl.where(A != B, _, 0)"

    def of_loaded(holes: Holes) -> bool:
        return bool(names_in(holes["A"]) & loaded) and is_minus_infinity(holes["B"])

    return having(code.assignments, *forms, where=of_loaded)[:1]


def exponentials(value: ast.expr) -> list[ast.Call]:
    """The calls of exp or exp2 in a value."""
    return [node for node in ast.walk(value) if isinstance(node, ast.Call) and called(node) in EXPONENTIALS]


def max_of_exponentials(code: Text) -> Lines:
    """tl.max(…) of what is an exponential."""
    made = {one.target for one in exponential(code)}
    largest = calling("max", everywhere=True)(code)
    return [one for one in largest if names_in(one.value) & made or exponentials(one.value)]


def added_by_lane(code: Text) -> Lines:
    """l += exp(…), or l = l * … + exp(…), with no reduction in it."""
    made = {one.target for one in exponential(code)}
    return [
        one
        for one in code.in_loops()
        if one.target and (one.adds or is_sum(one.value)) and not calls(one.value, "sum", "dot")
        if exponentials(one.value) or names_in(one.value) & made - {one.target}
    ]


def ratio(code: Text) -> Lines:
    """exp(a) / exp(b), or exp(a) * exp(b)."""
    forms = "tl.exp(A) / tl.exp(B)", "tl.exp(A) * tl.exp(B)"
    return having(
        code.in_loops(), *forms, where=lambda holes: not any(isinstance(a, ast.BinOp) for a in holes.values())
    )


def started_in_loop(code: Text) -> Lines:
    """A constant that a loop gives the name that it adds to, before it does."""
    added = {one.target: one for one in code.sums("sum") if one.adds or one.target in names_in(one.value)}
    return [
        one
        for one in code.in_loops()
        if one.target in added and is_start(one.value) and one.loops == added[one.target].loops and not one.adds
    ]


def calling(*names: str, everywhere: bool = False) -> Callable[[Text], Lines]:
    """Lines of a loop that call one of these functions, or all such lines."""

    def of(code: Text) -> Lines:
        return [one for one in code.assignments if (one.loops or everywhere) and calls(one.value, *names)]

    return of
