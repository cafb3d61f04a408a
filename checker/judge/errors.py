"""What a kernel raised, by name or in Triton's own words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from checker.box.protocol.results import KernelError
from checker.course.case import Case
from checker.course.misconception import Raises
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Status, Where
from checker.judge import pytorch_errors, triton_errors
from checker.judge.evidence import Locator, first_of_each, grid_position
from checker.judge.naming import Idea, cover, ideas
from checker.judge.roles import Code
from checker.judge.shapes import clash

SHAPES = "shapes-do-not-fit"  # what is said of blocks that cannot be combined
OUTSIDE = "outside-a-tensor"  # what is said of a launch whose strides lead out of the memory
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
        """The line that raised it."""
        return where(self.error.line, case=self.case, program=grid_position(self.case, self.error.program))


def name_errors(puzzle: Puzzle, raised: list[Raised], where: Locator, code: Code) -> Iterator[Finding]:
    """Findings for what the kernel raised."""

    def recognises(sign: Raises, item: Raised) -> bool:
        in_line = sign.at is None or code.plays(sign.at, item.error.line)
        return in_line and sign.recognises(item.error.message)

    language = "PyTorch" if puzzle.pytorch else "Triton"
    named, rest = cover(known_errors(puzzle), raised, recognises)
    for idea, items in named:
        error, said = items[0].error, plain(items[0].error.message)
        status = Status.DOES_NOT_COMPILE if error.type in _COMPILER_ERRORS else Status.CRASHED
        meet = clash(code, error.line) if error.line and idea.misconception.id == SHAPES and not puzzle.pytorch else ""
        examples = (meet, f"{language} says: {said}" if said else "")
        yield idea.finding(status, items[0].place(where), tuple(filter(None, examples)))
    for item in first_of_each(rest, lambda item: (item.error.type, item.error.line)):
        yield error_finding(item.error, item.place(where))


def known_errors(puzzle: Puzzle) -> list[Idea[Raises]]:
    """The misconceptions that messages tell: the puzzle's own, and those that any program can have."""
    common = pytorch_errors.COMMON if puzzle.pytorch else triton_errors.COMMON
    return ideas((*puzzle.misconceptions, *common), Raises)


def error_finding(error: KernelError, place: Where) -> Finding:
    """What the kernel raised, in its own words."""
    if error.type == "MemoryError":
        return Finding(
            "out-of-memory",
            Status.OUT_OF_MEMORY,
            "Your code asks for more memory than there is",
            "What it makes here does not fit into the memory of the box, let alone of a GPU's core.",
            "Work on one block or tile at a time, of the size that the arguments give.",
            place,
        )
    message = plain(error.message) or "no message"
    if error.type == "Deadlock":  # of checker.box.inside.waiting
        return Finding(
            "programs-wait-for-ever",
            Status.TIME_LIMIT,
            "Programs wait for each other for ever",
            f"In this case {error.message}. A GPU runs some programs at a time, starts them in any order, and lets "
            "none of them step aside for another one.",
            "A program may wait only for programs that have started before it, or run for certain. A ticket, from an "
            "atomic counter, gives each program its work in the order in which programs start.",
            place,
        )
    if error.type == "NotAtomic":
        return Finding(
            "scratch-without-atomics",
            Status.NOT_DETERMINISTIC,
            "What programs exchange is touched by a plain load or store",
            f"In this case there is {plain(error.message)}, where other programs write at the same time. A GPU may "
            "move a plain access, or answer it from a cache that never learns what others write: a loop around it may "
            "run for ever, or go on with half of a value.",
            "Write by tl.atomic_xchg(pointer, value), and read by tl.atomic_or(pointer, 0) or by tl.load(pointer, "
            "volatile=True): each takes effect in the L2 that all programs share, every time.",
            place,
        )
    if error.type == "NotScratch":  # of checker.box.inside.memory
        return Finding(
            "atomics-outside-scratch",
            Status.CRASHED,
            "An atomic operation touches a tensor that is not for exchange",
            f"In this case there is {plain(error.message)}.",
            "Rows are read by tl.load and written by tl.store, once each.",
            place,
        )
    if error.type == "FalsePromise":  # of checker.box.inside.promises, which needs Triton
        return Finding(
            "false-promise",
            Status.CRASHED,
            "What the kernel promises the compiler is not true",
            f"In this case {message}. A GPU relies on the promise: it then loads and stores at wrong addresses.",
            "Promise only what holds for every size and stride, or nothing: a kernel is right without promises.",
            place,
        )
    if error.type == "NotAllowed":  # of checker.box.inside.pytorch
        return Finding(
            "operation-not-allowed",
            Status.FORBIDDEN,
            f"PyTorch's operation {message} is not on the list",
            "Some operations do in one step what is to be written here, and others hand numbers to Python, where "
            "nobody counts them.",
            "Use what the lesson uses: products, exponentials, sums, maxima, slices.",
            place,
        )
    if error.type == "OutsideMemory":  # of checker.box.inside.autograd
        return Finding(
            OUTSIDE,
            Status.OUT_OF_BOUNDS,
            "A kernel leaves the memory of a tensor that it was given",
            f"In this case {message}. On a GPU that reads other tensors' numbers, or overwrites them.",
            "Look at this launch: does each tensor have the strides and the sizes that stand beside it? A kernel knows "
            "one axis of heads, and its tensors must lie in memory as the strides say.",
            place,
        )
    if error.type == "WrongResult":
        return Finding(
            "returns-something-else",
            Status.MALFORMED_OUTPUT,
            "The function does not return what was asked for",
            f"In this case {message}.",
            "Return what the lesson's table says, in its order, with its shapes and types.",
            place,
        )
    if error.type in _COMPILER_ERRORS:
        return compiler_finding("The kernel does not compile for this GPU", f"Triton says: {message}", place)
    return Finding(
        "kernel-error",
        Status.CRASHED,
        "Your code stopped with an error",
        f"{error.type}: {message}",
        f"Look at the marked line: the shapes, types and names in it. {PRINT_HINT}",
        place,
        named=False,
    )


def plain(message: str) -> str:
    """The first line of what Triton says, without the numbers of a block that was printed into it."""

    def shortened(found: re.Match[str]) -> str:
        numbers = re.findall(_NUMBER, found[0])
        shape = len(numbers) <= MOST_SIDES and all(n.isdigit() and len(n) <= LONGEST_SIDE for n in numbers)
        return found[0] if shape else "[…]"

    return _NUMBERS.sub(shortened, message.strip().split("\n")[0])


def compiler_finding(title: str, said: str, place: Where) -> Finding:
    """What the compiler complains of, if no misconception knows it."""
    return Finding(
        "compiler-error",
        Status.DOES_NOT_COMPILE,
        title,
        "The interpreter runs a kernel as Python, so it accepts some code that the compiler refuses.",
        "Look at the marked line: the type and the shape of each value must be known before the kernel runs.",
        place,
        (said,),
    )
