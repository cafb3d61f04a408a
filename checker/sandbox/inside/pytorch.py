"""PyTorch programs: one function called on tensors, under a mode that sees every operation and what it leaves alive.

The mode counts what is to be judged: the largest tensor, all that lives at once besides the inputs, the products. It
refuses operations that are not on the list, because a few of them do in one step what is to be written, or give
numbers to Python, where nobody counts them.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from checker.sandbox.inside import functions
from checker.sandbox.inside.budget import work
from checker.sandbox.inside.running import running
from checker.sandbox.protocol.launch import Launch
from checker.sandbox.protocol.records import BLOCK, DOT, HELD, OPERATION, STORE, Record


def words(text: str) -> frozenset[str]:
    """Return the words of a text: names of operations."""
    return frozenset(text.split())


# Names in the namespace aten; one that ends in _ is that operation in place.
OPERATIONS = words("""
    mm bmm addmm baddbmm
    view _unsafe_view _reshape_alias alias detach transpose t permute unsqueeze squeeze expand slice select
    split split_with_sizes unbind cat stack clone copy lift_fresh _to_copy diagonal flip
    empty zeros ones full arange scalar_tensor zero fill
    empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full empty_strided new_empty_strided
    exp exp2 log log2 log1p sqrt rsqrt reciprocal neg abs add sub rsub mul div pow
    maximum minimum max min amax amin sum mean any all clamp clamp_min clamp_max logsumexp logaddexp _softmax
    where masked_fill triu tril index index_put
    eq ne lt le gt ge logical_and logical_or logical_not bitwise_and bitwise_or bitwise_not
    isinf isnan isneginf nan_to_num
""")
_ELEMENTWISE = ("mul", "div")
_READ = "_local_scalar_dense"  # takes a number to Python
_READS, _READS_A_PRODUCT = 64, 8  # how often an `if` may ask a tensor: so many times, and more for each product
_FACTORS = {"mm": 0, "bmm": 0, "addmm": 1, "baddbmm": 1}  # position of the first factor


def operation(func: Any) -> str:
    """Return the name of an operation in the namespace aten."""
    name: str = func._schema.name.removeprefix("aten::")
    return name


def among(name: str, these: frozenset[str]) -> bool:
    """Return whether an operation is one of these, be it in place."""
    return name in these or name.removesuffix("_") in these


# Under the names by which a device is asked for them.
load_kernels, held, like = functions.load, functions.held, functions.like


class NotAllowed(Exception):
    """An operation that is not on the list."""


def prepare() -> None:
    """Use one thread, and load the modules that the first operation under a mode needs."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with Watch({}):
        torch.einsum("id,jd->ij", torch.ones(2, 2), torch.ones(2, 2)).exp().sum()


def rehearse() -> None:
    """Nothing is loaded late: `prepare` has done it."""


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Run the pass of that `number`."""
    functions.serve(header, buffers, number, sys.modules[__name__])


class Counted(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts every operation, and what it makes."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one operation. Raises TooMuchWork."""
        made = func(*args, **(kwargs or {}))
        work.spend(OPERATION + sum(map(_size, made if isinstance(made, tuple | list) else (made,))))
        return made

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # otherwise the first operation imports a compiler, and takes a second


class Watch(Counted):
    """A mode that records each operation and the tensors that stay alive, and refuses operations not on the list."""

    def __init__(self, inputs: Mapping[int, torch.Tensor]):
        """`inputs` by their positions among the launch's tensors."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.records: list[Record] = []
        self._inputs = {tensor.untyped_storage()._cdata: position for position, tensor in inputs.items()}
        self._living: dict[int, tuple[StorageWeakRef, int]] = {}
        self._largest = self._peak = 0
        self._reads = _READS

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one operation. Raises NotAllowed, TooMuchWork."""
        name = operation(func)
        truth = name == _READ and args[0].dtype is torch.bool  # `if` asks for it
        picked = name.startswith("index") and any(_is_bool(one) for one in args[1])  # how many, its length tells
        if truth or picked:
            self._reads -= 1  # or all numbers could be taken to Python bit by bit
        known = among(name, OPERATIONS)
        as_other_type = name == "view" and func._schema.overload_name == "dtype"  # two numbers would count as one
        if not (known or truth) or as_other_type or self._reads < 0:
            raise NotAllowed(name if self._reads >= 0 else _READ)
        made = super().__torch_dispatch__(func, types, args, kwargs)
        if func._schema.is_mutable and isinstance(made, torch.Tensor):
            self._note_change(made)
        for tensor in made if isinstance(made, tuple | list) else (made,):
            if isinstance(tensor, torch.Tensor):
                if tensor.is_complex():
                    raise NotAllowed("complex")  # it is two numbers
                self._note(tensor)
        if name in _FACTORS:
            self._reads += _READS_A_PRODUCT
            factor = args[_FACTORS[name]]
            work.spend(made.numel() * int(factor.shape[-1]))
            self._record(DOT, made.numel(), int(factor.shape[-1]))
        elif name in _ELEMENTWISE and made.numel() > max(_distinct(factor) for factor in args[:2]):
            self._record(DOT, made.numel(), 1)  # rows by columns, and so a part of a product of matrices
        return made

    def _note(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        self._living = {key: one for key, one in self._living.items() if not one[0].expired()}  # type: ignore[no-untyped-call]
        if storage._cdata in self._inputs:
            return
        numbers = storage.nbytes() // tensor.element_size()
        known = self._living.get(storage._cdata)
        if known is None or known[1] != numbers:
            self._living[storage._cdata] = StorageWeakRef(storage), numbers  # type: ignore[no-untyped-call]
        if numbers > self._largest:
            self._largest = numbers
            self._record(BLOCK, numbers)
        if (held := sum(numbers for _, numbers in self._living.values())) > self._peak:
            self._peak = held
            self._record(HELD, held)

    def _note_change(self, tensor: torch.Tensor) -> None:
        """Note where an input is written to: a store of no lanes, as nothing is known of which elements changed."""
        position = self._inputs.get(tensor.untyped_storage()._cdata)
        if position is not None:
            self.records.append(Record(STORE, position, line=running.where()[1]))

    def _record(self, kind: int, lanes: int, detail: int = 0) -> None:
        _, line = running.where()
        self.records.append(Record(kind, line=line, lanes=lanes, detail=detail))


def _size(value: Any) -> int:
    return value.numel() if isinstance(value, torch.Tensor) else 1


def _distinct(value: Any) -> int:
    """Return how many numbers of a factor are not the same one, seen again along an axis that was expanded."""
    if not isinstance(value, torch.Tensor):
        return 1
    return math.prod(side for side, stride in zip(value.shape, value.stride(), strict=True) if stride)


def _is_bool(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.dtype is torch.bool


def translated(error: RuntimeError) -> Exception:
    """Return what PyTorch raises, by the name that it has elsewhere."""
    return MemoryError() if "can't allocate memory" in str(error) else error


def called(loaded: tuple[Any, int], launch: Launch) -> functions.Answer:
    """Return the results of one call."""
    function, line = loaded
    inputs = functions.inputs(launch)
    scalars = {name: value for name, (_, value) in launch.scalars.items()}
    running.entered.clear()
    watch = Watch({n: inputs[name] for n, name in enumerate(launch.tensors) if name in inputs})
    try:
        with watch:
            returned = function(**inputs, **scalars, **launch.constexprs)
    except RuntimeError as error:
        raise translated(error) from None
    outputs = functions.believed(returned, functions.outputs(launch))
    return functions.answered(launch.tensors, inputs | outputs, watch.records, line)
