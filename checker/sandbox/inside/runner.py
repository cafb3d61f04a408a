"""The runner of a pass: limits itself, loads the kernels and answers with one frame for each launch."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from checker.sandbox.inside import harness
from checker.sandbox.inside.answering import Asked, launched, run_pass
from checker.sandbox.inside.budget import work
from checker.sandbox.protocol.device import Device


def prepare() -> None:
    """Do what takes long and is the same for all submissions."""
    _device().prepare()


def rehearse() -> None:
    """Do what takes long only the first time: Triton and Python remember what they have seen of types and of code."""
    from checker.sandbox.inside import rehearsal

    path = rehearsal.__file__
    with open(path, encoding="utf-8") as file:
        kernel = _device().load_kernels(path, file.read(), ["kernel"])["kernel"]
    for _ in range(rehearsal.LAUNCHES):
        answer, *_ = launched(Asked(0, [0], rehearsal.LAUNCH, kernel, path), float("nan"))
        if answer["error"] or answer["refused"]:
            raise RuntimeError(f"the rehearsal did not succeed: {answer}")


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Run the pass of that `number`."""
    device = _device()
    path = f"{os.getcwd()}/submission.py"
    if Device(header["device"]).on_gpu:  # the compiler wants to read the text in a file, too
        path = harness.written(header["source"])
    sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    warnings.simplefilter("ignore")  # Triton's own, which the student could do nothing about
    harness.limit(header["limits"], filtered=header["filter"])
    work.watch(header["patience"])
    run_pass(os.fdopen(harness.ANSWER, "wb", buffering=0), device, header, buffers, number, path)


def _device() -> Any:
    """Return the module that runs kernels, by the mode that Triton is in, which is fixed before it is imported."""
    if os.environ.get("TRITON_INTERPRET"):
        from checker.sandbox.inside import interpreter

        return interpreter
    from checker.sandbox.inside.gpu import cuda

    return cuda
