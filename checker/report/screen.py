"""Plain sentences on a terminal, and what to type below them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import Any

import click
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.containers import Lines
from rich.padding import Padding
from rich.style import Style
from rich.text import Text

from checker.course.columns import breaks, has_wide
from checker.report.translated import said


class Prose(Text):
    """Text that is broken between the signs of Chinese, which is written without spaces, and never before a comma."""

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """Return the lines of a text, each at most `width` columns wide: a sign of Chinese takes two."""
        if not has_wide(self.plain) or how.get("no_wrap"):
            return super().wrap(console, width, **how)
        found = Lines()
        for line in self.split(allow_blank=True):
            found.extend(line.divide([*breaks(line.plain, width)]))
        for line in found:
            line.rstrip()
        return found


class Commands:
    """Commands side by side, as far as there is room; no command is broken."""

    def __init__(self, *typed: str) -> None:
        self.typed = typed

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows: list[str] = []
        for one in self.typed:
            if rows and len(rows[-1]) + len(one) + 3 <= options.max_width:
                rows[-1] += f"   {one}"
            else:
                rows.append(one)
        yield from (Text(row, style="bold", no_wrap=True, overflow="ignore") for row in rows)


class Screen(Console):
    """A console that says each sentence, and what is in the cells of tables, in the language that is spoken."""

    def print(self, *objects: Any, **how: Any) -> None:
        """The same as rich's, which would make one text of several."""
        shown = (self.render_str(one) if isinstance(one, str) else one for one in objects)
        super().print(*(Group(one) if isinstance(one, Prose) else one for one in shown), **how)

    def render_str(self, text: str, *, style: str | Style = "", **_: Any) -> Text:
        """Plain text, without markup, in that language."""
        return Prose(said(text), style=style)


def console(**options: Any) -> Screen:
    """Return a console that prints what it is given: no markup, and no colour where none is wanted.
    `options`: of rich.
    """
    # In a notebook's own process, rich would show what it is to write.
    return Screen(markup=False, highlight=False, emoji=False, force_jupyter=False, **options)


def echo(sentence: str, *, err: bool = False) -> None:
    """A sentence as it is, whatever is to be typed or opened in it: no line is broken."""
    click.echo(said(sentence), sys.stderr if err else sys.stdout)  # click's own would be UTF-8 on an ASCII terminal


def plain(shown: RenderableType, width: int = 100) -> str:
    """Return what a terminal of this width without colours shows, and no spaces at the ends of lines."""
    out = io.StringIO()
    console(file=out, width=width, color_system=None).print(shown, crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n")).strip("\n")


def say(console: Console, sentence: str, *typed: str) -> None:
    """A sentence, and below it what to type: on lines of their own and never broken, so that they can be copied."""
    console.print(Prose(said(sentence)))
    for line in filter(None, typed):
        console.print(Text(f"  {line}", style="bold"), no_wrap=True, overflow="ignore", crop=False)


def lines(told: Iterable[tuple[str, str]]) -> RenderableType:
    """(kind, text) of lines: what was asked begins a paragraph, and what is said of it stands below, indented."""
    styles = {"right": "green", "wrong": "red"}
    shown: list[RenderableType] = []
    for kind, text in told:
        indented = kind in ("right", "wrong", "said")
        if shown and not indented:
            shown.append(Text(""))
        shown.append(
            Padding(Prose(said(text), style=styles.get(kind, "")), (0, 0, 0, 2 if indented else 0), expand=False)
        )
    return Group(*shown)
