"""Timing on a real GPU: what is wrong is not timed, what is right is, beside its peers."""

from __future__ import annotations

import numpy as np
import pytest

from checker.bench import command
from checker.bench.run import BenchmarkFailed, Extent, measure
from checker.bench.workload import asked
from checker.box.parent import torch_gpu_missing
from checker.catalog import p6_flash_attention_2
from checker.catalog.attention.launch import Shape
from checker.catalog.attention.values import Inputs
from checker.course import places
from checker.course.case import blank
from checker.course.puzzle import Timed, Work
from checker.submission.read import from_cells, from_file

pytestmark = pytest.mark.skipif(bool(torch_gpu_missing()), reason=torch_gpu_missing() or "there is a GPU")

SOLUTION = command.SOLUTIONS / "p1_naive_softmax.py"
SHORT = Extent(milliseconds=20)


def linted(text: str) -> str:
    return command.source_of("p1", from_cells([("code", text)], "kernel.py", numbered=False))


def test_kernels_and_peers_are_timed_in_one_run() -> None:
    said: list[str] = []
    result = measure("p1", {"yours": command.source_of("p1", from_file(SOLUTION))}, SHORT, said.append)
    assert result.measured and result.copy > 0 and result.matrix > 0
    for size in result.sizes:
        assert {"yours", "torch eager", "torch.compile"} == {timing.name for timing in size.timings}
        for timing in size.timings:
            assert 0 < timing.low <= timing.median <= timing.high
            assert result.share(size, timing.median) < 1.2  # nothing is faster than the memory
    assert any("yours" in line for line in said)


def test_what_is_wrong_at_this_size_is_not_timed() -> None:
    text = SOLUTION.read_text().replace("numerator / denominator", "numerator / denominator * tl.where(row < 1, 1, 2)")
    result = measure("p1", {"yours": linted(text), "right": linted(SOLUTION.read_text())}, SHORT, lambda _: None)
    for size in result.sizes:
        assert size.of("yours") is None and size.of("right") is not None
        assert any("yours: y is wrong at this size" in reason for reason in size.left_out)


def test_a_kernel_that_breaks_the_gpu_ends_the_benchmark() -> None:
    text = SOLUTION.read_text().replace("y_ptr + row", "y_ptr + 2**40 + row")
    with pytest.raises(BenchmarkFailed, match="ended early"):
        measure("p1", {"yours": linted(text)}, SHORT, lambda _: None)


def test_solutions_of_all_puzzles_can_be_timed() -> None:
    for puzzle_id in ("a1", "p4", "a3", "p5", "p6", "p7", "b1", "b2", "b3"):
        source = command.source_of(puzzle_id, from_file(places.solution(puzzle_id)))
        result = measure(puzzle_id, {"solution": source}, SHORT, lambda _: None)
        assert all(size.of("solution") for size in result.sizes), [size.left_out for size in result.sizes]


def test_long_rows_are_timed_with_every_launch_after_the_first_on_what_the_last_one_left() -> None:
    from benchmarks.speed import beside, forms

    result = measure("s3", forms("s3"), SHORT, lambda _: None)
    assert all(size.of(form) for form in forms("s3") for size in result.sizes), [size.left_out for size in result.sizes]
    [(other, sizes)] = beside("s3").items()
    result = measure(other, forms(other), SHORT, lambda _: None, sizes)
    assert all(size.of("solution") for size in result.sizes), [size.left_out for size in result.sizes]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128])
def test_what_launches_itself_is_right_and_writes_all_of_o_and_lse(d: int, causal: bool) -> None:
    """One tile of keys or many, programs with groups that have no queries, more programs than the GPU has room for."""
    import torch

    from checker.bench.inside import child

    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("it is written for Hopper GPUs")
    [path] = [path for path in places.steps("p6") if places.launches_itself(path)]
    for heads, n in ((3, 128), (4, 384), (5, 1024), (64, 2048)):
        shape = Shape(n, n, d, 64, 64, heads, (0, 0), (0, 0))
        x = blank((heads, n, d), np.float16)
        case = p6_flash_attention_2.launch("timed", (), shape, Inputs(x, x, x, d**-0.5), causal)
        work = Work.CAUSAL_ATTENTION if causal else Work.ATTENTION
        tunings = {case.kernel: p6_flash_attention_2.TUNINGS}
        size = asked(Timed("small", work, lambda *_, case=case: case, tunings))  # type: ignore[misc]
        tensors = child._tensors(size)
        q, k, v = (tensors[name].float() for name in ("q_ptr", "k_ptr", "v_ptr"))
        scores = torch.stack([a.double() @ b.double().T for a, b in zip(q, k, strict=True)]) * d**-0.5
        if causal:
            scores.masked_fill_(torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1), -torch.inf)
        right = {"o_ptr": torch.softmax(scores, -1) @ v.double(), "lse_ptr": torch.logsumexp(scores, -1)}
        run = child._by_itself(str(path), size, tensors, right)
        for _ in range(10):  # a race shows in some launches only
            for name in right:
                tensors[name].fill_(torch.nan)
            run()
            for name, values in right.items():
                off = (tensors[name].double() - values).norm() / values.norm()
                assert off < 0.001, (name, heads, n)
