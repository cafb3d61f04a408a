"""Sentences about the compiler are true: an example of each is compiled for sm_90."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from checker.catalog.p1_naive_softmax import KERNEL
from checker.submission import refusals
from checker.submission.extract import extract
from checker.submission.lint import lint
from checker.submission.problem import Problem
from checker.submission.read import from_cells
from tests.conftest import SOLUTION, ran

HEAD, STORE, REST = SOLUTION.partition("    tl.store(")


@dataclass(frozen=True)
class Example:
    """Statements inside the kernel of p1, after its division, and what stands before the kernel."""

    statement: str
    before: str = ""

    @property
    def text(self) -> str:
        """The whole submission."""
        inside = "".join(f"    {line}\n" for line in self.statement.split("\n"))
        return HEAD.replace("@triton.jit", f"{self.before}\n\n\n@triton.jit", 1) + inside + STORE + REST

    @property
    def complaints(self) -> list[Problem]:
        """What the lint says of it."""
        return lint(extract(from_cells([("code", self.text)], "kernel.py", numbered=False), (KERNEL,)))


def helper(text: str, statement: str = "x = helper(x)") -> Example:
    return Example(statement, f"@triton.jit\n{text}")


ADD = "def helper(a, b):\n    return a + b"
BOTH = "def helper(a, b, c, d):\n    return a + c, tl.maximum(b, d)"
TAKEN = {
    "element-type": Example("x = x.to(y_ptr.type.element_ty)"),
    "scalar-type": Example("x = x.to(x.type.scalar)\nx = x.to(x.dtype.scalar)"),
    "default": helper("def helper(a, b=2.0, c: tl.constexpr = -float('inf'), d=None):\n"
                      "    if d is not None:\n        a = d\n    return tl.maximum(a * b, c)"),
    "default-constexpr": helper("def helper(a, b=tl.constexpr(2)):\n    return a * b"),
    "default-type": helper("def helper(a, b: tl.constexpr = tl.float32):\n    return a.to(b)"),
    "annotations": helper("def helper(a: tl.tensor, b: tl.float32 = 1.0) -> tl.tensor:\n    return a * b"),
    "no-result": helper("def helper(a) -> None:\n    tl.debug_barrier()", "helper(x)"),
    "reduce": helper(ADD, "x = x / tl.reduce(x, 0, helper)"),
    "reduce-by-keyword": helper(ADD, "x = x / tl.reduce(x, axis=0, combine_fn=helper, keep_dims=True)"),
    "reduce-tuples": helper(BOTH, "a, b = tl.reduce((x, numerator), 0, helper)\nx = a + b"),
    "assert": Example("assert BLOCK_SIZE > 0\nassert n_cols > 0, 'text'\nassert cols >= 0"),
    "static-print": Example("tl.static_print(BLOCK_SIZE)"),
    "is-none": Example("if x_ptr is None or y_ptr is not None:\n    x = x + 1"),
    "list-as-shape": Example("a = tl.trans(tl.reshape(x, [BLOCK_SIZE, 1]), [1, 0])\nb = x.reshape([1, BLOCK_SIZE])"),
    "remedy-for-cat": Example("a = tl.reshape(tl.permute(tl.join(x, x), (1, 0)), (2 * BLOCK_SIZE,))"),
    "promises": Example("a = tl.multiple_of(cols, 2)\ntl.assume(n_cols > 0)"),
    "tuple": Example("a, (b, c) = 1, (2, 3)"),
    "random-numbers": Example("x = tl.where(tl.rand(n_cols, row.to(tl.int64) * n_cols + cols) < 0.5, x, 0.0)"),
}  # fmt: skip
NOT_TAKEN = {
    "while": Example("a = n_cols\nwhile a > 0:\n    a -= 1"),
    "list": Example("a = [1, 2]"),
    "list-as-argument": helper("def helper(a, b: tl.constexpr):\n    return tl.reshape(a, b)", "a = helper(x, [64])"),
    "comprehension": Example("a = [i + 1 for i in (1, 2)]"),
    "f-string": Example("tl.static_print(f'B={BLOCK_SIZE}')\nprint(f'{BLOCK_SIZE}')"),
    "power": Example("x = x * (BLOCK_SIZE ** 2)"),
    "is": Example("if BLOCK_SIZE is 64:\n    x = x + 1"),
    "is-not": Example("if BLOCK_SIZE is not 64:\n    x = x + 1"),
    "ready-made": Example("x = tl.softmax(x)"),
    "descriptor": Example("d = tl.make_tensor_descriptor(x_ptr, [n_cols], [1], [64])\nx += d.load([0])"),
    "descriptor-load": Example("d = tl.make_tensor_descriptor(x_ptr, [n_cols], [1], [64])\n"
                               "tl.store_tensor_descriptor(d, [0], tl.load_tensor_descriptor(d, [0]))"),
    "scan": helper(ADD, "x = tl.associative_scan(x, 0, helper)"),
    "cumsum": Example("x = tl.cumsum(x, 0)"),
    "cumprod": Example("x = tl.cumprod(x, 0)"),
    "view": Example("x = tl.view(x, (BLOCK_SIZE,))"),
    "four-at-once": Example("a, b, c, d = tl.rand4x(7, cols)\ne, f, g, h = tl.randint4x(7, cols)"),
    "normal-numbers": Example("x = x + tl.randn(7, cols)"),
    "whole-numbers": Example("x = x + tl.randint(7, cols)"),
    "view-of-a-value": Example("x = x.view(BLOCK_SIZE)"),
    "cat": Example("a = tl.cat(x, x, can_reorder=True)"),
    "can-reorder": Example("x = tl.reshape(x, (BLOCK_SIZE,), can_reorder=True)"),
    "can-reorder-by-position": Example("x = tl.ravel(x, True)"),
    "assembly": Example("x = tl.inline_asm_elementwise('mov.b32 $0, $1;', '=f,f', [x], tl.float32, True, 1)"),
    "math": Example("x = tl.math.sin(x)"),
    "method": Example("x = x.exp()"),
    "imported": Example("x = exp(x)", "from triton.language import exp"),
    "imported-all": Example("x = exp(x)", "from triton.language import *"),
    "libdevice": Example("x = libdevice.exp(x)", "from triton.language.extra import libdevice"),
    "infinity": Example("x = tl.where(mask, x, -np.inf)", "import numpy as np"),
    "host-math": Example("a = math.exp(2.0)", "import math"),
    "language": Example("x = triton.language.exp(x)"),
    "len": Example("a = len(x.shape)"),
    "function-as-value": Example("x = second(helper, x)", "@triton.jit\ndef helper(a):\n    return a\n\n\n"
                                 "@triton.jit\ndef second(f, a):\n    return f(a)"),
    "reduce-by-tritons-own": Example("a = tl.reduce(x, 0, tl.standard._sum_combine)"),
    "unpacked": helper("def helper(a):\n    return a", "x = helper(*(x,))"),
    "annotation": Example("a: tl.float32 = 0\ntl.static_assert(a.dtype == tl.int32)"),
    "parameter-annotation": helper("def helper(a: float):\n    return a"),
    "index-by-a-number": Example("a = (x, numerator)\nx = a[0]"),
    "constant": Example("x = x * PI", "import math\nPI = tl.constexpr(math.pi)"),
    "message": Example("assert BLOCK_SIZE > 0, BLOCK_TEXT", "BLOCK_TEXT = tl.constexpr('text')"),
}  # fmt: skip
UNCOMPILABLE = {
    "break": Example("for i in range(3):\n    break"),
    "continue": Example("for i in range(3):\n    continue"),
    "dictionary": Example("a = {1: 2}"),
    "set": Example("a = {1, 2}"),
    "generator": Example("a = tl.cdiv(i for i in (1, 2))"),
    "matrix-product": Example("a = x[:, None] @ x[None, :]"),
    "nested-function": Example("def f(a):\n    return a\nx = f(x)"),
    "index-a-pointer": Example("a = x_ptr[cols]"),
    "index-a-pointer-by-a-number": Example("a = x_ptr[0]"),
    "slice": Example("a = x[1:2]"),
    "chained-assignment": Example("a = b = x"),
    "list-as-target": Example("[a, b] = 1, 2"),
    "store-by-index": Example("x[0] = 1"),
    "store-by-attribute": Example("x.a = 1"),
    "for-over-a-block": Example("for i in x:\n    pass"),
    "for-over-a-tuple": Example("for i in (1, 2):\n    pass"),
    "for-else": Example("for i in range(3):\n    pass\nelse:\n    pass"),
    "recursion": helper("def helper(a):\n    return helper(a)"),
    "recursion-by-reduce": helper("def helper(a, b):\n    return tl.reduce(a, 0, helper)", "tl.reduce(x, 0, helper)"),
    "result": Example("return x"),
    "print-without-text": Example("print(x)"),
    "device-print-without-text": Example("tl.device_print(n_cols)"),
    "print-of-texts": Example("print('x', x, 'cols', cols)"),
    "python-type": Example("x = x.to(float)"),
    "python-max": Example("x = max(x)"),
    "python-min": Example("x = min(x)"),
    "bool": Example("x = x.to(bool)"),
    "call-a-type": Example("x = x.type(tl.float16)"),
    "call-a-type-of-tl": Example("x = tl.float32(x)"),
    "call-a-shape": Example("a = x.shape()"),
    "misspelled": Example("a = n_col"),
    "not-imported": Example("x = exp(x)"),
    "builtin": Example("x = abs(x)"),
    "global": Example("x = x * SCALE", "SCALE = 2.0"),
}  # fmt: skip
NOT_TAKEN_WHATEVER = {  # compiles with some versions of Triton
    "block-pointer": Example("p = tl.make_block_ptr(x_ptr, (n_cols,), (1,), (0,), (64,), (0,))\nx = tl.load(p)"),
    "advance": Example("p = tl.advance(tl.make_block_ptr(x_ptr, (n_cols,), (1,), (0,), (64,), (0,)), (64,))"),
    "starred": helper("def helper(a, **b):\n    return a"),
    "default-tuple": helper("def helper(a, b: tl.constexpr = (64, 1)):\n    return a"),
    "chained-comparison": Example("a = 0 < BLOCK_SIZE < 300"),
}  # fmt: skip
IDS = {  # of what is said of an example; if it is not here, "syntax", or "not-a-kernel" of what does not compile
    "not-allowed": "ready-made descriptor descriptor-load scan cumsum cumprod view view-of-a-value cat can-reorder"
    " four-at-once normal-numbers whole-numbers"
    " can-reorder-by-position assembly math len reduce-by-tritons-own block-pointer advance",
    "not-tl": "imported imported-all libdevice infinity host-math language",
    "attribute": "method",
    "function-as-value": "function-as-value",
    "call": "unpacked",
    "annotation": "annotation parameter-annotation",
    "parameters": "starred default-tuple",
    "indexed": "index-by-a-number index-a-pointer index-a-pointer-by-a-number slice",
    "not-a-kernel": "constant",
    "recursion": "recursion recursion-by-reduce",
    "returns-a-value": "result",
    "print-without-text": "print-without-text device-print-without-text",
    "print-of-texts": "print-of-texts",
    "python-type": "python-type bool python-max python-min",
    "unknown-name": "misspelled not-imported builtin",
    "global-not-constexpr": "global",
}
EXAMPLES = {"taken": TAKEN, "not-taken": NOT_TAKEN, "whatever": NOT_TAKEN_WHATEVER, "uncompilable": UNCOMPILABLE}


def compile_one_by_one(folder: Path) -> None:
    """Write beside each text of a folder what Triton complains of: nothing if it compiles. In a process of its own."""
    from checker.sandbox.compiling import Job
    from checker.sandbox.inside.lowering import lowered

    kinds = {"x_ptr": "*fp32", "y_ptr": "*fp32"} | dict.fromkeys(KERNEL.constexprs, "constexpr")
    signature = {name: kinds.get(name, "i32") for name in KERNEL.parameters}
    constexprs = dict.fromkeys(KERNEL.constexprs, 64)
    for path in folder.glob("*.py"):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        complaint = ""
        try:
            spec.loader.exec_module(module)
            lowered(getattr(module, KERNEL.name), asdict(Job(KERNEL.name, "sm_90", signature, constexprs)))
        except Exception as error:
            complaint = f"{type(error).__name__}: {error}"
        path.with_suffix(".txt").write_text(complaint)


@pytest.fixture(scope="session")
def complaints_of_triton(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What Triton itself complains of, by the name of the example."""
    folder = tmp_path_factory.mktemp("examples")
    every = {f"{kind}-{name}": e for kind, of in EXAMPLES.items() for name, e in of.items()}
    for name, example in every.items():
        (folder / f"{name}.py").write_text(example.text)
    ran(sys.executable, "-W", "ignore", "-m", __name__, folder, ends=0)
    return {name: (folder / f"{name}.txt").read_text() for name in every}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, of in EXAMPLES.items() for name in of])
def test_the_lint_says_what_is_true(kind: str, name: str, complaints_of_triton: dict[str, str]) -> None:
    complaints = EXAMPLES[kind][name].complaints
    complaint = complaints_of_triton[f"{kind}-{name}"]
    if kind != "whatever":
        assert bool(complaint) == (kind == "uncompilable"), complaint
    assert bool(complaints) == (kind != "taken"), complaints
    assert all(c.compiles == (kind != "uncompilable") for c in complaints), complaints
    usual = "not-a-kernel" if kind == "uncompilable" else "syntax"
    expected = next((id for id, names in IDS.items() if name in names.split()), usual)
    assert kind == "taken" or expected in {c.id for c in complaints}


def test_every_sentence_about_the_compiler_has_an_example() -> None:
    every = [refusals.problem(key) for key, words in refusals.problem.words.items() if not words.holes]
    # It is the assembler that refuses two hints: `test_hints.py` asks it.
    claims = {problem.hint for problem in every if not problem.compiles and problem.id != "two-hints"}
    taken = {problem.hint for problem in every if problem.id == "not-allowed"}
    assert claims <= {c.hint for example in UNCOMPILABLE.values() for c in example.complaints}
    assert taken <= {c.hint for e in (NOT_TAKEN | NOT_TAKEN_WHATEVER).values() for c in e.complaints}


if __name__ == "__main__":
    compile_one_by_one(Path(sys.argv[1]))
