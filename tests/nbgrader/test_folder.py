"""Making a course, and making it again: nothing of an instructor's is lost."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from checker import catalog
from checker.course import ladder
from checker.doctor.exchange import named, problem
from checker.grading import key, settings
from checker.grading.key import KeyProblem
from checker.grading.settings import SettingsError
from checker.nbgrader.assignment import NoAssignment, solved
from checker.nbgrader.folder import make
from tests.conftest import importable, typed

STEM = "p1_naive_softmax"
ASKED = f"[[question.{STEM}]]\n"


@pytest.fixture(autouse=True)
def own_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    importable("jupytext")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_making_it_again_changes_nothing(tmp_path: Path) -> None:
    course, made = make(tmp_path / "course")
    assert len(made.written) == len(ladder.graded()) + 3
    (course.folder / "course.toml").write_text((course.folder / "course.toml").read_text() + "# my own\n")
    (course.folder / "own_config.py").write_text("get_config().Exchange.root = '/srv'\n")
    for name in ("gradebook.db", f"submitted/ida/{STEM}/{STEM}.ipynb", "source/own/own.ipynb", "release/x"):
        (course.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (course.folder / name).write_text("precious")
    before = contents(tmp_path)
    _, made = make(tmp_path / "course")
    assert made.written == []
    assert contents(tmp_path) == before


def test_new_points_reach_the_source_and_what_was_there_is_kept(tmp_path: Path) -> None:
    course, _ = make(tmp_path / "course")
    path = course.folder / "source" / STEM / f"{STEM}.ipynb"
    path.write_text(path.read_text().replace("naive softmax", "my naive softmax"))
    toml = course.folder / "course.toml"
    head = f"[points.{STEM}]"
    others, ours = toml.read_text().split(head)
    toml.write_text(others + head + ours.replace('"full-block" = 25', '"full-block" = 1', 1))
    _, made = make(course.folder)
    assert made.written == [path]
    cells = json.loads(path.read_text())["cells"]
    assert [c["metadata"]["nbgrader"]["points"] for c in cells if c["metadata"].get("nbgrader", {}).get("grade")] == [
        76
    ]
    assert [p.name for p in path.parent.iterdir()] == [path.name]  # nbgrader would release a copy that lies here
    assert "my naive softmax" in (course.folder / "replaced" / f"{STEM}.ipynb.bak").read_text()


@pytest.mark.parametrize("kind", ["markdown", "code"])
def test_an_instructors_own_question_stays_where_it_was(tmp_path: Path, kind: str) -> None:
    course, _ = make(tmp_path / "course")
    path = course.folder / "source" / STEM / f"{STEM}.ipynb"
    notebook = json.loads(path.read_text())
    question = {
        "cell_type": kind,
        "id": "why",
        "source": ["Why\n", "exp?"],
        "metadata": {"nbgrader": {"grade_id": "q"}},
    }
    notebook["cells"][1:2] = [  # the second was ours, and has become a question
        question,
        {"cell_type": "raw", "id": "cell-1", "source": "", "metadata": {"nbgrader": {"grade_id": "r"}}},
    ]
    notebook["cells"].append({"cell_type": kind, "id": "last", "source": "Bye", "metadata": {}})
    path.write_text(json.dumps(notebook))
    toml = course.folder / "course.toml"
    head = f"[points.{STEM}]"
    others, ours = toml.read_text().split(head)
    toml.write_text(others + head + ours.replace('"full-block" = 25', '"full-block" = 1', 1))
    make(course.folder)
    cells = json.loads(path.read_text())["cells"]
    assert [cell["source"] for cell in cells] == ["".join(cell["source"]) for cell in notebook["cells"]]
    assert cells[1] == question | {"source": "Why\nexp?"}
    assert make(course.folder)[1].written == []


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"cells": [1, {"id": 7}]}'])
def test_a_broken_source_is_made_anew(tmp_path: Path, damage: str) -> None:
    course, _ = make(tmp_path / "course")
    path = course.folder / "source" / STEM / f"{STEM}.ipynb"
    whole = path.read_text()
    path.write_text(damage)
    make(course.folder)
    assert len(json.loads(path.read_text())["cells"]) - len(json.loads(whole)["cells"]) in (0, 1)


def test_a_stray_file_in_source_is_told(tmp_path: Path) -> None:
    course, _ = make(tmp_path / "course")
    (course.folder / "source" / STEM / "answers.txt").write_text("")
    assert any("answers.txt" in remark for remark in make(course.folder)[1].remarks)


def test_another_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to-aunt.txt").write_text("dear")
    with pytest.raises(SettingsError, match="is not empty, and not a course"):
        make(tmp_path / "letters")
    assert list(contents(tmp_path)) == ["letters/to-aunt.txt"]


def test_the_key_is_its_owners_alone(tmp_path: Path) -> None:
    course, _ = make(tmp_path / "course")
    assert course.key_path == tmp_path / "config" / "flash-puzzles" / "flash-puzzles.key"
    assert stat.S_IMODE(course.key_path.stat().st_mode) == 0o600
    assert stat.S_IMODE(course.key_path.parent.stat().st_mode) == 0o700
    secret = key.read(course.key_path)
    assert len(secret) == 64 and key.key_id(secret) not in secret
    course.key_path.chmod(0o640)
    with pytest.raises(KeyProblem, match="mode 640"):
        key.read(course.key_path)
    with pytest.raises(KeyProblem, match="mode 640"):
        make(course.folder)
    course.key_path.unlink()
    with pytest.raises(KeyProblem, match="Put back your copy"):
        key.read(course.key_path)


def test_a_key_on_a_disk_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "key").symlink_to(tmp_path / "stick" / "key")
    with pytest.raises(KeyProblem, match="which is not there"):
        key.make(tmp_path / "key", tmp_path / "course")


def test_two_courses_have_two_keys(tmp_path: Path) -> None:
    one, two = make(tmp_path / "one", "spring")[0], make(tmp_path / "two", "autumn")[0]
    assert key.read(one.key_path) != key.read(two.key_path)


@pytest.mark.parametrize("link", [False, True], ids=["there", "by a link"])
def test_no_key_in_a_repository_or_in_the_course(tmp_path: Path, link: bool) -> None:
    """Whether a folder is a clone or a work tree of one, where .git is a file."""
    (tmp_path / "clone" / "deep").mkdir(parents=True)
    (tmp_path / "clone" / ".git").write_text("gitdir: elsewhere")
    place = tmp_path / "clone" / "deep"
    if link:
        (tmp_path / "innocent").symlink_to(place)
        place = tmp_path / "innocent"
    with pytest.raises(KeyProblem, match="repository"):
        key.make(place / "key", tmp_path / "course")
    with pytest.raises(KeyProblem, match="course's folder"):
        key.make(tmp_path / "course" / "key", tmp_path / "course")
    assert not list(tmp_path.rglob("key"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("id = ", "is not TOML"),
        ("id = '../up'", "letters, digits"),
        ("idd = 'x'", "'idd', which is not known"),
        ("puzzles = ['p1', 'p99']", r"There is no puzzle 'p99'\. There is: .*p1, p2"),
        ("puzzles = [8.0]", "name the puzzles of the course"),
        ("puzzles = [true]", "name the puzzles of the course"),
        ("puzzles = 'p1'", "name the puzzles of the course"),
        ("puzzles = []", "name the puzzles of the course"),
        ("[late]\npolicy = 'sometimes'", "'per day'"),
        ("[late]\npercent_per_day = -1", "not negative"),
        ("[extension]\np9 = {}", "'p9', which is not known"),
        (f"[extension.{STEM}]\nanna = -1", "a number of days"),
        (f"[extension.{STEM}]\nanna = '2 days'", "a number of days"),
        (f"[extension]\n{STEM} = 2", "must hold lines"),
        ("[accommodations]\nanna = 0.5", "a factor from 1 to 100"),
        ("accommodations = 1.5", "must hold lines"),
        (f"[handed_out]\n{STEM} = 2030-05-01T12:00:00", "a time with its offset"),
        ("[attempts]\ncounts = 'last'", "use 'best' or 'newest'"),
        ("[attempts]\nallowed = 1.5", "whole number"),
        ("[attempts]\np9 = 1", "'p9', which is not known"),
        ("[attempts]\nallowed = true", "whole number"),
        (f"[points.{STEM}]\nfullblock = 3", "'fullblock', which is not known"),
        (f"[points.{STEM}]\ntraffic = 'many'", "whole number"),
        (f"[points]\n{STEM} = 3", "must hold lines"),
        ("key_file = 3", "use a text"),
        ("sandbox = 'maybe'", "use 'required' or 'none'"),
        ("late = 3", "must hold lines"),
        ("[feedback]\ndetail = 'all'", "use 'full', 'finding' or 'points'"),
        ("[feedback]\np9 = 'full'", "'p9', which is not known"),
        ("[[question.p9]]\ntext = 'Why?'\npoints = 1", "'p9', which is not known"),
        (f"[question.{STEM}]\ntext = 'Why?'", "in double brackets"),
        ("question = 3", "must hold lines"),
        (f"{ASKED}points = 1", r"number 1, has no text\."),
        (f"{ASKED}text = 'Why?'", r"number 1, has no points\."),
        (f"{ASKED}text = ' '\npoints = 1", "use a text"),
        (f"{ASKED}text = 'Why?'\npoints = -1", "not negative"),
        (f"{ASKED}text = 'Why?'\npoints = 1\nname = 'Why so'", "small letters"),
        (f"{ASKED}text = 'Why?'\npoints = 1\nname = '{'a' * 51}'", "at most 50"),
        (f"{ASKED}text = 'Why?'\npoints = 1\nmark = 'x'", "'mark', which is not known"),
        (f"{ASKED}text = 'Why?'\npoints = 1\nrubric = 'x'", "use texts"),
        (f"{ASKED}text = 'Why?'\npoints = 1\nrubric = ['=== END MARK SCHEME ===']", "nbgrader's marks"),
        (f"{ASKED}text = '### BEGIN SOLUTION'\npoints = 1", "BEGIN SOLUTION"),
        (f"{ASKED}text = 'Why?'\npoints = 1\nname = 'question-2'\n{ASKED}text = 'Why?'\npoints = 1", "two questions"),
        ("[late]\ngrace_minutes = nan", "not negative"),
    ],
)
def test_settings_that_are_wrong_are_told(tmp_path: Path, change: str, told: str) -> None:
    (tmp_path / "course.toml").write_text(change)
    with pytest.raises(SettingsError, match=told):
        settings.read(tmp_path)


@pytest.mark.parametrize(
    ("said", "puzzles"),
    [
        ("", ("p1", "p2", "p3", "p4", "p5", "p6", "p7")),  # older than the line: what there was then
        ('puzzles = ["p2"]', ("p2",)),
        ('puzzles = ["P3", 1, "2", "1", "X1"]', ("x1", "p1", "p2", "p3")),
        (settings.template("x"), tuple(ladder.graded())),
    ],
)
def test_a_course_has_the_puzzles_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, puzzles: tuple[str, ...]
) -> None:
    """However they are spelt, each once, and as they stand on the ladder: here with one more rung."""
    first, *others = ladder.LADDER
    rungs = [first, ladder.Rung("x1", "double", "Twice as much"), *others]
    monkeypatch.setattr(ladder, "RUNGS", {rung.id: rung for rung in rungs})
    (tmp_path / "course.toml").write_text(said)
    assert settings.read(tmp_path).puzzles == puzzles


def test_only_puzzles_that_are_named_are_put_into_the_course(tmp_path: Path) -> None:
    course = make(tmp_path / "course")[0]
    stems = {ladder.stems()[puzzle_id] for puzzle_id in ladder.graded()}
    assert {path.name for path in (course.folder / "source").iterdir()} == stems
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / "course.toml").write_text("puzzles = [2]")
    _, made = make(tmp_path / "small")
    assert [path.name for path in (tmp_path / "small" / "source").iterdir()] == ["p2_safe_softmax"]
    assert not any("does not name" in remark for remark in made.remarks)


def test_puzzles_that_are_no_longer_named_stay_and_are_told(tmp_path: Path) -> None:
    course, _ = make(tmp_path / "course")
    before = contents(course.folder / "source")
    (course.folder / "course.toml").write_text('puzzles = ["p1", "p2"]')
    (remark,) = make(course.folder)[1].remarks
    assert "source/p3_online_softmax, source/p4_tiled_softmax" in remark and "p1_" not in remark
    assert contents(course.folder / "source") == before


def test_what_is_not_said_is_as_in_the_catalog(tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(f"[points.{STEM}]\ntraffic = 30\n")
    points = settings.read(tmp_path).points_of("p1")
    assert points["traffic"] == 30 and points["full-block"] == 25
    (tmp_path / "course.toml").write_text(settings.template("x"))
    for puzzle_id in ladder.RUNGS:
        weights = {one.name: one.weight for one in catalog.load(puzzle_id).properties}
        assert settings.read(tmp_path).points_of(puzzle_id) == weights


def test_a_solution_that_does_not_fit_its_stub_is_told() -> None:
    stub = "@triton.jit\ndef k(x):\n    a = 1\n    # FILL IN\n    b = 2"
    assert solved(stub, "def k(x):\n    a = 1  # one\n    c = 3\n\n    b = 2\n    d = 4", "k").split("\n") == [
        *stub.split("\n")[:4],
        *("    ### BEGIN SOLUTION", "    c = 3", "    ### END SOLUTION", "    b = 2"),
        *("    ### BEGIN SOLUTION", "    d = 4", "    ### END SOLUTION"),
    ]
    with pytest.raises(NoAssignment, match="lacks the stub's line: b = 2"):
        solved(stub, "def k(x):\n    a = 1", "k")


def test_the_command_speaks_plainly(tmp_path: Path) -> None:
    done = typed("course", "here", cwd=tmp_path)
    assert done.returncode == 0 and "A new key was made" in done.stdout, done.stderr
    assert "make handout ASSIGNMENT=w1_vector_add" in done.stdout
    assert "Nothing has changed." in typed("course", "here", cwd=tmp_path).stdout
    (tmp_path / "here" / "course.toml").write_text("id = 3")
    done = typed("course", "here", cwd=tmp_path)
    assert done.returncode == 2 and "use letters, digits" in done.stderr and "Traceback" not in done.stderr


def test_an_id_that_cannot_be_leaves_nothing_behind(tmp_path: Path) -> None:
    """Else the folder would be a course that can neither be used nor made again."""
    with pytest.raises(SettingsError, match="letters, digits"):
        make(tmp_path / "course", "my course")
    assert not (tmp_path / "course").exists()


def test_another_id_does_not_change_the_course_that_is_there(tmp_path: Path) -> None:
    course, _ = make(tmp_path / "course", "spring")
    before = contents(tmp_path)
    with pytest.raises(SettingsError, match=r"'spring'.*name another folder"):
        make(course.folder, "autumn")
    assert contents(tmp_path) == before
    assert make(course.folder)[0].id == make(course.folder, "spring")[0].id == "spring"


def test_the_exchange_is_a_place_from_wherever_nbgrader_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make(Path("course"), exchange="exchange")
    own = tmp_path / "course" / "own_config.py"
    assert f"c.Exchange.root = {str(tmp_path / 'exchange')!r}" in own.read_text()
    assert make(Path("course"), exchange="exchange")[1].remarks == []
    (remark,) = make(Path("course"), exchange="/srv/other")[1].remarks
    assert "own_config.py" in remark and "c.Exchange.root = '/srv/other'" in remark
    assert "/srv/other" not in own.read_text()


def test_no_student_can_put_another_exchange_in_its_place(tmp_path: Path) -> None:
    """Nobody but its owner can move something away in a sticky folder."""
    exchange = tmp_path / "deep" / "exchange"
    remarks = make(tmp_path / "one", "one", str(exchange))[1].remarks
    assert not any(str(exchange) in remark for remark in remarks)
    assert stat.S_IMODE(exchange.stat().st_mode) == 0o1777
    assert problem(exchange) is None
    exchange.chmod(0o777)
    remarks = make(tmp_path / "three", "three", str(exchange))[1].remarks
    assert any("any student" in remark and f"sudo chmod 1777 {exchange}" in remark for remark in remarks)
    assert named(tmp_path / "three" / "own_config.py") == exchange
    exchange.rmdir()
    assert "is not there" in str(problem(exchange))


def test_a_broken_configuration_never_lets_nbgrader_execute(tmp_path: Path) -> None:
    """Whatever is wrong with the course, the stock step that executes a student's cells is not there."""
    loader = importable("traitlets.config.loader")
    course, _ = make(tmp_path / "course")
    path = course.folder / "nbgrader_config.py"

    def instead_of_execute() -> str:
        config = loader.PyFileConfigLoader(path.name, str(course.folder)).load_config()
        assert "Execute" not in str(config)
        return str(config.Autograde.autograde_preprocessors[0]).rpartition(".")[2]

    assert instead_of_execute() == "Judge"
    for file, old, new in (
        (course.folder / "course.toml", "id = ", "id = = "),
        (path, "from checker.nbgrader.configure", "from nowhere"),
        (course.folder / "own_config.py", "c.Exchange", "c.Exchange = ("),
    ):
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        assert instead_of_execute() == "NotConfigured"
        file.write_text(text)


def test_a_course_can_be_loaded_from_elsewhere(tmp_path: Path) -> None:
    """As in ~/.jupyter of somebody who starts JupyterLab in another folder."""
    loader = importable("traitlets.config.loader")
    course, _ = make(tmp_path / "course", exchange=str(tmp_path / "exchange"))
    (tmp_path / "mine.py").write_text(f"load_subconfig({str(course.folder / 'nbgrader_config.py')!r})")
    config = loader.PyFileConfigLoader("mine.py", str(tmp_path)).load_config()
    assert config.CourseDirectory.root == str(course.folder)
    assert config.Exchange.root == str(tmp_path / "exchange")


def test_an_edited_configuration_is_kept_beside(tmp_path: Path) -> None:
    course, _ = make(tmp_path / "course")
    path = course.folder / "nbgrader_config.py"
    text = path.read_text()
    path.write_text("mine")
    assert make(course.folder)[1].written == [path]
    assert path.read_text() == text
    assert (course.folder / "replaced" / "nbgrader_config.py.bak").read_text() == "mine"
