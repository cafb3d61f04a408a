"""The road of a whole file: what it returns is looked at first, and then it is called as it says it can be.

Its kernels are compiled as they were launched. Practice only: the file runs as it is, under limits.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from checker.catalog.own.given import Given
from checker.catalog.own.task import OTHER_STRIDES, PAST_THE_END, STOPS, Task
from checker.check.conditions import Conditions, Outcome
from checker.course.case import Case
from checker.course.claims import HEAD_DIMS, LAYOUTS, Claims
from checker.course.clean import cleaned
from checker.course.misconception import Misconception, Raises, Writes
from checker.course.puzzle import Draw, Expected
from checker.course.status import Misuse
from checker.course.text import Text
from checker.course.verdict import Finding, PropertyResult, Run, Status, Verdict, Where
from checker.judge import triton_errors
from checker.judge.compare import wrong_elements
from checker.judge.errors import error_finding, plain
from checker.judge.evidence import Evidence, listed, locator, written_tensors
from checker.judge.exits import ended, malformed
from checker.judge.judge import Judgement, in_order_of_cases, judge, properties, status_of
from checker.judge.launches import as_launched, refused_launches
from checker.judge.memory import never_stored
from checker.judge.models import Models
from checker.judge.naming import ideas
from checker.judge.overwork import overworked
from checker.judge.requests import launch_of
from checker.judge.wrong import Wrong, wrong_outputs
from checker.sandbox.compiling import Compiler
from checker.sandbox.exchange import Ending
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
SILENT = {"OutsideMemory", "SharedElement", "WrongResult"}  # errors that the checker raises, and not the function
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
        self.ending: Finding | None = None  # what is said of how a runner ended
        self.printed: tuple[tuple[str, str], ...] = ()
        self.seconds = 0.0
        self.is_open = not claims.layout  # which layout it takes
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
        evidence = self._run(task, cases[: task.basic])
        made, findings = self._judged(task, evidence)
        if not findings:
            evidence += self._run(task, cases[task.basic :])
            made, findings = self._judged(task, evidence)
        if not findings and (more := self._blocks(task, evidence, len(cases))):
            evidence += self._run(task, more)
            made, findings = self._judged(task, evidence)
        asked = [one.case for one in evidence]
        proven = tuple(_proven(one, asked) for one in properties(task, asked, made))
        proven = tuple(one for one in proven if one.passed or self._is_open(one.name, asked))
        verdict = Verdict(
            None,
            task.name,
            Status.NOT_JUDGED if self._is_unjudged(evidence, findings) else status_of(findings, proven),
            tuple(findings),
            proven,
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
        verdict = replace(verdict, title=self._title(task))
        return Outcome(cleaned(verdict), self.submission, evidence=tuple(evidence))

    def _title(self, task: Task) -> str:
        """Return the function's name, and what was not asked of it."""
        what = f"attention{', forward and backward' if len(task.kernels) > 1 else ''}{self.found}"
        what = "softmax" if task.id == "softmax" else what
        left_out = [*self.claims.left_out(softmax=task.id == "softmax"), *self.declined]
        left_out += [f"gradients, of which {self.of.function} has none" for _ in (1,) if self.stub]
        left_out += [f"configurations 2 to {n} of {name}" for name, n in sorted(self.tuned.items())]
        named = f"{self.of.function}, {what}"
        return f"{named} (not asked: {listed(left_out)})" if left_out else named

    def _is_open(self, name: str, asked: Sequence[Case]) -> bool:
        """Return whether a property is still to be asked: the function itself has not refused all of its cases."""
        return name not in self.refused or any(name in case.proves for case in asked)

    def _is_unjudged(self, evidence: Sequence[Evidence], findings: Sequence[Finding]) -> bool:
        """Return whether nothing is known of the function: no call came to an end, and what stopped it may be right."""
        errors = [result.error for one in evidence for result in one.results]
        ran = any(error is None or error.type in SILENT for error in errors)
        return not ran and bool(findings) and all(one.id in UNJUDGED for one in findings)

    def _blocks(self, task: Task, evidence: Sequence[Evidence], first: int) -> list[Case]:
        """Return calls of softmax with rows of two blocks, as long as those of the launches."""
        if task.id != "softmax":
            return []
        sides = {
            value
            for one in evidence
            for launched in (one.result.launched if one.result else ())
            for name, value in launched.form.constexprs.items()
            if SIDE.search(name) and not SIZE.search(name) and type(value) is int
            if 1 < value < one.case.tensors["x"].values.shape[1]
        }
        made = softmax.of_blocks(self.claims, sorted(sides)[-1:])
        return [replace(case, id=first + n) for n, case in enumerate(made)]

    def _task(self) -> Task:
        """Return what is asked, by what the first calls have returned."""
        self._choose()
        if "x" in self.of.given:
            return softmax.task(self.claims, tuple(self.of.kernels), self.of.function, self.of.compared)
        probe = attention.probe(self._given(), Draw("own-attention"))
        answer = self._answers([(probe, self.claims)])[0]
        if answer and answer.error and self.is_open:  # then another layout may be right in both directions
            others = [replace(self.claims, layout=one) for one in LAYOUTS if one != self.claims.layout]
            calls = [
                (attention.probe(replace(self._given(), claims=one), Draw("own-attention")), one) for one in others
            ]
            for call, other in zip(calls, self._answers(calls), strict=True):
                if other and not other.error:
                    (probe, self.claims), answer = call, other
                    self.found = f" in layout {self.claims.layout}"
                    break
        in_backward = False
        if answer and answer.error:  # then the forward pass may be right by itself
            forward = replace(probe, tensors=attention.forward_alone(probe))
            alone = self._answers([(forward, self.claims)])[0]
            self.stub = bool(alone and not alone.error) and (self.of.stub or answer.error.type == "NotImplementedError")
            in_backward = bool(alone and not alone.error) and not self.stub
            probe, answer = (forward, alone) if alone and not alone.error else (probe, answer)
        stored = set() if answer is None else {*answer.log.tensor[answer.log.kind == STORE].tolist()}
        returned = {name for n, name in enumerate(probe.tensors) if n in stored}
        given = replace(self._given(), lse="lse" in returned, gradients=in_backward or "dq" in returned)
        return attention.task(given, self.of.function)

    def _choose(self) -> None:
        """Choose layout, type and head dimension of most calls: those of a first call that is right, or nearest to it.

        The other types and dimensions are asked as well, and no other layout.
        """
        claims, of_rows = self.claims, "x" in self.of.given
        dims = FIRST_DIMS if claims.head_dims == HEAD_DIMS else claims.head_dims[:1]
        ways = [
            replace(claims, layout=layout, types=_first(kind, claims.types), head_dims=_first(d, claims.head_dims))
            for layout in ((claims.layout,) if claims.layout or of_rows else LAYOUTS)
            for kind in claims.types
            for d in (dims[:1] if of_rows else dims)
        ]
        cases = [
            softmax.first_call(way) if of_rows else attention.first_call(replace(self._given(), claims=way))
            for way in ways
        ]
        calls = list(zip(cases, ways, strict=True))
        far = [_distance(calls[0][0], self._answers(calls[:1])[0])]
        if far[0]:
            if far[0] < UNANSWERED:  # it takes this type and this dimension
                calls = [(case, way) for case, way in calls if replace(way, layout=ways[0].layout) == ways[0]]
            answers = self._answers(calls)
            far = [_distance(case, answer) for (case, _), answer in zip(calls, answers, strict=True)]
        nearest = far.index(min(far)) if 0 in far or far[0] == UNANSWERED else 0
        self.claims = calls[nearest][1]
        trials = softmax.trials(self.claims) if of_rows else attention.trials(self._given())
        answers = self._answers([(case, self.claims) for case in trials.values()])
        for claim, case, answer in zip(trials, trials.values(), answers, strict=True):
            if answer and answer.error and answer.error.line in self.of.refusals:  # so its author claims it
                self.declined.setdefault(self._declined(Evidence(case, answer, None)))
                changed: dict[str, Any] = {claim: True}
                self.claims = replace(self.claims, **changed)
        if claims.layout or of_rows:
            return
        if far[nearest] == OUTSIDE:
            self.found = f", right in no layout and judged in {self.claims.layout}"
        elif not far[nearest] and self.claims.layout != LAYOUTS[0]:
            self.found = f" in layout {self.claims.layout}"

    def _given(self) -> Given:
        of = self.of.given
        kernels = tuple(self.of.kernels)
        return Given(self.claims, "scale" in of, "causal" in of, False, False, kernels, self.of.compared)

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
        for one in result.passes:
            if one.loading is not None:
                self.ending = _stopped(one.loading, self.where(one.loading.line))
            elif one.malformed is not None and one.ending in (Ending.FINISHED, Ending.EXITED):
                self.ending = malformed(one.malformed)
            elif any(answer.error and overworked(answer) for answer in one.results.values()):
                continue
            elif one.ending is Ending.KILLED_FROM_OUTSIDE:
                raise RuntimeError("the sandbox was killed from outside, as by the system when memory is short")
            elif one.ending is not Ending.STOPPED and one.unanswered is not None:
                self.ending = ended(one.ending, one.code, self.conditions.limits, cases[one.unanswered])
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
        names = list(self.of.kernels)
        for one in result.launched:
            if one.options.get(CONFIGURATIONS) and 0 <= one.kernel < len(names):
                self.tuned[names[one.kernel]] = one.options[CONFIGURATIONS]
        plain = [{name: n for name, n in one.options.items() if name != CONFIGURATIONS} for one in result.launched]
        launched = (replace(one, options=options) for one, options in zip(result.launched, plain, strict=True))
        return replace(result, launched=tuple(launched))

    def _declined(self, one: Evidence) -> str:
        """Return what the function does not take, if it says so: by an assert or a raise, or for a head dimension."""
        error = next((result.error for result in one.results if result.error), None)
        if error is None or error.type in SILENT:
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
        if in_half and all(_is_right(one.case, one.result, task.expected) or self._is_near(one) for one in evidence):
            self.noted, made.findings = made.findings, []
            made.failed.clear()
        return made, in_order_of_cases([*filter(None, [self.ending]), *made.findings])

    def _ideas(self, task: Task, evidence: Sequence[Evidence]) -> tuple[Misconception, ...]:
        """Return what mistakes are looked for, in tiles of which the launches tell."""
        if task.id == "softmax":
            known = softmax.named_by((self._sides(evidence) or [USUAL])[:MOST_TILES])
        else:
            known = attention_ideas.named_by(task.kernels, self._tiles(evidence))
        return (*STOPS, *self._of_outside(task, evidence), *triton_errors.COMMON, *self._likely(task, known, evidence))

    def _is_near(self, one: Evidence) -> bool:
        """Return whether a call in half precision came as near to the right values as PyTorch does."""
        if not one.result or one.result.error or one.case.kernel != FORWARD.name:
            return False
        return attention.as_near(one.case, one.result.tensors)

    def _of_outside(self, task: Task, evidence: Sequence[Evidence]) -> tuple[Misconception, ...]:
        """Return what is said of accesses outside a tensor, by the calls with such accesses and
        those that are right.
        """
        of = [e.case for e in evidence if e.result and e.result.error and e.result.error.type == "OutsideMemory"]
        if not of:
            return ()
        right = [one.case for one in evidence if _is_right(one.case, one.result, task.expected)]
        asks = [{*case.asks, *case.proves} for case in of]
        widths = {case.tensors["q"].values.shape[-1] for case in right if "q" in case.tensors}
        if all({"any-layout", "strides"} & one for one in asks):
            other = any("q" in case.tensors and case.tensors["q"].values.shape[-1] not in widths for case in of)
            return () if other else OTHER_STRIDES
        alone = any({"heads", "shared-heads"}.isdisjoint(one) for one in asks)
        whole = any(case.title.startswith("whole") for case in right)
        return PAST_THE_END if all("any-length" in one for one in asks) and alone and whole else ()

    def _likely(
        self, task: Task, known: Sequence[Misconception], evidence: Sequence[Evidence]
    ) -> Iterator[Misconception]:
        """Yield those that explain one of the smallest calls that went wrong: to ask all ideas of all calls takes
        minutes.
        """
        items: list[Wrong] = []
        for kernel in task.kernels:
            code = self._code(task, kernel.name, evidence)
            items += islice(self._wrong(task, kernel.name, evidence, code), SMALLEST)
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
        wrong = (
            wrong_outputs(one.case, task.expected(one.case), one.result, Text(code))
            for one in sorted(own, key=_size)
            if one.result and not (one.result.error or one.result.refused)
        )
        yield from filter(None, wrong)

    def _tiles(self, evidence: Sequence[Evidence]) -> list[tuple[int, int]]:
        """Br and Bc, as far as they can be guessed."""
        sides = (self._sides(evidence) or [USUAL])[:MOST_TILES]
        return [*permutations(sides, 2)] if len(sides) > 1 else [(sides[0], sides[0])]

    def _sides(self, evidence: Sequence[Evidence]) -> list[int]:
        """Numbers in launches that may be sides of tiles; those that are called so, if there are any."""
        found = [
            (name, value)
            for launched in (launched for one in evidence for result in one.results for launched in result.launched)
            for name, value in launched.form.constexprs.items()
            if type(value) is int and value in BLOCKS and not SIZE.search(name)
        ]
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
        tile = self._tiles(evidence)[0]
        launch = family(one.case, *tile)
        q, k = launch.tensors["q_ptr"].values, launch.tensors["k_ptr"].values
        most = {"q": 1.0, "k": len(q) * keys_seen(launch).sum() / len(k) / k.shape[1]}
        most["v"] = most["k"]
        parts = [
            f"{name.upper()} {one.result.moved[name][0] / one.case.tensors[name].values.size:.2f} ({most[name]:.2f})"
            for name in ("q", "k", "v")
            if name in one.result.moved
        ]
        yield (
            f"loads per element, and in brackets what FlashAttention takes in tiles of {tile[0]} x {tile[1]}: "
            f"{', '.join(parts)}, with {one.case.name}."
        )

    def _compiled(self, task: Task, verdict: Verdict, evidence: Sequence[Evidence]) -> Verdict:
        """Return the verdict with what the compiler made of the kernels, as they were launched."""
        launched = as_launched(task, evidence, self.conditions.targets)
        jobs = [job for _, job in launched]
        with Compiler(
            self.of.kernels_alone, jobs, self.conditions.limits, self.conditions.host, assembled=False
        ) as compiler:
            results = compiler.results()
        made = list(zip((one for one, _ in launched), results, strict=True))
        refused = tuple({one.id: one for one in refused_launches(made, self.where)}.values())
        if not refused:
            names, compiled = list(self.of.kernels), {one.kernel for one, _ in launched}
            ran = {number for e in evidence for result in e.results for number, _, _ in result.log.launched}
            if left_out := [names[number] for number in sorted(ran - compiled)]:
                said = f"not compiled for any GPU: {listed(left_out)}, launched with descriptors, types, texts or None."
                verdict = replace(verdict, remarks=(*verdict.remarks, said))
            return verdict
        return replace(verdict, status=Status.DOES_NOT_COMPILE, findings=refused, remarks=())


def _stopped(error: KernelError, place: Where) -> Finding:
    """Return what is said of a file that does not get as far as its function."""
    for idea in ideas(STOPS, Raises):
        if any(sign.recognises(error.message) for sign in idea.signs):
            return idea.finding(Status.CRASHED, place, (f"Python says: {plain(error.message)}",))
    return error_finding(error, place)


def _first(one: Any, every: tuple[Any, ...]) -> tuple[Any, ...]:
    return (one, *(other for other in every if other != one))


def _is_right(case: Case, result: LaunchResult | None, expected: Callable[[Case], Mapping[str, Expected]]) -> bool:
    """Return whether a call came to its end with right values everywhere."""
    if not result or result.error or result.refused:
        return False
    of, names = expected(case), written_tensors(case)
    wrong = (wrong_elements(result.tensors[name], of[name]) | never_stored(case, result, name) for name in names)
    return not any(one.any() for one in wrong)


def _distance(case: Case, answer: LaunchResult | None) -> int:
    """Return 0 for a right answer, 1 for wrong values, OUTSIDE for a wrong access, else UNANSWERED."""
    if answer is None or answer.error:
        return OUTSIDE if answer and answer.error and answer.error.type in SILENT else UNANSWERED
    return int(not _is_right(case, answer, softmax.expected if "x" in case.tensors else expected))


def _size(one: Evidence) -> int:
    """Numbers in a call."""
    return sum(tensor.values.size for tensor in one.case.tensors.values())


def _proven(one: PropertyResult, asked: Sequence[Case]) -> PropertyResult:
    """Return the result of a property; of one that was not asked yet that it was not."""
    if one.passed or any(one.name in case.proves for case in asked):
        return one
    return replace(one, detail="asked once the others are right")
