"""bf16 on the interpreter: fp32 numbers that bf16 can hold, rounded as PyTorch rounds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from checker.course.case import as_bf16
from checker.sandbox.inside.bfloat16 import rounded
from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import Launch, TensorArgument
from tests.conftest import importable
from tests.gpu.bf16 import OPERATIONS, inputs, results, same

SOURCE = """
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n, other=0.0), mask=at < n)
"""


def test_numbers_are_rounded_as_pytorch_rounds_them() -> None:
    torch = importable("torch")
    bits = np.random.default_rng(0).integers(0, 1 << 32, 100_000, dtype=np.uint32)
    bits[:6] = 0x7F7FFFFF, 0x7F7F8000, 0x00000001, 0x00008000, 0x3F808000, 0x3F818000
    values = bits.view(np.float32)
    theirs = torch.from_numpy(values.copy()).to(torch.bfloat16).float().numpy()
    assert same(rounded(values), theirs).all()
    assert same(rounded(values), rounded(rounded(values))).all()


def test_each_operation_gives_numbers_of_its_type() -> None:
    """Which numbers, `tests/gpu/bf16.py` compares with a GPU's; all of them can be computed here at all."""
    for operation, found in zip(OPERATIONS, results(Device.INTERPRETER, *OPERATIONS), strict=True):
        assert all(operation.kind != "bf16" or same(z, as_bf16(z)).all() for z in found), operation.line


@pytest.mark.parametrize(
    ("line", "ours"),
    {
        "a + b": lambda a, b: a + b,
        "a * b + a": lambda a, b: as_bf16(a * b) + a,
        "tl.dot(a, b).to(tl.bfloat16) + a": lambda a, b: as_bf16(a @ b) + a,
        "a * 1.7": lambda a, b: a * as_bf16(np.float32(1.7)),
        "tl.full((B, B), 1.7, tl.bfloat16) * a": lambda a, b: a * as_bf16(np.float32(1.7)),
    }.items(),
)
def test_each_step_is_rounded(line: str, ours: Callable[..., Any]) -> None:
    [operation] = [one for one in OPERATIONS if one.line == line]
    [found] = results(Device.INTERPRETER, operation)
    for kind, z in enumerate(found[:2]):
        assert same(z, as_bf16(ours(*inputs(kind)))).all()


@pytest.mark.parametrize(("x_half", "y_half"), [(True, True), (False, True), (True, False)])
def test_addresses_are_those_of_two_bytes(x_half: bool, y_half: bool) -> None:
    """And a load past the end is seen where it is one."""
    x = as_bf16(np.random.default_rng(0).normal(size=30))
    tensors = {
        "x_ptr": TensorArgument(x, (1,), bf16=x_half),
        "y_ptr": TensorArgument(np.full(30, np.nan, np.float32), (1,), bf16=y_half, output=True),
    }
    launches = [Launch("kernel", (1, 1, 1), tensors, {"n": ("int32", n)}, {"B": 32}) for n in (30, 31)]
    with Sandbox(Limits()) as sandbox:
        done = sandbox.run(SOURCE, ["kernel"], launches, [[(0, range(1)), (1, range(1))]]).passes[0].results
    assert done[0].refused is None and (done[0].tensors["y_ptr"] == x).all()
    assert done[1].refused is not None and done[1].refused.first == 30
    assert done[1].refused.dtype == ("bfloat16" if x_half else "float32")
