"""The conditions of a check, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from checker.course import targets
from checker.course.ladder import entry
from checker.course.status import Misuse
from checker.course.verdict import Verdict
from checker.sandbox.host import Host
from checker.sandbox.inside import seccomp
from checker.sandbox.parent import Limits, Linked, pytorch_missing
from checker.sandbox.protocol.device import Device
from checker.submission.read import Submission

if TYPE_CHECKING:  # numpy is imported while the sandbox starts
    from checker.judge.evidence import Evidence
    from checker.submission.extract import Program


@dataclass(frozen=True)
class Conditions:
    """Under which conditions a submission is checked."""

    key: str | None = None  # None: practice, with the public key
    limits: Limits = field(default_factory=Limits)
    lint: bool = True  # the tests switch it off, to show that the sandbox holds alone
    device: str = "interpreter"  # or cuda; auto: the interpreter first, then a GPU if there is one
    targets: tuple[str, ...] = targets.DEFAULT  # GPUs that a right kernel must compile for
    host: Host = field(default_factory=Host)  # in grading with a cage; without one, the verdict says so
    linked: Mapping[str, Submission] | None = (
        None  # what a program may launch, by puzzle; None: the learner's own files
    )

    def __post_init__(self) -> None:
        """Raise ValueError for conditions that cannot be kept."""
        graded = self.key is not None or self.host.cage is not None
        if not self.host.walled and (graded or self.device != "interpreter"):
            raise ValueError(
                "Without Triton's binary there is only practice on the interpreter: no key, no cage, no GPU."
            )
        if self.on_gpu and self.host.cage is not None:
            raise ValueError("A cage shows no GPU: grading runs on the interpreter.")

    @property
    def on_gpu(self) -> bool:
        """Return whether the kernels run on a GPU, and only there."""
        return self.device == "cuda"

    @property
    def sandbox(self) -> str:
        """Return, in words for the record, what separates the submission from the rest of the machine."""
        if self.host.in_process:
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
    """Outcome of a check: the verdict, and the evidence for it."""

    verdict: Verdict
    submission: Submission | None = None  # None: it could not be read
    program: Program | None = None  # what was run; None if nothing was
    evidence: tuple[Evidence, ...] = ()  # of each case that was run
    linked: tuple[Linked, ...] = ()  # the other programs whose kernels it has launched


def device_of(puzzle_id: str, conditions: Conditions) -> Device:
    """Return the device that a puzzle's programs run on. Raises Misuse if they cannot run there."""
    if not entry(puzzle_id).pytorch:
        return Device.CUDA if conditions.on_gpu else Device.INTERPRETER
    if conditions.on_gpu or not conditions.host.walled:
        raise Misuse(f"Puzzle {puzzle_id} is written in PyTorch: it is checked on a CPU, on Linux, without LIGHT=1.")
    if missing := pytorch_missing():
        raise Misuse(missing)
    return Device.AUTOGRAD if entry(puzzle_id).launches else Device.PYTORCH
