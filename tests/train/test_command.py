"""`train` as it is typed: what it says, what it keeps, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from checker.course.ladder import stems
from tests.conftest import ROOT, importable, installed, ran, typed
from tests.train.conftest import CAPSTONE, solved

installed("torch")
P6, P7 = (f"puzzles/{stems()[puzzle_id]}.py" for puzzle_id in ("p6", "p7"))
C1 = f"puzzles/{CAPSTONE}.py"


def train(
    course: Path, *arguments: str, cwd: Path, ends: int | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    return typed("train", *arguments, cwd=cwd, root=course, ends=ends, **variables)


def strict(path: Path) -> dict[str, Any]:
    """JSON without NaN and Infinity, which Python would read as well."""

    def refuse(word: str) -> NoReturn:
        raise ValueError(word)

    found: dict[str, Any] = json.loads(path.read_text(), parse_constant=refuse)
    return found


def test_both_curves_are_the_same(course: Path, tmp_path: Path) -> None:
    importable("matplotlib")
    done = train(course, "--steps", "4", "--into", "kept", cwd=tmp_path, ends=0)
    found = strict(tmp_path / "kept" / "train.json")
    own, sdpa = (curve["losses"] for curve in found["curves"])
    assert len(own) == len(sdpa) == 4 and own[-1] < own[0]
    assert max(abs(a - b) for a, b in zip(own, sdpa, strict=True)) < 1e-5
    assert found["curves"][0]["seconds"] != found["curves"][1]["seconds"]  # these were two computations
    assert found["size"]["device"] == "cpu" and set(found["versions"]) == {"torch", "triton"}
    [speeds] = found["speeds"]
    assert all(speed > 0 for speed in speeds["tokens"].values()) and len(speeds["tokens"]) == 2
    assert speeds["context"] == found["size"]["context"]
    assert len(found["before"]) == len(found["after"]) == 200 and found["before"] != found["after"]
    assert (tmp_path / "kept" / "train.png").read_bytes().startswith(b"\x89PNG")
    for said in ("step 4 of 4: loss", "largest difference of a step", "tokens per second, in sequences of 64:"):
        assert said in done.stdout
    assert "Written: kept/page.md, kept/train.json, kept/train.png" in done.stdout
    page = (tmp_path / "kept" / "page.md").read_text()
    assert f"{own[0]:.3f} to {own[-1]:.3f}" in page and "| `flash_attention_2_kernel` | k |" in page
    assert "![The loss over the steps" in page and "Where the field is going" in page


def test_an_interrupt_keeps_two_curves_of_equal_length(course: Path, tmp_path: Path) -> None:
    importable("matplotlib")
    process = subprocess.Popen(
        [sys.executable, "-m", "checker", "train", "--steps", "100000", "--file", str(course / C1)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(course)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("step 1 of 100000")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=600)
    assert process.returncode == 130, said
    own, sdpa = (curve["losses"] for curve in strict(tmp_path / "train" / "train.json")["curves"])
    assert "Ending after this step." in said
    assert len(own) == len(sdpa) and f"Interrupted after {len(own)} of 100000 steps: what there was is kept" in said
    assert (tmp_path / "train" / "train.png").read_bytes().startswith(b"\x89PNG")
    assert "Traceback" not in said


def test_a_loss_that_is_not_a_number_stops_it(own_course: Path) -> None:
    """In its third step: 200 characters are written before the first one."""
    broken = """


def own_attention(q, k, v, calls=[]):
    calls.append(1)
    o = Attention.apply(q, k, v, q.shape[-1] ** -0.5)
    return o * float("nan") if len(calls) > 202 else o
"""
    (own_course / C1).write_text(solved() + broken)
    done = train(own_course, "--steps", "5", cwd=own_course, ends=1)
    assert "The loss with your own kernels is not a number at step 3: training stopped." in done.stdout
    assert [len(curve["losses"]) for curve in strict(own_course / "train" / "train.json")["curves"]] == [2, 2]


BROKEN = {
    # name: (file, old text, new text, what is said; {at} is the place of the old text)
    "raises when defined": (C1, "BLOCK = 64", "BLOCK = 64; f = lambda: 1\n\n\ndef g(x=missing): ...\n\n", "NameError"),
    "no model": (C1, "class GPT", "class GTP", "defines no GPT"),
    "raises in the model": (C1, "x = x + self.out(o)", "x = x + missing", "{at}: NameError: name 'missing'"),
    "a kernel raises": (
        P6,
        "    queries = ",
        "    tl.static_assert(D == 3)\n    queries = ",
        "your kernels of puzzle p6",
    ),
    "a kernel is not Python": (P7, "def delta_kernel(", "def delta_kernel((", "your kernels of puzzle p7"),
    "a kernel uses what is forbidden": (P6, "    queries = ", "    import os\n    queries = ", "kernels of puzzle p6"),
    "a kernel has another name": (P7, "def dq_kernel", "def my_kernel", "your kernels of puzzle p7"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_run_is_a_sentence(name: str, own_course: Path) -> None:
    file, old, new, said = BROKEN[name]
    text = (own_course / file).read_text()
    assert old in text
    (own_course / file).write_text(text.replace(old, new, 1))
    done = train(own_course, "--steps", "1", cwd=own_course, ends=2)
    at = f"{Path(file).name}, line {text[: text.index(old)].count(chr(10)) + 1}"
    assert said.format(at=at) in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().split("\n")) == 1
    assert not (own_course / "train").exists()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    ctx.scale = scale", "    ctx.scale = = scale"),
        ("    return dq, dk, dv, None", "    return dq, dv, dk, None"),
    ],
    ids=["no Python", "wrong"],
)
def test_what_is_not_accepted_is_not_trained(old: str, new: str, own_course: Path) -> None:
    (own_course / C1).write_text((own_course / C1).read_text().replace(old, new, 1))
    done = train(own_course, "--steps", "1", cwd=own_course)
    assert (done.returncode, "Nothing was trained" in done.stdout) == (1, True), done
    assert not (own_course / "train").exists()


def test_kernels_that_are_not_written_yet_are_a_sentence(own_course: Path) -> None:
    (own_course / P7).write_text((ROOT / P7).read_text())  # the stub, unless an author has filled it in
    if "FILL IN" not in (own_course / P7).read_text():
        pytest.skip("p7 has been filled in, and its FILL IN marks are gone")
    done = train(own_course, cwd=own_course)
    sentence = "This runs your kernels of puzzle p7, which are not accepted. First: ./check p7\n"
    assert (done.returncode, done.stderr) == (2, sentence)


MISUSED = {
    "no file": (("--file", "nowhere.py"), "There is no file nowhere.py."),
    "no step": (("--steps", "0"), "--steps"),
    "no such device": (("--device", "abacus"), "abacus"),
    "a folder that cannot be": (("--into", "taken/train"), "could not be written to taken/train: "),
}


@pytest.mark.parametrize(("arguments", "said"), MISUSED.values(), ids=MISUSED)
def test_misuse_is_a_sentence(arguments: tuple[str, ...], said: str, course: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = train(course, *arguments, cwd=tmp_path, ends=2)
    assert said in done.stderr and "Traceback" not in done.stderr


def test_without_a_gpu_it_says_so(course: Path, tmp_path: Path) -> None:
    if importable("torch").cuda.is_available():
        pytest.skip("there is a GPU here")
    done = train(course, "--device", "cuda", cwd=tmp_path, ends=2)
    assert "GPU" in done.stderr and "Without --device cuda" in done.stderr


@pytest.mark.parametrize("missing", ["torch", "matplotlib"])  # `test_parts` has the other one
def test_it_says_what_is_not_installed(missing: str, course: Path, tmp_path: Path) -> None:
    home = Path(importable(missing).__file__).parents[1]
    packages = tmp_path / "packages"
    packages.mkdir()
    for path in home.iterdir():
        if path.name != missing:
            (packages / path.name).symlink_to(path)
    line = [sys.executable, "-S", "-m", "checker", "train", "--steps", "1", "--file", course / C1]
    done = ran(*line, cwd=tmp_path, PYTHONPATH=f"{course}:{packages}")
    if missing == "torch":
        assert done.returncode == 2 and "`make torch` installs it" in done.stderr
    else:
        assert done.returncode == 0, done.stderr
        assert "Nothing was drawn: matplotlib is missing." in done.stdout
        assert {path.name for path in (tmp_path / "train").iterdir()} == {"page.md", "train.json"}
