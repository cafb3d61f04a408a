import triton
import triton.language as tl


@triton.jit
def split_kernel(
    q_ptr, k_ptr, v_ptr, o_part_ptr, lse_part_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, keys_per_split, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):
    split = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 29 lines)

    # The keys of this split: from first_k up to, and without, end_k. None, if it begins past the last key.

    # From here on it is p6, not causal, for these keys alone.

    # A split without keys has li = 0 and mi = -inf: its O is 0, and its LSE -inf.


@triton.jit
def merge_kernel(
    o_part_ptr, lse_part_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, n_q, splits,
    D: tl.constexpr, Bs: tl.constexpr,
):
    query = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    # FILL IN (roughly 11 lines)

    # All parts of this query: a row of O and an LSE of each split.

    # A softmax over the LSEs: each part weighs as much as the exponentials of its keys sum to.
