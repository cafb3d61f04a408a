"""Marks of SVG: boxes, hatching, lines, and text as wide as it is estimated to be; and how loads and stores look.

Text and lines have the colour of the text around a picture, and fills let its background through, so that all can be
read on white and on black. Nothing has an ID, so that pictures can stand on one page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

from checker.course.columns import has_wide, units

Box = tuple[float, float, float, float]  # x, y, width and height

SKY, BLUE, VERMILION = "#56B4E9", "#0072B2", "#D55E00"  # of Okabe and Ito
PALE: dict[str, Any] = {"fill": "currentColor", "fill_opacity": 0.05}
LINE: dict[str, Any] = {"stroke": "currentColor", "stroke_opacity": 0.6}
EMPTY: dict[str, Any] = {"stroke": "currentColor", "stroke_opacity": 0.35, "stroke_width": 0.8}  # hatching
FAINT_LINE: dict[str, Any] = {"stroke": "currentColor", "stroke_opacity": 0.18}
BOLD: dict[str, Any] = {"font_weight": "bold"}
FAINT = 0.75  # opacity of text that stands back

SIZE, SMALL, HEADING = 11.0, 10.0, 13.0  # of type
LEADING = 1.45  # from line to line, in sizes
HATCH = 6.0  # between hatching's lines, along an edge
WIDER = 1.13  # is bold type
# Of DejaVu Sans, in sizes: few fonts are wider.
_WIDTHS = {"ijl'": 0.28, " .,:;|!/I()[]-ftr": 0.41, "mMwW%@=+#✓✗…→↓": 0.98, "ABCDEFGHJKLNOPQRSTUVXYZ": 0.76}
_WIDTH_OF = {character: width for characters, width in _WIDTHS.items() for character in characters}
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Panel:
    """Part of a picture, drawn from (0, 0) to the right and downwards."""

    height: float
    marks: str


def element(name: str, inside: str = "", **attributes: Any) -> str:
    """An element of SVG; `stroke_width` is written stroke-width."""
    said = ((key.replace("_", "-"), number(v) if isinstance(v, float) else v) for key, v in attributes.items())
    return f"<{name}" + "".join(f' {key}="{value}"' for key, value in said) + f">{inside}</{name}>"


def number(value: float) -> str:
    """As short as a hundredth of a pixel can be written."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")  # + 0.0: no -0


def at(x: float, y: float, marks: str, and_then: str = "") -> str:
    """Marks, moved."""
    return element("g", marks, transform=f"translate({number(x)} {number(y)}){and_then}")


def below(panels: Iterable[Panel], gap: float) -> Panel:
    """Panels, one below the other."""
    top, marks = -gap, ""
    for panel in panels:
        marks += at(0, top + gap, panel.marks)
        top += gap + panel.height
    return Panel(top, marks)


def beside(*panels: tuple[float, Panel]) -> Panel:
    """Panels, each with the x where it begins."""
    return Panel(max(panel.height for _, panel in panels), "".join(at(x, 0, panel.marks) for x, panel in panels))


def path(commands: str, title: str = "", **look: Any) -> str:
    """Lines or areas; `title` is shown to who points at it."""
    inside = element("title", clean(title)) if title else ""
    return element("path", inside, d=commands, **{"fill": "none", **look}) if commands else ""


def boxes(many: Iterable[Box], title: str = "", **look: Any) -> str:
    """Boxes that look alike."""
    corners = ([*map(number, (x, y, width, height, -width))] for x, y, width, height in many)
    return path("".join(f"M{x} {y}h{width}v{height}h{back}z" for x, y, width, height, back in corners), title, **look)


def hatched(many: Iterable[Box], title: str = "", **look: Any) -> str:
    """Return the hatching of boxes; side by side, its lines go on."""
    lines = []
    for x, y, width, height in many:
        for n in range(math.floor((x + y) / HATCH) + 1, math.ceil((x + y + width + height) / HATCH)):
            first, last = max(x, n * HATCH - y - height), min(x + width, n * HATCH - y)
            lines.append(line((first, n * HATCH - first), (last, n * HATCH - last)))
    return path("".join(lines), title, **look)


def touched(many: Sequence[Box], *, store: bool) -> str:
    """Boxes as they look that are loaded: solid; or stored: hatched."""
    if not store:
        return boxes(many, fill=SKY, fill_opacity=0.85, stroke=BLUE)
    return boxes(many, fill=VERMILION, fill_opacity=0.08, stroke=VERMILION) + hatched(many, stroke=VERMILION)


def line(*points: tuple[float, float]) -> str:
    """Return the commands that draw a line through points."""
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points)


def text(x: float, y: float, said: str, size: float = SIZE, anchor: str = "start", **look: Any) -> str:
    """Return one line of text, whose middle is at the height y; x is its start, middle or end."""
    place = {"x": float(x), "y": y + 0.36 * size, "font_size": size, "text_anchor": anchor}
    return element("text", clean(said), **place, **look)


def faint(x: float, y: float, said: str, anchor: str = "start", size: float = SMALL) -> str:
    """Text that stands back."""
    return text(x, y, said, size, anchor, fill_opacity=FAINT)


def paragraph(lines: Sequence[str], size: float = SIZE, anchor: str = "start", **look: Any) -> Panel:
    """Lines of text, one below the other."""
    leading = LEADING * size
    marks = (text(0, (n + 0.5) * leading, said, size, anchor, **look) for n, said in enumerate(lines))
    return Panel(leading * len(lines), "".join(marks))


def heading(said: str, width: float, size: float = HEADING) -> Panel:
    """Return a title, on as many lines as it needs."""
    return paragraph(wrapped(said, width, WIDER * size, most=3), size, **BOLD)


def width_of(said: str, size: float = SIZE) -> float:
    """Return how wide text is at most, in most fonts."""
    return size * sum(_WIDTH_OF.get(character, 0.64 if character < "\u2e80" else 1.0) for character in said)


def fitted(said: str, width: float, size: float = SIZE) -> str:
    """As much of it as there is room for."""
    short = said[: max(0, int(width / size / min(_WIDTHS.values())))]
    while short and width_of(short + "…" * (short != said), size) > width:
        short = short[:-1]
    return short + "…" * (short != said)


def wrapped(said: str, width: float, size: float = SIZE, most: int = 12) -> list[str]:
    """Text as lines, so many at most; what there is no room for is left out."""
    lines: list[str] = []
    for unit in units(" ".join(said.split())) if has_wide(said) else (f"{word} " for word in said.split()):
        if lines and width_of(f"{lines[-1]}{unit}".rstrip(), size) <= width:
            lines[-1] += unit
        else:
            lines.append(fitted(unit, width, size) if width_of(unit.rstrip(), size) > width else unit)
    rest = fitted("".join(lines[most - 1 :]).rstrip(), width, size)
    return [line.rstrip() for line in (lines if len(lines) <= most else [*lines[: most - 1], rest])]


def clean(said: str) -> str:
    """Text as XML: escaped, without what XML forbids."""
    return escape(_FORBIDDEN.sub("", said))
