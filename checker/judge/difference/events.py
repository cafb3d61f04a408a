"""Events of each program of a launch, in order: names that got a value, loads, stores, and loops that ended."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from checker.course.case import Case
from checker.sandbox.protocol.results import AccessLog, LaunchResult
from checker.sandbox.protocol.steps import Step, Steps, Value

Place = tuple[int, ...]
Numbers = npt.NDArray[np.float64]
Elements = npt.NDArray[np.int64]
FLOATS = frozenset({"float", "fp16", "bf16", "fp32", "fp64", "float16", "bfloat16", "float32", "float64"})
MASKS = frozenset({"int1", "bool"})
INTEGERS = frozenset({"int", "int32", "int64"})


class Kind(str, Enum):
    """Kind of an event."""

    NAME = "name"
    EXACT = "exact"  # a name that got a mask or a whole number: what differs there is told only if it is proven
    LOAD = "load"
    STORE = "store"
    LOOP = "loop"  # has ended
    LEFT = "left"  # no event: an iteration leaves a name as it was
    STORED = "stored"  # no event: a store that alone differs


NAMED = frozenset({Kind.NAME, Kind.EXACT})


@dataclass(frozen=True, eq=False)
class Event:
    """One thing that a program did.

    `place` tells where in time, without lines: how many loops have begun there, then, within a loop, its iteration, how
    many loops have begun in that one, and so on. So it is (0,) before the first loop, (1, 2, 0) in the third iteration
    of it, and (1,) after it.
    """

    kind: Kind
    place: Place
    name: str  # that was assigned; of a load or store, the tensor's parameter
    line: int  # 0: of the solution, whose lines nobody is shown
    numbers: Numbers | None = None  # of a name; of a loop, its iterations
    elements: Elements | None = None  # loaded or stored: their numbers in the dense tensor, each once
    step: int = 0  # of its program, counted from 0; of a loop, the last look at its head
    spread: Numbers | None = None  # of a name of the solution: how far each number moves with the inputs' last digits


Programs = Mapping[int, Sequence[Event]]  # by program


def events_of(source: str, case: Case, result: LaunchResult) -> dict[int, list[Event]]:
    """Return what each program did; nothing if the launch was not recorded to its end."""
    if result.steps is None or not result.steps.whole:
        return {}
    loops = _loops(source, case.kernel)
    by_program: defaultdict[int, list[Step]] = defaultdict(list)
    for step in result.steps.steps:
        by_program[step.program].append(step)
    names = list(case.tensors)
    return {program: list(_events(own, result.steps, result.log, loops, names)) for program, own in by_program.items()}


def shape_of_loops(source: str, kernel: str) -> str:
    """Return how the loops of a kernel are nested: `()(())` are one loop, and one around another."""
    ends, shape = list[int](), ""
    for line, end in sorted(_loops(source, kernel).items()):
        while ends and line > ends[-1]:
            shape += ")"
            ends.pop()
        shape += "("
        ends.append(end)
    return shape + ")" * len(ends)


def _loops(source: str, kernel: str) -> dict[int, int]:
    """Return the first and the last line of each loop of a kernel."""
    functions = (one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef) and one.name == kernel)
    nodes = (node for function in functions for node in ast.walk(function))
    return {node.lineno: node.end_lineno or node.lineno for node in nodes if isinstance(node, ast.For | ast.While)}


@dataclass
class _Level:
    """A loop that has begun, or the kernel's own body, and where it is."""

    first: int
    last: int
    iteration: int = -1
    begun: int = 0  # loops within it, in this iteration
    head: int = 0  # the last step at its first line


def _events(
    steps: Sequence[Step], recorded: Steps, log: AccessLog, loops: Mapping[int, int], names: Sequence[str]
) -> Iterator[Event]:
    """Yield the events of one program. Names that a function of the submission's own holds are left out."""
    levels, before = [_Level(0, 1 << 31)], 0  # `before`: the last step of the kernel itself
    starts = np.concatenate(([0], np.cumsum(log.distinct)))

    for n, step in enumerate(steps):
        if step.depth == 0:
            while not levels[-1].first <= step.line <= levels[-1].last:
                yield _ended(levels, before)
            before = n
            if step.line in loops and (len(levels) == 1 or levels[-1].first != step.line):
                levels[-1].begun += 1
                levels.append(_Level(step.line, loops[step.line]))
            if step.line == levels[-1].first:
                levels[-1].iteration += 1
                levels[-1].head = n
                levels[-1].begun = 0
        for access in step.accesses:
            if access.record >= 0:
                elements = log.elements[starts[access.record] : starts[access.record + 1]].astype(np.int64)
                name = names[int(log.tensor[access.record])]
                kind = Kind.STORE if access.store else Kind.LOAD
                yield Event(kind, _place(levels), name, step.line, elements=elements, step=n)
        if step.depth == 0:
            for name, at in step.changed.items():
                value = recorded.values[at]
                if (of := _kind(value)) and not (of is Kind.EXACT and step.line in loops):  # a loop's own variable
                    yield Event(of, _place(levels), name, step.line, value.numbers, step=n)
    while len(levels) > 1:
        yield _ended(levels, before)


def _kind(value: Value) -> Kind | None:
    """Return the kind of event that it is to assign a value; None if it is not compared."""
    if value.numbers is None:
        return None
    if value.type in FLOATS:
        return Kind.NAME
    return Kind.EXACT if value.type in MASKS or (value.type in INTEGERS and value.numbers.size == 1) else None


def _ended(levels: list[_Level], before: int) -> Event:
    """Return the end of the innermost loop: its head was looked at once more than it was gone through.

    Unless the last step before it is of its body: it was left from there, by `return` or `break`.
    """
    loop = levels.pop()
    iterations = np.array(float(loop.iteration + (before != loop.head)))
    return Event(Kind.LOOP, _place(levels), "", loop.first, iterations, step=loop.head)


def _place(levels: Sequence[_Level]) -> Place:
    return (levels[0].begun, *(number for level in levels[1:] for number in (level.iteration, level.begun)))
