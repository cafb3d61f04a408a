"""Compiled kernels, for the terminal: numbers side by side, each line that matters, causes of slowness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from checker.compiled.result import Access, Dot, Loop, Made, Slow
from checker.course.verdict import Where
from checker.judge.evidence import Locator, listed

YOURS = "yours"
NOTHING_SLOW = "Nothing in it is known to cost time."


def report(made: Mapping[str, Made], slow: Sequence[Slow], where: Locator) -> RenderableType:
    """Return one kernel for one target. `made`: yours first, and what stands next to it; `slow` and `where` are of
    yours.
    """
    yours = made[YOURS]
    target = yours.target
    parts: list[RenderableType] = [
        Text(f"{yours.kernel} on {target.name} ({target.sold_as})", style="bold"),
        Text(yours.launch, style="dim"),
    ]
    if yours.error:
        at = where(yours.error_line)
        place = f", {f'cell {at.cell}, ' if at.cell else ''}line {at.line}" if yours.error_line else ""
        return Group(*parts, "", Text(f"It does not compile{place}: {yours.error}"))
    parts += ["", _numbers(made)]
    if lines := _lines(yours, where):
        parts += ["", lines, Text("Instructions are counted for one thread.", style="dim")]
    if yours.shared is not None and yours.shared > target.shared_limit:
        said = f"asks for {yours.shared:,} bytes of shared memory, and a program can have {target.shared_limit:,}"
        parts += ["", Text(f"On this GPU a launch would fail: it {said}.", style="red")]
    if yours.registers is None:
        parts += ["", Text("The assembler made no code of it, so what it takes is not known.", style="yellow")]
    if yours.unknown:
        parts += ["", Text(f"Not everything is known with this version of Triton: {yours.unknown}.", style="yellow")]
    parts.append("")
    parts += [_told(one, yours, where) for one in slow] or [Text(NOTHING_SLOW)]
    return Group(*parts)


def _numbers(made: Mapping[str, Made]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    for name in made:
        table.add_column(name, justify="right")
    core = made[YOURS].target.core
    rows: dict[str, Callable[[Made], object]] = {
        "registers per thread": lambda one: one.registers,
        "spilled": lambda one: one.spilled,
        "shared memory per program, bytes": lambda one: one.shared,
        "tensor memory per program, columns": lambda one: one.tensor_memory,
        f"programs on one {core} at once": lambda one: one.at_once,
        "  limited by": lambda one: one.limited_by,
        "instructions": lambda one: one.instructions,
        "  in the loops": lambda one: sum(loop.instructions for loop in one.loops),
    }
    for name, value in rows.items():
        cells = ["does not compile" if one.error else _cell(value(one)) for one in made.values()]
        if any(cells) and not (name.startswith("tensor") and set(cells) == {"unknown"}):
            table.add_row(name, *cells)
    return table


def _cell(value: object) -> str:
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _lines(made: Made, where: Locator) -> Table | None:
    """Return what became of each load, store, product and loop, next to the line itself."""
    said: list[tuple[int, str]] = [(one.line, _access(one)) for one in made.accesses]
    said += [(one.line, _dot(one)) for one in made.dots]
    said += [(one.line, _loop(one)) for one in made.loops]
    if not said:
        return None
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim")
    table.add_column(no_wrap=True, max_width=48, overflow="ellipsis")
    table.add_column()
    for line, text in sorted(said):
        place = where(made.statements.get(line, line))
        code = next((text for number, text in place.source if number == place.line), "").strip()
        table.add_row(numbered(place), Text(code), Text(text))
    return table


def numbered(place: Where) -> str:
    """Return a line's number; in a notebook, after its cell's."""
    return f"{place.cell}:{place.line}" if place.cell else str(place.line or "")


def _access(one: Access) -> str:
    widths = " and ".join(str(width) if width else "whole tiles" for width in one.widths)
    unit = "" if one.widths == (0,) else " bytes" if one.widths != (1,) else " byte"
    what = "copied ahead" if one.asynchronous else "stored" if one.store else "loaded"
    return f"{widths}{unit} {what}, {_often(one)}"


def _dot(one: Dot) -> str:
    return f"{one.instruction or 'plain multiply-adds'}, {_often(one)}"


def _often(one: Access | Dot) -> str:
    times = "once" if one.count == 1 else f"{one.count:,} times"
    return f"{times} an iteration" if one.looped else times


def _loop(one: Loop) -> str:
    of = "" if one.ready == len(one.loads) else f", for {one.ready} of {len(one.loads)} loads"
    ahead = f"{one.kept_ready} tiles ahead or in use{of}" if one.kept_ready else "nothing loaded ahead"
    loaded = f", {ahead}" if one.kept_ready or (one.dots and one.loads) else ""
    return f"{one.instructions} instructions{loaded}"


def _told(one: Slow, made: Made, where: Locator) -> RenderableType:
    places = [where(line) for line in dict.fromkeys(made.statements.get(line, line) for line in one.lines)]
    lines = [str(place.line) for place in places if place.line]
    cell = f"cell {places[0].cell}, " if places and places[0].cell else ""
    at = f"{cell}line{'s' if len(lines) > 1 else ''} {listed(lines)}: " if lines else ""
    indented = [Padding(Text(text), (0, 0, 0, 2), expand=False) for text in (one.explanation, one.hint)]
    return Group(Text(f"! {at}{one.title}", style="yellow"), *indented)
