"""The judge's answer, as data. Every report is a function of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from checker.course.status import ExitStatus


class Status(str, Enum):
    """The result of a check, the most severe first. The value is the slug in the JSON."""

    CHECKER_FAULT = "checker-fault"
    TOO_BUSY = "too-busy"
    MISUSED = "misused"
    INVALID = "invalid"
    FORBIDDEN = "forbidden"
    NOT_STARTED = "not-started"
    NOT_JUDGED = "not-judged"
    DOES_NOT_COMPILE = "does-not-compile"
    OUTPUT_FLOOD = "output-flood"
    OUT_OF_MEMORY = "out-of-memory"
    TIME_LIMIT = "time-limit"
    CRASHED = "crashed"
    NO_OUTPUT = "no-output"
    MALFORMED_OUTPUT = "malformed-output"
    OUT_OF_BOUNDS = "out-of-bounds"
    INPUT_CHANGED = "input-changed"
    NOT_A_NUMBER = "not-a-number"
    NOT_DETERMINISTIC = "not-deterministic"
    WRONG = "wrong"
    OVER_TRAFFIC = "over-traffic"
    PARTLY_RIGHT = "partly-right"
    ACCEPTED = "accepted"

    @property
    def severity(self) -> int:
        """0 for the most severe."""
        return list(Status).index(self)


# Whatever else such a submission got right, it scores 0.
SCORES_NOTHING = frozenset(
    {
        *(Status.CHECKER_FAULT, Status.TOO_BUSY, Status.MISUSED, Status.INVALID, Status.FORBIDDEN, Status.NOT_STARTED),
        *(Status.NOT_JUDGED, Status.DOES_NOT_COMPILE, Status.OUTPUT_FLOOD, Status.MALFORMED_OUTPUT),
    }
)


@dataclass(frozen=True)
class Where:
    """The place of a finding; unknown parts are None."""

    line: int | None = None  # of the file, or within the cell
    role: str = ""  # what happens in that line, if it is not itself the mistake
    cell: int | None = None  # counted from 1
    source: tuple[tuple[int, str], ...] = ()  # the line and its neighbours: (number, text)
    case: str | None = None
    case_id: int | None = None  # its place among the cases of the check
    program: tuple[int, ...] | None = None
    stored: int | None = None  # the line in which that program stored the first wrong element
    tensor: str | None = None
    index: tuple[int, ...] | None = None


@dataclass(frozen=True)
class ErrorMap:
    """A coarse picture of one launch's wrong output: lines of cells, each some rows by some columns."""

    tensor: str
    case: str
    rows: str  # what is counted downwards, in the plural; of several heads one after the other
    columns: str
    shape: tuple[int, int]  # rows and columns of the output
    cell: tuple[int, int]  # rows and columns that one cell stands for
    wrong: tuple[tuple[float, ...], ...]  # share of wrong elements, by line and cell


@dataclass(frozen=True)
class Relation:
    """The relation of a wrong value to others in all of a launch: some `times` the solution's, the same `as` another
    name of the solution's, the names that it is `made` of, or the first NaN.
    """

    what: str
    of: str = ""  # the factor, the solution's name, or the first NaN, if that is another element
    named: str = ""  # what the factor is, if it has a name; or names and their values
    line: int | None = None  # that makes the NaN

    @property
    def sentence(self) -> str:
        """Return it in a sentence."""
        if self.what == "times":
            return f"In all of this launch it is {self.of} times that{f' ({self.named})' if self.named else ''}."
        if self.what == "as":
            return f"In all of this launch it is what {self.of} is in the solution."
        first = f"The first NaN is {self.of} in line {self.line}, made" if self.of else "It is made"
        return f"{first} of {self.named}."


@dataclass(frozen=True)
class Differs:
    """First difference of a kernel from the solution, in one launch, and whether that is all that is wrong in it.

    `what`: "name", "left" of a name that an iteration does not assign, "load", "store", "loop", or "stored" if nothing
    differs but what a store takes.
    """

    what: str
    where: Where  # and the first wrong element of that launch; without a line: it never does what the solution's does
    step: int | None  # of that program, counted from 0, if it is seen in one
    iteration: int | None  # of the innermost loop around the line, counted from 1
    outer: int | None  # of the loop around that one
    case: str  # if the finding was seen with another one
    element: str  # that differs first; of loads and stores, the first and the last
    name: str  # that it belongs to
    yours: str = ""
    right: str = ""
    proven: bool = False  # with the solution's value of this one name, the kernel is right
    headline: bool = False  # it is what the finding is called
    more: bool = False  # with the solution's value of this name, it is still wrong
    relates: Relation | None = None  # what the value is instead
    alike: tuple[str, ...] = ()  # of "stored": names that hold what the solution's hold
    without: tuple[str, ...] = ()  # and those for which none of the solution's is known

    @property
    def sentence(self) -> str:
        """Return the difference in a sentence, with both values."""
        at, program = self.where.line, self.where.program or ()
        outer = f", in iteration {self.outer} of the outer one" if self.outer else ""
        line = f"Line {at}" + (f", iteration {self.iteration} of its loop{outer}," if self.iteration else "")
        if self.what == "name":
            return f"{line} makes {self.element} {self.yours}; in the solution it is {self.right}."
        if self.what == "left":
            loop = f"Iteration {self.iteration} of the loop in line {at}" + (outer and f"{outer},")
            return f"{loop} leaves {self.element} {self.yours}; in the solution it is {self.right}."
        if self.what == "loop":
            return f"Iterations of the loop in line {at}: {self.yours}; in the solution: {self.right}."
        if self.what == "stored":
            return f"Line {at} stores {self.element} as {self.yours}; in the solution it is {self.right}."
        named = f"program {program[0] if len(program) == 1 else program}"
        verb = "loads" if self.what == "load" else "stores"
        if at is None:
            return f"In {named}, the solution {verb} {self.element}, and your kernel never does."
        return f"{line} {verb} {self.element}; in {named} the solution never does."

    @property
    def told(self) -> tuple[str, ...]:
        """Return all that there is to say of it, sentence by sentence."""
        relation = self.relates.sentence if self.relates else ""
        return tuple(filter(None, (self.sentence, relation, self.proof)))

    @property
    def proof(self) -> str:
        """Return a sentence on the rest of the launch; nothing if nothing is known of it."""
        if self.what == "stored":
            names = ", ".join(self.alike)
            alike = f"Until then the solution holds the same in {names}." if names else ""
            without = f"Not compared: {', '.join(self.without)}." if self.without else ""
            return f"{alike} {without}".strip()
        if self.proven:
            return f"With the solution's {self.name} in its place, the rest of this launch is right."
        if self.more:
            return f"With the solution's {self.name} in its place, the result is still wrong."
        return ""


@dataclass(frozen=True)
class Finding:
    """One located observation, in words a student understands."""

    id: str
    status: Status
    title: str
    explanation: str
    hint: str
    where: Where = field(default_factory=Where)
    examples: tuple[str, ...] = ()  # at most five
    error_map: ErrorMap | None = None  # if it is about wrong values
    named: bool = True  # it says what is wrong; False: only where
    question: str = ""  # what to find out first
    differs: Differs | None = None  # from the solution, if that is known
    certain: bool = True  # its name fits finite numbers; False: only NaN, infinities and zeros
    withheld: bool = False  # the hint: a learner gets it when the finding is seen again

    def worded(self, change: Callable[[str], str]) -> Finding:
        """Return the same in other words: explanation, question and hint changed."""
        explanation, question, hint = map(change, (self.explanation, self.question, self.hint))
        return replace(self, explanation=explanation, question=question, hint=hint)


@dataclass(frozen=True)
class PropertyResult:
    """A property, proven or not, and if not why in a few words."""

    name: str
    title: str
    passed: bool
    weight: int
    detail: str
    case: str = ""  # the title of the first case that failed


@dataclass(frozen=True)
class Traffic:
    """Distinct elements moved for one tensor of one kernel, over all launches that count, against the bound."""

    kernel: str
    tensor: str
    elements: int
    loads: int
    stores: int
    most_loads: int
    most_stores: int


@dataclass(frozen=True)
class Held:
    """The memory and the products of one call of a PyTorch function, against its bound and plain attention."""

    kernel: str
    case: str
    at_once: int  # numbers that live at the same time, inputs apart
    most_at_once: int
    plain_at_once: int
    products: int  # multiply-adds of all products of matrices
    most_products: int
    plain_products: int


@dataclass(frozen=True)
class Run:
    """One device's run."""

    device: str
    seconds: float
    traffic: tuple[Traffic, ...] = ()
    held: tuple[Held, ...] = ()  # of a PyTorch program, instead of traffic


@dataclass(frozen=True)
class Compilation:
    """A kernel as compiled for one target. Unknown numbers are None."""

    kernel: str
    target: str
    compiles: bool
    shared: int | None  # bytes of shared memory
    shared_limit: int
    registers: int | None
    spilled: int | None
    stages: int | None = None  # of its loops' pipeline, if more than these do not fit


@dataclass(frozen=True)
class Verdict:
    """The answer to one submission for one puzzle."""

    puzzle: str | None  # its ID
    title: str
    status: Status
    findings: tuple[Finding, ...]
    properties: tuple[PropertyResult, ...] = ()
    runs: tuple[Run, ...] = ()
    compiled: tuple[Compilation, ...] = ()
    remarks: tuple[str, ...] = ()  # worth knowing, though nothing is wrong
    printed: tuple[tuple[str, str], ...] = ()  # (case, what the kernels printed in it), in practice
    file: str = ""
    asking: str = ""  # in practice, if a hint is withheld: what to type for it
    stepping: str = ""  # in practice, if something was run and is wrong: what to type to step through it
    walk_through: str = ""  # in practice, once it is solved: what to type to read the course's solution, explained
    upcoming: str = ""  # in practice, once it is accepted: the file to open next
    whole: str = ""  # in practice, of a file that is wrong: what to type for all of the report, which is short without
    mode: str = "practice"
    sandbox: str = ""
    submission_sha256: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    uncompiled: int = 0  # percent of its points that count though it does not compile: a course's to decide

    @property
    def accepted(self) -> bool:
        """Whether every property is proven."""
        return self.status is Status.ACCEPTED

    @property
    def rank(self) -> tuple[int, bool]:
        """Of several candidates the one with the highest rank counts: more points, then accepted."""
        return self.earned, self.accepted

    @property
    def earned(self) -> int:
        """The points of all properties together."""
        return sum(map(self.worth, self.properties))

    def worth(self, one: PropertyResult) -> int:
        """Return the points that a property brings: it may be proven of a submission that scores 0."""
        if not one.passed:
            return 0
        if self.status is Status.DOES_NOT_COMPILE:
            return one.weight * self.uncompiled // 100
        return 0 if self.status in SCORES_NOTHING else one.weight

    def counts(self, one: PropertyResult) -> bool:
        """Return whether a property that is proven counts."""
        uncompiled = self.status is Status.DOES_NOT_COMPILE and self.uncompiled
        return one.passed and (self.status not in SCORES_NOTHING or bool(uncompiled))

    @property
    def possible(self) -> int:
        """The full score."""
        return sum(p.weight for p in self.properties)

    def weighed(self, points: Mapping[str, int]) -> Verdict:
        """Return the same with these points for its properties, by name; a property that is not named keeps its own."""
        properties = tuple(replace(one, weight=points.get(one.name, one.weight)) for one in self.properties)
        return replace(self, properties=properties)

    @property
    def exit_status(self) -> ExitStatus:
        """The exit status that a command line reports."""
        special = {
            Status.ACCEPTED: ExitStatus.ACCEPTED,
            Status.CHECKER_FAULT: ExitStatus.FAULT,
            Status.TOO_BUSY: ExitStatus.FAULT,
            Status.MISUSED: ExitStatus.MISUSED,
            Status.NOT_STARTED: ExitStatus.NOT_STARTED,
            Status.NOT_JUDGED: ExitStatus.NOT_STARTED,
        }
        return special.get(self.status, ExitStatus.REFUSED)
