import triton
import triton.language as tl


@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    # FILL IN (roughly 32 lines)

    # Line 3: for 1 <= i <= Tr. Each i is a program of its own.

    # Line 4: load Qi.

    # Line 5: Oi, li, mi, in registers.

    # Line 6: for 1 <= j <= Tc, as far as any query of this tile can see.
        # Line 7: load Kj, Vj.

        # Line 8: Sij = scale Qi Kj^T, of keys that exist and may be seen.

        # Line 9: the new maximum, the exponentials, the rescaled normaliser.

        # Line 10: Oi is rescaled, and not divided yet.

    # Line 12: divide once. A query that sees no key has li = 0, and Oi = 0 already.
    # Line 13: LSE = mi + log(li), which the backward pass needs.

    # Lines 14, 15: write Oi, LSEi.
