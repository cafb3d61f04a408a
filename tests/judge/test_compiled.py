"""Compiling without a GPU: what is asked for, what is kept, and what happens when it goes wrong."""

from __future__ import annotations

import math
import os
import re
import select
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from checker import catalog
from checker.check import Conditions, check
from checker.course import targets
from checker.course.case import Tensor
from checker.course.verdict import Status, Verdict, Where
from checker.judge.compiled import compile_findings, without_half
from checker.judge.forms import MEMORY, forms, ones
from checker.sandbox import compiling
from checker.sandbox.compiling import Compiled, Compiler, Job
from checker.sandbox.exchange import TooBusy
from checker.sandbox.parent import Limits
from checker.sandbox.protocol import wire
from checker.submission.read import from_cells
from tests.conftest import ROOT, STEMS_OF_KERNELS, check_kernel, check_path, killing, need, ran, sandboxed_processes
from tests.kernels import named

STEMS = STEMS_OF_KERNELS
SOLUTION = ROOT / "solutions" / f"{STEMS['p1']}.py"
SIGNATURE = {"x_ptr": "*fp16", "y_ptr": "*fp16", "x_row_stride": "i32", "y_row_stride": "i32", "n_cols": "i32"}
JOB = Job("naive_softmax_kernel", "sm_90", {**SIGNATURE, "BLOCK_SIZE": "constexpr"}, {"BLOCK_SIZE": 256})


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "flash-puzzles" / "compiled"


def compiled(limits: Limits | None = None) -> tuple[Compiled, bool]:
    """The result of the one job, and whether a compiler was started for it."""
    with Compiler(SOLUTION.read_text(), [JOB], limits or Limits()) as compiler:
        started = compiler.exchange is not None
        [result] = compiler.results()
    return result, started


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_solutions_compile_for_every_target(puzzle_id: str) -> None:
    verdict = check_path(ROOT / "solutions" / f"{STEMS[puzzle_id]}.py", Conditions(targets=targets.ALL))
    assert verdict.accepted, verdict.findings
    assert {c.target for c in verdict.compiled} == set(targets.ALL)
    for c in verdict.compiled:
        assert c.compiles
        assert c.registers is not None and c.registers > 0
        assert c.shared is not None and c.shared <= c.shared_limit


def test_an_outcome_is_kept_and_used_again(cache: Path) -> None:
    first, started = compiled()
    assert started and first.error is None and first.registers
    again, started = compiled()
    assert again == first
    assert not started
    assert len(list(cache.iterdir())) == 1


def test_grading_asks_for_nothing_that_only_an_assembler_could_tell() -> None:
    solution = ROOT / "solutions" / f"{STEMS['p3']}.py"  # its tiles are the same whatever the key
    practice, graded = (check_path(solution, Conditions(key=key)) for key in (None, "a key"))
    assert practice.accepted and graded.accepted
    [told], [not_told] = practice.compiled, graded.compiled
    assert told.registers and told.spilled == 0
    assert not_told == replace(told, registers=None, spilled=None)


@pytest.mark.parametrize("damage", ["", "{", "{}", "[]", '[{"shared": -1}]', "[1]", "[" * 100_000, "9" * 5000])
def test_a_damaged_outcome_is_made_anew(cache: Path, damage: str) -> None:
    first, _ = compiled()
    [file] = cache.iterdir()
    file.write_text(damage)
    again, _ = compiled()
    assert again == first
    assert file.read_text() != damage


def test_a_cache_that_cannot_be_written_is_no_harm(cache: Path) -> None:
    cache.parent.write_text("a file where a folder should be")
    result, _ = compiled()
    assert result.error is None


@pytest.mark.parametrize("put", [Path.mkdir, os.mkfifo, lambda file: file.symlink_to("/dev/zero")])
def test_what_is_no_file_is_no_outcome(cache: Path, put: Callable[[Path], object]) -> None:
    first, _ = compiled()
    [file] = cache.iterdir()
    file.unlink()
    put(file)
    again, _ = compiled()
    assert again == first
    assert list(cache.iterdir()) == [file]


@pytest.mark.parametrize("home", [None, "/root"])
def test_a_user_without_a_home_can_check(home: str | None, tmp_path: Path) -> None:
    """As in containers: a user who has no account, or the home of another one."""
    if os.geteuid() != 0:
        pytest.skip("only root can be somebody else")
    need("setpriv")
    variables = {key: value for key, value in os.environ.items() if key not in ("HOME", "XDG_CACHE_HOME")}
    # Python may lie where only root may look.
    become = ["setpriv", "--reuid=63998", "--regid=63998", "--clear-groups", "--inh-caps=+dac_read_search"]
    asked = [sys.executable, "-m", "checker", "check", "w1", "--file", str(ROOT / "solutions" / f"{STEMS['w1']}.py")]
    variables |= {"PYTHONPATH": str(ROOT)} | ({} if home is None else {"HOME": home})
    done = ran(*become, "--ambient-caps=+dac_read_search", *asked, ends=0, env=variables)
    assert "sm_90" in done.stdout


def test_old_outcomes_make_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "KEPT", 2)
    cache.mkdir(parents=True)
    for name in ("a", "b", "c"):
        (cache / f"{name}.json").write_text("{}")
    compiled()
    assert len(list(cache.glob("*.json"))) == 2


ENDLESS = "@triton.jit\ndef kernel(x_ptr, end=[0 for _ in iter(int, 1)]):\n    pass\n"  # runs if nothing has linted it
ENDLESS_JOB = Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {})


def test_a_machine_that_is_too_busy_is_our_fault(sandbox_folder: Path, cache: Path) -> None:
    compiler = Compiler(ENDLESS, [ENDLESS_JOB], Limits(wall_seconds=0.5))
    with compiler, pytest.raises(TooBusy, match="not done after"):
        compiler.results()
    assert not cache.exists()
    assert sandboxed_processes(sandbox_folder) == []


def test_a_compiler_that_uses_too_much_time_is_not_our_fault(cache: Path) -> None:
    with Compiler(ENDLESS, [ENDLESS_JOB], Limits(cpu_seconds=1)) as compiler:
        [result] = compiler.results()
    assert result.error is not None and "did not finish" in result.error.message
    assert not cache.exists()


@pytest.mark.parametrize("runner", [False, True], ids=["server", "runner"])
def test_a_compiler_that_is_killed_from_outside_is_our_fault(runner: bool) -> None:
    with Compiler(ENDLESS, [ENDLESS_JOB], Limits(), cached=False) as compiler:
        assert compiler.exchange is not None
        server = compiler.exchange.server
        select.select([server.channel], [], [])  # it says hello
        with killing(server.process.pid, runner), pytest.raises(RuntimeError, match="killed from outside"):
            compiler.results()


def test_a_kernel_that_earns_nothing_does_not_wait_for_the_compiler(
    monkeypatch: pytest.MonkeyPatch, sandbox_folder: Path
) -> None:
    monkeypatch.setattr(Compiler, "results", lambda _: pytest.fail("there was no need to wait"))
    verdict = check_kernel(named("p1_no_division"), Conditions())
    assert verdict.earned == 0 and verdict.compiled == ()


def test_what_does_not_compile_scores_nothing() -> None:
    verdict = check_kernel(named("p3_starts_as_an_integer"), Conditions(targets=targets.ALL))
    assert verdict.status is Status.DOES_NOT_COMPILE
    assert all(p.passed for p in verdict.properties)
    assert verdict.earned == 0
    assert [c.compiles for c in verdict.compiled] == [False] * len(targets.ALL)
    [finding] = verdict.findings
    assert finding.where.source[2][1].strip().startswith("for start in range")


def test_what_compiles_in_fp32_alone_loses_what_half_precision_is_worth() -> None:
    """What is worse than partly right stays: here the interpreter has stopped as well."""
    verdict = check_kernel(named("p1_half_exponential"), Conditions())
    assert [p.name for p in verdict.properties if not p.passed] == ["half"]
    assert verdict.status is Status.CRASHED and verdict.earned == verdict.possible - 10
    assert [c.compiles for c in verdict.compiled] == [False]
    accepted = replace(verdict, status=Status.ACCEPTED)
    assert without_half(accepted, accepted.status).status is Status.PARTLY_RIGHT


def check_lesson(puzzle_id: str, text: str, conditions: Conditions | None = None) -> Verdict:
    return check(puzzle_id, from_cells([("code", text)], "lesson.py", numbered=False), conditions).verdict


@pytest.mark.parametrize("key", [None, "a key"], ids=["practice", "grading"])
def test_being_wrong_besides_brings_no_points_back(key: str | None) -> None:
    """The rule would be unfair if whoever has a second mistake kept what whoever has only this one loses."""
    text = named("p3_prefix_not_guarded").text
    assert "    l = 0.0\n" in text
    wrong, also = (check_lesson("p3", t, Conditions(key=key)) for t in (text, text.replace("l = 0.0", "l = 0")))
    assert wrong.status is not Status.DOES_NOT_COMPILE and wrong.earned > 0
    assert also.status is Status.DOES_NOT_COMPILE and also.earned == 0
    assert [f.id for f in also.findings] == ["loop-changes-type", *(f.id for f in wrong.findings)]


def test_kernels_that_are_there_must_compile_while_others_are_not() -> None:
    text, stub = ((ROOT / folder / f"{STEMS['p7']}.py").read_text() for folder in ("solutions", "puzzles"))
    start = "def dk_dv_kernel("
    text = text[: text.index(start)] + stub[stub.index(start) : stub.index("# %%", stub.index(start))]
    loop = "    for one in range(n_q):\n        last = one\n"
    odd = text.replace("    tl.store(delta_ptr + ", f"{loop}    tl.store(delta_ptr + 0 * last + ")
    right, wrong = (check_lesson("p7", t) for t in (text, odd))
    assert right.status is Status.PARTLY_RIGHT and right.earned > 0
    assert [f.id for f in wrong.findings] == ["not-always-defined", "kernel-empty"] and wrong.earned == 0


ONE_FORM_ONLY = {
    "p2_starts_in_half": " with fp32 inputs: ",
    "p6_integer_unless_causal": "",
    "p6_undefined_unless_causal": "",
}


@pytest.mark.parametrize("name", ONE_FORM_ONLY)
def test_what_compiles_in_one_form_only_is_refused(name: str) -> None:
    verdict = check_kernel(named(name))
    assert verdict.status is Status.DOES_NOT_COMPILE
    assert [c.compiles for c in verdict.compiled] == [False]
    assert ONE_FORM_ONLY[name] in verdict.findings[0].examples[0]


def test_shared_memory_counts_in_every_form() -> None:
    puzzle = catalog.load("p6")
    timed = next(forms(puzzle.kernels[0], puzzle.cases(puzzle.draw()), "sm_90"))
    wide = {name: kind.replace("fp16", "fp32") for name, kind in timed.signature.items()}
    tiles = {**timed.constexprs, "D": 128, "Br": 128, "Bc": 128}
    large = replace(timed, signature=wide, constexprs=tiles, until=MEMORY)
    source = (ROOT / "solutions" / f"{STEMS['p6']}.py").read_text()
    with Compiler(source, [timed, large], Limits(), cached=False) as compiler:
        results = compiler.results()
    assert [r.error for r in results] == [None, None]
    [finding] = compile_findings(puzzle, results, lambda *_, **__: Where())
    assert finding.id == "shared-memory"
    assert f"{results[1].shared} bytes with fp32 inputs, Br=128 and Bc=128," in finding.explanation


def test_what_fails_only_where_a_size_is_1_is_a_remark_and_its_remedy_works() -> None:
    kernel = named("p2_size_cast")
    verdict = check_kernel(kernel)
    assert verdict.accepted and [c.compiles for c in verdict.compiled] == [True]
    [remark] = [remark for remark in verdict.remarks if "does not compile" in remark]
    text = kernel.text
    line = text[: text.index("n_cols.to(")].count("\n") + 1
    [name, remedy] = re.findall(rf"in which (\w+) is 1 \(line {line}\).* Begin with (.*), and it is", remark)[0]
    assert name == "n_cols" and remedy.startswith("n_cols = ")
    cured = check_lesson("p2", text.replace("    row =", f"    {remedy}\n    row =", 1))
    assert cured.accepted and not [remark for remark in cured.remarks if "does not compile" in remark]


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
@pytest.mark.parametrize("key", ["practice", "autumn"])
def test_all_that_a_launch_makes_another_kernel_of_is_compiled_once(puzzle_id: str, key: str) -> None:
    """Each of them, not their product; and constexprs are those of a case that is run with the same types."""
    puzzle = catalog.load(puzzle_id)
    cases = puzzle.cases(puzzle.draw(key))
    for kernel in puzzle.kernels:
        own = [case for case in cases if case.kernel == kernel.name]
        jobs = list(forms(kernel, own, "sm_90"))
        run = [(pointers({p: case.tensors.get(p) for p in kernel.parameters}), dict(case.constexprs)) for case in own]
        as_run = [job for job in jobs if not ones(job)]
        made = [(tuple(t for t in job.signature.values() if t[0] == "*"), job.constexprs) for job in as_run]
        assert all(one in run for one in made)
        assert {types for types, _ in made} == {types for types, _ in run}
        for name in kernel.constexprs:
            if any(isinstance(case.constexprs[name], bool) for case in own):
                assert {constexprs[name] for _, constexprs in made} == {case.constexprs[name] for case in own}
        for types in {types for types, _ in run}:
            tiles = [sorted(tile(c) for t, c in some if t == types)[-1] for some in (made, run)]
            assert tiles[0] == tiles[1]
        integers = tuple(name for name, kind in jobs[0].signature.items() if kind in ("i32", "i64"))
        assert [job.multiples for job in as_run] == [integers] + [()] * (len(as_run) - 1) and len(as_run) > 1
        assert ones(jobs[-1]) == integers and {jobs[-1].signature[name] for name in integers} == {"constexpr"}
        switches = sum(isinstance(value, bool) for value in jobs[0].constexprs.values())
        first = jobs[0].constexprs
        rows = puzzle.work is None and len(first) == 1  # which take no more shared memory when they are longer
        rest = ["ttir" if rows and tile(job.constexprs) > tile(first) else "llir" for job in as_run[1:]]
        assert [job.until for job in jobs] == ["", *rest, *["ttir"] * (1 + switches)]
        assert "*fp16" in jobs[0].signature.values()


def pointers(tensors: dict[str, Tensor | None]) -> tuple[str, ...]:
    return tuple("*bf16" if t.bf16 else f"*fp{8 * t.values.itemsize}" for t in tensors.values() if t is not None)


def tile(constexprs: Mapping[str, float]) -> float:
    return math.prod(value for value in constexprs.values() if not isinstance(value, bool))


def test_a_runner_has_nothing_open_but_its_own() -> None:
    """Its answer, what is complained of in both directions, and the folder it looks at; not what others answer into."""
    source = (
        "@triton.jit\ndef kernel(x_ptr, look=int(str(sorted(__import__('os').listdir('/proc/self/fd'))))):\n    pass\n"
    )
    jobs = [Job("kernel", target, {"x_ptr": "*fp32"}, {}) for target in ("sm_80", "sm_90")]
    with Compiler(source, jobs, Limits(), cached=False) as compiler:
        for result in compiler.results():
            assert result.error is not None and str([*"0123456"]) in result.error.message


def test_a_runner_cannot_fill_the_memory_of_who_listens_to_it() -> None:
    """A default value runs there if nothing has linted it."""
    flood = "[__import__('os').write(3, bytes(1 << 20)) for _ in range(1 << 10)]"
    source = f"@triton.jit\ndef kernel(x_ptr, flood={flood}):\n    pass\n"
    job = Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {})
    tracemalloc.start()
    try:
        with Compiler(source, [job], Limits(), cached=False) as compiler:
            [result] = compiler.results()
        assert tracemalloc.get_traced_memory()[1] < 4 * compiling.LONGEST_ANSWER
    finally:
        tracemalloc.stop()
    assert result.error is not None


@pytest.mark.parametrize(("many", "said"), [(1000, "as asked"), (100_000, "the compiler did not finish")])
def test_a_runner_cannot_fill_the_memory_of_who_reads_its_complaint(many: int, said: str) -> None:
    """Many small things take twenty times the memory of their text: of 64 MB, more than a gigabyte."""
    frame = wire.pack({"error": {"type": "x", "line": 1, "program": 0, "message": "as asked", "more": [[]] * many}})
    written = f"__import__('os').write(3, __import__('zlib').decompress({zlib.compress(frame)!r}))"
    source = f"@triton.jit\ndef kernel(x_ptr, long={written}, end=__import__('os')._exit(0)):\n    pass\n"
    with Compiler(source, [Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {})], Limits(), cached=False) as compiler:
        [result] = compiler.results()
    assert result.error is not None and result.error.message.startswith(said)
