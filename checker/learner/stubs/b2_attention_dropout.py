import triton
import triton.language as tl


@triton.jit
def attention_dropout_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale, p, seed,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 26 lines)


@triton.jit
def dropout_dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale, p, seed,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 27 lines)
