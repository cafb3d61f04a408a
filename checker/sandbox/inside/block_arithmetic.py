"""Arithmetic that memory does not show: products of blocks element by element, and what is computed in half.

A half is a float of fewer than 32 bits. A kernel may round to half what goes into a tl.dot, and what it stores in a
tensor of halves. What else is rounded loses digits, and there are two ways to do it.

One is to compute with what was rounded on the way. Each value carries the line that rounded it, as `handle.rounded`;
0 if none did, or if nothing was lost. What is made of it by a product carries the line as a negative number: that may
yet be stored, as a right kernel may do with it, but not become a factor of a tl.dot.

The other is to add to a sum that was rounded: each step then loses what is below the last of its few bits. Each value
carries how often it was summed and rounded, in turn, as `handle.sums`: 0 not at all, 1 summed, 2 rounded afterwards,
3 summed again, 4 rounded again. A sum of a value at 4 is an accumulator in half; a score that is rounded, and then
added to something, is not.

Each note below gets what one of Triton's operations gave, then what it was given.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from checker.sandbox.inside.running import running
from checker.sandbox.protocol.records import IN_DOT, IN_LOOP, IN_STORE, IN_SUM, ON_THE_WAY

ROUNDED, SUMMED_AGAIN, ROUNDED_AGAIN = 2, 3, 4
MARKS = {"sums": 0, "rounded": 0, "bf16": False}  # of values that nothing is known of


def _is_half(handle: Any) -> bool:
    """Return whether a value is fp16, or bf16, which is fp32 in NumPy."""
    return bool(handle.data.dtype.char == "e" or handle.bf16)


def _summed(handle: Any, before: int) -> None:
    """Note that `handle` is a sum of values of which the most often rounded one is at `before`."""
    if before >= ROUNDED_AGAIN:
        running.lost(IN_LOOP)
    handle.sums = (SUMMED_AGAIN if before >= ROUNDED else 1) + _is_half(handle)


def _used(rounded: int) -> None:
    """Note what is computed with a value that this line has rounded, if one has."""
    if rounded:
        running.lost(ON_THE_WAY, abs(rounded))


def _multiplied(handle: Any) -> None:
    """Note a product element by element, of blocks with more than one extent."""
    data = handle.data
    if data.ndim > 1 and data.size > max(data.shape) and running.memory is not None:
        running.memory.product(data.size)


def _rounds(result: Any, exact: Callable[[], Any]) -> None:
    """Note the line that has rounded `result` to half, if it differs from what is exact.

    To bf16 nothing is rounded for its own sake where no tensor has that type.
    """
    if not _is_half(result) or running.memory is None:
        return
    if (result.data != exact()).any():
        result.rounded = running.where()[1]
        if result.bf16 and not running.memory.bf16:
            _used(result.rounded)


def _added(operation: Any, result: Any, lhs: Any, rhs: Any) -> None:
    _summed(result, lhs.sums if lhs.sums > rhs.sums else rhs.sums)
    _used(lhs.rounded or rhs.rounded)
    _rounds(result, lambda: operation(lhs.data, rhs.data, dtype=np.float32))


def _scaled(operation: Any, result: Any, lhs: Any, rhs: Any) -> None:
    if lhs.sums or rhs.sums:
        result.sums = max(lhs.sums, rhs.sums)
    _multiplied(result)
    _rounds(result, lambda: operation(lhs.data, rhs.data, dtype=np.float32))
    if before := lhs.rounded or rhs.rounded:
        result.rounded = -abs(before)


def _function(result: Any, value: Any) -> None:
    _used(value.rounded)


def _moved(result: Any, value: Any, *_: Any) -> None:
    if value.sums or value.rounded:
        result.sums, result.rounded = value.sums, value.rounded


def _splat(result: Any, kind: Any, value: Any) -> None:
    _moved(result, value)


def _extreme(result: Any, lhs: Any, rhs: Any) -> None:
    """The larger or the smaller of two adds nothing up."""
    if lhs.rounded or rhs.rounded:
        result.rounded = lhs.rounded or rhs.rounded


def _chosen(result: Any, condition: Any, lhs: Any, rhs: Any) -> None:
    if lhs.sums or rhs.sums:
        result.sums = max(lhs.sums, rhs.sums)
    _extreme(result, lhs, rhs)


def _cast(result: Any, source: Any, *how: Any) -> None:
    if before := source.sums:
        result.sums = before + (before % 2 and _is_half(result))
    _rounds(result, lambda: source.data)
    if source.rounded:
        result.rounded = source.rounded


def _fma(result: Any, x: Any, y: Any, z: Any) -> None:
    _multiplied(result)
    _summed(result, max(x.sums, y.sums, z.sums))
    _used(x.rounded or y.rounded or z.rounded)


def _dot(result: Any, a: Any, b: Any, accumulator: Any, *_: Any) -> None:
    """The factors of a product may be in half, fresh from their rounding."""
    if _is_half(result):
        running.lost(IN_DOT)
    _summed(result, accumulator.sums)
    _used(min(a.rounded, 0) or min(b.rounded, 0) or accumulator.rounded)


def stored(value: Any) -> None:
    """Note what goes to memory, before it does: to fp32 memory it need not be rounded."""
    if value.sums in (ROUNDED, ROUNDED_AGAIN) and not _is_half(value):
        running.lost(IN_STORE)


def summed(result: Any, block: Any) -> None:
    """A sum of one block."""
    if _is_half(result.handle):
        running.lost(IN_SUM)
    _summed(result.handle, block.handle.sums)
    _used(block.handle.rounded)


def largest(plain: Any, reduction: Any, blocks: Any, *how: Any, **named: Any) -> Any:
    """Return what was rounded stays so in a maximum."""
    result = plain(reduction, blocks, *how, **named)
    of = blocks[0] if isinstance(blocks, tuple) else blocks
    if of.handle.rounded and not isinstance(result, tuple):
        result.handle.rounded = of.handle.rounded
    return result


OF_BUILDER: dict[str, Callable[..., None]] = {
    **{f"create_{name}": partial(_added, how) for name, how in (("fadd", np.add), ("fsub", np.subtract))},
    "create_fmul": partial(_scaled, np.multiply),
    **{f"create_{name}": partial(_scaled, np.divide) for name in ("fdiv", "precise_divf")},
    **{f"create_{name}": _function for name in ("exp", "exp2", "log", "log2", "sqrt", "precise_sqrt", "rsqrt")},
    **{f"create_{name}": _function for name in ("sin", "cos", "erf")},
    **{f"create_{name}": _moved for name in ("trans", "reshape", "expand_dims", "broadcast")},
    "create_splat": _splat,
    **{f"create_{name}": _extreme for name in ("maximumf", "maxnumf", "minimumf", "minnumf")},
    "create_select": _chosen,
    "cast_impl": _cast,
    "create_fp_to_fp": _cast,
    "create_fma": _fma,
    "create_dot": _dot,
}
