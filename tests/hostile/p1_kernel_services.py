"""Read and leave secrets in the keyring of the kernel, trace others, ask for page faults and io_uring.

Lint on: forbidden
Lint off: crashed
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    import ctypes, os
    libc = ctypes.CDLL(None)
    done = [
        libc.syscall(250, 0, -3, 1) >= 0,
        libc.syscall(248, b"user", b"left-behind", b"x", 1, -4) >= 0,
        libc.syscall(101, 16, os.getppid(), 0, 0) == 0,
        libc.syscall(323, 1) >= 0,
        libc.syscall(425, 8, bytes(120)) >= 0,
        libc.syscall(321, 0, bytes(120), 120) >= 0,
        libc.syscall(298, bytes(128), 0, -1, -1, 0) >= 0,
    ]
    raise PermissionError(f"{sum(done)} calls were allowed")
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
