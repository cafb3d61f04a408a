"""The parts of a training that run without one."""

from __future__ import annotations

import io
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from checker.course import ladder
from checker.course.status import Misuse
from checker.report.screen import console
from checker.train import session
from checker.train.result import OWN, SDPA, Curve, Speeds, Training, page
from checker.train.sizes import CPU, GPU, lessons, text_for
from tests.conftest import ROOT, importable, ran
from tests.train.conftest import solved

TRAINING = Training(
    replace(CPU, steps=2), "a CPU", (Curve(OWN, (4.0, 3.0), (1, 1)), Curve(SDPA, (4.0, 2.5), (1, 1))), ""
)


def script(code: str, course: Path, **variables: str) -> str:
    """What a process of its own prints: where Triton runs kernels is settled once in a process."""
    importable("torch")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    environment |= {"PYTHONPATH": str(course), **variables}
    return ran(sys.executable, "-c", code, cwd=course, ends=0, env=environment).stdout


def test_the_text_is_that_of_the_lessons_whatever_was_filled_in(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "puzzles", tmp_path / "puzzles")
    before = lessons(tmp_path)
    assert "FlashAttention" in before and "tl.load(q_ptr" not in before and len(before) > 100_000
    for stem in ladder.stems().values():
        path = tmp_path / "puzzles" / f"{stem}.py"
        path.write_text(path.read_text().replace("    # FILL IN", "    secret = 1\n    # FILL IN"))
    assert "secret" in path.read_text() and lessons(tmp_path) == before
    path.unlink()
    assert len(lessons(tmp_path)) < len(before)
    with pytest.raises(Misuse, match="no lessons here"):
        lessons(tmp_path / "elsewhere")


def test_a_gpu_learns_from_plays() -> None:
    text = text_for("cuda")
    assert text.startswith("First Citizen:") and 1_000_000 < len(text) < 1_200_000


def test_the_learning_rate_rises_and_falls_on_a_gpu_and_stays_on_a_cpu() -> None:
    rates = [GPU.rate_at(step) for step in range(GPU.steps)]
    assert max(rates) == pytest.approx(GPU.rate) and rates.index(max(rates)) in (GPU.warm_up - 1, GPU.warm_up)
    assert rates[0] == GPU.rate / GPU.warm_up and rates[-1] == pytest.approx(GPU.rate / 10, rel=0.01)
    assert {CPU.rate_at(step) for step in range(CPU.steps)} == {CPU.rate}


def test_numbers_and_picture() -> None:
    importable("matplotlib")
    from checker.train import chart

    assert TRAINING.steps == 2 and TRAINING.difference == 0.5
    [axes] = chart.figure(TRAINING).axes
    own, sdpa = axes.lines
    assert list(own.get_ydata()) == [4.0, 3.0] and list(sdpa.get_ydata()) == [4.0, 2.5]
    assert own.get_linestyle() == "-" and sdpa.get_linestyle() == "--" and axes.get_xlabel() == "step"
    assert chart.png(TRAINING).startswith(b"\x89PNG")
    with pytest.raises(ValueError):
        replace(TRAINING, speeds=(Speeds(64, {OWN: float("nan")}),)).to_json()


def test_without_matplotlib_page_and_numbers_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "checker.train.chart", None)  # which imports it
    monkeypatch.delattr("checker.train.chart", raising=False)
    written = session.save(TRAINING, "the page", tmp_path / "new" / "train")
    assert [path.name for path in written] == ["page.md", "train.json"] and all(path.exists() for path in written)


@pytest.mark.parametrize("there", ["longer", "as long", "shorter", "no training"])
def test_a_training_that_went_further_is_not_overwritten(there: str, tmp_path: Path) -> None:
    """As when it is stopped after a few steps."""
    steps = {"longer": 3, "as long": 2, "shorter": 1, "no training": 0}[there]
    curves = [replace(curve, losses=(*curve.losses, 1.0)[:steps]) for curve in TRAINING.curves]
    before = replace(TRAINING, curves=(curves[0], curves[1]), date="before").to_json() if steps else "[" * 100_000
    (tmp_path / "train.json").write_text(before)
    written = session.save(TRAINING, "the page", tmp_path)
    beside = "2-steps-" if there == "longer" else ""
    assert {path.name for path in written} >= {f"{beside}page.md", f"{beside}train.json"}
    assert ((tmp_path / "train.json").read_text() == before) == bool(beside)
    assert (tmp_path / f"{beside}train.json").read_text() == TRAINING.to_json()


def test_each_length_of_sequences_has_its_speeds() -> None:
    """A column on the page; what could not be timed is left empty there, and its reason is told on the screen."""
    short = Speeds(64, {OWN: 1234.5, SDPA: 2000.0})
    long = Speeds(4096, {OWN: 99.0}, left_out=("SDPA: OutOfMemoryError: CUDA out of memory.",))
    training = replace(TRAINING, speeds=(short, long))
    assert training.lines()[-6:] == [
        "tokens per second, in sequences of 64:",
        "       1,234 with your own kernels",
        "       2,000 with SDPA",
        "tokens per second, in sequences of 4096:",
        "          99 with your own kernels",
        "   not timed: SDPA: OutOfMemoryError: CUDA out of memory.",
    ]
    table = """
| tokens per second | sequences of 64 | sequences of 4,096 |
|---|---|---|
| your own kernels | 1,234 | 99 |
| SDPA | 2,000 |  |

Not timed in sequences of 4,096: SDPA: OutOfMemoryError: CUDA out of memory.
"""
    assert table in page(training, [], 1, 18)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("terminal", [True, False])
def test_progress(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as a notebook's kernel sets it, which is no terminal
    out = Terminal() if terminal else io.StringIO()
    screen = console(file=out, width=100)
    with session._progress(screen, replace(CPU, steps=100)) as tell:
        for step in range(1, 101):
            tell(step, {OWN: (4.0, 0.5), SDPA: (3.5, 0.5)})
    said = out.getvalue()
    assert "loss 4.000, with SDPA 3.500; 1,024 tokens/s" in said
    if terminal:
        assert "100/100" in said and "\x1b[" in said
    else:
        assert "\x1b" not in said and "step 50 of 100" in said and "; 50 s left" in said
        assert len(said.splitlines()) == 21


RUNS_NOTHING_ELSE = """
import sys
from pathlib import Path
from checker.submission.read import from_file
from checker.train import session
session.prepare("cpu")
from checker.train.definitions import definitions
names = definitions(from_file(Path(sys.argv[1] if len(sys.argv) > 1 else "c1.py")))
print(sorted(name for name in names if name.isupper() or name in ("check", "train", "numbers", "helper", "x")))
"""
EXPERIMENTS = """
from checker.notebook import check, train
import checker.notebook
RATE: float = 1e-3
SIZES = (1, 2)
MINUS = -1.5 * 2
NOISE = torch.rand(3)
numbers = [print("ran")]
x = open("ran", "w")
def helper(): ...
check("c1")
train(steps=3)
print("ran")
if True:
    print("ran")
"""


IN_CELLS = """
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in (Path("c1.py").read_text(), "from checker.notebook import check", "check('c1')"):
    shell.run_cell(cell, store_history=True).raise_error()
"""


def test_a_notebook_accepts_what_runs_the_learners_own_kernels(own_course: Path) -> None:
    importable("IPython")
    (own_course / "c1.py").write_text(solved())
    said = script(IN_CELLS, own_course)
    assert "accepted" in said and "100/100 points" in said


def test_only_definitions_run(own_course: Path) -> None:
    (own_course / "c1.py").write_text(solved() + EXPERIMENTS)
    said = script(RUNS_NOTHING_ELSE, own_course)
    assert said == "['BLOCK', 'GPT', 'MINUS', 'RATE', 'SIZES', 'helper']\n"
    assert not (own_course / "ran").exists()


def test_nothing_else_of_a_kernels_file_runs(own_course: Path) -> None:
    path = own_course / "puzzles" / f"{ladder.stems()['p6']}.py"
    path.write_text(path.read_text() + "\nprint('ran')\n")
    said = script(
        "from checker.train import kernels\n"
        "from checker.train.kernels import flash_attention_2_kernel as one, delta_kernel\n"
        "assert one is kernels.flash_attention_2_kernel and not hasattr(kernels, 'softmax_kernel')\n"
        "print(one.fn.__code__.co_filename)",
        own_course,
    )
    assert said.endswith("p6_flash_attention_2.py\n") and "ran" not in said
    assert not Path(said.strip()).parents[1].exists()  # nothing is left behind


def test_triton_that_was_imported_first_is_a_sentence(course: Path) -> None:
    if importable("torch").cuda.is_available():
        pytest.skip("there is a GPU here, and nothing to interpret")
    said = script(
        "import triton\ntry:\n    import checker.train.kernels\nexcept ImportError as error:\n    print(error)", course
    )
    assert said.startswith("Triton was imported before checker.train.kernels")


SPEEDS = """
import time
from dataclasses import replace
from pathlib import Path
from checker.submission.read import from_file
from checker.train import session
session.prepare("cpu")
import torch
from checker import catalog
from checker.course import places
from checker.course.puzzle import Tuning
from checker.train import kernels, run, speed
from checker.train.definitions import definitions
from checker.train.sizes import CPU
root = Path(ROOT)
submission = from_file(Path("puzzles/c1_tiny_gpt.py"))
names = definitions(submission)

tuned = speed.tuned_kernels(64, root, most=1)
assert [*tuned] == ["flash_attention_2_kernel", "delta_kernel", "dk_dv_kernel", "dq_kernel"]
assert not speed.tuned_kernels(64, root / "nowhere")
from checker.catalog import p6_flash_attention_2, p7_causal_backward
for name, kernel in speed.tuned_kernels(64, root).items():
    assert kernel.tunings == p7_causal_backward.TUNINGS[64].get(name, p6_flash_attention_2.TUNINGS), name

# Other blocks than the learner's, and tiles of another shape: 80 queries are five tiles of 16, or three of 32.
blocks = {"flash_attention_2_kernel": (16, 32), "delta_kernel": (32,), "dk_dv_kernel": (32, 16), "dq_kernel": (16, 32)}
launched = []
class Seen:
    def __init__(self, name, sides, tried):
        self.name, self.sides, self.tried = name, sides, tried
    def __getitem__(self, grid):
        launched.append((self.name, grid({"Br": self.sides[0], "Bc": self.sides[-1]})))
        return self.tried[grid]
for name, sides in blocks.items():
    puzzle = catalog.load(kernels.PUZZLES[name])
    asked = next(kernel for kernel in puzzle.kernels if kernel.name == name)
    tuning = Tuning(dict(zip(("Br", "Bc"), sides)), 4)
    steps = [path for path in places.steps(puzzle.id, root) if not places.launches_itself(path)]
    kernel = kernels.kernels_of(puzzle.id, from_file(steps[-1]))
    tuned[name] = speed.Tuned(kernel[name], asked, (tuning,))
    tuned[name].tried = Seen(name, sides, tuned[name].tried)
q, k, v, do = (torch.randn(2, 2, 80, 16) for _ in range(4))
def outcome(attention):
    inputs = [x.clone().requires_grad_() for x in (q, k, v)]
    o = attention(*inputs)
    return [o.detach(), *torch.autograd.grad(o, inputs, do)]
right = outcome(run.sdpa)
for attention in (speed.eager, names["own_attention"], speed.with_kernels(submission, tuned)):
    assert all(torch.allclose(a, b, atol=1e-4) for a, b in zip(outcome(attention), right, strict=True)), attention
print(launched)

speed.WARM_UP, speed.MEASURED = 1, 2
corpus = run.Corpus("to be or not to be " * 20, replace(CPU, sequences=1, context=16, width=16, heads=1))
def clock(work):
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
def fails(q, k, v):
    raise RuntimeError("no kernel image")
wanted = {**speed.attentions(names, submission, tuned), "that one": fails}
found = speed.speeds(names, wanted, corpus, clock)
assert all(value > 0 for value in found.tokens.values()) and found.context == 16
print([*found.tokens], *found.left_out)
print(speed.speeds(names, wanted, corpus, clock, lambda: True))
"""


def test_every_attention_is_timed_with_the_speed_tracks_kernels_in_the_learners_functions(course: Path) -> None:
    launches, timed, stopped = script(SPEEDS.replace("ROOT", repr(str(ROOT)), 1), course).splitlines()
    # The learner's launches cover 128 queries or keys, two tiles of 64.
    assert launches == str(
        [
            ("flash_attention_2_kernel", (8, 4)),
            ("delta_kernel", (4, 4)),
            ("dq_kernel", (8, 4)),
            ("dk_dv_kernel", (8, 4)),
        ]
    )
    names = [OWN, "tuned kernels", SDPA, "eager attention"]
    assert timed == f"{names} that one: RuntimeError: no kernel image"
    assert stopped == "Speeds(context=16, tokens={}, launched={}, left_out=())"


NOT_LOST = """
from dataclasses import replace
from pathlib import Path
from checker.submission.read import from_file
from checker.train import session
session.prepare("cpu")
from checker.train import run
from checker.train.definitions import definitions
from checker.train.sizes import CPU
submission = from_file(Path("puzzles/c1_tiny_gpt.py"))
names = definitions(submission)
corpus = run.Corpus("to be or not to be " * 20, replace(CPU, sequences=1, context=16, width=64, heads=1, steps=1))
training = run.train(names, corpus)
session.TIMED_CONTEXTS, session.TIMED_TOKENS = (16, 32), 32
timed = session._timed(training, names, submission, corpus, session.Stop())
assert timed.curves == training.curves and set(timed.speeds[0].tokens) <= set(training.speeds[0].tokens)
print(len(timed.speeds), len(timed.speeds[0].left_out), timed.speeds[0].left_out[0])
"""


@pytest.mark.parametrize("track", ["none", "broken"])
def test_what_cannot_be_timed_loses_nothing(track: str, own_course: Path) -> None:
    """Here there is no GPU, whose clock is asked; and there may be tuned versions without kernels."""
    if importable("torch").cuda.is_available():
        pytest.skip("there is a GPU here")
    if track == "broken":
        (own_course / "solutions" / "tuned").mkdir(parents=True)
        (own_course / "solutions" / "tuned" / "p6_9_broken.py").write_text("x = 1\n")
    lengths, attentions, said = script(NOT_LOST, own_course).split(" ", 2)
    wanted = ("1", "1", "NoKernel") if track == "broken" else ("2", "3", OWN)
    assert (lengths, attentions, said.partition(":")[0]) == wanted
