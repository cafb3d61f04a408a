"""Errors that a kernel raised, by name or in Triton's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checker.course.case import Case
from checker.course.misconception import Raises
from checker.course.puzzle import Puzzle
from checker.course.text import Text
from checker.course.verdict import Finding, Status, Where
from checker.judge import pytorch_errors, triton_errors
from checker.judge.evidence import Locator, first_of_each, grid_position
from checker.judge.general import finding
from checker.judge.naming import Idea, cover, ideas
from checker.judge.text.shapes import clash
from checker.sandbox.protocol.results import KernelError

SHAPES = "shapes-do-not-fit"  # what is said of blocks that cannot be combined
OUTSIDE = "outside-a-tensor"  # what is said of a launch whose strides lead out of the memory
OURS = frozenset({"OutsideMemory", "SharedElement", "WrongResult"})  # that the checker raises, of a PyTorch program
PRINT_HINT = 'To see what a name holds, print it: print("name", name).'
# What Triton raises on a GPU before a kernel has run.
_COMPILER_ERRORS = frozenset(
    {"CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct", "OutOfResources"}
)

# Numbers in brackets in a message, or as much of them as stands in the first line.
_NUMBER = r"[-+]?(?:\d[\d.e+-]*|inf|nan)"
_NUMBERS = re.compile(rf"\[+\s*{_NUMBER}(?:[\s,\[\]]+{_NUMBER})+(?:[\s.]*\])*")
MOST_SIDES, LONGEST_SIDE = 4, 7  # of a shape; more numbers or digits than that are a block's values


@dataclass(frozen=True, eq=False)
class Raised:
    """A case in which the kernel stopped with an error."""

    case: Case
    error: KernelError

    def place(self, where: Locator) -> Where:
        """Return the line that raised it."""
        return where(self.error.line, case=self.case, program=grid_position(self.case, self.error.program))


def name_errors(puzzle: Puzzle, raised: list[Raised], where: Locator, code: Text) -> Iterator[Finding]:
    """Findings for what the kernel raised."""

    def recognises(sign: Raises, item: Raised) -> bool:
        in_line = sign.at is None or code.has(sign.at, item.error.line)
        return in_line and sign.recognises(item.error.message)

    language = "Python" if puzzle.pytorch else "Triton"  # a function's error may be PyTorch's, Triton's or its own
    named, rest = cover(known_errors(puzzle), raised, recognises)
    for idea, items in named:
        error, said = items[0].error, plain(items[0].error.message)
        status = Status.DOES_NOT_COMPILE if error.type in _COMPILER_ERRORS else Status.CRASHED
        status = Status.OUT_OF_BOUNDS if error.type == "OutsideMemory" else status
        meet = clash(code, error.line) if error.line and idea.misconception.id == SHAPES and not puzzle.pytorch else ""
        by = "" if error.type in OURS else f"{language} says: "
        examples = (meet, f"{by}{said}" if said else "")
        yield idea.finding(status, items[0].place(where), tuple(filter(None, examples)))
    for item in first_of_each(rest, lambda item: (item.error.type, item.error.line)):
        yield error_finding(item.error, item.place(where))


def known_errors(puzzle: Puzzle) -> list[Idea[Raises]]:
    """Return the misconceptions that messages tell: the puzzle's own, and those that any program can have."""
    common = pytorch_errors.COMMON if puzzle.pytorch else triton_errors.COMMON
    return ideas((*puzzle.misconceptions, *common), Raises)


def error_finding(error: KernelError, place: Where) -> Finding:
    """Return what the kernel raised, in its own words."""
    if error.type == "MemoryError":
        return finding("out-of-memory", Status.OUT_OF_MEMORY, place)
    message = plain(error.message) or "no message"
    if error.type == "Deadlock":  # of checker.sandbox.inside.waiting
        return finding("programs-wait-for-ever", Status.TIME_LIMIT, place, message=error.message)
    if error.type == "NotAtomic":
        return finding("scratch-without-atomics", Status.NOT_DETERMINISTIC, place, access=plain(error.message))
    if error.type == "NotScratch":  # of checker.sandbox.inside.memory
        return finding("atomics-outside-scratch", Status.CRASHED, place, access=plain(error.message))
    if error.type == "FalsePromise":  # of checker.sandbox.inside.compiler_hints, which needs Triton
        return finding("false-promise", Status.CRASHED, place, message=message)
    if error.type == "NotAllowed":  # of checker.sandbox.inside.pytorch
        return finding("operation-not-allowed", Status.FORBIDDEN, place, message=message)
    if error.type == "ByPyTorch":  # of checker.sandbox.inside.autograd
        return finding("computed-without-kernel", Status.FORBIDDEN, place, message=message)
    if error.type == "OutsideMemory":  # of checker.sandbox.inside.autograd
        return finding(OUTSIDE, Status.OUT_OF_BOUNDS, place, message=message)
    if error.type == "WrongResult":
        return finding("returns-something-else", Status.MALFORMED_OUTPUT, place, message=message)
    if error.type in _COMPILER_ERRORS:
        return finding("compiler-error/this-gpu", Status.DOES_NOT_COMPILE, place, (f"Triton says: {message}",))
    return finding("kernel-error", Status.CRASHED, place, named=False, type=error.type, message=message)


def plain(message: str) -> str:
    """Return the first line of what Triton says, without the numbers of a block that was printed into it."""

    def shortened(found: re.Match[str]) -> str:
        numbers = re.findall(_NUMBER, found[0])
        shape = len(numbers) <= MOST_SIDES and all(n.isdigit() and len(n) <= LONGEST_SIDE for n in numbers)
        return found[0] if shape else "[…]"

    return _NUMBERS.sub(shortened, message.strip().split("\n")[0])
