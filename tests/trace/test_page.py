"""The page that steps through a kernel, in a real browser: what its keys and buttons do, and for whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checker.trace.page import framed, page
from checker.trace.stepped import Asked, data_of
from tests import browsers
from tests.browsers import picture, violations
from tests.trace.test_stepped import ASKED, outcome

Opened = Callable[..., Any]


@pytest.fixture(scope="module", params=["chromium", "firefox"])
def browser(request: pytest.FixtureRequest) -> Iterator[Any]:
    with browsers.browser(request.param) as started:
        yield started


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Opens the page on a kernel; whatever goes wrong in it fails the test."""
    faults: list[str] = []

    def open_page(name: str, asked: Asked = ASKED, *, wide: int = 1280, high: int = 900, scheme: str = "light") -> Any:
        found = data_of(outcome(name), asked)
        assert found is not None
        (tmp_path / "page.html").write_text(page(found), encoding="utf-8")
        shown = browser.new_page(viewport={"width": wide, "height": high}, color_scheme=scheme)
        shown.on("pageerror", lambda error: faults.append(str(error)))
        shown.on("request", lambda one: one.url.startswith("file:") or faults.append(one.url))
        shown.goto((tmp_path / "page.html").as_uri())
        shown.wait_for_selector(".step-now")
        return shown

    yield open_page
    assert faults == []


def at(shown: Any) -> tuple[int, int]:
    """The step that is shown, and how many there are."""
    here, _, every = shown.inner_text(".step-count").partition(" of ")
    return int(here), int(every)


def line(shown: Any) -> str:
    text: str = shown.inner_text(".step-now")
    return text


def cards(shown: Any) -> dict[str, str]:
    """What is said of each name."""
    told = shown.locator(".step-card > div:first-child").all_inner_texts()
    return {name: rest for name, _, rest in (one.removeprefix("● ").partition(" ") for one in told)}


def unfold(shown: Any) -> None:
    """Show the names that are not in the line."""
    shown.get_by_text("Other names").click()
    shown.wait_for_selector(".step-names > details .step-card")


def test_keys_go_forwards_and_backwards(opened: Opened) -> None:
    shown = opened("p3")
    assert at(shown) == (1, 53) and "def online_softmax_kernel" in line(shown)
    for key, step in (
        ("ArrowRight", 2),
        ("ArrowRight", 3),
        ("ArrowLeft", 2),
        ("End", 53),
        ("ArrowRight", 53),
        ("Home", 1),
    ):
        shown.keyboard.press(key)
        assert at(shown)[0] == step
    shown.keyboard.press("s")
    assert "tl.store(" in line(shown) and "stores 16 elements of y" in shown.inner_text(".step-said")
    shown.keyboard.press("Home")
    shown.keyboard.press("Shift+ArrowRight")
    assert "for start in" in line(shown) and cards(shown)["start"] == "int32 0"
    shown.keyboard.press("Shift+ArrowRight")
    assert cards(shown)["start"] == "int32 16"
    shown.keyboard.press("Shift+ArrowLeft")
    assert cards(shown)["start"] == "int32 0"


def test_buttons_and_the_slider_do_the_same(opened: Opened) -> None:
    shown = opened("p3")
    shown.get_by_role("button", name="Step ▶").click()
    assert at(shown)[0] == 2
    shown.get_by_role("button", name="Next iteration").click()
    assert "for start in" in line(shown)
    shown.get_by_role("button", name="Next store").click()
    assert "tl.store(" in line(shown)
    slider = shown.get_by_role("slider")
    slider.fill("10")
    assert at(shown)[0] == 10 and slider.get_attribute("aria-valuetext") == shown.inner_text(".step-said")
    slider.press("ArrowRight")
    assert at(shown)[0] == 11
    shown.locator(".step-line", has_text="m = m_new").click()
    assert line(shown).strip().endswith("m = m_new")


def test_it_steps_by_itself_until_the_end(opened: Opened) -> None:
    shown = opened("w1")
    shown.keyboard.press("End")
    shown.keyboard.press("ArrowLeft")
    shown.get_by_role("button", name="Play").click()
    shown.wait_for_function("document.querySelector('.step-count').textContent.startsWith('7 of 7')")
    shown.get_by_role("button", name="Play").wait_for()  # and not Pause: it has ended


def test_names_of_the_line_come_first_and_what_it_has_changed_is_marked(opened: Opened) -> None:
    shown = opened("p6")
    shown.locator(".step-line", has_text="alpha = tl.exp(mi - shift)").click()
    first = shown.locator(".step-cards").first.locator(".step-card > div:first-child").all_inner_texts()
    assert next(one.split()[:2] for one in first) == ["●", "alpha"]
    assert {one.removeprefix("● ").split()[0] for one in first} == {"alpha", "mi", "shift"}
    assert cards(shown)["mi"] == "16 fp32: all −∞"
    assert shown.locator(".step-fresh").count() == 1


def test_numbers_are_there_on_demand_and_stay_unfolded(opened: Opened) -> None:
    shown = opened("p4")
    shown.locator(".step-line", has_text="x = tl.load").first.click()
    card = shown.locator(".step-card", has=shown.locator("b", has_text="x")).filter(has=shown.locator("canvas")).first
    card.locator("summary").click()
    shown.wait_for_selector(".step-scroll td")
    cells = shown.locator(".step-scroll td").all_inner_texts()
    assert len(cells) > 16 and all(any(sign.isdigit() or sign == "∞" for sign in cell) for cell in cells)
    shown.keyboard.press("ArrowRight")
    shown.wait_for_selector(".step-scroll td")


def test_another_program_and_another_kernel(opened: Opened) -> None:
    shown = opened("p7")
    shown.get_by_role("combobox", name="Kernel").select_option(label="dq_kernel")
    assert "def dq_kernel" in line(shown)
    shown.get_by_role("combobox", name="Program").select_option(label="program 2")
    for _ in range(3):
        shown.keyboard.press("ArrowRight")
    unfold(shown)
    assert cards(shown)["start_q"] == "int32 32"


def test_a_wrong_element_is_shown_where_it_is_stored(opened: Opened) -> None:
    shown = opened("p4_padding_counted", wide=390, scheme="dark")
    assert "partly right: The padding is counted in the sum" in shown.inner_text(".step-head")
    assert "loads" in shown.inner_text(".step-said")  # where it first differs
    shown.get_by_role("button", name="To the wrong store").click()
    assert "stores" in shown.inner_text(".step-said")
    assert "y ◂ stored" in shown.inner_text(".step-tensors")
    picture(shown, "step-wrong-phone-dark")


def test_what_stopped_it_is_said(opened: Opened) -> None:
    shown = opened("p1_no_store_mask")
    assert "It stopped in line" in shown.inner_text(".step-said") and at(shown)[0] == at(shown)[1]


def test_what_is_stored_is_shown_beside_what_was_expected(opened: Opened) -> None:
    shown = opened("p4_padding_counted")
    assert "in the solution it is" in shown.inner_text(".step-example") and "tl.load(" in line(shown)
    shown.get_by_role("button", name="To the wrong store").click()
    assert shown.locator(".step-card").first.inner_text().startswith("● what is stored in y 8 × 16 fp32")
    assert "tl.store(" in line(shown)


def test_a_number_says_what_it_was_and_a_head_what_came_of_it(opened: Opened) -> None:
    shown = opened("p3")
    for _ in range(3):
        shown.keyboard.press("Shift+ArrowRight")
    assert "before: 0, 16" in shown.locator(".step-card", has_text="start").first.inner_text()
    unfold(shown)
    old = shown.locator(".step-card", has_text="m_new").inner_text()
    assert "from the last iteration" in old
    while "the loop ends" not in shown.inner_text(".step-said"):
        shown.keyboard.press("ArrowRight")
    assert "for start in" in line(shown)
    causal = opened("p6")
    causal.locator(".step-line", has_text="if CAUSAL:").first.click()
    assert causal.inner_text(".step-said").endswith("this is true.")
    full = opened("p6", Asked(size="two by two tiles"))
    full.locator(".step-line", has_text="if CAUSAL:").first.click()
    assert full.inner_text(".step-said").endswith("this is false.")
    assert full.locator(".step-never").count() == 2


def test_choices_leave_the_keys_to_the_steps_and_each_program_where_it_was(opened: Opened) -> None:
    shown = opened("p3")
    for _ in range(4):
        shown.keyboard.press("ArrowRight")
    programs = shown.get_by_role("combobox", name="Program")
    box = programs.bounding_box()
    shown.mouse.click(box["x"] + 5, box["y"] + 5)
    programs.select_option(label="program 2")
    shown.keyboard.press("Escape")
    shown.keyboard.press("ArrowRight")
    assert programs.input_value() == "2" and at(shown)[0] == 2
    programs.select_option(label="program 0")
    assert at(shown)[0] == 5


def test_the_focus_stays_on_a_card_and_arrows_inside_its_numbers_scroll(opened: Opened) -> None:
    shown = opened("p3")
    shown.locator(".step-line", has_text="mask = start").first.click()
    shown.locator(".step-card", has_text="mask").locator("summary").focus()
    shown.keyboard.press("ArrowRight")
    assert shown.evaluate("document.activeElement.closest('.step-card').dataset.name") == "mask"
    assert "x = tl.load(" in line(shown)  # it went one step
    shown.keyboard.press("Enter")
    shown.wait_for_selector(".step-scroll")
    shown.locator(".step-scroll").first.focus()
    before = at(shown)
    shown.keyboard.press("ArrowRight")
    assert at(shown) == before


def test_what_can_be_done_no_more_says_so_and_a_key_stops_what_goes_by_itself(opened: Opened) -> None:
    shown = opened("w1")
    button = shown.get_by_role("button", name="Step ▶")
    assert button.get_attribute("aria-disabled") == "false"
    shown.keyboard.press("End")
    assert button.get_attribute("aria-disabled") == "true"
    shown.keyboard.press("Home")
    shown.get_by_role("button", name="Play").click()
    shown.wait_for_function("document.querySelector('.step-count').textContent.startsWith('3 of')")
    shown.keyboard.press("ArrowLeft")
    shown.get_by_role("button", name="Play").wait_for()
    assert at(shown)[0] in (2, 3)


def test_a_cell_says_its_index_and_its_number(opened: Opened) -> None:
    shown = opened("p3")
    shown.locator(".step-line", has_text="cols = tl.arange").click()
    canvas = shown.locator(".step-card canvas").first
    canvas.hover(position={"x": 5, "y": 5})
    assert canvas.get_attribute("title") == "cols[0] = 0"


def test_a_kernel_that_is_wrong_is_marked_and_few_programs_are_counted(opened: Opened) -> None:
    shown = opened("p7_mask_forgotten_in_dq")
    kernels = shown.get_by_role("combobox", name="Kernel").locator("option").all_inner_texts()
    assert kernels == ["delta_kernel", "dk_dv_kernel", "dq_kernel ✗"]
    assert "8 of 12 programs" in opened("b3").inner_text(".step-choices")


@pytest.mark.parametrize(("wide", "high"), [(1366, 768), (390, 844)])
@pytest.mark.parametrize("name", ["p3_not_rescaled", "p6_accumulator_not_rescaled"])
def test_the_mistake_and_the_solutions_value_are_in_sight(opened: Opened, name: str, wide: int, high: int) -> None:
    shown, differs = opened(name, wide=wide, high=high), outcome(name).verdict.findings[0].differs
    card = shown.locator(".step-card").first
    assert differs is not None and f"● {differs.name} " in card.inner_text()
    assert card.locator(".step-right").inner_text().endswith(f"the solution has {differs.right}")
    assert "the solution has the same" in shown.locator(".step-cards").first.inner_text()
    mistake, store = (shown.get_by_role("button", name=f"To the {what}") for what in ("mistake", "wrong store"))
    for one in (shown.locator(".step-now"), card.locator(".step-right"), mistake, store, *card.locator("canvas").all()):
        box = one.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= high, one
    assert wide < 800 or shown.evaluate("document.documentElement.scrollHeight") == high
    begun = at(shown)
    store.click()
    assert at(shown) > begun and "; the solution has " in shown.locator(".step-card").first.inner_text()
    mistake.click()
    assert at(shown) == begun
    picture(shown, f"{name}-{wide}")


def test_other_names_are_unfolded_by_a_key_and_stay_so(opened: Opened) -> None:
    shown = opened("p3")
    shown.keyboard.press("Shift+ArrowRight")
    others = shown.locator(".step-names > details")
    assert "x_ptr" not in cards(shown) and not others.locator(".step-card").count()
    others.locator("summary").first.focus()
    shown.keyboard.press("Enter")
    others.locator(".step-card").first.wait_for()
    assert "x_ptr" in cards(shown)
    shown.keyboard.press("ArrowRight")
    assert line(shown).endswith("< n_cols") and others.locator(".step-card").count()
    assert shown.evaluate("document.activeElement.textContent") == "Other names"


@pytest.mark.parametrize("name", ["p3", "p6", "p7", "b3"])
@pytest.mark.parametrize("wide", [390, 820, 1920])
def test_no_page_is_wider_than_its_window(opened: Opened, name: str, wide: int) -> None:
    shown = opened(name, wide=wide)
    for key in ("Home", "s", "End"):
        shown.keyboard.press(key)
        assert shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "key"), [("p6", "Shift+ArrowRight"), ("p6_accumulator_not_rescaled", "Shift")])
def test_nobody_is_kept_out(opened: Opened, name: str, key: str, scheme: str) -> None:
    shown = opened(name, scheme=scheme)
    shown.keyboard.press(key)
    assert violations(shown, "main") == []
    assert shown.get_by_role("status").inner_text().startswith("Line ")
    assert shown.locator("canvas:not([aria-label])").count() == 0


def test_in_a_frame_it_takes_the_themes_side(browser: Any) -> None:
    found = data_of(outcome("w1"), ASKED)
    assert found is not None
    shown = browser.new_page(color_scheme="light")
    shown.set_content(f'<body data-jp-theme-light="false">{framed(found)}</body>')
    frame = shown.frame_locator("iframe")
    frame.locator(".step-now").wait_for()
    assert frame.locator("html").evaluate("one => getComputedStyle(one).colorScheme") == "dark"
    frame.get_by_role("button", name="Step ▶").click()
    assert frame.locator(".step-count").inner_text().startswith("2 of")
