"""Evidence by hand: a kernel that doubles rows of x into y, its launches, and what they logged."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from checker.course.case import Array, Axis, AxisKind, Case, Role, Tensor
from checker.course.kernel import Kernel
from checker.course.misconception import Misconception, Sign
from checker.course.puzzle import Budget, Expected, Property, Puzzle
from checker.course.text import Text
from checker.course.verdict import Where
from checker.judge.evidence import Evidence
from checker.sandbox.protocol.records import LOAD, STORE
from checker.sandbox.protocol.results import AccessLog, KernelError, LaunchResult, Refusal

ROWS, COLUMNS = 4, 6
LOADS, STORES = 2, 4  # lines of the text
TEXT = """def double_kernel(x_ptr, y_ptr, n):
    x = tl.load(x_ptr)
    y = 2 * x
    tl.store(y_ptr, y)
"""
Record = tuple[int, int, int, int, Sequence[int], int, int]  # kind, tensor, program, line, elements, lanes, detail


def code(text: str = TEXT) -> Text:
    """The kernel's text."""
    [function] = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    return Text(function)


def case(title: str = "plain", id: int = 0, shape: tuple[int, ...] = (ROWS, COLUMNS), **facts: Any) -> Case:
    """A launch with a program a row: x counts from 1."""
    x = np.arange(1.0, 1.0 + np.prod(shape), dtype=np.float32).reshape(shape)
    axes = (Axis(AxisKind.ROW), Axis(AxisKind.COLUMN, 4))[-len(shape) :]
    strides = tuple(int(s) for s in np.array(x.strides) // 4)
    made = Case(
        title,
        "double_kernel",
        ("right",),
        (shape[0],),
        {"x_ptr": Tensor(x, strides, axes=axes), "y_ptr": Tensor(x * np.nan, strides, Role.OUTPUT, axes)},
        {"n": shape[-1]},
        {"BLOCK": 4},
        id=id,
    )
    return replace(made, **facts)


def right(case: Case) -> Array:
    """What y should be."""
    return 2 * case.tensors["x_ptr"].values


def usual(case: Case) -> list[Record]:
    """A right kernel's log: each program loads its row and stores it."""
    rows, columns = case.tensors["x_ptr"].values.shape
    own = [range(row * columns, (row + 1) * columns) for row in range(rows)]
    each = ((LOAD, 0, LOADS), (STORE, 1, STORES))
    return [(kind, t, program, line, own[program], 8, 0) for program in range(rows) for kind, t, line in each]


def log(records: Sequence[Record]) -> AccessLog:
    """A log of these records."""
    columns = [np.array([r[n] for r in records], np.int32) for n in (0, 1, 2, 3)]
    counts = np.array([len(r[4]) for r in records], np.int32)
    lanes, detail = (np.array([r[n] for r in records], np.int32) for n in (5, 6))
    elements = np.array([e for r in records for e in r[4]], np.int32)
    return AccessLog(*columns, counts, lanes, detail, elements)


def result(case: Case, y: Array | None = None, records: Sequence[Record] | None = None, **facts: Any) -> LaunchResult:
    """What came of a launch: y, or what is right."""
    tensors = {name: tensor.values for name, tensor in case.tensors.items()}
    tensors["y_ptr"] = np.asarray(right(case) if y is None else y, case.tensors["y_ptr"].values.dtype)
    made = LaunchResult(tensors, [], log(usual(case) if records is None else records), None, None)
    return replace(made, **facts)


def evidence(case: Case, y: Array | None = None, records: Sequence[Record] | None = None, **facts: Any) -> Evidence:
    """Two runs with the same outcome."""
    made = result(case, y, records, **facts)
    return Evidence(case, made, made)


def refusal(**facts: Any) -> Refusal:
    """A load that began two elements past the end of x."""
    made = Refusal(False, "x_ptr", 3, LOADS, first=26, lowest=24, highest=29, lanes=8, outside=4, dtype="float32")
    return replace(made, **facts)


def error(message: str = "what?", type: str = "ValueError", line: int = 3) -> KernelError:
    """What a kernel raised."""
    return KernelError(type, message, line, 0)


def idea(id: str, *signs: Sign) -> Misconception:
    """A misconception with these signs."""
    return Misconception(id, f"It is {id}.", "So it is.", "Do not.", signs)


def puzzle(*misconceptions: Misconception, **facts: Any) -> Puzzle:
    """The puzzle, with these misconceptions."""

    def expected(case: Case) -> Mapping[str, Expected]:
        y = right(case).astype(np.float64)
        return {"y_ptr": Expected(y, 1e-6 * np.abs(y))}

    def budget(case: Case) -> Mapping[str, Budget]:
        size = case.tensors["x_ptr"].values.size
        return {"x_ptr": Budget(loads=size), "y_ptr": Budget(stores=size)}

    kernel = Kernel("double_kernel", ("x_ptr", "y_ptr", "n", "BLOCK"), ("BLOCK",))
    properties = (Property("right", "doubles", 90), Property("traffic", "reads once", 10, traffic=True))
    made = Puzzle("p1", (kernel,), properties, lambda draw: [], expected, budget)
    return replace(made, misconceptions=misconceptions, **facts)


def where(line: int | None = None, case: Case | None = None, **facts: Any) -> Where:
    """A place in the text."""
    return Where(line, case=case.name if case else None, case_id=case.id if case else None, **facts)
