"""Records: a verdict that is read back is the one that was written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from checker.course.places import PACKAGE
from checker.grading import record
from checker.submission.read import from_cells
from tests.conftest import SOLUTION, check_kernel
from tests.kernels import Kernel, kernels, named

JUDGING = {"checker": "0" * 32, "key": "1" * 16, "caged": True, "triton": "3.7.1"}
OF = record.identity("p1", from_cells([("code", SOLUTION)], "p1.ipynb"), JUDGING)
KERNELS = [named("p1_naive_softmax"), *kernels("wrong")[:3], named("p1_exit_early"), named("a2_plain_attention")]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_a_verdict_comes_back_as_it_was(kernel: Kernel, tmp_path: Path) -> None:
    verdict = check_kernel(kernel)
    record.keep(record.place(tmp_path, OF), OF, verdict)
    assert record.load(record.place(tmp_path, OF)) == verdict


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
    for one in (old, path):
        one.write_text(json.dumps(before))
        assert record.load(one) is None
    record.keep(path, OF, verdict)
    assert record.load(path) == verdict and old.exists()


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
    record.keep(record.place(tmp_path, OF), OF, verdict)
    assert record.load(record.place(tmp_path, OF)) == verdict


def test_the_same_code_in_another_cell_is_another_record() -> None:
    """Else a report would name the cells of somebody else's notebook."""
    further_down = from_cells([("markdown", "my notes"), ("code", SOLUTION)], "p1.ipynb")
    assert record.identity("p1", further_down, JUDGING) != OF


def test_the_same_code_cut_elsewhere_is_another_record() -> None:
    """Else who hands in a copy that is cut in the middle of the kernel, and so is invalid, takes the other's points."""
    lines = SOLUTION.split("\n")
    for at in range(2, len(lines)):
        one, other = (
            from_cells([("code", "\n".join(lines[:end])), ("code", "\n".join(lines[end:]))], "p1.ipynb")
            for end in (at - 1, at)
        )
        assert one.text == other.text
        of_one, of_other = (record.identity("p1", each, JUDGING) for each in (one, other))
        assert of_one != of_other
