"""The registry of puzzles: their order, and the name of each.

`w` is a warm-up, `p` one of the seven that lead from softmax to FlashAttention, `a` a step on the way to attention,
`b` one of those beyond the seven, `c` the capstone. The *main path* is the seven with what they need. The other
puzzles are optional, and say when they help.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from checker.course.status import Misuse


@dataclass(frozen=True)
class Rung:
    """A puzzle's ID, and what its files and its reports call it."""

    id: str
    slug: str
    title: str
    pytorch: bool = False  # what is written is PyTorch, and no kernel
    launches: tuple[str, ...] = ()  # the puzzles whose kernels it launches: the learner's own, so that nobody grades it
    helps: str = ""  # when to do it, if it is optional
    gives: str = ""  # what one does there, in a sentence, if it is one of the seven
    saves: str = ""  # what its traffic bound spares, in a sentence that is said after success, if it is a kernel
    draft: bool = False  # its author is not done: tests that ask for what a finished puzzle has are skipped

    @property
    def stem(self) -> str:
        """The name that the puzzle's files share."""
        return f"{self.id}_{self.slug}"


LADDER = (
    Rung(
        "w1",
        "vector_add",
        "Vector addition",
        gives="Your first kernel: each program finds its own part of a vector, and a mask ends the last one.",
        saves="x and y are loaded once, and z is stored once: no kernel can do with less.",
    ),
    Rung(
        "w2",
        "row_sum",
        "Row sums",
        helps="before p1, if strides or sums are new to you",
        saves="x is loaded once, and only one number of each row is stored: no kernel can do with less.",
    ),
    Rung(
        "w3",
        "transpose",
        "The transpose",
        helps="before p4, if tiles of a matrix are new to you",
        saves="Each element is loaded once and stored once: a transpose is as much traffic as a copy.",
    ),
    Rung(
        "p1",
        "naive_softmax",
        "Naive softmax",
        gives="Each row has a program, and you decide what its padding holds.",
        saves="The data cross the memory bus twice: separate kernels for exp, sum and division need five crossings.",
    ),
    Rung(
        "p2",
        "safe_softmax",
        "Safe softmax, three passes",
        gives="The maximum is taken off first, so nothing overflows, and a row may be longer than a block.",
        saves="Four crossings of the memory bus, for rows of any length: a kernel for each step would need eight.",
    ),
    Rung(
        "p3",
        "online_softmax",
        "Online softmax, two passes",
        gives="The maximum and the sum in one pass: the idea behind FlashAttention.",
        saves="x is loaded twice, not three times: three quarters of p2's traffic.",
    ),
    Rung(
        "p4",
        "tiled_softmax",
        "Tiled softmax",
        gives="A program has several rows, so its tile has two masks.",
        saves="As much traffic as p3, with several rows in each program: the shape that attention needs.",
    ),
    Rung(
        "a1",
        "matmul",
        "Matrix product in tiles",
        gives="You multiply matrices tile by tile, and sum in fp32.",
        saves="Each tile serves a whole tile of C: up to Bn times fewer loads of A, and up to Bm times fewer of B.",
    ),
    Rung(
        "a2",
        "attention_in_pytorch",
        "Attention in PyTorch, by tiles",
        pytorch=True,
        helps="before p5, for the algorithm before its kernel",
    ),
    Rung(
        "a3",
        "two_sweep_attention",
        "Attention in two passes",
        helps="before p5, for heads and masks by themselves",
        saves="The n × n scores are never stored: only Q, K and V are loaded, and only O is stored, once.",
    ),
    Rung(
        "p5",
        "flash_attention_1",
        "FlashAttention-1",
        gives="Softmax and products together: attention that never stores its scores.",
        saves="The n × n scores are never stored, but O goes out and in once for each tile of keys: p6 ends that.",
    ),
    Rung(
        "p6",
        "flash_attention_2",
        "FlashAttention-2, full and causal",
        gives="The loops turned around: the output stays on the chip, and hidden tiles are skipped.",
        saves="O is stored once, not for each tile of keys; a causal mask spares about half of the loads of K and V.",
    ),
    Rung(
        "a4",
        "backward_in_pytorch",
        "The backward pass in PyTorch, by tiles",
        pytorch=True,
        helps="before p7, for the gradients before the kernels",
    ),
    Rung(
        "p7",
        "causal_backward",
        "The causal backward pass",
        gives="You compute the scores again, and from them the gradients of q, k and v.",
        saves="P and dS, both n × n, are never stored: they are computed again, and each gradient is stored once.",
    ),
    Rung(
        "c1",
        "tiny_gpt",
        "A small GPT with your own attention",
        pytorch=True,
        launches=("p6", "p7"),
        helps="after p7, to train a model with your kernels",
    ),
    Rung(
        "b1",
        "attention_bias",
        "Attention with a bias",
        helps="after p7, for positions, and masks of finite numbers (no -inf)",
        saves="A number of the bias that a tile shares is loaded once for the tile, and its gradient is stored once.",
    ),
    Rung(
        "b2",
        "attention_dropout",
        "Attention with dropout",
        helps="after p7, for random numbers in a kernel",
        saves="The n × n dropout mask is never stored: the forward and the backward pass both draw it from the seed.",
    ),
    Rung(
        "b3",
        "split_kv",
        "Decoding: attention split along the keys",
        helps="after p6, for one query and many keys",
        saves="K and V are loaded once, all splits together: a split adds one row of O and one LSE for each query.",
    ),
)
RUNGS = {rung.id: rung for rung in LADDER}
SPINE = tuple(rung.id for rung in LADDER if not rung.helps)  # each is explained by those before it
EVENING = ("p1", "p3", "p6")  # the shortest way, for who has written Triton before
ORDER = (*SPINE, *(rung.id for rung in LADDER if rung.helps))  # as learners see it: the main path first

# What only has tuned versions: judged and timed like a puzzle, and in no list of puzzles. It has no lesson, no notebook
# and no grade.
SPEED_TRACK = (Rung("s3", "long_rows", "Softmax of long rows: one row, many programs"),)


def entry(id: str) -> Rung:
    """Return the puzzle, or the long rows that are only timed, with this ID. KeyError."""
    return {**RUNGS, **{rung.id: rung for rung in SPEED_TRACK}}[id]


def stems() -> dict[str, str]:
    """ID → `ID_slug` of every puzzle, in order, without importing any of them."""
    return {id: rung.stem for id, rung in RUNGS.items()}


def numbered(id: str) -> str:
    """Return what the puzzle's notebook is called, without its suffix. The number in front puts the names in order."""
    return f"{ORDER.index(id) + 1:02}_{RUNGS[id].stem}"


def without_number(stem: str) -> str:
    """A file's name without such a number, whichever it was."""
    return re.sub(r"^\d\d_(?=[a-z]\d_)", "", stem)


def ids() -> dict[str, str]:
    """`ID_slug` → ID: the way back from a file, or from nbgrader's assignments."""
    return {stem: id for id, stem in stems().items()}


def graded() -> list[str]:
    """Return the puzzles that a course can give points for: not those that run the learner's own kernels of others."""
    return [id for id, rung in RUNGS.items() if not rung.launches]


def timed_id(said: object) -> str:
    """Return the ID as `id_of` does, also of long rows, which are only timed."""
    own = [rung.id for rung in SPEED_TRACK if rung.id == str(said).lower()]
    return own[0] if own else id_of(said)


def place_of(id: str) -> tuple[int, str]:
    """Return the key that sorts puzzles in the order of the course; others come last."""
    order = list(RUNGS)
    return (order.index(id) if id in RUNGS else len(order), id)


def following(id: str) -> list[str]:
    """Return the puzzles after this one, then those before it: of the main path, then the optional ones.

    All of them if there is none of this ID.
    """
    order = list(RUNGS)
    at = order.index(id) + 1 if id in RUNGS else 0
    others = [one for one in (*order[at:], *order[:at]) if one != id]
    return sorted(others, key=lambda one: one not in SPINE)


def id_of(said: object) -> str:
    """Return the puzzle that is meant by a word of the command line, or by what was given in a notebook.

    A bare number is one of the seven: 4 is p4. A file's name without its ending will do, and its path as Tab completes
    it. Raises Misuse if there is no such puzzle.
    """
    word = re.sub(r"^(\./)?puzzles/(.+)\.py$", r"\2", str(said).lower())
    for id in (word, f"p{word}", ids().get(without_number(word))):
        if id in RUNGS:
            return id
    raise Misuse(f"There is no puzzle {said!r}. There is: {', '.join(RUNGS)}.")
