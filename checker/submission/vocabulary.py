"""The allow-list: every name and every form of syntax that a kernel may use. One list, in one place.

On the interpreter a kernel is Python, and Python reaches everything; so what is not named here is
refused. The list holds what compiles for a GPU and what the puzzles may need, and nothing else.
What is said of the rest stands in `refusals.py`.
"""

from __future__ import annotations

import ast


def words(text: str) -> frozenset[str]:
    """Return the words of a list, each once."""
    return frozenset(text.split())


TL_FUNCTIONS = words("""
    program_id num_programs arange zeros full zeros_like load store dot
    exp exp2 log log2 sqrt sqrt_rn rsqrt abs fma sigmoid fdiv div_rn clamp maximum minimum
    max min sum argmax argmin reduce where cdiv cast constexpr rand
    trans permute reshape ravel expand_dims broadcast broadcast_to flip join split interleave
    range static_range debug_barrier multiple_of max_contiguous max_constancy assume
    static_assert static_print device_assert device_print
""")
MATH = words("exp exp2 log log2 sqrt sqrt_rn rsqrt abs fma fdiv div_rn")  # the same as tl.math.exp, and so on
ATOMICS = words("atomic_add atomic_or atomic_xchg")  # only where programs may wait for each other
TL_TYPES = words("float16 float32 float64 bfloat16 int1 int8 int16 int32 int64 uint8 uint16 uint32 uint64")

BUILTINS = words("range min max float int print")  # those that Triton knows as well

# Attributes of values: of tensors, pointers and types.
FIELDS = words("dtype type element_ty scalar shape T")  # nothing that could be called
METHODS = words("""
    to cast trans permute reshape ravel expand_dims broadcast_to
    sum max min argmax argmin abs
""")  # x.exp() and its like fail on the interpreter of triton 3.6 and 3.7: tl.exp(x) works everywhere
ATTRIBUTES = FIELDS | METHODS

# What may stand behind the colon of a helper's parameter, and behind the arrow: Triton looks at the first one only.
ANNOTATIONS = frozenset({"tl.constexpr", "tl.tensor", "None", *(f"tl.{name}" for name in TL_TYPES)})

PRINTING = frozenset({"print", "tl.device_print"})  # a text comes first
PRINTING_ONLY_VALUES = frozenset({"print", "tl.static_print"})  # Python's own here, which would write to files
SHAPED = words("zeros full reshape broadcast_to permute trans")  # take a shape, or an order of axes
ALONG_AN_AXIS = words("sum max min argmax argmin reduce expand_dims")


def nodes(text: str) -> tuple[type[ast.AST], ...]:
    """Return the types of syntax that a list names."""
    return tuple(getattr(ast, name) for name in text.split())


# Syntax without parts of its own.
LEAVES = nodes("""
    Load Store Pass Add Sub Mult Div FloorDiv Mod LShift RShift BitAnd BitOr BitXor
    Invert Not UAdd USub And Or Eq NotEq Lt LtE Gt GtE
""")
# Node types whose children are all looked at in turn.
BRANCHES = nodes("BinOp UnaryOp BoolOp IfExp If Expr")
# What stands where, if not by name, of that which a GPU's instruction has one of; a cache modifier is the first.
HINTED = {
    "tl.load": ((5, "cache_modifier"), (6, "eviction_policy"), (7, "volatile")),
    "tl.store": ((4, "cache_modifier"), (5, "eviction_policy")),
}
