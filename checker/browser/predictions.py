"""What the roofline predicts, as a page has it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from checker.bench.result import Result, Size, span
from checker.report.said import said

ABOUT = (
    "The least time that a GPU needs which does nothing else, if every byte is moved once; and behind it, where that "
    "is more, with the traffic that was counted of your kernel. Real kernels take longer."
)


def html(result: Result) -> Iterator[str]:
    """A table for each size, fastest GPU first."""
    yield f"<p>{said(ABOUT)}</p>"
    for size in result.sizes:
        rows = "".join(map("<tr>{}</tr>".format, _rows(size)))
        heads = f"<tr><th scope=col>GPU</th><th scope=col>{said('ms at best')}</th><th scope=col>{size.unit}</th></tr>"
        yield f"<table><caption>{escape(said(size.name))}</caption><thead>{heads}</thead><tbody>{rows}</tbody></table>"


def _rows(size: Size) -> Iterator[str]:
    for timing in size.ordered:
        speed = span(size.speed(timing.high), size.speed(timing.low), ".0f")
        yield f"<td>{escape(timing.name)}</td><td>{span(timing.low, timing.high, '.3g')}</td><td>{speed}</td>"
