"""Build what is derived from the puzzles: the notebooks, and the README's table and sample reports.

For course authors. A test compares what is there with what would be built, outside the parts that
are a student's to change.
"""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

from checker import catalog
from checker.puzzle import Puzzle
from checker.submission.read import from_cells

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
    """The report on a kernel as a Markdown block, without the time."""
    from rich.console import Console

    from checker.report.terminal import show
    from checker.road import Terms, check

    number = int(path.name[1 : path.name.index("_")])
    text = path.read_text(encoding="utf-8")
    submission = from_cells([("code", text)], "kernel.py", numbered=False)
    out = io.StringIO()
    console = Console(file=out, width=80, markup=False, highlight=False, emoji=False, color_system=None)
    show(console, check(number, submission, Terms(targets=())))  # registers differ from compiler to compiler
    lines = (re.sub(r" \(\d+\.\d+ s on .*\)", "", line).rstrip() for line in out.getvalue().split("\n"))
    return "```\n" + "\n".join(lines).strip("\n") + "\n```\n"


def readme_text(readme: str, root: Path = ROOT) -> str:
    """The README with its table and its two reports brought up to date."""
    parts = {"puzzles": puzzle_table()}
    parts |= {name: example_report(root / path) for name, path in EXAMPLES.items() if (root / path).exists()}
    for name, text in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*(<!-- /{name} -->)", re.DOTALL)
        readme = pattern.sub(lambda match, text=text: match[1] + text + match[2], readme)  # type: ignore[misc]
    return readme


def emptied(puzzle_file: str, puzzle: Puzzle) -> str:
    """A puzzle file whose kernels hold only what precedes their FILL IN mark: the stub, whatever was filled in."""
    lines = puzzle_file.split("\n")
    names = {kernel.name for kernel in puzzle.kernels}
    for node in reversed(ast.parse(puzzle_file).body):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            end = node.end_lineno or node.lineno
            while end < len(lines) and lines[end].startswith("    "):
                end += 1  # comments at the end of the body
            mark = next((n for n in range(node.lineno, end) if "FILL IN" in lines[n]), None)
            if mark is not None:
                lines[mark + 1 : end] = []
    return "\n".join(lines)


def build(root: Path = ROOT) -> list[Path]:
    """Write every built file that is not up to date; return those."""
    wanted = {root / "README.md": readme_text((root / "README.md").read_text(encoding="utf-8"), root)}
    for number, stem in catalog.stems().items():
        text, puzzle = (root / "puzzles" / f"{stem}.py").read_text(encoding="utf-8"), catalog.load(number)
        wanted[root / "notebooks" / f"{stem}.ipynb"] = notebook_text(emptied(text, puzzle), puzzle)
    written = []
    for path, text in wanted.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            written.append(path)
    return written
