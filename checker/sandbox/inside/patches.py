"""Every name of Triton that running a kernel on its interpreter depends on, in one table, and what takes its place.

Triton promises none of these names. So each is looked at before it is changed: where judging needs it, and it is
missing or takes other arguments, the checker says so and judges nothing; where it only makes launches faster, it is
left alone. `tests/versions/parameters.json` has what each supported release takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial, reduce
from inspect import Parameter, signature
from types import FunctionType, SimpleNamespace
from typing import Any

import triton
import triton.language as tl
import triton.runtime.interpreter

from checker.sandbox.inside import (
    accesses,
    arithmetic,
    bfloat16,
    block_arithmetic,
    cached,
    compiler_hints,
    language,
    large_offsets,
    rand,
)
from checker.sandbox.protocol.supported import UnknownTriton, instead_of


@dataclass(frozen=True)
class Patch:
    """A change of a name: `make` makes the new object from the one that is there."""

    make: Callable[[Any], Any]
    like: Callable[..., Any] | None  # takes as many arguments as Triton's own must; None: it is not called

    def fits(self, plain: Any) -> bool:
        """Return whether what stands there takes as many positional arguments."""
        if self.like is None:
            return True
        least, most = _counts(plain)
        wanted_least, wanted_most = _counts(self.like)
        return wanted_least <= most and least <= wanted_most


def _used(like: Callable[..., Any] | None = None) -> Patch:
    """Return the patch of a name that stays as it is."""
    return Patch(lambda plain: plain, like)


def _instead(function: Callable[..., Any]) -> Patch:
    """Return the patch that calls `function` instead."""
    return Patch(lambda plain: function, function)


def _around(function: Callable[..., Any]) -> Patch:
    """`function` gets Triton's own function, then what that was to get."""

    def make(plain: Any) -> Any:
        def method(*arguments: Any, **named: Any) -> Any:
            return function(plain, *arguments, **named)

        method.__wrapped__ = plain  # type: ignore[attr-defined]
        return method

    return Patch(make, partial(function, None))


def _noted(note: Callable[..., None]) -> Patch:
    """`note` gets what Triton's own method has given, then what that has got."""

    def make(plain: Any) -> Any:
        if hasattr(plain, "notes"):
            plain.notes.append(note)
            return plain
        notes = [note]

        def method(self: Any, *arguments: Any) -> Any:  # Triton names none of them
            result = plain(self, *arguments)
            for one in notes:
                one(result, *arguments)
            return result

        method.__wrapped__, method.notes = plain, notes  # type: ignore[attr-defined]
        return method

    return Patch(make, note)


def _remembered(make: Callable[[Any], Any]) -> Patch:
    return Patch(make, make(None))


def _all(kind: Callable[[Any], Patch], functions: dict[str, Any]) -> dict[str, Patch]:
    return {name: kind(function) for name, function in functions.items()}


def _patched_once(patch_lang: Any) -> Any:
    """Triton patches its language at each call of a device function: a third of a launch's time. Here once for all."""
    patch_lang(SimpleNamespace(__globals__={"tl": tl, "core": tl.core}))
    return lambda *_: SimpleNamespace(restore=lambda: None)


def _device_function(function: Any, *arguments: Any, **named: Any) -> Any:
    """Return a call of one. Triton puts an error at each into the text of another one, quoted: it doubles with each
    call.
    """
    return function.rewrite()(*arguments, **named)


def _called_at_once(plain: Any) -> Any:
    """Triton takes three calls for each of its language's, to say who computes. Here that is a function's default."""
    asking = tl.core.builtin(lambda: None).__code__
    computing = {"_semantic": triton.runtime.interpreter.interpreter_semantic}

    def _patch_attr(owner: Any, name: str, member: Any, builder: Any, scope: Any) -> None:
        function = member.__wrapped__ if getattr(member, "__code__", None) is asking else member
        code, defaults, known = function.__code__, function.__defaults__ or (), function.__kwdefaults__ or {}
        names = code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount]

        def called(*arguments: Any, **named: Any) -> Any:
            return function(*arguments, **named | computing)

        if "_semantic" in (*names, *known):
            called = FunctionType(code, function.__globals__, name, None, function.__closure__)
            called.__defaults__ = tuple(computing.get(one, value) for one, value in zip(names, defaults, strict=True))
            called.__kwdefaults__ = known | computing
        scope.set_attr(owner, name, called)

    return _patch_attr


def _with_marks(handle: Any) -> Any:
    """Values carry marks."""
    for name, unmarked in (block_arithmetic.MARKS | large_offsets.MARKS).items():
        setattr(handle, name, unmarked)
    return handle


def _sides_of_dots(functions: dict[str, Any]) -> dict[str, Any]:
    """Return how short the sides of a tl.dot may be: as for NVIDIA."""
    return functions | {"min_dot_size": lambda lhs, _: (1, 1, 32) if lhs.scalar.primitive_bitwidth == 8 else (1, 1, 16)}


@dataclass(frozen=True)
class Group:
    """Names with one owner and one purpose."""

    owner: str  # where it is, below `triton`
    without: str  # what is lost without them; nothing: only time is
    patches: dict[str, Patch]


_ROOT = "runtime.interpreter"
_BUILDER, _REDUCTION, _TENSOR = f"{_ROOT}.InterpreterBuilder", f"{_ROOT}.ReduceOps", "language.tensor"
_RUN = "no kernel can be run"
_FORMS = "a kernel's forms are not what the compiler makes of them"
_NUMBERS = "numbers are not a GPU's"
_PROMISES = "false promises to the compiler are not seen"
_HALF = "what is lost in half precision is not seen"

_ONCE = (
    Group(_ROOT, "", {"_patch_attr": _remembered(_called_at_once)}),  # what `_patch_lang` does it with
    Group(_ROOT, _RUN, {"_patch_lang": Patch(_patched_once, lambda function: None)}),  # it changes others below
)
_TILES = Group(_BUILDER, "", _all(_remembered, cached.OF_BUILDER))  # notes below are taken of these
_INDEX = Group(_TENSOR, _FORMS, {"__index__": _instead(accesses.index)})
_HANDLES = Group(
    f"{_ROOT}.TensorHandle", "work is not counted", {"__init__": Patch(cached.handle, lambda self, data, dtype: None)}
)
_QUICKLY = (
    Group(_ROOT, "", {"_InterpreterComparison": _used(), "_get_np_dtype": _remembered(cached.of_type)}),
    Group("language.core", "", {"_unwrap_if_constexpr": _remembered(cached.unwrapped)}),
    Group("language.block_type", "", {"__init__": _remembered(cached.block_type)}),
    Group(_TENSOR, "", {"__init__": _remembered(cached.tensor)}),
    Group(f"{_ROOT}.TritonSemantic", "", _all(_remembered, cached.OF_SEMANTIC)),
)
TABLE = (
    *_ONCE,
    _TILES,
    Group(
        _ROOT,
        _RUN,
        {
            "_get_np_dtype": _around(bfloat16.type_of),
            "ASTTransformer": _used(),
            "TensorHandle": Patch(_with_marks, None),
        },
    ),
    Group(f"{_ROOT}.InterpretedFunction", _RUN, {"rewritten_fn": _used(), "rewrite": _used(lambda self: None)}),
    Group(f"{_ROOT}.InterpretedFunction", "errors cannot be told", {"__call__": _instead(_device_function)}),
    Group(
        f"{_ROOT}.interpreter_builder",
        _RUN,
        {
            "set_grid_dim": _used(lambda x, y, z: None),
            "set_grid_idx": _used(lambda x, y, z: None),
            "options": _used(),
            "codegen_fns": Patch(_sides_of_dots, None),
        },
    ),
    Group(f"{_ROOT}.InterpreterOptions", "overflow is not seen", {"debug": _used(), "sanitize_overflow": _used()}),
    Group(
        f"{_ROOT}.interpreter_semantic",
        _FORMS,
        {"to_tensor": _used(lambda value, check: None), "integer_promote_impl": _used(lambda left, right: None)},
    ),
    _INDEX,
    Group(_TENSOR, _FORMS, {"__bool__": _instead(accesses.truth)}),
    Group("language", _FORMS, {"range": _instead(language.tl_range)}),
    Group("language.constexpr", _FORMS, _all(_around, language.OF_CONSTEXPR)),
    Group(
        _BUILDER,
        "accesses are not seen, and nothing of how much is computed",
        _all(_instead, accesses.INSTEAD) | _all(_noted, accesses.NOTES),
    ),
    Group(_BUILDER, _NUMBERS, _all(_around, bfloat16.OF_CONVERSIONS)),
    Group(_BUILDER, _NUMBERS, _all(_around, arithmetic.AROUND) | _all(_instead, arithmetic.INSTEAD)),
    Group(
        _REDUCTION,
        _NUMBERS,
        {
            "generic_reduce": _around(arithmetic.by_halves),
            "sum": _instead(arithmetic.total),
            "to_tensor": _used(lambda self, values, dtype: None),
        },
    ),
    Group("language", _PROMISES, _all(_instead, compiler_hints.INSTEAD)),
    Group(_BUILDER, _PROMISES, {"create_assume": _instead(compiler_hints.assume)}),
    Group(_BUILDER, _HALF, _all(_noted, block_arithmetic.OF_BUILDER)),
    Group(_REDUCTION, _HALF, {"sum": _noted(block_arithmetic.summed), "min_max": _around(block_arithmetic.largest)}),
    Group(_BUILDER, "sizes that overflow are not seen", _all(_noted, large_offsets.OF_BUILDER)),
    Group("language", "", {"rand": _around(rand.rand)}),
    _HANDLES,
    *_QUICKLY,
)
# For kernels that nobody judges: launches take a third of the time, and loops run with Triton 3.6 and NumPy 2.4.
UNJUDGED = tuple(replace(group, without="") for group in (*_ONCE, _TILES, _INDEX, _HANDLES, *_QUICKLY))


def apply(table: Iterable[Group] = TABLE) -> None:
    """Patch Triton, once in the life of a process. UnknownTriton if judging needs what this version does not have."""
    for group in table:
        for name, patch in group.patches.items():
            plain = there(group.owner, name)
            if plain is not None and patch.fits(plain):
                if (made := patch.make(plain)) is not plain:
                    setattr(owner(group.owner), name, made)
            elif group.without:
                raise UnknownTriton(
                    f"Triton {triton.__version__} has another {group.owner}.{name} than this checker knows, or none, "
                    f"and without it {group.without}. {instead_of(triton.__version__)}"
                )


def there(path: str, name: str) -> Any:
    """Return what stands at a name of an owner; None if nothing does, or only what every object has."""
    found = getattr(owner(path), name, None)
    return None if found is getattr(object, name, None) else found


def owner(path: str) -> Any:
    """Return what stands at a path below `triton`; None if nothing does."""
    return reduce(lambda found, name: getattr(found, name, None), path.split("."), triton)


def _counts(function: Callable[..., Any]) -> tuple[int, float]:
    """Return how many positional arguments a function must get, and how many it may get."""
    parameters = signature(function).parameters.values()
    named = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    more = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters)
    return sum(p.default is Parameter.empty for p in named), float("inf") if more else len(named)
