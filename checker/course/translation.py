"""Texts of the course in another language, next to the English that they were made from.

    checker/catalog/softmax/mistakes.zh.md      words of ideas, findings and refusals, entry by entry

        # base-two @5b3c2f10: 用了 2**x，而题目要求 e**x

    checker/report/sentences.zh.md              sentences that stand in code, and begin as they do there

        # {names} {_are} {verb} more often than is needed
        {names} 被{verb}的次数超过了需要

    puzzles/zh/p1_naive_softmax.md              a lesson, paragraph by paragraph

        <!-- 3f2a91c0 -->
        融合成一个 kernel 之后……

`@5b3c2f10` and `3f2a91c0` are marks of the English: where that has changed since, English is shown, and says so.
A sentence in code with `（英文）` below it is still to be translated. What is the same in all languages, as blocks of
code and displayed formulas, stands in the English alone.

An English sentence is its own key, as it is for gettext. A text with numbers and names in it is known by its form: what
is found in `{names}` is translated in turn, or must have no words; `{message!}` may hold anything, such as what Python
says; a hole that begins with `_` is of English grammar, and not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from checker.course import words
from checker.course.language import ENGLISH
from checker.course.paragraphs import IN_ENGLISH, mark
from checker.course.places import PACKAGE

LONGEST, MOST_KEPT = 2_000, 10_000  # characters of a text that is looked up; texts that are remembered
_ENTRY = re.compile(r"^# (.+)\n(.+)$", re.MULTILINE)
_MARKED = re.compile(r"^(# [a-z0-9/-]+) @([0-9a-f]{8})(?=:|$)", re.MULTILINE)
_HOLE = re.compile(r"\{(\w+)(!?)\}")
_GRAMMAR = "is|are|was|were|it|them|its|their|has|have|does|do|this|these|s|es|"  # or nothing
_PROSE = re.compile(r"[A-Za-z]{2,}[,:]? [a-z]{2,}")  # two words, one after the other
_QUOTED = re.compile(r"`[^`]*`")
_CODE = {"name", "kernel", "function", "tensor", "yours"}  # holes for what somebody has named, and for a number
_SENTENCES = re.compile(r"(?<=[.?!]) (?=[^a-z])")
_LISTS = tuple(re.compile(pattern) for pattern in (r"; ", r", and |, | and ", r" or "))


def mark_of(said: words.Words) -> str:
    """Return the same of an entry of a file of words."""
    return mark("\n".join(said.texts))


@dataclass(frozen=True)
class Phrase:
    """A sentence with holes, in two languages."""

    english: str
    other: str

    @cached_property
    def literal(self) -> list[str]:
        """What stands around the holes."""
        return _HOLE.split(self.english)[::3]

    @cached_property
    def holes(self) -> list[str]:
        """The names of the holes, in order; those of English grammar begin with `_`."""
        return [hole[1] for hole in _HOLE.finditer(self.english)]

    @cached_property
    def form(self) -> re.Pattern[str]:
        """What matches the English, with a group for each hole."""
        literal, holes, parts = self.literal, self.holes, list[str]()
        for number, hole in enumerate(holes):
            touches = not literal[number + 1] and number + 1 < len(holes)  # another one: then it ends with the word
            inside = r"\S*" if touches else ".*?"
            inside = _GRAMMAR if hole.startswith("_") else r"\S+?" if hole in _CODE else inside
            again = hole in holes[:number]
            parts += re.escape(literal[number]), f"(?P={hole})" if again else f"(?P<{hole}>{inside})"
        parts.append(re.escape(literal[-1]))
        return re.compile("".join(parts), re.DOTALL)

    def may_be(self, english: str) -> bool:
        """Return whether what stands around the holes is in a text, in this order: without it, a form would try for
        long.
        """
        literal, at = self.literal, 0
        if not english.startswith(literal[0]) or not english.endswith(literal[-1]):
            return False
        for part in literal:
            if (there := english.find(part, at)) < 0:
                return False
            at = there + len(part)
        return True

    @cached_property
    def free(self) -> set[str]:
        """Holes that may hold anything."""
        named = [(hole[1], hole[2], self.english[: hole.start()]) for hole in _HOLE.finditer(self.english)]
        return {
            name
            for name, anything, before in named
            if anything or name in _CODE or name.startswith("_") or before.endswith("`")
        }


class Phrasebook:
    """Puts what the checker says into another language."""

    def __init__(self, phrases: Iterable[Phrase]):
        """Phrases with more text around their holes go first; one that has no words around them fits everything."""
        found = list(phrases)
        self.whole = {one.english: one.other for one in found if not one.holes}
        formed = [one for one in found if one.holes and re.search(r"[A-Za-z]{2}", "".join(one.literal))]
        self._formed = sorted(formed, key=lambda one: -len("".join(one.literal)))
        self._told: dict[str, str | None] = {}

    def said(self, english: str) -> str | None:
        """Return a text in the other language; None if not all of it is known, or if it is longer than what we say."""
        if english in self.whole:
            return self.whole[english]
        if len(english) > LONGEST:
            return None
        if english not in self._told:
            if len(self._told) >= MOST_KEPT:
                self._told.clear()
            self._told[english] = None  # what is found in itself is not known
            self._told[english] = self._by_form(english) or self._by_parts(english)
        return self._told[english]

    def _by_form(self, english: str) -> str | None:
        for phrase in self._formed:
            if phrase.may_be(english) and (said := self._filled(phrase, english)) is not None:
                return said
        return None

    def _by_parts(self, english: str) -> str | None:
        for apart in (english.split("\n"), _SENTENCES.split(english)):
            if len(apart) > 1:
                parts = [self.said(part) if part.strip() else part for part in apart]
                if None not in parts:
                    return ("\n" if "\n" in english else "").join(map(str, parts))
        return None

    def _filled(self, phrase: Phrase, english: str) -> str | None:
        if (match := phrase.form.fullmatch(english)) is None:
            return None
        holes = {}
        for name, text in match.groupdict().items():
            said = text if name in phrase.free else self._in_a_hole(text)
            if said is None:
                return None
            holes[name] = said
        return _HOLE.sub(lambda hole: holes.get(hole[1], hole[0]), phrase.other)

    def _in_a_hole(self, text: str) -> str | None:
        if any(text.count(one) != text.count(other) for one, other in ("()", "[]")):
            return None
        if (said := self.said(text.strip())) is not None:
            return said
        if not _PROSE.search(_QUOTED.sub("`", text)) and not re.search(r" (?:and|or) ", text):
            return text
        for pattern, between in zip(_LISTS, ("；", "、", "或"), strict=True):
            parts = pattern.split(text)
            if len(parts) > 1:
                every = [self._in_a_hole(part) for part in parts]
                if None not in every:
                    return between.join(map(str, every))
        return None


@cache
def phrasebook(language: str, package: Path = PACKAGE) -> Phrasebook:
    """Return what the files of a language have for what they were made from, as it is now; nothing in English."""
    return Phrasebook(phrases(language, package)) if language != ENGLISH else Phrasebook(())


def phrases(language: str, package: Path = PACKAGE) -> Iterator[Phrase]:
    """Yield the phrases of all files of a language."""
    for path in files(language, package):
        if english := english_of(path):
            yield from of_words(english, path)
        else:
            yield from (Phrase(*pair) for pair in sentences(path) if all(pair))


def sentences(path: Path) -> list[tuple[str, str]]:
    """Return what a file of sentences has: each in English and in its language, or empty where that is missing."""
    found = _ENTRY.findall(path.read_text(encoding="utf-8"))
    return [(english, "" if other == IN_ENGLISH else other) for english, other in found]


def of_pages(language: str, *folders: Path) -> dict[str, str]:
    """Return what the scripts of pages in some folders say, each in English and in a language: `zh.md` next to them.

    They look it up as it stands; no report does, so that it is in no phrasebook. Nothing in English.
    """
    files = (folder / f"{language}.md" for folder in folders)
    found = (pair for file in files if language != ENGLISH for pair in sentences(file))
    return {english: other for english, other in found if other}


def files(language: str, package: Path = PACKAGE) -> list[Path]:
    """Return the files with words and sentences in a language."""
    return sorted(package.rglob(f"*.{language}.md"))


def english_of(path: Path) -> Path | None:
    """Return the words that a file of words was made from, or should be; None for sentences."""
    english = path.with_name(f"{path.name.partition('.')[0]}.md")
    return english if english.exists() or _MARKED.search(path.read_text(encoding="utf-8")) else None


def entries(path: Path) -> dict[str, tuple[str, words.Words]]:
    """Return the words in a translated file, by their keys, each with the mark of the English."""
    text = path.read_text(encoding="utf-8")
    marks = {match[1].removeprefix("# "): match[2] for match in _MARKED.finditer(text)}
    return {key: (marks.get(key, ""), said) for key, said in words.read(_MARKED.sub(r"\1", text), path.name).items()}


def of_words(english: Path, path: Path) -> Iterator[Phrase]:
    """Yield the phrases of a file of words, without those whose English has changed."""
    now = words.read(english.read_text(encoding="utf-8"), english.name)
    for key, (made_from, said) in entries(path).items():
        if key in now and made_from == mark_of(now[key]):
            yield from (Phrase(*pair) for pair in zip(now[key].texts, said.texts, strict=True) if all(pair))
