"""Wrong ideas of FlashAttention in PyTorch. Kernels with the same idea lend their signs."""

from __future__ import annotations

from checker.catalog.attention import pytorch_models as models
from checker.catalog.attention.causal_mistakes import CAUSAL
from checker.catalog.attention.flash_2_mistakes import ACCUMULATION, LSE
from checker.catalog.attention.in_pytorch import as_in_the_family
from checker.catalog.attention.mistakes import SCORES
from checker.course.misconception import Misconception, Sign, Writes

_STATE = "alpha = torch.exp(mi - mi_new), and it multiplies both: li = alpha * li + …, Oi = alpha * Oi + …"
_SCALED = "Scale the scores once, before anything is taken of them: Sij = scale * (Qi @ Kj.transpose(2, 3))."
_CAUSAL = "A query does not see a key where keys > queries[:, None] + n_k - n_q, and sees all others."
_END = "The last query of a tile sees the most: with causal, end at min(n_k, start_q + Br + n_k - n_q), else at n_k."
_GUARD = (
    "Subtract 0 while the maximum is -inf, torch.where(mi_new == -float('inf'), 0.0, mi_new), and divide by 1 where "
    "li is 0."
)
_LSE = "LSE = mi + torch.log(li)."


def _of(*ids: str) -> tuple[Writes, ...]:
    """The signs by which kernels with these ideas are known."""
    every = (*ACCUMULATION, *CAUSAL, *LSE, *SCORES)
    signs = (sign for one in every if one.id in ids for sign in one.signs)
    return tuple(as_in_the_family(sign) for sign in signs if isinstance(sign, Writes))


def _idea(id: str, title: str, explanation: str, hint: str, question: str, *signs: Sign) -> Misconception:
    """A wrong idea; without signs of its own, those of kernels that have it."""
    return Misconception(id, title, explanation, hint, question=question, signs=signs or _of(id))


MEMORY_AND_WORK = (
    _idea(
        "blocks-not-skipped",
        "Tiles that the causal mask hides altogether are computed all the same",
        "A tile beyond the diagonal is masked to the last entry. It changes nothing and costs as much as any other: of "
        "3 by 3 tiles, with as many queries as keys, 3 are hidden, and of many, nearly half.",
        _END,
        "Take 48 queries and 48 keys in tiles of 16, with causal. Which is the last key that query 15 sees? How many "
        "tiles of keys does your loop visit for start_q of 0?",
        models.HIDDEN_TILES,
    ),
    _idea(
        "scores-computed-twice",
        "The scores are computed twice",
        "Q Kᵀ is made once for the maximum and the normaliser, and again for O: three products for each tile, "
        "where two are enough.",
        "One pass over the keys does it all. When the maximum grows, Oi is rescaled as li is: Oi = alpha * Oi + "
        "Pij @ Vj.",
        "In the lesson's numbers, O is 21.35 after tile 1, and the maximum grows from 3 to 5 in tile 2. Which factor "
        "makes 21.35 right for the new maximum, so that tile 1 need not be computed again?",
        models.SCORES_TWICE,
    ),
    _idea(
        "all-scores-at-once",
        "All scores are made at once",
        "A tensor of n_q x n_k numbers for each head is what plain attention needs. At 16,384 tokens that is 268 "
        "million numbers, and never to hold them is what makes this FlashAttention.",
        "Make the scores of one tile, Br queries and Bc keys, and begin the next one only when you are done with them.",
        "Print the shape of your scores with 40 queries, 72 keys, and tiles of 16. Which two numbers should its last "
        "two sides not be larger than?",
        models.ALL_SCORES,
    ),
    _idea(
        "all-keys-at-once",
        "A tile of queries meets all keys at once",
        "A strip of Br x n_k scores grows with the number of keys: with Br of 16 and 16,384 keys it has 262,144 "
        "numbers for each head. The keys should come in tiles, as the queries do.",
        "A second loop, over range(0, n_k, Bc), takes Bc keys at a time.",
        "Print the shape of your scores with 40 queries, 72 keys, and tiles of 16. Which of its sides is 72, and what "
        "makes it 16?",
        models.STRIP_OF_KEYS,
    ),
    _idea(
        "all-queries-at-once",
        "A tile of keys meets all queries at once",
        "A strip of n_q x Bc scores grows with the number of queries: with 16,384 queries and Bc of 16 it has 262,144 "
        "numbers for each head. The queries should come in tiles, as the keys do.",
        "A second loop, over range(0, n_q, Br), takes Br queries at a time.",
        "Print the shape of your scores with 40 queries, 72 keys, and tiles of 16. Which of its sides is 40, and what "
        "makes it 16?",
        models.STRIP_OF_QUERIES,
    ),
    _idea(
        "whole-mask",
        "The causal mask is made whole",
        "The scores come in tiles, but the mask has n_q x n_k entries. It grows as the scores would: at 16,384 tokens "
        "it has 268 million.",
        "Compare the positions of a tile alone: keys > queries[:, None] + n_k - n_q, with torch.arange(start, end).",
        "Print the shape of your mask with 40 queries and 72 keys in tiles of 16. Which positions does the tile have "
        "that begins at start_q and start_k?",
        models.WHOLE_MASK,
    ),
    _idea(
        "all-tiles-kept",
        "The tiles are kept until the end",
        "Each tile is small, but all of them together are the matrix that was not to be held. A list keeps what is "
        "in it alive.",
        "Use up a tile before the next one is made: add Pij @ Vj to Oi, the sum of Pij to li, and forget it.",
        "With 64 queries and 64 keys in tiles of 16, how many tiles live when your loops end? Which of them does a "
        "later iteration still need?",
        models.ALL_TILES,
    ),
    _idea(
        "hidden-tile-computed",
        "A tile of which no query sees any key is computed",
        "Your loop over keys ends later than it must, and visits a tile that the causal mask hides to the last entry. "
        "It changes nothing, and its products cost as much as those of any other.",
        _END,
        "Take 40 queries and 50 keys in tiles of 16, with causal. Which is the last key that query 15 sees, and in "
        "which tile is it? With which tile does your loop end for start_q of 0?",
        models.SOME_HIDDEN_TILES,
    ),
)

VALUES = (
    _idea(
        "accumulator-not-rescaled",
        "O is not rescaled when the maximum grows",
        "Oi adds up products that were taken relative to different maxima. In the lesson's numbers, the maximum grows "
        "from 3 to 5: without a factor for what is in Oi, O comes out as 52.22, which is larger than every value.",
        _STATE,
        "In the lesson's numbers, what does your Oi hold after tile 1, and relative to which maximum? What must become "
        "of it when the maximum is 5?",
    ),
    _idea(
        "denominator-not-rescaled",
        "The normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima. In the lesson's numbers you get 1.135 + "
        "1.050, which is 2.185, instead of 1.203. If you do multiply by exp(mi - mi_new), then mi was overwritten "
        "before that, and the factor is exp(0), which is 1.",
        _STATE,
        "Print li and the factor in the lesson's numbers. Is the factor 0.135 in tile 2, and li 1.203?",
    ),
    _idea(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. With scores 100 in tile 1 and 0 in tile 2, the factor exp(mi "
        "- mi_new) is exp(100), which overflows.",
        "The running maximum never falls: mi_new = torch.maximum(mi, Sij.amax(dim=3, keepdim=True)).",
        "Exchange the lesson's two tiles: 2 5 | 1 3. What is your maximum after each tile, and what should it be after "
        "the second?",
    ),
    _idea(
        "new-part-not-rescaled",
        "The new part is relative to its own tile",
        "Pij was taken relative to the maximum of its own tile. If an earlier tile had a larger one, the new part "
        "counts too much: with tiles 2 5 | 1 3, by the factor exp(5 - 3), which is 7.4.",
        "Subtract the running maximum: Pij = torch.exp(Sij - mi_new).",
        "Exchange the lesson's two tiles: 2 5 | 1 3. What is the largest entry of Pij in the second tile, and what "
        "should exp(3 - 5) be there?",
    ),
    _idea(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of the last tile alone, divided by the sum over all keys. In the lesson's numbers that is "
        "41.49 / 1.203, or 34.49, instead of 36.88.",
        _STATE,
        "Print Oi after each tile of the lesson's numbers. After tile 2 it should be 44.38: which part of that does "
        "tile 1 contribute, and is it in yours?",
    ),
    _idea(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li is the sum of the last tile alone: each tile's sum replaces the one before it. In the lesson's numbers "
        "that is 1.050 instead of 1.203.",
        _STATE,
        "Print li after each tile of the lesson's numbers. After tile 2 it should be 1.203: which part of that does "
        "tile 1 contribute, and is it in yours?",
    ),
    _idea(
        "softmax-of-each-tile",
        "Each tile of keys has a softmax of its own",
        "The weights of one query must sum to 1 over all keys. Here they sum to 1 in each tile, so with two tiles they "
        "sum to 2.",
        "Keep mi and li of each query from one tile of keys to the next, as in puzzle 4, and divide by li at the end.",
        "In the lesson's numbers, what do the four weights of the query sum to in your function? Which sum must each "
        "exponential be divided by?",
        *models.SOFTMAX_OF_EACH_TILE,
    ),
    _idea(
        "softmax-of-each-tile",
        "P is the softmax of its tile",
        "Each row of Pij was divided by its own sum, so it sums to 1 in every tile, however large the scores of the "
        "tile are. li then counts tiles. In the lesson's numbers it is 0.135 + 1, or 1.135, instead of 1.203.",
        "Pij = torch.exp(Sij - mi_new): exponentials relative to the running maximum, which li adds up. Divide once, "
        "at the end.",
        "In the lesson's numbers, what does the row of Pij sum to in each tile of your function? With exponentials it "
        "is 1.135 and 1.050: who divides them, and when?",
        models.SUM_OF_SOFTMAXES,
    ),
    _idea(
        "rescaled-by-the-inverse",
        "The old parts are rescaled the wrong way round",
        "When the maximum grows, the old parts must become smaller. From 3 to 5 they get the factor e^(3-5), or 0.135, "
        "and yours is the inverse, 7.39. At the first tile, where mi is -inf, the inverse is infinite, and infinity "
        "times 0 is NaN.",
        _STATE,
        "In the lesson's numbers, tile 2 raises the maximum from 3 to 5. Should 21.35 count for more or for less then, "
        "and what does your factor do to it?",
        *models.INVERSE_FACTORS,
    ),
    _idea(
        "divided-at-every-step",
        "O is divided in every step",
        "Oi was divided by li inside the loop, and then added to as if it had not been. In the lesson's numbers, 21.35 "
        "/ 1.135 is kept after tile 1, and the next step takes it for 21.35.",
        "Divide once, after the loop over keys. If you do divide in it, multiply the old Oi by the old li first.",
        "What is in Oi at the end of an iteration, and what does the next one take it for? How often must a sum be "
        "divided?",
    ),
    _idea(
        "not-divided",
        "O is not divided by the normaliser",
        "O is a sum of V's rows with weights that do not sum to 1. In the lesson's numbers you return 44.38, which is "
        "larger than every value, instead of 36.88.",
        "After the loop over keys: Oi / li.",
        "Let all values be 10. What must O be, whatever the weights are, and what is yours?",
    ),
    _idea(
        "reduced-over-everything",
        "The maximum or the sum of a tile is a single number",
        "Without dim, amax and sum make one number of a whole tensor: all queries of all heads then share it. But each "
        "query has a maximum and a sum of its own.",
        "Sij.amax(dim=3, keepdim=True) and Pij.sum(dim=3, keepdim=True) have one entry for each query.",
        "Print the shapes of your maximum and your sum, with 2 heads and Br of 16. How many queries are there, and how "
        "many numbers?",
        *models.OVER_EVERYTHING,
    ),
    _idea(
        "reduced-over-queries",
        "The maximum or the sum of a tile is one for each key",
        "The scores of a query lie along the last axis, dim=3. With dim=2 you reduce over the queries of the tile: "
        "each key gets one number, of scores that belong to different queries.",
        "Sij.amax(dim=3, keepdim=True) and Pij.sum(dim=3, keepdim=True) have one entry for each query.",
        "Let Br be 16 and Bc 8, and print the shapes of Sij, of your maximum and of your sum. Which lengths must the "
        "last two sides have, if each query is to have one number?",
        *models.STATE_ACROSS_KEYS,
    ),
    _idea(
        "epsilon-in-the-division",
        "A small number is added to the normaliser",
        "li + 0.0001 keeps 0 / 0 away, but also makes every other O a little too small: with li of 1.203, by 0.008 %, "
        "a thousand times more than fp32 loses.",
        "Divide by 1 where li is 0, and by li itself everywhere else: Oi / torch.where(li == 0, 1.0, li).",
        "Let all values be 10. What must O be exactly, and what is yours? For which queries do you need the small "
        "number at all?",
        *models.EPSILON,
    ),
    _idea(
        "no-max-subtraction",
        "The maximum is not subtracted",
        "The exponential of a score above 88.7 is infinite in fp32, and infinity divided by infinity is NaN. Those of "
        "scores around -200 are all 0, and nothing is left to divide. There is no need for either: the scores 100 and "
        "102 have the weights .12 and .88.",
        "Pij = torch.exp(Sij - mi_new), with mi_new = torch.maximum(mi, Sij.amax(dim=3, keepdim=True)).",
        "How do you compute the weights of the scores 100 and 102 with a pocket calculator that ends at 10^38?",
    ),
    _idea(
        "maximum-starts-too-high",
        "The running maximum does not start at -inf",
        "Where all scores of a query are far below the number that it starts at, it stays there: their exponentials "
        "are 0, and so is O.",
        "It starts at -float('inf'), which every score is above.",
        "Let all scores of a query be -200. What is your maximum after the first tile, and what are the exponentials? "
        "Which start is below every score?",
    ),
    _idea(
        "maximum-of-hidden-scores",
        "Scores that are hidden take part in the maximum",
        "Pij is 0 where a key is hidden, but the maximum was taken before. Where a hidden score is far above those "
        "that count, their exponentials are all 0, and so is O.",
        "Hide the scores themselves, before the maximum: Sij.masked_fill(hidden, -float('inf')).",
        "A query sees a key with score 1, and a key with score 200 is hidden from it. What is your maximum, and what "
        "is the weight of the key that it sees?",
        models.MAXIMUM_OF_HIDDEN,
    ),
    _idea(
        "hidden-scores-zero",
        "Hidden scores are 0, and not -inf",
        "exp(0 - mi) is not 0: a hidden key counts like one whose score is 0. With mi of 3, that is 0.05 for each.",
        "The exponential of -inf is 0: Sij.masked_fill(hidden, -float('inf')).",
        "A query sees a key with score 3, and another key is hidden from it. What is the weight of the hidden one if "
        "its score is 0? For which score is the exponential 0?",
        models.HIDDEN_AS_ZERO,
    ),
    _idea(
        "mask-of-each-tile",
        "Each tile is masked as if it were the first one",
        "tril and triu count from the corner of the tensor that they get, and so do positions that start at 0. In a "
        "tile that lies elsewhere, that is not the diagonal.",
        "Compare positions in the whole matrix: those of a tile begin at start_q and at start_k.",
        "Take 32 queries and 32 keys in tiles of 16. Which keys from 0 to 15 does query 16 see? Which ones does it see "
        "with your mask?",
        *models.MASK_OF_EACH_TILE,
    ),
    _idea(
        "mask-of-each-tile",
        "The positions of keys begin at 0 in every tile",
        "torch.arange without start_k counts from the first key of the tile. In the tile that begins at key 32, the "
        "mask takes key 40 for key 8, and so shows it to queries that come before it.",
        "keys = torch.arange(start_k, start_k + Kj.shape[2]).",
        "Take 32 queries and 32 keys in tiles of 16, and print keys in the second tile of keys. Which numbers do you "
        "get, and which positions do these keys have?",
        *models.KEYS_FROM_ZERO,
    ),
    _idea(
        "mask-of-each-tile",
        "The positions of queries begin at 0 in every tile",
        "torch.arange without start_q counts from the first query of the tile. In the tile that begins at query 32, "
        "the mask takes query 40 for query 8, and so hides keys that it sees.",
        "queries = torch.arange(start_q, start_q + Qi.shape[2]).",
        "Take 32 queries and 32 keys in tiles of 16, and print queries in the second tile of queries. Which numbers do "
        "you get, and which positions do these queries have?",
        *models.QUERIES_FROM_ZERO,
    ),
    _idea(
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it. With 4 queries and 4 keys, query 0 "
        "must see key 0 alone, but here it sees keys 2 and 3.",
        _CAUSAL,
        "With 4 queries and 4 keys, how many keys must query 3 see? How many does it see with your mask?",
    ),
    _idea(
        "causal-off-by-one",
        "The causal mask is off by one key",
        "Either no query sees its own key, or each sees one key of the future. With as many queries as keys, query 0 "
        "must see key 0 and no other.",
        _CAUSAL,
        "With 4 queries and 4 keys, which keys does query 0 see with your mask? Which ones must it see?",
    ),
    _idea(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "Query 0 sees only key 0 here. But queries are the last n_q of n_k positions: with 3 queries and 5 keys, query "
        "0 stands at position 2 and sees keys 0, 1 and 2, and the last query sees all keys.",
        _CAUSAL,
        "With 3 queries and 5 keys, which keys must the last query see? Which ones does it see with your mask?",
    ),
    _idea(
        "causal-offset-reversed",
        "The offset of the causal mask has the wrong sign",
        "Your offset is n_q - n_k. But queries are the last n_q of n_k positions: with 3 queries and 5 keys, query 0 "
        "stands at position 2, which is 0 + 5 - 3, and with your sign it sees no key at all.",
        _CAUSAL,
        "With 3 queries and 5 keys, at which of the positions 0 to 4 does query 0 stand? At which one does your mask "
        "place it?",
        *models.OFFSET_REVERSED,
    ),
    _idea(
        "causal-ignored",
        "Queries see keys of the future",
        "With causal, keys past the position of a query were used. With as many queries as keys, the first query must "
        "see one key, so its row of O is the first row of V.",
        "Hide scores where keys > queries[:, None] + n_k - n_q: Sij.masked_fill(hidden, -float('inf')).",
        "Take 4 queries, 4 keys and causal, and print row 0 of O. Which row of V must it be?",
    ),
    _idea(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tile, or several",
        "Some query of the tile sees a key in a tile that your loop does not visit. The tile on the diagonal is only "
        "partly hidden: the last query of a tile sees the most.",
        _END,
        "Take 40 queries and 41 keys in tiles of 16, with causal. Which is the last key that query 15 sees, and in "
        "which tile is it? At which key does your loop end for start_q of 0?",
    ),
    _idea(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        "A query that sees no key has only scores of -inf, so its maximum is -inf, and -inf - (-inf) is NaN. Or it "
        "looks at no tile at all, and 0 / 0 is NaN.",
        _GUARD,
        "With 3 queries and 2 keys, and causal, query 0 sees no key. What are mi and li of it at the end, and what "
        "should its O be? Which of your steps makes NaN of them?",
    ),
    _idea(
        "hidden-rows-mean-of-v",
        "Queries that see no key get the mean of V",
        "With a large negative number for hidden scores, a query that sees no key has that number as its maximum, and "
        "all of its exponentials are exp(0), which is 1.",
        "Hide scores with -float('inf') and guard the maximum, or set Pij to 0 where a key is hidden.",
        "Take a query whose scores are all -1e9. What is its maximum, and what are its exponentials? What should its O "
        "be if all of its keys are hidden?",
        models.MEAN_OF_V,
    ),
    _idea(
        "lse-without-max",
        "The maximum is missing in LSE",
        "You return log(li), and li is a sum of exponentials relative to the maximum. In the lesson's numbers that is "
        "0.185 instead of 5.185.",
        _LSE,
        "In the lesson's numbers, LSE is 5.185 and li is 1.203. What is log(1.203), and what is missing?",
    ),
    _idea(
        "lse-of-the-last-tile",
        "LSE is that of the last tile of keys",
        "Sij holds one tile of scores when the loop ends. In the lesson's numbers, the last tile alone gives 5.049 "
        "instead of 5.185. Where a query looks at no tile, there is no Sij at all.",
        "mi and li hold what all tiles have left: " + _LSE,
        "Which keys are in Sij when your loop over keys has ended? Which two of your names know all keys?",
        models.LSE_OF_LAST_TILE,
    ),
    _idea(
        "lse-of-hidden-rows",
        "LSE of a query that sees no key is not -inf",
        "Its sum of exponentials is 0, and log(0) is -inf. Guards that put 0 for its maximum and 1 for its li make an "
        "LSE of 0. And a finite number in the place of -inf, as a hidden score or the start of the maximum, is left in "
        "LSE. The backward pass computes exp(S - LSE), and would give such a query a weight, or infinity.",
        "Hide scores with -float('inf'), let mi start there, and guard only what is subtracted and what is divided by. "
        + _LSE,
        "With 3 queries and 2 keys, and causal, query 0 sees no key. To what do its exponentials sum, and what is the "
        "logarithm of that? Which values of mi and li go into your LSE?",
    ),
    _idea(
        "lse-without-log",
        "LSE is not a logarithm",
        "You return mi + li. In the lesson's numbers that is 6.203 instead of 5.185: the backward pass takes exp(s - "
        "LSE) for a weight, and would get one that is too small.",
        _LSE,
        "In the lesson's numbers, mi is 5 and li is 1.203, and LSE is 5.185. What does 1.203 have to become?",
    ),
    _idea(
        "lse-is-the-normaliser",
        "The normaliser is returned instead of LSE",
        "You return li. In the lesson's numbers that is 1.203 instead of 5.185: without the maximum nobody can compute "
        "the weights again.",
        _LSE,
        "LSE is the logarithm of the sum of e^1, e^3, e^2 and e^5 in the lesson's numbers. What is that, and which "
        "part of it is in your 1.203?",
    ),
    _idea(
        "lse-is-the-max",
        "The maximum is returned instead of LSE",
        "You return mi. In the lesson's numbers that is 5 instead of 5.185: the backward pass takes exp(s - LSE) for a "
        "weight, and such weights would sum to 1.203, not to 1.",
        _LSE,
        "Scores 1 3 2 5, minus your LSE of 5: what do their four exponentials sum to? What must be subtracted so that "
        "the sum is 1?",
    ),
    _idea(
        "v-from-k",
        "V is taken from K",
        "O is an average of the rows of K. The shapes are the same, so nothing complains, but the weights belong to "
        "the rows of V.",
        "Vj is a slice of v.",
        "Let all values be 10. What must O be, and which input does yours change with instead?",
    ),
    _idea(
        "sign-reversed",
        "The scores have the wrong sign",
        "O weighs V's rows with exp(-S): the keys that fit a query least count most. In the lesson's numbers the value "
        "10, with the lowest score, gets the largest weight.",
        _SCALED,
        "Run the lesson's numbers. Which of the four keys must have the largest weight, and which one has it in yours?",
    ),
    _idea(
        "scale-on-the-output",
        "The scale multiplies the output instead of the scores",
        "Outside the exponential, scale makes O smaller, and the weights stay as sharp as without it. With scale 0.5 "
        "and values that are all 10, you return 5.",
        _SCALED,
        "Let all values be 10 and scale 0.5. What must O be, and what is yours?",
    ),
    _idea(
        "scale-missing",
        "The scores are not scaled",
        "Your scores are Q Kᵀ, as if scale were 1. With scale 0.5 the lesson's scores are 0.5 1.5 | 1 2.5, and the "
        "weights are less sharp than with 1 3 | 2 5.",
        _SCALED,
        "Run the lesson's numbers with scale 1 and with scale 0. With 0, all weights are the same: what must O be?",
    ),
    _idea(
        "scale-twice",
        "The scores are scaled twice",
        "Your scores have the factor scale * scale. With scale 0.5 the lesson's score 5 becomes 1.25 instead of 2.5. "
        "Was Q multiplied by scale as well?",
        _SCALED,
        "Print a score of the lesson's numbers with scale 0.5. Is the last one 2.5? How often does scale stand between "
        "q and the exponential?",
    ),
    _idea(
        "scale-inverted",
        "The scores are divided by the scale",
        "scale is a factor, often 1/sqrt(d). Dividing by it makes the scores too large: with scale 0.5 the lesson's "
        "score 5 becomes 10 instead of 2.5.",
        _SCALED,
        "Print a score of the lesson's numbers with scale 0.5. Should it be larger or smaller than with scale 1?",
    ),
    _idea(
        "scale-assumed",
        "The scores are divided by sqrt(d)",
        "scale is an argument of the function, and here it is not 1/sqrt(d). A caller may want weights that are "
        "sharper or less sharp.",
        _SCALED,
        "Call your function with scale 1 and with scale 0.5. Does O change?",
    ),
    _idea(
        "base-two",
        "2**s was used where e**s is asked for",
        "The weights of a softmax are powers of e. Powers of 2 are closer to each other: for scores 3 and 5 the "
        "weights are .2 and .8, and should be .12 and .88.",
        "Use torch.exp; or multiply the scores by log2(e), 1.4426950408889634, before they are powers of 2.",
        "Take two scores, 3 and 5. Which two weights does your function give them? By which factor does a weight grow "
        "if its score grows by 1?",
    ),
    _idea(
        "last-keys-only",
        "mi stays at -inf, and each tile forgets those before it",
        "With mi at -inf, the factor exp(mi - mi_new) is 0 at every tile, so Oi and li lose what was in them. In the "
        "lesson's numbers O is 41.49 / 1.050, or 39.53, instead of 36.88, and LSE is -inf.",
        "At the end of each iteration: mi = mi_new.",
        "Print mi and the factor at the beginning of the second tile. Does mi hold the maximum that the first tile "
        "left?",
        models.MAXIMUM_FORGOTTEN,
    ),
    _idea(
        "last-keys-only",
        "Only the last tile of keys counts",
        "O is the attention to the last tile of keys alone: what was added up before it is lost. In the lesson's "
        "numbers that is 41.49 / 1.050, or 39.53, instead of 36.88.",
        "Oi, li and mi are set before the loop over keys, and kept from one tile to the next.",
        "Print mi, li and Oi at the beginning of the second tile. Do they still hold what the first tile left?",
    ),
    _idea(
        "whole-tiles-only",
        "The last tile of keys is left out where it is not full",
        "n_k need not be a multiple of Bc, and n_k // Bc is rounded down. With 70 keys in tiles of 32, keys 64 to 69 "
        "are left out.",
        "Loop over range(0, n_k, Bc). A slice that goes past the end is cut there: k[:, :, 64:96] of 70 keys has 6.",
        "Take 70 keys in tiles of 32. How many tiles are needed, and how many does your loop visit?",
    ),
    _idea(
        "k-not-transposed",
        "K is not transposed",
        "Kj has a row for each key. In a product with Qi it must have a column for each. reshape does not make one: it "
        "keeps the numbers in their order, and only cuts the rows elsewhere. With square tiles the shapes fit all the "
        "same.",
        "Kj.transpose(2, 3) exchanges the last two axes; so does Kj.mT.",
        "Take two keys, 1 2 and 3 4. Which numbers are in the first column of what you multiply Qi with? They should "
        "be the first key.",
        models.RESHAPED,
    ),
    _idea(
        "only-one-head",
        "All heads are computed from the first one",
        "The heads lie along axis 1, and each has queries, keys and values of its own. Here every head of O is that of "
        "head 0.",
        "Slice the rows only, q[:, :, start_q : start_q + Br]: @ takes all sequences and heads at once.",
        "Print the shape of a tile of queries with 3 heads. Along which axis do the heads lie, and how many are left "
        "in your tile?",
    ),
)

IN_PYTORCH = (*MEMORY_AND_WORK, *VALUES)
