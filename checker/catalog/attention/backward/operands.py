"""Wrong ideas about the backward pass that take one tensor or one tile for another, or drop what was added before."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.backward.gradients import Gradients
from checker.catalog.attention.backward.models import (
    collected_of,
    delta_of,
    delta_of_tiles,
    ended_early,
    from_ds,
    from_gradients,
    from_p,
    lse_of,
    of_last_tile,
    p_of,
    product,
    settled,
)
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.dropped import dropped
from checker.catalog.attention.forward.causal_mistakes import RETURNED_EARLY, future
from checker.catalog.attention.launch import wide
from checker.catalog.attention.reference import scores, sees
from checker.catalog.lines import loop_end
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Misconception, Writes

idea = Ideas(__file__)


def _exchanged(scaled: bool) -> Writes:
    """dK and dV stored to each other's tensors; `scaled`: the scale stays with the tensor, not with the gradient."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        right = collected_of(case, g.p, g.ds, "dk_ptr")
        factor = float(case.scalars["scale"]) if scaled else 1.0
        return {"dk_ptr": right["dv_ptr"] * factor, "dv_ptr": right["dk_ptr"] / factor} if right else {}

    return from_gradients(formula)


def with_operands(name: str, tile: str, of: str) -> Writes:
    """Return one gradient as the product of another tile with another tensor; the others are right."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        looked = looked_at(case)
        tiles = {
            "P": dropped(case, g.p) if name == "dv" else g.p,
            "dS": settled(case, g),
            "S": np.where(looked, scores(case), 0.0),
            "the masked S": np.where(sees(case), scores(case), 0.0),
            "dP": np.where(looked, g.dp, 0.0),
        }
        x = tiles[tile] * (1.0 if name == "dv" else float(case.scalars["scale"]))
        right = collected_of(case, g.p, g.ds, f"{name}_ptr")
        return {**right, f"{name}_ptr": (x if name == "dq" else x.swapaxes(1, 2)) @ wide(case, of)} if right else {}

    return from_gradients(formula)


def _overwritten(p: bool, ds: bool, only: str) -> Writes:
    """Gradients of the last tile alone, where P or dS goes into them."""

    def formula(case: Case, g: Gradients) -> dict[str, Array]:
        last = of_last_tile(case, g.p), of_last_tile(case, g.ds)
        return collected_of(case, last[0] if p else g.p, last[1] if ds else g.ds, only)

    return from_gradients(formula)


def dp_from(one: str, other: str) -> Writes:
    """Return all gradients with the product of two other tensors in place of dO Vᵀ."""
    return from_ds(lambda case, g: g.p * (product(case, one, other) - delta_of(case)))


def _upside_down(strict: bool) -> Writes:
    return from_p(lambda case: p_of(case, scores(case), lse_of(case), future(case, strict) & looked_at(case)))


def _ending_early(early: int) -> Writes:
    return from_gradients(lambda case, g: collected_of(case, g.p, ended_early(case, g.ds, early), "dq_ptr")).at(
        loop_end
    )


# Products with another operand: the gradient, what stands in it, in place of what, and then the tile and the tensor.
EXCHANGED = (
    ("dv", "S", "P", "S", "do"),
    ("dv", "dP", "P", "dP", "do"),
    ("dv", "dS", "P", "dS", "do"),
    ("dv", "Q", "dO", "P", "q"),
    ("dk", "P", "dS", "P", "q"),
    ("dk", "dP", "dS", "dP", "q"),
    ("dk", "dO", "Q", "dS", "do"),
    ("dq", "P", "dS", "P", "k"),
    ("dq", "dP", "dS", "dP", "k"),
    ("dq", "V", "K", "dS", "v"),
)
OPERANDS_OF_DP = (("K", "V", "do", "k"), ("Q", "dO", "q", "v"))
VARIANTS = {"S": ("S", "the masked S")}  # of a tile


def of_gradients(*names: str) -> tuple[Misconception, ...]:
    """Wrong ideas of what goes into these gradients, of kernels for them."""
    return (
        *(
            idea(key, _overwritten(p, ds, of))
            for name, key, of, p, ds in (
                ("dv", "accumulator-overwritten", "dv_ptr", True, False),
                ("dk", "accumulator-overwritten/dk", "dk_ptr", False, True),
                ("dk", "accumulator-overwritten/dk-and-dv", "dk_ptr", True, True),
                ("dq", "accumulator-overwritten/dq", "dq_ptr", False, True),
            )
            if name in names
        ),
        idea("gradients-exchanged", _exchanged(scaled=False), _exchanged(scaled=True)),
        *(
            idea(
                f"wrong-operand/{name}-{place.lower()}",
                *(with_operands(name, x, of) for x in VARIANTS.get(tile, (tile,))),
                operand=what,
            )
            for name, what, place, tile, of in EXCHANGED
            if name in names
        ),
        *(
            idea(f"wrong-operand/dp-{place.lower()}", dp_from(one, other), operand=what)
            for what, place, one, other in OPERANDS_OF_DP
        ),
    )


OPERANDS = (
    RETURNED_EARLY,
    idea("reduced-over-the-whole-tile", Writes(delta_of_tiles)),
    *of_gradients("dv", "dk", "dq"),
    idea("causal-upside-down", *(_upside_down(strict) for strict in (False, True))),
    idea("last-tile-left-out", _ending_early(1)),
    *(idea("last-tile-left-out/several", _ending_early(early), early=str(early)) for early in range(2, 5)),
)
