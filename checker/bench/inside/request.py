"""Requests to the measuring process, in JSON: launches as data."""

from __future__ import annotations

from typing import TypedDict


class Tensor(TypedDict):
    """A dense tensor. Launches at one size share those of the same name."""

    dtype: str  # as torch calls it
    shape: list[int]
    scratch: bool  # programs exchange numbers in it: zeros before the first launch, then as the one before has left it
    value: float | None  # what an output holds everywhere before the launch; None: an input


class Launch(TypedDict):
    """One way to launch one kernel."""

    kernel: str
    tensors: dict[str, Tensor]
    scalars: dict[str, int | float]
    constexprs: dict[str, int | float | bool]
    grid: list[int]
    num_warps: int
    num_stages: int
    maxnreg: int | None  # registers that a thread may have at most
    tuning: str  # the same in words


class Size(TypedDict):
    """One size: what is computed, and how each kernel may be launched, in the order of the kernels."""

    name: str
    work: str
    usual: bool
    kernels: list[list[Launch]]


class Request(TypedDict):
    """Everything the child is told: what is timed, at which sizes, and how long each is timed."""

    sources: dict[str, str]
    own: dict[str, str]  # paths of the project's own files that launch themselves, by name
    sizes: list[Size]
    milliseconds: int
