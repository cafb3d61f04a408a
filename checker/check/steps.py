"""The steps of one check: read and lint, choose cases, run them in the sandbox, judge, compile, conclude."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import checker
from checker.check.conditions import Conditions, Outcome, device_of
from checker.check.difference import beside
from checker.check.linking import linked
from checker.check.running import of_another, program_of, run_in, sandbox_of
from checker.course.case import Case, for_gpu, numbered
from checker.course.clean import cleaned
from checker.course.places import check_typed
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Run, Status, Verdict
from checker.judge.compiled import compilations, compile_findings, compile_remarks, jobs, only_in_half, without_half
from checker.judge.difference.comparison import is_right
from checker.judge.difference.finding import GENERIC
from checker.judge.errors import error_finding
from checker.judge.evidence import Evidence, Locator, locator
from checker.judge.exits import endings
from checker.judge.judge import in_order_of_cases, judge, properties, status_of
from checker.judge.launches import as_launched, refused_launches
from checker.judge.precomputed import expected_ahead
from checker.judge.requests import half_of, launch_of, runs_of, steps_of
from checker.judge.text.branches import ID as NEVER_REACHED
from checker.judge.text.branches import finding_on, not_entered, unproven
from checker.judge.text.reasons import outside, with_axis, with_reason
from checker.judge.tf32 import in_fp32, tf32_remarks
from checker.judge.unseen import NEVER, of_drawn_sizes, unseen
from checker.sandbox.compiling import Compiler, Job
from checker.sandbox.in_process import InProcess
from checker.sandbox.one_process import OneProcess
from checker.sandbox.parent import Linked, Pass, Sandbox, SandboxResult
from checker.sandbox.protocol.fitting import smallest_tiles, tile
from checker.sandbox.protocol.launch import Launch
from checker.sandbox.protocol.records import MEMORY, TILE
from checker.sandbox.protocol.results import Launched, LaunchResult
from checker.sandbox.protocol.supported import untried
from checker.submission.extract import NotASubmission, Program
from checker.submission.fingerprint import fingerprint
from checker.submission.problem import Problem
from checker.submission.read import Submission


@dataclass(frozen=True)
class _Plan:
    """A puzzle's launches for one submission."""

    cases: list[Case]  # also those of kernels that are still empty, and those that were run before
    runnable: list[Case]
    launches: list[Launch]  # of the runnable ones, then of some of these again, in TF32
    passes: list[Pass]  # in order, and shuffled
    in_tf32: dict[int, Case]  # launches that multiply in TF32, by their number

    @property
    def launched(self) -> list[Case]:
        """Of each launch its case."""
        return [*self.runnable, *self.in_tf32.values()]


class Check:
    """One check of one submission."""

    def __init__(self, puzzle: Puzzle, submission: Submission, conditions: Conditions):
        # Both are asked of a case more than once.
        self.puzzle = replace(puzzle, budget=cache(puzzle.budget), expected=cache(puzzle.expected))
        self.submission = submission
        self.conditions = conditions
        self.where = locator(submission)
        # What practice has found out is not believed in grading: who practises here may have written it.
        self.practice = conditions.key is None
        self.draw = puzzle.draw()
        self.unjudged = Verdict(
            puzzle.id,
            puzzle.title,
            Status.INVALID,
            (),
            puzzle.unproven,
            file=submission.name,
            mode="practice" if self.practice else "grading",
            sandbox=conditions.sandbox,
            submission_sha256=submission.sha256,
            versions={"checker": checker.__version__, "python": ".".join(map(str, sys.version_info[:3]))},
        )

    def run(self, sandbox: Sandbox | OneProcess | InProcess) -> Outcome:
        """Return the outcome, from text to verdict."""
        try:
            program, problems = program_of(self.submission, self.puzzle.kernels, linted=self.conditions.lint)
        except NotASubmission as refused:
            return self._not_run(self._of_another() or self._finding(refused.problem, Status.INVALID))
        except (RecursionError, MemoryError, ValueError):  # text that was made to be hard to read
            return self._not_run(_UNREADABLE_CODE)
        if problems:
            status = {True: Status.FORBIDDEN, False: Status.DOES_NOT_COMPILE}
            return self._not_run(*(self._finding(problem, status[problem.compiles]) for problem in problems))
        if all(program.empty(kernel) for kernel in program.kernels):
            return self._not_run(self._not_started(program))
        if self.conditions.key is not None:
            self.draw = self.puzzle.draw(self.conditions.key, fingerprint(program))
        others = linked(self.puzzle.id, self.conditions.linked)
        plan = self._plan(program, self._usual())
        uncompiled = self.puzzle.pytorch or self.conditions.on_gpu or not self.conditions.host.walled
        with Compiler(
            program.source,
            [] if uncompiled else jobs(self.puzzle, [c for c in plan.runnable if not c.why], self.conditions.targets),
            self.conditions.limits,
            self.conditions.host,
            cached=self.practice,
            assembled=self.practice,
        ) as compiler:
            if isinstance(sandbox, InProcess):
                titles = {one.name: one.title for one in self.puzzle.properties}
                sandbox.about = [titles.get(next(iter(case.proves), ""), "") for case in plan.launched]
            with expected_ahead(self.puzzle, () if self.conditions.host.in_process else plan.runnable) as puzzle:
                result = run_in(sandbox, (program.source, list(program.kernels), plan.launches, plan.passes), others)
                evidence = self._evidence(plan, result)
                said = self._endings(plan, result)
                verdict = self._judged(puzzle, program, plan, evidence, result, said)
            if not self.conditions.on_gpu and {finding.id for finding in verdict.findings} <= {NEVER_REACHED}:
                cases, never = unseen(self.puzzle, program, evidence, self.draw, self.where)
                if cases:
                    further = self._plan(program, [*plan.cases, *cases], len(plan.cases))
                    with self._again(sandbox) as again:
                        asked = program.source, list(program.kernels), further.launches, further.passes
                        made = run_in(again, asked, others)
                    evidence += self._evidence(further, made)
                    said += self._endings(further, made)
                    plan = replace(plan, cases=further.cases)
                    verdict = self._judged(self.puzzle, program, plan, evidence, result, said)
                remarks = (*verdict.remarks, *(NEVER.format(line=line) for line in never))
                verdict = replace(verdict, remarks=remarks)
            if not (self.conditions.on_gpu or program.atomics or verdict.accepted):
                verdict = self._beside_the_solution(sandbox, program, verdict, evidence)
            # What does not compile scores 0, unless that is so in half precision alone; and it may be why all is wrong.
            if verdict.earned or {finding.id for finding in verdict.findings} <= GENERIC:
                verdict = self._with_compiled(verdict, compiler)
        if others and verdict.accepted:
            verdict = self._with_launches(verdict, evidence, others)
        return Outcome(cleaned(verdict), self.submission, program, tuple(evidence), tuple(others))

    def _not_run(self, *findings: Finding) -> Outcome:
        worst = min((finding.status for finding in findings), key=lambda status: status.severity)
        return Outcome(cleaned(replace(self.unjudged, status=worst, findings=findings)), self.submission)

    def _finding(self, problem: Problem, status: Status) -> Finding:
        return Finding(problem.id, status, problem.sentence, "", problem.hint, self.where(problem.line))

    def _of_another(self) -> Finding | None:
        """Return the finding on a submission for the wrong puzzle."""
        if (other := of_another(self.puzzle.id, self.submission.text)) is None:
            return None
        puzzle_id, name = other
        return Finding(
            "another-puzzle",
            Status.INVALID,
            f"This is for puzzle {puzzle_id}, and not for {self.puzzle.id}",
            f"It defines {name}, which is asked for there, and not {self.puzzle.kernels[0].name}.",
            f"Check it as puzzle {puzzle_id}, or name what you have written for {self.puzzle.id}.",
        )

    def _not_started(self, program: Program) -> Finding:
        function = next(iter(program.kernels.values()))
        place = self.where(program.unfilled.get(function.name, function.lineno))
        what = "function" if self.puzzle.pytorch else "kernel"
        typed: tuple[str, ...] = ()
        if not self.practice:  # after the deadline there is nothing to be typed
            explanation = "Nothing was run, so there are no points."
        elif name := self.submission.name:
            cell = f"cell {place.cell}, " if place.cell else ""
            explanation = f"Open {name}, {cell}line {place.line}, and fill in the {what}. The lesson stands above it, "
            explanation += "hints stand below it. Then type:"
            typed = (check_typed(self.puzzle.id),)
        else:
            explanation = f"Fill in the {what} in cell [{place.cell}], line {place.line}; run that cell, then this one."
        title, place_only = f"{function.name} is still empty", replace(place, source=())
        empty = Finding("not-started", Status.NOT_STARTED, title, explanation, "", place_only, typed)
        return outside(program, function.name, replace(empty, status=Status.INVALID), self.where) or empty

    def _usual(self) -> list[Case]:
        """Return the cases that every submission gets."""
        usual = self.puzzle.cases(self.draw)
        if self.conditions.on_gpu:
            large = self.puzzle.large_cases(self.draw) if self.puzzle.large_cases else []
            usual = [case for case in usual if not case.once] + [replace(case, informative=False) for case in large]
        elif not self.practice:
            usual += of_drawn_sizes(self.puzzle, self.draw)
        return [for_gpu(case) for case in usual] if self.conditions.on_gpu else usual

    def _plan(self, program: Program, every: list[Case], first: int = 0) -> _Plan:
        """Return what is run of some cases, from the `first` on; those before it were run already."""
        cases = numbered(every)
        filled = {kernel for kernel in program.kernels if not program.empty(kernel)}
        runnable = [case for case in cases[first:] if case.kernel in filled]
        launches = [launch_of(case, self.puzzle) for case in runnable]
        in_order, shuffled = self._passes(runnable, launches)
        in_tf32 = {}
        for number, case in in_fp32(self.puzzle, runnable).items() if self.practice and not first else ():
            if not self.conditions.on_gpu:
                number, launch = len(launches), replace(launches[number], tf32=True)
                shuffled.append((number, np.arange(launch.programs)))
                launches.append(launch)
            in_tf32[number] = case
        return _Plan(cases, runnable, launches, [in_order, shuffled], in_tf32)

    def _passes(self, cases: list[Case], launches: list[Launch]) -> list[Pass]:
        """In order and shuffled; launches that run once are shared out between the two processes.

        A GPU has an order of its own, and a grid there may have more programs than can be listed: none are.
        """
        shuffle = self.draw.case("order of programs")
        in_order: Pass = []
        shuffled: Pass = []
        runs = [runs_of(case, self.puzzle) for case in cases]
        second = half_of({n: steps_of(case, self.puzzle) for n, case in enumerate(cases) if runs[n] == 1})
        for number, (case, launch) in enumerate(zip(cases, launches, strict=True)):
            programs = np.array(() if self.conditions.on_gpu else case.programs or range(launch.programs), np.int64)
            if number not in second:
                in_order.append((number, programs))
            if runs[number] == 2 or number in second:
                shuffled.append((number, shuffle.permutation(programs)))
        return [in_order, shuffled]

    def _evidence(self, plan: _Plan, result: SandboxResult) -> list[Evidence]:
        """Results by case. Raises RuntimeError if they cannot be judged, and not because of the submission."""
        smallest = smallest_tiles((launch.kernel, launch.constexprs) for launch in plan.launches)
        for one in result.passes:
            for launch, answer in ((plan.launches[n], answer) for n, answer in one.results.items()):
                if answer.left_out == MEMORY and launch.small:
                    raise RuntimeError(
                        "the GPU has no free memory even for a small tensor: wait until others have done"
                    )
                if answer.left_out == TILE and tile(launch.constexprs) == smallest[launch.kernel]:
                    raise RuntimeError("the GPU's runner has left out a launch that any GPU has room for")
        first, second = (one.results for one in result.passes)
        return [Evidence(case, first.get(n), second.get(n)) for n, case in enumerate(plan.runnable)]

    def _endings(self, plan: _Plan, result: SandboxResult) -> list[Finding]:
        """Return the findings on how the runners of a plan ended."""
        limits = self.conditions.limits
        return [*endings(result, limits, plan.launched, lambda error: error_finding(error, self.where(error.line)))]

    def _judged(
        self,
        puzzle: Puzzle,
        program: Program,
        plan: _Plan,
        evidence: list[Evidence],
        result: SandboxResult,
        said: Sequence[Finding],
    ) -> Verdict:
        """Return what the judge makes of the evidence. `said`: how the runners ended; `result`: of the first run."""
        made = judge(puzzle, evidence, self.where, program.kernels)
        empty = [kernel for kernel in program.kernels if program.empty(kernel)]
        made.failed |= {case.id: f"{case.kernel} is still empty" for case in plan.cases if case.kernel in empty}
        made.findings = [with_reason(program, one, evidence, self.where) for one in made.findings]
        launches = {one.case.id: one.case for one in evidence}
        made.findings = [with_axis(program, one, launches, self.where) for one in made.findings]
        ended = {finding.id: finding for finding in reversed(said)}
        unfinished = [self._empty(program, kernel) for kernel in empty]
        findings = [*in_order_of_cases([*ended.values(), *made.findings]), *unfinished]
        results = properties(self.puzzle, plan.cases, made)
        if not self.conditions.on_gpu and not findings:  # beside anything else it would be noise
            reached = {n for e in evidence for answer in e.results for n in answer.reached}
            if missing := not_entered(program, reached):
                findings = [finding_on(missing, self.where)]
                results = unproven(self.puzzle, program, missing, results)
        known = {n: answer for one in reversed(result.passes) for n, answer in one.results.items()}
        lost = [] if findings else tf32_remarks(puzzle, {case: known.get(n) for n, case in plan.in_tf32.items()})
        printed = result.passes[0].printed if self.practice else {}
        device = device_of(self.puzzle.id, self.conditions).reported
        return replace(
            self.unjudged,
            status=status_of(findings, results),
            findings=tuple(findings),
            properties=results,
            runs=(Run(device, result.seconds, made.traffic, made.held),),
            remarks=(*made.remarks, *lost, *self._unseen(evidence, "print" in program.source, result.versions)),
            printed=tuple((plan.runnable[number].name, text) for number, text in printed.items()),
            versions=self.unjudged.versions | result.versions,
        )

    def _empty(self, program: Program, kernel: str) -> Finding:
        """Return the finding on a kernel that is still a stub, while others are not."""
        empty = Finding(
            "kernel-empty",
            Status.PARTLY_RIGHT,
            f"{kernel} is still empty",
            "The other kernels were judged without it.",
            "Fill it in as well.",
            self.where(program.unfilled.get(kernel, program.kernels[kernel].lineno)),
        )
        return outside(program, kernel, empty, self.where) or empty

    def _unseen(self, evidence: list[Evidence], prints: bool, versions: dict[str, str]) -> Iterable[str]:
        """Yield what this check cannot say, for want of an interpreter, of a compiler or of a Triton that we know."""
        if sentence := untried(versions.get("triton", "")):
            yield sentence
        if self.conditions.host.alone and not self.conditions.host.in_process:
            yield "without Triton: no compile step, one process, no memory limit."
        if not self.conditions.on_gpu:
            return
        yield "a GPU tells nothing of memory traffic and races between programs: the interpreter does."
        if prints:
            yield "on a GPU each thread prints at least one line, so only small launches print anything."
        for one in evidence:
            if one.left_out:
                what = "free memory" if one.left_out == MEMORY else "room for such tiles"
                yield f"this GPU has not enough {what} for: {one.case.name}."

    def _again(
        self, sandbox: Sandbox | OneProcess | InProcess
    ) -> AbstractContextManager[Sandbox | OneProcess | InProcess]:
        """Return the sandbox for another run, or a new one if it takes one alone."""
        if isinstance(sandbox, InProcess):
            sandbox.about = ()  # what is run is no longer one property after the other
        one = isinstance(sandbox, OneProcess)
        return sandbox_of(self.conditions.limits, self.conditions.host) if one else nullcontext(sandbox)

    def _beside_the_solution(
        self, sandbox: Sandbox | OneProcess | InProcess, program: Program, verdict: Verdict, evidence: list[Evidence]
    ) -> Verdict:
        """Return the verdict with where the kernel of its first finding differs from the solution, if it is about a
        launch.
        """

        def run(text: str, launches: list[Launch]) -> Mapping[int, LaunchResult]:
            order: Pass = [(n, range(one.programs)) for n, one in enumerate(launches)]
            with self._again(sandbox) as again:
                return again.run(text, list(program.kernels), launches, [order]).passes[0].results

        about = verdict.findings[0].where.case_id if verdict.findings else None
        kernel = next((one.case.kernel for one in evidence if one.case.id == about), None)
        if kernel is None:
            return verdict
        own = [one for one in evidence if self.practice and one.case.kernel == kernel]
        known = {one.case.id: is_right(self.puzzle.expected, one.case, one.result) for one in own}
        findings = beside(self.puzzle, program, kernel, verdict.findings, known, self.where, run)
        return replace(verdict, findings=findings)

    def _with_compiled(self, verdict: Verdict, compiler: Compiler) -> Verdict:
        """Return the verdict with what the compiler made of the kernels."""
        compiled = compiler.results()
        if complaints := compile_findings(self.puzzle, compiled, self.where):
            already = [finding for finding in verdict.findings if finding.named]
            said = {finding.id for finding in verdict.findings}
            # A name for wrong values does not say what the compiler's name says; a name for an error does.
            explained = {
                named: {one.where.line for one in already if not named or one.status in _ERRORS} - {None}
                for named in (False, True)
            }
            new = [one for one in complaints if one.id not in said and one.where.line not in explained[one.named]]
            lined = [finding for finding in new if finding.where.line is not None]  # the rest may follow from others
            findings = (*lined, *verdict.findings, *(finding for finding in new if finding not in lined))
            before = verdict.status
            verdict = replace(verdict, status=Status.DOES_NOT_COMPILE, findings=findings, remarks=())
            if only_in_half(compiled):
                verdict = without_half(verdict, before)
        elif verdict.accepted:
            verdict = replace(verdict, remarks=(*verdict.remarks, *compile_remarks(compiled, self.where)))
        else:
            return verdict
        return replace(verdict, compiled=compilations(compiled))

    def _with_launches(self, verdict: Verdict, evidence: list[Evidence], others: Sequence[Linked]) -> Verdict:
        """Return the verdict on a function with what the compiler made of its linked kernels, as it launches them."""
        launched = as_launched(self.puzzle, evidence, self.conditions.targets)
        refused: list[Finding] = []
        for source, names in others:
            own = [(one, job) for one, job in launched if job.kernel in names]
            refused += refused_as_launched(source, own, self.conditions, self.where)
        once = {(finding.id, finding.where.line): finding for finding in reversed(refused)}
        findings = tuple(reversed(once.values()))
        return replace(verdict, status=Status.DOES_NOT_COMPILE, findings=findings, remarks=()) if findings else verdict


def refused_as_launched(
    source: str, launched: Sequence[tuple[Launched, Job]], conditions: Conditions, where: Locator
) -> list[Finding]:
    """Return what a GPU does not take of launches of a source's kernels."""
    jobs = [job for _, job in launched]
    with Compiler(source, jobs, conditions.limits, conditions.host, assembled=False) as compiler:
        made = zip((one for one, _ in launched), compiler.results(), strict=True)
        return list(refused_launches(list(made), where))


_ERRORS = {Status.CRASHED, Status.DOES_NOT_COMPILE}
_UNREADABLE_CODE = Finding(
    "unreadable-code",
    Status.INVALID,
    "The code cannot be taken apart",
    "It is nested too deeply, or too long.",
    "Write shorter expressions. `make reset` brings the stub back.",
)
