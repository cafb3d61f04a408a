"""The attacks of `tests/hostile/`, handed in by a class of attackers, through a real nbgrader."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import kernels
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, filled

QUICK = kernels("hostile")[::6]


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    "attacks", [QUICK, pytest.param(kernels("hostile"), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_no_attacker_gains_a_point_and_the_batch_goes_on(course: Course, attacks: list[Path]) -> None:
    names = {f"{len(attacks)}-{path.stem}": path for path in attacks}
    for name, path in names.items():
        course.put(name, filled(path.read_text(encoding="utf-8")))
    last = f"{len(attacks)}-zoe"
    course.put(last, filled(RIGHT))
    done = course.run("autograde", ASSIGNMENT)
    assert done.status == 0, done.said
    scores = course.scores()
    assert scores[last] == 100
    assert {name: scores[name] for name in names} == dict.fromkeys(names, 0)
