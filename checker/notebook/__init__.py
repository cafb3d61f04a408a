"""What a notebook calls: `check`, `run`, `trace`, `bench`, `hint`.

The notebook's own process is never trusted: it hands over the text of the cells that were run, and that
text walks the same road as a file does, in another process.
"""

from __future__ import annotations

import base64
import html
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from checker.notebook.cells import place, run_so_far
from checker.notebook.experiment import Ran, ran
from checker.submission.read import Unreadable

__all__ = ["Hints", "Picture", "Ran", "Report", "bench", "check", "hint", "run", "trace"]


@dataclass(frozen=True)
class Report:
    """A verdict that shows itself: in HTML where there is a front end for it, in words elsewhere."""

    text: str
    html: str = ""
    accepted: bool = False

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html or f"<div>{html.escape(self.text)}</div>"


@dataclass(frozen=True, repr=False)
class Picture:
    """A picture that shows itself, and says in words what is on it where it cannot be shown."""

    png: bytes
    text: str

    def __repr__(self) -> str:
        return self.text

    def _repr_png_(self) -> tuple[bytes, dict[str, str]]:
        return self.png, {"alt": self.text}


@dataclass(frozen=True)
class Hints:
    """Some hints that show themselves: as Markdown where there is a front end for it, in words elsewhere."""

    text: str
    markdown: str = ""

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.markdown or self.text


def check(puzzle: int, *, device: str = "interpreter") -> Report:
    """Check the kernels of a puzzle as the cells that were run last define them.

    `device`: `interpreter`, `cuda`, or `auto`, the one after the other.
    """
    cells = run_so_far()
    if cells is None:
        return Report(f"This needs a notebook. In a terminal, type: make check PUZZLE={puzzle}")
    report = Report(**_asked(puzzle=puzzle, cells=cells, place=place(), device=device, verb="check"))
    if not report.accepted and "NBGRADER_VALIDATING" in os.environ:
        print(report.text, file=sys.stderr)  # nbgrader's Validate tells a cell that failed by this alone
    return report


def bench(puzzle: int, *, every: bool = False) -> Picture | Report:
    """Time the kernels of a puzzle beside their peers, or predict without a GPU; a picture. They are checked first."""
    cells = run_so_far()
    if cells is None:
        return Report(f"This needs a notebook. In a terminal, type: make bench PUZZLE={puzzle}")
    return _pictured(_asked(puzzle=puzzle, cells=cells, place=place(), device="interpreter", verb="bench", every=every))


def trace(puzzle: int) -> Picture | Report:
    """Draw what the kernels of a puzzle load and store, right or wrong: tiles, their order, how often each is read."""
    cells = run_so_far()
    if cells is None:
        return Report(f"This needs a notebook. In a terminal, type: make trace PUZZLE={puzzle}")
    return _pictured(_asked(puzzle=puzzle, cells=cells, place=None, device="interpreter", verb="trace"))


def _pictured(answer: dict[str, Any]) -> Picture | Report:
    return Picture(base64.b64decode(answer["png"]), answer["text"]) if "png" in answer else Report(**answer)


def run(kernel: Any, *arguments: Any, grid: int | Sequence[int] | None = None, **named: Any) -> Ran:
    """Launch a kernel of this notebook once, in the box, with arrays, numbers and constexprs of your own.

    Arrays are NumPy's, fp32 or fp16, and are not changed: `run(...)["y_ptr"]` is what the kernel made of one.
    """
    from checker.submission.extract import NotASubmission

    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
    cells = run_so_far()
    if cells is None:
        return Ran(name, problem="This needs a notebook: it runs the kernel as its cells define it.")
    if grid is None:
        return Ran(name, problem="Say how many programs are to run: grid=1, or grid=(2, 3).")
    try:
        return ran(name, cells, arguments, named, (grid,) if isinstance(grid, int) else tuple(grid))
    except (NotASubmission, Unreadable, ValueError, TypeError) as problem:
        return Ran(name, problem=str(problem))


def hint(puzzle: int, *, again: bool = False) -> Hints:
    """The next hint for a puzzle, and no more. `again`: those that were seen so far."""
    from checker.course.ladder import number_of
    from checker.course.status import Misuse
    from checker.learner import hints

    try:
        puzzle = number_of(puzzle)
    except Misuse as misuse:
        return Hints(str(misuse))
    shown = hints.seen_hints(puzzle) if again else hints.next_hint(puzzle)
    last = hints.closing(shown, f"hint({puzzle})", f"hint({puzzle}, again=True)")
    heads = [f"Hint {one.level} of {shown.total}: {one.title}" for one in shown.hints]
    plain = [f"{head}\n{hints.plain(one.text)}" for head, one in zip(heads, shown.hints, strict=True)]
    rich = [f"**{head}**\n\n{one.text}" for head, one in zip(heads, shown.hints, strict=True)]
    remark = [shown.remark] if shown.remark else []
    return Hints(
        "\n\n".join([*remark, *plain, *(f"{sentence} {typed}".rstrip() for sentence, typed in last)]),
        "\n\n".join([*remark, *rich, *(f"{sentence} `{typed}`".removesuffix(" ``") for sentence, typed in last)]),
    )


def _asked(**request: Any) -> dict[str, Any]:
    """What the judging process answers: a `Report`'s fields, a benchmark's result, or a picture in base64."""
    from checker.box.processes import command_of

    try:
        done = subprocess.run(
            command_of("checker.notebook.child"),
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, TypeError, ValueError) as error:
        return {"text": f"! The checker itself failed: {error}. In a terminal, make check may tell more."}
    return answer
