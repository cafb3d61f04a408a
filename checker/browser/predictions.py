"""The roofline's predictions, for a page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from checker.bench.result import Result, Size, span
from checker.report.translated import said

ABOUT = (
    "The least time that a GPU needs which does nothing else, if every byte is moved once; and behind it, where that "
    "is more, with the traffic that was counted of your kernel. Real kernels take longer."
)


def html(result: Result) -> Iterator[str]:
    """Yield a table for each size, fastest GPU first; one for those that are alike."""
    yield f"<p>{said(ABOUT)}</p>"
    for size, *others in result.alike:
        names = "<br>".join(escape(said(one.name)) for one in (size, *others))
        rows = "".join(map("<tr>{}</tr>".format, _rows(size)))
        heads = f"<tr><th scope=col>GPU</th><th scope=col>{said('ms at best')}</th><th scope=col>{size.unit}</th></tr>"
        yield f"<table><caption>{names}</caption><thead>{heads}</thead><tbody>{rows}</tbody></table>"


def _rows(size: Size) -> Iterator[str]:
    for timing in size.ordered:
        speed = span(size.speed(timing.low), size.speed(timing.high), ".0f")
        yield f"<td>{escape(timing.name)}</td><td>{span(timing.low, timing.high, '.3g')}</td><td>{speed}</td>"
