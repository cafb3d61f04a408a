"""Translated reports: a sentence is known by its English, whole or by its form."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker.course import language, translation
from checker.course.columns import breaks, columns, has_wide, joined
from checker.course.language import CHINESE, ENGLISH, known, speaking, spoken
from checker.course.paragraphs import IN_ENGLISH, blocks, facts, mark, translated
from checker.course.status import Misuse
from checker.course.translation import Phrase, Phrasebook
from checker.course.verdict import Finding, Status
from checker.report.screen import Prose, plain
from checker.report.translated import said, translated_finding

BOOK = Phrasebook(
    [
        Phrase("read", "读"),
        Phrase("written", "写"),
        Phrase("with tails", "带尾部"),
        Phrase("causal", "因果"),
        Phrase("{names} {_are} {verb} {done} per element", "{names} 每个元素{verb} {done}"),
        Phrase("{names} {_are} {verb}, which is wrong", "{names} {verb}错了"),
        Phrase("failed with: {case}", "不适用于{case}"),
        Phrase("Python says: {message!}", "Python 说：{message}"),
        Phrase("It stops.", "停了。"),
        Phrase("{a} {b}", "（不用）"),
        Phrase("{kernel} does not run on {target}{form}", "{kernel} 在 {target}{form} 上跑不了"),
        Phrase("{a} were read, {b} were read, {c} were read, {d} were read, {e} were read!", "{a}{b}{c}{d}{e}"),
        Phrase("line {n} and line {n}", "第 {n} 行"),
        Phrase("It makes {element!} {yours!}.", "{element} 是 {yours}。"),
    ]
)


@pytest.mark.parametrize(
    ("english", "other"),
    [
        ("read", "读"),
        ("x is read three times per element", None),  # nobody has said what "three times" is
        ("x is read twice per element", "x 每个元素读 twice"),
        ("x and y are written, which is wrong", "x、y 写错了"),
        ("failed with: with tails, causal", "不适用于带尾部、因果"),
        ("failed with: something new", None),
        ("Python says: no such thing, and why", "Python 说：no such thing, and why"),
        ("It stops. Python says: boom", "停了。Python 说：boom"),
        ("It stops.\n\nIt stops.", "停了。\n\n停了。"),
        ("line 3 and line 3", "第 3 行"),
        ("line 3 and line 4", None),
        ("two words", None),
        ("It makes O[3, 0] -0.5.", "O[3, 0] 是 -0.5。"),
        ("K does not run on sm_90", "K 在 sm_90 上跑不了"),
        ("K does not run on sm_90 (fp16 x 2)", "K 在 sm_90 (fp16 x 2) 上跑不了"),
    ],
)
def test_a_sentence_is_known_whole_or_by_its_form(english: str, other: str | None) -> None:
    assert BOOK.said(english) == other


def test_in_english_a_finding_is_as_the_judge_has_written_it() -> None:
    finding = Finding("wrong-values", Status.WRONG, "y is wrong everywhere", "It is off.", "Take one of the examples.")
    assert translated_finding(finding) is finding


@given(st.text("ab {}.\n-", max_size=30))
def test_what_somebody_else_says_stays_as_it_is(text: str) -> None:
    assert BOOK.said(f"Python says: {text}") == f"Python 说：{text}"


@pytest.mark.parametrize(
    ("name", "code"),
    {"zh": "zh", "zh_CN.UTF-8": "zh", "zh-Hans": "zh", "zh_TW:en": "zh", "en_GB": "en", "EN": "en"}.items(),
)
def test_a_language_is_known_by_any_of_its_names(name: str, code: str) -> None:
    assert known(name) == code


@pytest.mark.parametrize("name", ["fr", "", "zhx", "chinese"])
def test_another_language_is_a_sentence(name: str) -> None:
    with pytest.raises(Misuse, match=r"^The course does not speak '.*'\. It speaks en \(English\) and zh"):
        known(name)


@pytest.mark.parametrize(
    ("environment", "code"),
    [
        ({"LANGUAGE": "zh"}, "zh"),
        ({"LANGUAGE": "zh_CN:zh", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LANGUAGE": "en_US:zh", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LANGUAGE": "de:zh"}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_environment_chooses(environment: dict[str, str], code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(language, "_of_the_system", lambda: "")
    assert spoken() == code


def test_a_language_is_spoken_for_a_while() -> None:
    with speaking(CHINESE):
        assert spoken() == CHINESE and said("By the way: ") != "By the way: "
        with speaking(ENGLISH):
            assert said("By the way: ") == "By the way: "
    assert spoken() == ENGLISH
    with speaking(CHINESE):
        assert said("Nobody has translated this.") == "Nobody has translated this."


PAGE = "# A title\n\nSome *words* here,\nin two lines.\n\n```\ncode\n\nmore\n```\n\n$$ x $$\n\n* a list\n* of two\n"


def test_a_paragraph_is_translated_and_code_is_not() -> None:
    there = {mark("Some *words* here, in two lines."): "几个 *词*。"}
    shown = translated(PAGE, there)
    assert "几个 *词*。" in shown and "```\ncode\n\nmore\n```\n\n$$ x $$" in shown
    assert f"# A title {IN_ENGLISH}" in shown and f"{IN_ENGLISH}\n\n* a list\n* of two" in shown
    assert shown.count(IN_ENGLISH) == 2


@given(st.lists(st.sampled_from(["a line", "```", "$$", "$$ x $$", "", "# b"]), max_size=12))
def test_paragraphs_together_are_the_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    assert "\n\n".join(blocks(text)).split() == text.split()


def test_what_must_be_the_same_is_found() -> None:
    english = "Of `x` and $m$, tl.sum(x) is 131,072 or .067: see [p1](p1.py), {mask}, a power of two."
    assert facts(english) == facts("一个 2 的幂：{mask}；$m$ 和 `x` 的 tl.sum(x) 是 131,072 或 .067，见 [题](p1.py)")
    assert facts(english) - facts(english.replace(".067", ".67")) == facts(".067")


CHINESE_TEXT = (
    "这一行（第 3 行）的掩码 `cols < n_cols` 少了一个 lane，叫作 *填充*，所以 y[3, 4] 是 NaN。"
    "**只要** 改成 tl.where(mask, x, 0) 再检查一次！"
)


@given(st.integers(2, 60), st.integers(0, 8))
def test_lines_of_chinese_are_no_wider_and_begin_with_no_comma(width: int, indent: int) -> None:
    text = " " * indent + CHINESE_TEXT
    at = [0, *breaks(text, width), len(text)]
    lines = [text[a:b].rstrip() for a, b in pairwise(at)]
    assert "".join(lines).replace(" ", "") == CHINESE_TEXT.replace(" ", "")
    assert all(columns(line) <= width for line in lines)
    if width > 30:
        assert not any(line[0] in "，。）！、" for line in lines[1:])
        assert not any(line.replace("*填充*", "").replace("**只要**", "").count("*") for line in lines)
    shown = plain(Prose(CHINESE_TEXT), width)
    assert all(columns(line) <= width for line in shown.split("\n"))
    assert joined(shown).replace(" ", "") == CHINESE_TEXT.replace(" ", "")


def test_a_file_of_another_form_and_what_is_stale(tmp_path: Path) -> None:
    english, chinese = tmp_path / "a.md", tmp_path / "a.zh.md"
    english.write_text("# one: It is 1\nBecause.\n> Do.\n")
    now = translation.mark_of(translation.words.read(english.read_text(), "a.md")["one"])
    chinese.write_text(f"# one @{now}: 是 1\n因为。\n> 做。\n")
    assert Phrasebook(translation.phrases("zh", tmp_path)).said("It is 1") == "是 1"
    english.write_text("# one: It is 1\nBecause of it.\n> Do.\n")
    assert Phrasebook(translation.phrases("zh", tmp_path)).said("It is 1") is None
    chinese.write_text("text\n")
    with pytest.raises(ValueError, match=re.escape("a.zh.md, line 1")):
        list(translation.phrases("zh", tmp_path))


def test_a_text_that_fits_almost_takes_no_time() -> None:
    """Counted: what stands around the holes must be there in order before a form is tried, and a long text is none."""
    tried = []
    one = next(phrase for phrase in BOOK._formed if phrase.english.startswith("{a} were read"))
    book = Phrasebook([one])
    book._filled = lambda phrase, english: tried.append(english)  # type: ignore[method-assign]
    assert book.said("x were read, " * 100) is None and tried == []
    assert book.said("x were read, " * 4 + "y were read! " * 1000) is None and tried == []
    assert book.said("x were read, " * 4 + "y were read!") is None and len(tried) == 1


def test_a_name_in_chinese_does_not_make_a_sentence_chinese() -> None:
    finding = Finding("unknown", Status.FORBIDDEN, "Nobody has translated `总合`", "", "")
    with speaking(CHINESE):
        assert translated_finding(finding).title == f"{IN_ENGLISH}Nobody has translated `总合`"
        for known in ("There is no file 没有.py.", "tl.加载 is not on the list of what a kernel needs."):
            assert "The" not in (there := translated_finding(replace(finding, title=known)).title) and has_wide(there)
            assert translated_finding(replace(finding, title=there)).title == there
