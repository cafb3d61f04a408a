"""Pages and lessons: links lead somewhere, pictures have words, formulas are closed."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from checker import __version__
from checker.course import ladder, places
from checker.publish import hosted
from checker.publish.build import page_text
from tests.conftest import ROOT
from tests.kernels import kernels

ROOMS = [ROOT / room for room in ("docs", "benchmarks", "solutions")]
PAGES = sorted(
    {*ROOT.glob("*.md"), *(page for room in ROOMS for page in room.rglob("*.md") if page.parent.name != "zh")}
)
LESSONS = [places.script(puzzle_id) for puzzle_id in ladder.RUNGS]
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
IMAGE = re.compile(r'<img src="([^"]*)"(?:[^>]* alt="([^"]*)")?')
FENCE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"(?<=\n\n)( {4}.*\n)+")  # a block of code as well, such as what a model wrote


def text_of(path: Path) -> str:
    """A page's Markdown, or a lesson's, without blocks of code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = "\n".join(line[2:] if line.startswith("# ") else "" for line in text.split("\n") if line.startswith("#"))
    return INDENTED.sub("", FENCE.sub("", text))


def anchors(path: Path) -> set[str]:
    """The names by which GitHub lets one link to a page's headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"[`*$]", "", heading)).strip().lower().replace(" ", "-") for heading in headings
    }


def named(path: Path) -> set[str]:
    """Those of these names that stand above their headings as well: JupyterLab has other names for headings."""
    own = re.findall(r'^<a id="(.*)"></a>\n\n#+ (.*)$', path.read_text(encoding="utf-8"), re.MULTILINE)
    return {anchor for anchor, heading in own if anchor == heading.lower().replace(" ", "-")}


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def shown_in_notebooks(path: Path) -> bool:
    """Whether this is a lesson, or the walk-through of a solution."""
    return path.suffix == ".py" or path.parent == ROOT / "solutions"


@pytest.mark.parametrize("path", [*PAGES, *LESSONS], ids=name)
def test_links_lead_somewhere_and_pictures_have_words(path: Path) -> None:
    text = re.sub(r"`[^`\n]*`", "code", text_of(path))  # in which `kernel[grid](x)` is no link
    pictures = [(words, target) for target, words in IMAGE.findall(text)]
    for words, target in LINK.findall(text) + pictures:
        assert words.strip(), f"{target}: a link or picture without words"
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        there = (path.parent / file).resolve() if file else path
        assert there.exists(), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), target
            assert anchor in named(there) or not shown_in_notebooks(path), target


@pytest.mark.parametrize("path", [*PAGES, *LESSONS], ids=name)
def test_formulas_are_closed(path: Path) -> None:
    for paragraph in re.split(r"\n\s*\n", re.sub(r"`[^`\n]*`", "", text_of(path))):
        assert paragraph.count("$$") % 2 == 0, paragraph
        inline = paragraph.replace("$$", "").replace(r"\$", "")
        assert inline.count("$") % 2 == 0, paragraph
        for formula in re.findall(r"\$\$?(.+?)\$\$?", paragraph, re.DOTALL):
            assert formula.count("{") == formula.count("}"), formula


@pytest.mark.parametrize("path", LESSONS, ids=name)
def test_a_lesson_has_all_its_parts(path: Path) -> None:
    headings = re.findall(r"^## (.*)$", text_of(path), re.MULTILINE)
    in_pytorch = ladder.RUNGS[path.stem.partition("_")[0]].pytorch
    bounds, use = ("Memory and work", "How it is called") if in_pytorch else ("The traffic bound", "How it is launched")
    assert use in headings
    parts = ["What you will build", "The signature(s)?", bounds, "Your turn", "How to check", "Hints", "Experiments"]
    parts += ["What to notice afterwards", "Where to read on"]
    remaining = iter(headings)
    for part in parts:
        assert any(re.fullmatch(part, heading) for heading in remaining), part
    assert re.findall(r"<details><summary>(\d)", path.read_text()) == ["1", "2", "3"]
    assert "../docs/background/" in path.read_text()
    for typed in (r"\./check ", "make hint PUZZLE="):
        own = {ladder.id_of(said) for said in re.findall(rf"`{typed}(\w+)`", path.read_text())}
        assert own == {path.stem.partition("_")[0]}, typed
    assert ("`make watch`" in path.read_text()) == (path.stem == "w1_vector_add")
    ast.parse(path.read_text())


def test_the_readme_is_a_front_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short, how to begin stands on the first screen, and an address only once the pages have one."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.sub(r"<!--.*?-->|<[^>]*>|(?<=\])\([^)]*\)", "", page, flags=re.DOTALL)
    words = [word for word in shown.split() if re.search(r"\w", word)]
    assert len(words) <= 730 + 15 * (len(ladder.RUNGS) - 18)  # each puzzle has a row
    ways = ["**In a browser**", "\n./check w1 ", "**On a Mac**", "**In notebooks**", "**With a class**"]
    found = [page.find(way) for way in ways]
    assert found == sorted(found) and found[0] > 0 and page[: found[1]].count("\n") < 35
    assert set(re.findall(r"https?://[^\s)]+", page)) <= {hosted.SITE}
    monkeypatch.setattr(hosted, "SITE", "https://example.org/")
    assert "[start here](https://example.org/)" in page_text(page)


def test_the_guide_lists_all_its_sections() -> None:
    page = FENCE.sub("", (ROOT / "docs" / "guide.md").read_text(encoding="utf-8"))
    contents, *sections = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert re.findall(r"\[([^\]]+)\]\(#", page.partition(f"## {contents}\n")[2].partition("\n## ")[0]) == sections


def test_the_sources_name_sections_that_exist() -> None:
    """As "p3, *The idea* (Merging)": a lesson, a heading in it, and what stands out in it."""
    page = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
    named = re.findall(r"\b([apb]\d)(?: and ([apb]\d))?,\s\*([^*]+)\*(?: \(([^)]+)\))?", page)
    assert len(named) > 25
    for one, other, section, paragraph in named:
        for puzzle in filter(None, (one, other)):
            lesson = text_of(places.script(ladder.id_of(puzzle)))
            _, found, rest = lesson.partition(f"\n## {section}")
            assert found, f"puzzle {puzzle}, {section}"
            assert f"**{paragraph}" in rest.partition("\n## ")[0] or not paragraph, f"puzzle {puzzle}, {paragraph}"


def differences() -> list[list[str]]:
    """The rows of the tables of `docs/interpreter.md`, each as its cells."""
    lines = (ROOT / "docs" / "interpreter.md").read_text(encoding="utf-8").split("\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [row for row in cells if row[0] != "difference" and set(row[0]) != {"-"}]


@pytest.mark.parametrize("row", differences(), ids=lambda row: row[0][:40])
def test_a_difference_from_a_gpu_is_held_by_tests_that_exist(row: list[str]) -> None:
    _, here, tests, _ = row
    named = re.findall(r"`([^`]+)`", tests)
    assert named or here.startswith("remains"), "no test, and not said to remain"
    probes = (ROOT / "tests" / "gpu" / "semantics.py").read_text(encoding="utf-8")
    for test in named:
        file, _, function = test.partition("::")
        if test.partition("_")[0] in ladder.RUNGS:
            assert test in {kernel.name for folder in ("right", "wrong") for kernel in kernels(folder)}
        elif not file.endswith(".py"):
            assert f'    Probe("{file}"' in probes or f'    Probe(\n        "{file}"' in probes, test
        else:
            assert (ROOT / file).exists(), test
            assert not function or f"def {function}(" in (ROOT / file).read_text(encoding="utf-8"), test


def test_the_page_on_dependencies_names_each() -> None:
    """And nothing else: a package that goes takes its line with it."""
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.setuptools]")[0]
    named = {name.lower() for name in re.findall(r'^ *(?:\w+ = \[)?"([A-Za-z][\w-]*)[>=]', settings, re.MULTILINE)}
    named |= {name.lower() for name in re.findall(r'", "([A-Za-z][\w-]*)[>=]', settings)} - {"setuptools"}
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").partition("## What is written")[0]
    rows = [row.split("|")[2] for row in re.findall(r"^\| \w+ \|.*$", page, re.MULTILINE)][1:]
    assert {name.strip() for row in rows for name in row.split(",")} == named - {"setuptools"}


def test_the_version_is_the_same_everywhere() -> None:
    for page in ("CITATION.cff", "CHANGELOG.md", "README.md", "docs/README.zh.md"):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert re.search(rf"^(version: |## |\* \*\*.+[:：] ?){__version__}\b", text, re.MULTILINE), page
