"""The course's lessons, solutions and pages in MyST's Markdown: what Sphinx makes the site of, once in each language.

The folder that is written looks like the repository, so that links and pictures are found. What has been translated is
a page of its own language; to the rest, links lead to English.
"""

from __future__ import annotations

import html
import os.path
import re
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path

from checker.course import places
from checker.course.ladder import LADDER, RUNGS, SPINE, Rung, following
from checker.course.language import ENGLISH, speaking
from checker.course.lesson import code_lines, prose, script_cells
from checker.course.localised import languages
from checker.course.paragraphs import IN_ENGLISH
from checker.publish.bundle import NAME
from checker.publish.site.lessons import TOP, in_words, lesson, named, public_bugs, solution
from checker.report.translated import said

TITLE = "From softmax to FlashAttention"
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
MUSEUM = {"solutions/museum.md": "Bugs that public projects had"}  # not in a student's copy
FRONT, INDEX, FIGURES = "docs/site/index.md", "index.md", "docs/figures"
_LINK = re.compile(r"(!?)\[([^\[\]]*)\]\(([^)\s]+)\)")
CHAPTERS = {
    "w1": "Warm-up",
    "p1": "Softmax",
    "a1": "Attention",
    "a4": "The backward pass",
    "c1": "The capstone",
    "b1": "Going further",
}  # by their first puzzles
READ, WRITTEN = 200, 0.5  # words of a lesson, and lines of a kernel, in a minute


def write(folder: Path, root: Path = places.ROOT, language: str = ENGLISH) -> None:
    """Write the pages of the course below `root` that there are in a language, and their pictures."""
    if language == ENGLISH:
        shutil.copytree(root / FIGURES, folder / FIGURES, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page, text in pages(root, language).items():
        path = folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def pages(root: Path = places.ROOT, language: str = ENGLISH) -> dict[str, str]:
    """Return the Markdown of each page in a language, by its path in the site's sources."""
    with speaking(language):
        made = _of_lessons(root, language)
        if language == ENGLISH:
            made |= {page: in_words((root / page).read_text(encoding="utf-8")) for page in PAGES}
        there = {re.sub(r"\.py$", ".md", origin) for origin in made}
        made[FRONT] = _front(root, there)
    every = _paths([*_of_lessons_in_english(root), *PAGES])
    own = _paths(made)
    return {own[origin]: _linked(text, origin, own, every, root) for origin, text in made.items()}


def _paths(origins: Collection[str]) -> dict[str, str]:
    """Return which page each file of the repository is."""
    return {origin: re.sub(r"\.py$", ".md", origin) for origin in origins} | {FRONT: INDEX, "README.md": INDEX}


def _of_lessons_in_english(root: Path) -> list[str]:
    """Return the files of lessons and solutions of which the site has pages."""
    solved = [f"solutions/{rung.stem}.md" for rung in LADDER if places.solution(rung.id, root).exists()]
    return [f"puzzles/{rung.stem}.py" for rung in LADDER] + solved + [*_of_museum(root)]


def _of_museum(root: Path) -> dict[str, str]:
    """Return the page of the museum and its title, if this copy of the course has it."""
    return {page: title for page, title in MUSEUM.items() if (root / page).exists()}


def _of_lessons(root: Path, language: str) -> dict[str, str]:
    """Return the pages of lessons and solutions that there are in a language, by their English files."""
    made = {}
    for rung in LADDER:
        if language == ENGLISH or language in languages(rung.id, root):
            made[f"puzzles/{rung.stem}.py"] = lesson(rung, root)
            if places.solution(rung.id, root).exists():
                made[f"solutions/{rung.stem}.md"] = solution(rung, root)
    return made | {page: public_bugs(root) for page in _of_museum(root)}


def _front(root: Path, there: Collection[str]) -> str:
    text = in_words((root / FRONT).read_text(encoding="utf-8"), root)
    parts = {"go on": go_on(), "how long": how_long(root), "ladder": ladder(root, there)}
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return f"---\nhide-toc: true\n---\n{text}{contents(PAGES | _of_museum(root), there)}"


def _linked(text: str, origin: str, own: dict[str, str], every: dict[str, str], root: Path) -> str:
    """Return a page's text with its links as they are on the site. What only the repository has becomes words.

    `own`: the pages of its language, and `every`: those in English, which the others can lead to.
    """
    english = own.keys() >= every.keys()

    def link(match: re.Match[str]) -> str:
        picture, words, target = match.groups()
        file, mark, anchor = target.partition("#")
        there = os.path.normpath(Path(origin).parent / file)
        if not file or not (root / there).exists():  # on this page, elsewhere in the world, or code
            return match[0]
        if there.startswith(FIGURES) and not english:
            return f"{picture}[{words}]({TOP}_images/{Path(there).name})"
        if not there.startswith(FIGURES) and there not in own:
            page = every.get(there, "").removesuffix(".md")
            return f"{picture}[{words}]({TOP}{page}.html{mark}{anchor})" if page else words
        there = own.get(there, there)
        return f"{picture}[{words}]({os.path.relpath(there, Path(own[origin]).parent)}{mark}{anchor})"

    return _LINK.sub(link, text).replace(f'href="{NAME}.tar.gz"', f'href="{TOP}{NAME}.tar.gz"')


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
    words = said(f"About {first} minutes for the first puzzle, about {hours} hours for the {len(SPINE)} main puzzles.")
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
