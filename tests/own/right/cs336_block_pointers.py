# own: --function FlashAttention2.apply --as "q, k, v, causal" --layout bnd --square
import math

import torch
import triton
import triton.language as tl


@triton.jit
def flash_fwd_kernel(
    Q_ptr, K_ptr, V_ptr,
    O_ptr, L_ptr,
    stride_qb, stride_qq, stride_qd,
    stride_kb, stride_kk, stride_kd,
    stride_vb, stride_vk, stride_vd,
    stride_ob, stride_oq, stride_od,
    stride_lb, stride_lq,
    N_QUERIES, N_KEYS,
    scale,
    D: tl.constexpr,
    Q_TILE_SIZE: tl.constexpr,
    K_TILE_SIZE: tl.constexpr,
    is_causal: tl.constexpr,
):
    query_tile_index = tl.program_id(0)
    batch_index = tl.program_id(1)

    Q_block_ptr = tl.make_block_ptr(
        Q_ptr + batch_index * stride_qb,
        shape=(N_QUERIES, D),
        strides=(stride_qq, stride_qd),
        offsets=(query_tile_index * Q_TILE_SIZE, 0),
        block_shape=(Q_TILE_SIZE, D),
        order=(1, 0),
    )
    K_block_ptr = tl.make_block_ptr(
        K_ptr + batch_index * stride_kb,
        shape=(N_KEYS, D),
        strides=(stride_kk, stride_kd),
        offsets=(0, 0),
        block_shape=(K_TILE_SIZE, D),
        order=(1, 0),
    )
    V_block_ptr = tl.make_block_ptr(
        V_ptr + batch_index * stride_vb,
        shape=(N_KEYS, D),
        strides=(stride_vk, stride_vd),
        offsets=(0, 0),
        block_shape=(K_TILE_SIZE, D),
        order=(1, 0),
    )
    O_block_ptr = tl.make_block_ptr(
        O_ptr + batch_index * stride_ob,
        shape=(N_QUERIES, D),
        strides=(stride_oq, stride_od),
        offsets=(query_tile_index * Q_TILE_SIZE, 0),
        block_shape=(Q_TILE_SIZE, D),
        order=(1, 0),
    )
    L_block_ptr = tl.make_block_ptr(
        L_ptr + batch_index * stride_lb,
        shape=(N_QUERIES,),
        strides=(stride_lq,),
        offsets=(query_tile_index * Q_TILE_SIZE,),
        block_shape=(Q_TILE_SIZE,),
        order=(0,),
    )

    Q_i = tl.load(Q_block_ptr, boundary_check=(0,), padding_option="zero")
    O_i = tl.zeros((Q_TILE_SIZE, D), dtype=tl.float32)
    l_i = tl.zeros((Q_TILE_SIZE,), dtype=tl.float32)
    m_i = tl.full((Q_TILE_SIZE,), float("-inf"), dtype=tl.float32)
    q_idx = query_tile_index * Q_TILE_SIZE + tl.arange(0, Q_TILE_SIZE)

    # Keys behind the tile's last query are masked for all of its queries
    n_keys = N_KEYS
    if is_causal:
        n_keys = min(N_KEYS, (query_tile_index + 1) * Q_TILE_SIZE)
    for j in range(tl.cdiv(n_keys, K_TILE_SIZE)):
        K_j = tl.load(K_block_ptr, boundary_check=(0,), padding_option="zero")
        V_j = tl.load(V_block_ptr, boundary_check=(0,), padding_option="zero")

        S_ij = tl.dot(Q_i, tl.trans(K_j)) * scale
        k_idx = j * K_TILE_SIZE + tl.arange(0, K_TILE_SIZE)
        S_ij = tl.where(k_idx[None, :] < N_KEYS, S_ij, float("-inf"))
        if is_causal:
            S_ij = tl.where(q_idx[:, None] >= k_idx[None, :], S_ij, float("-inf"))

        m_new = tl.maximum(m_i, tl.max(S_ij, axis=1))
        P_ij = tl.exp(S_ij - m_new[:, None])
        correction = tl.exp(m_i - m_new)
        l_i = correction * l_i + tl.sum(P_ij, axis=1)
        O_i = correction[:, None] * O_i
        O_i = tl.dot(P_ij.to(V_j.dtype), V_j, acc=O_i)
        m_i = m_new

        K_block_ptr = tl.advance(K_block_ptr, (K_TILE_SIZE, 0))
        V_block_ptr = tl.advance(V_block_ptr, (K_TILE_SIZE, 0))

    O_i = O_i / l_i[:, None]
    L_i = m_i + tl.log(l_i)
    tl.store(O_block_ptr, O_i.to(O_block_ptr.type.element_ty), boundary_check=(0,))
    tl.store(L_block_ptr, L_i, boundary_check=(0,))


def flash_backward(Q, K, V, O, dO, L, is_causal):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    Qf, Kf, Vf, Of, dOf = (x.float() for x in (Q, K, V, O, dO))
    D = torch.sum(Of * dOf, dim=-1, keepdim=True)
    S = torch.einsum("bqd,bkd->bqk", Qf, Kf) * scale
    if is_causal:
        S = S.masked_fill(torch.ones_like(S, dtype=torch.bool).triu(1), float("-inf"))
    P = torch.exp(S - L[..., None])
    dV = torch.einsum("bqk,bqd->bkd", P, dOf)
    dP = torch.einsum("bqd,bkd->bqk", dOf, Vf)
    dS = P * (dP - D)
    dQ = torch.einsum("bqk,bkd->bqd", dS, Kf) * scale
    dK = torch.einsum("bqk,bqd->bkd", dS, Qf) * scale
    return dQ.to(Q.dtype), dK.to(K.dtype), dV.to(V.dtype)


class FlashAttention2(torch.autograd.Function):
    @staticmethod
    def forward(ctx, Q, K, V, is_causal=False):
        B, Nq, D = Q.shape
        Nk = K.shape[1]
        O = torch.empty_like(Q)
        L = torch.empty((B, Nq), device=Q.device, dtype=torch.float32)

        Bq, Bk = 32, 32
        flash_fwd_kernel[(triton.cdiv(Nq, Bq), B)](
            Q, K, V, O, L,
            Q.stride(0), Q.stride(1), Q.stride(2),
            K.stride(0), K.stride(1), K.stride(2),
            V.stride(0), V.stride(1), V.stride(2),
            O.stride(0), O.stride(1), O.stride(2),
            L.stride(0), L.stride(1),
            Nq, Nk, 1.0 / math.sqrt(D),
            D=D, Q_TILE_SIZE=Bq, K_TILE_SIZE=Bk, is_causal=is_causal,
        )
        ctx.save_for_backward(Q, K, V, O, L)
        ctx.is_causal = is_causal
        return O

    @staticmethod
    def backward(ctx, dO):
        Q, K, V, O, L = ctx.saved_tensors
        return *flash_backward(Q, K, V, O, dO, L, ctx.is_causal), None
