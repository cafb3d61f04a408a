"""How argument tensors lie on a GPU: margins, gaps and marks, with memory of NumPy in the place of a GPU's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker.box.inside import cuda, driver
from checker.box.protocol.results import MARKS
from tests.conftest import ROOT

LAYOUTS = [
    ((6, 5), (7, 1)),
    ((3, 4, 5), (1000, 7, 1)),
    ((3, 1, 16), (1043, 2147, 1)),
    ((5, 6), (1, 9)),  # transposed
    ((7,), (1,)),
    ((7,), (3,)),
    ((2, 3, 4), (4, 8, 2000)),
]


class Memory:
    """What `driver.Memory` does, in an array."""

    def __init__(self, extent: int, dtype: Any):
        self.dtype = np.dtype(dtype)
        self.elements = np.zeros(extent, dtype)

    def fill(self, bits: int, first: int = 0, count: int | None = None) -> None:
        self.elements[first : None if count is None else first + count] = bits

    def store(self, elements: Any, first: int = 0) -> None:
        assert elements.dtype == self.dtype and elements.flags.c_contiguous
        self.elements[first : first + elements.size] = elements

    def load(self, first: int = 0, count: int | None = None) -> Any:
        return self.elements[first : None if count is None else first + count].copy()


@pytest.fixture(params=[cuda._WHOLE, 300], ids=["copied whole", "piece by piece"])
def _in_numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "Memory", Memory)
    monkeypatch.setattr(cuda, "_WHOLE", request.param)
    monkeypatch.setattr(cuda, "_changes", lambda memory, nan: bool((memory.elements != nan).any()))


def buffer_of(values: Any, strides: tuple[int, ...], *, bf16: bool = False, output: bool = False) -> cuda.Buffer:
    spec = {"name": "x", "shape": values.shape, "strides": strides, "bf16": bf16, "output": output}
    buffer = cuda.Buffer({**spec, "dtype": values.dtype.name}, values.ravel())
    buffer.fill()
    return buffer


@pytest.mark.usefixtures("_in_numpy")
@pytest.mark.parametrize(("shape", "strides"), LAYOUTS)
@pytest.mark.parametrize(("dtype", "bf16"), [("float32", False), ("float16", False), ("float32", True)])
def test_values_lie_where_strides_say_and_any_other_element_is_watched(
    shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, bf16: bool
) -> None:
    random = np.random.default_rng(0)
    values = random.standard_normal(shape).astype(dtype)
    if bf16:
        values = (values.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    buffer = buffer_of(values, strides, bf16=bf16)
    memory: Any = buffer.memory
    own = [cuda.MARGIN + int(np.dot(index, strides)) for index in np.ndindex(*shape)]
    stored = memory.elements[own]
    seen = stored.astype(np.uint32) << 16 if bf16 else stored
    assert seen.view(dtype).tolist() == values.ravel().tolist()
    others = np.setdiff1d(np.arange(memory.elements.size), own)
    assert (memory.elements[others] == cuda._NAN[buffer.type]).all()
    before = memory.elements.copy()
    assert buffer.read() == (values.tobytes(), False)
    for changed in (others[0], others[-1], *random.choice(others, 5)):
        memory.elements = before.copy()
        memory.elements[changed] ^= 1
        assert buffer.read() == (values.tobytes(), True), changed


@pytest.mark.usefixtures("_in_numpy")
@pytest.mark.parametrize(("dtype", "bf16"), [("float32", False), ("float16", False), ("float32", True)])
def test_an_output_holds_the_mark_until_it_is_written(dtype: str, bf16: bool) -> None:
    buffer = buffer_of(np.full((3, 4), np.nan, dtype), (9, 2), bf16=bf16, output=True)
    dense, outside = buffer.read()
    bits = np.frombuffer(dense, np.uint32 if dtype == "float32" else np.uint16)
    assert (bits == MARKS[dtype]).all() and not outside


def test_bf16_is_rounded_to_nearest_and_ties_to_even() -> None:
    bits = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF, 0x7FC00001], np.uint32)
    assert cuda._bits_of(bits.view(np.float32), "bfloat16").tolist() == [0x3F80, 0x3F82, 0x3F81, 0x7F80, 0x7FC0]


def test_arguments_are_specialised_as_at_a_launch_of_tritons_own() -> None:
    launch = {
        "tensors": [{"name": "x_ptr", "dtype": "float32", "bf16": True}],
        "scalars": {
            "a": ("int64", 1),
            "b": ("int64", 32),
            "c": ("int32", 2**31),
            "d": ("float32", 1.0),
            "e": ("int32", 7),
        },
        "constexprs": {"D": 16},
    }
    job = cuda._job(launch)
    assert job["signature"] == {"x_ptr": "*bf16", "b": "i32", "c": "i64", "d": "fp32", "e": "i32"}
    assert job["constexprs"] == {"D": 16, "a": 1} and job["multiples"] == ["b", "c"]
    assert cuda._job(launch, ones=False)["signature"]["a"] == "i32"


def test_the_counting_kernel_compiles(tmp_path: Path) -> None:
    compiled = (
        "from checker.box.inside import cuda, driver, untouched;"
        "cuda._gpu.append(driver.Gpu('a GPU', 80, 0));"
        "print(*(bool(cuda._compiled(untouched.count_kernel, job).asm['cubin']) for job in untouched.JOBS))"
    )
    variables = {"PATH": "/usr/bin:/bin", "TRITON_CACHE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", compiled], env=variables, cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"], done.stderr
