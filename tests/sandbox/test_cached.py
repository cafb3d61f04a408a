"""Cached results for types and operands are Triton's own; those that it refuses stay refused."""

from __future__ import annotations

import json
import sys

from tests.conftest import ran

# In a process of its own: what is put before Triton's own functions stays there.
SCRIPT = """
import itertools, json, sys
import numpy as np
import triton.language as tl
from triton.runtime import interpreter
from checker.sandbox.inside import patches

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

HOW = [(), (True, True), (True, False), (False, False, False), (False, False, True, True)]
WIDTHS = [np.bool_, np.float16, np.float32, np.int32, np.int64, np.float64]

OPERATIONS = [("add", False), ("sub", True), ("mul", True), ("truediv",), ("less_than",), ("and_",)]

def tensor(dtype, shape, first=0):
    numbers = np.arange(first, first + np.prod(shape, dtype=int)).reshape(shape or 1)
    values = numbers.astype(interpreter._get_np_dtype(dtype))
    return tl.tensor(interpreter.TensorHandle(values, dtype), tl.block_type(dtype, shape) if shape else dtype)

def tried(call, *arguments):
    try:
        made = call(*arguments)
    except Exception as error:
        return [type(error).__name__, str(error)]
    made = made if isinstance(made, tuple) else (made,)
    return [[str(one.type), str(one.handle.data.dtype), one.handle.data.tolist(), one.handle.attr] for one in made]

def made():
    semantic, said = interpreter.interpreter_semantic, []
    operands = [tensor(dtype, shape) for dtype in DTYPES for shape in ([], [4], [1, 4], [2, 1])]
    for lhs, rhs in itertools.product(operands, [*operands, 3, -1, 2.5, True]):
        said += [tried(semantic.binary_op_type_checking_impl, lhs, rhs, *how) for how in HOW]
        said += [tried(getattr(semantic, name), lhs, rhs, *how) for name, *how in OPERATIONS]
        if isinstance(rhs, tl.tensor):
            said.append(tried(semantic.cast, lhs, rhs.dtype))
            said.append(tried(semantic.broadcast_impl_value, lhs, rhs))
    for dtype in DTYPES[:4]:  # the same operand twice, then two of the same type
        one, two = tensor(dtype, [4], 1), tensor(dtype, [4], 2)
        said += [tried(semantic.sub, *pair, False) for pair in ((one, one), (two, one), (one, two), (one, one))]
    for operand, axis in itertools.product(operands, (0, 1, 2, 3, -1, tl.constexpr(0))):
        said.append(tried(semantic.expand_dims, operand, axis))
    for dtype, width in itertools.product(DTYPES, WIDTHS):
        said.append(tried(lambda: tl.tensor(interpreter.TensorHandle(np.zeros(2, width), dtype), dtype)))
    return said

plain = told(), made()
patches.apply(group for group in patches.TABLE if not group.without)
print(json.dumps([plain, (told(), made()), (told(), made())]))
"""


def test_types_and_operands_are_what_triton_makes_of_them() -> None:
    done = ran(sys.executable, "-c", SCRIPT, ends=0, TRITON_INTERPRET="1")
    plain, first, second = json.loads(done.stdout)
    assert plain == first == second
    for said in plain:
        refused = sum(isinstance(one[0], str) and one[0].endswith("Error") for one in said if isinstance(one, list))
        assert len(said) > 200 and 0 < refused < len(said) / 2
