"""The first difference of a kernel from the solution: in true numbers, proven where it can be, and never style."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest

from checker.check import Conditions, check
from checker.course import ladder, places
from checker.course.verdict import Differs
from checker.judge.difference.finding import question
from checker.judge.difference.recordings import file_of, packed, recordings, unpacked
from checker.publish.build import alike, recorded
from checker.sandbox import host
from checker.sandbox.processes import environment
from checker.submission.read import from_cells
from tests.conftest import check_changed, check_kernel, importable
from tests.kernels import named

COMPARED = [id for id, rung in ladder.RUNGS.items() if not rung.launches]
RESCALED = "l = l * tl.exp(m - shift) + tl.sum(tl.exp(x - shift), axis=0)\n        m = m_new"
ONLY_IF_IT_GROWS = """top = tl.max(x, axis=0)
        if top > m:
            l = l * tl.exp(m - top) + tl.sum(tl.exp(x - top), axis=0)
            m = top"""

# A puzzle, what is changed in its solution, what is said of that, and what is known of the rest.
SAID = {
    "a name": (
        ("p3", "l = l * tl.exp(m - shift) +", "l = l +"),
        r"Line \d+, iteration 2 of its loop, makes l [\d.]+; in the solution it is [\d.]+\.",
        "With the solution's l in its place, the rest of this launch is right.",
    ),
    "the earliest of several": (
        ("p3", "m_new = tl.maximum(m, tl.max(x, axis=0))", "m_new = tl.maximum(l, tl.max(x, axis=0))"),
        r"Line \d+, iteration 1 of its loop, makes m_new 0; in the solution it is -[\d.]+\.",
        "With the solution's m_new in its place, the rest of this launch is right.",
    ),
    "an iteration that leaves a name": (
        ("p3", RESCALED, ONLY_IF_IT_GROWS),
        r"Iteration \d of the loop in line \d+ leaves l [\d.]+; in the solution it is [\d.]+\.",
        "",
    ),
    "a little": (
        ("p1", "tl.sum(numerator, axis=0)", "tl.sum(numerator, axis=0) + 0.5"),
        r"Line \d+ makes denominator 712\.3; in the solution it is 711\.8\.",
        "With the solution's denominator in its place, the rest of this launch is right.",
    ),
    "what is stored": (
        ("p2", "tl.exp(x - m) / l, mask", "tl.exp(x - m) * l, mask"),
        r"Line \d+ stores y\[0, 0\] as [\d.]+; in the solution it is [\d.]+\.",
        "Until then the solution holds the same in l, m, x.",
    ),
    "next to nothing": (
        ("p1", "tl.sum(numerator, axis=0)", "tl.sum(tl.where(numerator > 1e-30, numerator, 0.0), axis=0)"),
        r"Line \d+ makes denominator 0; in the solution it is [\d.]+e-3\d\.",
        "With the solution's denominator in its place, the rest of this launch is right.",
    ),
    "a name that is assigned again": (
        ("p6", "Sij = scale * tl.dot(", "Sij = tl.dot("),
        r"Line 45, iteration 1 of its loop, makes Sij\[0, 1\] [-\d.]+; in the solution it is [-\d.]+\.",
        "With the solution's Sij in its place, the rest of this launch is right.",
    ),
    "a mask": (
        ("p6", "keys[None, :] <= queries", "keys[None, :] < queries"),
        r"Line \d+, iteration 1 of its loop, makes visible\[0, 0\] False; in the solution it is True\.",
        "With the solution's visible in its place, the rest of this launch is right.",
    ),
    "where a loop ends": (
        ("p6", "start_q + Br + offset", "start_q + offset"),
        r"Line \d+ makes end_k \d+; in the solution it is \d+\.",
        "With the solution's end_k in its place, the rest of this launch is right.",
    ),
    "in a launch for one kind of mistake": (
        ("p6", 'tl.where(mi_new == -float("inf"), 0.0', "tl.where(mi_new < -1e8, 0.0"),
        r"Line \d+, iteration 1 of its loop, makes shift\[\d+\] 0; in the solution it is -[\d.]+e\+\d+\.",
        "With the solution's shift in its place, the rest of this launch is right.",
    ),
    "a name in PyTorch": (
        ("a2", "li = alpha * li + Pij", "li = li + Pij"),
        r"Line \d+, iteration 2 of its loop, in iteration 1 of the outer one, makes li\[0, 0, 1, 0\] [\d.]+; .*",
        "With the solution's li in its place, the rest of this launch is right.",
    ),
    "a loop in PyTorch": (
        ("a2", "else n_k\n", "else n_k - Bc\n"),
        r"Iterations of the loop in line \d+: 1; in the solution: 2\.",
        "",
    ),
    "a loop that is left from within": (
        ("a2", "\n    return O, LSE", "        return O, LSE"),
        r"Iterations of the loop in line \d+: 1; in the solution: 2\.",
        "",
    ),
    "a loop that ends early here, and late where that does no harm": (
        ("p7", "for start_q in range(first_q, n_q, Br):", "for start_q in range(0, start_k + Bc, Br):"),
        r"Iterations of the loop in line \d+: 1; in the solution: 3\.",
        "",
    ),
    "a loop with a store behind it": (
        ("a1", "range(0, k, Bk)", "range(0, k - Bk + 1, Bk)"),
        r"Iterations of the loop in line \d+: \d; in the solution: \d\.",
        "",
    ),
    "a loop": (
        ("p2", "l = 0.0\n    for start in range(0,", "l = 0.0\n    for start in range(BLOCK_SIZE,"),
        r"Iterations of the loop in line \d+: 2; in the solution: 3\.",
        "",
    ),
}


def differs(change: tuple[str, str, str], conditions: Conditions) -> Differs:
    """What is said of a solution with one change."""
    if ladder.RUNGS[change[0]].pytorch:
        importable("torch")
    found = check_changed(*change, conditions).findings[0].differs
    assert found is not None
    return found


@pytest.mark.parametrize("said", SAID)
def test_it_is_said_where_a_kernel_first_differs(said: str, quick: Conditions) -> None:
    change, sentence, proof = SAID[said]
    found = differs(change, quick)
    assert re.fullmatch(sentence, found.sentence), found.sentence
    assert found.proof == proof


def test_two_mistakes_that_leave_nothing_right_are_not_to_be_followed_by_hand(quick: Conditions) -> None:
    """No launch tells style from them, and no single name cures: the first number that differs is told, unproven."""
    kernel = named("p2_safe_softmax")
    finding = check_kernel(replace(kernel, text=kernel.text.replace("exp(x - m)", "exp(m - x)")), quick).findings[0]
    assert finding.id == "wrong-values" and finding.differs is not None and finding.differs.headline
    assert re.fullmatch(r"Line \d+, iteration 1 of its loop, makes l \S+; in the solution it is \S+", finding.title)
    assert finding.differs.proof == "With the solution's l in its place, the result is still wrong."
    assert finding.question == question("p2", "safe_softmax_kernel", "l") and not finding.hint


def test_a_block_does_not_hold_the_same_as_a_number(quick: Conditions) -> None:
    change = "p3", "m_new = tl.maximum(m, tl.max(x, axis=0))", "m_new = tl.maximum(m, x)"
    assert differs(change, replace(quick, targets=())).proof == "Until then the solution holds the same in x."


def test_a_value_without_a_counterpart_is_not_the_same(quick: Conditions) -> None:
    store = "    tl.store(dq_ptr + q_offsets, scale * dQi, mask=q_mask)"
    change = "p7", store, f"    dQi = tl.where((queries == 0)[:, None], 0.0, dQi)\n{store}"
    proof = differs(change, replace(quick, targets=())).proof
    assert "dSij" in proof and "dQi" not in proof


def test_the_iterations_of_both_loops_are_told(quick: Conditions) -> None:
    change = "p5", "keys[None, :] < n_k, Sij, -float", "keys[None, :] < n_k - 1, Sij, -float"
    assert ", iteration 1 of its loop, in iteration 2 of the outer one, makes Sij" in differs(change, quick).sentence


def test_what_is_a_product_is_not_made_of_single_numbers(quick: Conditions) -> None:
    hidden = 'Sij = tl.where(keys[None, :] < n_k, Sij, -float("inf"))'
    load = "Kj = tl.load(k_head + kv_offsets, mask=keys[:, None] < n_k, other=0.0)"
    text = places.solution("a3").read_text().replace(load, load.replace("0.0", "-float('inf')")).replace(hidden, "")
    [first, *_] = check("a3", from_cells([("code", text)], "kernel.py", numbered=False), quick).verdict.findings
    assert first.differs is not None and first.differs.yours == "nan" and "made of" not in " ".join(first.differs.told)


def test_a_factor_holds_where_the_solution_has_zeros_too(quick: Conditions) -> None:
    change = "b2", "dPij = Zij * tl.dot(dOi, tl.trans(Vj))", "dPij = tl.dot(dOi, tl.trans(Vj))"
    assert differs(change, quick).relates is None


def test_what_is_a_hundred_thousandth_apart_does_not_hold_the_same(quick: Conditions) -> None:
    change = ("p1", "tl.exp(x.to(tl.float32))", "tl.exp2(x.to(tl.float32) * 1.4427)")
    assert differs(change, replace(quick, targets=())).proof == "Until then the solution holds the same in x."


def test_what_is_said_beside_a_difference_is_about_its_launch(quick: Conditions) -> None:
    load = 'x = tl.load(x_row_ptr + start + cols, mask=mask, other=-float("inf")).to(tl.float32)\n        tl.store'
    finding = check_changed("p3", load, load.replace("start + ", ""), quick).findings[0]
    rows, columns = (int(n) for n in re.findall(r"\d+", finding.where.case)[:2])
    assert f"of {rows * columns} elements of y are wrong" in finding.examples[0], finding


OTHER_NAMES = """
@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK_SIZE)
    ok = c < n_cols
    v = tl.load(x_ptr + r * x_row_stride + c, mask=ok, other=-float("inf")).to(tl.float32)
    e = tl.exp(v)
    s = tl.sum(e + 0.01, axis=0)
    tl.store(y_ptr + r * y_row_stride + c, e / s, mask=ok)
"""


def test_names_that_hold_nothing_in_common_are_paired_by_a_proof(quick: Conditions) -> None:
    text = f"import triton\nimport triton.language as tl\n{OTHER_NAMES}"
    finding = check("p1", from_cells([("code", text)], "kernel.py", numbered=False), quick).verdict.findings[0]
    assert finding.differs is not None and (finding.differs.name, finding.differs.proven) == ("s", True)
    assert finding.question == question("p1", "naive_softmax_kernel", "denominator")
    assert "off by" not in finding.explanation  # which says less
    unproven = text.replace("e / s", "e / s + 0.01")
    finding = check("p1", from_cells([("code", unproven)], "kernel.py", numbered=False), quick).verdict.findings[0]
    assert finding.differs is None or not finding.differs.proven


RELATED = {  # a change, and what the value that differs is instead
    "a factor with a name": (
        ("p6", "Sij = scale * tl.dot(", "Sij = tl.dot("),
        r"it is [\d.]+ times that \(1 / scale\)\.",
    ),
    "another name": (("p6", "Vj = tl.load(v_head", "Vj = tl.load(k_head"), r"it is what Kj is in the solution\."),
    "NaN": (
        ("p3", "l = l * tl.exp(m - shift)", "wrong = m - m\n        l = 0.0 * wrong + l * tl.exp(m - shift)"),
        r"The first NaN is wrong in line \d+, made of m = -inf\.",
    ),
    "infinity": (
        ("p3", "tl.sum(tl.exp(x - shift), axis=0)", "tl.sum(tl.exp(x - m), axis=0)"),
        r"It is made of l = 0, m = -inf, \w+ = .*\.",
    ),
}


@pytest.mark.parametrize("related", RELATED)
def test_it_is_said_what_a_value_is_instead(related: str, quick: Conditions) -> None:
    change, sentence = RELATED[related]
    found = differs(change, quick)
    assert found.relates is not None and re.search(f"{sentence}$", found.relates.sentence), found


def test_numbers_are_the_solutions(quick: Conditions) -> None:
    """They are those of the lesson's algorithm, computed here in another way."""
    finding = check_changed(*SAID["a name"][0], quick).findings[0]
    found = finding.differs
    assert found is not None and found.iteration is not None and found.where.program is not None
    launch = next(
        one for one in recordings("p3")["online_softmax_kernel"] if one.case == (found.case or finding.where.case)
    )
    loaded = [one.numbers for one in launch.programs[found.where.program[0]] if one.name == "x"]
    seen = np.concatenate([one for one in loaded[: found.iteration] if one is not None])
    assert float(found.right) == pytest.approx(np.exp(seen - seen.max()).sum(), rel=1e-3)


def test_a_mask_asks_about_what_comes_of_it(quick: Conditions) -> None:
    asked = check_changed("p6", "keys[None, :] <= queries", "keys[None, :] != queries", quick).findings[0]
    assert asked.differs is not None and asked.differs.name == "visible" and asked.differs.proven
    assert asked.question == question("p6", "flash_attention_2_kernel", "Sij")


NAMED = {  # a name that fits NaN and zeros alone, of a kernel in which the line that it is about does what it should
    "the sum for its logarithm": ("p3", "tl.sum(tl.exp(x - shift), axis=0)", "tl.sum(tl.exp(x - m), axis=0)"),
    "a start that is too high": ("p3", "m_new = tl.maximum(m,", "m_new = tl.maximum(l,"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_name_without_numbers_does_not_contradict_a_proof(name: str, quick: Conditions) -> None:
    verdict = check_changed(*NAMED[name], quick)
    first = verdict.findings[0]
    assert first.id in ("wrong-values", "not-a-number") and first.differs is not None and first.differs.proven
    assert first.title == first.differs.sentence and first.where.line == first.differs.where.line
    assert first.question == question("p3", "online_softmax_kernel", first.differs.name) != ""
    assert all(finding.certain for finding in verdict.findings)


def test_a_name_with_numbers_stays_and_gets_the_line(quick: Conditions) -> None:
    finding = check_changed(*SAID["a name"][0], quick).findings[0]
    assert finding.id == "denominator-not-rescaled" and finding.differs is not None and finding.differs.proven
    assert finding.where.line == finding.differs.where.line


@pytest.mark.parametrize("puzzle", COMPARED)
def test_recordings_are_what_the_solutions_do(puzzle: str) -> None:
    """If this fails, `make build` makes them again."""
    if ladder.RUNGS[puzzle].pytorch:
        importable("torch")
    assert alike(unpacked(file_of(puzzle).read_bytes()), recorded(puzzle))


@pytest.mark.parametrize("processor", ["Haswell", "Nehalem"])
@pytest.mark.parametrize("puzzle", ["p5", "p6", "b3"])
def test_recordings_are_what_the_solutions_do_on_other_processors(
    puzzle: str, processor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums of products are rounded in another order there, which the exponentials of large scores show."""
    variables = {"OPENBLAS_CORETYPE": processor}
    monkeypatch.setattr(host, "environment", lambda folder: environment(folder) | variables)
    assert alike(unpacked(file_of(puzzle).read_bytes()), recorded(puzzle))


@pytest.mark.parametrize("puzzle", COMPARED)
def test_recordings_hold_values_and_names_but_no_code(puzzle: str) -> None:
    """Numbers, and of texts just names of kernels, cases, tensors and variables: nothing that could be a line."""
    with np.load(BytesIO(file_of(puzzle).read_bytes())) as parts:
        assert {parts[name].dtype.kind for name in parts.files} <= {"f", "i", "u"}
        told = json.loads(parts["told"].tobytes())
    for kernel, case, loops, events in told:
        assert kernel.isidentifier() and set(loops) <= set("()") and "tl." not in case and "\n" not in case
        for _, kind, _, name, *_ in events:
            assert kind in ("name", "exact", "load", "store", "loop") and (name.isidentifier() or not name)


@pytest.mark.parametrize("puzzle", COMPARED)
def test_what_is_packed_comes_back(puzzle: str) -> None:
    there = [one for every in recordings(puzzle).values() for one in every]
    assert there and alike(there, unpacked(packed(there)))


def test_the_same_blocks_in_another_number_of_iterations_are_style(quick: Conditions) -> None:
    """A right kernel keeps its last block for behind the loop; with another mistake that is not what is told."""
    kernel = named("p3_last_block_kept")
    text = kernel.text.replace("+ tl.sum(tl.exp(x - shift), axis=0)", "- tl.sum(tl.exp(x - shift), axis=0)")
    assert text != kernel.text
    verdict = check_kernel(replace(kernel, text=text), quick)
    assert verdict.findings and all(one.differs is None or one.differs.what != "loop" for one in verdict.findings)
