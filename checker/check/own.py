"""The road of a whole file: what it returns is looked at first, and then it is called as it says it can be.

Its kernels are compiled as they were launched. Practice only: the file runs as it is, under limits.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice

import checker
from checker.box.compiling import Compiler
from checker.box.exchange import Ending
from checker.box.parent import Box, BoxResult, Pass, pytorch_missing
from checker.box.protocol.device import Device
from checker.box.protocol.records import STORE
from checker.box.protocol.results import KernelError, LaunchResult
from checker.catalog.attention.bounds import keys_seen
from checker.catalog.attention.pytorch.autograd import FORWARD, family
from checker.catalog.lines import accumulator, causal_mask, normaliser
from checker.catalog.own import attention, attention_ideas, softmax
from checker.catalog.own.given import Given
from checker.catalog.own.task import OTHER_STRIDES, PAST_THE_END, STOPS, Task
from checker.check.terms import Outcome, Terms
from checker.course.case import Case
from checker.course.claims import Claims
from checker.course.clean import cleaned
from checker.course.misconception import Misconception, Raises, Writes
from checker.course.puzzle import Draw
from checker.course.status import Misuse
from checker.course.text import Text
from checker.course.verdict import Finding, PropertyResult, Run, Status, Verdict, Where
from checker.judge import triton_errors
from checker.judge.asked import launch_of
from checker.judge.endings import ended, malformed
from checker.judge.errors import error_finding, plain
from checker.judge.evidence import Evidence, listed, locator
from checker.judge.judge import Judgement, in_order_of_cases, judge, properties, status_of
from checker.judge.launches import as_launched, refused_launches
from checker.judge.models import Models
from checker.judge.naming import ideas
from checker.judge.overwork import overworked
from checker.judge.wrong import wrong_outputs
from checker.submission.read import Submission
from checker.submission.whole import Whole, whole

BLOCKS = 16, 32, 64, 128, 256, 512, 1024  # what a number in a launch may be the side of a tile of
MOST_TILES = 3  # lengths of blocks that are tried
SMALLEST = 2  # wrong calls by which ideas are chosen
USUAL = 64
OTHERS = 4  # times what is enough for the course's own functions
# A file has no solution beside it, so the lines of these are looked for in its text.
LINES = {
    "accumulator-not-rescaled": accumulator,
    **dict.fromkeys(("denominator-not-rescaled", "sum-of-last-block"), normaliser),
    **dict.fromkeys(("causal-off-by-one", "causal-offset-reversed", "causal-top-left"), causal_mask),
}
_NOTHING = ast.parse("def nothing(): pass").body[0]


def own(submission: Submission, claims: Claims, terms: Terms | None = None) -> Outcome:
    """The outcome of a file. Raises Misuse if it is open what is to be called; a fault of ours raises."""
    terms = terms or Terms()
    if not terms.host.walled:
        raise Misuse("A file of one's own is checked on Linux only, because it runs as it is.")
    if missing := pytorch_missing():
        raise Misuse(missing)
    of = whole(submission, claims)
    with Box(terms.limits, Device.OWN, terms.host) as box:
        return _Own(submission, of, claims, terms, box).outcome()


class _Own:
    """One file that is judged."""

    def __init__(self, submission: Submission, of: Whole, claims: Claims, terms: Terms, box: Box):
        self.submission, self.of, self.claims, self.terms, self.box = submission, of, claims, terms, box
        self.where = locator(submission)
        self.ending: Finding | None = None  # what is said of how a runner ended
        self.printed: tuple[tuple[str, str], ...] = ()
        self.seconds = 0.0
        self.versions: dict[str, str] = {"checker": checker.__version__, "python": sys.version.split()[0]}

    def outcome(self) -> Outcome:
        """From the first call to the verdict."""
        task = self._task()
        task = replace(task, expected=cache(task.expected))
        cases = task.cases(task.draw())
        evidence, asked = self._run(task, cases[: task.basic]), cases[: task.basic]
        made, findings = self._judged(task, evidence)
        if not findings:
            evidence, asked = evidence + self._run(task, cases[task.basic :]), cases
            made, findings = self._judged(task, evidence)
        proven = tuple(_proven(one, asked) for one in properties(task, asked, made))
        verdict = Verdict(
            None,
            task.name,
            status_of(findings, proven),
            tuple(findings),
            proven,
            (Run(Device.OWN.reported, self.seconds),),
            remarks=() if findings else tuple(self._remarks(evidence)),
            printed=self.printed,
            file=self.submission.name,
            sandbox=self.terms.sandbox,
            submission_sha256=self.submission.sha256,
            versions=self.versions,
        )
        if verdict.accepted and self.of.kernels and self.terms.targets:
            verdict = self._compiled(task, verdict, evidence)
        return Outcome(cleaned(verdict), self.submission, evidence=tuple(evidence))

    def _title(self, what: str) -> str:
        left_out = list(self.claims.left_out(softmax=what == "softmax"))
        named = f"{self.of.function}, {what}"
        return f"{named} (not asked: {listed(left_out)})" if left_out else named

    def _task(self) -> Task:
        """What is asked, by what a first call has returned."""
        if "x" in self.of.given:
            return softmax.task(self.claims, tuple(self.of.kernels), self._title("softmax"), self.of.compared)
        given = self._given()
        probe = attention.probe(given, Draw("own-attention"))
        answer = self._answer(probe)
        if not self.claims.layout and answer and answer.error and "values to unpack" in answer.error.message:
            self.claims = replace(self.claims, layout="bnd")
            probe = attention.probe(self._given(), Draw("own-attention"))
            answer = self._answer(probe)
        in_backward = False
        if answer and answer.error:  # then the forward pass may be right by itself
            forward = replace(probe, tensors=attention.forward_alone(probe))
            alone = self._answer(forward)
            in_backward = bool(alone and not alone.error)
            probe, answer = (forward, alone) if in_backward else (probe, answer)
        stored = set() if answer is None else {*answer.log.tensor[answer.log.kind == STORE].tolist()}
        returned = {name for n, name in enumerate(probe.tensors) if n in stored}
        given = replace(self._given(), lse="lse" in returned, gradients=in_backward or "dq" in returned)
        return attention.task(given, self._title("attention, forward and backward" if given.gradients else "attention"))

    def _given(self) -> Given:
        of = self.of.given
        kernels = tuple(self.of.kernels)
        return Given(self.claims, "scale" in of, "causal" in of, False, False, kernels, self.of.compared)

    def _answer(self, case: Case) -> LaunchResult | None:
        return self._box([case], [[(0, [0])]]).passes[0].results.get(0)

    def _box(self, cases: Sequence[Case], passes: list[Pass], task: Task | None = None) -> BoxResult:
        asked = {"function": self.of.function, "call": self.of.call, "layout": self.claims.layout or "bhnd"}
        made = [launch_of(case, task) for case in cases]
        launches = [replace(one, asked=asked, most_work=OTHERS * one.most_work) for one in made]
        result = self.box.run(self.of.source, [*{one.kernel: None for one in launches}], launches, passes)
        self.seconds += result.seconds
        self.versions |= result.versions
        return result

    def _run(self, task: Task, cases: Sequence[Case]) -> list[Evidence]:
        """Calls in two processes, in one of which programs run in another order; some in both."""
        twice = {n for n, case in enumerate(cases) if case.title.startswith(("several", "whole"))}
        passes: list[Pass] = [[(n, [0]) for n in range(len(cases)) if n % 2 == half or n in twice] for half in (0, 1)]
        result = self._box(cases, passes, task)
        for one in result.passes:
            if one.loading is not None:
                self.ending = _stopped(one.loading, self.where(one.loading.line))
            elif one.malformed is not None and one.ending in (Ending.FINISHED, Ending.EXITED):
                self.ending = malformed(one.malformed)
            elif any(answer.error and overworked(answer) for answer in one.results.values()):
                continue
            elif one.ending is Ending.KILLED_FROM_OUTSIDE:
                raise RuntimeError("the box was killed from outside, as by the system when memory is short")
            elif one.ending is not Ending.STOPPED and one.unanswered is not None:
                self.ending = ended(one.ending, one.code, self.terms.limits, cases[one.unanswered])
        printed = [(cases[number].name, text) for number, text in result.passes[0].printed.items()]
        self.printed = self.printed or tuple(printed[:1])
        ordered, shuffled = (one.results for one in result.passes)
        return [Evidence(case, ordered.get(n), shuffled.get(n)) for n, case in enumerate(cases)]

    def _judged(self, task: Task, evidence: list[Evidence]) -> tuple[Judgement, list[Finding]]:
        named = replace(task, misconceptions=self._ideas(task, evidence))
        made = judge(named, evidence, self.where, {one.name: self._code(one.name, evidence) for one in task.kernels})
        return made, in_order_of_cases([*filter(None, [self.ending]), *made.findings])

    def _ideas(self, task: Task, evidence: Sequence[Evidence]) -> tuple[Misconception, ...]:
        """What mistakes are looked for, in tiles of which the launches tell."""
        if task.id == "softmax":
            known = softmax.named_by((self._sides(evidence) or [USUAL])[:MOST_TILES])
        else:
            known = attention_ideas.named_by(task.kernels, self._tiles(evidence))
        return (*STOPS, *_of_outside(evidence), *triton_errors.COMMON, *self._likely(task, known, evidence))

    def _likely(
        self, task: Task, known: Sequence[Misconception], evidence: Sequence[Evidence]
    ) -> Iterator[Misconception]:
        """Those that explain one of the smallest calls that went wrong: to ask all ideas of all calls takes minutes."""
        items = []
        for kernel in task.kernels:
            code = Text(self._code(kernel.name, evidence))
            own = [one for one in evidence if one.case.kernel == kernel.name and one.result and one.case.telling]
            wrong = (
                wrong_outputs(one.case, task.expected(one.case), one.result, code)
                for one in sorted(own, key=_size)
                if one.result and not (one.result.error or one.result.refused)
            )
            items += list(islice(filter(None, wrong), SMALLEST))
        models = Models(task, items)
        for one in known:
            signs = [s for s in one.signs if not isinstance(s, Writes) or any(models.explains(s, i) for i in items)]
            if one.id in LINES:
                signs = [s.at(LINES[one.id]) if isinstance(s, Writes) else s for s in signs]
            if signs:
                yield replace(one, signs=tuple(signs))

    def _tiles(self, evidence: Sequence[Evidence]) -> list[tuple[int, int]]:
        """Br and Bc, as far as they can be guessed."""
        a, b = ((self._sides(evidence) or [USUAL]) * 2)[:2]
        return list(dict.fromkeys([(a, b), (b, a)]))

    def _sides(self, evidence: Sequence[Evidence]) -> list[int]:
        """Numbers in launches that may be sides of tiles."""
        found = dict[int, None]()
        for launched in (launched for one in evidence for result in one.results for launched in result.launched):
            for name, value in launched.form.constexprs.items():
                if type(value) is int and value in BLOCKS and name.lower() != "d" and "dim" not in name.lower():
                    found[value] = None
        return [*found] or [n for n in self.of.numbers if n in BLOCKS]

    def _code(self, name: str, evidence: Sequence[Evidence]) -> ast.FunctionDef:
        """The kernel that has stored what is judged."""
        results = (result for one in evidence if one.case.kernel == name for result in one.results)
        lines = (int(line) for result in results for line in result.log.line[result.log.kind == STORE] if line > 0)
        found = next((kernel for line in lines if (kernel := self.of.around(line))), None)
        code = found or next(iter(self.of.kernels.values()), _NOTHING)
        assert isinstance(code, ast.FunctionDef)
        return code

    def _remarks(self, evidence: Sequence[Evidence]) -> Iterator[str]:
        """What is worth knowing of a file that is right: launches, and traffic against that of FlashAttention."""
        if not self.of.kernels:
            yield "right, and nothing of Triton in it: no kernel was launched."
            return
        one = next((e for e in evidence if e.result and e.case.kernel == FORWARD.name), evidence[0])
        assert one.result is not None
        counts = [number for number, _, _ in one.result.log.launched]
        names = [list(self.of.kernels)[n] for n in counts]
        yield f"one call forward launches {listed(names) or 'nothing'}."
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
        """The verdict with what the compiler made of the kernels, as they were launched."""
        launched = as_launched(task, evidence, self.terms.targets)
        jobs = [job for _, job in launched]
        with Compiler(self.of.kernels_alone, jobs, self.terms.limits, self.terms.host, assembled=False) as compiler:
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
    """What is said of a file that does not get as far as its function."""
    for idea in ideas(STOPS, Raises):
        if any(sign.recognises(error.message) for sign in idea.signs):
            return idea.finding(Status.CRASHED, place, (f"Python says: {plain(error.message)}",))
    return error_finding(error, place)


def _of_outside(evidence: Sequence[Evidence]) -> tuple[Misconception, ...]:
    """What is said of accesses outside a tensor, by the calls in which there was any."""
    ran = [(one.case, one.result) for one in evidence if one.result]
    outside = {case.id for case, result in ran if result.error and result.error.type == "OutsideMemory"}
    of = [case for case, _ in ran if case.id in outside]
    others = [case for case, result in ran if case.id not in outside and not result.error]
    if of and all({"any-layout", "strides"} & {*case.asks, *case.proves} for case in of):
        return OTHER_STRIDES
    tails = [bool({"any-length"} & {*case.asks, *case.proves}) for case in of]
    alone = any({"heads", "shared-heads"}.isdisjoint({*case.asks, *case.proves}) for case in of)
    whole = any(case.title.startswith("whole") for case in others)
    return PAST_THE_END if of and all(tails) and alone and whole else ()


def _size(one: Evidence) -> int:
    """Numbers in a call."""
    return sum(tensor.values.size for tensor in one.case.tensors.values())


def _proven(one: PropertyResult, asked: Sequence[Case]) -> PropertyResult:
    """The result of a property; of one that was not asked yet that it was not."""
    if one.passed or any(one.name in case.proves for case in asked):
        return one
    return replace(one, detail="asked once the others are right")
