"""`python3 -m tests.gpu.semantics`: small kernels on a GPU and on the interpreter, compared bit for bit.

Each kernel asks for something that Python does otherwise than a GPU. `GIVES` is what a GPU is to give: read in the PTX
that Triton emits, and in PTX's manual. Where there is no GPU the table says of the interpreter alone; the tests hold
it to `GIVES` (`tests/sandbox/test_arithmetic.py`). Prints a table, and ends with 1 if a row differs.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import triton
import triton.language as tl

from checker.sandbox.parent import Limits, Sandbox, torch_gpu_missing
from checker.sandbox.protocol import philox
from checker.sandbox.protocol.launch import Launch, TensorArgument

LANES = 16
MAX32, MIN32 = 2**31 - 1, -(2**31)
MAX64, MIN64 = 2**63 - 1, -(2**63)
NAN, INF = float("nan"), float("inf")


@triton.jit
def counter_divided(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in range(-7, n):
        tl.store(y_ptr + i + 7, i // 2)


@triton.jit
def counter_remainder(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in tl.range(-7, n):
        tl.store(y_ptr + i + 7, i % 4)


@triton.jit
def counter_wraps(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in range(n, n + 4):
        tl.store(y_ptr + i - n, i * 1000000007)


@triton.jit
def counter_cast(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in range(n, n + 4):
        tl.store(y_ptr + i - n, i.to(tl.int64) * 4294967296)


@triton.jit
def counter_of_64_bits(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in range(n.to(tl.int64)):
        tl.store(y_ptr + i, i * 1000000007)


@triton.jit
def counter_down(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in range(n, -8, -3):
        tl.store(y_ptr + (n - i) // 3, i // 2)


@triton.jit
def counter_unrolled(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    for i in tl.static_range(0, 4):
        tl.store(y_ptr + i, (i - 7) // 2)


@triton.jit
def scalar_divided(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr, (n - 10) // 2)
    tl.store(y_ptr + 1, (n - 10) % 2)
    tl.store(y_ptr + 2, n // -2)
    tl.store(y_ptr + 3, 7 // (n - 10))
    tl.store(y_ptr + 4, -n)
    tl.store(y_ptr + 5, ~n)


@triton.jit
def constants_divided(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr, BLOCK // -3)
    tl.store(y_ptr + 1, -BLOCK % 3)
    a, b = -7, 2
    tl.store(y_ptr + 2, a // b)
    BLOCK -= 23
    tl.store(y_ptr + 3, BLOCK // 2)


@triton.jit
def block_divided(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) // (n - 10))


@triton.jit
def block_remainder(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) % (n - 10))


@triton.jit
def block_fraction(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) / 4)


@triton.jit
def block_wraps(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, x * x + 2147483647)


@triton.jit
def block_cut(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, (tl.load(x_ptr + i).to(tl.int64) * 65536).to(tl.int32) + tl.load(x_ptr + i).to(tl.int8))


@triton.jit
def shifted_left(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) << (i * 4))


@triton.jit
def shifted_right(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) >> (i * 4))


@triton.jit
def shifted_unsigned(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    shift = i.to(tl.uint32)
    kept = tl.load(x_ptr + i).to(tl.uint32) >> shift
    four = (i - i + 4).to(tl.uint32)
    tl.store(y_ptr + i, (kept + (tl.load(x_ptr + i) >> four) + (four - 5) // 16).to(tl.int32))


@triton.jit
def conditions_added(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b = i < n, i % 2 == 0
    tl.store(y_ptr + i, (a + b).to(tl.int32) * 4 + (a - b).to(tl.int32) * 2 + (a * b).to(tl.int32))


@triton.jit
def condition_in_mask(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i).to(tl.float32)
    tl.store(y_ptr + i, ((i < n) & (tl.max(x, axis=0) > 0.5)).to(tl.int32) + 2 * ((i < n) & (n > 3)).to(tl.int32))


@triton.jit
def mixed_with_float(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * 0.5 + n + (i < n))


@triton.jit
def mixed_with_half(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) + (i * 8192))


@triton.jit
def to_int8(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.int8).to(tl.int32))


@triton.jit
def to_uint8(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.uint8).to(tl.int32))


@triton.jit
def to_int16(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.int16).to(tl.int32))


@triton.jit
def to_int32(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.int32))


@triton.jit
def to_uint32(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.uint32).to(tl.int64))


@triton.jit
def to_int64(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(tl.int64))


@triton.jit
def double_to_int32(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, (tl.load(x_ptr + i).to(tl.float64) + (n - 7)).to(tl.int32))


@triton.jit
def converted(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i).to(y_ptr.dtype.element_ty))


@triton.jit
def larger_of_two(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.maximum(x, 1.0) + tl.minimum(2.0, x) + tl.clamp(x, -1.0, 3.0))


@triton.jit
def largest(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr, tl.max(tl.load(x_ptr + tl.arange(0, BLOCK)), axis=0))


@triton.jit
def zero_for_masked(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < 2, other=(n - 7) * 1.0))


@triton.jit
def random_numbers(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.rand(n, tl.load(x_ptr + i)))


@triton.jit
def random_numbers_of_64_bits(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    seed = tl.load(x_ptr)
    tl.store(y_ptr + i, tl.rand(seed, tl.load(x_ptr + i)))


@triton.jit
def noted(y_ptr, place, answer):
    tl.store(y_ptr + place, 1)
    return answer


@triton.jit
def both_sides(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    if (n < 0) and noted(y_ptr, 0, n > 0):
        tl.store(y_ptr + 4, 1)
    if (n > 0) or noted(y_ptr, 1, n > 0):
        tl.store(y_ptr + 5, 1)
    if (BLOCK < 0) and noted(y_ptr, 2, n > 0):
        tl.store(y_ptr + 6, 1)
    if (BLOCK > 0) or noted(y_ptr, 3, n > 0):
        tl.store(y_ptr + 7, 1)
    if not (n < 0):
        tl.store(y_ptr + 8, 1)


@triton.jit
def several_sides(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    if (n > 0) and BLOCK > 0 and noted(y_ptr, 0, n > 0):
        tl.store(y_ptr + 4, 1)
    if (n > 0) and BLOCK < 0 and noted(y_ptr, 1, n > 0):
        tl.store(y_ptr + 5, 1)
    if (n < 0) or ((n > 9 or noted(y_ptr, 2, n > 0)) and not BLOCK < 0):
        tl.store(y_ptr + 6, 1)
    tl.store(y_ptr + 7, (1 if n > 0 else 2) if (n > 9 if BLOCK < 0 else n > 3) else 3)


@triton.jit
def one_branch(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr + 4, noted(y_ptr, 0, n) if n < 0 else noted(y_ptr, 1, n * 2))
    tl.store(y_ptr + 5, (-7 if n > 0 else 7) // 2)
    tl.store(y_ptr + 6, (-7 if BLOCK > 0 else 7) // 2)


@triton.jit
def masks_connected(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 1, mask=(i < n) and not (i < 2))


@triton.jit
def smaller_of_two_widths(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(y_ptr, min(n, n.to(tl.int64) + 1) * 1000000007)
    tl.store(y_ptr + 1, max(n, 3) * 1000000007)
    tl.store(y_ptr + 2, min(BLOCK, 100) // -3)


@triton.jit
def largest_and_count(m_a, l_a, m_b, l_b):
    return tl.maximum(m_a, m_b), tl.where(m_a > m_b, l_a, tl.where(m_b > m_a, l_b, l_a + l_b))


@triton.jit
def larger_by_if(a, b):
    if a > b:
        larger = a
    else:
        larger = b
    return larger


@triton.jit
def combined(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    m, l = tl.reduce((x, tl.full((BLOCK,), 1, tl.int32)), 0, largest_and_count)
    tl.store(y_ptr, m)
    tl.store(y_ptr + 1, l)
    tl.store(y_ptr + 2, tl.reduce(x, 0, larger_by_if))


@triton.jit
def product_in_tf32(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.where(i[:, None] == i[None, :], tl.load(x_ptr + i)[None, :], 0.0)
    tl.store(y_ptr + i, tl.sum(tl.dot(x, x), axis=0))


@triton.jit
def tall_product_in_tf32(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)[None, :]
    tall = tl.where(tl.arange(0, 64)[:, None] == i[None, :], x, 0.0)
    tl.store(y_ptr + i, tl.sum(tl.dot(tall, tl.where(i[:, None] == i[None, :], x, 0.0)), axis=0))


@triton.jit
def product_in_fp32(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.where(i[:, None] == i[None, :], tl.load(x_ptr + i)[None, :], 0.0)
    tl.store(y_ptr + i, tl.sum(tl.dot(x, x, input_precision="ieee"), axis=0))


@dataclass(frozen=True)
class Probe:
    """One kernel, launched once: (LANES,) values in, (LANES,) values out that start as 0."""

    kernel: str
    asks: str
    x: list[float]
    gives: list[float]
    kinds: tuple[str, str] = ("int32", "int32")
    n: int = 7

    def values(self) -> npt.NDArray[Any]:
        """What goes in."""
        return self._padded(self.x, self.kinds[0])

    def expected(self) -> npt.NDArray[Any]:
        """What is to come out."""
        return self._padded(self.gives, self.kinds[1])

    def _padded(self, values: list[float], kind: str) -> npt.NDArray[Any]:
        result = np.zeros(LANES, kind)
        result[: len(values)] = np.array(values, kind)
        return result


def wrapped(value: int) -> int:
    """An integer as 32 bits hold it."""
    return (value + 2**31) % 2**32 - 2**31


def cut(number: float) -> float:
    """What TF32 keeps of it: a sign, 8 bits of exponent, 10 of the digits behind the point."""
    return float((np.float32(number).view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32))


LONG = [
    float(np.float32(x)) for x in (1 + 2**-11, -1 - 2**-11, 1 + 3 * 2**-11, 1 - 2**-12, 3.14, -0.0012, 65535, 3e-12)
]
SQUARES = [cut(x) ** 2 for x in LONG]
ODD = [0.5, -0.5, 2.75, -2.75, 300.0, -300.0, 7e4, -7e4, 3e9, -3e9, 1e19, -1e19, INF, -INF, NAN, -1.0]
FIT = [0.5, -0.5, 2.75, -2.75, 99.5, -99.5, 127.0, -128.0] * 2
FLOATS = ("float32", "int32")
FAR = [0, 1, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 1, 2**40, -(2**40), MAX64, MIN64, 3 * 2**33, 5, 6, 7]
UP = list(range(-7, 9))
GIVES = [
    Probe("counter_divided", "a loop counter // 2 truncates", [], [-3, -3, -2, -2, -1, -1, 0, 0, 0, 1, 1, 2, 2, 3]),
    Probe("counter_remainder", "a loop counter % 4 truncates", [], [-3, -2, -1, 0, -3, -2, -1, 0, 1, 2, 3, 0, 1, 2]),
    Probe("counter_wraps", "a product of a loop counter wraps", [], [wrapped(i * 1000000007) for i in range(7, 11)]),
    Probe("counter_cast", "a loop counter has .to", [], [i << 32 for i in range(7, 11)], ("int32", "int64")),
    Probe(
        "counter_of_64_bits",
        "a loop counter has 64 bits if a bound has",
        [],
        [i * 1000000007 for i in range(7)],
        ("int32", "int64"),
    ),
    Probe("counter_down", "a loop counts down by a constant", [], [3, 2, 0, -1, -2]),
    Probe("counter_unrolled", "tl.static_range counts in Python's integers", [], [-4, -3, -3, -2]),
    Probe("scalar_divided", "scalars: //, %, -, ~", [], [-1, -1, -3, -2, -7, -8]),
    Probe("constants_divided", "constexprs floor; what is assigned truncates", [], [-6, 2, -3, -3]),
    Probe("block_divided", "blocks // a negative scalar", UP, [2, 2, 1, 1, 1, 0, 0, 0, 0, 0, -1, -1, -1, -2, -2, -2]),
    Probe("block_remainder", "blocks % a negative scalar", UP, [-1, 0, -2, -1, 0, -2, -1, 0, 1, 2, 0, 1, 2, 0, 1, 2]),
    Probe("block_fraction", "integers / 4 are fp32", UP, [i / 4 for i in UP], ("int32", "float32")),
    Probe(
        "block_wraps",
        "sums and products of blocks wrap",
        [46341, -46341, 1, 65536, MAX32],
        [wrapped(v * v + MAX32) for v in [46341, -46341, 1, 65536, MAX32, *[0] * 11]],
    ),
    Probe(
        "block_cut",
        "wider to narrower keeps the low bits",
        [40000, 300, -129, -1],
        [wrapped(40000 << 16) + 64, (300 << 16) + 44, (-129 << 16) + 127, (-1 << 16) - 1],
    ),
    Probe(
        "shifted_left",
        "<< by up to 60 places",
        [-3] * 16,
        [wrapped(-3 << 4 * i) if i < 8 else 0 for i in range(16)],
    ),
    Probe("shifted_right", ">> of a negative number by up to 60", [MIN32] * 16, [MIN32 >> 4 * i for i in range(16)]),
    Probe(
        "shifted_unsigned",
        ">> of unsigned numbers, and of signed by unsigned",
        [-16] * 16,
        [wrapped(((2**32 - 16) >> i) + (2**32 - 1) + (2**32 - 1) // 16) for i in range(16)],
    ),
    Probe(
        "conditions_added",
        "conditions + and - are exclusive or, * is and",
        [],
        [6 * ((i < 7) ^ (i % 2 == 0)) + ((i < 7) & (i % 2 == 0)) for i in range(16)],
    ),
    Probe(
        "condition_in_mask",
        "a mask and a condition on what was reduced",
        UP,
        [3 * (i < 7) for i in range(16)],
    ),
    Probe(
        "mixed_with_float",
        "integers, conditions and fractions mixed",
        UP,
        [v * 0.5 + 7 + (i < 7) for i, v in enumerate(UP)],
        ("int32", "float32"),
    ),
    Probe(
        "mixed_with_half",
        "fp16 + int32 is fp16",
        [0.5] * 16,
        [0.5, *[8192.0 * i for i in range(1, 8)], *[INF] * 8],
        ("float16", "float16"),
    ),
    Probe(
        "to_int8",
        "fp32 to int8 truncates what fits",
        FIT,
        [int(x) for x in FIT],
        FLOATS,
    ),
    Probe(
        "to_uint8",
        "fp32 to uint8 truncates what fits",
        [x + 128 for x in FIT],
        [int(x + 128) for x in FIT],
        FLOATS,
    ),
    Probe(
        "to_int16",
        "fp32 to int16 saturates",
        ODD,
        [0, 0, 2, -2, 300, -300, *[32767, -32768] * 4, 0, -1],
        FLOATS,
    ),
    Probe(
        "to_int32",
        "fp32 to int32 saturates, NaN is 0",
        ODD,
        [0, 0, 2, -2, 300, -300, 70000, -70000, *[MAX32, MIN32] * 3, 0, -1],
        FLOATS,
    ),
    Probe(
        "to_int32",
        "fp16 to int32 saturates, NaN is 0",
        [0.5, -2.75, 65504.0, INF, -INF, NAN],
        [0, -2, 65504, MAX32, MIN32, 0],
        ("float16", "int32"),
    ),
    Probe(
        "to_uint32",
        "fp32 to uint32 saturates, NaN is 0",
        ODD,
        [0, 0, 2, 0, 300, 0, 70000, 0, 3000000000, 0, 2**32 - 1, 0, 2**32 - 1, 0, 0, 0],
        ("float32", "int64"),
    ),
    Probe(
        "to_int64",
        "fp32 to int64 saturates, NaN is the lowest",
        ODD,
        [0, 0, 2, -2, 300, -300, 70000, -70000, 3000000000, -3000000000, *[MAX64, MIN64] * 2, MIN64, -1],
        ("float32", "int64"),
    ),
    Probe(
        "double_to_int32",
        "fp64 to int32 saturates, NaN is the lowest",
        ODD,
        [0, 0, 2, -2, 300, -300, 70000, -70000, *[MAX32, MIN32] * 3, MIN32, -1],
        FLOATS,
    ),
    Probe(
        "random_numbers",
        "tl.rand at offsets of 32 bits",
        [*UP[:14], MAX32, MIN32],
        philox.rand(7, np.array([*UP[:14], MAX32, MIN32], np.int32)).tolist(),
        ("int32", "float32"),
    ),
    Probe(
        "random_numbers",
        "tl.rand with a negative seed",
        UP,
        philox.rand(-7, np.array(UP, np.int32)).tolist(),
        ("int32", "float32"),
        n=-7,
    ),
    Probe(
        "random_numbers_of_64_bits",
        "tl.rand at offsets of 64 bits, with the seed 3",
        [3, *FAR[1:]],
        philox.rand(3, np.array([3, *FAR[1:]], np.int64)).tolist(),
        ("int64", "float32"),
    ),
    Probe(
        "random_numbers_of_64_bits",
        "tl.rand at offsets of 64 bits, with the seed 2**32",
        [2**32, *FAR[1:]],
        philox.rand(2**32, np.array([2**32, *FAR[1:]], np.int64)).tolist(),
        ("int64", "float32"),
    ),
    Probe(
        "random_numbers_of_64_bits",
        "tl.rand at offsets of 64 bits, with the seed MAX64",
        [MAX64, *FAR[1:]],
        philox.rand(MAX64, np.array([MAX64, *FAR[1:]], np.int64)).tolist(),
        ("int64", "float32"),
    ),
    Probe(
        "random_numbers_of_64_bits",
        "tl.rand at offsets of 64 bits, with the seed -(2**40) - 5",
        [-(2**40) - 5, *FAR[1:]],
        philox.rand(-(2**40) - 5, np.array([-(2**40) - 5, *FAR[1:]], np.int64)).tolist(),
        ("int64", "float32"),
    ),
    Probe(
        "converted",
        "fp32 to fp16 rounds to even, is infinite past 65520, and keeps the smallest",
        [65504.0, 65519.0, 65520.0, -1e9, 2049.0, 2051.0, 2.0**-24, 2.0**-25, 3 * 2.0**-25, -0.0, INF],
        [65504.0, 65504.0, INF, -INF, 2048.0, 2052.0, 2.0**-24, 0.0, 2.0**-23, -0.0, INF],
        ("float32", "float16"),
    ),
    Probe(
        "converted",
        "int32 to fp16",
        [2049, 2051, 65519, 65520, -70000, MIN32],
        [2048.0, 2052.0, 65504.0, INF, -INF, -INF],
        ("int32", "float16"),
    ),
    Probe(
        "converted",
        "int32 to fp32 rounds to even",
        [16777217, 16777219, MAX32],
        [16777216.0, 16777220.0, 2147483648.0],
        ("int32", "float32"),
    ),
    Probe(
        "larger_of_two",
        "maximum, minimum and clamp leave NaN out",
        [NAN, 1.5, INF, -INF],
        [1.0 + 2.0 - 1.0, 1.5 + 1.5 + 1.5, INF, -INF, *[1.0] * 12],
        ("float32", "float32"),
    ),
    Probe("largest", "tl.max leaves NaN out", [NAN, 1.5, NAN, -INF], [1.5], ("float32", "float32")),
    Probe("zero_for_masked", "a scalar that is 0 is an `other`", [3.0] * 16, [3.0, 3.0], ("float32", "float32")),
    Probe("both_sides", "and, or: both sides at run time, constexprs cut short", [], [1, 1, 0, 0, 0, 1, 0, 1, 1]),
    Probe("several_sides", "and, or, if-else within one another", [], [1, 0, 1, 0, 1, 0, 1, 1]),
    Probe("one_branch", "a if c else b computes one of the two", [], [0, 1, 0, 0, 14, -3, -4]),
    Probe("masks_connected", "`and` and `not` of blocks go by element", [], [0, 0, 1, 1, 1, 1, 1]),
    Probe(
        "smaller_of_two_widths",
        "min and max give the wider type; of constants they are Python's",
        [],
        [7 * 1000000007, wrapped(7 * 1000000007), -6],
        ("int32", "int64"),
    ),
    Probe("product_in_tf32", "tl.dot cuts fp32 to TF32", LONG, SQUARES, ("float32", "float32")),
    Probe("tall_product_in_tf32", "so does a tall one", LONG, SQUARES, ("float32", "float32")),
    Probe("product_in_fp32", "not if it says ieee", LONG, [x**2 for x in LONG], ("float32", "float32")),
    Probe("combined", "tl.reduce with a combine function", [3, 9, 9, 1, 9, *[2] * 11], [9, 3, 9]),
]


def source() -> str:
    """The kernels above, as the sandbox takes them."""
    text = Path(__file__).read_text(encoding="utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    return "\n\n".join(f"@triton.jit\n{ast.unparse(node).partition(chr(10))[2]}" for node in functions)


def on_interpreter() -> list[npt.NDArray[Any] | str]:
    """What each of GIVES gives in the sandbox, or what it raised."""
    launches = []
    for probe in GIVES:
        result = np.zeros(LANES, probe.kinds[1])
        tensors = {"x_ptr": TensorArgument(probe.values(), (1,)), "y_ptr": TensorArgument(result, (1,))}
        launches.append(
            Launch(probe.kernel, (1, 1, 1), tensors, {"n": ("int32", probe.n)}, {"BLOCK": LANES}, tf32=True)
        )
    numbers = list(range(len(launches)))
    with Sandbox(Limits()) as sandbox:
        report = sandbox.run(source(), sorted({p.kernel for p in GIVES}), launches, [[(n, range(1)) for n in numbers]])
    answers = report.passes[0]
    if answers.malformed or answers.loading:
        raise RuntimeError(answers.malformed or str(answers.loading))
    results = [answers.results[number] for number in numbers]
    return [result.tensors["y_ptr"] if result.error is None else result.error.message for result in results]


def on_gpu() -> list[npt.NDArray[Any] | str]:
    """What each of GIVES gives on the GPU, or what it raised."""
    import torch

    found: list[npt.NDArray[Any] | str] = []
    for probe in GIVES:
        x, y = torch.from_numpy(probe.values()).cuda(), torch.zeros(LANES, dtype=getattr(torch, probe.kinds[1])).cuda()
        try:
            globals()[probe.kernel][(1,)](x, y, probe.n, BLOCK=LANES)
            found.append(y.cpu().numpy())
        except Exception as error:
            found.append(str(error).strip().split("\n")[-1])
    return found


def same(one: npt.NDArray[Any] | str, other: npt.NDArray[Any] | str) -> bool:
    """Whether two results have the same bits."""
    return isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.tobytes() == other.tobytes()


def main() -> int:
    """Print the table; 1 if a row differs."""
    here, there = on_interpreter(), on_gpu() if not torch_gpu_missing() else None
    if there is None:
        print(f"{torch_gpu_missing()} So the column `GPU` is what the PTX says.\n")
    print(f"triton {triton.__version__}\n\n| what | interpreter | GPU | what differs |\n|---|---|---|---|")
    failed = 0
    for number, probe in enumerate(GIVES):
        wanted = probe.expected()
        gpu = wanted if there is None else there[number]
        fits, true = same(here[number], gpu), same(gpu, wanted)
        failed += not (fits and true)
        lists = [str(one) if isinstance(one, str) else one.tolist() for one in (here[number], gpu, wanted)]
        details = "" if fits and true else f"interpreter {lists[0]}, GPU {lists[1]}, thought {lists[2]}"
        print(f"| {probe.asks} | {'same' if fits else 'DIFFERS'} | {'as thought' if true else 'OTHER'} | {details} |")
    print(f"\n{len(GIVES) - failed} of {len(GIVES)} the same.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
