"""`make lab` in a real browser: a learner begins where it opens, checks puzzle p1 unsolved, fills it in, and goes on.

Screenshots are kept in build/screenshots.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from checker.course import ladder
from checker.course.places import notebook
from tests.browsers import blank_page, jupyter, picture, violations
from tests.conftest import ROOT, SOLUTION, importable, need

NAME = notebook("p1").name
FIGURES = ".jp-RenderedMarkdown img"
KERNEL_AT = """(document.querySelector('[data-windowed-list-index="5"]')?.getBoundingClientRect().top ?? -1)"""
THEME = "apputils-extension:themes", "theme"
SAVING = "docmanager-extension:plugin", "autosave"  # else a test begins with what another has left


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab's address, as `make lab` starts it, on a copy of the course, with settings of its own."""
    importable("jupyterlab")
    need("make")
    folder = tmp_path_factory.mktemp("lab")
    course = folder / "a course"
    for name in ("checker", "docs", "notebooks", "puzzles"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Makefile", course)
    (course / "docs" / "figures").rename(course / "docs" / "elsewhere")  # a notebook brings its own along
    variables = {**os.environ, "HOME": str(folder), "JUPYTER_CONFIG_DIR": str(folder / "config")}
    with jupyter(lambda options: ["make", "lab", f"VENV={sys.prefix}", f"LAB={options}"], course, variables) as address:
        choose(address, SAVING, False)
        yield address


@pytest.fixture(scope="module")
def page(lab: str) -> Iterator[Any]:
    with blank_page() as page:
        yield page


def opened(page: Any, lab: str, theme: str) -> None:
    """Open puzzle p1 in a theme, and wait until its kernel is there."""
    choose(lab, THEME, theme)
    page.goto(f"{lab}lab/tree/notebooks/{NAME}?token=secret&reset")
    ready(page)


def choose(lab: str, setting: tuple[str, str], value: object) -> None:
    """Have JupyterLab set something from now on."""
    data = json.dumps({"raw": json.dumps({setting[1]: value})}).encode()
    headers = {"Authorization": "token secret", "Content-Type": "application/json"}
    address = f"{lab}lab/api/settings/@jupyterlab/{setting[0]}"
    urllib.request.urlopen(urllib.request.Request(address, data, headers, method="PUT")).close()


def ready(page: Any) -> None:
    """Wait until a notebook is there, and its kernel."""
    page.wait_for_selector(".jp-Notebook .jp-CodeCell")
    page.wait_for_selector("text=Python 3 (ipykernel) | Idle")


def run_all(page: Any) -> None:
    """Restart the kernel and run every cell, as a learner would from the menu."""
    page.evaluate("document.querySelectorAll('.jp-OutputArea-output').forEach(e => e.remove())")
    page.click(".lm-MenuBar-item:has-text('Run')")
    page.click(".lm-Menu-item:has-text('Run All Cells') >> nth=0")


def verdict(page: Any, words: str) -> Any:
    """The report that shows these words, once it is there."""
    report = page.locator(".jp-OutputArea-output div", has_text=re.compile(words)).first
    report.wait_for()
    report.scroll_into_view_if_needed()
    return report


def test_it_opens_where_to_begin(page: Any, lab: str) -> None:
    choose(lab, THEME, "JupyterLab Light")
    page.goto(f"{lab}?token=secret")
    ready(page)
    assert page.locator(".jp-RenderedMarkdown h1").first.inner_text().startswith("Start here")
    names = page.locator(".jp-DirListing-itemText").all_inner_texts()
    folder, first, *lessons = names  # the one of another language: JupyterLab has folders first
    assert (folder, first) == ("zh", "00_start_here.ipynb") and lessons == [notebook(one).name for one in ladder.ORDER]
    run_all(page)
    table = verdict(page, "0 of 18 puzzles solved")
    assert table.locator("a").count() == 19
    verdict(page, "own notebook tells more")
    assert page.locator(".jp-OutputArea-output td:has-text('○ not started')").count() == 18
    picture(page, "light-start")
    assert violations(page, ".jp-RenderedHTML > div") == []
    table.locator("a:has-text('p1 Naive')").first.click()
    page.wait_for_selector(f".lm-DockPanel-tabBar .lm-mod-current:has-text('{NAME}')")


def test_a_student_sees_nothing_of_nbgrader_that_is_for_instructors(page: Any, lab: str) -> None:
    page.goto(f"{lab}lab/tree/notebooks/{NAME}?token=secret&reset")
    ready(page)
    assert page.locator(".lm-TabBar-tab[title*='ssignment']").count() == 0
    page.click(".lm-MenuBar-item:has-text('Nbgrader')")
    items = page.locator(".lm-Menu-item:visible").all_inner_texts()
    assert [item.strip() for item in items] == ["Assignment List"]
    page.keyboard.press("Escape")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_a_learner_solves_puzzle_1(page: Any, lab: str, theme: str) -> None:
    name = theme.split()[1].lower()
    opened(page, lab, theme)
    widths = page.eval_on_selector_all(FIGURES, "all => all.map(one => one.naturalWidth)")
    assert widths and all(widths)
    if name == "light":
        run_all(page)
        verdict(page, "not started")
        picture(page, f"{name}-not-started")
    fill_in(page, (ROOT / "tests" / "wrong" / "p1_padding_loaded_as_zero.py").read_text())
    run_all(page)
    report = verdict(page, "partly right")
    assert "The padding is counted in the sum" in report.inner_text()
    picture(page, f"{name}-partly-right")
    assert violations(page, ".jp-RenderedHTML > div") == []
    page.wait_for_function(f"{KERNEL_AT} < 0")  # above what can be seen
    report.locator("a", has_text=re.compile(r"^cell \[\d+\], as you last ran it, line \d+")).first.click()
    page.wait_for_function(f"{KERNEL_AT} >= 0")
    fill_in(page, SOLUTION)
    run_all(page)
    assert "100/100 points" in verdict(page, "accepted").inner_text()
    picture(page, f"{name}-accepted")
    assert violations(page, ".jp-RenderedHTML > div") == []
    fill_in(page, "from checker.notebook import step\nstep(1)", 'check("p1")')
    run_all(page)
    frame = page.frame_locator(".jp-OutputArea-output iframe")
    frame.get_by_role("button", name="Next store").click()
    assert "tl.store" in frame.locator(".step-now").inner_text()
    assert frame.locator("html").evaluate("one => getComputedStyle(one).colorScheme") == name
    frame.locator("html").scroll_into_view_if_needed()
    picture(page, f"{name}-step")
    if name == "light":
        calls = "from checker.notebook import hint, predict, trace\ndisplay(hint(1), predict(1), trace(1))"
        fill_in(page, calls, "step(1)")
        run_all(page)
        for shown in (":has-text('Hint 1 of 3')", ":has-text('x_reads')", " svg"):
            page.wait_for_selector(f".jp-OutputArea-output{shown}", state="attached")


def fill_in(page: Any, text: str, where: str = "def naive_softmax_kernel") -> None:
    """Replace a cell, the kernel's if no other is named, as by pasting."""
    cell = page.locator(".jp-CodeCell", has_text=where).first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)
