"""What is said of that which is not on PyTorch's allow-list: what it is, and what to write instead."""

from __future__ import annotations

import ast

from checker.submission.problem import KEEP, Problem
from checker.submission.refusals import not_taken


def misplaced(word: str, hint: str = KEEP) -> Problem:
    """Of a form of Python's that no function of the course needs."""
    return Problem("syntax", f"Python's `{word}` has no place in this function.", hint)


def _not_allowed(what: str, hint: str) -> Problem:
    return not_taken(what, hint, "not-allowed")


_READY_MADE = _not_allowed("ready-made attention", "That is what you are here to write.")
_MODULES = _not_allowed("torch.nn", "Use torch.exp, torch.sum and their like: the lesson has what you need.")
_BY_HAND = "Leave it out. Where a puzzle wants gradients, write the lesson's formulas."
GRADIENTS = _not_allowed("automatic differentiation", _BY_HAND)
_COMPILERS = _not_allowed("what compiles or transforms functions", "Write the loops as they are.")
_FILES = _not_allowed("files", "The function works on its arguments and returns its results.")
_RANDOM = _not_allowed("random numbers", "Attention needs none: use torch.zeros, torch.ones or torch.full.")
_DEVICES = _not_allowed("other devices", "The judge runs your function on the CPU, so leave it out.")
_NUMBERS = "The judge counts what is computed with tensors, so the numbers must stay in them."
_PRODUCT = _not_allowed("another word for a matrix product", "Write a @ b, torch.matmul(a, b) or torch.einsum.")
_WITHOUT_COPY = _not_allowed("strides of your own", "Use slices, transpose and reshape.")
_TENSOR = _not_allowed(
    "tensors made of Python's numbers", 'Use torch.full(size, value); torch.where(mask, x, -float("inf")) needs none.'
)

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
    "numpy": _not_allowed("NumPy's arrays", _NUMBERS),
    "from_numpy": _not_allowed("NumPy's arrays", _NUMBERS),
    "tolist": _not_allowed("lists of a tensor's numbers", _NUMBERS),
    "item": _not_allowed("a tensor's number as Python's", _NUMBERS),
    "data": _not_allowed("`.data`", "Use the tensor itself: nothing here computes gradients."),
    "pow": _not_allowed("pow", "Write x ** y."),
    "mm": _PRODUCT,
    "addmm": _PRODUCT,
    "dot": _PRODUCT,
    "t": _not_allowed("`.t`", "Write x.T, x.mT or x.transpose(-2, -1)."),
    "concat": _not_allowed("another word for torch.cat", "Write torch.cat."),
    "concatenate": _not_allowed("another word for torch.cat", "Write torch.cat."),
    "as_strided": _WITHOUT_COPY,
    "set_": _WITHOUT_COPY,
    "resize_": _WITHOUT_COPY,
    "clip": _not_allowed("another word for torch.clamp", "Write torch.clamp."),
    "tensor": _TENSOR,
    "Tensor": _TENSOR,
    "as_tensor": _TENSOR,
    "einops": _not_allowed("einops", "Use x.reshape, x.transpose or torch.einsum."),
    "rearrange": _not_allowed("einops", "Use x.reshape, x.transpose or torch.einsum."),
    "ceil": _not_allowed("ceil", "Write (n + size - 1) // size: it needs no fractions."),
    "apply": _not_allowed("functions of Python on a tensor", "Use what torch has: it works on whole tiles."),
    "apply_": _not_allowed("functions of Python on a tensor", "Use what torch has: it works on whole tiles."),
    "map_": _not_allowed("functions of Python on a tensor", "Use what torch has: it works on whole tiles."),
}

# Keyword arguments.
KEYWORDS = {
    "out": not_taken("`out=`", "Assign the result: x = torch.exp(y), or x[...] = torch.exp(y).", "call"),
    "requires_grad": not_taken("`requires_grad`", _BY_HAND, "call"),
}
LESSON = "Use what the lesson uses: torch.exp, x.amax, x.sum, slices, …"
LEAVE_OUT = "Leave it out: no lesson needs it."
KEYWORD = Problem("call", "This keyword argument is not on the list of what a function needs.", LEAVE_OUT)

UNDERSCORE = Problem("attribute", "Names that begin with an underscore are PyTorch's or Python's own.", LESSON)
PYTHON_ONLY = "A function has arithmetic, comparisons, for, if, and what torch has, and little else of Python."
NOT_SEEN = "A function sees no such name from outside: write the value in it, or define it in a line above."
NOT_KEPT = (
    "Of the file, the judge keeps plain functions, without decorators, and constants that are numbers: SCALE = 0.5, "
    'NEG_INF = -float("inf").'
)

# What may not stand in a def line.
PARAMETERS = not_taken("parameters with * or /", "Name each one: def helper(a, b).", "parameters")
TYPE_PARAMETERS = Problem(
    "parameters", "Functions have no type parameters here.", "Leave out the brackets after the name."
)
DEFAULT = not_taken("this default value", "A default is a number, True, False or None.", "parameters")
ANNOTATION = not_taken(
    "this annotation",
    "It may be torch.Tensor, int, float, None, or a tuple or a list of these. It can also be left out.",
    "annotation",
)

# What depends on where it stands.
TEXT = not_taken("text here", "It can stand in print, in assert, and as einsum's first argument.")
LONG_TEXT = Problem("syntax", "Text inside a function must fit on one line.", "Shorten it, or print several texts.")
LARGE_NUMBER = Problem(
    "syntax", "This number does not fit into 64 bits.", "Sizes are in the shapes: use those, or a smaller number."
)
CONSTANT = Problem("syntax", "A function's constants are numbers, True, False and None.", "Write one of these.")
TOWER = not_taken("a power of a power", "Such numbers grow beyond any memory. Write the exponent as a number.")
ASSERT_MESSAGE = not_taken("a message that is not a text", 'Write assert n > 0, "n is not positive".')
CALLED = not_taken("calls of anything but a named function", "Call a function by its own name.", "call")
STARRED = not_taken(
    "`*` in a call", "Name the arguments one by one; a size can be one: torch.zeros(q.shape[:-1] + (n,)).", "call"
)
SPLAT = not_taken("`**` in a call", "Name the arguments one by one.", "call")
EQUATION = not_taken(
    "an equation that is not written out", 'Write it where it is used: torch.einsum("bhid,bhjd->bhij", q, k).', "call"
)
PRINT_WITHOUT_TEXT = not_taken("print without a text", 'Begin with a text, then the values: print("m", m).', "call")
OTHER_DEVICE = not_taken("other devices", "The judge runs your function on the CPU, so leave it out.", "call")
FUNCTION = not_taken("a function as a value", "Call it where it is needed.", "function-as-value")
TARGET = not_taken(
    "assignments to this", "Assign to a name, to a tuple of names, or to a part of a tensor: o[:, i:j] = x."
)
STARRED_TARGET = not_taken("`*` in an assignment", "Write a name for each value.")
FOR_ELSE = not_taken("`for … else`", "Write what follows below the loop.")
COMPREHENSION = not_taken("more than one `for` in a list", "Use `for` loops and append.")
RECURSION = not_taken("a function that calls itself", "Use a `for` loop.", "recursion")
NO_GRAD = not_taken("torch.no_grad", "Nothing is recorded for gradients here, so it is not needed.")

# Syntax that is refused wherever it stands.
SYNTAX: dict[type[ast.AST], Problem] = {
    ast.While: not_taken("`while`", "Use a `for` loop over range; `break` may end it."),
    ast.JoinedStr: not_taken('f"…"', 'Write print("x", x): a text first, then values.'),
    ast.Is: not_taken("`is`, except with None", "Write a == b."),
    ast.IsNot: not_taken("`is not`, except with None", "Write a != b."),
    ast.LShift: not_taken("`<<`", "Write a product."),
    ast.RShift: not_taken("`>>`", "Write a quotient: a // b."),
    ast.GeneratorExp: not_taken("generators", "Write a list: [f(x) for x in y]."),
    ast.Dict: not_taken("dictionaries", "Use variables, or a list."),
    ast.DictComp: not_taken("dictionaries", "Use variables, or a list."),
    ast.Set: not_taken("sets", "Use variables, or a list."),
    ast.SetComp: not_taken("sets", "Use variables, or a list."),
    ast.Import: misplaced("import", "Everything that a function needs is in torch."),
    ast.ImportFrom: misplaced("import", "Everything that a function needs is in torch."),
    ast.Raise: misplaced("raise", "Use assert if you want to check something."),
    ast.Try: misplaced("try", "Nothing here raises what could be caught."),
    ast.With: misplaced("with", "A function has no contexts."),
    ast.Lambda: misplaced("lambda", "Define a helper at the top level of the file."),
    ast.FunctionDef: misplaced("def", "Define helpers at the top level of the file."),
    ast.ClassDef: misplaced("class", "Define helpers at the top level of the file: plain functions will do."),
    ast.NamedExpr: misplaced(":=", "Write an assignment on a line of its own."),
    ast.In: misplaced("in", "Compare with == instead."),
    ast.NotIn: misplaced("not in", "Compare with != instead."),
    ast.Delete: misplaced("del", "A tensor goes when its name gets another value, or when the function ends."),
    ast.Global: misplaced("global", "Pass values as arguments, and return them."),
    ast.Nonlocal: misplaced("nonlocal", "Pass values as arguments, and return them."),
    ast.Yield: misplaced("yield", "Return the results at the end."),
    ast.YieldFrom: misplaced("yield", "Return the results at the end."),
    ast.Await: misplaced("await"),
    ast.AsyncFor: misplaced("async"),
    ast.AsyncWith: misplaced("async"),
    ast.AsyncFunctionDef: misplaced("async"),
    ast.Match: misplaced("match", "Use if."),
    ast.Starred: misplaced("*", "Write a name for each value."),
}
