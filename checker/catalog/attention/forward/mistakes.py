"""Outputs of kernels with a wrong idea of attention's scores, keys or heads; models for other modules."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.forward.models import (
    Outputs,
    attention,
    from_scores,
    last_looked_at,
    of_scores,
    padded,
    rescaled,
    without_max,
)
from checker.catalog.attention.launch import shape_of, wide, writes
from checker.catalog.attention.reference import bias, is_causal, scores, sees
from checker.catalog.lines import exponential_of_scores, keys_as_rows, unshifted
from checker.catalog.numbers import LOG2_E, exp32, rounded
from checker.course.case import Array, Case
from checker.course.misconception import Ideas, Misconception, Raises, Unwritten, Writes
from checker.course.text import products_of

idea = Ideas(__file__)


def _last_tile(s: Array, v: Array, case: Case) -> Outputs:
    last = looked_at(case) & (np.arange(s.shape[-1]) // shape_of(case).Bc == last_looked_at(case)[:, None])
    return {"o_ptr": attention(np.where(last, s, -np.inf), v, case)["o_ptr"]}


def _half_scaled(case: Case, side: str, folded: float) -> Array:
    """Scores of a kernel that multiplies Q or K by the scale, and by `folded`, and rounds that to its own type."""
    sides, x = {name: wide(case, name) for name in "qk"}, case.tensors[f"{side}_ptr"].values
    scaled = np.float32(case.scalars["scale"]) * np.float32(folded) * x.astype(np.float32)  # which is rounded, too
    sides[side] = scaled.astype(x.dtype).astype(np.float64)
    return np.asarray((sides["q"] @ sides["k"].swapaxes(1, 2)) / folded + bias(case))


def scaled_in_half(sign: Callable[[Callable[[Case], Array]], Writes]) -> tuple[Misconception, ...]:
    """Return the idea of scaling Q, or K, in its own type; `sign` makes one of the scores that come of it."""
    return tuple(
        idea(
            "scaled-in-half",
            *(sign(partial(_half_scaled, side=side, folded=folded)) for folded in (1.0, LOG2_E)),
            side=side.upper(),
        )
        for side in "qk"
    )


def _raw(s: Array, case: Case) -> Array:
    """Scores without their scale."""
    return rescaled(s, case, 1 / float(case.scalars["scale"]))


def _scaled_output(s: Array, v: Array, case: Case) -> Outputs:
    made = attention(_raw(s, case), v, case)
    return {**made, "o_ptr": made["o_ptr"] * float(case.scalars["scale"])}


def _scaled(factor: Callable[[float, int], float]) -> Writes:
    """Return the right scores, times `factor(scale, d)`."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        return attention(rescaled(s, case, factor(float(case.scalars["scale"]), v.shape[-1])), v, case)

    return from_scores(formula)


def _whole(s: Array, v: Array, case: Case, nothing: float) -> Outputs:
    """Return the attention to whole tiles of keys alone; if there is none, an O of `nothing`."""
    end = s.shape[-1] // shape_of(case).Bc * shape_of(case).Bc
    made = attention(s[..., :end], v[:, :end], case) if end else attention(s - np.inf, v)
    return made if end else {**made, "o_ptr": np.full_like(made["o_ptr"], nothing)}


def _whole_seen(s: Array, v: Array, case: Case) -> Outputs:
    """Return the same where each tile of queries ends at the diagonal: of the keys up to there, whole tiles alone."""
    shape = shape_of(case)
    last = (np.arange(shape.n_q) // shape.Br + 1) * shape.Br + shape.n_k - shape.n_q
    end = np.minimum(last, shape.n_k).clip(0) if is_causal(case) else np.full(shape.n_q, shape.n_k)
    kept = np.arange(shape.n_k) < (end // shape.Bc * shape.Bc)[:, None]
    with np.errstate(divide="ignore"):
        return attention(np.where(kept, s, -np.inf), v, case)


def _with_keys_of(case: Case, head: Callable[[int], int], of: str = "kv") -> Outputs:
    """Return the outputs if each head has K, V or both of `head` of it."""
    other = [head(n) for n in range(shape_of(case).heads)]
    k, v = (wide(case, name)[other] if name in of else wide(case, name) for name in "kv")
    s = float(case.scalars["scale"]) * (wide(case, "q") @ k.swapaxes(1, 2)) + bias(case)
    return of_scores(case, s, sees(case), v)


def _keys_of(head: Callable[[int], int], of: str = "kv") -> Writes:
    return Writes(lambda case: _with_keys_of(case, head, of))


def _of_head_0(s: Array, v: Array, case: Case) -> Outputs:
    return attention(np.repeat(s[:1], len(s), axis=0), np.repeat(v[:1], len(v), axis=0), case)


def _without_whole_tiles(case: Case) -> dict[str, Array]:
    """Return all outputs, of launches with less than one whole tile of keys; but with a whole tile of queries."""
    shape = shape_of(case)
    nothing = shape.n_k < shape.Bc and shape.n_q >= shape.Br
    names = [f"{name}_ptr" for name in ("o", "l", "m", "lse") if writes(case, name)]
    return {name: np.full(case.tensors[name].values.shape, nothing) for name in names}


def _other_length(s: Array, v: Array, case: Case) -> Outputs:
    """Keys hidden from n_q on, not from n_k on; a tile of keys that are all hidden gives NaN if nothing guards it."""
    s, v = padded(s, v, case)
    hidden = np.where(np.arange(s.shape[-1]) < shape_of(case).n_q, s, -np.inf)
    made = attention(hidden, v, case)
    if writes(case, "m") and shape_of(case).n_q <= s.shape[-1] - shape_of(case).Bc:
        made = {name: np.full_like(values, np.nan) for name, values in made.items() if name != "m_ptr"}
    return made


def _keys_and_values_exchanged(case: Case) -> Outputs:
    s = float(case.scalars["scale"]) * (wide(case, "q") @ wide(case, "v").swapaxes(1, 2)) + bias(case)
    return of_scores(case, s, sees(case), wide(case, "k"))


def _keys_up_to_n_q(case: Case) -> Array:
    """Keys in the tiles that a loop to n_q visits."""
    shape = shape_of(case)
    return np.asarray(np.arange(shape.n_k) < -(-shape.n_q // shape.Bc) * shape.Bc)


def vector_for_o(of: str) -> Writes:
    """Return one number of each query in all columns of its row of O."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        vector = attention(s, v, case)[of][..., None]
        return {"o_ptr": np.repeat(vector, v.shape[-1], axis=-1)}

    return from_scores(formula)


def _up_to_n_q(s: Array, v: Array, case: Case) -> Outputs:
    return attention(np.where(_keys_up_to_n_q(case), s, -np.inf), v, case)


def _o_up_to_n_q(s: Array, v: Array, case: Case) -> Outputs:
    o = attention(s, np.where(_keys_up_to_n_q(case)[:, None], v, 0.0), case)["o_ptr"]
    return {**attention(s, v, case), "o_ptr": o}


_SIDES_OF_DOT = r"not compatible for matmul|equal reduction dimensions|mismatch in its core dimension"
_SHAPES = r"incompatible dimensions|could not be broadcast|Cannot broadcast"

Q_K = products_of("q_ptr", "k_ptr")  # the one that gives the scores
Q_K_V = products_of("q_ptr", "k_ptr", "v_ptr")  # the one that gives O


def of_p(model: Callable[..., Writes], m: str, others: str) -> tuple[Misconception, ...]:
    """Wrong ideas of P, in a forward kernel whose model takes other ideas of `p`, its scale and its reductions.

    `m` is the maximum that P is relative to, and `others` what else comes of maxima, as the kernel calls them.
    """
    return (
        idea("p-in-half", model(p=lambda s, m: rounded(exp32(s - m))).at(exponential_of_scores)),
        idea(
            "scale-after-the-maximum",
            model(unscaled=lambda s, m, scale: exp32(scale * s - m)).at(exponential_of_scores),
            m=m,
        ),
        idea(
            "scale-after-the-maximum/difference",
            model(unscaled=lambda s, m, scale: exp32(scale * (s - m))).at(exponential_of_scores),
            m=m,
            others=others,
        ),
        idea("reduced-over-the-whole-tile", model(over="sum")),
        idea("reduced-over-the-whole-tile/maximum", model(over="max")),
        idea("reduced-over-the-whole-tile/both", model(over="both")),
    )


VECTORS = {"l": "the normaliser", "m": "the maximum", "lse": "LSE"}

# Wrong ideas about scores and keys that any forward kernel can have. Numbers are those of the lessons' example: the
# scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
SCORES = (
    idea("scores-in-half", Writes(lambda case: of_scores(case, rounded(scores(case)), sees(case))).at(Q_K)),
    idea("scale-on-the-output", from_scores(_scaled_output).at(Q_K)),
    idea("keys-compared-with-n-q", from_scores(_other_length)),
    idea("scale-missing", _scaled(lambda scale, d: 1 / scale)),
    idea("scale-twice", _scaled(lambda scale, d: scale)),
    idea("scale-assumed", _scaled(lambda scale, d: 1 / (scale * np.sqrt(d)))),
    *scaled_in_half(lambda s: Writes(lambda case: of_scores(case, s(case), sees(case)))),
    idea("keys-behind-the-end-counted", from_scores(lambda s, v, case: attention(*padded(s, v, case), case))),
    idea(
        "no-max-subtraction",
        *(without_max(*how).at(unshifted, needed=True) for how in ((False,), (True,), (False, False))),
    ),
    idea("base-two", from_scores(lambda s, v, case: {"o_ptr": attention(s / LOG2_E, v, case)["o_ptr"]})),
    idea("last-keys-only", from_scores(_last_tile)),
    idea(
        "whole-tiles-only", *(from_scores(partial(_whole, nothing=o)) for o in (0.0, np.nan)), from_scores(_whole_seen)
    ),
    idea("whole-tiles-only/unwritten", Unwritten(_without_whole_tiles)),
    idea("only-one-head", from_scores(_of_head_0)),
    idea("only-one-head/k-and-v", _keys_of(lambda _: 0)),
    idea("only-one-head/v", _keys_of(lambda _: 0, "v")),
    idea("only-one-head/k", _keys_of(lambda _: 0, "k")),
    idea("only-one-head/grouped", _keys_of(lambda head: head // 2), _keys_of(lambda head: head % 2)),
    idea("keys-and-values-exchanged", Writes(_keys_and_values_exchanged)),
    idea("k-not-transposed", Raises(_SIDES_OF_DOT, Q_K)),
    idea("dot-shapes-do-not-fit", Raises(_SIDES_OF_DOT, Q_K_V)),
    idea("keys-hidden-by-rows", Raises(_SHAPES, keys_as_rows)),
    idea("loop-to-another-end", from_scores(_up_to_n_q)),
    idea("loop-to-another-end/o", from_scores(_o_up_to_n_q)),
    *(idea("vector-for-o", vector_for_o(f"{name}_ptr"), vector=said) for name, said in VECTORS.items()),
    # The last ones: of another kernel that makes NaN of all tails, something else may be known.
)
