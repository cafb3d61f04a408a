"""One request to a server of the sandbox, and the answers of the runners that it forks, within limits."""

from __future__ import annotations

import os
import selectors
import signal
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from checker.sandbox.host import Server
from checker.sandbox.processes import SandboxFailed, Sleep, in_memory

STARTUP_SECONDS = 120.0  # to import Triton, also from a cold disk
_BETWEEN_LOOKS = 1.0  # seconds
SLACK = 1.0  # seconds: who is killed with less than that left was killed by the limit
_CHUNK = 1 << 20


class Ending(str, Enum):
    """The end of a runner."""

    FINISHED = "finished"
    EXITED = "exited"  # left without having answered everything
    KILLED = "killed"  # by a signal of its own doing
    KILLED_FROM_OUTSIDE = "killed-from-outside"  # by SIGKILL, which it cannot send, and which was not ours
    CPU_TIME = "cpu-time"
    WALL_TIME = "wall-time"
    WAITED = "waited"  # for something, where nothing can be waited for
    FLOODED = "flooded"
    STOPPED = "stopped"  # by us, because of how the other one ended


class TooBusy(RuntimeError):
    """The machine had other things to do, so nothing can be said of the submission: a sentence."""


@dataclass
class Received:
    """One runner's bytes, not yet believed, and how it ended."""

    answer: bytearray = field(default_factory=bytearray)
    output: bytearray = field(default_factory=bytearray)
    code: int | None = None  # its exit status, negative if it was a signal; None if its server did not tell
    cpu_seconds: float = 0.0
    early: Ending | None = None  # why it is ended before it ends

    @property
    def machine_at_fault(self) -> bool:
        """Whether all of its time, or of its CPU time, was not enough for what it may do."""
        return self.early is Ending.WALL_TIME or self.code == -signal.SIGXCPU

    def ending(self, most_cpu_seconds: float, harmless: bool) -> tuple[Ending, int]:
        """Return how it ended, and its exit status or the number of a signal. `harmless`: it cannot send one."""
        if self.early is not None:
            return self.early, 0
        by_kill = self.code is None or self.code == -signal.SIGKILL  # None: its server was killed, and cannot say
        used_up = self.cpu_seconds >= most_cpu_seconds - SLACK
        if self.code in (-signal.SIGPROF, -signal.SIGXCPU) or (by_kill and used_up):
            return Ending.CPU_TIME, 0
        if self.code is None or by_kill:
            return Ending.KILLED_FROM_OUTSIDE if harmless else Ending.KILLED, signal.SIGKILL
        if self.code < 0:
            return Ending.KILLED, -self.code
        return (Ending.FINISHED if self.code == 0 else Ending.EXITED), self.code


class Exchange:
    """A request that a server has got, and the pipes from its runners. Use as a context manager."""

    def __init__(self, server: Server, request: bytes, runners: int = 1):
        """Send `request`, one frame, to all `runners`. Each has its number, a pipe to answer and one to print into."""
        self.server = server
        self.runners = [Received() for _ in range(runners)]
        pipes = [os.pipe() for _ in range(2 * runners)]
        self.readers = [reader for reader, _ in pipes]
        writers = [writer for _, writer in pipes]
        try:
            with in_memory(request) as file:
                server.request([file, *writers])
        except BaseException:
            self._close()
            raise
        finally:
            for writer in writers:
                os.close(writer)

    def received(
        self, seconds: float, answer_bytes: int, output_bytes: int, waiting_seconds: float = 0.0
    ) -> list[Received]:
        """Read until nothing more can come, a limit is hit, or `seconds` have passed since the server was there.

        `waiting_seconds`: after so many in which nothing comes and all that runs only sleeps, it is ended; 0: never.
        Raises SandboxFailed if the server never was there.
        """
        deadline = time.monotonic() + (seconds if self.server.versions else STARTUP_SECONDS)
        sleep = Sleep(self.server.process.pid)
        with selectors.DefaultSelector() as selector:
            for number, one in enumerate(self.runners):
                answers, outputs = self.readers[2 * number : 2 * number + 2]
                selector.register(answers, selectors.EVENT_READ, (one, one.answer, answer_bytes))
                selector.register(outputs, selectors.EVENT_READ, (one, one.output, output_bytes))
            selector.register(self.server.channel, selectors.EVENT_READ)
            while selector.get_map() and not any(one.early for one in self.runners):
                events = selector.select(min(_BETWEEN_LOOKS, max(0.0, deadline - time.monotonic())))
                if events:
                    sleep.disturbed()
                elif time.monotonic() >= deadline:
                    self._stop(Ending.WALL_TIME)
                    break
                elif self.server.versions and 0 < waiting_seconds <= sleep.seconds():
                    self._stop(Ending.WAITED)
                    break
                for key, _ in events:
                    if key.data is not None:
                        more = _drain(key.fd, *key.data)
                    else:
                        message = self.server.next_message()
                        more = message is not None and self._noted(message)
                        if message is not None and "versions" in message:
                            deadline = time.monotonic() + seconds
                    if not more:
                        selector.unregister(key.fileobj)
        if not self.server.versions:
            raise SandboxFailed(f"the sandbox did not start: {self.server.complaint()}")
        if any(one.early for one in self.runners):
            self._stop(Ending.STOPPED)
        return self.runners

    def _noted(self, message: dict[str, Any]) -> bool:
        """Note a message of the server. False if it was the last of this request."""
        if "runner" in message:
            one = self.runners[message["runner"]]
            one.code, one.cpu_seconds = message["code"], message["cpu_seconds"]
        return "done" not in message

    def _stop(self, why: Ending) -> None:
        """Whatever has not ended yet is ended, when the server is closed."""
        for one in self.runners:
            if one.code is None:
                one.early = one.early or why

    def _close(self) -> None:
        for reader in self.readers:
            os.close(reader)

    def __enter__(self) -> Exchange:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


def _drain(descriptor: int, one: Received, sink: bytearray, most: int) -> bool:
    """Read once; False at the end of the stream. Too much ends the exchange."""
    data = os.read(descriptor, _CHUNK)
    sink += data
    if len(sink) > most:
        del sink[most:]
        one.early = Ending.FLOODED
    return bool(data)
