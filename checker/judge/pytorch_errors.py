"""What PyTorch says of a wrong program, by name; and what the box says of one that goes its own ways."""

from __future__ import annotations

import re

from checker.course.misconception import Misconception, Raises

COMMON = (
    Misconception(
        "shapes-differ",
        "The shapes of two tensors do not fit together",
        "Two tensors are combined element by element. From the last axis on, each axis must have the same length in "
        "both, or the length 1.",
        'Print the shapes: print("s", s.shape). x[..., None] adds an axis of length 1 at the end, and keepdim=True '
        "keeps one that is reduced.",
        signs=(Raises(re.compile(r"must match the (size|existing size)|Sizes of tensors must match|expanded size")),),
    ),
    Misconception(
        "product-of-wrong-shapes",
        "These matrices cannot be multiplied",
        "In a @ b, a row of a must be as long as a column of b. Q has a row for each query, and "
        "K and V have one for each key.",
        "x.mT exchanges the last two axes of x. Scores are (Br, d) @ (d, Bc); a tile of scores or weights meets rows "
        "of keys or values as (Br, Bc) @ (Bc, d).",
        question="Print the shapes of both sides. Which two lengths must be equal, and what is each of them in yours?",
        signs=(
            Raises(re.compile(r"shapes cannot be multiplied|Expected size for first two dimensions|subscript \S+ has")),
        ),
    ),
    Misconception(
        "types-differ",
        "Tensors of different types are multiplied",
        "A product of matrices takes two tensors of the same type. Tensors that are made without dtype= are fp32, and "
        "x.float() is fp32 whatever x is.",
        "Keep the type of the input: dtype=q.dtype, or torch.zeros_like(q), and no conversion on the way.",
        signs=(Raises(re.compile(r"to have the same dtype|expected scalar type|same type")),),
    ),
    Misconception(
        "truth-of-many",
        "`if` needs one truth value, and this tensor has many",
        "A comparison of tensors gives a truth value for each element, and they need not agree.",
        "Choose element by element: torch.where(condition, a, b).",
        signs=(Raises(re.compile(r"Boolean value of Tensor with")),),
    ),
)
