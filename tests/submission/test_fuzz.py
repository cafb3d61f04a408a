"""Whatever stands in a submission, the checker does not fail: in texts, names, notebooks, with the lint and without."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from checker.course.places import solution
from checker.course.status import Misuse
from checker.course.verdict import Status, Verdict
from checker.learner.practice import checked
from checker.report import as_json, html, screen, terminal
from tests.conftest import importable, quick_conditions

END = {"w1": "    tl.store", "a2": "    return O, LSE"}  # by puzzle: where the last statement begins
SIGNS = "\x00\x1b\x1e\x1f\x7f\x85\u200b\u202e\u2028\ud800\ufdd0\ufeff\U0001f600\U000e0041aé0{}%<&\"'`\\\r\n\t$@[]"
TEXTS = st.one_of(
    st.text(SIGNS, max_size=12),
    st.builds(
        lambda sign, count: sign * count, st.sampled_from([*SIGNS, "9", "\x1b[31m", "\x1e0\n"]), st.integers(0, 6000)
    ),
    st.builds(
        lambda mark, number: f"{mark}{number}\n", st.sampled_from(["\x1e", "\x1f", "\x00"]), st.integers(-9, 1 << 70)
    ),
)
NAMES = st.text(st.characters(categories=("Lu", "Ll", "Lo", "Nl", "Mn", "Nd")), min_size=1, max_size=8).map("v".__add__)
NUMBERS = st.one_of(
    st.one_of(st.integers(-(1 << 70), 1 << 70), st.floats()).map(repr),
    st.builds(
        lambda first, count: f"{first}{'0' * count}",
        st.sampled_from(["1", "-1", "0x1", "1e", "1."]),
        st.integers(0, 6000),
    ),
    st.sampled_from(["1j", "True", "None", "1 << 70", "10 ** 5000", "-(2 ** 63)", "0.1 ** 400"]),
)
# Statements around a text, a name and a number, of both puzzles and of kernels alone.
STATEMENTS = (
    "print({text!r})",
    "print({text!r}, x, {number})",
    "assert False, {text!r}",
    "raise ValueError({text!r})",
    "x = x + {number}",
    "{name} = {number}\n    x = x + {name}",
    "{name} = x\n    print({name}.{name})",
    "x.{name}({text!r})",
    "{text!r}",
    "# {text}",
    "x = x[{number}]",
)
IN_KERNELS = (
    *STATEMENTS,
    "tl.device_print({text!r}, x)",
    "tl.static_print({text!r})",
    "tl.device_assert(x == {number}, {text!r})",
    "tl.static_assert(False, {text!r})",
    "x = tl.load(x_ptr + {text!r})",
    "tl.{name}(x)",
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 1 << 70), st.floats(), TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(TEXTS, st.just("tags")), inner, max_size=3)
    ),
    max_leaves=8,
)


@st.composite
def programs(draw: st.DrawFn, puzzle: str) -> str:
    """A solution with statements that were not meant for it, and now and then another name in it."""
    text = solution(puzzle).read_text()
    inside = "    x = q\n" if puzzle == "a2" else ""
    for statement in draw(st.lists(st.sampled_from(STATEMENTS if inside else IN_KERNELS), min_size=1, max_size=3)):
        inside += f"    {statement.format(text=draw(TEXTS), name=draw(NAMES), number=draw(NUMBERS))}\n"
    text = text.replace(END[puzzle], inside + END[puzzle])
    if draw(st.integers(0, 9)) == 0:
        text = re.sub(r"\b(offsets|vector_add_kernel|n|k|Oi)\b", draw(NAMES), text)
    return text


@st.composite
def notebooks(draw: st.DrawFn) -> bytes:
    """A solution in a notebook whose every part may be what a notebook's is not."""
    source: Any = draw(st.one_of(programs("w1"), st.just(solution("w1").read_text())))
    if draw(st.booleans()):
        source = source.splitlines(keepends=True)
    cell = {
        "cell_type": "code",
        "id": "kernel",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": source,
    }
    cells: list[Any] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": "import triton\nimport triton.language as tl"}
    ]
    cells.insert(draw(st.integers(0, 1)), cell)
    notebook: Any = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    for part in draw(st.lists(st.sampled_from([notebook, *cells]), max_size=2)):
        part[draw(st.sampled_from([*part, "nbgrader", "attachments"]))] = draw(JSON)
    if draw(st.booleans()):
        cells.append(draw(JSON))
    data = bytearray(json.dumps(notebook).encode())
    for _ in range(draw(st.sampled_from([0, 0, 1, 3]))):
        data[draw(st.integers(0, len(data) - 1))] = draw(st.integers(0, 255))
    return bytes(data)


def insist_that_it_is_no_fault_of_ours(verdict: Verdict) -> None:
    """And that nothing of it gives orders to whatever shows the report."""
    event(verdict.status.value)
    assert verdict.status is not Status.CHECKER_FAULT, verdict.findings
    for shown in (screen.plain(terminal.report(verdict)), html.html(verdict), as_json.dumps(as_json.as_dict(verdict))):
        assert not {c for c in shown if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c not in "\n\t"}


@pytest.mark.parametrize("puzzle", END)
@pytest.mark.parametrize("lint", [True, False], ids=["with the lint", "without"])
@settings(max_examples=25)
@given(data=st.data())
def test_texts_and_names(
    puzzle: str, lint: bool, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if puzzle == "a2":
        importable("torch")
    path = tmp_path_factory.mktemp("fuzz") / f"{puzzle}.py"
    path.write_bytes(data.draw(programs(puzzle)).encode(errors="surrogatepass"))
    insist_that_it_is_no_fault_of_ours(checked(puzzle, path, replace(quick_conditions(), targets=(), lint=lint)))


@settings(max_examples=25)
@given(data=notebooks())
def test_notebooks(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "w1_vector_add.ipynb"
    path.write_bytes(data)
    insist_that_it_is_no_fault_of_ours(checked("w1", path, replace(quick_conditions(), targets=())))


@settings(max_examples=50)
@given(name=TEXTS)
def test_names_of_files(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the file system takes is checked; what it does not take is missing."""
    path = tmp_path_factory.mktemp("fuzz") / f"w1_vector_add{name}.py"
    try:
        path.write_bytes(solution("w1").read_bytes())
    except (OSError, ValueError):
        with pytest.raises(Misuse):
            checked("w1", path, replace(quick_conditions(), targets=()))
    else:
        insist_that_it_is_no_fault_of_ours(checked("w1", path, replace(quick_conditions(), targets=())))
