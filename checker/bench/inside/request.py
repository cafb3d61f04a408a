"""What the child is asked, as it travels in JSON: launches as data."""

from __future__ import annotations

from typing import TypedDict


class Tensor(TypedDict):
    """A dense tensor that the launches at one size share."""

    dtype: str  # as torch calls it
    shape: list[int]
    random: bool  # an input; else it is written before it is read


class Launch(TypedDict):
    """One way to launch one kernel."""

    kernel: str
    inputs: list[str]
    outputs: dict[str, float]  # what each holds everywhere before the launch
    scalars: dict[str, int | float]
    constexprs: dict[str, int | float | bool]
    grid: list[int]
    num_warps: int
    num_stages: int
    tuning: str  # the same in words


class Size(TypedDict):
    """One size: what is computed, and how each kernel may be launched, in the order of the kernels."""

    name: str
    work: str
    usual: bool
    tensors: dict[str, Tensor]
    kernels: list[list[Launch]]


class Request(TypedDict):
    """Everything the child is told: linted text by name, the sizes, and how long each is timed."""

    sources: dict[str, str]
    sizes: list[Size]
    milliseconds: int
