"""Wrong ideas about the gradient of a bias that all heads share.

Numbers are those of the lesson: one query and two keys with the bias 0 and 1.0986. Head 0 has P .25 .75, dP 20 40 and
delta 35; head 1 has P .5 .5, dP 8 4 and delta 6. So dS is -3.75 3.75 and 1 -1, and dB is -2.75 2.75.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.backward import Gradients
from checker.catalog.attention.backward_models import delta_of, p_of
from checker.catalog.attention.bias_models import (
    Address,
    Lanes,
    gradient_is,
    gradient_with_p,
    in_tile,
    of_head_0,
    reaching,
    right_address,
    sum_in_half,
    turned,
)
from checker.catalog.attention.launch import shape_of, wide
from checker.catalog.attention.mistakes import LOG2_E, Q_K
from checker.catalog.attention.reference import bias, scaled_products, scores, sees
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Moves, Part, Reaches, Unwritten
from checker.course.verdict import Traffic

_DS = "dS is Pij * (dPij - delta_i[:, None]), and dB is the sum of it over the heads."
_SUM = "Start dBij at zero before the loop over heads, and add in each: dBij += Pij * (dPij - delta_i[:, None])."


def _scale(case: Case) -> float:
    return float(case.scalars["scale"])


def _base_two(case: Case, factor: float) -> Array:
    """P of exp2, with a factor on the scores only."""
    with np.errstate(all="ignore"):
        return exp32((factor * scores(case) - wide(case, "lse")[..., None]) * np.log(2))


def _in_each_head(case: Case, moved: Mapping[str, Traffic]) -> bool:
    heads = shape_of(case).heads
    return (
        heads > 1 and "dbias_ptr" in moved and moved["bias_ptr"].loads == heads * case.tensors["bias_ptr"].values.size
    )


def _divided_in_the_loop(case: Case, g: Gradients) -> Array:
    total = np.zeros(g.ds.shape[1:])
    for ds in g.ds:
        total = (total + ds) / len(g.ds)
    return total


def _left_by_exchanged_ids(case: Case) -> dict[str, Array]:
    """Tiles of dB that no program has for its own which takes the axes of the grid for one another."""
    if "dbias_ptr" not in case.tensors:
        return {}
    s = shape_of(case)
    queries, keys = np.ogrid[: s.n_q, : s.n_k]
    return {"dbias_ptr": (queries // s.Br >= s.tc) | (keys // s.Bc >= s.tr)}


def _rows_of_n_q(case: Case, head: Array, query: Array, key: Array) -> Array:
    return query * shape_of(case).n_q + key


def _left_by_rows_of_n_q(case: Case) -> dict[str, Array]:
    """What is left of dB by rows that begin n_q apart, where they overlap."""
    if "dbias_ptr" not in case.tensors:
        return {}
    s = shape_of(case)
    left = np.ones(s.n_q * s.n_k, bool)
    if s.n_q <= s.n_k:
        left[_rows_of_n_q(case, np.zeros(1), *np.ogrid[: s.n_q, : s.n_k])] = False
    return {"dbias_ptr": left.reshape(s.n_q, s.n_k)}


def _storing(address: Address = right_address, lanes: Lanes = in_tile) -> Reaches:
    return reaching(address, lanes, "dbias_ptr", stores=True)


def _dense(case: Case, head: Array, query: Array, key: Array) -> Array:
    return query * shape_of(case).n_k + key


BIAS_GRADIENT = (
    *(
        Misconception(
            "dbias-scaled",
            f"The gradient of the bias was {what} the scale",
            "S is scale * Q Kᵀ + B: if a number of the bias grows by 1, so does the score. The scale stands in dQ and "
            f"dK, because Q and K meet it on their way to S, and the bias does not. With a scale of 0.25, the lesson's "
            f"dB of -2.75 becomes {became}.",
            "Store dBij as it is, without a factor.",
            question="Let scale be 0.25. If a number of the bias grows by 1, by how much does its score grow? And if "
            "an element of Q grows by 1, where K has a 1?",
            signs=(gradient_is(lambda case, g, power=power: _scale(case) ** power * g.ds.sum(axis=0)),),  # type: ignore[misc]
        )
        for what, became, power in (("multiplied by", "-0.69", 1), ("divided by", "-11", -1))
    ),
    *(
        Misconception(
            "dbias-of-one-head",
            f"Only the {which} head counts in the gradient of the bias",
            "All heads use the same bias, so each of them adds to its gradient. In the lesson's example head 0 gives "
            "-3.75 3.75 and head 1 gives 1 -1. Yours is that of one of them, and dB is -2.75 2.75.",
            _SUM,
            question="Change a number of the bias: in how many heads does a score change? And of how many heads is "
            "the dS that you store?",
            signs=(gradient_is(lambda case, g, at=at: g.ds[at]),),  # type: ignore[misc]
        )
        for which, at in (("last", -1), ("first", 0))
    ),
    Misconception(
        "dbias-mean",
        "The gradient of the bias is a mean over the heads",
        "You divided by the number of heads. A change of the bias reaches the result through each head, and what these "
        "contribute adds up: -3.75 and 1 make -2.75 in the lesson's example, and not -1.375.",
        "Store the sum as it is.",
        question="If a model had each head twice, would a change of the bias change the loss as much as before, or "
        "twice as much?",
        signs=(gradient_is(lambda case, g: g.ds.mean(axis=0)),),
    ),
    Misconception(
        "dbias-mean",
        "Each head's part of the gradient is the mean of all before it",
        "The sum is divided in the loop, so early heads are divided again and again.",
        "Add in the loop, and store the sum as it is.",
        question="With three heads, how often is what head 0 has added divided, and how often what head 2 has added?",
        signs=(gradient_is(_divided_in_the_loop),),
    ),
    *(
        Misconception(
            id,
            title,
            explanation,
            hint,
            question=question,
            signs=(gradient_is(lambda case, g, ds=ds: ds(case, g).sum(axis=0)).at(Part.DS),),  # type: ignore[misc]
        )
        for id, title, explanation, question, hint, ds in (
            (
                "delta-missing",
                "delta is missing in dS",
                "With P * dP alone, head 0 of the lesson's example gives 5 and 30, and not -3.75 and 3.75. A row of dS "
                "must sum to 0, because a softmax stays the same when all scores of a query grow by the same number.",
                "What does a row of your dS sum to with p of .25 and .75, and dp of 20 and 40? What must it sum to, "
                "and which number per query makes it so?",
                _DS,
                lambda case, g: g.p * g.dp,
            ),
            (
                "delta-added",
                "delta is added to dP",
                "Head 0 of the lesson's example gives .25 * (20 + 35) and .75 * (40 + 35), which sum to 70. A row of "
                "dS must sum to 0, because a softmax stays the same when all scores of a query grow by the same "
                "number.",
                "With p of .25 and .75, dp of 20 and 40, and delta of 35, what do the two numbers of your dS sum to? "
                "What must they sum to?",
                _DS,
                lambda case, g: g.p * (g.dp + delta_of(case)),
            ),
            (
                "delta-outside-the-product",
                "delta is subtracted from the product",
                "dS is P * dP - delta here: 5 - 35 and 30 - 35 in head 0 of the lesson's example, which sum to -35. A "
                "row of dS must sum to 0, and delta is as large for a key that hardly counts as for any other.",
                "With p of .25 and .75, dp of 20 and 40, and delta of 35, what do the two numbers of your dS sum to? "
                "What is multiplied by p in the lesson's formula?",
                _DS,
                lambda case, g: g.p * g.dp - delta_of(case),
            ),
            (
                "ds-without-p",
                "dS lacks the factor P",
                "dS is dP - delta here. Head 0 of the lesson's example gives -15 and 5, and not -3.75 and 3.75: a key "
                "that counts little passes on as much as one that counts a lot.",
                "Let the weight of a key be 0. How much does O change when its score changes a little? What does your "
                "dS say of it?",
                _DS,
                lambda case, g: g.dp - delta_of(case),
            ),
            (
                "dbias-sign",
                "The gradient of the bias has the wrong sign",
                "A larger bias makes a larger score, so dB has the sign of dS. In the lesson's example yours is "
                "2.75 -2.75, and not -2.75 2.75.",
                "With dp of 20 and delta of 35, is dP - delta positive or negative? And in your kernel?",
                _DS,
                lambda case, g: -g.ds,
            ),
        )
    ),
    Misconception(
        "scores-not-scaled",
        "The scores are not scaled",
        "P must be the forward pass's P, and LSE was taken from scaled scores. With a product of 8, a scale of 0.25 "
        "and a bias of 1, S is 2 + 1, and yours is 8 + 1: P comes out e^6 times, or 403 times, too large.",
        "Sij = scale * tl.dot(Qi, tl.trans(Kj)) + Bij.",
        question="In the row of a query, the entries of P sum to 1. What do yours sum to if you print them? From which "
        "scores was LSE computed?",
        signs=(gradient_with_p(lambda case: scaled_products(case) / _scale(case) + bias(case)).at(Q_K),),
    ),
    Misconception(
        "lse-missing",
        "P is exp(S), not exp(S - LSE)",
        "LSE holds the maximum and the normaliser of the forward pass. Head 0 of the lesson's example has the scores 0 "
        "and 1.0986: you get the weights 1 and 3 instead of .25 and .75. From a score of 89 on, exp overflows.",
        "Pij = tl.exp(Sij - LSEi[:, None]).",
        question="With scores 0 and 1.0986, and LSE 1.3863, what do your two weights sum to? Which input have you not "
        "used?",
        signs=(
            gradient_is(
                lambda case, g: (p_of(case, scores(case), 0.0, sees(case)) * (g.dp - delta_of(case))).sum(axis=0)
            ).at(Part.EXPONENTIAL),
        ),
    ),
    *(
        Misconception(
            "base-two",
            title,
            explanation,
            hint,
            question=question,
            signs=(
                gradient_is(
                    lambda case, g, factor=factor: (_base_two(case, factor) * (g.dp - delta_of(case))).sum(axis=0)  # type: ignore[misc]
                ).at(Part.EXPONENTIAL),
            ),
        )
        for title, explanation, question, hint, factor in (
            (
                "2**x was used where e**x is asked for",
                "LSE is a natural logarithm. With scores 0 and 1.0986, LSE is 1.3863, and powers of e give the weights "
                ".25 and .75. Powers of 2 give .38 and .82, which do not sum to 1.",
                "Take the scores 0 and 1.0986, and LSE 1.3863. Which two weights does your exponential make of them, "
                "and what do they sum to?",
                "Use tl.exp; or multiply S and LSE by log2(e) = 1.4426950408889634 before tl.exp2.",
                1.0,
            ),
            (
                "log2(e) was folded into S, but not into LSE",
                "A power of 2 needs the factor log2(e) on its whole exponent. With scores 0 and 1.0986, and LSE "
                "1.3863, you get the weights .38 and 1.15 instead of .25 and .75.",
                "Which numbers are in the exponent, and which of them did you multiply by log2(e)? Is LSE a logarithm "
                "to base 2 or to base e?",
                "Multiply LSE by log2(e) = 1.4426950408889634 as well.",
                LOG2_E,
            ),
        )
    ),
    Misconception(
        "dbias-transposed",
        "Tiles of the gradient are transposed",
        "Rows of dB are queries, and its columns keys, as in the bias. With square tiles the shapes fit the other way "
        "round as well, and the gradient of query 0 and key 3 is written for query 3 and key 0.",
        "Store at dbias_ptr + queries[:, None] * n_k + keys[None, :], with the queries 64 bits wide.",
        question="Entry (0, 3) of your dBij: which query and which key does it belong to, and where is it stored?",
        signs=(gradient_is(turned),),
    ),
    Misconception(
        "bias-in-the-loop",
        "The bias is loaded again for each head",
        "All heads share the bias, and a program's tile of it does not change from head to head. With 128 heads it is "
        "loaded 128 times, where once is enough.",
        "Load Bij before the loop over heads.",
        question="Which of the addresses in your loop change with the head, and which do not?",
        signs=(Moves(_in_each_head),),
    ),
    Misconception(
        "accumulator-in-half",
        "The gradient is accumulated in fp16",
        "dB is a sum over all heads, and here each step of it is rounded to fp16's 11 bits. From 2048 on fp16 has no "
        "odd numbers, so 2048 + 1 stays 2048.",
        "Accumulate in fp32, tl.zeros((Br, Bc), tl.float32).",
        question="Which type has your running sum while the loop runs? What is 2048 + 1 in that type?",
        signs=(gradient_is(sum_in_half),),
    ),
    *(
        Misconception(
            "head-not-advanced",
            f"{what} of head 0 in every iteration",
            "The loop goes over the heads, but these addresses do not change with it. Each head adds something else to "
            "dB, because each has its own Q, K, V, dO, LSE and delta.",
            "Add the head to each address: head * q_head_stride, head * k_head_stride, head * n_q.",
            question="Print Qi, Kj and LSEi in each iteration of your loop. Which of them should change, and which do?",
            signs=(gradient_is(lambda case, g, names=names: of_head_0(case, names)),),  # type: ignore[misc]
        )
        for what, names in (
            ("Everything is that", "qkvold"),
            ("K and V are those", "kv"),
            ("Q and dO are those", "qo"),
            ("LSE and delta are those", "ld"),
            ("LSE is that", "l"),
            ("delta is that", "d"),
            ("V is that", "v"),
            ("dO is that", "o"),
            ("K is that", "k"),
            ("Q is that", "q"),
        )
    ),
    Misconception(
        "program-ids-exchanged",
        "The two axes of the grid are exchanged",
        "The program takes its number along the first axis for the tile of keys, and along the second one for the tile "
        "of queries. With 3 tiles of queries and 2 of keys, program (2, 1) then looks for a third tile of keys.",
        "tl.program_id(0) is the tile of queries, tl.program_id(1) the tile of keys.",
        question="3 tiles of queries and 2 of keys make a grid of 3 x 2. Which tile is program (2, 1), and which does "
        "your kernel take it for?",
        signs=(Unwritten(_left_by_exchanged_ids), Unwritten(_left_by_exchanged_ids, shared=True)),
    ),
    Misconception(
        "dbias-rows",
        "The gradient is stored with the strides of the bias",
        "dB is dense, whatever the bias is: its rows have n_k numbers and follow one another without a gap. Rows of "
        "the bias may lie further apart, or the other way round.",
        "Store at dbias_ptr + queries[:, None] * n_k + keys[None, :], with the queries 64 bits wide.",
        question="The bias has rows of 30 numbers that lie 40 apart. At which element does row 2 of dB begin, and "
        "where does your store put it?",
        signs=(_storing(),),
    ),
    Misconception(
        "dbias-rows",
        "Rows of the gradient are stored n_q apart",
        "A row of dB has a number for each key, so the next one begins n_k numbers later. With 20 queries and 30 keys, "
        "row 2 begins at 60, and your address is 40.",
        "Store at dbias_ptr + queries[:, None] * n_k + keys[None, :], with the queries 64 bits wide.",
        question="20 queries and 30 keys: how many numbers has a row of dB, and at which element does row 2 begin?",
        signs=(_storing(_rows_of_n_q), Unwritten(_left_by_rows_of_n_q), Unwritten(_left_by_rows_of_n_q, shared=True)),
    ),
    *(
        Misconception(
            "store-without-mask",
            title,
            "The last tile is not full, and the store writes more of it than there is. Of 23 queries in tiles of 16, "
            "the last tile has 7, and of 40 keys it has 8. What lies past them is the next row, or belongs to somebody "
            "else.",
            "Store with the mask of the bias: (queries[:, None] < n_q) & (keys[None, :] < n_k).",
            question="23 queries and 40 keys in tiles of 16: which rows and columns of the last tile exist, and which "
            "does your store write?",
            signs=(_storing(_dense, lanes),),
        )
        for title, lanes in (
            ("More of the gradient is written than there is", lambda case, q, k: (q >= 0) & (k >= 0)),
            ("Rows past the last query are written", lambda case, q, k: (q >= 0) & (k < shape_of(case).n_k)),
            ("Columns past the last key are written", lambda case, q, k: (q < shape_of(case).n_q) & (k >= 0)),
        )
    ),
)
