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
        Misconception(
            "scaled-in-half",
            f"The scaled {side.upper()} was rounded to fp16",
            f"scale * {side.upper()} was rounded back to fp16, so each of its numbers is off by up to 0.05 %. A score "
            "adds up D products of them: one of 200 can be off by 0.1, and exp(0.1) is 10 % too much.",
            "Multiply the scores instead, which are fp32: scale * tl.dot(Qi, tl.trans(Kj)).",
            question="Which of Q, K and S is fp32 in any case, and would lose nothing by the factor?",
            signs=tuple(sign(partial(_half_scaled, side=side, folded=folded)) for folded in (1.0, LOG2_E)),
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
        Misconception(
            "p-in-half",
            "P is rounded to fp16",
            "fp16 keeps 11 binary digits of each exponential, so it is off by up to 0.05 %, and what is below "
            "0.00000003 becomes 0. The normaliser adds up these rounded numbers, over all keys.",
            "Sum P as it is, in fp32, and convert it to V's type for the product only: tl.dot(Pij.to(Vj.dtype), Vj).",
            question="Which of your lines need P in V's type: the sum, the product, or both? Which type does each of "
            "them get?",
            signs=(model(p=lambda s, m: rounded(exp32(s - m))).at(Part.EXPONENTIAL_OF_SCORES),),
        ),
        *(
            Misconception(
                "scale-after-the-maximum",
                "The scale is in the exponential only",
                why,
                "Scale the scores themselves, Sij = scale * tl.dot(Qi, tl.trans(Kj)), before anything is taken of "
                "them.",
                question="With scale ½, the products 2 and 6 of Q and K stand for the scores 1 and 3. What is the "
                "maximum of this tile then, and is yours one of a score or of a product?",
                signs=(model(unscaled=p).at(Q_K),),
            )
            for why, p in (
                (
                    f"P is exp(scale * S - {m}), but {m} is the maximum of S, without the scale. With scale ½, the "
                    "products 400 and 380 get the exponents 200 - 400 and 190 - 400, where 0 and -10 belong: both "
                    "exponentials are 0 in fp32.",
                    lambda s, m, scale: exp32(scale * s - m),
                ),
                (
                    f"P is exp(scale * (S - {m})), but {others} lack the scale. With scale ½, a maximum that grows "
                    "from 6 to 10 stands for one that grows from 3 to 5, and its factor is e^(3-5) = 0.14. Without the "
                    "scale it is e^(6-10) = 0.02.",
                    lambda s, m, scale: exp32(scale * (s - m)),
                ),
            )
        ),
        *(
            Misconception(
                "reduced-over-the-whole-tile",
                f"{what} of the whole tile, not of each query",
                "A reduction without an axis makes one number of a whole tile, and all of its queries then share it. "
                "Of a tile with the rows 1 3 and 2 5, both get the maximum 5, where the first should have 3.",
                "tl.max(Sij, axis=1) and tl.sum(Pij, axis=1) have one entry per query.",
                question="A tile has 16 queries and 32 keys. How many maxima and how many sums does it need? Print "
                "yours: how many numbers is each?",
                signs=(sign,),
            )
            for what, sign in (
                ("The sum is that", model(over="sum").at(Part.SUM)),
                ("The maximum is that", model(over="max").at(Part.MAX)),
                ("Maximum and sum are those", model(over="both")),
            )
        ),
    )


# Wrong ideas about scores and keys that any forward kernel can have. Numbers are those of the lessons' example: the
# scores 1 3 | 2 5 of one query, and the values 10 20 | 30 40.
SCORES = (
    Misconception(
        "v-from-k",
        "V is loaded from K",
        "Both loads begin at k_ptr, so O is an average of the rows of K. The values 10 20 | 30 40 of the lesson's "
        "example would never be looked at.",
        "Load V from v_ptr. The offsets are those of K.",
        question="Print Kj and Vj in one iteration. Should they be the same numbers, and from which pointer does each "
        "come?",
        signs=(from_scores(lambda s, v, case: attention(s, wide(case, "k"), case)).at(Part.SECOND_LOAD_OF_K),),
    ),
    Misconception(
        "sign-reversed",
        "The scores have the wrong sign",
        "O weighs V's rows with exp(-S), so the keys that fit a query least count most. In the lesson's example the "
        "score 1 gets the largest weight, and O is 16.09 instead of 36.88.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)), without a minus.",
        question="Of the scores 1 and 5, which should get the larger weight, and which gets it in your kernel? Print "
        "Sij and Pij side by side.",
        signs=(Writes(lambda case: of_scores(case, rescaled(scores(case), case, -1.0), sees(case))).at(Q_K),),
    ),
    Misconception(
        "scores-in-half",
        "The scores are rounded to fp16",
        "fp16 keeps 11 binary digits. A score of 10 is then off by up to 0.004, and its exponential by 0.4 %.",
        "tl.dot gives fp32: leave the scores as they are.",
        question="Which type does the product of Qi and Kj have, and which type do the scores have when you take "
        "their exponentials? Where does it change?",
        signs=(Writes(lambda case: of_scores(case, rounded(scores(case)), sees(case))).at(Q_K),),
    ),
    Misconception(
        "scale-on-the-output",
        "The scale multiplies the output instead of the scores",
        "The scale belongs in the exponent. Outside it only makes O smaller, and the weights stay as sharp as without "
        "it. With scale ½, the lesson's scores 1 3 | 2 5 come from the products 2 6 | 4 10, and these give "
        "½ · 39.61 = 19.80 instead of 36.88.",
        "Multiply the scores: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        question="If V is doubled, so is O. Should O be doubled as well if scale is? What does scale change, the "
        "weights or the values?",
        signs=(from_scores(_scaled_output).at(Q_K),),
    ),
    Misconception(
        "keys-compared-with-n-q",
        "Keys are compared with the number of queries",
        "Whether a key exists depends on n_k. With n_q instead, keys are lost where there are fewer queries: of 40 "
        "keys, 10 queries see only the first 10. Where there are more queries, padding is counted.",
        "Hide what is not a key: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        question="10 queries, 40 keys: does key 25 exist, and what does your mask compare the 25 with?",
        signs=(from_scores(_other_length),),
    ),
    Misconception(
        "scale-missing",
        "The scores are not scaled",
        "Your scores are the bare products of queries and keys. With scale ½, the lesson's scores 1 3 | 2 5 come from "
        "the products 2 6 | 4 10. Taken as scores, these give O = 39.61 instead of 36.88.",
        "Multiply by scale: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        question="The query (2, 2) and the key (3, 2), with scale ½: what is their score, and what does your kernel "
        "make of the two?",
        signs=(_scaled(lambda scale, d: 1 / scale),),
    ),
    Misconception(
        "scale-twice",
        "The scores are scaled twice",
        "S is scale * scale * Q Kᵀ: with scale ½, the product 10 becomes 2.5 instead of 5. In the lesson's example O "
        "is then 32.09 instead of 36.88. Was Q multiplied by scale as well?",
        "Multiply once: Sij = scale * tl.dot(Qi, tl.trans(Kj)), with Qi as it was loaded.",
        question="Follow one number of Q from its load to Sij. How often does it meet scale on its way?",
        signs=(_scaled(lambda scale, d: scale),),
    ),
    Misconception(
        "scale-inverted",
        "The scores are divided by the scale",
        "scale is what to multiply by, 1/sqrt(D) for instance. Divided by ½, the product 10 becomes 20 instead of 5, "
        "and nearly all of the weight falls on one key.",
        "Write scale * tl.dot(Qi, tl.trans(Kj)).",
        question="The scale ½ should make scores smaller. By hand: which score does your line make of the product 10?",
        signs=(_scaled(lambda scale, d: 1 / scale**2),),
    ),
    Misconception(
        "scale-assumed",
        "The scores are divided by sqrt(D)",
        "The scale is an argument of the kernel, and here it is not 1/sqrt(D). With D = 64 every score was divided by "
        "8, whatever scale says.",
        "Multiply by scale: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        question="Print scale in a launch that fails, and take the square root of D. Which of the two numbers does "
        "your kernel use, and which one was it given?",
        signs=(_scaled(lambda scale, d: 1 / (scale * np.sqrt(d))),),
    ),
    *scaled_in_half(lambda s: Writes(lambda case: of_scores(case, s(case), sees(case)))),
    Misconception(
        "keys-behind-the-end-counted",
        "Keys past the last one are counted",
        "Keys that do not exist were loaded as 0, so their score is 0, and each adds exp(0 - m) to the normaliser. In "
        "the lesson's example m is 5: four such keys make l 1.23 instead of 1.20, and O 36.07 instead of 36.88.",
        "Hide them: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        question="What is the score of a key that was loaded as zeros, and what does it add to l? Which score would "
        "add nothing?",
        signs=(from_scores(lambda s, v, case: attention(*padded(s, v, case), case)),),
    ),
    Misconception(
        "no-max-subtraction",
        "The maximum is not subtracted",
        "The exponential of a score above 88.7 is infinite in fp32, and infinity divided by infinity is NaN. Those of "
        "scores around -200 are all 0, and nothing is left to divide. There is no need for either: the scores 100 and "
        "102 have the weights 0.12 and 0.88.",
        "Subtract the running maximum before the exponential.",
        question="How do you compute the weights of the scores 100 and 102 with a pocket calculator that ends at "
        "10^38?",
        signs=tuple(without_max(guarded).at(Part.UNSHIFTED_EXPONENTIAL, needed=True) for guarded in (False, True)),
    ),
    Misconception(
        "base-two",
        "2**s was used where e**s is asked for",
        "2**s grows more slowly than e**s, so the weights are too even. The scores 1 3 | 2 5 of the lesson's example "
        "give O = 34.35 instead of 36.88.",
        "Use tl.exp, or fold log2(e) = 1.4426950408889634 into the scale before tl.exp2.",
        question="A score lies 1 below the maximum. Should its exponential be 0.5 or 0.37, and which of the two does "
        "your kernel make of it?",
        signs=(from_scores(lambda s, v, case: {"o_ptr": attention(s / LOG2_E, v, case)["o_ptr"]}),),
    ),
    Misconception(
        "last-keys-only",
        "Only the last tile of keys counts",
        "O is the attention to the last Bc keys alone, and what was accumulated before them is lost. In the lesson's "
        "example tile 2 by itself gives 39.53 instead of 36.88.",
        "What O, l and m hold is there before the loop over keys begins, and each tile rescales it and adds to it.",
        question="Print m and l after each tile of keys. In the lesson's example, what carries the 3 and the 1.14 of "
        "tile 1 over to tile 2, and what does in your kernel?",
        signs=(from_scores(_last_tile),),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of keys is left out",
        "The loop ends with the last whole tile. Of 40 keys in tiles of 16, the keys 32 to 39 are never looked at.",
        "Let it run to n_k: range(0, n_k, Bc).",
        question="40 keys in tiles of 16: how many tiles are there, and how many of them does your loop visit?",
        signs=(from_scores(_whole),),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of keys is left out",
        "The loop ends with the last whole tile. With fewer than Bc keys it has no iteration at all, and what is "
        "stored in it is never stored.",
        "Let it run to n_k: range(0, n_k, Bc).",
        question="40 keys in tiles of 16: how many tiles are there, and how many of them does your loop visit?",
        signs=(Unwritten(_without_whole_tiles),),
    ),
    Misconception(
        "scores-transposed",
        "Tiles of scores are transposed",
        "Rows of Sij should be queries, and its columns keys. With square tiles the shapes fit the other way round as "
        "well, but then the softmax of a query runs over the scores of one key.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        question="Entry (0, 3) of Sij: which query and which key does it belong to, and which two rows does your "
        "product multiply for it?",
        signs=(
            Writes(lambda case: of_scores(case, transposed(case, scaled_products(case)) + bias(case), sees(case))).at(
                Q_K
            ),
        ),
    ),
    Misconception(
        "only-one-head",
        "All heads are computed from the first one",
        "Each head of O holds the attention of head 0, because Q, K and V are loaded from the same addresses for "
        "every head.",
        "Add the head to the addresses of Q, K and V as well: head * q_head_stride, and head * k_head_stride.",
        question="With a head stride of 60, where does head 2 of Q begin? Which of your addresses change with the "
        "head, and which do not?",
        signs=(from_scores(_of_head_0),),
    ),
    Misconception(
        "only-one-head",
        "All heads use the keys of the first one",
        "Q is that of the program's own head, but K and V are those of head 0. So each query is compared with the keys "
        "of another head.",
        "Add head * k_head_stride to the addresses of K and V.",
        question="With a head stride of 60, where does head 2 of K begin? Which of your addresses change with the "
        "head, and which do not?",
        signs=(Writes(lambda case: _with_keys_of_head_0(case)),),
    ),
    *(
        Misconception(
            "only-one-head",
            f"{name} of all heads is that of the first one",
            f"Only head 0 of {name} is ever loaded: its addresses lack the head, and those of {other} have it. So each "
            f"other head computes with its own {other} and with {name} of head 0.",
            f"Add head * k_head_stride to the addresses of {name}, as to those of {other}.",
            question=f"With a head stride of 60, where does head 2 of {name} begin? Which of your addresses change "
            "with the head, and which do not?",
            signs=(Writes(lambda case, of=of: _with_keys_of_head_0(case, of)).at(Access(f"{of}_ptr")),),  # type: ignore[misc]
        )
        for name, other, of in (("V", "K", "v"), ("K", "V", "k"))
    ),
    Misconception(
        "keys-and-values-exchanged",
        "K and V are exchanged",
        "The scores are products of queries and values, and O is an average of the rows of K. K and V have the same "
        "shape and strides, so nothing fails.",
        "Scores come from k_ptr, and what is averaged comes from v_ptr.",
        question="Which of K and V is multiplied by Q, and which by P? From which pointer does each come in your "
        "kernel?",
        signs=(Writes(_keys_and_values_exchanged),),
    ),
    Misconception(
        "k-not-transposed",
        "The sides of Q and K do not fit in tl.dot",
        "tl.dot(a, b) sums over the columns of a and the rows of b, and here that must be the dimensions. Loaded row "
        "by row, Qi is Br x D and Kj is Bc x D. So Kj has to be turned, to D x Bc, and Qi stays as it is.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        question="Br = 32, Bc = 16, D = 64: which shapes do the two sides of your product have? Which side of each "
        "counts dimensions?",
        signs=(Raises(_SIDES_OF_DOT, Q_K),),
    ),
    Misconception(
        "dot-shapes-do-not-fit",
        "The sides of P and V do not fit in tl.dot",
        "tl.dot(a, b) sums over the columns of a and the rows of b, and here that must be the keys. Pij is Br x Bc, "
        "and Vj, loaded row by row, is Bc x D: they fit as they are.",
        "tl.dot(Pij.to(Vj.dtype), Vj), with no tl.trans.",
        question="Br = 32, Bc = 16, D = 64: which shapes do the two sides of your product have? Which side of each "
        "counts keys?",
        signs=(Raises(_SIDES_OF_DOT, Q_K_V),),
    ),
    Misconception(
        "reduced-over-queries",
        "A maximum or a sum runs over the queries",
        "Rows of Sij are queries and columns are keys. axis=0 goes from query to query, so it gives a number for each "
        "key. Only a square tile lets that pass for a number for each query.",
        "tl.max(Sij, axis=1) and tl.sum(..., axis=1) have one entry per query.",
        question="A tile of scores has the rows 1 3 and 2 5, one for each query. What is the maximum of each query, "
        "and which two numbers does your kernel get?",
        signs=(Raises(_SHAPES, Part.REDUCED_ALONG_0),),
    ),
    Misconception(
        "keys-hidden-by-rows",
        "Keys are laid down the rows of the scores",
        "Rows of Sij are queries, and its columns keys. keys[:, None] makes a column of the key numbers, one for each "
        "row, so it would hide queries. It has Bc rows, and Sij has Br.",
        "Lay the keys along the columns: tl.where(keys[None, :] < n_k, Sij, -float('inf')).",
        question="Br = 32 and Bc = 16: which shape has Sij, and which shape has your comparison? Which side of Sij "
        "counts keys?",
        signs=(Raises(_SHAPES, Part.KEYS_AS_ROWS),),
    ),
    Misconception(
        "lse-as-the-normaliser",
        "O is divided by LSE",
        "LSE is m + log(l), a logarithm: it is subtracted in an exponent. A sum of exponentials relative to m is "
        "divided by l. In the lesson's example l is 1.20 and LSE is 5.185.",
        "Divide by l: Oi / li[:, None], guarded where l is 0.",
        question="In the lesson's example the weighted sum is 44.38, and O is 36.88. Which number lies between the "
        "two, and which one do you divide by?",
        signs=(from_scores(_divided_by_lse),),
    ),
    *(
        Misconception(
            "loop-to-another-end",
            f"{what} at n_q, and not at n_k",
            "It walks over keys, and n_q counts queries. With 20 queries and 50 keys in tiles of 16, it ends after "
            "the key 31. Where there are more queries than keys, it walks past the last key.",
            "A loop over keys is range(0, n_k, Bc).",
            question="20 queries, 50 keys, tiles of 16: how many tiles of keys are there, and how many does each of "
            "your loops visit?",
            signs=(from_scores(formula),),
        )
        for what, formula in (
            ("The loop over keys ends", _up_to_n_q),
            ("The loop that adds up O ends", _o_up_to_n_q),
        )
    ),
)
