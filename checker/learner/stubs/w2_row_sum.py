import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, x_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    # FILL IN (roughly 4 lines)

    # 0 in the padding adds nothing to the sum, and fp32 keeps what fp16 would round away.
