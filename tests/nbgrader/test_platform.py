"""A course's grades in what Canvas and Moodle export: the right cells, and no other one."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import installed

installed("nbgrader")

from checker.nbgrader.filled import Filled, filled, number  # noqa: E402
from checker.nbgrader.platform import PLATFORMS, Platform  # noqa: E402
from checker.nbgrader.sheet import NoSheet, Sheet, read  # noqa: E402
from tests.nbgrader.conftest import ASSIGNMENT  # noqa: E402

EXPORTS = Path(__file__).parent / "exports"
OTHER = "p2_safe_softmax"
CANVAS, MOODLE = PLATFORMS["canvas"], PLATFORMS["moodle"]


def row(
    student: str, score: float | None, assignment: str = ASSIGNMENT, email: str = "", possible: float = 100
) -> dict[str, Any]:
    """As nbgrader's grades have it; without a score it is not graded."""
    grade = {"status": "needs grading"} if score is None else {"status": "graded", "score": score}
    return {"assignment": assignment, "student_id": student, "email": email, "max_score": possible, **grade}


def export(name: str, platform: Platform) -> Sheet:
    return read((EXPORTS / name).read_bytes(), platform.delimiters, lambda header: not platform.lacks(header))


def table(platform: Platform, text: str) -> Sheet:
    return read(text.encode(), platform.delimiters, lambda header: not platform.lacks(header))


def changes(before: Sheet, after: Filled) -> dict[tuple[str, str], str]:
    """(what a line begins with, heading) → cell, of all that is not as it was."""
    cells = {}
    new = {column.heading for column in after.columns if column.new}
    old = [n for n, heading in enumerate(after.sheet.header) if heading not in new]
    assert [after.sheet.header[n] for n in old] == before.header
    for was, now in zip(before.rows, after.sheet.rows, strict=True):
        padded = [*was, *[""] * len(before.header)]
        old_cells = iter(padded)
        for n, cell in enumerate(now):
            heading = after.sheet.header[n]
            if (heading in new and cell) or (heading not in new and cell != next(old_cells)):
                cells[now[0] + now[1], heading] = cell
    return cells


@pytest.mark.parametrize(
    ("name", "platform"),
    [("canvas.txt", CANVAS), ("canvas-semicolons.txt", CANVAS), ("moodle.txt", MOODLE), ("moodle-tabs.txt", MOODLE)],
)
@pytest.mark.parametrize("crlf", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_without_grades_an_export_comes_back_as_it_was(
    name: str, platform: Platform, crlf: bool, encoding: str
) -> None:
    """In its form as well: delimiter, mark, encoding and ends of lines. Only needless quotes are gone."""
    text = (EXPORTS / name).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    # A line end in a cell is no end of a line, and stays what it is.
    data = (re.sub(r"\n(?!twice|minus)", "\r\n", text) if crlf else text).encode(encoding)
    sheet = read(data, platform.delimiters, lambda header: not platform.lacks(header))
    made = filled(sheet, platform, [row("nobody", 1)]).sheet.data()
    assert made.replace(b'"', b"") == data.replace(b'"', b"")


def test_canvas_gets_the_grades_and_nothing_else_changes() -> None:
    before = export("canvas.txt", CANVAS)
    grades = [
        *(row("ann", 97.126), row("smithbob_12345", 88.0), row("dan", 3), row("eve", None)),
        *(row("ann", 50, OTHER, possible=60), row("bob", 0, OTHER, possible=60)),
        row("cy2", 66, OTHER, email="cy@example.edu", possible=60),
    ]
    made = filled(before, CANVAS, grades)
    assert changes(before, made) == {
        ("Ng, Ann101", "p1_naive_softmax (4711)"): "97.13",
        ("Smith, Bob12345", "p1_naive_softmax (4711)"): "88",
        ("Ng, Ann101", OTHER): "50",
        ("Smith, Bob12345", OTHER): "0",
        ("O'Dea, Cy103", OTHER): "66",
        ("    Points Possible", OTHER): "60",
    }
    assert made.sheet.header.index(OTHER) == before.header.index("p1_naive_softmax (4711)") + 1
    assert made.missing == ["dan"] and made.nobody == ["Student, Test (0f3bf4d6)"]
    assert [(one.grades, one.new, one.differs) for one in made.columns] == [(2, False, False), (3, True, False)]


def test_what_canvas_says_of_points_is_compared() -> None:
    made = filled(export("canvas.txt", CANVAS), CANVAS, [row("ann", 97, possible=115)])
    assert made.columns[0].differs and made.columns[0].there == "100.00"


def test_who_is_excused_in_canvas_stays_so() -> None:
    before = export("canvas.txt", CANVAS)
    made = filled(before, CANVAS, [row("cy@example.edu", 97)])
    assert changes(before, made) == {} and made.kept == [f"{ASSIGNMENT}: cy@example.edu (EX)"]


def test_canvas_in_another_form() -> None:
    """Semicolons, a mark, first and last names apart, no SIS user ID, and decimal commas; p1's title, not its quiz."""
    before = export("canvas-semicolons.txt", CANVAS)
    made = filled(before, CANVAS, [row("grünjörg_102", 7.5, possible=10), row("ann", None, possible=10)])
    assert changes(before, made) == {("GrünJörg", "p1: Naive softmax (9)"): "7.5"}
    assert made.sheet.data().startswith(b"\xef\xbb\xbfLastName;FirstName;") and not made.columns[0].differs


def test_moodle_gets_the_grades_and_nothing_else_changes() -> None:
    """Real grades only, no percentages, comments and totals; two people of one name are left alone."""
    before = export("moodle.txt", MOODLE)
    grades = [
        *(row("ANN@example.edu", 97.5), row("x7", 88, email="bob@example.edu"), row("Li Wu", 1), row("@me", None)),
        *(row("Bo Wu", 2), row("Bo Wu_7", 3), row("s0102", 4, OTHER)),
    ]
    made = filled(before, MOODLE, grades)
    assert changes(before, made) == {
        ("AnnNg", "Assignment: p1_naive_softmax (Real)"): "97.5",
        ("BobSmith", "Assignment: p1_naive_softmax (Real)"): "88",
        ("LiWu", "Assignment: p1_naive_softmax (Real)"): "1",
        **{(name, OTHER): "-" for name in ("AnnNg", "BoWu", "LiWu", "JörgGrün")},  # else some versions take it for 0
        ("BobSmith", OTHER): "4",
    }
    assert made.sheet.header[-2:] == [OTHER, "Last downloaded from this course"]
    assert (made.missing, made.ambiguous, made.nobody) == (["Bo Wu_7"], ["Bo Wu"], ["Bo Wu", "Bo Wu"])


def test_moodle_in_another_form() -> None:
    before = export("moodle-tabs.txt", MOODLE)
    made = filled(before, MOODLE, [row("ANN", 7), row("zuse zoe", 8)])
    assert changes(before, made) == {("AnnNg", "p1 Naive softmax"): "7", ("ZoeZuse", "p1 Naive softmax"): "8"}
    assert made.sheet.data().endswith(b"Zoe\tZuse\tzoe\t\t8\t1900000000\r\n")


HEAD, BOB = "Student,ID,SIS User ID,SIS Login ID,Section,", "\nB,7,s7,bob,A,"


@pytest.mark.parametrize(
    ("headings", "chosen"),
    [
        ("p1_naive_softmax (1)", 0),
        ("P1_Naive_Softmax (1)", 0),
        ("p1 – Naive softmax (1)", 0),
        ("p1: week two (1)", 0),
        ("p1 quiz (1),p1 Naive softmax (2)", 1),
        ("p1 Naive softmax (1),p1_naive_softmax (2)", 1),
        ("Naive softmax (1)", None),
        ("p10 (1)", None),
        ("xp1 (1)", None),
        ("p1 Final Score (2020)", None),
        ("p1 notes", None),  # a column of the instructor's own has no number
        ("p1_naive_softmax", 0),
        ("p1_naive_softmax (1),p1_naive_softmax (2)", ...),
        ("p1 a (1),p1 b (2)", ...),
        ("p1_extra (1)", None),  # another assignment's
    ],
)
def test_a_column_is_found_by_its_name(headings: str, chosen: int | None) -> None:
    sheet = table(CANVAS, HEAD + headings + BOB + "," * headings.count(",") + "\n")
    made = filled(sheet, CANVAS, [row("bob", 5), row("bob", None, "p1_extra")])
    if chosen is ...:
        assert list(made.unclear) == [ASSIGNMENT] and changes(sheet, made) == {}
        return
    heading = ASSIGNMENT if chosen is None else headings.split(",")[chosen]
    assert changes(sheet, made) == {("B7", heading): "5"}
    assert [one.new for one in made.columns if one.assignment == ASSIGNMENT] == [chosen is None]


@pytest.mark.parametrize("heading", ["p1 kernels total (Real)", "p1 (Percentage)", f"{ASSIGNMENT} (Feedback)", "p10"])
def test_a_column_of_moodles_that_takes_no_grades_of_p1(heading: str) -> None:
    sheet = table(MOODLE, f"Username,{heading},Last downloaded from this course\nbob,,1\n")
    assert changes(sheet, filled(sheet, MOODLE, [row("bob", 5)])) == {("bob", ASSIGNMENT): "5"}


def test_new_columns_stand_between_the_assignments_and_the_totals() -> None:
    """An instructor's own column may be called like a total."""
    own, totals = "Student,ID,SIS Login ID,Final Score last year,Section", "Kernels Current Score,Final Score"
    for assignments in ("", ",Reading (1),Final Grade survey (2)"):
        sheet = table(CANVAS, f"{own}{assignments},{totals}\nB,7,bob\n")
        made = filled(sheet, CANVAS, [row("bob", 5), row("bob", 6, OTHER)]).sheet
        assert ",".join(made.header).startswith(f"{own}{assignments[:12]},{ASSIGNMENT},{OTHER},")
        place = made.header.index(ASSIGNMENT)
        assert made.rows == [["B", "7", "bob", *[""] * (place - 3), "5", "6"]]


def test_the_delimiter_is_the_one_with_which_it_is_an_export() -> None:
    sheet = table(CANVAS, "Student;ID;Section;1, 2, 3, 4 and 5 (1)\n")
    assert sheet.delimiter == ";"


def test_an_assignment_of_which_nobody_has_a_grade_makes_no_column() -> None:
    sheet = table(CANVAS, HEAD + "p1 (1)" + BOB + "\n")
    assert (
        filled(sheet, CANVAS, [row("bob", 1), row("bob", None, OTHER), row("eve", 3, OTHER)]).sheet.header
        == sheet.header
    )


@pytest.mark.parametrize(
    ("lines", "student", "line"),
    [
        (("x,7,,bob,A,",), "BOB", 0),
        (("x,7,,x,A,", "x,8,bob,y,A,"), "bob", 1),
        (("x,7,bob,x,A,", "x,8,y,bob,A,"), "bob", 1),  # the login is more certain than the other number
        (("x,7,,bob,A,", "x,8,,Bob,B,"), "bob", None),  # the same login, in another root account
        (('"O\'Néil, Bob",7,,x,A,',), "oneilbob_7", None),
        (('"O\'Néil, Bob",7,,x,A,',), "onéilbob_7", 0),
        (('"O\'Néil, Bob",7,,x,A,',), "onéilbob_8", None),
        (('"O\'Néil, Bob",7,,x,A,',), "student_7", None),  # somebody's login, perhaps
        (('"O\'Néil, Bob",7,,x,A,',), "one\u0301ilbob_7", 0),
        (('"शर्मा, नीति",7,,x,A,',), "शर्मानीति_7", 0),  # with signs that are no letters, but of words
        (("bob,7,,x,A,",), "bob", None),  # Canvas has no names of folders
        (("x,7,,,A,",), "x", None),
    ],
)
def test_whose_line_it_is_in_canvas(lines: tuple[str, ...], student: str, line: int | None) -> None:
    sheet = table(CANVAS, HEAD + "p1 (1)\n" + "\n".join(lines) + "\n")
    made = filled(sheet, CANVAS, [row(student, 5)])
    assert [cells[-1] for cells in made.sheet.rows] == ["5" if n == line else "" for n in range(len(lines))]
    assert made.missing + made.ambiguous == ([student] if line is None else [])


@pytest.mark.parametrize(("names", "found"), [("Li,Wu", True), ("Wu,Li", True), ("Li Wu,", False), ("Li,Wu Wu", False)])
def test_a_full_name_is_more_than_one_name(names: str, found: bool) -> None:
    """One alone may be somebody else's login."""
    sheet = table(MOODLE, f"First name,Last name,ID number,p1,Last downloaded from this course\n{names},9,-,1\n")
    assert filled(sheet, MOODLE, [row("li wu", 5)]).sheet.rows[0][3] == ("5" if found else "-")


def test_the_names_that_nbgrader_knows_are_a_full_name() -> None:
    sheet = table(CANVAS, HEAD + 'p1 (1)\n"Ng, Ann",7,,x,A,\n')
    made = filled(sheet, CANVAS, [row("s01", 5) | {"first_name": "Ann", "last_name": "Ng"}])
    assert [cells[-1] for cells in made.sheet.rows] == ["5"]


def test_names_that_differ_in_case_are_nobodys() -> None:
    sheet = table(CANVAS, HEAD + "p1 (1)" + BOB + "\n")
    made = filled(sheet, CANVAS, [row("bob", 5), row("Bob", 6)])
    assert changes(sheet, made) == {} and made.ambiguous == ["Bob", "bob"] and made.nobody == ["B (bob)"]


def test_two_names_of_a_student_are_one_line_but_never_two_grades_in_a_cell() -> None:
    """From the roster of logins, and from what Canvas had collected."""
    sheet = table(CANVAS, HEAD + "p1 (1),p2 (2)" + BOB + ",\n")
    made = filled(sheet, CANVAS, [row("bob", None), row("b_7", 6), row("bob", 7, OTHER), row("b_7", 8, OTHER)])
    assert changes(sheet, made) == {("B7", "p1 (1)"): "6"}
    assert made.twice == [f"{OTHER}: bob and b_7"] and not made.missing + made.nobody


def test_what_is_added_is_no_formula() -> None:
    sheet = table(MOODLE, "Username,Last downloaded from this course\nbob,1\n")
    assert filled(sheet, MOODLE, [row("bob", 5, "=cmd()")]).sheet.header[1] == "'=cmd()"


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"", "empty"), (b"\xef\xbb\xbf\r\n", "empty"), (b"P\0K", "not text"), (b'a,b\n"c,d\n', "as CSV")],
)
def test_what_is_no_table_is_said(data: bytes, said: str) -> None:
    with pytest.raises(NoSheet, match=said):
        read(data, ",;", lambda header: True)


@pytest.mark.parametrize(
    ("score", "text"), [(0.0, "0"), (100, "100"), (12.5, "12.5"), (2 / 3, "0.67"), (1e6, "1000000")]
)
def test_numbers_are_short(score: float, text: str) -> None:
    assert number(score) == text


SIGNS = st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\r\t")
TEXT = st.text(st.one_of(SIGNS, st.sampled_from("\n\r\t\"',;:=+-@ ")))
NOT_ANOTHERS = re.compile(r"\s*p[12]|.*(Score|Points|Grade)", re.IGNORECASE | re.DOTALL)
OURS = {
    "canvas": ("SIS Login ID", "p1 (1)", "Student", "ID", "Section"),
    "moodle": ("Username", "p1 (Real)", "Email address", "Last downloaded from this course"),
}


@st.composite
def exports(draw: st.DrawFn) -> tuple[str, list[list[str]]]:
    """A platform, and an export of it: a student bob with 33 points for p1, and anything around that."""
    name = draw(st.sampled_from(["canvas", "moodle"]))
    others = draw(st.lists(TEXT.filter(lambda text: not NOT_ANOTHERS.match(text) and text.strip() not in OURS[name])))
    header = draw(st.permutations([*OURS[name], *others]))
    cell = TEXT.filter(lambda text: "@" not in text and text.casefold().strip() not in ("bob", "ex", "n/a"))
    row = st.lists(cell, min_size=len(header), max_size=len(header))
    rows = [*draw(st.lists(row, max_size=4)), draw(row)]
    for heading, value in zip(OURS[name], ("bob", "33"), strict=False):
        rows[-1][header.index(heading)] = value
    return name, [header, *rows]


@given(exports(), st.data(), st.sampled_from([None, 0.0, 55.25]))
def test_all_that_is_not_ours_comes_back(
    export: tuple[str, list[list[str]]], data: st.DataObject, score: float
) -> None:
    name, cells = export
    platform = PLATFORMS[name]
    delimiter, end = data.draw(st.sampled_from(platform.delimiters)), data.draw(st.sampled_from(["\n", "\r\n"]))
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig"]))
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_ALL).writerows(cells)
    sheet = read(text.getvalue().encode(encoding), platform.delimiters, lambda header: not platform.lacks(header))
    after = filled(sheet, platform, [row("bob", score), row("bob", score, OTHER, possible=7)]).sheet.data()
    again = list(csv.reader(io.StringIO(after.decode(encoding), newline=""), delimiter=delimiter))
    assert after.endswith(end.encode()) and after.startswith(b"\xef\xbb\xbf") is (encoding == "utf-8-sig")
    if score is not None:
        ours = again[0].index(OTHER)
        new = [line.pop(ours) for line in again]
        assert new[-1] == number(score) and set(new[1:-1]) <= {"", "-", "7"}
        column = cells[0].index(OURS[name][1])
        assert again[-1][column] == number(score)
        again[-1][column] = "33"
    assert again == cells
