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


def test_puzzle_4_speaks_of_tiles() -> None:
    for m in catalog.load(4).misconceptions:
        text = " ".join((m.title, m.explanation, m.hint))
        assert "BLOCK_SIZE" not in text and "row *" not in text and "Program p owns row p" not in text, text
        assert not re.search(r"\+ cols\b(?!\[| <)", text), text
