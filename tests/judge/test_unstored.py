"""Nothing was stored: the report points at what kept the kernel from it."""

from __future__ import annotations

import pytest

from checker import catalog
from checker.check import check
from checker.course.verdict import Finding
from checker.submission.extract import extract
from checker.submission.read import from_cells

HEAD = """import triton
import triton.language as tl


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, z_ptr, n, BLOCK_SIZE: tl.constexpr):
"""
BODY = """offsets = tl.program_id(0).to(tl.int64) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
mask = offsets < n
z = tl.load(x_ptr + offsets, mask=mask, other=0.0) + tl.load(y_ptr + offsets, mask=mask, other=0.0)
tl.store(z_ptr + offsets, z, mask=mask)
"""


def indented(text: str, by: int = 4) -> str:
    return "".join(" " * by + line + "\n" for line in text.splitlines())


def first(text: str) -> Finding:
    return check("w1", from_cells([("code", text)], "kernel.py", numbered=False)).verdict.findings[0]


@pytest.mark.parametrize(
    ("body", "line", "words"),
    [
        (indented("if n > 0:\n    return\n" + BODY), 8, "left the kernel at the marked line"),
        (indented(BODY.replace("tl.store", "for start in range(n, 0):\n    tl.store")), 10, "had no iteration"),
        (indented(BODY.replace("tl.store", "if n < 0:\n    tl.store")), 10, "depends on the marked condition"),
        (indented(BODY.replace("< n", "< n - n")), 8, "its mask was false in every lane"),
    ],
)
def test_what_kept_it_from_storing_is_marked(body: str, line: int, words: str) -> None:
    finding = first(HEAD + body)
    assert (finding.id, finding.where.line) == ("not-written", line)
    assert words in finding.explanation


def test_without_a_store_there_is_nothing_to_point_at() -> None:
    finding = first(HEAD + indented(BODY.rpartition("tl.store")[0]))
    assert (finding.id, finding.where.line) == ("not-written", None)


@pytest.mark.parametrize(
    ("inside", "lines"), [("    pass\n", "Lines 8 to 11 stand"), ("    # FILL IN\n    pass\n", "Lines 9 to 12 stand")]
)
def test_a_kernel_that_is_empty_because_its_lines_stand_below_it_is_told_so(inside: str, lines: str) -> None:
    finding = first(HEAD + inside + BODY)
    assert finding.id == "outside-the-kernel"
    assert finding.title.startswith(lines)


def test_a_single_line_may_stand_below() -> None:
    rest, _, store = BODY.rpartition("tl.store")
    finding = first(f"{HEAD}{indented(rest)}tl.store{store}")
    assert finding.title == "Line 10 stands outside the kernel"
    assert "tl.store" in dict(finding.where.source)[finding.where.line or 0]


@pytest.mark.parametrize(
    ("below", "lines"),
    [
        ("n = 10\nx = tl.constexpr(3)\nprint(x)\n", None),
        ("vector_add_kernel[(1,)](x, y, z, n, BLOCK_SIZE=4)\n", None),
        ("def other():\n    pass\n\n\n" + BODY, None),
        ("count = 3\n\n" + BODY + "\nprint(count)\n", (13, 16)),
    ],
)
def test_only_what_loads_or_stores_looks_like_a_kernel(below: str, lines: tuple[int, int] | None) -> None:
    text = HEAD + indented(BODY) + below
    program = extract(from_cells([("code", text)], "kernel.py", numbered=False), catalog.load("w1").kernels)
    assert program.outside.get("vector_add_kernel") == lines


def test_what_stands_below_a_right_kernel_does_no_harm() -> None:
    text = HEAD + indented(BODY) + BODY
    assert check("w1", from_cells([("code", text)], "kernel.py", numbered=False)).verdict.accepted
