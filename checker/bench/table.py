"""A benchmark's result for the terminal, and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from checker.bench.result import Result, Size, Timing

PEER = "SDPA flash"  # what ratios are told against, where it was timed; else torch eager


def report(result: Result) -> RenderableType:
    """Everything that was measured, fastest first; or what is predicted, and that it is a prediction."""
    parts: list[RenderableType] = [Text(f"Puzzle {result.puzzle}: {result.title}", style="bold")]
    if result.measured:
        parts.append(Text(_measured_on(result), style="dim"))
    else:
        parts.append(Text(NOTHING_MEASURED))
    for size in result.sizes:
        parts += ["", _of_size(result, size)]
        parts += [Text(line, style="dim") for line in tunings(size)]
        parts += [Text(f"not timed: {reason}", style="yellow") for reason in size.left_out]
    return Group(*parts)


NOTHING_MEASURED = (
    "There is no GPU here, so nothing was timed. This is a prediction: the least time that the memory traffic counted "
    "on the interpreter and the operations of the algorithm take on a GPU that does nothing but that. The first figure "
    "is for every byte moved once, which large caches come close to; the second for all that the programs load and "
    "store. Real kernels take longer."
)


def _measured_on(result: Result) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in result.versions.items())
    return (
        f"{result.gpu}, {versions}, {result.date}. In this run a copy moved {result.copy:.0f} GB/s and an fp16 product "
        f"made {result.matrix:.0f} TFLOP/s. Clocks {result.clocks}. Medians with a cold L2, each "
        "measured after a rest; ± is half of what lies between the fastest and the slowest fifth."
    )


def _of_size(result: Result, size: Size) -> Table:
    table = Table(title=size.name, title_justify="left", title_style="bold", box=None, pad_edge=False)
    table.add_column("")
    for heading in columns(result, size):
        table.add_column(heading, justify="right")
    for timing in ordered(size):
        style = "bold" if timing.name == "yours" else ""
        table.add_row(timing.name, *row(result, size, timing), style=style)
    return table


def ordered(size: Size) -> list[Timing]:
    """Fastest first."""
    return sorted(size.timings, key=lambda timing: timing.median)


def columns(result: Result, size: Size) -> list[str]:
    """Headings of all columns but the first."""
    if not result.measured:
        return ["ms at best", size.unit]
    of = "of the product" if size.flops else "of the copy" + _own(size)
    return ["ms", "±", size.unit, of, f"× {_peer(size)}"]


def row(result: Result, size: Size, timing: Timing) -> list[str]:
    """The cells of all columns but the first."""
    if not result.measured:
        low, high = timing.low, timing.high
        return [
            f"{low:.3g} to {high:.3g}" if high > 1.01 * low else f"{low:.3g}",
            f"{size.speed(high):.0f} to {size.speed(low):.0f}" if high > 1.01 * low else f"{size.speed(low):.0f}",
        ]
    peer = size.of(_peer(size))
    return [
        f"{timing.median:.3f}",
        f"{(timing.high - timing.low) / 2:.3f}",
        f"{size.speed(timing.median):.0f}",
        f"{result.share(size, timing.median):.1%}",
        f"{peer.median / timing.median:.2f}" if peer else "–",
    ]


def tunings(size: Size) -> list[str]:
    """How the course's kernels were launched."""
    return [f"{timing.name}: {timing.tuning}" for timing in size.timings if timing.tuning]


def _own(size: Size) -> str:
    return f" (at most {size.own_limit:.0%})" if size.own_limit < 1 else ""


def _peer(size: Size) -> str:
    return PEER if size.flops else "torch eager"


def summary(results: Iterable[Result]) -> str:
    """One line a size: what share of the copy, or how many times SDPA flash, each form of the course reaches."""
    lines = []
    for result in results:
        names = [timing.name for timing in result.sizes[0].timings if timing.tuning]
        other = "SDPA cuDNN" if result.sizes[0].flops else "torch eager"
        against = "× SDPA flash" if result.sizes[0].flops else "share of the copy"
        lines += [f"| {result.puzzle}: {result.title}, {against} | " + " | ".join([*names, other]) + " |"]
        lines += ["|---|" + "---:|" * (len(names) + 1)]
        for size in result.sizes:
            cells = [_reached(result, size, name) for name in (*names, other)]
            lines.append(f"| {size.name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _reached(result: Result, size: Size, name: str) -> str:
    timing, peer = size.of(name), size.of(PEER)
    if timing is None:
        return "–"
    if peer is None:
        return f"{result.share(size, timing.median):.3f}" + (f" of {size.own_limit:.3f}" if size.own_limit < 1 else "")
    return f"{peer.median / timing.median:.2f}"


def markdown(results: Iterable[Result]) -> str:
    """One table a puzzle and size."""
    lines: list[str] = []
    for result in results:
        lines += [f"## Puzzle {result.puzzle}: {result.title}", "", _measured_on(result), ""]
        for size in result.sizes:
            headings = columns(result, size)
            lines += [f"| {size.name} | " + " | ".join(headings) + " |", "|---|" + "---:|" * len(headings)]
            for timing in ordered(size):
                lines.append(f"| {timing.name} | " + " | ".join(row(result, size, timing)) + " |")
            lines += ["", *(f"* {line}" for line in (*tunings(size), *(f"not timed: {r}" for r in size.left_out))), ""]
    return "\n".join(lines)
