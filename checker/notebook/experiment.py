"""One launch of a kernel with arrays of one's own, in the box: for experiments."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from checker.notebook.cells import submission_of
from checker.submission.read import Submission

if TYPE_CHECKING:
    import numpy.typing as npt

    from checker.box.protocol.results import Launch, LaunchResult
    from checker.course.puzzle import Kernel


@dataclass(frozen=True, eq=False)
class Ran:
    """What one launch left behind. `ran["y_ptr"]` is the array that was passed as `y_ptr`, afterwards."""

    kernel: str
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    moved: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # loads and stores per element
    printed: str = ""
    problem: str = ""  # why it did not come to an end, in a sentence or two

    def __getitem__(self, parameter: str) -> npt.NDArray[Any]:
        return self.arrays[parameter]

    def __repr__(self) -> str:
        if self.problem:
            return f"✗ {self.problem}" + (f"\n{self.printed}" if self.printed else "")
        lines = [f"{self.kernel} ran on the interpreter."]
        for name, (loads, stores) in self.moved.items():
            lines.append(f"  {name.removesuffix('_ptr')}: read {loads:.2f}, written {stores:.2f} times per element")
        if not any(loads or stores for loads, stores in self.moved.values()):
            lines.append("It touches no memory: is it still empty?")
        for name in [name for name, (_, stores) in self.moved.items() if stores]:
            label = f"{name.removesuffix('_ptr')} = "
            lines.append(label + np.array2string(self.arrays[name], precision=4, threshold=80, prefix=label))
        return "\n".join(lines) + (f"\n{self.printed}" if self.printed else "")


def ran(name: str, cells: list[str], arguments: tuple[Any, ...], named: dict[str, Any], grid: tuple[int, ...]) -> Ran:
    """Launch it. Raises NotASubmission, Unreadable or ValueError with a sentence."""
    from checker.box.parent import Limits
    from checker.check import launch, program_of

    submission = submission_of(cells)
    kernel = _kernel(name, submission)
    program, complaints = program_of(submission, [kernel])
    if complaints:
        return Ran(name, problem=f"Line {submission.place(complaints[0].line)[1]}: {complaints[0].sentence}")
    asked = _launch(kernel, _bound(kernel, arguments, named), grid)
    answer = launch(program, [asked], Limits())
    result = answer.results.get(0)
    stopped = answer.loading or (result.error if result else None)
    printed = answer.printed.get(0, "").rstrip()
    if result is None or stopped:
        line = f" (line {submission.place(stopped.line)[1]})" if stopped and stopped.line else ""
        said = f"{stopped.type}: {stopped.message.strip()}" if stopped else f"it {answer.ending.value}"
        return Ran(name, printed=printed, problem=f"The kernel did not come to an end{line}: {said}")
    if refused := result.refused:
        verb, of = ("stored to", "stores") if refused.store else ("loaded from", "loads")
        where = (refused.tensor or "no tensor").removesuffix("_ptr")
        at, offsets = submission.place(refused.line)[1], f"{refused.lowest} to {refused.highest}"
        problem = (
            f"Line {at}, program {refused.program}: {refused.outside} of {refused.lanes} {of} are outside; "
            f"elements {offsets} of {where} were {verb}."
        )
        return Ran(name, printed=printed, problem=problem)
    return Ran(name, result.tensors, _moved(result, asked), printed)


def _kernel(name: str, submission: Submission) -> Kernel:
    """The kernel's own signature, as the puzzle's would be written down."""
    from checker.course.puzzle import Kernel

    for chunk in submission.chunks:
        try:
            statements = ast.parse(chunk.text).body
        except SyntaxError:
            continue
        for statement in statements:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                constexprs = [a.arg for a in statement.args.args if a.annotation is not None]
                return Kernel(name, tuple(a.arg for a in statement.args.args), tuple(constexprs))
    raise ValueError(f"No cell that was run defines {name} with @triton.jit.")


def _bound(kernel: Kernel, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """Every parameter's value. ValueError says what is missing or too much."""
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


def _launch(kernel: Kernel, bound: dict[str, Any], grid: tuple[int, ...]) -> Launch:
    from checker.box.protocol.results import Launch, TensorArgument

    tensors, scalars = {}, {}
    for name, value in bound.items():
        if hasattr(value, "detach"):  # a tensor of PyTorch's
            value = value.detach().cpu().numpy()
        if isinstance(value, np.ndarray):
            if value.dtype not in (np.float32, np.float16):
                raise ValueError(f"{name} is an array of {value.dtype}: kernels here take float32 or float16.")
            strides = tuple(stride // value.itemsize for stride in value.strides)
            tensors[name] = TensorArgument(np.ascontiguousarray(value), strides)
        elif name not in kernel.constexprs:
            kind = "float32" if isinstance(value, float) else "int32" if abs(value) < 2**31 else "int64"
            scalars[name] = (kind, value)
    x, y, z = (*grid, 1, 1)[:3]
    constexprs = {name: bound[name] for name in kernel.constexprs}
    return Launch(kernel.name, (x, y, z), tensors, scalars, constexprs, debug=True)


def _moved(result: LaunchResult, launch: Launch) -> dict[str, tuple[float, float]]:
    """Distinct elements per load and per store instruction, divided by the tensor's size."""
    from checker.box.protocol.records import LOAD, STORE

    log = result.log
    moved = {}
    for number, (name, argument) in enumerate(launch.tensors.items()):
        loads, stores = (log.distinct[(log.kind == kind) & (log.tensor == number)].sum() for kind in (LOAD, STORE))
        moved[name] = (float(loads) / argument.values.size, float(stores) / argument.values.size)
    return moved
