"""The memory a kernel sees inside the sandbox: made-up addresses, every access checked and recorded.

A kernel gets pointers that are only numbers. Each tensor owns a range of them, 16 TiB apart, and
an access is translated to an element of a tensor or refused *before* it happens. So no kernel can
reach real memory, nothing can be overwritten by accident, and a row stride of 2**30 costs nothing.
Because there is no memory around a tensor, there is nothing there to guard with canaries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.sandbox.inside.budget import TooMuchWork
from checker.sandbox.protocol.records import BARRIER, BLOCK, DOT, LOAD, LOSS, PRODUCT, STORE, Record, table

ADDRESS_BITS = 44  # the range of addresses of one tensor

Ints = npt.NDArray[np.int64]


class RefusedAccess(Exception):
    """An access outside every tensor. `report` says what was tried; the launch ends here."""

    def __init__(self, report: dict[str, Any]):
        super().__init__("an access outside its tensor was refused")
        self.report = report


class NotScratch(TypeError):
    """An atomic operation on a tensor that is there for something else."""


class NotAtomic(TypeError):
    """A plain load or store where other programs write at the same time. A loop around it would run for ever."""


@dataclass
class SandboxTensor:
    """One argument tensor: its values, stored densely, under a strided virtual address range.

    `strides` are in elements, and nested: taken from the largest to the smallest, each is at least the extent of what
    lies inside it. So it is in any row-major tensor with padding, and if its axes were exchanged.
    """

    name: str
    values: npt.NDArray[Any]
    strides: tuple[int, ...]
    slot: int = 0
    bf16: bool = False  # fp32 values that bf16 can hold, at addresses two bytes apart
    scratch: bool = False  # atomic operations may touch it, and volatile loads
    seen: npt.NDArray[np.bool_] = field(init=False)
    nested: list[tuple[int, int, int]] = field(init=False)  # of each axis extent, stride here, and stride if dense

    def __post_init__(self) -> None:
        self.seen = np.zeros(self.values.size, dtype=bool)
        dense = [math.prod(self.values.shape[axis + 1 :]) for axis in range(self.values.ndim)]
        of_axes = zip(self.values.shape, self.strides, dense, strict=True)
        self.nested = sorted(of_axes, key=lambda axis: axis[1], reverse=True)

    @property
    def itemsize(self) -> int:
        """Bytes of an element, as addresses have it."""
        return 2 if self.bf16 else self.values.itemsize

    @property
    def base(self) -> int:
        """Address of the first element: the middle of the range, so that offsets may be negative."""
        return (self.slot << ADDRESS_BITS) + (1 << (ADDRESS_BITS - 1))

    def elements(self, offsets: Ints) -> tuple[Ints, npt.NDArray[np.bool_] | None]:
        """Dense element number of each offset (in elements from the base), and which are inside; None: all."""
        first, last = int(np.minimum.reduce(offsets)), int(np.maximum.reduce(offsets))
        begin, index, axes = 0, 0, self.nested
        while axes:  # along which all have one coordinate, which takes no array
            extent, stride, dense = axes[0]
            coordinate = (first - begin) // stride
            if coordinate != (last - begin) // stride or not 0 <= coordinate < extent or stride == 1:
                break
            begin, index, axes = begin + coordinate * stride, index + coordinate * dense, axes[1:]
        if axes and axes[0][1] == axes[0][2] == 1 and begin <= first and last < begin + axes[0][0]:
            return offsets + (index - begin), None  # they follow one another in the tensor, too
        remainder, found = offsets - begin, np.array(index)
        inside = remainder >= 0
        for extent, stride, dense in axes:
            if stride == 1:  # what lies further inside has one position only
                inside &= remainder < extent
                return found + remainder * dense, inside
            coordinates = remainder // stride  # and not np.divmod, which takes four times as long
            remainder = remainder - coordinates * stride
            inside &= coordinates < extent
            found = found + coordinates * dense
        return np.broadcast_to(found, offsets.shape), inside & (remainder == 0)


class Memory:
    """All tensors of one launch, and the log of their accesses."""

    def __init__(
        self,
        tensors: list[SandboxTensor],
        where: Callable[[], tuple[int, int]],
        poison: float,
        most_touched: int = 1 << 30,
    ):
        """`where` gives (program, source line) of the access in progress; `poison` is what a masked
        lane without `other` holds: NaN at first, then FILLS, to learn whether such lanes matter.
        A launch that loads and stores more than `most_touched` elements is ended."""
        self.tensors = tensors
        for slot, tensor in enumerate(tensors):
            tensor.slot = slot + 1
        self.bf16 = any(tensor.bf16 for tensor in tensors)
        self.where = where
        self.poison = poison
        self.poisoned = False
        self.records: list[Record] = []
        self.touched: list[npt.NDArray[np.int32]] = []
        self.left = most_touched
        self.largest = 0
        self.products: dict[tuple[int, int], int] = {}
        self.checked = False  # whether the launch looks for numbers that get too large
        self.tf32 = False  # whether tl.dot multiplies fp32 as a GPU does
        self.losses: dict[int, tuple[int, int, int]] = {}
        self.changes = 0  # signs that somebody goes on: new values to exchange, volatile loads of rows

    def load(
        self,
        addresses: npt.NDArray[np.uint64],
        mask: npt.NDArray[np.bool_],
        other: npt.NDArray[Any] | None,
        dtype: np.dtype[Any],
        volatile: bool = False,
        bf16: bool = False,
    ) -> npt.NDArray[Any]:
        """Values at `addresses` where `mask` holds, `other` (or poison) elsewhere; same shape.

        The kernel takes them for `dtype`, or for bf16 that is held as such.

        A volatile load may see what other programs write at the same time, so it may read scratch as well.
        """
        lanes = int(np.count_nonzero(mask))
        if lanes == addresses.size > 0 and mask.shape == addresses.shape:
            tensor, elements = self._translate(LOAD, addresses.reshape(-1), dtype, bf16)
            self._record(LOAD, tensor, elements, addresses.size, 0, volatile)
            return tensor.values.reshape(-1)[elements].reshape(addresses.shape)
        result = np.empty(addresses.shape, dtype)
        if other is not None:
            result[...] = other
        else:
            result[...] = self.poison if dtype.kind == "f" else 0
            self.poisoned = self.poisoned or lanes < mask.size
        if lanes:
            tensor, elements = self._translate(LOAD, addresses[mask], dtype, bf16)
            padded = int(np.count_nonzero(result[~mask] != -np.inf)) * (-1 if other is None else 1)
            result[mask] = tensor.values.reshape(-1)[elements]
            self._record(LOAD, tensor, elements, addresses.size, padded, volatile)
        else:
            self._spend(addresses.size)
        return result

    def store(
        self,
        addresses: npt.NDArray[np.uint64],
        values: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        dtype: np.dtype[Any],
        bf16: bool = False,
    ) -> None:
        """Write `values` at `addresses` where `mask` holds."""
        lanes = int(np.count_nonzero(mask))
        if not lanes:
            self._spend(addresses.size)
            return
        written = values if values.shape == addresses.shape else np.broadcast_to(values, addresses.shape)
        if lanes == addresses.size and mask.shape == addresses.shape:
            tensor, elements = self._translate(STORE, addresses.reshape(-1), dtype, bf16)
            written = written.reshape(-1)
        else:
            tensor, elements = self._translate(STORE, addresses[mask], dtype, bf16)
            written = written[mask]
        flat = tensor.values.reshape(-1)
        flat[elements] = written
        # Two lanes of one store may hit one element; on a GPU it is open which of them wins.
        kept = flat[elements]
        lost = kept != written
        overwritten = int(np.count_nonzero(lost & ((kept == kept) | (written == written)))) if lost.any() else 0
        self._record(STORE, tensor, elements, addresses.size, overwritten)

    def atomic(
        self,
        operation: Callable[[Any, Any], Any],
        addresses: npt.NDArray[np.uint64],
        values: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        dtype: np.dtype[Any],
    ) -> npt.NDArray[Any]:
        """Return the values at `addresses` before each of them became `operation` of itself and of its lane's value.

        Lanes come one after the other; masked ones give 0. It is no traffic, and is not recorded.
        """
        found = np.zeros(addresses.shape, dtype)
        self._spend(addresses.size)
        if mask.any():
            tensor, elements = self._translate(STORE, addresses[mask], dtype)
            if not tensor.scratch:
                raise NotScratch(f"an atomic operation on {tensor.name}, which is no scratch tensor")
            flat, before = tensor.values.reshape(-1), []
            for element, value in zip(elements, np.broadcast_to(values, addresses.shape)[mask], strict=True):
                old = flat[element]
                before.append(old)
                flat[element] = operation(old, value)
                self.changes += int(flat[element] != old)
            found[mask] = before
        return found

    def barrier(self) -> None:
        """Note a `tl.debug_barrier()`."""
        self._note(BARRIER)

    def dot(self, lanes: int, terms: int) -> None:
        """Note a `tl.dot` with a result of so many elements, each a sum of so many products."""
        self._note(DOT, lanes, terms)

    def block(self, lanes: int) -> None:
        """Note that a block of so many elements was made, if it is the largest so far."""
        if lanes > self.largest:
            self.largest = lanes
            self._note(BLOCK, lanes)

    def product(self, lanes: int) -> None:
        """Note a product element by element of so many elements; all of one program and line are one record."""
        position = self.where()
        self.products[position] = self.products.get(position, 0) + lanes

    def lost(self, way: int, line: int = 0) -> None:
        """Note one of WAYS to lose digits or bits; of each the first line counts.

        `line`: of what is at fault, if that is not where the kernel is.
        """
        program, now = self.where()
        times, program, line = self.losses.get(way) or (0, program, line or now)
        self.losses[way] = times + 1, program, line

    def log(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return all records, a row each, and the distinct elements of each, joined."""
        records = list(self.records)
        for (program, line), lanes in self.products.items():
            records.append(Record(PRODUCT, program=program, line=line, detail=lanes))
        for way, (times, program, line) in self.losses.items():
            records.append(Record(LOSS, program=program, line=line, lanes=times, detail=way))
        return table(records), np.concatenate(self.touched) if self.touched else np.zeros(0, np.int32)

    def _note(self, kind: int, lanes: int = 0, detail: int = 0) -> None:
        """Add a record that is about no tensor."""
        program, line = self.where()
        self.records.append(Record(kind, program=program, line=line, lanes=lanes, detail=detail))

    def _record(
        self, kind: int, tensor: SandboxTensor, elements: Ints, lanes: int, detail: int, volatile: bool = False
    ) -> None:
        if tensor.scratch:
            if not volatile:
                raise NotAtomic(f"a plain {'load from' if kind == LOAD else 'store to'} {tensor.name}")
            self._spend(lanes)  # as an atomic operation: no traffic
            return
        self.changes += volatile
        first = int(np.minimum.reduce(elements))
        seen = tensor.seen[first : int(np.maximum.reduce(elements)) + 1]
        here = elements - first
        seen[here] = True
        distinct = np.flatnonzero(seen)
        seen[here] = False
        if kind == STORE and not detail:
            detail = distinct.size - elements.size
        program, line = self.where()
        self._spend(distinct.size + 1)
        self.touched.append((distinct + first).astype(np.int32))
        self.records.append(Record(kind, tensor.slot - 1, program, line, distinct.size, lanes, detail))

    def _spend(self, elements: int) -> None:
        """Take from what a launch may touch. What is masked altogether moves nothing, but is waited for as well."""
        self.left -= elements
        if self.left < 0:
            raise TooMuchWork

    def _translate(
        self, kind: int, addresses: npt.NDArray[np.uint64], dtype: np.dtype[Any], bf16: bool = False
    ) -> tuple[SandboxTensor, Ints]:
        """Return the one tensor that all `addresses` lie in, and their elements, or RefusedAccess."""
        where = addresses.view(np.int64)
        slot = int(where[0]) >> ADDRESS_BITS
        if not 1 <= slot <= len(self.tensors):
            raise self._refusal(kind, None, where, dtype, bf16, np.zeros(where.shape, bool))
        tensor = self.tensors[slot - 1]
        size = tensor.itemsize
        distances = where - tensor.base
        offsets = distances // size
        elements, inside = tensor.elements(offsets)
        if int(np.bitwise_or.reduce(distances)) % size:  # sizes are powers of two
            aligned = distances % size == 0
            inside = aligned if inside is None else inside & aligned
        if (tensor.values.dtype, tensor.bf16) != (dtype, bf16):
            inside = np.zeros(where.shape, bool)
        if inside is not None and not np.logical_and.reduce(inside):  # .all() is a function in Python
            raise self._refusal(kind, tensor, offsets, dtype, bf16, inside)
        return tensor, elements

    def _refusal(
        self,
        kind: int,
        tensor: SandboxTensor | None,
        offsets: Ints,
        dtype: np.dtype[Any],
        bf16: bool,
        inside: npt.NDArray[np.bool_],
    ) -> RefusedAccess:
        program, line = self.where()
        return RefusedAccess(
            {
                "kind": kind,
                "tensor": None if tensor is None else tensor.name,
                "program": program,
                "line": line,
                "first": int(offsets[int(np.argmin(inside))]),
                "lowest": int(offsets.min()),
                "highest": int(offsets.max()),
                "lanes": int(offsets.size),
                "outside": int(np.count_nonzero(~inside)),
                "dtype": "bfloat16" if bf16 else dtype.name,
            }
        )
