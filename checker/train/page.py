"""The page to show to friends: what was built, in the learner's own numbers, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from textwrap import indent

from checker.course.verdict import Traffic, Verdict
from checker.train.result import Training

ONWARDS = "../docs/background/onwards.md"


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
        "![The loss over the steps: two curves, one on the other](train.png)",
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
    """A row for each attention, a column for each length of sequences; empty where one could not be timed."""
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
    """A row for each tensor that an accepted kernel has touched."""
    rows: Iterable[Traffic] = verdict.runs[0].traffic if verdict.runs else ()
    for one in rows:
        read, written = (f"{n / one.elements:.2f}" if n else "" for n in (one.loads, one.stores))
        yield f"| `{one.kernel}` | {one.tensor.removesuffix('_ptr')} | {read} | {written} |"
