"""The road from a submission to a verdict; commands, notebooks, graders and tests all take it."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from checker import catalog
from checker.box.alone import Alone
from checker.box.here import Here
from checker.box.host import Host
from checker.box.inside import seccomp
from checker.box.parent import Box, Lent, Limits, Pass, PassResult, gpu_missing, pytorch_missing
from checker.box.protocol.device import Device
from checker.course import targets
from checker.course.clean import cleaned
from checker.course.ladder import entry
from checker.course.status import Misuse
from checker.course.verdict import Finding, PropertyResult, Status, Verdict
from checker.submission.read import Submission

if TYPE_CHECKING:  # numpy is imported while the box starts
    from collections.abc import Mapping, Sequence

    from checker.box.parent import BoxResult
    from checker.box.protocol.launch import Launch
    from checker.course.puzzle import Kernel, Puzzle
    from checker.judge.evidence import Evidence
    from checker.submission.extract import Program
    from checker.submission.problem import Problem


@dataclass(frozen=True)
class Terms:
    """Under which terms a submission is checked."""

    key: str | None = None  # None: practice, with the public key
    limits: Limits = field(default_factory=Limits)
    lint: bool = True  # the tests switch it off, to show that the box holds alone
    device: str = "interpreter"  # or cuda; auto: the interpreter first, then a GPU if there is one
    targets: tuple[str, ...] = targets.DEFAULT  # GPUs that a right kernel must compile for
    host: Host = field(default_factory=Host)  # in grading with a cage; without one, the verdict says so
    lent: Mapping[str, Submission] | None = None  # what a program may launch, by puzzle; None: the learner's own files

    def __post_init__(self) -> None:
        """Raise ValueError for terms that cannot be kept."""
        graded = self.key is not None or self.host.cage is not None
        if not self.host.walled and (graded or self.device != "interpreter"):
            raise ValueError(
                "Without Triton's binary there is only practice on the interpreter: no key, no cage, no GPU."
            )
        if self.on_gpu and self.host.cage is not None:
            raise ValueError("A cage shows no GPU: grading runs on the interpreter.")

    @property
    def on_gpu(self) -> bool:
        """Whether the kernels run on a GPU, and only there."""
        return self.device == "cuda"

    @property
    def sandbox(self) -> str:
        """What separates the submission from the rest of the machine, in words for the record."""
        if self.host.here:
            return "none: in the judge's own process, where no points are given"
        if self.host.alone:
            return "none: a process of its own with a time limit, where no points are given"
        if self.host.cage is not None:
            return self.host.cage.described()
        has_filter = self.limits.filter and not self.on_gpu and seccomp.available()
        filtered = ", system-call filter" if has_filter else ""
        return ("practice: " if self.key is None else "C, no sandbox: ") + f"process limits{filtered}"


@dataclass(frozen=True)
class Outcome:
    """What a check gives: the verdict, and what it rests on."""

    verdict: Verdict
    submission: Submission | None = None  # None: it could not be read
    program: Program | None = None  # what was run; None if nothing was
    evidence: tuple[Evidence, ...] = ()  # of each case that was run
    lent: tuple[Lent, ...] = ()  # the other programs whose kernels it has launched


def check(puzzle_id: str, submission: Submission, terms: Terms | None = None) -> Outcome:
    """Check a submission for a puzzle. Whatever it does, there is a verdict; a fault of ours raises."""
    terms = terms or Terms()
    if terms.on_gpu:
        return _checked(puzzle_id, submission, _for_gpu(terms))
    outcome = _checked(puzzle_id, submission, terms)
    if (
        terms.device == "auto"
        and not entry(puzzle_id).pytorch
        and terms.host.cage is None
        and outcome.verdict.accepted
        and not gpu_missing()
    ):
        return _joined(outcome.verdict, _checked(puzzle_id, submission, _for_gpu(terms)))
    return outcome


def _joined(first: Verdict, on_gpu: Outcome) -> Outcome:
    """What a check on both devices gives: the GPU's outcome, with what only the interpreter can tell."""
    verdict = replace(
        on_gpu.verdict,
        runs=(*first.runs, *on_gpu.verdict.runs),
        compiled=first.compiled,
        remarks=first.remarks,
        versions=on_gpu.verdict.versions | first.versions,
    )
    return replace(on_gpu, verdict=verdict)


def _for_gpu(terms: Terms) -> Terms:
    """The same terms with what a GPU needs: every shape is compiled anew, every thread prints."""
    limits = replace(
        terms.limits,
        wall_seconds=terms.limits.gpu_seconds,
        cpu_seconds=3600,
        output_bytes=terms.limits.gpu_output_bytes,
    )
    return replace(terms, device="cuda", limits=limits)


def _checked(puzzle_id: str, submission: Submission, terms: Terms) -> Outcome:
    with _box(terms.limits, terms.host, device_of(puzzle_id, terms)) as box:  # imports Triton, and so do we meanwhile
        from checker.check.steps import Check

        return Check(catalog.load(puzzle_id), submission, terms).run(box)


def device_of(puzzle_id: str, terms: Terms) -> Device:
    """What a puzzle's programs run on. Raises Misuse if they cannot run there."""
    if not entry(puzzle_id).pytorch:
        return Device.CUDA if terms.on_gpu else Device.INTERPRETER
    if terms.on_gpu or not terms.host.walled:
        raise Misuse(f"Puzzle {puzzle_id} is written in PyTorch: it is checked on a CPU, and on Linux only.")
    if missing := pytorch_missing():
        raise Misuse(missing)
    return Device.AUTOGRAD if entry(puzzle_id).launches else Device.PYTORCH


def _box(limits: Limits, host: Host, device: Device = Device.INTERPRETER) -> AbstractContextManager[Box | Alone | Here]:
    if host.here:
        return nullcontext(Here(limits))
    return Alone(limits) if host.alone else Box(limits, device, host)


def launch(
    program: Program,
    launches: list[Launch],
    limits: Limits,
    host: Host | None = None,
    device: Device = Device.INTERPRETER,
    lent: Sequence[Lent] = (),
    order: Sequence[int] | None = None,
) -> PassResult:
    """Run launches of a program that nothing keeps from being run, as in practice.

    `lent`: as `Box.run` takes it. `order`: the programs that run of each launch; None: all of them.
    """
    with _box(limits, host or Host(), device) as box:
        in_order: Pass = [(number, order or range(one.programs)) for number, one in enumerate(launches)]
        return run_in(box, (program.source, list(program.kernels), launches, [in_order]), lent).passes[0]


def run_in(
    box: Box | Alone | Here, asked: tuple[str, list[str], list[Launch], list[Pass]], lent: Sequence[Lent]
) -> BoxResult:
    """Run what is asked; kernels of other programs are lent to PyTorch alone, which has no other box."""
    if not lent:
        return box.run(*asked)
    assert isinstance(box, Box)
    return box.run(*asked, lent)


def program_of(
    submission: Submission, kernels: Sequence[Kernel], *, linted: bool = True
) -> tuple[Program, list[Problem]]:
    """The program that some kernels are, and what keeps it from being run.

    Raises NotASubmission; RecursionError, MemoryError or ValueError for text that was made to be hard to read.
    """
    from checker.submission.extract import extract
    from checker.submission.lint import lint

    program = extract(submission, kernels)
    return program, lint(program) if linted else []


def believed(puzzle_id: str, submission: Submission) -> Outcome:
    """The outcome of a text that was accepted before: nothing is run. Raises what `program_of` raises."""
    from checker.check.steps import Check

    puzzle = catalog.load(puzzle_id)
    program, _ = program_of(submission, puzzle.kernels)
    verdict = replace(Check(puzzle, submission, Terms()).unjudged, status=Status.ACCEPTED)
    return Outcome(cleaned(verdict), submission, program)


def started(puzzle_id: str, submission: Submission) -> bool:
    """Whether a submission is more than the stub: a kernel does something, or there is something to complain of."""
    from checker.submission.extract import NotASubmission

    try:
        program, complaints = program_of(submission, catalog.load(puzzle_id).kernels)
    except (NotASubmission, RecursionError, MemoryError, ValueError):
        return True
    return bool(complaints or program.outside) or not all(program.empty(kernel) for kernel in program.kernels)


def unreadable(puzzle_id: str, name: str, sentence: str) -> Verdict:
    """The verdict on a file that could not be read as a submission."""
    finding = Finding("unreadable", Status.INVALID, "The file cannot be read", sentence, "")
    puzzle = catalog.load(puzzle_id)
    return cleaned(Verdict(puzzle_id, puzzle.title, Status.INVALID, (finding,), unproven(puzzle), file=name))


def unproven(puzzle: Puzzle) -> tuple[PropertyResult, ...]:
    """A puzzle's properties, if nothing was run."""
    return tuple(PropertyResult(p.name, p.title, False, p.weight, "") for p in puzzle.properties)
