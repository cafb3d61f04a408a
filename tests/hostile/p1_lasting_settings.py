"""Change what outlives the process: priorities, shared memory, message queues, times of files.

Lint on: forbidden
Lint off: crashed
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    import ctypes
    import os

    libc = ctypes.CDLL(None, use_errno=True)
    done = [
        libc.setpriority(0, os.getppid(), 5) == 0,
        libc.syscall(64, 0, 1, 0o1600) >= 0,
        libc.syscall(240, b"left-behind", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0,
        libc.syscall(261, -100, b"/tmp", None) == 0,
    ]
    raise PermissionError(f"{sum(done)} settings were changed")
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
