"""Wrong ideas of the backward pass in PyTorch. Kernels with the same idea lend their signs."""

from __future__ import annotations

from collections.abc import Iterator

from checker.catalog.attention.backward import mistakes as backward_mistakes
from checker.catalog.attention.backward import operands as backward_operands
from checker.catalog.attention.backward.mistakes import MISTAKES
from checker.catalog.attention.backward.operands import (
    EXCHANGED,
    OPERANDS,
    OPERANDS_OF_DP,
    VARIANTS,
    dp_from,
    with_operands,
)
from checker.catalog.attention.pytorch import backward_models as models
from checker.catalog.attention.pytorch import mistakes as pytorch_mistakes
from checker.catalog.attention.pytorch import models as takes
from checker.catalog.attention.pytorch.backward import as_in_kernels
from checker.catalog.attention.pytorch.mistakes import MEMORY_AND_WORK
from checker.course.misconception import Ideas, Misconception, Writes, chosen

idea = Ideas(__file__, backward_mistakes.idea, backward_operands.idea, pytorch_mistakes.idea)


def _of(*ids: str, causal: bool = False) -> tuple[Writes, ...]:
    """Return the signs by which kernels with these ideas are known. `causal`: only causal calls go wrong."""
    signs = (sign for one in chosen((*MISTAKES, *OPERANDS), *ids) for sign in one.signs)
    return tuple(as_in_kernels(sign, causal=causal) for sign in signs if isinstance(sign, Writes))


def _as_in_kernels(*ids: str) -> Iterator[Misconception]:
    """Yield the ideas that kernels have, with the signs by which these are known."""
    return (idea(key, *_of(key)) for key in ids)


_AS_FORWARD = {one.id: one for one in MEMORY_AND_WORK}

TAKING_TOO_MUCH = (
    idea("blocks-not-skipped", takes.HIDDEN_TILES),
    idea("products-computed-again", takes.SCORES_AND_DP_TWICE),
    idea("products-computed-again/one", takes.SCORES_TWICE),
    _AS_FORWARD["all-scores-at-once"],
    idea("all-keys-at-once", takes.STRIP_OF_KEYS),
    _AS_FORWARD["all-queries-at-once"],
    _AS_FORWARD["whole-mask"],
    idea("all-tiles-kept", takes.ALL_TILES),
    idea("hidden-tile-computed", takes.SOME_HIDDEN_TILES),
)

OF_DELTA_AND_DS = (
    *_as_in_kernels("delta-missing"),
    idea("delta-outside-the-product", *_of("delta-outside-the-product"), models.DELTA_OUTSIDE),
    *_as_in_kernels("delta-of-one-tile"),
    idea("reduced-over-everything", *models.DELTA_OF_EVERYTHING),
    *(idea(f"dp-scaled{end}", *models.DP_SCALED[again]) for end, again in (("", True), ("/in-its-place", False))),
    *(
        idea(f"wrong-operand/dp-{place.lower()}", as_in_kernels(dp_from(one, other), "dq", "dk"), operand=what)
        for what, place, one, other in (*OPERANDS_OF_DP, ("O", "dO", "o", "v"))
    ),
)

OF_P = (
    idea("softmax-of-each-tile", *models.SOFTMAX_OF_EACH_TILE),
    *_as_in_kernels("scores-not-scaled", "base-two"),
    idea("k-not-transposed", models.RESHAPED_K),
    idea("mask-forgotten", *models.NO_MASK),
    idea("mask-only-in-ds", *models.MASK_ONLY_IN_DS),
    idea("causal-offset-reversed", *models.OFFSET_REVERSED),
    idea("causal-top-left", *models.TOP_LEFT),
    idea("causal-tile-not-masked", *models.ONE_TILE_MASKED),
    idea("causal-off-by-one", *models.ONE_TOO_FEW),
    idea("causal-off-by-one/future", *models.ONE_TOO_MANY),
    idea("causal-upside-down", *_of("causal-upside-down", causal=True)),
    *_as_in_kernels("hidden-rows-nan"),
)

OF_GRADIENTS = (
    *(idea(f"accumulator-overwritten/{name}", models.LAST_TILE[name]) for name in models.ALL),
    idea("accumulator-not-reset", models.NOT_RESET["dk dv"]),
    idea("accumulator-not-reset/dq", models.NOT_RESET["dq"]),
    idea("accumulator-not-reset/dk", models.NOT_RESET["dk"]),
    idea("accumulator-not-reset/dv", models.NOT_RESET["dv"]),
    *(idea(f"tile-transposed/{name}", models.TRANSPOSED[name]) for name in ("dv", "dk", "dq")),
    *(idea(f"scale-missing/{name}", models.scaled(lambda scale: 1 / scale, name)) for name in ("dq", "dk")),
    *(idea(f"scale-twice/{name}", models.scaled(lambda scale: scale, name)) for name in ("dq", "dk")),
    idea("scale-on-dv", models.scaled(lambda scale: scale, "dv")),
    *(
        idea(
            f"wrong-operand/{name}-{place.lower()}",
            *(as_in_kernels(with_operands(name, x, of), name) for x in VARIANTS.get(tile, (tile,))),
            operand=what,
        )
        for name, what, place, tile, of in EXCHANGED
    ),
    idea("gradients-exchanged", *models.EXCHANGED),
    idea("first-tile-left-out", *models.BEGUN_LATE),
    idea("begins-before-the-first-query", models.FROM_THE_END),
    idea("last-tile-left-out", *models.ENDED_EARLY),
    idea("whole-tiles-only", *models.WHOLE_TILES),
)

BACKWARD_IN_PYTORCH = (*TAKING_TOO_MUCH, *OF_DELTA_AND_DS, *OF_P, *OF_GRADIENTS)
