"""What is said of that which is not on the allow-list: what it is, and what to write instead.

Two kinds. *Not taken*: this course does without it, whether Triton has it or not. *Does not compile*: the
interpreter, which is Python, would run it, but no GPU ever will; a test compiles an example of each.
"""

from __future__ import annotations

import ast

from checker.submission.problem import KEEP, Problem, Problems

problem = Problems(__file__)


def not_taken(what: str, hint: str = KEEP, id: str = "syntax") -> Problem:
    """Of what Triton has."""
    return Problem(id, f"This course does not allow {what}.", hint)


# Names of tl, of a module within it, or of a value, that deserve a sentence of their own.
_BLOCK_POINTERS = problem("not-allowed/block-pointers")
_DESCRIPTORS = problem("not-allowed/descriptors")
_SCANS = problem("not-allowed/scans")
_VIEW = problem("not-allowed/view")
_FOUR_AT_ONCE = problem("not-allowed/four-at-once")
_OTHER_NUMBERS = problem("not-allowed/other-numbers")
EXPLAINED = {
    **dict.fromkeys(("rand4x", "randint4x", "randn4x"), _FOUR_AT_ONCE),
    **dict.fromkeys(("randn", "randint", "philox"), _OTHER_NUMBERS),
    "softmax": problem("not-allowed/softmax"),
    "make_block_ptr": _BLOCK_POINTERS,
    "advance": _BLOCK_POINTERS,
    "make_tensor_descriptor": _DESCRIPTORS,
    "load_tensor_descriptor": _DESCRIPTORS,
    "store_tensor_descriptor": _DESCRIPTORS,
    "associative_scan": _SCANS,
    "cumsum": _SCANS,
    "cumprod": _SCANS,
    "view": _VIEW,
    "cat": problem("not-allowed/cat"),
    "inline_asm_elementwise": problem("not-allowed/inline-asm-elementwise"),
}
CAN_REORDER = problem("not-allowed/can-reorder")
COMBINE = problem("not-allowed/combine")
ATOMICS = (
    "Atomic operations are not part of this course. Give each output element to exactly one program: "
    "then no two programs ever meet in memory."
)
OTHER_ATOMICS = "Use tl.atomic_add, tl.atomic_or and tl.atomic_xchg: the interpreter lets programs wait at these."

# PyTorch's and NumPy's words for what Triton calls otherwise.
PYTORCH = {
    "unsqueeze": "Write m[:, None] for m.unsqueeze(1), and m[None, :] for m.unsqueeze(0).",
    "squeeze": "Write tl.reshape(x, shape), with the shape that you want.",
    "float": "Write x.to(tl.float32).",
    "double": "Write x.to(tl.float64).",
    "half": "Write x.to(tl.float16).",
    "int": "Write x.to(tl.int32).",
    "long": "Write x.to(tl.int64).",
    "matmul": "Write tl.dot(a, b) for a matrix product.",
    "mm": "Write tl.dot(a, b) for a matrix product.",
    "mean": "Write tl.sum(x, axis=0) / n.",
    "ones": "Write tl.full(shape, 1.0, tl.float32).",
    "empty": "Write tl.zeros(shape, tl.float32).",
    "transpose": "Write tl.trans(x).",
    "t": "Write tl.trans(x).",
    "size": "Write x.shape[0].",
    "pow": "Write a product, or tl.exp and tl.log.",
    "dropout": "Draw a number for each entry, tl.rand(seed, offset), and keep the entry where it is at least p.",
    "bernoulli": "Draw a number for each entry, tl.rand(seed, offset), and compare it.",
    "masked_fill": "Write tl.where(mask, value, x).",
    "clamp": "Write tl.maximum(x, low) or tl.minimum(x, high); tl.clamp(x, low, high) needs both ends.",
    "inf": 'Write -float("inf") for minus infinity, and float("inf") for infinity.',
}
PYTORCH_KEYWORDS = {"dim": problem("pytorch-word/dim"), "keepdim": problem("pytorch-word/keepdim")}

HOST_MODULES = frozenset({"np", "numpy", "torch", "math", "jnp", "F"})
PYTHON_IN_TRITON = frozenset({"len", "list", "isinstance", "getattr", "hasattr"})  # these compile
PYTHON_ONLY = "A kernel has arithmetic, comparisons, for, if, and the functions of tl, and little else of Python."
LESSON = "Use the functions that the lesson uses: tl.load, tl.exp, tl.sum, …"
ATTRIBUTE = "Of a block x there are x.to(type), x.dtype and x.shape. Nearly everything else is a function of tl."
NOT_SEEN = (
    "A kernel does not see such a name from outside: write the value in the kernel, or define it in a line above."
)

# What may not stand in a def line.
PARAMETERS = problem("parameters/parameters")
TYPE_PARAMETERS = problem("parameters/type-parameters")
DEFAULT = problem("parameters/default")
PARAMETER_ANNOTATION = problem("annotation/parameter-annotation")
ANNOTATION = problem("annotation/annotation")

# What depends on where it stands.
ASSERT_MESSAGE = problem("syntax/assert-message")
LONG_TEXT = problem("syntax/long-text")
LARGE_NUMBER = problem("syntax/large-number")
CONSTANT = problem("syntax/constant")
CALLED = problem("call/called")
STARRED = problem("call/starred")
KEYWORD = problem("call/keyword")
INDEXED = problem("indexed/indexed", compiles=False)
INDEXED_BY_A_NUMBER = problem("indexed/indexed-by-a-number")
CHAINED_ASSIGNMENT = problem("not-a-kernel/chained-assignment", compiles=False)
TARGET = problem("not-a-kernel/target", compiles=False)
LOOP = problem("not-a-kernel/loop", compiles=False)
FOR_ELSE = problem("not-a-kernel/for-else", compiles=False)
CHAINED_COMPARISON = problem("syntax/chained-comparison")
RECURSION = problem("recursion/recursion", compiles=False)
RETURNS = problem("returns-a-value/returns", compiles=False)
PRINT_WITHOUT_TEXT = problem("print-without-text/print-without-text", compiles=False)
PRINT_OF_TEXTS = problem("print-of-texts/print-of-texts", compiles=False)
PYTHON_TYPE = problem("python-type/python-type", compiles=False)
NOT_A_FUNCTION = problem("not-a-kernel/not-a-function", compiles=False)

# Syntax that is refused wherever it stands.
SYNTAX: dict[type[ast.AST], Problem] = {
    ast.While: problem("syntax/while"),
    ast.List: problem("syntax/list"),
    ast.ListComp: problem("syntax/list-comp"),
    ast.JoinedStr: problem("syntax/joined-str"),
    ast.Pow: problem("syntax/pow"),
    ast.Is: problem("syntax/is"),
    ast.IsNot: problem("syntax/is-not"),
    ast.Import: problem("syntax/import"),
    ast.ImportFrom: problem("syntax/import"),
    ast.Raise: problem("syntax/raise"),
    ast.Try: problem("syntax/try"),
    ast.With: problem("syntax/with"),
    ast.Lambda: problem("syntax/lambda"),
    ast.NamedExpr: problem("syntax/named-expr"),
    ast.In: problem("syntax/in"),
    ast.NotIn: problem("syntax/not-in"),
    ast.Delete: problem("syntax/delete"),
    ast.Global: problem("syntax/global"),
    ast.Nonlocal: problem("syntax/nonlocal"),
    ast.ClassDef: problem("syntax/class-def"),
    ast.Yield: problem("syntax/yield"),
    ast.Starred: problem("syntax/starred"),
    ast.Break: problem("not-a-kernel/break", compiles=False),
    ast.Continue: problem("not-a-kernel/continue", compiles=False),
    ast.Dict: problem("not-a-kernel/dict", compiles=False),
    ast.Set: problem("not-a-kernel/set", compiles=False),
    ast.GeneratorExp: problem("not-a-kernel/generator-exp", compiles=False),
    ast.MatMult: problem("not-a-kernel/mat-mult", compiles=False),
    ast.FunctionDef: problem("not-a-kernel/function-def", compiles=False),
}
