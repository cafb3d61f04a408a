"""Your own kernels of p6 and p7, as a module to import them from.

    from checker.train.kernels import delta_kernel, dk_dv_kernel, dq_kernel, flash_attention_2_kernel

Each is as it stands in your file or notebook now, with its helpers and constants; nothing else of that file runs.
Without a GPU, Triton interprets kernels. It must know before it is imported, so import this first.
"""

from __future__ import annotations

import atexit
import builtins
import os
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from types import ModuleType
from typing import Any

import torch

from checker import catalog
from checker.check import program_of
from checker.check.linking import own
from checker.course.ladder import stems
from checker.course.places import check_typed
from checker.course.status import Misuse
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission
from checker.train import source

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when triton is imported

import triton
import triton.language as tl
from triton.runtime.jit import JITFunction

if os.environ.get("TRITON_INTERPRET") == "1" and isinstance(tl.sum, JITFunction):
    raise ImportError(
        "Triton was imported before checker.train.kernels, and cannot interpret kernels any more. Restart, and import "
        "checker.train.kernels first."
    )

PUZZLES = {"flash_attention_2_kernel": "p6", "delta_kernel": "p7", "dk_dv_kernel": "p7", "dq_kernel": "p7"}
# What `__getattr__` gives.
flash_attention_2_kernel: Any
delta_kernel: Any
dk_dv_kernel: Any
dq_kernel: Any


class NoKernel(ImportError):
    """A kernel cannot be had: a sentence."""


def __getattr__(name: str) -> Any:
    if name not in PUZZLES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    puzzle_id = PUZZLES[name]
    try:
        return kernels_of(puzzle_id, own(puzzle_id))[name]
    except (Misuse, NoKernel) as problem:
        if not hasattr(builtins, "get_ipython"):  # which IPython has put there
            raise NoKernel(str(problem)) from None
        if name == catalog.load(puzzle_id).kernels[0].name:  # once for all of them
            print(problem)
        return _Missing(str(problem))


class _Missing:
    """A substitute for a missing kernel in a notebook, so that the cells below can run."""

    def __init__(self, problem: str):
        self.problem = problem

    def __getitem__(self, grid: Any) -> Any:
        raise NoKernel(self.problem)


@cache
def kernels_of(puzzle_id: str, submission: Submission) -> dict[str, Any]:
    """Return the kernels of a submission by name, ready to launch. Raises NoKernel."""
    asked = catalog.load(puzzle_id).kernels
    try:
        program, problems = program_of(submission, asked)
    except NotASubmission as error:
        problems = [error.problem]
    except (RecursionError, MemoryError, ValueError) as error:
        raise NoKernel(f"{submission.name} cannot be read: {error}.") from None
    for problem in problems:
        where = source.at(submission, problem.line) if problem.line else Path(submission.name).name
        raise NoKernel(f"{where}: {problem.sentence} {problem.hint}")
    for kernel in asked:
        if program.empty(kernel.name):
            raise NoKernel(f"{kernel.name} is not filled in yet. First: {check_typed(puzzle_id)}")
    path = Path(mkdtemp(dir=_folder())) / f"{stems()[puzzle_id]}.py"
    path.write_text(program.source, encoding="utf-8")
    source.running(str(path), submission)
    module = _imported(path)
    return {kernel.name: getattr(module, kernel.name) for kernel in asked}


@cache
def _folder() -> str:
    """Return where the kernels' files lie until this process ends: Triton reads the text of a kernel from its file."""
    folder = TemporaryDirectory(prefix="flash-puzzles-train-")
    atexit.register(folder.cleanup)
    return folder.name


def _imported(path: Path) -> ModuleType:
    """Return the module in a file. A program has no imports of its own, so that its lines keep their numbers."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    module.__dict__.update(triton=triton, tl=tl)
    spec.loader.exec_module(module)
    return module
