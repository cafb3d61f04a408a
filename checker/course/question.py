"""Questions to predict: a number of one launch, asked before the learner's own kernel answers it, and why it is so.

A measure is a function of what the launch did. Tensors go by their parameters' names, numbers are counted in elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from checker.course.case import Case, Outputs


@dataclass(frozen=True, eq=False)
class Done:
    """Counts and outputs of one launch."""

    outputs: Outputs
    loads: Mapping[str, int]  # distinct elements per load, all added up
    stores: Mapping[str, int]
    lanes: Mapping[str, int]  # of all loads and stores of a tensor, masked or not
    programs: Mapping[str, int]  # how many of them stored to a tensor
    multiply_adds: int  # of all matrix products
    largest: int  # numbers in the largest tensor that a PyTorch program has made
    launches: int  # of kernels, by a PyTorch program
    launched: int  # programs of all of these together


Measure = Callable[[Done], float]


@dataclass(frozen=True, eq=False)
class Question:
    """A number that somebody who has understood the lesson can tell in advance.

    `reason` is true of every accepted kernel. Where the bounds leave a choice, `course` is what the course's solution
    gives, and `reason` is about that.
    """

    name: str  # how a guess is called: k_reads=4
    asks: str  # with the sizes of the launch
    launch: Case
    measure: Measure
    reason: str
    course: float | None = None


def reads(tensor: str) -> Measure:
    """Return how often an element is loaded, on average."""
    return lambda done: done.loads[tensor] / done.outputs[tensor].size


def writes(tensor: str) -> Measure:
    """Return how often an element is stored, on average."""
    return lambda done: done.stores[tensor] / done.outputs[tensor].size


def programs(tensor: str) -> Measure:
    """Return how many programs store to a tensor."""
    return lambda done: done.programs[tensor]


def idle_lanes(tensor: str) -> Measure:
    """Return how many lanes of all loads and stores of a tensor are masked off."""
    return lambda done: done.lanes[tensor] - done.loads[tensor] - done.stores[tensor]


def unwritten(tensor: str) -> Measure:
    """Return how many elements of an output nobody has written."""
    return lambda done: int(np.isnan(done.outputs[tensor]).sum())


def value(tensor: str, *index: int) -> Measure:
    """Return one element of an output."""
    return lambda done: float(done.outputs[tensor][index])


def multiply_adds(done: Done) -> float:
    """Return how many multiply-adds all matrix products take."""
    return done.multiply_adds


def products(*sides: int) -> Measure:
    """Return how many whole products of tiles with these three sides all multiply-adds make; sums of rows may add a
    part.
    """
    return lambda done: done.multiply_adds // int(np.prod(sides))


def largest(done: Done) -> float:
    """Return how many numbers the largest tensor holds that a PyTorch program has made."""
    return done.largest


def launches(done: Done) -> float:
    """Return how many kernels a PyTorch program has launched."""
    return done.launches


def launched(done: Done) -> float:
    """Return how many programs these have run."""
    return done.launched
