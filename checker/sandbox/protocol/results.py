"""Results of a runner, believed only after shape, type and length have been checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.sandbox.protocol import wire
from checker.sandbox.protocol.launch import Form, Launch
from checker.sandbox.protocol.records import (
    BARRIER,
    DOT,
    FILLS,
    KINDS,
    LAUNCHED,
    LOAD,
    LOSS,
    MEMORY,
    PRODUCT,
    STORE,
    TILE,
    WAYS,
    columns,
)
from checker.sandbox.protocol.steps import MalformedSteps, Steps, unpacked

Ints = npt.NDArray[np.int32]

# What outputs hold on a GPU until they are written: bits of a NaN that no operation gives.
MARKS = {"float32": 0x7FC0BEEF, "float16": 0x7E5B, "bfloat16": 0x7FDB}
LONGEST_HEADER = 1 << 16  # bytes; an honest one has less than ten thousand
MOST_BUFFERS = 1 << 8  # an honest answer has the launch's tensors, once more for each of FILLS, and a log


class MalformedAnswer(ValueError):
    """A runner's answer does not have the form that was asked for."""


def marked(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which elements still hold the mark, and so were never written."""
    if values.dtype.name not in MARKS:
        return np.zeros(values.shape, bool)
    kind = np.int32 if values.dtype.itemsize == 4 else np.int16
    return np.asarray(values.view(kind) == MARKS[values.dtype.name])


@dataclass(frozen=True)
class Refusal:
    """An access that was refused. Offsets count elements from the tensor's first one."""

    store: bool
    tensor: str | None  # None: the address is near no tensor
    program: int
    line: int
    first: int  # offset of the first lane that is outside
    lowest: int  # smallest and largest offset of all active lanes
    highest: int
    lanes: int
    outside: int
    dtype: str  # what the kernel took the elements for


@dataclass(frozen=True)
class KernelError:
    """The error that the kernel raised."""

    type: str
    message: str
    line: int
    program: int


@dataclass(frozen=True)
class AccessLog:
    """Every load and store of a launch, every barrier and matrix product, as they happened.

    Arrays of one entry per record; `records` has their codes. `elements` joins the distinct dense element numbers of
    all accesses.
    """

    kind: Ints
    tensor: Ints  # position among the launch's tensors
    program: Ints
    line: Ints
    distinct: Ints  # number of distinct elements
    lanes: Ints  # of the whole block, masked or not
    detail: Ints  # depends on the kind: use the names below
    elements: Ints

    @property
    def overwritten(self) -> Ints:
        """Of stores: lanes whose element another lane gave another value."""
        return np.maximum(self._of(STORE), 0)

    @property
    def repeated(self) -> Ints:
        """Of stores: lanes that give an element the value that another lane gives it too."""
        return np.maximum(-self._of(STORE), 0)

    @property
    def padded(self) -> npt.NDArray[np.bool_]:
        """The loads with masked lanes that could count: they do not hold -inf."""
        return np.asarray(self._of(LOAD) != 0)

    @property
    def undefined(self) -> npt.NDArray[np.bool_]:
        """The loads with masked lanes whose value is undefined."""
        return np.asarray(self._of(LOAD) < 0)

    @property
    def terms(self) -> Ints:
        """Of matrix products: how many terms each element sums."""
        return self._of(DOT)

    @property
    def products(self) -> Ints:
        """The elements that one line of one program multiplies one by one."""
        return self._of(PRODUCT)

    @property
    def launched(self) -> list[tuple[int, int, int]]:
        """(which linked kernel, line, programs) of each launch of a PyTorch program, in order."""
        some = self.kind == LAUNCHED
        return list(zip(*(c[some].tolist() for c in (self.detail, self.line, self.lanes)), strict=True))

    @property
    def losses(self) -> list[tuple[int, int, int]]:
        """(which of WAYS to lose digits or bits, first line, how often) of each that was taken, in order."""
        some = self.kind == LOSS
        return sorted(zip(*(c[some].tolist() for c in (self.detail, self.line, self.lanes)), strict=True))

    def _of(self, kind: int) -> Ints:
        """Return the detail of one kind of records; of others 0."""
        return np.where(self.kind == kind, self.detail, np.int32(0))

    def moved(self, kind: int, tensor: int) -> int:
        """Distinct elements of a tensor per load, or per store, all added up."""
        return int(self.distinct[(self.kind == kind) & (self.tensor == tensor)].sum(dtype=np.int64))


@dataclass(frozen=True)
class Launched:
    """The launch of a kernel by a PyTorch program."""

    kernel: int  # which one of those that are linked to it
    line: int
    form: Form
    options: Mapping[str, int]  # num_warps, num_stages


@dataclass(frozen=True)
class LaunchResult:
    """The result of one launch: tensors afterwards, the log, and how it ended."""

    tensors: dict[str, npt.NDArray[Any]]
    filled: list[dict[str, npt.NDArray[Any]]]  # the same with other values in undefined masked lanes
    log: AccessLog  # empty on a GPU
    refused: Refusal | None
    error: KernelError | None
    on_gpu: bool = False
    outside: str | None = None  # on a GPU: a tensor whose surroundings were written to
    left_out: str = ""  # on a GPU: what it has not enough of for this launch, MEMORY or room for its TILE
    reached: frozenset[int] = frozenset()  # numbers of the bodies that were entered; on a GPU nobody counts them
    outcomes: Mapping[int, int] = field(default_factory=dict)  # of expressions, by their numbers; on a GPU none
    launched: tuple[Launched, ...] = ()  # by a PyTorch program
    moved: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # by its kernels: elements loaded, and stored
    steps: Steps | None = None  # if they were asked for


@dataclass
class Answers:
    """The answers of one runner: results by launch number, as far as it got."""

    results: dict[int, LaunchResult]
    loading: KernelError | None = None  # what kept the kernels from being loaded
    malformed: str | None = None  # why nothing after the last result can be believed


def parse(data: bytes, launches: list[Launch], asked: list[int], on_gpu: bool = False) -> Answers:
    """Read a runner's answers. `asked` are the launches of its pass, in order."""
    answers = Answers({})
    try:
        for header, buffers in wire.unpack(data, LONGEST_HEADER, MOST_BUFFERS):
            if header.get("launch", 0) is None:
                answers.loading = parse_error(header.get("error"))
                return answers
            done = len(answers.results)
            if done == len(asked) or header.get("launch") != asked[done]:
                raise MalformedAnswer("an answer to something that was not asked")
            answers.results[asked[done]] = _result(header, buffers, launches[asked[done]], on_gpu)
    except (MalformedAnswer, MalformedSteps, wire.MalformedFrame) as error:
        answers.malformed = str(error)
    return answers


def _result(header: dict[str, Any], buffers: list[memoryview], launch: Launch, on_gpu: bool) -> LaunchResult:
    count, stepped = len(launch.tensors), 2 * bool(launch.most_steps)
    [again] = _integers(header, "again")
    if again not in (0, len(FILLS)) or len(buffers) != count * (1 + again) + stepped + 2:
        raise MalformedAnswer("an answer with the wrong number of buffers")
    log = _log(buffers[-2], buffers[-1], launch)
    refused = header.get("refused")
    error = header.get("error")
    outside = header.get("outside")
    return LaunchResult(
        tensors=_tensors(buffers[:count], launch),
        filled=[_tensors(buffers[count * n : count * (n + 1)], launch) for n in range(1, 1 + again)],
        log=log,
        refused=None if refused is None else _refusal(refused, launch),
        error=None if error is None else parse_error(error),
        on_gpu=on_gpu,
        outside=outside if isinstance(outside, str) and outside in launch.tensors else None,
        left_out=left_out if on_gpu and (left_out := header.get("left_out")) in (MEMORY, TILE) else "",
        reached=frozenset() if on_gpu else _numbers(header.get("reached")),
        outcomes=_outcomes(header.get("outcomes", [])),
        launched=_launched(header.get("launched", [])),
        moved=_moved(header.get("moved", {}), launch),
        steps=_steps(buffers[-4], buffers[-3], launch, log) if stepped else None,
    )


def _tensors(buffers: list[memoryview], launch: Launch) -> dict[str, npt.NDArray[Any]]:
    tensors = {}
    for (name, argument), buffer in zip(launch.tensors.items(), buffers, strict=True):
        if len(buffer) != argument.values.nbytes:
            raise MalformedAnswer(f"tensor {name} came back with another size")
        tensors[name] = np.frombuffer(buffer, argument.values.dtype).reshape(argument.values.shape)
    return tensors


def _log(records: memoryview, elements: memoryview, launch: Launch) -> AccessLog:
    try:
        log = AccessLog(**columns(records), elements=np.frombuffer(elements, np.int32))
    except ValueError:
        raise MalformedAnswer("the access log has a broken length") from None
    sizes = np.array([a.values.size for a in launch.tensors.values()] or [0])
    sound = (
        ((log.kind >= 0) & (log.kind < len(KINDS))).all()
        and ((log.tensor >= 0) & (log.tensor < max(1, len(launch.tensors)))).all()
        and ((log.program >= 0) & (log.program < launch.programs)).all()
        and (log.lanes >= 0).all()
        and not log.lanes[log.kind == BARRIER].any()
        and (log.products >= 0).all()
        and {way for way, *_ in log.losses} <= {*WAYS}
        and (log.distinct >= 0).all()
        and log.distinct.sum(dtype=np.int64) == log.elements.size
    )
    if sound:
        extent = np.repeat(sizes[log.tensor], log.distinct)
        sound = bool(((log.elements >= 0) & (log.elements < extent)).all())
    if not sound:
        raise MalformedAnswer("the access log contradicts itself")
    return log


def _steps(text: memoryview, numbers: memoryview, launch: Launch, log: AccessLog) -> Steps:
    return unpacked(text, numbers, programs=launch.programs, tensors=len(launch.tensors), records=len(log.kind))


def _integers(fields: dict[str, Any], *names: str) -> list[int]:
    values = [fields.get(name) for name in names]
    if not all(type(value) is int and abs(value) < 1 << 63 for value in values):
        raise MalformedAnswer("a number is missing")
    return values  # type: ignore[return-value]


def _numbers(values: Any) -> frozenset[int]:
    if not isinstance(values, list) or not all(type(value) is int for value in values):
        raise MalformedAnswer("numbers are missing")
    return frozenset(values)


def _outcomes(told: Any) -> dict[int, int]:
    if not isinstance(told, list) or not all(isinstance(one, list) and len(one) == 2 for one in told):
        raise MalformedAnswer("outcomes are no list of pairs")
    return {
        number: bits
        for one in told
        for number, bits in [_integers({"number": one[0], "bits": one[1]}, "number", "bits")]
    }


def _moved(told: Any, launch: Launch) -> dict[str, tuple[int, int]]:
    if not isinstance(told, dict) or not told.keys() <= launch.tensors.keys():
        raise MalformedAnswer("what was moved is no object of tensors")
    pairs = [(name, counts) for name, counts in told.items() if isinstance(counts, list) and len(counts) == 2]
    if len(pairs) < len(told) or not all(type(n) is int and 0 <= n < 1 << 62 for _, counts in pairs for n in counts):
        raise MalformedAnswer("what was moved is told otherwise")
    return {name: (counts[0], counts[1]) for name, counts in pairs}


def _launched(told: Any) -> tuple[Launched, ...]:
    if not isinstance(told, list) or not all(isinstance(fields, dict) for fields in told):
        raise MalformedAnswer("launches are no list of objects")
    found = []
    for fields in told:
        kernel, line = _integers(fields, "kernel", "line")
        multiples = fields.get("multiples")
        if not isinstance(multiples, list) or not all(isinstance(name, str) for name in multiples):
            raise MalformedAnswer("a launch has no list of multiples")
        form = Form(_dict(fields, "signature", str), _dict(fields, "constexprs", int, float, bool), tuple(multiples))
        found.append(Launched(kernel, line, form, _dict(fields, "options", int)))
    return tuple(found)


def _dict(fields: dict[str, Any], name: str, *kinds: type) -> dict[str, Any]:
    """Return one of the fields that has values of these types by name."""
    found = fields.get(name)
    if not isinstance(found, dict) or not all(type(value) in kinds for value in found.values()):
        raise MalformedAnswer(f"a launch has no {name}")
    return found


def _refusal(fields: Any, launch: Launch) -> Refusal:
    if not isinstance(fields, dict):
        raise MalformedAnswer("a refusal is not an object")
    kind, program, line, first, lowest, highest, lanes, outside = _integers(
        fields, "kind", "program", "line", "first", "lowest", "highest", "lanes", "outside"
    )
    tensor = fields.get("tensor")
    if tensor is not None and (not isinstance(tensor, str) or tensor not in launch.tensors):
        raise MalformedAnswer("a refusal names an unknown tensor")
    if not isinstance(dtype := fields.get("dtype"), str):
        raise MalformedAnswer("a refusal has no type")
    return Refusal(kind == STORE, tensor, program, line, first, lowest, highest, lanes, outside, dtype[:20])


def parse_error(fields: Any) -> KernelError:
    """Return what a runner says was raised. MalformedAnswer if it is not that."""
    if not isinstance(fields, dict):
        raise MalformedAnswer("an error is not an object")
    line, program = _integers(fields, "line", "program")
    kind, message = fields.get("type"), fields.get("message")
    if not (isinstance(kind, str) and isinstance(message, str)):
        raise MalformedAnswer("an error's text is missing")
    return KernelError(kind[:100], message[:4000], line, program)
