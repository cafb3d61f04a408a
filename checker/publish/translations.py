"""What is left to translate, and what is no longer a translation of what there is: counted by `make lint`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checker.course import paragraphs, translation, words
from checker.course.columns import WIDE
from checker.course.language import ENGLISH, LANGUAGES
from checker.course.lesson import script_cells
from checker.course.paragraphs import blocks, facts, mark, speaks
from checker.course.places import PACKAGE, ROOT
from checker.course.translation import mark_of

SCRIPTS = ("docs/site/app", "checker/trace/step")  # folders of what pages run
_TERM = re.compile(r"^\|[^|]+\|[^|]+\|([^|]+)\|$", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """A paragraph or an entry in two languages; what is not there is empty."""

    file: Path  # of the translation
    mark: str  # of the English
    english: str
    other: str
    key: str = ""  # of an entry

    @property
    def stale(self) -> bool:
        """Whether its English has changed, or has never been translated."""
        return not self.english or not self.other

    @property
    def differences(self) -> list[str]:
        """Code, formulas, links, numbers and holes that only one of the two has."""
        one, two = facts(self.english), facts(self.other)
        return sorted((one - two).elements()) + [f"+{fact}" for fact in sorted((two - one).elements())]


def texts(language: str, root: Path = ROOT, package: Path = PACKAGE) -> Iterator[Text]:
    """All of what has a file in this language, and what this file has more."""
    for room in paragraphs.PROSE:
        for file in sorted((root / room / language).glob("*.md")):
            yield from _lesson(file, root)
    yield from _page(root / "docs" / f"README.{language}.md", root / "README.md")
    for file in translation.files(language, package):
        english = translation.english_of(file)
        yield from _words(file, english) if english else _sentences(file)
    for file in (root / folder / f"{language}.md" for folder in SCRIPTS):
        yield from _sentences(file) if file.exists() else ()


def paragraphs_of(file: Path) -> list[str]:
    """The paragraphs of a lesson or a page in English that have words."""
    text = file.read_text(encoding="utf-8")
    cells = script_cells(text) if file.suffix == ".py" else [("markdown", text)]
    return [block for kind, cell in cells if kind == "markdown" for block in blocks(cell) if speaks(block)]


def _lesson(file: Path, root: Path) -> Iterator[Text]:
    room, there = file.parents[1], paragraphs.paragraphs(file.read_text(encoding="utf-8"))
    elsewhere = set(paragraphs.lessons(file.parent.name, root)) - there.keys()
    source = room / f"{file.stem}{'.py' if room.name == 'puzzles' else '.md'}"
    english = {mark(block): block for block in paragraphs_of(source)}
    for one in english.keys() - elsewhere | there.keys():
        yield Text(file, one, english.get(one, ""), there.get(one, ""))


def _page(file: Path, source: Path) -> Iterator[Text]:
    """What a page has translated of another one: it need not be all of it."""
    english = {mark(block): block for block in blocks(source.read_text(encoding="utf-8"))} if file.exists() else {}
    for one, said in paragraphs.paragraphs(file.read_text(encoding="utf-8")).items() if file.exists() else ():
        yield Text(file, one, english.get(one, ""), said)


def _words(file: Path, source: Path) -> Iterator[Text]:
    english = words.read(source.read_text(encoding="utf-8"), source.name)
    there = translation.entries(file)
    for key in dict.fromkeys((*english, *there)):
        now = mark_of(english[key]) if key in english else ""
        made_from, said = there.get(key, ("", words.Words()))
        one, two = ("\n".join(it.texts) for it in (english.get(key, words.Words()), said))
        yield Text(file, now, one, two if made_from == now else "", key)


def _sentences(file: Path) -> Iterator[Text]:
    for english, other in translation.sentences(file):
        yield Text(file, mark(english), english, other, english)


def banned(language: str, root: Path = ROOT) -> list[str]:
    """What the glossary of a language does not allow."""
    glossary = (root / "docs" / f"glossary.{language}.md").read_text(encoding="utf-8")
    cells = (cell for row in _TERM.findall(glossary)[2:] for cell in row.split("、"))
    return [word.strip() for word in cells if word.strip()]


def main() -> None:
    """Say how much is translated and what is left; `-v`: each of these, with its English. Exit 1: a banned word."""
    status = 0
    for language in (code for code in LANGUAGES if code != ENGLISH):
        found, banned_words = [*texts(language)], banned(language)
        for text in found:
            key = f"# {text.key} @{text.mark}" if text.key and text.mark else text.key or text.mark
            place = f"{text.file.relative_to(ROOT)}: {key}"
            if text.stale and "-v" in sys.argv:
                print(f"{place}\n{text.english or 'its English is gone'}\n")
            for word in (word for word in banned_words if word in text.other):
                print(f"{place} has {word}, which the glossary does not allow.")
                status = 1
        signs = sum(len(re.findall(f"[{WIDE}]", text.other)) for text in found)
        stale = sum(text.stale for text in found)
        print(
            f"{language}: {len(found)} texts, {signs} signs, {stale} stale (python -m checker.publish.translations -v)"
        )
    sys.exit(status)


if __name__ == "__main__":
    main()
