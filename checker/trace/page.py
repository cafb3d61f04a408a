"""The page that steps through launches: one file, which needs no network."""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path
from string import Template

from checker.trace.as_data import Data

PARTS = Path(__file__).with_name("step")
MODULES = ("draw.js", "launch.js", "step.js")  # what imports another one stands after it
HEIGHT = "46rem"  # of a notebook's output


def page(data: Data) -> str:
    """The page as text of HTML."""
    # A script ends where its text says so, whatever the text is about.
    inside = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Template(_part("page.html")).substitute(
        title=escape(f"Stepping through {data['puzzle']}: {data['title']}"),
        style=_part("step.css"),
        data=inside,
        script=re.sub(r"^import .*\n|^export ", "", "".join(map(_part, MODULES)), flags=re.MULTILINE),
    )


def framed(data: Data) -> str:
    """The page as a part of another one: its styles and its keys stay its own."""
    style = f"width:100%;height:{HEIGHT};border:0"
    title = f"Stepping through {data['puzzle']}"
    return f'<iframe title="{escape(title)}" style="{style}" srcdoc="{escape(page(data))}"></iframe>'


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")
