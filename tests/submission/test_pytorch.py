"""Functions of PyTorch as text: what is kept, what is allowed, and what is said of the rest."""

from __future__ import annotations

import ast
import itertools
import random
import re
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.check import program_of
from checker.course import ladder, places
from checker.submission import refusals as triton
from checker.submission.extract import NotASubmission, Program, extract
from checker.submission.lint import lint
from checker.submission.problem import Problem, Problems
from checker.submission.pytorch import refusals, vocabulary
from checker.submission.read import Submission, from_cells
from tests.conftest import ROOT
from tests.pytorch import FORWARD, HEAD, PROGRAM, Attack, attacks, with_text

LIST = "What a function of PyTorch may use"


def submission(text: str, name: str = "a2.py") -> Submission:
    return from_cells([("code", text)], name, numbered=not name)


def program(text: str) -> Program:
    return extract(submission(text), (FORWARD,))


def problems(inside: str, before: str = "") -> list[Problem]:
    """What the lint says of the right program with text inside the function, and before it."""
    return lint(program(with_text(inside, before)))


def complaints(inside: str, before: str = "") -> list[str]:
    return [problem.id for problem in problems(inside, before)]


def refusal(text: str, name: str = "a2.py") -> Problem:
    with pytest.raises(NotASubmission) as refused:
        extract(submission(text, name), (FORWARD,))
    return refused.value.problem


# What is kept.


def test_only_functions_that_are_reached_and_numbers_are_kept() -> None:
    before = (
        "import math\nimport numpy as np\nNEG_INF = -0.5\nINFINITY = float('inf')\nUNUSED = 3\n"
        "SIZE: tl.constexpr = 3\nSCALE = tl.constexpr(2.0)\nROOT = math.sqrt(2)\n"
        "def inner(x):\n    return x + NEG_INF\n\ndef helper(x):\n    return inner(x) * INFINITY\n\n"
        "def unused(x):\n    return x.numpy()\n"
    )
    text = with_text("x = helper(q) + SIZE + SCALE + ROOT", before) + "\n\nprint(flash_attention_forward)\n"
    kept = program(text)
    assert kept.pytorch
    assert set(kept.helpers) == {"helper", "inner"}
    assert set(kept.constants) == {"NEG_INF", "INFINITY"}
    assert kept.calls[FORWARD.name] == {"helper", "inner"}
    kinds = [type(node).__name__ for node in ast.parse(kept.source).body]
    assert sorted(kinds) == ["Assign"] * 2 + ["FunctionDef"] * 3
    lines = text.split("\n")
    for number, line in enumerate(kept.source.split("\n")):
        assert line in ("", lines[number] if number < len(lines) else ""), "kept lines stay where they were"


def test_what_is_kept_runs_with_torch_alone() -> None:
    """The kept text, and the name torch: as the sandbox runs it."""
    torch = pytest.importorskip("torch")
    space: dict[str, object] = {"torch": torch}
    exec(program(PROGRAM).source, space)
    q, k, v = (torch.randn(2, 3, n, 4, dtype=torch.float64) for n in (7, 9, 9))
    o, lse = space[FORWARD.name](q, k, v, 0.5, False, 4, 2)  # type: ignore[operator]
    s = q @ k.mT * 0.5
    assert torch.allclose(o, torch.softmax(s, -1) @ v) and torch.allclose(lse, torch.logsumexp(s, -1))


OTHER = f"def attention({FORWARD.signature}):\n    return q\n"
REFUSED = {
    "missing": ("import torch\nx = 1\n", "kernel-missing", "There is no function flash_attention_forward."),
    "others-only": ("import torch\ndef plain(q, k):\n    pass\n", "kernel-missing", "There is no function"),
    "renamed": (f"import torch\n{OTHER}", "kernel-renamed", "one called attention."),
    "nested": (f"import torch\nif True:\n    def {FORWARD.name}():\n        pass\n", "kernel-missing", "top level"),
    "twice": (PROGRAM + PROGRAM, "defined-twice", "2 times"),
    "helper-twice": (
        with_text("x = h(q)", "def h(x):\n    return x\n\n\ndef h(x):\n    return x"),
        "defined-twice",
        "h is defined",
    ),
    "signature": (PROGRAM.replace("scale, causal", "causal, scale"), "signature-changed", "the judge calls it"),
    "annotated": (PROGRAM.replace("(q,", "(q: torch.Tensor,"), "signature-changed", "the judge calls it"),
    "default": (PROGRAM.replace("Bc)", "Bc=64)", 1), "signature-changed", "the judge calls it"),
    "decorated": (PROGRAM.replace("def flash", "@torch.no_grad()\ndef flash"), "decorated", "a plain function"),
    "jitted": (PROGRAM.replace("def flash", "@triton.jit\ndef flash"), "decorated", "a plain function"),
    "not-imported": (PROGRAM.replace("import torch", ""), "import-missing", "The functions use torch"),
    "a-part-imported": (PROGRAM.replace("import torch", "from torch import nn"), "import-missing", "use torch"),
    "something-else": (PROGRAM.replace("import torch", "import numpy as torch"), "import-missing", "use torch"),
    "import-renamed": (PROGRAM.replace("import torch", "import torch as T"), "import-renamed", "imported as T"),
    "helpers": (
        with_text("x = h0(q)", "\n".join(f"def h{n}(x):\n    return h{n + 1}(x)\n" for n in range(40)) + "h40 = 1"),
        "too-many-helpers",
        "The functions call 40 helper functions",
    ),
    "not-python": (PROGRAM + "x = (", "syntax-error", "Python cannot read this"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_submission_is_told_so_in_words_for_functions(name: str) -> None:
    text, id, words = REFUSED[name]
    problem = refusal(text)
    assert problem.id == id and words in problem.sentence, problem
    assert "kernel" not in problem.sentence + problem.hint and "triton" not in problem.sentence + problem.hint


def test_in_a_notebook_the_cells_are_named() -> None:
    assert refusal("import torch", "").id == "kernel-not-run"
    problem = refusal(PROGRAM.replace("import torch", ""), "")
    assert (problem.id, problem.hint) == ("import-missing", "Run the cell with import torch, then this one.")


@pytest.mark.parametrize("line", ["import torch", "import torch as torch", "import torch.nn", "import torch, math"])
def test_the_usual_forms_of_import_are_taken(line: str) -> None:
    assert lint(program(PROGRAM.replace("import torch", line))) == []


@pytest.mark.parametrize(
    ("body", "empty"),
    [
        ("    n_q = q.shape[2]\n    # FILL IN (roughly 20 lines)\n", True),
        ("    n_q = q.shape[2]\n    # FILL IN (roughly 20 lines)\n    pass\n", True),
        ('    """What it does."""\n    # FILL IN (roughly 20 lines)\n', True),
        ("    n_q = q.shape[2]\n    # FILL IN (roughly 20 lines)\n    o = torch.zeros_like(q)\n", False),
        ("    return q, k\n    # FILL IN (roughly 20 lines)\n", False),
        ("    for i in range(0, 3):\n        return q, k\n    # FILL IN (roughly 20 lines)\n", False),
        ("    n_q = q.shape[2]\n", False),
        ("    pass\n", True),
    ],
)
def test_a_function_is_empty_as_long_as_nothing_was_filled_in(body: str, empty: bool) -> None:
    assert program(HEAD + body).empty(FORWARD.name) is empty


# What is allowed.

HELPERS = """
LOG2E = 1.4427
NEG_INF = -float("inf")

def tile(x: torch.Tensor, start: int, rows, least=-1.0, most=None, whole=True) -> tuple[torch.Tensor, list[int]]:
    \"\"\"A tile.\"\"\"
    return x[..., start : start + rows, :], [rows]
"""

# Every form that is allowed, so that every place where an expression can stand is in here.
ALLOWED = """
x, sizes = tile(q, 0, rows=Br)
best, _ = torch.max(x, dim=-1, keepdims=True)
best = x.max(dim=-1).values
kept = ([], (1, 2))
kept[0].append(x.to(torch.float32))
rows = [i + 1 for i in range(0, 9, 2) if i > 2 if not i == 4]
for i, (part, other) in enumerate(zip(torch.split(q, Br, dim=2), list(k.split(Bc, dim=2))), start=1):
    if i < 2 <= Br and part is not None or other is None:
        continue
    elif i > 3:
        break
    else:
        rows[i] = rows[-1] * LOG2E
for part in reversed([q, k]):
    part = part + 1.0
first = second = torch.full((Br, Bc), fill_value=NEG_INF, dtype=q.dtype, device=q.device)
first[..., 1:Bc:2] = -torch.inf
first[slice(0, 2)] += second[None, :, 0] ** 2 @ second.T
first[first > 0] = 0
kept[0][0][..., :] = ~(first >= 0) & (second != 1) | (first < 1)
first **= 2
(one, two), [late] = (part + 1.0 for part in (q, k))
kept = [*kept, (*q.shape[:2], *(i for i in rows if i > 1)), list(i for i in rows), tuple(-i for i in (Br, Bc))]
count: int = len(rows) // 2 % 3
zero = torch.zeros(q.shape[:-1], device="cpu").to("cpu")[..., None]
product = torch.einsum("... i d, ... j d -> ... i j", q, k)
assert max(1, count) > 0, "text"
print("product", product, "and", float(count), int(2.5), float("-inf"))
late = q if causal else -k
"""


def test_what_is_allowed_is_allowed() -> None:
    assert problems(ALLOWED, HELPERS) == []


def test_the_right_program_has_nothing_to_complain_of() -> None:
    assert lint(program(PROGRAM)) == []


# K and V outside, Q inside, and lists of tiles, as FlashAttention's first paper has it.
OF_LISTS = '''
import torch
import torch.nn as nn
import numpy as np

NEG_INF = -1e10  # minus infinity
EPSILON = 1e-10


def plain(q, k, v):
    return nn.functional.softmax(q @ k.mT, dim=-1).numpy()


def flash_attention_forward(q, k, v, scale, causal, Br, Bc):
    """FlashAttention-1."""
    n_q, n_k = q.shape[2], k.shape[2]
    q_tiles = torch.split(q, Br, dim=2)
    k_tiles, v_tiles = torch.split(k, Bc, dim=2), torch.split(v, Bc, dim=2)
    o_tiles = list(torch.split(torch.zeros_like(q), Br, dim=2))
    l_tiles = list(torch.split(torch.zeros(q.shape[:-1], dtype=q.dtype)[..., None], Br, dim=2))
    m_tiles = list(torch.split(torch.ones(q.shape[:-1], dtype=q.dtype)[..., None] * NEG_INF, Br, dim=2))
    rows = torch.split(torch.arange(n_q)[:, None] + (n_k - n_q), Br, dim=0)
    columns = torch.split(torch.arange(n_k)[None, :], Bc, dim=1)
    for j in range(len(k_tiles)):
        for i in range(len(q_tiles)):
            s = torch.einsum("... i d, ... j d -> ... i j", q_tiles[i] * scale, k_tiles[j])
            seen = rows[i] >= columns[j]
            s = torch.where(seen > 0, s, NEG_INF) if causal else s
            m, _ = torch.max(s, dim=-1, keepdims=True)
            p = torch.exp(s - m)
            p = torch.where(seen > 0, p, 0) if causal else p
            l = torch.sum(p, dim=-1, keepdims=True) + EPSILON
            new = torch.maximum(m, m_tiles[i])
            before, now = torch.exp(m_tiles[i] - new), torch.exp(m - new)
            total = before * l_tiles[i] + now * l
            pv = torch.einsum("... i j, ... j d -> ... i d", p, v_tiles[j])
            o_tiles[i] = (l_tiles[i] / total) * before * o_tiles[i] + (now / total) * pv
            l_tiles[i] = total
            m_tiles[i] = new
    l = torch.cat(l_tiles, dim=2)
    return torch.cat(o_tiles, dim=2), (torch.cat(m_tiles, dim=2) + torch.log(l)).squeeze(-1)


if __name__ == "__main__":
    print(plain(torch.randn(1, 2, 8, 4)))
'''


def test_the_guide_lists_what_is_allowed() -> None:
    """Every name; of syntax the examples, which the lint takes."""
    _, _, guide = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8").partition(f"## {LIST}")
    table = re.findall(r"^\| ([^|]+) \| (.+) \|$", guide.partition("\n## ")[0], re.MULTILINE)
    rows = {row: re.findall("`([^`]+)`", entries) for row, entries in table}
    assert rows.pop("functions of Python") == sorted(vocabulary.BUILTINS)
    assert rows.pop("functions of `torch`") == sorted(vocabulary.TORCH_FUNCTIONS)
    assert rows.pop("types and values of `torch`") == sorted(vocabulary.TORCH_VALUES)
    assert rows.pop("methods") == sorted(vocabulary.METHODS)
    assert rows.pop("attributes") == sorted(vocabulary.FIELDS, key=str.lower)
    in_c1 = rows.pop("in c1")
    assert len(rows) == 4 and len(in_c1) == 6
    for example in itertools.chain(*rows.values()):
        assert complaints(f"a = b = c = x = y = q\n{example}", "def f(x):\n    return x\n") == [], example
    c1 = places.solution("c1").read_text(encoding="utf-8")
    for example in in_c1:
        text = c1.replace("    delta_kernel[", f"    grid = x = y = n_q\n    {example}\n    delta_kernel[")
        assert program_of(submission(text), catalog.load("c1").kernels)[1] == [], example


@pytest.mark.parametrize("puzzle_id", [rung.id for rung in ladder.LADDER if rung.pytorch])
def test_a_lesson_says_where_the_list_is(puzzle_id: str) -> None:
    above, _, _ = places.script(puzzle_id).read_text(encoding="utf-8").partition("\ndef ")
    assert f"../docs/guide.md#{LIST.lower().replace(' ', '-')}" in above


def test_a_program_of_lists_of_tiles_is_taken() -> None:
    kept = program(OF_LISTS)
    assert lint(kept) == []
    assert set(kept.constants) == {"NEG_INF", "EPSILON"} and not kept.helpers


def test_every_word_on_the_list_is_pytorchs() -> None:
    """A word that PyTorch has not, or that is no function, would be a promise that nobody can keep."""
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(1, 1)
    for name in vocabulary.TORCH_FUNCTIONS:
        assert callable(getattr(torch, name)), name
        assert complaints(f"x = torch.{name}(q)") == [] or name == "einsum"
        assert complaints(f"x = torch.{name}") == ["function-as-value"]
    for name in vocabulary.TORCH_VALUES:
        assert isinstance(getattr(torch, name), torch.dtype | float), name
        assert complaints(f"x = torch.{name}") == []
        assert complaints(f"x = torch.{name}(q)") == ["call"]
    for name in vocabulary.METHODS - {"append"}:
        assert callable(getattr(tensor, name)), name
        assert complaints(f"x = q.{name}(1)") == []
        assert complaints(f"x = q.{name}") == ["function-as-value"]
    for name in vocabulary.FIELDS - {"values", "indices", "start", "stop"}:
        assert not callable(getattr(tensor, name)), name
    for name in vocabulary.FIELDS:
        assert complaints(f"x = q.{name}") == []
        assert complaints(f"x = q.{name}()") == ["call"]
    for name in vocabulary.BUILTINS - {"print"}:
        assert complaints(f"x = {name}(q)") == []
        assert complaints(f"x = {name}") == ["function-as-value"]


def test_nothing_is_both_on_the_list_and_refused() -> None:
    allowed = vocabulary.TORCH_FUNCTIONS | vocabulary.TORCH_VALUES | vocabulary.METHODS | vocabulary.FIELDS
    assert not allowed & refusals.EXPLAINED.keys()
    assert not vocabulary.KEYWORDS & refusals.KEYWORDS.keys()
    names = [form.__name__ for form in (*vocabulary.LEAVES, *vocabulary.BRANCHES)]
    assert all(refusals.problem.of_form(name) == refusals.problem("syntax/misplaced", word=name) for name in names)


def _places(text: str) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr) and not isinstance(node, ast.Slice):
            yield ast.get_source_segment(text, node) or "", node


INTRUDERS = ["__import__('os')", "-({}, __import__('os'))[0]", "(lambda: 0)()", "{}.__class__", "torch.load"]


@pytest.mark.parametrize("intruder", INTRUDERS)
def test_nothing_can_stand_where_the_lint_does_not_look(intruder: str) -> None:
    """Put Python into each place of the function in turn: as what stands there, and as a part of it."""
    places = list(_places(ALLOWED))
    assert len(places) > 200
    for text, node in places:
        lines = ALLOWED.split("\n")
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + intruder.format(text) + line[node.end_col_offset :]
        try:
            found = complaints("\n".join(lines), HELPERS)
        except NotASubmission:
            continue  # not Python
        assert found, lines[node.lineno - 1]


def test_nothing_can_stand_in_a_def_line() -> None:
    """The same for a helper's header, which is evaluated as soon as it is defined."""
    header = next(line for line in HELPERS.split("\n") if line.startswith("def"))
    tree = ast.parse(header + "\n    pass").body[0]
    places = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
    assert len(places) > 10
    for node in places:
        line = header[: node.col_offset] + "__import__('os')" + header[node.end_col_offset :]
        assert complaints("x = tile(q, 0, 1)", HELPERS.replace(header, line)), line


# What is refused.


@pytest.mark.parametrize("attack", attacks(), ids=lambda attack: attack.name)
def test_an_attack_is_refused_for_its_reason(attack: Attack) -> None:
    found = lint(program(attack.text))
    assert attack.refused in [problem.id for problem in found], found
    assert all(problem.compiles and problem.line for problem in found)
    assert "kernel" not in "".join(problem.sentence + problem.hint for problem in found)


def test_there_are_many_attacks() -> None:
    assert len(attacks()) >= 25 and len({attack.text for attack in attacks()}) == len(attacks())


FORBIDDEN = {
    "while": ("while n:\n    pass", "`while`"),
    "try": ("try:\n    pass\nfinally:\n    pass", "`try`"),
    "with": ("with q:\n    pass", "`with`"),
    "no-grad": ("with torch.no_grad():\n    pass", "torch.no_grad"),
    "inference-mode": ("with torch.inference_mode():\n    pass", "torch.no_grad"),
    "global": ("global x", "`global`"),
    "nested-def": ("def f(x):\n    return x", "`def`"),
    "class": ("class A:\n    pass", "`class`"),
    "lambda": ("f = lambda x: x", "`lambda`"),
    "import": ("import math", "`import`"),
    "from-import": ("from math import sqrt", "`import`"),
    "raise": ("raise q", "`raise`"),
    "del": ("del q", "`del`"),
    "match": ("match q:\n    case 1:\n        pass", "`match`"),
    "async": ("async def f():\n    pass", "`async`"),
    "yield": ("x = yield", "`yield`"),
    "yield-from": ("yield from q", "`yield`"),
    "await": ("x = [await y for y in q]", "Python"),
    "walrus": ("x = [(y := 1)]", "`:=`"),
    "f-string": ('print("x", f"{q}")', 'f"…"'),
    "generator": ("x = max(i for i in q)", "a generator here"),
    "generator-kept": ("x = (i for i in q)", "a generator here"),
    "generator-kept-and-unpacked": ("x = y, z = (i for i in q)", "a generator here"),
    "generator-returned": ("return (i for i in q)", "a generator here"),
    "generator-in-a-tuple": ("x, y = (i for i in q), k", "a generator here"),
    "generator-as-keyword": ("x = list(iterable=(i for i in q))", "keyword"),
    "generator-of-two-fors": ("x, y = (i for i in q for j in k)", "more than one `for`"),
    "dict": ("x = {1: 2}", "dictionaries"),
    "dict-comprehension": ("x = {i: 2 for i in q}", "dictionaries"),
    "set": ("x = {1, 2}", "sets"),
    "set-comprehension": ("x = {i for i in q}", "sets"),
    "two-fors": ("x = [i for i in q for j in k]", "more than one `for`"),
    "in": ("x = 1 in [1]", "test `x in y`"),
    "is": ("x = q is k", "`is`"),
    "shift": ("x = 1 << 2", "`<<`"),
    "for-else": ("for i in q:\n    pass\nelse:\n    pass", "`for … else`"),
    "starred-target": ("a, *b = q", "assignments to `*x`"),
    "starred-alone": ("a = *q", "unpacking (`*x`) in a tuple"),
    "starred-statement": ("*q", "unpacking (`*x`) in a tuple"),
    "attribute-target": ("q.shape = k", "assignments"),
    "target-of-a-function": ("print[0] = k", "assignments"),
    "target-of-a-call": ("torch.zeros(1)[0] = k", "assignments"),
    "star": ("torch.zeros(*q.shape)", "unpacking (`*x`) in this call"),
    "splat": ("torch.zeros(1, **k)", "unpacking (`**x`) in a call"),
    "text": ("x = 'text'", "text here"),
    "text-as-argument": ("x = q.to('float32')", "other devices"),
    "text-as-number": ("x = float('5')", "text here"),
    "long-text": ("print('''a\nb''')", "one line"),
    "bytes": ("x = b'1'", "constants"),
    "complex": ("x = 1j", "constants"),
    "large-number": ("x = 99999999999999999999", "64 bits"),
    "tower": ("x = 2 ** (1 + 9 ** 9)", "power of a power"),
    "tower-in-place": ("x = 2\nx **= x ** x", "power of a power"),
    "assert-message": ("assert q, print('x')", "message"),
    "print-without-text": ("print(q)", "print without a text"),
    "print-to-a-file": ("print('x', file=q)", "keyword"),
    "equation": ("e = q\nx = torch.einsum(e, q, k)", "an equation"),
    "equation-as-lists": ("x = torch.einsum(q, [0, 1], k, [1, 2])", "an equation"),
    "second-text": ("x = torch.einsum('a,a', 'b')", "text here"),
    "out": ("torch.exp(q, out=k)", "`out=`"),
    "requires-grad": ("x = torch.zeros_like(q, requires_grad=True)", "`requires_grad`"),
    "keyword": ("x = torch.exp(q, names=3)", "keyword"),
    "helper-keyword": ("x = tile(q, 0, rows=1, device=3)", "keyword"),
    "cuda": ("x = q.cuda()", "other devices"),
    "cuda-keyword": ("x = q.to(device='cuda')", "other devices"),
    "cuda-created": ("x = torch.zeros(1, device='cuda')", "other devices"),
    "numpy": ("x = q.numpy()", "NumPy"),
    "tolist": ("x = q.tolist()", "lists of a tensor's numbers"),
    "item": ("x = q.item()", "number as Python's"),
    "data": ("x = q.data", "`.data`"),
    "backward": ("q.backward()", "differentiation"),
    "detach": ("x = q.detach()", "differentiation"),
    "grad-mode": ("torch.set_grad_enabled(True)", "differentiation"),
    "with-grad": ("with torch.enable_grad():\n    x = q", "differentiation"),
    "requires-grad-field": ("q.requires_grad_()", "differentiation"),
    "sdpa": ("x = torch.nn.functional.scaled_dot_product_attention(q, k, v)", "ready-made attention"),
    "nn": ("x = torch.nn.functional.softmax(q, dim=-1)", "torch.nn"),
    "nn-module": ("x = torch.nn.Linear(1, 2)", "torch.nn"),
    "compile": ("x = torch.compile(q)", "compiles"),
    "jit": ("x = torch.jit.script(q)", "compiles"),
    "func": ("x = torch.func.vmap(q)", "compiles"),
    "vmap": ("x = torch.vmap(q)", "compiles"),
    "save": ("torch.save(q, k)", "files"),
    "random": ("x = torch.randn(1)", "random"),
    "underscore": ("x = torch._C", "underscore"),
    "underscore-attribute": ("x = q._base", "underscore"),
    "dunder": ("x = q.__class__", "underscore"),
    "tensor-class": ("x = torch.Tensor.exp(q)", "tensors made of"),
    "torch-itself": ("x = torch", "`torch` can only"),
    "torch-function-as-value": ("f = torch.exp", "a function as a value"),
    "helper-as-value": ("f = tile", "the function `tile`"),
    "type-of-python": ("x = q.to(float)", "the function `float`"),
    "call-a-call": ("tile(q, 0, 1)(1)", "anything but a named function"),
    "call-a-variable": ("q(1)", "calls of a variable"),
    "call-a-field": ("q.shape()", "calls of `.shape`"),
    "reserved": ("len = 3", "`len` is taken"),
    "reserved-loop": ("for range in q:\n    pass", "`range` is taken"),
    "reserved-comprehension": ("x = [0 for torch in q]", "`torch` is taken"),
    "dunder-name": ("__builtins__ = q", "is taken"),
    "unknown": ("x = nothing_like_it", "not defined"),
    "undecided": ("x = open", "Python's `open`"),
    "reserved-in-place": ("len += 3", "`len` is taken"),
    "reserved-annotated": ("torch: int = 3", "`torch` is taken"),
    "attribute-in-place": ("q.shape += 3", "assignments"),
    "operator-in-place": ("x = 1\nx <<= 2", "`<<`"),
    "in-a-loop": ("for i in range(3):\n    while i:\n        pass", "`while`"),
    "in-a-branch": ("if causal:\n    pass\nelse:\n    del q", "`del`"),
    "long-message": ("assert causal, '''a\nb'''", "one line"),
    "annotation": ("x: print(1) = 1", "this annotation"),
    "inner-of-comprehension": ("x = [0 for y in q]\nz = y", "`y` is not defined"),
    "inner-of-generator": ("x, z = (0 for y in q)\nz = y", "`y` is not defined"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_is_not_on_the_list_is_refused(name: str) -> None:
    inside, words = FORBIDDEN[name]
    found = problems(inside, HELPERS)
    assert any(words in problem.sentence for problem in found), found
    assert all(problem.hint and problem.line for problem in found)


@pytest.mark.parametrize("inside", ["def f(x):\n    return x", "f = lambda x: x"])
def test_of_a_function_inside_one_only_its_place_is_said(inside: str) -> None:
    assert [problem.id for problem in problems(f"{inside}\ny = f(q)", HELPERS)] == ["syntax"]


@pytest.mark.parametrize("page", [refusals.problem, triton.problem])
def test_a_sign_that_means_several_things_is_shown_with_its_operand(page: Problems) -> None:
    """A function is full of `*` and `in`: that one of them is not allowed says nothing."""
    assert not [key for key, words in page.words.items() if "`*`" in words.title or "`in`" in words.title]


def test_helpers_are_held_to_the_same_rules() -> None:
    for helper, id in (
        ("def helper(*x):\n    return 1", "parameters"),
        ("def helper(x, *, y):\n    return 1", "parameters"),
        ("def helper(x=torch.load):\n    return 1", "parameters"),
        ("def helper(x='text'):\n    return 1", "parameters"),
        ("def helper(x=tl.constexpr(1)):\n    return 1", "parameters"),
        ("def helper(x=-print(1)):\n    return 1", "parameters"),
        ("def helper(torch):\n    return torch.x", "reserved-name"),
        ("def helper(__x):\n    return 1", "reserved-name"),
        ("def helper(x: 'text'):\n    return 1", "annotation"),
        ("def helper(x) -> list[print(1)]:\n    return 1", "annotation"),
        ("def helper(x):\n    return other(x)\n\n\ndef other(x):\n    return helper(x)", "recursion"),
        ("def helper(x):\n    return x.numpy()", "not-allowed"),
        ("@torch.jit.script\ndef helper(x):\n    return x", "not-kept"),
        ("class helper:\n    pass", "not-kept"),
        ("helper = torch.exp", "not-kept"),
    ):
        assert id in complaints("a = helper(q)", helper), helper
    assert complaints("x = len(q)", "def len(x):\n    return 3") == ["reserved-name"]
    assert complaints("x = max(3, 4)", "max = 3") == ["reserved-name"]


def test_hints_name_the_likely_word() -> None:
    for inside, before, word in (
        ("x = scal + 1", "", "`scale`"),
        ("x = BR + 1", "", "`Br`"),
        ("x = torch.maxium(q, k)", "", "torch.maximum"),
        ("x = q.unsqeeze(1)", "", "`.unsqueeze`"),
        ("x = exp(q)", "", "torch.exp"),
        ("x = exp(q)", "from torch import exp", "torch.exp"),
        ("x = np.exp(q)", "import numpy as np", "torch.exp"),
        ("x = math.inf", "import math", "torch.inf"),
        ("x = math.sqrt(2)", "import math", "2 ** 0.5"),
        ("x = F.softmax(q, dim=-1)", "import torch.nn.functional as F", "torch.softmax"),
        ("x = torch.mm(q, k)", "", "a @ b"),
        ("x = rearrange(q, 'a b -> b a')", "from einops import rearrange", "reshape"),
        ("x = q.where(k, v)", "", "torch.where(x)"),
        ("x = q.exp", "", "x.exp("),
        ("x = q.to(float)", "", "torch.float32"),
        ("x = NEG_INF", "NEG_INF = -torch.inf", 'float("inf")'),
        ("x = torch.zeros(*q.shape[:-1], 1)", "", "q.shape[:-1] + (n,)"),
        ("x = isinstance(q, int)", "", "little else of Python"),
    ):
        [problem] = problems(inside, before)
        assert word in problem.hint, (inside, problem)


def test_a_local_name_may_be_that_of_another_function() -> None:
    assert complaints("tile = q\nx = tile + 1", HELPERS) == []
    assert complaints("tile = q\nx = tile(1)", HELPERS) == ["call"]


# Text of all kinds.


@given(st.lists(st.sampled_from(PROGRAM.split()), max_size=60).map(" ".join), st.integers(0, len(PROGRAM)))
def test_any_cut_of_the_program_is_read_or_refused(words: str, at: int) -> None:
    try:
        lint(program(PROGRAM[:at] + words + PROGRAM[at:]))
    except NotASubmission as problem:
        assert problem.problem.hint


_NAMES = st.sampled_from(["q", "torch", "x", "print", "__import__", "eval", "torch.exp", "torch._C", "torch.ops", "os"])
_EXPRESSIONS = st.recursive(
    _NAMES | st.sampled_from(["1", "None", "'x'", "..."]),
    lambda inner: st.one_of(
        st.builds("{}.{}".format, inner, st.sampled_from(["exp", "shape", "__class__", "data", "append"])),
        st.builds("{}({})".format, inner, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("({})[{}]".format, inner, inner),
        st.builds("[{} for x in {}]".format, inner, inner),
        st.builds("(*{}, *({} for x in {}))".format, inner, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
    ),
    max_leaves=8,
)


@given(_EXPRESSIONS)
def test_what_is_passed_names_nothing_but_torch_and_its_own(expression: str) -> None:
    """Whatever was put together: if the lint takes it, each name and each attribute in it is on a list."""
    try:
        found = complaints(f"y = {expression}")
        tree = ast.parse(expression)
    except (NotASubmission, SyntaxError):
        return
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    strange = names & {"__import__", "eval", "os"} or attributes & {"__class__", "data", "_C", "ops"}
    assert found or not strange


def _alike(count: int, length: int, first: int) -> list[str]:
    """Names of the same few letters, each in another order, and of no use to anybody."""
    letters = random.Random(first)
    return ["".join(letters.choices("abcd", k=length)) for _ in range(count)]


def _similar(count: int, length: int) -> str:
    known = "".join(f"{name} = 1\n" for name in _alike(count, length, 0))
    return known + "".join(f"x = {name}\n" for name in _alike(300, length, 1))


TEDIOUS = {
    "similar-names": _similar(100, 32),
    "more-similar-names": _similar(480, 80),
    "many-unknown-names": "\n".join(f"a{i} = b{i}" for i in range(5000)),
    "long-names": "x." + "".join(chr(0x4E00 + i * 7919 % 400) for i in range(9000)) + " = 1",
    "a-chain-of-calls": "x = q" + ".exp()" * 25,
    "powers": "x = " + "2 ** (" * 25 + "1" + ")" * 25,
    "comprehensions": "x = " + "[" * 25 + "0" + " for i in q]" * 25,
    "wide": "x = [" + "torch.exp(q), " * 8000 + "]",
}


@pytest.mark.parametrize("name", TEDIOUS)
def test_no_text_keeps_the_lint_busy(name: str) -> None:
    """The lint runs in the checker itself, where nothing would end it: its work must not explode with the text."""
    started = time.process_time()
    complaints(TEDIOUS[name])
    assert time.process_time() - started < 5


def test_a_mark_is_in_its_own_line() -> None:
    [problem] = problems("x = (1\n  << 2)")
    assert problem.line == program(with_text("pass")).kernels[FORWARD.name].lineno + 1
