"""What `trace` does once a submission has been judged: draw, and keep the pictures."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from checker.trace import words
from checker.trace.result import Trace


def show(console: Console, trace: Trace) -> None:
    """Print the summary; what is indented stays so when lines are broken."""
    for line in words.summary(trace):
        text = line.lstrip()
        console.print(Padding(Text(text), (0, 0, 0, len(line) - len(text)), expand=False) if text else "")


def save(trace: Trace, folder: Path) -> list[Path]:
    """Write the pictures, one for each kernel; the files written. Needs matplotlib."""
    from checker.trace import chart

    made = [(folder / f"{name}.png", png) for name, png in chart.pages(trace)]
    folder.mkdir(parents=True, exist_ok=True)
    for path, png in made:
        path.write_bytes(png)
    return [path for path, _ in made]
