"""A trace as pictures, in SVG: one page for each kernel.

Loads are solid, stores hatched, what was skipped is hatched and says so; colours, those of Okabe and Ito, only
repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from checker.report.translated import said
from checker.trace import maps, svg, tiles, timeline, words
from checker.trace.result import Recorded, Trace
from checker.trace.svg import SMALL, Panel

WIDTH, MARGIN = 960.0, 16.0
INNER = WIDTH - 2 * MARGIN
HALF, TWO_THIRDS = INNER / 2 - 16, 0.62 * INNER  # of panels side by side
GAP = 22.0  # between panels
FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
XMLNS = "http://www.w3.org/2000/svg"
ALONE = "<style>:root{color-scheme:light dark;color:CanvasText;background:Canvas}</style>"  # as whoever looks has it
MASK = "everything to the right is hidden by the mask"
PITCH, BAR = 26.0, 15.0  # from bar to bar, and how high one is
LABELS, SAID = 84.0, 96.0  # left of the bars, and right of the longest


def save(trace: Trace, folder: Path) -> list[Path]:
    """Write the pictures, one for each kernel; the files written. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in pages(trace):
        written.append(folder / f"{name}.svg")
        written[-1].write_text(picture + "\n", encoding="utf-8")
    return written


def pages(trace: Trace, *, inline: bool = False) -> Iterator[tuple[str, str]]:
    """(name, SVG) of each page: of one kernel the puzzle's name, of several each kernel's behind it.

    `inline`: for an HTML page, whose colours it takes over. A map of errors goes with the kernel that made them.
    """
    if len(trace.launches) < 2:
        yield trace.stem, page(trace, inline=inline)
        return
    of_wrong = trace.wrong.kernel if trace.wrong is not None else ""
    for launch in trace.launches:
        alone = replace(trace, launches=(launch,), wrong=trace.wrong if launch.kernel == of_wrong else None)
        yield f"{trace.stem}_{launch.kernel.removesuffix('_kernel')}", page(alone, inline=inline)


def page(trace: Trace, *, inline: bool = False) -> str:
    """Return all kernels of a trace, one below the other; what they show is described in words."""
    body = svg.below(_panels(trace), GAP)
    title, about = svg.clean(_title(trace)), svg.clean("\n".join(map(_told, words.summary(trace))))
    height = svg.number(body.height + 2 * MARGIN)
    size = {"width": "100%", "style": f"max-width:{WIDTH:g}px"} if inline else {"width": WIDTH, "height": height}
    described = svg.element("title", title) + svg.element("desc", about) + ("" if inline else ALONE)
    look = {"viewBox": f"0 0 {WIDTH:g} {height}", "role": "img", "font_family": FONTS, "fill": "currentColor"}
    return svg.element("svg", described + svg.at(MARGIN, MARGIN, body.marks), xmlns=XMLNS, **size, **look)


def _title(trace: Trace) -> str:
    return said(f"Puzzle {trace.puzzle}: {trace.title}")


def _told(line: str) -> str:
    """Return a line, which may be indented."""
    return line[: len(line) - len(line.lstrip())] + said(line.lstrip())


def _panels(trace: Trace) -> Iterator[Panel]:
    outcome = svg.paragraph(svg.wrapped(words.outcome(trace), INNER, 12, most=2), 12)
    yield svg.below([svg.heading(_title(trace), INNER, 18), outcome], gap=4)
    if trace.wrong is not None:
        yield maps.wrong(trace.wrong, INNER)
    for launch in trace.launches:
        yield from _of_launch(launch, trace)


def _of_launch(launch: Recorded, trace: Trace) -> Iterator[Panel]:
    """Yield a caption; tiles, if there are any; time; reads. Traffic stands next to the tiles if nothing else does."""
    pairs, other = launch.pairs, trace.beside
    grids = [grid for grid in (pairs, other.pairs if other else None) if grid is not None]
    yield _caption(launch, masked=not all(grid.sees.all() for grid in grids))
    if pairs is not None:
        if other is None:
            right = traffic_bars(launch, HALF)
        elif other.pairs is None:
            right = tiles.invitation(other, HALF)
        else:
            right = tiles.drawn(other.pairs, said(f"Your puzzle {other.puzzle}"), HALF)
        yield svg.beside((0, tiles.drawn(pairs, said("Your tiles"), HALF)), (INNER - HALF, right))
    yield timeline.drawn(launch, INNER)
    if pairs is not None and other is None:
        yield maps.reads(launch, INNER)
    else:
        left = TWO_THIRDS + 32
        yield svg.beside((0, maps.reads(launch, TWO_THIRDS)), (left, traffic_bars(launch, INNER - left)))


def _caption(launch: Recorded, *, masked: bool) -> Panel:
    """Return the kernel and its case; what marks mean, on the right or where there is no room below."""
    name = svg.fitted(launch.kernel, INNER, 14 * svg.WIDER)
    kernel = svg.paragraph([name], 14, font_family=MONO, **svg.BOLD)
    width, legend = _legend(launch, masked)
    fits = svg.width_of("0" * len(name), 14) + 24 < INNER - width
    parts = [svg.beside((0, kernel), (INNER - width, legend)) if fits else svg.below([kernel, legend], 4)]
    parts.append(svg.paragraph(svg.wrapped(said(f"seen with: {launch.case}"), INNER), fill_opacity=svg.FAINT))
    return svg.below(
        [*parts, *([svg.heading(f"✗ {said(launch.stopped)}", INNER, 12)] if launch.stopped else [])], gap=4
    )


def _legend(launch: Recorded, masked: bool) -> tuple[float, Panel]:
    """Return how wide it is, and what solid and hatched mean, and the line of a mask if one is drawn."""
    marks, left, box = "", 0.0, (0.0, 4.0, 24.0, 12.0)
    stores = any(touch.store for program in launch.programs for touch in program.touches)
    swatches = [(("loaded", "stored")[store], svg.touched([box], store=store)) for store in (False, True)[: 1 + stores]]
    swatches += [(MASK, svg.path("M0 10h24", stroke=svg.VERMILION, stroke_width=1.8))] if masked else []
    for meaning, swatch in swatches:
        label = said(meaning)
        marks += svg.at(left, 0, swatch + svg.text(30, 10, label))
        left += 30 + svg.width_of(label) + 20
    return left - 20, Panel(20, marks)


def traffic_bars(launch: Recorded, width: float) -> Panel:
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
