"""Every idea that a puzzle names has a wrong kernel of that puzzle that shows it, or a reason why it has none."""

from __future__ import annotations

from checker import catalog
from checker.course import ladder
from tests.kernels import kernels

# Reason → puzzle → ideas: each stands in all puzzles of its family.
UNSHOWN = {
    "tiles whose sides differ stop it before any value is seen, in shapes that do not fit": {
        "p6": {"keys-hidden-by-rows"},
        "b1": {"keys-hidden-by-rows"},
        "b3": {"keys-hidden-by-rows"},
    },
    "the grid has one axis, and that is said": {"p5": {"program-ids-exchanged"}},
    "a maximum for each lane has a sum for each lane in the same pass, and that is said": {
        "p3": {"max-by-lane"},
        "p4": {"max-by-lane"},
    },
    "the work that it adds is said, and not yet why": {"p6": {"loop-to-another-end"}, "b1": {"loop-to-another-end"}},
    "it is seen by its values or by NaN alone, and not yet told from other mistakes": {
        "a3": {"p-in-half"},
        "a4": {"last-tile-left-out"},
        "b1": {"accumulator-in-memory"},
        "b2": {"maximum-of-hidden-scores", "maximum-starts-too-high"},
    },
}


def test_every_idea_is_shown_by_a_wrong_kernel_or_there_is_a_reason() -> None:
    shown: dict[str, set[str]] = {}
    for kernel in kernels("wrong"):
        shown.setdefault(kernel.puzzle, set()).update(kernel.findings)
    for puzzle in (rung.id for rung in ladder.RUNGS.values()):
        own = {misconception.id for misconception in catalog.load(puzzle).misconceptions}
        excused: set[str] = set().union(*(of.get(puzzle, set()) for of in UNSHOWN.values()))
        assert own - shown.get(puzzle, set()) == excused, puzzle
