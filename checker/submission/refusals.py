"""Sentences on names that are not on the allow-list: the reason, and a replacement.

Two kinds. *Not taken*: this course does without it, whether Triton has it or not. *Does not compile*: the
interpreter, which is Python, would run it, but no GPU ever will; a test compiles an example of each.
"""

from __future__ import annotations

from checker.submission.problem import KEEP, Problem, Problems

problem = Problems(
    __file__,
    uncompilable=(
        *("not-a-kernel", "indexed/indexed", "recursion", "returns-a-value"),
        *("print-without-text", "print-of-texts", "python-type", "global-not-constexpr", "two-hints"),
    ),
    alike={"ImportFrom": "Import"},
)


def not_taken(what: str, hint: str = KEEP, id: str = "syntax") -> Problem:
    """Of what Triton has."""
    return Problem(id, f"This course does not allow {what}.", hint)


# Names of tl, of a module within it, or of a value, that deserve a sentence of their own.
EXPLAINED = problem.by_word(
    {
        "not-allowed/four-at-once": "rand4x randint4x randn4x",
        "not-allowed/other-numbers": "randn randint philox",
        "not-allowed/softmax": "softmax",
        "not-allowed/block-pointers": "make_block_ptr advance",
        "not-allowed/descriptors": "make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor",
        "not-allowed/scans": "associative_scan cumsum cumprod",
        "not-allowed/view": "view",
        "not-allowed/cat": "cat",
        "not-allowed/inline-asm-elementwise": "inline_asm_elementwise",
    }
)
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
PYTORCH_KEYWORDS = problem.by_word({"pytorch-word/dim": "dim", "pytorch-word/keepdim": "keepdim"})

HOST_MODULES = frozenset({"np", "numpy", "torch", "math", "jnp", "F"})
PYTHON_IN_TRITON = frozenset({"len", "list", "isinstance", "getattr", "hasattr"})  # these compile
PYTHON_ONLY = "A kernel has arithmetic, comparisons, for, if, and the functions of tl, and little else of Python."
LESSON = "Use the functions that the lesson uses: tl.load, tl.exp, tl.sum, …"
ATTRIBUTE = "Of a block x there are x.to(type), x.dtype and x.shape. Nearly everything else is a function of tl."
NOT_SEEN = (
    "A kernel does not see such a name from outside: write the value in the kernel, or define it in a line above."
)
