import triton
import triton.language as tl


@triton.jit
def attention_bias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    bias_head_stride, bias_row_stride, bias_col_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 38 lines)


@triton.jit
def dbias_kernel(
    q_ptr, k_ptr, v_ptr, bias_ptr, do_ptr, lse_ptr, delta_ptr, dbias_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride, bias_row_stride, bias_col_stride,
    n_q, n_k, heads, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    queries = tl.program_id(0).to(tl.int64) * Br + tl.arange(0, Br)
    keys = tl.program_id(1).to(tl.int64) * Bc + tl.arange(0, Bc)
    dims = tl.arange(0, D)
    # FILL IN (roughly 19 lines)
