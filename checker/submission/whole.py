"""A whole file, as somebody has written it: its kernels, the function that is to be judged, and how it is called.

Read as syntax; what runs is the file itself, and only in practice.
"""

from __future__ import annotations

import ast
import re
import shlex
from dataclasses import dataclass
from functools import cached_property

from checker.course.claims import Claims
from checker.course.status import Misuse
from checker.sandbox.protocol.kernels import is_kernel, kernels_of, statements
from checker.submission.language import TRITON
from checker.submission.module import is_number
from checker.submission.read import Submission, blanked, without_magics

FIRST_LINE = re.compile(r"#\s*own:(.*)")  # options that stand in the file
# What parameters are called elsewhere, by what they are called here.
NAMES = {
    "q": "q query queries",
    "k": "k key keys",
    "v": "v value values",
    "x": "x input inputs logits",
    "scale": "scale sm_scale softmax_scale qk_scale",
    "causal": "causal is_causal",
}
MEANING = {name: meaning for meaning, names in NAMES.items() for name in names.split()}
KNOWN = "attention", "flash_attention", "softmax"  # names of which one is enough
CUTTING = {"min", "max", "minimum", "maximum", "clamp"}
LARGEST_TILE, LARGEST, MOST_COMPARED = 256, 9000, 6  # of numbers that something may be compared with
# Names of what is not meant: tests, references, parts.
OTHERS = re.compile(r"^_*(test|bench|check|main|plot|profile|get)|naive|reference|_ref\b|torch", re.IGNORECASE)
_UNKNOWN = (
    "{function} has a parameter {name}, of which its name does not say what it is. Say with --as what it is called "
    "with, in order: --as 'q, k, v, causal, 64', for example."
)
LIKELY = re.compile(r"attn|attention|softmax", re.IGNORECASE)


@dataclass(frozen=True)
class Whole:
    """A file, and what in it is called."""

    source: str
    module: ast.Module
    function: str  # an expression
    call: str  # its arguments, in terms of q, k, v, x, scale and causal

    @cached_property
    def kernels(self) -> dict[str, ast.FunctionDef]:
        """By name, in the order of the text: that is how the sandbox counts them."""
        return {node.name: node for node in kernels_of(self.module)}

    @cached_property
    def given(self) -> frozenset[str]:
        """The arguments of the call."""
        return frozenset(n.id for n in ast.walk(ast.parse(f"f({self.call})")) if isinstance(n, ast.Name)) - {"f"}

    @property
    def kernels_alone(self) -> str:
        """The text of what a compiler needs: kernels, constants, and what of Triton is imported; each at its line."""
        lines = self.source.split("\n")
        kept = [""] * len(lines)
        for node in statements(self.module.body):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
                wanted = any(name.partition(".")[0] == "triton" for name in names)
            else:
                wanted = isinstance(node, ast.Assign | ast.AnnAssign) and _is_constant(node.value)
            if wanted:
                kept[node.lineno - 1] += ("; " if kept[node.lineno - 1] else "") + ast.unparse(node)
        for kernel in self.kernels.values():
            last = kernel.end_lineno or kernel.lineno
            kept[kernel.decorator_list[-1].lineno - 1] = TRITON.decorator
            kept[kernel.lineno - 1 : last] = [line[kernel.col_offset :] for line in lines[kernel.lineno - 1 : last]]
        return "\n".join(kept) + "\n"

    def around(self, line: int | None) -> ast.FunctionDef | None:
        """Return the kernel that a line is in."""
        inside = (k for k in self.kernels.values() if k.lineno <= (line or 0) <= (k.end_lineno or 0))
        return next(inside, None)

    @cached_property
    def refusals(self) -> dict[int, str]:
        """The conditions that an author refuses, by the line of an assert or a raise."""
        found: dict[int, str] = {}
        for node in ast.walk(self.module):
            static = isinstance(node, ast.Expr) and ast.unparse(node).startswith(("tl.static_assert", "static_assert"))
            if isinstance(node, ast.Assert | ast.Raise) or static:
                assert isinstance(node, ast.stmt)
                said = " ".join(self.source.split("\n")[node.lineno - 1].split())
                found |= dict.fromkeys(range(node.lineno, (node.end_lineno or node.lineno) + 1), said)
        return found

    @cached_property
    def stub(self) -> bool:
        """Whether every backward pass of the file is empty."""
        functions = (node for node in ast.walk(self.module) if isinstance(node, ast.FunctionDef))
        body = [statement for node in functions if node.name == "backward" for statement in node.body]
        computed = [one for one in body if not isinstance(one, ast.Raise) and _names(one)]
        return bool(body) and not computed

    @cached_property
    def compared(self) -> tuple[int, ...]:
        """Whole numbers that something is compared with, or cut off at, and other large ones: sizes may be, too."""
        found = dict[int, None]()
        for node in ast.walk(self.module):
            parts: list[ast.expr] = []
            if isinstance(node, ast.Compare):
                parts = [node.left, *node.comparators]
            elif isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in CUTTING:
                parts = node.args
            for part in parts:
                value = self._constants.get(part.id) if isinstance(part, ast.Name) else part
                if isinstance(value, ast.Constant) and type(value.value) is int and 2 <= value.value <= LARGEST:
                    found[value.value] = None
        every = (node.value for node in ast.walk(self.module) if isinstance(node, ast.Constant))
        found.update((n, None) for n in every if type(n) is int and LARGEST_TILE < n <= LARGEST)
        return tuple(found)[:MOST_COMPARED]

    @cached_property
    def _constants(self) -> dict[str, ast.expr]:
        """The values of names at the top of the file."""
        every = (node for node in self.module.body if isinstance(node, ast.Assign))
        return {t.id: node.value for node in every for t in node.targets if isinstance(t, ast.Name)}

    @property
    def numbers(self) -> list[int]:
        """Whole numbers that names stand for, at the top of the file."""
        every = self._constants.values()
        return [int(n.value) for n in every if isinstance(n, ast.Constant) and type(n.value) is int]


def _is_constant(value: ast.expr | None) -> bool:
    """Return whether it is a literal, also as a constexpr, or of a text as a float."""
    match value:
        case ast.Call(func=ast.Attribute(attr="constexpr") | ast.Name(id="constexpr" | "float"), args=[inner]):
            return _is_constant(inner)
        case None:
            return False
    return isinstance(value, ast.Constant) or is_number(value)


def options_in(text: str) -> list[str]:
    """Options that stand in the first line of a file: `# own: --function mine --square`. Raises Misuse."""
    found = FIRST_LINE.match(text)
    try:
        return shlex.split(found[1].partition("\n")[0]) if found else []
    except ValueError as error:
        raise Misuse(f"The options in the first line cannot be read: {error}.") from None


def whole(submission: Submission, claims: Claims) -> Whole:
    """Return the file; of a notebook what its cells define. Raises Misuse if it is open what is to
    be called, or how.
    """
    try:
        source = "\n".join(c.text if c.cell is None else _defined(c.text) for c in submission.chunks)
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        place = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise Misuse(f"{submission.name or 'The cells'}{place}: Python cannot read this: {said}.") from None
    name, *_ = claims.function.split(".")
    if name and not any(re.search(rf"\b{re.escape(name)}\b", ast.unparse(node)) for node in module.body):
        raise Misuse(f"Nothing in {submission.name or 'the cells'} is called {name}.")
    function = claims.function or _found(module, submission.name or "the cells")
    call = _checked(claims.call) if claims.call else _call(module, function)
    if tests := _tests(module, function):
        source = blanked(source, tests)
        module = ast.parse(source)
    made = Whole(source, module, function, call)
    if not ({"q", "k", "v"} <= made.given or "x" in made.given):
        raise Misuse(f"{function}({call}) gets neither q, k and v nor x. Say with --as what it is called with.")
    return made


def _tests(module: ast.Module, function: str) -> list[ast.stmt]:
    """Return the top-level statements that call a launching function, and those that need its results."""
    launching, defines = _launching(module), (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    found: list[ast.stmt] = []
    lost: set[str] = set()
    for node in module.body:
        if isinstance(node, defines) or any(isinstance(one, defines) for one in ast.walk(node)):
            continue
        calls = [one.func for one in ast.walk(node) if isinstance(one, ast.Call)]
        used = {one.id for call in calls for one in ast.walk(call) if isinstance(one, ast.Name)} & launching
        made = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        if function.partition(".")[0] not in made and (used or _names(node) & lost):
            found.append(node)
            lost |= made
    return found


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _launching(module: ast.Module) -> set[str]:
    """Return the names of what launches a kernel at the end, the kernels among them."""
    uses: dict[str, set[str]] = {}
    for node in statements(module.body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            uses[node.name] = _names(node)
        elif isinstance(node, ast.Assign):
            uses |= {t.id: _names(node.value) for t in node.targets if isinstance(t, ast.Name)}
    found = {kernel.name for kernel in kernels_of(module)}
    while more := {name for name, names in uses.items() if names & found} - found:
        found |= more
    return found


def _defined(cell: str) -> str:
    """Return a cell's imports, definitions and names for what exists: no experiments, and nothing
    of the course's own.
    """
    plain = without_magics(cell)
    others = []
    for node in ast.parse(plain).body:
        if isinstance(node, ast.ImportFrom):
            kept = not (node.module or "").startswith("checker")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            kept = _is_constant(node.value) or isinstance(node.value, ast.Name | ast.Attribute | ast.Lambda | ast.List)
        else:
            kept = isinstance(node, ast.Import | ast.FunctionDef | ast.ClassDef) or _defines(node)
        others += [] if kept else [node]
    return blanked(plain, others)


def _defines(node: ast.stmt) -> bool:
    """Return whether it is an `if` or a `try` around definitions, and no program's main part."""
    return (
        isinstance(node, ast.If | ast.Try)
        and "__main__" not in ast.unparse(node)
        and any(isinstance(one, ast.Import | ast.ImportFrom | ast.FunctionDef) for one in statements([node]))
    )


def _found(module: ast.Module, name: str) -> str:
    """Return the function that is meant, if that is plain."""
    every = list(statements(module.body))
    functions = [node.name for node in every if isinstance(node, ast.FunctionDef) and not is_kernel(node)]
    assigned = [target for node in every if isinstance(node, ast.Assign) for target in node.targets]
    functions += [target.id for target in assigned if isinstance(target, ast.Name)]
    owners = [node for node in every if isinstance(node, ast.ClassDef)]
    classes = [f"{one.name}.apply" for one in owners if any("Function" in ast.unparse(base) for base in one.bases)]
    launching = _launching(module)
    kept = [
        [one for one in of if one.partition(".")[0] in launching and not OTHERS.search(one)]
        for of in (functions, classes)
    ]
    functions, classes = kept if any(kept) else (functions, classes)
    known, likely = ([one for one in functions if fits(one)] for fits in (KNOWN.__contains__, LIKELY.search))
    if choice := known or classes or likely:
        if len(choice) > 1:
            raise Misuse(f"{name} has several functions that may be meant: say --function {choice[0]}, for example.")
        return choice[0]
    raise Misuse(f"No function in {name} is called like attention or softmax: say which one with --function.")


def _parameters(module: ast.Module, function: str) -> tuple[ast.arguments | None, bool]:
    """Return the parameters of a function, and whether they can be named: those of `apply` cannot."""
    owner, _, method = function.partition(".")
    for node in statements(module.body):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return node.args, True
        if isinstance(node, ast.ClassDef) and node.name == owner and method == "apply":
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "forward":
                    after_ctx = ast.arguments([], one.args.args[1:], None, [], [], None, one.args.defaults)
                    return after_ctx, False
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == function for t in node.targets):
            return _parameters(module, ast.unparse(node.value))
    return None, True


def _call(module: ast.Module, function: str) -> str:
    """Return how a function is called, by the names of its parameters. Raises Misuse."""
    known, named = _parameters(module, function)
    if known is None:
        raise Misuse(f"What {function} is called with is not to be seen: say it with --as, such as --as 'q, k, v'.")
    positional = [*known.posonlyargs, *known.args]
    defaults = dict(zip([one.arg for one in positional][::-1], known.defaults[::-1], strict=False))
    given, pending = list[str](), list[str]()  # pending: defaults that only count if something comes after them
    skipped = False
    for one in positional:
        meaning = MEANING.get(one.arg.lower(), "x" if len(positional) == 1 else "")
        if meaning:
            given += [*pending, f"{one.arg}={meaning}" if skipped else meaning]
            pending.clear()
        elif one.arg not in defaults:
            raise Misuse(_UNKNOWN.format(function=function, name=one.arg))
        elif named:
            skipped = True
        else:
            pending.append(ast.unparse(defaults[one.arg]))
    for one, default in zip(known.kwonlyargs, known.kw_defaults, strict=True):
        if one.arg.lower() in MEANING:
            given.append(f"{one.arg}={MEANING[one.arg.lower()]}")
        elif default is None:
            raise Misuse(_UNKNOWN.format(function=function, name=one.arg))
    return ", ".join(given)


def _checked(call: str) -> str:
    """Return what --as says, if it can be used. Raises Misuse."""
    try:
        made = ast.parse(f"f({call})", mode="eval").body
    except SyntaxError:
        made = None
    values = [*made.args, *(one.value for one in made.keywords)] if isinstance(made, ast.Call) else [None]
    if not all(map(_is_argument, values)):
        raise Misuse(f"--as '{call}' cannot be read. It takes {', '.join(NAMES)}, and literals such as 64 or None.")
    return call


def _is_argument(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Name):
        return value.id in NAMES
    plain = value.operand if isinstance(value, ast.UnaryOp) else value
    return isinstance(plain, ast.Constant)
