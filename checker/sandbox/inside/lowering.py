"""Compilation of a submission in a runner: from its text, kernel by kernel, down to assembler text."""

from __future__ import annotations

import ast
import os
import re
from typing import Any

from checker.sandbox.protocol.launch import CONSTEXPR, DIVISOR

MESSAGE_LIMIT = 2000  # characters of a complaint that leave the sandbox
ASSEMBLER = "assembler"  # the text that every target has last: PTX, or AMD's


def executed(source: str, path: str) -> dict[str, Any]:
    """Return the names that the submission defines, its functions ready for the compiler.

    Triton would look for a function's text again, by the first line that seems to begin with `def`;
    here it gets the syntax tree that was linted.
    """
    import triton
    import triton.language as tl
    from triton.runtime.jit import JITFunction

    namespace: dict[str, Any] = {"__name__": "submission", "triton": triton, "tl": tl}
    exec(compile(ast.parse(source), path, "exec"), namespace)
    functions = {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    for function in functions.values():
        function.decorator_list = []  # the compiler starts at `def`
    look_again = JITFunction.parse

    def parse(self: Any) -> ast.Module:
        if self.fn.__globals__ is not namespace:
            own: ast.Module = look_again(self)  # one of Triton's
            return own
        return ast.Module(body=[functions[self.fn.__name__]], type_ignores=[])

    JITFunction.parse = parse
    for one in namespace.values():
        if isinstance(one, JITFunction) and one.fn.__globals__ is namespace:
            # Its tree has the submission's line numbers: where it begins must not be added to them once more.
            one.starting_line_number, one.raw_src = 1, []
            one.def_file_line_number = 1  # the same since Triton 3.9
    return namespace


def lowered(kernel: Any, job: dict[str, Any]) -> tuple[dict[str, str], dict[str, Any]]:
    """Compile as far as a job asks. The text of each stage that it wants, by Triton's names, and what Triton notes.

    The assembler text is there as well, under ASSEMBLER, unless the job ends before it.
    """
    from triton._C.libtriton import llvm
    from triton.compiler.compiler import ir, make_backend

    if job["until"]:
        # LLVM's optimiser refuses nothing, and who asks for no text has no use for what it makes better.
        llvm.optimize_module = lambda *_, **__: None
    target = gpu_target(job["target"])
    backend = make_backend(target)
    options = backend.parse_options(dict(job["options"]))
    source = source_of(kernel, job)
    stages: dict[str, Any] = {}
    backend.add_stages(stages, options, source.language)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(
        target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context
    )
    metadata: dict[str, Any] = {"target": target, **options.__dict__}
    texts: dict[str, str] = {}
    for name, stage in stages.items():
        if name in ("cubin", "hsaco"):
            break
        module = stage(module, metadata)
        if name in job["stages"]:
            texts[name] = str(module)
        if name == job["until"]:
            break
    if not job["until"]:
        texts[ASSEMBLER] = str(module)
    return texts, metadata


def source_of(kernel: Any, job: dict[str, Any]) -> Any:
    """Return what Triton's compiler starts from."""
    from triton.compiler import ASTSource

    return ASTSource(kernel, job["signature"], job["constexprs"], _aligned(job))


def _aligned(job: dict[str, Any]) -> dict[tuple[int], list[list[Any]]]:
    """Return what Triton finds out at a launch: tensors from PyTorch begin at a multiple of 16, and
    so may integers be.
    """
    return {
        (number,): [["tt.divisibility", DIVISOR]]
        for number, (name, kind) in enumerate(job["signature"].items())
        if kind.startswith("*") or (name in job["multiples"] and kind != CONSTEXPR)
    }


def gpu_target(name: str) -> Any:
    """Triton's own name for a target: `sm_90` or `gfx942`."""
    from triton.backends.compiler import GPUTarget

    if name.startswith("sm_"):
        return GPUTarget("cuda", int(name.removeprefix("sm_")), 32)
    return GPUTarget("hip", name, 64)


def described(error: BaseException, path: str, passes: str = "") -> dict[str, Any]:
    """Type of what was raised last; message and line of the submission of what was complained of first.

    `passes` is what the compiler's passes have written to standard error.
    """
    kind = type(error).__name__[:100]
    line, error = _complaint(error)
    message = getattr(error, "error_message", None) or str(error)
    if wrapped := re.fullmatch(r"\w+(?:Error|Exception)\((['\"])(.*)\1,?\)", message, re.DOTALL):
        message = wrapped[2]
    found = re.search(rf"{re.escape(path)}:(\d+):\d+\)?: error: (.*)", passes)
    if found:
        line, message = int(found[1]), found[2]
    return {"type": kind, "message": str(message)[:MESSAGE_LIMIT], "line": line, "program": 0}


def _complaint(error: BaseException) -> tuple[int, BaseException]:
    """(line of the submission that the compiler complains of, 0 if none; what was raised first)."""
    line = 0
    cause: BaseException | None = error
    while cause is not None:
        number = getattr(getattr(cause, "node", None), "lineno", 0)
        if number and _is_of_submission(cause):
            line = number
        error, cause = cause, cause.__cause__
    return line, error


def _is_of_submission(error: BaseException) -> bool:
    """Return whether a complaint is about the submission's text, and not about Triton's own library."""
    text = getattr(error, "src", None) or ""
    with open(f"{os.getcwd()}/submission.py", encoding="utf-8", newline="") as file:
        return text.strip() in file.read()
