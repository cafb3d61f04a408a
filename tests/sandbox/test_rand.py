"""`tl.rand` in the sandbox is Triton's own, bit for bit, in NumPy; on a GPU: tests/gpu/semantics.py."""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

import numpy as np
import pytest

from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol import philox
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.results import LaunchResult
from tests.conftest import ROOT, ran

# Triton's own function, as it was before anything was patched, and the sandbox's, in a process that interprets: of
# drawn seeds and offsets of each type and shape. With `standin` there is no binary of Triton's.
SCRIPT = """
import json, sys
if sys.argv[1] == "standin":
    from checker.sandbox import standin
    standin.install()
import numpy as np
from checker.sandbox.inside import interpreter as sandbox
import triton.language as tl
from triton.runtime import interpreter
from hypothesis import given, settings, strategies as st

plain = tl.rand
sandbox.prepare()
own = tl.rand
KINDS = {"int32": tl.int32, "int64": tl.int64, "uint32": tl.uint32, "uint64": tl.uint64, "int16": tl.int16}
told = {"tried": 0, "seeds": 0}

def tensor(values):
    kind = KINDS[values.dtype.name]
    whole = kind if values.shape == (1,) else tl.block_type(kind, list(values.shape))
    return tl.tensor(interpreter.TensorHandle(values, kind), whole)

def same(seed, offsets, *rounds):
    right, made = plain(seed, tensor(offsets), *rounds), own(seed, tensor(offsets), *rounds)
    one, other = right.handle.data, made.handle.data
    assert one.dtype == other.dtype == np.float32 and one.shape == other.shape == offsets.shape
    assert one.tobytes() == other.tobytes(), (seed, offsets)
    assert right.type == made.type and right.dtype == made.dtype
    for mark in ("sums", "rounded", "counts"):
        assert getattr(made.handle, mark) == getattr(tensor(offsets).handle, mark)
    assert (0 <= other).all() and (other < 1).all()
    told["tried"] += 1

@settings(max_examples=int(sys.argv[2]), deadline=None, derandomize=True)
@given(
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-5, 5), st.sampled_from([2**31, 2**32, 2**63 - 1])),
    st.sampled_from([(1,), (4,), (2, 8)]),
    st.sampled_from(list(KINDS)),
    st.integers(0, 2**32),
)
def drawn(seed, shape, kind, source):
    most, least = min(2**40, np.iinfo(kind).max), max(-(2**40), np.iinfo(kind).min)
    offsets = np.random.default_rng(source).integers(least, most, shape).astype(kind)
    same(seed, offsets)
    same(tensor(np.array([seed], np.int64)), offsets)
    told["seeds"] += 1

drawn()
for rounds in (0, 1, 7, 12):
    same(7, np.arange(16, dtype=np.int64) << 35, rounds)
same(tensor(np.array([5], np.int32)), np.array([2**31 - 1, -(2**31)], np.int32))
same(tl.constexpr(5), np.arange(4, dtype=np.int64))
blocks = tensor(np.arange(4, dtype=np.int64)), tensor(np.arange(4, dtype=np.int64))
assert (plain(*blocks).handle.data == own(*blocks).handle.data).all()  # a block of seeds
print(json.dumps(told))
"""


def tried(how: str, examples: int) -> dict[str, int]:
    done = ran(sys.executable, "-c", SCRIPT, how, str(examples), ends=0, TRITON_INTERPRET="1")
    told: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_the_numbers_are_tritons_own() -> None:
    told = tried("triton", 60)
    assert told["tried"] > 100 and told["seeds"] >= 60


def test_the_numbers_are_the_same_without_tritons_binary() -> None:
    assert tried("standin", 15)["tried"] > 20


def test_known_numbers() -> None:
    """Those of Salmon et al.'s own test of Philox 4x32 with ten rounds, all zeros; and of two seeds and offsets."""
    zeros = philox.rand(0, np.zeros(1, np.int64))
    first = 0x6627E8D5  # of the paper's vectors
    assert zeros[0] == np.float32(first) * np.float32(4.6566127342e-10)
    ones = philox.rand(-1, np.array([-1], np.int64))
    assert ones.shape == (1,) and 0 <= ones[0] < 1


KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, n_q, n_k, seed, B: tl.constexpr):
    at = tl.arange(0, B)
    position = {position}
    tl.store(y_ptr + at, tl.rand(seed, position))
"""


def run(position: str, seed: int = 9, checked: bool = True) -> LaunchResult:
    """One launch in the sandbox that stores numbers of 16 positions."""
    tensors = {name: TensorArgument(np.zeros(16, np.float32), (1,)) for name in ("x_ptr", "y_ptr")}
    scalars: dict[str, Any] = {"n_q": ("int32", 70_000), "n_k": ("int32", 70_000), "seed": ("int64", seed)}
    with Sandbox(Limits()) as sandbox:
        launch = Launch("kernel", (1, 1, 1), tensors, scalars, {"B": 16}, checked_arithmetic=checked)
        answers = sandbox.run(KERNEL.format(position=position), ["kernel"], [launch], [[(0, [0])]]).passes[0]
    assert answers.malformed is None and answers.loading is None, answers
    return answers.results[0]


@pytest.mark.parametrize("seed", [0, 9, 2**31, 2**40 + 3, -4])
def test_a_kernel_gets_them(seed: int) -> None:
    result = run("at.to(tl.int64) * n_q * n_k", seed)
    assert result.error is None, result.error
    wanted = philox.rand(seed, np.arange(16, dtype=np.int64) * 70_000 * 70_000)
    assert result.tensors["y_ptr"].tolist() == wanted.tolist()


def test_what_overflows_on_the_way_to_an_offset_is_seen() -> None:
    """Inside Philox products overflow all the time, and nothing is said of that."""
    assert "overflow" in str(run("(at + n_q) * n_k").error)
    assert run("(at + n_q).to(tl.int64) * n_k").error is None


def test_both_sides_of_the_wall_have_one_philox() -> None:
    """What the judge expects, and what a kernel gets, come from the same lines; Triton's own are the test above."""
    using = [
        path.relative_to(ROOT / "checker").as_posix()
        for path in (ROOT / "checker").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "philox" for alias in node.names)
    ]
    assert sorted(using) == ["catalog/attention/dropped.py", "sandbox/inside/rand.py"]
