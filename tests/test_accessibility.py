"""Reports for those who see little, use no mouse, or read on a telephone: in a real browser, looked at by axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from checker.course.verdict import Verdict
from checker.report.html import html
from tests.browsers import blank_page, violations
from tests.conftest import ROOT, check_kernel, check_path
from tests.kernels import named

THEMES = {"light": ("white", "#333"), "dark": ("#111", "#ddd")}
NBGRADERS = """body { font-size: 14px } summary, pre { display: block } td, th { white-space: nowrap; padding: 0 }"""
REPORTS = {
    "partly right": "p1_padding_loaded_as_zero",
    "with a map": "p4_padding_counted",
    "too much traffic": "p3_three_sweeps",
    "accepted": "p7_causal_backward",
    "forbidden": "p1_network",
}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    stub = check_path(ROOT / "puzzles" / "p1_naive_softmax.py")
    return {"not started": stub, **{name: check_kernel(named(kernel)) for name, kernel in REPORTS.items()}}


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with blank_page() as page:
        yield page


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_wrong_with_a_report(page: Any, verdicts: dict[str, Verdict], theme: str, width: int) -> None:
    back, text = THEMES[theme]
    page.set_viewport_size({"width": width, "height": 900})
    for name, verdict in verdicts.items():
        page.set_content(
            f"<html lang='en'><head><title>x</title><style>{NBGRADERS}</style></head>"
            f"<body style='background:{back};color:{text}'><main><h1>x</h1>{html(verdict)}</main></body></html>"
        )
        page.eval_on_selector_all("details", "all => all.forEach(one => one.open = true)")
        assert violations(page, "main") == [], name
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert all(page.eval_on_selector_all("pre", "all => all.map(one => one.tabIndex == 0)"))
        shown = page.eval_on_selector_all("summary", "all => all.map(one => getComputedStyle(one).display)")
        assert set(shown) <= {"list-item"}, name  # else it has no triangle
    assert verdicts["with a map"].findings[0].error_map is not None
