"""Plain sentences on a terminal, and what to type below them."""

from __future__ import annotations

from typing import IO

from rich.console import Console
from rich.text import Text


def console(*, file: IO[str] | None = None, width: int | None = None, stderr: bool = False) -> Console:
    """A console that prints what it is given: no markup, and no colour where none is wanted."""
    return Console(file=file, width=width, stderr=stderr, markup=False, highlight=False, emoji=False)


def say(console: Console, sentence: str, typed: str = "") -> None:
    """A sentence, and below it what to type: on a line of its own and never broken, so that it can be copied."""
    console.print(Text(sentence))
    if typed:
        console.print(Text(f"  {typed}", style="bold"), no_wrap=True, overflow="ignore", crop=False)
