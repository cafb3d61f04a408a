"""The attacks of `tests/hostile/`, handed in by a class of attackers, through a real nbgrader."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.kernels import Kernel, kernels
from tests.nbgrader.conftest import ASSIGNMENT, RIGHT, Course, filled

CLASSES = 6


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("attacks", [kernels("hostile")[n::CLASSES] for n in range(CLASSES)], ids=range(CLASSES))
def test_no_attacker_gains_a_point_and_the_batch_goes_on(course: Course, attacks: Sequence[Kernel]) -> None:
    names = {kernel.name: kernel for kernel in attacks}
    for name, kernel in names.items():
        course.put(name, filled(kernel.text))
    last = f"zoe-after-{attacks[0].name}"
    course.put(last, filled(RIGHT))
    course.run("autograde", ASSIGNMENT, ends=0)
    scores = course.scores()
    assert scores[last] == 100
    by_hand = {name for name in names if not name.startswith("p1")}  # kernels of another puzzle than the notebook's
    assert {name: scores[name] for name in names} == {name: "needs grading" if name in by_hand else 0 for name in names}
