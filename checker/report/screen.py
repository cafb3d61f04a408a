"""Plain sentences on a terminal, and what to type below them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text


def console(**options: Any) -> Console:
    """A console that prints what it is given: no markup, and no colour where none is wanted. `options`: of rich."""
    # In a notebook's own process, rich would show what it is to write.
    return Console(markup=False, highlight=False, emoji=False, force_jupyter=False, **options)


def plain(shown: RenderableType, width: int = 100) -> str:
    """What a terminal of this width without colours shows, and no spaces at the ends of lines."""
    out = io.StringIO()
    console(file=out, width=width, color_system=None).print(shown, crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().split("\n")).strip("\n")


def say(console: Console, sentence: str, *typed: str) -> None:
    """A sentence, and below it what to type: on lines of their own and never broken, so that they can be copied."""
    console.print(Text(sentence))
    for line in filter(None, typed):
        console.print(Text(f"  {line}", style="bold"), no_wrap=True, overflow="ignore", crop=False)


def lines(said: Iterable[tuple[str, str]]) -> RenderableType:
    """(kind, text) of lines: what was asked begins a paragraph, and what is said of it stands below, indented."""
    styles = {"right": "green", "wrong": "red"}
    shown: list[RenderableType] = []
    for kind, text in said:
        indented = kind in ("right", "wrong", "said")
        if shown and not indented:
            shown.append(Text(""))
        shown.append(Padding(Text(text, style=styles.get(kind, "")), (0, 0, 0, 2 if indented else 0), expand=False))
    return Group(*shown)
