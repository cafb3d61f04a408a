"""Needless traffic of forward kernels with right results: hidden tiles, and O stored and loaded again."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checker.catalog.attention.launch import shape_of
from checker.course.case import Case
from checker.course.misconception import Ideas, Misconception, Moves
from checker.course.puzzle import Budget
from checker.course.verdict import Traffic

idea = Ideas(__file__)

Moved = Mapping[str, Traffic]


def tiles_looked_at(budget: Callable[[Case], Mapping[str, Budget]], puzzle: str) -> tuple[Misconception, ...]:
    """Wrong ideas of a kernel whose programs own tiles of queries; `puzzle` is what `make` calls it."""

    def reads_hidden_tiles(case: Case, moved: Moved) -> bool:
        if case.once or "o_ptr" not in moved:  # who skips no tile is found out before
            return False
        every = shape_of(case).tr * case.tensors["k_ptr"].values.size
        return every == moved["k_ptr"].loads == moved["v_ptr"].loads > budget(case)["k_ptr"].loads

    def looks_too_far(case: Case, moved: Moved) -> bool:
        return (
            bool(case.constexprs.get("CAUSAL"))
            and moved["o_ptr"].loads == 0
            and moved["q_ptr"].loads <= budget(case)["q_ptr"].loads
            and moved["k_ptr"].loads <= shape_of(case).tr * case.tensors["k_ptr"].values.size
            and moved["k_ptr"].loads == moved["v_ptr"].loads
        )

    return (
        idea("blocks-not-skipped", Moves(reads_hidden_tiles, products_too=True), puzzle=puzzle),
        idea(
            "accumulator-in-memory",
            Moves(lambda case, moved: "o_ptr" in moved and moved["o_ptr"].loads > 0),
            puzzle=puzzle,
        ),
        idea("hidden-tile-computed", Moves(looks_too_far, products_too=True)),
    )
