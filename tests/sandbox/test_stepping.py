"""The steps of a launch: what is recorded, what of it crosses the wall, and what is not believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.check import launch, program_of
from checker.course.kernel import Kernel
from checker.sandbox.parent import Limits, PassResult
from checker.sandbox.protocol import steps as protocol
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.steps import Access, MalformedSteps, Step, Steps, Value, packed, unpacked
from checker.submission.read import from_cells

N = 5
HEAD = "import triton\nimport triton.language as tl\n\n\n"
KERNEL = """@triton.jit
def half(v):
    w = v / 2
    return w


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(
        x_ptr + at,
        mask=at < n,  # the rest
        other=-1.0,
    )
    total = 0.0
    for i in range(0, 2):
        total += tl.sum(half(x), axis=0)
    if n > 100:
        total = 7.0
    tl.store(y_ptr + at, x + total, mask=at < n)
"""


def stepped(text: str, most: int = 100, order: tuple[int, ...] = (0,), **changed: Any) -> PassResult:
    """A launch of one row, recorded."""
    program, problems = program_of(
        from_cells([("code", HEAD + text)], "kernel.py", numbered=False),
        [Kernel("kernel", ("x_ptr", "y_ptr", "n", "BLOCK"), ("BLOCK",))],
    )
    assert not problems
    x = TensorArgument(np.arange(N, dtype=np.float32), (1,))
    asked = Launch(
        "kernel",
        (len(order), 1, 1),
        {"x_ptr": x, "y_ptr": replace(x, output=True)},
        {"n": ("int32", N)},
        {"BLOCK": 8},
        most_steps=most,
    )
    return launch(program, [replace(asked, **changed)], Limits(), order=order)


def told(text: str, **more: Any) -> Steps:
    found = stepped(text, **more).results[0].steps
    assert found is not None
    return found


def lines(steps: Steps, text: str) -> list[str]:
    """The text of each step's line."""
    return [(HEAD + text).split("\n")[step.line - 1].strip() for step in steps.steps]


def test_each_statement_is_a_step_in_the_order_in_which_they_end() -> None:
    steps = told(KERNEL)
    body = ["def half(v):", "w = v / 2", "return w", "total += tl.sum(half(x), axis=0)"]
    head = "for i in range(0, 2):"
    first = ["def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):", "at = tl.arange(0, BLOCK)", "x = tl.load("]
    rest = ["if n > 100:", "tl.store(y_ptr + at, x + total, mask=at < n)"]
    assert lines(steps, KERNEL) == [*first, "total = 0.0", head, *body, head, *body, head, *rest]
    assert [step.depth for step in steps.steps if step.function == "half"] == [1] * 6
    assert steps.whole


def test_a_step_tells_what_its_line_has_changed_and_touched() -> None:
    steps = told(KERNEL)
    by_line = dict(zip(lines(steps, KERNEL), steps.steps, strict=True))
    called = by_line["def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):"]
    assert set(called.changed) == {"x_ptr", "y_ptr", "n", "BLOCK"}
    assert [steps.values[called.changed[name]].tensor for name in ("x_ptr", "y_ptr", "n")] == [0, 1, -1]
    loaded = by_line["x = tl.load("]
    x, [access] = steps.values[loaded.changed["x"]], loaded.accesses
    assert (x.type, x.shape) == ("fp32", (8,)) and x.numbers is not None
    assert x.numbers.tolist() == [0, 1, 2, 3, 4, -1, -1, -1]
    mask = steps.values[access.mask]
    assert not access.store and mask.type == "int1" and mask.numbers is not None
    assert mask.numbers.tolist() == [1, 1, 1, 1, 1, 0, 0, 0]
    totals = [
        float(steps.values[step.changed["total"]].numbers)  # type: ignore[arg-type]
        for step in steps.steps
        if "total" in step.changed and step.function == "kernel"
    ]
    assert totals == [0.0, 3.5, 7.0]
    [stored] = steps.steps[-1].accesses
    given = steps.values[stored.value]
    assert stored.store and given.type == "fp32" and given.numbers is not None
    assert given.numbers[:N].tolist() == [7, 8, 9, 10, 11]


def test_nothing_is_recorded_unless_it_is_asked_for() -> None:
    assert stepped(KERNEL, most=0).results[0].steps is None


def test_recording_changes_nothing_of_the_launch() -> None:
    with_steps, without = (stepped(KERNEL, most=most).results[0] for most in (100, 0))
    assert np.array_equal(with_steps.tensors["y_ptr"], without.tensors["y_ptr"])
    for column, values in vars(without.log).items():
        assert np.array_equal(getattr(with_steps.log, column), values)


def test_the_recording_ends_where_there_is_no_room_and_the_launch_goes_on() -> None:
    result = stepped(KERNEL, most=7).results[0]
    assert result.steps is not None and len(result.steps.steps) == 7 and not result.steps.whole
    assert not np.isnan(result.tensors["y_ptr"]).any()


def test_the_recording_ends_where_there_is_no_room_for_numbers() -> None:
    """What is sent is no longer than may be read, or nothing of any launch would be."""
    made = stepped(KERNEL.replace("range(0, 2)", "range(0, 200)"), most=2000, constexprs={"BLOCK": 4096})
    steps = made.results[0].steps
    assert made.malformed is None and steps is not None and not steps.whole
    sent = sum(value.numbers.size for value in steps.values if value.numbers is not None)
    assert protocol.MOST_NUMBERS - 2 * 4096 < sent <= protocol.MOST_NUMBERS


@pytest.mark.parametrize(
    ("change", "last"),
    [
        (("mask=at < n)\n", "mask=at < 8)\n"), "tl.store(y_ptr + at, x + total, mask=at < 8)"),
        (("    w = v / 2\n", "    w = v + tl.arange(0, 16)\n"), "w = v + tl.arange(0, 16)"),
    ],
    ids=["outside", "an error in a function"],
)
def test_a_kernel_that_is_stopped_has_its_steps_up_to_there(change: tuple[str, str], last: str) -> None:
    text = KERNEL.replace(*change)
    result = stepped(text).results[0]
    assert result.refused or result.error
    assert result.steps is not None
    own = [line for step, line in zip(result.steps.steps, lines(result.steps, text), strict=True) if step.depth == 0]
    assert last in lines(result.steps, text)[-2:] and own[-1] != "total = 7.0"


def test_programs_are_told_apart_and_run_in_the_order_that_is_asked_for() -> None:
    text = KERNEL.replace("at = tl.arange(0, BLOCK)", "at = tl.arange(0, BLOCK) + 0 * tl.program_id(0)")
    assert list(dict.fromkeys(step.program for step in told(text, order=(2, 0, 1)).steps)) == [2, 0, 1]


def test_a_block_that_is_too_large_is_told_by_its_form() -> None:
    wide = KERNEL.replace("    total = 0.0\n", "    wide = tl.zeros((128, 64), tl.float32)\n    total = 0.0\n")
    steps = told(wide)
    [value] = [steps.values[step.changed["wide"]] for step in steps.steps if "wide" in step.changed]
    assert value.shape == (128, 64) and value.numbers is None


# What crosses the wall

VALUES = st.builds(
    lambda kind, shape, known: Value(
        kind, shape, np.arange(np.prod(shape), dtype=float).reshape(shape) if known else None
    ),
    st.text(max_size=8),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.booleans(),
)
ROOM: dict[str, int] = {"programs": 4, "tensors": 2, "records": 9}


@st.composite
def recordings(draw: st.DrawFn) -> tuple[list[Step], list[Value]]:
    values = draw(st.lists(VALUES, min_size=1, max_size=4))
    place = st.integers(0, len(values) - 1)
    access = st.builds(Access, st.integers(-1, 8), st.booleans(), place | st.just(-1), place | st.just(-1))
    step = st.builds(
        Step,
        st.integers(0, 3),
        st.integers(0, 99),
        st.text(max_size=5),
        st.integers(0, 3),
        st.dictionaries(st.text(max_size=5), place, max_size=3),
        st.lists(access, max_size=2).map(tuple),
    )
    return draw(st.lists(step, max_size=5)), values


@given(recordings(), st.booleans())
def test_what_is_packed_comes_out_again(recording: tuple[list[Step], list[Value]], whole: bool) -> None:
    steps, values = recording
    found = unpacked(*map(memoryview, packed(steps, values, whole=whole)), **ROOM)
    assert [*found.steps] == steps and found.whole is whole
    for one, other in zip(found.values, values, strict=True):
        assert (one.type, one.shape, one.tensor) == (other.type, other.shape, other.tensor)
        assert np.array_equal(one.numbers, other.numbers) if other.numbers is not None else one.numbers is None  # type: ignore[arg-type]


GOOD = ([Step(0, 5, "kernel", 0, {"x": 0}, (Access(1, True, 0, 0),))], [Value("fp32", (2,), np.zeros(2))])
Change = Callable[[dict[str, Any]], Any]
FORGED: dict[str, Change] = {
    "program": lambda told: told["steps"][0].__setitem__(0, 4),
    "line": lambda told: told["steps"][0].__setitem__(1, -1),
    "function": lambda told: told["steps"][0].__setitem__(2, 7),
    "long name": lambda told: told["steps"][0].__setitem__(2, "k" * 201),
    "truth for a number": lambda told: told["steps"][0].__setitem__(3, True),
    "value": lambda told: told["steps"][0].__setitem__(4, {"x": 1}),
    "names that are a list": lambda told: told["steps"][0].__setitem__(4, ["x", 0]),
    "record": lambda told: told["steps"][0][5][0].__setitem__(0, 9),
    "mask": lambda told: told["steps"][0][5][0].__setitem__(2, 1),
    "what is stored": lambda told: told["steps"][0][5][0].__setitem__(3, 1),
    "one field less": lambda told: told["steps"][0].pop(),
    "tensor": lambda told: told["values"][0].__setitem__(3, 2),
    "more numbers than came": lambda told: told["values"][0].__setitem__(1, [3]),
    "fewer numbers than came": lambda told: told["values"][0].__setitem__(1, [1]),
    "a huge shape": lambda told: told["values"][0].__setitem__(1, [1 << 39, 1 << 39]),
    "a negative side": lambda told: told["values"][0].__setitem__(1, [-1, -2]),
    "no steps": lambda told: told.pop("steps"),
    "steps that are a number": lambda told: told.__setitem__("steps", 3),
    "too many steps": lambda told: told.__setitem__("steps", told["steps"] * (protocol.MOST_STEPS + 1)),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_what_has_another_form_is_not_believed(forge: Change) -> None:
    text, numbers = packed(*GOOD, whole=True)
    unpacked(memoryview(text), memoryview(numbers), **ROOM)
    told = json.loads(text)
    forge(told)
    with pytest.raises(MalformedSteps):
        unpacked(memoryview(json.dumps(told).encode()), memoryview(numbers), **ROOM)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [(b"[", b""), (b"[" * 100_000, b""), (b"{}", b"1234567"), (b" " * (protocol.MOST_TEXT + 1), b""), (b"\xff", b"")],
    ids=["not JSON", "deep", "half a number", "long", "not text"],
)
def test_bytes_that_are_no_steps_are_not_believed(text: bytes, numbers: bytes) -> None:
    with pytest.raises(MalformedSteps):
        unpacked(memoryview(text), memoryview(numbers), **ROOM)
