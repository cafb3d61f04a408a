"""The steps of one check: read and lint, choose cases, run them in the box, judge, compile, conclude."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

import checker
from checker.box.compiling import Compiler
from checker.box.exchange import Ending
from checker.box.here import Here
from checker.box.parent import Box, BoxResult, Pass
from checker.box.protocol.results import Launch
from checker.check import Outcome, Terms, program_of, unproven
from checker.course.clean import cleaned
from checker.course.puzzle import PRACTICE_KEY, Case, Draw, Puzzle
from checker.course.verdict import Compilation, Finding, PropertyResult, Run, Status, Verdict
from checker.judge.branches import finding_on, not_entered
from checker.judge.branches import unproven as unproven_branch
from checker.judge.compiled import compilations, compile_findings, compile_remarks, jobs
from checker.judge.diagnose import error_finding
from checker.judge.endings import ended, malformed
from checker.judge.evidence import Evidence, half_of, launch_of, locator, steps_of
from checker.judge.judge import in_order_of_cases, judge, properties, runs_of, status_of
from checker.submission.extract import NotASubmission, Program
from checker.submission.problem import Problem
from checker.submission.read import Submission
from checker.submission.suspects import suspects


@dataclass(frozen=True)
class _Cases:
    """What is run of a puzzle for one submission."""

    all: list[Case]
    of_puzzle: list[Case]  # without those made for numbers in this submission
    runnable: list[Case]  # without those of kernels that are still empty
    launches: list[Launch]  # of the runnable ones
    passes: list[Pass]  # in order, and shuffled


@dataclass(frozen=True)
class _Conclusion:
    """What a verdict says beyond what every verdict of this check says."""

    status: Status
    findings: tuple[Finding, ...]
    properties: tuple[PropertyResult, ...]
    runs: tuple[Run, ...] = ()
    compiled: tuple[Compilation, ...] = ()
    remarks: tuple[str, ...] = ()
    printed: tuple[tuple[str, str], ...] = ()
    start_line: int | None = None


class Check:
    """One check of one submission."""

    def __init__(self, puzzle: Puzzle, submission: Submission, terms: Terms):
        self.puzzle = puzzle
        self.submission = submission
        self.terms = terms
        self.where = locator(submission)
        self.sha256 = hashlib.sha256(submission.text.encode("utf-8", "surrogatepass")).hexdigest()
        self.versions = {"checker": checker.__version__, "python": ".".join(map(str, sys.version_info[:3]))}

    def run(self, box: Box | Here) -> Outcome:
        """The outcome, from text to verdict."""
        try:
            program, complaints = program_of(self.submission, self.puzzle.kernels, linted=self.terms.lint)
        except NotASubmission as refused:
            return self._not_run([self._finding(refused.problem, Status.INVALID)])
        except (RecursionError, MemoryError, ValueError):  # text that was made to be hard to read
            return self._not_run([_UNREADABLE_CODE])
        if complaints:
            status = {True: Status.FORBIDDEN, False: Status.DOES_NOT_COMPILE}
            return self._not_run([self._finding(complaint, status[complaint.compiles]) for complaint in complaints])
        started = [kernel for kernel in program.kernels if not program.empty(kernel)]
        if not started:
            return self._not_started(program)
        return self._judged(program, started, box)

    def _not_run(self, findings: list[Finding], start_line: int | None = None) -> Outcome:
        worst = min((finding.status for finding in findings), key=lambda status: status.severity)
        conclusion = _Conclusion(worst, tuple(findings), unproven(self.puzzle), start_line=start_line)
        return Outcome(self._verdict(conclusion), self.submission)

    def _finding(self, problem: Problem, status: Status) -> Finding:
        return Finding(problem.id, status, problem.sentence, "", problem.hint, self.where(problem.line))

    def _not_started(self, program: Program) -> Outcome:
        function = next(iter(program.kernels.values()))
        place = self.where(program.gaps.get(function.name, function.lineno))
        typed: tuple[str, ...] = ()
        if name := self.submission.name:
            cell = f"cell {place.cell}, " if place.cell else ""
            explanation = f"Open {name}, {cell}line {place.line}, and fill in the kernel. The lesson stands above it, "
            explanation += "hints stand below it. Then type:"
            typed = (f"make check PUZZLE={self.puzzle.number}",)
        else:
            explanation = f"Fill in the kernel in cell [{place.cell}], line {place.line}; run that cell, then this one."
        title, place_only = f"{function.name} is still empty", replace(place, source=())
        finding = Finding("not-started", Status.NOT_STARTED, title, explanation, "", place_only, typed)
        return self._not_run([finding], start_line=place.line)

    def _empty(self, program: Program, kernel: str) -> Finding:
        """The finding on a kernel that is still a stub, while others are not."""
        return Finding(
            "kernel-empty",
            Status.PARTLY_RIGHT,
            f"{kernel} is still empty",
            "The other kernels were judged without it.",
            "Fill it in as well.",
            self.where(program.gaps.get(kernel, program.kernels[kernel].lineno)),
        )

    def _judged(self, program: Program, started: list[str], box: Box | Here) -> Outcome:
        cases = self._cases(program, started)
        of_puzzle = {case.name for case in cases.of_puzzle}
        compiled = [case for case in cases.runnable if case.name in of_puzzle]  # with the puzzle's own constexprs
        # What practice has found out is not believed in grading: who practises here may have written it.
        practice = self.terms.key is None
        with Compiler(
            program.source,
            [] if self.terms.on_gpu or self.terms.host.here else jobs(self.puzzle, compiled, self.terms.targets),
            self.terms.limits,
            self.terms.host,
            cached=practice,
            assembled=practice,
        ) as compiler:
            result = box.run(program.source, list(program.kernels), cases.launches, cases.passes)
            self.versions |= result.versions
            evidence, endings = self._evidence(cases, result)
            endings += [self._empty(program, name) for name in program.kernels if name not in started]
            conclusion = self._weighed(program, started, cases, evidence, endings, result)
            if self._verdict(conclusion).earned:  # what does not compile scores 0, whatever else is wrong with it
                conclusion = self._with_compiled(conclusion, compiler)
        return Outcome(self._verdict(conclusion), self.submission, program, tuple(evidence))

    def _cases(self, program: Program, started: list[str]) -> _Cases:
        key = self.terms.key
        draw = Draw(PRACTICE_KEY) if key is None else Draw(key, self.sha256)
        of_puzzle = self._cases_for_gpu(draw) if self.terms.on_gpu else self.puzzle.cases(draw)
        cases = [*of_puzzle, *self._suspected(program, draw)]
        runnable = [case for case in cases if case.kernel in started]
        launches = [launch_of(case, self.puzzle.budget(case)) for case in runnable]
        return _Cases(cases, of_puzzle, runnable, launches, self._passes(draw, runnable, launches))

    def _passes(self, draw: Draw, cases: list[Case], launches: list[Launch]) -> list[Pass]:
        """In order and shuffled; launches that run once are shared out between the two processes."""
        shuffle = draw.case(self.puzzle.stem, "order of programs")
        in_order: Pass = []
        shuffled: Pass = []
        second = half_of({n: steps_of(case, self.puzzle) for n, case in enumerate(cases) if case.once})
        for number, (case, launch) in enumerate(zip(cases, launches, strict=True)):
            programs = np.array(case.programs or range(launch.programs))
            if number not in second:
                in_order.append((number, programs))
            if runs_of(case) == 2 or number in second:
                shuffled.append((number, shuffle.permutation(programs)))
        return [in_order, shuffled]

    def _suspected(self, program: Program, draw: Draw) -> list[Case]:
        """Cases on both sides of the numbers in this submission."""
        suspected = self.puzzle.suspected
        if suspected is None:
            return []
        found = suspects(program, self.submission.place)
        cases = [case for kernel, of_kernel in found.items() for case in suspected.cases(kernel, draw, of_kernel)]
        return _as_on_gpu(cases) if self.terms.on_gpu else cases

    def _cases_for_gpu(self, draw: Draw) -> list[Case]:
        """The usual cases and the large ones, as they are judged on a GPU."""
        large = self.puzzle.large_cases(draw) if self.puzzle.large_cases else []
        usual = [case for case in self.puzzle.cases(draw) if not case.once]
        return _as_on_gpu([*usual, *(replace(case, telling=False) for case in large)])

    def _evidence(self, cases: _Cases, result: BoxResult) -> tuple[list[Evidence], list[Finding]]:
        """Results by case, and findings on how the runners ended."""
        findings = []
        for one in result.passes:
            if any(answer.left_out and cases.launches[n].small for n, answer in one.results.items()):
                raise RuntimeError("the GPU has no free memory even for a small tensor: wait until others have done")
            if one.loading is not None:
                findings.append(error_finding(None, one.loading, self.where))
            elif one.malformed is not None and one.ending in (Ending.FINISHED, Ending.EXITED):
                findings.append(malformed(one.malformed))
            elif any(answer.on_gpu and answer.error for answer in one.results.values()):
                continue  # after an error a GPU takes no more from the same process: no news
            elif one.ending is Ending.STOPPED:
                continue  # what happened in the other pass is the news
            elif one.ending is Ending.KILLED_FROM_OUTSIDE:
                raise RuntimeError("the box was killed from outside, as by the system when memory is short")
            elif one.unanswered is not None:
                findings.append(ended(one.ending, one.code, self.terms.limits, cases.runnable[one.unanswered]))
        first, second = (one.results for one in result.passes)
        evidence = [Evidence(case, first.get(n), second.get(n)) for n, case in enumerate(cases.runnable)]
        unique = {finding.id: finding for finding in reversed(findings)}
        return evidence, list(unique.values())

    def _weighed(
        self,
        program: Program,
        started: list[str],
        cases: _Cases,
        evidence: list[Evidence],
        endings: list[Finding],
        result: BoxResult,
    ) -> _Conclusion:
        """What the judge makes of the evidence, and of how the runners ended."""
        made = judge(self.puzzle, evidence, self.where, program.kernels)
        for case in cases.all:
            if case.kernel not in started:
                made.failed[case.name] = f"{case.kernel} is still empty"
        findings = in_order_of_cases(endings + made.findings, cases.all)
        results = properties(self.puzzle, cases.all, made)
        if not self.terms.on_gpu and not findings:  # beside anything else it would be noise
            reached = {n for e in evidence for answer in e.results for n in answer.reached}
            if missing := not_entered(program, reached):
                findings = [finding_on(missing, self.where)]
                results = unproven_branch(self.puzzle, program, missing, results)
        printed = result.passes[0].printed if self.terms.key is None else {}
        return _Conclusion(
            status_of(findings, results),
            tuple(findings),
            results,
            runs=(Run("cuda" if self.terms.on_gpu else "interpreter", result.seconds, made.traffic),),
            remarks=(*made.remarks, *(self._gpu_remarks(evidence) if self.terms.on_gpu else ())),
            printed=tuple((cases.runnable[number].name, text) for number, text in printed.items()),
        )

    def _gpu_remarks(self, evidence: list[Evidence]) -> Iterable[str]:
        """What a check on a GPU does not say."""
        yield "a GPU tells nothing of memory traffic and races between programs: the interpreter does."
        for one in evidence:
            if one.result is not None and one.result.left_out:
                yield f"this GPU has not enough free memory for: {one.case.name}."

    def _with_compiled(self, conclusion: _Conclusion, compiler: Compiler) -> _Conclusion:
        """The conclusion with what the compiler made of the kernels."""
        compiled = compiler.results()
        if complaints := compile_findings(self.puzzle, compiled, self.where):
            named = {finding.id for finding in conclusion.findings}
            new = [finding for finding in complaints if finding.id not in named]
            return replace(
                conclusion,
                status=Status.DOES_NOT_COMPILE,
                findings=(*new, *conclusion.findings),
                compiled=compilations(compiled),
                remarks=(),
            )
        if conclusion.status is Status.ACCEPTED:
            remarks = (*conclusion.remarks, *compile_remarks(compiled, self.where))
            return replace(conclusion, compiled=compilations(compiled), remarks=remarks)
        return conclusion

    def _verdict(self, conclusion: _Conclusion) -> Verdict:
        verdict = Verdict(
            puzzle=self.puzzle.number,
            title=self.puzzle.title,
            file=self.submission.name,
            mode="practice" if self.terms.key is None else "grading",
            sandbox=self.terms.sandbox,
            submission_sha256=self.sha256,
            versions=self.versions,
            **vars(conclusion),
        )
        return cleaned(verdict)


_UNREADABLE_CODE = Finding(
    "unreadable-code", Status.INVALID, "The code cannot be taken apart", "", "Keep to the form of the stub."
)


def _as_on_gpu(cases: list[Case]) -> list[Case]:
    return [replace(case, on_gpu=True, once=False, checked_arithmetic=False) for case in cases]
