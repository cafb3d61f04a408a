"""The README's pictures: the report on a wrong kernel, and the trace of two right ones.

Each is made by what a learner calls: the report for a terminal, and the pages of `trace`.
"""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.terminal_theme import TerminalTheme

from checker import catalog
from checker.check import Conditions, check
from checker.course import ladder
from checker.course.places import check_typed
from checker.course.verdict import Verdict
from checker.report.screen import console
from checker.report.terminal import show
from checker.report.words import typed
from checker.submission.read import from_cells

COLUMNS = 80

# A terminal of its own on any page, light or dark. On this background each colour has a contrast of at least 4.5.
PAPER, INK = (22, 27, 34), (230, 237, 243)
RED, GREEN, YELLOW, BLUE = (255, 123, 114), (63, 185, 80), (210, 153, 34), (121, 192, 255)
MAGENTA, CYAN = (210, 168, 255), (86, 211, 219)
THEME = TerminalTheme(PAPER, INK, [PAPER, RED, GREEN, YELLOW, BLUE, MAGENTA, CYAN, INK])

# As rich's own, without fonts that would have to be fetched; a line is as long in any font.
SVG = Path(__file__).with_name("terminal.svg")


def example(path: Path) -> Verdict:
    """Return the verdict on a kernel of this repository as a learner first gets it, without what differs each time.

    That is how long it took, and what compilers say: registers differ from one to the next.
    """
    puzzle_id = path.name.partition("_")[0]
    submission = from_cells([("code", path.read_text(encoding="utf-8"))], "kernel.py", numbered=False)
    verdict = check(puzzle_id, submission, Conditions(targets=())).verdict
    upcoming = f"puzzles/{ladder.stems()[ladder.following(puzzle_id)[0]]}.py" if verdict.accepted else ""
    verdict = replace(verdict, runs=tuple(replace(run, seconds=0.0) for run in verdict.runs), upcoming=upcoming)
    if verdict.accepted:
        return verdict
    asked = tuple(replace(one, withheld=bool(one.question)) for one in verdict.findings)
    hint, step = (typed(verb, puzzle_id) for verb in ("hint", "step"))
    return replace(verdict, findings=asked, asking=hint, stepping=step, whole=f"{check_typed(puzzle_id)} --full")


def verdict_svg(verdict: Verdict) -> str:
    """Return the report in a terminal, as SVG."""
    colours = {"force_terminal": True, "color_system": "truecolor", "no_color": False, "legacy_windows": False}
    screen = console(file=io.StringIO(), width=COLUMNS, record=True, **colours)
    show(screen, verdict)
    title = f"./check {verdict.puzzle}"
    return screen.export_svg(title=title, theme=THEME, code_format=SVG.read_text(encoding="utf-8"), unique_id="report")


def trace_svg(root: Path) -> str:
    """Return what `trace` draws of FlashAttention-1 once -2 is solved too."""
    from checker.submission.read import from_file
    from checker.trace import chart
    from checker.trace.result import Beside
    from checker.trace.run import launches, traced

    one, other = catalog.load("p5"), catalog.load("p6")
    here, beside = (from_file(root / "solutions" / f"{puzzle.stem}.py") for puzzle in (one, other))
    trace = traced(check(one.id, here, Conditions(targets=())))
    pairs = launches(other, check(other.id, beside, Conditions(targets=())))[0].pairs
    return chart.page(replace(trace, beside=Beside(other.id, other.title, pairs)))


def pictures(root: Path, wrong: str) -> dict[Path, bytes]:
    """Return where each picture lies and what it should be, as far as this copy of the course has what it shows.

    `wrong`: the path of the kernel whose report is shown.
    """
    folder, made = root / "docs" / "figures", {}
    if folder.is_dir() and (root / wrong).exists():
        made[folder / "verdict.svg"] = verdict_svg(example(root / wrong)).encode()
    if folder.is_dir() and (root / "solutions").is_dir():
        made[folder / "trace.svg"] = (trace_svg(root) + "\n").encode()
    return made
