"""The format of a lesson: a puzzle's py:percent file, its notebook, and the stub in both."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker.course import ladder
from checker.course.columns import has_wide, joined
from checker.course.kernel import GAP
from checker.course.puzzle import Puzzle

KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}  # what runs a notebook
HOSTED = ("open", "install")  # cells above the lesson, by id, of notebooks that are opened elsewhere
_NO_PROSE = (
    (r"^```.*?^```\n?", re.DOTALL | re.MULTILINE),
    (r"^\|.*\n?", re.MULTILINE),
    (r"!\[.*?\]\(.*?\)", re.DOTALL),
    (r"\$\$.*?\$\$", re.DOTALL),
    (r"(?<=\])\([^)]*\)", re.DOTALL),
    (r"<!--.*?-->|</?\w+>", re.DOTALL),
)
_TYPED = re.compile(
    r"(?:\bmake\s+(check|hint|predict|solution|step|trace)\s+PUZZLE=|\./(check)\s+)(\w+)\b(?!\s\w+=|\s--)"
)
# What lessons say of terminals, with any white space between words, and what a notebook says instead.
_OF_TERMINALS = (
    (r"(?:In a terminal:|在终端里：)\n\n```\nmake predict .*\n```", ""),  # which the next cell does
    (r"In a terminal: `\./check \w+`\. In a notebook: run|In a terminal, type .*?`make lab`\), run", "Run"),
    (r"在?终端里：`\./check \w+`。(?:在 )?notebook 里：|在终端里输入 .*?（`make lab`），", ""),
    (r'`make step PUZZLE=\w+`, in a notebook (`step\("\w+"\)`),', r"\1"),
    (r'`make step PUZZLE=\w+`，在 notebook 里是 (`step\("\w+"\)`)，', r"\1 "),
    (r"(in this cell) or, to check in a terminal, in `puzzles/\w+\.py`", r"\1"),
    (r"(可以写在这个单元格里)，要在终端里检查，就写在 `puzzles/\w+\.py` 里", r"\1"),
    (r" In every lesson, `run` needs a notebook: in a terminal, read the answers\.", ""),
    (r"每一课里，`run` 都只能在 notebook 里用：在终端里学，就直接看答案。", ""),
    (r"In a notebook the next cell does it, in a terminal `make train`\.", "The next cell does it."),
    (r"make train DEVICE=(\w+)", r'train(device="\1")'),
    (r"make train\b", "train()"),
    (r"make bench PUZZLE=(\w+) EVERY=1", r'bench("\1", every=True)'),
)
_IN_NOTEBOOKS = [(re.compile(said.replace(" ", r"\s+"), re.DOTALL), here) for said, here in _OF_TERMINALS]
LESSON = "lesson"  # in a cell's metadata: its text before it was put into the words of a notebook
_TO_LESSON = re.compile(r"(?<=\]\()(\w+)\.py(?=[)#])")  # a link's target
_TO_NOTEBOOK = re.compile(r"(?<=\]\()(\w+)\.ipynb(?=[)#])")
_FIGURE = re.compile(r"(?<=\]\()\.\./docs/figures/(\w+)\.svg(?=\))")
_ATTACHED = re.compile(r"(?<=\]\()attachment:(\w+)\.png(?=\))")
_HINT = re.compile(r"<details><summary>\d+[:：] ?(.*?)</summary>(.*?)</details>", re.DOTALL)


@dataclass(frozen=True)
class Hint:
    """One hint of a lesson. `text` is Markdown."""

    level: int  # from 1
    title: str
    text: str


def script_cells(puzzle_file: str) -> list[tuple[str, str]]:
    """(kind, text) of each cell of a puzzle's py:percent text, without its header."""
    text = re.sub(r"\A# ---\n(?:#.*\n)*?# ---\n", "", puzzle_file)
    above, *pieces = re.split(r"^# %%(.*)\n", text, flags=re.MULTILINE)
    cells = [("code", above.strip("\n"))] if above.strip() else []
    for mark, body in zip(pieces[::2], pieces[1::2], strict=True):
        lines = body.strip("\n").split("\n")
        if "[markdown]" in mark:
            cells.append(("markdown", "\n".join(line.removeprefix("#").removeprefix(" ") for line in lines)))
        else:
            cells.append(("code", "\n".join(lines)))
    return cells


def as_calls(text: str) -> str:
    """Return a text that names calls instead of commands: `trace("p5")`, for `make trace PUZZLE=p5`."""
    return _TYPED.sub(lambda match: f'{match[1] or match[2]}("{match[3]}")', text)


def _of_notebook(markdown: str) -> str:
    """Return a lesson's Markdown in the words of a notebook."""
    for said, here in _IN_NOTEBOOKS:
        markdown = said.sub(here, markdown)
    return as_calls(markdown)


def notebook_text(puzzle_file: str, puzzle: Puzzle) -> str:
    """Return a puzzle's py:percent text as the JSON of a notebook; cells are numbered, so it is reproducible.

    nbgrader finds the kernels' cells and the cell that checks by its own metadata.
    """
    names = {stem: f"{ladder.numbered(id)}.ipynb" for stem, id in ladder.ids().items()}
    cells = []
    for number, (kind, source) in enumerate(script_cells(puzzle_file)):
        about: dict[str, Any] = {}
        if kind == "markdown":  # whose links to lessons lead to notebooks here
            source = _TO_LESSON.sub(lambda match: names.get(match[1], match[0]), source)
            if (here := _of_notebook(source)) != source:
                source, about = here, {LESSON: source}
        elif graded := _nbgrader(source, puzzle):
            about = {"nbgrader": graded}
        cells.append(new_cell(kind, f"cell-{number}", source, about))
    return notebook_json(new_notebook(cells, KERNEL))


def with_figures(notebook: str, figures: Path) -> str:
    """Return a notebook that brings along those of its figures that are in this folder, wherever it is opened.

    As PNG: JupyterLab shows no attachment that is an SVG.
    """
    lesson = json.loads(notebook)
    for cell in lesson["cells"]:
        for name in _FIGURE.findall(cell["source"]):
            path = figures / f"{name}.png"
            if path.exists():
                data = base64.b64encode(path.read_bytes()).decode("ascii")
                cell.setdefault("attachments", {})[path.name] = {"image/png": data}
                cell["source"] = cell["source"].replace(f"](../docs/figures/{name}.svg)", f"](attachment:{path.name})")
    return notebook_json(lesson)


def new_cell(kind: str, id: str, source: str, metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a cell of a notebook."""
    made = {"cell_type": kind, "id": id, "metadata": metadata or {}, "source": source}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def new_notebook(cells: Sequence[Any], metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a notebook of Python with these cells."""
    about = {"language_info": {"name": "python"}, **(metadata or {})}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def notebook_json(notebook: Any) -> str:
    """Return a notebook as Jupyter writes it."""
    return json.dumps(notebook, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


_HEADER = """\
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---
"""


def as_lesson(cell: Mapping[str, Any]) -> str:
    """Return the text of a notebook's cell as its lesson has it, where that speaks of terminals."""
    return str(cell.get("metadata", {}).get(LESSON, "".join(cell.get("source", ""))))


def script_text(cells: Sequence[tuple[str, str]]) -> str:
    """Return the other way round: (kind, text) of a notebook's cells as a puzzle's file."""
    text = _HEADER
    for kind, source in cells:
        body = source.strip("\n")
        if kind == "code":
            text += f"\n# %%\n{body}\n" + ("\n" if body.split("\n")[-1].startswith(" ") else "")  # after a function
        else:
            body = _TO_NOTEBOOK.sub(lambda match: f"{ladder.without_number(match[1])}.py", body)
            body = _ATTACHED.sub(r"../docs/figures/\1.svg", body)
            text += "\n# %% [markdown]\n" + "".join(f"# {line}".rstrip() + "\n" for line in body.split("\n"))
    return text


def kernel_cell(cells: Sequence[tuple[str, str]], puzzle: Puzzle) -> int:
    """Return which of a lesson's cells, from (kind, text) of each, is to be filled in: it has all kernels of the
    puzzle.
    """
    heads = [f"def {kernel.name}(" for kernel in puzzle.kernels]
    return next(n for n, (kind, text) in enumerate(cells) if kind == "code" and all(head in text for head in heads))


def _nbgrader(source: str, puzzle: Puzzle) -> dict[str, Any]:
    """Return what nbgrader must know of a code cell; nothing if it is neither a solution nor graded."""
    common = {"schema_version": 3, "task": False}
    for kernel in puzzle.kernels:
        if f"def {kernel.name}(" in source:
            return {"grade": False, "grade_id": kernel.name, "locked": False, "solution": True, **common}
    if source.rstrip().endswith(f'\ncheck("{puzzle.id}")'):
        grade_id = f"check-{puzzle.stem}"
        points = puzzle.possible
        return {"grade": True, "grade_id": grade_id, "locked": True, "points": points, "solution": False, **common}
    return {}


def span(lines: Sequence[str], kernel: str) -> range | None:
    """Return the lines of a kernel, with its decorators and the comments that end it; None if it is not defined once.

    Found by layout, not by syntax, so that a kernel that Python cannot read has a stub to go back to.
    """
    heads = [n for n, line in enumerate(lines) if re.match(rf"def {kernel}\b", line)]
    if len(heads) != 1:
        return None
    first = last = heads[0]
    while first > 0 and lines[first - 1].startswith("@"):
        first -= 1
    for number in range(last + 1, len(lines)):
        line = lines[number]
        if line.startswith((" ", "\t", ")")) and line.strip():
            last = number
        elif line.startswith("# %%") or (line.strip() and not line.startswith("#")):
            break
    return range(first, last + 1)


def emptied(puzzle_file: str, puzzle: Puzzle) -> str:
    """Return a puzzle file whose kernels end with their FILL IN marks: the stub, whatever was filled in.

    A barrier that stands last and as deep as the mark is the stub's own.
    """
    lines = puzzle_file.split("\n")
    for kernel in puzzle.kernels:
        where = span(lines, kernel.name)
        mark = next((n for n in where or () if GAP in lines[n]), None)
        if where is not None and mark is not None:
            depth = lines[mark][: len(lines[mark]) - len(lines[mark].lstrip())]
            ends = lines[where[-1]].rstrip() == f"{depth}tl.debug_barrier()"
            lines[mark + 1 : where.stop - ends] = []
    return "\n".join(lines)


def stubs_text(puzzle_file: str, puzzle: Puzzle, solution: str = "") -> str:
    """Return the stubs of a puzzle's kernels as a module, with the comments of its solution below their marks."""
    lines, solved = emptied(puzzle_file, puzzle).split("\n"), solution.split("\n")
    stubs = []
    for kernel in puzzle.kernels:
        stub = [lines[n] for n in span(lines, kernel.name) or ()]
        body = [solved[n].rstrip() for n in span(solved, kernel.name) or ()]
        comments = [line for line in body if not line or line.lstrip().startswith("#")]
        mark = next((n for n, line in enumerate(stub, 1) if GAP in line), len(stub))
        text = re.sub(r"\n{2,}", "\n\n", "\n".join(comments)).strip("\n")
        stubs.append("\n".join([*stub[:mark], *([f"\n{text}"] if text else []), *stub[mark:]]))
    imports = "import torch" if puzzle.pytorch else "import triton\nimport triton.language as tl"
    return "\n\n\n".join([imports, *stubs]) + "\n"


def with_stubs(text: str, stubs: Mapping[str, str]) -> str | None:
    """Return a text whose kernels are these stubs, by name, and all else is as it was; None if one of them is not
    there.
    """
    lines = text.split("\n")
    for kernel, stub in stubs.items():
        where = span(lines, kernel)
        if where is None:
            return None
        lines[where.start : where.stop] = stub.split("\n")
    return "\n".join(lines)


def hints(cells: Sequence[tuple[str, str]]) -> tuple[Hint, ...]:
    """Return the hints of a lesson, each folded away in `<details>`, from (kind, text) of its cells."""
    lesson = "\n\n".join(text for kind, text in cells if kind == "markdown")
    found = enumerate(_HINT.findall(lesson), start=1)
    return tuple(Hint(level, title.strip(), _unfolded(text.strip())) for level, (title, text) in found)


def _unfolded(text: str) -> str:
    """Paragraphs of Chinese as one line each: a line break within them would be shown as a space."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(joined(one) if has_wide(one) and "```" not in one else one for one in paragraphs)


def code_lines(text: str) -> int:
    """Return how many lines of a Python text are code: neither empty nor a comment alone."""
    return len(re.findall(r"^ *[^\s#].*$", text, re.MULTILINE))


def prose(markdown: str) -> int:
    """Return how many words of prose a text has.

    Code, tables, pictures and displayed formulas are none. Inline code and formulas are: they are read like words.
    """
    for pattern, flags in _NO_PROSE:
        markdown = re.sub(pattern, " ", markdown, flags=flags)
    return sum(bool(re.search(r"\w", word)) for word in markdown.split())
