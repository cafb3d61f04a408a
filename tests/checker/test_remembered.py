"""What is remembered of types is what Triton itself says of them, and what it refuses stays refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from tests.conftest import ROOT

# In a process of its own: what is put before Triton's own functions stays there.
SCRIPT = """
import itertools, json, sys
import triton.language as tl
from triton.runtime import interpreter
from checker.box.remembered import remember

DTYPES = [tl.float16, tl.float32, tl.int1, tl.int32, tl.int64, tl.uint64, tl.pointer_type(tl.float32)]
SHAPES = [[8], [16], [8, 16], [16, 8], [1, 16], tl.tuple([tl.constexpr(8), 1]), [tl.constexpr(4)]]
ODD = [[], [3], [8.0], ["8"], [[8]], [True], 8, (8,), (16,), None]

def told():
    said = []
    for dtype, shape in itertools.product(DTYPES, SHAPES):
        block = tl.block_type(dtype, shape)
        other = block.with_element_ty(tl.int32)
        said.append([str(block), str(other), block.numel, list(map(int, block.shape)), bool(block == other)])
        for one in (block, other, dtype):
            tensor = tl.tensor(("handle", len(said)), one)
            extents = [extent.value for extent in tensor.shape]
            said.append([str(tensor.type), str(tensor.dtype), tensor.numel.value, extents, tensor.handle[1]])
        said.append(str(interpreter._get_np_dtype(dtype)))
    for dtype, shape in itertools.product(DTYPES[:2], ODD):
        try:
            said.append(str(tl.block_type(dtype, shape)))
        except Exception as error:
            said.append([type(error).__name__, str(error)])
    return said

plain = told()
remember(interpreter)
print(json.dumps([plain, told(), told()]))
"""


def test_types_are_what_triton_makes_of_them() -> None:
    variables = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    plain, first, second = json.loads(done.stdout)
    assert plain == first == second
    assert len(plain) > 200 and any(one[0].endswith("Error") for one in plain if isinstance(one, list))
