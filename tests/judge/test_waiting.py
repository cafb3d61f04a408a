"""Programs that wait for each other: the tuned versions are right, and mistakes are told by name."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from checker import catalog
from checker.check import check
from checker.course import ladder
from checker.course.verdict import Status, Verdict
from checker.sandbox.inside.waiting import hand_over
from checker.submission.read import from_cells
from tests.conftest import ROOT

TUNED = ROOT / "solutions" / "tuned"
STEP, SECOND = ((TUNED / f"s3_{name}.py").read_text() for name in ("1_handshake", "2_cheaper_looks"))
POLL = 'tl.atomic_or(words_ptr, 0, mask=mask, sem="relaxed")'
TICKET = 'tl.atomic_add(ticket_ptr, 1, sem="relaxed")'


def checked(*edits: tuple[str, str], text: str = STEP) -> Verdict:
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return check("s3", from_cells([("code", text)], "kernel.py", numbered=False)).verdict


def line_of(piece: str) -> int:
    return STEP[: STEP.index(piece)].count("\n") + 1


@pytest.mark.parametrize("text", [STEP, SECOND], ids=["step 1", "step 2"])
def test_the_steps_are_right(text: str) -> None:
    verdict = checked(text=text)
    assert verdict.accepted, verdict.findings
    assert {p.name for p in verdict.properties if p.passed} >= {"again", "traffic"}
    assert {t.tensor for t in verdict.runs[0].traffic} == {"x_ptr", "y_ptr"}


WRONG = {
    "program ids in place of tickets": (
        [(TICKET, "tl.program_id(0).to(tl.int64)")],
        ("programs-wait-for-ever", Status.TIME_LIMIT, POLL),
    ),
    "words that are polled by a plain load": (
        [(POLL, "tl.load(words_ptr, mask=mask, other=0)")],
        ("scratch-without-atomics", Status.NOT_DETERMINISTIC, POLL),
    ),
    "words that are polled by a load that is not volatile": (
        [(POLL, "tl.load(words_ptr, mask=mask, other=0, volatile=False)")],
        ("scratch-without-atomics", Status.NOT_DETERMINISTIC, POLL),
    ),
    "words that are published by a plain store": (
        [
            ("tl.atomic_xchg(words_ptr", "tl.store(words_ptr"),
            ('tl.sum(p, axis=0), parity), sem="relaxed")', "tl.sum(p, axis=0), parity))"),
        ],
        ("scratch-without-atomics", Status.NOT_DETERMINISTIC, "tl.atomic_xchg(words_ptr"),
    ),
    "an output that is written atomically": (
        [("tl.store(y_ptr + row * y_row_stride + cols, y, mask=mask)", "tl.atomic_xchg(y_ptr + cols, y, mask=mask)")],
        ("atomics-outside-scratch", Status.CRASHED, "tl.store(y_ptr"),
    ),
    "a row that is read again for the result": (
        [
            (
                "    y = p * (tl.exp(m_own - m) / l)",
                '    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)\n'
                "    y = tl.exp(x - m) / l",
            )
        ],
        ("read-too-often", Status.OVER_TRAFFIC, None),
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_mistakes_are_told_by_name(wrong: str) -> None:
    edits, (finding, status, piece) = WRONG[wrong]
    verdict = checked(*edits)
    assert verdict.findings[0].id == finding and verdict.status is status, verdict.findings
    if piece is not None:
        assert verdict.findings[0].where.line == line_of(piece)


@pytest.mark.parametrize(
    "told",
    ["mask=mask, volatile=True", 'mask, other=0, volatile=True, eviction_policy=""', 'mask, 0, (), "", "", "", True'],
)
def test_a_volatile_load_sees_what_others_publish(told: str) -> None:
    assert checked((POLL, f"tl.load(words_ptr, {told})")).accepted


def test_who_reads_rows_does_not_wait() -> None:
    """More volatile loads in a row than turns in which a program that waits may look."""
    x = '    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)\n'
    again = x.replace('"))', '"), volatile=True)').replace("    x =", "        x =")
    loop = f"    x = tl.zeros((BLOCK_SIZE,), tl.float32)\n    for _ in range(60):\n{again}"
    assert checked((x, loop)).findings[0].id == "read-too-often"


def test_the_last_word_may_come_before_others() -> None:
    """It is the last one as a rule, since its program has started last; who relies on it is wrong in some order."""
    loop = SECOND[SECOND.index("    while missing > 0:") : SECOND.index("    m_of_parts")]
    verdict = checked((loop, ""), text=SECOND)
    assert verdict.findings[0].id == "order-dependent"


def test_a_deadlock_says_which_programs_wait() -> None:
    """And that others have not started: on a GPU, those are what is waited for."""
    [finding] = checked((TICKET, "tl.program_id(0).to(tl.int64)")).findings
    assert "the programs that run all wait (" in finding.explanation and "have not started" in finding.explanation


def test_words_of_the_launch_before_must_not_be_taken_for_new_ones() -> None:
    """Without parity, a kernel is right once, and wrong when it is launched again."""
    verdict = checked(("1 - ((ticket // tl.num_programs(0)) % 2).to(tl.int32)", "(ticket * 0 + 1).to(tl.int32)"))
    assert not verdict.accepted
    assert [p.name for p in verdict.properties if not p.passed] == ["again"]


def test_a_pair_is_published_before_anybody_waits_for_it() -> None:
    early = "words, missing = look(words_ptr + row * n_parts + slots, of_row, parity)\n"
    loop = f"    {early}    while missing > 0:\n        {early}"
    publish = next(line for line in STEP.splitlines(keepends=True) if "tl.atomic_xchg" in line)
    slots = "    slots = tl.arange(0, SLOTS)\n    of_row = slots < n_parts\n"
    verdict = checked((publish, ""), (slots + loop, slots + loop + publish))
    assert verdict.findings[0].id == "programs-wait-for-ever"


def test_all_launches_have_the_programs_of_a_row_resident_and_a_clean_counter() -> None:
    puzzle = catalog.load("s3")
    made = puzzle.cases(puzzle.draw())
    assert {name for case in made for name in case.proves} == {p.name for p in puzzle.properties}
    for case in made:
        n, block = int(case.scalars["n_cols"]), int(case.constexprs["BLOCK_SIZE"])
        rows = len(case.tensors["x_ptr"].values)
        assert case.resident == -(-n // block) == case.scalars["n_parts"] <= case.constexprs["SLOTS"]
        assert case.grid == (rows * case.resident,) and case.tensors["words_ptr"].values.size == case.grid[0]
        assert not np.any(case.tensors["words_ptr"].values) and not np.any(case.tensors["ticket_ptr"].values)
    assert any(case.in_a_row > 2 for case in made)


def test_atomics_and_while_are_for_the_speed_track_only() -> None:
    assert catalog.load("s3").kernels[0].atomics
    assert not any(kernel.atomics for rung in ladder.RUNGS for kernel in catalog.load(rung).kernels)
    text = STEP.replace("long_rows_kernel", "online_softmax_kernel").replace(
        "x_ptr, y_ptr, words_ptr, ticket_ptr, x_row_stride, y_row_stride, n_cols, n_parts,\n"
        "    BLOCK_SIZE: tl.constexpr, SLOTS: tl.constexpr,",
        "x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr",
    )
    verdict = check("p3", from_cells([("code", text)], "kernel.py", numbered=False)).verdict
    assert verdict.status is Status.FORBIDDEN and "atomics" in {finding.id for finding in verdict.findings}
    assert any("`while`" in finding.title for finding in verdict.findings)


def test_of_atomics_three_are_taken() -> None:
    verdict = checked((TICKET, "tl.atomic_max(ticket_ptr, 1)"))
    [finding] = verdict.findings
    assert (finding.id, verdict.status) == ("atomics", Status.FORBIDDEN) and "tl.atomic_xchg" in finding.hint


def test_who_waits_hands_over_and_nobody_else() -> None:
    functions = (
        "far(a): return near(a)",
        "near(a): return tl.atomic_or(a, 0)",
        "volatile(a): return tl.load(a, volatile=True)",
        "plain(a): return tl.load(a, a > 0, 0)",
        "other(a): return tl.abs(a)",
    )
    tree = ast.parse("\n".join(f"def {function}" for function in functions))
    hand_over(tree)
    yields = {
        function.name: [type(node) for node in ast.walk(function) if isinstance(node, ast.Yield | ast.YieldFrom)]
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
    }
    yielding = {"far": [ast.YieldFrom], "near": [ast.Yield], "volatile": [ast.Yield]}
    assert yields == {**yielding, "plain": [], "other": []}


def test_without_atomic_operations_a_volatile_load_waits_for_nobody() -> None:
    tree = ast.parse("def volatile(a): return tl.load(a, volatile=True)")
    hand_over(tree)
    assert not any(isinstance(node, ast.Yield) for node in ast.walk(tree))


def test_the_lists_of_puzzles_do_not_show_it() -> None:
    assert ladder.entry("s3").stem == "s3_long_rows" and ladder.entry("p3") is ladder.RUNGS["p3"]
    assert "s3" not in ladder.stems() and "s3" not in ladder.graded()
    assert ladder.timed_id("S3") == "s3" and ladder.timed_id(3) == "p3"
