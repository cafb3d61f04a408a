"""Results of a training, as data; the JSON, the lines at the end, and the page to show to friends.

The page is Markdown: what was built, in the learner's own numbers.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from textwrap import indent

from checker.course.verdict import Traffic, Verdict
from checker.train.sizes import Size

SCHEMA = 1
ONWARDS = "../docs/background/onwards.md"
PICTURE = "train.png"
OWN, SDPA = "your own kernels", "SDPA"


@dataclass(frozen=True)
class Curve:
    """The losses of a training with one attention."""

    name: str
    losses: tuple[float, ...]  # of each step; nats a character
    seconds: tuple[float, ...]  # that each step took

    def speed(self, tokens: int) -> float:
        """Tokens per second, of the step that took the median time."""
        return tokens / statistics.median(self.seconds)


@dataclass(frozen=True)
class Speeds:
    """The speed of the same model with each attention that was timed."""

    context: int  # characters of a sequence
    tokens: Mapping[str, float]  # per second, by attention
    launched: Mapping[str, str] = field(default_factory=dict)  # how the tuned kernels were
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
        """Return what it came to, in lines."""
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


def page(training: Training, verdicts: Iterable[Verdict], solved: int, puzzles: int) -> str:
    """`verdicts`: on the kernels that the model ran; `solved`: so many of all puzzles."""
    own, beside = training.curves
    size = training.size
    lines = [
        "# A language model with my own attention",
        "",
        f"A transformer of {size.layers} layer{'s' if size.layers > 1 else ''} and width {size.width}, with "
        f"{size.heads} heads, which reads {size.context} characters at a time. Its attention, forward and backward, is "
        f"computed by Triton kernels that I wrote. It was trained for {training.steps} steps on {training.hardware}, "
        f"{training.date}.",
        "",
        f"![The loss over the steps: two curves, one on the other]({PICTURE})",
        "",
        f"The loss fell from {own.losses[0]:.3f} to {own.losses[-1]:.3f}. With PyTorch's own attention, from the same "
        f"start and on the same text, it fell to {beside.losses[-1]:.3f}. At no step did the two differ by more than "
        f"{training.difference:.1g}.",
        "",
        "## What it writes",
        "",
        "Before training:",
        "",
        indent(training.before.strip(), "    "),
        "",
        "After training:",
        "",
        indent((training.after or "(nothing: training was stopped)").strip(), "    "),
        "",
        "## Speed",
        "",
        *_speeds(training),
        "",
        *_not_timed(training),
    ]
    if traffic := [row for verdict in verdicts for row in _traffic(verdict)]:
        lines += ["## Memory traffic of the kernels", ""]
        lines += ["| kernel | tensor | read per element | written per element |", "|---|---|---|---|", *traffic, ""]
        lines += ["As the course's judge counts it: every element that an instruction loads or stores, once.", ""]
    lines += [f"{solved} of {puzzles} puzzles solved. [Where the field is going]({ONWARDS})."]
    return "\n".join(lines) + "\n"


def _speeds(training: Training) -> Iterator[str]:
    """Yield a row for each attention, a column for each length of sequences; empty where one could not be timed."""
    yield " | ".join(("| tokens per second", *(f"sequences of {one.context:,}" for one in training.speeds))) + " |"
    yield "|---|" + "---|" * len(training.speeds)
    for name in dict.fromkeys(name for one in training.speeds for name in one.tokens):
        cells = (f"{one.tokens[name]:,.0f}" if name in one.tokens else "" for one in training.speeds)
        yield " | ".join((f"| {name}", *cells)) + " |"


def _not_timed(training: Training) -> Iterator[str]:
    for one in training.speeds:
        for reason in one.left_out:
            yield f"Not timed in sequences of {one.context:,}: {reason}"
            yield ""


def _traffic(verdict: Verdict) -> Iterator[str]:
    """Yield a row for each tensor that an accepted kernel has touched."""
    rows: Iterable[Traffic] = verdict.runs[0].traffic if verdict.runs else ()
    for one in rows:
        read, written = (f"{n / one.elements:.2f}" if n else "" for n in (one.loads, one.stores))
        yield f"| `{one.kernel}` | {one.tensor.removesuffix('_ptr')} | {read} | {written} |"
