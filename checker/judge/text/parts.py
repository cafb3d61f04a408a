"""Which lines play which part: where the normaliser grows, where the maximum starts too high, what shows a mistake.

Whatever things are called. A part that no line plays, or more than one, has no line: then a report says less rather
than something that is not so.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from checker.course.misconception import Part
from checker.judge.text.code import Assignment, Text, calls, is_sum, names_in
from checker.judge.text.softmax_parts import (
    Lines,
    added_by_lane,
    calling,
    exponential_of_scores,
    inverse,
    is_minus_infinity,
    is_number,
    max_of_exponentials,
    maximum_not_kept,
    ratio,
    start_above,
    started_in_loop,
    unshifted,
    zeroed_infinity,
    zeroed_padding,
)
from checker.judge.text.written import Holes, fits, found, having


def _k_of_minus_infinity(code: Text) -> Lines:
    """The first load from K whose masked lanes hold -inf."""
    loads = _loads_of_minus_infinity(code)
    return [one for one in loads if code.closure(names_in(one.value)) & code.pointers == {"k_ptr"}][:1]


def _branches_swapped(code: Text) -> Lines:
    """tl.where(mask, 0 or -inf, …) with the mask of a load or store: what exists is thrown away."""
    used = [holes["M"] for verb in ("load", "store") for holes in found(f"tl.{verb}(..., mask=M)", code.kernel)]
    masks = {mask.id for mask in used if isinstance(mask, ast.Name)}

    def throws_away(holes: Holes) -> bool:
        return isinstance(holes["M"], ast.Name) and holes["M"].id in masks and is_number(holes["A"])

    return having(code.assignments, "tl.where(M, A, _)", where=throws_away)


def _loads_of_minus_infinity(code: Text) -> Lines:
    """Loads whose masked lanes hold -inf."""
    forms = "tl.load(_, _, O, ...)", "tl.load(..., other=O)"
    return having(code.assignments, *forms, where=lambda holes: is_minus_infinity(holes["O"]))


def _causal_mask(code: Text) -> Lines:
    """A comparison of a row with a column of numbers."""

    def lifted(side: ast.expr) -> bool:
        return any(isinstance(part, ast.Subscript) for part in ast.walk(side))

    def compares(node: ast.AST) -> bool:
        return isinstance(node, ast.Compare) and all(map(lifted, (node.left, *node.comparators)))

    return [one for one in code.assignments if any(map(compares, ast.walk(one.value)))]


def _elementwise(code: Text) -> Lines:
    """a * b, where a was loaded from one tensor and b from another one."""

    def of_two(holes: Holes) -> bool:
        a, b = (code.closure(names_in(side)) & code.pointers for side in holes.values())
        return len(a) == len(b) == 1 and a != b

    return having(code.assignments, "A * B", where=of_two)


def _keys_as_rows(code: Text) -> Lines:
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


def _start_times_step(code: Text) -> Lines:
    steps = [(loop, name, ast.unparse(of["C"])) for loop, name, of in _loops(code) if not is_number(of["C"])]
    return [
        one
        for loop, name, step in steps
        for one in having(code.assignments, f"{name} * ({step})", f"({step}) * {name}")
        if loop in one.loops
    ]


def _beginning_added(code: Text) -> Lines:
    """first + start + …, or start + first, in a loop over a range from `first`."""
    beginnings = [(loop, ast.unparse(of["A"])) for loop, _, of in _loops(code) if not is_number(of["A"])]
    return [
        one
        for loop, first in beginnings
        for one in having(code.assignments, f"({first}) + _", f"_ + ({first})")
        if loop in one.loops
    ]


def _range_to_block(code: Text) -> Lines:
    """range(0, BLOCK_SIZE, …), or with another constant of the kernel."""
    constants = {a.arg for a in code.kernel.args.args if isinstance(a.annotation, ast.Attribute)}
    loops = [loop for loop, _, of in _loops(code) if isinstance(of["B"], ast.Name) and of["B"].id in constants]
    return [Assignment("", loop.iter, loop.lineno, ()) for loop in loops]


def _other_axis(code: Text) -> Lines:
    def other(holes: Holes) -> bool:
        return isinstance(holes["A"], ast.Constant) and holes["A"].value != 0

    return having(code.assignments, "tl.program_id(A)", where=other)


def _is_lanes(code: Text, value: ast.expr) -> bool:
    """tl.arange(…), or a name that holds just that."""
    if isinstance(value, ast.Name):
        own = [one.value for one in code.assignments if one.target == value.id]
        return len(own) == 1 and isinstance(own[0], ast.Call) and _is_lanes(code, own[0])
    return fits("tl.arange(...)", value) is not None


def _inverted_mask(code: Text) -> Lines:
    """lanes >= n, or > n - …: what is compared begins with a size."""
    sizes = {a.arg for a in code.kernel.args.args if a.arg == "n" or a.arg.startswith("n_")}

    def inverted(holes: Holes) -> bool:
        return bool(names_in(holes["B"]) & sizes) and not names_in(holes["A"]) & sizes

    return having(code.assignments, "A > B", "A >= B", where=inverted)


def _lanes_against(kind: type[ast.expr]) -> Callable[[Text], Lines]:
    """tl.arange(…) < n; or < n - …, of what is left."""

    def of(code: Text) -> Lines:
        def against_n(holes: Holes) -> bool:
            return isinstance(holes["B"], kind) and "n" in names_in(holes["B"]) and _is_lanes(code, holes["A"])

        return having(code.assignments, "A < B", "A <= B", "A > B", "A >= B", where=against_n)

    return of


def _changed_first(code: Text) -> Lines:
    """l += …, or l = l * … + …, with no line above that assigns l."""
    assigned = {one.target: one.line for one in reversed(code.assignments)}
    parameters = {a.arg for a in code.kernel.args.args}
    return [
        one
        for one in code.assignments
        if (one.adds or one.target in names_in(one.value)) and assigned[one.target] == one.line
        if one.target not in parameters
    ]


def _pair(code: Text) -> Lines:
    """values, indices = tl.max(…), as in PyTorch."""
    reductions = [one for one in code.assignments if calls(one.value, "max", "min")]
    return [one for one in reductions if sum(one.value is other.value for other in reductions) > 1]


def _carried_on(code: Text) -> Lines:
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


PARTS: dict[Part, Callable[[Text], Lines]] = {
    Part.NORMALISER: lambda code: code.sums("sum"),
    Part.ACCUMULATOR: lambda code: [one for one in code.sums("dot") if one.adds or is_sum(one.value)],
    Part.EXPONENTIAL_OF_SCORES: exponential_of_scores,
    Part.START_ABOVE: start_above,
    Part.UNSHIFTED_EXPONENTIAL: unshifted,
    Part.INVERSE_FACTOR: inverse,
    Part.LOAD_OF_MINUS_INFINITY: _loads_of_minus_infinity,
    Part.K_OF_MINUS_INFINITY: _k_of_minus_infinity,
    Part.SWAPPED_BRANCHES: _branches_swapped,
    Part.MINIMUM: calling("min", "minimum"),
    Part.CAUSAL_MASK: _causal_mask,
    Part.ELEMENTWISE: _elementwise,
    Part.REDUCED_ALONG_0: lambda code: having(
        code.in_loops(), "tl.max(_, 0, ...)", "tl.sum(_, 0, ...)", "tl.max(..., axis=0)", "tl.sum(..., axis=0)"
    ),
    Part.MAXIMUM_NOT_KEPT: maximum_not_kept,
    Part.CAST_TO_HALF: lambda code: having(code.assignments, "tl.float16", "tl.bfloat16"),  # not .to(x.dtype)
    Part.KEYS_AS_ROWS: _keys_as_rows,
    Part.ZEROED_PADDING: zeroed_padding,
    Part.ZEROED_INFINITY: zeroed_infinity,
    Part.MAX_OF_EXPONENTIALS: max_of_exponentials,
    Part.EXPONENTIALS_BY_LANE: added_by_lane,
    Part.RATIO_OF_EXPONENTIALS: ratio,
    Part.SUM_STARTED_IN_LOOP: started_in_loop,
    Part.START_TIMES_STEP: _start_times_step,
    Part.BEGINNING_ADDED: _beginning_added,
    Part.RANGE_TO_BLOCK: _range_to_block,
    Part.OTHER_AXIS: _other_axis,
    Part.RESHAPE: calling("reshape", "view", everywhere=True),
    Part.INVERTED_MASK: _inverted_mask,
    Part.LANES_AGAINST_N: _lanes_against(ast.Name),
    Part.CHANGED_FIRST: _changed_first,
    Part.CARRIED_ON: _carried_on,
    Part.PAIR: _pair,
    Part.TIMES_N: lambda code: having(code.assignments, "_ * n", "n * _"),
    Part.LANES_AGAINST_REST: _lanes_against(ast.BinOp),
}
