"""Wrong values that no misconception explains: their places, the shape of the error, and patterns in common."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Axis, Case, Role, as_bf16
from checker.course.puzzle import Expected
from checker.course.text import Assignment, Text
from checker.course.verdict import Finding, Status
from checker.course.written import having
from checker.judge.errors import PRINT_HINT
from checker.judge.evidence import Locator, element_name, has_columns, listed, tensor_name
from checker.judge.factors import SMALL_ERROR, one_factor
from checker.judge.general import finding
from checker.judge.notes import Loss, Note
from checker.judge.precision import BITS
from checker.judge.wrong import MOST_EXAMPLES, Wrong
from checker.sandbox.protocol.records import IN_STORE, is_size

LOST_IN_HALF = 2048  # times its tolerance an fp32 result may be off, if what it is made of was rounded to fp16
LOST_IN_BF16 = 8 * LOST_IN_HALF

_HALF_HINT = (
    "What a tl.dot takes may have 16 bits, and so may what is stored. Print the type of everything else, and look for "
    ".to(...dtype) and for what is computed from loaded numbers before it is fp32."
)
ENOUGH = 16  # values that all lie on a grid by more than chance


def located(items: list[Wrong], failed: list[Case], right: list[Case], where: Locator) -> Note:
    """Return findings on the wrong elements of the most telling case, if no misconception fits.

    That is the first case, which is the plainest; unless most of it is wrong, and only a part of a case whose rows are
    of different kinds. An output that is wrong everywhere in all cases comes first: that is true of each.
    """
    item = items[0]
    throughout = [n for n in item.wrong if all(n in i.wrong and i.wrong[n].all() for i in items)]
    if not throughout and _share(item) > 0.5:
        of_kinds = [i for i in items if _kinds(i) > MOST_EXAMPLES]
        item = min(of_kinds, key=lambda i: _share(i) if _share(i) < 0.5 else 1.0, default=item)
        item = item if _share(item) < 0.5 else items[0]
    name = next(iter(throughout or item.wrong))
    if name != item.first:
        item = replace(item, wrong={name: item.wrong[name], **item.wrong})
    rounded = _rounded(items)
    if rounded:
        return Loss(replace(rounded, where=item.place(where), examples=item.examples(name)[:2]), IN_STORE)
    if cast := _made_of_rounded(items, where):
        return Note(cast)
    half = _only_in_half(failed, right)
    regions = {n: _region(item, n) for n in item.wrong}
    parts = [f"{tensor_name(n)} is {_what(item, n)} {region}" for n, region in regions.items()]
    if len(set(regions.values())) == 1 and len({_what(item, n) for n in item.wrong}) == 1 and len(regions) > 1:
        parts = [f"{listed([tensor_name(n) for n in regions])} are {_what(item, name)} {regions[name]}"]
    title, below = parts[0], ""
    if len(parts) > 1:  # a title is one sentence
        title, below = f"{listed([tensor_name(n) for n in regions])} are wrong", f"In this case, {'; '.join(parts)}."
    elif _parts(item, name) and any({n: _region(i, n) for n in i.wrong} != regions for i in items):
        title += ", in this case"
    factor, common = one_factor(items, name), common_sizes(failed, right)
    finding = Finding(
        id="not-a-number" if item.status is Status.NOT_A_NUMBER else "wrong-values",
        status=item.status,
        title=title,
        explanation=" ".join(filter(None, (below, factor or _shape_of_error(item, name, half), common))),
        hint=_HALF_HINT if half else f"Take one of the examples and follow it through your code by hand. {PRINT_HINT}",
        where=item.place(where),
        examples=item.examples(name),
        named=False,
    )
    return Note(finding)


def _rounded(items: list[Wrong]) -> Finding | None:
    """Return the finding on outputs that were rounded to 16 bits, if that is all that is wrong with them."""
    outputs = [
        (i, n)
        for i in items
        for n in i.wrong
        if i.case.tensors[n].type == "float32" and _telling(i.outputs[n]).size >= ENOUGH
    ]
    types = {rounded_to(i.outputs[n], i.expected[n]) for i, n in outputs}
    kind = types.pop() if types else None
    if types or kind is None:
        return None
    names = dict.fromkeys(tensor_name(n) for i in items for n in i.wrong)
    name, was, it = listed([*names]), *(("was", "it") if len(names) == 1 else ("were", "they"))
    return Finding(
        id="rounded-to-half",
        status=Status.WRONG,
        title=f"{name} {was} rounded to {kind} before {it} {was} stored",
        explanation=f"Every value of {name} is one that {kind} can hold: the right value, rounded. Such a number keeps "
        f"{11 if kind == 'fp16' else 8} bits, but the output has fp32's 24.",
        hint=f"Store fp32: tl.store converts to the output's type by itself, whatever that is. Look for .to(tl."
        f"{'float16' if kind == 'fp16' else 'bfloat16'}), or .to(...dtype), on the way to the store.",
        question=f"Follow {name} from the load to the store. Which type does it have in each line, and where does fp32 "
        "end?",
    )


def _casts(code: Text) -> list[Assignment]:
    """Conversions to fp16 or bf16, by name: none to another tensor's type."""
    return having(code.assignments, "tl.float16", "tl.bfloat16")


def _made_of_rounded(items: list[Wrong], where: Locator) -> Finding | None:
    """Return the finding on fp32 results that are off by what a conversion to 16 bits in the kernel's text loses."""
    item = items[0]
    line = item.line_of(_casts)
    finite = [i for i in items if not _overflows(i)]
    if line is None or not finite or not all(_nearly(i, n, LOST_IN_BF16) for i in finite for n in i.wrong):
        return None
    name = item.first
    return finding(
        "fp32-rounded-on-the-way",
        Status.WRONG,
        item.place(where, _casts),
        item.examples(name)[:2],
        named=False,
        tensor=tensor_name(name),
    )


def _nearly(item: Wrong, name: str, times: float) -> bool:
    """Return whether an fp32 output is everywhere within so many times its tolerance."""
    if item.outputs[name].dtype != np.float32:
        return False
    with np.errstate(invalid="ignore"):
        off = np.abs(item.outputs[name].astype(np.float64) - item.expected[name].values)
    return bool(np.all(off[item.wrong[name]] <= times * item.expected[name].tolerance[item.wrong[name]]))


def _overflows(item: Wrong) -> bool:
    """Return whether some input is larger than fp16 can hold, and so infinite once it is rounded."""
    inputs = (tensor.values for tensor in item.case.tensors.values() if tensor.role is Role.INPUT)
    return any(values.size and np.abs(values).max() > np.finfo(np.float16).max for values in inputs)


def _what(item: Wrong, name: str) -> str:
    nan = np.isnan(item.outputs[name][item.wrong[name]])
    return "not a number" if nan.all() else "wrong, and partly not a number," if nan.any() else "wrong"


def _share(item: Wrong) -> float:
    return float(np.mean([mask.mean() for mask in item.wrong.values()]))


def _kinds(item: Wrong) -> int:
    """Return how many kinds of rows the case has."""
    return max(len(axis.labels) for tensor in item.case.tensors.values() for axis in tensor.axes)


def _region(item: Wrong, name: str) -> str:
    """Return which part of an output is wrong in words: some rows, the tail, one block."""
    wrong = item.wrong[name]
    if wrong.all():
        return "everywhere"
    if parts := _parts(item, name):
        return f"only in {', '.join(parts)}"
    return f"in {wrong.sum()} of {wrong.size} elements, from {element_name(name, np.argwhere(wrong)[0])} on"


def _parts(item: Wrong, name: str) -> list[str]:
    """Return which part of an output is wrong, along each of its axes; nothing if all along, or if
    no words are short.
    """
    wrong = item.wrong[name]
    parts = []
    for number, axis in enumerate(item.case.tensors[name].axes):
        others = tuple(n for n in range(wrong.ndim) if n != number)
        parts += _along(axis, np.flatnonzero(wrong.any(axis=others)), wrong.shape[number])
    return parts


def _along(axis: Axis, hit: npt.NDArray[np.int64], extent: int) -> list[str]:
    """Return where along one axis something is wrong; nothing if everywhere, or if no words are short enough."""
    if len(hit) == extent:
        return []
    tail = extent // axis.block * axis.block if axis.block else 0
    span = f"{axis.plural} {hit[0]} to {hit[-1]}" if len(hit) > 1 else f"{axis.word} {hit[0]}"
    if axis.block and tail >= 2 * axis.block and hit[0] >= tail:  # of two blocks, the last is only the second
        return [f"the tail: {span}, after the last whole block of {axis.block}"]
    if axis.block and hit[0] // axis.block == hit[-1] // axis.block and extent > axis.block:
        return [f"block {hit[0] // axis.block} ({span})"]
    if axis.block and hit[0] >= axis.block and len(hit) == extent - hit[0]:
        return [f"{axis.plural} from {hit[0]} on"]
    if len(hit) > extent // 2 and not axis.labels:
        return []
    shown = 2 if axis.labels and len(hit) > 4 else 4
    named = [f"{n} ({axis.labels[n]})" if n < len(axis.labels) else str(n) for n in hit[:shown]]
    more = f" and {len(hit) - shown} more" if len(hit) > shown else ""
    return [f"{axis.plural if len(hit) > 1 else axis.word} {', '.join(named)}{more} of {extent}"]


def _shape_of_error(item: Wrong, name: str, only_in_half: bool) -> str:
    """Return whether rows are off by a constant factor, which says where to look; or by little more than rounding."""
    actual = item.outputs[name].astype(np.float64)
    right = item.expected[name].values
    wrong = item.wrong[name]
    with np.errstate(all="ignore"):
        relative = np.abs(actual / right - 1)[wrong & (right != 0)]
    small = relative.size > 0 and bool(np.all(relative < SMALL_ERROR))
    if actual.ndim >= 2 and actual.shape[-1] > 2 and has_columns(item.case.tensors[name]) and not small:
        row = item.case.tensors[name].axes[-2].word
        rows = wrong.any(axis=-1)
        a, b = actual[rows], right[rows]
        with np.errstate(all="ignore"):
            factor = a / b
            if np.all(a == 0):
                return f"Each wrong {row} is 0 throughout: set to 0, never added to, or divided by infinity."
            if np.isfinite(a).all() and _constant_along_rows(factor):
                low, high = _range(factor)
                own = f"one factor ({low})" if low == high else f"a factor of its own ({low} to {high})"
                return (
                    f"Each wrong {row} is off by {own}: look at what the whole {row} is divided by or multiplied with."
                )
    if only_in_half:
        return (
            "Only launches with inputs in half precision come out wrong, and all with fp32 inputs are right. So "
            f"something that should be fp32 is rounded on the way. {BITS} One number in an exponent that is off by 0.1 "
            "makes 10 % of the result, and infinity makes NaN."
        )
    if np.isnan(actual[wrong]).any():
        return "NaN comes from inf - inf, 0 * inf, 0 / 0, or from memory that nobody wrote."
    if small:
        loses = "fp32 loses" if item.outputs[name].dtype == np.float32 else "rounding the result loses"
        return (
            f"Each wrong value is right to within {100 * float(relative.max()):.2g} %: close, but more than {loses}. "
            f"{_little(item)}"
        )
    if _nearly(item, name, LOST_IN_HALF) and np.all(relative < 1):
        return f"Each wrong value is close to the right one, but off by more than fp32 loses. {_little(item)}"
    return "The wrong values are further from the right ones than rounding could take them."


def _little(item: Wrong) -> str:
    """Return what to ask about results that are nearly right: whether something is fp16, if anything there can be."""
    if _of_half(item.case) or re.search("float16|half", ast.unparse(item.code.kernel)):
        return "Was something rounded to fp16 on the way, or is a constant slightly off?"
    return "Is a constant slightly off, or was something small left out?"


def _only_in_half(failed: list[Case], right: list[Case]) -> bool:
    """Return whether all launches that came out wrong have inputs of 16 bits, and there are others, which are right.

    One wrong launch has them by chance.
    """
    return len(failed) > 1 and all(map(_of_half, failed)) and not all(map(_of_half, right))


def _of_half(case: Case) -> bool:
    return any(tensor.bf16 or tensor.values.dtype == np.float16 for tensor in case.tensors.values())


def _constant_along_rows(values: Array) -> bool:
    finite = np.isfinite(values)
    if not finite.any(axis=-1).all():
        return False
    low = np.min(np.where(finite, values, np.inf), axis=-1)
    high = np.max(np.where(finite, values, -np.inf), axis=-1)
    return bool((finite.sum(axis=-1) > 2).all() and (high - low <= 1e-3 * np.abs(high)).all())


def _range(values: Array) -> tuple[str, str]:
    return f"{float(np.nanmin(values)):.3g}", f"{float(np.nanmax(values)):.3g}"


def _telling(actual: Array) -> Array:
    told: Array = actual[np.isfinite(actual) & (actual != 0)]
    return told


def rounded_to(actual: Array, expected: Expected) -> str | None:
    """Return the type of 16 bits that all of an output in fp32 was rounded to, if that is all that is wrong with it."""
    values, right = _telling(actual), expected.values
    with np.errstate(all="ignore"):
        for name, rounded, eps in (
            ("fp16", values.astype(np.float16).astype(np.float32), 2.0**-10),
            ("bf16", as_bf16(values), 2.0**-7),
        ):
            near = np.abs(actual - right) <= eps * np.abs(right) + 2.0**-24 + expected.tolerance
            if np.array_equal(rounded, values) and bool(np.all(near | (actual == right))):
                return name
    return None


def common_sizes(failed: list[Case], right: list[Case]) -> str:
    """Return what the sizes of all launches that came out wrong have in common, and of none of the others; else
    nothing.

    It says where to look when a kernel is wrong only at the edge of a tile.
    """
    if not failed or not right:
        return ""
    facts = [fact for fact in _facts(failed[0]) if all(fact in _facts(case) for case in failed)]
    others = [set(_facts(case)) for case in right]
    for several in (1, 2):
        for chosen in combinations(facts, several):
            if not any(set(chosen) <= other for other in others):
                launches = (
                    "The launch that came out wrong has"
                    if len(failed) == 1
                    else (f"The {len(failed)} launches that came out wrong have")
                )
                none = "none has" if several == 1 else "none has both"
                return f"{launches} {' and '.join(chosen)}; of those that came out right, {none}."
    return ""


def _facts(case: Case) -> Iterator[str]:
    """Yield how the sizes of a launch lie to its blocks, the plainest first."""
    sizes: Mapping[str, int] = {n: v for n, v in case.scalars.items() if is_size(n) and isinstance(v, int)}
    blocks = {n: int(v) for n, v in case.constexprs.items() if not isinstance(v, bool) and n != "D"}
    if "n_q" in sizes and "n_k" in sizes:
        sizes = {**sizes, "(n_k - n_q)": sizes["n_k"] - sizes["n_q"]}
    for flag, value in case.constexprs.items():
        if isinstance(value, bool):
            yield f"{flag}={value}"
    for name, size in sizes.items():
        if size < 0:
            yield f"{name} < 0"
        for block, width in blocks.items():
            for residue in (0, 1, width - 1):
                if size % width == residue:
                    yield f"{name} % {block} == {residue if residue < 2 else f'{block} - 1'}"
            if 0 <= size <= width:
                yield f"{name} <= {block}"
    for (one, a), (other, b) in combinations(blocks.items(), 2):
        yield f"{one} {'<' if a < b else '>' if a > b else '=='} {other}"
