"""Puzzle p6 at speed, step 4: warps with different jobs, for Hopper GPUs only.

Until here all warps of a program do the same: load, multiply, exponentiate, one after the other, and the compiler
overlaps what it can. Here a program is written as four parts that run at the same time (FlashAttention-3, Shah et al.
2024). One warp, the producer, does nothing but ask for tiles: a unit of its own (TMA) copies them into a ring of
stages in shared memory. Two or three groups of four warps, the consumers, own 64 queries each. They multiply with
instructions that read both matrices from shared memory and run by themselves (wgmma), and while one group computes its
exponentials, the products of another keep the tensor cores busy. Registers move from the producer, which needs few, to
the consumers.

    stage s of the ring    K_j and V_{j-1}
    producer               wait until s is empty, ask for both; they count as full when all bytes are there
    consumer               wait until s is full; S_j = Q K_j^T and O += P_{j-1} V_{j-1} at once; softmax of S_j

With d = 128 the softmax begins when S_j is there, during the product with V. With d = 64 it waits for both: there are
three groups to fill the time, or, where rows are short and causal, two programs to a core, one of which computes while
the other begins or ends.

Triton's own language has no words for this: who loads, who waits, what lies in which register. Gluon, the layer
beneath, has. Neither the interpreter nor the checker knows it, so a benchmark launches this file by `launch`, and
compares its O. It takes as many queries as keys, in dense tensors in fp16 or bf16, in multiples of 128.
"""

from typing import NamedTuple

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

LOG2_E = gl.constexpr(1.4426950408889634)
ROWS = gl.constexpr(64)  # queries of a group; as many as an instruction multiplies
CACHED = 16 << 20  # bytes of K and V that stay in the L2 cache


class Form(NamedTuple):
    """How the work of a core is divided; measured on an H200."""

    GROUPS: int  # of consumers
    Bc: int  # keys of a tile: S, P and O of a group fit its registers
    STAGES: int
    registers: int  # of a consumer's thread
    at_start: int | None = None  # of every thread, before they move; None: all that one program can have


WIDE = Form(3, 128, 2, 160)
TWO_TO_A_CORE = Form(2, 64, 3, 112, 80)
LONG_HEADS = Form(2, 128, 2, 240)
SHORT_ROWS = 4096  # keys: so few are soon seen, and a program often begins or ends

barrier = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier  # before Triton 3.7


@gluon.jit
def tile_of_program(heads_at_once, n, Br: gl.constexpr, Bc: gl.constexpr, CAUSAL: gl.constexpr):
    """First row of the head, first query of the tile, and how many tiles of keys it sees. Heavy tiles come first."""
    program = gl.program_id(0)
    tiles = (n + Br - 1) // Br
    head = program // (heads_at_once * tiles) * heads_at_once + program % heads_at_once
    start_q = (tiles - 1 - program // heads_at_once % tiles) * Br
    return head * n, start_q, seen(start_q + Br, n, Bc, CAUSAL)


@gluon.jit
def seen(end_q, n, Bc: gl.constexpr, CAUSAL: gl.constexpr):
    """How many tiles of keys the queries before end_q see."""
    count = n // Bc
    if CAUSAL:
        count = gl.minimum(count, (end_q + Bc - 1) // Bc)
    return count


@gluon.jit
def producer(
    descs, memory, barriers, sizes,
    GROUPS: gl.constexpr, Bc: gl.constexpr, STAGES: gl.constexpr, CAUSAL: gl.constexpr,
):  # fmt: skip
    q_desc, k_desc, v_desc = descs
    q_smem, k_smem, v_smem = memory
    q_full, full, empty = barriers
    n, heads_at_once = sizes
    BYTES: gl.constexpr = k_desc.block_type.nbytes
    row, start_q, count = tile_of_program(heads_at_once, n, GROUPS * ROWS, Bc, CAUSAL)
    for group in gl.static_range(GROUPS):
        mbarrier.expect(q_full.index(group), q_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(
            q_desc, [row + start_q + group * ROWS, 0], q_full.index(group), q_smem.index(group)
        )
    for j in range(count + 1):  # the last tiles of keys first: they are those with a mask
        stage = j % STAGES
        # On a new barrier, a wait for the phase before the first one returns at once.
        mbarrier.wait(empty.index(stage), j // STAGES & 1 ^ 1)
        key = row + (count - 1 - j) * Bc
        if j == 0 or j == count:
            mbarrier.expect(full.index(stage), BYTES)
        else:
            mbarrier.expect(full.index(stage), 2 * BYTES)
        tma.async_copy_global_to_shared(k_desc, [key, 0], full.index(stage), k_smem.index(stage), pred=j < count)
        tma.async_copy_global_to_shared(v_desc, [key + Bc, 0], full.index(stage), v_smem.index(stage), pred=j > 0)


@gluon.jit
def softmax(Sij, mi, li, start_q, start_k, scale_log2, Bc: gl.constexpr, MASKED: gl.constexpr):
    """Pij, the new mi and li, and what O is multiplied by."""
    if MASKED:
        queries = start_q + gl.arange(0, ROWS, layout=gl.SliceLayout(1, Sij.type.layout))
        keys = start_k + gl.arange(0, Bc, layout=gl.SliceLayout(0, Sij.type.layout))
        Sij = gl.where(keys[None, :] <= queries[:, None], Sij, -float("inf"))
    mi_new = gl.maximum(mi, gl.max(Sij, axis=1) * scale_log2)  # finite: each query sees a key of the group's first tile
    Pij = gl.exp2(Sij * scale_log2 - mi_new[:, None])
    alpha = gl.exp2(mi - mi_new)
    li = alpha * li + gl.sum(Pij, axis=1)
    return Pij, mi_new, li, alpha


@gluon.jit
def consumer(
    memory, outputs, barriers, sizes, scale_log2,
    group: gl.constexpr, D: gl.constexpr, GROUPS: gl.constexpr, Bc: gl.constexpr, STAGES: gl.constexpr,
    CAUSAL: gl.constexpr,
):  # fmt: skip
    q_smem, k_smem, v_smem = memory
    o_desc, lse_ptr = outputs
    q_full, full, empty = barriers
    n, heads_at_once = sizes
    # What an instruction leaves in which register: scores, output, and P as the left factor of the output.
    S_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, Bc, 16])
    O_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    P_LAYOUT: gl.constexpr = gl.DotOperandLayout(0, O_LAYOUT, 2)
    O_ROWS: gl.constexpr = gl.SliceLayout(1, O_LAYOUT)
    S_ROWS: gl.constexpr = gl.SliceLayout(1, S_LAYOUT)
    row, start_q, count = tile_of_program(heads_at_once, n, GROUPS * ROWS, Bc, CAUSAL)
    start_q += group * ROWS
    Qi = q_smem.index(group)
    zeros = gl.zeros([ROWS, Bc], gl.float32, S_LAYOUT)
    mi = gl.full([ROWS], -float("inf"), gl.float32, S_ROWS)
    li = gl.zeros([ROWS], gl.float32, S_ROWS)
    Oi = gl.zeros([ROWS, D], gl.float32, O_LAYOUT)

    # Tiles that other groups see, and this one does not: at most as many as there are stages. It waits for these too:
    # who leaves out a phase of a barrier takes the one before for the one after.
    first = count - seen(start_q + ROWS, n, Bc, CAUSAL)
    for j in range(first):
        mbarrier.wait(full.index(j), 0)
        mbarrier.arrive(empty.index(j), count=1)

    # The first scores, which nothing can be done beside.
    mbarrier.wait(q_full.index(group), 0)
    mbarrier.wait(full.index(first % STAGES), first // STAGES & 1)
    Sij = warpgroup_mma(Qi, k_smem.index(first % STAGES).permute((1, 0)), zeros, use_acc=False, is_async=True)
    Sij = warpgroup_mma_wait(0, deps=(Sij,))
    mbarrier.arrive(empty.index(first % STAGES), count=1)

    # Tiles that the diagonal crosses come first, then those without a mask: a loop for each.
    masked = first + 1
    if CAUSAL:
        masked = gl.minimum(gl.maximum(count - start_q // Bc, masked), count)
    if D == 64:
        masked = gl.minimum(masked, count - 1)
        for part in gl.static_range(2):
            for j in range(1 + (first if part == 0 else masked), 1 + masked if part == 0 else count):
                DIAGONAL: gl.constexpr = CAUSAL and part == 0
                Pij, mi, li, alpha = softmax(Sij, mi, li, start_q, (count - j) * Bc, scale_log2, Bc, DIAGONAL)
                Oi = Oi * gl.convert_layout(alpha, O_ROWS)[:, None]
                Pij = gl.convert_layout(Pij.to(Qi.dtype), P_LAYOUT)
                stage = j % STAGES
                mbarrier.wait(full.index(stage), j // STAGES & 1)
                Oi = warpgroup_mma(Pij, v_smem.index(stage), Oi, is_async=True)
                Sij = warpgroup_mma(Qi, k_smem.index(stage).permute((1, 0)), zeros, use_acc=False, is_async=True)
                Oi, Sij = warpgroup_mma_wait(0, deps=(Oi, Sij))
                mbarrier.arrive(empty.index(stage), count=1)
        Pij, mi, li, alpha = softmax(Sij, mi, li, start_q, 0, scale_log2, Bc, CAUSAL)
        Oi = Oi * gl.convert_layout(alpha, O_ROWS)[:, None]
        Pij = gl.convert_layout(Pij.to(Qi.dtype), P_LAYOUT)
    else:
        Pij, mi, li, alpha = softmax(Sij, mi, li, start_q, (count - 1 - first) * Bc, scale_log2, Bc, CAUSAL)
        Pij = gl.convert_layout(Pij.to(Qi.dtype), P_LAYOUT)
        for part in gl.static_range(2):
            for j in range(1 + first if part == 0 else masked, masked if part == 0 else count):
                DIAGONAL: gl.constexpr = CAUSAL and part == 0
                stage = j % STAGES
                mbarrier.wait(full.index(stage), j // STAGES & 1)
                Sij = warpgroup_mma(Qi, k_smem.index(stage).permute((1, 0)), zeros, use_acc=False, is_async=True)
                Oi = warpgroup_mma(Pij, v_smem.index(stage), Oi, is_async=True)
                Sij = warpgroup_mma_wait(1, deps=(Sij,))  # the product with V goes on
                P_next, mi, li, alpha = softmax(Sij, mi, li, start_q, (count - 1 - j) * Bc, scale_log2, Bc, DIAGONAL)
                P_next = P_next.to(Qi.dtype)
                Oi, Pij = warpgroup_mma_wait(0, deps=(Oi, Pij))
                mbarrier.arrive(empty.index(stage), count=1)
                Oi = Oi * gl.convert_layout(alpha, O_ROWS)[:, None]
                Pij = gl.convert_layout(P_next, P_LAYOUT)

    # The last output, which nothing is left to be done beside.
    mbarrier.wait(full.index(count % STAGES), count // STAGES & 1)
    Oi = warpgroup_mma(Pij, v_smem.index(count % STAGES), Oi, is_async=True)
    Oi = warpgroup_mma_wait(0, deps=(Oi,))

    Oi = Oi / gl.convert_layout(li, O_ROWS)[:, None]
    barrier()
    Qi.store(Oi.to(Qi.dtype))  # nothing else is left to be done with Q
    fence_async_shared()
    barrier()
    if start_q < n:  # the last program of a head may have groups without queries
        tma.async_copy_shared_to_global(o_desc, [row + start_q, 0], Qi)
        gl.store(lse_ptr + row + start_q + gl.arange(0, ROWS, layout=S_ROWS), (mi + gl.log2(li)) / LOG2_E)
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["heads_at_once"])
def flash_attention_2_kernel(
    q_desc, k_desc, v_desc, o_desc, lse_ptr, n, heads_at_once, scale_log2,
    D: gl.constexpr, GROUPS: gl.constexpr, Bc: gl.constexpr, STAGES: gl.constexpr, REGISTERS: gl.constexpr,
    CAUSAL: gl.constexpr,
):  # fmt: skip
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    q_smem = gl.allocate_shared_memory(q_desc.dtype, [GROUPS, ROWS, D], q_desc.layout)
    k_smem = gl.allocate_shared_memory(q_desc.dtype, [STAGES, Bc, D], k_desc.layout)
    v_smem = gl.allocate_shared_memory(q_desc.dtype, [STAGES, Bc, D], v_desc.layout)
    q_full = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], BARRIER)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    for group in gl.static_range(GROUPS):
        mbarrier.init(q_full.index(group), count=1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=GROUPS)
    fence_async_shared()
    barrier()
    memory, outputs = (q_smem, k_smem, v_smem), (o_desc, lse_ptr)
    barriers = (q_full, full, empty)
    sizes = (n, heads_at_once)
    # Warps, and registers of a thread, of all parts but the first, which gets what is left: as many as the others.
    descs = (q_desc, k_desc, v_desc)
    if GROUPS == 2:
        gl.warp_specialize(
            [
                (consumer, (memory, outputs, barriers, sizes, scale_log2, 0, D, GROUPS, Bc, STAGES, CAUSAL)),
                (consumer, (memory, outputs, barriers, sizes, scale_log2, 1, D, GROUPS, Bc, STAGES, CAUSAL)),
                (producer, (descs, memory, barriers, sizes, GROUPS, Bc, STAGES, CAUSAL)),
            ],
            [4, 1],
            [REGISTERS, 24],
        )
    else:
        gl.warp_specialize(
            [
                (consumer, (memory, outputs, barriers, sizes, scale_log2, 0, D, GROUPS, Bc, STAGES, CAUSAL)),
                (consumer, (memory, outputs, barriers, sizes, scale_log2, 1, D, GROUPS, Bc, STAGES, CAUSAL)),
                (consumer, (memory, outputs, barriers, sizes, scale_log2, 2, D, GROUPS, Bc, STAGES, CAUSAL)),
                (producer, (descs, memory, barriers, sizes, GROUPS, Bc, STAGES, CAUSAL)),
            ],
            [4, 4, 1],
            [REGISTERS, REGISTERS, 24],
        )


def launch(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, CAUSAL):
    """Launch it once: dense tensors of one type, of the shape (heads, n, D), and LSE, (heads, n) in fp32."""
    _, n, D = q_ptr.shape
    if triton.runtime.driver.active.get_current_target().arch != 90:
        raise ValueError("this GPU has other instructions than Hopper, for which this is written")
    if D not in (64, 128) or n % 128 or any(x.shape != q_ptr.shape for x in (k_ptr, v_ptr, o_ptr)):
        raise ValueError("it takes D = 64 or 128 and as many queries as keys, a multiple of 128")
    if (
        not all(x.is_contiguous() and x.dtype == q_ptr.dtype for x in (q_ptr, k_ptr, v_ptr, o_ptr))
        or str(q_ptr.dtype) not in ("torch.float16", "torch.bfloat16")
        or not lse_ptr.is_contiguous()
    ):
        raise ValueError("it takes dense tensors, all in fp16 or all in bf16 but for LSE")
    grid, arguments, options = launched(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, CAUSAL)
    flash_attention_2_kernel[grid](*arguments, **options)


def launched(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, CAUSAL):
    """The grid, the arguments of the kernel, and how it is compiled."""
    heads, n, D = q_ptr.shape
    form = LONG_HEADS if D == 128 else TWO_TO_A_CORE if CAUSAL and n <= SHORT_ROWS else WIDE
    dtype = gl.bfloat16 if str(q_ptr.dtype) == "torch.bfloat16" else gl.float16

    def tiles(x, rows):
        layout = gl.NVMMASharedLayout.get_default_for([rows, D], dtype)
        return TensorDescriptor(x, [heads * n, D], [D, 1], [rows, D], layout)

    heads_at_once = 1
    while CAUSAL and heads % (2 * heads_at_once) == 0 and 2 * heads_at_once * n * D * 4 <= CACHED:
        heads_at_once *= 2
    arguments = (
        tiles(q_ptr, ROWS.value), tiles(k_ptr, form.Bc), tiles(v_ptr, form.Bc), tiles(o_ptr, ROWS.value), lse_ptr,
        n, heads_at_once, scale * LOG2_E.value, D, *form[:4], CAUSAL,
    )  # fmt: skip
    grid = (heads * triton.cdiv(n, form.GROUPS * ROWS.value),)
    return grid, arguments, {"num_warps": 4, "maxnreg": form.at_start}
