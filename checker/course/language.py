"""The language in which a learner is spoken to: English, or one into which the course has been translated.

Verdicts, records and JSON are in English whatever is chosen: a report is put into another language as it is shown.
"""

from __future__ import annotations

import locale
import os
from collections.abc import Iterator
from contextlib import contextmanager

from checker.course.status import Misuse

VARIABLE = "LANGUAGE"
ENGLISH, CHINESE = "en", "zh"
LANGUAGES = {ENGLISH: "English", CHINESE: "中文"}
_chosen: list[str] = []  # the last one counts


def known(name: str) -> str:
    """Return the language that a name such as `zh`, `zh_CN.UTF-8` or `zh_TW:en` begins with.

    Raises Misuse, with those that there are, for any other.
    """
    code = name.replace("-", "_").partition(":")[0].partition("_")[0].partition(".")[0].lower()
    if code not in LANGUAGES:
        there = " and ".join(f"{code} ({title})" for code, title in LANGUAGES.items())
        raise Misuse(f"The course does not speak {name!r}. It speaks {there}.")
    return code


def spoken() -> str:
    """Return the language that was chosen, or the one that the environment asks for; English if it has no other."""
    if _chosen:
        return _chosen[-1]
    if asked := os.environ.get(VARIABLE):
        code = asked.partition(":")[0]
    else:
        code = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "") or _of_the_system()
    try:
        return known(code) if code else ENGLISH
    except Misuse:
        return ENGLISH


def choose(name: str) -> None:
    """Speak this language from now on. Raises Misuse as `known` does."""
    _chosen[:] = [known(name)]


@contextmanager
def speaking(name: str) -> Iterator[None]:
    """Speak this language for a while."""
    _chosen.append(known(name))
    try:
        yield
    finally:
        _chosen.pop()


def _of_the_system() -> str:
    """Return what systems that set no such variables know of the language: "Chinese (Simplified)_China", say."""
    try:
        name = (locale.getlocale()[0] or "").lower()
    except ValueError:
        return ""
    return CHINESE if name.startswith(("zh", "chinese")) else ""
