"""Wrong ideas of FlashAttention in PyTorch. Kernels with the same idea lend their signs."""

from __future__ import annotations

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
from checker.course.misconception import Misconception, Sign, Writes, chosen
from checker.course.words import Ideas

idea = Ideas(__file__, causal_mistakes.idea, flash_2_mistakes.idea, forward_mistakes.idea)


def _of(*ids: str) -> tuple[Writes, ...]:
    """Return the signs by which kernels with these ideas are known."""
    every = (*ACCUMULATION, *CAUSAL, *LSE, *SCORES)
    signs = (sign for one in chosen(every, *ids) for sign in one.signs)
    return _lent(*(sign for sign in signs if isinstance(sign, Writes)))


def _lent(*signs: Writes) -> tuple[Writes, ...]:
    """Return the signs of kernels, as signs of functions in PyTorch."""
    return tuple(as_in_the_family(sign) for sign in signs)


def _idea(key: str, *signs: Sign) -> Misconception:
    """Return a wrong idea; without signs of its own, those of kernels that have it."""
    return idea(key, *(signs or _of(key.partition("/")[0])))


MEMORY_AND_WORK = (
    _idea("blocks-not-skipped", models.HIDDEN_TILES),
    _idea("scores-computed-twice", models.SCORES_TWICE),
    _idea("all-scores-at-once", models.ALL_SCORES),
    _idea("all-keys-at-once", models.STRIP_OF_KEYS, models.ROWS_OF_KEYS),
    _idea("all-queries-at-once", models.STRIP_OF_QUERIES),
    _idea("whole-mask", models.WHOLE_MASK),
    _idea("all-tiles-kept", models.ALL_TILES),
    _idea("hidden-tile-computed", models.SOME_HIDDEN_TILES),
)

VALUES = (
    _idea("accumulator-not-rescaled"),
    _idea("denominator-not-rescaled"),
    _idea("max-of-last-tile"),
    _idea("new-part-not-rescaled"),
    _idea("accumulator-overwritten"),
    _idea("softmax-of-each-tile", *models.SOFTMAX_OF_EACH_TILE),
    _idea("softmax-of-each-tile/p", models.SUM_OF_SOFTMAXES),
    _idea("softmax-of-each-tile/values", *_lent(*OWN_VALUES)),
    _idea("rescaled-by-the-inverse", *models.INVERSE_FACTORS),
    _idea("divided-at-every-step"),
    _idea("divided-twice"),
    *(_idea(key, *_lent(sign)) for key, sign in RESCALED_TOO.items()),
    _idea("not-divided"),
    _idea("reduced-over-everything", *models.OVER_EVERYTHING),
    _idea("no-max-subtraction"),
    _idea("maximum-starts-too-high"),
    _idea("maximum-of-hidden-scores", models.MAXIMUM_OF_HIDDEN),
    _idea("causal-upside-down"),
    _idea("causal-off-by-one"),
    _idea("causal-top-left"),
    _idea("causal-offset-reversed", *models.OFFSET_REVERSED),
    _idea("causal-ignored"),
    _idea("causal-tile-not-masked"),
    _idea("loop-begins-at-the-diagonal"),
    _idea("loop-ends-too-early"),
    _idea("hidden-rows-nan"),
    _idea("hidden-rows-mean-of-v", models.MEAN_OF_V),
    _idea("lse-without-max"),
    _idea("lse-of-the-last-tile", models.LSE_OF_LAST_TILE),
    _idea("lse-of-hidden-rows"),
    _idea("lse-without-log"),
    _idea("lse-is-the-normaliser"),
    _idea("lse-is-the-max"),
    *(_idea(key, *_lent(*signs)) for key, signs in LSE_LACKS.items()),
    *(_idea(key, *_lent(lse_instead(lse))) for key, lse in OTHER_BASES.items()),
    _idea("scale-on-the-output"),
    _idea("scale-missing"),
    _idea("scale-twice"),
    _idea("scale-assumed"),
    _idea("base-two"),
    _idea("last-keys-only", models.MAXIMUM_FORGOTTEN),
    _idea("last-keys-only/kept-nothing"),
    _idea("whole-tiles-only"),
    _idea("k-not-transposed", models.RESHAPED),
    _idea("only-one-head"),
    *(idea("vector-for-o", *_lent(vector_for_o(f"{name}_ptr")), vector=said) for name, said in VECTORS.items()),
)

IN_PYTORCH = (*MEMORY_AND_WORK, *VALUES)
