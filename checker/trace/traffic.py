"""Traffic against its bound, as bars."""

from __future__ import annotations

from checker.report.translated import said
from checker.trace import svg, words
from checker.trace.result import Recorded
from checker.trace.svg import SMALL, Panel

PITCH, BAR = 26.0, 15.0  # from bar to bar, and how high one is
LABELS, SAID = 84.0, 96.0  # left of the bars, and right of the longest


def drawn(launch: Recorded, width: float) -> Panel:
    """Return how often elements are moved on average, and how often is enough: as in the report, of this launch."""
    bars = list(words.bars(launch.traffic))
    scale = (width - LABELS - SAID) / max((max(done, most) for _, _, done, most in bars), default=1.0)
    marks = svg.path(svg.line((LABELS, 0), (LABELS, len(bars) * PITCH)), **svg.LINE)
    for n, (name, store, done, most) in enumerate(bars):
        middle, bound = (n + 0.5) * PITCH, LABELS + most * scale
        of = svg.fitted(said(f"{name} {'written' if store else 'read'}"), LABELS - 10, SMALL)
        marks += svg.faint(LABELS - 8, middle, of, "end")
        box = (LABELS, middle - BAR / 2, done * scale, BAR)
        marks += svg.touched([box], store=store)
        marks += svg.path(svg.line((bound, middle - 10), (bound, middle + 10)), stroke="currentColor", stroke_width=2.5)
        share, look = said(" of ").join((f"{done:.2f}", f"{most:.2f}")), svg.BOLD if done > most else {}
        marks += svg.text(LABELS + max(done, most) * scale + 7, middle, share + " ✗" * bool(look), SMALL, **look)
    marks += svg.faint(LABELS, len(bars) * PITCH + 14, said("times per element; │ is the bound"))
    title = svg.heading(said("Traffic against its bound"), width)
    return svg.below([title, Panel(len(bars) * PITCH + 24, marks)], gap=6)
