"""Plain sentences on a terminal, and what to type below them."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text


def console() -> Console:
    """A console that prints what it is given: no markup, and no colour where none is wanted."""
    return Console(markup=False, highlight=False, emoji=False)


def say(console: Console, sentence: str, typed: str = "") -> None:
    """A sentence, and below it what to type: on a line of its own and never broken, so that it can be copied."""
    console.print(Text(sentence))
    if typed:
        console.print(Text(f"  {typed}", style="bold"), no_wrap=True, overflow="ignore", crop=False)
