"""Benchmarks without a GPU: what is predicted, kept, drawn and refused. With one: tests/gpu/test_bench.py."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import speed
from checker import catalog
from checker.bench import table
from checker.bench.result import Result, Size, Timing, from_json
from checker.bench.roofline import NAMED, Gpu, asked, size_of
from checker.bench.run import BenchmarkFailed, Extent, measure, predict, save
from checker.catalog import s3_long_rows
from checker.catalog.attention import dropped as dropout
from checker.catalog.attention.dropout.cases import DropoutCaseMaker
from checker.catalog.attention.launch import Shape
from checker.course import ladder, places
from checker.course.case import Role
from checker.course.puzzle import Timed, Work
from checker.course.verdict import Traffic
from checker.sandbox.parent import torch_gpu_missing
from tests.conftest import ROOT, check_path, importable, ran, typed
from tests.kernels import named

STEMS = ladder.stems()
FREE = 40 << 30
FLASH = Timing("SDPA flash", 2.0, 1.9, 2.2, peer=True)
YOURS = Timing("yours", 4.0, 3.9, 4.1, tuning="Br=64, 4 warps, 3 stages")
LEFT_OUT = ("torch eager: not enough memory",)
SIZE = Size("N = 4096, d = 64", Work.ATTENTION, 2e12, 2e12, 1e9, 2e9, 1.0, (FLASH, YOURS), LEFT_OUT)
MEASURED = Result(
    "p6", "FlashAttention-2", (SIZE,), "A GPU", 2000.0, 2000.0, date="2026-01-02", versions={"torch": "2"}
)


@given(st.floats(1, 1e15), st.floats(1, 1e12))
def test_nothing_is_above_the_roof(flops: float, moved: float) -> None:
    for gpu in NAMED:
        seconds = gpu.seconds(flops, moved)
        assert flops / seconds <= gpu.tflops(flops / moved) * 1e12 * (1 + 1e-9)
        assert moved / seconds <= gpu.gb_per_s * 1e9 * (1 + 1e-9)
    bend = Gpu("round numbers", 1000, 500)
    assert [bend.tflops(intensity) for intensity in (250, 500, 1000)] == [250, 500, 500]


TIMED = [*STEMS, *(rung.id for rung in ladder.SPEED_TRACK)]


@pytest.mark.parametrize("puzzle_id", TIMED, ids=[ladder.entry(id).stem for id in TIMED])
def test_sizes_are_launches_of_the_puzzle(puzzle_id: str) -> None:
    """Every launch fits the kernel's parameters, covers all rows or tiles, and takes no memory until it is run."""
    puzzle = catalog.load(puzzle_id)
    if puzzle.timed is None:
        pytest.skip("it is not timed")
    sizes = puzzle.timed(FREE)
    assert any(timed.usual for timed in sizes)
    assert len({timed.name for timed in sizes}) == len(sizes)
    assert {name for timed in sizes for name in timed.tunings} == {kernel.name for kernel in puzzle.kernels}
    for timed in sizes:
        kernels = [kernel for kernel in puzzle.kernels if kernel.name in timed.tunings]
        assert list(timed.tunings) == [kernel.name for kernel in kernels]
        told = asked(timed)
        assert repr(json.loads(json.dumps(told))) == repr(told)
        for kernel, launches in zip(kernels, told["kernels"], strict=True):
            for tuning, launch in zip(timed.tunings[kernel.name], launches, strict=True):
                case = timed.launch(kernel.name, tuning.blocks)
                assert set(kernel.parameters) == {*case.tensors, *case.scalars, *case.constexprs}
                assert all(0 in t.values.strides or t.values.size == 1 for t in case.tensors.values())
                assert puzzle.budget(case).keys() <= case.tensors.keys()
                assert launch["scalars"] | launch["constexprs"] == {**case.scalars, **case.constexprs}
                assert launch["kernel"] == kernel.name and launch["grid"] == list(case.grid)
                assert str(tuning) in launch["tuning"]
                inputs = {name for name, tensor in launch["tensors"].items() if tensor["value"] is None}
                assert inputs == {n for n, t in case.tensors.items() if t.role is Role.INPUT} < launch["tensors"].keys()
                assert [t["shape"] for t in launch["tensors"].values()] == [
                    list(t.values.shape) for t in case.tensors.values()
                ]


def test_credited_work_is_that_of_the_definition() -> None:
    """Forward 4 H N² d, half of it if causal, backward 2.5 times that; bytes: everything once."""
    [forward] = [s for s in _sizes("p6") if s.name == "N = 4096, d = 64, fp16"]
    [causal] = [s for s in _sizes("p6") if s.name == "N = 4096, d = 64, fp16, causal"]
    [backward] = [s for s in _sizes("p7") if s.name == "N = 4096, d = 64, fp16, causal"]
    heads, n, d = 4 * 32, 4096, 64
    assert forward.flops == 4 * heads * n * n * d == 2 * causal.flops
    assert backward.flops == 2.5 * causal.flops
    assert forward.least == heads * n * (4 * d * 2 + 4)  # Q, K, V, O in fp16, LSE in fp32
    [one_query] = [s for s in _sizes("b3") if s.name.startswith("N = 131072, d = 64")]
    assert one_query.flops == 0 and one_query.operations == 4 * 32 * 131072 * 64  # K and V are the limit
    assert 1 < one_query.least / (2 * 32 * 131072 * 64 * 2) < one_query.counted / (2 * 32 * 131072 * 64 * 2) < 1.001
    [row] = [s for s in _sizes("p2") if s.name.startswith("N = 131072")]
    assert row.counted == 2 * row.least  # x three times and y once, instead of x once and y once


def _sizes(puzzle_id: str) -> list[Size]:
    puzzle = catalog.load(puzzle_id)
    return [size_of(puzzle, timed) for timed in Extent(every=True).sizes(puzzle, FREE)]


def test_a_kernel_that_moves_less_is_predicted_to_be_faster() -> None:
    """Puzzle p2 in two passes is right: a third of its loads is saved, a quarter of its traffic."""
    puzzle = catalog.load("p2")
    [timed] = Extent(every=True).sizes(puzzle, FREE)
    seen = [
        Traffic("safe_softmax_kernel", "x_ptr", 10, 20, 0, 30, 0),
        Traffic("safe_softmax_kernel", "y_ptr", 10, 0, 10, 0, 10),
    ]
    assert size_of(puzzle, timed, seen).counted == 0.75 * size_of(puzzle, timed).counted


def test_what_the_judge_counts_is_what_is_predicted() -> None:
    verdict = check_path(ROOT / "solutions" / f"{STEMS['p3']}.py")
    assert predict("p3", Extent(), verdict.runs[0].traffic).sizes == predict("p3", Extent()).sizes


@pytest.mark.skipif(not torch_gpu_missing(), reason="there is a GPU")
def test_without_a_gpu_it_predicts_and_says_so(tmp_path: Path) -> None:
    importable("matplotlib")
    done = typed("bench", "6", "--file", str(ROOT / "solutions" / f"{STEMS['p6']}.py"), cwd=tmp_path, ends=0)
    assert "This is a prediction" in done.stdout and "H100" in done.stdout
    kept = from_json((tmp_path / "bench" / f"{STEMS['p6']}.json").read_text())
    assert not kept.measured and kept.sizes == predict("p6", Extent()).sizes
    assert (tmp_path / "bench" / f"{STEMS['p6']}.png").read_bytes().startswith(b"\x89PNG")
    typed("bench", "6", "--redraw", f"bench/{STEMS['p6']}.json", "--into", "again", cwd=tmp_path, ends=0)
    assert from_json((tmp_path / "again" / f"{STEMS['p6']}.json").read_text()) == kept


def test_matplotlib_is_installed_when_there_is_a_picture_and_not_before(tmp_path: Path) -> None:
    """In an environment that has everything but that; what installs it is what `make` says. `trace` never needs it."""
    home = Path(importable("matplotlib").__file__).parents[1]
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in home.iterdir():
        if path.name not in ("matplotlib", "PIL"):
            (packages / path.name).symlink_to(path)
    solved = (ROOT / "solutions" / f"{STEMS['p1']}.py").read_text()
    (tmp_path / "stub.py").write_text(solved[: solved.index("):\n") + 3] + "    # FILL IN\n    pass\n")
    (tmp_path / "right.py").write_text(solved)

    def run(verb: str, file: str, install: str) -> subprocess.CompletedProcess[str]:
        variables = {"PYTHONPATH": f"{ROOT}:{packages}", "CHECKER_INSTALL_MATPLOTLIB": install}
        return ran(sys.executable, "-S", "-m", "checker", verb, "1", "--file", file, cwd=tmp_path, **variables)

    install = f"ln -s {home}/matplotlib {home}/PIL {packages}/"
    assert run("bench", "stub.py", install).returncode == 4
    done = run("trace", "right.py", install)
    assert done.returncode == 0 and f"{STEMS['p1']}.svg" in done.stdout and not (packages / "matplotlib").exists()
    done = run("bench", "right.py", "false")
    assert done.returncode == 0 and ".png" not in done.stdout, done.stderr
    done = run("bench", "right.py", install)
    assert done.returncode == 0 and f"{STEMS['p1']}.png" in done.stdout, done.stdout + done.stderr


NOT_TIMED = {
    "1 --file p1_no_division.py": (1, "Nothing was timed"),
    "1 --file p1_reads_twice.py": (1, "Nothing was timed"),
    "9": (2, "There is no puzzle"),
    "1 --file nowhere.py": (2, "nowhere.py"),
    "1 --redraw nowhere.json": (2, "cannot be shown"),
}


@pytest.mark.parametrize("arguments", NOT_TIMED)
def test_what_is_not_timed_says_why(arguments: str, tmp_path: Path) -> None:
    for name in ("p1_no_division", "p1_reads_twice"):
        named(name).write(tmp_path)
    done = typed("bench", *arguments.split(), cwd=tmp_path)
    status, words = NOT_TIMED[arguments]
    assert done.returncode == status and words in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bench").exists()


@pytest.mark.skipif(not torch_gpu_missing(), reason="there is a GPU")
@pytest.mark.parametrize(("seconds", "words"), [(600.0, "ended early"), (0.0, "did not finish in time")])
def test_a_child_that_gives_up_is_a_sentence(seconds: float, words: str) -> None:
    with pytest.raises(BenchmarkFailed, match=words):
        measure("p1", {}, Extent(most_seconds=seconds), lambda _: None)


DAMAGED_TEXT = st.text(min_size=1).filter(lambda text: text not in {work.value for work in Work})


@given(st.sampled_from(["sizes", "timings", "work", "schema"]), st.none() | st.integers(3) | DAMAGED_TEXT)
def test_results_survive_json_and_damaged_ones_are_refused(field: str, value: object) -> None:
    assert from_json(MEASURED.to_json()) == MEASURED
    fields = json.loads(MEASURED.to_json())
    inside = fields if field in fields else fields["sizes"][0]
    inside[field] = value
    with pytest.raises(ValueError):
        from_json(json.dumps(fields))
    inside.pop(field)
    with pytest.raises(ValueError):
        from_json(json.dumps(fields))


def test_results_of_when_puzzles_had_numbers_can_be_read() -> None:
    recorded = json.loads((ROOT / "benchmarks" / "results" / "speed.json").read_text())["results"]
    timed = [puzzle_id for puzzle_id in STEMS if catalog.load(puzzle_id).timed]
    assert [from_json(json.dumps(one)).puzzle for one in recorded] == timed
    fields = json.loads(MEASURED.to_json())
    assert (fields["schema"], fields["puzzle"]) == (2, "p6")
    assert from_json(json.dumps({**fields, "schema": 1, "puzzle": 6})) == MEASURED
    for unknown in ("x9", 99, None):
        with pytest.raises(ValueError, match="There is no puzzle"):
            from_json(json.dumps({**fields, "puzzle": unknown}))


@pytest.mark.parametrize("page", ["speed", "speed_h100"])
def test_the_kernels_that_a_page_speaks_of_are_those_of_today(page: str) -> None:
    """Else the figures in lessons are of kernels that nobody can see any more: time them again."""
    recorded = json.loads((ROOT / "benchmarks" / "results" / f"{page}.json").read_text())
    kernels = recorded["kernels"] | recorded["since"]["kernels"]  # those since of which it says how their speed changed
    assert recorded["since"]["speed"].keys() == recorded["since"]["kernels"].keys()
    if "results" in recorded:
        assert kernels == speed.marks([from_json(json.dumps(one)) for one in recorded["results"]])
    assert kernels == {path: speed.mark(ROOT / path) for path in kernels}


@pytest.mark.parametrize(("change", "same"), [("# why\n", True), ("x = 1\n", False)])
def test_what_is_said_about_code_is_no_code(change: str, same: bool, tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(f'"""What it does."""\n{change}\n\ndef kernel(x):\n    """How."""\n    return x\n')
    before = speed.mark(path)
    path.write_text('"""What else it does."""\n\n\ndef kernel(x):\n    return x\n')
    assert (speed.mark(path) == before) is same


def test_tables_tell_ratios_limits_and_what_was_left_out() -> None:
    text = table.markdown([MEASURED])
    assert "| SDPA flash | 2.000 | 0.150 | 1000 | 50.0% | 1.00 |" in text
    assert "| yours | 4.000 | 0.100 | 500 | 25.0% | 0.50 |" in text
    assert "* yours: Br=64, 4 warps, 3 stages" in text and "not timed: torch eager: not enough memory" in text


def test_pictures_are_drawn_of_what_was_measured() -> None:
    importable("matplotlib")
    from checker.bench.chart import figure, png

    roof, bars = figure(MEASURED).axes
    assert [label.get_text() for label in bars.get_yticklabels()] == ["yours", "SDPA flash"]
    assert [round(bar.get_width()) for bar in bars.patches] == [500, 1000]
    assert any(line.get_label() == "A GPU, measured" for line in roof.lines)
    slower = replace(MEASURED, gpu="", sizes=predict("p6", Extent()).sizes)
    roof, bars, *_ = figure(slower).axes
    assert "predicted, not measured" in roof.get_title(loc="left")
    legend = [label.get_text() for label in roof.get_legend().get_texts()]
    assert legend == [label.get_text() for label in bars.get_yticklabels()][::-1]
    lines = [line.get_ydata() for line in roof.lines if line.get_label() in legend]
    assert all(one.xy[1] < min(line) for one in roof.texts for line in lines)  # no name is on one
    assert png(MEASURED).startswith(b"\x89PNG")


STEPS = sorted((ROOT / "solutions" / "tuned").glob("*.py"))
TUNED = [path for path in STEPS if not places.launches_itself(path)]


@pytest.mark.parametrize("path", TUNED, ids=lambda path: path.stem)
def test_the_speed_track_passes_the_checker(path: Path) -> None:
    verdict = check_path(path)
    assert verdict.accepted, verdict.findings


@pytest.mark.parametrize("step", [path for path in STEPS if path not in TUNED], ids=lambda path: path.stem)
def test_what_launches_itself_compiles_for_its_gpu(step: Path) -> None:
    """Here, without one: both head sizes, full and causal if there is a choice.

    It multiplies by wgmma, copies by TMA, moves registers.
    """
    importable("triton.experimental.gluon")
    done = ran(sys.executable, "-c", COMPILED, step, ends=0)
    forms = 4 if "CAUSAL" in step.read_text(encoding="utf-8") else 2
    assert done.stdout.splitlines() == ["True"] * forms


COMPILED = """
import inspect, runpy, sys
from types import SimpleNamespace
import torch
import triton
from triton.experimental.gluon._runtime import GluonJITFunction
from triton.backends.compiler import GPUTarget

class Driver:
    get_current_target = staticmethod(lambda: GPUTarget("cuda", 90, 32))
    get_current_device = staticmethod(lambda: 0)
    get_current_stream = staticmethod(lambda device: 0)
    get_active_torch_device = staticmethod(lambda: "cuda")

triton.runtime.driver.set_active(Driver())
step = runpy.run_path(sys.argv[1])
wanted = list(inspect.signature(step["launched"]).parameters)
[kernel] = [one for name, one in step.items() if isinstance(one, GluonJITFunction) and name.endswith("_kernel")]
for d in (64, 128):
    for causal in (False, True) if "CAUSAL" in wanted else (True,):
        given = {
            name: SimpleNamespace(dtype=getattr(torch, f"float{bits}"), data_ptr=lambda: 0, shape=(4, 384, d)[:axes])
            for bits, axes, names in ((16, 3, "q k v o do dk dv"), (32, 3, "sum"), (32, 2, "lse delta"))
            for name in map("{}_ptr".format, names.split())
        }
        given |= {"scale": 0.125, "CAUSAL": causal}
        grid, arguments, *options = step["launched"](*map(given.get, wanted))
        made = kernel.warmup(*arguments, grid=grid, **(options[0] if options else {"num_warps": 4}))
        words = ("wgmma.mma_async", "cp.async.bulk.tensor", "setmaxnreg")
        print(all(word in made.asm["ptx"] for word in words))
"""


def test_what_launches_itself_gets_the_arguments_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its values are compared like all others; what it refuses is a sentence, and so is a language that is not here."""
    torch = importable("torch")
    from checker.bench.inside import child

    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    told = {"x_ptr": None, "y_ptr": float("nan")}
    launch = {
        "tensors": {name: {"value": value, "scratch": False} for name, value in told.items()},
        "scalars": {"n": 2},
        "constexprs": {"BLOCK": 4, "TWICE": True},
    }
    size: Any = {"kernels": [[{**launch, "tensors": {}, "scalars": {"m": 3}}], [launch]]}  # of two, arguments of each
    right = {"y_ptr": torch.tensor([2.0, 4.0])}

    def run_of(text: str) -> Callable[[], Any]:
        path = tmp_path / "step.py"
        path.write_text(text)
        return child._by_itself(str(path), size, {"x_ptr": torch.tensor([1.0, 2.0]), "y_ptr": torch.zeros(2)}, right)

    run_of("def launch(y_ptr, x_ptr, m, TWICE):\n    y_ptr.copy_(x_ptr * ((m - 1) if TWICE else 1))\n")()
    for text, words in {
        "def launch(y_ptr, x_ptr):\n    y_ptr.copy_(x_ptr)\n": "y is wrong at this size",
        "def launch(y_ptr, n):\n    y_ptr[:1] = n\n": "y has elements that are not numbers",
        "def launch(n):\n    raise ValueError('not for this GPU')\n": "not for this GPU",
        "import nowhere_to_be_found\n": "No module named",
    }.items():
        with pytest.raises(child._Wrong, match=words):
            run_of(text)


def test_peers_compute_what_the_judge_expects() -> None:
    """On the CPU, in fp32: what kernels are compared with before they are timed is right."""
    torch = importable("torch")
    from checker.bench.inside import peers
    from checker.catalog.attention import reference as attention

    random = np.random.default_rng(0)
    q, k, v, do = (random.normal(size=(2, 7, 4)).astype(np.float32) for _ in range(4))
    assert set(peers.WORKS) == {work.value for work in Work}
    for work in (Work.ATTENTION, Work.CAUSAL_ATTENTION, Work.CAUSAL_BACKWARD, Work.DECODING):
        t = {f"{name}_ptr": torch.from_numpy(x) for name, x in (("q", q), ("k", k), ("v", v), ("do", do))}
        scores = 0.5 * q @ k.swapaxes(1, 2)
        if work not in (Work.ATTENTION, Work.DECODING):
            scores = np.where(np.tri(7, dtype=bool), scores, -np.inf)
        right = attention.forward(scores.astype(np.float64), v.astype(np.float64))
        made = peers.WORKS[work.value].reference(t, {})
        if work is Work.CAUSAL_BACKWARD:
            dp = do @ v.swapaxes(1, 2)
            ds = right.p * (dp - (right.o * do).sum(-1, keepdims=True))
            assert np.allclose(made["dq_ptr"], 0.5 * ds @ k, atol=1e-5)
            assert np.allclose(made["dk_ptr"], 0.5 * ds.swapaxes(1, 2) @ q, atol=1e-5)
            assert np.allclose(made["dv_ptr"], right.p.swapaxes(1, 2) @ do, atol=1e-5)
        else:
            assert np.allclose(made["o_ptr"], right.o, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1, 7), (1, 7, 7), (2, 7, 7), (2, 1, 1)])
def test_peers_add_a_bias_of_any_shape(shape: tuple[int, ...]) -> None:
    torch = importable("torch")
    from checker.bench.inside import peers
    from checker.catalog.attention import reference as attention

    random = np.random.default_rng(0)
    q, k, v, do = (random.normal(size=(2, 7, 4)).astype(np.float32) for _ in range(4))
    bias = random.normal(size=shape).astype(np.float32)
    t = {f"{name}_ptr": torch.from_numpy(x) for name, x in (("q", q), ("k", k), ("v", v), ("bias", bias))}
    scores = 0.5 * q @ k.swapaxes(1, 2) + bias
    for work in (Work.BIASED_ATTENTION, Work.CAUSAL_BIASED_ATTENTION):
        causal = work is Work.CAUSAL_BIASED_ATTENTION
        seen = np.where(np.tri(7, dtype=bool), scores, -np.inf) if causal else scores
        right = attention.forward(seen.astype(np.float64), v.astype(np.float64)).o
        of = peers.WORKS[work.value]
        assert np.allclose(of.reference(t, {})["o_ptr"], right, atol=1e-5)
        assert np.allclose(of.run(of.functions["torch eager"], t)(), right, atol=1e-5)
    if shape != (1, 7, 7):
        return
    lse, delta = (random.normal(size=(2, 7)).astype(np.float32) for _ in range(2))
    rows = (("do", do), ("lse", lse), ("delta", delta), ("bias", bias[0]))
    t |= {f"{name}_ptr": torch.from_numpy(x) for name, x in rows}
    ds = np.exp(scores - lse[..., None]) * (do @ v.swapaxes(1, 2) - delta[..., None])
    made = peers.WORKS[Work.BIAS_GRADIENT.value].reference(t, {})["dbias_ptr"]
    assert np.allclose(made, ds.sum(axis=0), atol=1e-4)


def test_the_reference_of_dropout_has_the_numbers_that_the_judge_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Z is drawn on a GPU, by `tl.rand`; here it is the catalog's."""
    torch = importable("torch")
    from checker.bench.inside import peers
    from checker.catalog.b2_attention_dropout import DK_DV, FORWARD, PUZZLE

    drawn = DropoutCaseMaker(PUZZLE.draw(), FORWARD).normal("peers", (), Shape(7, 7, 16, 16, 16, 3))
    gradients = DropoutCaseMaker(PUZZLE.draw(), DK_DV).normal("peers", (), Shape(7, 7, 16, 16, 16, 3))
    for work, case in ((Work.DROPOUT, drawn), (Work.DROPOUT_BACKWARD, gradients)):
        factors = torch.from_numpy(dropout.factors(case))
        monkeypatch.setattr(peers, "_factors", lambda t, scalars, head, factors=factors: factors[head].float())
        t = {name: torch.from_numpy(tensor.values.copy()) for name, tensor in case.tensors.items()}
        t["q_ptr"] *= case.scalars["scale"] * 4  # peers have the usual scale
        made = peers.WORKS[work.value].reference(t, case.scalars)
        assert made
        for name, values in made.items():
            assert np.allclose(values, PUZZLE.expected(case)[name].values[:2], atol=1e-4), name


def test_the_peer_of_a_product_multiplies_by_the_transpose() -> None:
    """And it is what ratios are told against; a kernel is credited with 2 m n k."""
    torch = importable("torch")
    from checker.bench.inside import peers

    random = np.random.default_rng(0)
    a, b = (random.normal(size=(rows, 4)).astype(np.float32) for rows in (70, 9))
    work = peers.WORKS[Work.PRODUCT.value]
    tensors = {"a_ptr": torch.from_numpy(a), "b_ptr": torch.from_numpy(b)}
    assert np.allclose(work.reference(tensors, {})["c_ptr"], a[:64] @ b.T, atol=1e-5)
    assert np.allclose(work.run(work.functions["torch.matmul"], tensors)(), a @ b.T, atol=1e-5)
    [size] = [one for one in _sizes("a1") if one.name.startswith("m = 4096, n = 4096, k = 4096")]
    assert size.flops == 2 * 4096**3 and size.least == 3 * 4096**2 * 2
    peer, yours = Timing("torch.matmul", 2.0, 2.0, 2.0, peer=True), Timing("solution", 2.5, 2.5, 2.5, tuning="Bm=128")
    result = replace(MEASURED, sizes=(replace(size, timings=(peer, yours)),))
    assert "× torch.matmul | solution |" in table.summary([result]) and "| 0.80 |" in table.summary([result])


def test_scratch_belongs_to_one_launch_and_registers_are_told_to_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two grids that share a ticket counter would wait for ever: neither could tell its own launches by it."""
    torch = importable("torch")
    from checker.bench.inside import child

    monkeypatch.setattr(
        child, "_empty", lambda tensor, shape: torch.empty(shape, dtype=getattr(torch, tensor["dtype"]))
    )
    puzzle = catalog.load("s3")
    assert puzzle.timed is not None
    told = asked(puzzle.timed(1 << 24)[0])
    shared = child._tensors(told)
    assert shared.keys() == {"x_ptr", "y_ptr"}
    seen: list[dict[str, Any]] = []
    form = {"long_rows_kernel": SimpleNamespace(run=lambda **arguments: seen.append(arguments))}
    for launch in told["kernels"][0]:
        run = child._launcher(form, launch, shared)
        run()
        run()
    assert [one.get("maxnreg") for one in seen[::2]] == [tuning.maxnreg for tuning in s3_long_rows.TUNINGS]
    assert any(tuning.maxnreg for tuning in s3_long_rows.TUNINGS) and not all("maxnreg" in one for one in seen)
    for first, second in zip(seen[::2], seen[1::2], strict=True):
        assert first["x_ptr"] is second["x_ptr"] is shared["x_ptr"]
        assert first["ticket_ptr"] is second["ticket_ptr"] and not first["words_ptr"].any()
        assert len(first["words_ptr"]) == first["grid"][0] and first["words_ptr"].dtype is torch.int64
    assert len({id(one["ticket_ptr"]) for one in seen}) == len(s3_long_rows.TUNINGS)


def test_long_rows_are_timed_beside_puzzle_3_at_the_same_sizes() -> None:
    from benchmarks.speed import beside, forms

    assert list(forms("s3")) == ["tuned 1, handshake", "tuned 2, cheaper looks"] and beside("p3") == {}
    [(other, sizes)] = beside("s3").items()
    puzzle = catalog.load("s3")
    assert other == "p3" and puzzle.timed is not None
    own = puzzle.timed(FREE)
    assert [one.name for one in sizes(FREE)] == [one.name for one in own]
    assert {dtype: [one.name.split(",")[0] for one in own if dtype in one.name] for dtype in ("fp32", "bf16")} == {
        dtype: [f"N = {n}" for n in (32768, 131072, 524288, 1048576)] for dtype in ("fp32", "bf16")
    }
    for one, beside_it in zip(own, sizes(FREE), strict=True):
        ours, theirs = (timed.launch(*_first(timed)) for timed in (one, beside_it))
        assert ours.tensors["x_ptr"].values.shape == theirs.tensors["x_ptr"].values.shape


def _first(timed: Timed) -> tuple[str, Mapping[str, int]]:
    [(kernel, tunings)] = timed.tunings.items()
    return kernel, tunings[0].blocks


def test_a_result_of_the_speed_tracks_own_can_be_kept(tmp_path: Path) -> None:
    result = replace(MEASURED, puzzle="s3")
    assert from_json(result.to_json()) == result
    assert save(result, tmp_path)[0].name == "s3_long_rows.json"


def test_every_form_of_a_puzzle_is_found() -> None:
    from benchmarks.speed import forms

    assert list(forms("p1")) == ["solution"]
    for puzzle_id in ("p6", "p7"):
        steps = places.steps(puzzle_id)
        assert [int(path.stem.split("_")[1]) for path in steps] == list(range(1, len(steps) + 1))
        assert list(forms(puzzle_id))[:2] == ["solution", "tuned 1, exp2"]
        assert len(forms(puzzle_id)) == 1 + len(steps)
