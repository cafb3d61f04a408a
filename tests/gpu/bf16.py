"""`python3 -m tests.gpu.bf16`: every operation on bf16, on a GPU and on the interpreter, compared bit for bit.

Each is a line of a kernel that has read a and b, blocks of bf16, and stores z, of a type that it names. Numbers of
every kind go in: ties of roundings, subnormals, what overflows, infinities, NaN. Prints what differs, and ends with 1
if something does for no reason that is known.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from checker.course.case import as_bf16
from checker.sandbox.parent import Limits, Sandbox
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import Launch, TensorArgument

SIDE = 16
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Operation:
    """A line that gives z, and the type that z is stored as."""

    line: str
    kind: str = "bf16"  # or float32, float16
    differs: str = ""  # why it does, where it does

    @property
    def name(self) -> str:
        """Of its kernel."""
        return f"kernel_{OPERATIONS.index(self)}"

    @property
    def source(self) -> str:
        """Its kernel."""
        return f"""
@triton.jit
def {self.name}(a_ptr, b_ptr, z_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :]
    a, b = tl.load(a_ptr + at), tl.load(b_ptr + at)
    z = {self.line}
    tl.store(z_ptr + at, z)
"""


A32 = "a.to(tl.float32)"
FUSED = "a GPU may round a product and a sum once, both together"
ORDER = "sums are added up in another order"
BEYOND = "what is beyond 16 bits becomes another number of 8"
NAN = "NaN is the largest here, and not there"
FLUSHED = "a root of a subnormal number is 0"
OPERATIONS = (
    *(Operation(f"a {sign} b") for sign in "+-*/"),
    *(Operation(f"a {sign} 1.7") for sign in "+-*"),
    *(Operation(f"a {sign} n") for sign in "+*"),
    Operation("-a"),
    Operation("tl.abs(a)"),
    Operation("a * b + a", differs=FUSED),
    Operation("tl.fma(a, b, a)"),
    Operation("tl.maximum(a, b)"),
    Operation("tl.minimum(a, b)"),
    Operation("tl.where(a > b, a, b)"),
    Operation("tl.where(a == b, a, 0.3)"),
    *(Operation(f"(a {sign} b).to(tl.float32)", "float32") for sign in ("<", "<=", "==", "!=")),
    Operation("(a != a).to(tl.float32)", "float32"),
    Operation("tl.full((B, B), 1.7, tl.bfloat16) * a"),
    Operation("tl.zeros((B, B), tl.bfloat16) + a"),
    Operation(A32, "float32"),
    Operation("a.to(tl.float16)", "float16"),
    Operation("a.to(tl.float16)"),
    Operation("a.to(tl.float64).to(tl.float32)", "float32"),
    *(Operation(f"a.to(tl.{kind}).to(tl.float32)", "float32") for kind in ("int16", "int32", "int64")),
    *(Operation(f"a.to(tl.{kind}).to(tl.float32)", "float32", BEYOND) for kind in ("int8", "uint8")),
    Operation("(a > 0)"),
    Operation("(at * 1003 - 70000).to(tl.bfloat16)"),
    Operation("(at.to(tl.int64) * 100000007).to(tl.bfloat16)"),
    Operation("(at % 2 == 0).to(tl.bfloat16)"),
    Operation(f"{A32} * 1.0039", "bf16"),
    Operation(f"({A32} * 1.0039).to(tl.bfloat16)", "bf16"),
    Operation(f"({A32} * 1.0039).to(tl.bfloat16).to(tl.float32)", "float32"),
    Operation(f"({A32} * 1.0039).to(tl.float16).to(tl.bfloat16)", "bf16"),
    Operation("a.to(tl.int16, bitcast=True).to(tl.float32)", "float32"),
    Operation("at.to(tl.int16).to(tl.bfloat16, bitcast=True)"),
    Operation("tl.trans(a)"),
    Operation("tl.max(a, axis=1)[:, None] + tl.zeros((B, B), tl.float32)", "float32"),
    Operation("tl.min(a, axis=0)[None, :] + tl.zeros((B, B), tl.float32)", "float32"),
    Operation("tl.argmax(a, axis=1)[:, None] + tl.zeros((B, B), tl.float32)", "float32", NAN),
    Operation("tl.dot(a, b)", "float32", ORDER),
    Operation("tl.dot(a, tl.trans(b))", differs=ORDER),
    Operation("tl.dot(a, b).to(tl.bfloat16) + a", differs=ORDER),
    Operation("tl.broadcast_to(tl.sum(a, axis=1)[:, None], (B, B))", differs=ORDER),
    Operation("tl.broadcast_to(tl.sum(a, axis=0)[None, :], (B, B))", "float32", ORDER),
    Operation(f"tl.exp({A32} * 0.01)", "bf16"),
    Operation(f"tl.sqrt(tl.abs({A32}))", differs=FLUSHED),
)


def inputs(kind: int) -> list[npt.NDArray[np.float32]]:
    """a and b: normal numbers (0), numbers of which many are ties once added (1), numbers of every kind (2)."""
    random = np.random.default_rng(kind)
    if kind == 0:
        return [as_bf16(random.normal(0, 1, (SIDE, SIDE))) for _ in range(2)]
    if kind == 1:
        return [as_bf16(random.integers(-300, 300, (SIDE, SIDE)) / 2.0 ** random.integers(0, 9)) for _ in range(2)]
    bits = random.integers(0, 1 << 16, (2, SIDE, SIDE)).astype(np.uint32) << 16
    bits[:, 0, :8] = np.array([0, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 1, 0x7F7F, 0x0080], np.uint32) << 16
    return list(bits.view(np.float32))


def launches(operation: Operation) -> list[Launch]:
    """One for each kind of inputs."""
    half, dtype = operation.kind == "bf16", "float32" if operation.kind == "bf16" else operation.kind
    made = []
    for kind in range(3):
        a, b = (TensorArgument(x, (SIDE, 1), bf16=True) for x in inputs(kind))
        z = TensorArgument(np.zeros((SIDE, SIDE), dtype), (SIDE, 1), bf16=half)
        tensors = {"a_ptr": a, "b_ptr": b, "z_ptr": z}
        made.append(Launch(operation.name, (1, 1, 1), tensors, {"n": ("int32", 3)}, {"B": SIDE}))
    return made


def results(device: Device, *operations: Operation) -> list[list[Numbers]]:
    """Of each operation what z is after each launch. Raises RuntimeError for what is not computed."""
    own = [(one, launch) for one in operations for launch in launches(one)]
    source = "\n".join(["import triton", "import triton.language as tl", *(one.source for one in operations)])
    names = [one.name for one in operations]
    with Sandbox(Limits(cpu_seconds=300, wall_seconds=300), device) as sandbox:
        asked = [(number, range(1)) for number in range(len(own))]
        done = sandbox.run(source, names, [launch for _, launch in own], [asked]).passes[0]
    found: dict[str, list[Numbers]] = {name: [] for name in names}
    for number, (operation, _) in enumerate(own):
        result = done.results.get(number)
        if result is None or result.error:
            raise RuntimeError(f"{operation.line}: {done.loading or done.malformed or (result and result.error)}")
        found[operation.name].append(result.tensors["z_ptr"].astype(np.float64))
    return list(found.values())


def same(one: Numbers, other: Numbers) -> npt.NDArray[np.bool_]:
    """Which numbers are alike; NaN is like NaN."""
    return np.asarray((one == other) | (np.isnan(one) & np.isnan(other)))


def main() -> int:
    """Print what differs; 1 if anything does that should not."""
    failed = 0
    found = (results(device, *OPERATIONS) for device in (Device.INTERPRETER, Device.CUDA))
    for operation, here, there in zip(OPERATIONS, *found, strict=True):
        wrong = sum(int((~same(one, other)).sum()) for one, other in zip(here, there, strict=True))
        failed += wrong > 0 and not operation.differs
        if wrong:
            print(f"`{operation.line}`, {operation.kind}: {wrong} of {3 * SIDE**2} numbers. {operation.differs}")
    print(f"{len(OPERATIONS)} operations, {failed} that differ for no known reason")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
