"""Timing on a real GPU: what is wrong is not timed, what is right is, beside its peers."""

from __future__ import annotations

import pytest

from checker.bench import command
from checker.bench.run import BenchmarkFailed, Extent, measure
from checker.box.parent import torch_gpu_missing
from checker.course import places
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
    assert all(size.of("tuned 1, handshake") for size in result.sizes), [size.left_out for size in result.sizes]
    [(other, sizes)] = beside("s3").items()
    result = measure(other, forms(other), SHORT, lambda _: None, sizes)
    assert all(size.of("solution") for size in result.sizes), [size.left_out for size in result.sizes]
