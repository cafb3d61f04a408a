"""Wrong ideas of `split_kernel`: which keys a split has, what it stores if it has none, and where.

Numbers are those of the lesson's example: the scores 1 3 | 2 5 of one query in two splits; values 10 20 | 30 40.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from checker.catalog.attention.flash_2_mistakes import ACCUMULATION, FINITE
from checker.catalog.attention.launch import shape_of
from checker.catalog.attention.mistakes import LOG2_E, SCORES, attention, from_scores, rounded, without_max
from checker.catalog.attention.tiles import reach
from checker.catalog.split.bounds import budget
from checker.catalog.split.launch import cut_of, is_split
from checker.catalog.split.models import (
    begin,
    dealt,
    dealt_tiles,
    empty_splits,
    end,
    exchanged,
    from_to,
    ids_exchanged,
    in_splits,
    keys_below_n_q,
    left_out,
    lifted,
    of_equal_length,
    of_whole_tiles,
    padding_counted,
    part_stored,
    queries_first,
    right,
    stored,
    with_next_keys,
    with_one_more,
)
from checker.course.case import Array, Case
from checker.course.misconception import Misconception, Moves, Reaches, Unwritten, Writes
from checker.course.verdict import Traffic

# What the shared ones say of a loop to n_k does not hold here.
OF_ONE_LOOP = {
    "keys-compared-with-n-q",
    "keys-behind-the-end-counted",
    "whole-tiles-only",
    "loop-to-another-end",
    "maximum-of-hidden-scores",
}
_RANGE = "first_k = split * keys_per_split, and end_k = tl.minimum(n_k, first_k + keys_per_split)."


def _moves_next_keys(case: Case, moved: Mapping[str, Traffic]) -> bool:
    """K and V are loaded as if each split had whole tiles of keys."""
    if not is_split(case):
        return False
    keys = sum(len(with_next_keys(case, split)) for split in range(case.grid[0]))
    shape, k = shape_of(case), budget(case)["k_ptr"].loads
    loads = {moved[name].loads for name in ("k_ptr", "v_ptr")}
    return loads == {shape.heads * keys * shape.D} and max(loads) > k


def _lse(value: Callable[[Array, Array], Array], empty: float) -> Writes:
    """Right O, and another LSE of m and l; and what it is for a split without keys."""

    def formula(s: Array, v: Array, case: Case) -> dict[str, Array]:
        made, m = dict(attention(s, v)), s.max(axis=-1)
        return {"o_ptr": made["o_ptr"], "lse_ptr": value(m, made["l_ptr"])}

    return in_splits(from_scores(formula).outputs, empty=(0.0, empty))


KEYS = (
    Misconception(
        "next-splits-keys-counted",
        "Keys of the next split are counted, too",
        "Keys are compared with n_k alone. If keys_per_split is not a multiple of Bc, the last tile of a split "
        "continues into the next one: with splits of 20 keys and tiles of 16, split 0 takes the keys 0 to 31. Keys 20 "
        "to 31 are then in two parts, and the merge gives them twice their weight.",
        "A split ends at end_k = tl.minimum(n_k, first_k + keys_per_split). Compare keys with end_k, in both loads and "
        "in the scores.",
        question="Splits of 20 keys, tiles of 16: which keys are in the second tile of split 0, and which of them "
        "belong to it?",
        signs=(in_splits(right, with_next_keys),),
    ),
    Misconception(
        "next-splits-keys-loaded",
        "Keys of the next split are loaded, and then hidden",
        "Your scores are right, but the loads of K and V are masked with n_k alone. If keys_per_split is not a "
        "multiple of Bc, the last tile of a split continues into the next one: with splits of 20 keys and tiles of 16, "
        "the keys 20 to 31 are loaded by two programs. A kernel whose time is that of its loads cannot afford it.",
        "Mask the loads as the scores are: keys[:, None] < end_k.",
        question="Splits of 20 keys, tiles of 16: which rows of K does the second tile of split 0 need, and which ones "
        "does it load?",
        signs=(Moves(_moves_next_keys),),
    ),
    Misconception(
        "next-splits-keys-counted",
        "The first key of the next split is counted, too",
        "end_k is one past the last key of the split. A comparison that lets end_k through takes a key that the next "
        "split has as well, and the merge gives it twice its weight.",
        "Compare with <, not with <=.",
        question="The first split has the keys 0 to 19. Which number is end_k, and what does your comparison say of "
        "it?",
        signs=(
            in_splits(right, with_one_more),
            in_splits(right, from_to(begin, lambda case, split: end(case, split) + 1)),
        ),
    ),
    *(
        Misconception(
            "keys-behind-the-end-counted",
            "Keys past the end of a split are counted, with the score 0",
            "They were loaded as 0, so their score is 0, and each adds exp(0 - m) to the normaliser. In the lesson's "
            "example, two such keys in split 1 make its l 1.063 instead of 1.0498, and its O 39.02 instead of 39.53.",
            "Hide them: tl.where(keys[None, :] < end_k, Sij, -float('inf')).",
            question="What is the score of a key that was loaded as zeros, and what does it add to l? Which score "
            "would add nothing?",
            signs=(sign,),
        )
        for sign in (padding_counted(False), padding_counted(True))
    ),
    Misconception(
        "keys-compared-with-n-q",
        "Keys are compared with the number of queries",
        "Whether a key belongs to a split depends on where the split ends. n_q counts queries: with one query, only "
        "key 0 is left, and each split but the first sees nothing.",
        "Compare keys with end_k.",
        question="One query, 50 keys: does key 25 exist, and what does your mask compare the 25 with?",
        signs=(Writes(keys_below_n_q),),
    ),
    *(
        Misconception(
            "split-begins-elsewhere",
            "A split begins at its number times Bc",
            "Bc is the number of keys in a tile, keys_per_split that of a split. With splits of 64 keys in tiles of "
            "16, split 1 begins at key 64, and yours begins at 16. Some keys are then in several parts, and others in "
            "none.",
            _RANGE,
            question="Splits of 64 keys, tiles of 16: with which key does split 1 begin, and with which one does "
            "yours?",
            signs=(in_splits(right, from_to(lambda case, split: split * shape_of(case).Bc, last)),),
        )
        for last in (lambda case, split: split * shape_of(case).Bc + cut_of(case).keys, end)
    ),
    *(
        Misconception(
            "split-ends-elsewhere",
            f"A split ends {where}",
            why,
            _RANGE,
            question="Splits of 20 keys, 50 keys in all: with which key does each of the three splits end, and with "
            "which one does yours?",
            signs=tuple(in_splits(right, from_to(begin, last)) for last in lasts),
        )
        for where, why, lasts in (
            (
                "at keys_per_split, wherever it begins",
                "keys_per_split is a length. With splits of 20 keys, split 1 goes from key 20 to key 39. Your loop "
                "ends at 20 there, so it has no iteration, and only split 0 is right.",
                (lambda case, split: max(begin(case, split), cut_of(case).keys),),
            ),
            (
                "at n_k",
                "Each split goes from its first key to the very last one, so the last key is in all parts. With two "
                "splits the second half counts twice. And the first split takes as long as no split at all.",
                (lambda case, split: shape_of(case).n_k,),
            ),
            (
                "one key too early",
                "The keys of a split go from first_k up to, and without, end_k. One key of each split is in no part.",
                (lambda case, split: end(case, split) - 1,),
            ),
            (
                "after its last whole tile",
                "If keys_per_split is not a multiple of Bc, the last tile of a split has fewer than Bc keys. Of 20 "
                "keys in tiles of 16, the keys 16 to 19 are in no part.",
                (
                    lambda case, split: (
                        begin(case, split)
                        + (end(case, split) - begin(case, split)) // shape_of(case).Bc * shape_of(case).Bc
                    ),
                ),
            ),
            (
                "after one tile",
                "A split has as many tiles as its keys need, and here only the first of them is looked at. Of 20 keys "
                "in tiles of 16, the keys 16 to 19 are in no part.",
                (lambda case, split: min(end(case, split), begin(case, split) + shape_of(case).Bc),),
            ),
        )
    ),
    Misconception(
        "remainder-left-out",
        "The last split is left out if it is not full",
        "With 50 keys in splits of 20, split 2 has the keys 40 to 49. Here it counts as a split without keys, and "
        "these ten are in no part.",
        "Cut the last split off at n_k: end_k = tl.minimum(n_k, first_k + keys_per_split).",
        question="50 keys in splits of 20: how many keys has split 2, and how many does your kernel look at there?",
        signs=(
            in_splits(
                right,
                lambda case, split: np.arange(
                    begin(case, split),
                    begin(case, split)
                    + cut_of(case).keys * (begin(case, split) + cut_of(case).keys <= shape_of(case).n_k),
                ),
            ),
        ),
    ),
    Misconception(
        "all-splits-alike",
        "Each split has the keys of the first one",
        "The number of the split is in none of the addresses. All parts are the same then, and the merge of equal "
        "parts is that part: the attention to the first keys_per_split keys alone.",
        _RANGE,
        question="Print `keys` in each program. Which keys does split 1 have, and which should it have?",
        signs=(in_splits(right, from_to(lambda case, split: 0, lambda case, split: cut_of(case).keys)),),
    ),
    Misconception(
        "all-splits-alike",
        "Each split has all the keys",
        "Every program computes the whole attention, so every part is the final result, and so is their merge. But "
        "each key is read as many times as there are splits, and nothing is gained by having them.",
        _RANGE,
        question="How often is each key read, with eight splits? Which keys does split 1 have, and which should it "
        "have?",
        signs=(in_splits(right, from_to(lambda case, split: 0, lambda case, split: shape_of(case).n_k)),),
    ),
    *(
        Misconception(
            "keys-per-split-changed",
            what,
            why,
            _RANGE,
            question="4 splits, 50 keys, keys_per_split = 20, tiles of 16: which keys has split 1, and which ones has "
            "yours?",
            signs=(in_splits(right, keys),),
        )
        for what, why, keys in (
            (
                "All splits get the same number of keys, whatever keys_per_split says",
                "n_k is divided by the number of splits. With 50 keys, 4 splits and keys_per_split = 20, the splits "
                "have 20, 20, 10 and 0 keys, and not 12 or 13 each.",
                of_equal_length(True),
            ),
            (
                "All splits get the same number of keys, whatever keys_per_split says",
                "n_k is divided by the number of splits. With 50 keys, 4 splits and keys_per_split = 20, the splits "
                "have 20, 20, 10 and 0 keys, and not 12 or 13 each.",
                of_equal_length(False),
            ),
            (
                "keys_per_split is rounded down to whole tiles",
                "With keys_per_split = 20 and tiles of 16, your splits have 16 keys each. The last keys are then in no "
                "part.",
                of_whole_tiles(False),
            ),
            (
                "keys_per_split is rounded up to whole tiles",
                "With keys_per_split = 20 and tiles of 16, your splits have 32 keys each. The merge would be right all "
                "the same, but part 1 is asked for the keys 20 to 39.",
                of_whole_tiles(True),
            ),
            (
                "Keys are dealt out in turn",
                "Split 1 of 4 gets the keys 1, 5, 9, ... The merge would be right all the same, but a split is asked "
                "for its own run of keys, whose rows follow each other in memory.",
                dealt,
            ),
            (
                "Tiles of keys are dealt out in turn",
                "Split 1 of 4 gets the tiles 1, 5, 9, ... The merge would be right all the same, but a split is asked "
                "for its own run of keys.",
                dealt_tiles,
            ),
        )
    ),
)

EMPTY = (
    *(
        Misconception(
            "empty-split-is-nan",
            "A split without keys stores NaN",
            why,
            "Divide by tl.where(li == 0.0, 1.0, li), and let the loop end at tl.minimum(n_k, first_k + "
            "keys_per_split), so that it has no iteration.",
            question="10 keys in splits of 16: what are mi, li and Oi in split 1 when the loop is over? What does your "
            "kernel store then?",
            signs=signs,
        )
        for why, signs in (
            (
                "It has seen no key, so li is 0 and Oi is 0, and 0 / 0 is NaN. The merge gives that part the weight 0, "
                "but 0 times NaN is NaN: one such split and all of O is lost.",
                (in_splits(right, empty=(np.nan, -np.inf)),),
            ),
            (
                "All scores of its tile are hidden, so their maximum is -inf, and -inf - (-inf) is NaN. The merge "
                "cannot tell that the part counts for nothing: one such split and all of O and LSE is lost.",
                (in_splits(right, empty=(np.nan, np.nan)),),
            ),
        )
    ),
    Misconception(
        "empty-split-not-stored",
        "A split without keys stores nothing",
        "Its place in the parts keeps what was in memory before, and the merge reads that. A part that counts for "
        "nothing has to say so: O = 0, LSE = -inf.",
        "Do not return early: without an iteration of the loop, Oi is 0 and mi + tl.log(li) is -inf already.",
        question="10 keys in splits of 16: what will the merge find in the place of part 1?",
        signs=(Unwritten(empty_splits),),
    ),
    *(
        Misconception(
            "lse-of-empty-split",
            "LSE of a split without keys is not -inf",
            "Its sum of exponentials is 0, and log(0) is -inf. With another LSE the part gets a weight in the merge: "
            "an LSE of 0 stands for a key with the score 0.",
            "LSE is made of mi and li themselves, not of what is guarded: mi + tl.log(li).",
            question="Which sum of exponentials has a split without keys, and what is its logarithm? Which values of "
            "the maximum and of l go into your LSE?",
            signs=(in_splits(right, empty=(0.0, lse)),),
        )
        for lse in (0.0, *FINITE)
    ),
)

NO_MAXIMUM = Misconception(
    "no-max-subtraction",
    "The maximum is not subtracted",
    "The exponential of a score above 88.7 is infinite in fp32, and infinity divided by infinity is NaN. That of a "
    "score of -200 is 0, and a split with such scores alone looks like one without keys.",
    "Subtract the running maximum before the exponential.",
    question="How do you compute the weights of the scores 100 and 102 with a pocket calculator that ends at 10^38?",
    signs=(in_splits(without_max(guarded=True).outputs),),
)

_LSE_IS = "LSE = mi + tl.log(li), as in puzzle 6."
LSE = tuple(
    Misconception(id, title, explanation, _LSE_IS, question=question, signs=(_lse(value, empty),))
    for id, title, explanation, question, value, empty in (
        (
            "lse-without-max",
            "The maximum is missing in LSE of a part",
            "You stored the logarithm of li, which is relative to the split's own maximum. In the lesson's example the "
            "parts then have the LSEs 0.127 and 0.049, nearly alike, although the weights are 0.13 and 0.87.",
            "In the lesson's example the LSE of split 0 should be 3.127. Which number is missing in yours?",
            lambda m, l: np.log(l),
            -np.inf,
        ),
        (
            "lse-without-log",
            "LSE of a part is not a logarithm",
            "You stored the sum of mi and li. The merge computes exp(LSE), which must be the sum of the exponentials "
            "of all scores of the split: exp(3.127) = 22.8 in split 0 of the lesson's example, and not exp(4.135) = "
            "62.5.",
            "The exponentials of the scores 1 and 3 sum to e^3 * 1.1353. Of which number is that the exponential?",
            lambda m, l: m + l,
            -np.inf,
        ),
        (
            "lse-is-the-normaliser",
            "The normaliser is stored instead of LSE",
            "You stored li, which is relative to the split's own maximum. In the lesson's example the parts then have "
            "1.1353 and 1.0498 in the place of 3.127 and 5.049: the weaker part looks like the stronger one.",
            "Split 0 of the lesson's example has a maximum of 3, and split 1 one of 5. Where is that in what you "
            "store?",
            lambda m, l: l,
            0.0,
        ),
        (
            "lse-is-the-max",
            "The maximum is stored instead of LSE",
            "You stored mi. A split with one key of score 5 and one with a thousand of them would then weigh the same.",
            "One split has one key with the score 5, another one has two. How much more does the second one weigh, and "
            "where is that in what you store?",
            lambda m, l: m,
            -np.inf,
        ),
        (
            "lse-in-base-two",
            "LSE of a part is in base 2",
            "In the lesson's example split 0 has 4.51 in base 2, and should have 3.127: the logarithm is asked for in "
            "base e, so that the merge can take tl.exp of it.",
            "2^4.51 is 22.8, the sum of the exponentials of split 0 of the lesson's example. To which power must e be "
            "raised for the same number?",
            lambda m, l: (m + np.log(l)) * LOG2_E,
            -np.inf,
        ),
        (
            "lse-in-base-two",
            "LSE of a part mixes base 2 and base e",
            "The maximum is in base 2, because log2(e) was folded into the scale, but the logarithm of li is a natural "
            "one. In split 0 of the lesson's example that gives 4.33 + 0.127 instead of 3 + 0.127.",
            "In split 0 of the lesson's example the maximum is 3. Print your mi: if it is 4.33, which factor is in it, "
            "and in which base is the logarithm that you add?",
            lambda m, l: m * LOG2_E + np.log(l),
            -np.inf,
        ),
        (
            "lse-in-base-two",
            "LSE of a part mixes base e and base 2",
            "The maximum is right, but the logarithm of li that was added to it is one in base 2. In split 0 of the "
            "lesson's example that gives 3 + 0.183 instead of 3 + 0.127.",
            "e to the power of 0.127 is 1.1353, and so is 2 to the power of 0.183. Of which of the two does the merge "
            "take exponentials?",
            lambda m, l: m + np.log2(l),
            -np.inf,
        ),
    )
)

PLACES = (
    Misconception(
        "splits-and-heads-exchanged",
        "Parts are stored head by head, not split by split",
        "o_part has the shape (splits, heads, n_q, D), so the splits are outermost. With 3 splits and 2 heads, the "
        "part of split 1, head 0 is number 2, and you store it as number 1, which is that of split 0, head 1.",
        "The row of a query is (split * heads + head) * n_q + query, with heads = tl.num_programs(1).",
        question="3 splits, 2 heads: in which order do the six parts lie in o_part? Which number has split 1, head 0, "
        "and which one does your row give it?",
        signs=(stored(exchanged),),
    ),
    Misconception(
        "splits-and-heads-exchanged",
        "Parts are stored query by query, not head by head",
        "o_part has the shape (splits, heads, n_q, D): within a split, all queries of head 0 come first. Yours has all "
        "heads of query 0 first.",
        "The row of a query is (split * heads + head) * n_q + query, with heads = tl.num_programs(1).",
        question="2 heads, 3 queries: which row of a split's part is query 1 of head 0, and which one does your kernel "
        "write?",
        signs=(stored(queries_first),),
    ),
    Misconception(
        "wrong-row-map",
        "All heads store their parts in the same place",
        "The head is missing in the row: what one program has stored is overwritten by another one, in any order, and "
        "the last rows are written by nobody.",
        "The row of a query is (split * heads + head) * n_q + query, with heads = tl.num_programs(1).",
        question="3 splits, 2 heads, one query: how many rows has o_part, and how many different ones do your programs "
        "write?",
        signs=(left_out(lambda case: np.arange(case.grid[0] * shape_of(case).n_q)),),
    ),
    Misconception(
        "wrong-row-map",
        "All splits store their parts in the same place",
        "The split is missing in the row: what one program has stored is overwritten by another one, in any order, and "
        "all parts but the first are written by nobody.",
        "The row of a query is (split * heads + head) * n_q + query, with heads = tl.num_programs(1).",
        question="3 splits, 2 heads, one query: how many rows has o_part, and how many different ones do your programs "
        "write?",
        signs=(left_out(lambda case: np.arange(case.grid[1] * shape_of(case).n_q)),),
    ),
    Misconception(
        "parts-in-half",
        "O of a part is rounded to fp16",
        "fp16 keeps 11 binary digits. A part is no result yet: it is multiplied and added up once more, and what is "
        "rounded here stays in the sum. o_part is fp32.",
        "Store Oi as it is: it is fp32, and so is o_part.",
        question="Which type does Oi have in your loop, and which one has o_part? Where is it converted?",
        signs=(stored(lambda case, made: {**made, "o_part_ptr": rounded(made["o_part_ptr"])}),),
    ),
    Misconception(
        "keys-without-mask",
        "Keys past the last one are loaded",
        "The last tile of a split has fewer than Bc keys, unless keys_per_split is a multiple of Bc, and n_k one of "
        "keys_per_split. Of 40 keys in splits of 20 and tiles of 16, the last tile begins at 36 and has 4 keys. What "
        "lies past them belongs to somebody else.",
        "Mask rows of K and V: mask=keys[:, None] < end_k, other=0.0.",
        question="40 keys in splits of 20, tiles of 16: which numbers does `keys` hold in the last tile of split 1, "
        "and what keeps your loads of K and V from key 40?",
        signs=(reach(False, mask="none", sides="k"),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask lets one key too many through",
        "Keys count from 0, so the last of 40 is key 39. A mask that lets number 40 through as well reaches one row "
        "past the end.",
        "Compare with <, not with <=.",
        question="There are 40 keys. Which number has the last one, and what does your mask say of number 40?",
        signs=(reach(False, mask="one too many", sides="k"),),
    ),
    Misconception(
        "queries-without-mask",
        "Queries that do not exist are loaded",
        "A tile has Br rows, and only the first n_q are queries. With 3 queries and Br = 16, 13 rows of your tile lie "
        "past the last query, and belong to somebody else.",
        "Mask rows of Q: mask=queries[:, None] < n_q, other=0.0.",
        question="3 queries, Br = 16: which numbers does `queries` hold, and what keeps your load of Q from query 3?",
        signs=(reach(False, mask="none", sides="q"), reach(False, mask="one too many", sides="q")),
    ),
    Misconception(
        "store-without-mask",
        "Rows of queries that do not exist are stored",
        "A tile has Br rows, and only the first n_q are queries. With 3 queries and Br = 16, your store writes 16 "
        "rows: 13 of them lie in the parts of others, or past the end.",
        "Store with queries[:, None] < n_q for O, and queries < n_q for LSE.",
        question="3 queries, Br = 16: how many rows does a program own in o_part, and how many does your store write?",
        signs=(part_stored(lambda case: shape_of(case).Br),),
    ),
    Misconception(
        "mask-off-by-one",
        "The mask of the store lets one row too many through",
        "Queries count from 0, so the last of 3 is query 2. A mask that lets number 3 through as well writes into the "
        "part of somebody else.",
        "Compare with <, not with <=.",
        question="There are 3 queries. Which number has the last one, and what does your mask say of number 3?",
        signs=(part_stored(lambda case: min(shape_of(case).Br, shape_of(case).n_q + 1)),),
    ),
    Misconception(
        "program-ids-exchanged",
        "The two axes of the grid are exchanged",
        "The program takes its number along the first axis for the head, and along the second one for the split. With "
        "3 splits and 2 heads, program (2, 1) then looks for head 2, which does not exist.",
        "tl.program_id(0) is the split, tl.program_id(1) the head.",
        question="3 splits and 2 heads make a grid of 3 x 2. Which split of which head is program (2, 1), and which "
        "does your kernel take it for?",
        signs=(Reaches(ids_exchanged),),
    ),
)

IN_EACH_SPLIT = tuple(lifted(idea) for idea in (*ACCUMULATION, *SCORES) if idea.id not in OF_ONE_LOOP)
SPLITS = (*KEYS, *EMPTY, NO_MAXIMUM, *LSE, *PLACES, *IN_EACH_SPLIT)
