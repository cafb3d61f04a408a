"""A kernel that a kept server runs or compiles, so that Triton has loaded and read what kernels of this course need.

It computes nothing that is asked for anywhere. Who compiles it also runs code of Triton that is imported late.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl

from checker.sandbox.protocol.launch import Launch, TensorArgument

JOB: dict[str, Any] = {
    "target": "sm_90",
    "signature": {"a_ptr": "*fp16", "b_ptr": "*fp32", "stride": "i32", "SIDE": "constexpr"},
    "constexprs": {"SIDE": 16},
    "multiples": ["stride"],
    "until": "",
    "options": {},
    "stages": [],
}
LAUNCHES = 10  # Python itself looks at code only when it has run a few times
LAUNCH = Launch(
    "kernel",
    (1, 1, 1),
    {name: TensorArgument(np.zeros((16, 32), dtype), (32, 1)) for name, dtype in (("a_ptr", "f2"), ("b_ptr", "f4"))},
    {"stride": ("int32", 32)},
    JOB["constexprs"],
    most_work=1 << 40,
)


@triton.jit  # type: ignore[untyped-decorator]
def kernel(a_ptr, b_ptr, stride, SIDE: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: D103
    row, column = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    total = tl.zeros((SIDE, SIDE), tl.float32)
    for start in range(0, stride, SIDE):
        inside = start + column < stride
        a = tl.load(a_ptr + row.to(tl.int64) * stride + start + column, mask=inside, other=0.0)
        total += tl.dot(a, tl.trans(a))
        m = tl.maximum(tl.max(total, axis=1), tl.max(a.to(tl.float32), axis=1))
        total = tl.where(inside, tl.exp(total - m[:, None]), 0.0) / tl.sum(total, axis=0)[None, :]
        total = tl.exp2(tl.log(total) + tl.program_id(0) - tl.cdiv(tl.num_programs(1), SIDE))
    tl.store(b_ptr + row * stride + column, total, mask=column < stride)
