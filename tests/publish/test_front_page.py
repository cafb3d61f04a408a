"""The front page with its scripts: how far one is, and a picture that can be stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.course import ladder
from tests import browsers
from tests.browser.test_site import served
from tests.browsers import violations

SOLVED = """ids => ids.forEach(id => localStorage.setItem(`flash-puzzles:progress:${id}`, `puzzle ${id}: solved`))"""
OVERFLOWING = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
STOPS = ".picture-stops"


@pytest.fixture(scope="module")
def address(built_site: Path) -> Iterator[str]:
    with served(built_site) as address:
        yield address


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    with browsers.browser(request.param) as started:
        yield started


def opened(browser: Any, address: str, solved: tuple[str, ...] = (), **how: Any) -> Any:
    """The front page as somebody sees it who has solved some puzzles."""
    page = browser.new_page(**how)
    page.goto(address)
    page.evaluate(SOLVED, solved)
    page.reload()
    page.wait_for_selector(STOPS, state="attached")
    return page


def test_it_says_how_far_one_is_and_leads_on(browser: Any, address: str) -> None:
    page = opened(browser, address)
    assert (page.inner_text("#go-on"), page.inner_text("#how-far")) == ("Start with w1", "")
    for solved, ahead in ((("w1",), "p1"), (ladder.SPINE, "b1")):  # the main path first; b1, for c1 needs PyTorch
        page = opened(browser, address, solved)
        assert page.inner_text("#go-on") == f"Go on with {ahead}"
        page.goto(f"{address}puzzles/{ladder.RUNGS[solved[-1]].stem}.html")
        page.wait_for_selector(".wb-next")
        links = [page.locator(one) for one in (".wb-next", "a.next-page")]
        assert all(f"/{ahead}_" in f"/{one.get_attribute('href')}" and ahead in one.inner_text() for one in links)
    page = opened(browser, address, ("w1", "p1", "p2"))
    assert (page.inner_text("#go-on"), page.inner_text("#how-far")) == ("Go on with p3", "3 of 15 solved here")
    page.click("#go-on")
    page.wait_for_url("**/puzzles/p3_*.html")


def test_the_picture_can_be_stopped(browser: Any, address: str) -> None:
    page = opened(browser, address, reduced_motion="no-preference")
    picture = page.locator("img[src*=at_work]")
    ends = {"Stop": "at_work.svg", "Play": "at_work.svg#still"}
    for said in ("Stop", "Play", "Stop"):
        assert page.inner_text(STOPS) == said
        assert picture.get_attribute("src").endswith(ends[said])
        page.click(STOPS)
    calm = opened(browser, address, reduced_motion="reduce")
    assert calm.locator("img[src*=at_work]").get_attribute("src").endswith("#still")
    assert not calm.is_visible(STOPS)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_it_has_room_on_every_screen(browser: Any, address: str, width: int, theme: str) -> None:
    page = opened(browser, address, ("w1",), viewport={"width": width, "height": 1000}, color_scheme=theme)
    assert page.evaluate(OVERFLOWING) == 0
    assert violations(page, "body") == []
    first, beside = (page.locator(f"article li[data-puzzle={id}]").bounding_box() for id in ("p5", "a2"))
    assert (beside["x"] >= first["x"] + first["width"]) == (width >= 1280)  # beside the spine, as far as there is room
