"""Lessons and words in other languages say what the English says, and what is built of them is up to date."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from checker import catalog
from checker.course import localised, places
from checker.course.columns import columns, has_wide
from checker.course.language import CHINESE, LANGUAGES, speaking
from checker.course.lesson import emptied, hints, kernel_cell, script_cells
from checker.course.paragraphs import IN_ENGLISH
from checker.course.translation import phrasebook, phrases
from checker.course.verdict import Finding, Status, Verdict
from checker.publish import translations
from checker.publish.hosted import hosted
from checker.publish.start import start_notebook
from checker.report.html import html
from tests.conftest import ROOT
from tests.languages import IN_CHINESE, assert_the_same_in_chinese, counted

EVERY = [*translations.texts(CHINESE)]
TEXTS = [text for text in EVERY if text.other]
LINK = re.compile(r"\]\((?!https?:|attachment:|#)([^)\s#]+)")


def test_no_text_is_stale_or_lost() -> None:
    """Whoever changes the English translates anew, or takes the Chinese away: then it is counted as missing."""
    assert [(text.file.name, text.key or text.mark) for text in TEXTS if text.stale] == []
    assert len(TEXTS) > 3100  # a few may be taken away, and no file


def test_each_text_has_the_numbers_code_and_holes_of_its_english() -> None:
    differing = {
        f"{text.file.name}: {text.key or text.mark}": text.differences
        for text in TEXTS
        if text.differences and text.file.parent != ROOT / "docs"
    }
    assert differing == {}


def test_the_glossary_is_kept() -> None:
    words = translations.banned(CHINESE)
    assert "瓦片" in words and len(words) > 40
    assert [(text.file.name, word) for text in TEXTS for word in words if word in text.other] == []


def test_a_number_that_differs_a_stale_text_and_one_that_is_missing_are_seen(tmp_path: Path) -> None:
    (tmp_path / "puzzles" / "zh").mkdir(parents=True)
    (tmp_path / "puzzles" / "a.py").write_text("# %% [markdown]\n# One is 1.\n#\n# Two is 2.\n")
    one = translations.paragraphs.mark("One is 1.")
    (tmp_path / "puzzles" / "zh" / "a.md").write_text(f"<!-- {one} -->\n是 3。\n\n<!-- 00000000 -->\n没有了。\n")
    found = {text.mark: text for text in translations.texts(CHINESE, tmp_path, tmp_path)}
    assert found[one].differences == ["1", "+3"] and not found[one].stale
    assert found["00000000"].stale and found["00000000"].english == ""
    assert [text.english for text in found.values() if not text.other] == ["Two is 2."]
    assert not any(text.stale for text in found.values() if not text.other)


ONE, TWO, NEW = (f"# {key}: {key.title()}\nText.\n> Hint.\n" for key in ("one", "two", "new"))


def test_words_that_are_missing_stale_or_gone_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "ideas.py").touch()
    (tmp_path / "ideas.md").write_text(f"{ONE}{TWO}{NEW}")
    marks = {key: translations.mark(f"{key.title()}\nText.\nHint.\n") for key in ("one", "two")}
    chinese = f"# one @{marks['one']}: 一\n文。\n> 提示。\n\n# two @00000000: 二\n文。\n\n# old @00000000: 旧\n文。\n"
    (tmp_path / "ideas.zh.md").write_text(chinese)
    (tmp_path / "others.py").touch()
    (tmp_path / "others.md").write_text(ONE)  # nobody has begun with it
    (tmp_path / "sentences.zh.md").write_text("# Not yet\n（英文）\n\n# Done\n好了\n")
    found = [*translations.texts(CHINESE, tmp_path, tmp_path)]
    assert {(text.file.stem, text.key) for text in found if text.stale} == {("ideas.zh", "two"), ("ideas.zh", "old")}
    missing = {(text.file.stem, text.key) for text in found if not text.other}
    assert missing == {("ideas.zh", "new"), ("others.zh", "one"), ("sentences.zh", "Not yet")}
    said = {one.english: one.other for one in phrases(CHINESE, tmp_path)}
    assert said == {"One": "一", "Text.": "文。", "Hint.": "提示。", "Done": "好了"}
    (tmp_path / "ideas.md").unlink()
    with pytest.raises(FileNotFoundError):  # and not taken for sentences
        [*translations.texts(CHINESE, tmp_path, tmp_path)]


def test_what_has_no_chinese_is_marked_and_must_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    finding = Finding("new", Status.WRONG, "Nobody has translated x", "Nor this.", "Nor that.")
    verdict = Verdict("p1", "Naive softmax", Status.WRONG, (finding,))
    counted.cache_clear()
    with pytest.raises(AssertionError, match="Nobody"):
        assert_the_same_in_chinese(verdict)
    english = "Nobody has translated {name}\nNor this.\nNor that.\n"
    text = translations.Text(places.PACKAGE / "new.zh.md", translations.mark(english), english, "")
    monkeypatch.setattr(translations, "texts", lambda *_: [text])
    counted.cache_clear()
    assert_the_same_in_chinese(verdict)
    with speaking(CHINESE):
        assert html(verdict).count(IN_ENGLISH) == 3
    counted.cache_clear()


@pytest.mark.parametrize("puzzle_id", IN_CHINESE)
def test_a_lesson_in_chinese_has_the_same_code_and_is_up_to_date(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    english = emptied(places.script(puzzle_id).read_text(encoding="utf-8"), puzzle)
    path, there = places.script(puzzle_id, language=CHINESE), dict(localised.built(english, puzzle))
    chinese = emptied(path.read_text(encoding="utf-8"), puzzle)
    assert chinese == there[path], "run: python -m checker build"
    cells, others = script_cells(english), script_cells(chinese)
    for (kind, one), (other_kind, two) in zip(cells, others, strict=True):
        assert kind == other_kind
        if kind == "code":
            assert two.replace(', language="zh"', "") == one
    assert f'check("{puzzle_id}", language="zh")' in chinese
    assert len(hints(cells)) == len(hints(others))
    prose = (line for kind, text in others if kind == "markdown" for line in text.split("\n"))
    assert all(columns(line) <= localised.WIDTH for line in prose if has_wide(line) and line[0] not in "|!#<")
    notebook = places.notebook(puzzle_id, language=CHINESE)
    shipped = hosted(there[notebook], f"zh/{notebook.name}")
    found, made = (json.loads(text)["cells"] for text in (notebook.read_text(encoding="utf-8"), shipped))
    stub = kernel_cell([(cell["cell_type"], "".join(cell["source"])) for cell in made], puzzle)
    for number, (one, two) in enumerate(zip(found, made, strict=True)):
        assert number == stub or "".join(one["source"]) == "".join(two["source"]), "run: python -m checker build"
        assert one.get("attachments") == two.get("attachments")


@pytest.mark.parametrize("puzzle_id", IN_CHINESE)
def test_every_launch_has_a_name_in_chinese(puzzle_id: str) -> None:
    """Only the report on a kernel that is wrong in it would show that one has none."""
    puzzle = catalog.load(puzzle_id)
    for draw in (puzzle.draw(), puzzle.draw("autumn")):
        for case in (*puzzle.cases(draw), *puzzle.large_cases(draw)):
            assert None not in map(phrasebook(CHINESE).said, (case.name, case.title)), case.title


def test_the_first_notebook_in_chinese_is_up_to_date() -> None:
    path = places.start(language=CHINESE)
    assert path.read_text(encoding="utf-8") == hosted(start_notebook(CHINESE), "zh/00_start_here.ipynb")


def test_links_of_lessons_in_chinese_lead_somewhere() -> None:
    for path in (*(ROOT / "puzzles" / "zh").glob("*.py"), *(ROOT / "notebooks" / "zh").glob("*.ipynb")):
        text = path.read_text(encoding="utf-8")
        cells = json.loads(text)["cells"] if path.suffix == ".ipynb" else []
        prose = "".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown") if cells else text
        for target in LINK.findall(re.sub(r"```.*?```|`[^`]*`", "", prose, flags=re.DOTALL)):
            if path.suffix == ".ipynb" or target.endswith((".md", ".py", ".svg")):
                assert (path.parent / target).exists(), (path.name, target)


def test_a_learners_own_file_is_the_one_in_the_language_that_is_spoken(tmp_path: Path) -> None:
    assert places.spoken_script("p1") == places.script("p1")
    with speaking(CHINESE):
        assert places.spoken_script("p1") == ROOT / "puzzles" / "zh" / "p1_naive_softmax.py"
        assert places.spoken_script("w2") == places.script("w2")
        assert places.spoken_notebook("p1").parent.name == "zh" and places.spoken_start().parent.name == "zh"
        assert places.files("p1")[0] == places.spoken_script("p1")
        (tmp_path / "puzzles" / "zh").mkdir(parents=True)
        (tmp_path / "puzzles" / "zh" / "p1_naive_softmax.md").touch()  # its file is missing, and not another's
        assert places.spoken_script("p1", tmp_path) == places.files("p1", tmp_path)[0]
        assert places.spoken_script("p1", tmp_path).parent.name == "zh"
    assert {path.parent.name for path in places.files("p1")} == {"puzzles", "notebooks", "zh"}


def test_a_notebook_with_an_earlier_versions_name_is_found_in_its_own_language(tmp_path: Path) -> None:
    folders = tmp_path / "notebooks", tmp_path / "notebooks" / "zh"
    folders[1].mkdir(parents=True)
    for folder in folders:
        for name in ("17_p1_naive_softmax", "my_p1_naive_softmax", "02_p1_naive_softmax", "17_p2_safe_softmax"):
            (folder / f"{name}.ipynb").touch()
    old = [folder / "17_p1_naive_softmax.ipynb" for folder in folders]
    assert [*places.files("p1", tmp_path)[-2:]] == old
    now = [places.notebook("p1", tmp_path, language) for language in LANGUAGES]
    assert [places.earlier(path) for path in now] == [[path] for path in old]
