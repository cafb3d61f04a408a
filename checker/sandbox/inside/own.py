"""A whole file with kernels and functions of its own, run as Python runs it; its kernels on Triton's interpreter.

The functions are told that their tensors lie on a GPU. Nothing is kept from the file but what limits and the
system-call filter keep from it: it is for practice alone.

What is asked is told next to the launch: `function`, an expression; `call`, what it is called with; `layout`, the axes
of its tensors: sequence (b), head (h), row (n) and dimension (d), with all heads of all sequences on b without h; and
`folder`, where the file is, for what it imports.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from checker.sandbox.inside import autograd, coverage, fake_gpu, functions, launching, own_kernels, pytorch
from checker.sandbox.inside.own_kernels import rewritten, state
from checker.sandbox.inside.running import running
from checker.sandbox.protocol.kernels import kernels_of
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.records import FILLS, STORE, Record, table
from checker.sandbox.protocol.results import MARKS

FUNCTION, CALL, LAYOUT, FOLDER = "function", "call", "layout", "folder"
_EMPTY = pytorch.words("empty empty_like empty_strided new_empty new_empty_strided")
_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}


def prepare() -> None:
    """PyTorch and Triton's interpreter, with a jit that launches here."""
    autograd.prepare()
    own_kernels.put_in_place()
    fake_gpu.pretend()


def rehearse() -> None:
    """Nothing is kept."""


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Run the pass of that `number`: of each launch the programs in order, or in the second pass in another one."""
    state.shuffled = bool(number)
    sys.path += filter(None, {launch["asked"][FOLDER] for launch in header["launches"]})
    functions.serve(header, buffers, number, sys.modules[__name__])


held, like = functions.held, functions.like


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """Run the file. `names` are what is asked for, and each is the file."""
    running.filename = state.path = path
    tree = ast.parse(source)
    kernels = kernels_of(tree)
    definitions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    running.loops = coverage.mark(definitions)
    numbers = [*dict.fromkeys(node.name for node in kernels)]
    for node in kernels:
        first = min(decorator.lineno for decorator in node.decorator_list)
        state.kernels[first] = numbers.index(node.name), rewritten(node)
    space = {
        "__name__": "submission",
        "__file__": path,
        coverage.NAME: running.enter,
        coverage.COUNTED: running.counted,
    }
    state.namespace = space
    with _modes():
        exec(compile(tree, path, "exec"), space)
    state.loaded = True
    for value in list(space.values()):
        if isinstance(value, type) and issubclass(value, torch.autograd.Function) and "backward" in vars(value):
            value.backward = staticmethod(_in_modes(value.backward))  # type: ignore[method-assign]  # autograd leaves them
    return dict.fromkeys(names)


class _Marking(pytorch.Counted):  # type: ignore[no-untyped-call]
    """Fills what is empty with a mark, by which it is known in the end that nothing was stored there."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one operation. Raises TooMuchWork."""
        made = super().__torch_dispatch__(func, types, args, kwargs)
        if pytorch.operation(func) in _EMPTY and made.dtype in _BITS:
            mark(made)
        return made


def mark(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, holding the mark everywhere."""
    bits = MARKS[str(tensor.dtype).removeprefix("torch.")]
    tensor.view(_BITS[tensor.dtype]).fill_(bits)
    return tensor


def _modes() -> ExitStack:
    stack = ExitStack()
    stack.enter_context(fake_gpu.AsOnACard(insisting=bool(state.kernels) and state.loaded))
    stack.enter_context(_Marking())  # type: ignore[no-untyped-call]
    return stack


def _in_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*given: Any) -> Any:
        with _modes():
            return function(*given)

    return run


def called(_: None, launch: Launch) -> functions.Answer:
    """Return what came of one call: forward, and back if the output has a gradient.

    An output that the function does not return holds the mark, and nothing is stored to it. Where undefined masked
    lanes were loaded, the call is made again with other values in them.
    """
    answer = _once(launch, float("nan"))
    if state.atomic and state.shuffled:  # whose sums are rounded in the order in which programs come
        state.shuffled = False
        answer = _once(launch, float("nan"))
        state.shuffled = True
    if not state.poisoned:
        return answer
    return answer._replace(filled=[_once(launch, fill).dense for fill in FILLS])


def _once(launch: Launch, poison: float) -> functions.Answer:
    running.entered.clear()
    running.launched.clear()
    launching.records.clear()
    state.poison, state.poisoned, state.atomic = poison, False, False
    for kept in (state.lines, state.moved, state.kept):
        kept.clear()
    inputs = functions.inputs(launch)
    outputs = functions.outputs(launch)
    layout = launch.asked[LAYOUT]
    leaves = [name for name in inputs if f"d{name}" in outputs]
    forward = {name: argument for name, argument in outputs.items() if name[1:] not in leaves}
    forward = forward or {"O": launch.tensors["q"]}
    try:
        again = launch.in_a_row > 1
        if again:  # with other numbers in the same memory: what is kept of these is not theirs
            _call_before(launch, {name: tensor for name, tensor in inputs.items() if name != "do"})
        for name in leaves:
            inputs[name].requires_grad_()
        given = {name: _arranged(tensor, layout) for name, tensor in inputs.items() if name != "do"}
        with _modes():
            returned = _call(launch, given)
        made = _taken(returned, forward, layout)
        first = next(iter(made.values()))
        before = {name: one.detach().clone() for name, one in made.items()}
        wanted = [inputs[name] for name in leaves]
        if again:  # another call, and another backward pass, come between
            other = {name: _another(tensor) for name, tensor in given.items()}
            with _modes():
                _call(launch, other, other=True)
        _insist_unchanged(made, before, "another call")
        if leaves and first.grad_fn is not None:
            if again:
                torch.autograd.grad(first, wanted, _another(inputs["do"]), retain_graph=True)
            gradients = torch.autograd.grad(first, wanted, inputs["do"])
            _insist_unchanged(made, before, "the backward pass")
            made |= functions.believed(gradients, {f"d{name}": outputs[f"d{name}"] for name in leaves})
    except RuntimeError as error:
        raise pytorch.translated(error) from None
    made = {name: one.detach() for name, one in made.items() if name in outputs}
    after = {name: tensor.detach() for name, tensor in inputs.items()}
    absent = {
        name: mark(torch.empty(argument.shape, dtype=getattr(torch, argument.type)))
        for name, argument in outputs.items()
        if name not in made
    }
    answer = _answered(launch.tensors, after | absent | made, made)
    moved = {name: state.moved.get(tensor.untyped_storage()._cdata) for name, tensor in (after | made).items()}
    return answer._replace(moved={name: counts for name, counts in moved.items() if counts})


def _call_before(launch: Launch, inputs: Mapping[str, torch.Tensor]) -> None:
    """Call the function while its inputs hold other numbers."""
    right = {name: tensor.clone() for name, tensor in inputs.items()}
    for tensor in inputs.values():
        tensor.mul_(-0.5)
    with _modes():
        _call(launch, {name: _arranged(tensor, launch.asked[LAYOUT]) for name, tensor in inputs.items()})
    for name, tensor in inputs.items():
        tensor.copy_(right[name])


def _another(tensor: torch.Tensor) -> torch.Tensor:
    """Another tensor that looks like it, and wants a gradient if it does."""
    return tensor.detach().clone().mul_(-0.5).requires_grad_(tensor.requires_grad)


def _insist_unchanged(made: Mapping[str, torch.Tensor], before: Mapping[str, torch.Tensor], by: str) -> None:
    """Raise WrongResult if what the caller has got is not what it was."""
    for name, one in made.items():
        if not torch.equal(one.detach().nan_to_num(), before[name].nan_to_num()):
            raise functions.WrongResult(f"{by} has changed {name.upper()}, which the caller has got")


def _call(launch: Launch, given: Mapping[str, torch.Tensor], *, other: bool = False) -> Any:
    """Call the function with what was asked for; `other`: with another scale and mask, if it is told of them."""
    factor = 0.5 if other else 1.0
    names: dict[str, Any] = {**given, **{name: factor * value for name, (_, value) in launch.scalars.items()}}
    names |= {"causal": bool(launch.constexprs.get("causal", False)) is not other, "__builtins__": {}}
    function = eval(launch.asked[FUNCTION], {**state.namespace})
    arguments = f"__call__({launch.asked[CALL]})"
    return eval(arguments, {**names, "__call__": function})


def _arranged(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """(sequences, heads, rows, d) with its axes as the function has them; with fewer dimensions, as it is."""
    if tensor.dim() != 4 or layout == "bhnd":
        return tensor
    if layout == "bnhd":
        return tensor.transpose(1, 2)
    return tensor.flatten(0, 1) if tensor.is_contiguous() else tensor.reshape(-1, *tensor.shape[2:])


def _taken(returned: Any, asked: Mapping[str, TensorArgument], layout: str) -> dict[str, torch.Tensor]:
    """Return the outputs by name, in the shapes that were asked for; LSE may be left out. Raises WrongResult."""
    given = list(returned) if isinstance(returned, tuple | list) else [returned]
    made: dict[str, torch.Tensor] = {}
    for name, argument, one in zip(asked, asked.values(), given, strict=False):
        if isinstance(one, torch.Tensor):
            if layout == "bnhd" and one.dim() == 4:
                one = one.transpose(1, 2)
            alike = [n for n in one.shape if n != 1] == [n for n in argument.shape if n != 1]
            folded = layout == "bnd" and tuple(one.shape) == (math.prod(argument.shape[:2]), *argument.shape[2:])
            if alike or folded:
                one = one.reshape(argument.shape)
        made |= functions.believed((one,), {name: argument}, connected=True)
    if not made:
        functions.believed(returned, asked)
    return made


def _answered(
    tensors: Mapping[str, TensorArgument], after: Mapping[str, torch.Tensor], made: Mapping[str, torch.Tensor]
) -> functions.Answer:
    """Return what `called` gives: of each output that was returned a store for each line that has stored some of it."""
    records, elements = list(launching.records), []
    for position, name in enumerate(tensors):
        if name not in made:
            continue
        lines = _lines(made[name])
        lines = np.where(_marked(made[name]).reshape(-1) & (lines == 0), -1, lines)
        if not (lines >= 0).any():  # it was returned, all the same
            records.append(Record(STORE, position))
        for line in np.unique(lines[lines >= 0]):
            own = np.flatnonzero(lines == line).astype(np.int32)
            records.append(Record(STORE, position, line=int(line), distinct=own.size, lanes=own.size))
            elements.append(own)
    dense = [functions.in_numpy(after[name]).tobytes() for name in tensors]
    touched = np.concatenate(elements) if elements else np.zeros(0, np.int32)
    return functions.Answer(dense, table(records).tobytes(), touched.tobytes())


def _marked(tensor: torch.Tensor) -> npt.NDArray[np.bool_]:
    """Return which of its elements hold the mark."""
    if tensor.dtype not in _BITS:
        return np.zeros(tensor.shape, bool)
    bits = MARKS[str(tensor.dtype).removeprefix("torch.")]
    return np.asarray((tensor.contiguous().view(_BITS[tensor.dtype]) == bits).numpy())


def _lines(tensor: torch.Tensor) -> npt.NDArray[np.int32]:
    """Return the line in which a kernel has stored each element last; 0 where none has."""
    lines = state.lines.get(tensor.untyped_storage()._cdata)
    if lines is None:
        return np.zeros(tensor.numel(), np.int32)
    places = torch.arange(lines.size).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return np.asarray(lines[places.reshape(-1).numpy()])
