"""A question bank from wrong kernels: what Moodle reads in it, what is handed out, and that its answers are right."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from checker.commands.author import questions
from checker.course import ladder, places
from checker.course.edits import code_of
from checker.course.status import Misuse
from checker.learner.bugs import bugs_of
from checker.publish.questions import bank
from tests.conftest import ROOT, importable, need, typed
from tests.kernels import named


def asked(folder: Path, *options: str) -> Result:
    """How the verb ends; what it raises is raised."""
    return CliRunner().invoke(
        questions, [*options, "--folder", str(folder)], catch_exceptions=False, standalone_mode=False
    )


def bank_of(file: Path) -> list[ElementTree.Element]:
    return ElementTree.fromstring(file.read_bytes()).findall("question")


def text(question: ElementTree.Element, tag: str) -> str:
    return question.findtext(f"{tag}/text") or ""


def listed(html: str) -> list[str]:
    """The lines of a listing, without their numbers, which count from 1."""
    numbered = [
        re.fullmatch(r" *(\d+)(?:  (.*))?", line)
        for line in html.partition("<pre>")[2].partition("</pre>")[0].split("\n")
    ]
    assert "<" not in html.partition("<pre>")[2].partition("</pre>")[0]
    assert [int(line[1]) for line in numbered if line] == list(range(1, len(numbered) + 1))
    return [unescape(line[2] or "") for line in numbered if line]


@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
def test_the_line_to_blame_is_the_one_that_the_solution_does_not_have(puzzle_id: str) -> None:
    lines = [re.sub("#.*", "", line).strip() for line in code_of(places.solution(puzzle_id).read_text()).split("\n")]
    solution = [line for line in lines if line and not line.startswith(("import ", "from "))]
    published = {bug.text.partition('"""\n')[2] for bug in bugs_of(puzzle_id)}
    every = list(bank.questions(puzzle_id, 0))
    assert len(every) >= 10 and len({one.kernel for one in every}) == len(every)
    for one in every:
        assert code_of(named(one.kernel).text) not in published
        assert not any("#" in line for line in one.lines)
        assert 2 <= len(one.choices) <= bank.CHOICES
        assert [choice.line for choice in one.choices] == sorted({choice.line for choice in one.choices})
        assert all(one.lines[choice.line - 1].strip() == choice.text for choice in one.choices)
        [right] = [choice for choice in one.choices if choice.right]
        others = [line.strip() for number, line in enumerate(one.lines, start=1) if number != right.line]
        kept = [line for line in others if line]
        assert len(kept) == len(solution) - 1 and set(kept) <= set(solution)  # so it is this line that was changed


def test_lines_for_moodle_and_for_print(tmp_path: Path) -> None:
    said = asked(tmp_path / "new" / "folder", "3").output
    folder = tmp_path / "new" / "folder"
    names = [f"questions-p3{end}" for end in ("-answers.ipynb", ".ipynb", ".xml")]
    assert sorted(path.name for path in folder.iterdir()) == names and said.startswith("10 questions:")
    quiz = bank_of(folder / names[2])
    assert len(quiz) == 10 and len({text(one, "name") for one in quiz}) == 10
    for one in quiz:
        assert one.get("type") == "multichoice"
        assert (one.findtext("single"), one.findtext("shuffleanswers")) == ("true", "false")
        answers = one.findall("answer")
        assert sorted(float(answer.get("fraction", "")) for answer in answers) == [0] * (len(answers) - 1) + [100]
        lines = listed(text(one, "questiontext"))
        for answer in answers:
            found = re.fullmatch(r"Line (\d+): <code>(.*)</code>", answer.findtext("text") or "")
            assert found and lines[int(found[1]) - 1].strip() == unescape(found[2])
    nbformat = importable("nbformat")
    out, all_of_it = (nbformat.read(folder / name, nbformat.NO_CONVERT) for name in (names[1], names[0]))
    for notebook in (out, all_of_it):
        nbformat.validate(notebook)
    assert len(out.cells) == 11 and len(all_of_it.cells) == 21
    kernels = list(bank.questions("p3", 0))[:10]
    for number, one in enumerate(kernels):
        question, answer = all_of_it.cells[2 * number + 1 : 2 * number + 3]
        assert question.source == out.cells[number + 1].source and listed(question.source) == list(one.lines)
        says = text(quiz[number], "generalfeedback")
        assert says in answer.source and named(one.kernel).says in unescape(says)
        [right] = re.findall(r"<li>Line (\d+)", answer.source)
        assert [right] == [str(choice.line) for choice in one.choices if choice.right]
        for file in names[1:]:  # neither of what students see says which one it is
            assert one.kernel not in (folder / file).read_text()
        assert says not in json.dumps(out, ensure_ascii=False) and named(one.kernel).says not in str(out)


def test_the_same_bytes_for_the_same_seed(tmp_path: Path) -> None:
    for folder, seed in (("a", "0"), ("b", "0"), ("c", "1")):
        asked(tmp_path / folder, "p1", "--seed", seed, "--count", "5")
    a, b, c = ({path.name: path.read_bytes() for path in (tmp_path / one).iterdir()} for one in "abc")
    assert a == b and not any(a[name] == c[name] for name in a)
    assert "there are no more for 500" in asked(tmp_path / "all", "p1", "--count", "500").output


def test_what_cannot_be_asked_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for options, sentence in (
        (["p99"], "There is no puzzle"),
        ([], "Say which puzzle"),
        (["p1"], "could not be written to: "),
    ):
        with pytest.raises(Misuse, match=sentence):
            asked(tmp_path / "file", *options)
    assert CliRunner().invoke(questions, ["p3", "--count", "0"]).exit_code == 2


@pytest.mark.parametrize("kept", ["tests/wrong", "solutions"])
def test_a_copy_without_wrong_kernels_or_solutions_says_so(kept: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    for name in ("checker", kept):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    done = typed("questions", "p3", cwd=tmp_path, root=copy)
    assert done.returncode == 2 and not (tmp_path / "questions").exists()
    assert done.stderr.startswith("This copy of the course has no wrong kernels of puzzle p3: ")
    assert done.stderr.count("\n") == 1


def test_the_guide_can_be_typed(tmp_path: Path) -> None:
    need("make")
    (echo := tmp_path / "bin" / "python").parent.mkdir()
    echo.write_text('#!/bin/sh\necho "$@"\n')
    echo.chmod(0o755)
    for line in re.findall(r"^make questions .*", (ROOT / "docs" / "grading.md").read_text(), re.MULTILINE):
        typed = [*line.split(), "COUNT=2", "SEED=1", "FOLDER=my folder", f"VENV={tmp_path}"]
        done = subprocess.run(typed, cwd=ROOT, capture_output=True, text=True, check=True)
        assert "checker questions p3 --count 2 --seed 1 --folder my folder" in done.stdout
