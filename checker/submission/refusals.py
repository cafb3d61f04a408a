"""What is said of that which is not on the allow-list: what it is, and what to write instead.

Two kinds. *Not taken*: this course does without it, whether Triton has it or not. *Does not compile*: the
interpreter, which is Python, would run it, but no GPU ever will; a test compiles an example of each.
"""

from __future__ import annotations

import ast

from checker.submission.problem import KEEP, Problem


def not_taken(what: str, hint: str = KEEP, id: str = "syntax") -> Problem:
    """Of what Triton has."""
    return Problem(id, f"This course does not allow {what}.", hint)


def misplaced(word: str, hint: str = KEEP) -> Problem:
    """Of a form of Python's that no kernel needs."""
    return Problem("syntax", f"Python's `{word}` has no place in a kernel.", hint)


def uncompilable(hint: str, id: str = "not-a-kernel") -> Problem:
    """Of what Triton refuses itself."""
    return Problem(id, "Triton cannot compile this for a GPU.", hint, compiles=False)


# Names of tl, of a module within it, or of a value, that deserve a sentence of their own.
_BLOCK_POINTERS = not_taken(
    "block pointers", "Triton 3.7 deprecates them, and 3.8 has none: use pointers and masks.", "not-allowed"
)
_DESCRIPTORS = not_taken(
    "tensor descriptors",
    "They need strides that are multiples of 16 bytes, and the judge's may be any: use pointers and masks.",
    "not-allowed",
)
_SCANS = not_taken(
    "scans", "No puzzle needs a running result at every element: use tl.sum, tl.max or tl.reduce.", "not-allowed"
)
_VIEW = not_taken(
    "view, which may reorder the elements on a GPU", "Use tl.reshape, which keeps their order.", "not-allowed"
)
_FOUR_AT_ONCE = not_taken(
    "random numbers four at a time",
    "They are not the numbers that the puzzle asks for: write tl.rand(seed, offset), which gives each offset its own.",
    "not-allowed",
)
_OTHER_NUMBERS = not_taken(
    "random numbers of another kind",
    "Write tl.rand(seed, offset): one number for each offset, from 0 to 1, all of them equally likely.",
    "not-allowed",
)
EXPLAINED = {
    **dict.fromkeys(("rand4x", "randint4x", "randn4x"), _FOUR_AT_ONCE),
    **dict.fromkeys(("randn", "randint", "philox"), _OTHER_NUMBERS),
    "softmax": not_taken("a ready-made softmax", "That is what you are here to write.", "not-allowed"),
    "make_block_ptr": _BLOCK_POINTERS,
    "advance": _BLOCK_POINTERS,
    "make_tensor_descriptor": _DESCRIPTORS,
    "load_tensor_descriptor": _DESCRIPTORS,
    "store_tensor_descriptor": _DESCRIPTORS,
    "associative_scan": _SCANS,
    "cumsum": _SCANS,
    "cumprod": _SCANS,
    "view": _VIEW,
    "cat": not_taken(
        "tl.cat",
        "With can_reorder, a GPU may reorder its elements. Use tl.join(a, b), then tl.permute and tl.reshape.",
        "not-allowed",
    ),
    "inline_asm_elementwise": not_taken("assembly", "The puzzles are written in tl alone.", "not-allowed"),
}
CAN_REORDER = not_taken("can_reorder", "A GPU may then give the elements in any order: leave it out.", "not-allowed")
COMBINE = not_taken(
    "tl.reduce with any function but your own",
    "Define it at the top level of the file, with @triton.jit: def add(a, b): return a + b.",
    "not-allowed",
)
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
PYTORCH_KEYWORDS = {
    "dim": Problem("pytorch-word", "`dim=` is PyTorch's word.", "Write axis= instead."),
    "keepdim": Problem("pytorch-word", "`keepdim=` is PyTorch's word.", "Write keep_dims= instead."),
}

HOST_MODULES = frozenset({"np", "numpy", "torch", "math", "jnp", "F"})
PYTHON_IN_TRITON = frozenset({"len", "list", "isinstance", "getattr", "hasattr"})  # these compile
PYTHON_ONLY = "A kernel has arithmetic, comparisons, for, if, and the functions of tl, and little else of Python."
LESSON = "Use the functions that the lesson uses: tl.load, tl.exp, tl.sum, …"
ATTRIBUTE = "Of a block x there are x.to(type), x.dtype and x.shape. Nearly everything else is a function of tl."
NOT_SEEN = (
    "A kernel does not see such a name from outside: write the value in the kernel, or define it in a line above."
)

# What may not stand in a def line.
PARAMETERS = not_taken("parameters with * or /", "Name each one: def helper(a, b).", "parameters")
TYPE_PARAMETERS = Problem(
    "parameters", "Kernels and helpers have no type parameters.", "Leave out the brackets after the name."
)
DEFAULT = not_taken(
    "this default value",
    "A default is a number, a text, True, False, None, or a type such as tl.float32.",
    "parameters",
)
PARAMETER_ANNOTATION = not_taken(
    "this annotation", "A helper's may be tl.constexpr, tl.tensor, or a type such as tl.float32.", "annotation"
)
ANNOTATION = Problem(
    "annotation",
    "Inside a kernel, this course takes no annotation but tl.constexpr.",
    "Triton ignores others: after `a: tl.float32 = 0`, a is an integer. Write a = 0.0, or tl.cast(a, tl.float32).",
)

# What depends on where it stands.
ASSERT_MESSAGE = not_taken("a message that is not a text", 'Write assert n > 0, "n is not positive".')
LONG_TEXT = Problem("syntax", "Text inside a kernel must fit on one line.", "Shorten it, or print several texts.")
LARGE_NUMBER = Problem(
    "syntax",
    "This number does not fit into 64 bits.",
    "Sizes and strides are arguments: use these, or a small number.",
)
CONSTANT = Problem("syntax", "A kernel's constants are numbers, True, False and None.", "Write one of these.")
CALLED = not_taken("calls of anything but a named function", "Call a function by its own name.", "call")
STARRED = not_taken("`*` in a call", "Name the arguments one by one.", "call")
KEYWORD = Problem(
    "call", "This keyword argument has no place in a kernel.", "Leave it out, or look up its name in the lesson."
)
INDEXED = uncompilable(
    "Neither a pointer nor a block can be indexed. Memory is reached by tl.load(x_ptr + offsets) and "
    "tl.store; of a block there is only [:, None] and [None, :].",
    "indexed",
)
INDEXED_BY_A_NUMBER = not_taken(
    "a number as an index",
    "A block has no single elements: memory is reached by tl.load. A tuple is taken apart by a, b = pair.",
    "indexed",
)
CHAINED_ASSIGNMENT = uncompilable("Triton cannot compile `a = b = …`: write two assignments.")
TARGET = uncompilable(
    "A kernel assigns to names only. A pointer is not a tensor: tl.load(x_ptr + offsets, ...) reads what lies there, "
    "and tl.store writes it. To choose between values lane by lane, use tl.where."
)
LOOP = uncompilable("A kernel loops over range, tl.range or tl.static_range only.")
FOR_ELSE = uncompilable("Triton cannot compile `for … else`.")
CHAINED_COMPARISON = not_taken("`a < b < c`", "Write (a < b) & (b < c), with parentheses.")
RECURSION = uncompilable("Triton cannot compile a function that calls itself.", "recursion")
RETURNS = uncompilable("A kernel returns nothing: its result is what it stores.", "returns-a-value")
PRINT_WITHOUT_TEXT = uncompilable('Begin with a text, then the values: print("x", x).', "print-without-text")
PRINT_OF_TEXTS = uncompilable(
    'Only the first thing printed can be a text. Write a print for each: print("m", m), then print("l", l).',
    "print-of-texts",
)
PYTHON_TYPE = uncompilable("A block's types are those of tl: x.to(tl.float32).", "python-type")
NOT_A_FUNCTION = uncompilable("This is not a function. For another type, write x.to(tl.float32).")

# Syntax that is refused wherever it stands.
SYNTAX: dict[type[ast.AST], Problem] = {
    ast.While: not_taken(
        "`while`", "Use a `for` loop over range: its number of iterations is known when the loop starts."
    ),
    ast.List: not_taken("`[…]` here", "Write a shape with parentheses, (16, 32); else use a block, or variables."),
    ast.ListComp: not_taken("comprehensions", "Use a block, or a `for` loop over range."),
    ast.JoinedStr: not_taken('f"…"', 'Write print("x", x): a text first, then values.'),
    ast.Pow: not_taken("`**`", "Write a product, or tl.exp, tl.exp2 or tl.sqrt. A scale is passed as an argument."),
    ast.Is: not_taken("`is`, except with None", "Write a == b."),
    ast.IsNot: not_taken("`is not`, except with None", "Write a != b."),
    ast.Import: misplaced("import", "Everything that a kernel needs is in tl."),
    ast.ImportFrom: misplaced("import", "Everything that a kernel needs is in tl."),
    ast.Raise: misplaced("raise", "Use tl.device_assert if you want to check something."),
    ast.Try: misplaced("try", "A kernel has no exceptions."),
    ast.With: misplaced("with", "A kernel has no contexts."),
    ast.Lambda: misplaced("lambda", "Define a helper at the top level, with @triton.jit."),
    ast.NamedExpr: misplaced(":=", "Write an assignment on a line of its own."),
    ast.In: misplaced("in", "Compare with == instead."),
    ast.NotIn: misplaced("not in", "Compare with != instead."),
    ast.Delete: misplaced("del"),
    ast.Global: misplaced("global"),
    ast.Nonlocal: misplaced("nonlocal"),
    ast.ClassDef: misplaced("class"),
    ast.Yield: misplaced("yield"),
    ast.Starred: misplaced("*"),
    ast.Break: uncompilable("Triton cannot compile `break`: give the loop the right bounds instead."),
    ast.Continue: uncompilable("Triton cannot compile `continue`: use `if` or a mask instead."),
    ast.Dict: uncompilable("A kernel has no dictionaries: use separate variables."),
    ast.Set: uncompilable("A kernel has no sets: use separate variables."),
    ast.GeneratorExp: uncompilable("A kernel has no generators: use a block, or a `for` loop over range."),
    ast.MatMult: uncompilable("Write tl.dot(a, b) for a matrix product."),
    ast.FunctionDef: uncompilable("Define helpers at the top level of the file, with @triton.jit."),
}
