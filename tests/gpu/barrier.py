"""`python3 -m tests.gpu.barrier`: FlashAttention-1 with its barrier and without, many runs of each.

O, l and m are stored by other threads than those that load them in the next turn of the outer loop.
Prints how many of the runs were wrong, and whether all runs of a kernel gave the same bits.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.kernels import named

RUNS = 200
SHAPES = ((64, 1024, 64, 64, 64), (64, 1024, 64, 32, 128), (32, 512, 128, 32, 64))  # heads, n, D, Br, Bc


def kernel_of(path: Path) -> Any:
    """The kernel in a file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.flash_attention_1_kernel


def wrong_runs(kernel: Any, heads: int, n: int, d: int, br: int, bc: int, warps: int) -> tuple[int, int]:
    """(runs whose O is off by more than 1 %, different results) of RUNS."""
    import torch

    torch.manual_seed(0)
    q, k, v = (torch.randn(heads, n, d, device="cuda", dtype=torch.float16) for _ in range(3))
    scale = d**-0.5
    right = torch.softmax(scale * (q.double() @ k.double().transpose(1, 2)), dim=-1) @ v.double()
    wrong, seen = 0, set()
    for _ in range(RUNS):
        o = torch.zeros(q.shape, device="cuda")
        l, m = torch.zeros(q.shape[:2], device="cuda"), torch.full(q.shape[:2], -float("inf"), device="cuda")
        strides = (q.stride(0), q.stride(1), k.stride(0), k.stride(1))
        kernel[(heads,)](q, k, v, o, l, m, *strides, n, n, scale, D=d, Br=br, Bc=bc, num_warps=warps)
        wrong += not bool(((o.double() - right).norm() / right.norm()) < 0.01)
        seen.add(hash(o.cpu().numpy().tobytes()))
    return wrong, len(seen)


def main() -> None:
    """Print the table."""
    import torch
    import triton

    lines = [
        f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}; {RUNS} runs each.",
        "",
        "| kernel | heads, n, D, Br, Bc | warps | wrong runs | different results |",
        "|---|---|---|---|---|",
    ]
    for title, name in (("with barrier", "p5_flash_attention_1"), ("without", "p5_no_barrier")):
        kernel = kernel_of(named(name).write(Path(tempfile.mkdtemp())))
        for shape in SHAPES:
            for warps in (4, 8):
                wrong, different = wrong_runs(kernel, *shape, warps)
                lines.append(f"| {title} | {', '.join(map(str, shape))} | {warps} | {wrong} | {different} |")
    print("\n".join(lines))
    Path(os.environ.get("OUT", tempfile.gettempdir()), "barrier.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
