"""A misconception: a wrong idea with a name, and the signs by which a kernel that has it is recognised.

A sign says what such a kernel writes, leaves unwritten, reaches, raises or moves. Each sign of an idea is enough to
name it. A sign recognises itself in what was seen, but for `Writes`: that needs tolerances, which the judge has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Case
from checker.course.text import Line
from checker.course.verdict import Traffic
from checker.course.words import Page

Mask = npt.NDArray[np.bool_]


class Load(Enum):
    """A load that is looked at, as the launch tells."""

    LAST = "one whose masked lanes could count, or else the last one"
    PADDED = "one whose masked lanes could count"


@dataclass(frozen=True)
class Reach:
    """The elements one access covers: offsets from the tensor's first element, as laid out."""

    store: bool
    tensor: str
    lowest: int
    highest: int


@dataclass(frozen=True)
class Writes:
    """The output of the kernel: `outputs(case)`, in float64, of the outputs that the idea is about."""

    outputs: Callable[[Case], Mapping[str, Array]]
    line: Line | Load | None = None  # to look at; None: where the wrong output is stored
    needs_line: bool = False  # the outputs alone could be another mistake's: the text must have that line

    def at(self, line: Line | Load, needed: bool = False) -> Writes:
        """Return the same outputs, with a line to look at."""
        return replace(self, line=line, needs_line=needed)


@dataclass(frozen=True)
class Unwritten:
    """Elements left unwritten: `elements(case)`, of the outputs that the idea is about."""

    elements: Callable[[Case], Mapping[str, Mask]]
    shared: bool = False  # programs meet in the elements that are written
    line: Line | None = None  # the text must have this line, which is the one to look at

    def recognises(self, case: Case, missing: Mapping[str, Mask]) -> bool:
        """Return whether the launch left out just these elements, and some of each output."""
        elements = self.elements(case)
        gaps = [gap.any() and np.array_equal(gap, missing[name]) for name, gap in elements.items()]
        return bool(gaps) and all(gaps)


@dataclass(frozen=True)
class Reaches:
    """Accesses of the kernel: `accesses(case, program)` has each that could be the first to be refused."""

    accesses: Callable[[Case, int], Sequence[Reach]]
    line: Line | None = None  # the text must have this line

    def recognises(self, case: Case, program: int, refused: Reach) -> bool:
        """Return whether the access that was refused is one of these."""
        return refused in self.accesses(case, program)


@dataclass(frozen=True)
class Raises:
    """An error of Triton's: `message`, a pattern, is found in its text; `at`: it is about such a line."""

    message: str
    at: Line | None = None

    def recognises(self, message: str) -> bool:
        """Return whether the message is of this kind."""
        return bool(re.search(self.message, message))


@dataclass(frozen=True)
class Moves:
    """Traffic of a kernel whose results are right: `like(case, moved)` recognises it, by tensor."""

    like: Callable[[Case, Mapping[str, Traffic]], bool]
    products_too: bool = False  # it is about products, too: the line to look at is the first tl.dot

    def recognises(self, case: Case, moved: Mapping[str, Traffic]) -> bool:
        """Return whether the launch moved what such a kernel does."""
        return self.like(case, moved)


@dataclass(frozen=True)
class Footprint:
    """Memory and work of a PyTorch program in one launch, in numbers, whatever their type."""

    largest: int  # of the largest tensor that was made
    at_once: int  # of all tensors that lived at the same time, at the peak; inputs apart
    products: int  # multiply-adds of all products of matrices, by hand as well


@dataclass(frozen=True)
class Uses:
    """Memory or work of a PyTorch program whose results are right: `like(case, used)` recognises it."""

    like: Callable[[Case, Footprint], bool]

    def recognises(self, case: Case, used: Footprint) -> bool:
        """Return whether the launch used what such a program does."""
        return self.like(case, used)


@dataclass(frozen=True)
class Launches:
    """Launches of kernels by a function whose results are right: `like(times)` recognises them, by name."""

    like: Callable[[Mapping[str, int]], bool]

    def recognises(self, times: Mapping[str, int]) -> bool:
        """Return whether the call launched what such a function does."""
        return self.like(times)


@dataclass(frozen=True)
class InHalf:
    """A function launches a kernel with a tensor in half precision for a parameter that has to be fp32."""

    parameter: str

    def recognises(self, signature: Mapping[str, str]) -> bool:
        """Return whether a launch of this signature does."""
        return signature.get(self.parameter) in ("*fp16", "*bf16")


@dataclass(frozen=True)
class Undefined:
    """A masked load without `other` whose value reaches the output: the puzzle's own words for it."""


Sign = Undefined | Writes | Unwritten | Reaches | Raises | Moves | Uses | Launches | InHalf


@dataclass(frozen=True)
class Misconception:
    """A wrong idea in words, and its signs. Variants of an idea share the id; what differs is what is said of them."""

    id: str
    title: str
    explanation: str
    hint: str
    signs: tuple[Sign, ...]
    question: str = ""  # what to find out first; none where the hint is about Triton's syntax alone


class Ideas(Page):
    """Makes ideas of the words in one file, by their keys: `idea("keys-counted", sign, sign)`."""

    def __init__(self, module: str, *others: Ideas):
        """As a page, of whose keys it is known which ideas have been made."""
        super().__init__(module, *others)
        self.made: set[str] = set()

    def __call__(self, key: str, *signs: Sign, **holes: str) -> Misconception:
        """Return the idea of this key, with its signs; `holes` are filled in, and others left to somebody else.

        Raises LookupError as `said` does, and ValueError without signs: nothing would recognise such an idea.
        """
        said = self.said(key, holes)
        if not signs:
            raise ValueError(f"{self.path.name}: {key} has no signs.")
        self.made.add(key)
        return Misconception(
            key.partition("/")[0], said.title, said.explanation, said.hint, signs, question=said.question
        )


def chosen(ideas: Iterable[Misconception], *ids: str) -> tuple[Misconception, ...]:
    """Return those with one of these ids. Raises LookupError for an id that none of them has."""
    every = tuple(ideas)
    if strange := {*ids} - {one.id for one in every}:
        raise LookupError(f"No idea is called {min(strange)}.")
    return tuple(one for one in every if one.id in ids)


def without(ideas: Iterable[Misconception], *ids: str) -> tuple[Misconception, ...]:
    """Return those with none of these ids. Raises LookupError for an id that none of them has."""
    every = tuple(ideas)
    chosen(every, *ids)
    return tuple(one for one in every if one.id not in ids)
