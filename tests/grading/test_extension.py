"""An extension is written into `course.toml`, and nothing else changes there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as trying
from hypothesis import strategies as st

from checker.course.ladder import stems
from checker.grading import settings
from checker.grading.extension import extend

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
STEMS = st.sampled_from([stems()[one] for one in ("p1", "p3", "p7")])


@trying(max_examples=25)
@given(st.lists(st.tuples(STEMS, NAMES, st.sampled_from([0, 1, 2.5, 30])), min_size=1, max_size=6))
def test_what_was_given_last_holds(
    tmp_path_factory: pytest.TempPathFactory, given: list[tuple[str, str, float]]
) -> None:
    folder = tmp_path_factory.mktemp("course")
    path = folder / settings.NAME
    before = settings.template("x")
    path.write_text(before)
    for stem, name, days in given:
        extend(settings.read(folder), stem, name, days)
    course = settings.read(folder)
    for stem, name, days in {(stem, name): (stem, name, days) for stem, name, days in given}.values():
        assert course.extension.get(stem, {}).get(name, 0) == days
    lines = path.read_text().split("\n")
    assert [line for line in before.split("\n") if line and line not in lines] == []
    for stem, name, _ in given:
        extend(settings.read(folder), stem, name, 0)
    assert path.read_text().rstrip() == before.rstrip()


def test_what_an_instructor_has_written_stays(tmp_path: Path) -> None:
    text = '[extension.p3_online_softmax] # ill\n"anna" = 2 # until Friday\n\n[late]\npolicy = "zero"\n'
    (tmp_path / settings.NAME).write_text(text)
    extend(settings.read(tmp_path), "p3_online_softmax", "ben", 1)
    now = (tmp_path / settings.NAME).read_text()
    assert '"anna" = 2 # until Friday' in now and "# ill" in now and 'policy = "zero"' in now
    assert settings.read(tmp_path).extension == {"p3_online_softmax": {"anna": 2, "ben": 1}}
