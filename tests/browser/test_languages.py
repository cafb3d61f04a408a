"""The site in Chinese, in a real browser: the tab, and the way from one language to the other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.course.ladder import RUNGS
from tests.browser.test_site import PAGE, Bench, code, served
from tests.browsers import browser, violations
from tests.kernels import named

READY = "Python 就绪。"
CHINESE = re.compile("[\u4e00-\u9fff]")
CHOSEN = "localStorage.getItem('flash-puzzles:language')"
# The marks after a formula that begin a line, and the signs in drawings that do not take two columns.
BEGUN = """() => [...document.querySelectorAll("article :is(p, li) math")].map((math) => {
  const range = document.createRange(), text = math.nextSibling;
  if (!/^[，。；：、）]/.test(text?.data ?? "")) return "";
  range.setStart(text, 0), range.setEnd(text, 1);
  const [mark, formula] = [range, math].map((one) => one.getBoundingClientRect());
  return mark.left < formula.right - 1 ? math.closest("p, li").innerText : "";
}).filter(Boolean)"""
NARROW = """() => [...document.querySelectorAll(".highlight-text pre")].flatMap((pre) => {
  const ruler = pre.appendChild(document.createElement("span"));
  ruler.textContent = "00";
  const two = ruler.getBoundingClientRect().width;
  return [...pre.innerText.matchAll(/[\u2e80-\u9fff\uff00-\uffef]/gu)].length === pre.querySelectorAll(".wide").length
    ? [...pre.querySelectorAll(".wide")].filter((sign) => Math.abs(sign.getBoundingClientRect().width - two) > 0.1)
    : [pre];
}).map((found) => found.innerText)"""
OVERFLOWING = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def site(built_site: Path) -> Iterator[str]:
    with served(built_site) as address:
        yield address


@pytest.fixture(params=["chromium", "firefox"])
def page(request: pytest.FixtureRequest) -> Iterator[Any]:
    with browser(request.param) as started:
        context = started.new_context(viewport={"width": 1280, "height": 1000}, reduced_motion="reduce")
        context.set_default_timeout(60_000)
        yield context.new_page()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with browser() as started:
        yield started


def test_the_tab_speaks_chinese(page: Any, site: str) -> None:
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(f"{site}zh/index.html")
    page.wait_for_function("navigator.serviceWorker.controller !== null")  # whose answers have other addresses
    bench = Bench(page, f"{site}zh/{PAGE}")
    page.get_by_text(READY).wait_for()
    assert page.inner_text("button[name=check]") == "检查"
    bench.write(code("p1_padding_loaded_as_zero"))
    page.click("button[name=check]")
    bench.said("还没有通过。")
    report = page.inner_text(".wb-report")
    [finding] = named("p1_padding_loaded_as_zero").findings
    assert f"[{finding}]" in report and CHINESE.search(report.split(f"[{finding}]")[0])
    page.click("button[name=hint]")
    page.wait_for_selector(".wb-told:not([hidden])")
    assert CHINESE.search(page.inner_text(".wb-told"))
    page.get_by_role("button", name="逐行看它怎样出错").click()
    page.wait_for_selector(".wb-step .step-now")
    assert page.inner_text(".step-said").startswith("第 ")
    assert "怎么看" in page.inner_text(".wb-step")
    page.get_by_role("button", name="回到代码").click()
    bench.write(code("p1_naive_softmax"))
    page.click("button[name=check]")
    bench.said("通过。报告在下面。")
    page.click("button[name=predict]")
    bench.press("2", "Enter")
    page.wait_for_selector(".wb-answers p")
    page.click("button[name=trace]")
    assert "分块随时间的变化" in page.wait_for_selector(".wb-pictures svg").inner_html()
    assert violations(page, ".workbench") == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate(OVERFLOWING) == 0
    # What was reached here is there in English, too.
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.click("a.language:visible")
    page.wait_for_url(f"{site}{PAGE}")
    page.wait_for_selector("a.wb-solution:visible")
    assert "tl.exp" in page.inner_text(".wb-editor") and faults == []


@pytest.mark.parametrize("width", [390, 1440])
def test_no_line_begins_with_a_mark_and_drawings_keep_their_columns(chromium: Any, site: str, width: int) -> None:
    page = chromium.new_page(viewport={"width": width, "height": 900})
    for puzzle_id in ("p1", "p3", "p6"):
        page.goto(f"{site}zh/puzzles/{RUNGS[puzzle_id].stem}.html")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert page.locator(".wide").count() > 9
        assert page.evaluate(BEGUN) == []
        assert page.evaluate(NARROW) == []
    page.close()


def test_an_english_page_loads_nothing_of_another_language_or_puzzle(chromium: Any, site: str) -> None:
    page, asked = chromium.new_page(), list[str]()
    page.route(re.compile("sw[.]js"), lambda route: route.abort())
    page.on("request", lambda request: asked.append(request.url))
    Bench(page, site + PAGE)
    page.get_by_text("Python is ready.").wait_for(timeout=60_000)
    archives = [url.removeprefix(site) for url in asked if url.startswith(f"{site}checker")]
    assert sorted(archives) == ["checker-p1.zip", "checker.zip"] and not [url for url in asked if "zh" in url]


def test_who_has_chosen_a_language_is_led_to_it_from_the_front_page_alone(chromium: Any, site: str) -> None:
    page = chromium.new_context(locale="en-US").new_page()
    page.goto(site)
    page.click("a.language:visible")
    page.wait_for_url(f"{site}zh/index.html")
    page.goto(f"{site}index.html")
    page.wait_for_url(f"{site}zh/index.html")
    page.goto(site + PAGE)
    page.wait_for_selector(".workbench .cm-content")
    assert page.url == site + PAGE
    page.goto(f"{site}puzzles/{RUNGS['w2'].stem}.html")
    page.click("a.language:visible")  # of what there is in English alone, to the front page
    page.wait_for_url(f"{site}zh/index.html")
    page.click("a.language:visible")
    page.wait_for_url(f"{site}index.html")
    page.goto(f"{site}zh/index.html")  # a link to the other front page means it
    page.wait_for_selector("#go-on")
    page.wait_for_timeout(300)
    assert page.url == f"{site}zh/index.html"


def test_a_browser_whose_language_is_chinese_begins_there_until_it_says_otherwise(chromium: Any, site: str) -> None:
    page = chromium.new_context(locale="zh-CN").new_page()
    page.goto(site)
    page.wait_for_url(f"{site}zh/index.html")
    assert page.evaluate(CHOSEN) is None
    page.click("a.language:visible")
    page.wait_for_url(f"{site}index.html")
    page.reload()
    page.wait_for_selector("#go-on")
    page.wait_for_timeout(300)
    assert page.url == f"{site}index.html" and page.evaluate(CHOSEN) == "en"


def test_without_scripts_the_way_is_a_link(chromium: Any, site: str) -> None:
    page = chromium.new_context(java_script_enabled=False, locale="zh-CN").new_page()
    page.goto(site + PAGE)
    page.click("a.language:visible")
    page.wait_for_url(f"{site}zh/{PAGE}")


def test_a_search_in_chinese_finds_what_is_written(chromium: Any, site: str) -> None:
    page, faults = chromium.new_page(), list[str]()
    page.on("pageerror", lambda error: faults.append(str(error)))
    for query in ("softmax", "访存", "误差", "在线 softmax", "全局内存里"):  # only softmax stands between spaces
        page.goto(f"{site}zh/search.html?q={query}")
        page.wait_for_selector("#search-results li a")
    page.goto(f"{site}zh/search.html?q=天气预报")
    page.wait_for_selector("text=没有匹配到文档")
    assert faults == []
