"""Predictions: every lesson asks, the learner's own accepted kernel answers, and the first guess is kept."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.check import Outcome, program_of
from checker.check.linking import linked
from checker.course import places
from checker.course.lesson import script_cells
from checker.course.puzzle import Puzzle
from checker.course.question import Question, value
from checker.course.status import Misuse
from checker.course.verdict import Status, Verdict
from checker.learner import predict
from checker.learner.predict import Answer, guesses_of, said_in
from checker.learner.progress import _LINE, Entry
from checker.submission.read import from_cells
from tests.conftest import LINKED, importable
from tests.kernels import kernels, named
from tests.learner.conftest import STEMS, Course, solution_text, solved
from tests.notebook.test_notebook import Kernel

every_puzzle = pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())

# Each number once more, from the sizes that the question names. Nothing here is measured.
TRIANGLE_8 = sum(range(1, 9))
RIGHT: dict[str, dict[str, float]] = {
    "w1": {"programs": math.ceil(1000 / 256), "idle_lanes": math.ceil(1000 / 256) * 256 - 1000, "x_reads": 1},
    "w2": {"idle_lanes": 3 * (8 - 5), "total": 2048 + 1000},
    "w3": {"idle_lanes": 3 * 3 * 2 * 4 - 5 * 10, "unwritten": (10 - 2 * 4) * 5, "programs": 2 * 3},
    "p1": {"y_0": 1 / 5, "idle_lanes": 2048 - 1025, "x_reads": 1},
    "p2": {"x_reads": 3, "y_0": 1 / (1 + math.e + math.e**2)},
    "p3": {"x_reads": 2, "y_5": 1 / 2},
    "p4": {"programs": math.ceil(5 / 4), "x_reads": 2, "idle_lanes": 2 * 4 * 3 * 4 - 5 * 10},
    "a1": {"a_reads": 32 / 16, "b_reads": 48 / 16, "multiply_adds": 48 * 32 * (math.ceil(40 / 16) * 16)},
    "a2": {"tiles": TRIANGLE_8, "tiles_late": 5 + 6 + 7 + 8, "largest": 256 * 16},
    "a3": {"k_reads": 2 * 64 / 16, "v_reads": 64 / 16, "k_reads_wide": 2 * 64 / 16},
    "p5": {"k_reads": 1, "o_writes": 64 / 32, "q_reads": 64 / 32},
    "p6": {"k_reads": 64 / 16, "k_reads_causal": (1 + 2 + 3 + 4) / 4, "k_reads_tall": (2 + 4) / 4},
    "a4": {"tiles": TRIANGLE_8, "tiles_tall": 2 + 4 + 6 + 8, "largest": 256 * 16},
    "c1": {"launches": 4, "programs": 4 * 2 * 3 * math.ceil(200 / 64)},
    "b1": {"full_reads": 1, "key_reads": 2 * 64 / 16, "q_reads": 64 / 16},
    "p7": {"k_reads": (2 + 4) / 4, "q_reads": (2 + 2 + 1 + 1) / 2, "products": 4 * (2 + 2 + 1 + 1)},
    "b2": {"k_reads": 64 / 16, "q_reads": 64 / 16, "products": 4 * (64 // 16) ** 2},
    "b3": {"q_reads": 4, "products": 2 * (2 + 2 + 2 + 1), "merged_lse": 3 + math.log(4)},
}


def outcome_of(puzzle: Puzzle, text: str) -> Outcome:
    """As of a check that accepts it, without one."""
    submission = from_cells([("code", text)], "")
    verdict, program = Verdict(puzzle.id, "", Status.ACCEPTED, ()), program_of(submission, puzzle.kernels)[0]
    return Outcome(verdict, submission, program, linked=tuple(linked(puzzle.id, LINKED)))


def answers(puzzle: Puzzle, text: str) -> dict[str, Answer]:
    everything = dict.fromkeys((question.name for question in puzzle.questions), 7.5)
    return {a.question.name: a for a in predict.answered(puzzle, outcome_of(puzzle, text), everything)}


@every_puzzle
def test_every_puzzle_has_questions_with_names_that_are_keywords(puzzle_id: str) -> None:
    questions = catalog.load(puzzle_id).questions
    names = [question.name for question in questions]
    assert len(names) >= 2 and len({*names}) == len(names)
    for question in questions:
        ast.parse(f"f({question.name}=1)")
        assert _LINE.fullmatch(f"puzzle p1: not solved, right about {question.name}, wrong about {question.name}")
        assert question.asks.rstrip(".0123456789,· =").count("?") == 1 and question.reason.endswith(".")
        assert ". " not in question.reason, "one sentence"


@every_puzzle
def test_the_lesson_asks_what_the_judge_answers(puzzle_id: str) -> None:
    """In the cell, above it in words, and in what is typed in a terminal: in the same order."""
    cells = script_cells(places.script(puzzle_id).read_text(encoding="utf-8"))
    [at] = [n for n, (kind, text) in enumerate(cells) if kind == "code" and "\npredict(" in text]
    names = [question.name for question in catalog.load(puzzle_id).questions]
    call = ast.parse(cells[at][1]).body[-1]
    assert isinstance(call, ast.Expr) and isinstance(call.value, ast.Call)
    assert [ast.literal_eval(argument) for argument in call.value.args] == [puzzle_id]
    assert [keyword.arg for keyword in call.value.keywords] == names
    assert all(ast.literal_eval(keyword.value) is ... for keyword in call.value.keywords)
    kind, above = cells[at - 1]
    assert kind == "markdown" and "## Experiments" in above
    assert re.findall(r"^\* `(\w+)`:", above, re.MULTILINE) == names
    assert f'make predict PUZZLE={puzzle_id} GUESS="{" ".join(f"{name}=..." for name in names)}"' in above


@pytest.mark.finished
@pytest.mark.parametrize("puzzle_id", STEMS)
def test_the_solution_gives_the_number_that_the_sizes_give(puzzle_id: str) -> None:
    found = answers(catalog.load(puzzle_id), solution_text(puzzle_id))
    assert list(found) == list(RIGHT[puzzle_id])
    for name, answer in found.items():
        right = RIGHT[puzzle_id][name]
        assert answer.own == pytest.approx(right, rel=1e-6), name
        assert answer.question.course in (None, answer.own), name
        guesses = right, right + 1, right / 2, round(right, 4)
        assert [Answer(answer.question, guess, answer.own).right for guess in guesses] == [True, False, False, True]


OTHERS = {  # right kernels that do something else than the course's solution
    "a3_one_pass": {"k_reads": 4, "k_reads_wide": 4},
    "p2_online_in_two_sweeps": {"x_reads": 2},
    "p3_last_block_kept": {"x_reads": 1},
    "a4_einsum": {},  # it adds up delta as a product
    "p2_pointers_advance": {},
}


@pytest.mark.parametrize("kernel", kernels("right"), ids=lambda kernel: kernel.name)
def test_other_right_kernels_differ_only_where_the_bounds_leave_a_choice(kernel: Any) -> None:
    """Else the reason would be false of them; and then the course's number is said, too."""
    puzzle = catalog.load(kernel.puzzle)
    found = answers(puzzle, kernel.text)
    differ = {n: a.own for n, a in found.items() if a.own != pytest.approx(RIGHT[puzzle.id][n], rel=1e-5)}
    assert all(found[name].question.course is not None for name in differ)
    assert differ == OTHERS.get(kernel.name, differ)
    for answer in found.values():
        text = " ".join(line.text for line in predict.shown(puzzle, [answer], None))
        both = f"it is {predict.number(answer.own)}. In the course's solution it is" in text
        assert both == (answer.question.name in differ) and answer.question.reason in text


def test_a_launch_that_fails_is_a_sentence() -> None:
    failing = {"p1_no_division": "fails in this question's launch: five sevens", "w1_counts_from_one": "fails"}
    for name, sentence in failing.items():
        kernel = named(name)
        with pytest.raises(Misuse, match=sentence):
            answers(catalog.load(kernel.puzzle), kernel.text)


def _asks(own: float) -> Callable[[float], bool]:
    question = Question("y", "?", catalog.load("p1").questions[0].launch, value("y_ptr", 0, 0), "")
    return lambda guess: Answer(question, guess, own).right


@pytest.mark.parametrize(
    ("own", "right", "wrong"),
    [
        (36.8806, [36.88, 36.8806, 36.881], [36.9, 36.87, 37]),
        (0.0900306, [0.09, 0.0900, 0.09003], [0.0902, 0.1, 0]),
        (2.5, [2.5], [2, 3, 2.6, 2.502]),
        (73728, [73728], [73727, 73700, 73728.5]),
        (3, [3, 3.0], [3.001, 2.999]),
        (0, [0], [0.001, -1]),
        (float(np.float32(0.2)), [0.2, 1 / 5], [0.125, 0.201]),
    ],
)
def test_a_number_is_right_as_far_as_it_is_shown(own: float, right: list[float], wrong: list[float]) -> None:
    is_right = _asks(own)
    assert [is_right(guess) for guess in right + wrong] == [True] * len(right) + [False] * len(wrong)
    assert is_right(float(predict.number(own)))


@pytest.mark.parametrize(
    ("words", "guesses"),
    [
        (["k_reads=4"], {"k_reads": 4}),
        (["k_reads=4 o_writes=2"], {"k_reads": 4, "o_writes": 2}),
        (["k_reads", "=", "5/2,", "o_writes= 1e1"], {"k_reads": 2.5, "o_writes": 10}),
        (["q_reads=1,024"], {"q_reads": 1024}),
        (["q_reads=...", "k_reads=-1"], {"q_reads": None, "k_reads": -1}),
        ([], {"k_reads": None, "o_writes": None, "q_reads": None}),
    ],
)
def test_guesses_are_read_as_they_are_meant(words: list[str], guesses: dict[str, float | None]) -> None:
    assert guesses_of(catalog.load("p5"), said_in(words)) == guesses


NO_NUMBERS = ["k_reads=x", "k_reads=nan", "k_reads=inf", "k_reads=1/0", "k_reads=4=4", "k_reads=1e999", "k_reads=1/2/3"]
NO_NAMES = ["4", "k_reads=", "=4", "k_reads 4", "reads=4", "K_reads=4", "k_reads=\x1b[2J"]


@pytest.mark.parametrize("words", [*NO_NUMBERS, *NO_NAMES])
def test_junk_is_a_sentence(words: str) -> None:
    with pytest.raises(Misuse, match=r"is not a number|is not a guess|has no question") as misuse:
        guesses_of(catalog.load("p5"), said_in([words]))
    assert "\x1b" not in str(misuse.value)


@pytest.mark.parametrize(
    "guess", [True, "four", [4], {"a": 1}, float("inf"), None, ..., 4, 2.5, np.float32(2.5), "5/2"]
)
def test_what_a_notebook_gives_is_a_number_or_a_sentence(guess: object) -> None:
    try:
        found = guesses_of(catalog.load("p5"), {"k_reads": guess})
    except Misuse:
        assert guess in (True, "four", [4], {"a": 1}, float("inf"))
    else:
        assert found == {"k_reads": {4: 4.0, 2.5: 2.5, "5/2": 2.5}.get(guess)}  # type: ignore[call-overload]


def test_questions_in_a_terminal_need_no_kernel(course: Course) -> None:
    for arguments in (["5"], ["p5", "k_reads=...", "o_writes=...", "q_reads=..."]):
        done = course.run("predict", *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert all(question.asks in done.stdout for question in catalog.load("p5").questions)
        assert 'make predict PUZZLE=p5 GUESS="k_reads=... o_writes=... q_reads=..."' in done.stdout
    assert course.progress == ""


def test_the_first_guess_is_kept_and_shown(course: Course) -> None:
    course.script("p5").write_text(solved("p5"))
    first = course.run("predict", "5", "k_reads=4", "o_writes=2")
    assert (first.returncode, first.stderr) == (0, "")
    assert "You said 4. In your kernel it is 1." in first.stdout and "✓ You said 2." in first.stdout
    assert "outer loop" in first.stdout and "Right at the first guess: 1 of 3." in first.stdout
    kept = "puzzle p5: not solved, right about o_writes, wrong about k_reads\n"
    assert course.progress == kept
    again = course.run("predict", "p5", "k_reads=1")
    assert (again.returncode, course.progress) == (0, kept)
    assert "✓ You said 1." in again.stdout and "1 of 3" in again.stdout
    course.run("predict", "p5", "q_reads=2")
    rows = course.run("progress").stdout.splitlines()
    assert rows[0].split() == ["solved", "hints", "predicted"]
    assert [row.split()[-3:] for row in rows if " p5 " in row] == [["2", "of", "3"]]
    assert [row.split()[-3:] for row in rows if " w2 " in row] == [["0", "of", "2"]]


def test_what_is_open_is_asked_beside_the_answers(course: Course) -> None:
    course.script("p2").write_text(solved("p2"))
    shown = course.run("predict", "p2", "x_reads=1", "y_0=...").stdout
    asks = [question.asks for question in catalog.load("p2").questions]
    assert shown.index(asks[0]) < shown.index("it is 3.") < shown.index(asks[1])
    assert 'GUESS="y_0=..."' in shown and "y_0" not in course.progress


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["p5", "z=1"], "Puzzle p5 has no question 'z'. It has: k_reads, o_writes, q_reads."),
        (["p5", "k_reads=x"], "k_reads=x is not a number"),
        (["p5", "4"], "'4' is not a guess"),
        (["x9", "k_reads=4"], "There is no puzzle 'x9'"),
        ([], "Say which puzzle: make predict PUZZLE=p1"),
        (["p5", "k_reads=4", "--file", "nowhere.py"], "nowhere.py"),
    ],
)
def test_misuse_is_a_sentence_and_status_2(arguments: list[str], sentence: str, course: Course) -> None:
    done = course.run("predict", *arguments)
    assert (done.returncode, sentence in done.stderr, done.stdout) == (2, True, "")
    assert course.progress == ""


def test_only_an_accepted_kernel_answers(course: Course) -> None:
    """And nothing is held against whose check was not asked for: no question of a report is used up."""
    for text, status in ((None, 4), (named("p1_no_division").text, 1), ("def (", 1)):
        if text is not None:
            course.script("p1").write_text(text)
        done = course.run("predict", "p1", "y_0=.2")
        assert (done.returncode, done.stderr) == (status, "")
        assert "Only an accepted kernel can answer" in done.stdout and "\n  ./check p1\n" in done.stdout
        assert course.progress == ""


def test_a_file_elsewhere_answers_and_nothing_is_noted(course: Course) -> None:
    mine = course.root / "mine.py"
    mine.write_text(solved("p1"))
    done = course.run("predict", "p1", "y_0=.2", "--file", "mine.py")
    assert done.returncode == 0 and "✓ You said 0.2000." in done.stdout and "first guess" not in done.stdout
    assert course.progress == ""


def test_a_folder_that_cannot_be_written_to_is_told(course: Course) -> None:
    course.script("p1").write_text(solved("p1"))
    course.root.chmod(0o555)
    done = course.run("predict", "p1", "y_0=.2")
    course.root.chmod(0o755)
    assert done.returncode == 0 and "✓ You said" in done.stdout and "cannot be noted" in done.stdout


def test_without_pytorch_it_says_what_installs_it(course: Course) -> None:
    importable("torch")
    hidden = course.root / "hidden"
    hidden.mkdir()
    hook = "import importlib.util as u\nfound = u.find_spec\n"
    hook += "u.find_spec = lambda n, p=None: None if n == 'torch' else found(n, p)\n"
    (hidden / "sitecustomize.py").write_text(hook)
    course.script("a2").write_text(solved("a2"))
    path = f"{course.root}:{hidden}"
    done = course.run("predict", "a2", "tiles=36", PYTHONPATH=path)
    assert (done.returncode, "make torch" in done.stderr) == (2, True)
    assert course.run("predict", "a2", PYTHONPATH=path).returncode == 0  # questions need none


def test_of_questions_that_are_gone_none_is_counted() -> None:
    entry = Entry(right=frozenset({"y_0", "gone"}), wrong=frozenset({"x_reads"}))
    assert predict.right_at_first(catalog.load("p1"), entry) == "1 of 3"


@pytest.fixture
def cell(course: Course, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    """A kernel as a front end starts it for a notebook of the course."""
    manager = importable("jupyter_client.manager")
    for name in ("JPY_SESSION_NAME", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(course.root))
    kernel, client = manager.start_new_kernel(cwd=str(course.root / "notebooks"))
    yield Kernel(client)
    client.stop_channels()
    kernel.shutdown_kernel(now=True)


@pytest.mark.parametrize(("puzzle_id", "said"), [("p5", "k_reads=4, o_writes=2"), ("a2", 'tiles=36, largest="1024"')])
def test_a_notebook_says_what_a_terminal_says(puzzle_id: str, said: str, course: Course, cell: Kernel) -> None:
    course.script(puzzle_id).write_text(solved(puzzle_id))
    typed = course.run("predict", puzzle_id, *said.replace('"', "").split(", ")).stdout
    kept = course.progress
    (course.root / "progress.txt").unlink()
    cell(solution_text(puzzle_id))
    cell("from checker.notebook import predict")
    shown = cell(f"predict({puzzle_id!r}, {said})")["text/plain"]
    assert shown.split() == typed.split()
    assert course.progress == kept != ""


def test_every_lessons_cell_runs_as_it_stands(cell: Kernel) -> None:
    """After a restart, with nothing filled in; a traceback would fail the test."""
    for puzzle_id in STEMS:
        cells = script_cells(places.script(puzzle_id).read_text(encoding="utf-8"))
        [text] = [text for kind, text in cells if kind == "code" and "\npredict(" in text]
        shown = " ".join(cell(text)["text/plain"].split())
        assert all(" ".join(question.asks.split()) in shown for question in catalog.load(puzzle_id).questions)


def test_misuse_in_a_notebook_is_a_sentence(cell: Kernel) -> None:
    cell("from checker.notebook import predict")
    wrong = {"'p5', z=1": "has no question 'z'", "'p5', k_reads=True": "is not a number", "9": "There is no puzzle 9"}
    for arguments, sentence in wrong.items():
        shown = cell(f"predict({arguments})")["text/plain"]
        assert sentence in shown and "failed" not in shown
    assert 'check("p5")' in cell("predict(5, k_reads=1)")["text/plain"]


def test_outside_of_a_notebook_it_says_what_to_type() -> None:
    from checker.notebook import predict as from_a_cell

    assert "make predict PUZZLE=p5" in repr(from_a_cell("p5", k_reads=4))
