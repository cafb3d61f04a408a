"""The interpreter computes as a GPU does. What a GPU does: `tests/gpu/semantics.py`, which runs on one."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import triton.language as tl

from checker.check import Conditions
from checker.sandbox.compiling import Job
from checker.sandbox.inside import compiler_hints, language, lowering
from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.results import LaunchResult
from tests.conftest import check_kernel
from tests.gpu import semantics
from tests.kernels import named

POINTERS = {"int32": "*i32", "int64": "*i64", "float32": "*fp32", "float16": "*fp16"}


@pytest.fixture(scope="module")
def given() -> list[Any]:
    return semantics.on_interpreter()


@pytest.mark.parametrize("number", range(len(semantics.GIVES)), ids=lambda n: f"{semantics.GIVES[n].kernel}-{n}")
def test_a_kernel_gives_what_it_gives_on_a_gpu(number: int, given: list[Any]) -> None:
    wanted = semantics.GIVES[number].expected()
    assert semantics.same(given[number], wanted), (given[number], wanted)


def assembler_text(probe: semantics.Probe) -> str:
    """What Triton makes of a kernel for an H100."""
    kinds = {"x_ptr": POINTERS[probe.kinds[0]], "y_ptr": POINTERS[probe.kinds[1]], "n": "i32", "BLOCK": "constexpr"}
    constexprs = {"BLOCK": semantics.LANES}
    texts, _ = lowering.lowered(getattr(semantics, probe.kernel), asdict(Job(probe.kernel, "sm_90", kinds, constexprs)))
    return texts[lowering.ASSEMBLER]


# What the conversions and sums above rest on: PTX's manual says how each instruction rounds, saturates and treats NaN.
INSTRUCTIONS = {
    "to_int8": "cvt.rzi.s16.f32",
    "to_uint8": "cvt.rzi.u16.f32",
    "to_int16": "cvt.rzi.s16.f32",
    "to_int32": "cvt.rzi.s32.f",
    "to_uint32": "cvt.rzi.u32.f32",
    "to_int64": "cvt.rzi.s64.f32",
    "double_to_int32": "cvt.rzi.s32.f64",
    "conditions_added": "xor.pred",
    "larger_of_two": "max.f32",
    "shifted_left": "shl.b32",
    "shifted_right": "shr.s32",
    "product_in_tf32": "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32",
    "tall_product_in_tf32": "wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32",
    "product_in_fp32": "fma.rn.f32",
}


@pytest.mark.parametrize("probe", semantics.GIVES, ids=lambda p: p.kernel)
def test_the_kernels_compile_and_have_the_instructions_that_are_thought_of(probe: semantics.Probe) -> None:
    text = assembler_text(probe)
    assert INSTRUCTIONS.get(probe.kernel, "ret;") in text


def test_both_stores_of_an_and_are_compiled_in_before_any_branch() -> None:
    [probe] = [one for one in semantics.GIVES if one.kernel == "both_sides"]
    text = assembler_text(probe)
    assert text.partition("bra")[0].count("st.global") == 2  # of both helpers, before anything is decided
    assert text.count("st.global") == 6  # what constexprs have cut off is not there


def run(source: str, shape: tuple[int, ...] = (4, 16), checked: bool = False) -> LaunchResult:
    """One launch of `kernel(x_ptr, y_ptr, n, …)` in the sandbox: x counts from 0 in fp32, n is 7."""
    x = np.arange(np.prod(shape), dtype=np.float32)
    tensors = {"x_ptr": TensorArgument(x, (1,)), "y_ptr": TensorArgument(np.zeros_like(x), (1,))}
    constexprs: dict[str, int | float | bool] = {"A": shape[0], "B": shape[1]}
    launch = Launch("kernel", (1, 1, 1), tensors, {"n": ("int32", 7)}, constexprs, checked)
    head = "@triton.jit\ndef kernel(x_ptr, y_ptr, n, A: tl.constexpr, B: tl.constexpr):\n"
    with Sandbox(Limits()) as sandbox:
        report = sandbox.run(source.replace("KERNEL\n", head), ["kernel"], [launch], [[(0, range(1))]])
    answers = report.passes[0]
    assert answers.malformed is None and answers.loading is None, answers
    return answers.results[0]


REDUCED = """
@triton.jit
def add(a, b):
    return a + b

@triton.jit
def both(a, s, b, t):
    return tl.maximum(a, b), s + t

KERNEL
    tile = tl.load(x_ptr + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :])
    tl.store(y_ptr + tl.arange(0, B), tl.reduce(tile, 0, add))
    tl.store(y_ptr + 16 + tl.arange(0, A), tl.reduce(tile, -1, add))
    tl.store(y_ptr + 20, tl.reduce(tile, None, add))
    largest, total = tl.reduce((tile, tile), 1, both, keep_dims=True)
    tl.store(y_ptr + 24 + tl.arange(0, A)[:, None], largest + total)
    big = tl.where(tl.arange(0, B) == 0, 16777216.0, 1.0)
    tl.store(y_ptr + 32, tl.reduce(big, 0, add))
"""


def test_reduce_combines_halves_along_any_axis() -> None:
    result = run(REDUCED)
    assert result.error is None, result.error
    tile = np.arange(64.0).reshape(4, 16)
    y = result.tensors["y_ptr"]
    assert y[:16].tolist() == tile.sum(axis=0).tolist()
    assert y[16:20].tolist() == tile.sum(axis=1).tolist()
    assert y[20] == tile.sum()
    assert y[24:28].tolist() == (tile.max(axis=1) + tile.sum(axis=1)).tolist()
    assert y[32] == 2**24 + 14  # one after the other, each 1 is lost in 2**24; by halves, only the first


def refusal(*body: str, before: str = "") -> str:
    """What a kernel of these lines raises."""
    error = run(before + "KERNEL\n" + "".join(f"    {line}\n" for line in body)).error
    assert error is not None
    return error.message


@pytest.mark.parametrize(
    "number",
    [
        *("x_ptr.to(tl.int64)", "(x_ptr + 1).to(tl.uint64)", "x_ptr.to(tl.int64, bitcast=True)", "x_ptr.to(tl.int1)"),
        *("tl.cast(tl.where(n > 3, x_ptr, y_ptr), tl.int64)", "tl.full((1,), x_ptr, tl.int64)"),
    ],
)
def test_no_address_becomes_a_number(number: str) -> None:
    assert refusal("tl.multiple_of(x_ptr, 16)", f"start = {number}").startswith("an address was converted to ")
    as_words = "tl.store(y_ptr.to(tl.pointer_type(tl.int32)), tl.load(x_ptr.to(tl.pointer_type(tl.int32)) + 1))"
    assert run(f"KERNEL\n    {as_words}\n").error is None  # only the type of what is there


def test_what_a_gpu_cannot_do_is_an_error() -> None:
    assert "must be positive" in refusal("for i in range(0, -9, -n):", "    tl.store(y_ptr, i)")
    assert "need a scalar" in refusal("x = 1 if tl.arange(0, B) < n else 2")
    assert "Cannot bitcast" in refusal("if n and n > 3:", "    tl.store(y_ptr, 1.0)")
    assert "Cannot bitcast" in refusal("if not n:", "    tl.store(y_ptr, 1.0)")
    # Python's range has no keywords; the compiler would not look at them.
    assert "keyword" in refusal("for i in range(0, n, step=2):", "    tl.store(y_ptr, i)")
    assert "constexpr" in refusal("for i in range(3, 4):", "    tl.arange(0, i)")
    assert "K >= 16" in refusal("x = tl.zeros((16, 8), tl.float32)", "tl.store(y_ptr, tl.sum(tl.dot(x, tl.trans(x))))")
    mean = "@triton.jit\ndef mean(a, b):\n    return (a + b) / 2\n\n"
    assert "in any order" in refusal("tl.store(y_ptr, tl.reduce(tl.arange(0, B) * 1.0, 0, mean))", before=mean)


def test_what_overflows_in_a_loop_counter_is_found() -> None:
    source = "KERNEL\n    for i in range(n, n + 1):\n        tl.store(y_ptr, i * 1000000007)\n"
    assert "int32 overflow" in str(run(source, checked=True).error)


@pytest.mark.parametrize("asserted", ['assert n > 7, "few"', 'tl.device_assert(n > 7, "few")'])
def test_an_assertion_is_looked_at_on_every_launch(asserted: str) -> None:
    for checked in (False, True):
        assert "few" in str(run(f"KERNEL\n    {asserted}\n    tl.store(y_ptr, 1.0)\n", checked=checked).error)


def test_a_global_constant_on_the_left_does_not_cut_short() -> None:
    """Compared with a tensor, a constexpr holds a tensor on the interpreter."""
    source = (
        "FEW = tl.constexpr(3)\n\n@triton.jit\ndef noted(y_ptr, n):\n    tl.store(y_ptr, 1.0)\n    return n > 0\n\n"
        "KERNEL\n    if (FEW > n) and noted(y_ptr, n):\n        tl.store(y_ptr + 1, 1.0)\n"
        "    for i in tl.static_range(FEW):\n        tl.store(y_ptr + 2 + tl.arange(0, 2 ** i), 1.0)\n"
    )
    result = run(source)
    assert result.error is None, result.error
    assert result.tensors["y_ptr"][:8].tolist() == [1, 0, 1, 1, 1, 1, 0, 0]


def test_a_submission_cannot_spell_what_is_added_to_its_globals() -> None:
    assert {name for name in language.names() if name.isidentifier()} == {"range", "min", "max"}


def block(values: Any, kind: Any = tl.int32) -> Any:
    """A tensor of these values, as far as promises look at it."""
    data: npt.NDArray[Any] = np.array(values)
    return tl.tensor(SimpleNamespace(data=data), tl.block_type(kind, list(data.shape)) if data.ndim else kind)


PAIRS = [0, 1, 8, 9, 16, 17, 32, 33]
TRANSPOSED = np.arange(16, 24)[None, :] + np.arange(0, 64, 16)[:, None]
KEPT_AND_BROKEN = [
    (tl.multiple_of, block(32), 16, block(24), 16),
    (tl.multiple_of, block(np.arange(32, 48)), 16, block(np.arange(32, 48) + 8), 16),
    (tl.multiple_of, block(PAIRS), 8, block(PAIRS), 16),  # the first of each pair counts, as nothing else is in a row
    (tl.multiple_of, block([0, 1, 2, 0, 4, 5, 6, 7]), 1, block([0, 1, 2, 0, 4, 5, 6, 7]), 4),  # AxisInfo.h's example
    (tl.multiple_of, block(TRANSPOSED), [1, 8], block(TRANSPOSED), [16, 8]),
    (
        tl.multiple_of,
        block(64 + 4 * np.arange(8), tl.pointer_type(tl.float32)),
        32,
        block(64 + 4 * np.arange(8), tl.pointer_type(tl.float32)),
        128,
    ),
    (tl.max_contiguous, block(PAIRS), 2, block(PAIRS), 4),
    (tl.max_contiguous, block(TRANSPOSED), [1, 64], block(TRANSPOSED), [2, 8]),
    (
        tl.max_contiguous,
        block(4 * np.arange(8), tl.pointer_type(tl.float32)),
        8,
        block(2 * np.arange(8), tl.pointer_type(tl.float32)),
        8,
    ),
    (tl.max_constancy, block([0, 0, 0, 0, 1, 1, 1, 1]), 4, block([0, 0, 0, 0, 1, 1, 1, 1]), 8),
    (tl.max_constancy, block([True] * 4 + [False] * 4, tl.int1), 4, block([True] * 3 + [False] * 5, tl.int1), 4),
    (tl.max_constancy, block(TRANSPOSED * 0 + TRANSPOSED[:, :1]), [1, 8], block(TRANSPOSED), [1, 8]),
]
CHECKED = {
    tl.multiple_of: compiler_hints.multiple_of,
    tl.max_contiguous: compiler_hints.max_contiguous,
    tl.max_constancy: compiler_hints.max_constancy,
}


@pytest.mark.parametrize("promise", KEPT_AND_BROKEN, ids=lambda p: p[0].__name__)
def test_promises_are_held_to_what_the_compiler_takes_them_for(promise: tuple[Any, ...]) -> None:
    name, kept, with_values, broken, of_values = promise
    check = CHECKED[name]
    assert check(kept, with_values) is kept
    with pytest.raises(compiler_hints.FalsePromise, match=f"tl.{name.__name__}"):
        check(broken, of_values)


def test_a_promise_for_every_axis_is_asked_for() -> None:
    with pytest.raises(ValueError, match="does not match the length"):
        compiler_hints.multiple_of(block(TRANSPOSED), 8)


def test_a_false_promise_says_which_value_breaks_it(quick: Conditions) -> None:
    verdict = check_kernel(named("p2_mask_promised_in_groups"), replace(quick, targets=()))
    assert "0 is not equal to the one before it, as tl.max_constancy has it" in verdict.findings[0].explanation
    assert "max_constancy" in dict(verdict.findings[0].where.source)[verdict.findings[0].where.line or 0]


def test_a_row_merged_by_reduce_is_right(quick: Conditions) -> None:
    verdict = check_kernel(named("p3_reduced_with_a_function"), replace(quick, lint=False))
    assert verdict.accepted, verdict.findings
