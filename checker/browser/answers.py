"""Each verb of a page's worker: JSON in, JSON out.

The page keeps what a learner's folder would: the draft of each puzzle and its line of progress.txt. Both come with
every request and are written to where the rest of the checker finds them; what has changed goes back. So hints,
predictions and pictures are those of a terminal. There is no wall and no time limit here: nothing that is found here
gives points, and whoever asks must be able to end the worker.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import escape
from typing import Any

from checker import catalog
from checker.bench import run as roofline
from checker.bench.result import Result, Size, span
from checker.browser import drafts, experiments
from checker.browser.words import on_page
from checker.check import Conditions, Outcome, believed, check
from checker.check.steps import Check
from checker.course import places
from checker.course.language import ENGLISH, speaking
from checker.course.lesson import code_lines
from checker.course.status import Misuse
from checker.course.verdict import Finding, Status, Verdict
from checker.judge import exits
from checker.learner import hints, practice, predict, progress, stub
from checker.report.html import html
from checker.report.translated import said, translated, translated_finding
from checker.report.words import MOST_FINDINGS
from checker.sandbox import in_process
from checker.sandbox.exchange import Ending, TooBusy
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from checker.submission.read import Unreadable
from checker.trace import as_data, chart, stepped
from checker.trace.run import traced

_HOST = Host(in_process=True)
_CONDITIONS = Conditions(host=_HOST, targets=())
_MOST_BYTES = 1 << 30  # of an array that NumPy can have in 32 bits, with room to spare
Answer = dict[str, Any]
ABOUT = (
    "The least time that a GPU needs which does nothing else, if every byte is moved once; and behind it, where that "
    "is more, with the traffic that was counted of your kernel. Real kernels take longer."
)


def answered(request: str, alive: Callable[[int, int, str], object] = lambda *_: None) -> str:
    """The answer to a request, whatever comes of it, in its language: JSON both. A fault of ours is a verdict, too.

    `alive` is called after each launch, with how many of all are done, and what it was about: so whoever waits knows
    that all is well.
    """
    asked = json.loads(request)
    in_process.alive = lambda done, every, about: alive(done, every, said(about))
    with speaking(asked.get("language", ENGLISH)):
        return json.dumps(_answer(asked))


def _answer(asked: dict[str, Any]) -> Answer:
    puzzle_id = asked["puzzle"]
    try:
        _take_over(asked["drafts"], asked["progress"])
        answer = _VERBS[asked["verb"]](puzzle_id, asked)
    except (Misuse, Unreadable) as problem:
        answer = {"problem": on_page(said(str(problem)))}
    except Exception as error:
        answer = _shown(practice.fault(puzzle_id, error))
    return answer | {"progress": _line(puzzle_id)}


def _take_over(written: dict[str, str], lines: dict[str, str]) -> None:
    """Put drafts and progress where they always are."""
    for puzzle_id, draft in written.items():
        drafts.write(puzzle_id, draft)
    text = "\n".join([progress.ABOUT, *lines.values()])
    (places.ROOT / progress.NAME).write_text(text + "\n", encoding="utf-8")


def _line(puzzle_id: str) -> str:
    """Return the line of progress.txt on a puzzle; empty if there is none."""
    entries = progress.opened().progress.entries
    if puzzle_id not in entries:
        return ""
    alone = progress.Progress({puzzle_id: entries[puzzle_id]})
    return progress.written(alone).decode().splitlines()[1]


def _outcome(puzzle_id: str, asked: dict[str, Any], *, believing: bool = False) -> Outcome:
    """Return the outcome of a draft. `believing`: one that has been accepted is not run again."""
    submission = drafts.submission_of(asked["drafts"].get(puzzle_id, ""))
    if believing and progress.accepted_as(puzzle_id, submission.sha256):
        return believed(puzzle_id, submission)
    return check(puzzle_id, submission, _CONDITIONS)


def _check(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    verdict = _learned(puzzle_id, _outcome(puzzle_id, asked).verdict)
    return _shown(verdict) | (_won(verdict, asked["drafts"][puzzle_id]) if verdict.accepted else {})


def _won(verdict: Verdict, draft: str) -> Answer:
    """Numbers of a kernel against those of the course's solution, which moves all that its bound allows."""
    traffic = verdict.runs[0].traffic
    moved, most = (sum(t.loads + t.stores for t in traffic), sum(t.most_loads + t.most_stores for t in traffic))
    return {"lines": code_lines(draft), "moved": moved, "most": most}


def _learned(puzzle_id: str, verdict: Verdict) -> Verdict:
    """Return the verdict as a learner gets it, and what was reached written down."""
    return practice.for_learner(verdict, places.script(puzzle_id))


def _ended(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    """Return the verdict on a draft whose worker is gone, and somebody else's is asked."""
    if asked["ending"] == "time":
        return _shown(practice.fault(puzzle_id, TooBusy("One launch of your code was not done after some minutes.")))
    finding = exits.ended(Ending.EXITED, 0, Limits())
    unjudged = Check(
        catalog.load(puzzle_id), drafts.submission_of(asked["drafts"].get(puzzle_id, "")), _CONDITIONS
    ).unjudged
    return _shown(replace(unjudged, status=finding.status, findings=(finding,)))


def _hint(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    """Return what was asked about comes first, if it is still wrong; then the lesson's hints, which the page has."""
    about, again = progress.opened().progress.of(puzzle_id).asked, asked.get("again", False)
    if about and not again:
        verdict = _learned(puzzle_id, _outcome(puzzle_id, asked).verdict)
        if finding := practice.held_back(about, verdict):
            return {"html": _told(finding)}
    shown = hints.seen_hints(puzzle_id) if again else hints.next_hint(puzzle_id)
    return {
        "hints": [hint.level for hint in shown.hints],
        "seen": shown.seen,
        "total": shown.total,
        "solved": shown.solved,
    }


def _comments(puzzle_id: str, _: dict[str, Any]) -> Answer:
    progress.helped(puzzle_id, stub.COMMENTS)
    return {"text": drafts.commented(puzzle_id)}


def _predict(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    puzzle = catalog.load(puzzle_id)
    guesses = predict.guesses_of(puzzle, asked["guesses"])
    outcome = _outcome(puzzle_id, asked)
    if not outcome.verdict.accepted:
        return {"problem": said(f"{predict.not_accepted(puzzle).removesuffix(' Check it first:')} Press Check first.")}
    answers = predict.answered(puzzle, outcome, guesses, _HOST)
    lines = predict.shown(puzzle, answers, predict.noted(puzzle, answers, places.script(puzzle_id)))
    return {"html": "".join(f'<p class="{line.kind}">{escape(said(line.text))}</p>' for line in lines)}


def _trace(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    outcome = _outcome(puzzle_id, asked, believing=True)
    seen = traced(outcome, _HOST)
    if seen.empty:
        return _shown(outcome.verdict)
    return {"pictures": [on_page(page) for _, page in chart.pages(seen, inline=True)]}


def _step(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    outcome = _outcome(puzzle_id, asked, believing=True)
    data = stepped.data_of(outcome, host=_HOST)
    return _shown(outcome.verdict) if data is None else {"step": as_data.translated(data)}


def _bench(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    """Return what the roofline predicts for GPUs that nobody needs to have."""
    outcome = _outcome(puzzle_id, asked)
    if not outcome.verdict.accepted:
        return {"problem": said("Times are predicted once your kernel is accepted. Press Check first.")}
    result = roofline.predict(puzzle_id, roofline.Extent(), outcome.verdict.runs[0].traffic, _MOST_BYTES)
    return {"html": "".join(predicted(result))}


def _bug(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    """Return the verdict on a bug that somebody has fixed; nothing of it is noted."""
    return _shown(check(puzzle_id, drafts.submission_of(asked["text"]), _CONDITIONS).verdict)


def _run(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    return {"text": experiments.shown(asked["drafts"].get(puzzle_id, ""), asked["cells"], _HOST)}


def _syntax(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    """Return where Python cannot read the draft, and why; nothing if it can."""
    try:
        ast.parse(asked["drafts"].get(puzzle_id, ""))
    except SyntaxError as error:
        return {"line": error.lineno or 1, "said": error.msg}
    except (ValueError, RecursionError, MemoryError):
        return {"line": 1, "said": said("Python cannot read this")}
    return {}


def _download(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    name, text = drafts.file_of(puzzle_id, asked["drafts"].get(puzzle_id, ""), asked["kind"])
    return {"name": name, "text": text}


def _upload(puzzle_id: str, asked: dict[str, Any]) -> Answer:
    return {"text": drafts.draft_in(puzzle_id, asked["name"], asked["text"])}


_VERBS = {
    "check": _check,
    "ended": _ended,
    "hint": _hint,
    "comments": _comments,
    "predict": _predict,
    "bench": _bench,
    "bug": _bug,
    "run": _run,
    "syntax": _syntax,
    "step": _step,
    "trace": _trace,
    "download": _download,
    "upload": _upload,
}


def _shown(verdict: Verdict) -> Answer:
    """Return a verdict as a page has it: what to press is said by the page, and the next puzzle is a link there."""
    withheld, there = bool(verdict.asking), translated(verdict)
    here = replace(
        there,
        asking="",
        stepping="",
        walk_through="",
        upcoming="",
        findings=tuple(one.worded(on_page) for one in there.findings),
    )
    if here.status is Status.NOT_STARTED:
        [finding] = here.findings
        sentence = said(f"Fill it in at line {finding.where.line}, then press Check. Hint gives you a first step.")
        here = replace(here, findings=(replace(finding, explanation=sentence, examples=()),))
    about = {"status": verdict.status.value, "accepted": verdict.accepted, "withheld": withheld}
    linked = re.sub(rf"\b{drafts.NAME}:(\d+)", _line_linked, html(here))
    severity = "info" if here.status is Status.NOT_STARTED else "error"
    marks = [
        {"line": one.where.line, "said": one.title, "severity": severity}
        for one in here.findings
        if one.where.line is not None
    ]
    return {"html": linked, **about, "steps": bool(verdict.stepping), "marks": marks[:MOST_FINDINGS]}


def _line_linked(place: re.Match[str]) -> str:
    return f'<a href="#your-kernel" data-line="{place[1]}">{said(f"line {place[1]}")}</a>'


def _told(finding: Finding) -> str:
    """Return a finding's hint alone."""
    there = translated_finding(finding).worded(on_page)
    return f"<p><b>{escape(there.title)}</b></p><p>{escape(there.hint)}</p>"


def predicted(result: Result) -> Iterator[str]:
    """Yield a table for each size, fastest GPU first; one for those that are alike."""
    yield f"<p>{said(ABOUT)}</p>"
    for size, *others in result.alike:
        names = "<br>".join(escape(said(one.name)) for one in (size, *others))
        rows = "".join(map("<tr>{}</tr>".format, _rows(size)))
        heads = f"<tr><th scope=col>GPU</th><th scope=col>{said('ms at best')}</th><th scope=col>{size.unit}</th></tr>"
        yield f"<table><caption>{names}</caption><thead>{heads}</thead><tbody>{rows}</tbody></table>"


def _rows(size: Size) -> Iterator[str]:
    for timing in size.ordered:
        speed = span(size.speed(timing.low), size.speed(timing.high), ".0f")
        yield f"<td>{escape(timing.name)}</td><td>{span(timing.low, timing.high, '.3g')}</td><td>{speed}</td>"
