"""A lesson, and a solution, as a page. Lessons speak of cells and of a terminal; here they speak of the page.

What a page leaves out of a lesson is found in English, paragraph by paragraph, and what is left is translated then.
"""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from checker import catalog
from checker.browser.words import on_page
from checker.course import paragraphs, places
from checker.course.ladder import RUNGS, SPINE, Rung, following
from checker.course.language import CHINESE, ENGLISH, spoken
from checker.course.lesson import Hint, code_lines, emptied, hints, kernel_cell, script_cells
from checker.course.localised import languages
from checker.learner.bugs import Bug, bugs_of, museum
from checker.report.translated import said

TOO_LARGE = ("b1", "b3")  # to be timed: NumPy has no such arrays in 32 bits
TOP = "site://"  # what a link begins with that counts from the top of the site, as docs/site/conf.py knows
PATIENCE = 200  # seconds in which a worker may do one launch, or draw, on however slow a machine

# What lessons say of cells and terminals, and what they say here. Lines are broken anywhere.
WORDS = {
    ENGLISH: {
        "in this cell or, to check in a terminal, in `puzzles/w1_vector_add.py`": "in the editor",
        "In every lesson, `run` needs a notebook: in a terminal, read the answers.": "",
        "Write a guess in place of each `...`.": "Type your guesses at *Predict*, below your kernel.",
    },
    CHINESE: {
        "：可以写在这个单元格里，要在终端里检查，就写在 `puzzles/w1_vector_add.py` 里": "",
        "每一课里，`run` 都只能在 notebook 里用：在终端里学，就直接看答案。": "",
        "把每个 `...` 换成你的猜测。": "在 kernel 下方的“预测”里写下猜测。",
    },
}
_LEFT_OUT = (
    re.compile(r"^In a terminal:\n\n```\nmake predict .*\n```\n?", re.MULTILINE),
    re.compile(r"^## Hints\n.*?(?=^## )", re.DOTALL | re.MULTILINE),
)
_NAMED = re.compile(r'^<a id="[\w-]+"></a>\n\n', re.MULTILINE)  # headings, for JupyterLab: the site names each itself
_HEADING = re.compile(r"^##+ .*$")


def in_words(english: str, root: Path = places.ROOT) -> str:
    """Markdown in the language that is spoken. Its headings are called in links what they are called in English."""
    english = _NAMED.sub("", english)
    if spoken() == ENGLISH:
        return english
    there, names, made = paragraphs.lessons(spoken(), root), set[str](), []
    for block in paragraphs.blocks(english):
        other = paragraphs.translated(block, there)
        if _HEADING.match(block) and block not in names:
            names.add(block)
            made.append(named(block, other))
        made.append(other)
    return "\n\n".join(made)


def named(english: str, other: str) -> str:
    """Return what stands above a heading for links that name it as in English, if it has not got this name anyhow."""
    return f'<a id="{_slug(english)}"></a>' if _slug(english) != _slug(other) else ""


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", re.sub("['’]", "", heading.lower())).strip("-")


def lesson(rung: Rung, root: Path = places.ROOT) -> str:
    """Return a lesson as a page. Where its stub was, there is the workbench; puzzles in PyTorch have none."""
    text = places.script(rung.id, root).read_text(encoding="utf-8")
    cells = script_cells(emptied(text, catalog.load(rung.id)))
    if rung.pytorch:
        kept = [cell for cell in cells if not re.search(r"\A## How to check|^check\(", cell[1], re.MULTILINE)]
        elsewhere = _part("elsewhere", id=rung.id, stem=rung.stem)
        return "\n\n".join(f"```python\n{text}\n```" if kind == "code" else text for kind, text in kept).replace(
            "## Your turn\n", f"## Your turn\n\n{elsewhere}"
        )
    return "\n\n".join(_parts(rung, cells, root))


def solution(rung: Rung, root: Path = places.ROOT) -> str:
    """Return a solution with its walk-through."""
    code = places.solution(rung.id, root).read_text(encoding="utf-8").strip()
    walk_through = places.walk_through(rung.id, root).read_text(encoding="utf-8")
    heading, _, parts = _here(walk_through, root).partition("\n")
    gate = "" if rung.pytorch else f"puzzle: {rung.id}\n"  # opens after success, which PyTorch has elsewhere
    return _part("solution", gate=gate, heading=heading, code=code, parts=parts.strip())


def public_bugs(root: Path = places.ROOT) -> str:
    """Return the page of the museum: what happened, and the lines to blame, never a whole kernel. Raises OSError."""
    opening, _, _ = (root / "solutions" / "museum.md").read_text(encoding="utf-8").partition("\n## ")
    parts = ["---\nnosearch: true\n---", _here(opening, root)]
    for piece in museum(root):
        heading, _, story = _of_page(paragraphs.in_language(piece.story, root)).partition("\n")
        blamed = textwrap.dedent("\n".join(piece.text.split("\n")[line - 1] for line in piece.lines))
        title = f"{piece.number}. {piece.puzzle}{said(': ')}{heading.partition(': ')[2]}"
        parts.append(_part("piece", title=title, story=story.strip(), code=blamed))
    return "\n\n".join(parts)


def _part(name: str, **holes: str) -> str:
    """Return a part of a page, in which these holes are filled."""
    text = (Path(__file__).with_name("parts") / f"{name}.md").read_text(encoding="utf-8")
    return text.format(**holes)


def _here(english: str, root: Path) -> str:
    """Markdown of a lesson or of a walk-through in the words of a page."""
    for part in _LEFT_OUT:
        english = part.sub("", english)
    return _of_page(in_words(english, root))


def _of_page(text: str) -> str:
    for words, here in WORDS[spoken()].items():
        text = re.sub(r"\s+".join(map(re.escape, words.split())), here, text)
    return on_page(text)


def _parts(rung: Rung, cells: list[tuple[str, str]], root: Path) -> Iterator[str]:
    """Yield a lesson's cells, one after the other."""
    to_fill_in = kernel_cell(cells, catalog.load(rung.id))
    around = [(text, _runs(text)) for n, (kind, text) in enumerate(cells) if kind == "code" and n != to_fill_in]
    shown = [(text, runs) for text, runs in around if not re.search(r"^(?:check|predict)\(", text, re.MULTILINE)]
    for number, (kind, text) in enumerate(cells):
        if number == to_fill_in:
            steps = hints([(kind, in_words(text, root)) for kind, text in cells if kind == "markdown"])
            yield _workbench(rung, text, steps, shown, root)
        elif (text, True) in shown:
            yield _part("cell", code=text)
        elif (text, False) in shown:
            yield f"```python\n{text}\n```"
        elif kind == "markdown":
            yield _here(_how_to_check(text) if text.startswith("## How to check") else text, root)


def _runs(text: str) -> bool:
    """Return whether a cell is part of an experiment: it can be changed and run on the page, and is not only shown."""
    return re.search(r"\brun\(|^@triton\.jit", text, re.MULTILINE) is not None


def _how_to_check(text: str) -> str:
    """Return what this section says besides what to type, which its first paragraph does."""
    heading, _, *more = text.split("\n\n")
    return "\n\n".join([heading, *more]) if more else ""


def _workbench(rung: Rung, stub: str, steps: Sequence[Hint], cells: Sequence[tuple[str, bool]], root: Path) -> str:
    """Return the place of the editor, with what the page's script must know, and the hints.

    `cells`: the lesson's other code, in order, and which of it can be run.
    """
    data = {
        "puzzle": rung.id,
        "stem": rung.stem,
        "title": said(rung.title),
        "stub": stub,
        "seconds": PATIENCE,
        "questions": [
            {"name": question.name, "asks": said(question.asks)} for question in catalog.load(rung.id).questions
        ],
        "hints": len(steps),
        "bugs": [_hunted(bug) for bug in bugs_of(rung.id, root)],
        "timed": catalog.load(rung.id).timed is not None and rung.id not in TOO_LARGE,
        "cells": [{"code": text, "runs": runs} for text, runs in cells],
        "trace": True,
        "saves": said(rung.saves),
        "lines": _solved_lines(rung, root),
        "spine": SPINE,
        "following": [_ahead(RUNGS[id], root) for id in following(rung.id) if not RUNGS[id].pytorch],
        "solution": f"../solutions/{rung.stem}.html" if places.solution(rung.id, root).exists() else None,
        "root": "../",
    }
    folded = (
        f'<details class="hint" data-level="{hint.level}"><summary>{hint.level}{said(": ")}{hint.title}</summary>\n\n'
        f"{_of_page(hint.text)}\n\n</details>"
        for hint in steps
    )
    return _part(
        "workbench",
        id=rung.id,
        without=said("To edit and check the kernel here, switch JavaScript on. This is where you begin:"),
        stub=html.escape(stub),
        data=json.dumps(data, ensure_ascii=False).replace("<", "\\u003c"),  # so that no text of ours ends the script
        hints="\n".join(folded),
    )


def _solved_lines(rung: Rung, root: Path) -> int | None:
    """Return how many lines of code the solution's kernels have; None in a copy of the course without it."""
    path = places.solution(rung.id, root)
    return code_lines(path.read_text(encoding="utf-8").partition("@triton.jit")[2]) + 1 if path.exists() else None


def _ahead(rung: Rung, root: Path) -> dict[str, str]:
    """Return the puzzle that comes next; one that has not been translated is in English alone."""
    above = "" if spoken() in (ENGLISH, *languages(rung.id, root)) else f"{TOP}puzzles/"
    return {"puzzle": rung.id, "title": said(rung.title), "href": f"{above}{rung.stem}.html"}


def _hunted(bug: Bug) -> dict[str, Any]:
    """Return a bug's kernels as an editor has them, and the lines to blame, counted from the first of these."""
    head, mark, rest = bug.text.partition("@triton.jit")
    return {"text": mark + rest, "lines": [line - head.count("\n") for line in bug.lines]}
