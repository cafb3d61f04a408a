"""Sphinx's settings for the site, and what the pages need beyond its theme. `make site` builds them."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx

project = "From softmax to FlashAttention"
html_title = project
html_theme = "furo"
html_favicon = "app/icon.svg"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "dollarmath", "html_image"]
myst_heading_anchors = 3
highlight_language = "text"  # of a block that names none: the drawings of the lessons
templates_path = ["templates"]
html_math_renderer = "mathml"
html_permalinks = False
html_use_index = False
pygments_dark_style = "a11y-dark"
html_copy_source = html_show_sourcelink = html_show_copyright = False

# Wider than a narrow screen, they scroll: then one has to be able to reach them without a mouse.
SCROLLING = re.compile(r'<pre>|<div class="(?:table|math)-wrapper[^>]*>')

GATE = """
<div class="solution-gate">
<p>The solution opens once <a href="../puzzles/{stem}.html">yours</a> is accepted.</p>
<p><button type="button">Open it anyway</button></p>
<noscript><p>Neither works without JavaScript.</p></noscript>
</div>
<div class="solution" data-puzzle="{puzzle}" hidden>
"""


def mathml(tex: str, on_its_own: bool) -> str:
    """A formula as browsers draw it by themselves, with the space that log l needs and log(l) does not. MathError."""
    drawn = tex2mathml(tex, as_block=on_its_own).replace(r"\_", "_")
    return re.sub(r"<mo>(&ApplyFunction;</mo>\s*<(?!mo))", r'<mo rspace="0.17em">\1', drawn)


def formula(self: Any, node: nodes.math) -> None:
    """Write a formula between words."""
    self.body.append(mathml(node.astext(), False))
    raise nodes.SkipNode


def displayed_formula(self: Any, node: nodes.math_block) -> None:
    """Write a formula on a line of its own."""
    self.body.append(f'<div class="math">{mathml(node.astext(), True)}</div>\n')
    raise nodes.SkipNode


def finish(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """What no setting does: the sidebar's marks, the keyboard, corners of tables, the gate before a solution."""
    tree = context["furo_navigation_tree"].replace('role="heading"', 'role="heading" aria-level="2"')
    # The puzzles' entries begin with their IDs.
    context["furo_navigation_tree"] = re.sub(r"<li( [^>]*>\s*<a [^>]*>([a-z]\d+) )", r'<li data-puzzle="\2"\1', tree)
    if doctree is None:
        return
    body = SCROLLING.sub(lambda match: f'{match[0][:-1]} tabindex="0">', context["body"])
    body = body.replace('<th class="head"><p></p></th>', "<td></td>")  # heads nothing
    if puzzle := (context["meta"] or {}).get("puzzle"):
        heading, end, rest = body.partition("</h1>")
        inside, last, after = rest.rpartition("</section>")
        gate = GATE.format(stem=pagename.rpartition("/")[2], puzzle=puzzle)
        body = "".join([heading, end, gate, inside, "</div>\n", last, after])
    context["body"] = body


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the functions above. The theme's own are called before `finish`."""
    app.add_html_math_renderer("mathml", (formula, None), (displayed_formula, None))
    app.connect("html-page-context", finish, priority=900)
