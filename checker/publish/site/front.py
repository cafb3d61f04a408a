"""The front page's list of puzzles, and what the sidebar has."""

from __future__ import annotations

import html
from collections.abc import Collection, Mapping
from pathlib import Path

from checker.course import places
from checker.course.ladder import LADDER, RUNGS, SPINE, Rung, following
from checker.course.lesson import code_lines, prose, script_cells
from checker.course.paragraphs import IN_ENGLISH
from checker.publish.site.lessons import TOP, named
from checker.report.translated import said

CHAPTERS = {
    "w1": "Warm-up",
    "p1": "Softmax",
    "a1": "Attention",
    "a4": "The backward pass",
    "c1": "The capstone",
    "b1": "Going further",
}  # by their first puzzles
READ, WRITTEN = 200, 0.5  # words of a lesson, and lines of a kernel, in a minute


def go_on() -> str:
    """Return the link to the first puzzle, of which the page's script makes one to the next, and
    says how far one is.
    """
    first = LADDER[0]
    words = said(f"Start with {first.id}")
    link = f'<a id="go-on" class="go-on" href="puzzles/{first.stem}.html">{words}</a>'
    return f'<p>{link} <span id="how-far"></span></p>'


def how_long(root: Path) -> str:
    """Return the time that the first puzzle takes, and those of the main path together: the sum of the list."""
    first, *others = (_minutes(RUNGS[id], root) for id in SPINE)
    if not first:
        return ""
    hours = round((first + sum(others)) / 60)
    words = said(
        f"About {first} minutes for the first puzzle, about {hours} hours for the {len(SPINE)} of the main path."
    )
    return f"**{said('How long?')}** {words}"


def _chapters() -> dict[str, list[Rung]]:
    """Return the puzzles of each chapter."""
    chapters: dict[str, list[Rung]] = {}
    for rung in LADDER:
        chapters.setdefault(CHAPTERS.get(rung.id) or list(chapters)[-1], []).append(rung)
    return chapters


def ladder(root: Path, there: Collection[str]) -> str:
    """Return the puzzles as a list, in which the page's script marks those that are solved.

    `there`: the lessons that are pages in the language that is spoken; the others are in English alone.
    """
    lines = []
    for chapter, rungs in _chapters().items():
        lines += [
            named(chapter, said(chapter)),
            "",
            f"### {said(chapter)}\n",
            f'<ul class="chapter{" spine" * any(rung.gives for rung in rungs)}">',
        ]
        lines += [_entry(rung, root, _lesson(rung) in there) for rung in rungs]
        lines.append("</ul>\n")
    return "\n".join(lines)


def _lesson(rung: Rung) -> str:
    return f"puzzles/{rung.stem}.md"


def _entry(rung: Rung, root: Path, here: bool) -> str:
    """Return a puzzle in that list: what it gives and how long it takes, or when to take it."""
    title = html.escape(said(rung.title)) + ("" if here else IN_ENGLISH)
    target = f"{'' if here else TOP}puzzles/{rung.stem}.html"
    link = f'<a href="{target}"><span class="id">{rung.id}</span> {title}</a>'
    kind = " data-pytorch" * rung.pytorch + ' class="beside"' * bool(rung.helps)
    minutes = 0 if rung.pytorch else _minutes(rung, root)
    more = [said(f"about {minutes} minutes")] * bool(minutes) + [said("a lesson to read here")] * rung.pytorch
    more += [said(f"take it {rung.helps}")] * bool(rung.helps)
    told = "".join(f"{said(', ')}{one}" for one in more) + (
        f"<br>{html.escape(said(rung.gives))}" if rung.gives else ""
    )
    ahead = " ".join(following(rung.id))
    return f'<li data-puzzle="{rung.id}"{kind} data-following="{ahead}">{link}<span class="more">{told}</span></li>'


def _minutes(rung: Rung, root: Path) -> int:
    """Return how long a puzzle takes, in fives: to read its lesson, and to write what its solution has and its stub
    does not.

    0 in a copy of the course without solutions.
    """
    if not places.solution(rung.id, root).exists():
        return 0
    cells = script_cells(places.script(rung.id, root).read_text(encoding="utf-8"))
    words = sum(prose(text) for kind, text in cells if kind == "markdown")
    solved, stub = (
        code_lines(path.read_text(encoding="utf-8")) for path in (places.solution(rung.id, root), places.stubs(rung.id))
    )
    return 5 * round((words / READ + (solved - stub) / WRITTEN) / 5)


def contents(to_read: Mapping[str, str], there: Collection[str]) -> str:
    """Return what the sidebar has. `to_read`: the titles of other pages; `there`: what is in the language that is
    spoken.
    """
    chapters = {
        chapter: [(_lesson(rung), f"{rung.id} {said(rung.title)}") for rung in rungs]
        for chapter, rungs in _chapters().items()
    }
    chapters["To read"] = [(page, said(title)) for page, title in to_read.items()]
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {said(chapter)}\n"
        + "\n".join(_listed(page, title, page in there) for page, title in entries)
        + "\n```\n"
        for chapter, entries in chapters.items()
    )


def _listed(page: str, title: str, here: bool) -> str:
    name = page.removesuffix(".md")
    return f"{title} <{name}>" if here else f"{title}{IN_ENGLISH} <{TOP}{name}.html>"
