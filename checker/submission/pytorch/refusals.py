"""Sentences on names that are not on PyTorch's allow-list: the reason, and a replacement."""

from __future__ import annotations

from checker.submission.problem import Problems

problem = Problems(
    __file__,
    alike={"DictComp": "Dict", "SetComp": "Set", "ImportFrom": "Import", "YieldFrom": "Yield"}
    | dict.fromkeys(("AsyncWith", "AsyncFunctionDef"), "AsyncFor"),
)

# Names of torch, of a module within it, or of a tensor.
EXPLAINED = problem.by_word(
    {
        "not-allowed/ready-made": "scaled_dot_product_attention multi_head_attention_forward MultiheadAttention",
        "not-allowed/modules": "nn functional",
        "not-allowed/gradients": """
            no_grad inference_mode enable_grad set_grad_enabled autograd backward grad
            detach detach_ requires_grad requires_grad_ register_hook
        """,
        "not-allowed/compilers": "compile jit func vmap fx",
        "not-allowed/files": "load save from_file",
        "not-allowed/random": "rand randn rand_like randn_like randint",
        "not-allowed/devices": "cuda cpu mps",
        "not-allowed/numpy": "numpy from_numpy",
        "not-allowed/tolist": "tolist",
        "not-allowed/item": "item",
        "not-allowed/data": "data",
        "not-allowed/pow": "pow",
        "not-allowed/product": "mm addmm dot",
        "not-allowed/t": "t",
        "not-allowed/concat": "concat concatenate",
        "not-allowed/without-copy": "as_strided set_ resize_",
        "not-allowed/clip": "clip",
        "not-allowed/tensor": "tensor Tensor as_tensor",
        "not-allowed/einops": "einops rearrange",
        "not-allowed/ceil": "ceil",
        "not-allowed/apply": "apply apply_ map_",
    }
)

KEYWORDS = problem.by_word({"call/out": "out", "call/requires-grad": "requires_grad"})
LESSON = "Use what the lesson uses: torch.exp, x.amax, x.sum, slices, …"
LEAVE_OUT = "Leave it out: no lesson needs it."
PYTHON_ONLY = "A function has arithmetic, comparisons, for, if, and what torch has, and little else of Python."
NOT_SEEN = "A function sees no such name from outside: write the value in it, or define it in a line above."
