"""Wrong ideas about the backward pass."""

from __future__ import annotations

from functools import partial

import numpy as np

from checker.catalog.attention.backward_models import (
    DV,
    another_mask,
    before_the_first_query,
    collected_of,
    delta_in_half,
    delta_is,
    delta_of,
    from_ds,
    from_gradients,
    from_late_loop,
    from_p,
    in_base_two,
    in_half,
    lse_of,
    masked_only_in_ds,
    nan_from_hidden,
    nan_from_padding,
    p_of,
    reversed_offset,
    scaled,
    tile_delta,
    tile_max,
    tile_softmax,
    times_mask,
    to_another_end,
    with_transposed,
    without_last_tile,
)
from checker.catalog.attention.bounds import looked_at
from checker.catalog.attention.mistakes import Q_K, scaled_in_half
from checker.catalog.attention.reference import offset, scores, sees
from checker.course.misconception import Misconception, Part, Reaches, Writes

LAST_KEY = (
    "Take 40 queries and 41 keys in tiles of 16. Which is the last key that query 15 sees, and in which tile is it? At "
    "which key does your loop end for start_q of 0?"
)

_OF_DELTA = (
    Misconception(
        "delta-of-the-output",
        "delta is rowsum(O * O)",
        "You multiplied O by itself. delta stands for the sum of p * dp over the keys, and dp is the product of dO "
        "with a value. With the lesson's numbers, o of 17.5 and do of 2, you get 306.25 instead of 35.",
        "delta = rowsum(dO * O): multiply the tile of dO by the tile of O, and sum along axis=1.",
        question="The lesson rewrites the sum of p * dp as a product of two rows. Which two, and which ones did you "
        "load?",
        signs=(delta_is(lambda o, do: (o * o).sum(axis=-1)),),
    ),
    Misconception(
        "delta-of-the-gradient",
        "delta is rowsum(dO)",
        "You added up dO alone. delta stands for the sum of p * dp over the keys, and that also depends on V. With the "
        "lesson's numbers, o of 17.5 and do of 2, you get 2 instead of 35.",
        "delta = rowsum(dO * O): multiply the tile of dO by the tile of O, and sum along axis=1.",
        question="delta stands for the sum of p * dp over the keys. If all values double, dp doubles. Does your delta "
        "double?",
        signs=(delta_is(lambda o, do: do.sum(axis=-1)),),
    ),
    Misconception(
        "delta-in-half",
        "O * dO was computed in fp16",
        "Each product was rounded to fp16's 11 bits before the sum: 30.5 * 30.25 is 922.625, but becomes 922.5. A "
        "product of 300 and 300 is infinite, because fp16 ends at 65504.",
        "Convert both tiles right after the load, .to(tl.float32).",
        question="Which type do O and dO have in this case? Which type has their product, and how many digits of "
        "922.625 can it hold?",
        signs=(Writes(lambda case: delta_in_half(case, rounded=False)),),
    ),
    Misconception(
        "delta-in-half",
        "delta was computed in fp16",
        "Each product and the sum of them were rounded to fp16's 11 bits. From 2048 on fp16 has no odd numbers, so "
        "2048 + 1 stays 2048, and a sum beyond 65504 is infinite.",
        "Convert O and dO right after the load, .to(tl.float32). Then the products and the sum are fp32 as well.",
        question="Which type do O and dO have in this case? What is 2048 + 1 in that type?",
        signs=(Writes(lambda case: delta_in_half(case, rounded=True)),),
    ),
)
_OF_GRADIENTS = (
    Misconception(
        "delta-missing",
        "delta is missing in dS",
        "With P * dP alone, the lesson's two keys get 5 and 30, and not -3.75 and 3.75. A row of dS must sum to 0, "
        "because a softmax stays the same when all scores of a query grow by the same number.",
        "Line 14 of the algorithm: dSij = Pij * (dPij - delta_i[:, None]).",
        question="What does a row of your dS sum to with p of .25 and .75, and dp of 20 and 40? What must it sum to, "
        "and which number per query makes it so?",
        signs=(from_ds(lambda case, g: g.p * g.dp).at(Part.DS),),
    ),
    Misconception(
        "delta-added",
        "delta is added to dP",
        "The lesson's two keys get .25 * (20 + 35) and .75 * (40 + 35), which sum to 70. A row of dS must sum to 0, "
        "because a softmax stays the same when all scores of a query grow by the same number.",
        "Line 14 of the algorithm, with a minus: dSij = Pij * (dPij - delta_i[:, None]).",
        question="With p of .25 and .75, dp of 20 and 40, and delta of 35, what do the two numbers of your dS sum to? "
        "What must they sum to?",
        signs=(from_ds(lambda case, g: g.p * (g.dp + delta_of(case))).at(Part.DS),),
    ),
    Misconception(
        "delta-of-one-tile",
        "delta was computed from one tile only",
        "The sum of P * dP is delta if it runs over all keys of a query. A tile has only some of them, so each tile "
        "gets another number: with one key per tile, 5 and 30 in the lesson's example, and not 35 in both.",
        "Take delta_i as it is given, one number for each query: it was computed from dO and O, for all keys at once.",
        question="The lesson's two keys have p * dp of 5 and 30. Which delta does each key get if it is in a tile of "
        "its own? Which tensor has a sum over all keys in it already?",
        signs=(from_ds(lambda case, g: g.p * (g.dp - tile_delta(case, g))),),
    ),
    *(
        Misconception(
            "ds-without-p",
            "dS lacks the factor P",
            "dS is dP - delta here. The lesson's two keys get -15 and 5, and not -3.75 and 3.75: a key that counts "
            f"little passes on as much as one that counts a lot{lost}.",
            "Line 14 of the algorithm: dSij = Pij * (dPij - delta_i[:, None]).",
            question="Let the weight of a key be 0. How much does O change when its score changes a little? What does "
            "your dS say of it?",
            signs=(sign.at(Part.DS),),
        )
        for lost, sign in (
            ("", from_ds(lambda case, g: np.where(sees(case), g.dp - delta_of(case), 0.0))),
            (
                ". The mask is lost as well, because it is in P",
                from_ds(lambda case, g: np.where(looked_at(case), g.dp - delta_of(case), 0.0)),
            ),
        )
    ),
    Misconception(
        "delta-outside-the-product",
        "delta is subtracted from the product",
        "dS is P * dP - delta here. The lesson's two keys get 5 - 35 and 30 - 35, which sum to -35. A row of dS must "
        "sum to 0, and delta is as large for a key that hardly counts as for any other.",
        "delta belongs inside the parentheses: dSij = Pij * (dPij - delta_i[:, None]).",
        question="With p of .25 and .75, dp of 20 and 40, and delta of 35, what do the two numbers of your dS sum to? "
        "What is multiplied by p in the lesson's formula?",
        signs=(from_ds(lambda case, g: np.where(looked_at(case), g.p * g.dp - delta_of(case), 0.0)).at(Part.DS),),
    ),
    Misconception(
        "base-two",
        "2**x was used where e**x is asked for",
        "LSE is a natural logarithm. With scores 0 and 1.0986, LSE is 1.3863, and powers of e give the weights .25 and "
        ".75. Powers of 2 give .38 and .82, which do not sum to 1.",
        "Use tl.exp; or multiply both S and LSE by log2(e) = 1.4426950408889634 before tl.exp2.",
        question="Take the scores 0 and 1.0986, and LSE 1.3863. Which two weights does your exponential make of them, "
        "and what do they sum to?",
        signs=(from_p(lambda case: in_base_two(case, 1.0)).at(Part.EXPONENTIAL),),
    ),
    Misconception(
        "base-two",
        "log2(e) was folded into S, but not into LSE",
        "A power of 2 needs the factor log2(e) on its whole exponent. With scores 0 and 1.0986, and LSE 1.3863, you "
        "get the weights .38 and 1.15 instead of .25 and .75.",
        "Multiply LSE by log2(e) = 1.4426950408889634 as well.",
        question="Which two numbers are in the exponent, and which of them did you multiply by log2(e)? Is LSE a "
        "logarithm to base 2 or to base e?",
        signs=(from_p(lambda case: in_base_two(case, float(np.log2(np.e)))),),
    ),
    Misconception(
        "accumulator-in-half",
        "A gradient is accumulated in fp16",
        "Each gradient is a sum over all queries or keys, and here each step of it is rounded to fp16's 11 bits. From "
        "2048 on fp16 has no odd numbers, so 2048 + 1 stays 2048, and beyond 65504 it is infinite.",
        "Accumulate in fp32, tl.zeros(..., tl.float32); tl.store converts at the end.",
        question="Which type has your running sum while the loop runs? What is 2048 + 1 in that type?",
        signs=(from_gradients(in_half),),
    ),
    Misconception(
        "scale-missing",
        "The scale is missing in the gradient",
        "S is scale * Q K^T, so a change of Q or K reaches S with the factor scale, and so does the gradient on its "
        "way back. With a scale of 0.25, yours is four times too large.",
        "Multiply by scale once, when the gradient is stored: scale * dQi, scale * dKj.",
        question="Let scale be 0.25. If an element of Q grows by 1, and K has a 1 there, by how much does the score "
        "grow? Where is this factor in your gradient?",
        signs=(scaled(lambda scale: 1 / scale, "dq_ptr", "dk_ptr"),),
    ),
    Misconception(
        "scale-twice",
        "The scale was applied twice to the gradient",
        "dQ and dK have the factor scale once. It is in there already if dS was scaled, or if the tile that dS is "
        "multiplied with was. With a scale of 0.25, yours is four times too small.",
        "The scores get scale, and the gradient gets it once, when it is stored. Qi, Kj and dSij stay as they are.",
        question="Find every place in your kernel where scale stands. Which of them does the gradient pass through on "
        "its way from dS to the store?",
        signs=(scaled(lambda scale: scale, "dq_ptr", "dk_ptr"),),
    ),
    Misconception(
        "scale-on-dv",
        "dV was scaled",
        "V is multiplied with the weights P, and the scale is inside the softmax already. With the lesson's numbers, p "
        "of .25 and do of 2, dV of that key is 0.5, whatever the scale is.",
        "Store dVj as it is; only dKj gets the factor scale.",
        question="Double scale and halve K: all scores stay the same. Does O change? May dV change then, and does "
        "yours?",
        signs=(scaled(lambda scale: scale, "dv_ptr"),),
    ),
    Misconception(
        "scores-not-scaled",
        "The scores are not scaled",
        "P must be the forward pass's P, and LSE was taken from scaled scores. With a score of 8 and a scale of 0.25, "
        "you subtract LSE from 8 instead of from 2, so P comes out e^6 times, or 403 times, too large.",
        "Line 10 of the algorithm: Sij = scale * tl.dot(Qi, tl.trans(Kj)).",
        question="In the row of a query that sees all keys, the entries of P sum to 1. What do yours sum to if you "
        "print them? From which scores was LSE computed?",
        signs=(
            from_p(
                lambda case: p_of(
                    case,
                    scores(case) / float(case.scalars["scale"]),
                    lse_of(case),
                    sees(case),
                )
            ).at(Q_K),
        ),
    ),
    Misconception(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass. With scores 0 and 1.0986, you get the weights 1 "
        "and 3 instead of .25 and .75; and from a score of 89 on, exp overflows.",
        "Line 11 of the algorithm: Pij = tl.exp(Sij - LSEi[:, None]), before the mask.",
        question="With scores 0 and 1.0986, and LSE 1.3863, what do your two weights sum to? Which input have you not "
        "used?",
        signs=(from_p(lambda case: p_of(case, scores(case), 0.0, sees(case))).at(Part.EXPONENTIAL),),
    ),
    Misconception(
        "tile-max-for-lse",
        "P is taken relative to the tile's own maximum instead of LSE",
        "The backward pass needs no maximum and no sum of its own. With scores 0 and 1.0986 in one tile, you get the "
        "weights .33 and 1 instead of .25 and .75, and each tile has another factor.",
        "Line 11 of the algorithm: Pij = tl.exp(Sij - LSEi[:, None]), before the mask.",
        question="With scores 0 and 1.0986, and LSE 1.3863, what do your two weights sum to? Which number, subtracted "
        "from both, makes that sum 1?",
        signs=(from_p(lambda case: p_of(case, scores(case), tile_max(case), sees(case))).at(Part.EXPONENTIAL),),
    ),
)
_OF_MASK = (
    Misconception(
        "mask-forgotten",
        "The causal mask is missing",
        "In tiles on the diagonal, hidden entries of P are exp(S - LSE), and not 0. They had no part in LSE, so they "
        "can even be large: a hidden score of 3 with LSE 1.39 gives 5, more than all that is seen.",
        "Set them to 0 after the exponential: tl.where(keys[None, :] <= queries[:, None] + n_k - n_q, ..., 0.0).",
        question="Take 16 queries and 16 keys. Which keys does query 0 see, and how many entries of row 0 of your P "
        "are not 0?",
        signs=(from_p(lambda case: another_mask(case, None)),),
    ),
    Misconception(
        "mask-only-in-ds",
        "dV is computed from a P that is not masked",
        "The mask came after P was used. Hidden entries of P count in dV: a key also collects dO of queries that do "
        "not see it.",
        "Mask P as soon as it is there: tl.where(keys[None, :] <= queries[:, None] + n_k - n_q, ..., 0.0).",
        question="With 16 queries and 16 keys, only query 15 sees key 15. Of how many rows of dO is row 15 of your dV "
        "made? Where does the mask stand, and where is P used?",
        signs=(
            from_gradients(lambda case, g: masked_only_in_ds(case) if "dv_ptr" in case.tensors else {}).at(
                Part.CAUSAL_MASK
            ),
        ),
    ),
)
_OF_NORMALISER = (
    Misconception(
        "softmax-of-each-tile",
        "Each tile of keys has a softmax of its own",
        "The weights of one query must sum to 1 over all keys. Here they sum to 1 in each tile, so with two tiles they "
        "sum to 2. A query that looks at one tile alone comes out right.",
        "Line 11 of the algorithm: Pij = tl.exp(Sij - LSEi[:, None]), before the mask.",
        question="With Bc of 1, each tile holds one key. What is your weight of each of the lesson's two keys then? "
        "Which input knows the sum over all keys?",
        signs=tuple(
            from_p(partial(tile_softmax, hidden_too=hidden_too)).at(Part.EXPONENTIAL) for hidden_too in (False, True)
        ),
    ),
)
_OF_OFFSET = (
    Misconception(
        "causal-offset-reversed",
        "The offset of the causal mask has the wrong sign",
        "Your offset is n_q - n_k. But queries are the last n_q of n_k positions: with 3 queries and 5 keys, query 0 "
        "stands at position 2, which is 0 + 5 - 3, and with your sign it sees no key at all.",
        "A query sees a key where keys[None, :] <= queries[:, None] + n_k - n_q.",
        question="With 3 queries and 5 keys, at which of the positions 0 to 4 does query 0 stand? At which one does "
        "your mask place it?",
        signs=tuple(
            from_p(partial(reversed_offset, skipping=skipping)).at(Part.CAUSAL_MASK) for skipping in (True, False)
        ),
    ),
    Misconception(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "Query 0 sees only key 0 here. But queries are the last n_q of n_k positions: with 3 queries and 5 keys, query "
        "0 stands at position 2 and sees keys 0, 1 and 2, and the last query sees all keys.",
        "A query sees a key where keys[None, :] <= queries[:, None] + n_k - n_q.",
        question="With 3 queries and 5 keys, which keys must the last query see? Which ones does it see with your mask?"
        "",
        signs=(from_p(lambda case: another_mask(case, 0)).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-off-by-one",
        "The diagonal is hidden: no query sees its own key",
        "Your mask shows each query one key too few. With as many queries as keys, query 0 sees no key at all, and "
        "query 5 sees keys 0 to 4, but not its own, key 5.",
        "A query sees a key where keys[None, :] <= queries[:, None] + n_k - n_q, with <= and not <.",
        question="With 4 queries and 4 keys, which keys does query 0 see with your mask? Which ones must it see?",
        signs=(from_p(lambda case: another_mask(case, offset(case) - 1)).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "causal-off-by-one",
        "Each query sees one key of the future",
        "Your mask shows each query one key too many. With as many queries as keys, query 0 must see key 0 alone, but "
        "here it sees key 1 as well, which comes after its own position.",
        "A query sees a key where keys[None, :] <= queries[:, None] + n_k - n_q, without + 1.",
        question="With 4 queries and 4 keys, which keys does query 0 see with your mask? Which ones must it see?",
        signs=(from_p(lambda case: another_mask(case, offset(case) + 1)).at(Part.CAUSAL_MASK),),
    ),
    Misconception(
        "hidden-rows-nan",
        "Queries that see no key bring NaN into the gradients",
        "LSE of such a query is -inf. Where a score was set to -inf before the exponential, -inf - (-inf) is NaN, and "
        "it spreads to every row that the tile is added to.",
        "Hide entries after the exponential: tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0).",
        question="With 3 queries and 2 keys, query 0 sees no key. What are its LSE and its hidden scores, and what is "
        "their difference?",
        signs=(from_gradients(nan_from_hidden),),
    ),
    Misconception(
        "mask-multiplied",
        "P is multiplied by the mask, and infinity times 0 is NaN",
        "LSE knows nothing of hidden scores, so one of them may lie far above it: more than 88.7, and exp(S - LSE) is "
        "infinite in fp32. Times 0 that is NaN, and not 0. So is every hidden score of a query that sees no key, whose "
        "LSE is -inf.",
        "Choose instead of multiplying: tl.where(visible, tl.exp(Sij - LSEi[:, None]), 0.0).",
        question="A hidden score is 100, and LSE of its query is 5. What is exp(100 - 5) in fp32, and what is 0 times "
        "that?",
        signs=(from_gradients(times_mask),),
    ),
)
_OF_TILES = (
    Misconception(
        "padding-infinite",
        "Queries past the end bring NaN into dK and dV",
        "Some lanes of the last tile are no query, and one of them holds an infinity. If LSE is -inf there, then exp(S "
        "- LSE) is infinite, and infinity times dO is NaN, although dO is 0 there.",
        "Load lanes that are no query as 0, LSE too; or set P to 0 there: tl.where(queries[:, None] < n_q, ..., 0.0).",
        question="Print LSEi of the last tile with n_q of 20 and Br of 16. What do the last 12 lanes hold, and what "
        "does the exponential make of it?",
        signs=(from_gradients(nan_from_padding),),
    ),
    Misconception(
        "tile-transposed",
        "A tile is multiplied in the wrong orientation",
        "Rows of P and dS are queries, and rows of dV and dK are keys. You multiply P and dS as they are. With square "
        "tiles the shapes fit all the same, so nothing complains, but the numbers are others.",
        "dVj += tl.dot(tl.trans(Pij), dOi), and dKj += tl.dot(tl.trans(dSij), Qi), converted as the lesson says.",
        question="Let Br be 32, Bc 16 and D 64. Write down the shapes of Pij, dOi and dVj, and of dSij, Qi and dKj. Do "
        "your products have these shapes?",
        signs=(from_gradients(lambda case, g: with_transposed(case, g, p=True, ds=True)),),
    ),
    Misconception(
        "tile-transposed",
        "P is multiplied in the wrong orientation",
        "Rows of P are queries, and rows of dV are keys. You multiply P as it is. With square tiles the shapes fit all "
        "the same, so nothing complains, but the numbers are others.",
        "dVj += tl.dot(tl.trans(Pij), dOi), with Pij converted as the lesson says.",
        question="Let Br be 32, Bc 16 and D 64. Which shapes do Pij, dOi and dVj have? Does your product have the "
        "shape of dVj?",
        signs=(from_gradients(lambda case, g: with_transposed(case, g, p=True, ds=False)).at(DV),),
    ),
    Misconception(
        "tile-transposed",
        "dS is multiplied in the wrong orientation",
        "Rows of dS are queries, and its columns are keys. A row of dK belongs to a key, and a row of dQ to a query. "
        "With square tiles the shapes fit either way, so nothing complains, but the numbers are others.",
        "tl.dot(tl.trans(dSij), Qi) for dK, tl.dot(dSij, Kj) for dQ, converted as the lesson says.",
        question="Let Br be 32, Bc 16 and D 64. Which shapes do dSij, Qi and dKj have, or dSij, Kj and dQi? Does your "
        "product have the shape of the gradient?",
        signs=(from_gradients(lambda case, g: with_transposed(case, g, p=False, ds=True)),),
    ),
)
_OF_LOOPS = (
    *(
        Misconception(
            "loop-to-another-end",
            f"The loop over {what} ends at {wrong}, and not at {right}",
            f"{right} counts {what}, and {wrong} the other side. Where {wrong} is smaller, the last {what} are left "
            "out, and where it is larger, the loop continues past the last one.",
            hint,
            question=f"Take 20 queries and 50 keys, and then 50 queries and 20 keys, in tiles of 16. How many tiles of "
            f"{what} are there, and at how many does your loop look?",
            signs=(from_gradients(partial(to_another_end, only=only)).at(Part.LOOP_END),),
        )
        for what, right, wrong, only, hint in (
            ("queries", "n_q", "n_k", "dk_ptr", "A loop over queries is range(first_q, n_q, Br)."),
            ("keys", "n_k", "n_q", "dq_ptr", "End at tl.minimum(n_k, start_q + Br + n_k - n_q)."),
        )
    ),
    *(
        Misconception(
            "first-tile-left-out",
            "The loop over queries begins too late",
            why,
            "Begin at tl.maximum(0, start_k - (n_k - n_q)) // Br * Br, the tile of the first query that sees start_k.",
            question="Take 40 queries and 41 keys in tiles of 16. Which is the first query that sees key 32, and in "
            "which tile is it? At which query does your loop begin for start_k of 32?",
            signs=(from_gradients(partial(from_late_loop, first=first)).at(Part.LOOP_BEGIN),),
        )
        for why, first in (
            (
                "Its beginning does not depend on n_k - n_q. With 40 queries and 50 keys, key 32 is seen from query 22 "
                "on, but your loop begins at query 32.",
                lambda start, offset, Br, Bc: start // Br * Br,
            ),
            (
                "Its beginning was rounded up to a whole tile. If query 22 is the first that sees any of the keys, the "
                "tile of queries from 16 on is only partly hidden, but with Br of 16 your loop begins at 32.",
                lambda start, offset, Br, Bc: -(-max(0, start - offset) // Br) * Br,
            ),
            (
                "It begins one tile past the tile on the diagonal. That tile is only partly hidden: if query 22 is the "
                "first that sees any of the keys, queries 22 to 31 are left out with Br of 16.",
                lambda start, offset, Br, Bc: max(0, start - offset + Br) // Br * Br,
            ),
            (
                "It begins at the first query that sees the last key of the tile. But the other keys of the tile are "
                "seen earlier: its first key by up to Bc - 1 queries more.",
                lambda start, offset, Br, Bc: max(0, start + Bc - 1 - offset) // Br * Br,
            ),
            *(
                (
                    f"It begins at least {'one query' if early == 1 else f'{early} queries'} too late. Where a tile of "
                    "queries ends just there, it is left out, although some of it sees a key.",
                    lambda start, offset, Br, Bc, early=early: max(0, start - offset + early) // Br * Br,
                )
                for early in range(1, 5)
            ),
        )
    ),
    Misconception(
        "begins-before-the-first-query",
        "The loop over queries begins before the first one",
        "start_k - (n_k - n_q) is negative where all queries see a key: with 20 queries and 60 keys it is -40 for the "
        "first tile of keys. The loop then begins with a tile that lies before the tensor.",
        "Begin at tl.maximum(0, start_k - (n_k - n_q)) // Br * Br.",
        question="Take 20 queries and 60 keys. Which query is the first to see key 0? At which query does your loop "
        "begin for start_k of 0?",
        signs=(Reaches(before_the_first_query),),
    ),
    Misconception(
        "last-tile-left-out",
        "The last tile of keys that a query sees is left out",
        "The loop ends one tile too early. The tile on the diagonal is only partly hidden: with 48 queries and 48 keys "
        "in tiles of 16, query 31 sees keys 16 to 31, and your loop for its tile ends at key 15.",
        "End at tl.minimum(n_k, start_q + Br + n_k - n_q).",
        question=LAST_KEY,
        signs=(
            from_gradients(lambda case, g: collected_of(case, g.p, without_last_tile(case, g.ds), "dq_ptr")).at(
                Part.LOOP_END
            ),
        ),
    ),
)

_OF_SCALE = scaled_in_half(lambda s: from_p(lambda case: p_of(case, s(case), lse_of(case), sees(case))))
FULL = (*_OF_SCALE, *_OF_GRADIENTS, *_OF_NORMALISER, *_OF_TILES)  # those that need no causal mask, of gradient kernels
MISTAKES = (
    *(*_OF_SCALE, *_OF_DELTA, *_OF_GRADIENTS, *_OF_MASK),
    *(*_OF_NORMALISER, *_OF_OFFSET, *_OF_TILES, *_OF_LOOPS),
)
