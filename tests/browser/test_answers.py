"""Each verb of a page's worker, in CPython and where a page's files are: without what a browser does not have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.course.language import speaking
from checker.report.translated import said
from tests.conftest import ROOT
from tests.kernels import named

SCRIPT = f"""
import sys
sys.modules |= dict.fromkeys({("resource", "fcntl", "pwd", "click", "rich", "watchfiles", "torch")})
from checker.sandbox import standin
standin.install()
from checker.browser.answers import answered
for line in sys.stdin:
    beats = []
    answer = answered(line, lambda *told: beats.append(told))
    print(len(beats), flush=True)
    print(beats[-1][1:] if beats else "", flush=True)
    print(answer, flush=True)
"""
CHINESE = re.compile("[\u3000-\u9fff]")
SOLVED, WRONG = (named(name).text.partition("@triton.jit")[2] for name in ("p1_naive_softmax", "p1_base_two"))


class Page:
    """A page's state, and the worker that it asks."""

    def __init__(self, worker: subprocess.Popen[str]):
        self.worker = worker
        self.beats = 0  # how often it has said that it is alive
        self.last = ""  # of how many launches, and what the last was about
        self.drafts: dict[str, str] = {}
        self.progress: dict[str, str] = {}

    def asks(self, verb: str, puzzle: str = "p1", **more: Any) -> dict[str, Any]:
        request = {"verb": verb, "puzzle": puzzle, "drafts": self.drafts, "progress": self.progress, **more}
        assert self.worker.stdin and self.worker.stdout
        print(json.dumps(request), file=self.worker.stdin, flush=True)
        self.beats = int(self.worker.stdout.readline())
        self.last = self.worker.stdout.readline().strip()
        answer: dict[str, Any] = json.loads(self.worker.stdout.readline())
        if line := answer["progress"]:
            self.progress[puzzle] = line
        return answer

    def writes(self, code: str) -> None:
        self.drafts["p1"] = f"@triton.jit{code}"


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    home = tmp_path_factory.mktemp("page")
    for folder in ("checker", "puzzles"):
        shutil.copytree(ROOT / folder, home / folder, ignore=shutil.ignore_patterns("__pycache__"))
    variables = {**os.environ, "PYTHONPATH": str(home)}
    command = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(
        command, cwd=home, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        yield started
        assert started.stdin
        started.stdin.close()
    assert not list(Path(home).glob("*.bak*"))


@pytest.fixture
def page(worker: subprocess.Popen[str]) -> Page:
    return Page(worker)


def test_a_finding_comes_with_its_question_and_then_with_its_hint(page: Page) -> None:
    page.writes(WRONG)
    first = page.asks("check")
    assert (first["status"], first["accepted"], first["withheld"]) == ("wrong", False, True)
    assert "Find out:" in first["html"] and "Try:" not in first["html"] and "PUZZLE=" not in first["html"]
    assert page.progress["p1"] == "puzzle p1: not solved, asked about base-two"
    told = page.asks("hint")
    assert "tl.exp" in told["html"] and page.progress["p1"].endswith("told about base-two")
    assert page.asks("hint")["hints"] == [1]
    assert page.asks("hint", again=True)["hints"] == [1]
    assert "Try:" in page.asks("check")["html"]


def test_the_stub_with_comments_is_in_the_editors_form_and_noted(page: Page) -> None:
    text = page.asks("comments", "p3")["text"]
    assert text.startswith("@triton.jit\n") and "\n    # Pass 2: the result." in text and "tl.load" not in text
    assert page.progress == {"p3": "puzzle p3: not solved, helped at level 1"}
    page.drafts["p3"] = text
    assert page.asks("check", "p3")["status"] == "not-started"


def test_an_answer_is_in_the_language_of_its_request(page: Page) -> None:
    page.writes(WRONG)
    chinese, told = (page.asks(verb, language="zh")["html"] for verb in ("check", "hint"))
    english = page.asks("check", language="en")
    assert "[base-two]" in english["html"] and not CHINESE.search(english["html"])
    with speaking("zh"):
        [title] = (said(mark["said"]) for mark in english["marks"])
    assert CHINESE.search(title) and title in told and title in chinese and "[base-two]" in chinese
    page.writes(SOLVED)
    assert page.asks("check", language="zh")["accepted"]
    [picture] = page.asks("trace", language="zh")["pictures"]
    assert "分块随时间的变化" in picture
    [launch] = page.asks("step", language="zh")["step"]["launches"]
    assert launch["programs"]["0"] == "程序 0"
    file = page.asks("download", kind="py", language="zh")
    assert file["name"] == "p1_naive_softmax.py" and "## 思路" in file["text"] and "tl.exp(" in file["text"]
    assert page.asks("upload", name="p1.py", text=file["text"], language="zh")["text"] == f"@triton.jit{SOLVED}"


def test_what_is_accepted_answers_guesses(page: Page) -> None:
    page.writes(WRONG)
    assert page.asks("predict", guesses={"x_reads": "1"})["problem"].endswith("Press Check first.")
    page.writes(SOLVED)
    done = page.asks("check")
    assert done["accepted"] and "make" not in done["html"] and "puzzles/" not in done["html"]
    assert page.progress["p1"].startswith("puzzle p1: solved 20")
    answer = page.asks("predict", guesses={"x_reads": "2"})
    assert "You said 2. In your kernel it is 1." in answer["html"]
    assert page.progress["p1"].endswith("wrong about x_reads")
    assert "not a number" in page.asks("predict", guesses={"x_reads": "two"})["problem"]


def test_a_stub_is_not_started_and_says_where_to_begin(page: Page) -> None:
    lesson = (ROOT / "puzzles" / "p1_naive_softmax.py").read_text()
    page.drafts["p1"] = page.asks("upload", name="p1.py", text=lesson)["text"]
    answer = page.asks("check")
    assert answer["status"] == "not-started" and "at line 5, then press Check" in answer["html"]
    assert page.progress == {}
    assert [mark["severity"] for mark in answer["marks"]] == ["info"]


@pytest.mark.parametrize(("ending", "status"), [("time", "too-busy"), ("crash", "no-output")])
def test_a_worker_that_is_gone_has_a_verdict(page: Page, ending: str, status: str) -> None:
    page.writes(SOLVED)
    answer = page.asks("ended", ending=ending)
    assert answer["status"] == status and not answer["accepted"] and page.progress == {}


def test_pictures_say_what_they_show(page: Page) -> None:
    page.writes(SOLVED)
    page.asks("check")
    assert page.beats > 20
    assert f"({page.beats}, '" in page.last and any(one.title in page.last for one in catalog.load("p1").properties)
    [picture] = page.asks("trace")["pictures"]
    assert page.beats == 1  # the launch that is drawn: what was accepted is not judged again
    assert picture.startswith("<svg ") and "reads per element: x 1" in picture and ":root" not in picture


def test_a_prediction_is_of_what_is_accepted_and_a_fixed_bug_is_noted_nowhere(page: Page) -> None:
    page.writes(WRONG)
    assert "Press Check first" in page.asks("bench")["problem"]
    page.writes(SOLVED)
    table = page.asks("bench")["html"]
    assert "H100" in table and "8192" in table and "1024" in table
    assert table.count("<table") == 1  # all sizes are as many bytes
    before = dict(page.progress)
    assert page.asks("bug", text=f"@triton.jit{WRONG}")["accepted"] is False
    assert page.asks("bug", text=page.drafts["p1"])["accepted"] and page.progress == before


def test_a_cell_runs_after_those_above_it_with_the_kernel_of_the_draft(page: Page) -> None:
    page.writes(SOLVED)
    above = (
        "import numpy as np\nfrom checker.notebook import run\nx = np.array([[1.0, 3.0]], np.float32)\nprint('above')"
    )
    call = "x_ptr=x, y_ptr=np.zeros_like(x), x_row_stride=2, y_row_stride=2, n_cols=2, BLOCK_SIZE=2, grid=1"
    said = page.asks("run", cells=[above, f"run(naive_softmax_kernel, {call})"])["text"]
    assert "y = [[0.1192 0.8808]]" in said and "above" not in said
    assert page.asks("run", cells=["x = 1\nx / 0"])["text"] == "Line 2: ZeroDivisionError: division by zero"
    assert page.asks("run", cells=["x = "])["text"].startswith("Line 1: ")
    assert page.asks("run", cells=["def twice(x):\n    return 2 * x"])["text"] == "Defined: twice."
    assert page.asks("run", cells=["print('a' * 100_000)"])["text"].endswith(" …")
    assert page.asks("run", cells=["from checker.notebook import run\nrun('nothing', grid=1)"])["text"].startswith(
        "✗ No cell"
    )


def test_what_python_cannot_read_is_told_with_its_line(page: Page) -> None:
    page.drafts["p1"] = "x = 1\nif x\n"
    assert page.asks("syntax")["line"] == 2
    page.drafts["p1"] = "x = 1\n"
    assert "line" not in page.asks("syntax")
    page.drafts["p1"] = "\0"
    assert page.asks("syntax")["line"] == 1


def test_steps_are_those_of_a_draft_and_what_is_accepted_is_not_judged_again(page: Page) -> None:
    page.writes(SOLVED)
    assert page.asks("check")["steps"] is False
    [launch] = page.asks("step")["step"]["launches"]
    assert page.beats == 1 and launch["kernel"] == "naive_softmax_kernel"
    page.writes(WRONG)
    assert page.asks("check")["steps"] is True
    told = page.asks("step")["step"]
    wrong = told["launches"][told["first"]]
    assert wrong["wrong"]["name"] == "y[0, 0]"
    assert wrong["statements"][str(wrong["steps"][wrong["start"]][1])][0].startswith("numerator =")
    page.drafts["p1"] = "def"
    assert "cannot" in page.asks("step")["html"]


def test_nothing_that_is_asked_breaks_the_worker(page: Page) -> None:
    for text in ("", "def", "x" * 200_000, "\0"):
        page.drafts["p1"] = text
        answer = page.asks("check")
        assert answer.get("problem") or answer["accepted"] is False
    assert "checker itself failed" in page.asks("nothing")["html"]
    page.writes(SOLVED)
    assert page.asks("check")["accepted"]
