"""The learner's commands as they are typed: misuse, help, the solution behind its gate."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys

import pytest

from tests.learner.conftest import STEMS, Course, obey_permissions, solution_text, solved

VERBS = ["hint", "predict", "progress", "solution", "reset", "watch"]


def seen_on_a_terminal(course: Course, *arguments: str, **environment: str) -> tuple[int, str]:
    """Exit status, and what a terminal is sent."""
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "checker", *arguments],
        cwd=course.root,
        env=course.environment(TERM="xterm-256color", **environment),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    sent = b""
    while True:
        try:
            sent += os.read(ours, 65536)
        except OSError:  # the terminal is closed: it has ended
            break
    os.close(ours)
    return child.wait(30), sent.decode()


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(verb: str, course: Course) -> None:
    done = course.run(verb, "--help", COLUMNS="40")
    assert (done.returncode, "Usage:" in done.stdout) == (0, True)
    assert re.search(rf"^ +{verb} ", course.run("--help").stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["hint"], "Say which puzzle: make hint PUZZLE=p1"),
        (["solution"], "Say which puzzle: make solution PUZZLE=p1"),
        (["reset"], "Say which puzzle: make reset PUZZLE=p1"),
        (["hint", "99"], "There is no puzzle '99'"),
        (["solution", "0"], "There is no puzzle '0'"),
        (["reset", "one"], "There is no puzzle 'one'"),
        (["watch", "9" * 5000], "There is no puzzle"),
        (["reset", "1", "--file", "solutions/p1_naive_softmax.py"], "is no file of puzzle p1"),
        (["reset", "2", "--file", "puzzles/p1_naive_softmax.py"], "is no file of puzzle p2"),
        (["progress", "1"], "unexpected extra argument"),
        (["hint", "1", "--fast"], "--fast"),
    ],
    ids=lambda value: "-".join(value)[:20] if isinstance(value, list) else "",
)
def test_misuse_is_a_sentence_and_status_2(arguments: list[str], sentence: str, course: Course) -> None:
    done = course.run(*arguments)
    assert (done.returncode, sentence in done.stderr, done.stdout) == (2, True, "")
    assert not (course.root / "progress.txt").exists()


def test_the_solution_opens_after_success(course: Course) -> None:
    done = course.run("solution", "1")
    assert done.returncode == 1
    assert "opens once yours is accepted" in done.stdout and "tl.load" not in done.stdout
    course.script("p1").write_text(solved("p1"))
    assert course.run("check", "1", "--no-compile").returncode == 0
    done = course.run("solution", "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, solution_text("p1"), "")
    assert course.run("solution", "2").returncode == 1


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_force_opens_it_and_a_pipe_gets_the_file_as_it_is(puzzle_id: str, course: Course) -> None:
    done = course.run("solution", puzzle_id, "--force", COLUMNS="40")
    assert (done.returncode, done.stdout) == (0, solution_text(puzzle_id))


def test_a_terminal_gets_colours_unless_it_wants_none(course: Course) -> None:
    status, sent = seen_on_a_terminal(course, "solution", "1", "--force")
    assert status == 0 and re.search(r"\x1b\[[0-9;]*3\d", sent)
    status, sent = seen_on_a_terminal(course, "solution", "1", "--force", NO_COLOR="1")
    assert status == 0 and not re.search(r"\x1b\[[0-9;]*(3|4|9|10)\d", sent)
    words = re.sub(r"\x1b\[[0-9;]*m|\s", "", sent)
    assert words == re.sub(r"\s", "", solution_text("p1"))


@pytest.mark.parametrize("verb", ["hint", "progress", "solution", "reset"])
def test_no_color_is_respected(verb: str, course: Course) -> None:
    _, sent = seen_on_a_terminal(course, verb, *([] if verb == "progress" else ["1"]), NO_COLOR="1")
    assert sent and not re.search(r"\x1b\[[0-9;]*(3|4|9|10)\d", sent)


def test_a_copy_without_solutions_says_so(course: Course) -> None:
    shutil.rmtree(course.root / "solutions")
    for arguments in (["solution", "1"], ["solution", "1", "--force"]):
        done = course.run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert "has no solution of puzzle p1" in done.stderr


def test_these_tests_do_obey_permissions(course: Course) -> None:
    course.root.chmod(0o555)
    done = subprocess.run(
        ["touch", "x"], cwd=course.root, preexec_fn=obey_permissions, capture_output=True, check=False
    )
    course.root.chmod(0o755)
    assert done.returncode == 1
