"""Triton text with holes: what has its form, and what stands in the holes."""

from __future__ import annotations

import ast

import pytest

from checker.judge.text.written import fits


@pytest.mark.parametrize(
    ("form", "text", "holes"),
    [
        ("_", "x + 1", {}),
        ("A + A", "x + x", {"A": "x"}),
        ("A + A", "x + y", None),
        ("A + B", "x - y", None),
        ("tl.exp(A - B, ...)", "tl.exp2(x[:, None] - m)", {"A": "x[:, None]", "B": "m"}),
        ("tl.exp(A)", "x.exp()", None),
        ("tl.sum(...)", "x.sum(0)", {}),
        ("tl.where(_, _, 0)", "tl.where(mask, x, 0.0)", {}),
        ("tl.where(_, _, 0)", "tl.where(mask, x, 1)", None),
        ("tl.where(M, ...)", "tl.where(keys < n, x, 0)", {"M": "keys < n"}),
        ("tl.load(..., other=O)", "tl.load(p, mask=m, other=-1.0)", {"O": "-1.0"}),
        ("tl.load(..., other=O)", "tl.load(p, mask=m)", None),
        ("tl.max(_, 0, ...)", "tl.max(s, 0, keep_dims=True)", {}),
        ("tl.max(_, 0)", "tl.max(s)", None),
        ("A < B", "i < n", {"A": "i", "B": "n"}),
        ("A < B", "i <= n", None),
        ("_[:, None]", "keys[:, None]", {}),
        ("_[:, None]", "keys[None, :]", None),
        ("tl.float16", "tl.float16", {}),
        ("tl.float16", "x.dtype", None),
    ],
)
def test_what_has_a_form(form: str, text: str, holes: dict[str, str] | None) -> None:
    found = fits(form, ast.parse(text, mode="eval").body)
    assert (found and {name: ast.unparse(value) for name, value in found.items()}) == holes
