"""Parts of a report that are the same in every language: names, places, numbers and code."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from checker.course import ladder
from checker.course.language import CHINESE, speaking
from checker.course.localised import languages
from checker.course.paragraphs import IN_ENGLISH, facts
from checker.course.places import PACKAGE
from checker.course.translation import Phrase, Phrasebook, phrasebook, phrases
from checker.course.verdict import Verdict
from checker.publish import translations
from checker.report.html import html
from checker.report.screen import plain
from checker.report.terminal import report
from checker.report.translated import translated

IN_CHINESE = [puzzle_id for puzzle_id in ladder.RUNGS if languages(puzzle_id)]
WIDE = 4_000  # columns: no line of a report is broken


@cache
def counted() -> Phrasebook:
    """What is said in Chinese, and in English where `translations` counts that as missing."""
    words = (text.english for text in translations.texts(CHINESE) if not text.other and PACKAGE in text.file.parents)
    missing = {line for text in words for line in text.split("\n") if line}
    return Phrasebook([*phrases(CHINESE), *(Phrase(line, line) for line in missing)])


def assert_the_same_in_chinese(verdict: Verdict) -> None:
    """All of a verdict on a puzzle in Chinese has Chinese words, which say the same; or it is counted as missing."""
    english = plain(report(verdict), WIDE)
    unsaid = [text for text in texts(verdict) if phrasebook(CHINESE).said(text) is None]
    assert not (uncounted := [text for text in unsaid if counted().said(text) is None]), uncounted
    with speaking(CHINESE):
        other, chinese = translated(verdict), plain(report(verdict), WIDE)
        assert unsaid or IN_ENGLISH not in html(verdict)
    for one, two in zip(verdict.findings, other.findings, strict=True):
        assert (one.id, one.status, one.where.line, one.where.source) == (
            two.id,
            two.status,
            two.where.line,
            two.where.source,
        )
        assert "{" not in two.title + two.explanation + two.question
    assert numbers(english) == numbers(chinese), (english, chinese)


def texts(verdict: Verdict) -> list[str]:
    """All that a verdict says in words."""
    said = [verdict.title, *verdict.remarks, *(case for case, _ in verdict.printed)]
    for one in verdict.findings:
        said += one.title, one.explanation, one.question, one.hint, *one.examples, one.where.role, one.where.case or ""
    for result in verdict.properties:
        said += result.title, result.detail, result.case
    return [text for text in said if re.search("[a-z]{2}", text)]


def numbers(report: str) -> Counter[str]:
    """The numbers of a report, with code and names of things."""
    return facts(report)
