"""Wrong ideas about a bias on the scores: whether it is scaled, where it is added, and which of its numbers are loaded.

Numbers are those of the lesson: the scores 1 3 | 2 5 of one query, the values 10 20 | 30 40, and the bias 2 0 | 1 -2,
which makes all scores 3 and O 25.
"""

from __future__ import annotations

import numpy as np

from checker.catalog.attention.bias_models import (
    Address,
    Lanes,
    added_after,
    come_back,
    from_addresses,
    in_place,
    lse_without_bias,
    merged,
    reaching,
    right_address,
    seen_lanes,
    strides_of,
    with_bias,
    with_scores,
)
from checker.catalog.attention.bounds import transposed
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.mistakes import Q_K, rounded
from checker.catalog.attention.reference import bias, scaled_products
from checker.catalog.softmax.mistakes import exp32
from checker.course.case import Array, Case
from checker.course.misconception import Access, Misconception, Writes

BIAS = Access("bias_ptr")
LN_2 = float(np.log(2))
_ADDED = "Add it to the scaled scores, before anything is hidden: Sij = scale * tl.dot(Qi, tl.trans(Kj)) + Bij."
_ADDRESS = (
    "bias_ptr + head * bias_head_stride, and in each tile queries[:, None] * bias_row_stride + "
    "keys[None, :] * bias_col_stride."
)


def _scale(case: Case) -> float:
    return float(case.scalars["scale"])


def _contiguous(case: Case, head: Array, query: Array, key: Array) -> Array:
    s = shape_of(case)
    return np.asarray((head * s.n_q + query) * s.n_k + key)


def _exchanged(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, of_row, of_column = strides_of(case)
    return np.asarray(head * of_head + query * of_column + key * of_row)


def _columns_side_by_side(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, of_row, _ = strides_of(case)
    return np.asarray(head * of_head + query * of_row + key)


def _rows_dense(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, _, of_column = strides_of(case)
    return np.asarray(head * of_head + query * shape_of(case).n_k + key * of_column)


def _as_q(case: Case, head: Array, query: Array, key: Array) -> Array:
    of_head, of_row = int(case.scalars["q_head_stride"]), int(case.scalars["q_row_stride"])
    return np.asarray(head * of_head + query * of_row + key)


def _of_head_0(case: Case, head: Array, query: Array, key: Array) -> Array:
    return right_address(case, 0 * head, query, key)


def _first_keys(case: Case, head: Array, query: Array, key: Array) -> Array:
    return right_address(case, head, query, key % shape_of(case).Bc)


def _first_queries(case: Case, head: Array, query: Array, key: Array) -> Array:
    return right_address(case, head, query % shape_of(case).Br, key)


_UNMASKED: tuple[tuple[str, Lanes], ...] = (
    ("Numbers past the last query and the last key are loaded", lambda case, q, k: (q >= 0) & (k >= 0)),
    ("Numbers past the last query are loaded", lambda case, q, k: (q >= 0) & (k < shape_of(case).n_k)),
    ("Numbers past the last query are loaded", seen_lanes),
    ("Numbers past the last key are loaded", lambda case, q, k: (q < shape_of(case).n_q) & (k >= 0)),
)
_STRIDES: tuple[tuple[str, str, str, Address], ...] = (
    (
        "The row stride and the column stride of the bias are exchanged",
        "Queries are multiplied by bias_col_stride and keys by bias_row_stride. With a row stride of 20 and a column "
        "stride of 1, the bias of query 2 and key 5 lies at 45, and your address is 102.",
        "With a row stride of 20 and a column stride of 1, where does the bias of query 2 and key 5 lie? Which of the "
        "two numbers does each stride belong to?",
        _exchanged,
    ),
    (
        "The bias is read as if it were contiguous",
        "Your addresses are those of a dense tensor of shape (heads, n_q, n_k). A bias may be padded or transposed, or "
        "have one number for all heads, queries or keys: then a stride is 0, and a dense address leads past its end.",
        "A bias has one number for each key, and strides 0, 0 and 1. How many numbers does it hold with 40 keys, and "
        "where does your kernel look for the one of query 2 and key 5?",
        _contiguous,
    ),
    (
        "The columns of the bias are taken to lie side by side",
        "Keys are added without bias_col_stride. In a transposed bias neighbouring keys lie a column apart, and where "
        "all keys share one number, the stride is 0.",
        "With a column stride of 20, how far apart are the biases of key 2 and key 3, and how far in your addresses? "
        "And with a column stride of 0?",
        _columns_side_by_side,
    ),
    (
        "The rows of the bias are taken to follow one another without a gap",
        "Queries are multiplied by n_k, and not by bias_row_stride. Rows of 30 numbers may lie 40 apart, and where all "
        "queries share one row, the stride is 0.",
        "Rows of 30 numbers lie 40 apart: where does row 2 begin, and where does your kernel look for it?",
        _rows_dense,
    ),
    (
        "The bias is addressed with the strides of Q",
        "Q has a row for each query, with a number for each dimension. The bias has strides of its own, of which any "
        "may be 0.",
        "Which three strides does the signature have for the bias, and which ones stand in your address?",
        _as_q,
    ),
)

BIAS_OF_SCORES = (
    Misconception(
        "bias-missing",
        "The bias has no effect",
        "What you computed is scale * Q Kᵀ alone. In the lesson's example these are the scores 1 3 | 2 5, and O is "
        "36.88. With the bias all four scores are 3, and O is 25.",
        _ADDED,
        question="Print Sij in a launch with a bias, and Bij beside it. Which line brings the two together, and which "
        "of them does the exponential see?",
        signs=(
            with_scores(scaled_products),
            Writes(lambda case: with_bias(case, np.zeros(1)) if "dbias_ptr" in case.tensors else {}),
        ),
    ),
    Misconception(
        "bias-scaled",
        "The bias is scaled, too",
        "Your scores are scale * (Q Kᵀ + B). The bias is added as it is: only the product has the scale. With scale ½, "
        "half of the bias 2 0 | 1 -2 arrives, so the lesson's scores become 2 3 | 2.5 4, and O is 32.09 instead of 25.",
        _ADDED,
        question="With scale ½, the lesson's scores 1 3 | 2 5 come from the products 2 6 | 4 10. What does your line "
        "make of the product 10 and the bias -2, and what should it make of them?",
        signs=(
            with_scores(lambda case: scaled_products(case) + _scale(case) * bias(case)).at(Q_K),
            Writes(lambda case: with_bias(case, _scale(case) * bias(case)) if "dbias_ptr" in case.tensors else {}),
        ),
    ),
    Misconception(
        "bias-multiplied",
        "The scores are multiplied by the bias",
        "A bias is a term, not a factor. The lesson's scores 1 3 | 2 5 with the bias 2 0 | 1 -2 become 2 0 | 2 -10 as "
        "products, where sums give 3 3 | 3 3.",
        _ADDED,
        question="A bias of 0 should change nothing. Which score does your kernel make of the score 5 and the bias 0?",
        signs=(with_scores(lambda case: scaled_products(case) * bias(case)).at(Q_K),),
    ),
    Misconception(
        "bias-subtracted",
        "The bias is subtracted",
        "The bias has the wrong sign. The lesson's scores 1 3 | 2 5 with the bias 2 0 | 1 -2 become -1 3 | 1 7, and O "
        "is 39.61 instead of 25.",
        _ADDED,
        question="A key with the bias 2 should count for more than one with the bias 0. Which of the two does your "
        "kernel give the larger score, if the products are alike?",
        signs=(with_scores(lambda case: scaled_products(case) - bias(case)).at(Q_K),),
    ),
    Misconception(
        "bias-twice",
        "The bias is added twice",
        "Your scores are scale * Q Kᵀ + 2 B. The lesson's scores 1 3 | 2 5 with the bias 2 0 | 1 -2 become "
        "5 3 | 4 1, and O is 16.09 instead of 25.",
        _ADDED,
        question="Follow one number of the bias from its load to the exponential. How often is it added?",
        signs=(with_scores(lambda case: scaled_products(case) + 2 * bias(case)),),
    ),
    Misconception(
        "bias-outside-the-exponential",
        "The bias is added to the exponentials",
        "P is exp(S - m) + B. A bias belongs in the exponent: added outside, it can even make a weight negative. In "
        "the lesson's example the last key has the exponential e^(5-5) = 1 and the bias -2, so P is -1 there.",
        _ADDED,
        question="Weights lie between 0 and 1. Print Pij in the lesson's example: which of its entries is negative, "
        "and which line has made it so?",
        signs=(
            merged(lambda s, b: s, lambda s, b, m: exp32(s - m) + b),
            merged(lambda s, b: s, lambda s, b, m: exp32(s - m) + np.where(np.isinf(s), 0.0, b)),
            merged(lambda s, b: s + b, lambda s, b, m: exp32(s + b - m) + b),
        ),
    ),
    Misconception(
        "bias-outside-the-exponential",
        "The bias is added after the softmax",
        "O is the attention without a bias, plus B V. The bias changes the weights inside the softmax, so that they "
        "still sum to 1. In the lesson's example O becomes 36.88 + 2 · 10 + 0 · 20 + 1 · 30 - 2 · 40 = 6.88.",
        _ADDED,
        question="The weights of a query sum to 1. What do the weights sum to that your kernel multiplies with V, if "
        "the bias is 2 for each key?",
        signs=(Writes(added_after),),
    ),
    Misconception(
        "bias-after-the-maximum",
        "The bias is added after the maximum was taken",
        "m is the maximum of scale * Q Kᵀ alone, and the exponent is S - m + B. Where the bias is 200, that is "
        "exp(200), which is infinite in fp32, although all exponents should be at most 0.",
        _ADDED,
        question="The scores 1 and 3 have the bias 200 and 0. Which of the four numbers does your maximum see, and "
        "what is the largest exponent of the two keys?",
        signs=(merged(lambda s, b: s, lambda s, b, m: exp32(s + b - m)),),
    ),
    Misconception(
        "bias-of-head-0",
        "All heads get the bias of the first one",
        "The address of the bias lacks the head. With a head stride of 60, head 2 should begin at 120, and yours "
        "begins at 0. Where heads share a bias, the stride is 0, and nothing is wrong.",
        "Add head * bias_head_stride to bias_ptr.",
        question="With a bias_head_stride of 60, where does the bias of head 2 begin, and where does your kernel look "
        "for it?",
        signs=(Writes(lambda case: with_bias(case, in_place(case)[:1])).at(BIAS),),
    ),
    *(
        Misconception(
            "bias-strides",
            title,
            explanation,
            "Use the three strides that are passed: " + _ADDRESS,
            question=question,
            # Addresses of a denser bias than this one leave it, or they are right.
            signs=from_addresses(address) if address is _exchanged else (reaching(address),),
        )
        for title, explanation, question, address in _STRIDES
    ),
    *(
        Misconception(
            "bias-of-the-first-tile",
            f"The bias is that of the first tile of {what}",
            f"Its addresses count {what} from the beginning of a tile, so every tile gets the numbers of {what} 0 to "
            f"{block} - 1. In the lesson's example {example}.",
            _ADDRESS,
            question=f"Tiles of 16 {what}: which {what} does the second tile have, and which numbers stand in the "
            "address of your load of the bias then?",
            signs=from_addresses(address),
        )
        for what, block, example, address in (
            ("keys", "Bc", "the second tile gets the bias 2 0, and not 1 -2", _first_keys),
            ("queries", "Br", "there is one query, and nothing would be wrong; with more there is", _first_queries),
        )
    ),
    Misconception(
        "bias-transposed",
        "Tiles of the bias are transposed",
        "Rows of Sij are queries, and its columns keys. The tile of the bias has the keys down its rows. With square "
        "tiles the shapes fit all the same, so query 0 with key 3 gets the bias of query 3 with key 0.",
        _ADDRESS,
        question="Entry (0, 3) of Sij belongs to query 0 and key 3. At which offset does its bias lie, and which one "
        "has entry (0, 3) of your Bij?",
        signs=(Writes(lambda case: with_bias(case, transposed(case, in_place(case)))).at(BIAS),),
    ),
    *(
        Misconception(
            "bias-without-mask",
            title,
            "The last tile is not full: of 23 queries in tiles of 16 it has 7, and of 40 keys it has 8. What the bias "
            "would have for the others belongs to somebody else.",
            "Mask both sides: mask=(queries[:, None] < n_q) & (keys[None, :] < n_k), other=0.0.",
            question="23 queries and 40 keys in tiles of 16: which rows and columns of the last tile exist, and which "
            "does the mask of your load of the bias let through?",
            signs=(reaching(lanes=lanes),),
        )
        for title, lanes in _UNMASKED
    ),
    Misconception(
        "bias-in-another-base",
        "The bias lacks the factor log2(e)",
        "exp2 needs log2(e) on its whole exponent, and the bias is part of it. Without the factor a bias of 2 counts "
        "as 2 · 0.693 = 1.39. The lesson's scores become 2.39 3 | 2.69 3.61, and O is 29.43 instead of 25.",
        "Multiply the bias by log2(e) as well, in fp32: Bij.to(tl.float32) * 1.4426950408889634.",
        question="2^(1.4427 · s) is e^s. Of the two terms of s, the product and the bias, which ones did you multiply "
        "by 1.4427?",
        signs=(with_scores(lambda case: scaled_products(case) + LN_2 * bias(case)).at(Q_K),),
    ),
    Misconception(
        "scores-in-half",
        "The bias is added in fp16",
        "fp16 keeps 11 binary digits. A score of 10 is then off by up to 0.004, and its exponential by 0.4 %.",
        "tl.dot gives fp32, and the sum of fp32 and fp16 is fp32: leave the product as it is.",
        question="Which type does the product of Qi and Kj have, and which one has its sum with Bij? Where does it "
        "change?",
        signs=(
            Writes(lambda case: with_bias(case, rounded(scaled_products(case)) - scaled_products(case) + bias(case))),
            with_scores(lambda case: rounded(rounded(scaled_products(case)) + bias(case))).at(Q_K),
        ),
    ),
    Misconception(
        "hidden-keys-come-back",
        "The bias is added to scores that are hidden already",
        "A hidden score that is a large negative number is a number, and the bias still changes it. A query that sees "
        "no key then has the weights of its biases, where O should be 0. A bias of -20,000 makes what should be seen "
        "count less than what is hidden at -10,000.",
        "Hide scores after the bias was added, and with -float('inf'): nothing that is added brings that back.",
        question="A key is hidden with the score -10,000, and another one has the score 1 and the bias -20,000. Which "
        "of the two has the larger exponential in your kernel, and which one should?",
        signs=tuple(Writes(lambda case, hidden=hidden: come_back(case, hidden)) for hidden in (-1e4, -1e5, -1e6, -1e9)),  # type: ignore[misc]
    ),
    Misconception(
        "lse-without-bias",
        "LSE lacks the bias",
        "O is right, but LSE is that of the scores without their bias. The backward pass computes P as exp(S - LSE), "
        "with the bias in S. In the lesson's example LSE is 4.386, and without the bias it would be 5.185: the weights "
        "would then sum to 0.45.",
        "LSE is made of the mi and li that O was divided by: mi + tl.log(li).",
        question="In the lesson's example all four scores are 3 with the bias. What is the logarithm of the sum of "
        "their exponentials, and what is your LSE?",
        signs=(Writes(lse_without_bias),),
    ),
)
