"""Wrong ideas of the backward pass in PyTorch. Kernels with the same idea lend their signs."""

from __future__ import annotations

from dataclasses import replace

from checker.catalog.attention import pytorch_backward_models as models
from checker.catalog.attention import pytorch_models as takes
from checker.catalog.attention.backward_in_pytorch import as_in_kernels
from checker.catalog.attention.backward_mistakes import MISTAKES
from checker.catalog.attention.backward_operands import (
    BELONGS,
    EXCHANGED,
    MADE_OF,
    OPERANDS,
    OPERANDS_OF_DP,
    VARIANTS,
    dp_from,
    with_operands,
)
from checker.catalog.attention.pytorch_mistakes import IN_PYTORCH, MEMORY_AND_WORK
from checker.course.misconception import Misconception, Product, Sign, Writes

_CAUSAL = "A query does not see a key where keys > queries[:, None] + n_k - n_q, and sees all others."
_MASK = "Pij.masked_fill(keys > queries[:, None] + n_k - n_q, 0.0)"
_P = "Pij = torch.exp(scale * (Qi @ Kj.transpose(2, 3)) - LSEi), with LSEi of shape (batch, heads, Br, 1)."
_DELTA = "delta = (do * o).sum(dim=3, keepdim=True)."
_DS = "dSij = Pij * (dPij - delta_i)."
_LOOP = (
    "With keys outside, begin at max(0, start_k - (n_k - n_q)) // Br * Br; with queries outside, end at "
    "min(n_k, start_q + Br + n_k - n_q)."
)
_GRADIENTS = {
    "dv": ("dV", "dVj = dVj + Pij.transpose(2, 3) @ dOi."),
    "dk": ("dK", "dKj = dKj + scale * dSij.transpose(2, 3) @ Qi."),
    "dq": ("dQ", "Add scale * dSij @ Kj to the rows of dQ."),
}
_SAME_QUESTION = {one.id: one.question for one in (*OPERANDS, *MISTAKES)}


def _of(*ids: str, causal: bool = False) -> tuple[Writes, ...]:
    """The signs by which kernels with these ideas are known. `causal`: only causal calls go wrong."""
    signs = (sign for one in (*MISTAKES, *OPERANDS) if one.id in ids for sign in one.signs)
    return tuple(as_in_kernels(sign, causal=causal) for sign in signs if isinstance(sign, Writes))


def _idea(id: str, title: str, explanation: str, hint: str, *signs: Sign, question: str = "") -> Misconception:
    """A wrong idea; without signs of its own, or a question, those of kernels that have it."""
    return Misconception(id, title, explanation, hint, question=question or _SAME_QUESTION[id], signs=signs or _of(id))


_SAID = {one.title: one for one in (*OPERANDS, *MISTAKES, *IN_PYTORCH)}


def _same(title: str, *signs: Sign, hint: str = "") -> Misconception:
    """An idea that kernels have as well, or FlashAttention in PyTorch, in the same words; but for the hint, if given.

    Without signs of its own, those of kernels that have it.
    """
    one = _SAID[title]
    return replace(one, hint=hint or one.hint, signs=signs or _of(one.id))


_AS_FORWARD = {one.id: one for one in MEMORY_AND_WORK}

TAKING_TOO_MUCH = (
    _idea(
        "blocks-not-skipped",
        "Tiles that the causal mask hides altogether are computed all the same",
        "P is 0 throughout such a tile, so it adds nothing to any gradient. Its five products cost as much as those of "
        "any other tile, and nearly half of all tiles are hidden.",
        _LOOP,
        takes.HIDDEN_TILES,
        question="Take 48 queries and 48 keys in tiles of 16, with causal. In how many of the 9 tiles does some query "
        "see some key? How many of them do your loops visit?",
    ),
    _idea(
        "products-computed-again",
        "Two of the five products are computed twice",
        "One pair of loops makes dK and dV, and another one dQ. Each of them needs S and dP, which makes seven "
        "products for each tile, where five are enough.",
        "One visit to a tile is enough for all three: add to dQ, dK and dV there. dQ is a tensor of the whole length, "
        "and each visit adds to its rows of the tile.",
        takes.SCORES_AND_DP_TWICE,
        question="Which of the three gradients could a single visit to a tile add to, once S and dP are there? Which "
        "tensor would have to wait from one visit to the next?",
    ),
    _idea(
        "products-computed-again",
        "One of the five products is computed twice",
        "Each tile takes part in S, dP, dV, dQ and dK. Here one more product is made of it, so six where five are "
        "enough.",
        "Give S and dP a name each, and use P and dS for all gradients that need them.",
        takes.SCORES_TWICE,
        question="Count the @ in your loops. Five of them have a line of the lesson's algorithm each: which one has "
        "none?",
    ),
    _AS_FORWARD["all-scores-at-once"],
    _idea(
        "all-keys-at-once",
        "A tile of queries meets all keys at once",
        "A strip of Br x n_k scores grows with the number of keys: with Br of 16 and 16,384 keys it has 262,144 "
        "numbers for each head.",
        "A second loop, over range(0, n_k, Bc), takes Bc keys at a time.",
        takes.STRIP_OF_KEYS,
        question=_AS_FORWARD["all-keys-at-once"].question,
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
        question=_AS_FORWARD["all-tiles-kept"].question,
    ),
    _idea(
        "hidden-tile-computed",
        "A tile of which no query sees any key is computed",
        "Your inner loop begins earlier or ends later than it must. The causal mask hides all of that tile, so P is 0 "
        "throughout, and its five products add nothing to any gradient.",
        _LOOP,
        takes.SOME_HIDDEN_TILES,
        question="Take 40 queries and 50 keys in tiles of 16, with causal. Which is the last key that query 15 sees, "
        "and which is the first query that sees key 32? In which tiles are they, and where do your loops begin and "
        "end?",
    ),
)

OF_DELTA_AND_DS = (
    _same("delta is missing in dS", hint=_DS),
    _same("delta is added to dP", hint=_DS),
    _same(
        "delta is subtracted from the product",
        *_of("delta-outside-the-product"),
        models.DELTA_OUTSIDE,
        hint=f"delta belongs inside the parentheses: {_DS}",
    ),
    _same("delta is rowsum(O * O)", models.DELTA_OF_O, hint=_DELTA),
    _same("delta is rowsum(dO * dO)", models.DELTA_OF_DO, hint=_DELTA),
    _same("delta is rowsum(dO)", models.DELTA_WITHOUT_O, hint=_DELTA),
    _idea(
        "delta-of-the-queries",
        "delta is rowsum(dO * Q)",
        "You took Q for O. Both have the same shape, so nothing complains. delta stands for the sum of p * dp over the "
        "keys, and O is the sum of p * v: with the lesson's numbers, o of 17.5 and do of 2, delta is 35.",
        _DELTA,
        models.DELTA_OF_Q,
        question="Double V: o and dp double, and so must delta. Does yours? Your dV is right: which of the three "
        "gradients need delta?",
    ),
    _same("delta was computed from one tile only", hint=f"O holds the sum over all keys already: {_DELTA}"),
    _idea(
        "reduced-over-everything",
        "delta is a single number",
        "Without dim, sum makes one number of a whole tensor: all queries of all heads then share it. But each query "
        "has a delta of its own.",
        _DELTA,
        *models.DELTA_OF_EVERYTHING,
        question="Print the shape of delta with 2 heads and 40 queries. How many queries are there, and how many "
        "numbers?",
    ),
    _same("dS lacks the factor P", hint=_DS),
    *(
        _idea(
            "wrong-operand",
            f"dP is computed with {what} in place of {place}",
            BELONGS["dp", place][0],
            "dPij = dOi @ Vj.transpose(2, 3).",
            as_in_kernels(dp_from(one, other).at(Product(frozenset({f"{one}_ptr", f"{other}_ptr"}))), "dq", "dk"),
            question=BELONGS["dp", place][1],
        )
        for what, place, one, other in OPERANDS_OF_DP
    ),
)

OF_P = (
    _idea(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass. With scores 0 and 1.0986, you get the weights 1 "
        "and 3 instead of .25 and .75; and from a score of 89 on, exp overflows in fp32.",
        _P,
    ),
    _same("P is taken relative to the tile's own maximum instead of LSE", hint=_P),
    _idea(
        "softmax-of-each-tile",
        "Each tile of keys has a softmax of its own",
        "The weights of one query must sum to 1 over all keys. Here they sum to 1 in each tile, so with two tiles they "
        "sum to 2.",
        _P,
        *models.SOFTMAX_OF_EACH_TILE,
        question="With Bc of 1, each tile holds one key. What is your weight of each of the lesson's two keys then? "
        "Which input knows the sum over all keys?",
    ),
    _idea(
        "scores-not-scaled",
        "The scores are not scaled",
        "P must be the forward pass's P, and LSE was taken from scaled scores. With a score of 8 and a scale of 0.25, "
        "you subtract LSE from 8 instead of from 2, so P comes out e^6 times, or 403 times, too large.",
        _P,
    ),
    _idea(
        "scores-scaled-twice",
        "The scores are scaled twice",
        "Your scores have the factor scale * scale, while LSE was taken from scores with one. With a scale of 0.25, a "
        "score of 2 becomes 0.5. Was Q multiplied by scale as well?",
        _P,
        models.SCALED_TWICE,
        question="How often does scale stand between q and the exponential? With scale 0.25 and a product of 8, what "
        "is the score, and what is yours?",
    ),
    _idea(
        "sign-reversed",
        "The scores have the wrong sign",
        "P must be the forward pass's P, in which a large score is a large weight. With scores 0 and 1.0986, and LSE "
        "1.3863, you get the weights .25 and .08 instead of .25 and .75.",
        _P,
    ),
    _idea(
        "base-two",
        "2**x was used where e**x is asked for",
        "LSE is a natural logarithm. With scores 0 and 1.0986, LSE is 1.3863, and powers of e give the weights .25 and "
        ".75. Powers of 2 do not, unless both S and LSE are multiplied by log2(e).",
        "Use torch.exp; or multiply both S and LSE by log2(e), 1.4426950408889634.",
        question="Take the scores 0 and 1.0986, and LSE 1.3863. Which two weights does your function make of them, and "
        "what do they sum to?",
    ),
    _idea(
        "k-not-transposed",
        "K is not transposed",
        "Kj has a row for each key, and in the scores it must have a column for each. reshape does not make one: it "
        "keeps the numbers in their order, and only cuts the rows elsewhere.",
        "Kj.transpose(2, 3) exchanges the last two axes; so does Kj.mT.",
        models.RESHAPED_K,
        question="Take two keys, 1 2 and 3 4. Which numbers are in the first column of what you multiply Qi with? They "
        "should be the first key.",
    ),
    _idea(
        "mask-forgotten",
        "The causal mask is missing",
        "With causal, hidden entries of P are exp(S - LSE), and not 0. They had no part in LSE, so they can even be "
        "large: a hidden score of 3 with LSE 1.39 gives 5, more than all that is seen.",
        f"Pij = {_MASK}.",
        *models.NO_MASK,
    ),
    _same(
        "dV is computed from a P that is not masked",
        *models.MASK_ONLY_IN_DS,
        hint=f"Mask P as soon as it is there: Pij = {_MASK}.",
    ),
    _idea(
        "hidden-scores-zero",
        "Hidden scores are 0, and P is not",
        "exp(0 - LSE) is not 0: a hidden key counts like one whose score is 0. With LSE of 1.3863 it gets the weight "
        ".25.",
        f"Set P itself to 0: {_MASK}.",
        models.HIDDEN_AS_ZERO,
        question="What is the exponential of 0 - 1.3863? What must the weight of a hidden key be, and which tensor "
        "should the mask change?",
    ),
    _same("Each tile is masked as if it were the first one", *models.MASK_OF_EACH_TILE),
    _same("The positions of keys begin at 0 in every tile", *models.KEYS_FROM_ZERO),
    _same("The positions of queries begin at 0 in every tile", *models.QUERIES_FROM_ZERO),
    _same("The offset of the causal mask has the wrong sign", *models.OFFSET_REVERSED),
    _same("The causal mask is aligned top-left", *models.TOP_LEFT),
    _idea(
        "causal-off-by-one",
        "The causal mask is one key short",
        "Your mask shows each query one key too few. With as many queries as keys, query 0 sees no key at all, and "
        "query 5 sees keys 0 to 4, but not its own, key 5.",
        _CAUSAL,
        *models.ONE_TOO_FEW,
    ),
    _same("Each query sees one key of the future", *models.ONE_TOO_MANY, hint=_CAUSAL),
    _same("The causal mask is upside down", *_of("causal-upside-down", causal=True)),
    _same(
        "Queries that see no key bring NaN into the gradients",
        hint=f"Hide entries after the exponential: Pij = {_MASK}.",
    ),
    _same(
        "P is multiplied by the mask, and infinity times 0 is NaN",
        hint=f"Choose instead of multiplying: Pij = {_MASK}.",
    ),
)

OF_GRADIENTS = (
    *(
        _idea(
            "accumulator-overwritten",
            f"{_GRADIENTS[name][0]} holds only the last tile of its sum",
            "Each tile adds a part to the gradient. Here the part of each tile replaces the one before it: if three "
            "tiles add 3, 5 and 4, then 4 is left instead of 12.",
            f"{_GRADIENTS[name][1]} It begins at 0 before the loop that adds, not in it.",
            models.LAST_TILE[name],
        )
        for name in models.ALL
    ),
    *(
        _idea(
            "accumulator-not-reset",
            f"{what} of each tile {begins} with what the tile before left",
            "The sum of a tile begins at 0. Here it begins with the sum of the tile before: if the parts of three "
            "tiles are 3, 5 and 4, then 3, 8 and 12 are stored.",
            f"Set {sums} to zeros inside the outer loop, before the inner one.",
            models.NOT_RESET[names],
            question="The gradient is right in the first tile and wrong in all others. What does your sum hold when "
            "the second tile begins, and what should it hold?",
        )
        for what, begins, sums, names in (
            ("dK and dV", "begin", "dKj and dVj", "dk dv"),
            ("dQ", "begins", "dQi", "dq"),
            ("dK", "begins", "dKj", "dk"),
            ("dV", "begins", "dVj", "dv"),
        )
    ),
    *(
        _idea(
            "tile-transposed",
            f"{tile} is multiplied the wrong way round in {_GRADIENTS[name][0]}",
            f"Rows of {tile} are queries, and its columns are keys. A row of {_GRADIENTS[name][0]} belongs to a {row}. "
            "With square tiles the shapes fit either way, so nothing complains, but the numbers are others.",
            _GRADIENTS[name][1],
            models.TRANSPOSED[name],
            question=f"Let Br be 32, Bc 16 and d 64. Which shapes do {operands} have at their last two axes? Does your "
            "product have the shape of the gradient?",
        )
        for name, tile, row, operands in (
            ("dv", "P", "key", "Pij, dOi and dVj"),
            ("dk", "dS", "key", "dSij, Qi and dKj"),
            ("dq", "dS", "query", "dSij, Kj and the tile of dQ"),
        )
    ),
    *(
        _idea(
            "tile-reshaped",
            f"{tile} is reshaped instead of transposed in {_GRADIENTS[name][0]}",
            "reshape keeps the numbers in their order, and only cuts the rows elsewhere. So a row of the result is not "
            "a column of the tile, and numbers of different keys are added up.",
            _GRADIENTS[name][1],
            models.RESHAPED[name],
            question=f"Take a tile of {tile} with the rows 1 2 3 and 4 5 6. What is its first column, and what is the "
            "first row after your reshape?",
        )
        for name, tile in (("dv", "P"), ("dk", "dS"))
    ),
    *(
        _idea(
            "scale-missing",
            f"The scale is missing in {_GRADIENTS[name][0]}",
            "S is scale * Q Kᵀ, so a change of Q or K reaches S with the factor scale, and so does the gradient on its "
            "way back. With a scale of 0.25, yours is four times too large.",
            _GRADIENTS[name][1],
            models.scaled(lambda scale: 1 / scale, name),
        )
        for name in ("dq", "dk")
    ),
    *(
        _idea(
            "scale-twice",
            f"{_GRADIENTS[name][0]} is scaled twice",
            "dQ and dK have the factor scale once. It is in there already if dS was scaled, or if the tile that dS is "
            "multiplied with was. With a scale of 0.25, yours is four times too small.",
            "The scores get scale, and the gradient gets it once, in its own product. Qi, Kj and dSij stay as they are."
            "",
            models.scaled(lambda scale: scale, name),
            question="Find every place in your function where scale stands. Which of them does the gradient pass "
            "through on its way from dS to the result?",
        )
        for name in ("dq", "dk")
    ),
    _idea(
        "scale-on-dv",
        "dV is scaled",
        "V is multiplied with the weights P, and the scale is inside the softmax already. With the lesson's numbers, p "
        "of .25 and do of 2, dV of that key is 0.5, whatever the scale is.",
        _GRADIENTS["dv"][1],
        models.scaled(lambda scale: scale, "dv"),
    ),
    *(
        _idea(
            "wrong-operand",
            f"{_GRADIENTS[name][0]} is computed with {what} in place of {place}",
            BELONGS[name, place][0],
            _GRADIENTS[name][1],
            *(
                as_in_kernels(with_operands(name, x, of).at(Product(MADE_OF[tile] | {f"{of}_ptr"})), name)
                for x in VARIANTS.get(tile, (tile,))
            ),
            question=BELONGS[name, place][1],
        )
        for name, what, place, tile, of in EXCHANGED
    ),
    _idea(
        "gradients-exchanged",
        "dK and dV are exchanged",
        "Both have the same shape, and the order in which they are returned tells them apart. Yours come the other way "
        "round.",
        "return dQ, dK, dV",
        *models.EXCHANGED,
        question="Which of your two tensors is made from P, and at which place is it returned? In which order does the "
        "lesson ask for the three gradients?",
    ),
    _idea(
        "first-tile-left-out",
        "A loop over queries begins too late",
        "With keys outside, the first queries are left out that see some of the tile's keys. The tile on the diagonal "
        "is only partly hidden, so it must be visited.",
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
        "is only partly hidden, so it must be visited.",
        "With causal, end at min(n_k, start_q + Br + n_k - n_q).",
        *models.ENDED_EARLY,
    ),
    _idea(
        "whole-tiles-only",
        "The last tile is left out where it is not full",
        "n_q need not be a multiple of Br, nor n_k of Bc, and n_k // Bc is rounded down. With 70 keys in tiles of 32, "
        "keys 64 to 69 are left out.",
        "Loop over range(0, n_k, Bc) and range(first, n_q, Br). A slice that goes past the end is cut there.",
        *models.WHOLE_TILES,
        question="Take 70 keys in tiles of 32. How many tiles are needed, and how many does your loop visit?",
    ),
)

BACKWARD_IN_PYTORCH = (*TAKING_TOO_MUCH, *OF_DELTA_AND_DS, *OF_P, *OF_GRADIENTS)
