"""The verdict for a person at a terminal: what happened, where, why it matters, what to try.

Colour only underlines what signs and words say already; works in 40 columns and in a pipe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from checker.judge.verdict import Compilation, ExitStatus, Finding, PropertyResult, Status, Traffic, Verdict

MOST_FINDINGS = 3  # the worst ones; the rest often follow from them
MOST_PRINTED_LINES = 20

_PLAIN_WORDS = {
    Status.CHECKER_FAULT: "the checker failed",
    Status.MISUSED: "nothing was checked",
    Status.INVALID: "cannot be read as a submission",
    Status.FORBIDDEN: "uses what a kernel may not use",
    Status.NOT_STARTED: "not started",
    Status.DOES_NOT_COMPILE: "does not compile for a GPU",
    Status.OUTPUT_FLOOD: "printed too much",
    Status.OUT_OF_MEMORY: "out of memory",
    Status.TIME_LIMIT: "did not come to an end",
    Status.CRASHED: "stopped with an error",
    Status.NO_OUTPUT: "gave no result",
    Status.MALFORMED_OUTPUT: "gave something that is not a result",
    Status.OUT_OF_BOUNDS: "leaves its tensors",
    Status.INPUT_CHANGED: "changes its input",
    Status.NOT_A_NUMBER: "gives NaN",
    Status.NOT_DETERMINISTIC: "depends on luck",
    Status.WRONG: "wrong",
    Status.OVER_TRAFFIC: "moves too much memory",
    Status.PARTLY_RIGHT: "partly right",
    Status.ACCEPTED: "accepted",
}


def headline(verdict: Verdict) -> Text:
    """One line: sign, word, score."""
    sign, style = {
        Status.ACCEPTED: ("✓", "bold green"),
        Status.NOT_STARTED: ("○", "bold cyan"),
        Status.CHECKER_FAULT: ("!", "bold magenta"),
        Status.MISUSED: ("!", "bold magenta"),
    }.get(verdict.status, ("✗", "bold red"))
    line = Text(f"{sign} {_PLAIN_WORDS[verdict.status]}", style=style)
    if verdict.runs:
        line.append(f"  {verdict.earned}/{verdict.possible} points", style="default")
    return line


def show(console: Console, verdict: Verdict) -> None:
    """Print the whole report."""
    console.print(Group(*_report(verdict)))


def show_table(console: Console, verdicts: Iterable[Verdict]) -> None:
    """Print one line per puzzle."""
    table = Table.grid(padding=(0, 2))
    for verdict in verdicts:
        finding = verdict.findings[0].title if verdict.findings and not verdict.accepted else ""
        table.add_row(f"{verdict.puzzle}", verdict.title, headline(verdict), Text(finding, style="dim"))
    console.print(table)
    console.print(Text("make check PUZZLE=N tells more about one of them.", style="dim"))


def _report(verdict: Verdict) -> Iterator[RenderableType]:
    title = f"Puzzle {verdict.puzzle}: {verdict.title}" if verdict.puzzle else "flash-puzzles"
    yield Rule(Text(title, style="bold"), align="left", characters="─", style="dim")
    yield headline(verdict)
    if verdict.status is Status.NOT_STARTED:
        yield from _invitation(verdict)
        return
    for finding in verdict.findings[:MOST_FINDINGS]:
        yield Text()
        yield from _finding(verdict, finding)
    if len(verdict.findings) > MOST_FINDINGS:
        yield Text()
        yield Text(f"and {len(verdict.findings) - MOST_FINDINGS} more, which may follow from these.")
    if verdict.runs:
        yield Text()
        yield _properties(verdict.properties)
        if verdict.accepted or any(f.status is Status.OVER_TRAFFIC for f in verdict.findings):
            yield Text()
            yield from _traffic(verdict.runs[0].traffic)
    if verdict.compiled:
        yield Text()
        yield from _compiled(verdict.compiled)
    for remark in verdict.remarks:
        yield Text()
        yield Text.assemble(("By the way: ", "bold"), remark)
    if verdict.printed:
        yield Text()
        yield from _printed(verdict)
    yield Text()
    yield _closing(verdict)


def _invitation(verdict: Verdict) -> Iterator[RenderableType]:
    finding = verdict.findings[0]
    yield Text()
    yield Text(finding.explanation)
    yield from _command(finding)
    yield Text(finding.hint)


def _command(finding: Finding) -> Iterator[RenderableType]:
    """Lines to be typed: never broken, so that they can be copied."""
    for line in finding.examples:
        yield Text(f"  {line}", no_wrap=True, overflow="ignore", style="bold")


def _finding(verdict: Verdict, finding: Finding) -> Iterator[RenderableType]:
    yield Text.assemble((finding.title, "bold"), (f"  [{finding.id}]", "dim"))
    place = _place(verdict, finding)
    if place:
        yield _indented(Text(place, style="cyan"))
    if finding.where.source:
        yield _source(finding)
    for text in (finding.explanation, *finding.examples):
        if text:
            yield _indented(Text(text))
    if finding.hint:
        yield _indented(Text.assemble(("Try: ", "bold"), finding.hint))


def _indented(text: Text) -> RenderableType:
    return Padding(text, (0, 0, 0, 2), expand=False)


def _place(verdict: Verdict, finding: Finding) -> str:
    where = finding.where
    parts = []
    if where.line is not None:
        cell = f":{where.line}" if where.cell is None else f", cell {where.cell}, line {where.line}"
        parts.append(verdict.file + cell + (f" ({where.role})" if where.role else ""))
    if where.case is not None:
        parts.append(f"seen with: {where.case}")
    return ", ".join(parts)


def _source(finding: Finding) -> RenderableType:
    """The line and its neighbours: the line itself whole, its neighbours as far as there is room."""
    lines = list(finding.where.source)
    while lines and not lines[-1][1].strip():
        lines.pop()
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    for number, line in lines:
        if number == finding.where.line:
            table.add_row("  ▶", f"{number} │", Text(line, style="bold"))
        else:
            text = Text(line, style="dim", no_wrap=True, overflow="ellipsis")
            table.add_row("", Text(f"{number} │", style="dim"), text)
    return table


def _properties(results: Iterable[PropertyResult]) -> RenderableType:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    for p in results:
        sign = Text("✓", style="green") if p.passed else Text("✗", style="red")
        words = Text(p.title)
        if p.case:
            words.append(f": not with {p.case.partition(' (')[0]}", style="dim")
        elif p.detail:
            words.append(f": {p.detail}", style="dim")
        table.add_row(sign, words, f"{p.weight if p.passed else 0}/{p.weight}")
    return table


def _traffic(traffic: Sequence[Traffic]) -> Iterator[RenderableType]:
    several = len({t.kernel for t in traffic}) > 1
    for t in traffic:
        name = (f"{t.kernel}: " if several else "") + t.tensor.removesuffix("_ptr")
        for verb, done, most in (("read", t.loads, t.most_loads), ("written", t.stores, t.most_stores)):
            if not done and not most:
                continue
            words = "at most" if done <= most else "too often, at most"
            yield _indented(
                Text(f"{name} {verb} {done / t.elements:.2f} times per element ({words} {most / t.elements:.2f})")
            )


def _compiled(compiled: Sequence[Compilation]) -> Iterator[RenderableType]:
    several = len({c.kernel for c in compiled}) > 1
    for c in compiled:
        name = f"{c.kernel}: " if several else ""
        facts = [f"{c.registers} registers"] if c.registers is not None else []
        if c.shared is not None:
            used = f"{c.shared / 1024:.3g}" if c.shared >= 1024 else f"{c.shared} bytes"
            facts.append(f"{used} of {c.shared_limit >> 10} KB shared memory")
        if c.spilled:
            facts.append(f"{c.spilled} bytes of registers spilled")
        words = f"compiles for {c.target}: {', '.join(facts)}" if c.compiles else f"does not compile for {c.target}"
        yield _indented(Text(name + words))


def _printed(verdict: Verdict) -> Iterator[RenderableType]:
    """What was printed in the case that matters: the one of the first finding, else the first."""
    of_interest = verdict.findings[0].where.case if verdict.findings else None
    case, text = next((p for p in verdict.printed if p[0] == of_interest), verdict.printed[0])
    yield Text.assemble(("Your kernel printed", "bold"), f", with {case}:")
    lines = text.strip("\n").split("\n")
    for line in lines[:MOST_PRINTED_LINES]:
        yield _indented(Text(line))
    if len(lines) > MOST_PRINTED_LINES:
        yield _indented(Text(f"… and {len(lines) - MOST_PRINTED_LINES} more lines"))


def _closing(verdict: Verdict) -> Text:
    devices = {"interpreter": "the interpreter", "cuda": "the GPU"}
    took = ", ".join(f"{run.seconds:.2f} s on {devices[run.device]}" for run in verdict.runs)
    seconds = f" ({took})" if took else ""
    if verdict.accepted:
        return Text(f"All of it is right{seconds}.")
    if verdict.exit_status is not ExitStatus.REFUSED:
        return Text()
    first = "the first finding" if len(verdict.findings) > 1 else "this"
    return Text(f"Mend {first}, then check again{seconds}.", style="dim")
