"""Whole files, read: what is called, with what, and what of a notebook's cells is kept."""

from __future__ import annotations

import ast

import pytest

from checker.course.claims import Claims
from checker.submission.read import Chunk, Submission
from checker.submission.whole import options_in, whole

KERNEL = "@triton.jit\ndef kernel(x_ptr, n, BLOCK: tl.constexpr):\n    pass\n"
AUTOGRAD = """
class Mine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, window=None, is_causal=False):
        pass
"""


def read(text: str, **claims: str) -> tuple[str, str]:
    """What is called, and with what."""
    made = whole(Submission("mine.py", (Chunk(text),)), Claims(**claims))  # type: ignore[arg-type]
    return made.function, made.call


@pytest.mark.parametrize(
    ("text", "function", "call"),
    [
        ("def attention(q, k, v, scale, causal): ...", "attention", "q, k, v, scale, causal"),
        ("def helper(q): ...\ndef attention(q, k, v, *, sm_scale=None): ...", "attention", "q, k, v, sm_scale=scale"),
        ("def my_attn(Q, K, V, drop=0.0, is_causal=True): ...", "my_attn", "q, k, v, is_causal=causal"),
        ("def softmax(a): ...", "softmax", "x"),
        ("def fast_softmax(logits, dim=-1): ...", "fast_softmax", "x"),
        (AUTOGRAD, "Mine.apply", "q, k, v, None, causal"),
        (f"{AUTOGRAD}\nattention = Mine.apply", "attention", "q, k, v, None, causal"),
        (f"{KERNEL}def flash_attention(k, q, v): ...", "flash_attention", "k, q, v"),
    ],
)
def test_a_function_is_found_and_called_by_the_names_of_its_parameters(text: str, function: str, call: str) -> None:
    assert read(text) == (function, call)


def test_what_is_said_comes_before_what_is_found() -> None:
    assert read(AUTOGRAD, function="Mine.apply", call="v, k, q, 64, n=-1") == ("Mine.apply", "v, k, q, 64, n=-1")


def test_options_stand_in_the_first_line() -> None:
    assert options_in("# own: --as 'q, k, v' --square\nimport torch") == ["--as", "q, k, v", "--square"]
    assert options_in("import torch\n# own: --square") == []


def test_a_compiler_gets_kernels_and_constants_at_their_lines() -> None:
    text = (
        f"import torch\nimport triton.language as tl\nE: tl.constexpr = tl.constexpr(2.0)\nx = torch.zeros(3)\n{KERNEL}"
    )
    made = whole(Submission("mine.py", (Chunk(text + "def attention(q, k, v): ..."),)), Claims())
    kept = made.kernels_alone.split("\n")
    assert kept[1:3] == ["import triton.language as tl", "E: tl.constexpr = tl.constexpr(2.0)"]
    assert kept[4:7] == text.split("\n")[4:7] and not any((kept[0], kept[3], *kept[7:]))
    assert list(made.kernels) == ["kernel"]
    assert (around := made.around(6)) is not None and around.name == "kernel" and made.around(2) is None


def test_cells_keep_what_they_define() -> None:
    cells = (
        Chunk("%pip install x\nimport torch\nfrom checker.notebook import own", 1),
        Chunk("BLOCK = 64\nq = torch.randn(4, 8)\nown()\ndef attention(q, k, v):\n    return q\nmine = attention", 2),
    )
    made = whole(Submission("", cells), Claims())
    names = [type(node).__name__ for node in made.module.body]
    assert names == ["Import", "Assign", "FunctionDef", "Assign"]
    assert made.source.split("\n")[6] == "def attention(q, k, v):"  # at its line
    assert isinstance(made.module.body[1], ast.Assign) and made.numbers == [64]


def test_numbers_that_sizes_may_be_compared_with_are_known() -> None:
    text = "MOST = 40\nBUFFER = empty(1024, 64)\ndef attention(q, k, v):\n    if n > MOST or min(132, n) == 1: ..."
    assert whole(Submission("mine.py", (Chunk(text),)), Claims()).compared == (40, 132, 1024)
