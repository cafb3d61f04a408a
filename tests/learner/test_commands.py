"""The learner's commands as they are typed: misuse, help, the solution behind its gate."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys

import pytest

from tests.learner.conftest import STEMS, Course, obey_permissions, solution_text, solved, walk_through

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
        *(([verb], f"Say which puzzle: make {verb} PUZZLE=p1") for verb in ("step", "trace", "compiled", "bench")),
        (["hint", "99"], "There is no puzzle '99'"),
        (["solution", "0"], "There is no puzzle '0'"),
        (["reset", "one"], "There is no puzzle 'one'"),
        (["watch", "9" * 5000], "There is no puzzle"),
        (["reset", "1", "--file", "solutions/p1_naive_softmax.py"], "is not a file of puzzle p1"),
        (["reset", "2", "--file", "puzzles/p1_naive_softmax.py"], "is not a file of puzzle p2"),
        (["progress", "1"], "unexpected extra argument"),
        (["hint", "1", "--fast"], "--fast"),
    ],
    ids=lambda value: "-".join(value)[:20] if isinstance(value, list) else "",
)
def test_misuse_is_a_sentence_and_status_2(arguments: list[str], sentence: str, course: Course) -> None:
    done = course.run(*arguments)
    assert (done.returncode, sentence in done.stderr, done.stdout) == (2, True, "")
    assert not (course.root / "progress.txt").exists()


@pytest.mark.parametrize("verb", ["check", "step", "trace", "bench"])
def test_who_has_written_the_notebook_is_told_how_to_check_that(verb: str, course: Course) -> None:
    notebook = course.notebook("p1")
    notebook.write_text(notebook.read_text().replace("(roughly 5 lines)", r"(roughly 5 lines)\n    x = 1"))
    done = course.run(verb, "p1", ends=4)
    assert f"./check p1 --file notebooks/{notebook.name}" in done.stdout


def test_the_solution_opens_after_success(course: Course) -> None:
    done = course.run("solution", "1", ends=1)
    assert "opens once yours is accepted" in done.stdout and "make solution PUZZLE=p1 FORCE=1" in done.stdout
    assert not any(text in done.stdout for text in ("tl.load", "part by part"))
    course.script("p1").write_text(solved("p1"))
    assert course.run("check", "1", "--no-compile").returncode == 0
    done = course.run("solution", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert solution_text("p1") in done.stdout and walk_through("p1") in done.stdout
    assert course.run("solution", "2").returncode == 1


def test_the_page_ends_with_facts(course: Course) -> None:
    def end() -> list[str]:
        return course.run("solution", "1", "--force").stdout.rstrip("\n").split("\n")[-3:]

    own = f"puzzles/{STEMS['p1']}.py"
    assert end() == ["You have seen 0 of 3 hints.", "Your own is not accepted yet:", f"  {own}"]
    (course.root / "progress.txt").write_text("# all\npuzzle p1: solved, 2 hints seen\n")
    assert end() == ["You have seen 2 of 3 hints.", "Next:", f"  puzzles/{STEMS['p2']}.py"]
    (course.root / "progress.txt").write_text("# all\n" + "".join(f"puzzle {one}: solved\n" for one in STEMS))
    assert end()[1:] == ["You have seen 0 of 3 hints.", "All puzzles are solved."]


def test_a_report_of_success_names_the_walk_through_where_it_can_be_read(course: Course) -> None:
    course.script("p1").write_text(solved("p1"))
    mine = course.root / "mine.py"
    mine.write_text(solved("p1"))
    says = "The solution: make solution PUZZLE=p1\nNext: "
    check = ("check", "1", "--no-compile")
    assert says not in course.run(*check, "--file", "mine.py").stdout  # which is no success on record
    assert says in course.run(*check).stdout
    assert says in course.run(*check, "--file", "mine.py").stdout
    (course.root / "solutions" / f"{STEMS['p1']}.md").unlink()
    done = course.run(*check).stdout
    assert "explained" not in done and "Next: " in done
    done = course.run("solution", "1").stdout
    assert done.startswith(solution_text("p1")) and "Next:" in done and "part by part" not in done


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_force_opens_it_and_a_pipe_gets_both_files_as_they_are(puzzle_id: str, course: Course) -> None:
    done = course.run("solution", puzzle_id, "--force", COLUMNS="40", ends=0)
    assert done.stdout.startswith(f"{solution_text(puzzle_id)}\n{walk_through(puzzle_id)}\n")


@pytest.mark.parametrize("puzzle_id", STEMS)
def test_a_terminal_of_80_columns_shows_a_walk_through_whole(puzzle_id: str, course: Course) -> None:
    _, sent = seen_on_a_terminal(course, "solution", puzzle_id, "--force", NO_COLOR="1", COLUMNS="80")
    words = re.sub(r"\x1b\[[0-9;]*m|[\s•─*`|#-]", "", sent)
    assert "partbypart" in words and "Theonethingtoread" in words
    assert "…" not in words.replace("10,11,…,19", "")  # a cell of a table, cut off


def test_a_terminal_gets_colours_unless_it_wants_none(course: Course) -> None:
    status, sent = seen_on_a_terminal(course, "solution", "1", "--force")
    assert status == 0 and re.search(r"\x1b\[[0-9;]*3\d", sent)
    status, sent = seen_on_a_terminal(course, "solution", "1", "--force", NO_COLOR="1")
    assert status == 0 and not re.search(r"\x1b\[[0-9;]*(3|4|9|10)\d", sent)
    words = re.sub(r"\x1b\[[0-9;]*m|[\s┏━┓┃┗┛]", "", sent)  # rich before 14.1 draws a frame around the heading
    code = re.sub(r"\s", "", solution_text("p1"))
    assert words.startswith(code + "Puzzlep1:thesolution,partbypart") and "```" not in words


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
