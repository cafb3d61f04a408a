"""The verdict for a notebook: the words of the terminal's report, with bars for traffic and a map of the errors.

Only elements and inline styles that every front end keeps; no script. Text takes the theme's own colour, or is white on
a dark one of ours: no colour can be read on white and on black alike. Signs and words say what colours underline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from html import escape
from pathlib import Path

from checker.course.verdict import Finding, Held, Status, Traffic, Verdict
from checker.report import words
from checker.report.translated import said, translated

_COLOURS = {"✓": "#00734F", "○": "#1F6FA8", "!": "#96467A", "✗": "#B34700"}  # white on each: 4.5 to 1 and more
_FAINT = "opacity:.75"
_SUMMARY = "display:list-item;cursor:pointer"
_MONO = "font-family:var(--jp-code-font-family,monospace);font-size:.92em"
_MARKED = "background:rgba(213,94,0,.2);font-weight:bold"
# nbgrader's page, unlike JupyterLab, gives a cell no room; and JupyterLab breaks no line in one.
_CELL = "text-align:left;padding:.1em .8em .1em 0;white-space:normal;vertical-align:top"
_BAR = 22  # width of the widest bar, in em
_MOST = 1.6  # times the bound, that it stands for


def html(verdict: Verdict, links: Mapping[int, str] | None = None) -> str:
    """Return the report as one HTML element. `links`: to cells of the notebook that shows it, by their numbers."""
    colour = _COLOURS[words.sign(verdict.status)]
    style = (
        f"border-left:4px solid {colour};padding:.1em 0 .1em 1em;max-width:56em;line-height:1.45;overflow-wrap:anywhere"
    )
    return f'<div style="{style}">{"".join(_parts(translated(verdict), links or {}))}</div>'


def _parts(verdict: Verdict, links: Mapping[int, str]) -> Iterator[str]:
    yield f'<div style="{_FAINT}">{escape(words.title(verdict))}</div>'
    yield f'<div style="font-size:1.2em;margin:.2em 0">{_headline(verdict)}</div>'
    if verdict.status is Status.NOT_STARTED:
        yield _paragraph(f"{verdict.findings[0].title}{said('. ')}{verdict.findings[0].explanation}")
        if verdict.findings[0].examples:
            yield _pre(verdict.findings[0].examples)
        yield from _remarks(verdict)
        return
    if words.in_short(verdict):
        yield from _finding(verdict, verdict.findings[0], links, short=True)
        for sentence in words.besides(verdict):
            yield f'<div style="{_FAINT}">{escape(sentence)}</div>'
        yield from _remarks(verdict)
        yield f'<details><summary style="{_SUMMARY}">{said("All of the report")}</summary>'
        yield from _whole(verdict, links)
        yield "</details>"
    else:
        yield from _whole(verdict, links)
        yield from _remarks(verdict)
    if verdict.printed:
        case, lines, more = words.printed(verdict)
        yield _paragraph(f"<b>{said('Your code printed')}</b>{escape(said(f', with {case}:'))}", raw=True)
        yield _pre([*lines, said(f"… and {more} more lines")] if more else lines)
    if closing := words.closing(verdict):
        yield _paragraph(closing)
    for what, typed in words.to_type(verdict):
        yield _paragraph(f"{what} <code>{escape(typed)}</code>", raw=True)
    if verdict.upcoming:
        name = escape(verdict.upcoming)
        beside = name.endswith(".ipynb") and not Path(name).is_absolute()  # the notebook that shows this
        yield _paragraph(f"{said(words.NEXT)} <b>{linked(name, name) if beside else name}</b>", raw=True)


def _whole(verdict: Verdict, links: Mapping[int, str]) -> Iterator[str]:
    """Yield all findings, properties, what was moved, and what the compiler made of it."""
    for finding in verdict.findings[: words.MOST_FINDINGS]:
        yield from _finding(verdict, finding, links)
    if more := words.more_than(verdict, words.MOST_FINDINGS):
        yield _paragraph(more)
    if verdict.runs:
        yield _properties(verdict)
        if words.shows_traffic(verdict):
            if verdict.runs[0].held:
                yield _held(verdict.runs[0].held)
            elif verdict.runs[0].traffic:
                yield _traffic(verdict.runs[0].traffic)
    for sentence in words.compiled(verdict.compiled):
        yield f'<div style="{_FAINT}">{escape(sentence)}</div>'


def _remarks(verdict: Verdict) -> Iterator[str]:
    for remark in verdict.remarks:
        yield _paragraph(f"<b>{said('By the way: ')}</b>{escape(remark)}", raw=True)


def _finding(verdict: Verdict, finding: Finding, links: Mapping[int, str], *, short: bool = False) -> Iterator[str]:
    yield (
        f'<div style="margin-top:.8em"><b>{escape(finding.title)}</b> '
        f'<span style="{_FAINT}">[{escape(finding.id)}]</span></div>'
    )
    if place := words.place(verdict, finding, short=short):
        place, where = escape(place), finding.where
        if where.cell is not None and where.cell in links:
            spot = escape(words.spot(verdict.file, where))
            place = place.replace(spot, linked(escape(links[where.cell]), spot), 1)
        yield f"<div>{place}</div>"
    if finding.where.source:
        yield _source(words.source(finding, short=short), finding.where.line)
    if short:
        yield from map(_paragraph, words.shortly(finding))
    else:
        yield from map(_paragraph, filter(None, (*words.differs(finding), finding.explanation)))
        yield from _examples(finding)
    question, hint = words.advice(finding, short=short)
    if question:
        yield _paragraph(f"<b>{said('Find out: ')}</b>{escape(question)}", raw=True)
    if hint:
        yield _paragraph(f"<b>{said('Try: ')}</b>{escape(hint)}", raw=True)


def _examples(finding: Finding) -> Iterator[str]:
    """Wrong values, and where they are."""
    if finding.examples:
        yield _pre(finding.examples)
    if finding.error_map:
        yield f"<div>{said('where it is wrong')}</div>{_pre(words.shaded(finding.error_map))}"
        yield f'<div style="{_FAINT}">{escape(words.legend(finding.error_map))}</div>'


def overview(verdicts: Iterable[Verdict]) -> str:
    """Return one line per puzzle."""
    lines = []
    for verdict in map(translated, verdicts):
        finding = faint(words.first_finding(verdict))
        lines.append(row(f"{verdict.puzzle}", escape(verdict.title), _headline(verdict), finding))
    return table(("", "puzzle", "verdict", ""), lines)


def linked(target: str, words: str) -> str:
    """Return a link, both of whose parts are HTML."""
    return f'<a href="{target}">{words}</a>'


def faint(text: str) -> str:
    """Words that stand back behind others."""
    return f'<span style="{_FAINT}">{escape(text)}</span>'


def _headline(verdict: Verdict) -> str:
    chip = _chip(words.sign(verdict.status), ".5em", f" {escape(words.plain(verdict))}")
    return f"{chip} &nbsp;{words.points(verdict)}"


def _chip(sign: str, room: str, more: str = "") -> str:
    """Return a sign, and what is to be read with it, on the sign's colour."""
    style = f"background:{_COLOURS[sign]};color:#fff;padding:.05em {room};border-radius:.3em"
    return f'<b style="{style}">{sign}{more}</b>'


def _paragraph(text: str, *, raw: bool = False) -> str:
    return f'<div style="margin:.35em 0">{text if raw else escape(text)}</div>'


def _pre(lines: Iterable[str]) -> str:
    text = "\n".join(escape(line) for line in lines)
    return f'<pre tabindex="0" style="{_MONO};line-height:1.25;margin:.35em 0;overflow-x:auto">{text}</pre>'


def _source(lines: Iterable[tuple[int, str]], line: int | None) -> str:
    """Return the line and its neighbours; the line itself is marked."""
    rows = []
    for number, text in lines:
        marked = number == line
        shown = f"{'▶' if marked else ' '} {number:>3} │ {escape(text)}"
        indent = len(text) - len(text.lstrip())  # the site, which breaks lines, goes on further in
        rows.append(f'<span style="{_MARKED if marked else _FAINT};--in:{indent}">{shown}</span>')
    style = f"{_MONO};line-height:1.35;margin:.35em 0;overflow-x:auto"
    return f'<pre tabindex="0" style="{style}">' + "\n".join(rows) + "</pre>"


def _properties(verdict: Verdict) -> str:
    rows = []
    for p in verdict.properties:
        sign = _chip(mark, ".35em;font-size:.8em") if (mark := words.mark(verdict, p)).strip() else ""
        reason = words.why(p)
        told = f'{escape(p.title)}<span style="{_FAINT}">{escape(said(": ") + reason) if reason else ""}</span>'
        rows.append(
            f'<tr style="background:none"><td style="{_CELL}">{sign}</td><td style="{_CELL}">{told}</td>'
            f'<td style="{_CELL};text-align:right">{words.worth(verdict, p)}</td></tr>'
        )
    return table(("proven", "property", "points"), rows)


def _traffic(traffic: Iterable[Traffic]) -> str:
    """Return a bar for each tensor and direction; where the bound is, there is a mark."""
    rows = []
    for what, done, most in words.moved(list(traffic)):
        share = done / most if most else 2.0
        bar = _bar(min(share / _MOST, 0.94), _COLOURS["✓" if done <= most else "✗"], 1 / _MOST)
        rows.append(row(escape(what), bar, said(", at most ").join(words.apart(done, most))))
    return table(("what", "against its bound", "times per element"), rows)


def _held(calls: Iterable[Held]) -> str:
    """Two bars for each count: the function's, with a mark where the bound is, and plain attention's."""
    rows = []
    for what, done, most, plain in words.held(list(calls)):
        widest = max(done, most, plain)
        own = _bar(done / widest, _COLOURS["✓" if done <= most else "✗"], most / widest)
        rows.append(row(escape(what), own, said(", at most ").join((f"{done:,}", f"{most:,}"))))
        rows.append(row(said("plain attention"), _bar(plain / widest, _COLOURS["○"]), f"{plain:,}"))
    return table(("what", "how many", ""), rows)


def _bar(share: float, colour: str, mark: float | None = None) -> str:
    """Return a bar that is a share of the widest, and a mark at another share."""
    marked = (
        f'<div style="position:absolute;left:{mark:.1%};width:2px;height:.8em;background:currentColor"></div>'
        if mark is not None
        else ""
    )
    return (
        f'<div style="position:relative;width:min({_BAR}em,30vw);height:.8em;margin-top:.3em">'
        f'<div style="position:absolute;background:{colour};width:{share:.1%};height:.8em"></div>{marked}</div>'
    )


def row(*cells: str) -> str:
    """Return a row of a table: cells as HTML."""
    return f'<tr style="background:none">{"".join(f"""<td style="{_CELL}">{cell}</td>""" for cell in cells)}</tr>'


def table(heads: Iterable[str], rows: Iterable[str]) -> str:
    """Return a table of such rows, below the heads of its columns."""
    style = f"{_CELL};font-weight:normal;font-size:.85em;{_FAINT}"
    cells = "".join(f'<th scope="col" style="{style}">{said(head)}</th>' if head else "<td></td>" for head in heads)
    return (
        '<table style="margin:.8em 0;border-collapse:collapse;max-width:100%">'
        f'<thead><tr style="background:none">{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'
    )
