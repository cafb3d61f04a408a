"""The lint of functions that launch kernels: what it takes beside PyTorch's list, and what it still refuses."""

from __future__ import annotations

import pytest

from checker import catalog
from checker.check import program_of
from checker.course import places
from checker.submission.read import from_cells

SOLUTION = places.solution("c1").read_text(encoding="utf-8")
LAUNCH = "    delta_kernel[(triton.cdiv(n_q, BLOCK), batch * heads)](o, do, delta, n_q * d, d, n_q, D=d, Br=BLOCK)\n"


def complaints(text: str) -> list[str]:
    _, problems = program_of(from_cells([("code", text)], "c1.py", numbered=False), catalog.load("c1").kernels)
    return [f"{problem.id}: {problem.sentence}" for problem in problems]


def test_the_solution_is_taken() -> None:
    assert complaints(SOLUTION) == []


@pytest.mark.parametrize(
    "line",
    [
        "    rows = triton.cdiv(n_q, triton.next_power_of_2(BLOCK))\n" + LAUNCH,
        "    strides = q.stride()\n" + LAUNCH,
        LAUNCH.replace("Br=BLOCK)", "Br=BLOCK, num_warps=8, num_stages=2)"),
        LAUNCH.replace("n_q * d, d, n_q", "*q.stride()[1:3], n_q"),
        "    grid = (1, batch * heads)\n" + LAUNCH.replace("(triton.cdiv(n_q, BLOCK), batch * heads)", "grid"),
        '    print("scale", ctx.scale)\n' + LAUNCH,
    ],
)
def test_what_a_launch_may_need_is_taken(line: str) -> None:
    assert complaints(SOLUTION.replace(LAUNCH, line)) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("    other_kernel[(1,)](o)\n", "call: "),
        ("    run = delta_kernel[(1, 1)]\n", "function-as-value: This course does not allow the kernel `delta_kernel`"),
        ("    delta_kernel(o, do, delta)\n", "function-as-value: "),
        ("    delta_kernel.fn(o)\n", "not-torch: "),
        (LAUNCH.replace("D=d", "**n_q"), "call: "),
        (LAUNCH.replace("(o, do", "(open, do"), "unknown-name: This course does not allow Python's `open`."),
        ("    delta_kernel[triton.language](o)\n", "not-torch: "),
        ("    triton.jit(o)\n", "not-allowed: This course does not allow triton.jit."),
        ("    ctx.mark_dirty(o)\n", "attribute: This course does not allow ctx.mark_dirty(…)."),
        ("    ctx._raw = 1\n", "attribute: "),
        ("    ctx.__class__ = 1\n", "attribute: "),
        ("    x = ctx.__dict__\n", "attribute: "),
        ("    x = ctx.next_functions\n", "unknown-name: Nothing has set ctx.next_functions."),
        ("    ctx.saved_tensors = 1\n", "syntax: "),
        ("    x = ctx.needs_input_grad\n", "attribute: This course does not allow ctx.needs_input_grad."),
        ("    ctx.to_save = q\n", "attribute: This course does not allow ctx.to_save set."),
        ("    q.scale = 1\n", "syntax: "),
    ],
)
def test_what_leads_elsewhere_is_refused(line: str, said: str) -> None:
    found = complaints(SOLUTION.replace(LAUNCH, line + LAUNCH))
    assert any(one.startswith(said) for one in found), found


def test_a_kernel_that_is_not_imported_is_said() -> None:
    text = SOLUTION.replace("import delta_kernel, dk_dv_kernel,", "import dk_dv_kernel,")
    assert complaints(text) == ["unknown-name: delta_kernel is not imported."]
