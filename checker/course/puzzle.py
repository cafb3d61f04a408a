"""The definition of a puzzle, in classes for the catalog's modules.

A catalog module fills in one `Puzzle`. It is declarative: the judge asks it for cases, expected
values, traffic budgets and misconceptions, and does everything else itself.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Case, Outputs
from checker.course.kernel import Kernel
from checker.course.ladder import entry
from checker.course.misconception import Footprint, Misconception
from checker.course.question import Question
from checker.course.space import Space
from checker.course.verdict import PropertyResult, Traffic

PRACTICE_KEY = "practice"
PLENTY = 40 << 30  # bytes of free memory that a GPU is taken to have, where there is none


@dataclass(frozen=True)
class Property:
    """A named requirement, proven when every case that names it passes; the unit of credit.

    `traffic` properties also require that those cases stay within their budgets.
    """

    name: str
    title: str
    weight: int
    traffic: bool = False


@dataclass(frozen=True, eq=False)
class Expected:
    """Right values of one output in float64, and how far from them a right kernel may be."""

    values: Array
    tolerance: Array


@dataclass(frozen=True)
class Budget:
    """Bounds for one tensor and launch, in distinct elements per load or store instruction.

    `loads` and `stores` are upper bounds. `least_loads` and `least_stores` are for algorithms that are
    asked for although others move less. `least_at_once`: so many the widest load, and the widest store, must reach.
    """

    loads: int = 0
    stores: int = 0
    least_loads: int = 0
    least_stores: int = 0
    least_at_once: int = 0
    place: str = ""  # where a load belongs that is repeated in a loop, for the hint
    anew: str = ""  # what it is loaded or stored anew for: "each tile of keys", say


@dataclass(frozen=True)
class Footprints:
    """Bounds on a PyTorch program's memory and work in a launch, and those of plain attention."""

    most: Callable[[Case], Footprint]
    plain: Callable[[Case], Footprint]


@dataclass(frozen=True)
class Invariant:
    """A law that right outputs obey whatever the reference says.

    `broken(case, outputs)` gives the rows of the first output that break it, as a boolean array.
    """

    id: str
    title: str
    explanation: str
    broken: Callable[[Case, Outputs], npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Remark:
    """Something worth saying of a kernel that is right; `seen(case, moved)` tells it from what a launch moved."""

    text: str
    seen: Callable[[Case, Mapping[str, Traffic]], bool]


class Work(str, Enum):
    """The work of a timed launch, which decides its competitors."""

    SOFTMAX = "softmax"
    PRODUCT = "product of matrices"
    ATTENTION = "attention"
    CAUSAL_ATTENTION = "causal attention"
    CAUSAL_BACKWARD = "causal attention, backward"
    BIASED_ATTENTION = "attention with a bias"
    CAUSAL_BIASED_ATTENTION = "causal attention with a bias"
    BIAS_GRADIENT = "gradient of a bias"
    DROPOUT = "attention with dropout"
    DROPOUT_BACKWARD = "attention with dropout, dK and dV"
    DECODING = "attention of a single query"


@dataclass(frozen=True)
class Tuning:
    """Launch parameters for speed: block constexprs, warps of a program, stages of its loops' pipeline."""

    blocks: Mapping[str, int]
    num_warps: int
    num_stages: int = 3
    maxnreg: int | None = None  # registers that a thread may have at most; None: as many as the compiler wants

    def __str__(self) -> str:
        blocks = ", ".join(f"{name}={size}" for name, size in self.blocks.items())
        registers = f", at most {self.maxnreg} registers" if self.maxnreg else ""
        return f"{blocks}, {self.num_warps} warps, {self.num_stages} stages{registers}"


@dataclass(frozen=True, eq=False)
class Timed:
    """One size at which a puzzle is timed.

    `launch(kernel, blocks)` is the launch of one kernel; its tensors have shapes, but no memory. `tunings` has the
    kernels in the order in which they are launched, each with the launch parameters that are tried: the fastest
    counts.
    """

    name: str
    work: Work
    launch: Callable[[str, Mapping[str, int]], Case]
    tunings: Mapping[str, tuple[Tuning, ...]]
    flops: float = 0.0  # floating-point operations that all kernels are credited with; 0: memory is the limit
    operations: float = 0.0  # for the roofline, where memory is the limit; 0: a softmax's
    own_limit: float = 1.0  # share of the copy bandwidth that this algorithm can reach
    usual: bool = False  # timed also when not every size is asked for


@dataclass(frozen=True, eq=False)
class Pictured:
    """Launches that `trace` draws, of a few tiles a side; no property and no score depends on them."""

    cases: Callable[[Draw], list[Case]]  # one for each kernel
    sees: Callable[[Case], npt.NDArray[np.bool_]] | None = None  # of attention: which query (row) sees which key
    beside: str | None = None  # the ID of a puzzle that visits the same tiles in another order


@dataclass(frozen=True)
class Draw:
    """The source of a puzzle's cases: a key, and for grading also the submission that is graded.

    Practice uses a public key, so the same example comes back until it is solved. Grading mixes a
    secret key with a hash of the submission's program, so that no example can be prepared for.
    """

    puzzle: str  # its stem
    key: str = PRACTICE_KEY
    submission: str = ""

    def case(self, name: str) -> np.random.Generator:
        """Return the random numbers of one case: HMAC-SHA256 of key, puzzle, case and submission."""
        message = "\0".join((self.puzzle, name, self.submission)).encode()
        digest = hmac.digest(self.key.encode(), message, hashlib.sha256)
        return np.random.Generator(np.random.PCG64(int.from_bytes(digest, "little")))


@dataclass(frozen=True)
class Puzzle:
    """Everything the judge knows about one puzzle."""

    id: str
    kernels: tuple[Kernel, ...]
    properties: tuple[Property, ...]
    cases: Callable[[Draw], list[Case]]
    expected: Callable[[Case], Mapping[str, Expected]]
    budget: Callable[[Case], Mapping[str, Budget]]
    spaces: Mapping[str, Space] = field(default_factory=dict)  # by kernel: launches besides the cases
    large_cases: Callable[[Draw], list[Case]] | None = None  # for a GPU besides: long rows, wide heads, bf16
    steps: Callable[[Case], float] | None = None  # programs and tiles of a launch, where the budget does not tell
    work: Callable[[Case], int] | None = None  # multiply-adds in tl.dot that are enough
    by_hand: Callable[[Case], Array] | None = None  # elements that each program may multiply without tl.dot
    largest_block: Callable[[Case], int] | None = None  # elements that a block may have
    programs: Callable[[Case, str, Mapping[str, int]], int] | None = None  # of a kernel that is launched
    footprint: Footprints | None = None  # of a PyTorch program, instead of all the bounds above
    timed: Callable[[int], list[Timed]] | None = None  # at which sizes, given the GPU's free bytes
    pictured: Pictured | None = None  # None: of each kernel the first case that proves something about traffic
    why_blocks: str = (
        "They are chosen so that a block fits into the memory on the chip; a row or a matrix of any length does not."
    )
    remarks: tuple[Remark, ...] = ()
    misconceptions: tuple[Misconception, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    questions: tuple[Question, ...] = ()  # to predict, in the order in which the lesson asks them

    @property
    def stem(self) -> str:
        """The name that the puzzle's files share."""
        return entry(self.id).stem

    @property
    def title(self) -> str:
        """What reports call it."""
        return entry(self.id).title

    @property
    def heading(self) -> str:
        """What pages put above it."""
        return f"Puzzle {self.id}: {self.title}"

    @property
    def pytorch(self) -> bool:
        """Whether it asks for PyTorch, and not for kernels."""
        return entry(self.id).pytorch

    def draw(self, key: str = PRACTICE_KEY, submission: str = "") -> Draw:
        """Return what this puzzle's cases are drawn from: with the public key for practice, or with the course's."""
        return Draw(self.stem, key, submission)

    def launched(self, name: str) -> tuple[str, ...]:
        """Return the kernels of other puzzles that a case of this function launches: it runs the functions before it,
        too.
        """
        before = [kernel.name for kernel in self.kernels].index(name)
        return tuple(launched for kernel in self.kernels[: before + 1] for launched in kernel.launches)

    @property
    def possible(self) -> int:
        """The full score."""
        return sum(p.weight for p in self.properties)

    @property
    def unproven(self) -> tuple[PropertyResult, ...]:
        """Return the results of its properties where nothing was run."""
        return tuple(PropertyResult(p.name, p.title, False, p.weight, "") for p in self.properties)
