"""The page that steps through launches: one file, which needs no network."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from checker.course import translation
from checker.course.language import ENGLISH, spoken
from checker.report.translated import said
from checker.trace.as_data import Data, translated

PARTS = Path(__file__).with_name("step")
MODULES = ("said.js", "draw.js", "launch.js", "step.js")  # what imports another one stands after it
LANGUAGE = {"zh": "zh-CN"}  # what HTML calls it
HEIGHT = "clamp(36rem, 80vh, 46rem)"  # of a notebook's output: as much as a window shows below the menus


def page(data: Data) -> str:
    """Return the page as text of HTML."""
    data = translated(data)
    return Template(_part("page.html")).substitute(
        language=LANGUAGE.get(spoken(), spoken()),
        title=escape(said(f"Stepping through {data['puzzle']}: {data['title']}")),
        style=_part("step.css"),
        data=_json(data),
        sentences="" if spoken() == ENGLISH else sentences(translation.of_pages(spoken(), PARTS)),
        script=re.sub(r"^import .*\n|^export ", "", "".join(map(_part, MODULES)), flags=re.MULTILINE),
    )


def framed(data: Data) -> str:
    """Return the page as a part of another one: its styles and its keys stay its own."""
    style = f"width:100%;height:{HEIGHT};border:0"
    title = said(f"Stepping through {data['puzzle']}")
    return f'<iframe title="{escape(title)}" style="{style}" srcdoc="{escape(page(data))}"></iframe>'


def sentences(table: Mapping[str, str]) -> str:
    """Return what said.js looks sentences up in, as a part of a page."""
    return f'<script type="application/json" class="sentences">{_json(table)}</script>\n'


def _json(data: Any) -> str:
    """Text of a script, which ends where its text says so, whatever the text is about."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")
