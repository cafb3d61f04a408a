"""Wrong ideas of the backward pass in PyTorch. Kernels with the same idea lend their signs."""

from __future__ import annotations

from checker.catalog.attention import pytorch_backward_models as models
from checker.catalog.attention import pytorch_models as takes
from checker.catalog.attention.backward_in_pytorch import as_in_kernels
from checker.catalog.attention.backward_mistakes import MISTAKES
from checker.catalog.attention.backward_operands import EXCHANGED, OPERANDS, VARIANTS, dp_from, with_operands
from checker.catalog.attention.pytorch_mistakes import MEMORY_AND_WORK
from checker.course.misconception import Misconception, Sign, Writes

_CAUSAL = "Query i sees key j if j <= i + n_k - n_q."
_MASK = "Pij.masked_fill(keys > queries[:, None] + n_k - n_q, 0.0)"
_P = "Pij = torch.exp(scale * (Qi @ Kj.transpose(2, 3)) - LSEi), with LSEi of shape (batch, heads, Br, 1)."
_DELTA = "delta = (do * o).sum(dim=3, keepdim=True)."
_DS = "dSij = Pij * (dPij - delta_i)."
_LOOP = (
    "With keys outside, begin at max(0, start_k - (n_k - n_q)) // Br * Br; with queries outside, end at "
    "min(n_k, start_q + Br + n_k - n_q)."
)
_FORMULAS = {
    "dv": ("dV", "dV = Pᵀ dO.", "dVj = dVj + Pij.transpose(2, 3) @ dOi."),
    "dk": ("dK", "dK = scale * dSᵀ Q, because S = scale * Q Kᵀ.", "dKj = dKj + scale * dSij.transpose(2, 3) @ Qi."),
    "dq": ("dQ", "dQ = scale * dS K, because S = scale * Q Kᵀ.", "Add scale * dSij @ Kj to the rows of dQ."),
}


def _of(*ids: str, causal: bool = False) -> tuple[Writes, ...]:
    """The signs by which kernels with these ideas are known. `causal`: only causal calls go wrong."""
    signs = (sign for one in (*MISTAKES, *OPERANDS) if one.id in ids for sign in one.signs)
    return tuple(as_in_kernels(sign, causal=causal) for sign in signs if isinstance(sign, Writes))


def _idea(id: str, title: str, explanation: str, hint: str, *signs: Sign) -> Misconception:
    """A wrong idea; without signs of its own, those of kernels that have it."""
    return Misconception(id, title, explanation, hint, signs or _of(id))


_AS_FORWARD = {one.id: one for one in MEMORY_AND_WORK}

TAKING_TOO_MUCH = (
    _idea(
        "blocks-not-skipped",
        "Tiles that the causal mask hides altogether are computed all the same",
        "P is 0 throughout such a tile, so it adds nothing to any gradient. Its five products cost as much as those of "
        "any other tile, and nearly half of all tiles are hidden.",
        _LOOP,
        takes.HIDDEN_TILES,
    ),
    _idea(
        "products-computed-again",
        "Two of the five products are computed twice",
        "One pair of loops makes dK and dV, and another one dQ. Each of them needs S and dP, which makes seven "
        "products for each tile, where five are enough.",
        "One visit to a tile is enough for all three: add to dQ, dK and dV there. dQ is a tensor of the whole length, "
        "and each visit adds to its rows of the tile.",
        takes.SCORES_AND_DP_TWICE,
    ),
    _idea(
        "products-computed-again",
        "One of the five products is computed twice",
        "Each tile takes part in S, dP, dV, dQ and dK. Here one more product is made of it.",
        "Give S and dP a name each, and use P and dS for all gradients that need them.",
        takes.SCORES_TWICE,
    ),
    _AS_FORWARD["all-scores-at-once"],
    _idea(
        "all-keys-at-once",
        "A tile of queries meets all keys at once",
        "A strip of Br x n_k scores grows with the number of keys.",
        "A second loop, over range(0, n_k, Bc), takes Bc keys at a time.",
        takes.STRIP_OF_KEYS,
    ),
    _AS_FORWARD["all-queries-at-once"],
    _AS_FORWARD["whole-mask"],
    _idea(
        "all-tiles-kept",
        "The tiles are kept until the end",
        "Each tile is small, but all tiles of P together are the matrix that the forward pass threw away. A list keeps "
        "what is in it alive.",
        "Use up a tile before the next one is made: add its products to dQ, dK and dV, and forget it.",
        takes.ALL_TILES,
    ),
)

OF_DELTA_AND_DS = (
    _idea(
        "delta-missing",
        "delta is missing in dS",
        "The gradient of a softmax is dS = P * (dP - delta). With P * dP, the rows of dS do not sum to 0, although a "
        "softmax does not change if all scores of a query grow by the same number.",
        _DS,
    ),
    _idea("delta-added", "delta is added to dP", "dS = P * (dP - delta), with a minus.", _DS),
    _idea(
        "delta-outside-the-product",
        "delta is subtracted from the product",
        "dS is P * dP - delta here, but delta belongs into the parentheses.",
        _DS,
        *_of("delta-outside-the-product"),
        models.DELTA_OUTSIDE,
    ),
    _idea(
        "delta-of-the-output",
        "delta is rowsum(O * O)",
        "delta is the product of the output with its own gradient: one factor is dO.",
        _DELTA,
        models.DELTA_OF_O,
    ),
    _idea(
        "delta-of-the-gradient",
        "delta is rowsum(dO * dO)",
        "delta is the product of the output with its own gradient: one factor is O.",
        _DELTA,
        models.DELTA_OF_DO,
    ),
    _idea(
        "delta-of-the-gradient",
        "delta is rowsum(dO)",
        "delta is the product of the output with its own gradient: one factor is O.",
        _DELTA,
        models.DELTA_WITHOUT_O,
    ),
    _idea(
        "delta-of-one-tile",
        "delta was computed from one tile only",
        "rowsum(P * dP) is delta if it runs over all keys. Over the keys of one tile it is something else for each "
        "tile.",
        f"O holds the sum over all keys already: {_DELTA}",
    ),
    _idea(
        "reduced-over-everything",
        "delta is a single number",
        "Without dim, sum makes one number of a whole tensor: all queries of all heads then share it.",
        _DELTA,
        *models.DELTA_OF_EVERYTHING,
    ),
    _idea(
        "ds-without-p",
        "dS lacks the factor P",
        "dS is dP - delta here. The factor P is the softmax's own derivative, and the mask is in it, too.",
        _DS,
    ),
    *(
        _idea(
            "wrong-operand",
            f"dP is computed with {what} in place of {place}",
            "O = P V, so the gradient of P is dP = dO Vᵀ.",
            "dPij = dOi @ Vj.transpose(2, 3).",
            as_in_kernels(dp_from(one, other), "dq", "dk"),
        )
        for what, place, one, other in (("K", "V", "do", "k"), ("Q", "dO", "q", "v"))
    ),
)

OF_P = (
    _idea(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass. Without it P is not divided by anything, and "
        "overflows.",
        _P,
    ),
    _idea(
        "tile-max-for-lse",
        "P is taken relative to the tile's own maximum instead of LSE",
        "The backward pass needs neither a maximum nor a sum of its own: exp(S - LSE) is P, finished.",
        _P,
    ),
    _idea(
        "softmax-of-each-tile",
        "Each tile of keys has a softmax of its own",
        "The weights of one query must sum to 1 over all keys. Here they sum to 1 in each tile.",
        _P,
        models.SOFTMAX_OF_EACH_TILE,
    ),
    _idea("scores-not-scaled", "The scores are not scaled", "P is that of the forward pass: scale is in it.", _P),
    _idea(
        "scores-scaled-twice",
        "The scores are scaled twice",
        "S is scale * scale * Q Kᵀ. Was Q multiplied by scale as well?",
        _P,
        models.SCALED_TWICE,
    ),
    _idea("sign-reversed", "The scores have the wrong sign", "P is exp(S - LSE), without a minus before S.", _P),
    _idea(
        "base-two",
        "2**x was used where e**x is asked for",
        "LSE is a natural logarithm. 2**(x * log2(e)) is e**x, with log2(e) = 1.4426950408889634, for S and for LSE "
        "alike.",
        "Use torch.exp.",
    ),
    _idea(
        "k-not-transposed",
        "K is not transposed",
        "reshape does not transpose: it keeps the numbers in their order, and only cuts the rows elsewhere.",
        "Kj.transpose(2, 3) exchanges the last two axes; so does Kj.mT.",
        models.RESHAPED_K,
    ),
    _idea(
        "mask-forgotten",
        "The causal mask is missing",
        "P of hidden entries is exp(S - LSE), not 0: they had no part in LSE.",
        _MASK,
        *models.NO_MASK,
    ),
    _idea(
        "mask-only-in-ds",
        "dV is computed from a P that is not masked",
        "The mask came after P was used. Hidden entries of P count in dV = Pᵀ dO.",
        f"Mask P as soon as it is there: Pij = {_MASK}.",
        *models.MASK_ONLY_IN_DS,
    ),
    _idea(
        "hidden-scores-zero",
        "Hidden scores are 0, and P is not",
        "exp(0 - LSE) is not 0: a hidden key counts like one whose score is 0.",
        f"Set P itself to 0: {_MASK}.",
        models.HIDDEN_AS_ZERO,
    ),
    _idea(
        "mask-of-each-tile",
        "Each tile is masked as if it were the first one",
        "torch.tril and torch.triu count from the corner of the tensor that they get, and so does an arange that "
        "starts at 0. In a tile that lies elsewhere, that is not the diagonal.",
        "Compare positions in the whole matrix: those of a tile begin at start_q and at start_k.",
        *models.MASK_OF_EACH_TILE,
    ),
    _idea(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i, as if the first query stood at the first key. Queries are the last n_q positions of n_k: "
        "the last query sees all keys.",
        _CAUSAL,
        *models.TOP_LEFT,
    ),
    _idea(
        "causal-off-by-one",
        "The causal mask is one key short",
        "No query sees its own key: the mask is j < i + n_k - n_q.",
        _CAUSAL,
        *models.ONE_TOO_FEW,
    ),
    _idea(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "The mask is j <= i + n_k - n_q + 1, one key too many.",
        _CAUSAL,
        *models.ONE_TOO_MANY,
    ),
    _idea(
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it.",
        _CAUSAL,
        *_of("causal-upside-down", causal=True),
    ),
    _idea(
        "hidden-rows-nan",
        "Queries that see no key bring NaN into the gradients",
        "Their LSE is -inf. Where a score was set to -inf before the exponential, -inf - (-inf) is NaN, and it spreads "
        "to every row that the tile is added to.",
        f"Hide entries after the exponential: Pij = {_MASK}.",
    ),
)

OF_GRADIENTS = (
    *(
        _idea(
            "accumulator-overwritten",
            f"{_FORMULAS[name][0]} holds only the last tile of its sum",
            "Each tile has a part in the gradient. Here the part of each tile replaces the one before it.",
            _FORMULAS[name][2],
            models.LAST_TILE[name],
        )
        for name in models.ALL
    ),
    *(
        _idea(
            "tile-transposed",
            f"{tile} is multiplied the wrong way round in {_FORMULAS[name][0]}",
            f"{_FORMULAS[name][1]} Rows of P and dS are queries, and their columns are keys. With square tiles the "
            "shapes fit either way.",
            _FORMULAS[name][2],
            models.TRANSPOSED[name],
        )
        for name, tile in (("dv", "P"), ("dk", "dS"), ("dq", "dS"))
    ),
    *(
        _idea(
            "tile-reshaped",
            f"{tile} is reshaped instead of transposed in {_FORMULAS[name][0]}",
            "reshape keeps the numbers in their order, and only cuts the rows elsewhere.",
            _FORMULAS[name][2],
            models.RESHAPED[name],
        )
        for name, tile in (("dv", "P"), ("dk", "dS"))
    ),
    *(
        _idea("scale-missing", f"The scale is missing in {_FORMULAS[name][0]}", *_FORMULAS[name][1:], sign)
        for name, sign in ((name, models.scaled(lambda scale: 1 / scale, name)) for name in ("dq", "dk"))
    ),
    *(
        _idea(
            "scale-twice",
            f"{_FORMULAS[name][0]} is scaled twice",
            f"{_FORMULAS[name][1]} If Q or K was multiplied by the scale before, or dS was, then the factor is in it.",
            "Multiply by scale once.",
            sign,
        )
        for name, sign in ((name, models.scaled(lambda scale: scale, name)) for name in ("dq", "dk"))
    ),
    _idea(
        "scale-on-dv",
        "dV is scaled",
        "dV = Pᵀ dO has no scale: V is multiplied with P, and the scale is in the scores.",
        _FORMULAS["dv"][2],
        models.scaled(lambda scale: scale, "dv"),
    ),
    *(
        _idea(
            "wrong-operand",
            f"{_FORMULAS[name][0]} is computed with {what} in place of {place}",
            *_FORMULAS[name][1:],
            *(as_in_kernels(with_operands(name, x, of), name) for x in VARIANTS.get(tile, (tile,))),
        )
        for name, what, place, tile, of in (*EXCHANGED, ("dv", "dS", "P", "dS", "do"))
    ),
    _idea(
        "gradients-exchanged",
        "dK and dV are exchanged",
        "Both have the same shape, and the order in which they are returned tells them apart.",
        "return dQ, dK, dV",
        *models.EXCHANGED,
    ),
    _idea(
        "first-tile-left-out",
        "A loop over queries begins too late",
        "With keys outside, the first queries are left out that see some of the tile's keys. The tile on the diagonal "
        "is hidden only partly.",
        "With causal, begin at max(0, start_k - (n_k - n_q)) // Br * Br.",
        *models.BEGUN_LATE,
    ),
    _idea(
        "begins-before-the-first-query",
        "The loop over queries begins before the first one",
        "start_k - (n_k - n_q) is negative where a key is seen by all queries. A slice that begins below 0 counts from "
        "the end, so the last queries count again, at positions that are not theirs.",
        "Begin at max(0, start_k - (n_k - n_q)) // Br * Br.",
        models.FROM_THE_END,
    ),
    _idea(
        "last-tile-left-out",
        "A loop over keys ends too early",
        "With queries outside, the last keys are left out that some query of the tile sees. The tile on the diagonal "
        "is hidden only partly.",
        "With causal, end at min(n_k, start_q + Br + n_k - n_q).",
        *models.ENDED_EARLY,
    ),
    _idea(
        "whole-tiles-only",
        "The last tile is left out where it is not full",
        "n_q need not be a multiple of Br, nor n_k of Bc, and n_k // Bc is rounded down.",
        "Loop over range(0, n_k, Bc) and range(first, n_q, Br). A slice that goes past the end is cut there.",
        *models.WHOLE_TILES,
    ),
)

BACKWARD_IN_PYTORCH = (*TAKING_TOO_MUCH, *OF_DELTA_AND_DS, *OF_P, *OF_GRADIENTS)
