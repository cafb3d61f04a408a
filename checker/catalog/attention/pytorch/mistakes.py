"""Wrong ideas of FlashAttention in PyTorch. Kernels with the same idea lend their signs."""

from __future__ import annotations

from collections.abc import Iterator

from checker.catalog.attention.forward import causal_mistakes, flash_2_mistakes
from checker.catalog.attention.forward import mistakes as forward_mistakes
from checker.catalog.attention.forward.causal_mistakes import CAUSAL
from checker.catalog.attention.forward.flash_2_mistakes import (
    ACCUMULATION,
    LSE,
    LSE_LACKS,
    OTHER_BASES,
    OWN_VALUES,
    RESCALED_TOO,
    lse_instead,
)
from checker.catalog.attention.forward.mistakes import SCORES, VECTORS, vector_for_o
from checker.catalog.attention.pytorch import models
from checker.catalog.attention.pytorch.calls import as_in_the_family
from checker.course.misconception import Ideas, Misconception, Writes, chosen

idea = Ideas(__file__, causal_mistakes.idea, flash_2_mistakes.idea, forward_mistakes.idea)


def _lent(*signs: Writes) -> tuple[Writes, ...]:
    """Return the signs of kernels, as signs of functions in PyTorch."""
    return tuple(as_in_the_family(sign) for sign in signs)


def _as_in_kernels(*ids: str) -> Iterator[Misconception]:
    """Yield the ideas that kernels have, with the signs by which these are known."""
    for key in ids:
        own = chosen((*ACCUMULATION, *CAUSAL, *LSE, *SCORES), key.partition("/")[0])
        yield idea(key, *_lent(*(sign for one in own for sign in one.signs if isinstance(sign, Writes))))


MEMORY_AND_WORK = (
    idea("blocks-not-skipped", models.HIDDEN_TILES),
    idea("scores-computed-twice", models.SCORES_TWICE),
    idea("all-scores-at-once", models.ALL_SCORES),
    idea("all-keys-at-once", models.STRIP_OF_KEYS, models.ROWS_OF_KEYS),
    idea("all-queries-at-once", models.STRIP_OF_QUERIES),
    idea("whole-mask", models.WHOLE_MASK),
    idea("all-tiles-kept", models.ALL_TILES),
    idea("hidden-tile-computed", models.SOME_HIDDEN_TILES),
)

VALUES = (
    *_as_in_kernels(
        *("accumulator-not-rescaled", "denominator-not-rescaled", "max-of-last-tile", "new-part-not-rescaled"),
        "accumulator-overwritten",
    ),
    idea("softmax-of-each-tile", *models.SOFTMAX_OF_EACH_TILE),
    idea("softmax-of-each-tile/p", models.SUM_OF_SOFTMAXES),
    idea("softmax-of-each-tile/values", *_lent(*OWN_VALUES)),
    idea("rescaled-by-the-inverse", *models.INVERSE_FACTORS),
    *_as_in_kernels("divided-at-every-step", "divided-twice"),
    *(idea(key, *_lent(sign)) for key, sign in RESCALED_TOO.items()),
    *_as_in_kernels("not-divided"),
    idea("reduced-over-everything", *models.OVER_EVERYTHING),
    *_as_in_kernels("no-max-subtraction", "maximum-starts-too-high"),
    idea("maximum-of-hidden-scores", models.MAXIMUM_OF_HIDDEN),
    *_as_in_kernels(
        *("causal-upside-down", "causal-off-by-one", "causal-top-left", "causal-offset-reversed", "causal-ignored"),
        *("causal-tile-not-masked", "loop-begins-at-the-diagonal", "loop-ends-too-early", "hidden-rows-nan"),
    ),
    idea("hidden-rows-mean-of-v", models.MEAN_OF_V),
    *_as_in_kernels("lse-without-max"),
    idea("lse-of-the-last-tile", models.LSE_OF_LAST_TILE),
    *_as_in_kernels("lse-of-hidden-rows", "lse-without-log", "lse-is-the-normaliser", "lse-is-the-max"),
    *(idea(key, *_lent(*signs)) for key, signs in LSE_LACKS.items()),
    *(idea(key, *_lent(lse_instead(lse))) for key, lse in OTHER_BASES.items()),
    *_as_in_kernels("scale-on-the-output", "scale-missing", "scale-twice", "scale-assumed", "base-two"),
    idea("last-keys-only", models.MAXIMUM_FORGOTTEN),
    *_as_in_kernels("last-keys-only/kept-nothing", "whole-tiles-only"),
    idea("k-not-transposed", models.RESHAPED),
    *_as_in_kernels("only-one-head"),
    *(idea("vector-for-o", *_lent(vector_for_o(f"{name}_ptr")), vector=said) for name, said in VECTORS.items()),
)

IN_PYTORCH = (*MEMORY_AND_WORK, *VALUES)
