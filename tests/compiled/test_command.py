"""`compiled` as it is typed: what it shows, beside what, and how it ends."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from checker import catalog
from checker.check import program_of
from checker.compiled import form
from checker.compiled.run import without_masks
from checker.course import ladder, places
from checker.course.status import Misuse
from checker.course.targets import KNOWN
from checker.submission.read import from_cells
from tests.conftest import ROOT, STEMS_OF_KERNELS, typed

P1, P6 = (places.solution(puzzle_id) for puzzle_id in ("p1", "p6"))


def compiled(*arguments: str, cwd: Path = ROOT, ends: int | None = None) -> subprocess.CompletedProcess[str]:
    return typed("compiled", *arguments, cwd=cwd, ends=ends)


def test_yours_stands_beside_the_version_before_and_the_solution(tmp_path: Path) -> None:
    text = P6.read_text()
    yours, before = tmp_path / "yours.py", tmp_path / "before.py"
    yours.write_text(
        text.replace("for start_k in range(0, end_k, Bc)", "for start_k in tl.range(0, end_k, Bc, num_stages=1)")
    )
    before.write_text(text + "\n# as it was\n")
    done = compiled("p6", "--file", str(yours), "--before", str(before), ends=0)
    lines = done.stdout.split("\n")
    heading = next(line for line in lines if "yours" in line)
    assert heading.split() == ["yours", "before", "solution"]
    registers = next(line.split() for line in lines if line.startswith("registers"))
    assert len(registers) == 6 and registers[-1] == registers[-2] != registers[-3]
    at = text[: text.index("for start_k")].count("\n") + 1
    assert f"! line {at}: The loop waits for each of its loads" in done.stdout
    assert "nothing loaded ahead" in done.stdout and "wgmma m64n64k16 f16" in done.stdout
    assert "N = 4096, d = 64, fp16; Br=64, Bc=64, 4 warps, 3 stages" in done.stdout


def test_size_and_launch_are_chosen_by_their_words() -> None:
    done = compiled("p6", "--file", str(P6), "--size", "d = 128, fp16, causal", "--launch", "Bc=32 num_stages=2")
    assert "N = 4096, d = 128, fp16, causal; Br=64, Bc=32, 4 warps, 2 stages" in done.stdout
    assert "solution" not in done.stdout  # it is this file


@pytest.mark.parametrize("target", KNOWN)
def test_every_target_says_something_of_every_line(target: str) -> None:
    done = compiled("p1", "--file", str(P1), "--targets", target, ends=0)
    assert (
        f"on {target} ({KNOWN[target].sold_as})" in done.stdout
        and f"programs on one {KNOWN[target].core}" in done.stdout
    )
    assert "16 bytes loaded" in done.stdout and "16 bytes stored" in done.stdout
    assert "unknown" not in done.stdout and "Not everything is known" not in done.stdout


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_every_solution_is_told_whole(puzzle_id: str) -> None:
    done = compiled(puzzle_id, "--file", str(places.solution(puzzle_id)), ends=0)
    for kernel in catalog.load(puzzle_id).kernels:
        assert f"{kernel.name} on sm_90" in done.stdout
    assert "unknown" not in done.stdout and "does not compile" not in done.stdout


def test_what_a_gpu_has_no_room_for_is_said() -> None:
    words = ("p6", "--file", str(P6), "--size", "d = 128", "--targets", "gfx942")
    done = compiled(*words, "--launch", "Br=128 Bc=128")
    assert "a launch would fail: it asks for" in done.stdout and "can have 65,536" in done.stdout
    assert "2 stages" in compiled(*words).stdout  # nobody has chosen the launch: with three it asks for 73,728


@pytest.mark.parametrize(("stage", "text"), [("ptx", "ex2.approx"), ("ttgir", "tt.load"), ("llir", "define")])
def test_a_stages_text_has_the_lines_above_it(stage: str, text: str) -> None:
    done = compiled("p1", "--file", str(P1), "--stage", stage, ends=0)
    assert text in done.stdout
    source = P1.read_text().split("\n")
    number = next(n for n, line in enumerate(source, 1) if "tl.exp(" in line)
    assert f"{number:4} │ {source[number - 1].strip()}" in done.stdout


def test_what_does_not_compile_is_told_at_its_line(tmp_path: Path) -> None:
    text = P1.read_text()
    path = tmp_path / "kernel.py"
    path.write_text(
        text.replace("    denominator = ", "    numerator = numerator + tl.arange(0, 3)\n    denominator = ")
    )
    done = compiled("p1", "--file", str(path))
    at = text[: text.index("    denominator = ")].count("\n") + 1
    assert done.returncode == 1 and f"It does not compile, line {at}:" in done.stdout


def test_what_cannot_be_compiled_gets_the_report_of_a_check(tmp_path: Path) -> None:
    done = compiled("p1", "--file", str(ROOT / "checker" / "learner" / "stubs" / f"{ladder.stems()['p1']}.py"))
    assert (done.returncode, "not started" in done.stdout) == (4, True), done
    path = tmp_path / "kernel.py"
    path.write_text(P1.read_text().replace("    denominator = ", "    import os\n    denominator = "))
    done = compiled("p1", "--file", str(path))
    assert done.returncode == 1 and "import" in done.stdout
    path.write_text("def f(:\n")
    assert compiled("p1", "--file", str(path)).returncode == 1


MISUSED = {
    "no puzzle": (("p99",), "p99"),
    "no file": (("p1", "--file", "nowhere.py"), "There is no file nowhere.py."),
    "no older file": (("p1", "--file", str(P1), "--before", "nowhere.py"), "There is no file nowhere.py."),
    "an older file without kernels": (("p1", "--file", str(P1), "--before", str(P6)), "cannot be compiled"),
    "no target": (("p1", "--file", str(P1), "--targets", "sm_12"), "There is no target 'sm_12'"),
    "no size": (("p1", "--file", str(P1), "--size", "huge"), "Sizes: N = 1024, fp32; "),
    "no launch": (("p1", "--file", str(P1), "--launch", "Br=3"), "'Br=3' cannot change a launch"),
    "no power of two": (("p1", "--file", str(P1), "--launch", "num_warps=3"), "must be a power of two"),
    "no stage": (("p1", "--file", str(P1), "--stage", "sass"), "sass"),
    "no kernel": (("a2",), "written in PyTorch"),
    "not timed": (("w1", "--file", str(places.solution("w1")), "--size", "1024"), "not timed"),
}


@pytest.mark.parametrize(("arguments", "said"), MISUSED.values(), ids=MISUSED)
def test_misuse_is_a_sentence(arguments: tuple[str, ...], said: str) -> None:
    done = compiled(*arguments, ends=2)
    assert said in done.stderr and "Traceback" not in done.stderr


def test_a_launch_is_compiled_as_triton_would_at_that_size() -> None:
    """Integers that are 1 are constants there, and multiples of 16 are known to be such."""
    puzzle = catalog.load("b3")
    split, _ = form.forms(puzzle, [kernel.name for kernel in puzzle.kernels], ["sm_90"])
    assert split.job.constexprs["n_q"] == 1 and split.job.signature["n_q"] == "constexpr"
    assert "n_k" in split.job.multiples and "keys_per_split" not in split.job.multiples
    assert split.job.options == {"num_warps": 2, "num_stages": 4}
    [odd] = form.forms(catalog.load("a1"), ["matmul_kernel"], ["sm_90"], "k = 4088")
    assert {"m", "n", "c_row_stride"} == {*odd.job.multiples}
    [of_bf16] = form.forms(catalog.load("p1"), ["naive_softmax_kernel"], ["sm_90"], "bf16")
    assert of_bf16.job.signature["x_ptr"] == "*bf16"


@pytest.mark.parametrize("text", ["Br", "Br=", "=3", "Br=-1", "Br=0", "Br=16 x=4", "num_warps=one"])
def test_words_that_change_nothing_are_misuse(text: str) -> None:
    with pytest.raises(Misuse):
        form.changes(text, catalog.load("p6"))


def test_the_first_size_is_a_usual_one_and_an_exact_name_comes_before_a_longer_one() -> None:
    puzzle = catalog.load("p6")
    [first] = form.forms(puzzle, [puzzle.kernels[0].name], ["sm_90"])
    assert first.size == form.sizes(puzzle, usual=True)[0]
    [exact] = form.forms(puzzle, [puzzle.kernels[0].name], ["sm_90"], "N = 8192, d = 64, fp16")
    assert "causal" not in exact.size


HELPED = (  # (puzzle, changes, words that must be there): what helpers, nests and odd calls must not hide
    (
        "p6",
        [
            ("@triton.jit\n", "@triton.jit\ndef part(Q, K):\n    return tl.dot(Q, tl.trans(K))\n\n\n@triton.jit\n"),
            ("scale * tl.dot(Qi, tl.trans(Kj))", "scale * part(Qi, Kj)"),
            ("for start_k in range(0, end_k, Bc)", "for start_k in tl.range(0, end_k, Bc, num_stages=1)"),
        ],
        ["The loop waits for each of its loads", "return tl.dot(Q, tl.trans(K))", "wgmma m64n64k16 f16, 4 times an"],
    ),
    (
        "p6",
        [
            ("for start_k in range(0, end_k, Bc)", "for start_k in tl.range(0, end_k, Bc, num_stages=1)"),
            ("        mi = mi_new\n", "        for _ in tl.static_range(2):\n            mi = mi_new\n"),
        ],
        ["The loop waits for each of its loads", "multiplications per iteration"],
    ),
    (
        "p1",
        [
            ("mask = cols < n_cols", "mask = cols <= n_cols - 1"),
            ('tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf"))',
             'tl.load(\n        x_ptr + row * x_row_stride + cols, mask, -float("inf")\n    )'),
        ],
        ["x = tl.load(", "the mask may differ from one element to the next"],
    ),
    (
        "a1",
        [("tl.dot(a, tl.trans(b))", 'tl.dot(a.to(tl.float32), tl.trans(b).to(tl.float32), input_precision="tf32x3")')],
        ["tf32, "],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("puzzle_id", "changes", "said"), HELPED)
def test_nothing_is_hidden_by_the_way_it_is_written(
    puzzle_id: str, changes: list[tuple[str, str]], said: list[str], tmp_path: Path
) -> None:
    text = places.solution(puzzle_id).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "kernel.py"
    path.write_text(text)
    done = compiled(puzzle_id, "--file", str(path), ends=0)
    shown = " ".join(done.stdout.split())
    for words in said:
        assert words in shown, done.stdout
    assert "is rounded to TF32" not in shown and "needs neighbours in memory" not in shown


def test_masks_are_taken_out_where_they_are_asked_for_and_lines_keep_their_numbers() -> None:
    text = """import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    é = tl.arange(0, BLOCK_SIZE); x = tl.load(x_ptr + é, mask=é < n_cols, other=0.0)
    y = tl.load(
        x_ptr + é,
        mask=(
            é < n_cols
        ),
    )
    tl.store(y_ptr + é, x + y, mask=é < n_cols)
"""
    program, _ = program_of(from_cells([("code", text)], "k.py", numbered=False), catalog.load("p1").kernels)
    out = without_masks(program, {7, 8})
    assert out.count("\n") == program.source.count("\n")
    calls = [node for node in ast.walk(ast.parse(out)) if isinstance(node, ast.Call) and node.keywords]
    found = {call.lineno: {word.arg: ast.unparse(word.value) for word in call.keywords} for call in calls}
    assert found == {7: {"mask": "None", "other": "None"}, 8: {"mask": "None"}, 14: {"mask": "é < n_cols"}}
