"""Leave by the back door: the root and working folders of other processes, and inherited descriptors.

Lint on: forbidden
Lint off: crashed or time-limit
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    import os
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            for way in ("root", "cwd", *(f"fd/{n}" for n in range(8))):
                for name in ("etc/passwd", "../../../etc/passwd"):
                    if os.path.exists(f"/proc/{pid}/{way}/{name}"):
                        found.append(f"{way}/{name}")
    raise ValueError(f"read {len(found)}: {sorted(set(found))}")
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
