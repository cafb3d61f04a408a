"""The one road from a submission to a `Verdict`; commands, notebooks, graders and tests all walk it."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import checker
from checker import catalog
from checker.box.inside import seccomp
from checker.box.parent import Box, BoxReport, Ending, Limits, gpu_missing
from checker.box.protocol.wire import LAUNCH_MARK
from checker.course import targets
from checker.course.clean import cleaned
from checker.course.verdict import Finding, Status, Verdict
from checker.submission.read import Submission

if TYPE_CHECKING:  # numpy is imported while the box starts
    from checker.box.cage.cage import Cage
    from checker.box.protocol.results import Launch
    from checker.box.warm import Warm
    from checker.course.puzzle import Case, Draw, Puzzle
    from checker.course.verdict import PropertyResult
    from checker.judge.evidence import Evidence, Locator
    from checker.submission.extract import Program


@dataclass(frozen=True)
class Terms:
    """Under which terms a submission is checked."""

    key: str | None = None  # None: practice, with the public key
    limits: Limits = field(default_factory=Limits)
    lint: bool = True  # the tests switch it off, to show that the box holds alone
    device: str = "interpreter"  # or cuda; auto: the interpreter first, then a GPU if there is one
    targets: tuple[str, ...] = targets.DEFAULT  # GPUs that a right kernel must compile for
    cage: Cage | None = None  # what holds the box in grading; without one, the verdict says so
    warm: Warm | None = None  # in the same cage: for those who check many

    @property
    def sandbox(self) -> str:
        """What separates the submission from the rest of the machine, in words for the record."""
        if self.cage is not None:
            return self.cage.described(self.device)
        has_filter = self.limits.filter and self.device != "cuda" and seccomp.available()
        filtered = ", system-call filter" if has_filter else ""
        return ("practice: " if self.key is None else "C, no sandbox: ") + f"process limits{filtered}"


def check(number: int, submission: Submission, terms: Terms | None = None) -> Verdict:
    """Walk the road. Whatever the submission does, this returns a verdict; a fault of ours raises."""
    terms = terms or Terms()
    if terms.device == "cuda":
        return _checked(number, submission, _on_gpu(terms))
    verdict = _checked(number, submission, terms)
    if terms.device == "auto" and verdict.accepted and not gpu_missing():
        on_gpu = _checked(number, submission, _on_gpu(terms))
        return replace(
            on_gpu,
            runs=(*verdict.runs, *on_gpu.runs),
            compiled=verdict.compiled,
            remarks=verdict.remarks,
            versions=on_gpu.versions | verdict.versions,
        )
    return verdict


def _on_gpu(terms: Terms) -> Terms:
    """The same terms with what a GPU road needs: every shape is compiled anew, every thread prints."""
    limits = replace(
        terms.limits,
        wall_seconds=terms.limits.gpu_seconds,
        cpu_seconds=3600,
        output_bytes=terms.limits.gpu_output_bytes,
    )
    return replace(terms, device="cuda", limits=limits)


def _checked(number: int, submission: Submission, terms: Terms) -> Verdict:
    device = "cuda" if terms.device == "cuda" else "interpreter"
    with Box(terms.limits, device, terms.cage, terms.warm) as box:  # imports Triton, and so do we meanwhile
        puzzle = catalog.load(number)
        return _Check(puzzle, submission, terms).run(box)


def started(number: int, submission: Submission) -> bool:
    """Whether a submission is more than the stub: a kernel does something, or there is something to complain of."""
    from checker.submission.extract import NotASubmission, extract
    from checker.submission.lint import lint

    try:
        program = extract(submission, catalog.load(number).kernels)
    except (NotASubmission, RecursionError, MemoryError, ValueError):
        return True
    return bool(lint(program)) or not all(program.empty(kernel) for kernel in program.kernels)


def unreadable(number: int, name: str, sentence: str) -> Verdict:
    """The verdict on a file that could not be read as a submission."""
    finding = Finding("unreadable", Status.INVALID, "The file cannot be read", sentence, "")
    puzzle = catalog.load(number)
    return cleaned(Verdict(number, puzzle.title, Status.INVALID, (finding,), _unproven(puzzle), file=name))


def _unproven(puzzle: Puzzle) -> tuple[PropertyResult, ...]:
    """A puzzle's properties, if nothing was run."""
    from checker.course.verdict import PropertyResult

    return tuple(PropertyResult(p.name, p.title, False, p.weight, "") for p in puzzle.properties)


class _Check:
    """One check: the facts that every verdict of it shares."""

    def __init__(self, puzzle: Puzzle, submission: Submission, terms: Terms):
        from checker.judge.evidence import locator

        self.puzzle = puzzle
        self.submission = submission
        self.terms = terms
        self.where: Locator = locator(submission)
        self.sha256 = hashlib.sha256(submission.text.encode("utf-8", "surrogatepass")).hexdigest()
        self.versions = {"checker": checker.__version__, "python": ".".join(map(str, sys.version_info[:3]))}

    def run(self, box: Box) -> Verdict:
        from checker.submission.extract import NotASubmission, extract
        from checker.submission.lint import lint

        try:
            program = extract(self.submission, self.puzzle.kernels)
            complaints = lint(program) if self.terms.lint else []
        except NotASubmission as problem:
            return self._without_running(Status.INVALID, [self._problem(problem)])
        except (RecursionError, MemoryError, ValueError):  # text that was made to be hard to read
            return self._without_running(Status.INVALID, [_UNREADABLE_CODE])
        started = [kernel for kernel in program.kernels if not program.empty(kernel)]
        if not started and not complaints:
            return self._not_started(program)
        if complaints:
            findings = [
                Finding(
                    c.id,
                    Status.FORBIDDEN if c.compiles else Status.DOES_NOT_COMPILE,
                    c.sentence,
                    "",
                    c.hint,
                    self.where(c.line),
                )
                for c in complaints
            ]
            return self._without_running(min((f.status for f in findings), key=lambda s: s.severity), findings)
        return self._judged(program, started, box)

    def _problem(self, problem: object) -> Finding:
        from checker.submission.extract import NotASubmission

        assert isinstance(problem, NotASubmission)
        return Finding(problem.problem, Status.INVALID, str(problem), "", problem.hint, self.where(problem.line))

    def _not_started(self, program: Program) -> Verdict:
        function = next(iter(program.kernels.values()))
        line = program.gaps.get(function.name, function.lineno)
        place, name = self.where(line), self.submission.name
        if name:
            cell = f"cell {place.cell}, " if place.cell else ""
            explanation = f"Open {name}, {cell}line {place.line}, and fill in the kernel. The lesson stands above it, "
            explanation += "hints stand below it. Then type:"
            typed: tuple[str, ...] = (f"make check PUZZLE={self.puzzle.number}",)
        else:
            explanation = f"Fill in the kernel in cell [{place.cell}], line {place.line}; run that cell, then this one."
            typed = ()
        finding = Finding(
            "not-started",
            Status.NOT_STARTED,
            f"{function.name} is still empty",
            explanation,
            "",
            replace(place, source=()),
            typed,
        )
        return self._without_running(Status.NOT_STARTED, [finding], start_line=place.line)

    def _empty(self, program: Program, kernel: str) -> Finding:
        """The finding on a kernel that is still a stub, while others are not."""
        line = program.gaps.get(kernel, program.kernels[kernel].lineno)
        return Finding(
            "kernel-empty",
            Status.PARTLY_RIGHT,
            f"{kernel} is still empty",
            "The other kernels were judged without it.",
            "Fill it in as well.",
            self.where(line),
        )

    def _without_running(self, status: Status, findings: list[Finding], start_line: int | None = None) -> Verdict:
        return self._verdict(status, findings, properties=_unproven(self.puzzle), start_line=start_line)

    def _judged(self, program: Program, started: list[str], box: Box) -> Verdict:
        import numpy as np

        from checker.box.compiling import Compiler
        from checker.judge.compiled import compilations, compile_findings, compile_remarks, jobs
        from checker.judge.evidence import half_of, launch_of, steps_of
        from checker.judge.judge import runs_of

        key = self.terms.key
        draw = self.puzzle.draw() if key is None else self.puzzle.draw(key, self.sha256)
        on_gpu = self.terms.device == "cuda"
        usual = self._cases_for_gpu(draw) if on_gpu else self.puzzle.cases(draw)
        cases = [*usual, *self._suspected(program, draw)]
        runnable = [case for case in cases if case.kernel in started]
        launches = [launch_of(case, self.puzzle.budget(case)) for case in runnable]
        shuffle = draw.case("order of programs")
        in_order: list[tuple[int, Iterable[int]]] = []
        shuffled: list[tuple[int, Iterable[int]]] = []
        second = half_of({n: steps_of(case, self.puzzle) for n, case in enumerate(runnable) if case.once})
        for number, (case, launch) in enumerate(zip(runnable, launches, strict=True)):
            programs = np.array(case.programs or range(launch.programs))
            if number not in second:  # what runs once is shared out between two processes
                in_order.append((number, programs))
            if runs_of(case) == 2 or number in second:
                shuffled.append((number, shuffle.permutation(programs)))
        passes = [in_order, shuffled]
        own = {case.name for case in cases[len(usual) :]}  # the constexprs that are compiled are the puzzle's
        wanted = [] if on_gpu else jobs(self.puzzle, [c for c in runnable if c.name not in own], self.terms.targets)
        # What practice has found out is not believed in grading: who practises here may have written it.
        with Compiler(
            program.source,
            wanted,
            self.terms.limits,
            self.terms.cage,
            cached=key is None,
            assembled=key is None,
            warm=self.terms.warm,
        ) as compiler:
            report = box.run(program.source, list(program.kernels), launches, passes)
            if not report.versions:
                raise RuntimeError(f"the box did not start: {report.complaint.strip() or 'no reason given'}")
            self.versions |= report.versions
            facts = self._weighed(program, started, cases, runnable, launches, report, passes)
            if self._verdict(**facts).earned:  # what does not compile scores 0, whatever else is wrong with it
                compiled = compiler.results()
                if complaints := compile_findings(self.puzzle, compiled, self.where):
                    named = {finding.id for finding in facts["findings"]}
                    complaints = [finding for finding in complaints if finding.id not in named]
                    facts |= {"status": Status.DOES_NOT_COMPILE, "findings": [*complaints, *facts["findings"]]}
                    facts |= {"compiled": compilations(compiled), "remarks": ()}
                elif facts["status"] is Status.ACCEPTED:
                    remarks = (*facts["remarks"], *compile_remarks(compiled, self.where))
                    facts |= {"compiled": compilations(compiled), "remarks": remarks}
        return self._verdict(**facts)

    def _suspected(self, program: Program, draw: Draw) -> list[Case]:
        """Cases on both sides of the numbers in this submission."""
        from checker.submission.suspects import suspects

        suspected = self.puzzle.suspected
        if suspected is None:
            return []
        found = suspects(program, self.submission.place)
        cases = [case for kernel, of_kernel in found.items() for case in suspected.cases(kernel, draw, of_kernel)]
        on_gpu = self.terms.device == "cuda"
        return [replace(case, on_gpu=True, once=False, checked_arithmetic=False) for case in cases] if on_gpu else cases

    def _weighed(
        self,
        program: Program,
        started: list[str],
        cases: list[Case],
        runnable: list[Case],
        launches: list[Launch],
        report: BoxReport,
        passes: list[list[tuple[int, Iterable[int]]]],
    ) -> dict[str, Any]:
        """The facts of the verdict, from what came out of the box."""
        from checker.course.verdict import Run
        from checker.judge.branches import finding_on, not_entered, unproven
        from checker.judge.judge import in_order_of_cases, judge, properties, status_of

        on_gpu = self.terms.device == "cuda"
        asked = [[number for number, _ in one] for one in passes]
        evidence, endings = self._evidence(runnable, launches, report, asked)
        endings += [self._empty(program, name) for name in program.kernels if name not in started]
        made = judge(self.puzzle, evidence, self.where, program.kernels)
        for case in cases:
            if case.kernel not in started:
                made.failed[case.name] = f"{case.kernel} is still empty"
        findings = in_order_of_cases(endings + made.findings, cases)
        results = properties(self.puzzle, cases, made)
        if not on_gpu and not findings:  # beside anything else it would be noise
            reached = {n for e in evidence for result in e.results for n in result.reached}
            if missing := not_entered(program, reached):
                findings = [finding_on(missing, self.where)]
                results = unproven(self.puzzle, program, missing, results)
        return {
            "status": status_of(findings, results),
            "findings": findings,
            "properties": results,
            "runs": (Run("cuda" if on_gpu else "interpreter", report.seconds, made.traffic),),
            "remarks": (*made.remarks, *self._gpu_remarks(evidence)),
            "printed": _printed(bytes(report.passes[0].output), runnable) if self.terms.key is None else (),
        }

    def _cases_for_gpu(self, draw: Draw) -> list[Case]:
        """The usual cases and the large ones, as they are judged on a GPU."""
        large = self.puzzle.large_cases(draw) if self.puzzle.large_cases else []
        usual = (case for case in self.puzzle.cases(draw) if not case.once)
        every = (*usual, *(replace(case, telling=False) for case in large))
        return [replace(case, on_gpu=True, once=False, checked_arithmetic=False) for case in every]

    def _gpu_remarks(self, evidence: list[Evidence]) -> list[str]:
        """What a check on a GPU does not say, if it was one."""
        if self.terms.device != "cuda":
            return []
        left_out = [e.case.name for e in evidence if e.result is not None and e.result.left_out]
        return ["a GPU tells nothing of memory traffic and races between programs: the interpreter does."] + [
            f"this GPU has not enough free memory for: {name}." for name in left_out
        ]

    def _evidence(
        self, cases: list[Case], launches: list[Launch], report: BoxReport, asked: list[list[int]]
    ) -> tuple[list[Evidence], list[Finding]]:
        """Results by case, and findings on how the runners ended."""
        from checker.box.protocol.results import parse
        from checker.judge.diagnose import error_finding
        from checker.judge.endings import ended, malformed
        from checker.judge.evidence import Evidence

        results, findings = [], []
        for one, numbers in zip(report.passes, asked, strict=True):
            answers = parse(bytes(one.answer), launches, numbers, self.terms.device == "cuda")
            results.append(answers.results)
            if any(result.left_out and launches[n].small for n, result in answers.results.items()):
                raise RuntimeError("the GPU has no free memory even for a small tensor: wait until others have done")
            if answers.loading is not None:
                findings.append(error_finding(None, answers.loading, self.where))
            elif answers.malformed is not None and one.ending in (Ending.FINISHED, Ending.EXITED):
                findings.append(malformed(answers.malformed))
            elif any(result.on_gpu and result.error for result in answers.results.values()):
                continue  # after an error a GPU takes no more from the same process: no news
            elif one.ending is Ending.STOPPED:
                continue  # what happened in the other pass is the news
            elif one.ending is Ending.KILLED_FROM_OUTSIDE:
                raise RuntimeError("the box was killed from outside, as by the system when memory is short")
            elif len(answers.results) < len(numbers):
                missing = cases[numbers[len(answers.results)]]
                findings.append(ended(one.ending, one.code, self.terms.limits, missing))
        evidence = [Evidence(case, results[0].get(n), results[1].get(n)) for n, case in enumerate(cases)]
        unique = {finding.id: finding for finding in reversed(findings)}
        return evidence, list(unique.values())

    def _verdict(self, status: Status, findings: list[Finding], **facts: object) -> Verdict:
        verdict = Verdict(
            puzzle=self.puzzle.number,
            title=self.puzzle.title,
            status=status,
            findings=tuple(findings),
            file=self.submission.name,
            mode="practice" if self.terms.key is None else "grading",
            sandbox=self.terms.sandbox,
            submission_sha256=self.sha256,
            versions=self.versions,
            **facts,  # type: ignore[arg-type]
        )
        return cleaned(verdict)


_UNREADABLE_CODE = Finding(
    "unreadable-code", Status.INVALID, "The code cannot be taken apart", "", "Keep to the form of the stub."
)


def _printed(output: bytes, cases: list[Case]) -> tuple[tuple[str, str], ...]:
    """(case, text) of everything the kernels printed; the child marks where each launch begins."""
    sections = []
    for section in output.decode(errors="replace").split(LAUNCH_MARK)[1:]:
        number, _, text = section.partition("\n")
        if text.strip() and number.isascii() and number.isdigit() and int(number) < len(cases):
            sections.append((cases[int(number)].name, text))
    return tuple(sections)
