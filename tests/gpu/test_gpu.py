"""The GPU road on a real GPU: right kernels, wrong ones, and those that hurt."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from checker.check import Conditions, check
from checker.check.settings import explained
from checker.course.verdict import Status, Verdict
from checker.sandbox.parent import Limits, gpu_missing
from checker.submission.read import from_cells
from tests.conftest import ROOT, STEMS_OF_KERNELS, check_kernel, check_path
from tests.gpu import bf16, semantics
from tests.kernels import named

pytestmark = pytest.mark.skipif(bool(gpu_missing()), reason=gpu_missing() or "there is a GPU")

STEMS = STEMS_OF_KERNELS
ON_GPU = Conditions(device="cuda", targets=())
HEAD = """
import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
"""


def checked(body: str, seconds: float = 300.0) -> Verdict:
    conditions = Conditions(device="cuda", targets=(), limits=Limits(gpu_seconds=seconds), lint=False)
    return check("p1", from_cells([("code", HEAD + body)], "kernel.py", numbered=False), conditions).verdict


def solution(puzzle_id: str) -> Path:
    return ROOT / "solutions" / f"{STEMS[puzzle_id]}.py"


def memory() -> float:
    """Bytes of the GPU."""
    import torch

    return float(torch.cuda.mem_get_info()[1])


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_the_solution_is_accepted(puzzle_id: str) -> None:
    verdict = check_path(solution(puzzle_id), ON_GPU)
    assert verdict.accepted, verdict.findings
    assert verdict.runs[0].device == "cuda"
    left_out = [remark for remark in verdict.remarks if "not enough" in remark]
    others = "PYTEST_XDIST_WORKER" in os.environ and puzzle_id != "w1"  # they take memory, too
    if left_out and (others or memory() < 79e9):
        pytest.skip(f"accepted, but {' '.join(left_out)}")
    # One vector of w1 is longer than any GPU's memory, and must be said to be left out.
    assert bool(left_out) == (puzzle_id == "w1"), left_out


@pytest.mark.parametrize(
    "name",
    ["p1_sums_x", "p2_block_local", "p3_not_rescaled", "p4_padding_counted", "p5_new_part_not_rescaled", "p6_top_left"],
)
def test_wrong_kernels_are_called_by_the_same_name(name: str) -> None:
    on_gpu = check_kernel(named(name), ON_GPU)
    here = check_kernel(named(name))
    assert not on_gpu.accepted
    assert on_gpu.findings[0].id == here.findings[0].id


def test_writing_outside_shows_in_the_margins() -> None:
    verdict = checked("    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0))\n")
    assert "writes-outside" in [f.id for f in verdict.findings]
    assert verdict.status is Status.OUT_OF_BOUNDS


def test_what_is_not_written_is_seen() -> None:
    verdict = checked("    tl.store(y_ptr + row * y_row_stride + cols, numerator, mask=cols < 1)\n")
    assert verdict.findings[0].id == "not-written"


def test_a_changed_input_is_seen() -> None:
    body = (
        "    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)\n"
        "    tl.store(x_ptr + row * x_row_stride + cols, numerator, mask=mask)\n"
    )
    assert checked(body).findings[0].id == "input-changed"


def test_an_illegal_address_is_a_verdict_and_the_next_check_works() -> None:
    verdict = checked("    tl.store(y_ptr + row + 2**40 + cols, numerator)\n")
    assert verdict.findings[0].id == "illegal-address"
    assert check_path(solution("p1"), ON_GPU).accepted


def test_a_kernel_that_hangs_is_a_verdict_and_the_next_check_works() -> None:
    body = (
        "    for i in range(0, n_cols.to(tl.int64) * 10000000000):\n"
        "        numerator += tl.load(x_ptr + (i % 2) + cols * 0, volatile=True)\n"
        "    tl.store(y_ptr + row * y_row_stride + cols, numerator, mask=mask)\n"
    )
    verdict = checked(body, seconds=25)
    assert verdict.status is Status.TIME_LIMIT
    assert check_path(solution("p1"), ON_GPU).accepted


def test_too_much_shared_memory_is_called_so() -> None:
    verdict = check_kernel(named("p1_too_much_shared_memory"), ON_GPU)
    assert verdict.findings[0].id == "shared-memory"
    assert verdict.status is Status.DOES_NOT_COMPILE


def test_what_does_not_compile_is_located() -> None:
    verdict = checked("    for turn in range(0, n_cols * 10000000000):\n        numerator += turn\n")
    assert verdict.status is Status.DOES_NOT_COMPILE
    assert verdict.findings[0].id == "compiler-error"
    assert verdict.findings[0].where.line == HEAD.count("\n") + 1


def test_what_fails_only_where_a_size_is_1_is_not_refused() -> None:
    verdict = check_kernel(named("p2_size_cast"), ON_GPU)
    assert verdict.accepted, verdict.findings


@pytest.mark.parametrize("name", ["p1_prints", "w1_prints"])
def test_every_thread_may_print(name: str) -> None:
    verdict = check_kernel(named(name), ON_GPU)
    assert verdict.accepted, verdict.findings
    assert verdict.printed
    assert any("only small launches print" in remark for remark in verdict.remarks)


def test_a_fault_of_the_compiler_is_not_called_rounding() -> None:
    verdict = check_path(ROOT / "tests" / "gpu" / "a3_transposed.py", Conditions(device="auto", targets=()))
    if verdict.accepted:
        pytest.skip("this Triton compiles it rightly for this GPU")
    assert "num_warps=" in verdict.findings[0].explanation and "not rounding" in verdict.findings[0].explanation
    assert verdict.remarks[0] == "the interpreter accepts this kernel, and the GPU does not."


def test_a_missing_barrier_is_no_fault_of_the_compiler() -> None:
    submission = from_cells([("code", named("p5_no_barrier").text)], "kernel.py", numbered=False)
    refused = check("p5", submission, ON_GPU)
    if refused.verdict.accepted:
        pytest.skip("threads came in an order that is right")
    assert explained("p5", refused, Limits()).verdict == refused.verdict


def test_auto_checks_on_the_interpreter_and_on_the_gpu() -> None:
    verdict = check_path(solution("p1"), Conditions(device="auto"))
    assert verdict.accepted, verdict.findings
    assert [run.device for run in verdict.runs] == ["interpreter", "cuda"]
    assert verdict.runs[0].traffic and verdict.compiled
    wrong = check_kernel(named("p1_reads_twice"), Conditions(device="auto", targets=()))
    assert [run.device for run in wrong.runs] == ["interpreter"]


def test_the_interpreter_computes_as_this_gpu_does() -> None:
    assert semantics.main() == bf16.main() == 0  # they print what differs


def test_what_tf32_costs_is_what_it_costs_here() -> None:
    """The interpreter's figure is this GPU's."""
    both = check_path(solution("a1"), ON_GPU), check_path(solution("a1"), Conditions(targets=()))
    figures = [re.findall(r"off by (\S+) %", remark) for verdict in both for remark in verdict.remarks]
    here, there = (float(figure) for found in figures for figure in found)
    assert abs(here - there) <= 0.02 * there


@pytest.mark.parametrize("shared", [99 << 10, 64 << 10, 48 << 10], ids=["RTX 40", "T4", "less"])
@pytest.mark.parametrize("puzzle_id", ["p5", "p7", "b1"])
def test_a_right_kernel_has_room_on_a_smaller_card(puzzle_id: str, shared: int) -> None:
    """With fewer stages, as if this GPU had so many bytes of shared memory; what has no room even so is named."""
    verdict = check_path(
        solution(puzzle_id), Conditions(device="cuda", targets=(), limits=Limits(gpu_shared_bytes=shared))
    )
    assert verdict.accepted, verdict.findings
    left_out = [remark for remark in verdict.remarks if "room for such tiles" in remark]
    assert bool(left_out) == (shared < 64 << 10), left_out
    assert len(left_out) < 3


def test_a_kernel_that_wastes_shared_memory_is_told_so_on_a_smaller_card() -> None:
    conditions = Conditions(device="cuda", targets=(), limits=Limits(gpu_shared_bytes=99 << 10))
    assert check_kernel(named("p1_too_much_shared_memory"), conditions).findings[0].id == "shared-memory"
