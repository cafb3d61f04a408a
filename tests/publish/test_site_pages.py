"""The pages of the site: complete, linked, and with nothing from elsewhere."""

from __future__ import annotations

import html
import json
import os.path
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course import ladder, places
from checker.course.language import CHINESE, LANGUAGES
from checker.course.lesson import script_cells
from checker.course.localised import languages
from checker.course.paragraphs import lessons
from checker.learner.bugs import museum
from checker.learner.stub import shipped
from checker.publish import translations
from tests.browsers import blank_page, violations
from tests.conftest import ROOT, STEMS_OF_KERNELS, importable

IN_PYTORCH = [rung for rung in ladder.LADDER if rung.pytorch]


class Page(HTMLParser):
    """The links of a page, its anchors, its readable words and its formulas."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: list[str] = []
        self.hints = 0
        self.words, self.prose, self.formula, self.formulas, self.data = "", "", "", 0, ""
        self.code, self.language = "", ""
        self._open: list[str] = []
        self._drawn = False  # the next block is a drawing, whose words are translated
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        self.ids += [values["id"]] if "id" in values else []
        self.formulas += tag == "math"
        self.language = values.get("lang", "") if tag == "html" else self.language
        self.hints += values.get("class") == "hint"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif found := values.get("src") or (tag == "link" and values["href"]):
            self.loaded.append(found)
        self._drawn |= tag == "div" and values.get("class", "").startswith("highlight-text")
        if tag in ("script", "style", "math", "code", "pre"):
            kind = "drawing" if tag == "pre" and self._drawn else tag
            self._open.append("data" if values.get("class") == "workbench-data" else kind)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style", "math", "code", "pre"):
            self._drawn &= self._open.pop() != "drawing"

    def handle_data(self, data: str) -> None:
        if "data" in self._open:
            self.data += data
        elif not {"script", "style"} & {*self._open}:
            self.words += data
            self.prose += "" if self._open else data
            self.code += data if "pre" in self._open else ""
            self.formula += data if "math" in self._open else ""


@pytest.fixture(scope="module")
def pages(built_site: Path) -> dict[str, Page]:
    return {path.relative_to(built_site).as_posix(): Page(path) for path in built_site.rglob("*.html")}


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_a_puzzle_has_its_lesson_and_what_the_workbench_must_know(pages: dict[str, Page], puzzle_id: str) -> None:
    rung, puzzle = ladder.RUNGS[puzzle_id], catalog.load(puzzle_id)
    page = pages[f"puzzles/{rung.stem}.html"]
    told = json.loads(page.data)
    assert sorted(told["stub"].split("\n\n\n")) == sorted(shipped(puzzle).values())
    assert (told["puzzle"], told["stem"], told["title"]) == (rung.id, rung.stem, rung.title)
    assert [one["name"] for one in told["questions"]] == [question.name for question in puzzle.questions]
    assert (told["hints"], page.hints) == (3, 3)
    assert (told["solution"], told["root"]) == (f"../solutions/{rung.stem}.html", "../")
    for heading in ("What you will build", "The signature", "Your turn", "Experiments", "Where to read on"):
        assert heading in page.words
    assert "Hints\n" not in page.words
    assert ("How to check" in page.words) == (puzzle_id == "w1")  # which says how to read a report


def test_a_lesson_speaks_of_the_page(pages: dict[str, Page]) -> None:
    """Not of a terminal, where it has a button for it."""
    elsewhere = (
        "index.html",
        "zh/index.html",
        "docs/guide.html",
        "docs/background/gpu.html",
        "docs/background/compiler.html",
    )
    elsewhere += ("benchmarks/results/speed.html",)
    elsewhere += tuple(f"{room}/{rung.stem}.html" for room in ("puzzles", "solutions") for rung in IN_PYTORCH)
    for name, page in pages.items():
        if name not in elsewhere:
            said = " ".join(page.words.split())
            assert not re.search(r"\bmake (?!bench)[a-z-]+ PUZZLE|\bmake (watch|lab)\b|terminal|终端", said), name
            assert "make predict" not in said and not re.search(r"guess in place of each|把每个 \.\.\. 换成", said), (
                name
            )


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_page_says_otherwise_is_said_in_a_lesson(language: str) -> None:
    texts = [text for rung in ladder.LADDER for _, text in script_cells(places.script(rung.id).read_text())]
    said = " ".join(" ".join(texts if language == "en" else lessons(language).values()).split())
    words = importable("checker.publish.site.lessons").WORDS
    assert [one for one in words[language] if one not in said] == []


TRANSLATED = [rung for rung in ladder.LADDER if languages(rung.id)]
BOTH = ["solutions/museum", *(f"{room}/{rung.stem}" for room in ("puzzles", "solutions") for rung in TRANSLATED)]
MISSING = {text.file.stem for text in translations.texts(CHINESE) if not text.other}
OTHERWISE = ("title", "questions", "saves", "following")  # what a page's data say in words


@pytest.mark.parametrize("name", ["index", *BOTH])
def test_in_another_language_only_the_words_are_others(pages: dict[str, Page], name: str) -> None:
    english, other = pages[f"{name}.html"], pages[f"zh/{name}.html"]
    assert (english.language, other.language) == ("en", "zh-CN")
    assert other.code == english.code
    assert (other.formulas, sorted(other.formula)) == (english.formulas, sorted(english.formula))
    assert {
        one for one in english.ids if not re.match(r"id\d|(puzzle-)?[pwa]\d-|from-softmax|bugs-that|.*-s-", one)
    } <= {*other.ids}
    told = [json.loads(page.data or "{}") for page in (english, other)]
    assert [{key: data[key] for key in data if key not in OTHERWISE} for data in told[:1]] == [
        {key: data[key] for key in data if key not in OTHERWISE} for data in told[1:]
    ]
    assert other.hints == english.hints and "Toggle" not in (built := other.words)
    assert "（英文） " not in built or Path(name).stem in MISSING


def test_each_page_has_a_way_to_the_other_language(built_site: Path, pages: dict[str, Page]) -> None:
    """To the same page if there is one, else to the front page. What there is in English alone is marked so."""
    for name in pages:
        own = name.removeprefix("zh/")
        there = own if own.removesuffix(".html") in ("index", *BOTH) else "index.html"
        target = os.path.relpath(there if name != own else f"zh/{there}", Path(name).parent)
        text = (built_site / name).read_text()
        found = re.findall(
            r'<a class="language" href="([^"]+)" lang="[\w-]+" data-language="(\w+)"( data-front)?>', text
        )
        front = " data-front" * (own == "index.html")
        assert found == [(target, "en" if name != own else "zh", front)], name
    sidebar = re.sub(r"<article.*</article>", "", (built_site / "zh" / "index.html").read_text(), flags=re.DOTALL)
    entries = re.findall(r'<li data-puzzle="(\w+)"[^>]*>\s*<a [^>]*href="([^"]+)"[^>]*>([^<]*)', sidebar)
    assert [id for id, *_ in entries] == list(ladder.RUNGS)
    for id, target, title in entries:
        alone = ladder.RUNGS[id] not in TRANSLATED
        assert (target.startswith("../"), title.endswith("（英文）")) == (alone, alone), id


def test_a_puzzle_in_pytorch_says_where_it_runs(pages: dict[str, Page]) -> None:
    for rung in IN_PYTORCH:
        page = pages[f"puzzles/{rung.stem}.html"]
        assert page.data == "" and "does not run in a browser" in page.words and "FILL IN" in page.words


def test_links_lead_somewhere(pages: dict[str, Page], built_site: Path) -> None:
    for name, page in pages.items():
        for target in [*page.links, *page.loaded]:
            file, _, anchor = target.partition("#")
            if re.match("https?:|data:", file):
                continue
            there = (built_site / name).parent / file.partition("?")[0] if file else built_site / name
            assert there.is_file(), f"{name}: {target}"
            if anchor:
                assert anchor in pages[there.resolve().relative_to(built_site.resolve()).as_posix()].ids, target
        assert len(page.ids) == len(set(page.ids)), f"{name}: an ID that is there twice"


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, Page], built_site: Path) -> None:
    for name, page in pages.items():
        assert page.loaded and not [one for one in page.loaded if re.match("(https?:)?//", one)], name
    for style in built_site.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*[\"']?(https?:)?//", style.read_text()), style


def test_formulas_are_drawn(pages: dict[str, Page]) -> None:
    """As many as the lessons and pages have; none is left as TeX, nor is a part of one."""
    for name, page in pages.items():
        assert not re.search(r"\$[^$\n]+\$|\\", page.prose + page.formula), name
    assert sum(page.formulas for page in pages.values()) > 1200


def test_the_front_page_leads_up_the_ladder(pages: dict[str, Page], built_site: Path) -> None:
    text = (built_site / "index.html").read_text()
    first, *_ = ladder.LADDER
    assert re.search(rf'id="go-on"[^>]*href="puzzles/{first.stem}.html"', text)
    content = text[text.index("<article") :]
    assert re.findall(r'<li data-puzzle="(\w+)"', content) == list(ladder.RUNGS)
    sidebar = (built_site / "docs" / "guide.html").read_text()
    assert re.findall(r'<li data-puzzle="(\w+)" class="toctree-l1', sidebar) == list(ladder.RUNGS)


def test_each_puzzle_says_what_it_gives_and_takes_or_when_to_take_it(built_site: Path) -> None:
    text = (built_site / "index.html").read_text()
    found = re.findall(
        r'<li data-puzzle="(\w+)"( data-pytorch)?( class="beside")? data-following[^>]*><a.*?</a>(.*?)</li>', text
    )
    assert [entry for entry, *_ in found] == list(ladder.RUNGS)
    minutes = {}
    for entry, in_pytorch, beside, tagged in found:
        said, rung = html.unescape(re.sub(r"<.*?>", " ", tagged)), ladder.RUNGS[entry]
        assert (bool(in_pytorch), bool(beside)) == (rung.pytorch, entry not in ladder.SPINE)
        assert (f"take it {rung.helps}" if beside else rung.gives) in said
        if taken := re.search(r"about (\d+) minutes", said):
            minutes[entry] = int(taken[1])
    assert minutes.keys() == STEMS_OF_KERNELS.keys()
    assert all(taken % 5 == 0 for taken in minutes.values())
    hours = round(sum(minutes[entry] for entry in ladder.SPINE) / 60)
    assert f"About {minutes['w1']} minutes for the first puzzle, about {hours} hours for the 9 main puzzles" in text
    assert 10 <= minutes["w1"] < minutes["p5"] < minutes["p7"] <= 180


def test_the_spine_says_in_a_sentence_what_each_puzzle_gives() -> None:
    for rung in ladder.LADDER:
        assert bool(rung.gives) == (rung.id in ladder.SPINE)
        assert not rung.gives or (rung.gives.endswith(".") and rung.gives.count(". ") == 0)


def test_a_solution_is_shut_and_not_searched(built_site: Path) -> None:
    index = json.loads((built_site / "searchindex.js").read_text().removeprefix("Search.setIndex(").removesuffix(")"))
    pages = {word: [found] if isinstance(found, int) else found for word, found in index["terms"].items()}
    found = {index["docnames"][page] for pages in pages.values() for page in pages}
    assert "puzzles/p5_flash_attention_1" in found and not [page for page in found if page.startswith("solutions/")]
    for rung in ladder.LADDER:
        text = (built_site / "solutions" / f"{rung.stem}.html").read_text()
        before, opening, inside = text.partition(f'<div class="solution" data-puzzle="{rung.id}" hidden>')
        assert 'content="noindex"' in before
        assert bool(opening) == ('class="solution-gate"' in before) == (not rung.pytorch)  # whose success nobody sees
        if opening:
            assert "highlight" in inside and "highlight" not in before[before.index("<article") :]


@pytest.mark.parametrize("language", ["", "zh/"])
def test_the_museum_shows_the_lines_to_blame_and_never_a_whole_kernel(pages: dict[str, Page], language: str) -> None:
    page, pieces = pages[f"{language}solutions/museum.html"], museum()
    assert page.hints == len(pieces) and "def " not in page.code
    for one in pieces:
        assert all(one.text.split("\n")[line - 1].strip() in page.code for line in one.lines)
        assert one.story.partition("](")[2].partition(")")[0] in page.links


def test_without_solutions_there_are_no_such_pages(tmp_path: Path) -> None:
    for name in ("puzzles", "docs", "benchmarks/results", "checker/learner/stubs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    made = importable("checker.publish.site").pages.pages(tmp_path)
    assert not [page for page in made if page.startswith("solutions/")]
    assert '"solution": null' in made["puzzles/p1_naive_softmax.md"]
    assert "minutes" not in made["index.md"]  # nobody knows how much there is to write


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    site = importable("checker.publish.site")
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(importable("checker.publish.site.assets").SiteError, match="something else"):
        site.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


LOOKED_AT = (
    "index",
    "puzzles/p5_flash_attention_1",
    "solutions/p1_naive_softmax",
    "solutions/museum",
    "zh/index",
    "zh/puzzles/p2_safe_softmax",
)


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with blank_page() as page:
        yield page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wrong_with_a_page(page: Any, built_site: Path, theme: str) -> None:
    """On a telephone, in the theme that was chosen, whatever the system's is. Pictures follow it."""
    page.emulate_media(color_scheme="light" if theme == "dark" else "dark")
    page.set_viewport_size({"width": 400, "height": 900})
    for name in LOOKED_AT:
        page.goto((built_site / f"{name}.html").as_uri())
        page.evaluate("theme => document.body.dataset.theme = theme", theme)
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        page.eval_on_selector_all("[hidden]", "all => all.forEach(one => one.hidden = false)")
        found = [one for one in violations(page, "body") if "<math" not in one]  # which axe cannot read
        assert found == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
        assert page.evaluate("getComputedStyle(document.querySelector('article')).colorScheme") == theme
