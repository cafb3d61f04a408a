"""Similar submissions: renamed copies are shown, and kernels that were written apart are not."""

from __future__ import annotations

import ast
import re
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.course import ladder
from checker.course.lesson import emptied
from checker.course.places import notebook, script, solution
from checker.grading.similar import pairs
from checker.grading.similar.fingerprints import GRAM, WINDOW, Token, grams, tokens, winnowed
from checker.grading.similar.page import html
from checker.grading.similar.pairs import FEW, Found, Pair, Side, found
from checker.submission.read import Submission, cells_of, from_cells
from tests.conftest import ROOT, typed
from tests.kernels import Kernel, kernels, named

RIGHT = {id: [kernel for kernel in kernels("right") if kernel.puzzle == id] for id in ladder.RUNGS}
ODD = (ROOT / "tests" / "right" / "p3_helper_merges.py").read_text()  # a style that few come upon
KEPT = {"tl", "triton", "language", "jit", "range", "float", "import", "constexpr"}


def handed(text: str) -> Submission:
    return from_cells([("code", text)], "kernel.py", numbered=False)


def works_of(puzzle_id: str) -> list[tuple[str, Submission]]:
    """What people wrote apart from each other."""
    return [(kernel.name, handed(kernel.text)) for kernel in [*RIGHT[puzzle_id], named(ladder.stems()[puzzle_id])]]


def disguised(text: str, puzzle_id: str) -> str:
    """The same kernel with other names, comments, parentheses, layout and spelling of numbers."""
    text = re.sub(r'^""".*?"""\n', "", text, flags=re.DOTALL)
    signature = {kernel.name for kernel in catalog.load(puzzle_id).kernels} | {
        name for kernel in catalog.load(puzzle_id).kernels for name in re.findall(r"\w+", kernel.signature)
    }
    chosen = set(re.findall(r"^ +(\w+)(?:, \w+)* [-+*]?= ", text, re.MULTILINE))
    chosen |= set(re.findall(r"^def (\w+)", text, re.MULTILINE))
    for position, name in enumerate(sorted(chosen - signature - KEPT)):
        text = re.sub(rf"(?<![.\w]){name}\b(?!=[^=])", f"other_name_{position}", text)
    text = text.replace('float("inf")', "float( '+Infinity' )").replace("-float( '+", "float( '-").replace("1.0", "1.")
    text = re.sub(r"^(    \w+ = )(.*[^,(\[\\])$", r"\1(\2)  # which I came upon myself", text, flags=re.MULTILINE)
    return re.sub(r", (mask|other|axis)=", r",\n            \1 = ", text).replace("\n    ", "\n\n\t")


@pytest.mark.parametrize("puzzle_id", RIGHT)
def test_kernels_that_were_written_apart_are_not_shown(puzzle_id: str) -> None:
    assert found(puzzle_id, works_of(puzzle_id)).pairs == ()


@pytest.mark.parametrize(
    "kernel", RIGHT["p1"][2:3] + RIGHT["p2"][4:6] + RIGHT["p3"][2:] + RIGHT["p6"], ids=lambda kernel: kernel.name
)
def test_a_disguised_copy_is_shown_and_nothing_else(kernel: Kernel) -> None:
    copy = disguised(kernel.text, kernel.puzzle)
    assert copy.count("other_name_") > 10 and "# which" in copy and ast.parse(copy)
    works = works_of(kernel.puzzle)
    (pair,) = found(kernel.puzzle, [*works, ("copied", handed(copy))]).pairs
    assert {pair.left.student, pair.right.student} == {kernel.name, "copied"} and pair.shared == pair.of
    changed = copy.replace("\n\n\t", "\n\n\tother_name_0 = 4711\n\t", 1)  # nor does a line more help
    (pair,) = found(kernel.puzzle, [*works, ("copied", handed(changed))]).pairs
    assert {pair.left.student, pair.right.student} == {kernel.name, "copied"}
    assert pair.left.marked and pair.right.marked


def test_what_the_course_says_itself_is_nobodys() -> None:
    for puzzle_id in ("p1", "p5"):
        stub = emptied(script(puzzle_id).read_text(), catalog.load(puzzle_id))
        same = [
            (f"{name}{n}", handed(text))
            for n in range(3)
            for name, text in [("a", solution(puzzle_id).read_text()), ("b", stub)]
        ]
        assert found(puzzle_id, same) == Found(puzzle_id, (), 0)


def test_what_many_have_is_nobodys_and_what_few_have_is_shown() -> None:
    others = [(f"other{n}", handed(solution("p3").read_text())) for n in range(30)]
    few = [(f"s{n}", handed(ODD.replace("running", f"running{n}"))) for n in range(FEW)]
    (pair,) = found("p3", [*others, *few]).pairs
    assert {pair.left.student, pair.right.student, *pair.others} == {name for name, _ in few}
    assert pair.few == FEW
    many = [*few, ("one more", handed(ODD))]
    assert found("p3", [*others, *many]).pairs == ()
    more = [(f"x{n}", handed(solution("p3").read_text())) for n in range(90)]
    assert found("p3", [*others * 4, *many, *more]).pairs  # 5 %


def test_nobody_is_compared_with_himself() -> None:
    longer = ODD.replace("):\n", "):\n    once_more = 4711\n")
    assert found("p3", [("anna", handed(text)) for text in (ODD, disguised(ODD, "p3"), longer)]).total == 0
    assert found("p3", [("anna", handed(ODD)), ("ben", handed(longer))]).total == 1


def test_who_hands_in_a_thousand_of_his_own_makes_no_pairs_of_them() -> None:
    owners = [frozenset({"mallory"})] * 10_000 + [frozenset({"ben"})] + [frozenset({"anna", "ben"})] * 2
    of_two = set(pairs._of_two(range(len(owners)), owners))
    mallory = range(10_000)
    assert of_two == {(one, other) for one in mallory for other in (10_000, 10_001, 10_002)} | {
        (10_000, 10_001),
        (10_000, 10_002),
        (10_001, 10_002),
    }


def test_a_text_that_was_made_to_take_long_takes_no_longer() -> None:
    started = time.process_time()
    assert [token.text for token in tokens('float("' + " " * 50_000 + "x")] == ["float"]
    assert time.process_time() - started < 5  # it was 30 s
    assert [token.text for token in tokens("float(' +inf ')")] == ["+", "inf"]


def test_what_the_lesson_says_in_words_is_nobodys(tmp_path: Path) -> None:
    works = [("anna", handed(ODD)), ("ben", handed(disguised(ODD, "p3")))]
    lesson = tmp_path / "puzzles" / script("p3").name
    lesson.parent.mkdir()
    lesson.write_text(script("p3").read_text())
    assert found("p3", works, tmp_path).pairs
    lesson.write_text(script("p3").read_text() + "".join(f"# {line}\n" for line in ODD.split("\n")))
    assert found("p3", works, tmp_path).pairs == ()


@pytest.mark.parametrize("puzzle_id", ["p1", "p3", "p6", "a2", "c1"])
def test_cells_of_the_course_are_nobodys_even_where_no_kernel_can_be_read(puzzle_id: str) -> None:
    """One kernel is no Python, and one stands in a cell of text: what is left of both is the course's own."""
    cells = [(cell.kind, cell.text) for cell in cells_of(notebook(puzzle_id), "")]
    kernel = catalog.load(puzzle_id).kernels[0].name
    broken = [(kind, text.replace(f"def {kernel}(", f"def {kernel}((")) for kind, text in cells]
    gone = [("markdown" if f"def {kernel}(" in text else kind, text) for kind, text in cells]
    assert broken != cells and gone != cells
    works = [("anna", from_cells(broken, "a.ipynb")), ("ben", from_cells(gone, "b.ipynb"))]
    assert found(puzzle_id, works).pairs == ()


def test_an_earlier_class_is_compared_with_this_one_and_not_with_itself() -> None:
    earlier = [
        ("2025: ben", handed(disguised(ODD, "p3"))),
        ("2025: carl", handed(ODD.replace("):\n", "):\n    x = 1\n"))),
    ]
    assert found("p3", [("dora", handed(solution("p3").read_text()))], earlier=earlier).total == 0
    shown = found("p3", [("anna", handed(ODD))], earlier=earlier).pairs
    assert {(pair.left.student, pair.right.student) for pair in shown} == {("anna", name) for name, _ in earlier}


def test_of_many_pairs_those_with_most_in_common_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_PAIRS", 1)
    longer = (ROOT / "tests" / "right" / "p3_vector_state.py").read_text()
    works = [(f"{name}{n}", handed(f"{text}\n")) for n in range(2) for name, text in [("odd", ODD), ("longer", longer)]]
    both = found("p3", works[::2]).pairs + found("p3", works[1::2]).pairs
    for order in (works, works[::-1]):
        made = found("p3", order)
        assert (len(made.pairs), made.total) == (1, 2)
        assert made.pairs[0].shared == max(pair.shared for pair in both) > min(pair.shared for pair in both)


HOSTILE = {
    "parentheses": "(" * 100_000,
    "quotes": '" \\' * 40_000,
    "docstrings": '"""' * 30_001,
    "names": "x " * 50_000,
    "a number": "1" * 100_000,
    "digits and lines": "0_" * 50_000,
    "surrogates": "\ud800 = \ud801\n" * 100,
    "deep": "def naive_softmax_kernel():\n" + "".join(" " * n + "if 1:\n" for n in range(1, 300)),
    "one line": "def naive_softmax_kernel(x_ptr): return " + "-" * 50_000 + "1",
    "a script": "</pre><script>alert(1)</script><b>\x1b[2J\u202e" * 50,
    "runs": "open('ran', 'w')\n" * 20,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_text_is_compared_like_any_other(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = found("p1", [("<i>anna</i>", handed(text)), ("ben\x1b[2J", handed(text + "\n")), ("carl", handed(ODD))])
    page = html([made], 3, 0)
    page.encode()
    assert not re.findall(r"<script|<i>|<b>alert|\x1b|\u202e|</pre><", page) and list(tmp_path.iterdir()) == []
    assert made.total <= 1


def test_the_page_shows_text_as_text() -> None:
    side = Side(
        "<i>anna\x1b[2J\n",
        ("</pre><script>alert(1)</script>\u202e\x1b[2J", "long " * 1000, *["line"] * 1000),
        frozenset({0}),
    )
    page = html([Found("p1", (Pair(side, side, 9, 9, 5, ("<b>",)),), 1)], 2, 0)
    assert not re.findall(r"<script|<i>|<b>[^aTl&]|</pre><s|\x1b|\u202e", page)
    assert "&lt;script&gt;" in page and "and 602 more lines" in page and len(page) < 20_000


def test_the_page_accuses_nobody_and_runs_nothing() -> None:
    page = html([found("p3", [("<anna>", handed(ODD)), ("ben", handed(disguised(ODD, "p3")))])], 2, 1)
    assert "&lt;anna&gt; and ben" in page and "other_name_" in page and page.count("<mark>") > 20
    assert "default-src 'none'" in page and "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert "no finding about anybody" in page and "cannot be read: 1" in page
    assert not re.search(r"cheat|plagiar|copied|copy|suspect|guilt|fraud", page, re.IGNORECASE)


words = st.lists(st.sampled_from(["a", "b", "+", "[", "tl", "="]).map(lambda t: Token(t, 0, t in "ab")), max_size=60)


@given(words, words, st.lists(st.sampled_from("abcd+*[]"), min_size=GRAM + WINDOW - 1, max_size=40), words, words)
def test_what_is_long_enough_is_always_found(
    before: list[Token], after: list[Token], shared: list[str], front: list[Token], back: list[Token]
) -> None:
    """Whatever stands around it, and whatever its names are."""
    here = [Token(text, 0, text.isalpha()) for text in shared]
    there = [Token(text * 2 if text.isalpha() else text, 0, text.isalpha()) for text in shared]
    one, other = winnowed(grams([*before, *here, *after])), winnowed(grams([*front, *there, *back]))
    assert one.keys() & other.keys()


def test_what_does_not_count() -> None:
    def texts(source: str) -> list[str]:
        return [token.text for token in tokens(source)]

    assert texts("x = (1.50e0 + y) ; # why\n'''no'''") == texts("x=1.5+y") == ["x", "=", "1.5", "+", "y"]
    assert texts("f(a, b,)") == texts("f(a,\n b)") and texts("-float('inf')") == texts('float("-Inf")') == ["-", "inf"]
    assert [token.free for token in tokens("tl.load(p, mask=mask)") if token.text.isalpha()] == [
        False,
        False,
        True,
        False,
        True,
    ]
    assert [token.line for token in tokens('a\n"""\n\n"""\nb')] == [0, 4]


def test_a_class_of_ten_thousand() -> None:
    others = [(f"s{n}", handed(ODD.replace("import triton\n", f"import triton\nNUMBER = {n}\n"))) for n in range(4_998)]
    others += [(f"t{n}", handed(solution("p3").read_text() + f"\nNUMBER = {n}")) for n in range(5_000)]
    rare = (ROOT / "tests" / "right" / "p3_vector_state.py").read_text()
    (pair,) = found("p3", [*others, ("anna", handed(rare)), ("ben", handed(disguised(rare, "p3")))]).pairs
    assert {pair.left.student, pair.right.student} == {"anna", "ben"}


def test_the_command(tmp_path: Path) -> None:
    for name, text in {
        "anna": ODD,
        "ben": disguised(ODD, "p3"),
        "carl": "\0",
        "dora": solution("p3").read_text(),
    }.items():
        place = tmp_path / "course" / "submitted" / name / "p3_online_softmax"
        place.mkdir(parents=True)
        (place / "p3_online_softmax.py").write_text(text)
    (tmp_path / "course" / "submitted" / "anna" / "p1_naive_softmax.py").write_text(solution("p1").read_text())
    done = typed("similar", cwd=tmp_path)
    assert done.returncode == 0 and "compared: 4. Pairs to look at (1):" in done.stdout, done.stdout + done.stderr
    page = tmp_path / "similar.html"
    assert "anna and ben" in page.read_text() and stat.S_IMODE(page.stat().st_mode) == 0o600
    done = typed("similar", "course/submitted", "--puzzle", "1", "--file", "other.html", cwd=tmp_path)
    assert done.returncode == 0 and "compared: 1. Pairs to look at (0):" in done.stdout, done.stdout + done.stderr
    later = tmp_path / "2026" / "emil" / "p3_online_softmax.py"
    later.parent.mkdir(parents=True)
    later.write_text(disguised(ODD, "p3"))
    done = typed("similar", "2026", "--against", "course/submitted", "--file", "years.html", cwd=tmp_path)
    assert done.returncode == 0 and "compared: 1. Pairs to look at (1):" in done.stdout, done.stdout + done.stderr
    assert "<h3>emil and course/submitted: " in (tmp_path / "years.html").read_text()
    for arguments, reason in [
        (("nowhere",), "There is no nowhere"),
        (("--against", "nowhere"), "There is no nowhere"),
        (("--puzzle", "x"), "no puzzle"),
        (("--file", "no/folder"), "could not be written"),
    ]:
        done = typed("similar", *arguments, cwd=tmp_path)
        assert done.returncode == 2 and reason in done.stderr and "Traceback" not in done.stderr
