"""What a forward kernel moves although its results are right: tiles that are hidden, and O back and forth."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from checker.catalog.attention.causal_mistakes import END_OF_LOOP
from checker.catalog.attention.launch import shape_of
from checker.course.case import Case
from checker.course.misconception import Misconception, Moves
from checker.course.puzzle import Budget
from checker.course.verdict import Traffic

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
        Misconception(
            "blocks-not-skipped",
            "Tiles that the causal mask hides altogether are computed all the same",
            "Every program reads all of K and V. A tile past the diagonal is masked to the last element, so it changes "
            "nothing and costs as much as any other. With 64 queries, 64 keys and tiles of 16, these are 6 of 16 "
            "tiles; with many tiles they are nearly half.",
            "End the loop after the last key that any query of the tile sees: " + END_OF_LOOP,
            question="40 queries, 50 keys, tiles of 16: which keys does any query of program 0 see? `make trace "
            f"PUZZLE={puzzle}` draws which tiles yours visits.",
            signs=(Moves(reads_hidden_tiles, products_too=True),),
        ),
        Misconception(
            "accumulator-in-memory",
            "This is FlashAttention-1: O goes back and forth between memory and the chip",
            "O is read, so it is accumulated in memory. FlashAttention-2 has the queries in the outer loop, here in "
            "the grid, so that O stays in registers until it is finished.",
            "Keep Oi, li and mi in registers, and store Oi once, after the loop.",
            question="In lesson 6's two grids of visits, what goes in and out of memory at each visit on the left, and "
            f"what on the right? Which of the two is `make trace PUZZLE={puzzle}` like?",
            signs=(Moves(lambda case, moved: "o_ptr" in moved and moved["o_ptr"].loads > 0),),
        ),
        Misconception(
            "hidden-tile-computed",
            "A tile of which no query sees any key is looked at",
            "The loop over keys ends later than it must: it looks at a tile that the causal mask hides, or that lies "
            "past the last key. Such a tile changes nothing. A mask on its load does not help, because its product is "
            "computed all the same.",
            "End the loop after the last key that any query of the tile sees: " + END_OF_LOOP,
            question="In the launch named above, which is the last key that the last query of a program sees, and "
            "which is the last key that exists? Where does your loop end?",
            signs=(Moves(looks_too_far, products_too=True),),
        ),
    )
