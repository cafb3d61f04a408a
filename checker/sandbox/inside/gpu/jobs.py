"""Compiler jobs for a GPU's launches: in the form that Triton gives a launch, in parallel, kept on disk."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import triton
from triton.compiler import ASTSource
from triton.language.semantic import TritonSemantic

from checker.sandbox.inside import children
from checker.sandbox.inside.gpu import driver, untouched
from checker.sandbox.inside.lowering import gpu_target, source_of
from checker.sandbox.protocol.fitting import AMPLE, fewer_stages, fitting, longest_side, sides
from checker.sandbox.protocol.launch import CONSTEXPR, Launch

WARP = 32  # threads
_MOST = 256  # jobs that are compiled ahead: their numbers are bytes. Others are compiled when they are launched
_THREADS = 128  # of a program, unless it asks for more
_MOST_LINES = 1 << 14  # of one print: of a launch that would print more, nothing is printed. Threads wait for each line

gpu = driver.Gpu("not known yet", 90, AMPLE)  # the one that is compiled for
printing = False  # whether the submission prints
multiplying = False  # whether it multiplies tiles


def compiling(kernels: Mapping[str, Any], launches: Iterable[Launch]) -> list[int]:
    """Processes that compile, each the next one of the jobs, those with the largest blocks first."""
    distinct = {
        json.dumps([one.kernel, job := job_of(one)], sort_keys=True): (kernels[one.kernel], job)
        for one in launches
        if not multiplies_too_much(one.constexprs)
    }
    every = [(untouched.count_kernel, job) for job in untouched.JOBS] + list(distinct.values())
    every.sort(key=lambda one: math.prod(int(n) or 1 for n in one[1]["constexprs"].values()), reverse=True)
    waiting, numbers = os.pipe()
    os.write(numbers, bytes(range(min(len(every), _MOST))))
    os.close(numbers)
    parent, pids = os.getpid(), []
    for _ in range(min(len(every), len(os.sched_getaffinity(0)))):
        pid = os.fork()
        if pid == 0:
            children.end_with_parent(parent)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # complaints: the launch that they are about will have them
            while number := os.read(waiting, 1):
                with contextlib.suppress(BaseException):
                    fitted(*every[number[0]])
            os._exit(0)
        pids.append(pid)
    os.close(waiting)
    return pids


def job_of(launch: Launch, *, ones: bool = True) -> dict[str, Any]:
    """Return the form of a launch, its options, and whether nothing is printed. `ones`: a 1 becomes a constant."""
    silent = printing and _lines(launch) > _MOST_LINES
    return {**vars(launch.form(ones=ones)), "options": dict(launch.options), "silent": silent}


class _Silent(ASTSource):  # type: ignore[misc]
    """A kernel without what it prints."""

    def __init__(self, source: ASTSource):
        self.__dict__.update(vars(source))

    def hash(self) -> str:
        """Its key in the cache on disk, next to that of the one that prints."""
        return f"{super().hash()}-silent"

    def make_ir(self, *arguments: Any) -> Any:
        """Return the first form of the kernel, for the compiler."""
        usual, TritonSemantic.device_print = TritonSemantic.device_print, lambda *_, **__: None
        try:
            return super().make_ir(*arguments)
        finally:
            TritonSemantic.device_print = usual


def _lines(launch: Launch) -> int:
    """About how many lines one print gives: one for each thread, or for each element of a tile."""
    blocks = sorted((int(n) or 1 for n in launch.constexprs.values()), reverse=True)
    return launch.programs * max(_THREADS, math.prod(blocks[:2]))


def compiled(kernel: Any, job: dict[str, Any]) -> Any:
    """Return the compiled kernel; from disk, if some process has compiled it."""
    order = {name: job["signature"].get(name, CONSTEXPR) for name in kernel.arg_names}
    source = source_of(kernel, {**job, "signature": order})
    target = gpu_target(f"sm_{gpu.capability}")
    return triton.compile(_Silent(source) if job["silent"] else source, target, dict(job["options"]))


def fitted(kernel: Any, job: dict[str, Any]) -> Any:
    """Return the same; with as few stages as the GPU's shared memory has room for, where it is small."""
    made, _ = fitting(
        lambda stages: compiled(kernel, job if stages is None else _with_stages(job, stages)),
        lambda one: int(one.metadata.shared),
        gpu.shared,
        fewer_stages(gpu.shared),
    )
    return made


def _with_stages(job: dict[str, Any], stages: int) -> dict[str, Any]:
    return {**job, "options": {**job["options"], "num_stages": stages}}


def multiplies_too_much(constexprs: Mapping[str, int | float | bool]) -> bool:
    """Return whether tiles are longer than what the GPU multiplies."""
    longest = longest_side(f"sm_{gpu.capability}")
    return multiplying and longest > 0 and max(sides(constexprs).values(), default=0) > longest
