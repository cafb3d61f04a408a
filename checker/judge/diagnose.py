"""Name the mistake: find the misconception that explains what was seen, or else say where it is.

A misconception explains a case when its model gives just what the kernel did, and the right answer
would have been something else. The one that explains most cases is named first; if it leaves cases
unexplained, they are looked at again, so two mistakes in one kernel get two names. What no name
explains is located, but only if there is no name at all: the report says one thing at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from checker.box.protocol.results import KernelError, Refusal
from checker.course.puzzle import Case, Misconception, Puzzle, Reach
from checker.course.verdict import Finding, Status, Where
from checker.judge.evidence import Locator, grid_position
from checker.judge.locate import (
    MOST_EXAMPLES,
    PRINT_HINT,
    Wrong,
    examples_of,
    located,
    place_of,
    status_of_values,
)
from checker.judge.memory import refusal_finding
from checker.judge.models import Models
from checker.judge.triton_errors import COMMON

MOST_NAMES = 3
MOST_COMPARED = 4  # of cases that tell little
LARGEST_COMPARED = 1 << 17  # elements of all tensors of such a case
# What Triton raises on a GPU before a kernel has run.
_COMPILER_ERRORS = frozenset(
    {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "OutOfResources"}
)
# Findings that say where, because no misconception says what.
UNNAMED = frozenset({"reads-outside", "writes-outside", "wrong-values", "not-a-number", "kernel-error"})

# Numbers in brackets in a message, or as much of them as stands in the first line.
_NUMBER = r"[-+]?(?:\d[\d.e+-]*|inf|nan)"
_NUMBERS = re.compile(rf"\[+\s*{_NUMBER}(?:[\s,\[\]]+{_NUMBER})+(?:[\s.]*\])*")
MOST_SIDES, LONGEST_SIDE = 4, 7  # of a shape; more numbers or digits than that are a block's values

T = TypeVar("T")


def name_errors(puzzle: Puzzle, errors: list[tuple[Case, KernelError]], where: Locator) -> Iterator[Finding]:
    """Findings for what the kernel raised."""

    def explains_error(misconception: Misconception, item: tuple[Case, KernelError]) -> bool:
        return misconception.error is not None and bool(misconception.error.search(item[1].message))

    named, rest = _cover((*puzzle.misconceptions, *COMMON), errors, explains_error)
    for misconception, items in named:
        case, error = items[0]
        place = where(error.line, case=case.name, program=grid_position(case, error.program))
        said = plain(error.message)
        status = Status.DOES_NOT_COMPILE if error.type in _COMPILER_ERRORS else Status.CRASHED
        yield _with_examples(_named(misconception, status, place), (f"Triton says: {said}",) if said else ())
    seen: set[tuple[str, int]] = set()
    for case, error in rest:
        if (error.type, error.line) in seen:
            continue
        seen.add((error.type, error.line))
        yield error_finding(case, error, where)


def error_finding(case: Case | None, error: KernelError, where: Locator) -> Finding:
    """What the kernel raised, in its own words."""
    place = (
        where(error.line)
        if case is None
        else where(error.line, case=case.name, program=grid_position(case, error.program))
    )
    if error.type == "MemoryError":
        return Finding(
            "out-of-memory",
            Status.OUT_OF_MEMORY,
            "The kernel asks for more memory than there is",
            "A block of this size does not fit into the memory of the box, let alone of a GPU's core.",
            "Work on one block at a time: its size is given by the constexpr parameters.",
            place,
        )
    message = plain(error.message) or "no message"
    if error.type == "FalsePromise":  # of checker.box.inside.promises, which needs Triton
        return Finding(
            "false-promise",
            Status.CRASHED,
            "What the kernel promises the compiler is not true",
            f"In this case {message}. A GPU relies on the promise: it then loads and stores at wrong addresses.",
            "Promise only what holds for every size and stride, or nothing: a kernel is right without promises.",
            place,
        )
    if error.type in _COMPILER_ERRORS:
        return compiler_finding("The kernel does not compile for this GPU", f"Triton says: {message}", place)
    return Finding(
        "kernel-error",
        Status.CRASHED,
        "The kernel stopped with an error",
        f"{error.type}: {message}",
        f"Look at the marked line: the shapes, types and names in it. {PRINT_HINT}",
        place,
    )


def plain(message: str) -> str:
    """The first line of what Triton says, without the numbers of a block that was printed into it."""

    def shortened(found: re.Match[str]) -> str:
        numbers = re.findall(_NUMBER, found[0])
        shape = len(numbers) <= MOST_SIDES and all(n.isdigit() and len(n) <= LONGEST_SIDE for n in numbers)
        return found[0] if shape else "[…]"

    return _NUMBERS.sub(shortened, message.strip().split("\n")[0])


def compiler_finding(title: str, said: str, place: Where) -> Finding:
    """What the compiler complains of, if no misconception knows it."""
    return Finding(
        "compiler-error",
        Status.DOES_NOT_COMPILE,
        title,
        "The interpreter runs a kernel as Python, and is more patient than the compiler.",
        "Look at the marked line: types and shapes must be known before the kernel runs.",
        place,
        (said,),
    )


def name_refusals(puzzle: Puzzle, refusals: list[tuple[Case, Refusal]], where: Locator) -> Iterator[Finding]:
    """Findings for accesses outside a tensor."""

    def explains_refusal(misconception: Misconception, item: tuple[Case, Refusal]) -> bool:
        case, seen = item
        if misconception.reach is None or seen.tensor is None:
            return False
        reach = Reach(seen.store, seen.tensor, seen.lowest, seen.highest)
        return reach in misconception.reach(case, seen.program)

    # Only one name: in a case with a single column, say, wrong addresses look all alike.
    named, rest = _cover(puzzle.misconceptions, refusals, explains_refusal, most=1)
    for misconception, items in named:
        general = refusal_finding(*items[0], where)
        finding = _named(misconception, Status.OUT_OF_BOUNDS, general.where)
        yield _with_examples(finding, (general.explanation,))
        return
    seen: set[tuple[int, bool]] = set()
    for case, refusal in rest:
        if (refusal.line, refusal.store) not in seen:
            seen.add((refusal.line, refusal.store))
            yield refusal_finding(case, refusal, where)


def name_wrong(
    puzzle: Puzzle, items: list[Wrong], failed: list[Case], right: list[Case], where: Locator
) -> Iterator[Finding]:
    """Findings for outputs that differ from the reference, in the cases that are worth a diagnosis.

    `failed` are all cases that did not come out right, `right` those that did.
    """
    if not items:
        return
    undefined = [item for item in items if item.undefined]
    if undefined:
        yield _undefined_lanes(undefined, where)
        return
    models = Models(puzzle, items)
    telling = [case for case in right if case.telling]
    if any(item.case.telling for item in items):
        named = _named_by(models, items, telling)
    else:
        named = _named_by_sizes(models, items, telling, [case for case in right if not case.telling])
    for misconception, explained in named:
        best = max(explained, key=lambda item: models.fit(misconception, item))  # the first of the best
        finding = _named(misconception, status_of_values(best), place_of(best, misconception.points_at, where))
        name = finding.where.tensor or ""
        yield _with_examples(finding, examples_of(best, name, models.predicted(misconception, best.case)[name])[:2])
    if not named:
        yield located(items, failed, right, where)


_Named = list[tuple[Misconception, list[Wrong]]]


def _named_by(models: Models, items: list[Wrong], right: list[Case]) -> _Named:
    """The misconceptions that together explain the most cases, and the most basic one among them."""
    possible = [m for m in models.candidates if models.explains_most(m, items)]
    possible = [m for m in possible if not any(models.refuted(m, case) for case in right)]
    named, _ = _cover(tuple(possible), items, models.explains)
    # If the most basic case has no explanation, names for special ones would mislead.
    return named if any(item is items[0] for _, explained in named for item in explained) else []


def _named_by_sizes(models: Models, items: list[Wrong], telling: list[Case], others: list[Case]) -> _Named:
    """The misconception that explains all cases, where none of them is telling: a mistake at the edge of a tile, say.

    Few are compared at first, because there can be many; and none that is large.
    """
    compared = sorted((i for i in items if _size(i.case) <= LARGEST_COMPARED), key=lambda i: _size(i.case))
    refuting = sorted((case for case in others if _size(case) <= LARGEST_COMPARED), key=_size)[: 2 * MOST_COMPARED]
    few, rest = compared[:MOST_COMPARED], compared[MOST_COMPARED:]
    possible = [m for m in models.candidates if few and models.explains_all(m, few) and models.explains_all(m, rest)]
    right = [*telling, *refuting]
    found = next((m for m in possible if not any(models.refuted(m, case) for case in right)), None)
    return [(found, compared)] if found else []


def _size(case: Case) -> int:
    return sum(tensor.values.size for tensor in case.tensors.values())


def _cover(
    candidates: tuple[Misconception, ...],
    items: list[T],
    test: Callable[[Misconception, T], bool],
    most: int = MOST_NAMES,
) -> tuple[list[tuple[Misconception, list[T]]], list[T]]:
    """Candidates that together explain the most items, best first, and what none explains."""
    chosen: list[tuple[Misconception, list[T]]] = []
    rest = list(items)
    while rest and len(chosen) < most:
        explained = [[item for item in rest if test(candidate, item)] for candidate in candidates]
        best = max(range(len(candidates)), key=lambda i: len(explained[i]), default=None)
        if best is None or not explained[best]:
            break
        chosen.append((candidates[best], explained[best]))
        rest = [item for item in rest if not any(item is e for e in explained[best])]
    return chosen, rest


def _named(misconception: Misconception, status: Status, where: Where) -> Finding:
    return Finding(
        id=misconception.id,
        status=status,
        title=misconception.title,
        explanation=misconception.explanation,
        hint=misconception.hint,
        where=where,
    )


def _with_examples(finding: Finding, examples: tuple[str, ...]) -> Finding:
    return replace(finding, examples=examples[:MOST_EXAMPLES])


def _undefined_lanes(items: list[Wrong], where: Locator) -> Finding:
    first = items[0]
    return Finding(
        id="undefined-masked-lanes",
        status=status_of_values(first),
        title="The result depends on lanes that were masked off",
        explanation="A masked load without `other` leaves its masked lanes undefined: on a GPU they hold "
        "anything. What they held here, NaN and other values, reached the output.",
        hint="Say what those lanes hold, other=..., so that they do not change a sum or a maximum, or "
        "remove them with tl.where.",
        where=place_of(first, "load", where),
    )
