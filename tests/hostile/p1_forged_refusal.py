"""Answer in the sandbox's language, with a refusal that has a list where a name belongs.

Lint on: forbidden
Lint off: malformed-output
"""

import triton
import triton.language as tl


@triton.jit
def naive_softmax_kernel(x_ptr, y_ptr, x_row_stride, y_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    import os, sys
    from checker.sandbox.protocol import wire
    frame = sys._getframe()
    while "stream" not in frame.f_locals:
        frame = frame.f_back
    stream = frame.f_locals["stream"]
    while "header" not in frame.f_locals:
        frame = frame.f_back
    header = frame.f_locals["header"]
    number, _ = header["passes"][frame.f_locals["number"]][0]
    refused = dict.fromkeys(("kind", "program", "line", "first", "lowest", "highest", "lanes", "outside"), 0)
    answer = {"launch": number, "refused": {**refused, "tensor": ["x_ptr"]}, "error": None, "again": 0}
    os.write(stream.fileno(), wire.pack(answer, [bytes(1536), bytes(1536), b"", b""]))
    os._exit(0)
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_SIZE)
    mask = cols < n_cols
    x = tl.load(x_ptr + row * x_row_stride + cols, mask=mask, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x)
    tl.store(y_ptr + row * y_row_stride + cols, numerator / tl.sum(numerator, axis=0), mask=mask)
