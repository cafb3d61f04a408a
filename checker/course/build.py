"""Build what is derived from the puzzles: the notebooks, and the README's table, sample reports and pictures.

For course authors. A test compares what is there with what would be built, outside the parts that
are a student's to change.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from checker import catalog
from checker.puzzle import Puzzle
from checker.submission.extract import GAP

ROOT = Path(__file__).parents[2]
EXAMPLES = {"refused": "tests/wrong/p1_padding_loaded_as_zero.py", "accepted": "solutions/p1_naive_softmax.py"}


def notebook_text(puzzle_file: str, puzzle: Puzzle) -> str:
    """A puzzle's py:percent text as the JSON of a notebook; cells are numbered, so it is reproducible.

    nbgrader finds the kernels' cells and the cell that checks by its own metadata.
    """
    import jupytext  # part of the lab layer

    notebook: Any = jupytext.reads(puzzle_file, fmt="py:percent")
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        graded = _nbgrader(cell["source"], puzzle) if cell["cell_type"] == "code" else {}
        cell["metadata"] = {"nbgrader": graded} if graded else {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
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


def script_text(cells: Sequence[tuple[str, str]]) -> str:
    """The other way round: (kind, text) of a notebook's cells as a puzzle's file."""
    text = _HEADER
    for kind, source in cells:
        body = source.strip("\n")
        if kind == "code":
            text += f"\n# %%\n{body}\n" + ("\n" if body.split("\n")[-1].startswith(" ") else "")  # after a function
        else:
            text += "\n# %% [markdown]\n" + "".join(f"# {line}".rstrip() + "\n" for line in body.split("\n"))
    return text


def _nbgrader(source: str, puzzle: Puzzle) -> dict[str, Any]:
    """What nbgrader must know of a code cell; nothing if it is neither a solution nor graded."""
    common = {"schema_version": 3, "task": False}
    for kernel in puzzle.kernels:
        if f"def {kernel.name}(" in source:
            return {"grade": False, "grade_id": kernel.name, "locked": False, "solution": True, **common}
    if source.rstrip().endswith(f"\ncheck({puzzle.number})"):
        grade_id = f"check-{puzzle.stem}"
        points = puzzle.possible
        return {"grade": True, "grade_id": grade_id, "locked": True, "points": points, "solution": False, **common}
    return {}


def puzzle_table() -> str:
    """The README's table of puzzles, in Markdown."""
    lines = ["| # | puzzle | you write | file |", "|---|---|---|---|"]
    for number, stem in catalog.stems().items():
        puzzle = catalog.load(number)
        kernels = ", ".join(f"`{kernel.name}`" for kernel in puzzle.kernels)
        lines.append(f"| {number} | {puzzle.title} | {kernels} | [`puzzles/{stem}.py`](puzzles/{stem}.py) |")
    return "\n".join(lines) + "\n"


def example_report(path: Path) -> str:
    """The report on a kernel as a Markdown block."""
    from rich.console import Console

    from checker.course.pictures import example
    from checker.report.terminal import show

    out = io.StringIO()
    show(Console(file=out, width=80, markup=False, highlight=False, emoji=False, color_system=None), example(path))
    lines = (line.rstrip() for line in out.getvalue().split("\n"))
    return "```\n" + "\n".join(lines).strip("\n") + "\n```\n"


def readme_text(readme: str, root: Path = ROOT) -> str:
    """The README with its table and its two reports brought up to date."""
    parts = {"puzzles": puzzle_table()}
    parts |= {name: example_report(root / path) for name, path in EXAMPLES.items() if (root / path).exists()}
    for name, text in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*(<!-- /{name} -->)", re.DOTALL)
        readme = pattern.sub(lambda match, text=text: match[1] + text + match[2], readme)  # type: ignore[misc]
    return readme


def span(lines: Sequence[str], kernel: str) -> range | None:
    """The lines of a kernel, with its decorators and the comments that end it; None if it is not defined once.

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
    """A puzzle file whose kernels end with their FILL IN marks: the stub, whatever was filled in.

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


def build(root: Path = ROOT) -> list[Path]:
    """Write every built file that is not up to date; return those."""
    from checker.course.pictures import pictures  # `reset` needs this module, and no picture

    readme = readme_text((root / "README.md").read_text(encoding="utf-8"), root)
    wanted = {root / "README.md": readme.encode(), **pictures(root, EXAMPLES["refused"])}
    for number, stem in catalog.stems().items():
        text, puzzle = (root / "puzzles" / f"{stem}.py").read_text(encoding="utf-8"), catalog.load(number)
        wanted[root / "notebooks" / f"{stem}.ipynb"] = notebook_text(emptied(text, puzzle), puzzle).encode()
    written = []
    for path, data in wanted.items():
        if not path.exists() or path.read_bytes() != data:
            path.write_bytes(data)
            written.append(path)
    return written
