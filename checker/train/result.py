"""What a training gave, as data. The picture, the JSON and the lines at the end are functions of it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from checker.train.sizes import Size

SCHEMA = 1
OWN, SDPA = "your own kernels", "SDPA"


@dataclass(frozen=True)
class Curve:
    """How training went with one attention."""

    name: str
    losses: tuple[float, ...]  # of each step; nats a character
    seconds: tuple[float, ...]  # that each step took

    def speed(self, tokens: int) -> float:
        """Tokens per second, of the step that took the median time."""
        return tokens / statistics.median(self.seconds)


@dataclass(frozen=True)
class Speeds:
    """How fast the same model trains with each attention that was timed."""

    context: int  # characters of a sequence
    tokens: Mapping[str, float]  # per second, by attention
    launched: Mapping[str, str] = field(default_factory=dict)  # how the speed track's kernels were
    left_out: tuple[str, ...] = ()  # attentions that could not be timed, and why


@dataclass(frozen=True)
class Training:
    """One model trained twice, side by side: the same start, the same batches, two attentions."""

    size: Size
    hardware: str
    curves: tuple[Curve, Curve]  # of equal length
    before: str  # text that the model with the learner's kernels wrote at the start
    after: str = ""
    speeds: tuple[Speeds, ...] = ()
    problem: str = ""  # what stopped it
    versions: Mapping[str, str] = field(default_factory=dict)
    date: str = ""

    @property
    def steps(self) -> int:
        """How many steps were trained."""
        return len(self.curves[0].losses)

    @property
    def difference(self) -> float:
        """The largest difference between the two losses of a step."""
        own, sdpa = (curve.losses for curve in self.curves)
        return max((abs(a - b) for a, b in zip(own, sdpa, strict=True)), default=0.0)

    def to_json(self) -> str:
        """As strict JSON."""
        return json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, allow_nan=False) + "\n"

    def lines(self) -> list[str]:
        """What it came to, in lines."""
        said = []
        for curve in self.curves:
            said.append(f"loss with {curve.name}: {curve.losses[0]:.3f} at the first step, {curve.losses[-1]:.3f} now")
        said.append(f"largest difference of a step: {self.difference:.1g}")
        seconds = sum(sum(curve.seconds) for curve in self.curves)
        said.append(f"{self.steps} steps in {seconds:.0f} s, on {self.hardware}")
        for speeds in self.speeds:
            said.append(f"tokens per second, in sequences of {speeds.context}:")
            said += [f"{speed:12,.0f} with {name}" for name, speed in speeds.tokens.items()]
            said += [f"   not timed: {reason}" for reason in speeds.left_out]
        return said
