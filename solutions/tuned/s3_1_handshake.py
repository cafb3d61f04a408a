"""Long rows at speed, step 1: many programs share a row, and exchange (m, l) by a handshake.

Puzzle p3 reads a long row twice: what it has read once does not fit into registers. Here a program reads only one block
of a row, once, and keeps it. What it lacks is the maximum and the sum of the whole row. So each program publishes the
pair (m, l) of its own block, waits for the pairs of the others, merges them as p3 merges blocks, and writes:
x is read once, y is written once.

A pair is one 64-bit word, l in the high half and m in the low half, so it is never seen half written, and a single
relaxed atomic exchange publishes it: nothing else has to become visible before it. A word says itself whether it is
there. l is never negative, so its sign is free, and it is the parity of the launch: words that an earlier launch has
left have the other sign, and nothing has to be reset between launches.

Waiting in a loop is safe only if every program that is waited for is running, or has run. A GPU holds some programs at
a time, starts the others as these end, and promises no order. If programs took their work from `tl.program_id`, all
that are resident could wait for one that cannot start before one of them ends: a deadlock. A ticket prevents it. The
first thing a program does is to add 1 to a counter, and the number it gets is its work: so work is given out in the
order in which programs start, and the blocks with smaller numbers are in programs that have started. The oldest row
that is unfinished has all its programs resident, if the GPU has room for the programs of one row; it can finish, and
then the next one can.

The loop reads by `tl.atomic_or(..., 0)`, which takes effect in the L2 that all programs share: a plain load might be
answered by a cache that never learns what others write. Triton 3.9 has `tl.atomic_poll`, which waits inside one
operation until a word has a wanted value. That replaces the loop, not the tickets: what is safe to wait for stays the
same.
"""

import triton
import triton.language as tl


@triton.jit
def pack(m, l, parity):
    # l above, m below; the sign bit, which l does not need, is the launch's parity.
    high = l.to(tl.int32, bitcast=True).to(tl.int64) << 32
    low = m.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF
    return high | low | (parity.to(tl.int64) << 63)


@triton.jit
def look(words_ptr, mask, parity):
    # The words of a row as they are now, and how many of them this launch has not written yet.
    words = tl.atomic_or(words_ptr, 0, mask=mask, sem="relaxed")
    missing = mask & ((words < 0) != (parity == 1))
    return words, tl.sum(missing.to(tl.int32), axis=0)


@triton.jit
def long_rows_kernel(
    x_ptr, y_ptr, words_ptr, ticket_ptr, x_row_stride, y_row_stride, n_cols, n_parts,
    BLOCK_SIZE: tl.constexpr, SLOTS: tl.constexpr,
):  # fmt: skip
    # The counter goes on from launch to launch: what it has counted of this launch is the number of the work.
    ticket = tl.atomic_add(ticket_ptr, 1, sem="relaxed")
    number = (ticket % tl.num_programs(0)).to(tl.int32)
    parity = 1 - ((ticket // tl.num_programs(0)) % 2).to(tl.int32)
    row = (number // n_parts).to(tl.int64)
    part = number % n_parts

    cols = part * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    m_own = tl.max(x, axis=0)
    shift = tl.where(m_own == -float("inf"), 0.0, m_own)
    p = tl.exp(x - shift)
    tl.atomic_xchg(words_ptr + row * n_parts + part, pack(m_own, tl.sum(p, axis=0), parity), sem="relaxed")

    slots = tl.arange(0, SLOTS)
    of_row = slots < n_parts
    words, missing = look(words_ptr + row * n_parts + slots, of_row, parity)
    while missing > 0:
        words, missing = look(words_ptr + row * n_parts + slots, of_row, parity)
    m_of_parts = tl.where(of_row, words.to(tl.int32).to(tl.float32, bitcast=True), -float("inf"))
    l_of_parts = tl.where(of_row, tl.abs((words >> 32).to(tl.int32).to(tl.float32, bitcast=True)), 0.0)
    m = tl.max(m_of_parts, axis=0)
    l = tl.sum(l_of_parts * tl.exp(m_of_parts - m), axis=0)

    # A block of nothing but -inf has m_own = -inf, and so a factor of 0.
    y = p * (tl.exp(m_own - m) / l)
    tl.store(y_ptr + row * y_row_stride + cols, y, mask=mask)
