"""Records: a verdict that is read back is the one that was written."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.check import check
from checker.course.places import PACKAGE
from checker.grading import record
from checker.submission.extract import extract
from checker.submission.fingerprint import fingerprint
from checker.submission.read import Submission, from_cells
from tests.conftest import SOLUTION, check_kernel
from tests.kernels import Kernel, kernels, named
from tests.mutation.gate import all_mutants

JUDGING = {"checker": "0" * 32, "key": "1" * 16, "caged": True, "triton": "3.7.1"}
OF = record.identity("p1", from_cells([("code", SOLUTION)], "p1.ipynb"), JUDGING)
KERNELS = [named("p1_naive_softmax"), *kernels("wrong")[:3], named("p1_exit_early"), named("a2_plain_attention")]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_verdict_comes_back_as_it_was(kernel: Kernel, tmp_path: Path) -> None:
    verdict = check_kernel(kernel)
    record.keep(record.place(tmp_path, OF), OF, verdict)
    loaded = record.load(record.place(tmp_path, OF))
    assert loaded is not None
    submission = from_cells([("code", kernel.text)], f"{kernel.name}.py", numbered=False)
    assert record.with_lines(loaded, submission) == verdict


def test_another_key_checker_or_puzzle_is_another_record(tmp_path: Path) -> None:
    path = record.place(tmp_path, OF)
    record.keep(path, OF, check_kernel(KERNELS[0]))
    for name in OF:
        other = record.place(tmp_path, OF | {name: "another"})
        assert other != path
        other.parent.mkdir(exist_ok=True)
        shutil.copy(path, other)
        assert record.load(other) is None  # a copy says of what it is


def test_a_result_depends_on_pytorch_where_the_puzzle_does() -> None:
    submission = from_cells([("code", SOLUTION)], "p1.ipynb")
    installed = [JUDGING | {"torch": one} for one in ("", "2.13.0")]
    assert [len({str(record.identity(one, submission, each)) for each in installed}) for one in ("p1", "a2")] == [1, 2]


def test_a_word_that_is_changed_makes_another_checker(tmp_path: Path) -> None:
    """And so does a line of code; what nobody judges by does not."""
    shutil.copytree(PACKAGE, tmp_path / "checker", ignore=shutil.ignore_patterns("__pycache__"))
    digests = []
    for name in (
        "catalog/softmax/mistakes.md",
        "judge/triton_errors.md",
        "judge/judge.py",
        "report/html.py",
        "LATER.md",
    ):
        digests.append(record.digest_of.__wrapped__(tmp_path / "checker"))
        with (tmp_path / "checker" / name).open("a", encoding="utf-8") as file:
            file.write("\n")
    digests.append(record.digest_of.__wrapped__(tmp_path / "checker"))
    assert digests[0] == record.digest_of(PACKAGE)
    assert len({*digests[:4]}) == 4 and len({*digests[3:]}) == 1


def test_a_record_of_before_puzzles_had_ids_is_no_record(tmp_path: Path) -> None:
    """Neither under its own name, in the same folder, nor under that of a new one."""
    verdict = check_kernel(KERNELS[0])
    path = record.place(tmp_path, OF)
    record.keep(path, OF, verdict)
    now = json.loads(path.read_bytes())
    before = {"of": now["of"] | {"form": 2, "puzzle": 1}, "verdict": now["verdict"] | {"puzzle": 1}}
    old = path.with_name(record._name(before["of"]))
    kept = record.load(path)
    for one in (old, path):
        one.write_text(json.dumps(before))
        assert record.load(one) is None
    record.keep(path, OF, verdict)
    assert record.load(path) == kept and old.exists()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"of": {}}', b"\xff"])
def test_a_damaged_record_is_no_record(damage: bytes, tmp_path: Path) -> None:
    verdict = check_kernel(KERNELS[0])
    record.keep(record.place(tmp_path, OF), OF, verdict)
    (path,) = (path for path in tmp_path.rglob("*.json"))
    text = path.read_bytes()
    for data in (
        damage,
        text[: len(text) // 2],
        text.replace(b'"accepted"', b'"splendid"'),
        text.replace(b"25", b'"x"'),
    ):
        path.write_bytes(data)
        assert record.load(path) is None
    path.write_bytes(text)
    whole = record.load(path)
    record.keep(path, OF, verdict)
    assert whole is not None and record.load(path) == whole


def test_the_same_code_in_another_cell_is_another_record() -> None:
    """Else a report would name the cells of somebody else's notebook."""
    further_down = from_cells([("markdown", "my notes"), ("code", SOLUTION)], "p1.ipynb")
    assert record.identity("p1", further_down, JUDGING) != OF


def test_a_kernel_that_is_cut_in_two_has_a_record_of_its_own() -> None:
    """Else who hands in a copy that is cut in the middle of the kernel, and so is invalid, takes the other's points."""
    lines = SOLUTION.split("\n")
    kernel = next(node for node in ast.parse(SOLUTION).body if isinstance(node, ast.FunctionDef))
    assert kernel.end_lineno is not None
    cut = [
        from_cells([("code", "\n".join(lines[:at])), ("code", "\n".join(lines[at:]))], "p1.ipynb")
        for at in range(kernel.lineno, kernel.end_lineno)
    ]
    assert OF not in [record.identity("p1", one, JUDGING) for one in cut]


def test_no_line_that_was_handed_in_is_recorded(tmp_path: Path) -> None:
    kernel = next(one for one in kernels("wrong") if one.puzzle == "p1")
    verdict = check_kernel(kernel)
    assert verdict.findings[0].where.source
    path = record.place(tmp_path, OF)
    record.keep(path, OF, verdict)
    for _, line in verdict.findings[0].where.source:
        assert not line.strip() or line.strip() not in path.read_text()


def test_who_has_less_below_the_kernel_gets_a_report_as_well() -> None:
    """The lines around a finding may reach below the program, into what only the first one has there."""
    wrong = SOLUTION.replace(", mask=mask)", ")").rstrip()
    first, other = (from_cells([("code", text)], "p1.ipynb") for text in (f"{wrong}\n# one\n# two\n", wrong))
    assert record.identity("p1", first, JUDGING) == record.identity("p1", other, JUDGING)
    verdict = check("p1", first).verdict
    assert "# one" in [line for _, line in verdict.findings[0].where.source]
    lines = [line for _, line in record.with_lines(verdict, other).findings[0].where.source]
    assert lines == wrong.split("\n")[-len(lines) :] != []


COMMENTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)


@given(st.lists(COMMENTS, min_size=1, max_size=4), st.randoms())
def test_comments_and_experiments_make_no_other_record(comments: list[str], random: Random) -> None:
    """Nor other cases, which move in a notebook in which lines have moved: only its report is another one."""
    commented = SOLUTION.split("\n")
    for comment in comments:
        at = random.randrange(len(commented))
        commented[at] += f"  # {comment.replace('FILL IN', '')}" if commented[at].strip() else ""
    cells = [("code", "\n".join(commented)), ("code", f"x = {comments[0]!r}"), ("markdown", comments[0])]
    assert record.identity("p1", from_cells(cells, "p1.ipynb"), JUDGING) == OF
    moved = from_cells([("code", f"# {comments[0]}"), ("code", f"\n{SOLUTION}")], "p1.ipynb")
    assert record.identity("p1", moved, JUDGING) != OF
    assert drawn(moved) == drawn(from_cells([("code", SOLUTION)], "p1.ipynb"))


def drawn(submission: Submission) -> str:
    """What cases are drawn from."""
    return fingerprint(extract(submission, catalog.load("p1").kernels))


def test_another_program_has_other_cases() -> None:
    """Whatever a student changes of the kernel, a number or an operator, cannot be prepared for."""
    texts = [SOLUTION, *(mutant.text for mutant in all_mutants("p1"))]
    programs = {ast.unparse(ast.parse(text)) for text in texts}
    assert len({drawn(from_cells([("code", text)], "p1.ipynb")) for text in texts}) == len(programs)
