"""The class on one page, and one student's attempts: from records and folders, as an instructor asks for them."""

from __future__ import annotations

import csv
import io
import re
import sqlite3
import stat
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest

from checker import catalog
from checker.course.verdict import Status
from checker.doctor.exchange import make_exchange
from checker.grading import settings
from checker.grading.found import Work
from checker.grading.overview.seen import Seen
from checker.grading.overview.tally import TENTHS, tallies, to_csv
from checker.nbgrader.folder import make
from checker.submission.read import without_comments
from tests.conftest import ROOT, need, typed
from tests.kernels import named

STEM = "p1_naive_softmax"
SOLUTION = (ROOT / "solutions" / f"{STEM}.py").read_text()
RENAMED = SOLUTION.replace("numerator", "top").replace("denominator", "bottom") + "\n# by Xaverine\n"
PADDED = named("p1_padding_loaded_as_zero").text
OTHERWISE_PADDED = PADDED.replace("cols < n_cols", "n_cols > cols")
FORBIDDEN = SOLUTION.replace("    row = ", '    """Zebediah\'s."""\n    import os\n    row = ', 1)
CLASS: Mapping[str, Mapping[str, str]] = {
    "Xaverine": {f"{STEM}.py": RENAMED},
    "Ottokar": {f"{STEM}.py": PADDED},
    "Petronella": {f"{STEM}.py": OTHERWISE_PADDED},
    "Quirin": {f"{STEM}.py": PADDED},
    "Rosamunde": {f"{STEM}.py": (ROOT / "checker" / "learner" / "stubs" / f"{STEM}.py").read_text()},
    "Zebediah<b>": {f"{STEM}.py": FORBIDDEN},
    "Theophil": {f"{STEM}.ipynb": "{ broken"},
}


class Words(HTMLParser):
    """The text of a page, and the elements in it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.said, self.elements = "", set[str]()
        self.feed(page)

    def handle_data(self, data: str) -> None:
        self.said += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A course whose class was graded; then somebody handed in what nobody has judged."""
    need("bwrap")
    desk = tmp_path_factory.mktemp("desk")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(desk / "config"))
        make(desk / "course", exchange=str(desk / "exchange"))
        toml = desk / "course" / "course.toml"
        toml.write_text(re.sub(r"^puzzles = .*$", 'puzzles = ["p1", "p2"]', toml.read_text(), flags=re.MULTILINE))
        for student, files in CLASS.items():
            hand_in(desk / "course" / "submitted" / student / STEM, files)
        assert typed("grade", cwd=desk).returncode == 3  # one of them cannot be graded
        hand_in(desk / "course" / "submitted" / "Ursel" / STEM, {f"{STEM}.py": SOLUTION + "# late\n"})
        book = sqlite3.connect(desk / "course" / "gradebook.db")
        book.execute("CREATE TABLE student (id TEXT)")
        book.executemany("INSERT INTO student VALUES (?)", [("Xaverine",), ("Vreneli",)])
        book.commit()
        book.close()
        yield desk


def hand_in(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def counts(desk: Path) -> dict[tuple[str, str, str], int]:
    with (desk / "course" / "class.csv").open() as file:
        return {(row["puzzle"], row["counted"], row["name"]): int(row["count"]) for row in csv.DictReader(file)}


def test_the_class_is_counted_and_nobody_is_named(course: Path) -> None:
    done = typed("class-report", cwd=course, ends=0)
    assert "Not judged yet: 1" in done.stdout
    path = course / "course" / "class.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = Words(path.read_text())
    assert not page.elements & {"script", "img", "link", "iframe", "b"}
    assert "Of 9 students, 8 have handed in. Not begun: 2" in page.said
    assert "3 of 5: The padding is counted in the sum [sums-padded-lanes]" in page.said
    assert "cols < n_cols" in page.said and "n_cols > cols" in page.said  # two different kernels
    assert "published solution, but for names, layout and comments: 1." in page.said
    assert not [name for name in (*CLASS, "Zebediah", "Ursel", "Vreneli") if name in page.said]
    found = counts(course)
    assert found[STEM, "submissions", "handed in"] == 8
    assert found[STEM, "submissions", "not begun"] == 2
    assert found[STEM, "submissions", "not judged yet"] == 1
    assert found[STEM, "submissions", "cannot be graded"] == 1
    assert found[STEM, "submissions", "forbidden"] == 1
    assert found[STEM, "property", "any-length"] == 1
    assert found[STEM, "property", "full-block"] == 4
    assert "Not handed out yet, and left out: p2." in done.stdout and "p2" not in page.said


def test_names_are_there_if_they_are_asked_for(course: Path) -> None:
    assert typed("class-report", "--names", "--file", "named.html", cwd=course).returncode == 0
    page = Words((course / "named.html").read_text())
    assert "Not begun: Rosamunde, Vreneli." in page.said
    assert "Refused by the lint: Zebediah<b>." in page.said
    assert re.search(rf"Cannot be graded: Theophil \({STEM}.ipynb is not a whole notebook", page.said)
    assert "Xaverine" not in page.said.partition("Puzzle p2: ")[0].replace("Not begun: Rosamunde, Vreneli.", "")


def test_a_student_has_a_page_for_each_attempt(course: Path) -> None:
    """Also what was not collected; a link to somebody else's work is not followed."""
    inbound = course / "exchange" / "flash-puzzles" / "inbound"
    make_exchange(course / "exchange")
    hand_in(inbound / f"Ottokar+{STEM}+2026-11-01 10:00:00.000000 UTC+x", {f"{STEM}.py": PADDED})
    hand_in(inbound / f"Ottokar+{STEM}+2026-11-02 10:00:00.000000 UTC+y", {f"{STEM}.py": SOLUTION})
    hand_in(inbound / f"Ottokar+{STEM}+2026-11-03 10:00:00.000000 UTC+z", {f"{STEM}.py": "def ("})
    hand_in(inbound / f"Ottokar2+{STEM}+2026-11-04 10:00:00.000000 UTC+w", {f"{STEM}.py": PADDED})
    (inbound / f"Ottokar+{STEM}+2026-11-05 10:00:00.000000 UTC+v").symlink_to(
        course / "course" / "submitted" / "Quirin"
    )
    done = typed("class-report", "--student", "Ottokar", cwd=course)
    assert done.returncode == 0 and "3 attempts" in done.stdout, done.stderr
    path = course / "course" / "student-Ottokar.html"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    page = Words(path.read_text())
    days = re.findall(r"2026-11-0(\d) 10:00", page.said)
    assert days == ["1", "2", "3"]
    assert "sums-padded-lanes" in page.said and "100/100 points" in page.said
    assert re.search(r"^-.*other=0\.0", page.said, re.MULTILINE)
    assert re.search(r"^\+.*other=-float", page.said, re.MULTILINE)


def test_what_was_collected_otherwise_is_one_attempt(course: Path) -> None:
    assert typed("class-report", "--student", "Zebediah<b>", cwd=course).returncode == 0
    page = Words((course / "course" / "student-Zebediah-b-.html").read_text())
    assert "as it was collected" in page.said and "Office hours: Zebediah<b>" in page.said
    assert "b" not in page.elements - {"b"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--student", "../Ottokar"], "has handed in nothing"),
        (["--course", "nowhere"], "cannot be read"),
        (["--file", "no/such/folder.html"], "could not be written"),
    ],
)
def test_misuse_is_one_sentence(course: Path, words: list[str], said: str) -> None:
    done = typed("class-report", *words, cwd=course, ends=2)
    assert said in done.stderr.replace("\n", " ") and "Traceback" not in done.stderr


def test_a_gradebook_that_cannot_be_read_is_not_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the page would say that nobody has failed to begin."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    make(tmp_path / "course")
    hand_in(tmp_path / "course" / "submitted" / "Ursel" / STEM, {f"{STEM}.py": SOLUTION})
    (tmp_path / "course" / "gradebook.db").write_text("no database")
    done = typed("class-report", cwd=tmp_path)
    assert done.returncode == 2 and "gradebook.db cannot be read" in done.stderr.replace("\n", " ")


def test_counts_are_of_what_was_seen() -> None:
    course = settings.Settings(Path(), puzzles=("p1",))
    proven = tuple(one.name for one in catalog.load("p1").properties)
    every = [
        Seen(Status.ACCEPTED, 100, proven, (), "a", published=True),
        Seen(Status.WRONG, 25, proven[:1], (("x", "An x"), ("x", "A y")), "b"),
        Seen(Status.WRONG, 25, proven[:1], (("x", "An x"),), "b"),
        Seen(Status.WRONG, 9, (), (("x", "An x"),), "c"),
        Seen(Status.WRONG, 0, (), (("x", "An x"),), "d"),
        Seen(Status.NOT_STARTED, digest="e"),
        Seen(problem="broken"),
        Seen(),
    ]
    works = [Work(f"student {number}", "p1", (Path(str(number)),)) for number in range(len(every))]
    tally = tallies(works, every, course, {"nobody", "student 3"})["p1"]
    assert (tally.students, tally.handed_in, tally.begun, tally.not_judged) == (9, 8, 5, 1)
    assert tally.not_begun == ["nobody", "student 5"]
    assert tally.points == {TENTHS: 1, 2: 2, 0: 2}
    assert tally.findings == {("x", "An x"): 4, ("x", "A y"): 1}  # two sentences, though of one id
    assert [work.student for work in tally.examples["x", "An x"].values()] == [
        "student 1",
        "student 3",
    ]  # "b" twice would show nothing
    assert [count for *_, count in tally.rates()] == sorted(count for *_, count in tally.rates())
    table = io.StringIO()
    to_csv([tally], table)
    assert f"{STEM},finding,x: An x,4,5" in table.getvalue()
    assert "student" not in table.getvalue().replace("students", "")


def test_an_example_names_nobody() -> None:
    text = 'def f(x):  # by Anna\n    """Anna\'s."""\n    # Anna\n    y = "#kept"  # Anna\n    return y\n'
    assert without_comments(text) == 'def f(x):\n\n\n    y = "#kept"\n    return y\n'
