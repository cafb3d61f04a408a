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
_CAUSAL = "Query i sees key j if j <= i + n_k - n_q."
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


def _idea(id: str, title: str, explanation: str, hint: str, *signs: Sign) -> Misconception:
    """A wrong idea; without signs of its own, those of kernels that have it."""
    return Misconception(id, title, explanation, hint, signs or _of(id))


MEMORY_AND_WORK = (
    _idea(
        "blocks-not-skipped",
        "Tiles that the causal mask hides altogether are computed all the same",
        "A tile beyond the diagonal is masked to the last entry. It changes nothing and costs as much as any other, "
        "which is about half of the work.",
        _END,
        models.HIDDEN_TILES,
    ),
    _idea(
        "scores-computed-twice",
        "The scores are computed twice",
        "Q Kᵀ is made once for the maximum and the normaliser, and again for O: three products for each tile, "
        "where two are enough.",
        "One pass over the keys does it all. When the maximum grows, Oi is rescaled as li is: Oi = alpha * Oi + "
        "Pij @ Vj.",
        models.SCORES_TWICE,
    ),
    _idea(
        "all-scores-at-once",
        "All scores are made at once",
        "A tensor of n_q x n_k numbers for each head is what plain attention needs. At 16,384 tokens that is 268 "
        "million numbers, and never to hold them is what makes this FlashAttention.",
        "Make the scores of one tile, Br queries and Bc keys, and go on only when you are done with them.",
        models.ALL_SCORES,
    ),
    _idea(
        "all-keys-at-once",
        "A tile of queries meets all keys at once",
        "A strip of Br x n_k scores grows with the number of keys. It also needs no online softmax: that is there for "
        "the case that the keys come in tiles.",
        "A second loop, over range(0, n_k, Bc), takes Bc keys at a time.",
        models.STRIP_OF_KEYS,
    ),
    _idea(
        "all-queries-at-once",
        "A tile of keys meets all queries at once",
        "A strip of n_q x Bc scores grows with the number of queries.",
        "A second loop, over range(0, n_q, Br), takes Br queries at a time.",
        models.STRIP_OF_QUERIES,
    ),
    _idea(
        "whole-mask",
        "The causal mask is made whole",
        "The scores come in tiles, but the mask has n_q x n_k entries. It grows as the scores would.",
        "Compare the positions of a tile alone: keys > queries[:, None] + n_k - n_q, with torch.arange(start, end).",
        models.WHOLE_MASK,
    ),
    _idea(
        "all-tiles-kept",
        "The tiles are kept until the end",
        "Each tile is small, but all of them together are the matrix that was not to be held. A list keeps what is "
        "in it alive.",
        "Use up a tile before the next one is made: add Pij @ Vj to Oi, the sum of Pij to li, and forget it.",
        models.ALL_TILES,
    ),
)

VALUES = (
    _idea(
        "accumulator-not-rescaled",
        "O is not rescaled when the maximum grows",
        "Oi adds up products that were taken relative to different maxima. What it held relative to the old one must "
        "be multiplied by exp(mi - mi_new).",
        _STATE,
    ),
    _idea(
        "denominator-not-rescaled",
        "The normaliser is not rescaled when the maximum grows",
        "li adds up exponentials that were taken relative to different maxima. If you do multiply by "
        "exp(mi - mi_new), then mi was overwritten before that, and the factor is exp(0) = 1.",
        _STATE,
    ),
    _idea(
        "max-of-last-tile",
        "The maximum is that of the last tile only",
        "Each tile's maximum replaces the one before it. Where an earlier tile had a much larger score, the factor "
        "exp(mi - mi_new) overflows.",
        "The running maximum never falls: mi_new = torch.maximum(mi, Sij.amax(dim=3, keepdim=True)).",
    ),
    _idea(
        "new-part-not-rescaled",
        "The new part is relative to its own tile",
        "Pij was taken relative to the maximum of its own tile. If an earlier tile had a larger one, it counts too "
        "much, both in li and in Oi.",
        "Subtract the running maximum: Pij = torch.exp(Sij - mi_new).",
    ),
    _idea(
        "accumulator-overwritten",
        "O forgets the tiles of keys before the last one",
        "Oi is the product of the last tile alone, divided by the sum over all keys.",
        _STATE,
    ),
    _idea(
        "sum-of-last-tile",
        "The normaliser forgets the tiles of keys before the last one",
        "li is the sum of the last tile alone: each tile's sum replaces the one before it.",
        _STATE,
    ),
    _idea(
        "softmax-of-each-tile",
        "Each tile of keys has a softmax of its own",
        "The weights of one query must sum to 1 over all keys. Here they sum to 1 in each tile.",
        "Keep mi and li of each query from one tile of keys to the next, as in puzzle 4, and divide by li at the end.",
        *models.SOFTMAX_OF_EACH_TILE,
    ),
    _idea(
        "divided-at-every-step",
        "O is divided in every step",
        "Oi was divided by li inside the loop, and then added to as if it had not been.",
        "Divide once, after the loop over keys. If you do divide in it, multiply the old Oi by the old li first.",
    ),
    _idea(
        "not-divided",
        "O is not divided by the normaliser",
        "O is a sum of V's rows with weights that do not sum to 1.",
        "After the loop over keys: Oi / li.",
    ),
    _idea(
        "reduced-over-everything",
        "The maximum or the sum of a tile is a single number",
        "Without dim, amax and sum make one number of a whole tensor: all queries of all heads then share it.",
        "Sij.amax(dim=3, keepdim=True) and Pij.sum(dim=3, keepdim=True) have one entry for each query.",
        *models.OVER_EVERYTHING,
    ),
    _idea(
        "maximum-starts-too-high",
        "The running maximum does not start at -inf",
        "Where all scores of a query are far below the number that it starts at, it stays there: their exponentials "
        "are 0, and so is O.",
        "It starts at -float('inf'), which every score is above.",
    ),
    _idea(
        "maximum-of-hidden-scores",
        "Scores that are hidden take part in the maximum",
        "Pij is 0 where a key is hidden, but the maximum was taken before. Where a hidden score is far above those "
        "that count, their exponentials are all 0, and so is O.",
        "Hide the scores themselves, before the maximum: Sij.masked_fill(hidden, -float('inf')).",
        models.MAXIMUM_OF_HIDDEN,
    ),
    _idea(
        "hidden-scores-zero",
        "Hidden scores are 0, and not -inf",
        "exp(0 - mi) is not 0: a hidden key counts like one whose score is 0.",
        "The exponential of -inf is 0: Sij.masked_fill(hidden, -float('inf')).",
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
        "causal-upside-down",
        "The causal mask is upside down",
        "Queries see the keys after their own position instead of those before it.",
        _CAUSAL,
    ),
    _idea(
        "causal-off-by-one",
        "The causal mask is off by one key",
        "Either no query sees its own key, or each sees one key of the future.",
        _CAUSAL,
    ),
    _idea(
        "causal-top-left",
        "The causal mask is aligned top-left",
        "The mask is j <= i, as if the first query stood at the first key. Queries are the last n_q positions of n_k: "
        "the last query sees all keys.",
        _CAUSAL,
    ),
    _idea(
        "causal-ignored",
        "Queries see keys of the future",
        "With causal=True, keys past the position of a query were used.",
        "Hide the scores of keys with j > i + n_k - n_q: Sij.masked_fill(hidden, -float('inf')).",
    ),
    _idea(
        "loop-ends-too-early",
        "The loop over keys leaves out the last tile, or several",
        "Some query of the tile sees a key in it.",
        _END,
    ),
    _idea(
        "hidden-rows-nan",
        "Queries that see no key come out as NaN",
        "A query that sees no key has only scores of -inf, so its maximum is -inf, and -inf - (-inf) is NaN. Or it "
        "looks at no tile at all, and 0 / 0 is NaN.",
        _GUARD,
    ),
    _idea(
        "hidden-rows-mean-of-v",
        "Queries that see no key get the mean of V",
        "With a large negative number for hidden scores, a query that sees no key has that number as its maximum, and "
        "all of its exponentials are exp(0) = 1.",
        "Hide scores with -float('inf') and guard the maximum, or set Pij to 0 where a key is hidden.",
        models.MEAN_OF_V,
    ),
    _idea("lse-without-max", "The maximum is missing in LSE", "LSE is log(li), and li is a sum of exp(s - mi).", _LSE),
    _idea("lse-without-log", "LSE is not a logarithm", "LSE is mi + li.", _LSE),
    _idea("lse-is-the-normaliser", "The normaliser is returned instead of LSE", "LSE is li.", _LSE),
    _idea("lse-is-the-max", "The maximum is returned instead of LSE", "LSE is mi.", _LSE),
    _idea("v-from-k", "V is taken from K", "O is an average of the rows of K.", "Vj is a slice of v."),
    _idea(
        "sign-reversed",
        "The scores have the wrong sign",
        "O weighs V's rows with exp(-S): the keys that fit a query least count most.",
        _SCALED,
    ),
    _idea(
        "scale-on-the-output",
        "The scale multiplies the output instead of the scores",
        "Outside the exponential, scale makes O smaller, and the weights stay as sharp as without it.",
        _SCALED,
    ),
    _idea("scale-missing", "The scores are not scaled", "S is Q Kᵀ, but it should be scale * Q Kᵀ.", _SCALED),
    _idea(
        "scale-twice",
        "The scores are scaled twice",
        "S is scale * scale * Q Kᵀ. Was Q multiplied by scale as well?",
        _SCALED,
    ),
    _idea(
        "scale-inverted",
        "The scores are divided by the scale",
        "scale is what to multiply with, 1/sqrt(d) for instance. Dividing by it makes the scores too large.",
        _SCALED,
    ),
    _idea(
        "scale-assumed",
        "The scores are divided by sqrt(d)",
        "scale is an argument of the function, and here it is not 1/sqrt(d).",
        _SCALED,
    ),
    _idea(
        "base-two",
        "2**s was used where e**s is asked for",
        "The factors of a softmax are powers of e. 2**(s * log2(e)) is one, with log2(e) = 1.4426950408889634.",
        "Use torch.exp.",
    ),
    _idea(
        "last-keys-only",
        "Only the last tile of keys counts",
        "O is the attention to the last tile of keys alone: what was added up before it is lost.",
        "Oi, li and mi are set before the loop over keys, and kept from one tile to the next.",
    ),
    _idea(
        "whole-tiles-only",
        "The last tile of keys is left out where it is not full",
        "n_k need not be a multiple of Bc, and n_k // Bc is rounded down.",
        "Loop over range(0, n_k, Bc). A slice that goes past the end is cut there: k[:, :, 64:96] of 70 keys has 6.",
    ),
    _idea(
        "k-not-transposed",
        "K is not transposed",
        "Kj has a row for each key. In Qi @ Kj it must have a column for each. reshape does not make one: it keeps the "
        "numbers in their order, and only cuts the rows elsewhere. With square tiles the shapes fit all the same.",
        "Kj.transpose(2, 3) exchanges the last two axes; so does Kj.mT.",
        models.RESHAPED,
    ),
    _idea(
        "only-one-head",
        "All heads are computed from the first one",
        "The heads lie along axis 1, and each has queries, keys and values of its own.",
        "Slice the rows only, q[:, :, start_q : start_q + Br]: @ takes all sequences and heads at once.",
    ),
)

IN_PYTORCH = (*MEMORY_AND_WORK, *VALUES)
