"""Measurements as data. The table, the chart and the JSON are functions of it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from checker.course.ladder import timed_id
from checker.course.puzzle import Work
from checker.course.status import Misuse

SCHEMA = 2  # 1: `puzzle` was a number

IN_GLUON = "tuned, in Gluon"  # a tuned version that launches itself, by the name it is timed under


def span(first: float, last: float, form: str) -> str:
    """From one number to another, or only the first if they are nearly the same."""
    apart = max(first, last) > 1.01 * min(first, last)
    return f"{first:{form}} to {last:{form}}" if apart else f"{first:{form}}"


@dataclass(frozen=True)
class Timing:
    """One implementation at one size. Times in milliseconds, with a cold L2."""

    name: str
    median: float
    low: float  # the fifth of all runs that were fastest took less
    high: float
    tuning: str = ""  # how it was launched, if it is a kernel of the course
    peer: bool = False


@dataclass(frozen=True)
class Size:
    """One size: what there is to do, and how long each implementation took."""

    name: str
    work: Work
    flops: float  # credited to everybody; 0: memory is the limit, and speed is told in bytes
    operations: float  # the same; where memory is the limit, what the kernels compute, as a softmax's five an element
    least: float  # bytes: every input read once, every output written once
    counted: float  # bytes that the kernels of the course load and store
    own_limit: float
    timings: tuple[Timing, ...] = ()
    left_out: tuple[str, ...] = ()  # what could not be timed, and why

    @property
    def unit(self) -> str:
        """What speed is told in."""
        return "TFLOP/s" if self.flops else "GB/s"

    @property
    def ordered(self) -> list[Timing]:
        """Its timings, fastest first."""
        return sorted(self.timings, key=lambda timing: timing.median)

    @property
    def launched(self) -> list[str]:
        """How the course's kernels were launched, a line each."""
        return [f"{timing.name}: {timing.tuning}" for timing in self.timings if timing.tuning]

    @property
    def not_timed(self) -> list[str]:
        """What could not be timed, and why, a line each."""
        return [f"not timed: {reason}" for reason in self.left_out]

    def speed(self, milliseconds: float) -> float:
        """TFLOP/s by the flops everybody is credited with, or GB/s of the least bytes."""
        return self.flops / milliseconds * 1e-9 if self.flops else self.least / milliseconds * 1e-6

    @property
    def shown(self) -> object:
        """The numbers of its table, as far as they are told."""
        rows = ((one.name, *(f"{ms:.3g}" for ms in (one.low, one.median, one.high))) for one in self.ordered)
        speeds = (f"{self.speed(one.low):.0f} {self.speed(one.high):.0f}" for one in self.ordered)
        return self.unit, *rows, *speeds, *self.launched, *self.not_timed

    def of(self, name: str) -> Timing | None:
        """Return the timing of that name."""
        return next((timing for timing in self.timings if timing.name == name), None)


@dataclass(frozen=True)
class Result:
    """One puzzle's benchmark on one GPU; without a GPU nothing is measured, and times are predicted."""

    puzzle: str  # its ID
    title: str
    sizes: tuple[Size, ...]
    gpu: str = ""  # none: a prediction
    copy: float = 0.0  # GB/s of a large copy in the same run
    matrix: float = 0.0  # TFLOP/s of a large fp16 product in the same run
    clocks: str = ""
    date: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def alike(self) -> list[list[Size]]:
        """Its sizes, those together whose tables are equal: one is enough."""
        groups: dict[object, list[Size]] = {}
        for size in self.sizes:
            groups.setdefault(size.shown, []).append(size)
        return list(groups.values())

    @property
    def measured(self) -> bool:
        """Whether this was measured, and not predicted."""
        return bool(self.gpu)

    def limit(self, size: Size) -> float:
        """Return the copy's bandwidth, or the matrix peak, of the same run: no speed at this size is greater."""
        return self.matrix if size.flops else self.copy

    def share(self, size: Size, milliseconds: float) -> float:
        """Return the speed as a share of that limit."""
        return size.speed(milliseconds) / self.limit(size)

    def to_json(self) -> str:
        """As strict JSON."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Result:
    """Return what `to_json` wrote, in this schema or the one before. ValueError if it is anything else."""
    try:
        fields: dict[str, Any] = json.loads(text)
        if fields.pop("schema") not in (1, SCHEMA):
            raise ValueError("another schema")
        fields["puzzle"] = timed_id(fields["puzzle"])
        for size in fields["sizes"]:
            timings = tuple(Timing(**timing) for timing in size["timings"])
            size |= {"work": Work(size["work"]), "timings": timings, "left_out": tuple(size["left_out"])}
        return Result(**{**fields, "sizes": tuple(Size(**size) for size in fields["sizes"])})
    except (KeyError, TypeError, AttributeError, Misuse) as error:
        raise ValueError(f"not a benchmark's result: {error}") from error
