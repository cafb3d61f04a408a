"""Reading, reducing and linting text; none of it ever runs."""

from __future__ import annotations

import ast
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checker import catalog
from checker.catalog.p1_naive_softmax import KERNEL
from checker.course.verdict import Status, Verdict
from checker.submission import extract as extracting
from checker.submission.extract import NotASubmission, Program, extract
from checker.submission.lint import lint
from checker.submission.problem import Problem
from checker.submission.read import CODE_LIMIT, MOST_CELLS, Submission, Unreadable, from_cells, from_file
from tests.conftest import SOLUTION
from tests.kernels import Kernel, kernels

HEAD, _, BODY = SOLUTION.partition("    row = ")


def submission(text: str) -> Submission:
    return from_cells([("code", text)], "kernel.py", numbered=False)


@given(st.lists(st.text("a\n"), max_size=6))
def test_each_line_of_the_text_has_its_place(cells: list[str]) -> None:
    read = from_cells([("code", text) for text in cells], "x.ipynb")
    places = [(cell, line) for cell, text in enumerate(cells, start=1) for line in range(1, text.count("\n") + 2)]
    assert [read.place(line) for line in range(1, len(places) + 1)] == places


def program(text: str) -> Program:
    return extract(submission(text), (KERNEL,))


def problems(statement: str, before: str = "") -> list[Problem]:
    """What the lint says of the solution with a statement added, and text before the kernel."""
    inside = "".join(f"    {line}\n" for line in statement.split("\n"))
    head = HEAD.replace("@triton.jit", before + "\n\n@triton.jit", 1) if before else HEAD
    return lint(program(head + inside + "    row = " + BODY))


def complaints(statement: str, before: str = "") -> list[str]:
    """The ids of it."""
    return [problem.id for problem in problems(statement, before)]


def test_only_kernels_helpers_and_literals_are_kept() -> None:
    text = (
        "import os\nos.system('true')\nGOOD = tl.constexpr(2.0)\nUNUSED = 3\nBAD = open('/etc/passwd')\n"
        "@triton.jit\ndef helper(x):\n    return x * GOOD\n\n@triton.jit\ndef unused(x):\n    return x\n\n"
        "def host():\n    return 1\n\n" + SOLUTION.replace("tl.exp(", "helper(") + "\nhost()\n"
    )
    kept = program(text)
    assert set(kept.helpers) == {"helper"}
    assert set(kept.constants) == {"GOOD"}
    assert [type(node).__name__ for node in ast.parse(kept.source).body] == ["Assign", "FunctionDef", "FunctionDef"]
    lines = text.split("\n")
    for number, line in enumerate(kept.source.split("\n")):
        assert line in ("", lines[number] if number < len(lines) else ""), "kept lines stay where they were"


def test_a_kernel_that_the_lesson_shows_whole_is_not_taken_for_the_one_to_write() -> None:
    kernel = replace(KERNEL, shown=("double_kernel",))
    shown = "@triton.jit\ndef double_kernel(x_ptr):\n    pass\n\n\n"
    text = SOLUTION.replace("@triton.jit", f"{shown}@triton.jit")
    assert set(extract(submission(text), (kernel,)).functions) == {kernel.name}
    for other, id in (("x = 1", "kernel-missing"), (text.replace("def naive", "def my_naive"), "kernel-renamed")):
        with pytest.raises(NotASubmission) as refused:
            extract(submission(f"import triton.language as tl\n{shown}\n{other}"), (kernel,))
        assert (refused.value.problem.id, "double" in refused.value.problem.sentence) == (id, False)


LAYOUTS = {
    "docstring-then-code": SOLUTION.replace("    row =", '    """A\ndef b():\n    """; row ='),
    "tab-after-def": SOLUTION.replace("def naive", "def\tnaive"),
    "def-over-two-lines": SOLUTION.replace("def naive", "def \\\n    naive"),
    "form-feed": SOLUTION.replace("@triton", "\f\n@triton"),
    "split-decorator": SOLUTION.replace("@triton", "@ \\\ntriton"),
    "body-on-the-line": SOLUTION.replace("):\n    row", "):\n    \\\n    row"),
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
def test_odd_layouts_are_read_as_python_reads_them(text: str) -> None:
    kept = program(text)
    (again,) = (n for n in ast.parse(kept.source).body if isinstance(n, ast.FunctionDef))
    assert ast.dump(again, include_attributes=True) == ast.dump(kept.kernels[KERNEL.name], include_attributes=True)


@pytest.mark.parametrize(("sign", "plain"), [*zip("，（）：“‘。－１", ",():\"'.-1", strict=True), ("²", ""), ("€", "")])
def test_a_sign_of_another_keyboard_is_told_with_the_one_to_type(sign: str, plain: str) -> None:
    with pytest.raises(NotASubmission) as refused:
        program(SOLUTION.replace("    row =", f"    x = 2 {sign} 3\n    row =", 1))
    told = f"Write `{plain}` in place of `{sign}`, here and wherever else it stands in the code."
    assert refused.value.problem.hint == (told if plain else "Fix the line that is marked, or the one before it.")


def test_what_would_run_must_be_what_was_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for other in (SOLUTION.replace("tl.exp(", "tl.log("), "\n" + SOLUTION, SOLUTION[:-9], ""):
        monkeypatch.setattr(extracting, "_source", lambda *_, other=other: other)
        with pytest.raises(NotASubmission) as refused:
            program(SOLUTION)
        assert refused.value.problem.id == "odd-layout"


DEEP = {
    "sum": ("C = " + "+".join(["1"] * 3000), "a = C"),
    "sum-inside": ("", "a = " + "+".join(["n_cols"] * 3000)),
    "elif": ("", "if n_cols:\n    pass\n" + "elif n_cols:\n    pass\n" * 1500),
    "methods": ("", "a = n_cols" + ".to(tl.int32)" * 600),
    "decorator": ("@f(" + "+".join(["1"] * 3000) + ")\ndef other():\n    pass", "a = 1"),
    "number": ("C = tl.constexpr(0x" + "f" * 5000 + ")", "a = C"),
    "number-inside": ("", "a = 0x" + "f" * 5000),
    "number-in-decorator": ("@f(0x" + "f" * 5000 + ")\ndef other():\n    pass", "a = 1"),
    "helpers": (
        "\n".join(f"@triton.jit\ndef h{n}(x):\n    return h{n + 1}(x)\n" for n in range(400)) + "h400 = 1",
        "\n".join("a = h0(n_cols)" for _ in range(400)),
    ),
}


@pytest.mark.parametrize("name", DEEP)
def test_text_made_to_be_hard_to_read_is_no_fault_of_ours(name: str, check_text: Callable[..., Verdict]) -> None:
    before, statement = DEEP[name]
    inside = "".join(f"    {line}\n" for line in statement.split("\n"))
    text = HEAD.replace("@triton.jit", before + "\n\n@triton.jit", 1) + inside + "    row = " + BODY
    verdict = check_text(text)
    assert verdict.status in (Status.INVALID, Status.FORBIDDEN, Status.DOES_NOT_COMPILE), verdict.findings


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    try:
        kept = program(text)
    except (NotASubmission, Unreadable) as problem:
        assert str(problem)
    else:
        lint(kept)


@given(st.lists(st.sampled_from(SOLUTION.split()), max_size=60).map(" ".join), st.integers(0, len(SOLUTION)))
def test_any_cut_of_the_solution_is_read_or_refused(words: str, at: int) -> None:
    try:
        lint(program(SOLUTION[:at] + words + SOLUTION[at:]))
    except NotASubmission as problem:
        assert problem.problem.hint


@pytest.mark.parametrize("kernel", [*kernels("right"), *kernels("solutions")], ids=lambda kernel: kernel.name)
def test_right_kernels_have_nothing_to_complain_of(kernel: Kernel) -> None:
    asked = catalog.load(kernel.puzzle).kernels
    assert lint(extract(submission(kernel.text), asked)) == []


FORBIDDEN = {
    "import": ("import os", "syntax"),
    "from-import": ("from os import system", "syntax"),
    "dunder": ("x = x_ptr.__class__", "attribute"),
    "tl-core": ("x = tl.core.sys", "not-allowed"),
    "tl-dunder": ("x = tl.__builtins__", "not-allowed"),
    "tl-itself": ("x = tl", "bare-module"),
    "triton": ("x = triton.cdiv(n_cols, 2)", "not-tl"),
    "triton-runtime": ("x = triton.runtime.interpreter", "not-tl"),
    "handle": ("x = tl.arange(0, 2).handle.data", "attribute"),
    "eval": ("x = eval('1')", "unknown-name"),
    "getattr": ("x = getattr(tl, 'core')", "not-allowed"),
    "injected-numpy": ("x = np.zeros(3)", "unknown-name"),
    "injected-module": ("x = inspect.stack()", "unknown-name"),
    "lambda": ("x = lambda: 1", "syntax"),
    "generator": ("x = sum(i for i in range(3))", "unknown-name"),
    "try": ("try:\n    pass\nexcept tl.exp:\n    pass", "syntax"),
    "with": ("with tl.exp:\n    pass", "syntax"),
    "global": ("global x", "syntax"),
    "raise": ("raise x_ptr", "syntax"),
    "delete": ("del x_ptr", "syntax"),
    "walrus": ("tl.exp((x := 1.0))", "syntax"),
    "match": ("match n_cols:\n    case 1:\n        pass", "syntax"),
    "async": ("async def f():\n    pass", "syntax"),
    "yield": ("yield 1", "syntax"),
    "class": ("class A:\n    pass", "syntax"),
    "star": ("tl.exp(*x_ptr)", "call"),
    "keywords": ("tl.exp(**x_ptr)", "call"),
    "semantic": ("tl.exp(x_ptr, _semantic=1)", "call"),
    "print-to-file": ("print('x', file=x_ptr)", "call"),
    "print-format": ("print('n', f'{n_cols}')", "syntax"),
    "bytes": ("x = b'1'", "syntax"),
    "complex": ("x = 1j", "syntax"),
    "ellipsis": ("x = ...", "hole"),
    "long-text": ("x = '''\ndef f():\n'''", "syntax"),
    "call-a-call": ("tl.exp(n_cols)(1)", "call"),
    "call-a-value": ("x_ptr(1)", "call"),
    "launch": ("naive_softmax_kernel[(1,)](x_ptr)", "call"),
    "rename-tl": ("tl = x_ptr", "reserved-name"),
    "rename-range": ("range = x_ptr", "reserved-name"),
    "annotation": ("x: print(1) = 1", "annotation"),
    "atomics": ("tl.atomic_add(y_ptr, 1.0)", "atomics"),
    "map": ("x = tl.map_elementwise(tl.exp, x_ptr)", "not-allowed"),
    "a-message-that-calls": ("assert n_cols > 0, print('x')", "syntax"),
    "type-then-dunder": ("x = x_ptr.type.__class__", "attribute"),
    "type-then-more": ("x = x_ptr.type.element_ty.primitive_bitwidth", "attribute"),
    "type-then-its-module": ("x = x_ptr.type.scalar.to_ir", "attribute"),
    "reorder-a-value": ("x = x_ptr.reshape(4, can_reorder=True)", "not-allowed"),
    "reorder-a-value-by-position": ("x = x_ptr.ravel(True)", "not-allowed"),
    "reduce-by-a-builtin": ("x = tl.reduce(x_ptr, 0, print)", "not-allowed"),
    "reduce-by-a-function-of-tl": ("x = tl.reduce(x_ptr, 0, tl.store)", "not-allowed"),
    "reduce-by-a-kernel": ("x = tl.reduce(x_ptr, 0, naive_softmax_kernel)", "not-allowed"),
    "reduce-by-a-variable": ("x = tl.reduce(x_ptr, 0, combine_fn=n_cols)", "not-allowed"),
    "reduce-by-nothing": ("x = tl.reduce(x_ptr, 0)", "not-allowed"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_is_not_on_the_list_is_refused(name: str) -> None:
    statement, id = FORBIDDEN[name]
    assert id in complaints(statement)


# Every form that is allowed, so that every place where an expression can stand is in here.
ALLOWED = """
assert n_cols > 0, "text"
element = x_ptr.type.element_ty if y_ptr is not None else y_ptr.dtype.scalar
product = tl.reduce((x_ptr.to(element), y_ptr), 0, product_of, keep_dims=True)
text, pair = ("a", (1, 2))
total: tl.constexpr = 3 if BLOCK_SIZE > 1 and not n_cols else -1
total += x_ptr.to(tl.float32).shape[-1] + cols_of(1)[:, None].shape[0] * (x_ptr < y_ptr)
for step in tl.range(0, n_cols, num_stages=2):
    if step == 0:
        tl.store(y_ptr + step, tl.zeros([BLOCK_SIZE, 1], dtype=tl.float32), mask=step < n_cols)
    else:
        print("x", step)
"""
HELPER = """@triton.jit
def cols_of(x):
    return tl.arange(0, x)

@triton.jit
def product_of(x: tl.tensor, y, z=2.0, w: tl.constexpr = -float("inf"), v=None, u="u", t=tl.float32) -> tl.tensor:
    return x * y
"""


def test_nothing_can_stand_where_the_lint_does_not_look() -> None:
    """Put Python into each place of a kernel in turn: as what stands there, and as a part of it."""
    assert complaints(ALLOWED, HELPER) == []
    tree = ast.parse(ALLOWED)
    places = [node for node in ast.walk(tree) if isinstance(node, ast.expr) and not isinstance(node, ast.Slice)]
    assert len(places) > 60
    for node in places:
        if (text := ast.get_source_segment(ALLOWED, node)) is None:
            continue
        lines = ALLOWED.split("\n")
        line = lines[node.lineno - 1]
        for intruder in ("__import__('os')", f"-({text}, __import__('os'))[0]", "(lambda: 0)()"):
            lines[node.lineno - 1] = line[: node.col_offset] + intruder + line[node.end_col_offset :]
            try:
                found = complaints("\n".join(lines), HELPER)
            except NotASubmission:
                continue  # not Python
            assert found, lines[node.lineno - 1]


def _sum(depth: int) -> str:
    return "1" if depth == 0 else f"({_sum(depth - 1)} + {_sum(depth - 1)})"


TEDIOUS = {
    "many-unknown-names": "\n".join(f"a{i} = b{i}" for i in range(5000)),
    "many-unknown-names-in-a-line": "; ".join(f"a{i} = b{i}" for i in range(5000)),
    "long-names": "".join(chr(0x4E00 + i * 7919 % 400) for i in range(9000)) + " = "
    + "".join(chr(0x4E00 + (i * 7919 + i // 90) % 400) for i in range(9000)),
    "a-long-constant-many-times": "x = LONG\n" * 3000,
    "a-long-expression-before-many-dots": _sum(12) + ".to()" * 20,
}  # fmt: skip


@pytest.mark.parametrize("name", TEDIOUS)
def test_no_text_keeps_the_lint_busy(name: str) -> None:
    """The lint runs in the checker itself, where nothing would end it: its work must not explode with the text."""
    started = time.process_time()
    complaints(TEDIOUS[name], f"LONG = tl.constexpr({_sum(12)})\n")
    assert time.process_time() - started < 5


def test_a_global_must_be_a_constexpr() -> None:
    assert complaints("a = SCALE * 2.0", before="SCALE = 1.5") == ["global-not-constexpr"]
    assert complaints("a = SCALE * 2.0", before="SCALE = tl.constexpr(1.5)") == []
    assert complaints("a = THING", before="THING = object()") != []


@pytest.mark.parametrize(
    ("helper", "id"),
    [
        ("def helper(*x):\n    return 1", "parameters"),
        ("def helper(x, *, y):\n    return 1", "parameters"),
        ("def helper(x=print(1)):\n    return 1", "parameters"),
        ("def helper(x=tl.core):\n    return 1", "parameters"),
        ("def helper(x=tl.constexpr(print(1))):\n    return 1", "parameters"),
        ("def helper(x=tl.constexpr(value=print(1))):\n    return 1", "parameters"),
        ("def helper(x=-print(1)):\n    return 1", "parameters"),
        ("def helper(x=(1, print(1))):\n    return 1", "parameters"),
        ("def helper(x=f'{print(1)}'):\n    return 1", "parameters"),
        ("def helper(x='''\ndef f():\n'''):\n    return 1", "syntax"),
        ("def helper(x=0xffffffffffffffffffff):\n    return 1", "syntax"),
        ("def helper(tl):\n    return tl.core", "reserved-name"),
        ("def helper(x: print(1)):\n    return 1", "annotation"),
        ("def helper(x) -> print(1):\n    return 1", "annotation"),
        ("def helper(x):\n    return tl.reduce(x, 0, helper)", "recursion"),
        ("def helper(x):\n    return other(x)\n\n\n@triton.jit\ndef other(x):\n    return helper(x)", "recursion"),
        ("def helper(x):\n    return x.handle", "attribute"),
    ],
)
def test_helpers_are_held_to_the_same_rules(helper: str, id: str) -> None:
    assert id in complaints("a = helper(n_cols)", before=f"@triton.jit\n{helper}")


def test_hints_name_the_likely_word() -> None:
    for statement, word in (
        ("a = n_col + 1", "`n_cols`"),
        ("a = tl.maximun(1, 2)", "tl.maximum"),
        ("a = np.exp(n_cols)", "tl.exp"),
        ("a = exp(n_cols)", "tl.exp"),
        ("a = N_COLS", "`n_cols`"),
        ("a = tl.inf", '-float("inf")'),
        ("a = -np.inf", '-float("inf")'),
        ("a = -math.inf", '-float("inf")'),
        ("a = inf", '-float("inf")'),
        ("a = np.random", "host"),
        ("a = tl.math.tanh(n_cols)", "what tl itself has"),
        ("a = tl.extra.cuda.libdevice.exp(n_cols)", "tl.exp."),
        ("a = triton.language.exp(n_cols)", "tl.exp."),
        ("a = triton.cdiv(n_cols, 2)", "tl.cdiv."),
        ("a = n_cols.exp()", "tl.exp(n_cols)"),
        ("a = x_ptr.unsqueeze(1)", "[:, None]"),
        ("a = x_ptr.sum(dim=0)", "axis="),
        ("a = tl.sum(x_ptr, dim=0)", "axis="),
        ("a = tl.max(x_ptr, axis=0, keepdim=True)", "keep_dims="),
        ("a = n_cols.half()", "tl.float16"),
        ("a = abs(n_cols)", "tl.abs"),
        ("a = tl.arange(0, 2).float()", "tl.float32"),
        ("a = x_ptr[0]", "tl.load"),
        ("a = NEG", "does not see such a name from outside"),
        ("a = slice(0, 3)", "little else of Python"),
    ):
        [problem] = problems(statement)
        assert word in problem.hint, statement


@pytest.mark.parametrize("statement", ["a = (n_cols\n  ** 2)", "a = x_ptr @ y_ptr", "a = n_cols in x_ptr", "a **= 2"])
def test_an_operator_is_marked_in_its_own_line(statement: str) -> None:
    [problem] = problems(statement)
    assert problem.line == HEAD.count("\n") + 1


FOLLOWED_UP = {
    "descriptor": "d = tl.make_tensor_descriptor(x_ptr, [n_cols], [1], [64])\na = d.load([0])\nd.store([0], a)",
    "block-pointer": "p = tl.make_block_ptr(x_ptr, (n_cols,), (1,), (0,), (64,), (0,))\np = tl.advance(p, [4])",
    "unpacked": "a, b = np.divmod(n_cols, 2)\nc = a.item() + b.item()",
}


@pytest.mark.parametrize("name", FOLLOWED_UP)
def test_what_follows_from_a_refused_call_is_no_news(name: str) -> None:
    assert len(complaints(FOLLOWED_UP[name])) == 1


IMPORTED = {
    "from triton.language import exp": "a = exp(n_cols)",
    "from triton.language import *": "a = exp(n_cols)",
    "from triton.language.extra import libdevice": "a = libdevice.exp(n_cols)",
    "import triton.language.math as tlm": "a = tlm.exp(n_cols)",
    "import math": "a = math.exp(2.0)",
}


@pytest.mark.parametrize("line", IMPORTED)
def test_an_imported_name_is_not_said_to_be_undefined(line: str) -> None:
    (finding,) = lint(program(f"{line}\n{HEAD}    {IMPORTED[line]}\n    row = " + BODY))
    assert finding.compiles and "imported" in finding.sentence
    assert finding.hint == "Write tl.exp."


HEADERS = {
    "from triton import jit\nimport triton.language as tl": "@jit",
    "from triton import jit as kernel, language as tl": "@kernel",
    "import triton as tr\nfrom triton import language as tl": "@triton.jit()",
}


@pytest.mark.parametrize("imports", HEADERS)
def test_the_usual_forms_of_import_are_taken(imports: str) -> None:
    text = SOLUTION.replace("import triton\nimport triton.language as tl", imports)
    kept = program(text.replace("@triton.jit", HEADERS[imports]))
    assert lint(kept) == []
    assert "@triton.jit" in kept.source.split("\n")


WRONG_HEADERS = {
    "import triton.language as T": "import-renamed",
    "import triton.language": "import-missing",
    "import numpy as tl": "import-missing",
    "from numba import jit\nimport triton.language as tl\n\n\n@jit\ndef naive_softmax_kernel(): pass": "defined-twice",
}


@pytest.mark.parametrize("imports", WRONG_HEADERS)
def test_other_imports_are_called_by_their_name(imports: str) -> None:
    with pytest.raises(NotASubmission) as refused:
        program(SOLUTION.replace("import triton.language as tl", imports))
    assert refused.value.problem.id == WRONG_HEADERS[imports]


def test_another_jit_than_tritons_is_not_taken() -> None:
    for line in ("from numba import jit", "jit = 1", "from triton import jit\ndef jit(kernel): pass", ""):
        with pytest.raises(NotASubmission) as refused:
            program(f"{line}\n" + SOLUTION.replace("@triton.jit", "@jit"))
        assert refused.value.problem.id == "not-decorated"


def test_a_while_loop_is_not_said_to_be_impossible() -> None:
    [problem] = problems("while n_cols > 0:\n    n_cols -= 1")
    assert problem.sentence == "This course does not allow `while`, although Triton compiles it."
    [problem] = problems("with n_cols:\n    pass")
    assert problem.sentence == "Python's `with` has no place in a kernel."


def test_a_missing_line_is_reported_once() -> None:
    assert len(lint(program(SOLUTION.replace("    cols = tl.arange(0, BLOCK_SIZE)\n", "")))) == 1


@pytest.mark.parametrize(
    ("body", "empty"),
    [
        ("    row = 1\n    # FILL IN (roughly 5 lines)\n", True),
        ("    row = 1\n    # FILL IN (roughly 5 lines)\n    pass\n", True),
        ("    row = 1\n    # FILL IN (roughly 5 lines)\n    mask = row < n_cols\n", False),
        ("    row = 1\n    x = tl.load(x_ptr)\n    # FILL IN (roughly 5 lines)\n", False),
        ("    row = 1\n", False),
        ("    pass\n", True),
        ("    for j in range(0, n_cols):\n        # FILL IN\n        tl.debug_barrier()\n", True),
        ("    for j in range(0, n_cols):\n        # FILL IN\n        x = j\n        tl.debug_barrier()\n", False),
    ],
)
def test_a_kernel_is_empty_as_long_as_nothing_was_filled_in(body: str, empty: bool) -> None:
    assert program(HEAD + body).empty("naive_softmax_kernel") is empty


def test_no_parser_sees_more_than_it_bears() -> None:
    """A chain of calls as long as is read at all is read, or refused, by every Python; more is not parsed at all."""
    with pytest.raises((NotASubmission, Unreadable)):
        program("a" + "[0]" * (CODE_LIMIT // 3 - 1))
    started = time.process_time()
    for numbered in (True, False):
        with pytest.raises(Unreadable, match="thousand characters"):
            from_cells([("code", "a;" * CODE_LIMIT * 10)], "kernel.ipynb", numbered=numbered)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("element", ["{}", "[]", '{"":[0]}'])
def test_a_notebook_that_is_small_on_disk_and_large_in_memory_is_not_read(element: str, tmp_path: Path) -> None:
    path = tmp_path / "large.ipynb"
    path.write_text(f'{{"cells": [{",".join([element] * (3_000_000 // len(element)))}]}}')
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable, match="far more than any notebook"):
            from_file(path)
        assert tracemalloc.get_traced_memory()[1] < 4 * path.stat().st_size
    finally:
        tracemalloc.stop()


def test_a_notebook_has_so_many_cells_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "cells.ipynb"
    path.write_text(f'{{"cells": [{",".join(["{}"] * MOST_CELLS)}]}}')
    assert from_file(path).chunks == ()
    path.write_text(f'{{"cells": [{",".join(["{}"] * (MOST_CELLS + 1))}]}}')
    with pytest.raises(Unreadable, match="cells"):
        from_file(path)


def test_lines_of_cells_are_found_again() -> None:
    book = from_cells([("markdown", "# x"), ("code", "a\nb"), ("code", "%%time\nc"), ("code", "d\n!ls\nf")], "book")
    lines = book.text.split("\n")
    assert [book.place(n) for n in range(1, len(lines) + 1)] == [(2, 1), (2, 2), (3, 1), (3, 2), (4, 1), (4, 2), (4, 3)]
    assert lines == ["a", "b", "", "c", "d", "", "f"]


def test_only_ipythons_own_lines_are_blanked() -> None:
    python = "x = (7\n% 4)"
    assert from_cells([("code", python)], "book").text == python


def test_a_cell_that_cannot_even_be_encoded_is_passed_over() -> None:
    book = from_cells([("code", "x = '\ud800'"), ("code", SOLUTION)], "book")
    assert extract(book, (KERNEL,)).kernels
