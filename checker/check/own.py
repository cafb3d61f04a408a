"""The road of a whole file: what it returns is looked at first, and then it is called as it says it can be.

Its kernels are compiled as they were launched. Practice only: the file runs as it is, under limits.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice, permutations
from pathlib import Path
from typing import Any

import checker
from checker.catalog.attention.bounds import keys_seen
from checker.catalog.attention.pytorch.autograd import FORWARD, expected, family
from checker.catalog.lines import accumulator, causal_mask, normaliser
from checker.catalog.own import attention, attention_ideas, softmax
from checker.catalog.own.attention import Given
from checker.catalog.own.task import OTHER_STRIDES, PAST_THE_END, STOPS, Task
from checker.check.conditions import Conditions, Outcome
from checker.check.steps import refused_as_launched
from checker.course.case import Case
from checker.course.claims import HEAD_DIMS, LAYOUTS, Claims
from checker.course.clean import cleaned
from checker.course.misconception import Misconception, Raises, Writes
from checker.course.status import Misuse
from checker.course.text import Text
from checker.course.verdict import Finding, PropertyResult, Run, Status, Verdict, Where
from checker.judge import triton_errors
from checker.judge.difference.comparison import is_right
from checker.judge.errors import OURS, error_finding, plain
from checker.judge.evidence import Evidence, listed, locator
from checker.judge.exits import endings
from checker.judge.judge import Judgement, in_order_of_cases, judge, properties, status_of
from checker.judge.launches import as_launched
from checker.judge.models import Models
from checker.judge.naming import ideas
from checker.judge.requests import launch_of
from checker.judge.wrong import Wrong, wrong_outputs
from checker.sandbox.parent import Pass, Sandbox, SandboxResult, pytorch_missing
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import CONFIGURATIONS
from checker.sandbox.protocol.records import STORE
from checker.sandbox.protocol.results import KernelError, LaunchResult
from checker.submission.read import Submission
from checker.submission.whole import Whole, whole

BLOCKS = 16, 32, 64, 128, 256, 512, 1024  # what a number in a launch may be the side of a tile of
MOST_TILES = 3  # lengths of blocks that are tried
SMALLEST = 2  # wrong calls by which ideas are chosen
USUAL = 64
OTHERS = 4  # times what is enough for the course's own functions
SIDE = re.compile(r"block|tile|^b_?[qkmnrc]v?$", re.IGNORECASE)  # names of sides of tiles
SIZE = re.compile(r"_d[kv]?$|dim|seq|ctx|len|head|d_?model|stage|warp|^d$", re.IGNORECASE)  # names of other numbers
FIRST_DIMS = 16, 64  # head dimensions of first calls
OUTSIDE, UNANSWERED = 2, 3  # distances of an answer from the right one
IN_HALF = {"dot-in-half", "half-sum", "accumulator-in-half", "rounded-on-the-way"}  # remarks if the values are right
# Findings that say nothing of a function of which no call came to an end.
UNJUDGED = {"needs-a-card", "not-in-this-triton", "module-missing", "kernel-error"}
# A file has no solution beside it, so the lines of these are looked for in its text.
LINES = {
    "accumulator-not-rescaled": accumulator,
    **dict.fromkeys(("denominator-not-rescaled", "sum-of-last-block"), normaliser),
    **dict.fromkeys(
        ("causal-off-by-one", "causal-offset-reversed", "causal-top-left", "causal-upside-down"), causal_mask
    ),
}
_NOTHING = next(n for n in ast.walk(ast.parse("def nothing(): pass")) if isinstance(n, ast.FunctionDef))


def own(submission: Submission, claims: Claims, conditions: Conditions | None = None) -> Outcome:
    """Return the outcome of a file. Raises Misuse if it is open what is to be called; a fault of ours raises."""
    conditions = conditions or Conditions()
    if not conditions.host.walled:
        raise Misuse("A file of one's own is checked on Linux only, because it runs as it is.")
    if missing := pytorch_missing():
        raise Misuse(missing)
    of = whole(submission, claims)
    with Sandbox(conditions.limits, Device.OWN, conditions.host) as sandbox:
        return _Own(submission, of, claims, conditions, sandbox).outcome()


class _Own:
    """One file that is judged."""

    def __init__(self, submission: Submission, of: Whole, claims: Claims, conditions: Conditions, sandbox: Sandbox):
        self.submission, self.of, self.claims = submission, of, claims
        self.conditions, self.sandbox = conditions, sandbox
        self.where = locator(submission)
        self.of_rows = "x" in of.given  # it is a softmax
        self.is_open = not (claims.layout or self.of_rows)  # which layout it takes
        self.endings: dict[str, Finding] = {}  # what is said of how runners ended
        self.printed: tuple[tuple[str, str], ...] = ()
        self.seconds = 0.0
        self.found = ""  # which layout was found
        self.answered = False  # a call came to an end
        self.stub = False  # its backward pass is none
        self.declined: dict[str, None] = {}  # what the function itself refuses
        self.refused: set[str] = set()  # properties with cases of that kind
        self.noted: list[Finding] = []  # what is remarked on though values are right
        self.tuned: dict[str, int] = {}  # by kernel: configurations of its autotuner
        self.versions: dict[str, str] = {"checker": checker.__version__, "python": sys.version.split()[0]}

    def outcome(self) -> Outcome:
        """Judge the file, from the first call to the verdict."""
        task = self._task()
        task = replace(task, expected=cache(task.expected))
        cases = task.cases(task.draw())
        evidence, findings = list[Evidence](), list[Finding]()
        for some in (cases[: task.basic], cases[task.basic :], None):
            more = self._blocks(evidence, len(cases)) if some is None else some
            if more and not findings:
                evidence += self._run(task, more)
                made, findings = self._judged(task, evidence)
        asked = [one.case for one in evidence]
        unjudged = self._is_unjudged(evidence, findings)
        open_ = {name for case in asked for name in case.proves} | {one.name for one in task.properties} - self.refused
        proven = tuple(_proven(one, asked) for one in properties(task, asked, made) if one.passed or one.name in open_)
        verdict = Verdict(
            None,
            task.name,
            Status.NOT_JUDGED if unjudged else status_of(findings, proven),
            tuple(findings),
            () if unjudged else proven,
            (Run(Device.OWN.reported, self.seconds),),
            remarks=() if findings else tuple(self._remarks(evidence)),
            printed=self.printed,
            file=self.submission.name,
            sandbox=self.conditions.sandbox,
            submission_sha256=self.submission.sha256,
            versions=self.versions,
        )
        if verdict.accepted and self.of.kernels and self.conditions.targets:
            verdict = self._compiled(task, verdict, evidence)
        return Outcome(cleaned(replace(verdict, title=self._title(task))), self.submission, evidence=tuple(evidence))

    def _title(self, task: Task) -> str:
        """Return the function's name, and what was not asked of it."""
        what = f"attention{', forward and backward' if len(task.kernels) > 1 else ''}{self.found}"
        left_out = [*self.claims.left_out(softmax=self.of_rows), *self.declined]
        left_out += [f"gradients, of which {self.of.function} has none"] if self.stub else []
        left_out += [f"configurations 2 to {n} of {name}" for name, n in sorted(self.tuned.items())]
        named = f"{self.of.function}, {'softmax' if self.of_rows else what}"
        return f"{named} (not asked: {listed(left_out)})" if left_out else named

    def _is_unjudged(self, evidence: Sequence[Evidence], findings: Sequence[Finding]) -> bool:
        """Return whether nothing is known of the function: no call came to an end, and what stopped it may be right."""
        errors = [result.error for one in evidence for result in one.results]
        ran = any(error is None or error.type in OURS for error in errors)
        return not ran and bool(findings) and all(one.id in UNJUDGED for one in findings)

    def _blocks(self, evidence: Sequence[Evidence], first: int) -> list[Case]:
        """Return calls of softmax with rows of two blocks, as long as those of the launches."""
        widths = {one.case.id: one.case.tensors["x"].values.shape[1] for one in evidence if self.of_rows}
        sides = {n for id, name, n in _numbers(evidence) if SIDE.search(name) and 1 < n < widths.get(id, 0)}
        made = softmax.of_blocks(self.claims, sorted(sides)[-1:])
        return [replace(case, id=first + n) for n, case in enumerate(made)]

    def _task(self) -> Task:
        """Return what is asked, by what the first calls have returned."""
        self._choose()
        if self.of_rows:
            return softmax.task(self.claims, tuple(self.of.kernels), self.of.function, self.of.compared)
        others = [one for one in LAYOUTS if one != self.claims.layout] if self.is_open else []
        ways = [self.claims, *(replace(self.claims, layout=one) for one in others)]
        calls = [(attention.probe(self._given(way)), way) for way in ways]
        answers = self._answers(calls[:1])
        if others and answers[0] and answers[0].error:  # then another layout may be right in both directions
            answers += self._answers(calls[1:])
        n = next((n for n, one in enumerate(answers) if one and not one.error), 0)
        (probe, self.claims), answer = calls[n], answers[n]
        self.found = f" in layout {self.claims.layout}" if n else self.found
        in_backward = False
        if answer and answer.error:  # then the forward pass may be right by itself
            forward = replace(probe, tensors=attention.forward_alone(probe))
            alone = self._answers([(forward, self.claims)])[0]
            if alone and not alone.error:
                self.stub = self.of.stub or answer.error.type == "NotImplementedError"
                probe, answer, in_backward = forward, alone, not self.stub
        stored = set() if answer is None else {*answer.log.tensor[answer.log.kind == STORE].tolist()}
        returned = {name for n, name in enumerate(probe.tensors) if n in stored}
        given = replace(self._given(), lse="lse" in returned, gradients=in_backward or "dq" in returned)
        return attention.task(given, self.of.function)

    def _choose(self) -> None:
        """Choose layout, type and head dimension of most calls: those of a first call that is right, or nearest to it.

        The other types and dimensions are asked as well, and no other layout.
        """
        claims = self.claims
        dims = FIRST_DIMS if claims.head_dims == HEAD_DIMS else claims.head_dims[:1]
        ways = [
            replace(claims, layout=layout, types=_first(kind, claims.types), head_dims=_first(d, claims.head_dims))
            for layout in (LAYOUTS if self.is_open else (claims.layout,))
            for kind in claims.types
            for d in (dims[:1] if self.of_rows else dims)
        ]
        far = self._distances(ways[:1])
        if 0 < far[0] < UNANSWERED:  # it takes this type and this dimension
            ways = [way for way in ways if replace(way, layout=ways[0].layout) == ways[0]]
        far = self._distances(ways) if far[0] else far
        nearest = far.index(min(far)) if 0 in far or far[0] == UNANSWERED else 0
        self.claims = ways[nearest]
        trials = softmax.trials(self.claims) if self.of_rows else attention.trials(self._given())
        answers = self._answers([(case, self.claims) for case in trials.values()])
        for (claim, case), answer in zip(trials.items(), answers, strict=True):
            if answer and answer.error and answer.error.line in self.of.refusals:  # so its author claims it
                self.declined.setdefault(self._declined(Evidence(case, answer, None)))
                changed: dict[str, Any] = {claim: True}
                self.claims = replace(self.claims, **changed)
        if self.is_open and far[nearest] == OUTSIDE:
            self.found = f", right in no layout and judged in {self.claims.layout}"
        elif self.is_open and not far[nearest] and self.claims.layout != LAYOUTS[0]:
            self.found = f" in layout {self.claims.layout}"

    def _distances(self, ways: Sequence[Claims]) -> list[int]:
        """Return how far first calls under some claims are from right: 0, 1 for wrong values, OUTSIDE, UNANSWERED."""
        cases = [softmax.first_call(way) if self.of_rows else attention.first_call(self._given(way)) for way in ways]
        right, far = softmax.expected if self.of_rows else expected, list[int]()
        for case, answer in zip(cases, self._answers(list(zip(cases, ways, strict=True))), strict=True):
            outside = answer and answer.error and answer.error.type in OURS
            stopped = OUTSIDE if outside else UNANSWERED
            far.append(stopped if answer is None or answer.error else int(not is_right(right, case, answer)))
        return far

    def _given(self, claims: Claims | None = None) -> Given:
        of = self.of
        return Given(claims or self.claims, "scale" in of.given, "causal" in of.given, tuple(of.kernels), of.compared)

    def _answers(self, calls: Sequence[tuple[Case, Claims]]) -> list[LaunchResult | None]:
        """Return what came of some calls, each under its claims."""
        cases, layouts = [case for case, _ in calls], [claims.layout for _, claims in calls]
        result = self._in_sandbox(cases, [[(n, [0]) for n in range(len(cases))]], layouts=layouts)
        return [result.passes[0].results.get(n) for n in range(len(cases))]

    def _in_sandbox(
        self, cases: Sequence[Case], passes: list[Pass], task: Task | None = None, layouts: Sequence[str] = ()
    ) -> SandboxResult:
        launches = []
        for case, layout in zip(cases, layouts or [self.claims.layout] * len(cases), strict=True):
            made = launch_of(case, task)
            asked = {"function": self.of.function, "call": self.of.call, "layout": layout or LAYOUTS[0]}
            asked["folder"] = str(Path(self.submission.name).absolute().parent) if self.submission.name else ""
            launches.append(replace(made, asked=asked, most_work=OTHERS * made.most_work))
        result = self.sandbox.run(self.of.source, [*{one.kernel: None for one in launches}], launches, passes)
        self.seconds += result.seconds
        self.versions |= result.versions
        return result

    def _run(self, task: Task, cases: Sequence[Case]) -> list[Evidence]:
        """Calls in two processes, in one of which programs run in another order; some in both."""
        twice = {n for n, case in enumerate(cases) if case.title.startswith(("several", "whole"))}
        passes: list[Pass] = [[(n, [0]) for n in range(len(cases)) if n % 2 == half or n in twice] for half in (0, 1)]
        result = self._in_sandbox(cases, passes, task)
        ended = endings(result, self.conditions.limits, cases, lambda error: _stopped(error, self.where(error.line)))
        self.endings |= {one.id: one for one in ended}
        printed = [(cases[number].name, text) for number, text in result.passes[0].printed.items()]
        self.printed = self.printed or tuple(printed[:1])
        ordered, shuffled = ({n: self._tuned(r) for n, r in one.results.items()} for one in result.passes)
        every = [Evidence(case, ordered.get(n), shuffled.get(n)) for n, case in enumerate(cases)]
        declined = {found.case.id: said for found in every if (said := self._declined(found))}
        if len(declined) == len(every) and not self.answered:  # then there is nothing else to judge
            return every
        self.answered = True
        for case in cases:
            if case.id in declined:
                self.declined.setdefault(declined[case.id])
                self.refused.update(case.proves)
        return [found for found in every if found.case.id not in declined]

    def _tuned(self, result: LaunchResult) -> LaunchResult:
        """Return a result whose launches have only options for a compiler; configurations are noted."""
        names, launched = list(self.of.kernels), []
        for one in result.launched:
            options = dict(one.options)
            if (configurations := options.pop(CONFIGURATIONS, 0)) and 0 <= one.kernel < len(names):
                self.tuned[names[one.kernel]] = configurations
            launched.append(replace(one, options=options))
        return replace(result, launched=tuple(launched))

    def _declined(self, one: Evidence) -> str:
        """Return what the function does not take, if it says so: by an assert or a raise, or for a head dimension."""
        error = next((result.error for result in one.results if result.error), None)
        if error is None or error.type in OURS:
            return ""
        line = self.where(error.line).line
        if said := self.of.refusals.get(error.line):
            return f"what line {line} refuses: {said}"
        d = one.case.tensors["q"].values.shape[-1] if "q" in one.case.tensors else 0
        if not d or d == self.claims.head_dims[0] or {*self.claims.head_dims} != {*HEAD_DIMS}:
            return ""
        return f"d={d}, at which line {line} stops: {plain(error.message) or error.type}"

    def _judged(self, task: Task, evidence: list[Evidence]) -> tuple[Judgement, list[Finding]]:
        named = replace(task, misconceptions=self._ideas(task, evidence))
        codes = {one.name: self._code(task, one.name, evidence) for one in task.kernels}
        made = judge(named, evidence, self.where, codes)
        in_half = bool(made.findings) and {one.id for one in made.findings} <= IN_HALF
        wrong = [one for one in evidence if in_half and not is_right(task.expected, one.case, one.result)]
        came = all(one.result and not one.result.error for one in wrong)
        if in_half and came and all(attention.as_near(one.case, one.result.tensors) for one in wrong if one.result):
            self.noted, made.findings = made.findings, []
            made.failed.clear()
        return made, in_order_of_cases([*self.endings.values(), *made.findings])

    def _ideas(self, task: Task, evidence: list[Evidence]) -> tuple[Misconception, ...]:
        """Return what mistakes are looked for, in tiles of which the launches tell."""
        if self.of_rows:
            known = softmax.named_by((self._sides(evidence) or [USUAL])[:MOST_TILES])
        else:
            known = attention_ideas.named_by(task.kernels, self._tiles(evidence))
        return (*STOPS, *self._of_outside(task, evidence), *triton_errors.COMMON, *self._likely(task, known, evidence))

    def _of_outside(self, task: Task, evidence: Sequence[Evidence]) -> tuple[Misconception, ...]:
        """Return what is said of accesses outside a tensor, by the calls with such accesses and the right ones."""
        of = [e.case for e in evidence if e.result and e.result.error and e.result.error.type == "OutsideMemory"]
        if not of:
            return ()
        right = [one.case for one in evidence if is_right(task.expected, one.case, one.result)]
        asks = [{*case.asks, *case.proves} for case in of]
        widths = {case.tensors["q"].values.shape[-1] for case in right if "q" in case.tensors}
        if all({"any-layout", "strides"} & one for one in asks):
            other = any("q" in case.tensors and case.tensors["q"].values.shape[-1] not in widths for case in of)
            return () if other else OTHER_STRIDES
        alone = any({"heads", "shared-heads"}.isdisjoint(one) for one in asks)
        whole = any(case.title.startswith("whole") for case in right)
        return PAST_THE_END if all("any-length" in one for one in asks) and alone and whole else ()

    def _likely(self, task: Task, known: Sequence[Misconception], evidence: list[Evidence]) -> Iterator[Misconception]:
        """Yield those that explain one of the smallest wrong calls: to ask all ideas of all calls takes minutes."""
        wrong = ((one.name, self._code(task, one.name, evidence)) for one in task.kernels)
        items = [one for of in wrong for one in islice(self._wrong(task, of[0], evidence, of[1]), SMALLEST)]
        models = Models(task, items)
        for one in known:
            signs = [s for s in one.signs if not isinstance(s, Writes) or any(models.explains(s, i) for i in items)]
            if one.id in LINES:
                signs = [s.at(LINES[one.id]) if isinstance(s, Writes) else s for s in signs]
            if signs:
                yield replace(one, signs=tuple(signs))

    def _wrong(self, task: Task, name: str, evidence: Sequence[Evidence], code: ast.FunctionDef) -> Iterator[Wrong]:
        """Yield the calls of a task's kernel that went wrong, the smallest first."""
        own = [one for one in evidence if one.case.kernel == name and one.case.informative]
        for one in sorted(own, key=lambda one: sum(tensor.values.size for tensor in one.case.tensors.values())):
            if one.result is None or one.result.error or one.result.refused:
                continue
            if wrong := wrong_outputs(one.case, task.expected(one.case), one.result, Text(code)):
                yield wrong

    def _tiles(self, evidence: Sequence[Evidence]) -> list[tuple[int, int]]:
        """Br and Bc, as far as they can be guessed."""
        sides = (self._sides(evidence) or [USUAL])[:MOST_TILES]
        return [*permutations(sides, 2)] if len(sides) > 1 else [(sides[0], sides[0])]

    def _sides(self, evidence: Sequence[Evidence]) -> list[int]:
        """Numbers in launches that may be sides of tiles; those that are called so, if there are any."""
        found = [(name, value) for _, name, value in _numbers(evidence) if value in BLOCKS]
        called = [value for name, value in found if SIDE.search(name)] or [value for _, value in found]
        return [*dict.fromkeys(called)] or [n for n in self.of.numbers if n in BLOCKS]

    def _code(self, task: Task, name: str, evidence: Sequence[Evidence]) -> ast.FunctionDef:
        """Return the kernel that has stored what is wrong, or else what is judged."""
        wrong = next(self._wrong(task, name, evidence, _NOTHING), None)
        results = (result for one in evidence if one.case.kernel == name for result in one.results)
        lines = (int(line) for result in results for line in result.log.line[result.log.kind == STORE] if line > 0)
        stored = [wrong.store_line] if wrong else []
        found = next((kernel for line in (*stored, *lines) if (kernel := self.of.around(line))), None)
        return found or next(iter(self.of.kernels.values()), _NOTHING)

    def _remarks(self, evidence: Sequence[Evidence]) -> Iterator[str]:
        """Yield what is worth knowing of a file that is right: launches, and traffic against that of FlashAttention."""
        if not self.of.kernels:
            yield "right, and nothing of Triton in it: no kernel was launched."
            return
        one = next((e for e in evidence if e.result and e.case.kernel == FORWARD.name), evidence[0])
        assert one.result is not None
        counts = [number for number, _, _ in one.result.log.launched]
        names = [list(self.of.kernels)[n] for n in counts]
        times = Counter(names)
        often = [name if n == 1 else f"{name} {n} times" for name, n in times.items()]
        yield f"one call forward launches {listed(often) or 'nothing'}."
        for found in self.noted:
            said = f"line {found.where.line}: {found.title} [{found.id}]."
            yield f"{said} The results are as near as PyTorch's in half precision."
        if one.case.kernel != FORWARD.name or not one.result.moved:
            return
        Br, Bc = self._tiles(evidence)[0]
        launch = family(one.case, Br, Bc)
        most = float(keys_seen(launch).sum() / launch.tensors["k_ptr"].values.shape[1])
        parts = [
            f"{name.upper()} {one.result.moved[name][0] / one.case.tensors[name].values.size:.2f} ({loads:.2f})"
            for name, loads in {"q": 1.0, "k": most, "v": most}.items()
            if name in one.result.moved
        ]
        said = f"loads per element, and in brackets what FlashAttention takes in tiles of {Br} x {Bc}"
        yield f"{said}: {', '.join(parts)}, with {one.case.name}."

    def _compiled(self, task: Task, verdict: Verdict, evidence: Sequence[Evidence]) -> Verdict:
        """Return the verdict with what the compiler made of the kernels, as they were launched."""
        launched = as_launched(task, evidence, self.conditions.targets)
        if refused := refused_as_launched(self.of.kernels_alone, launched, self.conditions, self.where):
            once = tuple({one.id: one for one in refused}.values())
            return replace(verdict, status=Status.DOES_NOT_COMPILE, findings=once, remarks=())
        names, compiled = list(self.of.kernels), {one.kernel for one, _ in launched}
        ran = {number for e in evidence for result in e.results for number, _, _ in result.log.launched}
        if left_out := [names[number] for number in sorted(ran - compiled)]:
            said = f"not compiled for any GPU: {listed(left_out)}, launched with descriptors, types, texts or None."
            verdict = replace(verdict, remarks=(*verdict.remarks, said))
        return verdict


def _stopped(error: KernelError, place: Where) -> Finding:
    """Return what is said of a file that does not get as far as its function."""
    for idea in ideas(STOPS, Raises):
        if any(sign.recognises(error.message) for sign in idea.signs):
            return idea.finding(Status.CRASHED, place, (f"Python says: {plain(error.message)}",))
    return error_finding(error, place)


def _first(one: Any, every: tuple[Any, ...]) -> tuple[Any, ...]:
    return (one, *(other for other in every if other != one))


def _numbers(evidence: Sequence[Evidence]) -> Iterator[tuple[int, str, int]]:
    """Yield whole numbers that kernels were launched with, which may be sides of tiles: the case, name and number."""
    for one in evidence:
        for launched in (launched for result in one.results for launched in result.launched):
            for name, value in launched.form.constexprs.items():
                if type(value) is int and not SIZE.search(name):
                    yield one.case.id, name, value


def _proven(one: PropertyResult, asked: Sequence[Case]) -> PropertyResult:
    """Return the result of a property; of one that was not asked yet that it was not."""
    if one.passed or any(one.name in case.proves for case in asked):
        return one
    return replace(one, detail="asked once the others are right")
