"""Rung b2, solved. FlashAttention-2 with dropout: the mask is drawn from each entry's position, and never stored."""

import triton
import triton.language as tl


@triton.jit
def attention_dropout_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale, p, seed,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    start_q = tl.program_id(0) * Br
    head = tl.program_id(1).to(tl.int64)
    k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
    queries = start_q + tl.arange(0, Br)
    dims = tl.arange(0, D)

    # Puzzle p6: Qi, and what stays in registers.
    q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
    q_mask = queries[:, None] < n_q
    Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
    Oi = tl.zeros((Br, D), tl.float32)
    li = tl.zeros((Br,), tl.float32)
    mi = tl.full((Br,), -float("inf"), tl.float32)

    for start_k in range(0, n_k, Bc):
        keys = start_k + tl.arange(0, Bc)
        kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
        kv_mask = keys[:, None] < n_k
        Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
        Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

        # Puzzle p6: scores, maximum, exponentials. The normaliser is the sum of all of them.
        Sij = tl.where(keys[None, :] < n_k, scale * tl.dot(Qi, tl.trans(Kj)), -float("inf"))
        mi_new = tl.maximum(mi, tl.max(Sij, axis=1))
        Pij = tl.exp(Sij - mi_new[:, None])
        alpha = tl.exp(mi - mi_new)
        li = alpha * li + tl.sum(Pij, axis=1)

        # New: which entries meet V. Each has a number of its own, whatever tile it is in.
        kept = tl.rand(seed, (head * n_q + queries[:, None]) * n_k + keys[None, :]) >= p
        Zij = tl.where(kept, 1.0 / (1.0 - p), 0.0)
        Oi = alpha[:, None] * Oi + tl.dot((Pij * Zij).to(Vj.dtype), Vj)
        mi = mi_new

    # Puzzle p6: divide once. LSE knows nothing of dropout.
    tl.store(o_ptr + q_offsets, Oi / li[:, None], mask=q_mask)
    tl.store(lse_ptr + head * n_q + queries, mi + tl.log(li), mask=queries < n_q)


@triton.jit
def dropout_dk_dv_kernel(
    q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale, p, seed,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr,
):  # fmt: skip
    start_k = tl.program_id(0) * Bc
    head = tl.program_id(1).to(tl.int64)
    q_head, do_head = q_ptr + head * q_head_stride, do_ptr + head * q_head_stride
    lse_head, delta_head = lse_ptr + head * n_q, delta_ptr + head * n_q
    keys = start_k + tl.arange(0, Bc)
    dims = tl.arange(0, D)

    # Puzzle p7: Kj, Vj, and what stays in registers.
    kv_offsets = head * k_head_stride + keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
    kv_mask = keys[:, None] < n_k
    Kj = tl.load(k_ptr + kv_offsets, mask=kv_mask, other=0.0)
    Vj = tl.load(v_ptr + kv_offsets, mask=kv_mask, other=0.0)
    dKj = tl.zeros((Bc, D), tl.float32)
    dVj = tl.zeros((Bc, D), tl.float32)

    for start_q in range(0, n_q, Br):
        queries = start_q + tl.arange(0, Br)
        q_offsets = queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
        q_mask = queries[:, None] < n_q
        Qi = tl.load(q_head + q_offsets, mask=q_mask, other=0.0)
        dOi = tl.load(do_head + q_offsets, mask=q_mask, other=0.0)
        LSEi = tl.load(lse_head + queries, mask=queries < n_q, other=0.0)
        delta_i = tl.load(delta_head + queries, mask=queries < n_q, other=0.0)

        # Puzzle p7: P as the softmax gave it.
        Pij = tl.exp(scale * tl.dot(Qi, tl.trans(Kj)) - LSEi[:, None])

        # New: the forward pass's mask, drawn again.
        kept = tl.rand(seed, (head * n_q + queries[:, None]) * n_k + keys[None, :]) >= p
        Zij = tl.where(kept, 1.0 / (1.0 - p), 0.0)
        dVj += tl.dot(tl.trans((Pij * Zij).to(dOi.dtype)), dOi)
        dPij = Zij * tl.dot(dOi, tl.trans(Vj))
        dSij = Pij * (dPij - delta_i[:, None])
        dKj += tl.dot(tl.trans(dSij.to(Qi.dtype)), Qi)

    tl.store(dk_ptr + kv_offsets, scale * dKj, mask=kv_mask)
    tl.store(dv_ptr + kv_offsets, dVj, mask=kv_mask)
