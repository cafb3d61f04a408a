"""Wrong ideas of `merge_kernel`: what a part weighs, what the sum is divided by, LSE, and where parts lie.

Numbers are those of the lesson's example: two parts with O 18.81 and 39.53, and LSE 3.127 and 5.049.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from checker.catalog.attention.mistakes import LOG2_E, rounded
from checker.catalog.attention.tiles import ADDRESSING as OF_TILES
from checker.catalog.softmax.mistakes import exp32
from checker.catalog.split.launch import is_split
from checker.catalog.split.models import (
    merging,
    merging_first,
    merging_some,
    merging_with_lse,
    padded_parts,
    parts_reached,
    regrouped,
    weighed,
)
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Moves, Writes
from checker.course.verdict import Traffic

_WEIGHTS = "weights = tl.exp(LSEs - m), and o = tl.sum(weights[:, None] * Os, axis=0) / tl.sum(weights, axis=0)."
_ROWS = "The row of a part is (part * heads + head) * n_q + query, with heads = tl.num_programs(1)."


def _unweighed(o: Array, divided_by: Array | float) -> Array:
    return np.asarray(o.sum(axis=0) / divided_by)


def _reads_twice(case: Case, moved: Mapping[str, Traffic]) -> bool:
    if is_split(case):
        return False
    often = [moved[name].loads / case.tensors[name].values.size for name in ("lse_part_ptr", "o_part_ptr")]
    return max(often) in (2, 3)


WEIGHTS = (
    Misconception(
        "parts-not-weighed",
        "O is the mean of the parts",
        "All parts count alike, whatever their keys weigh. In the lesson's example that gives (18.81 + 39.53) / 2 = "
        "29.17 instead of 36.88. A split without keys even draws O towards 0.",
        _WEIGHTS,
        question="In the lesson's example, split 0 has 13 % of the whole sum of exponentials. How much does its O "
        "count for in yours?",
        signs=(
            merging(lambda o, lse, case: (_unweighed(o, len(o)), None)),
            merging(lambda o, lse, case: (_unweighed(o, np.isfinite(lse).sum(axis=0)[..., None]), None)),
        ),
    ),
    Misconception(
        "parts-not-weighed",
        "O is the sum of the parts",
        "Each part is an average of its own values already, and here the averages are added. In the lesson's example "
        "that gives 58.33, more than the largest value, 40.",
        _WEIGHTS,
        question="Can an average of 10, 20, 30 and 40 be 58.33? By what must each part be multiplied before they are "
        "added?",
        signs=(merging(lambda o, lse, case: (_unweighed(o, 1.0), None)),),
    ),
    Misconception(
        "only-the-strongest-part",
        "Only the part with the largest LSE counts",
        "O is that of a single split, and what the others have found is lost. In the lesson's example that is 39.53 "
        "instead of 36.88.",
        _WEIGHTS,
        question="In the lesson's example, split 0 has 13 % of the whole sum of exponentials. What becomes of it in "
        "yours?",
        signs=(
            merging(lambda o, lse, case: (np.take_along_axis(o, lse.argmax(axis=0)[None, ..., None], axis=0)[0], None)),
        ),
    ),
    Misconception(
        "weights-without-max",
        "The maximum is not subtracted from the LSEs",
        "The exponential of an LSE above 88.7 is infinite in fp32, and infinity divided by infinity is NaN. That of an "
        "LSE of -200 is 0, and 0 / 0 is NaN. An LSE is about as large as the largest score, and may well be 200.",
        "m = tl.max(LSEs, axis=0), and then tl.exp(LSEs - m).",
        question="Two parts have the LSEs 200 and 202. How do you compute their weights with a pocket calculator that "
        "ends at 10^38?",
        signs=(
            merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: exp32(lse), total=lambda m, l: np.log(l))),
            merging(lambda o, lse, case: (weighed(o, lse, lambda lse, m: exp32(lse))[0], weighed(o, lse)[1])),
        ),
    ),
    Misconception(
        "weights-are-lses",
        "Parts are weighed with their LSEs, not with the exponentials of them",
        "LSE is a logarithm. In the lesson's example 3.127 and 5.049 stand for sums of exponentials of 22.8 and 155.8. "
        "Weighed with the logarithms, O is 31.60 instead of 36.88. An LSE may also be negative, and -inf.",
        _WEIGHTS,
        question="In the lesson's example the second part should weigh 6.8 times as much as the first one. How many "
        "times is it in yours?",
        signs=(
            merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: lse)),
            merging(lambda o, lse, case: (weighed(o, lse, lambda lse, m: lse)[0], weighed(o, lse)[1])),
        ),
    ),
    Misconception(
        "weights-reversed",
        "The weights are exp(m - LSE), not exp(LSE - m)",
        "The part whose keys weigh least counts most. In the lesson's example O is 21.45 instead of 36.88, and where a "
        "part is empty its weight is infinite.",
        "weights = tl.exp(LSEs - m), never above 1.",
        question="Which part of the lesson's example has the larger sum of exponentials, and which one gets the larger "
        "weight in yours?",
        signs=(merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: exp32(m - lse))),),
    ),
    Misconception(
        "base-two",
        "2**s was used where e**s is asked for",
        "The LSEs are natural logarithms. Powers of 2 make the weights too even: in the lesson's example they are 0.26 "
        "and 1 instead of 0.15 and 1, and O is 35.20 instead of 36.88.",
        "Use tl.exp, or multiply LSEs - m by log2(e) = 1.4426950408889634 before tl.exp2.",
        question="An LSE lies 1 below the largest. Should its part weigh 0.5 or 0.37, and which of the two does yours?",
        signs=(
            merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: np.exp2(lse - m))),
            merging(
                lambda o, lse, case: weighed(o, lse, lambda lse, m: np.exp2(lse - m), total=lambda m, l: m + np.log2(l))
            ),
        ),
    ),
    Misconception(
        "not-divided",
        "O is not divided by the sum of the weights",
        "The weights do not sum to 1: in the lesson's example they sum to 1.15, and O is 42.28, more than the largest "
        "value, 40.",
        "o = tl.sum(weights[:, None] * Os, axis=0) / tl.sum(weights, axis=0).",
        question="To what do the weights of the lesson's example sum? By what must a sum with these weights be divided "
        "to be an average?",
        signs=(merging(lambda o, lse, case: weighed(o, lse, divided=lambda o, l: o)),),
    ),
    Misconception(
        "divided-by-the-count",
        "O is divided by the number of splits, not by the sum of the weights",
        "The weights sum to what they sum to, 1.15 in the lesson's example, and not to the number of splits: O is "
        "21.14 instead of 36.88.",
        "o = tl.sum(weights[:, None] * Os, axis=0) / tl.sum(weights, axis=0).",
        question="If a split without keys is added, does O change? Does yours?",
        signs=(
            merging(lambda o, lse, case: weighed(o, lse, divided=lambda x, l: x / len(o))),
            merging(lambda o, lse, case: weighed(o, lse, divided=lambda x, l: x / int(case.constexprs["Bs"]))),
        ),
    ),
    Misconception(
        "divided-twice",
        "O is divided twice by the sum of the weights",
        "The parts get weights that sum to 1 already, and their sum is divided again. In the lesson's example O is "
        "32.17 instead of 36.88.",
        "Divide either the weights or the sum.",
        question="To what do your weights sum when they meet the rows of O? What is left to be divided then?",
        signs=(merging(lambda o, lse, case: weighed(o, lse, divided=lambda o, l: o / l**2)),),
    ),
    Misconception(
        "padding-weighs",
        "Parts that do not exist have a weight",
        "A block has Bs parts, and only the first ones exist. The others were given the LSE 0, which is that of a key "
        "with the score 0. In the lesson's example with Bs = 4 the sum of the weights is 1.159 instead of 1.146, and O "
        "is 36.47 instead of 36.88. Where all LSEs are -200, O is 0.",
        "Load with other=-float('inf'): the weight of such a part is exp(-inf) = 0.",
        question="3 splits, Bs = 4: which LSE does the fourth lane hold, and what is its weight?",
        signs=(merging(lambda o, lse, case: weighed(*padded_parts(o, lse, case))),),
    ),
    Misconception(
        "padding-weighs",
        "Parts that do not exist take part in the maximum",
        "Their LSE was loaded as 0, so m is never below 0. Where all LSEs are -200, each weight is exp(-200), which is "
        "0 in fp32, and O is 0 / 0.",
        "Load with other=-float('inf').",
        question="3 splits with the LSEs -200, -201 and -205, Bs = 4: what is the maximum, and which number does your "
        "m hold?",
        signs=(
            merging(
                lambda o, lse, case: (
                    weighed(o, lse, m=padded_parts(o, lse, case)[1].max(axis=0))
                    if len(lse) < int(case.constexprs["Bs"])
                    else weighed(o, lse)
                )
            ),
        ),
    ),
    Misconception(
        "maximum-starts-too-high",
        "The maximum of the LSEs does not start at -inf",
        "Where all LSEs are far below the number that m starts at, m stays there. With a start of 0 and LSEs near "
        "-200, the weights are 0 in fp32, and O is 0 / 0.",
        "It starts at -inf, which every LSE is above: m = tl.max(LSEs, axis=0) needs no start.",
        question="All LSEs are -200. What is their maximum, and what is m in your kernel?",
        signs=(merging(lambda o, lse, case: weighed(o, lse, m=np.maximum(lse.max(axis=0), 0.0))),),
    ),
    Misconception(
        "one-maximum-for-all",
        "The maximum is that of another part than the largest",
        "Relative to the first LSE, the weight of a part whose LSE is 150 larger is infinite in fp32. And if the first "
        "split is empty, its LSE is -inf, and -inf - (-inf) is NaN.",
        "m = tl.max(LSEs, axis=0).",
        question="Three parts have the LSEs 0, 150 and -inf. Relative to which of them can all three weights be "
        "computed?",
        signs=(
            merging(lambda o, lse, case: weighed(o, lse, m=lse[0])),
            merging(lambda o, lse, case: weighed(o, lse, m=lse[-1])),
            merging(lambda o, lse, case: weighed(o, lse, m=lse.min(axis=0))),
        ),
    ),
    *(
        Misconception(
            "parts-left-out",
            f"{what} left out",
            "The keys of a part that is left out count for nothing. With 3 splits, a third of the context is not "
            "looked at.",
            "All parts from 0 to splits - 1 count: parts < splits.",
            question="3 splits, Bs = 4: which parts exist, and what does your mask say of each of them?",
            signs=(merging_some(of),),
        )
        for what, of in (
            ("The last part is", slice(None, -1)),
            ("The first part is", slice(1, None)),
            ("All parts but the first are", slice(None, 1)),
            ("All parts but the last are", slice(-1, None)),
        )
    ),
    Misconception(
        "parts-in-half",
        "Parts are rounded to fp16",
        "Parts are fp32. fp16 keeps 11 binary digits of each, and what is lost here is in O, whose sum is made of "
        "them.",
        "Leave Os and the weights as they are loaded: tl.store converts O at the end.",
        question="Which type do Os have when they are loaded, and which type do they have when they are added up?",
        signs=(
            merging(lambda o, lse, case: weighed(rounded(o), lse)),
            merging(lambda o, lse, case: weighed(o, lse, lambda lse, m: rounded(exp32(lse - m)))),
        ),
    ),
)

_LSE_IS = "LSE = m + tl.log(l), with l = tl.sum(weights, axis=0)."
LSE = tuple(
    Misconception(
        id,
        title,
        explanation,
        _LSE_IS,
        question=question,
        signs=tuple(merging_with_lse(total) for total in totals),
    )
    for id, title, explanation, question, totals in (
        (
            "merged-lse-is-the-max",
            "LSE is the largest of the parts'",
            "The other parts add to the sum of exponentials as well. Two parts with the LSE 3 each stand for a sum of "
            "2 * e^3, and its logarithm is 3 + log(2) = 3.69.",
            "Two parts have the LSE 3 each. Is the sum of all exponentials larger than that of one part, and is your "
            "LSE?",
            (lambda lse, m, l: m,),
        ),
        (
            "merged-lse-is-a-sum",
            "LSE is the sum of the parts' LSEs",
            "To add logarithms is to multiply what they stand for. In the lesson's example 3.127 + 5.049 = 8.176 "
            "stands for 22.8 * 155.8, and not for 22.8 + 155.8.",
            "3.127 is the logarithm of 22.8, and 5.049 that of 155.8. What is the logarithm of their sum?",
            (lambda lse, m, l: np.where(np.isfinite(lse), lse, 0.0).sum(axis=0), lambda lse, m, l: lse.sum(axis=0)),
        ),
        (
            "merged-lse-is-a-mean",
            "LSE is a mean of the parts' LSEs",
            "The sum of all exponentials is at least as large as that of any part, and so is its logarithm. In the "
            "lesson's example the mean is 4.09, and the larger part alone has 5.049.",
            "Can the logarithm of a sum of exponentials be smaller than that of one of the terms?",
            (
                lambda lse, m, l: lse.mean(axis=0),
                lambda lse, m, l: (exp32(lse - m) * np.where(np.isfinite(lse), lse, 0.0)).sum(axis=0) / l,
            ),
        ),
        (
            "lse-without-max",
            "The maximum is missing in LSE",
            "You stored the logarithm of the sum of the weights, which are relative to m. In the lesson's example that "
            "is 0.137 instead of 5.185.",
            "In the lesson's example your LSE is 0.137, and it should be 5.185. Which number is missing?",
            (lambda lse, m, l: np.log(l),),
        ),
        (
            "lse-without-log",
            "LSE is not a logarithm",
            "You stored the sum of m and of all weights. In the lesson's example that is 6.195 instead of 5.185.",
            "Two parts have the LSE 3 each, so their weights sum to 2. What is the logarithm of 2 * e^3?",
            (lambda lse, m, l: m + l,),
        ),
        (
            "lse-is-the-normaliser",
            "The sum of the weights is stored instead of LSE",
            "You stored l, which is relative to m, and is no logarithm. In the lesson's example that is 1.146 instead "
            "of 5.185.",
            "exp(LSE) is the sum of all exponentials, 178.6 in the lesson's example. How do you get there from l and "
            "m?",
            (lambda lse, m, l: l,),
        ),
        (
            "lse-in-base-two",
            "LSE is in base 2, or partly",
            "The LSEs of the parts are natural logarithms, and the result has to be one. With a logarithm in base 2 in "
            "it, the lesson's example gives 5.049 + 0.197 instead of 5.049 + 0.137.",
            "e to the power of 0.137 is 1.1463, and so is 2 to the power of 0.197. In which base are the parts' LSEs?",
            (lambda lse, m, l: m + np.log2(l), lambda lse, m, l: (m + np.log(l)) * LOG2_E),
        ),
    )
)


def _read_as(of_o: str, of_lse: str) -> Writes:
    """Parts that are looked for in another place."""
    return merging(lambda o, lse, case: weighed(regrouped(o, of_o), regrouped(lse, of_lse)))


PLACES = (
    *(
        Misconception(
            "splits-and-heads-exchanged",
            f"{what} looked for {how}",
            f"Parts have the shape (splits, heads, n_q), and O one axis more, so the splits are outermost. {numbers}",
            _ROWS,
            question="3 splits, 2 heads, one query: in which order do the six parts lie in memory? Which number has "
            "split 1, head 0, and which one does your row give it?",
            signs=(_read_as(of_o, of_lse),),
        )
        for how, order, numbers in (
            (
                "head by head",
                "hsq",
                "With 3 splits and 2 heads, the part of split 1, head 0 is number 2, and you take number 1, which is "
                "that of split 0, head 1.",
            ),
            (
                "query by query",
                "sqh",
                "Within a split, all queries of head 0 come first. Yours has all heads of query 0 first.",
            ),
            (
                "query by query, and all splits of a head together",
                "hqs",
                "The parts of a query lie heads * n_q rows apart, and do not follow one another.",
            ),
        )
        for what, of_o, of_lse in (
            ("Parts are", order, order),
            ("LSEs are", "shq", order),
            ("Rows of O are", order, "shq"),
        )
    ),
    *(
        Misconception(
            "only-one-query",
            f"{what} of query 0 are used for all queries",
            "The query is missing in the row. Each query has its own weights, as each has its own scores.",
            _ROWS,
            question="Two queries of one head: do they see the same scores? Which of your addresses change with the "
            "query?",
            signs=(merging_first(2, o_too, l_too),),
        )
        for what, o_too, l_too in (
            ("The LSEs", False, True),
            ("The rows of O", True, False),
            ("All parts", True, True),
        )
    ),
    *(
        Misconception(
            "only-one-head",
            f"{what} of head 0 are used for all heads",
            "The head is missing in the row, so each head gets what belongs to the first one.",
            _ROWS,
            question="3 splits, 2 heads: which of your addresses change with the head, and which do not?",
            signs=(merging_first(1, o_too, l_too),),
        )
        for what, o_too, l_too in (("The LSEs", False, True), ("The rows of O", True, False), ("All parts", True, True))
    ),
    Misconception(
        "parts-without-mask",
        "Parts past the last one are loaded",
        "A block has Bs parts, which is a power of two. With 3 splits and Bs = 4, the fourth does not exist, and what "
        "lies there belongs to somebody else.",
        "Mask both loads: parts < splits.",
        question="3 splits, Bs = 4: which numbers does `parts` hold, and what keeps your loads from part 3?",
        signs=(parts_reached(lambda case: int(case.constexprs["Bs"]) - 1),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one part too many through",
        "Parts count from 0, so the last of 3 is part 2. A mask that lets number 3 through as well reaches past the "
        "end.",
        "Compare with <, not with <=.",
        question="There are 3 parts. Which number has the last one, and what does your mask say of number 3?",
        signs=(parts_reached(lambda case: min(int(case.scalars["splits"]), int(case.constexprs["Bs"]) - 1)),),
    ),
    Misconception(
        "parts-read-twice",
        "The parts are read more than once",
        "One pass for the maximum and another one for the weights reads the parts twice. They are few: all of them fit "
        "in one block.",
        "Load LSEs once, as a block of Bs, and take its maximum and its exponentials from there.",
        question="How many numbers does LSEs hold for one query, and do they fit in registers?",
        signs=(Moves(_reads_twice),),
    ),
)

_SHARED = ("head-stride-assumed", "width-as-stride", "strides-of-the-other-side")
ADDRESSING = tuple(
    idea
    for idea in OF_TILES
    if idea.id in _SHARED
    or idea.title in {f"All heads are written to the place of head 0 in {n}" for n in ("o", "lse")}
)
MERGES = (*WEIGHTS, *LSE, *PLACES)
