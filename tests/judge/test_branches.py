"""A branch that no case takes is not judged right."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from checker import catalog
from checker.check import Conditions
from checker.course.kernel import Kernel
from checker.judge.text.branches import not_entered
from checker.sandbox.inside.coverage import NAME, bodies, mark
from checker.submission.extract import Program, extract
from checker.submission.read import from_cells
from tests.conftest import check_kernel
from tests.kernels import kernels, named

KERNEL = Kernel("kernel", ("x_ptr", "n", "B"), ("B",))
HEAD = "import triton\nimport triton.language as tl\nK = tl.constexpr(70)\n"


def program(body: str, helpers: str = "") -> Program:
    """A kernel with this body, below helpers."""
    inside = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"{HEAD}{helpers}@triton.jit\ndef kernel(x_ptr, n, B: tl.constexpr):\n{inside}"
    return extract(from_cells([("code", text)], "kernel.py", numbered=False), (KERNEL,))


BODIES = """
def f(n):
    if n > 1:
        a = 1
    elif n > 0:
        a = 2
    else:
        a = 3
    for i in range(n):
        b = 1; c = 2
    while n > 7:
        n = 7
    else:
        c = 3
    if n == 7: return 1
    d = 1
    return g(n)
def g(n):
    "A text."
    return 2
"""


def test_bodies_are_entered_as_python_enters_them() -> None:
    tree = ast.parse(BODIES)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    lines = {body.number: body.statements[0].lineno for body in bodies(functions)}
    loops = mark(functions)
    assert {lines[number]: line for number, line in loops.items()} == {10: 9, 12: 11}
    for n, entered in (
        (0, [3, 5, 8, 14, 16, 19]),
        (1, [3, 5, 6, 10, 14, 16, 19]),
        (7, [3, 4, 10, 14, 15]),
        (8, [3, 4, 10, 12, 14, 15]),
    ):
        reached: set[int] = set()
        namespace: dict[str, Any] = {NAME: reached.add}
        exec(compile(tree, "f.py", "exec"), namespace)
        namespace["f"](n)
        assert sorted(lines[number] for number in reached) == entered


HELPER = "@triton.jit\ndef helper(a, m):\n    if m:\n        a = a + 1\n    return a\n"
# (body, helpers, bodies that no case enters, by their first statement)
BRANCHES = {
    "branch": ("if n > 9:\n    a = 1", "", ["a = 1"]),
    "else": ("if n < 9:\n    a = 1\nelse:\n    a = 2", "", ["a = 2"]),
    "elif, once": ("if n < 9:\n    a = 1\nelif n < 10:\n    a = 2\nelse:\n    a = 3", "", ["if n < 10:"]),
    "loop": ("for i in range(0, n // 9):\n    a = 1", "", ["a = 1"]),
    "after a return": ("if n < 9:\n    a = 1\n    return\na = 2", "", ["a = 2"]),
    "the outermost": ("if n > 9:\n    a = 1\n    if n > 10:\n        a = 2", "", ["a = 1"]),
    "by a variable": ("a = 0\nif n > 9:\n    pass\n    a = 1\nif a == 1:\n    a = 2", "", ["pass", "a = 2"]),
    "in a helper": ("a = helper(1, n > 9)", HELPER, ["a = a + 1"]),
    "helper": ("a = helper(1, 1) if n > 9 else 1", HELPER, ["if m:"]),
    "helper in a branch": ("if n > 9:\n    a = helper(1, 1)", HELPER, ["a = helper(1, 1)"]),
    "constexpr": ("if B // 2 == 64:\n    a = 1", "", ["a = 1"]),
    "variable of a constexpr": ("half = B // 2\nif half > 64:\n    a = 1", "", ["a = 1"]),
    "loop over a constexpr": ("for i in range(B // 64):\n    a = 1", "", ["a = 1"]),
    "type": ("if x_ptr.dtype.element_ty == 1:\n    a = 1", "", ["a = 1"]),
    "helper, by a constexpr": ("a = helper(1, 1) if B > 64 else 1", HELPER, ["if m:"]),
    "constexpr of a helper": ("a = helper(1, B > 64)", HELPER, ["a = a + 1"]),
    # excused
    "nothing done": ("if n > 9:\n    return\nif n > 9:\n    pass\nif n > 9:\n    print('n', n)", "", []),
    "literal": ("if 1 > 2:\n    a = 1", "", []),
    "module": ("if K > 90:\n    a = 1", "", []),
    "flag of a helper": ("a = helper(1, False)", HELPER, []),
    "helper that nothing calls": ("a = helper(1, 1) if K > 90 else 1", HELPER, []),
}


class _Pointer:
    dtype = element_ty = property(lambda self: self)


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_that_nobody_took_is_known(name: str) -> None:
    body, helpers, expected = BRANCHES[name]
    kept = program(body, helpers)
    tree = ast.parse(kept.source)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    for function in functions:
        function.decorator_list = []
        for argument in function.args.args:
            argument.annotation = None
    mark(functions)
    reached: set[int] = set()
    namespace: dict[str, Any] = {NAME: reached.add, "K": 70}
    exec(compile(ast.Module(list(functions), []), "k.py", "exec"), namespace)
    namespace["kernel"](_Pointer(), 5, 16)
    missing = [ast.unparse(entry.statements[0]).split("\n")[0] for entry in not_entered(kept, reached)]
    assert missing == expected


NEVER_REACHED = [kernel.name for kernel in kernels("wrong") if "never-reached" in kernel.findings]


@pytest.mark.parametrize("name", NEVER_REACHED)
def test_a_branch_never_taken_costs_a_property(name: str, quick: Conditions) -> None:
    kernel = named(name)
    verdict = check_kernel(kernel, quick)
    spaces = catalog.load(kernel.puzzle).spaces
    assert {p.name for p in verdict.properties if not p.passed} <= {space.proves for space in spaces.values()}
    assert 0 < verdict.earned < verdict.possible
