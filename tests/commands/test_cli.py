"""The command line as a user meets it: exit statuses, sentences, JSON, interruption."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import pytest

from checker import catalog
from checker.commands import cli
from checker.course import ladder
from checker.course.columns import has_wide
from checker.course.lesson import emptied
from checker.course.status import Misuse
from checker.course.verdict import Status, Verdict
from checker.learner.practice import checked, twice
from checker.report.words import SHADES
from checker.sandbox.parent import gpu_missing
from tests.conftest import ROOT, SOLUTION, importable, ran, sandboxed_processes

STUB = (ROOT / "puzzles" / "p1_naive_softmax.py").read_text()


run = partial(ran, sys.executable, "-m", "checker")


def kernel(body: str) -> str:
    """The solution with another body."""
    head, _, _ = SOLUTION.partition("    row = ")
    return head + body


def notebook(*cells: str) -> str:
    made = [{"cell_type": "code", "source": cell.splitlines(keepends=True)} for cell in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# text"]}, *made], "nbformat": 4})


IMPORTS, KERNEL = SOLUTION.split("\n\n\n", 1)
INVALID = {
    # name: (suffix, bytes or text, what the report must say, exit status)
    "empty": ("py", "", "is empty", 1),
    "blank": ("py", " \n\n", "is empty", 1),
    "not-utf8": ("py", SOLUTION.encode() + b"# \xff\xfe", "is not UTF-8 text", 1),
    "zero-bytes": ("py", SOLUTION + "\0", "zero bytes", 1),
    "syntax-error": ("py", SOLUTION.replace("mask = cols <", "mask = cols < <"), ":11", 1),
    "indentation": ("py", SOLUTION.replace("    cols", "      cols"), "unexpected indent", 1),
    "deep": ("py", "x = " + "(" * 5000 + ")" * 5000, "", 1),
    "long": ("py", "# " + "x" * 600_000, "thousand characters", 1),
    "kernel-missing": ("py", "x = 1\n", "There is no kernel naive_softmax_kernel", 1),
    "nested": (
        "py",
        "if True:\n" + KERNEL.replace("\n", "\n    ").replace("@", "    @", 1),
        "inside something else",
        1,
    ),
    "renamed": ("py", SOLUTION.replace("naive_softmax_kernel", "my_softmax"), "one called my_softmax", 1),
    "signature": (
        "py",
        SOLUTION.replace("n_cols, BLOCK", "n, BLOCK").replace("n_cols", "n"),
        "The def line must read",
        1,
    ),
    "constexpr-lost": ("py", SOLUTION.replace("BLOCK_SIZE: tl.constexpr", "BLOCK_SIZE"), "The def line must read", 1),
    "twice": ("py", SOLUTION + "\n\n" + KERNEL, "is defined 2 times", 1),
    "undecorated": ("py", SOLUTION.replace("@triton.jit\n", ""), "must be decorated with @triton.jit", 1),
    "autotuned": ("py", SOLUTION.replace("@triton.jit", "@triton.autotune([], [])\n@triton.jit"), "nothing else", 1),
    "not-json": ("ipynb", "this is not JSON", "holds no JSON", 1),
    "truncated": ("ipynb", notebook(SOLUTION)[:-40], "not a whole notebook", 1),
    "no-cells": ("ipynb", '{"a": 1}', "not a Jupyter notebook", 1),
    "odd-cells": ("ipynb", '{"cells": [1, 2]}', "not a Jupyter notebook", 1),
    "deep-json": ("ipynb", "[" * 100_000, "", 1),
    "no-kernel-cell": ("ipynb", notebook("import triton", "print(1)"), "There is no kernel", 1),
    "cell-syntax": (
        "ipynb",
        notebook(IMPORTS, KERNEL.replace("mask = cols <", "mask = cols < <")),
        "cell 3, line 5",
        1,
    ),
}


@pytest.mark.parametrize("name", INVALID)
def test_what_cannot_be_read_gets_a_sentence(name: str, tmp_path: Path) -> None:
    suffix, content, sentence, status = INVALID[name]
    path = tmp_path / f"submission.{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("check", "1", "--file", str(path), "--json", str(tmp_path / "out.json"), COLUMNS="300", ends=status)
    assert sentence in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    data = json.loads((tmp_path / "out.json").read_text())
    assert (data["verdict"], data["score"]["earned"]) == ("invalid", 0)
    assert data["findings"][0]["title"]


def test_every_kind_of_unreadable_text_has_its_own_finding(tmp_path: Path) -> None:
    told = {}
    for name, (suffix, content, _, _) in INVALID.items():
        path = tmp_path / f"submission.{suffix}"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        finding = checked("p1", path, None).findings[0]
        told[name] = (finding.title, finding.explanation, finding.hint)
    same = {
        frozenset({"empty", "blank"}),
        frozenset({"signature", "constexpr-lost"}),
        frozenset({"undecorated", "autotuned"}),
    }
    same |= {frozenset({"kernel-missing", "no-kernel-cell"})}
    same |= {frozenset({"syntax-error", "cell-syntax"})}
    for a in told:
        for b in told:
            if a < b and frozenset({a, b}) not in same:
                assert told[a] != told[b], (a, b)


def test_a_notebook_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "huge.ipynb"
    with path.open("wb") as file:
        file.truncate(101 << 20)
    done = run("check", "1", "--file", str(path), COLUMNS="200", ends=1)
    assert "Clear its outputs" in done.stdout


MISUSES = {
    "no-such-puzzle": (["check", "99"], "There is no puzzle '99'"),
    "no-id": (["check", "one"], "There is no puzzle 'one'"),
    "negative": (["check", "--", "-1"], "There is no puzzle '-1'"),
    "other-digits": (["check", "１"], "There is no puzzle"),
    "no-such-file": (["check", "1", "--file", "/no/such/file.py"], "There is no file /no/such/file.py"),
    "a-folder": (["check", "1", "--file", "/"], "is not a file"),
    "file-without-puzzle": (["check", "--file", "x.py"], "Say which puzzle"),
    "no-such-device": (["check", "1", "--device", "abacus"], "abacus"),
    "no-gpu-in-a-cage": (["check", "1", "--key", "autumn", "--device", "cuda"], "Grading runs on the interpreter"),
    "no-key": (["check", "1", "--key", ""], "The key is empty"),
    "blank-key": (["check", "1", "--unsafe-no-sandbox", "--key", " "], "The key is empty"),
    "no-such-option": (["check", "1", "--fast"], "--fast"),
    "no-such-verb": (["chekc"], "chekc"),
    "no-such-target": (["check", "1", "--targets", "sm_90,sm_12"], "There is no target 'sm_12'"),
}
if gpu_missing():
    MISUSES["no-gpu"] = (["check", "1", "--device", "cuda"], gpu_missing())


@pytest.mark.parametrize("name", MISUSES)
def test_misuse_gets_a_sentence_status_2_and_json(name: str, tmp_path: Path) -> None:
    arguments, sentence = MISUSES[name]
    done = run(*arguments, COLUMNS="200", ends=2)
    assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    if arguments[0] == "check" and name != "negative":
        done = run(*arguments, "--json", str(tmp_path / "out.json"), ends=2)
        assert json.loads((tmp_path / "out.json").read_text())["verdict"] == "misused"


def test_accepted_and_its_json_on_standard_output(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(SOLUTION)
    done = run("check", "1", "--file", str(path), "--no-compile", "--json", "-", ends=0)
    data = json.loads(done.stdout, parse_constant=pytest.fail)  # the report went to standard error
    assert "accepted" in done.stderr
    assert data["accepted"] is True
    assert data["verdict"] == "accepted"
    assert data["score"] == {"earned": 100, "possible": 100}
    assert {p["name"] for p in data["properties"] if p["passed"]} >= {"full-block", "traffic"}
    traffic = data["runs"][0]["traffic"]["naive_softmax_kernel"]
    assert traffic["x_ptr"]["loads"] == traffic["x_ptr"]["most_loads"] == traffic["x_ptr"]["elements"]
    assert traffic["y_ptr"]["stores"] == traffic["y_ptr"]["elements"]
    assert data["runs"][0]["device"] == "interpreter"
    assert data["mode"] == "practice"
    assert len(data["submission_sha256"]) == 64
    assert {"triton", "numpy", "python", "checker"} <= set(data["versions"])


def test_a_wrong_kernel_is_located_in_file_and_notebook(tmp_path: Path) -> None:
    wrong = SOLUTION.replace('x_row_stride + cols, mask=mask, other=-float("inf")', "x_row_stride + cols")
    path, book = tmp_path / "wrong.py", tmp_path / "wrong.ipynb"
    path.write_text(wrong)
    book.write_text(notebook(*wrong.split("\n\n\n", 1), "%matplotlib inline\n!ls\n", "this does not parse"))
    line = next(n for n, text in enumerate(wrong.split("\n"), 1) if "tl.load" in text)
    for file, expected in ((path, (None, line)), (book, (3, line - len(IMPORTS.split("\n")) - 2))):
        done = run("check", "1", "--file", str(file), "--json", "-", COLUMNS="200", ends=1)
        where = json.loads(done.stdout)["findings"][0]["where"]
        assert (where["cell"], where["line"]) == expected
        assert (where["program"], where["tensor"]) == ([0], "x_ptr")
        assert f"▶ {where['line']} │" in " ".join(done.stderr.split(" ")).replace("▶  ", "▶ ")


def test_not_started_ends_with_4_and_says_where(tmp_path: Path) -> None:
    path = tmp_path / "stub.py"
    if "FILL IN" not in STUB:
        pytest.skip("puzzles/p1_naive_softmax.py has been filled in, and its FILL IN mark is gone")
    path.write_text(emptied(STUB, catalog.load("p1")))
    done = run("check", "1", "--file", str(path), COLUMNS="200", ends=4)
    line = next(n for n, text in enumerate(STUB.split("\n"), 1) if "FILL IN" in text)
    assert f"line {line}" in done.stdout


def test_all_puzzles_give_a_table(tmp_path: Path) -> None:
    done = run("check", "--json", str(tmp_path / "all.json"), COLUMNS="120")
    data = json.loads((tmp_path / "all.json").read_text())
    entries = data["puzzles"]
    assert done.stdout.count("\n") >= len(entries)
    installed = find_spec("torch") is not None
    assert [e["puzzle"] for e in entries] == [one for one in ladder.ORDER if installed or not ladder.RUNGS[one].pytorch]


def test_what_cannot_be_opened_is_misuse(tmp_path: Path) -> None:
    for name in ("x" * 300 + ".py", "nul\0.py"):
        with pytest.raises(Misuse):
            checked("p1", tmp_path / name, None)


@pytest.mark.parametrize("verb", ["check", "trace", "bench", "compiled"])
def test_a_files_name_gives_no_orders_to_the_terminal(verb: str, tmp_path: Path) -> None:
    """Whoever hands in a file chooses its name: here a colour, a title, and a mark that turns text around."""
    done = run(verb, "1", "--file", "\x1b[31m\x1b]0;title\x07\u202ekernel.py", cwd=tmp_path, ends=2)
    said = done.stdout + done.stderr
    assert "kernel.py" in said
    assert not {"\x1b", "\x07", "\u202e"} & set(said)


def test_a_report_that_cannot_be_written_is_a_fault_without_traceback() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "checker", "check", "1", "--file", "solutions/p1_naive_softmax.py"],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=600,
            check=False,
        )
    assert done.returncode == 3
    assert "Traceback" not in done.stderr
    assert "No space left" in done.stderr


RIGHT = ("check", "w1", "--no-compile", "--file", "solutions/w1_vector_add.py")
WRONG = ("check", "p1", "--no-compile", "--file", "tests/wrong/p1_padding_loaded_as_zero.py")
UNREAD = {
    "accepted": (RIGHT, 0),
    "json": ((*RIGHT, "--json", "-"), 0),
    "wrong": (WRONG, 1),
    "misused": (("check", "99"), 2),
    "no-such-verb": (("chekc",), 2),
    "help": (("--help",), 0),
    "a-sentence": (("hint", "w1", "--again"), 0),
    "watched": (("watch",), 0),  # which nothing else would end
}


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("name", UNREAD)
def test_a_reader_who_goes_away_changes_no_exit_status(name: str, both: bool) -> None:
    arguments, status = UNREAD[name]
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "checker", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, stdout=writer, stderr=writer if both else subprocess.PIPE, timeout=600, check=False
    )
    os.close(writer)
    assert done.returncode == status
    assert both or not re.search(rb"[Pp]ipe|Traceback", done.stderr)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(("arguments", "status"), [(RIGHT, 0), (WRONG, 1)])
def test_streams_that_are_closed_change_no_exit_status(
    arguments: tuple[str, ...], status: int, closed: str, tmp_path: Path
) -> None:
    for path in (str(tmp_path / "out.json"), "-"):
        line = ["sh", "-c", f'exec "$@" {closed}', "sh", sys.executable, "-m", "checker", *arguments, "--json", path]
        assert "Traceback" not in ran(*line, ends=status).stderr
    assert json.loads((tmp_path / "out.json").read_text())["accepted"] == (status == 0)


@pytest.mark.parametrize("columns", ["", "0", "-1", "abc", "1", "19", "²", "9" * 12])
def test_a_width_that_no_terminal_has_is_no_width(columns: str) -> None:
    asked = [run("progress", COLUMNS=said, LINES=said).stdout for said in (columns, "80", "20")]
    assert asked[0] == asked[1] != asked[2]


@pytest.mark.parametrize("ascii", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_an_ascii_terminal_gets_the_same_report_in_other_signs(ascii: dict[str, str]) -> None:
    for arguments, signs in ((RIGHT, "+" * 7), (WRONG, "x"), ((*WRONG, "--full"), "x+x++++x")):
        plain, usual = run(*arguments, **ascii).stdout, run(*arguments, PYTHONIOENCODING="utf-8").stdout
        assert plain.isascii() and plain.count("?") == usual.count("?")
        assert "".join(re.findall(r"^([+x]) ", plain, re.M)) == signs
        assert ("  > 15 | " in plain) == (arguments != RIGHT)


def test_every_sign_that_we_print_has_a_form_in_ascii() -> None:
    """Besides Chinese, the pictures of pages, and what stands for a sign that was taken out."""
    texts = [path.read_text() for path in (ROOT / "solutions").glob("*.md")]
    texts += [path.read_text() for path in (ROOT / "checker").rglob("*.md") if "zh" not in path.name]
    for path in (ROOT / "checker").rglob("*.py"):
        nodes = (node for node in ast.walk(ast.parse(path.read_text())) if not isinstance(node, ast.Expr))  # docstrings
        parts = (part for node in nodes for part in ast.iter_child_nodes(node) if isinstance(part, ast.Constant))
        texts += [part.value for part in parts if isinstance(part.value, str)]
    signs = {sign for text in texts for sign in text if sign.isprintable() and "~" < sign < "\ud000"}
    assert {sign for sign in signs - {*SHADES, "☐"} if not has_wide(sign)} <= cli._PLAIN.keys()


def test_a_fault_of_ours_is_status_3_without_traceback(tmp_path: Path) -> None:
    """Here a copy of the checker whose judge is broken."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "checker", copy / "checker")
    shutil.copytree(ROOT / "solutions", copy / "solutions")
    judge = copy / "checker" / "judge" / "judge.py"
    judge.write_text(judge.read_text().replace("    made = Judgement()\n", "    raise ZeroDivisionError('oh')\n", 1))
    arguments = ("check", "1", "--file", "solutions/p1_naive_softmax.py", "--json", "-")
    done = run(*arguments, cwd=copy, PYTHONPATH=str(copy), COLUMNS="200", ends=3)
    assert "Traceback" not in done.stderr
    assert "not your kernel's fault" in done.stderr
    assert json.loads(done.stdout)["verdict"] == "checker-fault"
    shown = run(*arguments, cwd=copy, PYTHONPATH=str(copy), CHECKER_TRACEBACK="1")
    assert "ZeroDivisionError: oh" in shown.stderr


def test_a_sandbox_that_cannot_start_is_a_fault(tmp_path: Path) -> None:
    """Without Triton there is no verdict, and nobody loses a point."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text("raise ImportError('no such luck')")
    path = f"{tmp_path}:{ROOT}"
    done = run("check", "1", "--file", "solutions/p1_naive_softmax.py", "--json", "-", PYTHONPATH=path, ends=3)
    assert "no such luck" in done.stderr


def test_a_python_without_what_the_course_needs_gets_a_sentence() -> None:
    done = ran(sys.executable, "-S", "-m", "checker", "check", "--help", env=os.environ)
    assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
    assert f"{sys.executable} has no click" in done.stderr


def test_a_students_numpy_py_does_not_shadow_numpy(tmp_path: Path) -> None:
    for name in ("numpy", "json", "triton", "rich", "ast"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module was imported')")
    path = str(ROOT / "solutions" / "p1_naive_softmax.py")
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = ran(sys.executable, "-m", "checker", "check", "1", "--file", path, cwd=tmp_path, env=variables)
    if "No module named checker" in done.stderr:
        pytest.skip("the project is not installed in this environment")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    sandboxes.mkdir()
    child = _endless_check(sandboxes)
    child.send_signal(number)
    output, _ = child.communicate(timeout=600)
    assert child.returncode == (130 if number is signal.SIGINT else 128 + number)
    assert b"Traceback" not in output
    assert list(sandboxes.iterdir()) == []
    assert sandboxed_processes(sandboxes) == []


def test_a_killed_checker_takes_its_sandbox_along(tmp_path: Path) -> None:
    sandboxes = tmp_path / "sandboxes"
    sandboxes.mkdir()
    child = _endless_check(sandboxes)
    child.kill()
    child.communicate(timeout=600)
    _until(lambda: sandboxed_processes(sandboxes) == [])


def _endless_check(sandboxes: Path) -> subprocess.Popen[bytes]:
    """A check that is busy with an endless kernel: two runners are there, and one has used some time."""
    path = str(ROOT / "tests" / "hostile" / "p1_nested_tuples.py")
    # A test run in the background ignores Ctrl-C, and what it starts would inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    child = subprocess.Popen(
        [sys.executable, "-m", "checker", "check", "1", "--file", path],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(sandboxes)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    signal.signal(signal.SIGINT, before)
    _until(
        lambda: len(sandboxed_processes(sandboxes)) >= 5
    )  # the checker, two servers, two runners of the one at least
    return child


def _until(condition: object, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def test_help_loads_nothing_that_takes_long() -> None:
    slow = {"torch", "triton", "nbgrader", "nbformat", "matplotlib", "distributed"}
    asked = "from checker.commands.cli import cli; cli(['--help'], standalone_mode=False); import sys"
    code = f"{asked}; print({slow} & {{*sys.modules}})"
    done = ran(sys.executable, "-c", code, ends=0)
    assert "check" in done.stdout and done.stdout.splitlines()[-1] == "set()"


def test_a_check_can_start_its_sandbox_before_numpy_is_imported() -> None:
    code = "import checker.commands.check, sys; print('numpy' in sys.modules)"
    assert ran(sys.executable, "-c", code, ends=0).stdout == "False\n"


def test_help_is_complete() -> None:
    text = run("check", "--help").stdout
    for word in (
        "--file",
        "--device",
        "--key",
        "--unsafe-no-sandbox",
        "--targets",
        "--no-compile",
        "--json",
        "Exit status",
        "130",
        "[PUZZLE]",
    ):
        assert word in text
    assert "check" in run("--help").stdout


def test_what_the_machine_was_too_busy_for_is_checked_once_more_after_all_others() -> None:
    asked: list[str] = []

    def check(puzzle_id: str) -> Verdict:
        asked.append(puzzle_id)
        busy = puzzle_id == "p6" or (puzzle_id == "p1" and asked.count("p1") == 1)
        return Verdict(puzzle_id, "", Status.TOO_BUSY if busy else Status.ACCEPTED, ())

    verdicts = twice([partial(check, puzzle_id) for puzzle_id in ("p1", "p2", "p6")])
    assert asked == ["p1", "p2", "p6", "p1", "p6"]
    assert [verdict.status.value for verdict in verdicts] == ["accepted", "accepted", "too-busy"]


def test_who_stops_us_while_we_start_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")  # what Ctrl-C does while this is imported
    done = run("progress", cwd=tmp_path, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_a_port_that_is_taken_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importable("sphinx")
    from checker.commands.site import site
    from checker.publish import site as pages
    from checker.publish.site import build
    from checker.publish.site.assets import SiteError

    monkeypatch.setattr(pages, "build", lambda *_, **__: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Misuse, match=f"Port {port} is not to be had.*PORT={port + 1}"):
            site.main([str(tmp_path), "--serve", f"--port={port}"], standalone_mode=False)
    (tmp_path / ".buildinfo").write_text("of another site of Sphinx's")
    with pytest.raises(SiteError, match="something else"):
        build(tmp_path)


def test_who_stops_us_when_all_is_done_stops_nothing() -> None:
    at_the_end = "import atexit, os, signal; atexit.register(lambda: os.kill(os.getpid(), signal.SIGINT)); "
    words = [sys.executable, "-c", f"{at_the_end}from checker.commands.cli import main; main()", "--help"]
    done = ran(*words)
    assert (done.returncode, done.stderr) == (0, "") and "check" in done.stdout


def test_a_command_speaks_the_language_that_is_asked_for_and_json_does_not_change(tmp_path: Path) -> None:
    told = {}
    for language in ("en", "zh_CN.UTF-8"):
        path = tmp_path / f"{language}.json"
        done = run(*WRONG, "--json", str(path), LANGUAGE=language)
        told[language] = json.loads(path.read_text())
        assert done.returncode == 1 and "[sums-padded-lanes]" in done.stdout
        assert ("部分正确" in done.stdout) == (language != "en") == ("试试：" in done.stdout)
    one, two = (dict(verdict, runs=[dict(run, seconds=0) for run in verdict["runs"]]) for verdict in told.values())
    assert one == two and one["findings"][0]["title"] == "The padding is counted in the sum"


@pytest.mark.parametrize("arguments", ["predict p1", "check --help", "check nosuch", "hint p1 --again", "progress"])
def test_what_a_learner_types_is_answered_in_chinese(arguments: str) -> None:
    """All of it but names and what click says itself."""
    done = run(*arguments.split(), LANGUAGE="zh")
    lines = [line for line in (done.stdout + done.stderr).split("\n") if re.search("[a-z]{3} [a-z]{3}", line)]
    assert has_wide(done.stdout + done.stderr)
    assert not [
        line for line in lines if not has_wide(line) and not line.startswith(("Usage", "  make", "Error", "  -h"))
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_that_cannot_show_chinese_gets_english_and_a_sentence(encoding: str) -> None:
    done = run(*WRONG, LANGUAGE="zh", PYTHONIOENCODING=encoding)
    assert "partly right" in done.stdout and done.stderr.count("This terminal cannot show Chinese") == 1
