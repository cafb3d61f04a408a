"""Memory around argument tensors on a GPU, with NumPy's in its place; and the compiler's jobs for it."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checker import catalog
from checker.course import places
from checker.sandbox.inside.gpu import cuda, driver
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.results import MARKS
from tests.conftest import ROOT, STEMS_OF_KERNELS, ran

LAYOUTS = [
    ((6, 5), (7, 1)),
    ((3, 4, 5), (1000, 7, 1)),
    ((3, 1, 16), (1043, 2147, 1)),
    ((5, 6), (1, 9)),  # transposed
    ((7,), (1,)),
    ((7,), (3,)),
    ((2, 3, 4), (4, 8, 2000)),
    ((40, 20), (41, 1)),  # more rows than are copied at once
    ((2, 3, 40, 4), (100_000, 30_000, 600, 1)),
]


class Memory:
    """A substitute for `driver.Memory`, in an array."""

    def __init__(self, extent: int, dtype: Any):
        self.dtype = np.dtype(dtype)
        self.elements = np.zeros(extent, dtype)

    def fill(self, bits: int, rows: driver.Rows | None = None) -> None:
        self._seen(rows)[...] = bits

    def store(self, elements: Any, rows: driver.Rows) -> None:
        assert elements.dtype == self.dtype and elements.flags.c_contiguous
        self._seen(rows)[...] = elements

    def load(self, rows: driver.Rows | None = None) -> Any:
        return self._seen(rows).copy()

    def _seen(self, rows: driver.Rows | None) -> Any:
        if rows is None:
            return self.elements[None]
        assert rows.number == 1 or rows.pitch * self.dtype.itemsize <= driver.GREATEST_PITCH
        last = rows.first + (rows.number - 1) * rows.pitch + rows.count
        assert rows.first >= 0 and last <= self.elements.size
        strides = (rows.pitch * self.dtype.itemsize, self.dtype.itemsize)
        return np.lib.stride_tricks.as_strided(self.elements[rows.first :], (rows.number, rows.count), strides)


@pytest.fixture(params=[cuda._WHOLE, 300], ids=["copied whole", "piece by piece"])
def _in_numpy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "Memory", Memory)
    monkeypatch.setattr(cuda, "_WHOLE", request.param)
    monkeypatch.setattr(cuda, "_AT_ONCE", request.param)
    monkeypatch.setattr(driver, "GREATEST_PITCH", 8000)  # bytes, so some rows lie too far apart
    monkeypatch.setattr(cuda, "_changes", lambda memory, nan: bool((memory.elements != nan).any()))


def buffer_of(values: Any, strides: tuple[int, ...], *, bf16: bool = False, output: bool = False) -> cuda.Buffer:
    buffer = cuda.Buffer(TensorArgument(values, strides, bf16=bf16, output=output))
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


def test_a_copy_in_two_dimensions_is_told_as_cuda_h_has_it() -> None:
    copy = driver._Copy2D
    offsets = copy.srcHost.offset, copy.srcPitch.offset, copy.dstXInBytes.offset, copy.WidthInBytes.offset
    assert (ctypes.sizeof(copy), offsets) == (128, (24, 48, 56, 112))


@pytest.mark.usefixtures("_in_numpy")
@pytest.mark.parametrize(("dtype", "bf16"), [("float32", False), ("float16", False), ("float32", True)])
def test_an_output_holds_the_mark_until_it_is_written(dtype: str, bf16: bool) -> None:
    buffer = buffer_of(np.full((3, 4), np.nan, dtype), (9, 2), bf16=bf16, output=True)
    dense, outside = buffer.read()
    bits = np.frombuffer(dense, np.uint32 if dtype == "float32" else np.uint16)
    assert (bits == MARKS[dtype]).all() and not outside


def test_arguments_are_specialised_as_at_a_launch_of_tritons_own() -> None:
    tensors = {"x_ptr": TensorArgument(np.zeros(4, np.float32), (1,), bf16=True)}
    scalars = {"a": ("int64", 1), "b": ("int64", 32), "c": ("int32", 2**31), "d": ("float32", 1.0), "e": ("int32", 7)}
    launch = Launch("kernel", (7, 1, 1), tensors, scalars, {"D": 16})
    form = launch.form()
    assert form.signature == {"x_ptr": "*bf16", "b": "i32", "c": "i64", "d": "fp32", "e": "i32"}
    assert form.constexprs == {"D": 16, "a": 1} and form.multiples == ("b", "c")
    assert launch.form(ones=False).signature["a"] == "i32"


def test_kernels_are_compiled_side_by_side_and_kept_on_disk(tmp_path: Path) -> None:
    """Such as the two that count: no launch asks for more here, and no GPU is needed for that."""
    compiled = (
        "import os; from checker.sandbox.inside.gpu import jobs; [os.waitpid(pid, 0) for pid in jobs.compiling({}, [])]"
    )
    variables = {"PATH": "/usr/bin:/bin", "TRITON_CACHE_DIR": str(tmp_path), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", compiled], env=variables, cwd=ROOT, check=True)
    assert len(list(tmp_path.rglob("*.cubin"))) == 2


PRINTED = """
import sys
from pathlib import Path
import numpy as np
from checker.sandbox.inside.gpu import jobs
from checker.sandbox.inside.gpu import cuda
from checker.sandbox.protocol.launch import Launch, TensorArgument

path, name = "submission.py", "naive_softmax_kernel"
Path(path).write_text(Path(sys.argv[1]).read_text())
kernel = cuda.load_kernels(path, Path(path).read_text(), [name])[name]
tensors = {one: TensorArgument(np.zeros(7, "f4"), (1,)) for one in ("x_ptr", "y_ptr")}
scalars = {one: ("int32", 7) for one in ("x_row_stride", "y_row_stride", "n_cols")}
for grid, block in ((128, 1, 1), 8), ((129, 1, 1), 8), ((3, 43, 1), 8), ((4, 1, 1), 4096), ((5, 1, 1), 4096):
    launch = Launch(name, grid, tensors, scalars, {"BLOCK_SIZE": block})
    print("vprintf" in jobs.compiled(kernel, jobs.job_of(launch)).asm["ptx"])
"""


TOO_LARGE = """
import dataclasses, sys
from pathlib import Path
import numpy as np
from checker.sandbox.inside.gpu import jobs
from checker.sandbox.inside.gpu import cuda
from checker.sandbox.protocol.launch import Launch, TensorArgument

Path("submission.py").write_text(text := Path(sys.argv[1]).read_text())
jobs.gpu = dataclasses.replace(jobs.gpu, shared=int(sys.argv[2]))
kernel = cuda.load_kernels("submission.py", text, ["matmul_kernel"])["matmul_kernel"]
tensors = {name: TensorArgument(np.zeros(64, "f2"), (1,)) for name in ("a_ptr", "b_ptr", "c_ptr")}
blocks = dict.fromkeys(("Bm", "Bn", "Bk"), 64)
scalars = {name: ("int32", 64) for name in kernel.arg_names if name not in {*tensors, *blocks}}
job = jobs.job_of(Launch("matmul_kernel", (1, 1, 1), tensors, scalars, blocks))
try:
    print(jobs.fitted(kernel, job).metadata.num_stages)
    cuda._function(kernel, job)
except cuda.OutOfResources as problem:
    print(problem)
except cuda.driver.DriverError:
    print("loaded")
"""


@pytest.mark.parametrize(
    ("shared", "stages", "said"), [(227 << 10, 3, "loaded"), (40 << 10, 2, "loaded"), (9 << 10, 1, "out of resource")]
)
def test_a_launch_takes_fewer_stages_on_a_small_gpu(shared: int, stages: int, said: str, tmp_path: Path) -> None:
    """No GPU is needed to see which; loading what was compiled fails without one."""
    variables = {"PATH": "/usr/bin:/bin", "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    kernel = ROOT / "solutions" / "a1_matmul.py"
    done = ran(sys.executable, "-c", TOO_LARGE, kernel, str(shared), cwd=tmp_path, ends=0, env=variables)
    taken, told = done.stdout.split("\n")[:2]
    assert int(taken) == stages
    assert told.startswith(said) and "num_stages" not in told


ON_A_T4 = """
import dataclasses, json, sys
from pathlib import Path
from checker import catalog
from checker.sandbox.inside.gpu import cuda, driver, jobs
from checker.sandbox.protocol.fitting import smallest_tiles, tile
from checker.course.case import for_gpu
from checker.judge.requests import launch_of

Path("submission.py").write_text(text := Path(sys.argv[1]).read_text())
puzzle = catalog.load(sys.argv[2])
jobs.gpu = dataclasses.replace(jobs.gpu, capability=75, shared=int(sys.argv[3]))
kernels = cuda.load_kernels("submission.py", text, [kernel.name for kernel in puzzle.kernels])
usual = [case for case in puzzle.cases(puzzle.draw()) if not case.once]
large = puzzle.large_cases(puzzle.draw()) if puzzle.large_cases else []
cases = [for_gpu(case) for case in (*usual, *large)]
cuda._smallest.update(smallest_tiles((case.kernel, case.constexprs) for case in cases))
fitting, found = set(), {}
for case in sorted(cases, key=lambda case: tile(case.constexprs), reverse=True):
    kind = (case.kernel, *(tensor.type for tensor in case.tensors.values()), case.constexprs.get("D"))
    said = "fits" if kind in fitting else "no room"  # what is smaller fits as well
    try:
        if kind not in fitting:
            cuda._run(kernels[case.kernel], launch_of(case, puzzle), {})
    except cuda.TileTooLarge:
        said = "left out"
    except cuda.OutOfResources:
        pass
    except driver.DriverError:  # it was compiled, and is to be loaded
        said = "fits"
        fitting.add(kind)
    for name in case.proves:
        found.setdefault(name, set()).add(said)
print(json.dumps({name: sorted(said) for name, said in found.items()}))
"""


def on_a_t4(puzzle_id: str, folder: Path, shared: int = 64 << 10) -> dict[str, list[str]]:
    """By property, what becomes of the launches that show it, in a check of the solution on such a card."""
    variables = {"PATH": "/usr/bin:/bin", "TRITON_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-c", ON_A_T4, places.solution(puzzle_id), puzzle_id, str(shared)]
    done = ran(*line, cwd=folder, ends=0, env=variables)
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("puzzle_id", STEMS_OF_KERNELS)
def test_on_a_t4_a_launch_has_room_or_is_left_out_and_every_property_is_shown(puzzle_id: str, tmp_path: Path) -> None:
    """64 KB of shared memory, and no tensor cores that Triton uses. No GPU is needed to see it."""
    found = on_a_t4(puzzle_id, tmp_path)
    assert found.keys() == {one.name for one in catalog.load(puzzle_id).properties}
    for name, said in found.items():
        assert "fits" in said and "no room" not in said, name


def test_on_a_card_with_next_to_nothing_a_solution_has_no_room(tmp_path: Path) -> None:
    assert any("no room" in said for said in on_a_t4("a1", tmp_path, 1 << 10).values())


def test_a_launch_that_would_print_many_lines_prints_nothing(tmp_path: Path) -> None:
    """A line for each element of a tile, or each thread: 3001 programs of 128 threads took 19 s on an H100."""
    variables = {"PATH": "/usr/bin:/bin", "TRITON_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    kernel = ROOT / "tests" / "right" / "p1_prints.py"
    done = ran(sys.executable, "-c", PRINTED, kernel, cwd=tmp_path, ends=0, env=variables)
    assert done.stdout.split() == ["True", "False", "False", "True", "False"]
    assert len(list(tmp_path.rglob("*.cubin"))) == 4
