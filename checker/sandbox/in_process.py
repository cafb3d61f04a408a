"""A sandbox without processes: the same requests, the same typed results, in the judge's own process.

For places that have no processes, such as a browser. There is no wall here, so no points are given: `Conditions`
refuse a key and a GPU. Nothing can be limited but what is printed and the work that is counted: who starts this process
must be able to end it, if a kernel does not finish. It is one-way: Triton stays patched, and in interpreter mode, until
the process ends.
"""

from __future__ import annotations

import io
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from checker.sandbox.exchange import Ending, Received
from checker.sandbox.parent import Limits, Pass, SandboxResult, believed, request
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.device import Device

if TYPE_CHECKING:  # needs NumPy
    from checker.sandbox.protocol.launch import Launch

_PATH = "/submission.py"  # what a submission is called in tracebacks; there is no such file


def _nobody(done: int, every: int, about: str) -> None:
    """Nobody waits."""


# Called after each launch, with how many of all are done, and what it was about: who may end this process waits for it.
alive: Callable[[int, int, str], object] = _nobody


class InProcess:
    """A substitute for a `Sandbox`, with nothing to enter or to leave."""

    def __init__(self, limits: Limits):
        self.limits = limits
        self.about: Sequence[str] = ()  # what each launch is there for, in words

    def run(self, source: str, kernels: list[str], launches: list[Launch], passes: list[Pass]) -> SandboxResult:
        """Run `passes` over `launches`: each a list of (launch number, program order), one after the other."""
        module = interpreter()
        started = time.monotonic()
        frame = wire.pack(*request(source, kernels, launches, passes, Device.INTERPRETER))
        header, buffers = next(wire.unpack(frame))
        results, stopped = [], False
        told = _Progress([self.about[number] if self.about else "" for orders in passes for number, _ in orders])
        for number, orders in enumerate(passes):
            answers, printed, ending = _Answers(told), io.BytesIO(), Ending.STOPPED
            if not stopped:
                ending = passed(module, header, buffers, number, answers, printed, self.limits.output_bytes)
                stopped = ending is not Ending.FINISHED
            one = Received(bytearray(answers.getvalue()), bytearray(printed.getvalue()))
            results.append(believed(one, source, launches, [launch for launch, _ in orders], ending, 0, on_gpu=False))
        versions = {name: sys.modules[name].__version__ for name in ("triton", "numpy")}
        return SandboxResult(results, versions, time.monotonic() - started)


def passed(
    module: Any,
    header: dict[str, Any],
    buffers: list[memoryview],
    number: int,
    answers: BinaryIO,
    printed: BinaryIO,
    most: int,
) -> Ending:
    """Do what a runner does: answer every launch of a pass. Returns how it ended.

    `most`: how many bytes may be printed.
    """
    import numpy as np

    from checker.sandbox.inside.answering import run_pass

    output = _Output(printed, most, answers)
    with (
        suppress(_Flooded),
        redirect_stdout(output),
        redirect_stderr(output),
        np.errstate(all="ignore"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # Triton's own, which the student could do nothing about
        run_pass(answers, module, header, buffers, number, _PATH)
    if output.answered is None:
        return Ending.FINISHED
    answers.truncate(output.answered)
    return Ending.FLOODED


@dataclass
class _Progress:
    """The subjects of launches, in the order in which they run, and how many are done."""

    about: Sequence[str]
    done: int = 0


class _Answers(io.BytesIO):
    """A buffer of answers; it reports each."""

    def __init__(self, told: _Progress):
        super().__init__()
        self._told = told

    def write(self, data: Any) -> int:
        """Keep an answer, and say that it came."""
        told = self._told
        alive(told.done + 1, len(told.about), told.about[told.done] if told.done < len(told.about) else "")
        told.done += 1
        return super().write(data)


class _Flooded(Exception):
    """More was printed than may be."""


class _Output(io.TextIOBase):
    """Printed text, as bytes, up to a limit."""

    def __init__(self, sink: BinaryIO, most: int, answers: BinaryIO):
        self.sink, self.left, self.answers = sink, most, answers
        self.answered: int | None = None  # bytes, before the launch that printed too much: what came of that is no news

    def write(self, text: str) -> int:
        """Keep a text. Raises _Flooded from the limit on: it ends the kernel, and what begins the next launch."""
        data = text.encode(errors="replace")
        self.sink.write(data[: self.left])
        self.left -= len(data)
        if self.left < 0:
            self.left = 0
            self.answered = self.answers.tell() if self.answered is None else self.answered
            raise _Flooded
        return len(text)


@cache
def interpreter() -> Any:
    """Return the module that runs kernels, after it has patched Triton, once in a process. It takes
    a second to load.
    """
    import numpy as np

    from checker.sandbox.inside import interpreter as module

    with np.errstate():  # what it sets for the whole process is set for kernels only
        module.prepare()
    return module
