"""The program in a text, and launches of a program in a sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from checker import catalog
from checker.course.kernel import Kernel
from checker.course.ladder import RUNGS
from checker.sandbox.host import Host
from checker.sandbox.in_process import InProcess
from checker.sandbox.one_process import OneProcess
from checker.sandbox.parent import Limits, Linked, Pass, PassResult, Sandbox
from checker.sandbox.protocol.device import Device
from checker.submission.read import Submission, defines

if TYPE_CHECKING:  # numpy is imported while the sandbox starts
    from checker.sandbox.parent import SandboxResult
    from checker.sandbox.protocol.launch import Launch
    from checker.submission.extract import Program
    from checker.submission.problem import Problem


def sandbox_of(
    limits: Limits, host: Host, device: Device = Device.INTERPRETER
) -> AbstractContextManager[Sandbox | OneProcess | InProcess]:
    """Return the sandbox of a host, which starts as it is entered."""
    if host.in_process:
        return nullcontext(InProcess(limits))
    return OneProcess(limits) if host.alone else Sandbox(limits, device, host)


def launch(
    program: Program,
    launches: list[Launch],
    limits: Limits,
    host: Host | None = None,
    device: Device = Device.INTERPRETER,
    linked: Sequence[Linked] = (),
    order: Sequence[int] | None = None,
) -> PassResult:
    """Run launches of a program that nothing keeps from being run, as in practice.

    `linked`: as `Sandbox.run` takes it. `order`: the programs that run of each launch; None: all of them.
    """
    with sandbox_of(limits, host or Host(), device) as sandbox:
        in_order: Pass = [(number, order or range(one.programs)) for number, one in enumerate(launches)]
        return run_in(sandbox, (program.source, list(program.kernels), launches, [in_order]), linked).passes[0]


def run_in(
    sandbox: Sandbox | OneProcess | InProcess,
    asked: tuple[str, list[str], list[Launch], list[Pass]],
    linked: Sequence[Linked],
) -> SandboxResult:
    """Run the launches; kernels of other programs are linked to PyTorch alone, which has no other sandbox."""
    if not linked:
        return sandbox.run(*asked)
    assert isinstance(sandbox, Sandbox)
    return sandbox.run(*asked, linked)


def program_of(
    submission: Submission, kernels: Sequence[Kernel], *, linted: bool = True
) -> tuple[Program, list[Problem]]:
    """Return the program that some kernels are, and what keeps it from being run.

    Raises NotASubmission; RecursionError, MemoryError or ValueError for text that was made to be hard to read.
    """
    from checker.submission.extract import extract
    from checker.submission.lint import lint

    program = extract(submission, tuple(kernels))
    return program, lint(program) if linted else []


def of_another(puzzle_id: str, text: str) -> tuple[str, str] | None:
    """Return the ID of another puzzle and its kernel that a text defines, if it defines none of this puzzle."""
    if any(defines(text, kernel.name) for kernel in catalog.load(puzzle_id).kernels):
        return None
    every = ((one, kernel.name) for one in RUNGS if one != puzzle_id for kernel in catalog.load(one).kernels)
    return next(((one, name) for one, name in every if defines(text, name)), None)


def started(puzzle_id: str, submission: Submission) -> bool:
    """Return whether a submission is more than the stub: a kernel has a body, or there is a complaint."""
    from checker.submission.extract import NotASubmission

    try:
        program, complaints = program_of(submission, catalog.load(puzzle_id).kernels)
    except (NotASubmission, RecursionError, MemoryError, ValueError):
        return True
    return bool(complaints or program.outside) or not all(program.empty(kernel) for kernel in program.kernels)
