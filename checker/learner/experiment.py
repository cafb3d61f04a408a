"""One launch of a kernel with arrays of one's own, in the sandbox: for experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.check import launch, program_of
from checker.course.case import Case, Tensor
from checker.course.kernel import Kernel
from checker.judge.requests import launch_of
from checker.report.translated import said
from checker.sandbox.host import Host
from checker.sandbox.parent import Limits
from checker.sandbox.protocol.records import LOAD, OPERATION, STORE
from checker.sandbox.protocol.results import Refusal
from checker.submission.definitions import submission_of
from checker.submission.module import module_of
from checker.submission.problem import NotASubmission
from checker.submission.read import Submission, Unreadable

MOST_TOUCHED = 1_000_000  # elements that an experiment may load and store in all
MOST_WORK = 500_000 * OPERATION  # that it may do: about ten seconds of computing


@dataclass(frozen=True, eq=False)
class Ran:
    """The results of one launch. `ran["y_ptr"]` is the array that was passed as `y_ptr`, afterwards."""

    kernel: str
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    moved: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # loads and stores per element
    printed: str = ""
    problem: str = ""  # why it did not finish, in a sentence or two

    def __getitem__(self, parameter: str) -> npt.NDArray[Any]:
        return self.arrays[parameter]

    def __repr__(self) -> str:
        if self.problem:
            return f"✗ {said(self.problem)}" + (f"\n{self.printed}" if self.printed else "")
        lines = [said(f"{self.kernel} ran on the interpreter.")]
        for name, (loads, stores) in self.moved.items():
            moved = f"{name.removesuffix('_ptr')}: read {loads:.2f}, written {stores:.2f} times per element"
            lines.append(f"  {said(moved)}")
        if not any(loads or stores for loads, stores in self.moved.values()):
            lines.append(said("It touches no memory: is it still empty?"))
        for name in [name for name, (_, stores) in self.moved.items() if stores]:
            label = f"{name.removesuffix('_ptr')} = "
            lines.append(label + np.array2string(self.arrays[name], precision=4, threshold=80, prefix=label))
        return "\n".join(lines) + (f"\n{self.printed}" if self.printed else "")


def asked(
    cells: list[str],
    kernel: Any,
    arguments: tuple[Any, ...],
    named: dict[str, Any],
    grid: int | Sequence[int] | None,
    host: Host | None = None,
) -> Ran:
    """Launch a kernel that one of the cells defines; whatever is wrong with the call is a sentence."""
    name = kernel if isinstance(kernel, str) else getattr(kernel, "__name__", repr(kernel))
    if grid is None:
        return Ran(name, problem="Say how many programs are to run: grid=1, or grid=(2, 3).")
    try:
        return _ran(name, cells, arguments, named, (grid,) if isinstance(grid, int) else tuple(grid), host)
    except (NotASubmission, Unreadable, ValueError, TypeError) as problem:
        return Ran(name, problem=str(problem))


def _ran(
    name: str,
    cells: list[str],
    arguments: tuple[Any, ...],
    named: dict[str, Any],
    grid: tuple[int, ...],
    host: Host | None,
) -> Ran:
    submission = submission_of(cells)
    kernel = _kernel(name, submission)
    program, complaints = program_of(submission, [kernel])
    if complaints:
        first = complaints[0]
        return Ran(name, problem=f"Line {submission.place(first.line)[1]}: {first.sentence} {first.hint}".rstrip())
    case = _case(kernel, _bound(kernel, arguments, named), grid)
    answer = launch(program, [replace(launch_of(case), most_touched=MOST_TOUCHED, most_work=MOST_WORK)], Limits(), host)
    printed = answer.printed.get(0, "").rstrip()
    result = answer.results.get(0)
    stopped = answer.loading or (result.error if result else None)
    if result is None or stopped:
        line = f" (line {submission.place(stopped.line)[1]})" if stopped and stopped.line else ""
        said = f"{stopped.type}: {stopped.message.strip()}" if stopped else f"it {answer.ending.value}"
        return Ran(name, printed=printed, problem=f"The kernel stopped{line}: {said}")
    if result.refused:
        return Ran(name, printed=printed, problem=_outside(result.refused, submission))
    moved = {}
    for number, (tensor, values) in enumerate(result.tensors.items()):
        loads, stores = (result.log.moved(kind, number) / values.size for kind in (LOAD, STORE))
        moved[tensor] = loads, stores
    return Ran(name, result.tensors, moved, printed)


def _outside(refused: Refusal, submission: Submission) -> str:
    """Return the sentence on an access that was refused."""
    verb, of = ("stored to", "stores") if refused.store else ("loaded from", "loads")
    where = (refused.tensor or "no tensor").removesuffix("_ptr")
    return (
        f"Line {submission.place(refused.line)[1]}, program {refused.program}: {refused.outside} of {refused.lanes} "
        f"{of} are outside; elements {refused.lowest} to {refused.highest} of {where} were {verb}."
    )


def _kernel(name: str, submission: Submission) -> Kernel:
    """Return the kernel's own signature, as the puzzle's would be written down."""
    found = module_of(submission, [Kernel(name, ())]).functions.get(name)
    if not found:
        raise ValueError(f"No cell that was run defines {name} with @triton.jit.")
    parameters = found[0].args.args
    constexprs = [parameter.arg for parameter in parameters if parameter.annotation is not None]
    return Kernel(name, tuple(parameter.arg for parameter in parameters), tuple(constexprs))


def _bound(kernel: Kernel, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Return every parameter's value. ValueError says what is missing or too much."""
    if len(arguments) > len(kernel.parameters):
        raise ValueError(
            f"{kernel.name} has {len(kernel.parameters)} parameters, and {len(arguments)} values were given."
        )
    bound = dict(zip(kernel.parameters, arguments, strict=False))
    for name, value in named.items():
        if name not in kernel.parameters or name in bound:
            raise ValueError(f"{name} is {'given twice' if name in bound else f'no parameter of {kernel.name}'}.")
        bound[name] = value
    if missing := [name for name in kernel.parameters if name not in bound]:
        raise ValueError(f"{kernel.name} also needs {', '.join(missing)}.")
    return bound


def _case(kernel: Kernel, bound: dict[str, Any], grid: tuple[int, ...]) -> Case:
    """Return the launch as a puzzle's would be written down."""
    tensors = {}
    for name, value in bound.items():
        bf16 = str(getattr(value, "dtype", "")) == "torch.bfloat16"
        array = (value.float() if bf16 else value).detach().cpu().numpy() if hasattr(value, "detach") else value
        if isinstance(array, np.ndarray):
            if array.dtype not in (np.float32, np.float16):
                raise ValueError(f"{name} is an array of {array.dtype}, and not of float32, float16 or bfloat16.")
            strides = tuple(value.stride()) if bf16 else tuple(stride // array.itemsize for stride in array.strides)
            tensors[name] = Tensor(np.ascontiguousarray(array), strides, bf16=bf16)
    constexprs = {name: bound[name] for name in kernel.constexprs}
    scalars = {name: value for name, value in bound.items() if name not in (*tensors, *constexprs)}
    return Case("experiment", kernel.name, (), grid, tensors, scalars, constexprs, checked_arithmetic=True)
