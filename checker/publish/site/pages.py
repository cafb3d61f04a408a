"""The course's lessons, solutions and pages in MyST's Markdown: what Sphinx makes the site of, once in each language.

The folder that is written looks like the repository, so that links and pictures are found. What has been translated is
a page of its own language; to the rest, links lead to English.
"""

from __future__ import annotations

import os.path
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from checker.course import places
from checker.course.ladder import LADDER
from checker.course.language import ENGLISH, speaking
from checker.course.localised import languages
from checker.publish.bundle import NAME
from checker.publish.site import front
from checker.publish.site.lessons import TOP, in_words, lesson, public_bugs, solution

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
    parts = {"go on": front.go_on(), "how long": front.how_long(root), "ladder": front.ladder(root, there)}
    for name, part in parts.items():
        text = text.replace(f"<!-- {name} -->", part)
    return f"---\nhide-toc: true\n---\n{text}{front.contents(PAGES | _of_museum(root), there)}"


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
