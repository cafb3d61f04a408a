"""Compiling without a GPU: what is asked for, what is kept, and what happens when it goes wrong."""

from __future__ import annotations

import json
import re
import time
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from checker import catalog, targets
from checker.box import compiling, wire
from checker.box.compiling import Compiled, Compiler, Job
from checker.box.parent import Limits
from checker.judge.verdict import Status
from checker.road import Terms
from tests.conftest import ROOT, boxed_processes, check_path

STEMS = catalog.stems()
SOLUTION = ROOT / "solutions" / f"{STEMS[1]}.py"
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
        started = compiler.child is not None
        [result] = compiler.results()
    return result, started


@pytest.mark.slow
@pytest.mark.parametrize("number", STEMS, ids=STEMS.values())
def test_solutions_compile_for_every_target(number: int) -> None:
    verdict = check_path(ROOT / "solutions" / f"{STEMS[number]}.py", Terms(targets=targets.ALL))
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
    practice, graded = (check_path(SOLUTION, Terms(key=key)) for key in (None, "a key"))
    assert practice.accepted and graded.accepted
    [told], [not_told] = practice.compiled, graded.compiled
    assert told.registers and told.spilled == 0
    assert not_told == replace(told, registers=None, spilled=None)


@pytest.mark.parametrize("damage", ["", "{", '{"results": []}', '{"results": [{"shared": -1}]}', "[1]"])
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


def test_old_outcomes_make_room(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "KEPT", 2)
    cache.mkdir(parents=True)
    for name in ("a", "b", "c"):
        (cache / f"{name}.json").write_text("{}")
    compiled()
    assert len(list(cache.glob("*.json"))) == 2


def test_a_compiler_that_takes_too_long_leaves_nothing(box_folder: Path, cache: Path) -> None:
    result, _ = compiled(Limits(compile_seconds=0.05))
    assert result.error is not None and "did not come to an end" in result.error.message
    assert not cache.exists()
    assert boxed_processes(box_folder) == []


def test_a_wrong_kernel_does_not_wait_for_the_compiler(box_folder: Path) -> None:
    verdict = check_path(ROOT / "tests" / "wrong" / "p1_no_division.py")
    assert verdict.compiled == ()
    assert verdict.status is not Status.DOES_NOT_COMPILE


def test_what_does_not_compile_keeps_its_points_and_is_not_accepted() -> None:
    verdict = check_path(ROOT / "tests" / "wrong" / "p3_starts_as_an_integer.py", Terms(targets=targets.ALL))
    assert verdict.status is Status.DOES_NOT_COMPILE
    assert not verdict.accepted
    assert verdict.earned == verdict.possible
    assert [c.compiles for c in verdict.compiled] == [False] * len(targets.ALL)
    [finding] = verdict.findings
    assert finding.where.source[2][1].strip().startswith("for start in range")


def test_a_runner_cannot_write_the_whole_answer() -> None:
    """Descriptor 3 is the compiler's answer; a default value runs there if nothing has linted it."""
    text = json.dumps({"results": [{"error": None, "shared": 1, "registers": 1, "spilled": 1}]})
    frame = f"__import__('struct').pack('<II', {len(text)}, 0) + {text!r}.encode()"
    source = f"@triton.jit\ndef kernel(x_ptr, forged=__import__('os').write(3, {frame})):\n    pass\n"
    job = Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {})
    with Compiler(source, [job], Limits(filter=False), cached=False) as compiler:
        [result] = compiler.results()
    assert result.error is not None and "Bad file descriptor" in result.error.message


def test_a_runner_cannot_fill_the_memory_of_who_listens_to_it() -> None:
    """A default value runs there if nothing has linted it; descriptor 5 is the runner's own answer."""
    flood = "[__import__('os').write(5, bytes(1 << 20)) for _ in range(1 << 10)]"
    source = f"@triton.jit\ndef kernel(x_ptr, flood={flood}):\n    pass\n"
    job = Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {})
    most, deadline = 0, time.monotonic() + 30
    with Compiler(source, [job], Limits(), cached=False) as compiler:
        assert compiler.child is not None
        status = Path(f"/proc/{compiler.child.pid}/status")
        while compiler.child.poll() is None and time.monotonic() < deadline:
            if found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text()):
                most = max(most, int(found[1]) << 10)
            time.sleep(0.01)
        [result] = compiler.results()
    assert result.error is not None
    assert 0 < most < 800 << 20, most


@pytest.mark.parametrize(("many", "said"), [(1000, "[[], [], "), (100_000, "the compiler did not come to an end")])
def test_a_runner_cannot_fill_the_memory_of_who_reads_its_complaint(many: int, said: str) -> None:
    """Many small things take twenty times the memory of their text: of 64 MB, more than a gigabyte."""
    frame = wire.pack({"error": {"type": "x", "line": 1, "program": 0, "message": [[]] * many}})
    written = f"__import__('os').write(5, __import__('zlib').decompress({zlib.compress(frame)!r}))"
    source = f"@triton.jit\ndef kernel(x_ptr, long={written}, end=__import__('os')._exit(0)):\n    pass\n"
    with Compiler(source, [Job("kernel", "sm_90", {"x_ptr": "*fp32"}, {})], Limits(), cached=False) as compiler:
        [result] = compiler.results()
    assert result.error is not None and result.error.message.startswith(said)


def test_what_the_compiler_says_is_not_read_if_it_is_too_long() -> None:
    """An assembler is none of ours: whoever gets hold of it can say anything."""

    class Talkative:
        def communicate(self, timeout: float) -> tuple[bytes, bytes]:
            error = {"type": "x", "line": 1, "program": 0, "message": [[]] * (1 << 20)}
            return wire.pack({"hello": None}) + wire.pack({"results": [{"error": error}]}), b""

    compiler = Compiler("", [JOB], Limits(), cached=False)
    compiler.child = Talkative()  # type: ignore[assignment]
    [result] = compiler.results()
    assert result.error is not None and result.error.type == "Died"
