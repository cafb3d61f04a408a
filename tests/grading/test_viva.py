"""Questions to students on their own kernels: a changed line means what it says, and the answers are the judge's."""

from __future__ import annotations

import ast
import random
import re
import shutil
import stat
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from checker import catalog
from checker.check import Conditions, check, program_of
from checker.course.places import solution
from checker.grading.viva.lines import Change, Listing, changes, listing
from checker.grading.viva.questions import WANTED
from checker.nbgrader.folder import make
from checker.submission.read import from_cells
from tests.conftest import need, typed
from tests.kernels import named

HOSTILE = "<script>alert(1)</script>\x1b[2J"
OTHER = "    # </pre><script>alert(2)</script>\n"
ODD = """
@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
\trow = tl.program_id(0).to(tl.int64); größe = tl.arange(0, BLOCK_SIZE)  # ü
\tmask = (größe + 0) < n_cols
\tx = tl.load(
\t\tx_ptr + (row * x_row_stride) + größe, mask=mask, other=-float("inf"))
\ttl.store(y_ptr + row * y_row_stride + größe, x * (row + 1), mask=mask)
"""


def made(text: str, puzzle_id: str) -> Iterator[tuple[str, Change]]:
    """The text as it is read, and each change of it."""
    submission = from_cells([("code", text)], "kernel.py", numbered=False)
    program, _ = program_of(submission, catalog.load(puzzle_id).kernels, linted=False)
    for kernel in program.kernels.values():
        for change in changes(submission.text, kernel, random.Random(1)):
            yield submission.text, change


TEXTS = {
    "odd": ("p1", "import triton\nimport triton.language as tl\n" + ODD),
    "tabs": ("p1", named("p1_crlf_and_tabs").text),
    "helper": ("p3", named("p3_helper_merges").text),
    "unpacked": ("a2", solution("a2").read_text().replace("n_q, n_k = q.shape[2], k", "n_q, d, n_k = *q.shape[2:], k")),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_change_is_one_line_and_the_rest_is_as_it_was_typed(name: str) -> None:
    puzzle_id, text = TEXTS[name]
    every = list(made(text, puzzle_id))
    assert len(every) > 50 and len({(one.line, one.after) for _, one in every}) == len(every)
    for before, change in every:
        lines, after = before.split("\n"), change.made_in(before).split("\n")
        assert [n for n, pair in enumerate(zip(lines, after, strict=True), start=1) if pair[0] != pair[1]] == [
            change.line
        ]
        assert ast.dump(ast.parse(before)) != ast.dump(ast.parse(change.made_in(before)))


def test_a_changed_line_has_the_students_own_words() -> None:
    after = {one.after.strip() for _, one in made(TEXTS["odd"][1], "p1")}
    assert {
        "mask = größe + 0 <= n_cols",
        "row = tl.program_id(0); größe = tl.arange(0, BLOCK_SIZE)  # ü",
        'x_ptr + (row * x_row_stride) + größe, mask=mask, other=float("inf"))',
        "tl.store(y_ptr + row * y_row_stride + größe, x + (row + 1), mask=mask)",
        "tl.store(y_ptr + (row + 1) * y_row_stride + größe, x * (row + 1), mask=mask)",
    } <= after


def test_a_listing_is_what_the_judge_runs() -> None:
    text = "import triton\nimport triton.language as tl\nMORE = 1.5\nUNUSED = 2\nprint('mine')\n" + ODD.replace(
        "+ 0", "+ MORE"
    )
    submission = from_cells([("code", text)], "kernel.py", numbered=False)
    shown = listing(text, program_of(submission, catalog.load("p1").kernels, linted=False)[0])
    assert shown == Listing(("MORE = 1.5", "", *ODD.replace("+ 0", "+ MORE").strip().split("\n")), shown.number)
    assert all(shown.lines[there - 1] == text.split("\n")[here - 1] for here, there in shown.number.items())


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a course in which a few have handed in puzzle p1; all but one are graded."""
    need("bwrap")
    desk = tmp_path_factory.mktemp("viva")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(desk / "config"))
        make(desk / "course")
    right, other = solution("p1").read_text(), named("p1_crlf_and_tabs").text.replace("\r\n", "\n")
    body = other.index("\n", other.index("def naive_softmax_kernel")) + 1
    hand_in(desk, "anna", right)
    hand_in(desk, "ben", f"# another file with the same kernel\n{right}")
    hand_in(desk, HOSTILE.replace("/", "∕"), other[:body] + OTHER.replace("    ", "\t") + other[body:])
    hand_in(desk, "dora", named("p1_next_row").text)
    typed("grade", cwd=desk, XDG_CONFIG_HOME=str(desk / "config"), ends=0)
    hand_in(desk, "emil", right.replace("numerator", "top"))
    return desk


def hand_in(desk: Path, student: str, text: str) -> None:
    folder = desk / "course" / "submitted" / student / "p1_naive_softmax"
    folder.mkdir(parents=True)
    (folder / "p1_naive_softmax.py").write_text(text)


def viva(desk: Path, *arguments: str) -> tuple[int, str]:
    done = typed("viva", *arguments, cwd=desk, XDG_CONFIG_HOME=str(desk / "config"))
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def texts(pattern: str, page: str) -> list[str]:
    return [unescape(found) for found in re.findall(pattern, page, re.DOTALL)]


def test_a_class_is_asked_and_the_judge_agrees_with_the_answers(desk: Path) -> None:
    status, said = viva(desk, "p1")
    assert status == 0 and "3 accepted, 2 different kernels" in said, said
    assert "Not accepted: dora." in said and "Without a verdict" in said and "emil" in said and "\x1b[2J" not in said
    file, answers = desk / "course" / "viva-p1.html", desk / "course" / "viva-p1-answers.html"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, answers)] == [0o600, 0o600]
    page, sheet = file.read_text(), answers.read_text()
    for text in (page, sheet):
        assert text.endswith("</body>\n</html>\n")
        assert not re.search(r"<script|\x1b|http(?!-equiv)|emil|dora", text) and "default-src 'none'" in text
    sections, tables = (
        one.removesuffix("</body>\n</html>\n").split(mark)[1:] for one, mark in ((page, "<section"), (sheet, "<h2>"))
    )
    assert [texts("<h1>(.*?)</h1>", one)[0][:4] for one in sections] == ["<scr", "anna", "ben"]
    assert sections[1].replace("anna", "ben") == sections[2] and tables[1].replace("anna", "ben") == tables[2]
    titles = {one.title: one.name for one in catalog.load("p1").properties}
    for section, table in zip(sections, tables, strict=True):
        numbered, *asked = [
            re.sub(r"^ *\d+(?:  )?", "", text, flags=re.M) for text in texts("<pre[^>]*>(.*?)</pre>", section)
        ]
        at = [int(line) for line in texts(r"If line (\d+) read", section)]
        rows = texts(r"<tr><td>(.*?)</tr>", table)
        assert len(at) == len(set(at)) == len(asked) == len(rows) == WANTED
        assert section.count("☐") == WANTED * len(titles)  # and none of them ticked
        for line, after, row in zip(at, asked, rows, strict=True):
            _, shown, fails, finding = row.removesuffix("</td>").split("</td><td>")
            assert after.strip() in shown and finding not in page
            lines = numbered.split("\n")
            assert lines[line - 1] != after
            lines[line - 1] = after
            text = "import triton\nimport triton.language as tl\n" + "\n".join(lines)
            verdict = check("p1", from_cells([("code", text)], "kernel.py", numbered=False), Conditions()).verdict
            assert [titles[title] for title in fails.split("<br>")] == [
                p.name for p in verdict.properties if not p.passed
            ]
            assert 0 < fails.count("<br>") + 1 < len(titles)
    assert viva(desk, "p1", "--student", "ben")[0] == 0 and (desk / "course" / "viva-p1-ben.html").exists()
    assert file.read_text() == page  # the class's


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Say which puzzle"),
        (("x9",), "no puzzle"),
        (("c1",), "does not name puzzle c1"),
        (("p2",), "No kernel of puzzle p2 is accepted"),
        (("p1", "--course", "nowhere"), "cannot be read"),
        (("p1", "--student", "zoe\x1b[2J", "--student", "anna"), "Nothing was handed in for puzzle p1 by zoe�[2J."),
        (("p1", "--student", "dora"), "Not accepted: dora."),
    ],
)
def test_what_cannot_be_gets_a_sentence(desk: Path, arguments: tuple[str, ...], words: str) -> None:
    status, said = viva(desk, *arguments)
    assert (status, words in said) == (2, True), said
    assert "ben" not in said


def test_without_the_key_nothing_is_asked(desk: Path, tmp_path: Path) -> None:
    shutil.copytree(desk / "course", tmp_path / "course")
    done = typed("viva", "p1", cwd=tmp_path, XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 2 and "key" in done.stderr and list(tmp_path.glob("*.html")) == []
