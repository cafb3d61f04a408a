"""One launch and its steps, as data for a page: `step/launch.js` says what each field is."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from checker.course.case import Case
from checker.course.clean import clean, one_line
from checker.course.puzzle import Expected
from checker.course.verdict import Where
from checker.judge.difference.events import Programs
from checker.judge.difference.first import held, paired
from checker.judge.evidence import element_name, tensor_name
from checker.report.translated import said as spoken
from checker.sandbox.protocol.results import AccessLog, LaunchResult, Refusal
from checker.sandbox.protocol.steps import Step, Value
from checker.submission.extract import Program
from checker.submission.read import Submission
from checker.trace.record import name_of_program

DIGITS = 4  # of a number that is shown
MOST_MESSAGE = 200  # characters

Data = dict[str, Any]


def launch_data(
    program: Program,
    submission: Submission,
    case: Case,
    result: LaunchResult,
    about: Where,
    own: int,
    expected: Mapping[str, Expected],
) -> Data:
    """Return a launch, its steps program by program.

    `own`: the program that is shown first. `about`: the place of a finding, if this is its launch: then its last step
    is shown first, or the one that stored the wrong element. `expected`: the right values of its outputs.
    """
    functions = [program.functions[name] for name in (case.kernel, *sorted(program.calls[case.kernel]))]
    recorded = result.steps
    assert recorded is not None
    steps = sorted(recorded.steps, key=lambda step: step.program)  # stable: each program's stay in order
    own_steps = [n for n, step in enumerate(steps) if step.program == own] or [0]
    end = result.refused or result.error
    text = clean(submission.text, len(submission.text)).split("\n")
    as_steps = [_step(step, result.log) for step in steps]
    data: Data = {
        "kernel": case.kernel,
        "case": case.name,
        "code": _code(text, submission, functions),
        "statements": dict(_statements(text, functions)),
        "loops": [loop for function in functions for loop in _loops(function)],
        "tensors": [
            {
                "name": tensor_name(name),
                "shape": tensor.values.shape,
                "type": tensor.type,
                "bytes": 2 if tensor.bf16 else tensor.values.itemsize,
            }
            for name, tensor in case.tensors.items()
        ],
        "count": math.prod(case.grid),
        "programs": {str(n): name_of_program(case, n) for n in dict.fromkeys(step.program for step in steps)},
        "values": [_value(value) for value in recorded.values],
        "steps": as_steps,
        "whole": recorded.whole,
        "stopped": None if end is None else _stopped(result, submission),
        "start": own_steps[0 if end is None else -1],
    }
    if wrong := _wrong(case, about, result, expected):
        stored = [n for n in own_steps if _stores(as_steps[n], wrong["tensor"], wrong["element"])]
        last = stored[-1] if stored else data["start"]
        data |= {"wrong": wrong | {"stored": bool(stored), "step": last}, "start": last}
    return data


def translated(data: Data) -> Data:
    """Return a page's data, which stepped.py makes in English, in the language that is spoken."""
    launches = [
        one
        | {"case": spoken(one["case"]), "stopped": one["stopped"] and spoken(one["stopped"])}
        | {"programs": {number: spoken(name) for number, name in one["programs"].items()}}
        for one in data["launches"]
    ]
    words = {key: data[key] and spoken(data[key]) for key in ("title", "example")}
    return data | words | {"launches": launches}


def add_solution(data: Data, yours: Programs, right: Programs, program: int | None, step: int | None) -> None:
    """Add the solution's values to the steps, and begin with this step of this program, if that is shown first."""
    steps, values, names = data["steps"], data["values"], paired(yours, right)
    if step is not None and program == steps[data["start"]][0]:
        data |= {"differs": True, "start": [n for n, one in enumerate(steps) if one[0] == program][step]}
    for number, events in yours.items():
        own = [one for one in steps if one[0] == number]
        for one in held(events, right.get(number, ()), names):
            if one.right is None:
                continue
            place, first = -1, -1
            if one.apart:
                like = values[dict(own[one.own.step][4])[one.own.name]]
                place, first = len(values), int(np.ravel_multi_index((0, *one.apart[0]), (1, *like[1])))
                values.append([*like[:2], [_rounded(number) for number in one.right.reshape(-1).tolist()], -1])
            own[one.seen.step][-1].append([one.own.name, place, first])


def _step(step: Step, log: AccessLog) -> list[Any]:
    accesses = [[*_touched(log, one.record), one.store, one.mask, one.value] for one in step.accesses]
    return [step.program, step.line, step.function, step.depth, list(step.changed.items()), accesses, []]


def _touched(log: AccessLog, record: int) -> tuple[int, list[list[int]]]:
    """(position of the tensor, runs of its elements as first and count) of an access."""
    if record < 0:
        return -1, []
    begin = int(log.distinct[:record].sum(dtype=np.int64))
    elements = log.elements[begin : begin + int(log.distinct[record])]
    firsts = np.flatnonzero(np.diff(elements, prepend=-2) != 1)
    counts = np.diff(firsts, append=len(elements))
    return int(log.tensor[record]), [[int(elements[at]), int(n)] for at, n in zip(firsts, counts, strict=True)]


def _value(value: Value) -> list[Any]:
    """[type, shape, numbers, tensor]: what is no finite number is a text."""
    numbers = None if value.numbers is None else [_rounded(number) for number in value.numbers.reshape(-1).tolist()]
    return [value.type, value.shape, numbers, value.tensor]


def _rounded(number: float) -> float | str:
    if not math.isfinite(number):
        return str(number)
    return int(number) if number == int(number) and abs(number) < 2**53 else float(f"{number:.{DIGITS}g}")


def _wrong(case: Case, about: Where, result: LaunchResult, expected: Mapping[str, Expected]) -> Data | None:
    """Return the wrong element that a finding is about. (An access outside its tensor has an index, too.)"""
    tensor = case.tensors.get(about.tensor or "")
    if tensor is None or about.index is None or len(about.index) != tensor.values.ndim:
        return None
    if not all(0 <= at < extent for at, extent in zip(about.index, tensor.values.shape, strict=True)):
        return None
    assert about.tensor is not None
    number = int(np.ravel_multi_index(about.index, tensor.values.shape))
    name = element_name(about.tensor, about.index)
    both = [result.tensors[about.tensor], expected[about.tensor].values] if about.tensor in expected else []
    found = {"tensor": list(case.tensors).index(about.tensor), "element": number, "name": name}
    return found | {"both": [_rounded(float(of[about.index])) for of in both]}


def _stores(step: list[Any], tensor: int, element: int) -> bool:
    return any(
        store and touched == tensor and any(first <= element < first + count for first, count in runs)
        for touched, runs, store, *_ in step[5]
    )


def _stopped(result: LaunchResult, submission: Submission) -> str:
    """Return where and why a launch ended early."""
    end = result.refused or result.error
    assert end is not None
    line = f" in line {submission.place(end.line)[1]}" if end.line else ""
    if isinstance(end, Refusal):
        of, did = tensor_name(end.tensor) if end.tensor else "no tensor", "stores to" if end.store else "loads from"
        return f"stopped{line}: it {did} element {end.first} of {of}, which is outside"
    message = one_line(end.message.strip(), MOST_MESSAGE)
    return f"stopped{line}: {end.type}" + (f": {message}" if message else "")


def _code(text: Sequence[str], submission: Submission, functions: Iterable[ast.FunctionDef]) -> list[list[Any]]:
    """(line, line in its cell or file, text) of each line of some functions, as they stand."""
    lines = {n for one in functions for n in range(one.lineno, (one.end_lineno or one.lineno) + 1)}
    return [[line, submission.place(line)[1], text[line - 1]] for line in sorted(lines)]


def _statements(text: Sequence[str], functions: Iterable[ast.FunctionDef]) -> Iterator[tuple[int, list[Any]]]:
    """(line, [text in one line, names in it, first line of what it holds]) of each statement.

    Of one that holds others, text and names are those of its head.
    """
    for node in (node for function in functions for node in ast.walk(function) if isinstance(node, ast.stmt)):
        inner = [*getattr(node, "body", ()), *getattr(node, "orelse", ())]
        end = max(node.lineno, inner[0].lineno - 1) if inner else node.end_lineno or node.lineno
        said = " ".join(line.partition(" #")[0].strip() for line in text[node.lineno - 1 : end])
        within = {id(one) for part in inner for one in ast.walk(part)}
        names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name) and id(one) not in within)
        yield node.lineno, [said.strip(), list(dict.fromkeys(names)), inner[0].lineno if inner else None]


def _loops(function: ast.FunctionDef) -> Iterator[list[int]]:
    """First and last line of each loop."""
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.While):
            yield [node.lineno, node.end_lineno or node.lineno]
