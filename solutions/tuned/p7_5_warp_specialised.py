"""Puzzle p7 at speed, step 5: one kernel with warps of different jobs, for Hopper GPUs only.

Until here dK and dV are computed by one kernel and dQ by another one, so that each number has one program that owns it.
Both need S and dP: seven products of tiles in all. Here one kernel makes five (FlashAttention-2 and 3). A program owns
128 keys, and goes over all tiles of queries that see them. A tile's dS is written to shared memory once, and read from
there as the left factor of dQ. What other keys add to the same dQ is in other programs, so dQ is summed in global
memory, in fp32: by the unit that copies tiles (TMA), which can add where it stores. The order is open, so the last
digits of dQ differ from launch to launch. That is why the puzzle itself wants an owner for each number.

As in p6's step 4, a warp only loads, and two groups of four warps compute, each for 64 of the keys:

    producer               Q_i and LSE_i, dO_i and delta_i into stage s of a ring, as soon as it is empty
    consumer               S^T = K_j Q_i^T and dP^T = V_j dO_i^T, of them P^T and dS^T; dV_j += P^T dO_i;
                           its half of dS^T into shared memory; dK_j += dS^T Q_i
                           wait for the other group's half; dQ_i = dS K, added to global memory

With wide heads each group computes half of the columns of dQ: all of them would take 64 registers of each thread,
beside 128 for dK and dV, and there are 240 in all. With narrow ones the groups take turns, so while one multiplies for
dQ, the other one is ahead, with its exponentials.

One kernel before it computes delta and sets the sum of dQ to 0, and one after it rounds the sum. All this is for causal
attention with as many queries as keys, in dense tensors in fp16 or bf16, in multiples of 128. A benchmark launches
this file by `launch`, and compares dQ, dK and dV.
"""

import math

import triton
import triton.language as tl
from triton._C.libtriton import ir
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language._core import builtin
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

LOG2_E = gl.constexpr(1.4426950408889634)
GROUPS = gl.constexpr(2)  # of consumers
KEYS = gl.constexpr(64)  # of a group; as many as an instruction multiplies
Bc = gl.constexpr(128)  # keys of a program
Br = gl.constexpr(64)  # queries of a tile
STAGES = {64: 3, 128: 2}  # by D
SPLIT = {64: 1, 128: 2}  # by D: parts of dQ's columns, each a group's; with one part the groups take turns
TYPES = {"torch.float16": gl.float16, "torch.bfloat16": gl.bfloat16, "torch.float32": gl.float32}
HEADS = 8  # whose programs run at about the same time, so that Q, dO and dQ stay in the L2 cache

barrier = gl.barrier if hasattr(gl, "barrier") else gl.thread_barrier  # before Triton 3.7


@builtin
def add_shared_to_global(descriptor, coord, source, _semantic=None):
    """`tma.async_copy_shared_to_global`, but it adds. The compiler knows it; Gluon's library has no name for it yet."""
    coord = _semantic._convert_to_ir_values(coord, require_i64=False)
    add = ir.DESCRIPTOR_REDUCE_KIND.ADD
    _semantic.builder.create_async_tma_reduce(add, descriptor.handle, coord, source.handle)


@triton.jit
def delta_kernel(o_ptr, do_ptr, delta_ptr, sum_ptr, D: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    tile = rows[:, None] * D + tl.arange(0, D)[None, :]
    Oi, dOi = tl.load(o_ptr + tile).to(tl.float32), tl.load(do_ptr + tile).to(tl.float32)
    tl.store(delta_ptr + rows, tl.sum(Oi * dOi, axis=1))
    tl.store(sum_ptr + tile, tl.zeros((ROWS, D), tl.float32))


@triton.jit
def round_kernel(sum_ptr, dq_ptr, scale, D: tl.constexpr, ROWS: tl.constexpr):
    tile = tl.program_id(0).to(tl.int64) * ROWS * D + tl.arange(0, ROWS * D)
    tl.store(dq_ptr + tile, scale * tl.load(sum_ptr + tile))


@gluon.jit
def tile_of_program(heads_at_once, n):
    """First row of the head, first key of the program, and how many tiles of queries see it. Heavy programs first."""
    program = gl.program_id(0)
    tiles = n // Bc
    head = program // (heads_at_once * tiles) * heads_at_once + program % heads_at_once
    start_k = program // heads_at_once % tiles * Bc
    return head * n, start_k, (n - start_k) // Br


@gluon.jit
def producer(descs, memory, barriers, sizes, STAGES: gl.constexpr):
    q_desc, do_desc, k_desc, v_desc, lse_desc, delta_desc = descs
    q_smem, do_smem, k_smem, v_smem, lse_smem, delta_smem, _, _ = memory
    kv_full, q_full, do_full, empty, _, _ = barriers
    n, heads_at_once = sizes
    BYTES: gl.constexpr = q_desc.block_type.nbytes + lse_desc.block_type.nbytes
    row, start_k, count = tile_of_program(heads_at_once, n)
    mbarrier.expect(kv_full, 2 * k_desc.block_type.nbytes)
    tma.async_copy_global_to_shared(k_desc, [row + start_k, 0], kv_full, k_smem)
    tma.async_copy_global_to_shared(v_desc, [row + start_k, 0], kv_full, v_smem)
    for i in range(count):
        stage = i % STAGES
        # On a new barrier, a wait for the phase before the first one returns at once.
        mbarrier.wait(empty.index(stage), i // STAGES & 1 ^ 1)
        start_q = row + start_k + i * Br
        mbarrier.expect(q_full.index(stage), BYTES)
        tma.async_copy_global_to_shared(q_desc, [start_q, 0], q_full.index(stage), q_smem.index(stage))
        tma.async_copy_global_to_shared(lse_desc, [start_q], q_full.index(stage), lse_smem.index(stage))
        mbarrier.expect(do_full.index(stage), BYTES)
        tma.async_copy_global_to_shared(do_desc, [start_q, 0], do_full.index(stage), do_smem.index(stage))
        tma.async_copy_global_to_shared(delta_desc, [start_q], do_full.index(stage), delta_smem.index(stage))


@gluon.jit
def add_to_dq(
    sum_desc, k_smem, ds_smem, dq_smem, ds_full, ds_empty, room, turn, start_q,
    group: gl.constexpr, D: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    """A group's columns of dQ_i = dS K, once both groups have stored their keys' dS."""
    COLUMNS: gl.constexpr = D // SPLIT
    first: gl.constexpr = group * COLUMNS if SPLIT == 2 else 0
    LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, COLUMNS, 16])
    mbarrier.wait(ds_full.index(room), turn)
    dS = ds_smem.index(room).permute((1, 0))
    zeros = gl.zeros([Br, COLUMNS], gl.float32, LAYOUT)
    dQi = warpgroup_mma(dS, k_smem.slice(first, COLUMNS, 1), zeros, use_acc=False, is_async=True)
    dQi = warpgroup_mma_wait(0, deps=(dQi,))
    mbarrier.arrive(ds_empty.index(room), count=1)
    tma.store_wait(0)  # until the tile before has been read
    barrier()
    dq_smem.index(group).store(dQi)
    fence_async_shared()
    barrier()
    add_shared_to_global(sum_desc, [start_q, first], dq_smem.index(group))


@gluon.jit
def consumer(
    memory, outputs, barriers, sizes, scale,
    group: gl.constexpr, D: gl.constexpr, STAGES: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    q_smem, do_smem, k_smem, v_smem, lse_smem, delta_smem, ds_smem, dq_smem = memory
    sum_desc, dk_ptr, dv_ptr = outputs
    kv_full, q_full, do_full, empty, ds_full, ds_empty = barriers
    n, heads_at_once = sizes
    # What an instruction leaves in which register: scores, gradients, and scores as a left factor of gradients.
    S_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, Br, 16])
    D_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, D, 16])
    LEFT: gl.constexpr = gl.DotOperandLayout(0, D_LAYOUT, 2)
    queries = gl.arange(0, Br, layout=gl.SliceLayout(0, S_LAYOUT))
    keys = group * KEYS + gl.arange(0, KEYS, layout=gl.SliceLayout(1, S_LAYOUT))
    row, start_k, count = tile_of_program(heads_at_once, n)
    Kj, Vj = k_smem.slice(group * KEYS, KEYS, 0), v_smem.slice(group * KEYS, KEYS, 0)
    s_zeros = gl.zeros([KEYS, Br], gl.float32, S_LAYOUT)
    dKj = gl.zeros([KEYS, D], gl.float32, D_LAYOUT)
    dVj = gl.zeros([KEYS, D], gl.float32, D_LAYOUT)
    mbarrier.wait(kv_full, 0)

    # Tiles that the diagonal crosses come first, then those without a mask.
    DIAGONAL: gl.constexpr = Bc // Br
    for part in gl.static_range(2):
        for i in range(0 if part == 0 else DIAGONAL, DIAGONAL if part == 0 else count):
            stage, phase = i % STAGES, i // STAGES & 1
            Qi, dOi = q_smem.index(stage), do_smem.index(stage)
            mbarrier.wait(q_full.index(stage), phase)
            S_t = warpgroup_mma(Kj, Qi.permute((1, 0)), s_zeros, use_acc=False, is_async=True)
            mbarrier.wait(do_full.index(stage), phase)
            dP_t = warpgroup_mma(Vj, dOi.permute((1, 0)), s_zeros, use_acc=False, is_async=True)
            S_t = warpgroup_mma_wait(1, deps=(S_t,))
            LSEi = lse_smem.index(stage).load(gl.SliceLayout(0, S_LAYOUT))
            P_t = gl.exp2(S_t * (scale * LOG2_E) - (LSEi * LOG2_E)[None, :])
            if part == 0:
                P_t = gl.where(keys[:, None] <= (i * Br + queries)[None, :], P_t, 0.0)
            dP_t = warpgroup_mma_wait(0, deps=(dP_t,))
            delta_i = delta_smem.index(stage).load(gl.SliceLayout(0, S_LAYOUT))
            dS_t = (P_t * (dP_t - delta_i[None, :])).to(dOi.dtype)
            dVj = warpgroup_mma(gl.convert_layout(P_t.to(dOi.dtype), LEFT), dOi, dVj, is_async=True)

            # There is room for dS of two tiles. The unit that multiplies reads its left factor from registers, which
            # nobody else may read meanwhile: dS is stored before its own product begins.
            room, turn = i % 2, i // 2 & 1
            mbarrier.wait(ds_empty.index(room), turn ^ 1)
            ds_smem.index(room).slice(group * KEYS, KEYS, 0).store(dS_t)
            fence_async_shared()
            barrier()
            mbarrier.arrive(ds_full.index(room), count=1)
            dKj = warpgroup_mma(gl.convert_layout(dS_t, LEFT), Qi, dKj, is_async=True)
            start_q = row + start_k + i * Br
            if SPLIT == 2 or room == group:
                add_to_dq(
                    sum_desc, k_smem, ds_smem, dq_smem, ds_full, ds_empty, room, turn, start_q, group, D, SPLIT
                )  # fmt: skip
            dVj, dKj = warpgroup_mma_wait(0, deps=(dVj, dKj))
            mbarrier.arrive(empty.index(stage), count=1)

    rows = row + start_k + group * KEYS + gl.arange(0, KEYS, layout=gl.SliceLayout(1, D_LAYOUT))
    tile = rows.to(gl.int64)[:, None] * D + gl.arange(0, D, layout=gl.SliceLayout(0, D_LAYOUT))[None, :]
    gl.store(dk_ptr + tile, (dKj * scale).to(dk_ptr.dtype.element_ty))
    gl.store(dv_ptr + tile, dVj.to(dv_ptr.dtype.element_ty))
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["heads_at_once"])
def backward_kernel(
    q_desc, do_desc, k_desc, v_desc, lse_desc, delta_desc, sum_desc, dk_ptr, dv_ptr, n, heads_at_once, scale,
    D: gl.constexpr, STAGES: gl.constexpr, SPLIT: gl.constexpr,
):  # fmt: skip
    BARRIER: gl.constexpr = mbarrier.MBarrierLayout()
    DS_LAYOUT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([Bc, Br], q_desc.dtype)
    q_smem = gl.allocate_shared_memory(q_desc.dtype, [STAGES, Br, D], q_desc.layout)
    do_smem = gl.allocate_shared_memory(q_desc.dtype, [STAGES, Br, D], do_desc.layout)
    lse_smem = gl.allocate_shared_memory(gl.float32, [STAGES, Br], lse_desc.layout)
    delta_smem = gl.allocate_shared_memory(gl.float32, [STAGES, Br], delta_desc.layout)
    k_smem = gl.allocate_shared_memory(q_desc.dtype, [Bc, D], k_desc.layout)
    v_smem = gl.allocate_shared_memory(q_desc.dtype, [Bc, D], v_desc.layout)
    ds_smem = gl.allocate_shared_memory(q_desc.dtype, [GROUPS, Bc, Br], DS_LAYOUT)
    dq_smem = gl.allocate_shared_memory(gl.float32, [GROUPS, Br, D // SPLIT], sum_desc.layout)
    kv_full = gl.allocate_shared_memory(gl.int64, [1], BARRIER)
    q_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    do_full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], BARRIER)
    ds_full = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], BARRIER)
    ds_empty = gl.allocate_shared_memory(gl.int64, [GROUPS, 1], BARRIER)
    mbarrier.init(kv_full, count=1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(q_full.index(stage), count=1)
        mbarrier.init(do_full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=GROUPS)
    for room in gl.static_range(GROUPS):
        mbarrier.init(ds_full.index(room), count=GROUPS)
        mbarrier.init(ds_empty.index(room), count=SPLIT)
    fence_async_shared()
    barrier()
    memory = (q_smem, do_smem, k_smem, v_smem, lse_smem, delta_smem, ds_smem, dq_smem)
    outputs = (sum_desc, dk_ptr, dv_ptr)
    barriers = (kv_full, q_full, do_full, empty, ds_full, ds_empty)
    sizes = (n, heads_at_once)
    descs = (q_desc, do_desc, k_desc, v_desc, lse_desc, delta_desc)
    gl.warp_specialize(
        [
            (consumer, (memory, outputs, barriers, sizes, scale, 0, D, STAGES, SPLIT)),
            (consumer, (memory, outputs, barriers, sizes, scale, 1, D, STAGES, SPLIT)),
            (producer, (descs, memory, barriers, sizes, STAGES)),
        ],
        [4, 1],  # warps, and registers of a thread, of all but the first, which gets what is left: 240 as well
        [240, 24],
    )  # fmt: skip


def launch(q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, scale):
    """Launch all once: dense tensors of one type, of the shape (heads, n, D), and LSE and delta, (heads, n) in fp32."""
    heads, n, D = q_ptr.shape
    halves = (q_ptr, k_ptr, v_ptr, o_ptr, do_ptr, dq_ptr, dk_ptr, dv_ptr)
    if triton.runtime.driver.active.get_current_target().arch != 90:
        raise ValueError("this GPU has other instructions than Hopper, for which this is written")
    if D not in STAGES or n % Bc.value or any(x.shape != q_ptr.shape for x in halves):
        raise ValueError("it takes D = 64 or 128 and as many queries as keys, a multiple of 128")
    if (
        not all(x.is_contiguous() and x.dtype == q_ptr.dtype for x in halves)
        or str(q_ptr.dtype) not in ("torch.float16", "torch.bfloat16")
        or not lse_ptr.is_contiguous()
        or not delta_ptr.is_contiguous()
    ):
        raise ValueError("it takes dense tensors, all in fp16 or all in bf16 but for LSE and delta")
    sum_ptr = lse_ptr.new_empty((heads, n, D))
    whole = (heads * n // 64,)
    delta_kernel[whole](o_ptr, do_ptr, delta_ptr, sum_ptr, D=D, ROWS=64, num_warps=4)
    grid, arguments = launched(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, sum_ptr, dk_ptr, dv_ptr, scale)
    backward_kernel[grid](*arguments, num_warps=4)
    round_kernel[whole](sum_ptr, dq_ptr, scale, D=D, ROWS=64, num_warps=4)


def launched(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, sum_ptr, dk_ptr, dv_ptr, scale):
    """The grid, and the arguments of the kernel."""
    heads, n, D = q_ptr.shape
    flat = gl.NVMMASharedLayout(swizzle_byte_width=0, element_bitwidth=32, rank=1)

    def tiles(x, rows, columns=D):
        layout = gl.NVMMASharedLayout.get_default_for([rows, columns], TYPES[str(x.dtype)])
        return TensorDescriptor(x, [heads * n, D], [D, 1], [rows, columns], layout)

    def numbers(x):
        return TensorDescriptor(x, [heads * n], [1], [Br.value], flat)

    heads_at_once = math.gcd(heads, HEADS)
    arguments = (
        tiles(q_ptr, Br.value), tiles(do_ptr, Br.value), tiles(k_ptr, Bc.value), tiles(v_ptr, Bc.value),
        numbers(lse_ptr), numbers(delta_ptr), tiles(sum_ptr, Br.value, D // SPLIT[D]), dk_ptr, dv_ptr,
        n, heads_at_once, scale, D, STAGES[D], SPLIT[D],
    )  # fmt: skip
    return (heads * (n // Bc.value),), arguments
