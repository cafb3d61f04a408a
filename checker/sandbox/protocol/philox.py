"""`tl.rand` in NumPy, bit for bit: Philox 4x32 with ten rounds (Salmon et al. 2011), as `triton/language/random.py`.

A counter goes in, the offset, with a key, the seed; ten rounds of multiplying and mixing make a number of them that
looks random. Nothing is remembered from one number to the next, so any of them can be had again, in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

ROUNDS = 10
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_STEPS = 0x9E3779B9, 0xBB67AE85  # of the key, from round to round
_SCALE = np.float32(4.6566127342e-10)  # the largest factor that keeps the largest int32 below 1


def rand(seed: int, offsets: npt.NDArray[Any], rounds: int = ROUNDS) -> npt.NDArray[np.float32]:
    """Numbers from 0 to 1, in the shape of `offsets`, which are integers; the seed is one of up to 64 bits."""
    c0 = offsets.astype(np.uint32).astype(np.uint64)
    c1 = np.zeros_like(c0)
    if offsets.dtype.itemsize > 4:
        c1 = (offsets >> offsets.dtype.type(32)).astype(np.uint32).astype(np.uint64)
    c2 = c3 = np.zeros((1,) * c0.ndim, np.uint64)
    keys = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(rounds):
        first, second = c0 * _FACTORS[0], c2 * _FACTORS[1]
        c0 = (second >> _HALF) ^ c1 ^ np.uint64(keys[0])
        c2 = (first >> _HALF) ^ c3 ^ np.uint64(keys[1])
        c1, c3 = second & _LOW, first & _LOW
        keys = [(key + step) & 0xFFFFFFFF for key, step in zip(keys, _STEPS, strict=True)]
    whole = c0.astype(np.uint32).view(np.int32)
    return (whole ^ (whole >> np.int32(31))).astype(np.float32) * _SCALE
