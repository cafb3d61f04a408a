"""Triton's interpreter, instrumented: runs one kernel over a grid without torch and without a GPU."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported: must come first

import triton
import triton.language as tl
from triton.runtime import interpreter

from checker.sandbox.inside import bfloat16, coverage, language, outcomes, patches, waiting
from checker.sandbox.inside.memory import ADDRESS_BITS, Memory, SandboxTensor
from checker.sandbox.inside.overrides import given
from checker.sandbox.inside.running import running
from checker.sandbox.inside.stepping import block, other
from checker.sandbox.protocol.launch import GIVEN
from checker.sandbox.protocol.records import is_size
from checker.sandbox.protocol.steps import Value

_POINTEES = {"float16": tl.float16, "float32": tl.float32, "int32": tl.int32, "int64": tl.int64}
_SCALARS = {"int32": (np.int32, tl.int32), "int64": (np.int64, tl.int64), "float32": (np.float32, tl.float32)}


def prepare() -> None:
    """Patch Triton once, for the life of this process, before any kernel is loaded. Raises UnknownTriton."""
    patches.apply()
    interpreter.InterpreterBuilder.get_bf16 = bfloat16.constant  # which Triton's own lacks
    np.seterr(all="ignore")  # a kernel may divide by zero; the judge will see what comes of it


def printed(*values: Any) -> None:
    """`print` inside a kernel, with the program it came from."""
    print(f"program {running.program}:", *values)


class Asserts(ast.NodeTransformer):
    """Make of `assert` what the compiler makes of it: tl.device_assert, which takes blocks as well."""

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        """Return one statement."""
        function = ast.Attribute(ast.Name("tl", ast.Load()), "device_assert", ast.Load())
        call = ast.Call(function, [node.test, *([node.msg] if node.msg is not None else [])], [])
        return ast.copy_location(ast.Expr(call), node)


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """Return the kernels `names` of the submission, ready to launch. `path` names the source in tracebacks.

    Triton would look for a function's text again, by its first line that seems to begin with `def`,
    and so run something else than what was linted. Here the syntax tree itself is rewritten, and
    nothing but the names that the rewriting needs is added to what a kernel can see.
    """
    running.filename = path
    namespace: dict[str, Any] = {"__name__": "submission", "triton": triton, "tl": tl, "print": printed}
    namespace |= language.names()
    tree = ast.parse(source)
    exec(compile(tree, path, "exec"), namespace)
    functions = ast.Module(body=[n for n in tree.body if isinstance(n, ast.FunctionDef)], type_ignores=[])
    definitions = [node for node in functions.body if isinstance(node, ast.FunctionDef)]
    outcomes.mark(definitions)
    running.loops = coverage.mark(definitions)  # as the judge reads them
    Asserts().visit(functions)
    waiting.hand_over(functions)
    for definition in functions.body:
        definition.decorator_list = []
    namespace |= {coverage.NAME: running.enter, coverage.COUNTED: running.counted, GIVEN: given.value}
    namespace[outcomes.NAME] = outcomes.noted
    rewritten = interpreter.ASTTransformer().visit(language.rewritten(functions))
    plain: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(rewritten), path, "exec"), namespace, plain)
    for name, function in plain.items():
        interpreter.InterpretedFunction.rewritten_fn[namespace[name].fn] = function
    for name in ("interpreter_semantic", "_InterpreterComparison"):  # the latter since triton 3.9
        namespace[name] = getattr(interpreter, name, None)
    return {name: namespace[name] for name in names}


def pointer(tensor: SandboxTensor, element: int = 0) -> Any:
    """Return the kernel argument that points at an element of `tensor`, counted along the address range."""
    kind = tl.pointer_type(tl.bfloat16 if tensor.bf16 else _POINTEES[tensor.values.dtype.name])
    address = tensor.base + element * tensor.itemsize
    return tl.tensor(interpreter.TensorHandle(np.array([address], np.uint64), kind), kind)


def scalar(value: float, dtype: str) -> Any:
    """Return the kernel argument that holds a run-time number (`int32`, `int64` or `float32`)."""
    numpy_type, kind = _SCALARS[dtype]
    return tl.tensor(interpreter.TensorHandle(np.array([value], numpy_type), kind), kind)


def held(memory: Memory, value: Any) -> Value:
    """Return what a name of a kernel holds, as data; of pointers the offsets from their tensor's first element."""
    if not isinstance(value, tl.tensor):
        return other(value.value if isinstance(value, tl.constexpr) else value)
    numbers = np.asarray(value.handle.data).reshape([int(side) for side in value.shape])
    if not value.dtype.is_ptr():
        return block(str(value.dtype), numbers)
    slot = int(numbers.flat[0]) >> ADDRESS_BITS
    if not 1 <= slot <= len(memory.tensors):
        return block(str(value.dtype), numbers)
    tensor = memory.tensors[slot - 1]
    return block(str(value.dtype), (numbers.astype(np.int64) - tensor.base) // tensor.itemsize, slot - 1)


def like(own: Any, numbers: npt.NDArray[np.float64]) -> Any:
    """Return what a name of a kernel holds with other numbers; as it is if they do not fit."""
    if not isinstance(own, tl.tensor):
        return own
    held = own.handle.data
    if held.dtype.kind not in "fib" or numbers.size != held.size:
        return own
    made = numbers.reshape(held.shape).astype(held.dtype)
    return tl.tensor(interpreter.TensorHandle(made, own.handle.dtype), own.type)


def launch(
    kernel: Any,
    memory: Memory,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    order: npt.NDArray[np.int64],
    checked_arithmetic: bool,
    resident: int = 0,
) -> None:
    """Run `kernel` for the programs of `grid` in `order` (linear numbers, x fastest).

    Programs with atomic operations take turns, `resident` at a time (0: all).

    `checked_arithmetic` switches on Triton's checks for integer overflow, which cost about a third of the time;
    `tl.device_assert` is always looked at. Raises whatever the kernel raises, or RefusedAccess.
    """
    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, debug=True, sanitize_overflow=checked_arithmetic)
    builder.set_grid_dim(*grid)
    function = kernel.rewrite()
    memory.checked = checked_arithmetic
    for name, argument in arguments.items():
        if is_size(name):
            argument.handle.counts = True
    running.memory = memory
    running.entered.clear()

    def enter(program: int) -> None:
        running.program = program
        x, rest = program % grid[0], program // grid[0]
        builder.set_grid_idx(x, rest % grid[1], rest // grid[1])

    try:
        if inspect.isgeneratorfunction(function):
            waiting.take_turns(lambda: function(**arguments), order.tolist(), resident, enter, memory)
            return
        for program in order.tolist():
            enter(program)
            function(**arguments)
    finally:
        running.memory = None


def running_position() -> tuple[int, int]:
    """(program, line) of the kernel code on the stack of the caller."""
    return running.where()


def program_now() -> int:
    """Return the program that ran last."""
    return running.program
