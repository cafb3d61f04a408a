"""progress.txt: what is noted and what is not, whatever the file holds, and whoever else writes it."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from checker import catalog
from checker.course import ladder
from checker.course.status import ExitStatus
from checker.learner.progress import ABOUT, NAME, Entry, Progress, changed, opened, parse, written
from tests.conftest import ROOT, ran
from tests.learner.conftest import STEMS, Course, solution_text, solved, stub_text

SOLVED_NOW = r"puzzle {}: solved \d{{4}}-\d\d-\d\d \d\d:\d\d, last accepted as [0-9a-f]{{12}}\n"
WHEN = st.datetimes().map(lambda t: f"{t.year:04}-{t.month:02}-{t.day:02} {t.hour:02}:{t.minute:02}")
NAMES = st.frozensets(st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True), max_size=3)
ENTRY = st.builds(
    lambda when, hints, names, others, *rest: Entry(
        when is not None, when or "", hints, names[0] - names[1], names[1], others[0] - others[1], others[1], *rest
    ),
    st.none() | st.just("") | WHEN,
    st.integers(0, 999),
    st.tuples(NAMES, NAMES),
    st.tuples(NAMES, NAMES),
    NAMES,
    st.integers(0, 999),
    st.just("") | st.from_regex(r"[0-9a-f]{12}", fullmatch=True),
    st.integers(0, 2),
)
IDS = st.from_regex(r"[a-z][1-9][0-9]{0,3}", fullmatch=True)
PROGRESS = st.dictionaries(IDS, ENTRY).map(Progress)


@given(PROGRESS)
def test_what_is_written_can_be_read(progress: Progress) -> None:
    assert parse(written(progress)) == (progress, 0)
    assert parse(written(progress).replace(b"\n", b"\r\n")) == (progress, 0)


def test_a_file_that_has_numbers_gets_ids_at_the_next_change(tmp_path: Path) -> None:
    numbered = ["puzzle 7: not solved, 1 hint seen", "puzzle 2: solved 2025-01-01 10:00"]
    old = "\n".join([ABOUT, *numbered, "puzzle p2: not solved, 3 hints seen"])
    (tmp_path / NAME).write_text(old)
    found = opened(tmp_path)
    assert (found.progress.of("p2"), found.remark) == (Entry(True, "2025-01-01 10:00", 3), "")
    assert (tmp_path / NAME).read_text() == old
    changed(lambda p: p.having("p3", Entry(True)), tmp_path)
    assert (tmp_path / NAME).read_text().split("\n")[1:] == [
        "puzzle p2: solved 2025-01-01 10:00, 3 hints seen",
        "puzzle p3: solved",
        "puzzle p7: not solved, 1 hint seen",
        "",
    ]


def test_the_ladders_order_is_that_of_the_file_and_of_what_comes_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here one in which no alphabet would find its way."""
    rungs = [ladder.Rung(id, "slug", "Title") for id in ("w1", "p1", "p2", "a1", "p10")]
    monkeypatch.setattr(ladder, "RUNGS", {rung.id: rung for rung in rungs})
    done = Progress(dict.fromkeys(("p10", "gone9", "a1", "p1", "w1"), Entry(True)))
    ids = [line.split()[1] for line in written(done).decode().splitlines()[1:]]
    assert ids == ["w1:", "p1:", "a1:", "p10:", "gone9:"]
    assert [done.next_open(after) for after in ("", "w1", "a1", "p2")] == ["p2", "p2", "p2", None]
    assert [Progress().next_open(after) for after in ("", "w1", "p2", "p10", "gone9")] == ["w1", "p1", "a1", "w1", "w1"]


@given(PROGRESS, st.lists(st.binary(min_size=1, max_size=30), max_size=5), st.randoms())
@example(Progress({"p1": Entry(True, "2025-01-01 10:00", 2)}), [b"\xff\xfe\0"], random.Random(0))
@example(Progress(), [b"puzzle p1: solved 2025-0"], random.Random(0))
def test_whatever_bytes_it_holds_what_can_be_read_is_kept(
    progress: Progress, junk: list[bytes], shuffle: random.Random
) -> None:
    lines = written(progress).splitlines()[1:] + [j.replace(b"\n", b"").replace(b"\r", b"") for j in junk]
    shuffle.shuffle(lines)
    data = b"\n".join([ABOUT.encode(), *lines])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(data)
        understood, lost = parse(data)
        first = opened(path.parent)
        assert first.progress == understood
        assert all(understood.of(id).hints >= e.hints for id, e in progress.entries.items())
        assert all(understood.of(id).solved >= e.solved for id, e in progress.entries.items())
        copies = [p.read_bytes() for p in path.parent.glob("*.bak*")]
        assert copies == ([data] if lost else [])
        assert bool(first.remark) == bool(lost)
        again = opened(path.parent)
        assert (again.progress, again.remark) == (first.progress, "")  # said once
        assert len(list(path.parent.glob("*.bak*"))) == len(copies)


@given(st.binary())
def test_any_bytes_at_all_are_a_start(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(data)
        opened(path.parent)
        changed(lambda p: p.having("p3", Entry(True, "2025-01-01 10:00")), path.parent)
        assert opened(path.parent).progress.of("p3").solved
        assert parse(path.read_bytes())[1] == 0


def test_an_earlier_backup_is_never_overwritten(tmp_path: Path) -> None:
    for content in (b"one\n?", b"two\n?"):
        (tmp_path / NAME).write_bytes(content)
        assert opened(tmp_path).remark
    assert (tmp_path / "progress.txt.bak").read_bytes() == b"one\n?"
    assert (tmp_path / "progress.txt.bak2").read_bytes() == b"two\n?"


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from checker.course import ladder
from checker.course.status import ExitStatus
from checker.learner.progress import changed

root, mine, times = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
for turn in range(times):
    for id in ("p1", mine):
        changed(lambda p: p.having(id, replace(p.of(id), hints=p.of(id).hints + 1)), root)
"""


def writer(root: Path, mine: str, times: int) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(root), mine, str(times)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout and child.stdout.readline() == b"ready\n"
    return child


def go(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin
    child.stdin.write(b"\n")
    child.stdin.flush()


def test_processes_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    others = ["p2", "p3", "p4", "p5", "p6"]
    writers = [writer(tmp_path, mine, 40) for mine in others]
    for child in writers:
        go(child)
    assert [child.wait(60) for child in writers] == [0] * len(writers)
    found = opened(tmp_path)
    assert (found.remark, found.progress.of("p1").hints) == ("", 40 * len(writers))
    assert [found.progress.of(mine).hints for mine in others] == [40] * len(writers)


def test_a_writer_that_is_killed_leaves_a_whole_file_and_no_lock(tmp_path: Path) -> None:
    changed(lambda p: p.having("p7", Entry(True, "2025-01-01 10:00")), tmp_path)
    for turn in range(8):
        child = writer(tmp_path, "p2", 100_000)
        go(child)
        time.sleep(random.uniform(0.0, 0.05))
        child.kill()
        child.wait()
        before = opened(tmp_path)
        assert (before.remark, before.progress.of("p7").solved) == ("", True)
        after = changed(lambda p, t=turn: p.having("p3", Entry(False, "", t + 1)), tmp_path)
        assert after.progress.of("p3").hints == turn + 1
    assert list(tmp_path.glob("*.bak*")) == []


def test_whoever_holds_the_file_for_long_is_not_waited_for(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import fcntl, sys; f = open({str(tmp_path / NAME)!r}, 'w'); fcntl.flock(f, 2); "
         "print('held', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout and holder.stdout.readline() == b"held\n"
    begun = time.monotonic()
    with pytest.raises(OSError, match="another process"):
        changed(lambda p: p.having("p1", Entry(True)), tmp_path)
    assert time.monotonic() - begun < 5
    holder.communicate(timeout=10)
    assert changed(lambda p: p.having("p1", Entry(True)), tmp_path).progress.of("p1").solved


def test_success_is_noted_once_and_the_next_file_is_named(course: Course) -> None:
    course.script("p1").write_text(solved("p1"))
    done = course.run("check", "1", "--no-compile")
    assert (done.returncode, done.stdout.rstrip().split("\n")[-1]) == (0, f"Next: puzzles/{STEMS['p2']}.py")
    assert re.fullmatch(SOLVED_NOW.format("p1"), course.progress)
    first = (course.root / NAME).read_text()
    assert first.startswith("#") and "make progress" in first.split("\n")[0]
    (course.root / NAME).write_text(re.sub(r"solved [-\d]+", "solved 2001-01-01", first))
    course.run("check", "1", "--no-compile")
    assert "solved 2001-01-01" in course.progress


BELIEVED = """
from checker.check import Conditions
from checker.learner.practice import outcome_of
verdict = outcome_of("p1", None, Conditions(targets=()), believing=True).verdict
print(verdict.accepted, len(verdict.runs))
"""


def test_a_text_that_was_accepted_is_believed_until_it_changes(course: Course) -> None:
    def believed() -> str:
        return ran(sys.executable, "-c", BELIEVED, cwd=course.root, env=course.environment()).stdout

    course.script("p1").write_text(solved("p1"))
    assert believed() == "True 1\n"
    assert believed() == "True 0\n"
    course.script("p1").write_text(solved("p1").replace("tl.exp(", "2.0 * tl.exp(", 1).replace("sum(", "sum(0.5 * "))
    assert believed().endswith(" 1\n")
    course.script("p1").write_text(solved("p1"))
    assert believed() == "True 0\n"
    course.script("p1").write_text(solved("p1") + "\n# another text\n")
    assert believed() == "True 1\n"
    assert (course.progress.count("accepted"), course.progress.count("puzzle")) == (1, 1)


def test_a_notebook_counts_and_is_followed_by_a_notebook(course: Course) -> None:
    course.notebook("p1").write_text(
        course.notebook("p1").read_text().replace("    # FILL IN (roughly 5 lines)", body("p1"))
    )
    done = course.run("check", "1", "--no-compile", "--file", f"notebooks/{ladder.numbered('p1')}.ipynb")
    assert done.stdout.rstrip().endswith(f"Next: notebooks/{ladder.numbered('p2')}.ipynb")
    assert re.fullmatch(SOLVED_NOW.format("p1"), course.progress)


def body(puzzle_id: str) -> str:
    """What the solution adds to the stub, as it stands in a notebook's JSON."""
    [kernel] = solution_text(puzzle_id).split("\n\n\n", 1)[1:]
    return kernel[kernel.index("    mask") :].rstrip().replace('"', '\\"').replace("\n", "\\n")


def test_the_own_file_is_known_by_any_name(course: Course) -> None:
    course.script("p1").write_text(solved("p1"))
    (course.root / "link.py").symlink_to(course.script("p1"))
    course.run("check", "1", "--no-compile", "--file", "../link.py", cwd=course.root / "puzzles")
    assert "puzzle p1: solved" in course.progress


@pytest.mark.parametrize("case", ["another file", "a key", "refused", "not started"])
def test_what_is_not_noted(case: str, course: Course) -> None:
    text, arguments = solved("p1"), ["check", "1", "--no-compile"]
    if case == "another file":
        (course.root / "mine.py").write_text(text)
        arguments += ["--file", "mine.py"]
    elif case == "a key":
        course.script("p1").write_text(text)
        arguments += ["--key", "secret", "--unsafe-no-sandbox"]
    elif case == "refused":
        course.script("p1").write_text(text.replace("/ denominator", "/ (denominator + 1)"))
    done = course.run(*arguments, ends={"refused": 1, "not started": 4}.get(case, 0))
    assert not (course.root / NAME).exists()
    assert ("Next:" in done.stdout) == (case == "another file")


def test_all_puzzles_at_once_are_noted(course: Course) -> None:
    before = ("w1", "p1", "p2")
    for puzzle_id in before:
        course.script(puzzle_id).write_text(solved(puzzle_id))
    assert course.run("check", "--no-compile").returncode == ExitStatus.NOT_STARTED
    assert re.fullmatch("".join(SOLVED_NOW.format(puzzle_id) for puzzle_id in before), course.progress)
    course.script("p3").write_text(solved("p3"))
    (course.root / NAME).write_bytes(written(Progress({i: Entry(i != "p3", "") for i in STEMS})))
    done = course.run("check", "3", "--no-compile")
    assert "all puzzles are solved" in done.stdout and "Next:" not in done.stdout
    assert f"{len(STEMS)} of {len(STEMS)} puzzles solved" in course.run("progress").stdout


@pytest.mark.parametrize("obstacle", ["read-only folder", "a folder in its place", "a pipe in its place"])
def test_a_check_succeeds_where_nothing_can_be_noted(obstacle: str, course: Course) -> None:
    course.script("p1").write_text(solved("p1"))
    if obstacle == "read-only folder":
        course.root.chmod(0o555)
    elif obstacle == "a folder in its place":
        (course.root / NAME).mkdir()
    else:
        os.mkfifo(course.root / NAME)
    done = course.run("check", "1", "--no-compile")
    hint, hint_again = course.run("hint", "1"), course.run("hint", "1")
    course.root.chmod(0o755)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.rstrip().endswith(f"Next: puzzles/{STEMS['p2']}.py")
    assert "By the way" not in done.stdout or obstacle != "read-only folder"
    assert "hint 1 of 3" in hint.stdout and "hint 1 of 3" in hint_again.stdout
    assert "is not counted" in hint.stderr and "One more" not in hint.stdout
    assert not (course.root / NAME).is_file()


def test_damage_is_told_once_and_what_can_be_read_is_kept(course: Course) -> None:
    content = f"{ABOUT}\npuzzle p1: solved 2025-01-01 10:00\npuzzle p2: sol\0\0\npuzzle p3: not solved, 2 hints seen\n"
    (course.root / NAME).write_text(content)
    first, second = course.run("progress"), course.run("progress")
    assert (first.returncode, second.returncode, second.stderr) == (0, 0, "")
    assert "a line could not be read" in first.stderr and "progress.txt.bak" in first.stderr
    assert (course.root / "progress.txt.bak").read_text() == content
    assert course.progress == "puzzle p1: solved 2025-01-01 10:00\npuzzle p3: not solved, 2 hints seen\n"
    assert first.stdout == second.stdout and f"1 of {len(STEMS)} puzzles solved" in first.stdout


def test_a_check_tells_of_damage_in_its_report(course: Course) -> None:
    (course.root / NAME).write_text("nonsense\n")
    course.script("p1").write_text(solved("p1"))
    done = course.run("check", "1", "--no-compile")
    assert done.returncode == 0 and "progress.txt.bak" in done.stdout
    assert "progress.txt.bak" not in course.run("check", "1", "--no-compile").stdout


BESIDE = [rung for rung in ladder.LADDER if rung.helps]


def test_the_table_shows_it_all_in_40_columns(course: Course) -> None:
    order = sorted(STEMS, key=lambda id: id not in ladder.SPINE)
    first, second, third, *_ = order
    reached = f"puzzle {first}: solved 2025-01-01 10:00, 2 hints seen\npuzzle {second}: solved\n"
    (course.root / NAME).write_text(f"{ABOUT}\n{reached}")
    done = course.run("progress", COLUMNS="40")
    assert all(len(line) <= 40 for line in done.stdout.split("\n"))
    rows = [line for line in done.stdout.split("\n") if re.match("[✓○]", line)]
    assert [row[0] for row in rows] == ["✓", "✓", *"○" * (len(STEMS) - 2)]
    assert [row.split()[1] for row in rows] == order and all(
        one.helps in " ".join(done.stdout.split()) for one in BESIDE
    )
    hints, predictions = "2 of 3", f"0 of {len(catalog.load(first).questions)}"
    assert "2025-01-01" in rows[0] and re.search(rf" {hints} +{predictions}$", rows[0])
    assert done.stdout.rstrip().endswith(f"puzzles/{STEMS[third]}.py")
    assert "\x1b" not in done.stdout


def test_what_goes_on_in_the_next_line_is_as_far_in(course: Course) -> None:
    shown = course.run("progress", COLUMNS="60").stdout
    assert re.search(r"\n {2}before p1, if strides or sums \w* *\n {2}\w+", shown)


def test_it_can_be_asked_from_anywhere(course: Course) -> None:
    done = course.run("progress", cwd=course.root / "checker")
    assert done.returncode == 0 and str(course.script(next(iter(STEMS)))) in done.stdout


def test_make_clean_and_git_leave_it_alone() -> None:
    ignored = (ROOT / ".gitignore").read_text().split("\n")
    assert {"/progress.txt", "*.bak", "*.bak[0-9]*"} <= set(ignored)
    assert "progress" not in (ROOT / "Makefile").read_text().partition("\nclean:")[2].partition("\n\n")[0]


def test_the_stub_texts_of_these_tests_are_stubs() -> None:
    assert all("FILL IN" in stub_text(puzzle_id) and "FILL IN" not in solved(puzzle_id) for puzzle_id in STEMS)
