"""The verdict for a person at a terminal: what happened, where, why it matters, what to try.

Colour only underlines what signs and words say already; works in 40 columns and in a pipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from checker.course.verdict import Finding, Held, Status, Traffic, Verdict
from checker.report import words
from checker.report.screen import Commands, Prose
from checker.report.translated import said, translated, translated_finding


def headline(verdict: Verdict) -> Text:
    """Return one line: sign, word, score."""
    line = _ended(verdict)
    if points := words.points(verdict):
        line.append(f"  {points}", style="default")
    return line


def _ended(verdict: Verdict) -> Text:
    """Return how a check ended: sign and word."""
    styles = {"✓": "bold green", "○": "bold cyan", "!": "bold magenta", "✗": "bold red"}
    sign = words.sign(verdict.status)
    return Text(f"{sign} {words.plain(verdict)}", style=styles[sign])


def show(console: Console, verdict: Verdict) -> None:
    """Print the report."""
    console.print(report(verdict), crop=False)  # what is to be typed or opened is never cut off


def report(verdict: Verdict) -> RenderableType:
    """Return the report, for a console of any kind: a short one, if the verdict says what to type for the whole."""
    short = verdict.whole and words.in_short(verdict)
    return Group(*(_short if short else _report)(translated(verdict)))


def blocks_of(finding: Finding) -> RenderableType:
    """Return a finding's hint alone."""
    finding = replace(translated_finding(finding), question="", withheld=False)
    return Group(Prose(finding.title, style="bold"), *_advice(finding))


def overview(verdicts: Iterable[Verdict]) -> RenderableType:
    """Return one line per puzzle."""
    table = Table.grid(padding=(0, 2))
    for whole in (True, False, False, True, False):  # points are in one line
        table.add_column(no_wrap=whole, overflow="fold")
    for verdict in map(translated, verdicts):
        finding = Text(words.first_finding(verdict), style="dim")
        points = f"{verdict.earned}/{verdict.possible}" if words.points(verdict) else ""
        table.add_row(f"{verdict.puzzle}", verdict.title, _ended(verdict), points, finding)
    return table


def _report(verdict: Verdict) -> Iterator[RenderableType]:
    for number, block in enumerate(_blocks(verdict)):
        yield from (Text(), *block) if number else block


def _blocks(verdict: Verdict) -> Iterator[Iterable[RenderableType]]:
    """Yield what stands together, with an empty line between one and the next."""
    yield _head(verdict)
    if verdict.status is Status.NOT_STARTED:
        finding = verdict.findings[0]
        yield Prose(finding.explanation), *_command(finding), Prose(finding.hint)
        yield from _remarks(verdict)
        return
    for finding in verdict.findings[: words.MOST_FINDINGS]:
        yield _finding(verdict, finding)
    if more := words.more_than(verdict, words.MOST_FINDINGS):
        yield [Prose(more)]
    if verdict.runs:
        yield [_properties(verdict)]
        if words.shows_traffic(verdict):
            yield *_traffic(verdict.runs[0].traffic), *_held(verdict.runs[0].held)
    if verdict.compiled:
        yield [_indented(Prose(sentence)) for sentence in words.compiled(verdict.compiled)]
    yield from _remarks(verdict)
    if verdict.printed:
        yield _printed(verdict)
    yield _closing(verdict)


def _head(verdict: Verdict) -> Sequence[RenderableType]:
    title = Text(words.title(verdict), style="bold")
    ruled = Rule(title, align="left", characters="─", style="dim") if verdict.puzzle or not verdict.title else title
    return ruled, headline(verdict)


def _short(verdict: Verdict) -> Iterator[RenderableType]:
    """Yield what is wrong first of all, where, with which numbers, and one question."""
    finding = verdict.findings[0]
    yield from (*_head(verdict), *_titled(verdict, finding, short=True))
    for text in words.shortly(finding):
        yield _indented(Prose(text))
    yield from _advice(finding, short=True)
    for text in words.besides(verdict):
        yield Prose(text, style="dim")
    for block in _remarks(verdict):
        yield from block
    if verdict.printed:
        yield from _printed(verdict)
    yield Commands(*filter(None, (verdict.asking, verdict.stepping, verdict.whole)))


def _remarks(verdict: Verdict) -> Iterator[Iterable[RenderableType]]:
    for remark in verdict.remarks:
        yield [Prose.assemble((said("By the way: "), "bold"), remark)]


def _closing(verdict: Verdict) -> Iterator[RenderableType]:
    yield Prose(words.closing(verdict), style="" if verdict.accepted else "dim")
    ahead = [(said(words.NEXT), verdict.upcoming)] * bool(verdict.upcoming)
    for what, typed in (*words.to_type(verdict), *ahead):
        yield Text.assemble(f"{what} ", (typed, "bold"), no_wrap=True, overflow="ignore")


def _command(finding: Finding) -> Iterator[RenderableType]:
    """Lines to be typed: never broken, so that they can be copied."""
    for line in finding.examples:
        yield Text(f"  {line}", no_wrap=True, overflow="ignore", style="bold")


def _finding(verdict: Verdict, finding: Finding) -> Iterator[RenderableType]:
    yield from _titled(verdict, finding)
    for text in (*words.differs(finding), finding.explanation, *finding.examples):
        if text:
            yield _indented(Prose(text))
    yield from _advice(finding)


def _titled(verdict: Verdict, finding: Finding, *, short: bool = False) -> Iterator[RenderableType]:
    yield Prose.assemble((finding.title, "bold"), (f"  [{finding.id}]", "dim"))
    if place := words.place(verdict, finding, short=short):
        yield _indented(Prose(place, style="cyan"))
    if finding.where.source:
        yield _source(words.source(finding, short=short), finding.where.line)


def _advice(finding: Finding, *, short: bool = False) -> Iterator[RenderableType]:
    question, hint = words.advice(finding, short=short)
    for what, text in ((said("Find out: "), question), (said("Try: "), hint)):
        if text:
            yield _indented(Prose.assemble((what, "bold"), text))


def _indented(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _source(lines: Iterable[tuple[int, str]], line: int | None) -> RenderableType:
    """Return the line and its neighbours: the line itself whole, its neighbours as far as there is room."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for number, text in lines:
        if number == line:
            table.add_row("  ▶", f"{number} │", Text(text, style="bold"))
        else:
            shown = Text(text, style="dim", no_wrap=True, overflow="ellipsis")
            table.add_row("", Text(f"{number} │", style="dim"), shown)
    return table


def _properties(verdict: Verdict) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for p in verdict.properties:
        sign = Text(words.mark(verdict, p), style="green" if p.passed else "red")
        text = Prose(p.title)
        if reason := words.why(p):
            text.append(said(": ") + reason, style="dim")
        table.add_row(sign, text, words.worth(verdict, p))
    return table


def _held(calls: Sequence[Held]) -> Iterator[RenderableType]:
    for what, done, most, plain in words.held(calls):
        limit = "at most" if done <= most else "too many, at most"
        yield _indented(Prose(said(f"{what}: {done:,} ({limit} {most:,}; plain attention: {plain:,})")))
    for case in dict.fromkeys(one.case for one in calls):
        yield _indented(Prose(said(f"with {case}"), style="dim"))


def _traffic(traffic: Sequence[Traffic]) -> Iterator[RenderableType]:
    for what, done, most in words.moved(traffic):
        limit = "at most" if done <= most else "too often, at most"
        times, bound = words.apart(done, most)
        yield _indented(Prose(said(f"{what} {times} times per element ({limit} {bound})")))


def _printed(verdict: Verdict) -> Iterator[RenderableType]:
    case, lines, more = words.printed(verdict)
    yield Prose.assemble((said("Your code printed"), "bold"), said(f", with {case}:"))
    for line in lines:
        yield _indented(Text(line))
    if more:
        yield _indented(Prose(said(f"… and {more} more lines")))
