"""Triton's interpreter, instrumented: runs one kernel over a grid without torch and without a GPU.

Few names of Triton are touched, and all of them in `prepare`, because tools that copied its
internals broke at every release. Everything here was tried on triton 3.6.0, 3.7.1 and 3.9.0.
"""

from __future__ import annotations

import ast
import dataclasses
import os
import sys
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported: must come first

import triton
import triton.language as tl
from triton.language import semantic
from triton.runtime import interpreter

from checker.box.inside import half, language, reached, sizes
from checker.box.inside.arithmetic import compute_as_a_gpu
from checker.box.inside.memory import BoxTensor, Memory
from checker.box.inside.promises import believe_nothing
from checker.box.inside.remembered import remember

_POINTEES = {"float16": tl.float16, "float32": tl.float32, "int32": tl.int32, "int64": tl.int64}
_SCALARS = {"int32": (np.int32, tl.int32), "int64": (np.int64, tl.int64), "float32": (np.float32, tl.float32)}


class _Unpatched:
    """Stands for the scope that Triton's `_patch_lang` returns; the patch is never undone."""

    def restore(self) -> None:
        """Nothing: this process runs kernels in interpreter mode until it ends."""


class _Running:
    """What the hooks need to know of the launch in progress; one launch at a time."""

    def __init__(self) -> None:
        self.memory: Memory | None = None
        self.program = 0
        self.filename = ""
        self.reached: set[int] = set()  # bodies of the submission that were entered

    def where(self) -> tuple[int, int]:
        """(program, line of the submission that is being executed; 0 if there is none)."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != self.filename:
            frame = frame.f_back  # type: ignore[assignment]
        return self.program, frame.f_lineno if frame is not None else 0


_running = _Running()


def _memory() -> Memory:
    if _running.memory is None:
        raise RuntimeError("memory was touched outside a launch")
    return _running.memory


def _masked_load(builder: Any, ptrs: Any, mask: Any, other: Any, *_: Any, **__: Any) -> Any:
    element = ptrs.get_element_ty()
    dtype = interpreter._get_np_dtype(element)
    values = _memory().load(ptrs.data, np.asarray(mask.data, dtype=bool), None if other is None else other.data, dtype)
    return interpreter.TensorHandle(values, element)


def _masked_store(builder: Any, ptrs: Any, value: Any, mask: Any, *_: Any, **__: Any) -> None:
    dtype = interpreter._get_np_dtype(ptrs.get_element_ty())
    _memory().store(ptrs.data, value.data, np.asarray(mask.data, dtype=bool), dtype)


def _barrier(builder: Any, *_: Any, **__: Any) -> None:
    _memory().barrier()


def _dot(plain: Any) -> Any:
    """Triton's own matrix product, noted."""

    def create_dot(*arguments: Any, **options: Any) -> Any:
        result = plain(*arguments, **options)
        _memory().dot(result.data.size, arguments[1].data.shape[-1])  # the builder itself comes first
        return result

    return create_dot


def _sized(plain: Any) -> Any:
    """One of Triton's own ways to make a block out of something smaller, noted."""

    def create(*arguments: Any, **options: Any) -> Any:
        result = plain(*arguments, **options)
        if _running.memory is not None:
            _running.memory.block(result.data.size)
        return result

    return create


def _sum(self: Any, block: Any) -> Any:
    """Whole numbers are summed up in 64 bits, as NumPy does where a pointer has 64: in a browser it has 32."""
    data = block.handle.data
    wide = {"b": np.int64, "i": np.int64, "u": np.uint64}.get(data.dtype.kind)
    total = np.sum(data, axis=self.axis, keepdims=self.keep_dims, dtype=wide)
    return self.to_tensor(total, block.dtype)


def _atomic(builder: Any, *_: Any, **__: Any) -> Any:
    raise TypeError("atomic operations are not part of this course: no puzzle needs one")


def _truth(tensor: Any) -> bool:
    """A block has no truth value. Triton's interpreter calls every block true; a GPU refuses it.

    Triton itself asks `if mask:` of blocks in its own code, so only the submission is refused. And where it asks
    `if other`, it means "is there one": for the compiler every tensor is true, a scalar that is 0 as well.
    """
    caller = sys._getframe(1)
    if caller.f_globals.get("__name__") == semantic.__name__:
        return True
    if tensor.handle.data.size != 1 and caller.f_code.co_filename != _running.filename:
        return True
    return language.truth(tensor)


def prepare() -> None:
    """Patch Triton once, for the life of this process, before any kernel is loaded.

    Triton patches its language again at each call of a device function, `tl.max` and `tl.sum`
    included: about a third of the time of a launch. Done once here, then switched off.
    """
    remember(interpreter)
    interpreter._patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    interpreter._patch_lang = lambda *_, **__: _Unpatched()
    # triton 3.6 converts a one-element array here, which numpy 2.4 refuses.
    tl.tensor.__index__ = lambda self: int(self.handle.data.squeeze())
    tl.tensor.__bool__ = _truth
    builder = interpreter.InterpreterBuilder
    interpreter.interpreter_builder.codegen_fns["min_dot_size"] = lambda lhs, _: (
        (1, 1, 32) if lhs.scalar.primitive_bitwidth == 8 else (1, 1, 16)  # as for NVIDIA
    )
    builder.create_masked_load = _masked_load
    builder.create_masked_store = _masked_store
    builder.create_barrier = _barrier
    builder.create_dot = _dot(builder.create_dot)
    builder.create_splat = _sized(builder.create_splat)
    builder.create_broadcast = _sized(builder.create_broadcast)
    builder.create_atomic_rmw = _atomic
    builder.create_atomic_cas = _atomic
    interpreter.ReduceOps.sum = _sum
    language.prepare()
    compute_as_a_gpu(interpreter)
    believe_nothing(builder)
    half.watch(interpreter, lambda: _running.memory)
    sizes.watch(interpreter, lambda: _running.memory)
    np.seterr(all="ignore")  # a kernel may divide by zero; the judge will see what comes of it


def _print(*values: Any) -> None:
    """`print` inside a kernel, with the program it came from."""
    print(f"program {_running.program}:", *values)


class _Asserts(ast.NodeTransformer):
    """Make of `assert` what the compiler makes of it: tl.device_assert, which takes blocks as well."""

    def visit_Assert(self, node: ast.Assert) -> ast.Expr:
        function = ast.Attribute(ast.Name("tl", ast.Load()), "device_assert", ast.Load())
        call = ast.Call(function, [node.test, *([node.msg] if node.msg is not None else [])], [])
        return ast.copy_location(ast.Expr(call), node)


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """The kernels `names` of the submission, ready to launch. `path` names the source in tracebacks.

    Triton would look for a function's text again, by its first line that seems to begin with `def`,
    and so run something else than what was linted. Here the syntax tree itself is rewritten, and
    nothing but the names that the rewriting needs is added to what a kernel can see.
    """
    _running.filename = path
    namespace: dict[str, Any] = {"__name__": "submission", "triton": triton, "tl": tl, "print": _print}
    namespace |= language.names()
    tree = ast.parse(source)
    exec(compile(tree, path, "exec"), namespace)
    functions = ast.Module(body=[n for n in tree.body if isinstance(n, ast.FunctionDef)], type_ignores=[])
    reached.mark([node for node in functions.body if isinstance(node, ast.FunctionDef)])  # as the judge reads them
    _Asserts().visit(functions)
    for definition in functions.body:
        definition.decorator_list = []
    namespace[reached.NAME] = _running.reached.add
    rewritten = interpreter.ASTTransformer().visit(language.rewritten(functions))
    plain: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(rewritten), path, "exec"), namespace, plain)
    for name, function in plain.items():
        interpreter.InterpretedFunction.rewritten_fn[namespace[name].fn] = function
    for name in ("interpreter_semantic", "_InterpreterComparison"):  # the latter since triton 3.9
        namespace[name] = getattr(interpreter, name, None)
    return {name: namespace[name] for name in names}


def pointer(tensor: BoxTensor) -> Any:
    """The kernel argument that points at `tensor`'s first element."""
    kind = tl.pointer_type(_POINTEES[tensor.values.dtype.name])
    return tl.tensor(interpreter.TensorHandle(np.array([tensor.base], np.uint64), kind), kind)


def scalar(value: float, dtype: str) -> Any:
    """The kernel argument that holds a run-time number (`int32`, `int64` or `float32`)."""
    numpy_type, kind = _SCALARS[dtype]
    return tl.tensor(interpreter.TensorHandle(np.array([value], numpy_type), kind), kind)


def launch(
    kernel: Any,
    memory: Memory,
    arguments: Mapping[str, Any],
    grid: tuple[int, int, int],
    order: npt.NDArray[np.int64],
    debug: bool,
) -> None:
    """Run `kernel` for the programs of `grid` in `order` (linear numbers, x fastest).

    `debug` switches on Triton's checks for integer overflow and `tl.device_assert`, which cost
    about a third of the time. Raises whatever the kernel raises, or RefusedAccess.
    """
    builder = interpreter.interpreter_builder
    builder.options = dataclasses.replace(builder.options, debug=debug, sanitize_overflow=debug)
    builder.set_grid_dim(*grid)
    function = kernel.rewrite()
    memory.checked = debug
    for name, argument in arguments.items():
        if name.startswith("n_"):
            argument.handle.counts = True
    _running.memory = memory
    _running.reached.clear()
    try:
        for program in order.tolist():
            _running.program = program
            x, rest = program % grid[0], program // grid[0]
            builder.set_grid_idx(x, rest % grid[1], rest // grid[1])
            function(**arguments)
    finally:
        _running.memory = None


def running_position() -> tuple[int, int]:
    """(program, line) of the kernel code on the stack of the caller."""
    return _running.where()


def bodies_reached() -> list[int]:
    """Numbers of the bodies that the last launch has entered."""
    return sorted(number for number in _running.reached if type(number) is int)


def program_now() -> int:
    """The program that ran last."""
    return _running.program
