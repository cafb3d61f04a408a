"""Numbers in a submission give cases on both sides of them; a branch that no case takes is not judged right."""

from __future__ import annotations

import ast
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from checker import catalog
from checker.catalog.cases.suspected import MOST_CASES
from checker.check import Conditions
from checker.course import ladder
from checker.course.case import Case
from checker.course.puzzle import Kernel, Suspect, Suspects
from checker.course.verdict import Verdict
from checker.judge.text.branches import not_entered
from checker.sandbox.inside.coverage import NAME, bodies, mark
from checker.submission.extract import Program, extract
from checker.submission.lint import lint
from checker.submission.read import from_cells, from_file
from checker.submission.suspects import MOST_SUSPECTS, MOST_WRITTEN, suspects
from tests.conftest import ROOT, check_kernel, puzzle_of
from tests.kernels import kernels, named

KERNEL = Kernel("kernel", ("x_ptr", "n", "B"), ("B",))
HEAD = "import triton\nimport triton.language as tl\nK = tl.constexpr(70)\n"


def program(body: str, helpers: str = "") -> Program:
    """A kernel with this body, below helpers."""
    inside = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"{HEAD}{helpers}@triton.jit\ndef kernel(x_ptr, n, B: tl.constexpr):\n{inside}"
    return extract(from_cells([("code", text)], "kernel.py", numbered=False), [KERNEL])


def found(body: str, helpers: str = "") -> Suspects:
    return suspects(program(body, helpers), lambda line: (None, line))["kernel"]


def test_no_more_numbers_are_placed_than_are_kept() -> None:
    """A kernel may hold tens of thousands, and a place is looked for among thousands of cells."""
    asked: list[int] = []
    written = program(f"y = ({', '.join(map(str, range(3, 5000)))})\nif n > 77:\n    y = 1")
    found = suspects(written, lambda line: (asked.append(line), (None, line))[1])["kernel"]
    assert len(asked) == len(found.sizes) + len(found.values) == 2 * MOST_SUSPECTS
    assert found.sizes[0].value == 77


def test_no_remainder_keeps_the_checker_busy() -> None:
    """Each of these is asked of many sizes: few or none have it."""
    started = time.process_time()
    found("\n".join(f"y = (n * 7 + n - n * n * n + {line}) % 50021 * 2 == 50020" for line in range(500)))
    assert time.process_time() - started < 5


def test_what_cannot_all_be_looked_into_is_refused() -> None:
    """Else those that come first would hide the one that matters."""
    numbers = [101 * n for n in range(1, MOST_WRITTEN + 2)]
    lines = [f"x = tl.where(n < {number}, x, x)" for number in numbers]
    many = lint(program("\n".join(["x = 0", *lines])))
    assert [(one.id, one.line) for one in many] == [("too-many-numbers", 5)]
    assert lint(program("\n".join(["x = 0", *lines[1:]]))) == []


@pytest.mark.parametrize("puzzle_id", [one for one in ladder.RUNGS if one not in ("b3", "c1")])  # these take long
def test_each_number_has_a_case_however_many_there_are(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    numbers = [101 + 202 * n for n in range(MOST_SUSPECTS)]
    many = tuple(Suspect(n, f"the constant {n} in line {n}", False) for n in numbers)
    assert puzzle.suspected is not None
    for kernel in puzzle.kernels:
        cases = puzzle.suspected.cases(kernel.name, puzzle.draw(), Suspects(many))
        assert all(any(f" {number} in line " in case.name for case in cases) for number in numbers)


def test_numbers_of_axes_are_not_suspicious_in_pytorch_and_others_are() -> None:
    """Nor is a product: Python's integers have no end."""
    [kernel] = catalog.load("a2").kernels
    text = f"import torch\n\n\ndef {kernel.name}({kernel.signature}):\n    n = q.shape[2] * Br // Bc\n"
    for line, sizes in (("s = (q @ k.transpose(2, 3)).sum(dim=3)", set()), ("n = min(n, 1000)", {1000})):
        written = extract(from_cells([("code", f"{text}    {line}\n")], "a2.py", numbered=False), [kernel])
        of_it = suspects(written, lambda line: (None, line))[kernel.name]
        assert {s.value for s in of_it.sizes if not s.computed} == sizes


WRITTEN = {
    "comparison": ("y = n > 5000", 5000),
    "product": ("y = n > 70 * 70", 4900),
    "shifted constant": ("y = n > 1 << 12", 4096),
    "arithmetic without a comparison": ("y = 1 + n // 5000", 5000),
    "bound of a loop": ("for i in range(0, n, 5000):\n    pass", 5000),
    "condition": ("if (B > 8) and n == 777:\n    pass", 777),
    "conditional expression": ("y = 1 if n > 777 else 2", 777),
    "float": ("y = n.to(tl.float32) > 5e3", 5000),
    "argument": ("y = tl.minimum(n, 777)", 777),
    "negative": ("y = n > -777", 777),
    "variable": ("a = 70\nb = a * a\ny = n > b", 4900),
    "module": ("y = n > K * K", 4900),
    "type": ("y = n.to(tl.int16) < 0", 2**15),
    "two, compared": ("y = n == 2", 2),
}
COMPUTED = {
    "product without a number": ("y = n > B * B * B", 9),
    "quotient": ("y = n // 100 > 50", 5000),
    "factor": ("y = n * 3 > 4000", 1333),
    "shift": ("y = (n >> 13) > 0", 8192),
    "difference": ("y = n - 300 > 77", 377),
    "chain": ("y = n // 9 // 9 // 9 > 7", 5103),
    "square": ("y = n * n > 25000000", 5000),
    "root": ("y = tl.sqrt(n) > 70.0", 4900),
    "reciprocal": ("y = 1 / n < 0.0002", 5000),
    "three statements": ("a = n // 10\nb = a // 10\nc = b // 10\ny = c == 6", 6000),
    "remainder": ("y = (n % 997 == 13) & (n > 5000)", 8986),
    "remainder of arithmetic": ("y = (3 - n * 7) % 509 == 0", 873),
    "two statements": ("a = n // 100\ny = a > 50", 5000),
}


@pytest.mark.parametrize("name", [*WRITTEN, *COMPUTED])
def test_a_number_is_a_suspect_however_it_is_written(name: str) -> None:
    body, value = (WRITTEN | COMPUTED)[name]
    assert [s.computed for s in found(body).sizes if s.value == value] == [name in COMPUTED]


def test_a_remainder_is_solved_for_each_size_with_the_others_at_1() -> None:
    """Also where no size has it if all are the same, and where a solution is written down besides."""
    of_each = {size for size in range(512, 1021) if 3 in ((size - 1) * 7 % 509, (1 - size) * 7 % 509)}
    sizes = found("y = (n - B) * 7 % 509 == 3").sizes
    assert {s.value for s in sizes if s.solved} == of_each and len(of_each) == 2
    assert all(s.computed for s in sizes if s.solved)
    never = "".join(f"y = n * 2 % {by} == {rest}\n" for by in (90, 92, 94) for rest in (11, 13, 15, 17))
    assert 873 in {s.value for s in found(f"{never}y = n * 7 % 509 == 3").sizes}
    assert [(s.computed, s.solved) for s in found("z = 873\ny = n * 7 % 509 == 3").sizes if s.value == 873] == [
        (False, True)
    ]


SIZES = ("n", "n_rows", "n_cols", "m", "k", "n_q", "n_k", "splits")


@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
def test_a_solved_size_is_run_as_it_is_before_all_else(puzzle_id: str) -> None:
    """Each size of a launch in turn, with the others at 1, however many numbers are written down."""
    puzzle = catalog.load(puzzle_id)
    written = (Suspect(101 + 202 * n, f"the constant {n}") for n in range(MOST_WRITTEN))
    solved = Suspects((*written, Suspect(873, "a remainder", computed=True, solved=True)))
    assert puzzle.suspected is not None
    for kernel in puzzle.kernels:
        cases = puzzle.suspected.cases(kernel.name, puzzle.draw(), solved)
        first = itertools.takewhile(lambda case: "a remainder" in case.name, cases)
        sizes = [sizes_of(case) for case in first]
        wanted = [{name: 873 if name == one else 1 for name in sizes[0]} for one in sizes[0]]
        assert [one for one in wanted if one not in sizes] == [] != wanted


def sizes_of(case: Case) -> dict[str, float]:
    """The lengths in a launch: of PyTorch, those of its tensors."""
    if "q" in case.tensors:
        return {name: case.tensors[name].values.shape[2] for name in "qk"}
    return {name: case.scalars[name] for name in SIZES if name in case.scalars}


def test_small_numbers_and_constants_of_nature_are_none() -> None:
    assert found("y = 2 * n + 1\nif n > 0:\n    y = y * 1.4426950408889634 - 1e30 * 0.6931471805599453") == Suspects()


def test_what_is_read_of_a_text_made_to_be_long_is_bounded() -> None:
    begun = time.process_time()
    found("\n".join(f"y{n} = n * {n} * 99999999999 * 3.7 * 99999999998 > 5" for n in range(2000)))
    assert time.process_time() - begun < 2


def test_helpers_are_looked_into_with_what_they_are_given() -> None:
    helper = "@triton.jit\ndef over(n, c):\n    return n > c * c\n"
    sizes = {s.value: s for s in found("y = over(n, 71)", helper).sizes}
    assert 71 * 71 in sizes
    assert sizes[71].text == "the constant 71 in line 9"


@pytest.mark.parametrize(
    "body",
    [
        "y = 1 << 10 ** 9",
        "y = 1 << 4611686018427387904",
        "y = 1 % 0",
        "y = 1 / 0",
        "y = n > 5e-324",
        "y = n > -1e308 * 10",
    ],
)
def test_arithmetic_that_cannot_be_done_is_left_alone(body: str) -> None:
    found(body.replace("10 ** 9", "1000000000"))


def test_a_product_that_a_number_is_drawn_at_is_no_limit() -> None:
    assert not found("y = tl.where(tl.rand(n, n * n) > n, 1, 0)").sizes
    assert found("y = tl.where(tl.rand(n, n) > n * n, 1, 0)").sizes


# A function that launches kernels says how large their tiles are.
WITHOUT_NUMBERS = [
    path for path in sorted((ROOT / "solutions").glob("*.py")) if not ladder.RUNGS[puzzle_of(path)].launches
]


@pytest.mark.parametrize("path", WITHOUT_NUMBERS, ids=lambda p: p.stem)
def test_a_kernel_without_numbers_costs_nothing(path: Path) -> None:
    assert cases_of(puzzle_of(path), path) == []


def cases_of(puzzle_id: str, path: Path) -> list[Case]:
    puzzle, submission = catalog.load(puzzle_id), from_file(path)
    assert puzzle.suspected is not None
    made = suspects(extract(submission, puzzle.kernels), submission.place)
    return [case for name, some in made.items() for case in puzzle.suspected.cases(name, puzzle.draw(), some)]


def around(puzzle_id: str, kernel: str, value: int) -> list[Case]:
    puzzle = catalog.load(puzzle_id)
    assert puzzle.suspected is not None
    return puzzle.suspected.cases(kernel, puzzle.draw(), Suspects((Suspect(value, "a constant"),)))


def both_sides(seen: set[int], value: int) -> bool:
    return {value - 1, value, value + 1} <= seen and max(seen) > value + 2


SOFTMAX = [(puzzle_id, catalog.load(puzzle_id).kernels[0].name) for puzzle_id in ("p1", "p2", "p3", "p4")]
ATTENTION = [(one, kernel.name) for one in ("a3", "p5", "p6", "p7", "b1", "b2") for kernel in catalog.load(one).kernels]


@pytest.mark.parametrize("value", [7, 100, 3000])
@pytest.mark.parametrize(("puzzle_id", "kernel"), SOFTMAX)
def test_rows_columns_and_strides_take_values_on_both_sides(puzzle_id: str, kernel: str, value: int) -> None:
    cases = around(puzzle_id, kernel, value)
    shapes = [case.tensors["x_ptr"].values.shape for case in cases]
    x, y = ([int(case.scalars[f"{name}_row_stride"]) for case in cases] for name in "xy")
    columns = [n for _, n in shapes]
    assert both_sides(set(columns), value)
    assert {value, value + 1} <= {rows for rows, _ in shapes}
    assert max(rows for rows, _ in shapes) > 2 * value
    assert both_sides(set(x), value)
    assert max(a - n for a, n in zip(x, columns, strict=True)) >= value
    assert max(b - a for a, b in zip(x, y, strict=True)) > value
    programs = {p for case in cases for p in (case.programs or range(case.grid[0]))}
    assert {value - 1, value} <= programs if puzzle_id != "p4" else value in programs
    sizes = {int(case.constexprs.get("BLOCK_COLS", case.constexprs.get("BLOCK_SIZE", 0))) for case in cases}
    assert min(sizes) <= max(16, value)
    assert max(sizes) >= value


@pytest.mark.parametrize("value", [20, 100, 3000])
@pytest.mark.parametrize(("puzzle_id", "kernel"), ATTENTION)
def test_queries_keys_heads_and_strides_take_values_on_both_sides(puzzle_id: str, kernel: str, value: int) -> None:
    cases = around(puzzle_id, kernel, value)
    scalars = [case.scalars for case in cases]
    sides = ("q",) if kernel == "delta_kernel" else ("q", "k")
    for side in sides:
        assert both_sides({int(s[f"n_{side}"]) for s in scalars}, value)
        assert {value, value + 1} <= {int(s[f"{side}_row_stride"]) for s in scalars if f"{side}_row_stride" in s}
        assert max(int(s[f"{side}_head_stride"]) for s in scalars) > value
    if len(sides) == 2:
        assert both_sides({int(s["n_k"]) - int(s["n_q"]) for s in scalars}, value)
        assert min(int(s["n_k"]) - int(s["n_q"]) for s in scalars) <= -value
    heads = {next(iter(case.tensors.values())).values.shape[0] for case in cases}
    assert {value, value + 2} <= heads or (kernel == "dbias_kernel" and value > 1000)  # there heads are a loop
    if value == 100:
        for block in ("D", "Br") if len(sides) == 1 else ("D", "Br", "Bc"):
            assert {64, 128, 256} <= {int(case.constexprs[block]) for case in cases}
        assert {100, 101} <= {p % case.grid[0] for case in cases for p in case.programs} or puzzle_id == "p5"


@pytest.mark.parametrize("puzzle_id", ladder.RUNGS)
def test_what_is_run_for_many_numbers_is_bounded(puzzle_id: str) -> None:
    puzzle = catalog.load(puzzle_id)
    suspected = puzzle.suspected
    assert suspected is not None
    many = Suspects(*(tuple(Suspect(v, f"constant {v}", v % 2 == 0) for v in range(3, 9000, 371)) for _ in range(2)))
    begun = time.process_time()
    for kernel in puzzle.kernels:
        cases = suspected.cases(kernel.name, puzzle.draw(), many)
        assert len(cases) <= MOST_CASES
        assert all(
            not case.informative and case.why and case.proves == (suspected.proves[kernel.name],) for case in cases
        )
        assert len({case.name for case in cases}) == len(cases)
    assert time.process_time() - begun < 10


def test_the_report_says_why_a_case_was_run(check_text: Callable[..., Verdict]) -> None:
    verdict = check_text(old="numerator / denominator", new="numerator / denominator * tl.where(n_cols == 4099, 2, 1)")
    [finding] = verdict.findings
    assert finding.where.case == "around the constant 4099 in line 17 (1 x 4099, BLOCK_SIZE=8192)"
    assert "the constant 4099 in line 17" in finding.explanation
    assert [p.name for p in verdict.properties if not p.passed] == ["any-length"]


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
    suspected = catalog.load(kernel.puzzle).suspected
    assert suspected is not None
    assert {p.name for p in verdict.properties if not p.passed} <= set(suspected.proves.values())
    assert 0 < verdict.earned < verdict.possible
