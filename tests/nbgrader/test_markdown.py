"""Students' Markdown on nbgrader's own pages: no more than words and formulas, whatever is tried."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.browsers import blank_page
from tests.conftest import importable

LINK = r"\href{javascript:window.ran=1}{x}"
SCRIPT = "<script>window.ran=1</script>"
ATTACKS = [
    SCRIPT,
    "<img src=x onerror=window.ran=1>\n\n<svg onload=window.ran=1>\n\n</div></div><iframe src='javascript:ran=1'>",
    f"</span></code></pre>{SCRIPT}\n\n&lt;script&gt;window.ran=1&lt;/script&gt;<b\n\n>",
    "[a](javascript:window.ran=1) [b](http://a.org) ![c](http://a.org/c.png) <http://a.org> http://a.org",
    "[a][1]\n\n[1]: javascript:window.ran=1\n\n![x](x.svg)",
    f"```html\n{SCRIPT}\n```\n\n    {SCRIPT}\n\n`{SCRIPT}`\n\n{SCRIPT}",
    f"```mermaid\ngraph TD; a-->b; click a call alert()\n```\n\n~~~{{=html}}\n{SCRIPT}\n~~~\n{SCRIPT}",
    f"| <b>a</b> | b |\n|-|-|\n| [x](javascript:window.ran=1) | {SCRIPT} |",
    rf"${LINK}$ $ {LINK} $ 1${LINK}$2 $${LINK}$$ \({LINK}\) \\({LINK}\\) \\[{LINK}\\]",
    rf"\begin{{align}}{LINK}\end{{align}} \begin{{equation}}{LINK}\end{{equation}}",
    rf"**a $** {LINK} **$** `$` {LINK} `$` a $x `$ {LINK}$` $",
    rf"$ {LINK} $" + f"\n\n| $ | {LINK} $ |\n|-|-|\n| $$ | {LINK} $$ |\n\n> $\n{LINK}\n> $\n\n- ${LINK}\n- $",
    rf"$\def\x{{{LINK}}}\x$ $\require{{html}}\unicode{{60}}$ $\text{{${LINK}$}}$ $\begin{{array}}{LINK}\end{{array}}$",
    r"$\style{position:fixed}{x}$ $\class{a}{x}$ $\cssId{a}{x}$ \ref{x}",
    r"$\begin{aligned}a\\[-99em]b\end{aligned}$ $\!\!\!x$",
]
ELEMENTS = {
    *("div", "p", "span", "em", "strong", "s", "code", "pre", "br", "hr", "blockquote", "ol", "ul", "li"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "table", "thead", "tbody", "tr", "th", "td"),
}
ATTRIBUTES = {("ol", "start"), ("th", "style"), ("td", "style")}
FORBIDDEN = re.compile(r"\\(href|def|require|unicode|style|class|cssId|ref|!|\\\[)")


def inert(text: str) -> str:
    module = importable("checker.nbgrader.markdown")  # where nbgrader is
    return str(module.inert(text))


class Elements(HTMLParser):
    """Elements of a page, and texts in which MathJax may find formulas: those of one element, where no code is."""

    def __init__(self, page: str):
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = [""]
        self.codes = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.codes += tag in ("code", "pre")
        if tag not in ("br", "wbr"):  # over these MathJax reads on
            self.texts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.codes -= tag in ("code", "pre")
        self.texts.append("")

    def handle_data(self, data: str) -> None:
        if not self.codes:
            self.texts[-1] += data


CELL = '<div class="text_cell_render border-box-sizing rendered_html">'


def page_of(answers: Iterable[str]) -> str:
    """nbgrader's feedback on a notebook of these cells."""
    from nbconvert import HTMLExporter
    from nbformat.v4 import new_markdown_cell, new_notebook
    from nbgrader.converters import GenerateFeedback
    from nbgrader.coursedir import CourseDirectory

    exporter = HTMLExporter(config=GenerateFeedback(coursedir=CourseDirectory()).config)
    grades = {"notebook": "x", "score": 1.0, "max_score": 1.0, "late_penalty": 0}
    notebook = new_notebook(cells=[new_markdown_cell(answer) for answer in answers])
    return str(exporter.from_notebook_node(notebook, resources={"nbgrader": grades})[0])


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """All attacks on one page: as they were typed, and as they are shown."""
    return {"typed": page_of(ATTACKS), "shown": page_of(map(inert, ATTACKS))}


def is_harmless(part: str) -> bool:
    """Whether a part of a page has known elements only, and formulas of known commands."""
    page = Elements(part)
    attributes = {(tag, name) for tag, attributes in page.elements for name in attributes}
    formulas = [text for text in page.texts if re.search(r"\$.|\\.", text, re.DOTALL)]
    return (
        {tag for tag, _ in page.elements} <= ELEMENTS
        and attributes <= ATTRIBUTES
        and not any(FORBIDDEN.search(text) for text in formulas)
    )


def test_there_is_nothing_but_words_and_known_formulas(pages: dict[str, str]) -> None:
    """And every attack would do something else, were it shown as it was typed."""
    for name, harmless in (("shown", True), ("typed", False)):
        parts = [part.partition('<div class="cell ')[0] for part in pages[name].split(CELL)[1:]]
        assert len(parts) == len(ATTACKS)
        for attack, part in zip(ATTACKS, parts, strict=True):
            part = re.sub(r"(\s*</div>){3}\s*\Z", "", part.rpartition("</body>")[0] or part)  # the page's own
            assert is_harmless(part) == harmless, (attack, part)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with blank_page() as page:
        page.route("**", lambda route: route.abort() if route.request.url.startswith("http") else route.continue_())
        yield page


def test_no_script_runs(browser: Any, pages: dict[str, str], tmp_path: Path) -> None:
    for name in ("typed", "shown"):
        path = tmp_path / f"{name}.html"
        path.write_text(pages[name])
        browser.goto(path.as_uri())
        for link in browser.locator("a[href^=javascript]").all():
            link.evaluate("one => one.click()")
        assert browser.evaluate("window.ran") == (1 if name == "typed" else None)
    assert "onerror" in browser.inner_text("body")  # it is shown


MARKDOWN = r"""
# Why

The sum *overflows*, because $e^{89} > 3.4 \cdot 10^{38}$:

1. `exp` of **large** numbers
2. costs 5\$, and ~~7$~~

$$
\frac{e^{x_i - m}}{\sum_j e^{x_j - m}}
$$

\begin{align}
a &= \max_j x_j \\
b &< c
\end{align}

| n | time |
|--:|------|
| 1 | 2 ms |

```python
a = x[1:2]


b = "$x$"
```
"""


def test_honest_markdown_is_rendered(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "honest.html"
    path.write_text(page_of([inert(MARKDOWN)]))
    browser.goto(path.as_uri())
    browser.set_default_timeout(5_000)
    cell = browser.locator(".text_cell_render")
    for element, text in (
        ("h1", "Why"),
        ("em", "overflows"),
        ("ol li:nth-child(1) code", "exp"),
        ("s", "7$"),
        ("p > span >> nth=0", r"$e^{89} > 3.4 \cdot 10^{38}$"),
        ("p > span >> nth=1", r"$$\frac{e^{x_i - m}}{\sum_j e^{x_j - m}}$$"),
        ("p > span >> nth=2", "\\begin{align}\na &= \\max_j x_j \\\\\nb &< c\n\\end{align}"),
        ("tbody td >> nth=1", "2 ms"),
        ("pre", 'a = x[1:2]\n\n\nb = "$x$"\n'),
    ):
        assert cell.locator(element).first.text_content() == text
