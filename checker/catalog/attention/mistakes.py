"""What kernels with a wrong idea of attention's scores, keys or heads would write; models that others build on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal

import numpy as np

from checker.catalog.attention.bounds import looked_at, transposed
from checker.catalog.attention.dropout import dropped
from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.reference import bias, is_causal, scaled_products, scores, sees
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case, Role
from checker.course.misconception import Access, Misconception, Part, Product, Raises, Unwritten, Writes
from checker.course.words import Ideas

idea = Ideas(__file__)

Outputs = Mapping[str, Array]
Formula = Callable[[Array, Array, Case], Outputs]  # (scores with -inf where hidden, V, case) → outputs
Over = Literal["", "sum", "max", "both"]  # reductions that run over a whole tile
LOG2_E = float(np.log2(np.e))


def from_scores(formula: Formula) -> Writes:
    """What a kernel with this formula writes, which gets the right scores; of the outputs that the launch has."""

    def outputs(case: Case) -> Outputs:
        if not written(case, ("o_ptr",)):
            return {}
        s = np.where(sees(case), scores(case), -np.inf)
        return _written(case, formula(s, wide(case, "v"), case))

    return Writes(outputs)


def written(case: Case, names: Iterable[str]) -> list[str]:
    """Those of the names that the launch writes to."""
    return [name for name in names if name in case.tensors and case.tensors[name].role is not Role.INPUT]


def tiles(s: Array, v: Array, case: Case) -> Iterator[tuple[Array, Array]]:
    """Scores and values of one tile of keys after the other."""
    block = shape_of(case).Bc
    for start in range(0, s.shape[-1], block):
        yield s[..., start : start + block], v[:, start : start + block]


def with_lse(m: Array, l: Array, o: Array) -> Outputs:
    """All that a forward kernel may write; m and l with a last axis of 1."""
    return {"o_ptr": o, "l_ptr": l[..., 0], "m_ptr": m[..., 0], "lse_ptr": (m + np.log(l))[..., 0]}


def attention(s: Array, v: Array, case: Case | None = None) -> Outputs:
    """What a right kernel writes, of these scores; exponentials in fp32. `case`: the launch, if it may have dropout."""
    m = s.max(axis=-1, keepdims=True)
    e = exp32(s - np.where(np.isinf(m), 0.0, m))
    l = e.sum(axis=-1, keepdims=True)
    return with_lse(m, l, ((dropped(case, e) if case else e) @ v) / np.where(l == 0, 1.0, l))


def of_scores(case: Case, s: Array, seen: Array, v: Array | None = None) -> Outputs:
    """What a kernel with these scores writes, where `seen` holds; of the outputs that the launch has."""
    if not written(case, ("o_ptr",)):
        return {}
    with np.errstate(all="ignore"):
        made = attention(np.where(seen, s, -np.inf), wide(case, "v") if v is None else v, case)
    return _written(case, made)


def _written(case: Case, made: Outputs) -> Outputs:
    return {name: o for name, o in made.items() if name in case.tensors and case.tensors[name].role is not Role.INPUT}


def padded(s: Array, v: Array, case: Case) -> tuple[Array, Array]:
    """Scores and V with the last tile of keys filled up: such keys have the score 0, if no causal mask hides them."""
    missing = -s.shape[-1] % shape_of(case).Bc
    extra_s = np.full((*s.shape[:-1], missing), -np.inf if is_causal(case) else 0.0)
    return np.concatenate([s, extra_s], axis=-1), np.concatenate([v, np.zeros((len(v), missing, v.shape[-1]))], axis=1)


def in_whole_tiles(s: Array, case: Case) -> Array:
    """Scores with the last tile of queries filled up: queries past the end are loaded as 0, and so are their scores."""
    return np.pad(s, ((0, 0), (0, -s.shape[1] % shape_of(case).Br), (0, 0)))


def reduced(how: Callable[..., Array], x: Array, case: Case, whole: bool) -> Array:
    """np.max or np.sum of each query, or of its whole tile, with a last axis of 1."""
    if not whole:
        return np.asarray(how(x, axis=-1, keepdims=True))
    tiled = x.reshape(len(x), -1, shape_of(case).Br, x.shape[-1])
    of_tile = how(tiled, axis=(2, 3), keepdims=True)
    return np.broadcast_to(of_tile, (*tiled.shape[:3], 1)).reshape(*x.shape[:2], 1)


def rounded(x: Array) -> Array:
    """Rounded to fp16, in float64."""
    return x.astype(np.float16).astype(np.float64)


def without_max(guarded: bool) -> Writes:
    """Exponentials of the scores themselves; `guarded`: where they sum to 0, O is divided by 1, as the lessons do."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        e = exp32(s)
        l = e.sum(axis=-1, keepdims=True)
        o = (dropped(case, e) @ v) / (np.where(l == 0, 1.0, l) if guarded else l)
        return {"o_ptr": o, "l_ptr": l[..., 0], "lse_ptr": np.log(l[..., 0])}

    return from_scores(formula)


def _last_tile(s: Array, v: Array, case: Case) -> Outputs:
    last = looked_at(case) & (np.arange(s.shape[-1]) // shape_of(case).Bc == last_looked_at(case)[:, None])
    return {"o_ptr": attention(np.where(last, s, -np.inf), v, case)["o_ptr"]}


def last_looked_at(case: Case) -> Array:
    """The last tile of keys that each query looks at."""
    tile = np.arange(shape_of(case).n_k) // shape_of(case).Bc
    return np.asarray(np.max(np.where(looked_at(case), tile, -1), axis=1))


def _half_scaled(case: Case, side: str, folded: float) -> Array:
    """Scores of a kernel that multiplies Q or K by the scale, and by `folded`, and rounds that to its own type."""
    sides, x = {name: wide(case, name) for name in "qk"}, case.tensors[f"{side}_ptr"].values
    scaled = np.float32(case.scalars["scale"]) * np.float32(folded) * x.astype(np.float32)  # which is rounded, too
    sides[side] = scaled.astype(x.dtype).astype(np.float64)
    return np.asarray((sides["q"] @ sides["k"].swapaxes(1, 2)) / folded + bias(case))


def scaled_in_half(sign: Callable[[Callable[[Case], Array]], Writes]) -> tuple[Misconception, ...]:
    """The idea of scaling Q, or K, in its own type; `sign` makes one of the scores that come of it."""
    return tuple(
        idea(
            "scaled-in-half",
            *(sign(partial(_half_scaled, side=side, folded=folded)) for folded in (1.0, LOG2_E)),
            side=side.upper(),
        )
        for side in "qk"
    )


def one(x: Array) -> Array:
    """The factor 1, for a factor that is missing."""
    return np.ones_like(x)


def rescaled(s: Array, case: Case, factor: float) -> Array:
    """Scores with a factor on the product of Q and K; a bias stays as it is."""
    return np.asarray((s - bias(case)) * factor + bias(case))


def _raw(s: Array, case: Case) -> Array:
    """Scores without their scale."""
    return rescaled(s, case, 1 / float(case.scalars["scale"]))


def _scaled_output(s: Array, v: Array, case: Case) -> Outputs:
    made = attention(_raw(s, case), v, case)
    return {**made, "o_ptr": made["o_ptr"] * float(case.scalars["scale"])}


def _scaled(factor: Callable[[float, int], float]) -> Writes:
    """The right scores, times `factor(scale, d)`."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        return attention(rescaled(s, case, factor(float(case.scalars["scale"]), v.shape[-1])), v, case)

    return from_scores(formula).at(Q_K)


def _whole(s: Array, v: Array, case: Case) -> Outputs:
    """The attention to whole tiles of keys alone; nothing if there is none."""
    end = s.shape[-1] // shape_of(case).Bc * shape_of(case).Bc
    return attention(s[..., :end], v[:, :end], case) if end else attention(s - np.inf, v)


def _with_keys_of_head_0(case: Case, of: str = "kv") -> Outputs:
    k, v = (
        np.repeat(wide(case, name)[:1], shape_of(case).heads, axis=0) if name in of else wide(case, name)
        for name in "kv"
    )
    s = float(case.scalars["scale"]) * (wide(case, "q") @ k.swapaxes(1, 2)) + bias(case)
    return of_scores(case, s, sees(case), v)


def _of_head_0(s: Array, v: Array, case: Case) -> Outputs:
    return attention(np.repeat(s[:1], len(s), axis=0), np.repeat(v[:1], len(v), axis=0), case)


def _without_whole_tiles(case: Case) -> dict[str, Array]:
    """All outputs, of launches with less than one whole tile of keys; but with a whole tile of queries."""
    shape = shape_of(case)
    nothing = shape.n_k < shape.Bc and shape.n_q >= shape.Br
    names = written(case, ("o_ptr", "l_ptr", "m_ptr", "lse_ptr"))
    return {name: np.full(case.tensors[name].values.shape, nothing) for name in names}


def _other_length(s: Array, v: Array, case: Case) -> Outputs:
    """Keys hidden from n_q on, not from n_k on; a tile of keys that are all hidden gives NaN if nothing guards it."""
    s, v = padded(s, v, case)
    hidden = np.where(np.arange(s.shape[-1]) < shape_of(case).n_q, s, -np.inf)
    made = attention(hidden, v, case)
    if "m_ptr" in case.tensors and shape_of(case).n_q <= s.shape[-1] - shape_of(case).Bc:
        made = {name: np.full_like(values, np.nan) for name, values in made.items() if name != "m_ptr"}
    return made


def _keys_and_values_exchanged(case: Case) -> Outputs:
    s = float(case.scalars["scale"]) * (wide(case, "q") @ wide(case, "v").swapaxes(1, 2)) + bias(case)
    return of_scores(case, s, sees(case), wide(case, "k"))


def _divided_by_lse(s: Array, v: Array, case: Case) -> Outputs:
    made = dict(attention(s, v, case))
    l, lse = made["l_ptr"][..., None], made["lse_ptr"][..., None]
    made["o_ptr"] = made["o_ptr"] * l / np.where(l == 0, 1.0, lse)
    return made


def _keys_up_to_n_q(case: Case) -> Array:
    """Keys in the tiles that a loop to n_q visits."""
    shape = shape_of(case)
    return np.asarray(np.arange(shape.n_k) < -(-shape.n_q // shape.Bc) * shape.Bc)


def _up_to_n_q(s: Array, v: Array, case: Case) -> Outputs:
    return attention(np.where(_keys_up_to_n_q(case), s, -np.inf), v, case)


def _o_up_to_n_q(s: Array, v: Array, case: Case) -> Outputs:
    o = attention(s, np.where(_keys_up_to_n_q(case)[:, None], v, 0.0), case)["o_ptr"]
    return {**attention(s, v, case), "o_ptr": o}


_SIDES_OF_DOT = re.compile(r"not compatible for matmul|equal reduction dimensions|mismatch in its core dimension")
_SHAPES = re.compile(r"incompatible dimensions|could not be broadcast|Cannot broadcast")

Q_K = Product(frozenset({"q_ptr", "k_ptr"}))  # the one that gives the scores
Q_K_V = Product(Q_K.of | {"v_ptr"})  # the one that gives O


def of_p(model: Callable[..., Writes], m: str, others: str) -> tuple[Misconception, ...]:
    """Wrong ideas of P, in a forward kernel whose model takes other ideas of `p`, its scale and its reductions.

    `m` is the maximum that P is relative to, and `others` what else comes of maxima, as the kernel calls them.
    """
    return (
        idea("p-in-half", model(p=lambda s, m: rounded(exp32(s - m))).at(Part.EXPONENTIAL_OF_SCORES)),
        idea("scale-after-the-maximum", model(unscaled=lambda s, m, scale: exp32(scale * s - m)).at(Q_K), m=m),
        idea(
            "scale-after-the-maximum/difference",
            model(unscaled=lambda s, m, scale: exp32(scale * (s - m))).at(Q_K),
            m=m,
            others=others,
        ),
        idea("reduced-over-the-whole-tile", model(over="sum").at(Part.SUM)),
        idea("reduced-over-the-whole-tile/maximum", model(over="max").at(Part.MAX)),
        idea("reduced-over-the-whole-tile/both", model(over="both")),
    )


# Wrong ideas about scores and keys that any forward kernel can have. Numbers are those of the lessons' example: the
# scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
SCORES = (
    idea("v-from-k", from_scores(lambda s, v, case: attention(s, wide(case, "k"), case)).at(Part.SECOND_LOAD_OF_K)),
    idea("sign-reversed", Writes(lambda case: of_scores(case, rescaled(scores(case), case, -1.0), sees(case))).at(Q_K)),
    idea("scores-in-half", Writes(lambda case: of_scores(case, rounded(scores(case)), sees(case))).at(Q_K)),
    idea("scale-on-the-output", from_scores(_scaled_output).at(Q_K)),
    idea("keys-compared-with-n-q", from_scores(_other_length)),
    idea("scale-missing", _scaled(lambda scale, d: 1 / scale)),
    idea("scale-twice", _scaled(lambda scale, d: scale)),
    idea("scale-inverted", _scaled(lambda scale, d: 1 / scale**2)),
    idea("scale-assumed", _scaled(lambda scale, d: 1 / (scale * np.sqrt(d)))),
    *scaled_in_half(lambda s: Writes(lambda case: of_scores(case, s(case), sees(case)))),
    idea("keys-behind-the-end-counted", from_scores(lambda s, v, case: attention(*padded(s, v, case), case))),
    idea(
        "no-max-subtraction",
        *(without_max(guarded).at(Part.UNSHIFTED_EXPONENTIAL, needed=True) for guarded in (False, True)),
    ),
    idea("base-two", from_scores(lambda s, v, case: {"o_ptr": attention(s / LOG2_E, v, case)["o_ptr"]})),
    idea("last-keys-only", from_scores(_last_tile)),
    idea("whole-tiles-only", from_scores(_whole)),
    idea("whole-tiles-only/unwritten", Unwritten(_without_whole_tiles)),
    idea(
        "scores-transposed",
        Writes(lambda case: of_scores(case, transposed(case, scaled_products(case)) + bias(case), sees(case))).at(Q_K),
    ),
    idea("only-one-head", from_scores(_of_head_0)),
    idea("only-one-head/k-and-v", Writes(lambda case: _with_keys_of_head_0(case))),
    idea("only-one-head/v", Writes(lambda case: _with_keys_of_head_0(case, "v")).at(Access("v_ptr"))),
    idea("only-one-head/k", Writes(lambda case: _with_keys_of_head_0(case, "k")).at(Access("k_ptr"))),
    idea("keys-and-values-exchanged", Writes(_keys_and_values_exchanged)),
    idea("k-not-transposed", Raises(_SIDES_OF_DOT, Q_K)),
    idea("dot-shapes-do-not-fit", Raises(_SIDES_OF_DOT, Q_K_V)),
    idea("reduced-over-queries", Raises(_SHAPES, Part.REDUCED_ALONG_0)),
    idea("keys-hidden-by-rows", Raises(_SHAPES, Part.KEYS_AS_ROWS)),
    idea("lse-as-the-normaliser", from_scores(_divided_by_lse)),
    idea("loop-to-another-end", from_scores(_up_to_n_q)),
    idea("loop-to-another-end/o", from_scores(_o_up_to_n_q)),
)
