"""The front page's picture, which moves: a kernel is written, checked, stepped through, corrected and checked again.

Where a reader wants no motion, and where the file is asked for as `#still`, it stands at its end. What is true of the
kernel is puzzle p1's: its lesson's row, and what the checker says if padding is loaded as 0.
"""

from __future__ import annotations

import html
import math

from canvas import DARK, INK, PAPER

WIDTH, HEIGHT = 372, 396
SECONDS = 22.0  # of one turn
FADE = 0.25
LETTER, LINE = 7.2, 18  # of code, in which every letter is as wide
GOOD, BAD = ("#00663f", "#6cd3a0"), ("#a3310b", "#ff9e64")  # in light, in dark
ROW = (0.5, 3.0, 1.0)
TITLE = "Write a kernel, check it, step through it"
WORDS = (
    "Five lines of a softmax kernel are written. A check says: partly right, 65 of 100 points, the padding is "
    "counted in the sum. Stepping through the lines fills a block of four lanes: the padded lane holds 0, its "
    "exponential is 1, and the sum is 25.5 instead of 24.5. With minus infinity in the padded lane the check says: "
    "accepted, 100 of 100."
)
PARTS = (("write", 0.0), ("check", 4.6), ("step through", 8.4), ("correct", 15.0), ("check again", 18.0))
CODE = (
    "mask = cols < n_cols",
    "x = tl.load(x_ptr + cols, mask=mask,",
    "            other=",
    "e = tl.exp(x)",
    "l = tl.sum(e, axis=0)",
    "tl.store(y_ptr + cols, e / l, mask=mask)",
)
BEGINS = 13.1  # what is seen first: the verdict on the mistake, and the padded lane that it is about
STEPS = ((1, 8.8), (3, 10.6), (4, 12.4))  # the line that a step is in, and when
CHECKED, CORRECTED, ACCEPTED, END = 5.6, 15.6, 18.8, SECONDS - 0.4


class Moving:
    """Shapes, and when each is to be seen."""

    def __init__(self) -> None:
        self.shapes: list[str] = []
        self._times: dict[tuple[float, float], str] = {}

    def add(self, shape: str, begin: float = 0.0, end: float = END) -> None:
        """A shape that is there from `begin` to `end`, in seconds. Where nothing moves, what lasts to the end is."""
        if begin > 0 or end < END:
            name = self._times.setdefault((begin, end), f"t{len(self._times)}")
            gone = " gone" if end < END else ""
            shape = shape.replace(" ", f' class="{name}{gone}" ', 1)
        self.shapes.append(shape)

    def rules(self) -> str:
        """What makes the shapes come and go."""
        frames, uses = [], []
        for (begin, end), name in self._times.items():
            before, seen = _part(max(begin - FADE, 0.0)), _part(begin)
            last, after = _part(end), _part(min(end + FADE, SECONDS))
            frames.append(
                f"@keyframes {name}{{0%,{before}{{opacity:0}}{seen},{last}{{opacity:1}}{after},100%{{opacity:0}}}}"
            )
            uses.append(f"svg:not(:target) .{name}{{animation:{name} {SECONDS:g}s linear {-BEGINS:g}s infinite}}")
        return "\n".join([*frames, "@media (prefers-reduced-motion:no-preference){", *uses, "}"])


def _part(seconds: float) -> str:
    return f"{100 * seconds / SECONDS:.2f}%"


def _text(x: float, y: float, words: str, more: str = "") -> str:
    """Words as they are."""
    return f'<text x="{x:g}" y="{y:g}"{more}>{html.escape(words, quote=False)}</text>'


def _code(x: float, y: float, words: str) -> str:
    """A line of code, as long in any font."""
    bare = words.lstrip()
    x += (len(words) - len(bare)) * LETTER
    return _text(x, y, bare, f' textLength="{len(bare) * LETTER:.1f}"')


def _panel(y: float, height: float) -> str:
    return (
        f'<rect x="8" y="{y:g}" width="{WIDTH - 16}" height="{height:g}" rx="4" fill="none" '
        'stroke="currentColor" stroke-opacity=".5"/>'
    )


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "−inf"


def _kernel(moving: Moving, top: float) -> None:
    """The lines as they are written, the one that a report names, and the one that a step is in."""
    left = 34
    moving.add(_panel(top, len(CODE) * LINE + 12))
    for (line, begin), end in zip(STEPS, [*(begin for _, begin in STEPS[1:]), PARTS[3][1]], strict=True):
        height = LINE * (2 if line == 1 else 1)
        bar = f'<rect x="10" y="{top + 5 + line * LINE:g}" width="{WIDTH - 20}" height="{height}" '
        moving.add(f'{bar}fill="currentColor" fill-opacity=".16"/>', begin, end)
    for at, line in enumerate(CODE):
        y, begin = top + 19 + at * LINE, 0.4 + 0.7 * at
        moving.add(_code(left, y, line), begin)
        if line.endswith("other="):
            after = left + len(line) * LETTER
            moving.add(_code(after, y, "0.0)"), begin, CORRECTED - 0.4)
            moving.add(_code(after, y, '-float("inf"))'), CORRECTED)
            moving.add(_text(16, y, "▶", ' style="fill: var(--bad)"'), CHECKED, CORRECTED - 0.4)


def _lanes(moving: Moving, top: float) -> None:
    """The block of four lanes: what each line makes of it, with the mistake and without."""
    wide, left, high = 62, 44, 24
    exponentials = [math.exp(x) for x in ROW]
    rows = (("x", ROW, 0.0, -math.inf, STEPS[0][1]), ("e", exponentials, 1.0, 0.0, STEPS[1][1]))
    for at, (name, values, wrong, right, begin) in enumerate(rows):
        y = top + at * (high + 4)
        moving.add(_text(16, y + 16, name))
        for lane in range(len(ROW) + 1):
            x, seen = left + lane * wide, begin + 0.3 + 0.3 * lane
            dashes = ' stroke-dasharray="4 3"' if lane == len(ROW) else ""
            box = f'<rect x="{x}" y="{y:g}" width="{wide}" height="{high}" fill="none" stroke="currentColor"{dashes}/>'
            moving.add(box)
            middle = ' text-anchor="middle"'
            if lane < len(ROW):
                moving.add(_text(x + wide / 2, y + 16, _number(values[lane]), middle), seen)
            else:
                bad = f'{middle} style="fill: var(--bad)" font-weight="bold"'
                moving.add(_text(x + wide / 2, y + 16, _number(wrong), bad), seen, CORRECTED + 0.4)
                moving.add(_text(x + wide / 2, y + 16, _number(right), middle), CORRECTED + 0.8)
    moving.add(_text(left + len(ROW) * wide + wide + 6, top + 16, "padding"))
    y, total = top + 2 * (high + 4) + 14, sum(exponentials)
    moving.add(_text(16, y, "l"))
    bad = ' style="fill: var(--bad)" font-weight="bold"'
    moving.add(_text(left + 4, y, _number(total + 1), bad), 13.0, CORRECTED + 0.8)
    moving.add(_text(left + 4, y, _number(total)), CORRECTED + 1.2)


def _report(moving: Moving, top: float) -> None:
    """What the checks say."""
    moving.add(_panel(top, 106))
    bold = ' font-weight="bold"'
    total = sum(math.exp(x) for x in ROW)
    moving.add(_text(16, top + 22, "✗ partly right  65/100", f'{bold} style="fill: var(--bad)"'), CHECKED)
    moving.add(_text(16, top + 42, "The padding is counted in the sum.", bold), CHECKED + 0.4)
    why = f"exp(0) = 1: l is {_number(total + 1)} instead of {_number(total)}."
    moving.add(_text(16, top + 62, why), CHECKED + 0.8)
    moving.add(_text(16, top + 92, "✓ accepted  100/100", f'{bold} style="fill: var(--good)"'), ACCEPTED)


def _parts(moving: Moving) -> None:
    """What is being done, in words along the top."""
    x = 10.0
    for at, (name, begin) in enumerate(PARTS):
        wide = len(name) * 7.2 + 14
        end = PARTS[at + 1][1] if at + 1 < len(PARTS) else END
        moving.add(_text(x, 20, name, f' textLength="{len(name) * 7.2 - 4:.1f}"'))
        line = f'<path d="M{x:g} 26h{len(name) * 7.2 - 4:.1f}" stroke="currentColor" stroke-width="3"/>'
        moving.add(line, max(begin, 0.01), end - 0.01)
        x += wide


def at_work() -> str:
    """The picture as SVG."""
    moving = Moving()
    _parts(moving)
    _kernel(moving, 38)
    _lanes(moving, 172)
    _report(moving, 272)
    style = f"""\
svg {{ color: {INK}; --paper: {PAPER}; --good: {GOOD[0]}; --bad: {BAD[0]} }}
@media (prefers-color-scheme: dark) {{
svg {{ color: {DARK[INK]}; --paper: {DARK[PAPER]}; --good: {GOOD[1]}; --bad: {BAD[1]} }}
}}
text {{ fill: currentColor; font: 12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }}
.gone {{ opacity: 0 }}
"""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" id="still" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
    head += f'height="{HEIGHT}" role="img" aria-labelledby="title words">'
    about = f'<title id="title">{TITLE}</title>\n<desc id="words">{WORDS}</desc>'
    paper = '<rect width="100%" height="100%" style="fill: var(--paper)"/>'
    rules = f"<style>\n{style}{moving.rules()}\n</style>"
    return "\n".join([head, about, rules, paper, *moving.shapes, "</svg>", ""])
