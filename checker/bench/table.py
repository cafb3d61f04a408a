"""A benchmark's result for the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from checker.bench.result import Result, Size, Timing, span
from checker.course.puzzle import Work

# What ratios are told against, where it was timed; of attention it is SDPA flash.
PEERS = {
    Work.SOFTMAX: "torch eager",
    Work.PRODUCT: "torch.matmul",
    Work.BIASED_ATTENTION: "SDPA efficient",
    Work.CAUSAL_BIASED_ATTENTION: "FlexAttention",
    Work.BIAS_GRADIENT: "torch eager",
}
# Peers in the summary; of attention SDPA cuDNN, which is not timed with dropout.
BESIDES: dict[Work, list[str]] = {
    Work.SOFTMAX: ["torch eager"],
    Work.DECODING: ["SDPA flash", "SDPA cuDNN"],
    Work.BIASED_ATTENTION: ["FlexAttention"],
    **{work: [] for work in (Work.PRODUCT, Work.DROPOUT, Work.DROPOUT_BACKWARD)},
}

NOTHING_MEASURED = (
    "There is no GPU here, so nothing was timed. This is a prediction: the least time that the memory traffic counted "
    "on the interpreter and the operations of the algorithm take on a GPU that does nothing but that. Of two times the "
    "first is for every byte moved once, which large caches come close to, and the second for all that the programs "
    "load and store; one time stands for both. Real kernels take longer."
)


def report(result: Result) -> RenderableType:
    """Everything that was measured, fastest first; or what is predicted, and that it is a prediction."""
    parts: list[RenderableType] = [Text(f"Puzzle {result.puzzle}: {result.title}", style="bold")]
    parts.append(Text(_measured_on(result), style="dim") if result.measured else Text(NOTHING_MEASURED))
    for size, *others in result.alike:
        table = Table(
            title="\n".join(one.name for one in (size, *others)),
            title_justify="left",
            title_style="bold",
            box=None,
            pad_edge=False,
        )
        table.add_column("")
        for heading in _headings(result, size):
            table.add_column(heading, justify="right")
        for timing in size.ordered:
            table.add_row(timing.name, *_row(result, size, timing), style="bold" if timing.name == "yours" else "")
        parts += ["", table]
        parts += [Text(line, style="dim") for line in size.launched]
        parts += [Text(line, style="yellow") for line in size.not_timed]
    return Group(*parts)


def markdown(results: Iterable[Result]) -> str:
    """Return one table a puzzle and size."""
    lines: list[str] = []
    for result in results:
        lines += [f"## Puzzle {result.puzzle}: {result.title}", "", _measured_on(result), ""]
        for size in result.sizes:
            rows = [[timing.name, *_row(result, size, timing)] for timing in size.ordered]
            lines += [*_table([size.name, *_headings(result, size)], rows), ""]
            lines += [*(f"* {line}" for line in (*size.launched, *size.not_timed)), ""]
    return "\n".join(lines)


def summary(results: Iterable[Result]) -> str:
    """Return one line a size: what share of the copy, or how many times its peer's speed, each form of the course
    reaches.
    """
    lines = []
    for result in results:
        first = result.sizes[0]
        names = [timing.name for timing in first.timings if timing.tuning]
        names += BESIDES.get(first.work, ["SDPA cuDNN"])
        against = f"× {_peer(first)}" if first.flops else "share of the copy"
        rows = [[size.name, *(_reached(result, size, name) for name in names)] for size in result.sizes]
        lines += [*_table([f"{result.puzzle}: {result.title}, {against}", *names], rows), ""]
    return "\n".join(lines)


def _table(headings: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in (headings, *rows)]
    return [lines[0], "|---|" + "---:|" * (len(headings) - 1), *lines[1:]]


def _measured_on(result: Result) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return (
        f"{result.gpu}, {versions}, {result.date}. In this run a copy moved {result.copy:.0f} GB/s and an fp16 product "
        f"made {result.matrix:.0f} TFLOP/s. Clocks {result.clocks}. Medians with a cold L2, each "
        "measured after a rest; ± is half of what lies between the fastest and the slowest fifth."
    )


def _headings(result: Result, size: Size) -> list[str]:
    """Headings of all columns but the first."""
    if not result.measured:
        return ["ms at best", size.unit]
    own = f" (at most {size.own_limit:.0%})" if size.own_limit < 1 else ""
    return ["ms", "±", size.unit, "of the product" if size.flops else f"of the copy{own}", f"× {_peer(size)}"]


def _row(result: Result, size: Size, timing: Timing) -> list[str]:
    """Return the cells of all columns but the first."""
    if not result.measured:
        return [span(timing.low, timing.high, ".3g"), span(size.speed(timing.low), size.speed(timing.high), ".0f")]
    peer = size.of(_peer(size))
    return [
        f"{timing.median:.3f}",
        f"{(timing.high - timing.low) / 2:.3f}",
        f"{size.speed(timing.median):.0f}",
        f"{result.share(size, timing.median):.1%}",
        f"{peer.median / timing.median:.2f}" if peer else "–",
    ]


def _peer(size: Size) -> str:
    return PEERS.get(size.work, "SDPA flash")


def _reached(result: Result, size: Size, name: str) -> str:
    timing, peer = size.of(name), size.of(_peer(size)) if size.flops else None
    if timing is None:
        return "–"
    if peer is None:
        return f"{result.share(size, timing.median):.3f}" + (f" of {size.own_limit:.3f}" if size.own_limit < 1 else "")
    return f"{peer.median / timing.median:.2f}"
