"""What kernels with a wrong idea of attention's scores, keys or heads would write; models that others build on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import numpy as np

from checker.catalog.attention.bounds import looked_at, transposed
from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.reference import is_causal, scores, sees
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Part, Product, Unwritten, Writes

Outputs = Mapping[str, Array]
Formula = Callable[[Array, Array, Case], Outputs]  # (scores with -inf where hidden, V, case) → outputs
Over = Literal["", "sum", "max", "both"]  # reductions that run over a whole tile
LOG2_E = float(np.log2(np.e))


def from_scores(formula: Formula) -> Writes:
    """What a kernel with this formula writes, which gets the right scores; of the outputs that the launch has."""

    def outputs(case: Case) -> Outputs:
        s = np.where(sees(case), scores(case), -np.inf)
        return {name: o for name, o in formula(s, wide(case, "v"), case).items() if name in case.tensors}

    return Writes(outputs)


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


def of_scores(case: Case, s: Array, seen: Array, v: Array | None = None) -> Outputs:
    """What a kernel with these scores writes, where `seen` holds; of the outputs that the launch has."""
    with np.errstate(all="ignore"):
        made = attention(np.where(seen, s, -np.inf), wide(case, "v") if v is None else v)
    return {name: o for name, o in made.items() if name in case.tensors}


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


def _without_max(s: Array, v: Array, case: Case) -> Outputs:
    e = exp32(s)
    l = e.sum(axis=-1, keepdims=True)
    return {"o_ptr": (e @ v) / l, "l_ptr": l[..., 0], "lse_ptr": np.log(l[..., 0])}


def _last_tile(s: Array, v: Array, case: Case) -> Outputs:
    last = looked_at(case) & (np.arange(s.shape[-1]) // shape_of(case).Bc == last_looked_at(case)[:, None])
    return {"o_ptr": attention(np.where(last, s, -np.inf), v)["o_ptr"]}


def last_looked_at(case: Case) -> Array:
    """The last tile of keys that each query looks at."""
    tile = np.arange(shape_of(case).n_k) // shape_of(case).Bc
    return np.asarray(np.max(np.where(looked_at(case), tile, -1), axis=1))


def _half(case: Case, exact: Array) -> Array:
    """Scores of a kernel that multiplies Q by the scale and rounds that to Q's own type."""
    q = (float(case.scalars["scale"]) * wide(case, "q")).astype(case.tensors["q_ptr"].values.dtype)
    rounded = q.astype(np.float64) @ wide(case, "k").swapaxes(1, 2)
    return np.where(np.isinf(exact), -np.inf, rounded)


def one(x: Array) -> Array:
    """The factor 1, for a factor that is missing."""
    return np.ones_like(x)


def _raw(s: Array, case: Case) -> Array:
    """Scores without their scale."""
    return s / float(case.scalars["scale"])


def _scaled_output(s: Array, v: Array, case: Case) -> Outputs:
    made = attention(_raw(s, case), v)
    return {**made, "o_ptr": made["o_ptr"] * float(case.scalars["scale"])}


def _scaled(factor: Callable[[float, int], float]) -> Writes:
    """The right scores, times `factor(scale, d)`."""
    return from_scores(lambda s, v, case: attention(s * factor(float(case.scalars["scale"]), v.shape[-1]), v)).at(Q_K)


def _whole(s: Array, v: Array, case: Case) -> Outputs:
    """The attention to whole tiles of keys alone; nothing if there is none."""
    end = s.shape[-1] // shape_of(case).Bc * shape_of(case).Bc
    return attention(s[..., :end], v[:, :end]) if end else attention(s - np.inf, v)


def _with_keys_of_head_0(case: Case) -> Outputs:
    k, v = (np.repeat(wide(case, name)[:1], shape_of(case).heads, axis=0) for name in "kv")
    return of_scores(case, float(case.scalars["scale"]) * (wide(case, "q") @ k.swapaxes(1, 2)), sees(case), v)


def _of_head_0(s: Array, v: Array, case: Case) -> Outputs:
    return {name: np.repeat(values[:1], len(s), axis=0) for name, values in attention(s, v).items()}


def _without_whole_tiles(case: Case) -> dict[str, Array]:
    """All outputs, of launches with less than one whole tile of keys; but with a whole tile of queries."""
    shape = shape_of(case)
    nothing = shape.n_k < shape.Bc and shape.n_q >= shape.Br
    names = [name for name in ("o_ptr", "l_ptr", "m_ptr", "lse_ptr") if name in case.tensors]
    return {name: np.full(case.tensors[name].values.shape, nothing) for name in names}


def _other_length(s: Array, v: Array, case: Case) -> Outputs:
    """Keys hidden from n_q on, not from n_k on; a tile of keys that are all hidden gives NaN if nothing guards it."""
    s, v = padded(s, v, case)
    hidden = np.where(np.arange(s.shape[-1]) < shape_of(case).n_q, s, -np.inf)
    made = attention(hidden, v)
    if "m_ptr" in case.tensors and shape_of(case).n_q <= s.shape[-1] - shape_of(case).Bc:
        made = {name: np.full_like(values, np.nan) for name, values in made.items() if name != "m_ptr"}
    return made


Q_K = Product(frozenset({"q_ptr", "k_ptr"}))  # the one that gives the scores
Q_K_V = Product(Q_K.of | {"v_ptr"})  # the one that gives O


def of_p(model: Callable[..., Writes], m: str, others: str) -> tuple[Misconception, ...]:
    """Wrong ideas of P, in a forward kernel whose model takes other ideas of `p`, its scale and its reductions.

    `m` is the maximum that P is relative to, and `others` what else comes of maxima, as the kernel calls them.
    """
    return (
        Misconception(
            "p-in-half",
            "P is rounded to fp16",
            "fp16 keeps 11 bits of each probability, and the sum over all keys adds up what is lost.",
            "Sum P as it is, in fp32, and convert it to V's type for the product only: tl.dot(Pij.to(Vj.dtype), Vj).",
            signs=(model(p=lambda s, m: rounded(exp32(s - m))).at(Part.EXPONENTIAL_OF_SCORES),),
        ),
        *(
            Misconception(
                "scale-after-the-maximum",
                "The scale is in the exponential only",
                why,
                "Scale the scores themselves, Sij = scale * tl.dot(Qi, tl.trans(Kj)), before anything is taken of "
                "them.",
                signs=(model(unscaled=p).at(Q_K),),
            )
            for why, p in (
                (
                    f"P is exp(scale * S - {m}), but {m} is the maximum of S: it lacks the scale.",
                    lambda s, m, scale: exp32(scale * s - m),
                ),
                (
                    f"P is exp(scale * (S - {m})), but {others} lack the scale.",
                    lambda s, m, scale: exp32(scale * (s - m)),
                ),
            )
        ),
        *(
            Misconception(
                "reduced-over-the-whole-tile",
                f"{what} of the whole tile, not of each query",
                "Without an axis, tl.max and tl.sum make one number of a tile: all of its queries then share it.",
                "tl.max(Sij, axis=1) and tl.sum(Pij, axis=1) have one entry per query.",
                signs=(sign,),
            )
            for what, sign in (
                ("The sum is that", model(over="sum").at(Part.SUM)),
                ("The maximum is that", model(over="max").at(Part.MAX)),
                ("Maximum and sum are those", model(over="both")),
            )
        ),
    )


# Wrong ideas about scores and keys that any forward kernel can have.
SCORES = (
    Misconception(
        "v-from-k",
        "V is loaded from K",
        "O is an average of the rows of K: both loads begin at k_ptr.",
        "Load V from v_ptr. The offsets are those of K.",
        signs=(from_scores(lambda s, v, case: attention(s, wide(case, "k"))).at(Part.SECOND_LOAD_OF_K),),
    ),
    Misconception(
        "sign-reversed",
        "The scores have the wrong sign",
        "O weighs V's rows with exp(-S): the keys that fit a query least count most.",
        "S = scale * Q K^T, without a minus.",
        signs=(Writes(lambda case: of_scores(case, -scores(case), sees(case))).at(Q_K),),
    ),
    Misconception(
        "scores-in-half",
        "The scores are rounded to fp16",
        "fp16 keeps 11 bits: a score of 10 is off by up to 0.004, and its exponential by 0.4 %.",
        "tl.dot gives fp32: leave the scores as they are.",
        signs=(Writes(lambda case: of_scores(case, rounded(scores(case)), sees(case))).at(Q_K),),
    ),
    Misconception(
        "scale-on-the-output",
        "The scale multiplies the output instead of the scores",
        "The scale belongs into the exponent: softmax(scale * Q K^T) V. Outside it makes O smaller, and the weights "
        "stay as sharp as without it.",
        "Multiply the scores: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(from_scores(_scaled_output).at(Q_K),),
    ),
    Misconception(
        "keys-compared-with-n-q",
        "Keys are compared with the number of queries",
        "A key exists if it is below n_k. With n_q instead, keys are lost where there are fewer queries, and padding "
        "is counted where there are more.",
        "Hide scores of keys[None, :] >= n_k.",
        signs=(from_scores(_other_length),),
    ),
    Misconception(
        "scale-missing",
        "The scores are not scaled",
        "S is Q K^T, but it should be scale * Q K^T.",
        "Multiply by scale: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(_scaled(lambda scale, d: 1 / scale),),
    ),
    Misconception(
        "scale-twice",
        "The scores are scaled twice",
        "S is scale * scale * Q K^T. Was Q multiplied by the scale as well?",
        "Multiply once.",
        signs=(_scaled(lambda scale, d: scale),),
    ),
    Misconception(
        "scale-inverted",
        "The scores are divided by the scale",
        "scale is what to multiply with, 1/sqrt(d) for instance; dividing by it makes the scores too large.",
        "Write scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(_scaled(lambda scale, d: 1 / scale**2),),
    ),
    Misconception(
        "scale-assumed",
        "The scores are divided by sqrt(d)",
        "The scale is an argument of the kernel, and here it is not 1/sqrt(d).",
        "Multiply by scale.",
        signs=(_scaled(lambda scale, d: 1 / (scale * np.sqrt(d))),),
    ),
    Misconception(
        "scaled-in-half",
        "The scaled Q was rounded to fp16",
        "scale * Q was converted back to fp16, so each score errs by a thousandth of itself: too much in an exponent.",
        "Multiply the scores instead, which are fp32: scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(from_scores(lambda s, v, case: attention(_half(case, s), v)),),
    ),
    Misconception(
        "keys-behind-the-end-counted",
        "Keys past the last one are counted",
        "Keys that do not exist were loaded as 0, so their score is 0, and each adds exp(0 - m) to the normaliser.",
        "Hide them: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        signs=(from_scores(lambda s, v, case: attention(*padded(s, v, case))),),
    ),
    Misconception(
        "no-max-subtraction",
        "The maximum is not subtracted",
        "exp(s) is infinite in fp32 from s = 88.8 on, and inf / inf is NaN.",
        "Subtract the running maximum before the exponential.",
        signs=(from_scores(_without_max).at(Part.UNSHIFTED_EXPONENTIAL, needed=True),),
    ),
    Misconception(
        "base-two",
        "2**s was used where e**s is asked for",
        "exp(s) = exp2(s * log2(e)) with log2(e) = 1.4426950408889634.",
        "Use tl.exp, or fold log2(e) into the scale before tl.exp2.",
        signs=(from_scores(lambda s, v, case: {"o_ptr": attention(s / LOG2_E, v)["o_ptr"]}),),
    ),
    Misconception(
        "last-keys-only",
        "Only the last tile of keys counts",
        "O is the attention to the last Bc keys alone: what was accumulated before them is lost.",
        "Keep O, l and m from one tile of keys to the next, rescaled.",
        signs=(from_scores(_last_tile),),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of keys is left out",
        "The loop ends with the last whole tile.",
        "Let it run to n_k: range(0, n_k, Bc).",
        signs=(from_scores(_whole),),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of keys is left out",
        "The loop ends with the last whole tile, and with fewer than Bc keys it has no iteration at all.",
        "Let it run to n_k: range(0, n_k, Bc).",
        signs=(Unwritten(_without_whole_tiles),),
    ),
    Misconception(
        "scores-transposed",
        "Tiles of scores are transposed",
        "Rows of Sij are queries and columns are keys: Qi Kj^T. With square tiles the shapes of Kj Qi^T fit as well.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        signs=(Writes(lambda case: of_scores(case, transposed(case, scores(case)), sees(case))).at(Q_K),),
    ),
    Misconception(
        "only-one-head",
        "All heads are computed from the first one",
        "Each head of O holds the attention of head 0.",
        "Add the head to the addresses of Q, K and V as well.",
        signs=(from_scores(_of_head_0),),
    ),
    Misconception(
        "only-one-head",
        "All heads use the keys of the first one",
        "Q is that of the head at hand, but K and V are those of head 0.",
        "Add head * k_head_stride to the addresses of K and V.",
        signs=(Writes(lambda case: _with_keys_of_head_0(case)),),
    ),
)
