"""Translations of reports: a verdict stays in English, and is translated as it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from checker.course.columns import has_wide
from checker.course.language import ENGLISH, spoken
from checker.course.paragraphs import IN_ENGLISH
from checker.course.translation import phrasebook
from checker.course.verdict import Finding, Verdict

_LINE = re.compile(r"\S(?:.*\S)?")
_QUOTED = re.compile("`[^`]*`")  # names that a student has given


def said(english: str) -> str:
    """Return a sentence of ours in the language that is spoken; as it is where that lacks it."""
    if spoken() == ENGLISH or not english:
        return english
    book = phrasebook(spoken())
    if (whole := book.said(english)) is not None:
        return whole
    return _LINE.sub(lambda line: book.said(line[0]) or line[0], english)  # some lines may be known, or indented


def translated(verdict: Verdict) -> Verdict:
    """Return a verdict in the language that is spoken; what has no words in it is said in English, behind a mark."""
    if spoken() == ENGLISH:
        return verdict
    return replace(
        verdict,
        title=_marked(verdict.title),
        findings=tuple(map(translated_finding, verdict.findings)),
        properties=tuple(
            replace(one, title=_marked(one.title), detail=_marked(one.detail), case=said(one.case))
            for one in verdict.properties
        ),
        runs=tuple(
            replace(run, held=tuple(replace(one, case=said(one.case)) for one in run.held)) for run in verdict.runs
        ),
        remarks=tuple(map(_marked, verdict.remarks)),
        printed=tuple((said(case), text) for case, text in verdict.printed),
    )


def _marked(english: str) -> str:
    if english and (there := phrasebook(spoken()).said(english)) is not None:
        return there
    put_already = has_wide(_QUOTED.sub("", english))  # into another language
    return english if put_already or not re.search(r"[a-z]{2}", english) else f"{IN_ENGLISH}{english}"


def translated_finding(finding: Finding) -> Finding:
    """Return the same of one of its findings."""
    return finding if spoken() == ENGLISH else _of_finding(finding, _marked, said)


def _of_finding(finding: Finding, prose: Callable[[str], str], phrase: Callable[[str], str]) -> Finding:
    """Return a finding in other words: `prose` for its sentences, `phrase` for parts of them and for values."""

    def every(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(phrase, texts))

    where, picture = finding.where, finding.error_map
    if picture is not None:
        picture = replace(
            picture, rows=phrase(picture.rows), columns=phrase(picture.columns), case=phrase(picture.case)
        )
    return replace(
        finding.worded(prose),
        title=prose(finding.title),
        where=replace(where, role=phrase(where.role), case=phrase(where.case) if where.case else where.case),
        examples=every(finding.examples),
        error_map=picture,
    )
