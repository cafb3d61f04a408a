"""Whole files of other hands: right ones are accepted as they are, wrong ones never, and most of these are named."""

from __future__ import annotations

import json
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from checker.course.edits import Edited, read
from checker.sandbox.processes import command_of
from flash_puzzles import verify_attention, verify_softmax
from tests.conftest import ran, typed

HERE = Path(__file__).parent
RIGHT = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "right").glob("*.py"))}
# A finding that says where, and not what.
PLACES = {"wrong-values", "not-a-number", "not-written", "outside-a-tensor", "kernel-error", "returns-something-else"}


@cache
def wrong() -> dict[str, tuple[Edited, str]]:
    """Each wrong file by name: what it must get, and its text."""
    found: dict[str, tuple[Edited, str]] = {}
    for path in sorted((HERE / "wrong").glob("*.diff")):
        found |= {name: (one, one.made_of(RIGHT[path.stem])) for name, one in read(path).items()}
    return found


def judged(folder: Path, text: str, *options: str) -> dict[str, Any]:
    """The verdict on a file, as JSON, and the exit status."""
    (folder / "mine.py").write_text(text, encoding="utf-8")
    done = typed("verify", "mine.py", *options, "--json", "-", cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found | {"status": done.returncode, "report": done.stderr}


def lacking(name: str) -> bool:
    """Whether a file needs block pointers, which are gone since Triton 3.8, and this one has none."""
    return name.startswith("cs336_block_pointers") and Version(version("triton")) >= Version("3.8")


@pytest.mark.parametrize("name", RIGHT)
def test_right_ones_are_accepted_and_compile(name: str, tmp_path: Path) -> None:
    found = judged(tmp_path, RIGHT[name])
    if lacking(name):
        assert [one["id"] for one in found["findings"]] == ["not-in-this-triton"] and found["status"] == 4
        return
    assert (found["verdict"], found["status"], found["findings"]) == ("accepted", 0, []), found["report"]
    assert not found["score"]["possible"] and "points" not in found["report"]


@pytest.mark.parametrize("name", wrong())
def test_wrong_ones_are_refused_by_name_or_place(name: str, tmp_path: Path) -> None:
    entry, text = wrong()[name]
    found = judged(tmp_path, text, "--no-compile")
    if lacking(name):
        assert found["status"] == 4
        return
    assert found["status"] == 1 and found["findings"], found["report"]
    first, ids = found["findings"][0], [one["id"] for one in found["findings"]]
    if entry.findings:
        assert entry.findings[0] in ids, found["report"]
    else:
        assert first["where"]["line"] or first["where"]["tensor"] or ids[0] == "returns-something-else", found["report"]


def test_most_wrong_ones_have_a_name() -> None:
    named = [entry for entry, _ in wrong().values() if entry.findings and entry.findings[0] not in PLACES]
    assert len(wrong()) >= 50 and len(named) >= 0.7 * len(wrong())


TWICE = """
import torch, triton, triton.language as tl

@triton.jit
def twice(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, at < n, 0.0), at < n)

def softmax(x):
    y = torch.empty_like(x)
    for row in range(x.shape[0]):
        twice[(1,)](x[row], y[row], x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
"""


@pytest.mark.parametrize(
    ("text", "options", "sentence"),
    [
        ("def f(a): pass", (), "No function in mine.py is called like attention or softmax"),
        ("def my_softmax(x): pass\ndef softmax_2(x): pass", (), "several functions that may be meant"),
        ("def attention(q, k, v, window): pass", (), "attention has a parameter window"),
        ("def attention(q, k, v): pass", ("--as", "q, k, w"), "--as 'q, k, w' cannot be read"),
        ("def attention(q, k, v): pass", ("--as", "q, k"), "gets neither q, k and v nor x"),
        ("def attention(q, k, v): pass", ("--function", "other"), "Nothing in mine.py is called other."),
        ("attention = torch.compile(x)", (), "is not to be seen: say it with --as"),
        ("def attention(q, k, v:", (), "mine.py, line 1: Python cannot read this"),
        ("# own: --types fp64\ndef attention(q, k, v): pass", (), "fp64 is none of fp32, fp16, bf16"),
        ("# own: --as 'q\ndef attention(q, k, v): pass", (), "options in the first line cannot be read"),
    ],
)
def test_what_is_open_is_asked_for(text: str, options: tuple[str, ...], sentence: str, tmp_path: Path) -> None:
    found = judged(tmp_path, text, *options)
    assert found["status"] == 2 and sentence in " ".join(found["report"].split()), found["report"]


def test_without_a_file_there_is_a_sentence(tmp_path: Path) -> None:
    for arguments, sentence in (((), "Say which file"), (("nowhere.py",), "There is no file nowhere.py")):
        done = typed("own", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and sentence in done.stdout


@pytest.mark.parametrize(
    ("added", "finding"),
    [
        ("import flash_attn_that_nobody_has", "module-missing"),
        ("torch.cuda.init()", "needs-a-card"),
        ("open('left.txt', 'w')", "kernel-error"),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", "kernel-error"),
        ("import subprocess; subprocess.run(['touch', 'left.txt'])", "kernel-error"),
        ("raise SystemExit", "kernel-error"),
        ("while True: pass", "time-limit"),
    ],
)
def test_what_stops_a_file_is_said_and_nothing_is_left(added: str, finding: str, tmp_path: Path) -> None:
    found = judged(tmp_path, f"{TWICE}\n{added}\n", "--no-compile")
    assert [one["id"] for one in found["findings"]] == [finding], found["report"]
    judged_anyway = finding == "time-limit"  # it may be the function that does not end
    assert (found["verdict"], found["status"]) == ((finding, 1) if judged_anyway else ("not-judged", 4)), found[
        "report"
    ]
    assert judged_anyway or not found["properties"]
    assert not [*tmp_path.glob("**/left.txt")]


def test_the_first_line_says_what_was_not_asked_and_the_command_line_has_the_last_word(tmp_path: Path) -> None:
    found = judged(tmp_path, f"# own: --dense --types fp16\n{TWICE}", "--types", "fp32", "--no-compile")
    title = found["report"].splitlines()[0]
    assert title.startswith("softmax, softmax (not asked: inputs that are not contiguous, fp16 and bf16)")
    assert [one["name"] for one in found["properties"]] == ["values", "any-length"]


def test_a_tensor_says_that_it_lies_on_a_gpu_and_cards_answer(tmp_path: Path) -> None:
    on_a_card = TWICE.replace("2 * tl.load", "tl.load").replace(
        "    return y\n",
        "    assert x.is_cuda and x.device.type == 'cuda' and torch.cuda.is_available()\n"
        "    assert triton.runtime.driver.active.get_active_torch_device() == x.device\n"
        "    assert torch.cuda.get_device_properties(x.device).multi_processor_count == 132\n"
        "    with torch.cuda.device(x.device):\n"
        "        return torch.softmax(y.to('cuda').cuda().float(), 1).to(x.dtype)\n",
    )
    found = judged(tmp_path, on_a_card, "--no-compile")
    assert found["verdict"] == "accepted", found["report"]


def test_a_config_of_the_autotuner_and_heuristics_are_taken(tmp_path: Path) -> None:
    tuned = TWICE.replace("2 * tl.load", "tl.load").replace(
        "@triton.jit",
        "CONFIGS = [triton.Config({'BLOCK': 32768}, num_warps=8), triton.Config({'BLOCK': 1})]\n"
        "@triton.autotune(configs=CONFIGS, key=['n'])\n"
        "@triton.heuristics({'n': lambda args: args['BLOCK'] and args['m']})\n@triton.jit",
    )
    tuned = tuned.replace("n, BLOCK: tl", "m, n, BLOCK: tl").replace(
        "twice[(1,)](x[row], y[row], x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))",
        "twice[lambda META: (META['BLOCK'] // 32768,)](x[row], y[row], x.shape[1])",
    )
    tuned = tuned.replace("return y", "return torch.softmax(y.float(), 1).to(x.dtype)")
    found = judged(tmp_path, tuned, "--no-compile")
    assert found["verdict"] == "accepted", found["report"]


def test_tests_of_others_call_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(PLAIN, encoding="utf-8")
    right = verify_attention(path, function="attention", types=["fp32"], head_dims=[16], dense=True, square=True)
    assert right.raise_if_wrong() is right and right.verdict["accepted"] and right.text.startswith("attention, ")
    path.write_text(TWICE, encoding="utf-8")
    with pytest.raises(AssertionError, match=r"softmax, softmax \(not asked: inputs that are not contiguous"):
        verify_softmax(path, types=["fp32"], dense=True).raise_if_wrong()
    with pytest.raises(RuntimeError, match="There is no file"):
        verify_softmax(tmp_path / "nowhere.py").raise_if_wrong()
    assert verify_softmax(softmax_of_a_test, types=["fp32"]).status == 4


def softmax_of_a_test(x: Any) -> Any:
    raise ValueError("not yet")


@pytest.mark.parametrize("verb", ["verify", "own"])
def test_make_takes_a_file(verb: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TWICE, encoding="utf-8")
    environment = {"VENV": str(Path(sys.executable).parents[1]), "PATH": "/usr/bin:/bin"}
    done = ran("make", "-s", verb, f"FILE={tmp_path / 'mine.py'}", ends=2, env=environment)
    assert "gives wrong results" in done.stdout


PLAIN = """
import torch

def attention(q, k, v, scale, causal):
    s = scale * (q.float() @ k.float().transpose(-1, -2))
    if causal:
        s = s.masked_fill(torch.ones_like(s).triu(1 + s.shape[-1] - s.shape[-2]).bool(), float("-inf"))
    p = torch.softmax(s, -1).nan_to_num()
    o, lse = (p @ v.float()).to(q.dtype), torch.logsumexp(s, -1)
    return o, lse
"""


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("s = scale", "s = kept.setdefault('scale', scale)", "wrong"),
        (
            "return o, lse",
            "return kept.setdefault(o.shape, o.detach().clone()).copy_(o.detach()), lse.detach()",
            "[result-changed]",
        ),
        ("return o, lse", "return torch.where(torch.arange(o.shape[2])[:, None] < 700, o, 0.0), lse", "of 1100"),
        ("return o, lse", "return torch.where(torch.arange(o.shape[1])[:, None, None] < 8, o, 0.0), lse", "27 heads"),
        ("return o, lse", "return o.clamp(-60000, 60000), lse", "a large V"),
        ('float("-inf")', "-1e4", "queries"),
        # It holds K, so that no other call's K can come to lie in the same memory.
        ("p = torch", "v = kept.setdefault(k.data_ptr(), (k, v.clone()))[1]; p = torch", "one call after another"),
    ],
)
def test_calls_that_few_would_make_are_made(old: str, new: str, sentence: str, tmp_path: Path) -> None:
    right = judged(tmp_path, PLAIN, "--no-compile", "--types", "fp32")
    assert right["verdict"] == "accepted", right["report"]
    found = judged(tmp_path, f"kept = {{}}{PLAIN.replace(old, new)}", "--no-compile", "--types", "fp32")
    assert found["status"] == 1 and sentence in found["report"], found["report"]


def test_programs_that_add_without_atomics_are_found(tmp_path: Path) -> None:
    adding = TWICE.replace("2 * tl.load(x_ptr + at, at < n, 0.0)", "1 + tl.load(y_ptr + at, at < n, 0.0)")
    found = judged(tmp_path, adding.replace("twice[(1,)]", "twice[(2,)]"), "--no-compile")
    assert [one["id"] for one in found["findings"]] == ["added-without-atomics"], found["report"]


def test_sums_in_bf16_and_the_whole_first_line(tmp_path: Path) -> None:
    adding = TWICE.replace(
        "tl.store(y_ptr + at, 2 * tl.load(x_ptr + at, at < n, 0.0), at < n)",
        """
    tl.atomic_add(y_ptr + at, tl.load(x_ptr + at, at < n, 0.0), at < n)""",
    )
    text = adding.replace("empty_like", "zeros_like").replace(
        "return y", "return torch.softmax(y.float(), 1).to(x.dtype)"
    )
    found = judged(tmp_path, f"# own: --types bf16 --dense --whole-tiles\n{text}", "--no-compile")
    assert found["verdict"] == "accepted", found["report"]
    (tmp_path / "mine.py").write_text(f"# own: --types bf16 --dense --whole-tiles\n{text}", encoding="utf-8")
    done = typed("own", "mine.py", "--no-compile", cwd=tmp_path, COLUMNS="60")
    said = " ".join(done.stdout.split("✓")[0].split())
    assert said.endswith("multiples of 128, inputs that are not contiguous, fp32 and fp16)"), done.stdout


def test_descriptors_of_the_host_and_what_a_configuration_does_before_a_launch(tmp_path: Path) -> None:
    text = """
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

def hook(arguments):
    arguments["x"].block_shape = arguments["y"].block_shape = [1, arguments["BLOCK"]]

@triton.autotune(configs=[triton.Config({"BLOCK": 128}, pre_hook=hook)], key=[])
@triton.jit
def copied(x, y, BLOCK: tl.constexpr):
    row, column = tl.program_id(0), tl.program_id(1) * BLOCK
    y.store([row, column], x.load([row, column]))

def softmax(x):
    y = torch.empty_like(x)
    of = [TensorDescriptor(one, one.shape, one.stride(), [1, 1]) for one in (x, y)]
    copied[lambda META: (x.shape[0], x.shape[1] // META["BLOCK"])](*of)
    return torch.softmax(y.float(), 1).to(x.dtype)
"""
    found = judged(tmp_path, text, "--whole-tiles", "--dense")
    assert found["verdict"] == "accepted", found["report"]
    assert "not compiled for any GPU: copied" in " ".join(found["report"].split())


def test_constants_that_are_no_numbers_are_taken_and_it_is_said_that_nothing_was_compiled(tmp_path: Path) -> None:
    given = "x[row], y[row], x if row else None, x.shape[1], KIND=tl.float32, MODE='plain', BLOCK="
    text = TWICE.replace("n, BLOCK: tl", "none, n, KIND: tl.constexpr, MODE: tl.constexpr, BLOCK: tl")
    text = text.replace("x[row], y[row], x.shape[1], BLOCK=", given).replace("2 * tl.load", "tl.load")
    text = text.replace("0.0), at < n)", "0.0).to(KIND), at < n)")
    text = text.replace("return y", "return torch.softmax(y.float(), 1).to(x.dtype)")
    found = judged(tmp_path, text, "--types", "fp32")
    assert found["verdict"] == "accepted", found["report"]
    assert "not compiled for any GPU: twice" in " ".join(found["report"].split())


def test_a_notebook_hands_over_what_its_cells_define() -> None:
    cells = ["%pip install x\nimport torch", "def attention(q, k, v, scale):\n    return (scale * q) @ k.mT @ v\nown()"]

    def said(**claims: object) -> str:
        request = {"verb": "own", "puzzle": None, "cells": cells, "place": None, "claims": claims}
        answer = json.loads(ran(*command_of("checker.answers.child"), ends=0, input=json.dumps(request)).stdout)
        assert "0/0" not in answer["html"]
        text: str = answer["text"]
        return text

    report = said(types=["fp32"])
    assert report.startswith(
        "attention, attention, forward and backward (not asked: head dimensions other than 16, 32, 64,"
    )
    assert "O, with scores of every kind: failed with" in report
    assert "own() knows no sqare." in said(sqare=True)
