"""The course's lessons, solutions and pages in MyST's Markdown: what Sphinx makes the site of.

The folder that is written looks like the repository, so that links and pictures are found. Lessons speak of cells and
of a terminal; here they speak of the page.
"""

from __future__ import annotations

import html
import json
import os.path
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checker import catalog
from checker.browser.words import on_page
from checker.course import places
from checker.course.ladder import LADDER, Rung
from checker.course.lesson import Hint, emptied, hints, kernel_cell, prose, script_cells
from checker.learner.bugs import Bug, bugs_of

CHAPTERS = {
    "w1": "Warm-up",
    "p1": "Softmax",
    "a1": "Attention",
    "a4": "The backward pass",
    "c1": "The capstone",
    "b1": "Beyond the seven",
}  # by their first puzzles
PAGES = {
    "docs/background/gpu.md": "The GPU and the roofline",
    "docs/background/softmax.md": "Softmax",
    "docs/background/attention.md": "Attention",
    "docs/background/backward.md": "The backward pass of attention",
    "docs/background/bias.md": "A bias, and its gradient",
    "docs/background/dropout.md": "Dropout in attention",
    "docs/background/split.md": "Splitting along the keys",
    "docs/background/compiler.md": "What the compiler makes of a kernel",
    "docs/background/flash-attention-3.md": "What FlashAttention-3 adds",
    "docs/background/onwards.md": "What you have built, and where the field is going",
    "docs/sources.md": "Where each idea comes from",
    "docs/traps.md": "Programs that look right, and are not",
    "benchmarks/results/speed.md": "How fast the solutions are",
    "docs/guide.md": "On your own machine",
}
READ, WRITTEN = 200, 0.5  # words of a lesson, and lines of a kernel, in a minute
TOO_LARGE = ("b1", "b3")  # to be timed: NumPy has no such arrays in 32 bits
PATIENCE = 200  # seconds in which a worker may do one launch, or draw, on however slow a machine
FRONT, INDEX, FIGURES = "docs/site/index.md", "index.md", "docs/figures"
_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^)\s]+)\)")
_NAMED = re.compile(r'^<a id="[\w-]+"></a>\n\n', re.MULTILINE)  # headings, for JupyterLab: the site names each itself

# What lessons say of cells and terminals, and what they say here. Lines are broken anywhere.
WORDS = {
    "in this cell or, to check in a terminal, in `puzzles/w1_vector_add.py`": "in the editor",
    "`run` needs a notebook, in this lesson and in all others: in a terminal, read the answers.": "",
    "Write a guess in place of each `...`.": "Type your guesses at *Predict*, below your kernel.",
    "In a terminal:": "",
}
PREDICT_LINE = re.compile(r"^```\nmake predict .*\n```\n?", re.MULTILINE)


def write(folder: Path, root: Path = places.ROOT) -> None:
    """Write the pages of the course below `root`, and their pictures."""
    shutil.copytree(root / FIGURES, folder / FIGURES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page, text in pages(root).items():
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def pages(root: Path = places.ROOT) -> dict[str, str]:
    """The Markdown of each page, by its path in the site's sources."""
    made = {FRONT: (root / FRONT).read_text(encoding="utf-8")}
    made[FRONT] = (
        made[FRONT].replace("<!-- go on -->", _go_on()).replace("<!-- ladder -->", _ladder(root)) + _contents()
    )
    for rung in LADDER:
        made[f"puzzles/{rung.stem}.py"] = lesson(rung, root)
        if places.solution(rung.id, root).exists():
            made[f"solutions/{rung.stem}.md"] = _solution(rung, root)
    made |= {page: (root / page).read_text(encoding="utf-8") for page in PAGES}
    pages = {origin: re.sub(r"\.py$", ".md", origin) for origin in made} | {FRONT: INDEX, "README.md": INDEX}
    return {pages[origin]: _linked(_NAMED.sub("", text), origin, pages, root) for origin, text in made.items()}


def lesson(rung: Rung, root: Path = places.ROOT) -> str:
    """A lesson as a page. Where its stub was, there is the workbench; puzzles in PyTorch have none."""
    text = places.script(rung.id, root).read_text(encoding="utf-8")
    cells = script_cells(emptied(text, catalog.load(rung.id)))
    if rung.pytorch:
        kept = [cell for cell in cells if not re.search(r"\A## How to check|^check\(", cell[1], re.MULTILINE)]
        elsewhere = _part("elsewhere", id=rung.id, stem=rung.stem)
        return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in kept).replace(
            "## Your turn\n", f"## Your turn\n\n{elsewhere}"
        )
    return "\n\n".join(_parts(rung, cells, root))


def _part(name: str, **holes: str) -> str:
    """A part of a page, in which these holes are filled."""
    text = (Path(__file__).with_name("parts") / f"{name}.md").read_text(encoding="utf-8")
    return text.format(**holes)


def _here(text: str) -> str:
    """Markdown of a lesson or of a walk-through in the words of a page."""
    for words, here in WORDS.items():
        text = re.sub(r"\s+".join(map(re.escape, words.split())), here, text)
    return on_page(PREDICT_LINE.sub("", text))


def _parts(rung: Rung, cells: list[tuple[str, str]], root: Path) -> Iterator[str]:
    """A lesson's cells, one after the other."""
    to_fill_in = kernel_cell(cells, catalog.load(rung.id))
    around = [(text, _runs(text)) for n, (kind, text) in enumerate(cells) if kind == "code" and n != to_fill_in]
    shown = [(text, runs) for text, runs in around if not re.search(r"^(?:check|predict)\(", text, re.MULTILINE)]
    for number, (kind, text) in enumerate(cells):
        if number == to_fill_in:
            yield _workbench(rung, text, hints(cells), shown, root)
        elif (text, True) in shown:
            yield _part("cell", code=text)
        elif (text, False) in shown:
            yield f"```python\n{text}\n```"
        elif kind == "markdown":
            if text.startswith("## How to check"):
                text = _how_to_check(text)
            yield _here(re.sub(r"^## Hints\n.*?(?=^## )", "", text, flags=re.DOTALL | re.MULTILINE))


def _runs(text: str) -> bool:
    """Whether a cell is part of an experiment: it can be changed and run on the page, and is not only shown."""
    return re.search(r"\brun\(|^@triton\.jit", text, re.MULTILINE) is not None


def _how_to_check(text: str) -> str:
    """What this section says beside what to type, which its first paragraph does."""
    heading, _, *more = text.split("\n\n")
    return "\n\n".join([heading, *more]) if more else ""


def _workbench(rung: Rung, stub: str, steps: Sequence[Hint], cells: Sequence[tuple[str, bool]], root: Path) -> str:
    """The place of the editor, with what the page's script must know, and the hints.

    `cells`: the lesson's other code, in order, and which of it can be run.
    """
    data = {
        "puzzle": rung.id,
        "stem": rung.stem,
        "title": rung.title,
        "stub": stub,
        "seconds": PATIENCE,
        "questions": [{"name": question.name, "asks": question.asks} for question in catalog.load(rung.id).questions],
        "hints": len(steps),
        "bugs": [_hunted(bug) for bug in bugs_of(rung.id, root)],
        "timed": catalog.load(rung.id).timed is not None and rung.id not in TOO_LARGE,
        "cells": [{"code": text, "runs": runs} for text, runs in cells],
        "trace": True,
        "solution": f"../solutions/{rung.stem}.html" if places.solution(rung.id, root).exists() else None,
        "root": "../",
    }
    folded = (
        f'<details class="hint" data-level="{hint.level}"><summary>{hint.level}: {hint.title}</summary>\n\n'
        f"{_here(hint.text)}\n\n</details>"
        for hint in steps
    )
    return _part(
        "workbench",
        id=rung.id,
        stub=html.escape(stub),
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),  # so that no text of ours ends the script
        hints="\n".join(folded),
    )


def _hunted(bug: Bug) -> dict[str, Any]:
    """A bug's kernels as an editor has them, and the lines to blame, counted from the first of these."""
    head, mark, rest = bug.text.partition("@triton.jit")
    return {"text": mark + rest, "lines": [line - head.count("\n") for line in bug.lines]}


def _solution(rung: Rung, root: Path) -> str:
    """A solution with its walk-through."""
    code = places.solution(rung.id, root).read_text(encoding="utf-8").strip()
    walk_through = places.walk_through(rung.id, root).read_text(encoding="utf-8")
    heading, _, parts = _here(walk_through).partition("\n")
    gate = "" if rung.pytorch else f"puzzle: {rung.id}\n"  # opens after success, which PyTorch has elsewhere
    return _part("solution", gate=gate, heading=heading, code=code, parts=parts.strip())


def _go_on() -> str:
    """The link to the first puzzle, of which the page's script makes one to the next, with how far one is beside it."""
    first = LADDER[0]
    link = f'<a id="go-on" class="go-on" href="puzzles/{first.stem}.html">Start with {first.id}</a>'
    return f'<p>{link} <span id="how-far"></span></p>'


def _chapters() -> dict[str, list[Rung]]:
    """The puzzles of each chapter."""
    chapters: dict[str, list[Rung]] = {}
    for rung in LADDER:
        chapters.setdefault(CHAPTERS.get(rung.id) or list(chapters)[-1], []).append(rung)
    return chapters


def _ladder(root: Path) -> str:
    """The puzzles as a list, in which the page's script marks those that are solved: the spine, and those beside it."""
    lines = []
    for chapter, rungs in _chapters().items():
        lines += [f"### {chapter}\n", f'<ul class="chapter{" spine" * any(rung.gives for rung in rungs)}">']
        lines += [_entry(rung, root) for rung in rungs]
        lines.append("</ul>\n")
    return "\n".join(lines)


def _entry(rung: Rung, root: Path) -> str:
    """A puzzle in that list: what it gives and how long it takes, or when to take it."""
    link = f'<a href="puzzles/{rung.stem}.html"><span class="id">{rung.id}</span> {html.escape(rung.title)}</a>'
    kind = " data-pytorch" * rung.pytorch + ' class="beside"' * bool(rung.helps)
    minutes = 0 if rung.pytorch else _minutes(rung, root)
    more = [f"about {minutes} minutes"] * bool(minutes) + ["a lesson to read here"] * rung.pytorch
    more += [f"take it {rung.helps}"] * bool(rung.helps)
    said = "".join(f", {one}" for one in more) + (f"<br>{html.escape(rung.gives)}" if rung.gives else "")
    return f'<li data-puzzle="{rung.id}"{kind}>{link}<span class="more">{said}</span></li>'


def _minutes(rung: Rung, root: Path) -> int:
    """How long a puzzle takes, in fives: to read its lesson, and to write what its solution has and its stub does not.

    0 in a copy of the course without solutions.
    """
    if not places.solution(rung.id, root).exists():
        return 0
    cells = script_cells(places.script(rung.id, root).read_text(encoding="utf-8"))
    words = sum(prose(text) for kind, text in cells if kind == "markdown")
    solved, stub = (
        re.findall(r"^ *[^\s#].*$", path.read_text(encoding="utf-8"), re.MULTILINE)
        for path in (places.solution(rung.id, root), places.stubs(rung.id))
    )
    return 5 * round((words / READ + (len(solved) - len(stub)) / WRITTEN) / 5)


def _contents() -> str:
    """What the sidebar has."""
    chapters = {
        chapter: [f"{rung.id} {rung.title} <puzzles/{rung.stem}>" for rung in rungs]
        for chapter, rungs in _chapters().items()
    }
    chapters["To read"] = [f"{title} <{page.removesuffix('.md')}>" for page, title in PAGES.items()]
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {chapter}\n" + "\n".join(entries) + "\n```\n"
        for chapter, entries in chapters.items()
    )


def _linked(text: str, origin: str, pages: dict[str, str], root: Path) -> str:
    """A page's text with its links as they are on the site. What only the repository has becomes words."""

    def link(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        file, mark, anchor = target.partition("#")
        there = os.path.normpath(Path(origin).parent / file)
        if not file or not (root / there).exists():  # on this page, elsewhere in the world, or code
            return match[0]
        there = pages.get(there, there)
        if there not in pages.values() and not there.startswith(FIGURES):
            return words
        return f"{picture}[{words}]({os.path.relpath(there, Path(pages[origin]).parent)}{mark}{anchor})"

    return _LINK.sub(link, text)
