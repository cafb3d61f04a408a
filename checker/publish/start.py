"""The table of puzzles, for the README and for the notebook that JupyterLab opens first."""

from __future__ import annotations

from collections.abc import Callable

from checker import catalog
from checker.course import ladder
from checker.course.ladder import Rung
from checker.course.language import ENGLISH, speaking, spoken
from checker.course.lesson import KERNEL, new_cell, new_notebook, notebook_json
from checker.course.localised import languages
from checker.course.places import notebook
from checker.report.translated import said

AROUND = "Do these in order. The puzzles below are optional."
_ABOVE = """\
# Start here

From a first Triton kernel to FlashAttention, in small steps. Each notebook is one step: a lesson, and a kernel with its
middle missing. **Begin with [w1]({first})**, or with [p1]({softmax}) if you have written Triton before.

Fill in the kernel, run the cells from the top down to `check("w1")`, and in a second or two you see whether the kernel
is right, and if it is not, what is wrong and in which line. No GPU is needed. Check as often as you like.

You can call more in a puzzle's notebook, and what it shows appears below the cell: `hint("w1")` gives a hint,
`step("w1")` goes through your kernel line by line, and `trace("w1")` draws what it does to memory. The cell with
`check("w1")` imports them. Further down, a cell with `predict("w1", …)` asks you to guess numbers.

## The puzzles

"""
_PROGRESS = """\
## How far you are

The next cell shows what you have solved. It changes once a puzzle is accepted: run it again then."""
_CHECK = """\
The next cell checks all puzzles, one line each. It reads the files, so save your notebooks first. Once all puzzles are
solved, this takes about a minute."""


def puzzle_table(place: Callable[[Rung], str], next_one: str) -> str:
    """Return the puzzles in Markdown: those to do in order, and the optional ones.

    `place`: where a puzzle's link leads to. `next_one`: a sentence on what says which puzzle comes next.
    """
    spine, beside = [], []
    for rung in ladder.LADDER:
        link = f"| [{rung.id}]({place(rung)}) | {said(rung.title)} |"
        if rung.helps:
            beside.append(f"{link} {said(rung.helps)} |")
        else:
            kernels = ", ".join(f"`{kernel.name}`" for kernel in catalog.load(rung.id).kernels)
            spine.append(f"{link} {kernels} |")
    line = "|---|---|---|"
    heads = ("Puzzle", "Topic", "You write"), ("Puzzle", "Topic", "When to do it")
    head, around = ([f"| {' | '.join(map(said, names))} |", line] for names in heads)
    below = said(f"{AROUND} {next_one}")
    return "\n".join([*head, *spine, "", below, "", *around, *beside]) + "\n"


def in_a_browser(site: str) -> str:
    """Return where the course is to be had as pages. `site`: their address, if they have one."""
    if site:
        sentence = f"**In a browser**, with nothing to install: [start here]({site}). Your code stays in your browser."
    else:
        sentence = (
            "**In a browser**: the pages are not published yet. On Linux, with make and npm, `make site SERVE=1` "
        )
        sentence += "shows them on your own machine."
    return f"{said(sentence)}\n"


def start_notebook(language: str = ENGLISH) -> str:
    """Return the JSON of the notebook to open first."""
    asked = "" if language == ENGLISH else f'language="{language}"'

    def place(rung: Rung) -> str:
        name = notebook(rung.id).name
        return name if language in (ENGLISH, *languages(rung.id)) else f"../{name}"

    with speaking(language):
        above = _ABOVE.format(first=place(ladder.RUNGS["w1"]), softmax=place(ladder.RUNGS["p1"]))
        table = puzzle_table(place, "`progress()` says what comes next.")
        cells = [
            ("markdown", _said(above) + table),
            ("markdown", _said(_PROGRESS)),
            ("code", f"from checker.notebook import check, progress\n\nprogress({asked})"),
            ("markdown", _said(_CHECK)),
            ("code", f"check({asked})"),
        ]
    made = [new_cell(kind, f"cell-{number}", text) for number, (kind, text) in enumerate(cells)]
    return notebook_json(new_notebook(made, KERNEL))


def _said(text: str) -> str:
    """Paragraphs in the language that is spoken; where that is English, with their lines as they are."""
    return text if spoken() == ENGLISH else "\n\n".join(said(" ".join(one.split())) for one in text.split("\n\n"))
