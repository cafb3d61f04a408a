"""What kernels with a wrong idea of attention's forward pass would write."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from checker.catalog.attention import has_keys, is_causal, looked_at, scores, sees, shape_of, transposed, visible, wide
from checker.catalog.softmax_mistakes import exp32
from checker.puzzle import Array, Case, Misconception

Outputs = Mapping[str, Array]
Formula = Callable[[Array, Array, Case], Outputs]  # (scores with -inf where hidden, V, case) → outputs
LOG2_E = float(np.log2(np.e))


def writes(formula: Formula) -> Callable[[Case], Outputs]:
    """The outputs of a kernel with this formula, which gets the right scores; those that the launch has."""

    def outputs(case: Case) -> Outputs:
        s = np.where(sees(case), scores(case), -np.inf)
        return {name: o for name, o in formula(s, wide(case, "v"), case).items() if name in case.tensors}

    return outputs


def tiles(s: Array, v: Array, case: Case) -> Iterator[tuple[Array, Array]]:
    """Scores and values of one tile of keys after the other."""
    block = shape_of(case).Bc
    for start in range(0, s.shape[-1], block):
        yield s[..., start : start + block], v[:, start : start + block]


def with_lse(m: Array, l: Array, o: Array) -> Outputs:
    """All that a forward kernel may write; m and l with a last axis of 1."""
    return {"o_ptr": o, "l_ptr": l[..., 0], "m_ptr": m[..., 0], "lse_ptr": (m + np.log(l))[..., 0]}


def attention(s: Array, v: Array) -> Outputs:
    """What a right kernel writes, of these scores; exponentials in fp32."""
    m = s.max(axis=-1, keepdims=True)
    e = exp32(s - np.where(np.isinf(m), 0.0, m))
    l = e.sum(axis=-1, keepdims=True)
    return with_lse(m, l, (e @ v) / np.where(l == 0, 1.0, l))


def padded(s: Array, v: Array, case: Case) -> tuple[Array, Array]:
    """Scores and V with the last tile of keys filled up: such keys have the score 0, if no causal mask hides them."""
    missing = -s.shape[-1] % shape_of(case).Bc
    extra_s = np.full((*s.shape[:-1], missing), -np.inf if is_causal(case) else 0.0)
    return np.concatenate([s, extra_s], axis=-1), np.concatenate([v, np.zeros((len(v), missing, v.shape[-1]))], axis=1)


def _without_max(s: Array, v: Array) -> Outputs:
    e = exp32(s)
    l = e.sum(axis=-1, keepdims=True)
    return {"o_ptr": (e @ v) / l, "l_ptr": l[..., 0], "lse_ptr": np.log(l[..., 0])}


def _last_tile(s: Array, v: Array, case: Case) -> Outputs:
    last = looked_at(case) & (np.arange(s.shape[-1]) // shape_of(case).Bc == _last_looked_at(case)[:, None])
    return {"o_ptr": attention(np.where(last, s, -np.inf), v)["o_ptr"]}


def _last_looked_at(case: Case) -> Array:
    """The last tile of keys that each query looks at."""
    tile = np.arange(shape_of(case).n_k) // shape_of(case).Bc
    return np.asarray(np.max(np.where(looked_at(case), tile, -1), axis=1))


def _half(case: Case, exact: Array) -> Array:
    """Scores of a kernel that multiplies Q by the scale and rounds that to Q's own type."""
    q = (float(case.scalars["scale"]) * wide(case, "q")).astype(case.tensors["q_ptr"].values.dtype)
    rounded = q.astype(np.float64) @ wide(case, "k").swapaxes(1, 2)
    return np.where(np.isinf(exact), -np.inf, rounded)


# Wrong ideas about scores and keys that any forward kernel can have.
SCORES = (
    Misconception(
        "scale-missing",
        "The scores are not scaled",
        "S is Q K^T, but it should be scale * Q K^T.",
        "Multiply by scale: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        outputs=writes(lambda s, v, case: attention(s / float(case.scalars["scale"]), v)),
    ),
    Misconception(
        "scale-twice",
        "The scores are scaled twice",
        "S is scale * scale * Q K^T. Was Q multiplied by the scale as well?",
        "Multiply once.",
        outputs=writes(lambda s, v, case: attention(s * float(case.scalars["scale"]), v)),
    ),
    Misconception(
        "scale-inverted",
        "The scores are divided by the scale",
        "scale is what to multiply with, 1/sqrt(d) for instance; dividing by it makes the scores too large.",
        "Write scale * tl.dot(Qi, tl.trans(Kj)).",
        outputs=writes(lambda s, v, case: attention(s / float(case.scalars["scale"]) ** 2, v)),
    ),
    Misconception(
        "scale-assumed",
        "The scores are divided by sqrt(d)",
        "The scale is an argument of the kernel, and here it is not 1/sqrt(d).",
        "Multiply by scale.",
        outputs=writes(lambda s, v, case: attention(s / float(case.scalars["scale"]) / np.sqrt(v.shape[-1]), v)),
    ),
    Misconception(
        "scaled-in-half",
        "The scaled Q was rounded to fp16",
        "scale * Q was converted back to fp16, so each score errs by a thousandth of itself: too much in an exponent.",
        "Multiply the scores instead, which are fp32: scale * tl.dot(Qi, tl.trans(Kj)).",
        outputs=writes(lambda s, v, case: attention(_half(case, s), v)),
    ),
    Misconception(
        "keys-behind-the-end-counted",
        "Keys behind the last one are counted",
        "Keys that do not exist were loaded as 0, so their score is 0, and each adds exp(0 - m) to the normaliser.",
        "Hide them: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        outputs=writes(lambda s, v, case: attention(*padded(s, v, case))),
    ),
    Misconception(
        "no-max-subtraction",
        "The maximum is not subtracted",
        "exp(s) is infinite in fp32 from s = 88.8 on, and inf / inf is NaN.",
        "Subtract the running maximum before the exponential.",
        outputs=writes(lambda s, v, case: _without_max(s, v)),
    ),
    Misconception(
        "base-two",
        "2**s was used where e**s is asked for",
        "exp(s) = exp2(s * log2(e)) with log2(e) = 1.4426950408889634.",
        "Use tl.exp, or fold log2(e) into the scale before tl.exp2.",
        outputs=writes(lambda s, v, case: {"o_ptr": attention(s / LOG2_E, v)["o_ptr"]}),
    ),
    Misconception(
        "last-keys-only",
        "Only the last tile of keys counts",
        "O is the attention to the last Bc keys alone: what was accumulated before them is lost.",
        "Keep O, l and m from one tile of keys to the next, rescaled.",
        outputs=writes(_last_tile),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of keys is left out",
        "The loop ends with the last whole tile.",
        "Let it run to n_k: range(0, n_k, Bc).",
        outputs=writes(
            lambda s, v, case: attention(*(_whole(s, v, case) if s.shape[-1] >= shape_of(case).Bc else (s - np.inf, v)))
        ),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of keys is left out",
        "The loop ends with the last whole tile, and with fewer than Bc keys it has no turn at all.",
        "Let it run to n_k: range(0, n_k, Bc).",
        unwritten=lambda case: {
            name: np.full(
                case.tensors[name].values.shape,
                shape_of(case).n_k < shape_of(case).Bc and shape_of(case).n_q >= shape_of(case).Br,
            )
            for name in ("o_ptr", "l_ptr", "m_ptr", "lse_ptr")
            if name in case.tensors
        },
    ),
    Misconception(
        "scores-transposed",
        "Tiles of scores are transposed",
        "Rows of Sij are queries and columns are keys: Qi Kj^T. With square tiles the shapes of Kj Qi^T fit as well.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        outputs=lambda case: _with_scores(case, transposed(case, scores(case))),
    ),
    Misconception(
        "only-one-head",
        "All heads are computed from the first one",
        "Each head of O holds the attention of head 0.",
        "Add the head to the addresses of Q, K and V as well.",
        outputs=writes(lambda s, v, case: _of_head_0(s, v)),
    ),
    Misconception(
        "only-one-head",
        "All heads use the keys of the first one",
        "Q is that of the head at hand, but K and V are those of head 0.",
        "Add head * k_head_stride to the addresses of K and V.",
        outputs=lambda case: _with_keys_of_head_0(case),
    ),
)


def _whole(s: Array, v: Array, case: Case) -> tuple[Array, Array]:
    end = s.shape[-1] // shape_of(case).Bc * shape_of(case).Bc
    return s[..., :end], v[:, :end]


def _with_keys_of_head_0(case: Case) -> Outputs:
    k, v = (np.repeat(wide(case, name)[:1], shape_of(case).heads, axis=0) for name in "kv")
    s = float(case.scalars["scale"]) * (wide(case, "q") @ k.swapaxes(1, 2))
    made = attention(np.where(sees(case), s, -np.inf), v)
    return {name: o for name, o in made.items() if name in case.tensors}


def _with_scores(case: Case, s: Array) -> Outputs:
    with np.errstate(all="ignore"):
        made = attention(np.where(sees(case), s, -np.inf), wide(case, "v"))
    return {name: o for name, o in made.items() if name in case.tensors}


def _of_head_0(s: Array, v: Array) -> Outputs:
    return {name: np.repeat(values[:1], len(s), axis=0) for name, values in attention(s, v).items()}


# FlashAttention-1: O, l and m are kept divided and complete from visit to visit.

# (O, l, a = exp(m - m_new), b = exp(mij - m_new), lij, Pij Vj) → (O, l)
Step = Callable[[Array, Array, Array, Array, Array, Array], tuple[Array, Array]]


def visits(step: Step, top: Callable[[Array, Array], Array] = np.maximum) -> Callable[[Case], Outputs]:
    """The outputs of a kernel that comes back to O and l for every tile of keys, and changes them by `step`.

    `top(m, m_tile)` is its running maximum.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        for s_j, v_j in tiles(s, v, case):
            m_j = s_j.max(axis=-1, keepdims=True)
            p_j = exp32(s_j - m_j)
            m_new = top(m, m_j)
            o, l = step(o, l, exp32(m - m_new), exp32(m_j - m_new), p_j.sum(axis=-1, keepdims=True), p_j @ v_j)
            m = m_new
        return with_lse(m, l, o)

    return writes(formula)


def _visit(
    old_o: Callable[[Array, Array], Array] = lambda l, a: l * a,
    new_o: Callable[[Array], Array] = lambda b: b,
    old_l: Callable[[Array], Array] = lambda a: a,
    new_l: Callable[[Array], Array] = lambda b: b,
    divided: Callable[[Array], Array] = lambda l: l,
) -> Step:
    """Line 11 and 12 of the algorithm, with one factor of it changed."""

    def step(o: Array, l: Array, a: Array, b: Array, l_j: Array, pv: Array) -> tuple[Array, Array]:
        l_new = old_l(a) * l + new_l(b) * l_j
        return (old_o(l, a) * o + new_o(b) * pv) / divided(l_new), l_new

    return step


def _one(x: Array) -> Array:
    return np.ones_like(x)


VISITS = (
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "mij replaces mi. Where an earlier tile had a much larger score, the factor exp(mi - mi_new) overflows.",
        "Line 11: mi_new = tl.maximum(mi, mij).",
        outputs=visits(_visit(), top=lambda m, m_tile: m_tile),
    ),
    Misconception(
        "old-l-not-folded-back",
        "The old O is not multiplied by its own normaliser",
        "Oi was divided by the old li when it was stored. Before anything can be added, that must be taken back.",
        "Line 12: the old part is li * exp(mi - mi_new) * Oi.",
        outputs=visits(_visit(old_o=lambda l, a: a)),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "Pij was taken relative to the maximum mij of its own tile. If an earlier tile had a larger one, Pij Vj and "
        "lij must be multiplied by exp(mij - mi_new).",
        "Lines 11 and 12: both lij and Pij Vj get the factor exp(mij - mi_new).",
        outputs=visits(_visit(new_o=_one)),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new sum is not rescaled to the new maximum",
        "lij was taken relative to the maximum mij of its own tile. If an earlier tile had a larger one, it must be "
        "multiplied by exp(mij - mi_new).",
        "Line 11: li_new = exp(mi - mi_new) * li + exp(mij - mi_new) * lij.",
        outputs=visits(_visit(new_l=_one)),
    ),
    Misconception(
        "new-part-not-rescaled",
        "The new part is not rescaled to the new maximum",
        "Pij was taken relative to the maximum mij of its own tile. If an earlier tile had a larger one, Pij Vj and "
        "lij must be multiplied by exp(mij - mi_new).",
        "Lines 11 and 12: both lij and Pij Vj get the factor exp(mij - mi_new).",
        outputs=visits(_visit(new_l=_one, new_o=_one)),
    ),
    Misconception(
        "old-part-not-rescaled",
        "The old O is not rescaled when the maximum grows",
        "Oi was accumulated relative to the old maximum, and so it needs the factor exp(mi - mi_new) before "
        "anything is added.",
        "Line 12: the old part is li * exp(mi - mi_new) * Oi.",
        outputs=visits(_visit(old_o=lambda l, a: l)),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima.",
        "Line 11: the old li gets the factor exp(mi - mi_new).",
        outputs=visits(_visit(old_l=_one)),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both were accumulated relative to the old maximum, and what is added is relative to the new one. If you do "
        "multiply by exp(mi - mi_new), then mi was overwritten before that.",
        "Lines 11 and 12: the old parts get the factor exp(mi - mi_new).",
        outputs=visits(_visit(old_l=_one, old_o=lambda l, a: l)),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O holds the weighted sum of V's rows with weights that do not sum to 1.",
        "Line 12: divide by li_new at every visit, because this algorithm keeps O finished.",
        outputs=visits(lambda o, l, a, b, l_j, pv: (a * o + b * pv, a * l + b * l_j)),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "The old O is multiplied by its normaliser, but the new one is not divided by its own.",
        "Line 12: divide by li_new at every visit, because this algorithm keeps O finished.",
        outputs=visits(_visit(divided=_one)),
    ),
    Misconception(
        "divided-by-the-tile-sum",
        "O is divided by the sum of one tile",
        "lij is the sum over the tile at hand; O must be divided by the sum over all keys so far.",
        "Line 12: divide by li_new.",
        outputs=visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l_j, a * l + b * l_j)),
    ),
    Misconception(
        "divided-by-the-old-l",
        "O is divided by the old normaliser",
        "Line 12 divides by the new one; the old one is 0 at the first visit.",
        "Divide by li_new.",
        outputs=visits(lambda o, l, a, b, l_j, pv: ((l * a * o + b * pv) / l, a * l + b * l_j)),
    ),
)

# FlashAttention-2: the accumulator is divided once, at the end; hidden scores are -inf, and a guard keeps NaN away.


def running(
    old_o: Callable[[Array], Array] = lambda a: a,
    old_l: Callable[[Array], Array] = lambda a: a,
    each: Callable[[Array], Array] = lambda l: np.ones_like(l),
    last: Callable[[Array], Array] = lambda l: np.where(l == 0, 1.0, l),
    top: Callable[[Array, Array], Array] = np.maximum,
    in_half: bool = False,
) -> Callable[[Case], Outputs]:
    """The outputs of a kernel that rescales and divides by its own ideas.

    `top(m, m_tile)` is its running maximum; `in_half`: it keeps O in V's type.
    """

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        o = np.zeros((*s.shape[:-1], v.shape[-1]))
        l = np.zeros((*s.shape[:-1], 1))
        m = np.full_like(l, -np.inf)
        for j, (s_j, v_j) in enumerate(tiles(s, v, case)):
            m_new = top(m, s_j.max(axis=-1, keepdims=True))
            shift = np.where(np.isinf(m_new), 0.0, m_new)
            p = exp32(s_j - shift)
            a = exp32(m - shift)
            here = (j <= _last_looked_at(case))[:, None]
            l = np.where(here, old_l(a) * l + p.sum(axis=-1, keepdims=True), l)
            o = np.where(here, (old_o(a) * o + p @ v_j) / each(l), o)
            o = o.astype(case.tensors["v_ptr"].values.dtype).astype(np.float64) if in_half else o
            m = np.where(here, m_new, m)
        return with_lse(m, l, o / last(l))

    return writes(formula)


ACCUMULATION = (
    Misconception(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. Where an earlier tile had a much larger score, the factor "
        "exp(mi - mi_new) overflows.",
        "Line 9: mi_new = tl.maximum(mi, tl.max(Sij, axis=1)).",
        outputs=running(top=lambda m, m_tile: m_tile),
    ),
    Misconception(
        "accumulator-in-half",
        "O is accumulated in fp16",
        "Until it is divided, O is a sum over all keys: fp16 ends at 65504, and loses a thousandth at every step "
        "besides.",
        "Accumulate in fp32, tl.zeros((Br, D), tl.float32); tl.store converts at the end.",
        outputs=running(in_half=True),
    ),
    Misconception(
        "accumulator-not-rescaled",
        "The accumulator is not rescaled when the maximum grows",
        "Oi adds up products that were taken relative to different maxima. What it held relative to the old one "
        "must be multiplied by exp(mi - mi_new).",
        "Line 10: Oi = exp(mi - mi_new)[:, None] * Oi + Pij Vj.",
        outputs=running(old_o=_one),
    ),
    Misconception(
        "denominator-not-rescaled",
        "The old normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima.",
        "Line 9: li = exp(mi - mi_new) * li + rowsum(Pij).",
        outputs=running(old_l=_one),
    ),
    Misconception(
        "denominator-not-rescaled",
        "Neither O nor the normaliser is rescaled when the maximum grows",
        "Both were accumulated relative to the old maximum, and what is added is relative to the new one. If you do "
        "multiply by exp(mi - mi_new), then mi was overwritten before that.",
        "Lines 9 and 10: the old parts get the factor exp(mi - mi_new).",
        outputs=running(old_l=_one, old_o=_one),
    ),
    Misconception(
        "divided-at-every-step",
        "The accumulator is divided at every step",
        "Oi was divided by li inside the loop, and then accumulated further as if it had not been.",
        "Divide once, behind the loop.",
        outputs=running(each=lambda l: np.where(l == 0, 1.0, l), last=_one),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the normaliser",
        "O holds the weighted sum of V's rows with weights that do not sum to 1.",
        "Line 12: behind the loop, O = O / li.",
        outputs=running(last=_one),
    ),
)


def _with_mask(offset: Callable[[Case], int | None], skipping: bool = False) -> Callable[[Case], Outputs]:
    """Attention with another causal mask: query i sees key j if j <= i + offset; None: all keys.

    `skipping`: tiles that are hidden altogether are left out all the same.
    """

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        shift = offset(case)
        seen = visible(shape.n_q, shape.n_k, is_causal(case) and shift is not None, shift)
        seen = seen & looked_at(case) if skipping else seen
        with np.errstate(all="ignore"):
            made = attention(np.where(seen, scores(case), -np.inf), wide(case, "v"))
        return {name: o for name, o in made.items() if name in case.tensors}

    return outputs


def _ending(end: Callable[[Case, int], int]) -> Callable[[Case], Outputs]:
    """Right, but for the end of the loop over keys: `end(case, first query of the tile)`, rounded up to whole tiles."""

    def outputs(case: Case) -> Outputs:
        shape = shape_of(case)
        seen = sees(case).copy()
        if is_causal(case):
            for start in range(0, shape.n_q, shape.Br):
                seen[start : start + shape.Br, max(0, -(-end(case, start) // shape.Bc) * shape.Bc) :] = False
        made = attention(np.where(seen, scores(case), -np.inf), wide(case, "v"))
        return {name: o for name, o in made.items() if name in case.tensors}

    return outputs


def _bottom_right(case: Case) -> int:
    return shape_of(case).n_k - shape_of(case).n_q


def _hidden(
    o: Callable[[Array, Case], Array], lse: Callable[[Case], float], in_all_tiles: bool
) -> Callable[[Case], Outputs]:
    """The right outputs but for queries that see no key: in all tiles, or in those that look at some key."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        alone = ~has_keys(case)
        tile = np.arange(len(alone)) // shape_of(case).Br
        looking = alone & np.isin(tile, tile[~alone])
        made = attention(s, v)
        made["o_ptr"][:, alone], made["lse_ptr"][:, alone] = 0.0, -np.inf
        hit = alone if in_all_tiles else looking
        made["o_ptr"][:, hit] = o(v, case)
        made["lse_ptr"][:, looking] = lse(case)
        return made

    return writes(formula)


def _nan(v: Array, case: Case) -> Array:
    return np.array(np.nan)


def _alone_get_mean(s: Array, v: Array, case: Case) -> Outputs:
    """The right O, but the mean of V for queries without keys in tiles that look at some key."""
    made = attention(s, v)["o_ptr"]
    alone = ~has_keys(case)
    tile = np.arange(len(alone)) // shape_of(case).Br
    made[:, alone & np.isin(tile, tile[~alone])] = _mean(v, case)
    return {"o_ptr": made}


def _mean(v: Array, case: Case) -> Array:
    """Of the lanes of one block of keys, those behind the end included: their values were loaded as 0."""
    block = shape_of(case).Bc
    return np.asarray(v[:, :block].sum(axis=1, keepdims=True) / block)


NAN_WITHOUT_KEYS = (
    "A query that sees no key has only scores of -inf, so its maximum is -inf, and -inf - (-inf) is NaN; or it "
    "looks at no tile at all, and 0 / 0 is NaN."
)
GUARD = (
    "Subtract 0 while the maximum is -inf, tl.where(m_new == -float('inf'), 0.0, m_new), and divide by 1 where li is 0."
)

CAUSAL = (
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "The mask is j < i + n_k - n_q, one key too few.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: _bottom_right(case) - 1),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: _bottom_right(case) + 1),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: _bottom_right(case) + 1, skipping=True),
    ),
    Misconception(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tiles",
        "Its end lacks n_k - n_q: with more keys than queries, each query sees that many more.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
        outputs=_ending(lambda case, start: start + shape_of(case).Br),
    ),
    Misconception(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tiles",
        "Its end is that of the tile's first query; the last query of the tile sees Br - 1 keys more.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
        outputs=_ending(lambda case, start: start + _bottom_right(case)),
    ),
    Misconception(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tile",
        "The number of tiles was rounded down: a tile on the diagonal is only partly hidden, and must be looked at.",
        "End at min(n_k, (i + 1) * Br + n_k - n_q), and let range round up by itself.",
        outputs=_ending(
            lambda case, start: (
                min(shape_of(case).n_k, start + shape_of(case).Br + _bottom_right(case))
                // shape_of(case).Bc
                * shape_of(case).Bc
            )
        ),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i, as if the first query stood at the first key. Queries are the last n_q positions of "
        "n_k: the last query sees all keys.",
        "Query i sees key j if j <= i + n_k - n_q.",
        outputs=_with_mask(lambda case: 0),
    ),
    Misconception(
        "causal-ignored",
        "Queries see keys of the future",
        "With CAUSAL, all keys were used.",
        "Hide scores with j > i + n_k - n_q: tl.where(..., Sij, -float('inf')).",
        outputs=_with_mask(lambda case: None),
    ),
    Misconception(
        "causal-ignored",
        "Tiles on the diagonal are not masked",
        "Tiles that are hidden altogether are skipped, but in those on the diagonal queries see keys of the future.",
        "Hide scores with j > i + n_k - n_q: tl.where(..., Sij, -float('inf')).",
        outputs=_with_mask(lambda case: None, skipping=True),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        outputs=_hidden(_nan, lambda case: np.nan, in_all_tiles=True),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        outputs=_hidden(_nan, lambda case: np.nan, in_all_tiles=False),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        NAN_WITHOUT_KEYS,
        GUARD,
        outputs=_hidden(_nan, lambda case: -np.inf, in_all_tiles=True),
    ),
    Misconception(
        "hidden-rows-mean-of-v",
        "Queries that see no key get the mean of V",
        "With a large negative number for hidden scores, a query that sees no key has that number as its maximum, "
        "and all of its exponentials are exp(0) = 1.",
        "Hide scores with -float('inf') and guard the maximum, or set P to 0 where a key is hidden.",
        outputs=writes(_alone_get_mean),
    ),
)


def _lse_instead(value: Callable[[Array, Array], Array]) -> Callable[[Case], Outputs]:
    """Right O, and another LSE, computed from m and l."""

    def formula(s: Array, v: Array, case: Case) -> Outputs:
        m = s.max(axis=-1, keepdims=True)
        shift = np.where(np.isinf(m), 0.0, m)
        e = exp32(s - shift)
        l = e.sum(axis=-1, keepdims=True)
        return {"o_ptr": (e @ v) / np.where(l == 0, 1.0, l), "lse_ptr": value(m, l)[..., 0]}

    return writes(formula)


LSE = (
    Misconception(
        "lse-without-max",
        "The maximum is missing in LSE",
        "LSE is log(li), but li is the sum of exp(s - mi): the maximum must be added again.",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: np.log(l)),
    ),
    Misconception(
        "lse-without-log",
        "LSE is not a logarithm",
        "LSE is mi + li, but it should be mi + log(li).",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: m + l),
    ),
    Misconception(
        "lse-is-the-normaliser",
        "The normaliser is stored instead of LSE",
        "LSE is li, but it should be mi + log(li).",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: l),
    ),
    Misconception(
        "lse-is-the-max",
        "The maximum is stored instead of LSE",
        "LSE is mi, but it should be mi + log(li).",
        "LSE = mi + log(li).",
        outputs=_lse_instead(lambda m, l: m),
    ),
    Misconception(
        "lse-in-base-two",
        "LSE is in base 2",
        "The backward pass computes exp(s - LSE), so LSE must be a natural logarithm.",
        "With exp2 inside, multiply by ln(2) at the end: LSE = (mi + log2(li)) * 0.6931471805599453.",
        outputs=_lse_instead(lambda m, l: (m + np.log(l)) * LOG2_E),
    ),
    Misconception(
        "lse-in-base-two",
        "LSE mixes base 2 and base e",
        "The maximum is in base 2, because log2(e) was folded into the scale, but the logarithm of li is a natural "
        "one.",
        "Convert the maximum: LSE = mi * 0.6931471805599453 + log(li).",
        outputs=_lse_instead(lambda m, l: m * LOG2_E + np.log(l)),
    ),
    Misconception(
        "lse-in-base-two",
        "LSE mixes base e and base 2",
        "The maximum is right, but log2(li) was added to it instead of log(li).",
        "LSE = mi + log(li), with tl.log.",
        outputs=_lse_instead(lambda m, l: m + np.log2(l)),
    ),
)
