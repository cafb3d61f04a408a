"""What the compiler makes of kernels that are right on the interpreter: jobs for it, findings from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from checker.box.compiling import Compiled, Job
from checker.catalog.common import COMMON
from checker.judge.diagnose import compiler_finding
from checker.judge.evidence import Locator
from checker.judge.verdict import Compilation, Finding, Status
from checker.puzzle import Case, Kernel, Puzzle
from checker.targets import SHARED_LIMITS

_POINTERS = {np.dtype(np.float16): "*fp16", np.dtype(np.float32): "*fp32"}


def jobs(puzzle: Puzzle, cases: Sequence[Case], targets: Sequence[str]) -> list[Job]:
    """Each kernel for each target: with fp16 inputs, and constexprs as on a GPU."""
    return [_job(kernel, _half_case(kernel, cases), target) for kernel in puzzle.kernels for target in targets]


def _half_case(kernel: Kernel, cases: Sequence[Case]) -> Case:
    own = [case for case in cases if case.kernel == kernel.name]
    half = (c for c in own if any(t.values.dtype == np.float16 for t in c.tensors.values()))
    return next(half, own[0])


def _job(kernel: Kernel, case: Case, target: str) -> Job:
    signature = {}
    for parameter in kernel.parameters:
        if parameter in case.tensors:
            signature[parameter] = _POINTERS[case.tensors[parameter].values.dtype]
        elif parameter in case.scalars:
            signature[parameter] = "fp32" if isinstance(case.scalars[parameter], float) else "i32"
        else:
            signature[parameter] = "constexpr"
    return Job(kernel.name, target, signature, {**case.constexprs, **kernel.compiled_with})


def compilations(results: Sequence[Compiled]) -> tuple[Compilation, ...]:
    """The results as the verdict has them."""
    return tuple(
        Compilation(r.kernel, r.target, r.error is None, r.shared, SHARED_LIMITS[r.target], r.registers, r.spilled)
        for r in results
    )


def compile_findings(puzzle: Puzzle, results: Sequence[Compiled], where: Locator) -> list[Finding]:
    """What keeps kernels from running on a GPU, once per kind."""
    found: dict[str, Finding] = {}
    for result in results:
        for finding in _complaints(puzzle, result, where):
            found.setdefault(finding.id, finding)
    return list(found.values())


def _complaints(puzzle: Puzzle, result: Compiled, where: Locator) -> Iterator[Finding]:
    if result.error is None:
        limit = SHARED_LIMITS[result.target]
        if result.shared is not None and result.shared > limit:
            yield Finding(
                "shared-memory",
                Status.DOES_NOT_COMPILE,
                f"{result.kernel} needs more shared memory than a core of {result.target} has",
                f"It asks for {result.shared} bytes, and there are {limit}. On a GPU the launch would fail.",
                "Hold fewer or smaller tiles at the same time: what is loaded and multiplied lies in shared memory.",
            )
        return
    message = result.error.message.strip().split("\n")[0]
    named = next(
        (m for m in (*puzzle.misconceptions, *COMMON) if m.error and m.error.search(result.error.message)), None
    )
    said, place = f"Triton says, compiling for {result.target}: {message}", where(result.error.line)
    if named:
        yield Finding(named.id, Status.DOES_NOT_COMPILE, named.title, named.explanation, named.hint, place, (said,))
    else:
        title = f"{result.kernel} is right on the interpreter, but does not compile for {result.target}"
        yield compiler_finding(title, said, place)
