"""A whole file with kernels and functions of its own, run as Python runs it; its kernels on Triton's interpreter.

`triton.jit`, `autotune` and `heuristics` give what launches a kernel here: of an autotuner's configurations the first
one is taken. The functions are told that their tensors lie on a GPU. Nothing is kept from the file but what limits and
the system-call filter keep from it: it is for practice alone.

What is asked is told beside the launch: `function`, an expression; `call`, what it is called with; and `layout`, the
axes of its tensors: sequence (b), head (h), row (n) and dimension (d), with all heads of all sequences on b without h.
"""

from __future__ import annotations

import ast
import copy
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import triton
from torch.overrides import TorchFunctionMode
from triton.runtime import interpreter as of_triton

from checker.box.inside import accesses, autograd, functions, interpreter, language, launching, pytorch, reached
from checker.box.inside.launching import OPTIONS, Launcher
from checker.box.inside.memory import BoxTensor, Memory
from checker.box.inside.running import running
from checker.box.protocol.launch import Launch, TensorArgument
from checker.box.protocol.records import FILLS, IN_DOT, IN_LOOP, IN_SUM, LOAD, LOSS, STORE, Record, table
from checker.box.protocol.results import MARKS

FUNCTION, CALL, LAYOUT = "function", "call", "layout"
_WAYS = {"FADD": np.add, "ADD": np.add, "MAX": np.maximum, "MIN": np.minimum, "UMAX": np.maximum, "UMIN": np.minimum}
_EMPTY = pytorch.words("empty empty_like empty_strided new_empty new_empty_strided")
_BITS = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
_LOSSES = {IN_DOT, IN_SUM, IN_LOOP}  # of digits, that are told: what is added up in half precision
_MAKERS = {torch.empty, torch.zeros, torch.ones, torch.full, torch.arange}


# What a tensor on a GPU says of itself.
_ANSWERS: dict[Any, Any] = {
    torch.Tensor.is_cuda.__get__: True,  # type: ignore[attr-defined]
    torch.Tensor.device.__get__: torch.device("cuda", 0),
}


# The card that they lie on, for who chooses a grid by it.
_CARD = SimpleNamespace(
    name="NVIDIA H100",
    major=9,
    minor=0,
    multi_processor_count=132,
    warp_size=32,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
    shared_memory_per_block_optin=232448,
    shared_memory_per_multiprocessor=233472,
    total_memory=80 << 30,
)


_DRIVER = SimpleNamespace(
    get_active_torch_device=lambda: torch.device("cuda", 0),
    get_current_target=lambda: SimpleNamespace(backend="cuda", arch=90, warp_size=32),
    get_current_device=lambda: 0,
    get_current_stream=lambda *_: 0,
)


class _State:
    """What the launches of a call share."""

    def __init__(self) -> None:
        self.namespace: dict[str, Any] = {}  # the file's
        self.kernels: dict[str, tuple[int, ast.FunctionDef]] = {}  # number and rewritten definition, by name
        self.path = ""
        self.loaded = False  # whether the file has run to its end
        self.shuffled = False  # whether programs run in another order
        self.poison = float("nan")
        self.poisoned = self.atomic = False
        self.kept: list[torch.UntypedStorage] = []  # so that no other one gets its place
        self.lines: dict[int, npt.NDArray[np.int32]] = {}  # by storage: the line that stored each element last
        self.moved: dict[int, list[int]] = {}  # by storage: elements loaded and stored


_state = _State()


def prepare() -> None:
    """PyTorch and Triton's interpreter, with a jit that launches here."""
    autograd.prepare()
    for module in (triton, triton.runtime, triton.runtime.jit):
        vars(module)["jit"] = jit
    for module in (triton, triton.runtime, triton.runtime.autotuner):
        vars(module).update(autotune=autotune, heuristics=heuristics)
    accesses.ATOMICS.update(_WAYS)
    triton.runtime.driver.set_active(_DRIVER)
    torch.cuda.device = lambda *_: nullcontext()  # type: ignore[assignment,misc]  # there is only one
    torch.cuda.synchronize = lambda *_: None  # and nothing runs behind one's back
    torch.cuda.is_available = lambda: True
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *_: (_CARD.major, _CARD.minor)
    torch.cuda.get_device_name = lambda *_: _CARD.name
    torch.cuda.get_device_properties = lambda *_: _CARD  # type: ignore[assignment]


def rehearse() -> None:
    """Nothing is kept."""


def serve(header: dict[str, Any], buffers: list[memoryview], number: int) -> None:
    """Run the pass of that `number`: of each launch the programs in order, or in the second pass in another one."""
    _state.shuffled = bool(number)
    functions.serve(header, buffers, number, sys.modules[__name__])


held = functions.held


def load_kernels(path: str, source: str, names: Iterable[str]) -> dict[str, Any]:
    """Run the file. `names` are what is asked for, and each is the file."""
    running.filename = _state.path = path
    tree = ast.parse(source)
    kernels = [node for node in tree.body if isinstance(node, ast.FunctionDef) and is_kernel(node)]
    definitions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    running.loops = reached.mark(definitions)
    for number, node in enumerate(kernels):
        _state.kernels[node.name] = number, _rewritten(node)
    space = {"__name__": "submission", "__file__": path, reached.NAME: running.enter, reached.COUNTED: running.counted}
    _state.namespace = space
    with _modes():
        exec(compile(tree, path, "exec"), space)
    _state.loaded = True
    for value in list(space.values()):
        if isinstance(value, type) and issubclass(value, torch.autograd.Function) and "backward" in vars(value):
            value.backward = staticmethod(_in_modes(value.backward))  # type: ignore[method-assign]  # autograd leaves them
    return dict.fromkeys(names)


def is_kernel(function: ast.FunctionDef) -> bool:
    """Whether it is decorated with Triton's jit, under whatever name."""
    found = (node for decorator in function.decorator_list for node in ast.walk(decorator))
    return any(getattr(node, "attr", getattr(node, "id", "")) == "jit" for node in found)


def _rewritten(kernel: ast.FunctionDef) -> ast.FunctionDef:
    """A kernel as Triton's compiler reads it, as a definition of its own."""
    alone = ast.Module([copy.deepcopy(kernel)], [])
    alone.body[0].decorator_list = []  # type: ignore[attr-defined]
    interpreter.Asserts().visit(alone)
    made = of_triton.ASTTransformer().visit(language.rewritten(alone))
    definition: ast.FunctionDef = ast.fix_missing_locations(made).body[0]
    return definition


def jit(fn: Any = None, **_: Any) -> Any:
    """`triton.jit`, with or without arguments: a kernel of the file can be launched; others are as Triton has them."""
    if fn is None:
        return jit
    function = of_triton.InterpretedFunction(fn)
    return _Kernel(fn.__name__, *_state.kernels[fn.__name__], function) if fn.__name__ in _state.kernels else function


def autotune(configs: Any = (), *_: Any, **__: Any) -> Callable[[_Kernel], _Kernel]:
    """`triton.autotune`: the first configuration, whatever it is."""

    def chosen(kernel: _Kernel) -> _Kernel:
        for config in configs[:1]:
            options = {name: getattr(config, name, None) for name in OPTIONS}
            kernel.defaults |= config.kwargs | {name: value for name, value in options.items() if type(value) is int}
        return kernel

    return chosen


def heuristics(values: Mapping[str, Callable[[Mapping[str, Any]], Any]]) -> Callable[[_Kernel], _Kernel]:
    """`triton.heuristics`: values that follow from the other arguments."""

    def with_them(kernel: _Kernel) -> _Kernel:
        kernel.computed |= values
        return kernel

    return with_them


class _Memory(Memory):
    """Memory in which atomic operations may touch any tensor: as a load and a store, in the order of programs."""

    def atomic(
        self,
        operation: Callable[[Any, Any], Any],
        addresses: npt.NDArray[np.uint64],
        values: npt.NDArray[Any],
        mask: npt.NDArray[np.bool_],
        dtype: np.dtype[Any],
    ) -> npt.NDArray[Any]:
        """As memory has it, and recorded."""
        found = np.zeros(addresses.shape, dtype)
        _state.atomic = True
        if mask.any():
            tensor, elements = self._translate(STORE, addresses[mask], dtype)
            flat, given = tensor.values.reshape(-1), np.broadcast_to(values, addresses.shape)[mask]
            found[mask] = flat[elements]
            if isinstance(operation, np.ufunc):
                operation.at(flat, elements, given)
            else:
                flat[elements] = given
            for kind in (LOAD, STORE):
                self._record(kind, tensor, elements, addresses.size, 0)
        return found


class _Kernel(Launcher):
    """A kernel of the file."""

    types = (*Launcher.types, torch.int32, torch.int64)

    def __init__(self, name: str, number: int, definition: ast.FunctionDef, kernel: Any):
        super().__init__(name, number, kernel)
        self.definition = definition
        self.defaults: dict[str, Any] = {}
        self.computed: dict[str, Callable[[Mapping[str, Any]], Any]] = {}
        self.fn = kernel.fn

    def __call__(self, *given: Any, **named: Any) -> Any:
        """As another kernel calls it."""
        return self.kernel(*given, **named)

    def _launch(self, grid: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        named = {**self.defaults, **named}
        named.pop("warmup", None)
        _make_visible()
        super()._launch(grid, given, named)

    def _bound(self, given: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        known = {name: value for name, value in named.items() if name in self.signature.parameters}
        if self.computed:
            told = self.signature.bind_partial(*given, **known)
            told.apply_defaults()
            known |= {name: value(told.arguments) for name, value in self.computed.items()}
        if strange := named.keys() - known.keys():
            raise TypeError(f"{self.name}: got an unexpected keyword argument '{min(strange)}'")
        bound = super()._bound(given, known)
        self.constexprs |= {name for name, value in bound.items() if value is None}  # as Triton has it
        return bound

    def _sides(self, grid: Any, bound: Mapping[str, Any]) -> tuple[int, int, int]:
        if callable(grid):
            defaults = {n: p.default for n, p in self.signature.parameters.items() if p.default is not p.empty}
            grid = grid({**defaults, **bound})
        grid = tuple(grid) if isinstance(grid, list | torch.Size) else grid
        return super()._sides(grid if isinstance(grid, tuple) else (grid,), bound)

    def _memory(self, tensors: list[BoxTensor]) -> Memory:
        return _Memory(tensors, interpreter.running_position, _state.poison)

    def _order(self, programs: int) -> npt.NDArray[np.int64]:
        return np.random.default_rng(0).permutation(programs) if _state.shuffled else super()._order(programs)

    def _constant(self, name: str, value: Any) -> Any:
        return value

    def _note(self, tensors: list[BoxTensor], bound: dict[str, Any], options: dict[str, Any]) -> None:
        options = {name: value for name, value in options.items() if value is not None}
        plain = {n: v for n, v in bound.items() if n not in self.constexprs or isinstance(v, bool | int | float)}
        super()._note(tensors, plain, options)

    def _done(self, memory: Memory, given: Mapping[str, torch.Tensor]) -> None:
        _state.poisoned = _state.poisoned or memory.poisoned
        for way in _LOSSES & memory.losses.keys():
            times, _, line = memory.losses[way]
            launching.records.append(Record(LOSS, line=line, lanes=times, detail=way))
        storages = [tensor.untyped_storage() for tensor in given.values()]
        _state.kept += storages
        accesses = [record for record in memory.records if record.kind in (LOAD, STORE)]
        for record, elements in zip(accesses, memory.touched, strict=True):
            storage = storages[record.tensor]
            moved = _state.moved.setdefault(storage._cdata, [0, 0])
            moved[record.kind == STORE] += record.distinct
            if record.kind == STORE:
                count = storage.nbytes() // memory.tensors[record.tensor].itemsize
                lines = _state.lines.setdefault(storage._cdata, np.zeros(count, np.int32))
                lines[elements] = record.line


def _make_visible() -> None:
    """Let each kernel see what the file has defined so far, and Python's own forms as the compiler reads them."""
    for kernel in [one for one in _state.namespace.values() if isinstance(one, _Kernel)]:
        seen = {**_state.namespace, **language.names(), "print": interpreter.printed}
        for name in ("interpreter_semantic", "_InterpreterComparison"):
            seen[name] = getattr(of_triton, name, None)
        plain: dict[str, Any] = {}
        code = compile(ast.Module([kernel.definition], []), _state.path, "exec")
        exec(code, seen, plain)
        of_triton.InterpretedFunction.rewritten_fn[kernel.fn] = plain[kernel.name]


class _AsOnAGPU(TorchFunctionMode):
    """Tensors say that they lie on a GPU, and may be put there; one that is made on the CPU goes to no kernel."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one call."""
        given, name = dict(kwargs or {}), getattr(func, "__name__", "")
        if name == "__get__" and func in _ANSWERS:
            return _ANSWERS[func]
        if func is torch.device:
            return func(*args, **given)
        if name == "cuda":
            return args[0]
        if _on_gpu(given.get("device")):
            given["device"] = "cpu"
        elif func in _MAKERS and given.get("device") is None and _state.kernels and _state.loaded:
            made = func(*args, **given)
            if made.dim():
                raise autograd.OnAnotherDevice(f"torch.{name} without device= makes a tensor on the CPU")
            return made
        return func(*(("cpu" if _on_gpu(one) else one) for one in args), **given)


def _on_gpu(device: Any) -> bool:
    return (isinstance(device, str) and device.startswith("cuda")) or (
        isinstance(device, torch.device) and device.type == "cuda"
    )


class _Marking(pytorch.Counted):  # type: ignore[no-untyped-call]
    """Fills what is empty with a mark, by which it is known in the end that nothing was stored there."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Carry out one operation. Raises TooMuchWork."""
        made = super().__torch_dispatch__(func, types, args, kwargs)
        if pytorch.operation(func) in _EMPTY and made.dtype in _BITS:
            mark(made)
        return made


def mark(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor, holding the mark everywhere."""
    bits = MARKS[str(tensor.dtype).removeprefix("torch.")]
    tensor.view(_BITS[tensor.dtype]).fill_(bits)
    return tensor


def _modes() -> ExitStack:
    stack = ExitStack()
    stack.enter_context(_AsOnAGPU())
    stack.enter_context(_Marking())  # type: ignore[no-untyped-call]
    return stack


def _in_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*given: Any) -> Any:
        with _modes():
            return function(*given)

    return run


def called(_: None, launch: Launch) -> functions.Answer:
    """What came of one call: forward, and back if the output has a gradient.

    An output that the function does not return holds the mark, and nothing is stored to it. Where undefined masked
    lanes were loaded, the call is made again with other values in them.
    """
    answer = _once(launch, float("nan"))
    if _state.atomic and _state.shuffled:  # whose sums are rounded in the order in which programs come
        _state.shuffled = False
        answer = _once(launch, float("nan"))
        _state.shuffled = True
    if not _state.poisoned:
        return answer
    return answer._replace(filled=[_once(launch, fill).dense for fill in FILLS])


def _once(launch: Launch, poison: float) -> functions.Answer:
    running.entered.clear()
    running.launched.clear()
    launching.records.clear()
    _state.poison, _state.poisoned, _state.atomic = poison, False, False
    for kept in (_state.lines, _state.moved, _state.kept):
        kept.clear()
    inputs = functions.inputs(launch)
    outputs = functions.outputs(launch)
    layout = launch.asked[LAYOUT]
    leaves = [name for name in inputs if f"d{name}" in outputs]
    forward = {name: argument for name, argument in outputs.items() if name[1:] not in leaves}
    forward = forward or {"O": launch.tensors["q"]}
    try:
        for name in leaves:
            inputs[name].requires_grad_()
        given = {name: _arranged(tensor, layout) for name, tensor in inputs.items() if name != "do"}
        with _modes():
            returned = _call(launch, given)
        made = _taken(returned, forward, layout)
        first = next(iter(made.values()))
        if leaves and first.grad_fn is not None:
            before = first.detach().clone()
            gradients = torch.autograd.grad(first, [inputs[name] for name in leaves], inputs["do"])
            if not torch.equal(first.detach().nan_to_num(), before.nan_to_num()):
                raise functions.WrongResult("the backward pass has changed O, which the caller has got")
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
    moved = {name: _state.moved.get(tensor.untyped_storage()._cdata) for name, tensor in (after | made).items()}
    return answer._replace(moved={name: counts for name, counts in moved.items() if counts})


def _call(launch: Launch, given: Mapping[str, torch.Tensor]) -> Any:
    """Call the function with what was asked for."""
    names: dict[str, Any] = {**given, **{name: value for name, (_, value) in launch.scalars.items()}}
    names |= {"causal": bool(launch.constexprs.get("causal", False)), "__builtins__": {}}
    function = eval(launch.asked[FUNCTION], {**_state.namespace})
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
    """The outputs by name, in the shapes that were asked for; LSE may be left out. Raises WrongResult."""
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
    """What `called` gives: of each output that was returned a store for each line that has stored some of it."""
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
    """Which of its elements hold the mark."""
    if tensor.dtype not in _BITS:
        return np.zeros(tensor.shape, bool)
    bits = MARKS[str(tensor.dtype).removeprefix("torch.")]
    return np.asarray((tensor.contiguous().view(_BITS[tensor.dtype]) == bits).numpy())


def _lines(tensor: torch.Tensor) -> npt.NDArray[np.int32]:
    """The line in which a kernel has stored each element last; 0 where none has."""
    lines = _state.lines.get(tensor.untyped_storage()._cdata)
    if lines is None:
        return np.zeros(tensor.numel(), np.int32)
    places = torch.arange(lines.size).as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())
    return np.asarray(lines[places.reshape(-1).numpy()])
