"""A student's Markdown as HTML that shows it and can do nothing, whatever renders it.

What stands in a notebook is rendered by nbconvert and JupyterLab, which let HTML through. MathJax then looks for
formulas in it, and its TeX has links, styles and macros. So the HTML is made here, of a few kinds of elements, without
links and images. Every sign that Markdown, HTML or TeX could take for an order is written as a number, and what MathJax
can find is formulas of known commands only.
"""

from __future__ import annotations

import re
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

LONGEST = 20_000  # characters of one notebook; what is more is shown as it was typed, for rendering takes time
_PLAIN = re.compile(r"[^\w ]")
_COMMAND = re.compile(r"\\([A-Za-z]+|.|\Z)", re.DOTALL)
# What prints something and does nothing else. MathJax also has \href, \style, \class, \cssId, \require, \def and more.
_COMMANDS = frozenset(
    r"""
    alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau
    upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega
    exp log ln max min sup inf lim sin cos tan tanh det dim arg gcd Pr sum prod int bigcup bigcap
    frac dfrac tfrac sqrt binom over cdot cdots ldots dots vdots ddots times div pm mp ast star circ odot oplus otimes
    le leq ge geq ll gg ne neq approx equiv sim simeq cong propto in notin ni subset subseteq supset supseteq cup cap
    setminus emptyset forall exists neg lnot land lor wedge vee top bot infty partial nabla ell hbar prime
    to gets mapsto rightarrow leftarrow leftrightarrow Rightarrow Leftarrow Leftrightarrow implies iff uparrow downarrow
    hat bar tilde vec dot ddot overline underline overbrace underbrace widehat widetilde
    left right big Big bigl bigr Bigl Bigr middle langle rangle lfloor rfloor lceil rceil lvert rvert lVert rVert mid
    quad qquad text textbf textit textrm mathrm mathbf mathit mathcal mathbb mathsf mathtt operatorname boldsymbol
    displaystyle textstyle limits nolimits begin end
    """.split()  # noqa: SIM905
)
_SIGNS = frozenset(r"\{}|,;: %&#_$")  # not \!, which moves what follows over what stands before
_ENVIRONMENTS = "equation|align|aligned|gather|gathered|split|cases|array|matrix|pmatrix|bmatrix|vmatrix"
# Other environments, and lines with a height of their own, which could be laid over others.
_OTHER = re.compile(rf"\\(?:begin|end)(?!\{{(?:{_ENVIRONMENTS})\*?\}})|\\\\\s*[\[*]")


def inert(text: str) -> str:
    """Markdown as HTML on one line, which nothing takes for Markdown again."""
    return f"<div>{_MARKDOWN.render(text)}</div>".replace("\n", " ")


def _escaped(text: str) -> str:
    """Return a text in which only letters, digits and blanks stand for themselves."""
    return _PLAIN.sub(lambda sign: f"&#{ord(sign[0])};", text)


def _shown(text: str) -> str:
    """Return a text in which MathJax finds nothing: its signs are elements of their own, over which
    it does not read.
    """
    return "".join(f"<span>{_escaped(one)}</span>" if one in "$\\" else _escaped(one) for one in text)


def _formula(source: str, mark: str) -> str:
    """Return a formula between marks, for MathJax; if it has a command that is not known, what was typed."""
    commands = _COMMAND.findall(source)
    if not _OTHER.search(source) and all(one in _COMMANDS or one in _SIGNS for one in commands):
        return f"<span>{_escaped(f'{mark}{source}{mark}')}</span>"
    return _code(f"{mark}{source}{mark}")


def _code(text: str) -> str:
    return f"<code>{_escaped(text)}</code>"  # where MathJax does not look


def _made() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False).use(amsmath_plugin)
    parser.disable(["link", "image", "autolink", "reference", "html_block", "html_inline", "entity"])
    rules: dict[str, Any] = {
        "text": lambda _, tokens, at, *__: _shown(tokens[at].content),
        "code_inline": lambda _, tokens, at, *__: _code(tokens[at].content),
        "math_inline": lambda _, tokens, at, *__: _formula(tokens[at].content, "$"),
        "math_block": lambda _, tokens, at, *__: f"<p>{_formula(tokens[at].content.strip(), '$$')}</p>",
        "amsmath": lambda _, tokens, at, *__: f"<p>{_formula(tokens[at].content.strip(), '')}</p>",
    }
    rules["fence"] = rules["code_block"] = lambda _, tokens, at, *__: f"<pre>{_code(tokens[at].content)}</pre>"
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


_MARKDOWN = _made()
