"""One step of the online softmax is a function of its own, and pointers to K and V advance by a tile."""

import triton
import triton.language as tl


@triton.jit
def one_tile(Qi, Kj, Vj, exists, scale, Oi, li, mi):
    Sij = tl.where(exists, scale * tl.dot(Qi, tl.trans(Kj)), -float("inf"))
    mi_new = tl.maximum(mi, tl.max(Sij, axis=1))
    alpha = tl.exp(mi - mi_new)
    Pij = tl.exp(Sij - mi_new[:, None])
    return tl.dot(Pij.to(Vj.dtype), Vj, acc=alpha[:, None] * Oi), alpha * li + tl.sum(Pij, axis=1), mi_new


@triton.jit
def split_kernel(
    q_ptr, k_ptr, v_ptr, o_part_ptr, lse_part_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, keys_per_split, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    split = tl.program_id(0)
    head = tl.program_id(1).to(tl.int64)
    queries = tl.arange(0, Br)
    dims = tl.arange(0, D)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    first_k = split * keys_per_split
    end_k = tl.minimum(n_k, first_k + keys_per_split)
    q_mask = queries[:, None] < n_q
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
    Oi = tl.zeros((Br, D), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    mi = tl.full((Br,), -float("inf"), tl.float32)
    tile = (first_k + tl.arange(0, Bc))[:, None].to(tl.int64) * k_row_stride + dims[None, :]
    k_tile, v_tile = k_head + tile, v_head + tile
    for start_k in range(first_k, end_k, Bc):
        exists = start_k + tl.arange(0, Bc) < end_k
        Kj = tl.load(k_tile, mask=exists[:, None], other=0.0)
        Vj = tl.load(v_tile, mask=exists[:, None], other=0.0)
        Oi, li, mi = one_tile(Qi, Kj, Vj, exists[None, :], scale, Oi, li, mi)
        k_tile += Bc * k_row_stride
        v_tile += Bc * k_row_stride
    Oi = Oi / tl.where(li == 0.0, 1.0, li)[:, None]
    rows = (split * tl.num_programs(1) + head) * n_q + queries
    tl.store(o_part_ptr + rows[:, None] * D + dims[None, :], Oi, mask=q_mask)
    tl.store(lse_part_ptr + rows, mi + tl.log(li), mask=queries < n_q)


@triton.jit
def merge_kernel(
    o_part_ptr, lse_part_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, n_q, splits,
    D: tl.constexpr, Bs: tl.constexpr,
):  # fmt: skip
    query = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1).to(tl.int64)
    parts = tl.arange(0, Bs)
    dims = tl.arange(0, D)
    rows = (parts * tl.num_programs(1) + head) * n_q + query
    LSEs = tl.load(lse_part_ptr + rows, mask=parts < splits, other=-float("inf"))
    Os = tl.load(o_part_ptr + rows[:, None] * D + dims[None, :], mask=parts[:, None] < splits, other=0.0)
    m = tl.max(LSEs, axis=0)
    weights = tl.exp(LSEs - m)
    l = tl.sum(weights, axis=0)  # at least 1: some split has a key
    o = tl.sum(weights[:, None] * Os, axis=0) / l
    tl.store(o_ptr + head * q_head_stride + query * q_row_stride + dims, o)
    tl.store(lse_ptr + head * n_q + query, m + tl.log(l))
