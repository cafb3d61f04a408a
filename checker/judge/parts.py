"""Which lines play which part: where the normaliser grows, where the maximum starts, where a loop ends.

Whatever things are called. A part that no line plays, or more than one, has no line: then a report says less rather
than something that is not so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from checker.course.misconception import Part
from checker.judge.code import Assignment, Text, called, calls, is_sum, names_in

EXPONENTIALS = frozenset({"exp", "exp2"})


def _maximum(code: Text) -> list[Assignment]:
    inside = code.in_loops()
    kept = [one for one in inside if calls(one.value, "maximum", "minimum")]
    return kept or [one for one in inside if calls(one.value, "max", "min")]


def _start_of_maximum(code: Text) -> list[Assignment]:
    compared = set().union(*(names_in(one.value) | {one.target} for one in _maximum(code)))
    return [one for one in code.assignments if not one.loops and one.target in compared and _is_start(one.value)]


def _start_above(code: Text) -> list[Assignment]:
    """A start of the maximum that is not -inf."""
    return [one for one in _start_of_maximum(code) if not _is_minus_infinity(one.value)]


def _is_minus_infinity(value: ast.expr) -> bool:
    """-float("inf"), also in a block, or float("-inf")."""
    negative = any(isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) for node in ast.walk(value))
    words = {n.value for n in ast.walk(value) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return (negative and "inf" in words) or "-inf" in words


def _is_start(value: ast.expr) -> bool:
    """A constant, or a block of one."""
    return not names_in(value) - {"float"} or calls(value, "full", "zeros")


def _exponential(code: Text) -> list[Assignment]:
    return [one for one in code.assignments if calls(one.value, *EXPONENTIALS)]


def _exponential_of_scores(code: Text) -> list[Assignment]:
    """The exponential of a tile: of what a product was put into."""
    return [one for one in _exponential(code) if names_in(one.value) & code.made_by("dot")]


def _inverse(code: Text) -> list[Assignment]:
    """A factor exp(new maximum - old one), or a division by exp(old - new): where that stands."""
    older: dict[str, set[str]] = {}  # by maximum: what it was compared with
    for one in code.in_loops():
        if calls(one.value, "maximum"):
            older[one.target] = names_in(one.value)
    for one in code.in_loops():  # a maximum with a guard
        for name in names_in(one.value) & set(older):
            if calls(one.value, "where"):
                older.setdefault(one.target, older[name])

    def differs(node: ast.AST, downwards: bool) -> bool:
        """Whether it is exp(old - new), or exp(new - old) upwards."""
        match node:
            case ast.Call(args=[ast.BinOp(left=left, op=ast.Sub(), right=right), *_]) if called(node) in EXPONENTIALS:
                old, new = (left, right) if downwards else (right, left)
                return any(names_in(old) and names_in(old) <= older[name] for name in names_in(new) & set(older))
        return False

    factors = {one.target for one in code.in_loops() if differs(one.value, downwards=True)}

    def inverts(node: ast.AST) -> bool:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            by = node.right.value if isinstance(node.right, ast.Subscript) else node.right
            return differs(by, downwards=True) or (isinstance(by, ast.Name) and by.id in factors)
        return differs(node, downwards=False)

    return [one for one in code.in_loops() if any(inverts(node) for node in ast.walk(one.value))]


def _unshifted(code: Text) -> list[Assignment]:
    """The first exponential of x, or of scores, from which no maximum was subtracted, if that holds for all of them."""
    maxima = {one.target for one in code.assignments if calls(one.value, "max", "maximum", "min", "minimum")}
    found = _exponential_of_scores(code) or _exponential(code)
    free = [one for one in found if not code.closure(names_in(one.value)) & maxima]
    return free[:1] if free and len(free) == len(found) else []


def _second_load_of_k(code: Text) -> list[Assignment]:
    """Of two loads from K, the later one, if nothing is loaded from V."""
    loads = [one for one in code.assignments if calls(one.value, "load")]
    of = [(one, code.closure(names_in(one.value)) & code.pointers) for one in loads]
    of_k = [one for one, pointers in of if pointers == {"k_ptr"}]
    return of_k[1:] if len(of_k) == 2 and not any("v_ptr" in pointers for _, pointers in of) else []


def _branches_swapped(code: Text) -> list[Assignment]:
    """tl.where(mask, 0 or -inf, …) with the mask of a load or store: what exists is thrown away."""
    masks = {
        keyword.value.id
        for node in ast.walk(code.kernel)
        if isinstance(node, ast.Call) and called(node) in ("load", "store")
        for keyword in node.keywords
        if keyword.arg == "mask" and isinstance(keyword.value, ast.Name)
    }

    def swapped(node: ast.AST) -> bool:
        match node:
            case ast.Call(args=[ast.Name(id=name), kept, _]) if called(node) == "where":
                return name in masks and not names_in(kept) - {"float"}
        return False

    return [one for one in code.assignments if any(swapped(node) for node in ast.walk(one.value))]


def _loads_of_minus_infinity(code: Text) -> list[Assignment]:
    """Loads whose masked lanes hold -inf."""

    def holds(call: ast.Call) -> bool:
        others = [*call.args[2:3], *(keyword.value for keyword in call.keywords if keyword.arg == "other")]
        return called(call) == "load" and any(map(_is_minus_infinity, others))

    made = [(one, node) for one in code.assignments for node in ast.walk(one.value) if isinstance(node, ast.Call)]
    return [one for one, call in made if holds(call)]


def _minimum(code: Text) -> list[Assignment]:
    return [one for one in code.in_loops() if calls(one.value, "min", "minimum")]


def _causal_mask(code: Text) -> list[Assignment]:
    """A comparison of a row with a column of numbers; failing that, one in a loop that n_q and n_k both decide."""

    def lifted(side: ast.expr) -> bool:
        return any(isinstance(part, ast.Subscript) for part in ast.walk(side))

    def comparisons(one: Assignment) -> Iterator[ast.Compare]:
        found = (node for node in ast.walk(one.value) if isinstance(node, ast.Compare))
        return (node for node in found if any(map(lifted, (node.left, *node.comparators))))

    def both_lengths(node: ast.Compare) -> bool:
        return {"n_q", "n_k"} <= code.closure(names_in(node))

    compared = [(one, node) for one in code.assignments for node in comparisons(one)]
    of_both_sides = [one for one, node in compared if all(map(lifted, (node.left, *node.comparators)))]
    return of_both_sides or [one for one, node in compared if one.loops and both_lengths(node)]


def _bound(position: int, last: bool = True) -> Callable[[Text], list[Assignment]]:
    """Where the loop over tiles begins (0) or ends (1): the name's last or first assignment, or the loop's own line."""

    def of(code: Text) -> list[Assignment]:
        loops = {loop for one in code.in_loops() if calls(one.value, "dot") for loop in one.loops[-1:]}
        if len(loops) != 1 or not isinstance((call := loops.pop()).iter, ast.Call):
            return []
        arguments = call.iter.args
        bound = arguments[min(position, len(arguments) - 1)]
        own = [one for one in code.assignments if isinstance(bound, ast.Name) and one.target == bound.id]
        own = [one for one in own if not one.loops and one.line < call.lineno]
        return own[-1 if last else 0 :][:1] or [Assignment("", bound, call.lineno, ())]

    return of


def _ds(code: Text) -> list[Assignment]:
    """Where the product of dO and V is used."""
    products = {one.target for pair in ("v_ptr", "k_ptr") for one in code.product(frozenset({"do_ptr", pair}))}
    return [one for one in code.in_loops() if names_in(one.value) & products and not calls(one.value, "dot")]


def _elementwise(code: Text) -> list[Assignment]:
    """a * b, where a was loaded from one tensor and b from another one."""

    def of(side: ast.expr) -> set[str]:
        return code.closure(names_in(side)) & code.pointers

    def multiplies(node: ast.AST) -> bool:
        match node:
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                return len(of(left)) == len(of(right)) == 1 and of(left) != of(right)
        return False

    return [one for one in code.assignments if any(map(multiplies, ast.walk(one.value)))]


def _reduced_along_0(code: Text) -> list[Assignment]:
    def along_0(node: ast.AST) -> bool:
        if not isinstance(node, ast.Call) or called(node) not in ("max", "sum"):
            return False
        axes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "axis")]
        return any(isinstance(axis, ast.Constant) and axis.value == 0 for axis in axes)

    return [one for one in code.in_loops() if any(map(along_0, ast.walk(one.value)))]


def _maximum_not_kept(code: Text) -> list[Assignment]:
    """m_new = tl.maximum(m, …), where no line of the loop changes m."""
    changed = {one.target for one in code.in_loops()}
    starts = {one.target for one in code.assignments if not one.loops and _is_minus_infinity(one.value)}
    return [one for one in code.in_loops() if calls(one.value, "maximum") and names_in(one.value) & starts - changed]


def _cast_to_half(code: Text) -> list[Assignment]:
    """.to(tl.float16), or tl.bfloat16: not .to(x.dtype), which is fp32 where x is."""
    kinds = {"float16", "bfloat16"}
    return [
        one
        for one in code.assignments
        if any(isinstance(node, ast.Attribute) and node.attr in kinds for node in ast.walk(one.value))
    ]


def _keys_as_rows(code: Text) -> list[Assignment]:
    """tl.where(keys[:, None] < n_k, scores, …)."""

    def column(node: ast.AST) -> bool:
        match node:
            case ast.Compare(left=ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None)]))):
                return "n_k" in names_in(node)
        return False

    def hides(node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and called(node) == "where" and any(map(column, ast.walk(node.args[0])))

    return [one for one in code.assignments if any(hides(node) for node in ast.walk(one.value))]


def _zeroed_padding(code: Text) -> list[Assignment]:
    """A tl.where with 0 for what is past the end, in an exponential or of which one is taken."""

    def zeroes(value: ast.AST) -> bool:
        match value:
            case ast.Call(args=[_, _, ast.Constant(value=0)]):
                return called(value) == "where"
        return False

    raised = {name for one in _exponential(code) for name in _names_in_exponentials(one.value)}
    inside = [node for one in _exponential(code) for call in _exponentials(one.value) for node in ast.walk(call)]
    return [
        one
        for one in code.assignments
        if any(zeroes(node) and (one.target in raised or node in inside) for node in ast.walk(one.value))
        and not (zeroes(one.value) and calls(one.value, *EXPONENTIALS))
    ]


def _exponentials(value: ast.expr) -> list[ast.Call]:
    return [node for node in ast.walk(value) if isinstance(node, ast.Call) and called(node) in EXPONENTIALS]


def _names_in_exponentials(value: ast.expr) -> set[str]:
    return {name for call in _exponentials(value) for argument in call.args for name in names_in(argument)}


def _max_of_exponentials(code: Text) -> list[Assignment]:
    made = {one.target for one in _exponential(code)}
    return [
        one
        for one in code.assignments
        if calls(one.value, "max") and (names_in(one.value) & made or _exponentials(one.value))
    ]


def _unguarded(code: Text) -> list[Assignment]:
    """Exponentials relative to what no tl.where guards, where others have a guard; else the sum."""

    def guards(node: ast.AST) -> bool:
        match node:
            case ast.Call(args=[_, a, b]) if called(node) == "where":
                return any(isinstance(branch, ast.Constant) for branch in (a, b))
        return False

    guarded = {one.target for one in code.assignments if any(guards(node) for node in ast.walk(one.value))}

    def free(call: ast.Call) -> bool:
        match call.args:
            case [ast.BinOp(op=ast.Sub(), right=right), *_]:
                return not names_in(right) & guarded
        return False

    found = [one for one in code.in_loops() if any(free(call) for call in _exponentials(one.value))]
    found = [one for one in found if not calls(one.value, "store") and one.target]
    return found if guarded and found else code.sums("sum")


def _ratio(code: Text) -> list[Assignment]:
    """exp(a) / exp(b), or exp(a) * exp(b)."""

    def divides(node: ast.AST) -> bool:
        match node:
            case ast.BinOp(left=ast.Call() as one, op=ast.Div() | ast.Mult(), right=ast.Call() as other):
                both = called(one) in EXPONENTIALS and called(other) in EXPONENTIALS
                return both and not any(isinstance(a, ast.BinOp) for a in (*one.args, *other.args))
        return False

    return [one for one in code.in_loops() if any(divides(node) for node in ast.walk(one.value))]


def _started_in_loop(code: Text) -> list[Assignment]:
    """A constant that a loop gives the name that it adds to, before it does."""
    added = {one.target: one for one in code.sums("sum") if one.adds or one.target in names_in(one.value)}
    return [
        one
        for one in code.in_loops()
        if one.target in added and _is_start(one.value) and one.loops == added[one.target].loops and not one.adds
    ]


def _loops(code: Text) -> Iterator[tuple[ast.For, str, list[ast.expr]]]:
    """Loops over a range: (loop, variable, arguments)."""
    for node in ast.walk(code.kernel):
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(args=arguments) as call) if called(call) == "range":
                yield node, name, arguments


def _start_times_step(code: Text) -> list[Assignment]:
    def scales(node: ast.AST, name: str, step: ast.expr) -> bool:
        match node:
            case ast.BinOp(left=a, op=ast.Mult(), right=b):
                wanted = ast.dump(step)
                return any(
                    isinstance(x, ast.Name) and x.id == name and ast.dump(y) == wanted for x, y in ((a, b), (b, a))
                )
        return False

    return [
        one
        for loop, name, arguments in _loops(code)
        if len(arguments) == 3 and not isinstance(arguments[2], ast.Constant)
        for one in code.assignments
        if loop in one.loops and any(scales(node, name, arguments[2]) for node in ast.walk(one.value))
    ]


def _range_to_block(code: Text) -> list[Assignment]:
    """range(0, BLOCK_SIZE, …), or with another constant of the kernel."""
    constants = {a.arg for a in code.kernel.args.args if isinstance(a.annotation, ast.Attribute)}
    return [
        Assignment("", loop.iter, loop.lineno, ())
        for loop, _, arguments in _loops(code)
        if len(arguments) == 3 and isinstance(arguments[1], ast.Name) and arguments[1].id in constants
    ]


def _other_axis(code: Text) -> list[Assignment]:
    def asks(node: ast.AST) -> bool:
        match node:
            case ast.Call(args=[ast.Constant(value=axis)]) if called(node) == "program_id":
                return axis != 0
        return False

    return [one for one in code.assignments if any(asks(node) for node in ast.walk(one.value))]


def _comparisons(code: Text) -> Iterator[tuple[Assignment, ast.expr, ast.cmpop, ast.expr]]:
    """(assignment, left, operation, right) of each comparison of two sides."""
    for one in code.assignments:
        for node in ast.walk(one.value):
            match node:
                case ast.Compare(left=left, ops=[op], comparators=[right]):
                    yield one, left, op, right


def _is_lanes(code: Text, value: ast.expr) -> bool:
    """tl.arange(…), or a name that holds just that."""
    if isinstance(value, ast.Name):
        own = [one.value for one in code.assignments if one.target == value.id]
        return len(own) == 1 and isinstance(own[0], ast.Call) and _is_lanes(code, own[0])
    return isinstance(value, ast.Call) and called(value) == "arange"


def _inverted_mask(code: Text) -> list[Assignment]:
    """lanes >= n, or > n - …: what is compared begins with a size."""
    sizes = {a.arg for a in code.kernel.args.args if a.arg == "n" or a.arg.startswith("n_")}
    return [
        one
        for one, left, op, right in _comparisons(code)
        if isinstance(op, ast.Gt | ast.GtE) and names_in(right) & sizes and not names_in(left) & sizes
    ]


def _lanes_against(rest: bool) -> Callable[[Text], list[Assignment]]:
    """tl.arange(…) < n; or < n - …, of what is left."""

    def of(code: Text) -> list[Assignment]:
        return [
            one
            for one, left, _, right in _comparisons(code)
            if _is_lanes(code, left) and isinstance(right, ast.BinOp if rest else ast.Name) and "n" in names_in(right)
        ]

    return of


def _changed_first(code: Text) -> list[Assignment]:
    """l += …, or l = l * … + …, with no line above that assigns l."""
    assigned = {one.target: one.line for one in reversed(code.assignments)}
    parameters = {a.arg for a in code.kernel.args.args}
    return [
        one
        for one in code.assignments
        if (one.adds or one.target in names_in(one.value)) and assigned[one.target] == one.line
        if one.target not in parameters
    ]


def _pair(code: Text) -> list[Assignment]:
    """values, indices = tl.max(…), as in PyTorch."""
    found = [one for one in code.assignments if calls(one.value, "max", "min")]
    return [one for one in found if sum(one.value is other.value for other in found) > 1]


PARTS: dict[Part, Callable[[Text], list[Assignment]]] = {
    Part.NORMALISER: lambda code: code.sums("sum"),
    Part.ACCUMULATOR: lambda code: [one for one in code.sums("dot") if one.adds or is_sum(one.value)],
    Part.MAXIMUM: _maximum,
    Part.MAX: lambda code: [one for one in code.in_loops() if calls(one.value, "max")],
    Part.SUM: lambda code: [one for one in code.in_loops() if calls(one.value, "sum")],
    Part.EXPONENTIAL_OF_SCORES: _exponential_of_scores,
    Part.START_OF_MAXIMUM: _start_of_maximum,
    Part.START_ABOVE: _start_above,
    Part.UNSHIFTED_EXPONENTIAL: _unshifted,
    Part.EXPONENTIAL: _exponential,
    Part.INVERSE_FACTOR: _inverse,
    Part.LOAD_OF_MINUS_INFINITY: _loads_of_minus_infinity,
    Part.SECOND_LOAD_OF_K: _second_load_of_k,
    Part.SWAPPED_BRANCHES: _branches_swapped,
    Part.MINIMUM: _minimum,
    Part.CAUSAL_MASK: _causal_mask,
    Part.LOOP_BEGIN: _bound(0),
    Part.LOOP_END: _bound(1),
    Part.LOOP_END_WITHOUT_MASK: _bound(1, last=False),
    Part.DS: _ds,
    Part.ELEMENTWISE: _elementwise,
    Part.REDUCED_ALONG_0: _reduced_along_0,
    Part.MAXIMUM_NOT_KEPT: _maximum_not_kept,
    Part.CAST_TO_HALF: _cast_to_half,
    Part.KEYS_AS_ROWS: _keys_as_rows,
    Part.ZEROED_PADDING: _zeroed_padding,
    Part.MAX_OF_EXPONENTIALS: _max_of_exponentials,
    Part.UNGUARDED_EXPONENTIAL: _unguarded,
    Part.RATIO_OF_EXPONENTIALS: _ratio,
    Part.SUM_STARTED_IN_LOOP: _started_in_loop,
    Part.START_TIMES_STEP: _start_times_step,
    Part.RANGE_TO_BLOCK: _range_to_block,
    Part.OTHER_AXIS: _other_axis,
    Part.RESHAPE: lambda code: [one for one in code.assignments if calls(one.value, "reshape", "view")],
    Part.INVERTED_MASK: _inverted_mask,
    Part.LANES_AGAINST_N: _lanes_against(rest=False),
    Part.CHANGED_FIRST: _changed_first,
    Part.PAIR: _pair,
    Part.LANES_AGAINST_REST: _lanes_against(rest=True),
}
