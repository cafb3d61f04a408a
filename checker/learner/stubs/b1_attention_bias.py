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

    # Puzzle p6, line by line; what is new stands under "the bias".

        # The bias: an address for each entry of the tile. A stride of 0 gives a whole row, or column, the same one.

        # It is part of the scores: added after the scale, and before anything is hidden or taken of them.


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

    # Each program owns one tile of dBias. What adds to it comes from every head, so the heads are a loop.

    # The bias is that of every head: one load, before the loop.

        # P and dS as in p7. S = scale QK^T + B, so dB is dS itself: no factor, and no further product.
