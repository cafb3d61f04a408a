"""The allow-list lint: a kernel says nothing but what a kernel needs to say.

Two kinds of complaint. *Forbidden*: it reaches for something that no kernel of this course needs.
*Does not compile*: Triton's interpreter, which is Python, would run it, but no GPU ever will.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from checker.submission.extract import Program
from checker.submission.vocabulary import (
    ATOMICS,
    ATTRIBUTES,
    BRANCHES,
    BUILTINS,
    EXPLAINED,
    HOST_MODULES,
    LEAVES,
    NOT_SEEN,
    PRINTING,
    SHAPED,
    TL_FUNCTIONS,
    TL_TYPES,
    UNCOMPILABLE,
    UNWANTED,
    misplaced,
)

MOST_COMPLAINTS = 200  # a report shows three; whoever writes for more wants to keep the checker busy
# Names are compared with each other to say which one was meant: not more and not longer ones than people write.
MOST_NAMES, LONGEST_NAME = 500, 80


@dataclass(frozen=True)
class Complaint:
    """One thing that is not allowed, at one line of the submission's text."""

    id: str
    sentence: str
    hint: str
    line: int
    compiles: bool = True  # False: not forbidden, but no GPU will run it


def lint(program: Program) -> list[Complaint]:
    """Complaints about all kernels and helpers, in the order of their lines: one a line, each once."""
    calls = _calls(program)
    found: dict[int, Complaint] = {}
    said: set[str] = set()
    every = (c for function in program.functions.values() for c in _FunctionLint(function, program, calls).complaints())
    for complaint in islice(every, MOST_COMPLAINTS):
        if complaint.line not in found and complaint.sentence + complaint.hint not in said:
            found[complaint.line] = complaint
            said.add(complaint.sentence + complaint.hint)
    return [found[line] for line in sorted(found)]


class _FunctionLint:
    """Walks one function; every node type that is not handled here is refused."""

    def __init__(self, function: ast.FunctionDef, program: Program, calls: dict[str, set[str]]):
        self.function = function
        self.program = program
        # Functions from which this one can be reached again: calling one of them is recursion.
        self.callers = {name for name, called in calls.items() if function.name in called}
        self.locals = {a.arg for a in function.args.args} | {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }

    def complaints(self) -> Iterator[Complaint]:
        yield from self._header()
        for position, statement in enumerate(self.function.body):
            if position == 0 and ast.get_docstring(self.function, clean=False) is not None:
                continue
            yield from self._visit(statement)

    def _header(self) -> Iterator[Complaint]:
        arguments = self.function.args
        if self.function.name in BUILTINS | {"tl", "triton"}:
            yield self._forbid(self.function, "reserved-name", f"`{self.function.name}` is taken: choose another name.")
        if arguments.vararg or arguments.kwarg or arguments.posonlyargs or arguments.kwonlyargs:
            yield self._forbid(
                self.function, "parameters", "Helpers take plain parameters only: no *args, no **kwargs."
            )
        for argument in arguments.args:
            if argument.annotation is not None and ast.unparse(argument.annotation) != "tl.constexpr":
                yield self._forbid(argument, "annotation", "The only annotation a kernel may use is tl.constexpr.")
        if arguments.defaults or self.function.returns is not None:
            yield self._forbid(
                self.function, "parameters", "Kernels and helpers have no default values and no return annotation."
            )
        if getattr(self.function, "type_params", None):  # since Python 3.12; a bound is any expression
            yield self._forbid(self.function, "parameters", "Kernels and helpers have no type parameters.")

    def _visit(self, node: ast.AST) -> Iterator[Complaint]:
        if isinstance(node, LEAVES):
            return
        method = getattr(self, f"_visit_{type(node).__name__}", None)
        if method is not None:
            yield from method(node)
        elif isinstance(node, BRANCHES):
            yield from self._children(node)
        elif type(node) in UNCOMPILABLE:
            yield self._reject(node, "not-a-kernel", UNCOMPILABLE[type(node)])
        else:
            yield self._forbid(node, "syntax", *UNWANTED.get(type(node), (misplaced(type(node).__name__),)))

    def _children(self, node: ast.AST) -> Iterator[Complaint]:
        for child in ast.iter_child_nodes(node):
            yield from self._visit(child)

    def _visit_Assign(self, node: ast.Assign) -> Iterator[Complaint]:
        if len(node.targets) > 1:
            yield self._reject(node, "not-a-kernel", "Triton cannot compile `a = b = …`: write two assignments.")
        yield from self._target(node.targets[0])
        yield from self._visit(node.value)

    def _visit_AugAssign(self, node: ast.AugAssign) -> Iterator[Complaint]:
        yield from self._target(node.target)
        yield from self._visit(node.op)
        yield from self._visit(node.value)

    def _visit_AnnAssign(self, node: ast.AnnAssign) -> Iterator[Complaint]:
        yield from self._target(node.target)
        if ast.unparse(node.annotation) != "tl.constexpr":
            yield self._forbid(node, "annotation", "The only annotation a kernel may use is tl.constexpr.")
        if node.value is not None:
            yield from self._visit(node.value)

    def _target(self, node: ast.expr) -> Iterator[Complaint]:
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                yield from self._target(element)
        elif not isinstance(node, ast.Name):
            yield self._reject(
                node, "not-a-kernel", "A kernel assigns to names only. Blocks are values: use tl.where or tl.store."
            )
        elif node.id in {"tl", "triton"} or node.id in BUILTINS or node.id.startswith("__"):
            yield self._forbid(node, "reserved-name", f"The name `{node.id}` is taken: choose another one.")

    def _visit_For(self, node: ast.For) -> Iterator[Complaint]:
        yield from self._target(node.target)
        call = node.iter
        if not (isinstance(call, ast.Call) and _name(call.func) in {"range", "tl.range", "tl.static_range"}):
            yield self._reject(node, "not-a-kernel", "A kernel loops over range, tl.range or tl.static_range only.")
        else:
            yield from self._visit(call)
        if node.orelse:
            yield self._reject(node, "not-a-kernel", "Triton cannot compile `for … else`.")
        for statement in node.body:
            yield from self._visit(statement)

    def _visit_Compare(self, node: ast.Compare) -> Iterator[Complaint]:
        if len(node.ops) > 1:
            yield self._reject(
                node, "not-a-kernel", "Triton cannot compile a < b < c: write (a < b) & (b < c) with parentheses."
            )
        yield from self._children(node)

    def _visit_Constant(self, node: ast.Constant) -> Iterator[Complaint]:
        if isinstance(node.value, str) and node.end_lineno != node.lineno:
            yield self._forbid(node, "syntax", "Text inside a kernel must fit on one line.")
        elif isinstance(node.value, int) and abs(node.value) >= 2**63:
            yield self._forbid(node, "syntax", "This number does not fit into 64 bits.")
        elif not isinstance(node.value, bool | int | float | str | None):
            yield self._forbid(node, "syntax", "A kernel's constants are numbers, True, False and None.")

    def _visit_Tuple(self, node: ast.Tuple) -> Iterator[Complaint]:
        for element in node.elts:
            yield from self._visit(element)

    def _shape(self, node: ast.expr) -> ast.expr:
        """A list is how Triton's own code writes a shape; elsewhere lists have no place in a kernel."""
        return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node) if isinstance(node, ast.List) else node

    def _visit_Return(self, node: ast.Return) -> Iterator[Complaint]:
        if node.value is not None and self.function.name in self.program.kernels:
            yield self._reject(node, "returns-a-value", "A kernel returns nothing: its result is what it stores.")
        if node.value is not None:
            yield from self._visit(node.value)

    def _visit_Subscript(self, node: ast.Subscript) -> Iterator[Complaint]:
        yield from self._visit(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        of_shape = isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        for part in parts:
            whole = isinstance(part, ast.Slice) and not (part.lower or part.upper or part.step)
            new_axis = isinstance(part, ast.Constant) and part.value is None
            if not (whole or new_axis or (of_shape and _is_index(part))):
                yield self._reject(
                    node,
                    "indexed",
                    "Neither a pointer nor a block can be indexed. Memory is reached by tl.load(x_ptr + offsets) and "
                    "tl.store; of a block there is only [:, None] and [None, :].",
                )
                return

    def _visit_Name(self, node: ast.Name) -> Iterator[Complaint]:
        name = node.id
        if name in self.locals or name in self.program.functions or name in BUILTINS:
            return
        if name in {"tl", "triton"}:
            yield self._forbid(node, "bare-module", f"`{name}` can only be used as {name}.something here.")
        elif name in self.program.constants:
            yield from self._constant(node, self.program.constants[name])
        elif name in self.program.definitions:
            yield self._forbid(
                node,
                "not-a-kernel",
                f"The kernel uses `{name}`, which is neither a @triton.jit function nor a literal number.",
                "Put @triton.jit above a helper function; write a constant as tl.constexpr(number).",
            )
        else:
            sentence = f"The name `{name}` is not defined in this kernel."
            yield Complaint("unknown-name", sentence, self._what_was_meant(name), node.lineno, compiles=False)

    def _what_was_meant(self, name: str) -> str:
        if name in HOST_MODULES:
            return f"{name} runs on the host. Inside a kernel, tl has what you need: tl.exp, tl.sum, tl.max, …"
        if name in TL_FUNCTIONS | TL_TYPES:
            return f"Write tl.{name}."
        known = sorted(self.locals | set(self.program.functions) | set(self.program.constants) | BUILTINS)
        other_case = [word for word in known if word.lower() == name.lower()]
        close = other_case[0] if other_case else _closest(name, known)
        return f"Did you mean `{close}`?" if close else NOT_SEEN

    def _constant(self, node: ast.Name, value: ast.expr) -> Iterator[Complaint]:
        if not (isinstance(value, ast.Call) and _name(value.func) == "tl.constexpr"):
            text = ast.unparse(value)
            yield Complaint(
                "global-not-constexpr",
                f"The kernel uses the global {node.id}, which is an ordinary Python number. The interpreter "
                "allows that; a GPU compiler does not.",
                f"Write {node.id} = tl.constexpr({text}) at the top of the file.",
                node.lineno,
                compiles=False,
            )

    def _visit_Attribute(self, node: ast.Attribute) -> Iterator[Complaint]:
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id == "tl" and "tl" not in self.locals:
            if node.attr not in TL_FUNCTIONS | TL_TYPES:
                yield self._unknown_tl(node)
        elif isinstance(owner, ast.Name) and owner.id == "triton" and "triton" not in self.locals:
            hint = f"Inside a kernel write tl.{node.attr}." if node.attr in TL_FUNCTIONS else "Use functions of tl."
            yield self._forbid(node, "not-tl", f"triton.{node.attr} is for the host, not for a kernel.", hint)
        else:
            inner = list(self._visit(owner))
            yield from inner
            if not inner and node.attr not in ATTRIBUTES:
                sentence = f"The attribute `.{node.attr}` is not on the list of what a kernel needs."
                hint = EXPLAINED.get(node.attr) or (
                    f"Write tl.{node.attr}(...) instead." if node.attr in TL_FUNCTIONS else "Do without it."
                )
                yield self._forbid(node, "attribute", sentence, hint)

    def _unknown_tl(self, node: ast.Attribute) -> Complaint:
        if node.attr.startswith("atomic_"):
            return Complaint("atomics", f"tl.{node.attr} is an atomic operation.", ATOMICS, node.lineno)
        close = _closest(node.attr, sorted(TL_FUNCTIONS))
        hint = EXPLAINED.get(node.attr) or (f"Did you mean tl.{close}?" if close else "Use what the lesson uses.")
        return self._forbid(node, "not-allowed", f"tl.{node.attr} is not on the list of what a kernel needs.", hint)

    def _visit_Call(self, node: ast.Call) -> Iterator[Complaint]:
        function = _name(node.func)
        if isinstance(node.func, ast.Name) and node.func.id in self.locals:
            yield self._forbid(node, "call", f"`{function}` is a variable here; only functions can be called.")
        elif isinstance(node.func, ast.Name | ast.Attribute):
            yield from self._visit(node.func)
        else:
            yield self._forbid(node, "call", "Only named functions can be called.")
        if function in self.callers:
            yield self._reject(node, "recursion", "Triton cannot compile a function that calls itself.")
        if function in PRINTING and not (node.args and _is_text(node.args[0])):
            yield self._reject(node, "print-without-text", 'Begin with a text, then the values: print("x", x).')
        if function.endswith(".to") and any(isinstance(a, ast.Name) and a.id in BUILTINS for a in node.args):
            yield self._reject(node, "python-type", "A block's types are those of tl: x.to(tl.float32).")
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                yield self._forbid(node, "call", "A call names its arguments one by one: no *.")
            else:
                yield from self._visit(self._shape(argument) if function in SHAPED else argument)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_") or function in {"print", "tl.static_print"}:
                yield self._forbid(node, "call", "This keyword argument has no place in a kernel.")
            else:
                yield from self._visit(self._shape(keyword.value) if function in SHAPED else keyword.value)

    def _forbid(
        self, node: ast.AST, id: str, sentence: str, hint: str = "Keep to the stub's way of writing."
    ) -> Complaint:
        return Complaint(id, sentence, hint, getattr(node, "lineno", self.function.lineno))

    def _reject(self, node: ast.AST, id: str, hint: str) -> Complaint:
        return Complaint(
            id,
            "Triton cannot compile this for a GPU.",
            hint,
            getattr(node, "lineno", self.function.lineno),
            compiles=False,
        )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_index(node: ast.expr) -> bool:
    """A whole number, with a minus or without: nothing that would have to be looked into."""
    number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(number, ast.Constant) and type(number.value) is int


def _name(function: ast.expr) -> str:
    """What is called, as far as rules speak of it: `name`, `owner.name`, or `.name` of something longer.

    Not `ast.unparse`, whose work would grow with what stands before each of many dots.
    """
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute):
        return f"{function.value.id if isinstance(function.value, ast.Name) else ''}.{function.attr}"
    return ""


def _closest(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` is most like."""
    words = [word for word in known if len(word) <= LONGEST_NAME]
    if len(name) > LONGEST_NAME or len(words) > MOST_NAMES:
        return None
    return next(iter(difflib.get_close_matches(name, words, n=1, cutoff=0.75)), None)


def _calls(program: Program) -> dict[str, set[str]]:
    """For each function, the names of those that are called from it, directly or not."""
    direct = {
        name: {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} & set(program.functions)
        for name, function in program.functions.items()
    }
    return {name: _reached(name, direct) for name in direct}


def _reached(start: str, direct: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        found = direct[waiting.pop()] - seen
        seen |= found
        waiting += found
    return seen
