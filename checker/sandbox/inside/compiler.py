"""The compiler: compile kernels for GPUs that need not be here, the jobs of each kernel and target in a runner.

A runner limits itself, enters the system-call filter and goes through its jobs, at most as far as assembler text. The
assembler itself (ptxas), which tells registers and spills, is run on that text by a runner of another request, if
somebody wants to know: under the filter nothing can be started.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import warnings
from collections.abc import Iterator
from typing import Any

from checker.sandbox.inside import harness
from checker.sandbox.inside.lowering import ASSEMBLER, described, executed, lowered
from checker.sandbox.protocol import wire
from checker.sandbox.protocol.fitting import fitting

ASSEMBLER_SECONDS = 20


def prepare() -> None:
    """Do what takes long and is the same for all submissions."""
    import triton  # noqa: F401  (once, before the forks)

    with contextlib.suppress(RuntimeError):  # there is none: who compiles for it will be told
        _ask_version("sm_90")  # for which most is compiled


def rehearse() -> None:
    """Do what takes long only the first time. Before one submission that is no gain; before many it is."""
    from checker.sandbox.inside import rehearsal

    lowered(rehearsal.kernel, rehearsal.JOB)


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Answer with a frame for each job of the group of that `number`; or of the text of that number, if texts came."""
    if buffers:
        harness.limit(header["limits"], filtered=False)
        numbers = _assembled(header["targets"][number], bytes(buffers[number]), f"kernel-{number}")
        harness.write_all(harness.ANSWER, wire.pack(numbers))
        return
    jobs = header["groups"][number]
    path = harness.written(header["source"])
    warnings.simplefilter("ignore")
    _ask_version(jobs[0]["target"])
    complaints, os_complaints = os.pipe()  # the compiler's passes complain on standard error only
    os.set_blocking(complaints, False)
    os.set_blocking(os_complaints, False)
    os.dup2(os_complaints, 2)
    os.dup2(os_complaints, 1)
    harness.limit(header["limits"], filtered=header["filter"])
    for frame in _answers(header["source"], jobs, path, complaints):
        harness.write_all(harness.ANSWER, frame)


def _ask_version(target: str) -> None:
    """Let Triton ask the assembler for its version now: under the filter it may not start it."""
    if target.startswith("sm_"):
        _ = _assembler(target).version


def _assembler(target: str) -> Any:
    """Return the ptxas that Triton would use: it has more than one."""
    from triton.backends.nvidia.compiler import get_ptxas

    return get_ptxas(int(target.removeprefix("sm_")))


def _answers(source: str, jobs: list[dict[str, Any]], path: str, complaints: int) -> Iterator[bytes]:
    """Yield a frame for each job."""
    try:
        kernel = executed(source, path)[jobs[0]["kernel"]]
    except BaseException as error:
        yield from [wire.pack({"error": described(error, path)})] * len(jobs)
        return
    for job in jobs:
        _said(complaints)  # whatever it was, it has kept nothing from compiling
        try:
            (texts, noted), stages = _fitted(kernel, job)
            numbers = {"stages": stages, "shared": noted.get("shared"), "tensor_memory": noted.get("tmem_size")}
            frame = wire.pack(
                {"error": None, **numbers}, [texts.get(name, "").encode() for name in (ASSEMBLER, *job["stages"])]
            )
        except BaseException as error:
            frame = wire.pack({"error": described(error, path, _said(complaints)), "alone": _alone(kernel, job)})
        yield frame


def _fitted(kernel: Any, job: dict[str, Any]) -> tuple[tuple[dict[str, str], dict[str, Any]], int | None]:
    """As `lowered`, with as few stages as shared memory has room for; and how many these are if they are fewer."""

    def made(stages: int | None) -> tuple[dict[str, str], dict[str, Any]]:
        options = job["options"] if stages is None else {**job["options"], "num_stages": stages}
        return lowered(kernel, {**job, "options": options})

    return fitting(made, lambda one: int(one[1].get("shared", 0)), job["most_shared"], job["fewer"])


def _alone(kernel: Any, job: dict[str, Any]) -> int | None:
    """Return the first of a failed job's `simpler` ones that fails as well; None if no part does so alone."""
    for number, part in enumerate(job["simpler"]):
        try:
            lowered(kernel, part)
        except BaseException:
            return number
    return None


def _said(complaints: int) -> str:
    """Return what the compiler's passes have written since they were asked last."""
    try:
        return os.read(complaints, 1 << 16).decode(errors="replace")
    except BlockingIOError:
        return ""


def _assembled(target: str, text: bytes, name: str) -> dict[str, int]:
    """Registers and spilled bytes of a kernel, as far as its assembler text or its assembler tells them."""
    if not target.startswith("sm_"):  # AMD's assembler text has the counts in it
        patterns = {"registers": r"\.vgpr_count:\s+(\d+)", "spilled": r"\.vgpr_spill_count:\s+(\d+)"}
        told = text.decode(errors="replace")
    else:
        patterns = {"registers": r"Used (\d+) registers", "spilled": r"(\d+) bytes spill stores"}
        with open(f"{name}.ptx", "wb") as file:
            file.write(text)
        architecture = re.search(rb"^\.target (\w+)", text, re.MULTILINE)
        command = [_assembler(target).path, "-v", f"--gpu-name={architecture[1].decode() if architecture else ''}"]
        done = subprocess.run(
            [*command, f"{name}.ptx", "-o", f"{name}.o"],
            capture_output=True,
            text=True,
            timeout=ASSEMBLER_SECONDS,
            check=False,
        )
        told = done.stderr
    return {field: int(found[1]) for field, words in patterns.items() if (found := re.search(words, told))}
