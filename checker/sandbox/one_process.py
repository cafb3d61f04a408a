"""A sandbox of one process, for systems on which Triton has no binary, such as macOS and Windows.

The process runs the kernels as `in_process` does, with Triton's Python files alone, and is killed at its time limit.
Nothing else limits it but the work that is counted, and nothing keeps it from the rest of the machine. So no points
are given, as with `in_process`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from checker.sandbox import standin
from checker.sandbox.exchange import STARTUP_SECONDS, Ending, Received
from checker.sandbox.folders import own_folder, place
from checker.sandbox.in_process import interpreter, passed
from checker.sandbox.parent import Limits, Pass, SandboxResult, believed, not_done, request
from checker.sandbox.processes import SandboxFailed, command_of, paths
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.device import Device

if TYPE_CHECKING:  # needs NumPy
    from checker.sandbox.protocol.launch import Launch


class OneProcess:
    """A substitute for a `Sandbox`. Use as a context manager: the process starts first, and imports meanwhile."""

    def __init__(self, limits: Limits):
        self.limits = limits

    def __enter__(self) -> OneProcess:
        self._stack = ExitStack()
        self._folder = self._stack.enter_context(own_folder())
        path = [*paths(), str(standin.python_files())]
        command = command_of(__name__, self._folder, self.limits.output_bytes, path=path)
        self._complaint = tempfile.TemporaryFile(dir=place())
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._complaint}
        self._process = subprocess.Popen(command, cwd=self._folder, **streams)  # type: ignore[call-overload]
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaint.close()
        self._stack.close()

    def run(self, source: str, kernels: list[str], launches: list[Launch], passes: list[Pass]) -> SandboxResult:
        """Run `passes` over `launches`, each a list of (launch, program order). Raises SandboxFailed, TooBusy."""
        versions = self._versions()
        started = time.monotonic()
        otherwise = Ending.EXITED
        try:
            frame = wire.pack(*request(source, kernels, launches, passes, Device.INTERPRETER))
            self._process.communicate(frame, self.limits.wall_seconds)
        except subprocess.TimeoutExpired:
            raise not_done(self.limits) from None
        seconds = time.monotonic() - started
        results = []
        for number, orders in enumerate(passes):
            said = self._read(number, "ending").decode()
            ending = Ending(said) if said else otherwise
            one = Received(self._read(number, "answers"), self._read(number, "printed"))
            results.append(believed(one, source, launches, [launch for launch, _ in orders], ending, 0, on_gpu=False))
            if not said:
                otherwise = Ending.STOPPED  # the others did not begin
        return SandboxResult(results, versions, seconds)

    def _versions(self) -> dict[str, str]:
        """Return what it says when it has imported everything. Raises SandboxFailed."""
        late = threading.Timer(STARTUP_SECONDS, self._process.kill)
        late.start()
        try:
            line = self._process.stdout.readline() if self._process.stdout else b""
        finally:
            late.cancel()
        if not line:
            self._complaint.seek(0)
            said = self._complaint.read()[-2000:].decode(errors="replace").strip()
            raise SandboxFailed(f"the sandbox did not start: {said or 'no reason given'}")
        versions: dict[str, str] = json.loads(line)
        return versions

    def _read(self, number: int, kind: str) -> bytearray:
        try:
            return bytearray(Path(self._folder, f"{number}.{kind}").read_bytes())
        except FileNotFoundError:
            return bytearray()


def _sent(folder: str, number: int, kind: str) -> BinaryIO:
    return open(Path(folder, f"{number}.{kind}"), "wb", buffering=0)  # so that nothing is lost when it is ended


def main(folder: str, most_printed: int) -> None:
    """The process: read a request, and write what comes of each pass into files of the folder."""
    standin.install()
    module = interpreter()
    print(json.dumps({name: sys.modules[name].__version__ for name in ("triton", "numpy")}), flush=True)
    header, buffers = next(wire.unpack(sys.stdin.buffer.read()))
    ending = Ending.FINISHED
    for number in range(len(header["passes"])):
        if ending is Ending.FINISHED:
            with _sent(folder, number, "answers") as answers, _sent(folder, number, "printed") as printed:
                ending = passed(module, header, buffers, number, answers, printed, most_printed)
        else:
            ending = Ending.STOPPED
        Path(folder, f"{number}.ending").write_text(ending.value)
