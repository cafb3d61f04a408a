"""The trusted side of fork servers: children of the box that start at once, for those who check many submissions.

Importing Triton takes longer than a check. Here it is imported once; each submission still has processes of its own.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING

from checker.box.inside.forkserver import ENDED, READY

if TYPE_CHECKING:
    from checker.box.cage.cage import Cage
    from checker.box.processes import Started

_START_SECONDS = 120.0  # to import Triton, also from a cold disk
_END_SECONDS = 10.0
# Of the modules that are served: the interpreter's mode is chosen before Triton is imported.
_VARIABLES = {"checker.box.inside.child": {"TRITON_INTERPRET": "1"}}


class Warm:
    """Fork servers, each started when it is needed first. Use as a context manager, or `close` it."""

    def __init__(self, cage: Cage):
        """`cage`: what holds them, and so all that they fork; it was granted only where the filter works, too."""
        self.cage = cage
        self._servers: dict[str, _ForkServer] = {}

    def start(self, module: str, descriptors: Sequence[int] = (), stdin: int | None = None) -> Forked:
        """A child of the box from `module`, as if started with `descriptors`. `stdin`: a file, if not a pipe.

        One at a time of each module: the one before must have been ended.
        """
        server = self._servers.get(module)
        if server is not None and not server.closed:
            try:
                return Forked(server, descriptors, stdin)
            except OSError:  # somebody has killed it, before it saw anything of this submission
                server.close()
        server = self._servers[module] = _ForkServer(module, self.cage)
        return Forked(server, descriptors, stdin)

    def close(self) -> None:
        """End all servers."""
        for server in self._servers.values():
            server.close()

    def __enter__(self) -> Warm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _ForkServer:
    """A fork server that runs, and the socket to it."""

    def __init__(self, module: str, cage: Cage):
        self.busy = self.closed = False
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.child: Started | None = None
        self.complaint = tempfile.TemporaryFile()  # noqa: SIM115 (held as long as the server)
        try:
            with theirs:
                self.child = cage.start(
                    "checker.box.inside.forkserver",
                    [theirs.fileno(), module],
                    _VARIABLES.get(module, {}),
                    "interpreter",
                    [theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self.complaint,
                )
            self.channel.settimeout(_START_SECONDS)
            if self.channel.recv(len(READY)) != READY:
                self.complaint.seek(0)
                reason = self.complaint.read()[-2000:].decode(errors="replace").strip()
                raise RuntimeError(f"the box did not start: {reason or 'no reason given'}")
            self.channel.settimeout(_END_SECONDS)
        except BaseException:
            self.close()
            raise

    def fork(self, descriptors: Sequence[int]) -> None:
        """Let it fork a child that has `descriptors`. Raises OSError if it is gone."""
        if self.busy:
            raise RuntimeError("a fork server has one child at a time")
        socket.send_fds(self.channel, [b"s"], descriptors)
        self.busy = True

    def end_child(self) -> None:
        """End its child, and all that came of it. A server whose child did not end well serves no other."""
        self.busy = False
        try:
            self.channel.send(b"e")
            well = self.channel.recv(len(ENDED)) == ENDED
        except OSError:  # it is gone, or does not answer
            well = False
        if not well:
            self.close()

    def close(self) -> None:
        """End it."""
        if not self.closed:
            self.closed = True
            self.channel.close()
            if self.child is not None:
                self.child.end()
            self.complaint.close()


class Forked:
    """A child of the box that a fork server has made: what of a `Popen` its users need."""

    def __init__(self, server: _ForkServer, descriptors: Sequence[int], stdin: int | None):
        """Raises OSError if the server is gone."""
        self.server, self.ended = server, False
        self.stdin: IO[bytes] | None = None
        if stdin is None:
            stdin, writer = os.pipe()
            self.stdin = os.fdopen(writer, "wb", buffering=0)
        else:
            stdin = os.dup(stdin)
        readers, writers = zip(os.pipe(), os.pipe(), strict=True)
        self.stdout: IO[bytes] = os.fdopen(readers[0], "rb", buffering=0)
        self.stderr: IO[bytes] = os.fdopen(readers[1], "rb", buffering=0)
        try:
            server.fork([stdin, *writers, *descriptors])
        except BaseException:
            self._close_streams()
            raise
        finally:
            for descriptor in (stdin, *writers):
                os.close(descriptor)

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """All that it writes to standard output and error. Raises subprocess.TimeoutExpired."""
        said = {self.stdout: bytearray(), self.stderr: bytearray()}
        deadline = time.monotonic() + timeout
        with selectors.DefaultSelector() as selector:
            for stream, sink in said.items():
                selector.register(stream, selectors.EVENT_READ, sink)
            while selector.get_map():
                events = selector.select(max(0.0, deadline - time.monotonic()))
                if not events and time.monotonic() >= deadline:
                    raise subprocess.TimeoutExpired("a child of the box", timeout)
                for key, _ in events:
                    data = os.read(key.fd, 1 << 20)
                    key.data.extend(data)
                    if not data:
                        selector.unregister(key.fileobj)
        return bytes(said[self.stdout]), bytes(said[self.stderr])

    def end(self) -> None:
        """End it, and all that came of it."""
        if not self.ended:
            self.ended = True
            self._close(self.stdin)  # one that still waits for a request learns that there is none
            self.server.end_child()
            self._close_streams()

    def _close_streams(self) -> None:
        self._close(self.stdin, self.stdout, self.stderr)

    def _close(self, *streams: IO[bytes] | None) -> None:
        for stream in streams:
            if stream is not None:
                with contextlib.suppress(OSError):  # a broken pipe: the child went first
                    stream.close()
