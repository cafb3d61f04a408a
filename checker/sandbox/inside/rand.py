"""`tl.rand`, computed at once: on Triton's interpreter each of Philox's ten rounds takes eight operations on blocks.

What comes of it is the same, bit for bit. What is asked for in any other way, Triton computes itself.
"""

from __future__ import annotations

from typing import Any

import triton.language as tl
from triton.runtime import interpreter

from checker.sandbox.protocol import philox


def rand(plain: Any, seed: Any, offset: Any, n_rounds: Any = philox.ROUNDS) -> Any:
    """Return a number for each offset, which is a tensor of integers; the seed is one integer."""
    number = _integer(seed)
    rounds = getattr(n_rounds, "value", n_rounds)
    if number is None or type(rounds) is not int or not isinstance(offset, tl.tensor) or not _counts(offset):
        return plain(seed, offset, n_rounds)
    values = philox.rand(number, offset.handle.data, rounds)
    kind = offset.type.with_element_ty(tl.float32) if offset.type.is_block() else tl.float32
    return tl.tensor(interpreter.TensorHandle(values, tl.float32), kind)


def _counts(tensor: Any) -> bool:
    """Return whether a tensor holds integers: of more than one bit, which Triton's own function takes as well."""
    return tensor.handle.data.dtype.kind in "iu" and tensor.dtype.scalar.is_int()


def _integer(seed: Any) -> int | None:
    """Return the value of a seed that is one integer."""
    seed = getattr(seed, "value", seed)
    if type(seed) is int and -(2**63) <= seed < 2**64:
        return seed
    if isinstance(seed, tl.tensor) and not seed.type.is_block() and _counts(seed):
        return int(seed.handle.data.item())
    return None
