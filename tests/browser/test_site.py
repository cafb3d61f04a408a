"""The course in a real browser: the site as it is built, from a server that knows nothing but files."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from checker.course import places
from checker.course.ladder import RUNGS
from tests.browsers import browser, saved, violations, write
from tests.conftest import ROOT, importable
from tests.kernels import named

importable("sphinx")
from checker.publish.site import serving  # noqa: E402

APP = ROOT / "docs" / "site" / "app"
IMPATIENT = "impatient.html"  # p2, where a launch may take two seconds
PUZZLE = "p1"
DOWNLOADS = "downloads"
PAGE = f"puzzles/{RUNGS[PUZZLE].stem}.html"
READY = "document.querySelector('.wb-state > span')?.textContent == 'Python is ready.'"
KEPT = """async () => {
    const python = (await caches.keys()).find(name => name.includes("python"));
    return python ? (await (await caches.open(python)).keys()).length : 0;
}"""
WIDTHS = (1440, 1366, 1280, 1024, 390)
# With all unfolded: blocks that are wider than their box, and what reaches out of the lesson's column.
CUT = """() => {
    for (const one of document.querySelectorAll("details, [hidden]")) one.open = !(one.hidden = false);
    const end = Math.min(innerWidth, document.querySelector(".main").getBoundingClientRect().right) + 1;
    const cut = (one) => one.matches("pre") ? one.scrollWidth > one.clientWidth :
        one.getBoundingClientRect().right > end && !one.closest(".workbench, .table-wrapper, .math-wrapper");
    return [...document.querySelectorAll("article *")].filter(cut).map((one) => one.textContent.slice(0, 60));
}"""
SCROLLED = "[...document.querySelectorAll('.math-wrapper')].filter(one => one.scrollHeight > one.clientHeight).length"
SMALLEST = """selector => Math.min(...[...document.querySelectorAll(selector)].map(one => {
    const { a, b } = one.getScreenCTM();
    return parseFloat(getComputedStyle(one).fontSize) * Math.hypot(a, b);
}))"""
# How many lines of code are in sight above that of the caret.
ABOVE = """() => {
    const lines = [...document.querySelectorAll(".wb-editor .cm-line")], top = (one) => one.getBoundingClientRect().top;
    const first = lines.find((one) => top(one) > top(one.closest(".cm-scroller")) - 2);
    return lines.findIndex((one) => one.matches(".cm-activeLine")) - lines.indexOf(first);
}"""
OVERFLOWING = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The site's address while it is served."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()


@pytest.fixture(scope="module")
def folder(built_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, with one more page that has less patience: a page's seconds are data in it."""
    copy = tmp_path_factory.mktemp("served") / "site"
    shutil.copytree(built_site, copy)
    page = copy / "puzzles" / f"{RUNGS['p2'].stem}.html"
    text, changed = re.subn(r'"seconds": [\d.]+', '"seconds": 2', page.read_text())
    assert changed == 1
    page.with_name(IMPATIENT).write_text(text)
    return copy


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with served(folder) as address:
        yield address


@pytest.fixture(params=["chromium", "firefox"])
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    with browser(request.param, downloads_path=tmp_path / DOWNLOADS) as started:
        context = started.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        yield context


def code(kernel: str) -> str:
    """A kernel of the tests as it would stand in the editor, below the imports."""
    _, line, rest = named(kernel).text.partition("@triton.jit")
    return line + rest


class Bench:
    """A puzzle's page, and what a learner does there."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        page.goto(address)
        page.wait_for_selector(".workbench .cm-content")

    @property
    def text(self) -> str:
        return "\n".join(self.page.locator(".wb-editor .cm-line").all_inner_texts()).replace("\n\n", "\n")

    def write(self, text: str) -> None:
        """Type over everything, as a paste does."""
        write(self.page.locator(".wb-editor .cm-content"), text)

    def report(self, press: Callable[[], None]) -> str:
        """What the report says after a check."""
        self.page.wait_for_function(READY)
        self.page.evaluate("document.querySelector('.wb-report').innerHTML = ''")
        press()
        self.page.wait_for_function("document.querySelector('.wb-report').textContent != ''")
        self.page.wait_for_selector("button[name=stop]", state="hidden")
        return self.page.inner_text(".wb-report")

    def checked(self, text: str) -> str:
        self.write(text)
        return self.report(lambda: self.page.click("button[name=check]"))

    def said(self, words: str) -> None:
        self.page.get_by_role("status").get_by_text(words).wait_for()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        return self.page.evaluate("document.activeElement.name || document.activeElement.className")


def test_kernels_are_judged_and_a_page_is_never_lost(context: Any, site: str) -> None:
    """One page for all of it, because each that is opened loads Python anew."""
    bench = Bench(context.new_page(), site + PAGE)
    assert "not started" in bench.report(lambda: bench.page.click("button[name=check]")).lower()
    marks = bench.page.locator(".cm-lint-marker-info"), bench.page.locator(".cm-lint-marker-error")
    assert [one.count() for one in marks] == [1, 0]  # nobody has made a mistake yet
    nameless = code("p1_naive_softmax").replace("tl.sum(numerator, axis=0)", "tl.sum(numerator, axis=0) + 0.5")
    assert "in the solution it is" in bench.checked(nameless)  # of which the page has recordings
    [finding] = named("p1_padding_loaded_as_zero").findings
    assert f"[{finding}]" in bench.checked(code("p1_padding_loaded_as_zero"))
    bench.said("Not accepted yet.")
    # The line is marked, and the report leads to it.
    assert bench.page.locator(".cm-lint-marker-error").count() == 1
    bench.page.click(".wb-report a[data-line]")
    assert "other=0.0" in bench.page.inner_text(".workbench .cm-activeLine.cm-line")
    # What a mark says goes away with it, though the mouse stays where it is.
    bench.page.hover(".cm-lint-marker-error")
    bench.page.wait_for_selector(".cm-tooltip-lint")
    bench.press("End", "Enter", "x")
    bench.page.wait_for_selector(".cm-tooltip-lint", state="detached")

    # Two that would never end.
    assert "[time-limit]" in bench.checked(code("p1_long_loop"))
    assert "[output-flood]" in bench.checked(code("p1_output_flood_by_the_rules"))

    # Leaving in the middle of a check loses nothing.
    bench.write(code("p1_nested_tuples"))
    bench.page.click("button[name=check]")
    bench.page.wait_for_selector("button[name=stop]")
    bench.page.reload()
    bench.page.wait_for_selector(".workbench .cm-content")
    assert "pair = (pair, pair)" in bench.text

    # With the keyboard alone: Tab indents, after Escape it leaves.
    bench.write(code("p1_naive_softmax"))
    bench.page.focus(".wb-editor .cm-content")
    assert "100/100" in bench.report(lambda: bench.press("Control+Enter"))
    assert "cm-content" in bench.focused()
    bench.press("Escape", "Tab")
    assert bench.focused() == "check"
    assert "100/100" in bench.report(lambda: bench.press("Enter"))
    assert bench.focused() == "check"
    reached = []
    while (name := bench.focused()) != "":
        reached.append(name)
        bench.press("Tab")
        if len(reached) > 20 or "wb-solution" in reached:
            break
    buttons = ["hint", "predict", "step", "trace", "speed", "bug", "reset", "wb-solution"]
    assert reached == ["check", "wb-next wb-main", *buttons]
    bench.said("Accepted.")
    card = " ".join(bench.page.inner_text(".wb-won").split())
    assert card.startswith(f"p1 is solved. {RUNGS['p1'].saves}") and card.endswith(
        "1 of 9 Next: p2 Safe softmax, three passes"
    )
    lines, moved = (re.findall(r"[\d,]+", one) for one in re.findall(r"(?:code|stored) ([\d,]+ [\d,]+)", card))
    assert lines[0] == lines[1] and moved[0] == moved[1]  # it is the course's solution

    # What is earned.
    assert bench.page.locator("li[data-puzzle=p1] .solved-mark").count() == 1
    bench.page.click("button[name=hint]")
    bench.page.wait_for_selector(".hint[data-level='1'][open]")
    assert bench.page.locator(".hint:visible").count() == 1
    bench.page.click("button[name=predict]")
    bench.press("2", "Enter")
    bench.page.wait_for_function("document.querySelector('.wb-answers').textContent.includes('You said 2.')")

    # The stub with the solution's comments, and back from there.
    bench.page.click("button[name=reset]")
    bench.page.click("text=With the solution’s comments")
    bench.said("This is the stub with the solution’s comments.")
    assert bench.page.evaluate("document.activeElement.textContent") == "Undo"
    assert "# exp(-inf) = 0" in bench.text and "tl.exp" not in bench.text
    bench.page.click("text=Undo")

    # How fast it could be, and a bug to find: both are there once it is solved.
    bench.page.click("button[name=speed]")
    bench.page.wait_for_selector(".wb-speed table")
    assert "H100" in bench.page.inner_text(".wb-speed") and "GB/s" in bench.page.inner_text(".wb-speed")
    bench.page.click("button[name=bug]")
    [blamed, *_] = bench.page.evaluate(
        "JSON.parse(document.querySelector('.workbench-data').textContent).bugs[0].lines"
    )
    write(bench.page.locator(".wb-bug input"), str(blamed + 100))
    bench.page.click(".wb-bug form button")
    bench.said("It is another line.")
    for line in (blamed, 1):  # once it is found, a click only moves the caret
        bench.page.locator(".wb-bug .cm-line").nth(line - 1).click()
        bench.said("That is the line.")
    fixed = bench.page.get_by_role("button", name="Check the fix")
    fixed.click()
    bench.said("There still is a mistake.")
    write(bench.page.locator(".wb-bug .cm-content"), code("p1_naive_softmax"))
    fixed.click()
    bench.said("Fixed.")

    # The lesson's experiments, with this kernel: what is above a cell is run as well.
    bench.page.click(".run-cell button")
    bench.page.wait_for_selector(".rc-out:not([hidden])")
    assert "y: read 0.00, written 1.00 times per element" in bench.page.inner_text(".rc-out")
    cell = bench.page.locator(".run-cell .cm-content").first
    write(cell, "x = 1\nx = nothing")
    cell.press("Control+Enter")
    bench.page.wait_for_function("document.querySelector('.rc-out').textContent.includes('NameError')")
    assert "Line 2: NameError: name 'nothing' is not defined" in bench.page.inner_text(".rc-out")

    # Step by step.
    bench.page.click("button[name=step]")
    bench.page.wait_for_selector(".wb-step .step-now")
    bench.press("s")
    assert "tl.store" in bench.page.inner_text(".step-now")
    assert violations(bench.page, ".wb-step") == []
    bench.press("Escape")
    assert bench.focused() == "step"

    # For those who see little, and on a telephone.
    for theme in ("light", "dark"):
        bench.page.evaluate("theme => { document.body.dataset.theme = theme }", theme)
        assert violations(bench.page, ".workbench") == [], theme
    bench.page.set_viewport_size({"width": 400, "height": 800})
    assert bench.page.evaluate(OVERFLOWING) == 0

    bench.page.click("a.wb-solution")
    bench.page.wait_for_selector(".solution", state="visible")


def test_what_hangs_and_counts_nothing_is_given_up_and_the_spare_worker_takes_over(context: Any, site: str) -> None:
    """Few enough doublings that memory does not end it first."""
    bench = Bench(context.new_page(), f"{site}puzzles/{IMPATIENT}")
    lines = code("p1_nested_tuples").replace("naive", "safe").split("\n")
    doubled = [n for n, line in enumerate(lines) if line.strip() == "pair = (pair, pair)"]
    assert "[too-busy]" in bench.checked("\n".join(line for n, line in enumerate(lines) if n not in doubled[24:]))
    bench.page.wait_for_function(READY)


def test_all_is_there_offline_after_the_first_visit(context: Any, folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(folder, tmp_path / "site")  # it is changed below
    page = context.new_page()
    with served(folder) as address:
        page.goto(address)  # the first page, which itself needs no Python
        listed = json.loads((folder / "app" / "files.json").read_text())
        wanted = len(listed["pyodide"]["files"])
        while page.evaluate(KEPT) < wanted:
            page.wait_for_timeout(100)

        # A new build takes over, and says so on the pages of the old one. It fetches no Python.
        (folder / "app" / "files.json").write_text(json.dumps(listed | {"version": "new"}))
        index = folder / "index.html"
        index.write_text(index.read_text().replace("</h1>", " (new)</h1>", 1))
        page.reload()
        page.click("text=Reload")
        page.wait_for_selector("h1:has-text('(new)')")
        python = listed["pyodide"]["version"]
        assert page.evaluate("caches.keys()") == [f"flash-puzzles-python-{python}", "flash-puzzles-site-new"]
    bench = Bench(page, address + PAGE)
    assert "100/100" in bench.checked(code("p1_naive_softmax"))
    page.goto(address)
    page.wait_for_selector("article li[data-puzzle=p1] .solved-mark")
    assert page.inner_text("#go-on") == "Go on with p2"


def test_a_first_visit_takes_as_much_as_the_page_says(context: Any, built_site: Path) -> None:
    sent: list[int] = []

    class Counting(serving._Handler):
        def copyfile(self, source: Any, out: Any) -> None:
            sent.append(out.write(source.read()))

        def log_message(self, *_: Any) -> None:
            pass

    page = context.new_page()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Counting, directory=built_site)) as server:
        threading.Thread(target=server.serve_forever).start()
        page.goto(f"http://127.0.0.1:{server.server_port}/{PAGE}")
        page.wait_for_function(READY)
        wanted = len(json.loads((built_site / "app" / "files.json").read_text())["pyodide"]["files"])
        while page.evaluate(KEPT) < wanted:  # the rest of the site is kept before that
            page.wait_for_timeout(100)
        server.shutdown()
    [said] = re.findall(r"Loading Python \((\d+) MB at the first visit\)", (APP / "judge.js").read_text())
    assert sum(sent) / 1e6 == pytest.approx(int(said), abs=0.6)


@pytest.fixture
def alone(context: Any) -> Any:
    """A browser that does not get the worker, as behind a wall, and that keeps nothing for later."""
    context.route(re.compile("worker|sw[.]js"), lambda route: route.abort())
    return context


def test_a_page_without_python_says_so_and_two_tabs_share_a_draft(alone: Any, site: str) -> None:
    here, there = Bench(alone.new_page(), site + PAGE), Bench(alone.new_page(), site + PAGE)
    here.page.get_by_text("Python could not be loaded.").wait_for()
    with here.page.expect_request(re.compile("worker")):
        here.page.click("button[name=again]")

    # Whoever has changed nothing follows.
    here.write("first = 1")
    there.page.wait_for_function("document.querySelector('.workbench .cm-content').textContent == 'first = 1'")
    # Whoever has is asked, in both tabs.
    there.write("second = 2")
    here.said("in another tab")
    assert here.text == "first = 1"
    here.page.click("text=Keep this one")
    there.said("in another tab")
    there.page.click("text=Take the other tab’s version")
    assert there.text == here.text == "first = 1"
    there.page.click("text=Undo")
    assert there.text == "second = 2"

    # What one tab has reached, all show.
    here.page.evaluate("localStorage.setItem('flash-puzzles:progress:p1', 'puzzle p1: solved')")
    there.page.wait_for_selector("li[data-puzzle=p1] .solved-mark", state="attached")
    there.page.wait_for_selector("a.wb-solution")

    # Back to the stub, if one says so; and back from there.
    there.page.click("button[name=reset]")
    there.page.click("text=Keep my code")
    assert there.text == "second = 2"
    there.page.click("button[name=reset]")
    there.press("Enter")  # on the first choice
    assert "FILL IN" in there.text
    there.page.click("text=Undo")
    assert there.text == "second = 2"


@pytest.mark.parametrize(("wide", "beside"), [(390, False), (799, False), (800, True), (1920, True)])
def test_check_is_in_sight_and_nothing_is_wider_than_its_window(
    context: Any, site: str, wide: int, beside: bool
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": wide, "height": 800})
    for name in (RUNGS["w1"].stem, RUNGS["p7"].stem):
        page.goto(f"{site}puzzles/{name}.html")
        page.wait_for_selector(".workbench .cm-content")
        assert page.evaluate(OVERFLOWING) == page.evaluate(SCROLLED) == 0
        top = page.locator("button[name=check]").bounding_box()["y"]
        assert (0 < top < 800) is beside
        link = page.locator(".to-editor")
        assert link.is_visible() is not beside
        if not beside:
            link.click()
            page.wait_for_function("document.querySelector('.to-editor').hidden")


def test_nothing_is_cut_on_any_page(folder: Path, site: str) -> None:
    cut = []
    with browser() as started:
        page = started.new_context(java_script_enabled=False).new_page()
        for path in sorted(folder.rglob("*.html")):
            page.goto(f"{site}{path.relative_to(folder)}")
            for width in WIDTHS:
                page.set_viewport_size({"width": width, "height": 900})
                cut += [(path.name, width, text) for text in page.evaluate(CUT)]
    assert cut == []


def test_lesson_and_code_keep_their_places(alone: Any, site: str) -> None:
    page = alone.new_page()
    page.set_viewport_size({"width": 1280, "height": 900})
    bench = Bench(page, site + PAGE)
    place = "document.querySelector('.main').scrollTop"
    bench.press("PageDown")  # at once, with the focus nowhere
    page.wait_for_function(f"{place} > 600")
    page.wait_for_timeout(300)
    before = page.evaluate(place)
    bench.press("Escape")
    page.reload()
    page.wait_for_selector(".workbench .cm-content")
    assert page.evaluate(place) == pytest.approx(before, abs=10)
    page.goto("about:blank")
    Bench(page, f"{site}{PAGE}#the-traffic-bound")
    assert 0 <= page.locator("#the-traffic-bound h2").bounding_box()["y"] < 100

    # The lines between lesson, code and what is said.
    beside, below = page.locator(".wb-line").all()
    assert beside.is_visible() and not below.is_visible()
    page.click("button[name=predict]")
    lesson, editor = page.locator(".main"), page.locator(".wb-editor")
    wide, high = lesson.bounding_box()["width"], editor.bounding_box()["height"]
    below.focus()
    bench.press("ArrowDown", "ArrowDown")
    assert editor.bounding_box()["height"] == pytest.approx(high + 0.1 * 900, abs=1)
    box = beside.bounding_box()
    page.mouse.move(box["x"] + 2, 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 2 - 128, 300)
    page.mouse.up()
    assert lesson.bounding_box()["width"] == pytest.approx(wide - 128, abs=7)
    assert [beside.get_attribute("aria-valuenow"), below.get_attribute("aria-valuenow")] == ["44", "52"]
    page.reload()
    page.click("button[name=predict]")
    assert lesson.bounding_box()["width"] == pytest.approx(wide - 128, abs=7)
    assert editor.bounding_box()["height"] == pytest.approx(high + 0.1 * 900, abs=1)

    # On a telephone: one row of buttons, which stays below the header.
    page.set_viewport_size({"width": 390, "height": 844})
    page.click("button[name=predict]")
    page.click("button[name=predict]")
    page.wait_for_timeout(300)
    bar = page.locator(".wb-bar").bounding_box()
    assert bar["y"] + bar["height"] <= page.locator(".wb-predict label").first.bounding_box()["y"] < 300
    page.wait_for_function(
        """() => {
            scrollBy(0, 4);
            return Math.abs(document.querySelector(".wb-bar").getBoundingClientRect().top
                - document.querySelector(".mobile-header").getBoundingClientRect().bottom) < 1;
        }"""
    )
    rows = page.eval_on_selector_all(".wb-buttons > :not([hidden])", "all => all.map(one => one.offsetTop)")
    assert len(rows) > 5 and max(rows) - min(rows) < 10 and page.evaluate(OVERFLOWING) == 0


def test_the_editor_completes_finds_and_says_what_python_cannot_read(context: Any, site: str) -> None:
    bench = Bench(context.new_page(), site + PAGE)
    bench.page.wait_for_function(READY)
    bench.write("@triton.jit\ndef kernel(x_ptr):\n    x = ")
    bench.press("Control+End")
    bench.page.keyboard.type("tl.progr")
    bench.page.wait_for_selector(".cm-tooltip-autocomplete [aria-selected]")
    assert "program_id" in bench.page.inner_text(".cm-tooltip-autocomplete [aria-selected]")
    bench.page.wait_for_selector(".cm-completionInfo")
    assert "current program instance" in bench.page.inner_text(".cm-completionInfo")
    bench.page.wait_for_timeout(100)  # CodeMirror takes no key just after it has opened
    bench.press("Enter")
    bench.page.keyboard.type("(0")
    assert bench.text.endswith("x = tl.program_id(0)")  # the bracket was closed
    bench.press("End")
    bench.page.keyboard.type(" +")
    bench.page.wait_for_selector(".cm-lint-marker-error")
    bench.page.keyboard.type(" 1")
    assert bench.page.locator(".cm-lint-marker-error").count() == 0
    bench.press("Control+f")
    bench.page.wait_for_selector(".cm-search")
    assert violations(bench.page, ".workbench") == []


def test_real_keys_reach_the_editor_and_nothing_else_does(context: Any, site: str) -> None:
    """`fill` and its like would not see it: the page has keys of its own, and CodeMirror moves the caret by itself."""
    bench = Bench(context.new_page(), site + PAGE)
    bench.page.wait_for_function(READY)
    bench.write("x = 1")
    bench.page.focus(".wb-editor .cm-content")
    bench.press("Control+End")
    bench.page.keyboard.type(" / 2")
    assert bench.text == "x = 1 / 2"
    cell = bench.page.locator(".run-cell .cm-content").first
    cell.focus()
    before = cell.inner_text()
    bench.press("Control+End", "Tab")
    assert cell.inner_text() == before and "cm-content" not in bench.focused()
    cell.focus()
    bench.press("Control+End")
    bench.page.keyboard.type("/")
    assert cell.inner_text() == f"{before}/"
    wrapped = "y = " + " + ".join(f"offset_{n}" for n in range(30))
    bench.write(wrapped)
    bench.page.focus(".wb-editor .cm-content")
    bench.press("Control+Home", "End")  # of a row, and not of the line
    bench.page.click("button[name=predict]")
    bench.page.wait_for_timeout(500)
    bench.page.keyboard.type("12")
    assert bench.text == wrapped
    assert bench.page.input_value(".wb-predict input") == "12"


def test_what_was_asked_for_is_in_sight(context: Any, site: str) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 600})
    bench = Bench(page, f"{site}puzzles/{RUNGS['p2'].stem}.html")
    bench.write(code("p2_max_starts_at_zero"))
    bench.press("Control+End")
    bench.report(lambda: bench.press("Control+Enter"))
    page.wait_for_timeout(300)
    # The line that is to blame is in the middle, and the report below; the caret is where it was.
    mark, shown = (page.locator(one).bounding_box() for one in (".cm-lint-marker-error", ".wb-editor .cm-scroller"))
    assert mark["y"] + mark["height"] / 2 == pytest.approx(shown["y"] + shown["height"] / 2, abs=12)
    assert 0 < page.locator(".wb-report b").first.bounding_box()["y"] < 600
    page.keyboard.type("# here")
    assert bench.text.endswith("# here")
    page.click(".wb-report a[data-line]")
    assert page.evaluate(ABOVE) == 3
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("button", name="See it happen").click()
    page.wait_for_selector(".wb-step .step-now")
    page.wait_for_timeout(300)
    for selector in (".step-head", ".step-said", ".step-now", ".step-fresh"):
        box = page.locator(f".wb-step {selector}").first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] < 900, selector
    bench.press("Escape")
    bench.checked(code("p2_safe_softmax"))
    for button, selector in (("predict", ".wb-predict label"), ("speed", ".wb-speed p"), ("bug", ".wb-bug h3")):
        page.click(f"button[name={button}]")
        page.wait_for_selector(selector)
        page.wait_for_function("document.querySelector('.workbench').ariaBusy !== 'true'")
        page.wait_for_timeout(300)
        box, bar = page.locator(selector).first.bounding_box(), page.locator(".wb-bar").bounding_box()
        assert bar["y"] + bar["height"] - 1 <= box["y"] < 900, selector


def test_all_drafts_go_into_one_file_and_come_back(alone: Any, site: str, tmp_path: Path) -> None:
    bench = Bench(alone.new_page(), site + PAGE)
    bench.write("mine = 1")
    bench.page.click(".wb-files summary")
    file = saved(bench.page, "button[name=all]", tmp_path / DOWNLOADS).rename(tmp_path / "all.json")
    assert json.loads(file.read_text())["drafts"] == {"p1": "mine = 1"}
    bench.write("other = 2")
    bench.page.on("dialog", lambda dialog: dialog.accept())
    bench.page.set_input_files("input[name=drafts]", file)
    bench.said("The drafts of all.json are back.")
    assert bench.text == "mine = 1"
    for broken in ("{}", "[", '{"drafts": {"p1": 1}, "progress": {}}'):
        (tmp_path / "broken.json").write_text(broken)
        bench.page.set_input_files("input[name=drafts]", tmp_path / "broken.json")
        bench.said("broken.json is no file of all drafts.")
    assert bench.text == "mine = 1"


def test_files_go_out_and_come_back(context: Any, site: str, tmp_path: Path) -> None:
    bench = Bench(context.new_page(), site + PAGE)
    bench.page.wait_for_function(READY)
    for kind in ("py", "ipynb"):
        bench.write(code("p1_naive_softmax"))
        bench.page.click(".wb-files summary")
        menu, bar = (bench.page.locator(one).bounding_box() for one in (".wb-files > div", ".wb-buttons"))
        assert bar["x"] <= menu["x"] and menu["x"] + menu["width"] < bar["x"] + bar["width"] + 1
        file = saved(bench.page, f"button[name={kind}]", tmp_path / DOWNLOADS)
        file = file.rename(tmp_path / file.name)
        assert file.name == f"{places.script(PUZZLE).stem}.{kind}"
        bench.write("gone")
        bench.page.set_input_files(".wb-files input", file)
        bench.said(f"This is {file.name}.")
        assert "tl.exp" in bench.text
    bench.page.set_input_files(".wb-files input", places.solution("p2"))
    bench.said("does not define")
    assert "tl.exp" in bench.text


def test_pictures_and_a_stop(context: Any, site: str) -> None:
    bench = Bench(context.new_page(), f"{site}puzzles/{RUNGS['p2'].stem}.html")
    bench.page.wait_for_function(READY)
    bench.write(code("p1_nested_tuples").replace("naive", "safe"))
    bench.page.click("button[name=check]")
    bench.page.click("button[name=stop]")
    bench.said("Stopped.")
    assert bench.focused() == "check"
    bench.write(code("p2_safe_softmax"))
    bench.page.click("button[name=trace]")
    picture = bench.page.wait_for_selector(".wb-pictures svg")
    assert "reads per element: x 3" in picture.eval_on_selector("desc", "one => one.textContent")
    assert bench.page.evaluate(SMALLEST, ".wb-pictures text") > 9.99
    bench.page.get_by_role("button", name="In full width").click()
    assert bench.page.evaluate(SMALLEST, ".wb-wide text") > 12  # of a window of 1280 pixels
    bench.press("Escape")
    bench.page.wait_for_selector(".wb-pictures > svg")
