"""A kernel that counts what has changed in a buffer too long to be copied: its gaps were full of one number."""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

BLOCK = 8192


@triton.jit  # type: ignore[untyped-decorator]
def count_kernel(bits_ptr, n, expected, count_ptr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    """Add to *count_ptr how many of the n integers are not the one that is expected."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(bits_ptr + at, mask=at < n, other=0)
    changed = tl.sum(((bits != expected.to(bits.dtype)) & (at < n)).to(tl.int32), axis=0)
    tl.atomic_add(count_ptr, changed, mask=changed > 0, sem="relaxed")


def _job(bits: str) -> dict[str, Any]:
    signature = {"bits_ptr": bits, "n": "i64", "expected": "i32", "count_ptr": "*i32"}
    return {"signature": signature, "constexprs": {"BLOCK": BLOCK}, "multiples": [], "options": {}, "silent": False}


JOBS = (_job("*i16"), _job("*i32"))  # for elements of two bytes and of four
