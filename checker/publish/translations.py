"""Counts what is missing in other languages, and what is no longer a translation of the English. For `make lint`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from checker.course import paragraphs, translation, words
from checker.course.columns import WIDE
from checker.course.language import ENGLISH, LANGUAGES
from checker.course.lesson import script_cells
from checker.course.paragraphs import blocks, facts, mark, speaks
from checker.course.places import PACKAGE, ROOT

SCRIPTS = ("docs/site/app", "checker/trace/step")  # folders of what pages run
_TERM = re.compile(r"^\|[^|]+\|[^|]+\|([^|]+)\|$", re.MULTILINE)


@dataclass(frozen=True)
class Text:
    """A paragraph or an entry in two languages; what is not there is empty."""

    file: Path  # of the translation
    mark: str  # of the English that it was made from, or is to be made from
    english: str
    other: str
    key: str = ""  # of an entry

    @property
    def stale(self) -> bool:
        """Return whether its English has changed since, or is gone."""
        return bool(self.other) and mark(self.english) != self.mark

    @property
    def differences(self) -> list[str]:
        """Code, formulas, links, numbers and holes that only one of the two has."""
        one, two = facts(self.english), facts(self.other)
        return sorted((one - two).elements()) + [f"+{fact}" for fact in sorted((two - one).elements())]


def texts(language: str, root: Path = ROOT, package: Path = PACKAGE) -> Iterator[Text]:
    """Return all that is to be in this language, and what else its files have."""
    for room in (root / name for name in paragraphs.PROSE):
        suffix = ".py" if room.name == "puzzles" else ".md"
        there = (*room.glob(f"*{suffix}"), *(room / language).glob("*.md"))
        for stem in sorted({path.stem for path in there}):
            yield from _lesson(room / language / f"{stem}.md", room / f"{stem}{suffix}", root)
    yield from _page(root / "docs" / f"README.{language}.md", root / "README.md")
    english_words = (path for path in package.rglob("*.md") if path.with_suffix(".py").exists())
    to_be = {path.with_suffix(f".{language}.md") for path in english_words}
    for file in sorted({*translation.files(language, package), *to_be}):
        english = translation.english_of(file)
        yield from _words(file, english) if english else _sentences(file)
    for file in (root / folder / f"{language}.md" for folder in SCRIPTS):
        yield from _sentences(file) if file.exists() else ()


def paragraphs_of(file: Path) -> list[str]:
    """Return the paragraphs of a lesson or a page in English that have words."""
    text = file.read_text(encoding="utf-8")
    cells = script_cells(text) if file.suffix == ".py" else [("markdown", text)]
    return [block for kind, cell in cells if kind == "markdown" for block in blocks(cell) if speaks(block)]


def _lesson(file: Path, source: Path, root: Path) -> Iterator[Text]:
    there = paragraphs.paragraphs(_read(file))
    elsewhere = set(paragraphs.lessons(file.parent.name, root)) - there.keys()
    english = {mark(block): block for block in paragraphs_of(source)}
    for one in english.keys() - elsewhere | there.keys():
        yield Text(file, one, english.get(one, ""), there.get(one, ""))


def _page(file: Path, source: Path) -> Iterator[Text]:
    """Yield what a page has translated of another one: it need not be all of it."""
    english = {mark(block): block for block in blocks(_read(source))}
    for one, said in paragraphs.paragraphs(_read(file)).items():
        yield Text(file, one, english.get(one, ""), said)


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _words(file: Path, source: Path) -> Iterator[Text]:
    english = words.read(source.read_text(encoding="utf-8"), source.name)
    there = translation.entries(file) if file.exists() else {}
    for key in dict.fromkeys((*english, *there)):
        one = "\n".join(english[key].texts) if key in english else ""
        made_from, two = (there[key][0], "\n".join(there[key][1].texts)) if key in there else (mark(one), "")
        yield Text(file, made_from, one, two, key)


def _sentences(file: Path) -> Iterator[Text]:
    for english, other in translation.sentences(file):
        yield Text(file, mark(english), english, other, english)


def banned(language: str) -> list[str]:
    """Return what the glossary of a language does not allow."""
    glossary = (ROOT / "docs" / f"glossary.{language}.md").read_text(encoding="utf-8")
    cells = (cell for row in _TERM.findall(glossary)[2:] for cell in row.split("、"))
    return [word.strip() for word in cells if word.strip()]


def main() -> None:
    """Say how much is translated and what is left; `-v`: each of these, with its English. Exit 1: a banned word, or
    Chinese whose English has changed.
    """
    status = 0
    for language in (code for code in LANGUAGES if code != ENGLISH):
        found, banned_words = [*texts(language)], banned(language)
        missing = [text.file for text in found if not text.other]
        unbegun = Counter(file for file in missing if not file.exists())
        for text in found:
            key = f"# {text.key} @{mark(text.english)}" if text.key and text.english else text.key or text.mark
            place = f"{text.file.relative_to(ROOT)}: {key}"
            if text.stale or ("-v" in sys.argv and not text.other and text.file not in unbegun):
                print(f"{place}\n{text.english or 'its English is gone'}\n")
            status |= text.stale
            for word in (word for word in banned_words if word in text.other):
                print(f"{place} has {word}, which the glossary does not allow.")
                status = 1
        for file, count in unbegun.items() if "-v" in sys.argv else ():
            print(f"{file.relative_to(ROOT)}: not begun, {count} texts")
        signs = sum(len(re.findall(f"[{WIDE}]", text.other)) for text in found)
        there = f"{len(found) - len(missing)} texts, {signs} signs, {sum(text.stale for text in found)} stale"
        left = f"{len(missing) - unbegun.total()} texts and {len(unbegun)} files"
        print(f"{language}: {there}; missing: {left} (python -m checker.publish.translations -v)")
    sys.exit(status)


if __name__ == "__main__":
    main()
