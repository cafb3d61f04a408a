"""Servers for untrusted code: processes that have imported Triton, and fork for each request.

A server sees nothing of a submission. What it forks reads the request, runs it under limits and ends, so no process
ever serves two. Importing Triton takes longer than a check: a host that keeps its servers pays for it once.
"""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checker.sandbox import standin
from checker.sandbox.folders import own_folder, place
from checker.sandbox.processes import Started, command_of, environment
from checker.sandbox.protocol.device import Device

if TYPE_CHECKING:  # where there is no fcntl, there is no cage either
    from checker.sandbox.cage.cage import Cage

COMPILER = "compiler"  # a server that runs nothing
# Module, variables (the interpreter's mode is chosen before Triton is imported), how many runners run at once.
_KINDS: dict[str, tuple[str, dict[str, str], int]] = {
    Device.INTERPRETER: ("runner", {"TRITON_INTERPRET": "1"}, 2),
    Device.CUDA: ("runner", {}, 2),
    Device.PYTORCH: ("pytorch", {}, 2),
    Device.AUTOGRAD: ("autograd", {"TRITON_INTERPRET": "1"}, 2),
    Device.OWN: ("own", {"TRITON_INTERPRET": "1"}, 2),
    COMPILER: ("compiler", {}, 2),
}
_LONGEST_MESSAGE = 1 << 12


class Server:
    """A process that has imported Triton, or is about to, and the socket to it. `close` it."""

    def __init__(self, kind: str, cage: Cage | None, kept: bool):
        """`kept`: for more than one request. It runs something of its own first, so that its runners are fast."""
        self.versions: dict[str, str] = {}  # of what it has imported; empty until it has said hello
        self.busy = False
        module, variables, at_once = _KINDS[kind]
        with ExitStack() as stack:
            self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            stack.enter_context(self.channel)
            self._complaint = stack.enter_context(tempfile.TemporaryFile(dir=place()))
            with theirs:
                main = "checker.sandbox.inside.harness", (theirs.fileno(), module, at_once, kept)
                streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
                streams |= {"stderr": self._complaint, "pass_fds": [theirs.fileno()]}
                if cage is not None:
                    self.process = cage.start(*main, variables, **streams)
                else:
                    path = stack.enter_context(own_folder())
                    variables = environment(path) | variables
                    command = command_of(main[0], *main[1])
                    self.process = Started(command, cwd=path, env=variables, start_new_session=True, **streams)
            stack.callback(self.process.end)
            self.close = stack.pop_all().close

    def request(self, descriptors: Sequence[int]) -> None:
        """Let it fork runners that have `descriptors`: a file with the request, then two pipes for each runner."""
        if self.busy:
            raise RuntimeError("a server has one request at a time")
        self.busy = True
        with suppress(OSError):  # it is gone, as it will be seen to have told nothing
            socket.send_fds(self.channel, [b"r"], descriptors)

    def next_message(self) -> dict[str, Any] | None:
        """Return what it says next; None if it is gone."""
        try:
            data = self.channel.recv(_LONGEST_MESSAGE)
        except OSError:
            return None
        if not data:
            return None
        message: dict[str, Any] = json.loads(data)
        self.versions |= message.get("versions", {})
        if "done" in message:
            self.busy = False
        return message

    def complaint(self) -> str:
        """Return what it has written to standard error."""
        self._complaint.seek(0)
        return self._complaint.read()[-2000:].decode(errors="replace").strip() or "no reason given"

    @property
    def gone(self) -> bool:
        """Whether it has ended, or somebody has killed it."""
        try:
            return self.channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True


@dataclass(frozen=True)
class Host:
    """A place where submissions run, by default processes next to the checker's. A context manager, or `close` it."""

    cage: Cage | None = None  # around these processes, in grading
    kept: bool = False  # servers serve one request after another, for those who check many
    in_process: bool = False  # in the judge's own process, where there are no others: see `sandbox.in_process`
    alone: bool = field(default_factory=standin.needed)  # in one process, without Triton's binary: see `one_process`
    _idle: dict[str, list[Server]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def walled(self) -> bool:
        """Whether a submission runs under limits that it cannot escape; elsewhere no points are given."""
        return not self.in_process and not self.alone

    @contextmanager
    def begun(self, kind: str) -> Iterator[None]:
        """Start the first server of a kind ahead, so that it imports Triton while this process imports as well.

        Nothing is started where servers are kept, or there are none. One that nobody asks for ends with the block.
        """
        if self.walled and not self.kept:
            self._idle.setdefault(kind, []).append(Server(kind, self.cage, kept=False))
        try:
            yield
        finally:
            if not self.kept:
                self.close()

    @contextmanager
    def server(self, kind: str, *, may_stay: bool = True) -> Iterator[Server]:
        """A server for one request at most. Afterwards it is ended, with all that came of it, or kept.

        It is kept only after it has said that nothing is left of the request. `may_stay`: if the host keeps servers.
        """
        kept = self.kept and may_stay
        idle = self._idle.setdefault(kind, []) if may_stay or not self.kept else []
        while idle and idle[-1].gone:
            idle.pop().close()
        server = idle.pop() if idle else Server(kind, self.cage, kept)
        try:
            yield server
        finally:
            if kept and not server.busy:
                idle.append(server)
            else:
                server.close()

    def close(self) -> None:
        """End all servers."""
        for servers in self._idle.values():
            while servers:
                servers.pop().close()

    def __enter__(self) -> Host:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
