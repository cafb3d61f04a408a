"""Wrong ideas about dropout in attention: which number an entry gets, what is kept, and where Z belongs."""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.dropout import factors, scaled
from checker.catalog.attention.dropout_models import (
    as_if_causal,
    at,
    dropped_output,
    from_exponentials,
    from_numbers,
    from_parts,
    in_32_bits,
    in_rounds,
    is_forward,
    queries_left_out,
    scores_times,
    seeded,
    seeded_by_head,
    with_factors,
)
from checker.catalog.attention.launch import Shape, shape_of
from checker.catalog.attention.reference import scores
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Writes

OFFSET = "The offset of an entry is (head * n_q + queries[:, None]) * n_k + keys[None, :], with the head in 64 bits."
Z_IS = "Zij = tl.where(kept, 1.0 / (1.0 - p), 0.0), with kept where the number is at least p."
SEEDS = (0, 1, 42, 123, 1234, 12345)  # those that people write


def _tile(s: Shape, i: Array, j: Array) -> Array:
    """Positions within a tile."""
    return np.asarray(i % s.Br * s.Bc + j % s.Bc)


def _numbered_tiles(_: Case, s: Shape, head: Array, i: Array, j: Array) -> Array:
    return np.asarray((((head * s.tr + i // s.Br) * s.tc + j // s.Bc) * s.Br * s.Bc) + _tile(s, i, j))


def _in_order_of_visits(case: Case, s: Shape, head: Array, i: Array, j: Array) -> Array:
    """Tiles numbered from 0 in each program, as its loop comes by."""
    visit = j // s.Bc if is_forward(case) else i // s.Br
    return np.asarray(visit * s.Br * s.Bc + _tile(s, i, j))


def _lengths(of_head: str, of_query: str) -> Writes:
    """Offsets with n_q or n_k in other places."""
    return at(lambda _, s, head, i, j: (head * getattr(s, of_head) + i) * getattr(s, of_query) + j)


def _only_kept(case: Case, e: Array, z: Array) -> tuple[Array, Array]:
    kept = np.where(z > 0, e, 0.0)
    return kept, kept.sum(axis=-1, keepdims=True)


def _kept_and_scaled(case: Case, e: Array, z: Array) -> tuple[Array, Array]:
    """The normaliser of what is kept, and the numerator scaled up."""
    return e * z, np.where(z > 0, e, 0.0).sum(axis=-1, keepdims=True)


def _lse_is(values: str) -> Writes:
    """Right O, and an LSE of what is kept, scaled up or not."""
    right = from_exponentials(lambda case, e, z: (e * z, e.sum(axis=-1, keepdims=True)))
    other = from_exponentials(
        lambda case, e, z: (e, (e * z if values == "scaled" else np.where(z > 0, e, 0.0)).sum(axis=-1, keepdims=True))
    )

    def outputs(case: Case) -> dict[str, Array]:
        made = dict(right.outputs(case))
        return made | {"lse_ptr": other.outputs(case)["lse_ptr"]} if made else {}

    return Writes(outputs)


def _of_scores(other: object) -> Writes:
    return Writes(lambda case: scores_times(case, other(case)))  # type: ignore[operator]


# Numbers are those of the lesson: forward the scores 1 3 | 2 5 with v = 10 20 | 30 40 and p of 0.2, of which the second
# key is dropped; backward P of .25 and .75, v = 10 20 and do = 2, of which the second key is dropped.
POSITIONS = (
    *(
        Misconception(
            "numbers-of-the-tile",
            title,
            why,
            OFFSET,
            question="Entry (20, 20) lies in tile (1, 1) if Br = Bc = 16, and in tile (0, 0) if Br = Bc = 32. Must its "
            "number be the same? Which number does it get from you in each of the two?",
            signs=signs,
        )
        for title, why, signs in (
            (
                "An entry's number depends on its place in its tile",
                "Each tile draws the same numbers, because offsets begin again at 0 in it. With tiles of 16, entries "
                "(0, 0), (0, 16) and (16, 0) share one number, so they are kept or dropped together.",
                (
                    at(lambda _, s, head, i, j: _tile(s, i, j)),
                    at(lambda _, s, head, i, j: (head * s.n_q + i) * s.n_k + j % s.Bc),
                    at(lambda _, s, head, i, j: (head * s.n_q + i % s.Br) * s.n_k + j),
                    at(lambda _, s, head, i, j: (head * s.n_q + i) * s.Bc + j % s.Bc),
                    at(lambda _, s, head, i, j: (head * s.n_q + i % s.Br) * s.n_k + j % s.Bc),
                ),
            ),
            (
                "Tiles are numbered, and an entry's number depends on its tile",
                "Entries get numbers in the order in which tiles are visited. The backward pass visits them in another "
                "order, and may have other tiles: it would draw another mask than the forward pass.",
                (at(_numbered_tiles), at(_in_order_of_visits)),
            ),
        )
    ),
    Misconception(
        "same-mask-in-every-head",
        "All heads have the same mask",
        "The head is not in the offset, so entry (i, j) has the same number in each of them. With 3 queries and 4 "
        "keys, entry (0, 0) of head 1 has the offset 12, and not 0.",
        OFFSET,
        question="2 heads, 3 queries, 4 keys: that is 24 entries. How many different offsets do you have?",
        signs=(at(lambda _, s, head, i, j: i * s.n_k + j),),
    ),
    Misconception(
        "seed-of-the-head",
        "The head is added to the seed",
        "Entry (i, j) of head 1 gets what seed + 1 gives at position (i, j). A run with the next seed would draw the "
        "masks of this one, one head further: two layers with the seeds 7 and 8 would share all masks but one.",
        OFFSET,
        question="Layers of a model get the seeds 7, 8, 9. Which mask has head 1 of the first one in your kernel, and "
        "which has head 0 of the second?",
        signs=(with_factors(seeded_by_head),),
    ),
    Misconception(
        "offset-transposed",
        "Rows and columns are exchanged in the offset",
        "The offset counts down the columns: entry (1, 0) follows entry (0, 0). The number of entry (i, j) is that of "
        "another entry, unless n_q is n_k and i is j.",
        OFFSET,
        question="3 queries and 4 keys in one head: which offsets have entries (0, 1) and (1, 0)? Print yours.",
        signs=(
            at(lambda _, s, head, i, j: (head * s.n_k + j) * s.n_q + i),
            at(lambda _, s, head, i, j: (head * s.n_q + j) * s.n_k + i),
        ),
    ),
    Misconception(
        "offset-with-another-length",
        "The offset has n_q where n_k belongs, or n_k where n_q belongs",
        "A row of P has n_k entries, and a head n_q rows. With 3 queries and 4 keys, entry (1, 0) of head 0 has the "
        "offset 4, and head 1 begins at 12. Other lengths give two entries one number where rows overlap.",
        OFFSET,
        question="3 queries and 4 keys: how many entries lie before entry (1, 0) of head 1, counted row by row? Which "
        "number does your offset give it?",
        signs=tuple(_lengths(*of) for of in (("n_k", "n_q"), ("n_k", "n_k"), ("n_q", "n_q"))),
    ),
    Misconception(
        "offset-in-32-bits",
        "The offset has 32 bits",
        "32 bits end at 2**32. In a head with 65,536 queries and keys there are so many entries, so the entries of "
        "head 1 get the numbers of head 0 again. This launch has a head that begins beyond 2**32.",
        OFFSET + " Convert the head: tl.program_id(1).to(tl.int64).",
        question="65,536 queries and as many keys: what is the offset of the first entry of head 1, and how many bits "
        "does it need? Which type has each part of yours?",
        signs=(with_factors(in_32_bits),),
    ),
    Misconception(
        "seed-ignored",
        "The seed is not the one that was given",
        "The numbers are those of a seed that stands in your code. Each launch then drops the same entries, in every "
        "layer and at every step of a training.",
        "Pass the argument: tl.rand(seed, offset).",
        question="Two launches get the seeds 7 and 8, and the same tensors. Should their outputs differ? Does yours?",
        signs=tuple(seeded(lambda seed, fixed=fixed: fixed) for fixed in SEEDS),  # type: ignore[misc]
    ),
    Misconception(
        "other-rounds",
        "tl.rand is given a number of rounds",
        "The third argument is how often Philox mixes. With another number of rounds than 10, which is what it does if "
        "you do not ask, all numbers are other ones.",
        "Leave it out: tl.rand(seed, offset).",
        question="What are the two things that an entry's number depends on, by the lesson? What else do you pass?",
        signs=tuple(in_rounds(rounds) for rounds in (6, 7, 8)),
    ),
    Misconception(
        "seed-cut",
        "Only 32 bits of the seed count",
        "A seed may have up to 63 bits, and the lower 32 of them are all that you use. The seeds 5 and 5 + 2**32 then "
        "draw the same mask.",
        "Pass the argument as it is: tl.rand(seed, offset) takes 64 bits.",
        question="Which type has the seed in this launch, and which type has what you pass to tl.rand?",
        signs=(seeded(lambda seed: seed & 0xFFFFFFFF), seeded(lambda seed: int(np.int64(seed).astype(np.int32)))),
    ),
)

KEPT = (
    Misconception(
        "no-dropout",
        "Nothing is dropped",
        "The result is that of attention without dropout: every entry of P counts. In the lesson's example O is 36.88 "
        "and not 43.29.",
        "Multiply P by Z before it meets V. " + Z_IS,
        question="With p of 0.2, how many of 100 entries should not count? Print Zij, or what you have in its place: "
        "how many of them are 0?",
        signs=(from_numbers(lambda r, p: np.ones(r.shape)),),
    ),
    Misconception(
        "kept-not-scaled-up",
        "What is kept is not multiplied by 1 / (1 - p)",
        "Of the weights, p are lost on average, so O is too small by the factor 1 - p. A model that is used without "
        "dropout later would then get larger numbers than in training. In the lesson's example O is 34.63 and not "
        "43.29.",
        Z_IS,
        question="With p of 0.2, and all values equal to 10: what is O on average over all masks, with your kernel? "
        "What would it be without dropout?",
        signs=(from_numbers(lambda r, p: np.greater_equal(r, p) * 1.0),),
    ),
    *(
        Misconception(
            "scaled-by-another-factor",
            f"What is kept is {what}",
            f"{why} In the lesson's example O is {o} and not 43.29.",
            Z_IS,
            question="With p of 0.2, 80 of 100 equal weights are kept on average. By which factor must they grow to "
            "weigh as much as all 100, and what is yours?",
            signs=(from_numbers(lambda r, p, factor=factor: np.greater_equal(r, p) * factor(p)),),  # type: ignore[misc]
        )
        for what, why, o, factor in (
            (
                "multiplied by 1 - p",
                "What is left is made smaller once more: with p of 0.2, it counts 0.8 times, where it should count "
                "1 / 0.8 = 1.25 times.",
                "27.71",
                lambda p: 1 - p,
            ),
            (
                "divided by p",
                "A share of 1 - p is kept, so that is what to divide by. With p of 0.2 you divide by 0.2 instead of "
                "0.8; with p of 0, by 0.",
                "173.16",
                lambda p: 1 / p if p else np.inf,
            ),
            (
                "divided by 1 - p twice",
                "One division makes up for what was dropped. With p of 0.2, two of them give 1.5625 instead of 1.25.",
                "54.11",
                lambda p: 1 / (1 - p) ** 2,
            ),
        )
    ),
    Misconception(
        "mask-inverted",
        "What should be dropped is kept",
        "p is the probability that an entry is dropped, and your kernel keeps the entries whose number is below p. "
        "With p of 0.1, it keeps one entry of ten. In the lesson's example only the second key is left.",
        Z_IS,
        question="With p of 0.1, how many of 100 entries should be kept? How many numbers from 0 to 1 are below 0.1?",
        signs=(
            from_numbers(lambda r, p: scaled(np.less(r, p), p)),
            from_numbers(lambda r, p: np.less(r, p) * 1.0),
        ),
    ),
    Misconception(
        "p-taken-for-what-is-kept",
        "p is taken for the probability that an entry is kept",
        "With p of 0.1 one entry of ten is kept, and multiplied by 10. It should be nine of ten, multiplied by "
        "1 / 0.9. With p of 0 nothing is left, where dropout should change nothing.",
        Z_IS,
        question="What should a launch with p of 0 compute, and what does yours?",
        signs=(
            from_numbers(lambda r, p: np.less(r, p) * (1 / p if p else np.inf)),
            from_numbers(lambda r, p: np.greater_equal(r, 1 - p) * (1 / p if p else np.inf)),
            from_numbers(lambda r, p: np.greater_equal(r, 1 - p) / (1 - p)),
        ),
    ),
    Misconception(
        "kept-from-the-other-end",
        "Other entries are kept, as many of them",
        "You keep the numbers below 1 - p. These are as many as those from p on, but other ones: of the numbers 0.05 "
        "and 0.95, with p of 0.1, the second should be kept, and you keep the first.",
        Z_IS,
        question="With p of 0.1, which of the numbers 0.05 and 0.95 should be kept? Which does your comparison keep?",
        signs=(from_numbers(lambda r, p: scaled(np.less(r, np.float32(1) - np.float32(p)), p)),),
    ),
    Misconception(
        "kept-above-p-only",
        "An entry whose number is just p is dropped",
        "Kept is what is at least p. A number equals p once in some billion, and in this launch p is such a number. "
        "The two passes must agree in this, too.",
        "Compare with >=, not with >.",
        question="p of this launch is the number of one of its entries. What should become of it, and what does your "
        "comparison say?",
        signs=(from_numbers(lambda r, p: scaled(np.greater(r, p), p)),),
    ),
)

FORWARD = (
    Misconception(
        "dropout-in-the-normaliser",
        "The normaliser lacks what was dropped",
        "l sums all exponentials, before any is dropped. Yours sums only those that are kept: the weights that are "
        "left sum to 1 again, as if dropped keys had never been there. In the lesson's example O is 39.02 or, scaled "
        "up, 48.77, and not 43.29.",
        "Sum first, li = alpha * li + tl.sum(Pij, axis=1), and multiply by Zij only what meets V.",
        question="In the lesson's example, what do the four exponentials sum to, and what do those of the kept keys? "
        "Which of the two is in your l?",
        signs=(
            from_exponentials(lambda case, e, z: (e * z, (e * z).sum(axis=-1, keepdims=True))),
            from_exponentials(_only_kept),
            from_exponentials(_kept_and_scaled),
        ),
    ),
    Misconception(
        "dropout-on-the-scores",
        "Scores are dropped, and not weights",
        "A score of 0 is no weight of 0: its exponential is 1. Where the other scores are 1 3 2 5, a dropped key still "
        "has a part in the normaliser and in O. Scores that are multiplied make the softmax sharper as well.",
        "Take the exponentials of the scores as they are, and multiply Pij by Zij.",
        question="What is the exponential of a score of 0? And what must a dropped entry add to O?",
        signs=(
            _of_scores(lambda case: scores(case) * factors(case)),
            _of_scores(lambda case: np.where(factors(case) > 0, scores(case), 0.0)),
        ),
    ),
    Misconception(
        "lse-of-what-is-kept",
        "LSE lacks what was dropped",
        "O is right, and LSE is not that of the softmax. The backward pass computes P from it, as exp(S - LSE), and "
        "needs P before dropout. In the lesson's example LSE is 5.185.",
        "LSE = mi + tl.log(li), where li sums Pij before dropout.",
        question="The backward pass drops entries of P by itself. Which P must it start from, and which P does your "
        "LSE give?",
        signs=(_lse_is("scaled"), _lse_is("plain")),
    ),
    Misconception(
        "dropout-on-the-output",
        "Entries of O are dropped, and not of P",
        "Dropout here means that a query does not see some keys. You drop numbers of O, after all keys were added up.",
        "Multiply Pij by Zij before the product with Vj.",
        question="P has a row of n_k entries for each query, and O one of D numbers. Which of the two has an entry for "
        "each pair of a query and a key?",
        signs=(Writes(dropped_output),),
    ),
)

BACKWARD = (
    Misconception(
        "dv-without-mask",
        "dV is computed with P, and not with what was kept of it",
        "V met P times Z in the forward pass, so dV = (P times Z)^T dO. Yours also has the entries that were dropped, "
        "through which V had no part in O. In the lesson's example dV is 0.5 and 1.5, and not 0.625 and 0.",
        "dVj += tl.dot(tl.trans((Pij * Zij).to(dOi.dtype)), dOi).",
        question="If the only query that sees a key drops it, how much does O change with that key's value? What does "
        "your dV say?",
        signs=(from_parts(lambda p, z, raw, delta: (p, p * (z * raw - delta))),),
    ),
    Misconception(
        "dp-without-mask",
        "dP lacks the mask",
        "A weight that was dropped had no part in O, so nothing comes back to it: dP is Z times dO V^T. In the "
        "lesson's example it is 25 and 0, and yours is 20 and 40.",
        "dPij = Zij * tl.dot(dOi, tl.trans(Vj)).",
        question="If a weight that is dropped grows a little, by how much does O change? What does your dP say of it?",
        signs=(from_parts(lambda p, z, raw, delta: (p * z, p * (raw - delta))),),
    ),
    Misconception(
        "delta-dropped-too",
        "delta is dropped along with dP",
        "Where a weight was dropped, dP is 0, but dS is not: the score is still in the normaliser, so dS is P times "
        "(0 - delta). In the lesson's example the second key has -4.69, and yours is 0; a row of dS must sum to 0.",
        "dSij = Pij * (dPij - delta_i[:, None]), where Zij is in dPij alone.",
        question="What do the two numbers of dS in the lesson's example sum to, and what do yours? If the score of a "
        "dropped key grows, what becomes of the other weights?",
        signs=(from_parts(lambda p, z, raw, delta: (p * z, p * z * (raw - delta))),),
    ),
    Misconception(
        "dropped-p-in-ds",
        "dS is computed with the P that was dropped",
        "The P in dS is that of the softmax, all of it. Dropped entries of P make dS 0 there, and the others are "
        "scaled up twice. In the lesson's example dS is 4.69 and -4.69, and yours is 5.86 and 0.",
        "dSij = Pij * (dPij - delta_i[:, None]): Pij before dropout. Keep what meets dO under another name.",
        question="dS follows from the derivative of a softmax. Does the softmax know of dropout? Which P do you have "
        "at that line?",
        signs=(from_parts(lambda p, z, raw, delta: (p * z, p * z * (z * raw - delta))),),
    ),
    *(
        Misconception(
            "kept-not-scaled-up",
            f"{what} is not multiplied by 1 / (1 - p)",
            f"The forward pass multiplied what it kept by 1 / (1 - p), and the gradient has the same factor. {numbers}",
            Z_IS,
            question="In the forward pass a value meets P times Z. If the value grows by 1, by how much does O grow, "
            "with P of .25 and p of 0.2?",
            signs=(from_parts(formula),),
        )
        for what, numbers, formula in (
            (
                "dV",
                "In the lesson's example dV is 0.625 for the first key, and yours is 0.5.",
                lambda p, z, raw, delta: (np.where(z > 0, p, 0.0), p * (z * raw - delta)),
            ),
            (
                "dP",
                "In the lesson's example dP is 25 for the first key, and yours is 20.",
                lambda p, z, raw, delta: (p * z, p * (np.where(z > 0, raw, 0.0) - delta)),
            ),
        )
    ),
    Misconception(
        "loop-to-another-end",
        "The loop over queries ends at n_k, and not at n_q",
        "It walks over queries, and n_k counts keys. With 40 queries and 20 keys in tiles of 16, it ends after query "
        "31. Where there are more keys than queries, it walks past the last query.",
        "Without a causal mask the loop over queries is range(0, n_q, Br).",
        question="40 queries, 20 keys, tiles of 16: how many tiles of queries are there, and how many does your loop "
        "visit?",
        signs=(queries_left_out(lambda case: -(-shape_of(case).n_k // shape_of(case).Br) * shape_of(case).Br),),
    ),
    Misconception(
        "whole-tiles-only",
        "The last, partly filled tile of queries is left out",
        "The loop ends with the last whole tile. Of 40 queries in tiles of 16, queries 32 to 39 are never looked at.",
        "Let it run to n_q: range(0, n_q, Br).",
        question="40 queries in tiles of 16: how many tiles are there, and how many of them does your loop visit?",
        signs=(queries_left_out(lambda case: shape_of(case).n_q // shape_of(case).Br * shape_of(case).Br),),
    ),
    Misconception(
        "causal-loop",
        "The loop over queries begins as if attention were causal",
        "Without a causal mask every query sees every key. Puzzle 7's loop begins at the first query that sees a key "
        "of the tile, so with as many queries as keys the tile of keys from 16 on is never shown to queries 0 to 15.",
        "Begin at 0: range(0, n_q, Br).",
        question="Which is the first query that sees key 16 if nothing is hidden, and at which one does your loop "
        "begin?",
        signs=(as_if_causal(lambda start, offset, Br, Bc: max(0, start - offset) // Br * Br),),
    ),
    Misconception(
        "causal-mask",
        "Later keys are hidden as if attention were causal",
        "Puzzle 7's mask is still there. Here every query sees every key: with 16 queries and 16 keys, only query 15 "
        "has anything to do with key 15 in your kernel, and all 16 should.",
        "Leave the comparison of keys with queries out.",
        question="With 16 queries and 16 keys, and p of 0: how many queries see key 15? How many does your mask let?",
        signs=(as_if_causal(None),),
    ),
)
DROPOUT = (*KEPT, *POSITIONS, *FORWARD, *BACKWARD)
