"""The allow-list: every name that a kernel may use. One list, in one place.

On the interpreter a kernel is Python, and Python reaches everything; so what is not named here is
refused. The list holds what compiles for a GPU and what the puzzles may need, and nothing else.
"""

from __future__ import annotations


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
