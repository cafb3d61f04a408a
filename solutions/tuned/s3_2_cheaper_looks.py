"""Long rows at speed, step 2: as step 1, with less to look at.

In step 1 a look is one atomic operation for each word of the row, and every program of the row looks again and again.
At 8192 columns a block, a row of 2**20 columns has 128 programs, which together do 16,384 atomic operations a look. In
bf16, copying that row takes 1.4 microseconds. What was slow was the looking, not the wait.

First, a program waits for one word only: that of the row's last block. Tickets are given out in order, so its program
has started after all others of the row, and its word is nearly always the last to come. Nearly: so all words are
checked afterwards as before, but as a rule once.

Second, all words are read by a volatile load instead of atomic operations. In PTX it is `ld.volatile`, which means the
same as `ld.relaxed.sys`: it is carried out every time, sees what atomic operations have written, and never half of a
64-bit word. The threads of a warp load neighbouring words with one request, while each atomic operation counts by
itself. The loop that waits for one word keeps its atomic operation: there one thread asks for the whole program, where
with a load all threads would.
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
    words = tl.load(words_ptr, mask=mask, other=0, volatile=True)
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

    last_ptr = words_ptr + row * n_parts + n_parts - 1
    last = tl.atomic_or(last_ptr, 0, sem="relaxed")
    while (last < 0) != (parity == 1):
        last = tl.atomic_or(last_ptr, 0, sem="relaxed")
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
