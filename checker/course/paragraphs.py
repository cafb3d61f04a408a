"""Prose and drawings in another language, by paragraph: each is under a mark of the English that it was made from.

`checker/course/translation.py` shows the form. What is the same in all languages, as code and formulas, is compared.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from checker.course.language import ENGLISH, spoken
from checker.course.places import ROOT

IN_ENGLISH = "（英文）"  # before what has not been translated
PROSE = ("puzzles", "solutions", "docs/site")  # each has a folder of a language, with paragraphs of what lies in it
_PARAGRAPH = re.compile(r"^<!-- ([0-9a-f]{8}) -->\n(.*?)\s*(?=^<!-- [0-9a-f]{8} -->\n|\Z)", re.DOTALL | re.MULTILINE)
_SILENT = re.compile(
    r"^```.*?^```|^\$\$.*?\$\$|<!--.*?-->|</?\w[^<>]*>|^\|[-:|]+\|$|`[^`]+`|\$[^$]+\$", re.DOTALL | re.MULTILINE
)
# What a translation has as the English has it: code, formulas, targets of links, tags, holes; names, and numbers.
_FACTS = re.compile(
    r"`[^`]+`|\$[^$]+\$|(?<=\]\()[^)\s]+(?=\))|</?\w[^<>]*>|(?<!\{)\{[a-z]\w*!?\}"
    r"|(?<![\w.])[A-Za-z]\w*(?:[._][A-Za-z0-9_]+)+|(?<![\w.])\d[\d,]*(?:\.\d+)?|(?<![\w.])\.\d+"
)
_DRAWN = re.compile(r"```\n(?!make |\./check )")  # a drawing of text, which has words
_POWER = re.compile(r"\b[Pp]owers? of (?:2|two)\b|2 的幂")  # a digit in one language, and a word in the other


def mark(english: str) -> str:
    """Eight characters that change when a text does; how its lines are broken does not count."""
    return hashlib.sha256(" ".join(english.split()).encode()).hexdigest()[:8]


def facts(text: str) -> Counter[str]:
    """Return what must be the same in every language."""
    text = _POWER.sub("", text.strip("`") if _DRAWN.match(text) else text)
    found = (
        fact.replace(",", "") if fact[0].isdigit() else " ".join(fact.split()).replace("!}", "}")
        for fact in _FACTS.findall(text)
    )
    return Counter(found)


def blocks(markdown: str) -> list[str]:
    """Return the paragraphs of a text: with an empty line between one and the next, they are the text."""
    found, inside = [""], ""
    for line in markdown.split("\n"):
        for fence in ("```", "$$"):
            if line.count(fence) % 2 and inside in ("", fence):
                inside = "" if inside else fence
        if line.strip() or inside:
            found[-1] += line + "\n"
        elif found[-1]:
            found.append("")
    return [block.removesuffix("\n") for block in found if block]


def speaks(block: str) -> bool:
    """Return whether there are words in a paragraph: code and formulas are the same in every language."""
    return re.search(r"[A-Za-z]{2}", block if _DRAWN.match(block) else _SILENT.sub(" ", block)) is not None


def paragraphs(text: str) -> dict[str, str]:
    """Return a translated lesson: its paragraphs, by the marks of the English."""
    return {match[1]: match[2] for match in _PARAGRAPH.finditer(text)}


def translated(markdown: str, by_mark: Mapping[str, str]) -> str:
    """Return a text with the paragraphs that are translated; before each of the others stands that it is in English."""
    return "\n\n".join(_block(one, by_mark) if speaks(one) else one for one in blocks(markdown))


def _block(block: str, by_mark: Mapping[str, str]) -> str:
    if (said := by_mark.get(mark(block), block if _DRAWN.match(block) else None)) is not None:
        return said
    if block.startswith("#"):
        return f"{block} {IN_ENGLISH}"
    inline = re.match(r"[\w*`\[$]", block) and not block.startswith("* ")  # prose, and no list
    return f"{IN_ENGLISH} {block}" if inline else f"{IN_ENGLISH}\n\n{block}"


def in_language(markdown: str, root: Path = ROOT) -> str:
    """Return a lesson's text, or a walk-through, in the language that is spoken; else in English, which it says."""
    if spoken() == ENGLISH:
        return markdown
    there, all_of_it = lessons(spoken(), root), [one for one in blocks(markdown) if speaks(one)]
    if sum(mark(one) in there for one in all_of_it) * 2 < len(all_of_it):  # shared headings may be known
        return f"{IN_ENGLISH}\n\n{markdown}"
    return translated(markdown, there)


@cache
def lessons(language: str, root: Path = ROOT) -> dict[str, str]:
    """Return the paragraphs of all lessons, walk-throughs and pages in a language, by the marks of the English."""
    rooms = PROSE if language != ENGLISH else ()
    found = (path for room in rooms for path in sorted((root / room / language).glob("*.md")))
    return {key: text for path in found for key, text in paragraphs(path.read_text(encoding="utf-8")).items()}
