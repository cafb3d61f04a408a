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

    # Puzzle p6: Qi, and what stays in registers.

        # Puzzle p6: scores, maximum, exponentials. The normaliser is the sum of all of them.

        # New: which entries meet V. Each has a number of its own, whatever tile it is in.

    # Puzzle p6: divide once. LSE knows nothing of dropout.


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

    # Puzzle p7: Kj, Vj, and what stays in registers.

        # Puzzle p7: P as the softmax gave it.

        # New: the forward pass's mask, drawn again.
