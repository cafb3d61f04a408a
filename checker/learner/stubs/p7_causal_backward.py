import triton
import triton.language as tl


@triton.jit
def delta_kernel(
    o_ptr, do_ptr, delta_ptr,
    q_head_stride, q_row_stride,
    n_q,
    D: tl.constexpr, Br: tl.constexpr,
):
    queries = tl.program_id(0) * Br + tl.arange(0, Br)
    head = tl.program_id(1).to(tl.int64)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + tl.arange(0, D)[None, :]
    # FILL IN (roughly 4 lines)


@triton.jit
def dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    keys = start_k + tl.arange(0, Bc)
    dims = tl.arange(0, D)
    kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
    # FILL IN (roughly 26 lines)


@triton.jit
def dq_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    # FILL IN (roughly 22 lines)
