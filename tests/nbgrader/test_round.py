"""A round does what nbgrader's commands do one by one, and says who needs a human: with a class of every kind."""

from __future__ import annotations

import csv
import errno
import fcntl
import json
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from nbgrader.api import Gradebook

from checker.commands.cli import cli
from checker.commands.rounds import moment
from checker.course import places
from checker.course.language import CHINESE, speaking
from checker.course.status import Ended, Misuse
from checker.grading import settings
from checker.nbgrader.feedback import SECRET
from tests.conftest import ROOT, SOLUTION
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, Notebook, copied, filled

WRONG = RIGHT.replace("numerator / denominator", "numerator")


def big(notebook: Notebook) -> None:
    """A right kernel in a notebook of 30 MB, nearly all of them outputs."""
    filled(RIGHT)(notebook)
    code = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    code["outputs"] = [{"output_type": "stream", "name": "stdout", "text": [f"{'x' * 100}\n"] * 280_000}]


def without_imports(notebook: Notebook) -> None:
    """The cell with the imports is the course's own."""
    filled(RIGHT)(notebook)
    notebook["cells"] = [cell for cell in notebook["cells"] if not "".join(cell["source"]).startswith("import")]


def as_file(name: str, data: bytes) -> Callable[[Path], None]:
    """Only this file in the folder, and no notebook."""

    def change(folder: Path) -> None:
        for path in folder.glob("*.ipynb"):
            path.unlink()
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)

    return change


def zipped() -> bytes:
    data = BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(f"{ASSIGNMENT}.py", SOLUTION)
    return data.getvalue()


def with_another(folder: Path) -> None:
    """Two kernels, and nothing says which one is meant: the best counts."""
    for name, kernel in (("a", WRONG), ("b", RIGHT)):
        (folder / f"{name}.ipynb").write_text(json.dumps(notebook_with(folder, kernel)))
    (folder / f"{ASSIGNMENT}.ipynb").unlink()


def by_macos(folder: Path) -> None:
    """What it puts beside each file: its notebooks are none."""
    (folder / f"{ASSIGNMENT}.ipynb").write_text(json.dumps(notebook_with(folder, RIGHT)))
    (folder / f"._{ASSIGNMENT}.ipynb").write_bytes(b"\0\5\x16\7")
    (folder / "__MACOSX").mkdir()
    (folder / "__MACOSX" / f"{ASSIGNMENT}.ipynb").write_bytes(b"\0\5\x16\7")


def notebook_with(folder: Path, kernel: str) -> Notebook:
    notebook: Notebook = json.loads((folder / f"{ASSIGNMENT}.ipynb").read_text())
    filled(kernel)(notebook)
    return notebook


def of_format_3(notebook: Notebook) -> None:
    notebook["worksheets"] = [{"cells": notebook.pop("cells")}]


NOTEBOOKS: dict[str, Callable[[Notebook], object] | bytes] = {
    "right": filled(RIGHT),
    "wrong": filled(WRONG),
    "big": big,
    "noimport": without_imports,
    "cut": b'{"cells": [',
    "old": of_format_3,
    "latin": json.dumps({"cells": []}).encode() + b"\xe4",
    "other": filled((ROOT / "solutions" / "p3_online_softmax.py").read_text()),
}
FOLDERS: dict[str, Callable[[Path], None]] = {
    "script": as_file("mine.py", SOLUTION.encode()),
    "inside": as_file(f"work/{ASSIGNMENT}.py", SOLUTION.encode()),
    "archive": as_file("all.zip", zipped()),
    "word": as_file("homework.docx", b"PK"),
    "two": with_another,
    "mac": by_macos,
}
WAITING = {
    "cut": "is not a whole notebook",
    "old": "is a notebook of format 3",
    "latin": "is not UTF-8 text",
    "archive": "There is no notebook, .py file or draft of puzzle p1 in it, only all.zip",
    "word": "There is no notebook, .py file or draft of puzzle p1 in it, only homework.docx",
    "other": "defines online_softmax_kernel, the kernel of puzzle p3, and none of puzzle p1",
}
GRADED = dict.fromkeys(("right", "big", "noimport", "script", "inside", "two", "mac"), 100.0)


def page_of(course: Course, student: str) -> str:
    """A student's page of feedback."""
    return (course.folder / "feedback" / student / ASSIGNMENT / f"{ASSIGNMENT}.html").read_text()


def typed(course: Course, *words: str) -> Result:
    """A command of ours on the course."""
    return CliRunner().invoke(cli, [*words, "--course", str(course.folder)], catch_exceptions=False)


@pytest.fixture(scope="module")
def after(new_course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Course, str]]:
    """The course after its first round, and what that said."""
    with copied(new_course, tmp_path_factory.mktemp("class")) as course:
        for name, change in NOTEBOOKS.items():
            course.hand_in(name, change)
        for name, spoil in FOLDERS.items():
            spoil(course.work(name).parent)
            assert course.student(name, "submit", ASSIGNMENT).status == 0
        assert course.run("db", "student", "add", "absent").status == 0
        done = typed(course, "round", "p1", "--release")
        assert done.exit_code == 0, done.output
        yield course, done.output


def test_everybody_is_in_the_last_lines(after: tuple[Course, str]) -> None:
    course, said = after
    flat = " ".join(said.split())
    assert f"{len(GRADED) + 1} graded, {len(GRADED) + 1} of them now" in flat and "NotJSONError" not in flat
    assert f"Waiting for you: {len(WAITING)}" in flat and "Not handed in: 1 absent" in flat
    for name, why in WAITING.items():
        assert f"{name}: " in flat and why in flat
    scores = course.scores()
    assert {name: scores[name] for name in GRADED} == GRADED
    assert {name: scores[name] for name in WAITING} == dict.fromkeys(WAITING, "needs grading")
    assert scores["absent"] == "not handed in" and scores["wrong"] < 100.0


def test_what_waits_has_no_score_anywhere(after: tuple[Course, str]) -> None:
    """In the formgrader's own data somebody waits; and no page of feedback says 0."""
    course, _ = after
    with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as book:
        for name in WAITING:
            assert book.find_submission(ASSIGNMENT, name).needs_manual_grade
    for name in [*WAITING, *GRADED, "wrong"]:
        page = page_of(course, name)
        assert ("Score: " in page, "no score yet" in page) == (name not in WAITING, name in WAITING), name
        assert "Score: nan" not in page


def test_a_page_of_feedback_begins_with_the_verdict_and_loads_nothing(after: tuple[Course, str]) -> None:
    page = page_of(after[0], "wrong")
    before, _, lesson = page.partition("What you will build")
    assert "[no-division]" in before and "[no-division]" not in lesson
    assert "To ask for a regrade, tell your instructor" in before
    assert re.search(r"This page is about what you handed in on [-\d]{10} at [:\d]{5} UTC\.", before)
    assert "<math" in lesson and not re.search(r"\$[^$<]*\\[a-z]", lesson)
    assert "MathJax" not in page and not re.search(r"""(src|href)=["']?(https?:)?//[^"']*\.(js|css)""", page)
    assert "<summary>" not in page and '<summary style="display:list-item">' in page


def test_stock_commands_agree(after: tuple[Course, str], tmp_path: Path) -> None:
    course, _ = after
    with copied(course.folder.parent, tmp_path / "stock") as stock:
        for folder in ("autograded", "feedback"):
            shutil.rmtree(stock.folder / folder)
        assert stock.run("autograde", ASSIGNMENT).status == 0
        assert stock.scores() == course.scores()
        assert stock.run("generate_feedback", ASSIGNMENT).status == 0
        for name in [*WAITING, *GRADED]:
            pages = [page_of(one, name) for one in (stock, course)]
            assert ("no score yet" in pages[0]) == ("no score yet" in pages[1])


def test_again_only_what_is_new_is_done(
    after: tuple[Course, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with copied(after[0].folder.parent, tmp_path / "again") as course:
        before = {path: path.stat().st_mtime_ns for path in course.folder.glob("feedback/*/*/*.html")}
        with monkeypatch.context() as patch:
            patch.setattr("checker.grading.crew.Processes.call", None)  # no process is begun
            done = typed(course, "round", ASSIGNMENT)
        assert "none of them now" in done.output and "Feedback:" not in done.output
        assert {path: path.stat().st_mtime_ns for path in before} == before
        course.hand_in("wrong", filled(RIGHT))
        course.grade("right", manual_score=50.0)
        again = typed(course, "round", "p1").output
        assert "1 of them now" in again and "Feedback: 2 new pages" in again
        assert (course.scores()["wrong"], course.scores()["right"]) == (100.0, 50.0)
        course.hand_in("renamed", filled(RIGHT.replace("naive_softmax_kernel", "mine")))
        said = " ".join(typed(course, "round", "p1").output.split())
        assert "Nothing was run, so 0 points: 1 renamed: There is no kernel naive_softmax_kernel" in said


def test_feedback_in_another_language_is_written_anew_and_scores_stay(
    after: tuple[Course, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with copied(after[0].folder.parent, tmp_path / "language") as course:
        scores = course.scores()
        monkeypatch.setenv("LANGUAGE", "zh")
        (course.folder / "submitted" / "wrong" / ASSIGNMENT / SECRET).unlink()
        done = " ".join(typed(course, "round", ASSIGNMENT, "--release").output.split())
        assert "new pages, released but for 1." in done and "Feedback not released: 1 wrong" in done
        pages = [path.read_text(encoding="utf-8") for path in course.folder.glob("feedback/*/*/*.html")]
        assert pages and all("题 p1：朴素 softmax" in page for page in pages if "[sums-padded-lanes]" in page)
        assert any("题 p1：朴素 softmax" in page for page in pages) and course.scores() == scores


def test_points_deadlines_and_extensions_count_at_once(after: tuple[Course, str], tmp_path: Path) -> None:
    with copied(after[0].folder.parent, tmp_path / "terms") as course:
        course.settings('"full-block" = 25', '"full-block" = 40')
        assert "of 115 points" in typed(course, "round", "p1").output
        assert course.scores()["right"] == 115.0
        course.settings('policy = "none"', 'policy = "per day"')
        yesterday = datetime.utcnow() - timedelta(hours=30)
        assert (
            course.run("db", "assignment", "add", ASSIGNMENT, f"--duedate={yesterday:%Y-%m-%d %H:%M} UTC").status == 0
        )
        late = typed(course, "round", "p1").output
        assert "right: −23" in late and course.scores()["right"] == 92.0
        given = typed(course, "extension", "p1", "--student", "right", "--days", "3")
        assert given.exit_code == 0 and "# This course's own settings." in (course.folder / "course.toml").read_text()
        typed(course, "round", "p1")
        assert (course.scores()["right"], course.scores()["big"]) == (115.0, 92.0)
        assert f"Your deadline was {yesterday:%Y-%m-%d} at {yesterday:%H:%M} UTC" in page_of(course, "big")
        costs = "Days late, each that has begun counted: 2. This costs 20 % of the points."
        assert costs in page_of(course, "big") and "Days late" not in page_of(course, "right")
        assert f"Your deadline was {yesterday + timedelta(days=3):%Y-%m-%d}" in page_of(course, "right")
        assert typed(course, "extension", "p1", "--student", "right", "--days", "0").exit_code == 0
        typed(course, "round", "p1")
        assert course.scores()["right"] == 92.0


def test_with_a_new_key_all_are_graded_anew(after: tuple[Course, str], tmp_path: Path) -> None:
    with copied(after[0].folder.parent, tmp_path / "key") as course:
        (key,) = (course.folder.parent / "config").rglob("*.key")
        key.write_text("f" * 64 + "\n")
        done = typed(course, "round", "p1")
        assert f"{len(GRADED) + 1} graded, {len(GRADED) + 1} of them now" in " ".join(done.output.split()), done.output


def test_whose_page_could_not_be_written_is_told_and_the_grades_are(
    after: tuple[Course, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a disk that has become read-only; no mode stops root, who runs this."""

    def read_only(path: str) -> None:
        if "/feedback/" in path:
            raise OSError(errno.EROFS, "Read-only file system", Path(path).name)
        shutil.rmtree(path)

    with copied(after[0].folder.parent, tmp_path / "page") as course:
        course.grade("right", manual_score=70.0)
        (course.folder / "grades.csv").unlink()
        monkeypatch.setattr("nbgrader.converters.base.rmtree", read_only)
        done = typed(course, "round", "p1")
        said = " ".join(done.output.split())
        assert done.exit_code == 3 and "has stopped: at the work of right: Read-only file system" in said, said
        assert "right,,,,graded,70.0," in (course.folder / "grades.csv").read_text()


def test_the_deadline_is_in_the_students_notebook(course: Course) -> None:
    done = typed(course, "handout", "p1", "--due", "2030-05-10 12:00 UTC")
    assert done.exit_code == 0 and "until 2030-05-10 12:00 UTC" in done.output, done.output
    cells = json.loads(course.work("anna").read_text())["cells"]
    assert "Hand in by Friday, 2030-05-10, 12:00 UTC" in "".join(cells[1]["source"])
    course.hand_in("anna", filled_below)
    assert "1 graded" in typed(course, "round", "p1").output
    first = settings.read(course.folder).handed_out[ASSIGNMENT]
    assert abs((datetime.now(timezone.utc) - first).total_seconds()) < 300
    course.settings(first.isoformat().replace("+00:00", ""), "2030-01-01T00:00:00")
    assert "2030" in typed(course, "handout", "p1").output  # again, and the deadline is kept
    assert settings.read(course.folder).handed_out[ASSIGNMENT].year == 2030


def test_it_is_handed_out_in_the_language_that_is_spoken_and_graded_in_any(course: Course) -> None:
    with speaking(CHINESE):
        assert typed(course, "handout", "p1", "--due", "2030-05-10 12:00 UTC").exit_code == 0
    first, deadline, *others = json.loads(course.work("anna").read_text())["cells"]
    assert "请在 2030-05-10（星期五）12:00 UTC 之前提交" in "".join(deadline["source"])
    shipped = json.loads(places.notebook("p1", language=CHINESE).read_text())["cells"]
    assert {"".join(cell["source"]) for cell in (first, *others)} <= {"".join(cell["source"]) for cell in shipped}
    course.hand_in("anna", filled_below)
    assert typed(course, "round", "p1").exit_code == 0 and course.scores()["anna"] == 100.0


def filled_below(notebook: Notebook) -> None:
    """The right kernel where it belongs, a cell further down."""
    cell = next(one for one in notebook["cells"] if "def naive_softmax_kernel(" in "".join(one["source"]))
    cell["source"] = RIGHT


def test_what_a_platform_exports_is_collected(course: Course) -> None:
    """And an assignment that nobody has generated is generated."""
    (course.folder / "gradebook.db").unlink()
    archive = course.folder / "downloaded" / ASSIGNMENT / "archive"
    archive.mkdir(parents=True)
    notebook = json.loads(course.released().read_text())
    filled(RIGHT)(notebook)
    (archive / f"wuli_7_9_{ASSIGNMENT}.ipynb").write_text(json.dumps(notebook))
    (archive / "doe_8_10_essay.docx").write_bytes(b"PK")
    for name, drafts in (("yu_9_11", {"p1": RIGHT, "p2": "x"}), ("zoe_10_12", {"p2": RIGHT}), ("eve_11_13", {"p1": 1})):
        (archive / f"{name}_flash-puzzles.json").write_text(json.dumps({"drafts": drafts, "progress": {}}))
    done = typed(course, "round", "p1")
    assert done.exit_code == 0 and "2 graded" in done.output, done.output
    assert "zoe_10: There is no notebook, .py file or draft of puzzle p1 in it, only flash-puzzles.json" in " ".join(
        done.output.split()
    )
    with (course.folder / "grades.csv").open() as file:
        assert [(row["student_id"], row["score"]) for row in csv.DictReader(file)] == [
            *((name, "") for name in ("doe_8", "eve_11")),
            *((name, "100.0") for name in ("wuli_7", "yu_9")),
            ("zoe_10", ""),
        ]


def test_a_better_file_of_a_second_archive_counts(course: Course) -> None:
    archive = course.folder / "downloaded" / ASSIGNMENT / "archive"
    archive.mkdir(parents=True)
    for name, code, points in (("1_flash", RIGHT.replace("exp(", "exp2("), 0.0), ("2_flash-puzzles-1", RIGHT, 100.0)):
        (archive / f"yu_9_{name}.json").write_text(json.dumps({"drafts": {"p1": code}}))
        assert typed(course, "round", "p1").exit_code == 0 and course.scores()["yu_9"] == points


NEVER_A_NAME = ("bo\nb", b"b\xff".decode(errors="surrogateescape"), ".hid", "b\x1b[2J", "b\u202eo")


def test_a_name_that_is_none_costs_nobody_else_a_grade(after: tuple[Course, str], tmp_path: Path) -> None:
    """In the exchange, to which anybody may write, and where the instructor has put something by hand."""
    with copied(after[0].folder.parent, tmp_path / "names") as course:
        inbound = course.exchange / "flash-puzzles" / "inbound"
        for name in NEVER_A_NAME:
            shutil.copytree(next(inbound.glob("right+*")), inbound / f"{name}+{ASSIGNMENT}+2030-01-01 00:00:00 UTC+x")
            shutil.copytree(course.folder / "submitted" / "right", course.folder / "submitted" / f"{name}2")
        course.hand_in("zoe", filled(RIGHT))
        done = typed(course, "round", "p1")
        assert done.exit_code == 0 and course.scores()["zoe"] == 100.0, done.output
        assert "cannot be a student's name" in " ".join(done.output.split()) and not {"\x1b", "\u202e"} & {*done.output}
        assert ".hid+" in done.output and "is not a submission" in " ".join(done.output.split())
        assert "is not a submission" not in " ".join(
            typed(course, "round", "p1").output.split()
        )  # nobody can remove it
        assert "\u202e" not in (course.folder / "grades.csv").read_text()


@pytest.mark.parametrize("said", [b"garbage", b"\xff", b"2040-01-01 00:00:00 UTC"], ids=["text", "bytes", "a time"])
def test_what_calls_itself_a_time_costs_nobody_a_grade(said: bytes, after: tuple[Course, str], tmp_path: Path) -> None:
    """Laid there by hand; and a student's own, from a platform, says nothing at all."""
    with copied(after[0].folder.parent, tmp_path / "time") as course:
        (course.folder / "submitted" / "right" / ASSIGNMENT / "timestamp.txt").write_bytes(said)
        archive = course.folder / "downloaded" / ASSIGNMENT / "archive"
        archive.mkdir(parents=True)
        (archive / "bob_7_9_timestamp.txt").write_bytes(said)
        (archive / f"bob_7_10_{ASSIGNMENT}.py").write_text(SOLUTION)
        done = typed(course, "round", "p1")
        assert done.exit_code == 0, done.output
        assert (course.scores()["right"], course.scores()["bob_7"]) == (100.0, 100.0)
        assert "bob_7" not in done.output.partition("Late:")[2].partition("Not handed in")[0]


def test_what_one_student_has_packed_costs_nobody_behind_it_a_grade(course: Course) -> None:
    """A file's name that is too long with what Moodle puts before it, and one that leads elsewhere."""
    archive = course.folder / "downloaded" / ASSIGNMENT / "archive"
    archive.mkdir(parents=True)
    with zipfile.ZipFile(archive / "all.zip", "w") as packed:
        for name in ("Anna A_11_assignsubmission_file_/p1.py", f"Bo B_12_assignsubmission_file_/{chr(0x5B57) * 90}.py"):
            packed.writestr(name, SOLUTION)
        for name in (".._13_assignsubmission_file_/p1.py", "Zoe Z_14_assignsubmission_file_/p1.py"):
            packed.writestr(name, SOLUTION)
    done = typed(course, "round", "p1")
    assert done.exit_code == 0 and "3 graded" in done.output, done.output
    assert not (course.folder / ASSIGNMENT).exists()


@pytest.mark.parametrize("number", [143, 129])
def test_a_round_that_is_told_to_end_ends(number: int, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    """nbgrader leaves by SystemExit as well, which is a step that has failed."""

    def ended(self: object) -> None:
        raise Ended(number)

    course.put("anna", filled(RIGHT))
    monkeypatch.setattr("nbgrader.converters.Autograde.start", ended)
    assert typed(course, "round", "p1").exit_code == number


def test_points_by_hand_count_and_are_told_when_something_else_was_handed_in(
    after: tuple[Course, str], tmp_path: Path
) -> None:
    """Also for what nobody but a human can read."""
    with copied(after[0].folder.parent, tmp_path / "hand") as course:
        for name in ("word", "latin", "wrong"):
            course.grade(name, manual_score=60.0, needs_manual_grade=False)
        typed(course, "round", "p1")
        course.settings('# regrade = "Write to cs101@example.org', 'regrade = "Write to <tutor>')
        said = " ".join(typed(course, "round", "p1").output.split())
        assert [course.scores()[name] for name in ("word", "latin", "wrong")] == [60.0] * 3
        assert "Graded by hand: 3 latin: 60 by hand, nothing by the judge" in said
        page = page_of(course, "word")
        assert "<p>Write to &lt;tutor&gt; within a week.</p>" in page
        course.hand_in("wrong", filled(RIGHT))
        said = " ".join(typed(course, "round", "p1").output.split())
        assert "look again: 1 wrong: 60 by hand, 100 by the judge" in said


def test_two_rounds_at_once_are_one(after: tuple[Course, str], tmp_path: Path) -> None:
    with copied(after[0].folder.parent, tmp_path / "twice") as course:
        with (course.folder / "records" / "round.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            with pytest.raises(Misuse, match="Another round is under way"):
                typed(course, "round", "p1")
        assert typed(course, "round", "p1").exit_code == 0


def test_what_was_collected_in_part_is_collected_again(after: tuple[Course, str], tmp_path: Path) -> None:
    with copied(after[0].folder.parent, tmp_path / "part") as course:
        folder = course.folder / "submitted" / "right" / ASSIGNMENT
        (folder / f"{ASSIGNMENT}.ipynb").unlink()
        (folder.parent / f".{ASSIGNMENT}.part").mkdir()
        typed(course, "round", "p1")
        assert course.scores()["right"] == 100.0 and (folder / f"{ASSIGNMENT}.ipynb").exists()
        assert not (folder.parent / f".{ASSIGNMENT}.part").exists()


def test_what_nobody_was_handed_is_not_made_an_assignment(after: tuple[Course, str], tmp_path: Path) -> None:
    with copied(after[0].folder.parent, tmp_path / "p2") as course:
        done = typed(course, "round", "p2")
        assert done.exit_code == 3 and "was not handed out, and nobody has handed it in" in " ".join(
            done.output.split()
        )
        with Gradebook(f"sqlite:///{course.folder}/gradebook.db") as book:
            assert [one.name for one in book.assignments] == [ASSIGNMENT]


@pytest.mark.parametrize(
    ("due", "when"),
    [
        *(
            (f"2030-05-10{between}12:00{zone}", 10)
            for between in " T"
            for zone in (" +02:00", "+02:00", "+0200", "+02")
        ),
        *((f"2030-05-10 12:00 {zone}", 10) for zone in ("Europe/Berlin", "CET", "Africa/Cairo")[:2]),
        *((f"2030-05-10 12:00{zone}", 12) for zone in ("", " UTC", "Z", " Etc/UTC")),
        ("2030-05-10T12:00-05:30", 17.5),
        ("2030-05-10 12:00 America/New_York", 16),
        ("2030-05-10", 0),
    ],
)
def test_a_deadline_is_a_time_in_a_zone(due: str, when: float) -> None:
    assert moment(due) == datetime(2030, 5, 10) + timedelta(hours=when)


@pytest.mark.parametrize(
    ("due", "why"),
    [
        *((due, "is no time") for due in ("10.5.2030", "tomorrow", "2030-13-45 12:00 UTC", "05/10/2030")),
        *((f"2030-05-10 12:00 {zone}", f"names a zone, {zone}") for zone in ("CEST", "Foo", "UTC+2", "EDT")),
        ("2030-05-10 12:00 +25:00", "has no offset that there is"),
        ("2030-05-10 12:00 +2:00", "is no time"),
        ("0001-01-01 00:00 +02:00", "is no time"),
        ("2030-10-27 02:30 Europe/Berlin", "comes twice or not at all"),
        ("2030-03-31 02:30 Europe/Berlin", "comes twice or not at all"),
    ],
)
def test_a_deadline_that_may_be_another_time_is_refused(course: Course, due: str, why: str) -> None:
    with pytest.raises(Misuse, match=re.escape(why)):
        typed(course, "handout", "p1", "--due", due)


def test_who_must_say_more_is_told_what_to_type(course: Course) -> None:
    with pytest.raises(Misuse, match="STUDENT=anna DAYS=2"):
        typed(course, "extension", "p1")
    with pytest.raises(Misuse, match="ASSIGNMENT=w1"):
        typed(course, "round")
    said = typed(course, "extension", "p1", "--student", "-nobody", "--days", "2").output
    assert "does not know -nobody yet" in said and "-nobody has 2 more days" in said
