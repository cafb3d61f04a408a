"""Wrong values without a name: where they are, and which shape the error has."""

from __future__ import annotations

import numpy as np
import pytest

from checker.course.case import Array, Axis, AxisKind, Case
from checker.judge.locate import located
from checker.judge.notes import Loss
from checker.judge.wrong import Wrong, wrong_outputs
from tests.judge.made import TEXT, case, code, puzzle, result, right, where


def item(one: Case, y: Array, text: str = TEXT) -> Wrong:
    made = wrong_outputs(one, puzzle().expected(one), result(one, y), code(text))
    assert made is not None
    return made


def changed(one: Case, rows: object, columns: object, by: float = 3.0) -> Array:
    y = right(one).copy()
    y[rows, columns] += by + np.arange(y[rows, columns].size, dtype=np.float32).reshape(y[rows, columns].shape) ** 2
    return y


EVERY = slice(None)


@pytest.mark.parametrize(
    ("rows", "columns", "title"),
    [
        (EVERY, EVERY, "y is wrong everywhere"),
        (1, EVERY, "y is wrong only in row 1 of 4"),
        ([0, 2], EVERY, "y is wrong only in rows 0, 2 of 4"),
        (EVERY, slice(4, 6), "y is wrong only in block 1 (columns 4 to 5)"),
        (EVERY, slice(1, 3), "y is wrong only in block 0 (columns 1 to 2)"),
        (2, 5, "y is wrong only in row 2 of 4, block 1 (column 5)"),
    ],
)
def test_the_part_that_is_wrong_is_named_along_each_axis(rows: object, columns: object, title: str) -> None:
    finding = located([item(case(), changed(case(), rows, columns))], [case()], [], where).finding
    assert (finding.title, finding.id, finding.named) == (title, "wrong-values", False)


def test_the_last_of_three_blocks_is_called_the_tail() -> None:
    wide = case(shape=(4, 10))
    finding = located([item(wide, changed(wide, EVERY, slice(8, 10)))], [wide], [], where).finding
    assert finding.title == "y is wrong only in the tail: columns 8 to 9, after the last whole block of 4"


def test_a_part_that_differs_from_case_to_case_is_that_of_one_case() -> None:
    other = case(id=1)
    items = [item(case(), changed(case(), 1, EVERY)), item(other, changed(other, 2, EVERY))]
    assert located(items, [case(), other], [], where).finding.title == "y is wrong only in row 1 of 4, in this case"


def test_of_rows_of_many_kinds_the_case_is_told_that_says_which() -> None:
    kinds = case("kinds", 1, (8, 6))
    for name in ("x_ptr", "y_ptr"):
        object.__setattr__(
            kinds.tensors[name], "axes", (Axis(AxisKind.ROW, 0, tuple("abcdefgh")), Axis(AxisKind.COLUMN, 4))
        )
    items = [item(case(), changed(case(), slice(1, 4), EVERY)), item(kinds, changed(kinds, 2, EVERY))]
    assert located(items, [case(), kinds], [], where).finding.title.startswith("y is wrong only in row 2 (c) of 8")


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (3 * right(case()), "off by one factor (3)"),
        (right(case()) * np.arange(3, 7)[:, None], "off by a factor of its own (3 to 6)"),
        (0 * right(case()), "is 0 throughout"),
        (np.where(np.arange(6) == 2, np.nan, right(case())), "NaN comes from"),
        (1.001 * right(case()), "right to within 0.1 %: close, but more than fp32 loses. Is a constant slightly off,"),
        (right(case()) ** 2 + 5, "further from the right ones than rounding"),
    ],
)
def test_the_shape_of_an_error_says_where_to_look(y: Array, sentence: str) -> None:
    finding = located([item(case(), y)], [case()], [], where).finding
    assert sentence in finding.explanation
    assert finding.id == ("not-a-number" if np.isnan(y).any() else "wrong-values")


def test_whether_something_was_rounded_to_fp16_is_asked_where_it_can_be() -> None:
    text = TEXT.replace("y = 2 * x", "y = 2 * x.half()")
    finding = located([item(case(), 1.001 * right(case()), text)], [case()], [], where).finding
    assert "Was something rounded to fp16" in finding.explanation


@pytest.mark.parametrize(
    ("fp32_is", "times", "sentence"),
    [("right", 2, "Only launches with inputs in half"), ("right", 1, "further"), ("wrong", 2, "further")],
)
def test_what_is_wrong_in_half_precision_alone_was_rounded(fp32_is: str, times: int, sentence: str) -> None:
    """One launch may be of that type by chance."""
    half, single = case("fp16", 1), case()
    object.__setattr__(half.tensors["x_ptr"], "values", half.tensors["x_ptr"].values.astype(np.float16))
    failed = [half] * times if fp32_is == "right" else [half, single]
    finding = located([item(half, right(half) ** 2 + 5)], failed, [single], where).finding
    assert sentence in finding.explanation
    assert ("16 bits" in finding.hint) == sentence.startswith("Only")


def test_outputs_that_were_rounded_to_half_are_a_loss() -> None:
    one = case(shape=(4, 8))
    values = one.tensors["x_ptr"].values * np.float32(0.1)
    object.__setattr__(one.tensors["x_ptr"], "values", values)
    note = located([item(one, right(one).astype(np.float16))], [one], [], where)
    assert isinstance(note, Loss) and note.finding.title == "y was rounded to fp16 before it was stored"


def test_what_fp16_cannot_hold_is_infinite_and_otherwise_values_are_nearly_right() -> None:
    text = TEXT.replace("y = 2 * x", "y = 2 * x.to(tl.float16)")
    plain, huge = case(), case("huge", 1)
    object.__setattr__(huge.tensors["x_ptr"], "values", 1e5 * huge.tensors["x_ptr"].values)
    near, infinite = item(plain, 1.0003 * right(plain), text), item(huge, np.inf * right(huge), text)
    broken = item(plain, np.inf * right(plain), text)
    for items, id in (
        ([near], "fp32-rounded-on-the-way"),
        ([near, infinite], "fp32-rounded-on-the-way"),
        ([infinite], "wrong-values"),
        ([broken, infinite], "wrong-values"),
    ):
        assert located(items, [one.case for one in items], [], where).finding.id == id


def of_scale(number: int, factor: float) -> Wrong:
    """y is off by this factor, in a launch with that id, and a size, D and scale of its own."""
    sizes = {"n": 6 + number, "scale": 0.3 + number}
    one = case(id=number, shape=(4, 6 + number), scalars=sizes, constexprs={"BLOCK": 4, "D": 16 << number})
    return item(one, factor * right(one))


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        ((np.log(2), np.log(2)), "Wherever it is wrong, y is off by one factor (0.693), which is ln 2: "),
        ((np.log2(np.e), np.log2(np.e)), "one factor (1.44), which is log2(e)"),
        ((-1, -1), "one factor (-1): "),
        ((0.5, 0.5), "one factor (0.5): "),
        ((5, 5), "one factor (5): "),
        ((0.3, 1.3), "one factor (0.3 in this one), which is scale"),
        ((1 / 6, 1 / 7), "one factor (0.167 in this one), which is 1 / n"),
        ((1 / 16, 1 / 32), "one factor (0.0625 in this one), which is 1 / D"),
        ((4, 32**0.5), "one factor (4 in this one), which is sqrt(D)"),
        ((5, 6), "Each wrong row is off by one factor (5)"),
    ],
)
def test_a_factor_that_all_cases_have_is_said_and_named(factors: tuple[float, float], sentence: str) -> None:
    items = [of_scale(number, factor) for number, factor in enumerate(factors)]
    finding = located(items, [one.case for one in items], [], where).finding
    assert sentence in finding.explanation
    assert finding.id == "wrong-values"


def test_a_size_of_a_single_launch_names_no_factor() -> None:
    finding = located([of_scale(0, 6)], [], [], where).finding
    assert "off by one factor (6): " in finding.explanation


def test_one_value_has_no_factor() -> None:
    one = case(shape=(1, 2))
    assert "factor" not in located([item(one, 3 * right(one))], [one], [], where).finding.explanation
