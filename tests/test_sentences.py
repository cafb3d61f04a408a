"""What a report says is true of the kernel that it is said of."""

from __future__ import annotations

import re

import pytest

from checker import catalog
from checker.judge.verdict import Finding
from tests.conftest import ROOT, check_path


def finding_of(kernel: str) -> Finding:
    """The first finding on a kernel of `tests/wrong/`."""
    return check_path(ROOT / "tests" / "wrong" / f"{kernel}.py").findings[0]


# Of a kernel: what its report must say, and what would not be true of it.
SAID: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "p2_whole_blocks_only": (("does a loop around it take any turn",), ()),
    "p4_starts_as_a_number": (("tl.zeros((BLOCK_ROWS,), tl.float32)", "tl.full((BLOCK_ROWS,), -float('inf')"), ()),
    "p4_y_with_x_stride": (("y_ptr + rows[:, None] * y_row_stride + start + cols[None, :]",), ()),
    "p4_block_offset_forgotten": (("x_ptr + rows[:, None] * x_row_stride + start + cols[None, :]",), ()),
    "p6_end_behind_the_last_key": (("of which no query sees any key", "or that lies behind the last key"), ()),
    "p7_end_behind_the_last_key": (("of which no query sees any key", "or that lies behind the last key"), ()),
    "p5_k_and_v_loaded_for_each_tile": (
        ("k and v are read", "k at line 39 and v at line 40", "before the inner loop (line 6 of the algorithm)"),
        (),
    ),
    "p5_max_of_last_tile": (("Line 11 of the algorithm: ",), ()),
    "p6_max_of_last_tile": (("Line 9 of the algorithm: ",), ()),
}


@pytest.mark.parametrize("kernel", SAID)
def test_sentences_fit_the_kernel(kernel: str) -> None:
    finding = finding_of(kernel)
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
def test_the_marked_line_is_the_one_that_is_too_much(kernel: str) -> None:
    where = finding_of(kernel).where
    line = next((text for number, text in where.source if number == where.line), "")
    assert MARKED[kernel] in line and bool(line) == bool(MARKED[kernel]), line


def test_title_and_table_have_the_same_figures() -> None:
    verdict = check_path(ROOT / "tests" / "wrong" / "p2_first_element_again.py")
    (x,) = (t for t in verdict.runs[0].traffic if t.tensor == "x_ptr")
    assert f"x is read {x.loads / x.elements:.2f} times per element, 3 times is enough" == verdict.findings[0].title


def test_puzzle_4_speaks_of_tiles() -> None:
    for m in catalog.load(4).misconceptions:
        text = " ".join((m.title, m.explanation, m.hint))
        assert "BLOCK_SIZE" not in text and "row *" not in text and "Program p owns row p" not in text, text
        assert not re.search(r"\+ cols\b(?!\[| <)", text), text
