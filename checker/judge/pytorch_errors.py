"""PyTorch's errors for wrong programs, by name; and the sandbox's, for forbidden operations."""

from __future__ import annotations

from checker.course.misconception import Ideas, Raises

idea = Ideas(__file__)

COMMON = (
    idea("shapes-differ", Raises(r"must match the (size|existing size)|Sizes of tensors must match|expanded size")),
    idea(
        "product-of-wrong-shapes",
        Raises(r"shapes cannot be multiplied|Expected size for first two dimensions|subscript \S+ has"),
    ),
    idea("types-differ", Raises(r"to have the same dtype|expected scalar type|same type")),
    idea("truth-of-many", Raises(r"Boolean value of Tensor with")),
)
