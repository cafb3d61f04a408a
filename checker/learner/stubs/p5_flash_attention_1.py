import triton
import triton.language as tl


@triton.jit
def flash_attention_1_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, l_ptr, m_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    head = tl.program_id(0).to(tl.int64)
    dims = tl.arange(0, D)
    for start_k in range(0, n_k, Bc):  # line 5: for 1 <= j <= Tc
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        # FILL IN (roughly 27 lines): lines 6 to 13

        # Line 6: load Kj, Vj.

            # Line 8: load Qi, Oi, li, mi.

            # Line 9: Sij = scale Qi Kj^T. Keys past the end must not count.

            # Line 10: maximum, exponentials and their sum, of this tile alone.

            # Line 11: both seen from the new maximum, and added.

            # Line 12: Oi was divided by li; take that back, add, divide by li_new.

            # Line 13: write li, mi.

        # The next iteration loads what other threads of this program have just stored.
        tl.debug_barrier()
