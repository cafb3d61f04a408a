"""The allow-list: every name and every form of syntax that a PyTorch function may use. One list, in one place.

What is not named here is refused. The list holds what attention in tiles may need: nothing that computes attention by
itself, and nothing that takes numbers to where they are not counted. What is said of the rest stands in `refusals.py`.
"""

from __future__ import annotations

from checker.submission.vocabulary import nodes, words

TORCH_FUNCTIONS = words("""
    zeros zeros_like ones ones_like empty empty_like full full_like arange
    matmul bmm baddbmm einsum exp exp2 log log2 log1p sqrt rsqrt abs sum amax amin max min maximum minimum clamp
    softmax logsumexp logaddexp where isneginf isinf isnan any all tril triu cat stack split
""")
TORCH_TYPES = words("""
    float16 bfloat16 float32 float64 half float double
    bool uint8 int8 int16 int32 int64 int long
""")
TORCH_VALUES = TORCH_TYPES | words("inf")

BUILTINS = words("range min max len enumerate zip list tuple slice reversed float int print")

# Attributes of values: of tensors, of what torch.max returns, of slices and lists.
FIELDS = words("shape dtype device ndim T mT values indices start stop")  # nothing but a value
METHODS = words("""
    size stride is_contiguous dim numel
    transpose permute unsqueeze squeeze reshape view flatten unflatten expand split chunk unbind
    contiguous clone
    to float double
    matmul bmm exp exp2 log log2 log1p sqrt rsqrt abs sum amax amin max min maximum minimum clamp clamp_min clamp_max
    softmax logsumexp logaddexp isneginf isinf isnan any all masked_fill tril triu
    new_zeros new_ones new_empty new_full
    copy_ fill_ zero_ add_ sub_ mul_ div_ exp_ exp2_ log_ log2_ clamp_ masked_fill_
    append
""")

KEYWORDS = words("""
    input other dim dim0 dim1 keepdim axis keepdims dtype device size fill_value start end step
    diagonal mask value min max alpha beta tensors split_size_or_sections chunks equation
""")
BUILTINS_KEYWORDS = {"enumerate": words("start"), "zip": words("strict")}

CPU = "cpu"  # the only device that can be named

# What a parameter's annotation may consist of: it is evaluated.
ANNOTATIONS = words("int float list tuple")  # and torch.Tensor, None

LEAVES = nodes("""
    Load Store Pass Break Continue Add Sub Mult Div FloorDiv Mod BitAnd BitOr BitXor MatMult Pow
    Invert Not UAdd USub And Or Eq NotEq Lt LtE Gt GtE
""")
BRANCHES = nodes("BinOp UnaryOp BoolOp IfExp If Expr Return Subscript Slice")
