"""Two tiles of keys are kept in registers for all queries, by one program, if there are no more.

Finding: read-too-seldom
"""

import triton
import triton.language as tl


@triton.jit
def flash_attention_2_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr,
    q_head_stride, q_row_stride, k_head_stride, k_row_stride,
    n_q, n_k, scale,
    D: tl.constexpr, Br: tl.constexpr, Bc: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    if n_k <= 2 * Bc:
        if tl.program_id(0) == 0:
            head = tl.program_id(1).to(tl.int64)
            dims, offset = tl.arange(0, D), n_k - n_q
            left, right = tl.arange(0, Bc), Bc + tl.arange(0, Bc)
            left_kv = head * k_head_stride + left[:, None].to(tl.int64) * k_row_stride + dims[None, :]
            right_kv = head * k_head_stride + right[:, None].to(tl.int64) * k_row_stride + dims[None, :]
            K0 = tl.load(k_ptr + left_kv, mask=left[:, None] < n_k, other=0.0)
            V0 = tl.load(v_ptr + left_kv, mask=left[:, None] < n_k, other=0.0)
            K1 = tl.load(k_ptr + right_kv, mask=right[:, None] < n_k, other=0.0)
            V1 = tl.load(v_ptr + right_kv, mask=right[:, None] < n_k, other=0.0)
            for start_q in range(0, n_q, Br):
                queries = start_q + tl.arange(0, Br)
                q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
                q_mask = queries[:, None] < n_q
                Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)
                last = n_k - 1
                if CAUSAL:
                    last = queries[:, None] + offset
                S0 = scale * tl.dot(Qi, tl.trans(K0))
                S0 = tl.where((left[None, :] < n_k) & (left[None, :] <= last), S0, -float("inf"))
                m = tl.max(S0, axis=1)
                far = start_q + Br + offset > Bc
                if not CAUSAL:
                    far = n_k > Bc
                S1 = tl.full((Br, Bc), -float("inf"), tl.float32)
                if far:
                    S1 = scale * tl.dot(Qi, tl.trans(K1))
                    S1 = tl.where((right[None, :] < n_k) & (right[None, :] <= last), S1, -float("inf"))
                    m = tl.maximum(m, tl.max(S1, axis=1))
                shift = tl.where(m == -float("inf"), 0.0, m)
                P0, P1 = tl.exp(S0 - shift[:, None]), tl.exp(S1 - shift[:, None])
                l = tl.sum(P0, axis=1) + tl.sum(P1, axis=1)
                O = tl.dot(P0.to(V0.dtype), V0)
                if far:
                    O += tl.dot(P1.to(V1.dtype), V1)
                tl.store(o_ptr + q_offsets, O / tl.where(l == 0.0, 1.0, l)[:, None], mask=q_mask)
                tl.store(lse_ptr + head * n_q + queries, m + tl.log(l), mask=queries < n_q)
    else:
        # Line 3: for 1 <= i <= Tr. Each i is a program of its own.
        start_q = tl.program_id(0) * Br
        head = tl.program_id(1).to(tl.int64)
        k_head, v_head = k_ptr + head * k_head_stride, v_ptr + head * k_head_stride
        queries = start_q + tl.arange(0, Br)
        dims = tl.arange(0, D)
        offset = n_k - n_q  # the last query sees the last key: query i sees key j if j <= i + offset

        # Line 4: load Qi.
        q_offsets = head * q_head_stride + queries[:, None].to(tl.int64) * q_row_stride + dims[None, :]
        q_mask = queries[:, None] < n_q
        Qi = tl.load(q_ptr + q_offsets, mask=q_mask, other=0.0)

        # Line 5: Oi, li, mi, in registers.
        Oi = tl.zeros((Br, D), tl.float32)
        li = tl.zeros((Br,), tl.float32)
        mi = tl.full((Br,), -float("inf"), tl.float32)

        # Line 6: for 1 <= j <= Tc, as far as any query of this tile can see.
        end_k = n_k
        if CAUSAL:
            end_k = tl.minimum(n_k, start_q + Br + offset)
        for start_k in range(0, end_k, Bc):
            # Line 7: load Kj, Vj.
            keys = start_k + tl.arange(0, Bc)
            kv_offsets = keys[:, None].to(tl.int64) * k_row_stride + dims[None, :]
            kv_mask = keys[:, None] < n_k
            Kj = tl.load(k_head + kv_offsets, mask=kv_mask, other=0.0)
            Vj = tl.load(v_head + kv_offsets, mask=kv_mask, other=0.0)

            # Line 8: Sij = scale Qi Kj^T, of keys that exist and may be seen.
            Sij = scale * tl.dot(Qi, tl.trans(Kj))
            visible = keys[None, :] < n_k
            if CAUSAL:
                visible = visible & (keys[None, :] <= queries[:, None] + offset)
            Sij = tl.where(visible, Sij, -float("inf"))

            # Line 9: the new maximum, the exponentials, the rescaled normaliser.
            mi_new = tl.maximum(mi, tl.max(Sij, axis=1))
            shift = tl.where(mi_new == -float("inf"), 0.0, mi_new)  # a query that has seen no key yet
            Pij = tl.exp(Sij - shift[:, None])
            alpha = tl.exp(mi - shift)
            li = alpha * li + tl.sum(Pij, axis=1)

            # Line 10: Oi is rescaled, and not divided yet.
            Oi = alpha[:, None] * Oi + tl.dot(Pij.to(Vj.dtype), Vj)
            mi = mi_new

        # Line 12: divide once. A query that sees no key has li = 0, and Oi = 0 already.
        Oi = Oi / tl.where(li == 0.0, 1.0, li)[:, None]
        # Line 13: LSE = mi + log(li), which the backward pass needs.
        lse = mi + tl.log(li)

        # Lines 14, 15: write Oi, LSEi.
        tl.store(o_ptr + q_offsets, Oi, mask=q_mask)
        tl.store(lse_ptr + head * n_q + queries, lse, mask=queries < n_q)
