"""Timing on a real GPU: what is wrong is not timed, what is right is, beside its peers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker.bench.roofline import asked
from checker.bench.run import BenchmarkFailed, Extent, measure, source_of
from checker.catalog import p6_flash_attention_2, p7_causal_backward
from checker.catalog.attention.backward.gradients import given_all, launch_given
from checker.catalog.attention.launch import Shape
from checker.catalog.attention.values import Inputs
from checker.course import places
from checker.course.case import blank
from checker.course.puzzle import Timed, Work
from checker.sandbox.parent import torch_gpu_missing
from checker.submission.read import from_cells, from_file

pytestmark = pytest.mark.skipif(bool(torch_gpu_missing()), reason=torch_gpu_missing() or "there is a GPU")

SOLUTION = places.solution("p1")
SHORT = Extent(milliseconds=20)


def linted(text: str) -> str:
    return source_of("p1", from_cells([("code", text)], "kernel.py", numbered=False))


def test_kernels_and_peers_are_timed_in_one_run() -> None:
    said: list[str] = []
    result = measure("p1", {"yours": source_of("p1", from_file(SOLUTION))}, SHORT, said.append)
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
        source = source_of(puzzle_id, from_file(places.solution(puzzle_id)))
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

    path = for_this_gpu("p6")
    for heads, n in SOME:
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
        launched_again_and_again(child._by_itself(str(path), size, tensors, right), tensors, right, 0.001)


@pytest.mark.parametrize("d", [64, 128])
def test_the_backward_pass_that_launches_itself_is_right(d: int) -> None:
    """The same, and sums that programs add to in any order."""
    import torch

    from checker.bench.inside import child

    path = for_this_gpu("p7")
    for heads, n in SOME:
        shape = Shape(n, n, d, 64, 64, heads, (0, 0), (0, 0))
        x, rows = blank((heads, n, d), np.float16), blank((heads, n), np.float32)
        given = given_all(shape, Inputs(x, x, x, d**-0.5), x, x, rows, rows)
        cases = {name: launch_given(kernel, "timed", (), given) for name, kernel in p7_causal_backward.KERNELS.items()}
        launch = lambda name, _, cases=cases: cases[name]  # type: ignore[misc]  # noqa: E731
        size = asked(Timed("small", Work.CAUSAL_BACKWARD, launch, p7_causal_backward.TUNINGS[d]))
        tensors = child._tensors(size)
        q, k, v, do = (tensors[f"{name}_ptr"].double().requires_grad_() for name in ("q", "k", "v", "do"))
        scores = torch.einsum("hid,hjd->hij", q, k) * d**-0.5
        scores = scores.masked_fill(torch.ones(n, n, dtype=torch.bool, device="cuda").triu(1), -torch.inf)
        o = torch.softmax(scores, -1) @ v
        tensors["o_ptr"].copy_(o.detach())
        tensors["lse_ptr"].copy_(torch.logsumexp(scores, -1).detach())
        gradients = torch.autograd.grad(o, (q, k, v), do.detach())
        right = dict(zip(("dq_ptr", "dk_ptr", "dv_ptr"), gradients, strict=True))
        launched_again_and_again(child._by_itself(str(path), size, tensors, right), tensors, right, 0.002)


SOME = ((3, 128), (4, 384), (5, 1024), (64, 2048))  # heads, and queries of each


def for_this_gpu(puzzle_id: str) -> Path:
    """The step that launches itself."""
    import torch

    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("it is written for Hopper GPUs")
    [path] = [path for path in places.steps(puzzle_id) if places.launches_itself(path)]
    return path


def launched_again_and_again(
    run: Callable[[], Any], tensors: dict[str, Any], right: dict[str, Any], off: float
) -> None:
    """All that it writes is right each time: a race shows in some launches only."""
    for _ in range(10):
        for name in right:
            tensors[name].fill_(float("nan"))
        run()
        for name, values in right.items():
            assert (tensors[name].double() - values).norm() / values.norm() < off, (name, values.shape)
