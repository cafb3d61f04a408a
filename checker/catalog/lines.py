"""Lines of a kernel that show a mistake, whatever things are called in it: of a softmax, of attention, of addresses.

Each function finds those of one kind. A sign that needs one is no name for a kernel without it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from checker.course.text import Assignment, Line, Text, called, calls, is_sum, names_in
from checker.course.written import EXPONENTIALS, Holes, fits, found, having

Lines = list[Assignment]


def maximum(code: Text) -> Lines:
    """Return what keeps the larger of two in a loop; failing that, a reduction there."""
    inside = code.in_loops()
    kept = [one for one in inside if calls(one.value, "maximum", "minimum")]
    return kept or [one for one in inside if calls(one.value, "max", "min")]


def start_of_maximum(code: Text) -> Lines:
    """Return a constant above the loop, of a name that the maximum is compared with."""
    kept = maximum(code)
    compared = set().union(*(names_in(one.value) | {one.target} for one in kept))
    inside = {one.loops for one in kept}
    starts = [one for one in code.assignments if one.target in compared and is_start(one.value)]
    return [one for one in starts if one.loops not in inside]


def start_above(code: Text) -> Lines:
    """Return a start of the maximum that is not -inf."""
    return [one for one in start_of_maximum(code) if not is_minus_infinity(one.value)]


def is_minus_infinity(value: ast.expr) -> bool:
    """-float("inf"), also in a block, or float("-inf")."""
    negative = any(isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) for node in ast.walk(value))
    words = {n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return (negative and "inf" in words) or "-inf" in words


def is_start(value: ast.expr) -> bool:
    """Return a constant, or a block of one."""
    return is_number(value) or calls(value, "full", "zeros", "full_like", "zeros_like")


def is_number(value: ast.expr) -> bool:
    """Return whether no name stands in it."""
    return not names_in(value) - {"float"}


def exponential(code: Text) -> Lines:
    """Return all lines with an exponential."""
    return [one for one in code.assignments if calls(one.value, *EXPONENTIALS)]


def exponential_of_scores(code: Text) -> Lines:
    """Return the exponential of a tile: of what a product was put into."""
    return [one for one in exponential(code) if names_in(one.value) & code.made_by("dot")]


def inverse_factor(code: Text) -> Lines:
    """Return a factor exp(new maximum - old one), or a division by exp(old - new): where that stands."""
    older: dict[str, set[str]] = {}  # by maximum: what it was compared with
    for one in code.in_loops():
        if calls(one.value, "maximum"):
            older[one.target] = names_in(one.value)
    for one in code.in_loops():  # a maximum with a guard
        for name in names_in(one.value) & set(older):
            if calls(one.value, "where"):
                older.setdefault(one.target, older[name])

    def differs(node: ast.AST, form: str) -> bool:
        """Return whether it has this form, of an old maximum O and a new one N."""
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
    """Return the first exponential of x, or of scores, from which no maximum was subtracted, if that holds for all of
    them.
    """
    maxima = {one.target for one in code.assignments if calls(one.value, "max", "maximum", "min", "minimum")}
    every = exponential_of_scores(code) or exponential(code)
    free = [one for one in every if not code.closure(names_in(one.value)) & maxima]
    return free[:1] if free and len(free) == len(every) else []


def zeroed_padding(code: Text) -> Lines:
    """Return a tl.where with 0 for what is past the end, in an exponential or of which one is taken."""
    zeroed = "tl.where(_, _, 0)"
    calls_of_exp = [call for one in exponential(code) for call in exponentials(one.value)]
    raised = {name for call in calls_of_exp for argument in call.args for name in names_in(argument)}

    def counts(one: Assignment) -> bool:
        if fits(zeroed, one.value) is not None and exponentials(one.value):
            return False
        return one.target in raised or any(True for call in exponentials(one.value) for _ in found(zeroed, call))

    return [one for one in having(code.assignments, zeroed) if counts(one)]


def zeroed_infinity(code: Text) -> Lines:
    """Return the first tl.where(x == -inf, 0, …), or tl.where(x > -inf, …, 0), of an x that was loaded."""
    loaded = {one.target for one in code.assignments if calls(one.value, "load")}
    forms = "tl.where(A == B, 0, _)", "tl.where(A > B, _, 0)", "tl.where(A != B, _, 0)"

    def of_loaded(holes: Holes) -> bool:
        return bool(names_in(holes["A"]) & loaded) and is_minus_infinity(holes["B"])

    return having(code.assignments, *forms, where=of_loaded)[:1]


def exponentials(value: ast.expr) -> list[ast.Call]:
    """Return the calls of exp or exp2 in a value."""
    return [node for node in ast.walk(value) if isinstance(node, ast.Call) and called(node) in EXPONENTIALS]


def max_of_exponentials(code: Text) -> Lines:
    """tl.max(…) of what is an exponential."""
    made = {one.target for one in exponential(code)}
    largest = calling("max", everywhere=True)(code)
    return [one for one in largest if names_in(one.value) & made or exponentials(one.value)]


def ratio_of_exponentials(code: Text) -> Lines:
    """exp(a) / exp(b), or exp(a) * exp(b)."""
    forms = "tl.exp(A) / tl.exp(B)", "tl.exp(A) * tl.exp(B)"
    return having(
        code.in_loops(), *forms, where=lambda holes: not any(isinstance(a, ast.BinOp) for a in holes.values())
    )


def started_in_loop(code: Text) -> Lines:
    """Return a constant that a loop gives the name that it adds to, before it does."""
    added = {one.target: one for one in code.sums("sum") if one.adds or one.target in names_in(one.value)}
    return [
        one
        for one in code.in_loops()
        if one.target in added and is_start(one.value) and one.loops == added[one.target].loops and not one.adds
    ]


def calling(*names: str, everywhere: bool = False) -> Line:
    """Lines of a loop that call one of these functions, or all such lines."""

    def of(code: Text) -> Lines:
        return [one for one in code.assignments if (one.loops or everywhere) and calls(one.value, *names)]

    return of


def loads_of_minus_infinity(code: Text) -> Lines:
    """Loads whose masked lanes hold -inf."""
    forms = "tl.load(_, _, O, ...)", "tl.load(..., other=O)"
    return having(code.assignments, *forms, where=lambda holes: is_minus_infinity(holes["O"]))


def causal_mask(code: Text) -> Lines:
    """Return a comparison of a row with a column of numbers."""

    def lifted(side: ast.expr) -> bool:
        return any(isinstance(part, ast.Subscript) for part in ast.walk(side))

    def compares(node: ast.AST) -> bool:
        return isinstance(node, ast.Compare) and all(map(lifted, (node.left, *node.comparators)))

    return [one for one in code.assignments if any(map(compares, ast.walk(one.value)))]


def elementwise(code: Text) -> Lines:
    """a * b, where a was loaded from one tensor and b from another one."""

    def of_two(holes: Holes) -> bool:
        a, b = (code.closure(names_in(side)) & code.pointers for side in holes.values())
        return len(a) == len(b) == 1 and a != b

    return having(code.assignments, "A * B", where=of_two)


def keys_as_rows(code: Text) -> Lines:
    """tl.where(keys[:, None] < n_k, scores, …)."""

    def column(node: ast.AST) -> bool:
        return isinstance(node, ast.Compare) and fits("_[:, None]", node.left) is not None and "n_k" in names_in(node)

    return having(code.assignments, "tl.where(M, ...)", where=lambda holes: any(map(column, ast.walk(holes["M"]))))


def _loops(code: Text) -> Iterator[tuple[ast.For, str, Holes]]:
    """Loops over a range from A to B in steps C: (loop, variable, these)."""
    for node in ast.walk(code.kernel):
        match node:
            case ast.For(target=ast.Name(id=name)) if holes := fits("range(A, B, C)", node.iter):
                yield node, name, holes


def start_times_step(code: Text) -> Lines:
    """Return a product of a loop's variable and the loop's step."""
    steps = [(loop, name, ast.unparse(of["C"])) for loop, name, of in _loops(code) if not is_number(of["C"])]
    return [
        one
        for loop, name, step in steps
        for one in having(code.assignments, f"{name} * ({step})", f"({step}) * {name}")
        if loop in one.loops
    ]


def range_to_block(code: Text) -> Lines:
    """range(0, BLOCK_SIZE, …), or with another constant of the kernel."""
    constants = {a.arg for a in code.kernel.args.args if isinstance(a.annotation, ast.Attribute)}
    loops = [loop for loop, _, of in _loops(code) if isinstance(of["B"], ast.Name) and of["B"].id in constants]
    return [Assignment("", loop.iter, loop.lineno, ()) for loop in loops]


def other_axis(code: Text) -> Lines:
    """Return a question for the number of the program along another axis than 0."""

    def other(holes: Holes) -> bool:
        return isinstance(holes["A"], ast.Constant) and holes["A"].value != 0

    return having(code.assignments, "tl.program_id(A)", where=other)


def _bound(position: int, last: bool = True) -> Line:
    """Return where the loop over tiles begins (0) or ends (1): its name's last or first assignment, or the loop's own
    line.
    """

    def of(code: Text) -> Lines:
        loops = {loop for one in code.in_loops() if calls(one.value, "dot") for loop in one.loops[-1:]}
        if len(loops) != 1 or not isinstance((call := loops.pop()).iter, ast.Call):
            return []
        arguments = call.iter.args
        bound = arguments[min(position, len(arguments) - 1)]
        own = [one for one in code.assignments if isinstance(bound, ast.Name) and one.target == bound.id]
        own = [one for one in own if not one.loops and one.line < call.lineno]
        return own[-1 if last else 0 :][:1] or [Assignment("", bound, call.lineno, ())]

    return of


def _is_lanes(code: Text, value: ast.expr) -> bool:
    """tl.arange(…), or a name that holds just that."""
    if isinstance(value, ast.Name):
        own = [one.value for one in code.assignments if one.target == value.id]
        return len(own) == 1 and isinstance(own[0], ast.Call) and _is_lanes(code, own[0])
    return fits("tl.arange(...)", value) is not None


def inverted_mask(code: Text) -> Lines:
    """lanes >= n, or > n - …: what is compared begins with a size."""
    sizes = {a.arg for a in code.kernel.args.args if a.arg == "n" or a.arg.startswith("n_")}

    def inverted(holes: Holes) -> bool:
        return bool(names_in(holes["B"]) & sizes) and not names_in(holes["A"]) & sizes

    return having(code.assignments, "A > B", "A >= B", where=inverted)


def _lanes_against(kind: type[ast.expr]) -> Line:
    """tl.arange(…) < n; or < n - …, of what is left."""

    def of(code: Text) -> Lines:
        def against_n(holes: Holes) -> bool:
            return isinstance(holes["B"], kind) and "n" in names_in(holes["B"]) and _is_lanes(code, holes["A"])

        return having(code.assignments, "A < B", "A <= B", "A > B", "A >= B", where=against_n)

    return of


def carried_on(code: Text) -> Lines:
    """cols += BLOCK_SIZE in a loop, where a later loop uses cols and nothing has set it back: the first such line.

    What comes out of a load, as a sum does, is no position.
    """
    loops = [statement for statement in code.kernel.body if isinstance(statement, ast.For)]
    for one in (one for one in code.in_loops() if one.adds or one.target in names_in(one.value)):
        own = [other for other in code.assignments if other.target in code.closure({one.target})]
        later = [loop for loop in loops if loop.lineno > one.loops[0].lineno and one.target in _names(loop)]
        set_back = [
            other.line
            for other in own
            if other.target == one.target and not other.adds and one.target not in names_in(other.value)
        ]
        if any(calls(other.value, "load") for other in own):
            continue
        if any(not any(one.line < line <= (loop.end_lineno or loop.lineno) for line in set_back) for loop in later):
            return [one]
    return []


def _names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def times_n(code: Text) -> Lines:
    """Return a product with n."""
    return having(code.assignments, "_ * n", "n * _")


def normaliser(code: Text) -> Lines:
    """Return the sum of exponentials."""
    return code.sums("sum")


def accumulator(code: Text) -> Lines:
    """Return the sum of products."""
    return [one for one in code.sums("dot") if one.adds or is_sum(one.value)]


minimum = calling("min", "minimum")
reshape = calling("reshape", "view", everywhere=True)
loop_begin, loop_end, loop_end_without_mask = _bound(0), _bound(1), _bound(1, last=False)
lanes_against_n = _lanes_against(ast.Name)
lanes_against_rest = _lanes_against(ast.BinOp)  # of n
