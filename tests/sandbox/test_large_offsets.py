"""Losses in positions and sizes of large tensors are noted where arithmetic is checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.records import AS_FLOAT, MULTIPLIED, NARROWED
from checker.sandbox.protocol.results import LaunchResult

HEADER = "@triton.jit\ndef {name}(x_ptr, y_ptr, n_rows, n_cols, stride, B: tl.constexpr):\n"
START = """\
    row, at, i = tl.program_id(0), tl.arange(0, B), 0
    x, here = tl.load(x_ptr + at), row * B + at
"""
END = "    tl.store(y_ptr + at, x)\n"
BODIES = {
    # Right: blocks and strides are no sizes, 64 bits hold any product, and a remainder is not too large.
    "a_limit_for_each": ("    x = tl.where((here < n_rows) & (at < n_cols), x, 0.0)\n", set()),
    "offset": ("    x = tl.load(x_ptr + (row * stride + at) * 0 + at)\n", set()),
    "whole_tiles": ("    x += (tl.cdiv(n_cols, B) * B).to(tl.float32)\n", set()),
    "remainder": ("    i = tl.cdiv(n_cols, B)\n    x = tl.where(row - (row // i) * i > 9, 0.0, x)\n", set()),
    "in_64_bits": ("    x = tl.where(row.to(tl.int64) * n_cols + at < n_rows.to(tl.int64) * n_cols, x, 0.0)\n", set()),
    "lanes_in_16_bits": ("    x = tl.where(at.to(tl.int16) < 9, x, 0.0)\n", set()),
    "is_there_any": ("    x = tl.where(tl.cast(row, tl.int1), 0.0, x)\n", set()),
    "an_average": ("    x /= n_cols\n    x = tl.where(x > 1.0, x, 0.0)\n", set()),
    # Wrong.
    "size_times_size": ("    x = tl.where(at < n_rows * n_cols, x, 0.0)\n", {MULTIPLIED}),
    "row_times_size": ("    x = tl.where(row * n_cols + at < 9, x, 0.0)\n", {MULTIPLIED}),
    "rows_times_size": ("    x = tl.where(here[:, None] * n_cols > 7, x[:, None], 0.0).max(axis=1)\n", {MULTIPLIED}),
    "counter_times_size": ("    for i in range(n_rows):\n        x = tl.where(i * n_cols < 0, 0.0, x)\n", {MULTIPLIED}),
    "clamped": ("    x = tl.where(tl.minimum(here, n_rows) * tl.maximum(n_cols, 1) < 0, 0.0, x)\n", {MULTIPLIED}),
    "rows_divided": ("    x = tl.where(here / n_rows < 1, x, 0.0)\n", {AS_FLOAT}),
    "compared_as_float": ("    x = tl.where(here.to(tl.float32) < n_cols, x, 0.0)\n", {AS_FLOAT}),
    "row_divided": ("    x = tl.load(x_ptr + (row / 1).to(tl.int32) * 0 + at)\n", {AS_FLOAT}),
    "row_in_16_bits": ("    x = tl.where(row.to(tl.int16) < 5, x, 0.0)\n", {NARROWED}),
    "position_in_8_bits": ("    x = tl.where(here.to(tl.uint8) < 5, x, 0.0)\n", {NARROWED}),
    "counter_in_16_bits": (
        "    for i in range(n_rows):\n        x = tl.where((i + at).to(tl.int16) < 0, 0.0, x)\n",
        {NARROWED},
    ),
    "compared_in_half": ("    x = tl.where(here.to(tl.float16) < 5.0, x, 0.0)\n", {AS_FLOAT}),
}  # fmt: skip


@pytest.fixture(scope="module", params=[True, False], ids=["checked", "not-checked"])
def logs(request: pytest.FixtureRequest) -> Iterator[tuple[bool, dict[str, LaunchResult]]]:
    source = "\n\n".join(HEADER.format(name=name) + START + body + END for name, (body, _) in BODIES.items())
    x = np.arange(16, dtype=np.float32)
    tensors = {"x_ptr": TensorArgument(x, (1,)), "y_ptr": TensorArgument(0 * x, (1,))}
    scalars = {"n_rows": ("int32", 5), "n_cols": ("int32", 7), "stride": ("int32", 9)}
    launches = [Launch(name, (1, 1, 1), tensors, scalars, {"B": 16}, request.param) for name in BODIES]
    with Sandbox(Limits()) as sandbox:
        report = sandbox.run(source, list(BODIES), launches, [[(n, [0]) for n in range(len(launches))]])
    answers = report.passes[0]
    yield request.param, {name: answers.results[number] for number, name in enumerate(BODIES)}


@pytest.mark.parametrize("name", BODIES)
def test_what_large_sizes_would_break_is_noted(logs: tuple[bool, dict[str, LaunchResult]], name: str) -> None:
    checked, results = logs
    result = results[name]
    assert result.error is None, result.error
    assert {way for way, *_ in result.log.losses} == (BODIES[name][1] if checked else set())
