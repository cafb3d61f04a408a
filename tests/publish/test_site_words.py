"""Words in the scripts of pages: each can be translated, and each is in the table."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checker.browser.words import BUTTONS
from checker.course.language import LANGUAGES
from checker.course.paragraphs import facts
from checker.course.translation import of_pages
from tests.conftest import ROOT

APP, STEP = ROOT / "docs" / "site" / "app", ROOT / "checker" / "trace" / "step"
SCRIPTS = sorted([*APP.glob("*.js"), *STEP.glob("*.js")])
SAID = re.compile(r'\bt\("((?:[^"\\]|\\.)*)"')
TEXT = re.compile(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`')
COMMENT = re.compile(r"/\*.*?\*/|(?:^|\s)//[^\n]*", re.DOTALL)
SHOWN = re.compile(r'(?:textContent|ariaLabel|title|innerHTML)\s*[:=]\s*["`](?!\$\{)[A-Za-z]|>[A-Za-z][\w .]+<')


def _said(folder: Path) -> set[str]:
    return {one for path in folder.glob("*.js") for one in SAID.findall(path.read_text())}


@pytest.mark.parametrize("language", [one for one in LANGUAGES if one != "en"])
def test_what_scripts_say_is_said_in_each_language_and_nothing_else_is(language: str) -> None:
    app, step = of_pages(language, APP), of_pages(language, STEP)
    assert _said(STEP) == step.keys()
    assert _said(APP) == (app.keys() - step.keys()) | (_said(APP) & step.keys()) | (_said(APP) & {*BUTTONS})
    assert _said(APP) <= app.keys() | step.keys() | {*BUTTONS} and app.keys() <= _said(APP)
    for english, other in (app | step).items():
        grammar = re.findall(r"\{_\w+\}", english)
        assert facts(english) == facts(other + "".join(grammar)), english


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_nothing_that_is_read_stands_outside_of_the_table(path: Path) -> None:
    text = SAID.sub("t(", COMMENT.sub("", path.read_text()))
    assert SHOWN.findall(text) == []
    for quoted in TEXT.findall(text):
        plain = re.sub(r"\$\{[^{}]*\}|<[^<>]*>", "", quoted[1:-1])
        assert not re.search(r"[a-z]{2,} [a-z]{2,}(?: [a-z]{2,}|[.!?])", plain), quoted
