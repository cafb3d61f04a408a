"""The allow-list: every name and every form of syntax that a kernel may use. One list, in one place.

On the interpreter a kernel is Python, and Python reaches everything; so what is not named here is
refused. The list holds what compiles for a GPU and what the puzzles may need, and nothing else.
"""

from __future__ import annotations

import ast


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


TL_FUNCTIONS = _words("""
    program_id num_programs arange zeros full zeros_like load store dot
    exp exp2 log log2 sqrt sqrt_rn rsqrt abs fma sigmoid fdiv div_rn clamp maximum minimum
    max min sum argmax argmin where cdiv cast constexpr
    trans permute reshape view ravel expand_dims broadcast broadcast_to flip join split interleave cat
    range static_range debug_barrier multiple_of max_contiguous max_constancy assume
    static_assert static_print device_assert device_print
""")
TL_TYPES = _words("float16 float32 float64 bfloat16 int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64")

BUILTINS = _words("range min max abs float int bool print")

# Attributes of values: of tensors, pointers and types.
ATTRIBUTES = _words("""
    to cast dtype element_ty shape T trans permute reshape view ravel expand_dims broadcast_to
    sum max min argmax argmin abs
""")  # x.exp() and its like fail on the interpreter of triton 3.6 and 3.7: tl.exp(x) works everywhere

PRINTING = frozenset({"print", "tl.static_print", "tl.device_print"})  # a text comes first
SHAPED = frozenset({"tl.zeros", "tl.full", "tl.reshape", "tl.broadcast_to", "tl.view"})  # take a shape
HOST_MODULES = frozenset({"np", "numpy", "torch", "math", "jnp", "F"})

# Names that are refused like all others, but that deserve a sentence of their own.
EXPLAINED = {
    "softmax": "That is what you are here to write.",
    "make_block_ptr": "Block pointers are gone from newer versions of Triton: use pointers and masks.",
    "advance": "Block pointers are gone from newer versions of Triton: use pointers and masks.",
    "make_tensor_descriptor": "This course addresses memory with pointers and masks.",
    "load_tensor_descriptor": "This course addresses memory with pointers and masks.",
    "math": "Its functions are in tl itself: write tl.exp2 for tl.math.exp2.",
    "inline_asm_elementwise": "Assembly is not judged here.",
    "inf": 'Write float("inf"), or -float("inf").',
    "float": "Write x.to(tl.float32).",
    "half": "Write x.to(tl.float16).",
    "reduce": "Use tl.sum, tl.max or tl.min.",
    "associative_scan": "Use tl.sum, tl.max or tl.min.",
}
ATOMICS = (
    "Atomic operations are not part of this course. Give each output element to exactly one program: "
    "then no two programs ever meet in memory."
)

# Syntax without parts of its own.
LEAVES: tuple[type[ast.AST], ...] = (
    ast.Load,
    ast.Store,
    ast.Pass,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.LShift,
    ast.RShift,
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
    ast.Invert,
    ast.Not,
    ast.UAdd,
    ast.USub,
    ast.And,
    ast.Or,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
)
# Node types whose children are all looked at in turn.
BRANCHES: tuple[type[ast.AST], ...] = (
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.IfExp,
    ast.If,
    ast.Expr,
)
NOT_SEEN = "A kernel does not see such a name from outside: write the value in the kernel, or put the stub's line back."


def misplaced(word: str) -> str:
    """The sentence for a form of syntax that no kernel needs."""
    return f"Python's `{word}` has no place in a kernel."


# What would compile, or might, but is not taken here: the sentence for it, and what to do instead.
UNWANTED: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: (
        "The checker takes `for` loops only.",
        "Use a `for` loop over range: its number of turns is known when the loop starts.",
    ),
    ast.List: (misplaced("[…]"), "Use a block, or separate variables."),
    ast.Import: (misplaced("import"), "Everything that a kernel needs is in tl."),
    ast.ImportFrom: (misplaced("import"), "Everything that a kernel needs is in tl."),
    ast.Raise: (misplaced("raise"), "Use tl.device_assert if you want to check something."),
    ast.Try: (misplaced("try"), "A kernel has no exceptions."),
    ast.With: (misplaced("with"), "A kernel has no contexts."),
    ast.Lambda: (misplaced("lambda"), "Define a helper at the top level, with @triton.jit."),
    ast.JoinedStr: (misplaced('f"…"'), 'Write print("x", x): a text first, then values.'),
}
UNCOMPILABLE: dict[type[ast.AST], str] = {
    ast.Break: "Triton cannot compile `break`: give the loop the right bounds instead.",
    ast.Continue: "Triton cannot compile `continue`: use `if` or a mask instead.",
    ast.Pow: "Blocks have no `**`: use tl.exp, tl.exp2, or a product.",
    ast.Dict: "A kernel has no dictionaries: use separate variables.",
    ast.Set: "A kernel has no sets: use separate variables.",
    ast.ListComp: "A kernel has no comprehensions: use a block, or a `for` loop over range.",
    ast.GeneratorExp: "A kernel has no comprehensions: use a block, or a `for` loop over range.",
    ast.MatMult: "Write tl.dot(a, b) for a matrix product.",
    ast.Assert: "Use tl.device_assert or tl.static_assert.",
    ast.FunctionDef: "Define helpers at the top level of the file, with @triton.jit.",
}
