"""Sphinx's settings for the site, and what the pages need beyond its theme. `make site` builds them."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from rich.cells import cell_len
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

from checker.browser.words import BUTTONS
from checker.course import translation
from checker.course.columns import WIDE
from checker.course.language import CHINESE, ENGLISH, LANGUAGES, spoken
from checker.publish.site.lessons import TOP
from checker.publish.site.pages import TITLE
from checker.report.translated import said
from checker.trace.page import LANGUAGE, PARTS, sentences

project = TITLE
html_title = said(TITLE)
language = {CHINESE: "zh_CN"}.get(spoken(), spoken())  # what Sphinx calls it
html_theme = "furo"
html_favicon = "app/icon.svg"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 3
myst_url_schemes = ["http", "https", "mailto", TOP.partition(":")[0]]
html_search_language = "pairs"  # `Search`, below
highlight_language = "text"  # of a block that names none: the drawings of the lessons
templates_path = ["templates"]
html_math_renderer = "mathml"
html_permalinks = False
html_use_index = False
pygments_dark_style = "a11y-dark"
html_copy_source = html_show_sourcelink = html_show_copyright = False

# Wider than a narrow screen, they scroll: then one has to be able to reach them without a mouse.
SCROLLING = re.compile(r'<div class="(?:table|math)-wrapper[^>]*>')
BLOCK = re.compile(r'(<div class="highlight-(\w+)[^>]*><div class="highlight"><pre)>(.*?)\n?</pre>', re.DOTALL)

# A formula with the marks after it: browsers would begin a line with these.
MARKED = re.compile(r"[(（]?<math\b(?:(?!</math>).)*</math>[])）,.;:!?，。；：、！？]+", re.DOTALL)

# What the theme says in English whatever the language is.
THEME = (
    *("Toggle site navigation sidebar", "Toggle table of contents sidebar", "Toggle Light / Dark / Auto color theme"),
    *(
        "Skip to content",
        "Back to top",
        "On this page",
        "Next",
        "Previous",
        "Home",
        "Contents",
        "Menu",
        "Expand",
        "Light mode",
        "Dark mode",
    ),
    *("Auto light/dark, in light mode", "Auto light/dark, in dark mode"),
)
OF_THEME = re.compile(rf'([">]\s*)({"|".join(THEME)})(?=\s*["<])')

GATE = """
<div class="solution-gate">
<p>{shut}</p>
<p><button type="button">{anyway}</button></p>
<noscript><p>{without}</p></noscript>
</div>
<div class="solution" data-puzzle="{puzzle}" hidden>
"""
SHUT = 'The solution opens once <a href="../puzzles/{stem}.html">yours</a> is accepted.'


def mathml(tex: str, on_its_own: bool) -> str:
    """A formula as browsers draw it by themselves, with the space that log l needs and log(l) does not. MathError."""
    drawn = tex2mathml(tex, as_block=on_its_own).replace(r"\_", "_")
    return re.sub(r"<mo>(&ApplyFunction;</mo>\s*<(?!mo))", r'<mo rspace="0.17em">\1', drawn)


def formula(self: Any, node: nodes.math) -> None:
    """Write a formula between words. In a table's cell, which may be narrow, it can be broken before an equals sign."""
    parts = re.split(" (?== )", node.astext()) if isinstance(node.parent.parent, nodes.entry) else [node.astext()]
    self.body.append(" ".join(mathml(part, False) for part in parts))
    raise nodes.SkipNode


def displayed_formula(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="math">{mathml(node.astext(), True)}</div>\n')
    raise nodes.SkipNode


def gate(puzzle: str, stem: str) -> str:
    """What stands before a solution."""
    words = {"anyway": said("Open it anyway"), "without": said("Neither works without JavaScript.")}
    return GATE.format(puzzle=puzzle, shut=said(SHUT).format(stem=stem), **words)


def switch(sources: Path, page: str, top: str) -> str:
    """The link to a page in the other language, or to its front page if it has no such page."""
    [other] = LANGUAGES.keys() - {spoken()}
    there = page if (sources.parent / other / f"{page}.md").exists() else "index"
    target = f"{top}{'' if other == ENGLISH else f'{other}/'}{there}.html"
    front = " data-front" * (page == "index")
    code = LANGUAGE.get(other, other)
    link = f'<a class="language" href="{target}" lang="{code}" data-language="{other}"{front}>{LANGUAGES[other]}</a>'
    return f'<nav aria-label="{said("Language")}">{link}</nav>'


def table() -> str:
    """What the page's scripts say in its language, if that is not English."""
    if spoken() == ENGLISH:
        return ""
    said_by = translation.of_pages(spoken(), Path(__file__).with_name("app"), PARTS)
    return sentences(said_by | {name: said(name) for name in BUTTONS})


def fitted(block: re.Match[str]) -> str:
    """Return a block with its columns, and each line of code with its indent: pages.css makes the block fit."""
    head, language, text = block.groups()
    lines = unescape(re.sub(r"<[^>]+>", "", text)).split("\n")
    if language == "text":  # a drawing, in which a sign of Chinese takes two columns whatever the font
        text = re.sub(f"[{WIDE}]", r'<span class="wide">\g<0></span>', text)
    else:
        indents = [len(line) - len(line.lstrip()) for line in lines]
        marked = zip(indents, text.split("\n"), strict=True)
        text = "".join(f'<span class="line" style="--in: {indent}">{line}\n</span>' for indent, line in marked)
    return f'{head} style="--columns: {max(map(cell_len, lines))}">{text}</pre>'


def finish(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """What no setting does: the sidebar's marks, the keyboard, corners of tables, the gate before a solution.

    And what there is once for all languages: links to it count from the top of the site.
    """
    top = "../" * (pagename.count("/") + (spoken() != ENGLISH))
    context |= {"top": top, "switch": switch(Path(app.srcdir), pagename, top), "said": said, "table": table()}
    context["of_theme"] = lambda text: OF_THEME.sub(lambda words: words[1] + said(words[2]), text)
    tree = context["furo_navigation_tree"].replace('role="heading"', 'role="heading" aria-level="2"')
    tree = tree.replace(f'class="reference external" href="{TOP}', f'class="reference internal" href="{top}')
    # The puzzles' entries begin with their IDs.
    context["furo_navigation_tree"] = re.sub(r"<li( [^>]*>\s*<a [^>]*>([a-z]\d+) )", r'<li data-puzzle="\2"\1', tree)
    if doctree is None:
        return
    body = SCROLLING.sub(lambda match: f'{match[0][:-1]} tabindex="0">', context["body"].replace(TOP, top))
    body = MARKED.sub(r'<span class="marked">\g<0></span>', BLOCK.sub(fitted, body))
    body = body.replace('<th class="head"><p></p></th>', "<td></td>")  # heads nothing
    if puzzle := (context["meta"] or {}).get("puzzle"):
        heading, end, rest = body.partition("</h1>")
        inside, last, after = rest.rpartition("</section>")
        before = gate(puzzle, pagename.rpartition("/")[2])
        body = "".join([heading, end, before, inside, "</div>\n", last, after])
    context["body"] = body


class Search(SearchEnglish):
    """Finds English words, and Chinese ones by each two signs side by side: between them there are no spaces."""

    lang = html_search_language
    _word_or_pair = re.compile(r"[^\W\u4e00-\u9fff]+|(?=([\u4e00-\u9fff]{2}))")
    js_splitter_code = r"""
var splitQuery = function (query) {
  const found = query.matchAll(/(?:(?![\u4e00-\u9fff])[\p{L}\p{N}_])+|(?=([\u4e00-\u9fff]{2}))/gu);
  return Array.from(found, function (match) { return match[1] || match[0]; });
};
"""

    def split(self, input: str) -> list[str]:
        """What of a text goes into the index; `splitQuery` does the same to a query."""
        return [match[1] or match[0] for match in self._word_or_pair.finditer(input)]


def setup(app: Sphinx) -> None:
    """Tell Sphinx of what stands above. The theme's own functions are called before `finish`."""
    app.add_search_language(Search)
    app.add_html_math_renderer("mathml", (formula, None), (displayed_formula, None))
    app.connect("html-page-context", finish, priority=900)
