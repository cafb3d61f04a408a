"""Wrong ideas about attention in two passes: m and l are final before pass 2 begins, which adds up P V."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.forward.mistakes import of_p
from checker.catalog.attention.forward.models import one
from checker.catalog.attention.forward.two_pass_models import passes, scores_with_tail, three_passes, unscaled_scores
from checker.catalog.lines import inverse_factor, maximum, start_above
from checker.catalog.numbers import exp32
from checker.course.misconception import Ideas, Moves

idea = Ideas(__file__)


# Numbers are those of the lesson's example: the scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
PASSES = (
    idea("keys-read-three-times", Moves(three_passes, products_too=True)),
    idea("rescaled-by-the-inverse", passes(old_l=lambda a: 1 / a).at(inverse_factor, needed=True)),
    idea("accumulator-overwritten", passes(kept=0.0)),
    *of_p(passes, "mi", "the factors exp(mi - mi_new)"),
    idea(
        "maximum-starts-too-high",
        passes(top=lambda m, m_tile: np.maximum(np.maximum(m, m_tile), 0.0)).at(start_above, needed=True),
    ),
    idea("maximum-of-hidden-scores", passes(hidden_too=True)),
    idea("max-of-last-tile", passes(top=lambda m, m_tile: m_tile).at(maximum)),
    idea("max-of-last-tile/pass-2", passes(weights=lambda t: exp32(t.s - t.last_m) / t.l)),
    idea("max-not-kept", passes(kept_m=lambda m, m_new: m)),
    idea("scale-in-one-pass", passes(first=unscaled_scores)),
    idea("scale-in-one-pass/pass-2", passes(second=unscaled_scores)),
    idea("tail-hidden-in-one-pass", passes(second=scores_with_tail)),
    idea("denominator-not-rescaled", passes(old_l=one)),
    idea("new-part-not-rescaled", passes(own=True)),
    idea("new-part-rescaled-too", passes(new_too=True)),
    idea(
        "block-local",
        passes(weights=lambda t: t.own / t.own.sum(axis=-1, keepdims=True)),
        passes(weights=lambda t: exp32(t.s - t.m) / exp32(t.s - t.m).sum(axis=-1, keepdims=True)),
    ),
    idea("normaliser-counted-twice", passes(last=lambda o, l: o / 2)),
    idea("divided-at-every-step", passes(weights=lambda t: exp32(t.s - t.m), each=lambda o, l: o / l)),
    idea("divided-twice", passes(last=lambda o, l: o / l)),
    idea("multiplied-by-the-sum", passes(weights=lambda t: exp32(t.s - t.m) * t.l)),
    idea("not-divided", passes(weights=lambda t: exp32(t.s - t.m))),
)
