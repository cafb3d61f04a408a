"""A runner's work on the submission: load its kernels, run each launch of a pass, answer with a frame for each.

Nothing here needs processes: `sandbox.in_process` does the same where there are none.
"""

from __future__ import annotations

import itertools
import traceback
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from checker.sandbox.inside import outcomes
from checker.sandbox.inside.budget import TooMuchWork, work
from checker.sandbox.inside.memory import Memory, RefusedAccess, SandboxTensor
from checker.sandbox.inside.overrides import given
from checker.sandbox.inside.running import running
from checker.sandbox.inside.stepping import Recorder, SeenMemory
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import Launch
from checker.sandbox.protocol.records import FILLS, MEMORY, TILE, TOO_MUCH_WORK

MESSAGE_LIMIT = 2000  # characters of an exception's text that leave the sandbox
_LAUNCHES_IN_FULL = 4  # one in so many may do all that it may


@dataclass(frozen=True)
class Asked:
    """One launch of a pass."""

    number: int
    order: list[int]  # of its programs
    launch: Launch
    kernel: Any
    path: str  # what the submission is called in tracebacks
    source: str = ""


def run_pass(
    stream: BinaryIO, device: Any, header: dict[str, Any], buffers: list[memoryview], number: int, path: str
) -> None:
    """Answer every launch of a pass, in order. Nothing raised by the submission gets further.

    `device`: the module that runs kernels. `path`: what the submission is called in tracebacks.
    """
    try:
        kernels = device.load_kernels(path, header["source"], header["kernels"])
    except BaseException as error:
        _send(stream, {"launch": None, "error": _described(error, path)})
        return
    on = Device(header["device"])
    answer = _answer_from_gpu if on.on_gpu else _answer_of_pytorch if on.in_torch else _answer
    every = []
    for place, order in header["passes"][number]:
        launch = Launch.unpacked(header["launches"][place], buffers)
        every.append(Asked(place, order, launch, kernels[launch.kernel], path, header["source"]))
    if on.on_gpu:
        device.start(kernels, [asked.launch for asked in every], number, header["most_shared"])
    mark = wire.launch_mark(header["source"])
    allowed = [asked.launch.most_work for asked in every]
    left = max(sum(allowed) // _LAUNCHES_IN_FULL, *allowed, 1)  # of all together
    for asked in every:
        print(f"{mark}{asked.number}")
        limited = replace(asked.launch, most_work=min(asked.launch.most_work, left))
        if not answer(stream, device, replace(asked, launch=limited)):
            return
        left = max(left - work.done, 1)


def _answer(stream: BinaryIO, device: Any, asked: Asked) -> bool:
    """Run one launch and send its results.

    If masked lanes without `other` were loaded, the launch runs again with other values in those
    lanes, so that the judge can tell whether anything of them arrives. (NaN alone would not do:
    the interpreter's maximum ignores it.)
    """
    answer, memory, steps = launched(asked, float("nan"))
    buffers = [tensor.values.tobytes() for tensor in memory.tensors]
    answer["again"] = 0
    if memory.poisoned and not steps and answer["error"] is None and answer["refused"] is None:
        repeats = [launched(asked, fill) for fill in FILLS]
        if all(repeat["error"] is None and repeat["refused"] is None for repeat, *_ in repeats):
            answer["again"] = len(FILLS)
            buffers += [tensor.values.tobytes() for _, filled, _ in repeats for tensor in filled.tensors]
    _send(stream, answer, [*buffers, *steps, *(part.tobytes() for part in memory.log())])
    return not _ended(answer)


def _answer_from_gpu(stream: BinaryIO, cuda: Any, asked: Asked) -> bool:
    """Run one launch on the GPU and send its results. False if the GPU will take no more from this process."""
    from checker.sandbox.inside.lowering import described

    answer: dict[str, Any] = {"launch": asked.number, "refused": None, "error": None, "again": 0}
    results = [argument.values.tobytes() for argument in asked.launch.tensors.values()]
    try:
        results, answer["outside"] = cuda.launched(asked.kernel, asked.launch)
    except cuda.TooLarge:
        answer["left_out"] = MEMORY
    except cuda.TileTooLarge:
        answer["left_out"] = TILE
    except BaseException as error:
        answer["error"] = described(error, asked.path)
    _send(stream, answer, [*results, b"", b""])
    return answer["error"] is None or cuda.alive()


def _answer_of_pytorch(stream: BinaryIO, pytorch: Any, asked: Asked) -> bool:
    """Call the function once and send its results."""
    answer: dict[str, Any] = {"launch": asked.number, "refused": None, "error": None, "again": 0}
    results, log = [argument.values.tobytes() for argument in asked.launch.tensors.values()], (b"", b"")
    most = asked.launch.most_steps
    recorder = Recorder(asked.source, pytorch.held, None, most) if most else None
    outcomes.had.clear()
    try:
        work.begin(asked.launch.most_work)
        given.begin(asked.launch.given, pytorch.like)
        with recorder or nullcontext():
            made = pytorch.called(asked.kernel, asked.launch)
        results, log = [*made.dense, *itertools.chain(*made.filled)], (made.log, made.elements)
        answer |= {"again": len(made.filled), "moved": made.moved}
    except BaseException as error:
        answer["error"] = _described(error, asked.path)
    buffers = [*results, *(recorder.buffers if recorder else ()), *log]
    answer["reached"], answer["launched"] = running.bodies(), [*running.launched.values()]
    answer["outcomes"] = [*outcomes.had.items()]
    _send(stream, answer, buffers)
    return not _ended(answer)


def _ended(answer: dict[str, Any]) -> bool:
    """Return whether a launch has done too much. Then others would, too: the pass ends with it."""
    return answer["error"] is not None and answer["error"]["type"] == TOO_MUCH_WORK


def launched(asked: Asked, poison: float) -> tuple[dict[str, Any], Memory, Sequence[bytes]]:
    """(What is answered of one launch, the memory that it ran in, its steps), with `poison` in undefined masked lanes.

    Steps are told if they are asked for.
    """
    scratch: dict[str, npt.NDArray[Any]] = {}
    for _ in range(asked.launch.in_a_row - 1):
        answer, memory, steps = _once(_backwards(asked), poison, scratch)
        if answer["error"] is not None or answer["refused"] is not None:
            return answer, memory, steps
        scratch = {tensor.name: tensor.values for tensor in memory.tensors if tensor.scratch}
    return _once(asked, poison, scratch)


def _backwards(asked: Asked) -> Asked:
    """Return the launch with all values in reverse: what it leaves in scratch is wrong for the next one."""
    tensors = {
        name: argument if argument.scratch else replace(argument, values=np.flip(argument.values))
        for name, argument in asked.launch.tensors.items()
    }
    return replace(asked, launch=replace(asked.launch, tensors=tensors))


def _once(
    asked: Asked, poison: float, scratch: dict[str, npt.NDArray[Any]]
) -> tuple[dict[str, Any], Memory, Sequence[bytes]]:
    """Return one launch; `scratch` is what the launch before has left in tensors of that kind."""
    from checker.sandbox.inside import interpreter

    launch = asked.launch
    tensors = [
        SandboxTensor(
            name,
            scratch[name] if name in scratch else argument.values.copy(),
            argument.strides,
            bf16=argument.bf16,
            scratch=argument.scratch,
        )
        for name, argument in launch.tensors.items()
    ]
    kind = SeenMemory if launch.most_steps else Memory
    memory = kind(tensors, interpreter.running_position, poison, launch.most_touched)
    recorder = None
    if isinstance(memory, SeenMemory):
        recorder = Recorder(asked.source, partial(interpreter.held, memory), memory, launch.most_steps)
    memory.tf32 = launch.tf32
    answer: dict[str, Any] = {"launch": asked.number, "refused": None, "error": None}
    outcomes.had.clear()
    try:
        work.begin(launch.most_work)
        given.begin(launch.given, interpreter.like)
        arguments: dict[str, Any] = {tensor.name: interpreter.pointer(tensor) for tensor in memory.tensors}
        for name, (dtype, value) in launch.scalars.items():
            arguments[name] = interpreter.scalar(value, dtype)
        arguments.update(launch.constexprs)
        order = np.array(asked.order, dtype=np.int64)
        with recorder or nullcontext():
            interpreter.launch(
                asked.kernel, memory, arguments, launch.grid, order, launch.checked_arithmetic, launch.resident
            )
    except BaseException as error:
        cause = _root(error)
        if isinstance(cause, RefusedAccess):
            answer["refused"] = cause.report
        else:
            answer["error"] = {**_described(error, asked.path), "program": interpreter.program_now()}
    answer["reached"], answer["outcomes"] = running.bodies(), [*outcomes.had.items()]
    return answer, memory, recorder.buffers if recorder else ()


def _root(error: BaseException) -> BaseException:
    """Return the first error: Triton wraps the errors of device functions once per call."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _described(error: BaseException, path: str) -> dict[str, Any]:
    """Type, message and line of the submission, as data. Says nothing of the sandbox's own frames."""
    cause = _root(error)
    if isinstance(cause, TooMuchWork):  # the message is a number: how often the loop ran that ran most often
        line, times = running.busiest_loop()
        return {"type": TOO_MUCH_WORK, "message": str(times), "line": line, "program": 0}
    line = 0
    for wrapped in (error, cause):
        for frame, number in traceback.walk_tb(wrapped.__traceback__):
            if frame.f_code.co_filename == path:
                line = number
    try:
        message = str(cause)[:MESSAGE_LIMIT]
    except BaseException:
        message = ""
    return {"type": type(cause).__name__[:100], "message": message, "line": line, "program": 0}


def _send(stream: BinaryIO, header: dict[str, Any], buffers: Sequence[bytes] = ()) -> None:
    view = memoryview(wire.pack(header, buffers))
    while view:
        view = view[stream.write(view) :]
