"""A puzzle without a lesson, for a function that somebody has written with a signature of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from checker.course.case import Case, Outputs
from checker.course.claims import Claims
from checker.course.misconception import Ideas, Misconception, Raises, Sign, Unwritten, Writes
from checker.course.puzzle import Budget, Puzzle

idea = Ideas(__file__)

ENOUGH = Budget(loads=1 << 62, stores=1 << 62)


@dataclass(frozen=True)
class Task(Puzzle):
    """Everything the judge knows about it. There are no points, and no bounds on traffic."""

    name: str = ""
    basic: int = 0  # so many cases are run first; the others if these are right

    @property
    def stem(self) -> str:
        """What its cases are drawn for."""
        return f"own-{self.id}"

    @property
    def title(self) -> str:
        """What reports call it."""
        return self.name

    @property
    def pytorch(self) -> bool:
        """It is called, and launches what it likes."""
        return True

    def launched(self, name: str) -> tuple[str, ...]:
        """Nothing is asked of what it launches."""
        return ()


def unlimited(case: Case) -> Mapping[str, Budget]:
    """Any traffic will do."""
    return dict.fromkeys(case.tensors, ENOUGH)


def rounded_up(n: int, claims: Claims) -> int:
    """Return a length that the claims allow."""
    return -(-n // 128) * 128 if claims.whole_tiles else n


Signs = Callable[[Writes | Unwritten], Sequence[Writes | Unwritten]]


def translated(ideas: Iterable[Misconception], signs: Signs) -> Iterator[Misconception]:
    """Ideas with what stands here for their signs; what Triton says of a kernel it says here as well."""
    for one in ideas:
        found: list[Sign] = []
        for sign in one.signs:
            if isinstance(sign, Raises):
                found.append(sign)
            elif isinstance(sign, Writes | Unwritten):
                found += signs(sign)
        if found:
            yield replace(one, signs=tuple(found))


def through(sign: Writes | Unwritten, made: Callable[[Case, Callable[[Case], Outputs]], Outputs]) -> Writes | Unwritten:
    """Return the sign of a function's calls: `made` gets a call, and what gives a launch's elements by this sign."""
    if isinstance(sign, Writes):
        return replace(sign, outputs=lambda case: made(case, sign.outputs))
    return replace(sign, elements=lambda case: {n: x.astype(bool) for n, x in made(case, sign.elements).items()})


_OF_CUDA = (
    r"NVIDIA driver|compiled with CUDA|CUDA GPUs|active drivers?|CUDA-capable|[Ll]ibcuda|accelerator device|cudaGet"
)
_OF_TRITON = (
    r"InterpreterBuilder.*no attribute|module 'triton[.\w]*' has no attribute|libdevice|have been removed|'trans_[ab]'"
)
# What stops a file that may be right elsewhere.
STOPS = (
    idea("needs-a-card", Raises(_OF_CUDA)),
    idea("not-in-this-triton", Raises(_OF_TRITON)),
    idea("module-missing", Raises(r"No module named")),
    idea("result-changed", Raises(r"has changed \w+, which the caller has got")),
    idea("gradient-missing", Raises(r"appears to not have been used in the graph")),
    idea("added-without-atomics", Raises(r"both load element .* and store to it")),
    idea("waits-for-others", Raises(r"atomic operation CAS")),
)

# Of an access outside a tensor, once it is known in which calls there was any.
PAST_THE_END = (
    idea("past-the-last-tile", Raises(r", and none inside it")),
    idea("store-without-mask", Raises(r" writes to element")),
    idea("load-without-mask", Raises(r" reads element")),
)
OTHER_STRIDES = (idea("strides-of-others", Raises(r" (writes to|reads) element")),)
