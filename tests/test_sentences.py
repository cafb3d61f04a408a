"""A report's sentences are true of the kernel that they are about."""

from __future__ import annotations

import re

import pytest

from checker import catalog
from checker.check import Conditions
from checker.course.verdict import Finding
from tests.conftest import check_kernel
from tests.kernels import named


def finding_of(kernel: str, quick: Conditions) -> Finding:
    """The first finding on a wrong kernel."""
    return check_kernel(named(kernel), quick).findings[0]


# Of a kernel: what its report must say, and what would not be true of it.
SAID: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "w2_nothing_stored": (("does a loop around it have any iteration",), ()),
    "p2_whole_blocks_only": (("shorter than a block is not written at all",), ()),
    "p2_load_without_mask": (("mask=start + cols < n_cols",), ("mask=cols",)),
    "p3_not_rescaled": (("Either nothing multiplies the old l, or m is overwritten",), ("If you do",)),
    "p2_divided_by_twice_the_sum": (("off by one factor (0.5)",), ("infinite",)),
    "p1_rounded_to_half": (("y was rounded to fp16",), ("more than rounding",)),
    "p5_heads_share_l_and_m": (("l_ptr + head * n_q + queries",), ("y_row_stride",)),
    "p1_same_output_row": (("y_ptr + row * y_row_stride + cols",), ()),
    "p4_starts_as_a_number": (("tl.zeros((LENGTH,), tl.float32)", "tl.full((LENGTH,), -float('inf')"), ()),
    "p4_y_with_x_stride": (("y_ptr + rows[:, None] * y_row_stride + start + cols[None, :]",), ()),
    "p4_block_offset_forgotten": (("x_ptr + rows[:, None] * x_row_stride + start + cols[None, :]",), ()),
    "p6_end_behind_the_last_key": (("of which no query sees any key", "or that lies past the last key"), ()),
    "p7_end_behind_the_last_key": (("of which no query sees any key", "or it lies past the last key"), ()),
    "p5_k_and_v_loaded_for_each_tile": (
        ("k and v are read", "k at line 39 and v at line 40", "before the inner loop (line 6 of the algorithm)"),
        (),
    ),
    "p5_max_of_last_tile": (("Line 11 of the algorithm: ",), ()),
    "p6_max_of_last_tile": (("Line 9 of the algorithm: ",), ()),
    "p6_maximum_not_guarded": (("NaN in the exponential", "Subtract 0"), ("0 / 0", "Divide by 1")),
    "p6_division_not_guarded": (("NaN in the division", "Divide by 1"), ("-inf - (-inf)", "Subtract 0")),
    "p6_hidden_rows_nan": (("-inf - (-inf)", "0 / 0", "Subtract 0", "Divide by 1"), ()),
}


@pytest.mark.parametrize("kernel", SAID)
def test_sentences_fit_the_kernel(kernel: str, quick: Conditions) -> None:
    finding = finding_of(kernel, quick)
    text = " ".join((finding.title, finding.explanation, finding.hint))
    must, must_not = SAID[kernel]
    assert all(words in text for words in must), text
    assert not any(words in text for words in must_not), text


# Of a kernel that moves or multiplies too much: what stands in the marked line; nothing if the log cannot tell.
MARKED = {
    "p1_reads_twice": "again = tl.load(x_ptr",
    "p2_first_element_again": "m = tl.load(x_row_ptr)",
    "p2_four_sweeps": "",
    "p5_k_loaded_for_each_tile": "            Kj = tl.load",
    "p5_k_and_v_loaded_for_each_tile": "            Kj = tl.load",
    "p6_k_loaded_twice": "tl.load(k_head + keys[None, :]",
    "p6_end_behind_the_last_key": "Sij = scale * tl.dot(Qi, tl.trans(Kj))",
    "p6_end_behind_the_last_key_in_two_loops": "",
    "p7_end_behind_the_last_key": "Sij = scale * tl.dot(Qi, tl.trans(Kj))",
    "p7_one_tile_too_early": "Sij = scale * tl.dot(Qi, tl.trans(Kj))",
}


@pytest.mark.parametrize("kernel", MARKED)
def test_the_marked_line_is_the_one_that_is_too_much(kernel: str, quick: Conditions) -> None:
    where = finding_of(kernel, quick).where
    line = next((text for number, text in where.source if number == where.line), "")
    assert MARKED[kernel] in line and bool(line) == bool(MARKED[kernel]), line


# Of a kernel with a name: what stands in the marked line, which is the assignment at fault and not the store.
AT_FAULT = {
    "p2_max_by_lane": "m = tl.maximum(m, x)",
    "p2_max_starts_at_zero": "m = 0.0",
    "p2_sum_replaced": "l = tl.sum(",
    "a1_k_tail_left_out": "for start in range(0, k // Bk * Bk, Bk)",
    "a1_not_accumulated": "acc = tl.dot(a, tl.trans(b))",
    "p3_not_rescaled": "l = l + tl.sum(",
    "p3_rescaled_by_the_inverse": "tl.exp(m_new - m)",
    "p4_not_rescaled": "l = l + tl.sum(",
    "a3_accumulator_overwritten": "Oi = tl.dot(",
    "a3_denominator_not_rescaled": "li += tl.sum(",
    "a3_max_of_last_tile": "mi_new = tl.max(",
    "a3_maximum_starts_at_zero": "mi = tl.zeros(",
    "p5_rescaled_by_the_inverse": "tl.exp(mi_new - mi)",
    "p5_scale_missing": "Sij = tl.dot(Qi",
    "p6_accumulator_not_rescaled": "Oi = Oi + tl.dot(",
    "p6_denominator_not_rescaled": "li = li + tl.sum(",
    "p6_max_of_last_tile": "mi_new = tl.max(",
    "p6_end_of_the_first_query": "end_k = tl.minimum(",
    "p6_top_left": "offset = 0",
    "p7_delta_missing": "dSij = Pij * dPij",
    "p7_dv_overwritten": "dVj = tl.dot(",
    "p7_first_tile_rounded_up": "first_q = ",
}


@pytest.mark.parametrize("kernel", AT_FAULT)
def test_the_marked_line_is_the_assignment_at_fault(kernel: str, quick: Conditions) -> None:
    where = finding_of(kernel, quick).where
    line = next((text for number, text in where.source if number == where.line), "")
    assert AT_FAULT[kernel] in line and not where.role, line


def test_a_name_shows_what_it_predicts(quick: Conditions) -> None:
    finding = finding_of("p3_not_rescaled", quick)
    assert finding.examples
    for example in finding.examples:
        numbers = re.fullmatch(r"y\[\d+, \d+\] is (\S+); this mistake gives (\S+); expected (\S+)", example)
        assert numbers, example
        seen, predicted, right = map(float, numbers.groups())
        assert abs(seen - predicted) < 1e-3 * abs(seen) < abs(seen - right)


def test_a_block_is_not_poured_into_a_message(quick: Conditions) -> None:
    assert finding_of("p1_load_forgotten", quick).examples == ("Triton says: cannot cast […]",)


def test_title_and_table_have_the_same_figures() -> None:
    verdict = check_kernel(named("p2_first_element_again"))
    (x,) = (t for t in verdict.runs[0].traffic if t.tensor == "x_ptr")
    assert f"x is read {x.loads / x.elements:.2f} times per element, 3 times is enough" == verdict.findings[0].title


def test_puzzle_4_speaks_of_tiles() -> None:
    for m in catalog.load("p4").misconceptions:
        text = " ".join((m.title, m.explanation, m.hint))
        assert "BLOCK_SIZE" not in text and "row *" not in text and "Program p owns row p" not in text, text
        assert not re.search(r"\+ cols\b(?!\[| <)", text), text
