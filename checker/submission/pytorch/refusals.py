"""What is said of that which is not on PyTorch's allow-list: what it is, and what to write instead."""

from __future__ import annotations

import ast

from checker.submission.problem import Problem, Problems

problem = Problems(__file__)


_READY_MADE = problem("not-allowed/ready-made")
_MODULES = problem("not-allowed/modules")
_BY_HAND = "Leave it out. Where a puzzle wants gradients, write the lesson's formulas."
GRADIENTS = problem("not-allowed/gradients")
_COMPILERS = problem("not-allowed/compilers")
_FILES = problem("not-allowed/files")
_RANDOM = problem("not-allowed/random")
_DEVICES = problem("not-allowed/devices")
_NUMBERS = "The judge counts what is computed with tensors, so the numbers must stay in them."
_PRODUCT = problem("not-allowed/product")
_WITHOUT_COPY = problem("not-allowed/without-copy")
_TENSOR = problem("not-allowed/tensor")

# Names of torch, of a module within it, or of a tensor.
EXPLAINED = {
    "scaled_dot_product_attention": _READY_MADE,
    "multi_head_attention_forward": _READY_MADE,
    "MultiheadAttention": _READY_MADE,
    "nn": _MODULES,
    "functional": _MODULES,
    "no_grad": GRADIENTS,
    "inference_mode": GRADIENTS,
    "enable_grad": GRADIENTS,
    "set_grad_enabled": GRADIENTS,
    "autograd": GRADIENTS,
    "backward": GRADIENTS,
    "grad": GRADIENTS,
    "detach": GRADIENTS,
    "detach_": GRADIENTS,
    "requires_grad": GRADIENTS,
    "requires_grad_": GRADIENTS,
    "register_hook": GRADIENTS,
    "compile": _COMPILERS,
    "jit": _COMPILERS,
    "func": _COMPILERS,
    "vmap": _COMPILERS,
    "fx": _COMPILERS,
    "load": _FILES,
    "save": _FILES,
    "from_file": _FILES,
    "rand": _RANDOM,
    "randn": _RANDOM,
    "rand_like": _RANDOM,
    "randn_like": _RANDOM,
    "randint": _RANDOM,
    "cuda": _DEVICES,
    "cpu": _DEVICES,
    "mps": _DEVICES,
    "numpy": problem("not-allowed/numpy"),
    "from_numpy": problem("not-allowed/numpy"),
    "tolist": problem("not-allowed/tolist"),
    "item": problem("not-allowed/item"),
    "data": problem("not-allowed/data"),
    "pow": problem("not-allowed/pow"),
    "mm": _PRODUCT,
    "addmm": _PRODUCT,
    "dot": _PRODUCT,
    "t": problem("not-allowed/t"),
    "concat": problem("not-allowed/concat"),
    "concatenate": problem("not-allowed/concat"),
    "as_strided": _WITHOUT_COPY,
    "set_": _WITHOUT_COPY,
    "resize_": _WITHOUT_COPY,
    "clip": problem("not-allowed/clip"),
    "tensor": _TENSOR,
    "Tensor": _TENSOR,
    "as_tensor": _TENSOR,
    "einops": problem("not-allowed/einops"),
    "rearrange": problem("not-allowed/einops"),
    "ceil": problem("not-allowed/ceil"),
    "apply": problem("not-allowed/apply"),
    "apply_": problem("not-allowed/apply"),
    "map_": problem("not-allowed/apply"),
}

# Keyword arguments.
KEYWORDS = {"out": problem("call/out"), "requires_grad": problem("call/requires-grad")}
LESSON = "Use what the lesson uses: torch.exp, x.amax, x.sum, slices, …"
LEAVE_OUT = "Leave it out: no lesson needs it."
KEYWORD = problem("call/keyword")

UNDERSCORE = problem("attribute/underscore")
PYTHON_ONLY = "A function has arithmetic, comparisons, for, if, and what torch has, and little else of Python."
NOT_SEEN = "A function sees no such name from outside: write the value in it, or define it in a line above."
NOT_KEPT = (
    "Of the file, the judge keeps plain functions, without decorators, and constants that are numbers: SCALE = 0.5, "
    'NEG_INF = -float("inf").'
)

# What may not stand in a def line.
PARAMETERS = problem("parameters/parameters")
TYPE_PARAMETERS = problem("parameters/type-parameters")
DEFAULT = problem("parameters/default")
ANNOTATION = problem("annotation/annotation")

# What depends on where it stands.
TEXT = problem("syntax/text")
LONG_TEXT = problem("syntax/long-text")
LARGE_NUMBER = problem("syntax/large-number")
CONSTANT = problem("syntax/constant")
TOWER = problem("syntax/tower")
ASSERT_MESSAGE = problem("syntax/assert-message")
CALLED = problem("call/called")
STARRED = problem("call/starred")
SPLAT = problem("call/splat")
EQUATION = problem("call/equation")
PRINT_WITHOUT_TEXT = problem("call/print-without-text")
OTHER_DEVICE = problem("call/other-device")
FUNCTION = problem("function-as-value/function")
TARGET = problem("syntax/target")
STARRED_TARGET = problem("syntax/starred-target")
FOR_ELSE = problem("syntax/for-else")
COMPREHENSION = problem("syntax/comprehension")
RECURSION = problem("recursion/recursion")
NO_GRAD = problem("syntax/no-grad")

# Syntax that is refused wherever it stands.
SYNTAX: dict[type[ast.AST], Problem] = {
    ast.While: problem("syntax/while"),
    ast.JoinedStr: problem("syntax/joined-str"),
    ast.Is: problem("syntax/is"),
    ast.IsNot: problem("syntax/is-not"),
    ast.LShift: problem("syntax/lshift"),
    ast.RShift: problem("syntax/rshift"),
    ast.GeneratorExp: problem("syntax/generator-exp"),
    ast.Dict: problem("syntax/dict"),
    ast.DictComp: problem("syntax/dict"),
    ast.Set: problem("syntax/set"),
    ast.SetComp: problem("syntax/set"),
    ast.Import: problem("syntax/import"),
    ast.ImportFrom: problem("syntax/import"),
    ast.Raise: problem("syntax/raise"),
    ast.Try: problem("syntax/try"),
    ast.With: problem("syntax/with"),
    ast.Lambda: problem("syntax/lambda"),
    ast.FunctionDef: problem("syntax/function-def"),
    ast.ClassDef: problem("syntax/class-def"),
    ast.NamedExpr: problem("syntax/named-expr"),
    ast.In: problem("syntax/in"),
    ast.NotIn: problem("syntax/not-in"),
    ast.Delete: problem("syntax/delete"),
    ast.Global: problem("syntax/global"),
    ast.Nonlocal: problem("syntax/nonlocal"),
    ast.Yield: problem("syntax/yield"),
    ast.YieldFrom: problem("syntax/yield"),
    ast.Await: problem("syntax/await"),
    ast.AsyncFor: problem("syntax/async-for"),
    ast.AsyncWith: problem("syntax/async-for"),
    ast.AsyncFunctionDef: problem("syntax/async-for"),
    ast.Match: problem("syntax/match"),
    ast.Starred: problem("syntax/starred"),
}
