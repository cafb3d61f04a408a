# own: --function online_softmax
"""Softmax of rows of any length: persistent programs, two sweeps over each row."""

import torch
import triton
import triton.language as tl
from triton import cdiv

NEG_INF: tl.constexpr = tl.constexpr(float("-inf"))


@triton.jit
def _merge(m, s, x):
    """The running maximum and sum of each lane, with one more block."""
    m_new = tl.maximum(m, x)
    safe = tl.where(m_new == NEG_INF, 0.0, m_new)
    return m_new, s * tl.exp(m - safe) + tl.exp(x - safe)


@triton.jit
def softmax_kernel(
    out_ptr,
    in_ptr,
    out_row_stride,
    in_row_stride,
    n_rows,
    n_cols,
    BLOCK: tl.constexpr,
    num_stages: tl.constexpr,
):
    pid = tl.program_id(0)
    num_programs = tl.num_programs(0)
    lanes = tl.arange(0, BLOCK)
    for row in tl.range(pid, n_rows, num_programs, num_stages=num_stages):
        in_row = in_ptr + row * in_row_stride
        out_row = out_ptr + row * out_row_stride

        # each lane keeps a maximum and a sum of its own, and they are put together after the loop
        m = tl.full((BLOCK,), NEG_INF, tl.float32)
        s = tl.zeros((BLOCK,), tl.float32)
        for start in tl.range(0, n_cols, BLOCK):
            cols = start + lanes
            x = tl.load(in_row + cols, mask=cols < n_cols, other=NEG_INF, eviction_policy="evict_last")
            m, s = _merge(m, s, x.to(tl.float32))
        row_max = tl.max(m, axis=0)
        row_sum = tl.sum(s * tl.exp(m - row_max), axis=0)

        for start in tl.range(0, n_cols, BLOCK):
            cols = start + lanes
            x = tl.load(in_row + cols, mask=cols < n_cols, other=NEG_INF, eviction_policy="evict_first")
            y = tl.exp(x.to(tl.float32) - row_max) / row_sum
            tl.store(out_row + cols, y.to(out_ptr.dtype.element_ty), mask=cols < n_cols)


def num_sms(device: torch.device) -> int:
    if device.type != "cuda":
        return 8
    return torch.cuda.get_device_properties(device).multi_processor_count


def online_softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    BLOCK = min(1024, triton.next_power_of_2(n_cols))
    waves = 4
    num_programs = min(n_rows, waves * num_sms(x.device))
    assert cdiv(n_rows, num_programs) >= 1
    softmax_kernel[(num_programs, 1, 1)](
        y,
        x,
        y.stride(0),
        x.stride(0),
        n_rows,
        n_cols,
        BLOCK=BLOCK,
        num_stages=2,
        num_warps=4 if BLOCK <= 512 else 8,
    )
    return y
