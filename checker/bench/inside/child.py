"""Kernels and peers on one GPU, in one process, one after the other.

Says how much memory is free, reads one request, and answers with a JSON object a line: what it is doing, what the GPU
can do, and what was measured at each size.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import torch
from triton.runtime import driver
from triton.runtime.errors import OutOfResources
from triton.testing import do_bench

from checker.bench.inside.peers import COMPILED, WORKS, Run, Tensors
from checker.bench.inside.request import Launch, Request, Size, Tensor
from checker.sandbox.inside.lowering import executed

QUANTILES = (0.5, 0.2, 0.8)
ENOUGH = 0.02  # ‖ours − right‖ / ‖right‖; bf16 comes to 0.004
_ROUNDS = 4
# At its power limit a card lowers its clocks (an H200 at 700 W: after 0.8 s a softmax is a quarter slower). Without
# rests, what runs just before decides how fast a kernel looks.
_REST = 0.1  # seconds, before each measurement
_TRIAL = 20  # milliseconds, to choose among launch parameters
_COPIED = 4 << 30  # bytes
_COMPILERS = 8  # processes, each with a CUDA context of its own
_SIDE = 8192  # of the product that the matrix peak is measured with
_FORK = multiprocessing.get_context("fork")

Form = dict[str, Any]  # the names that a submission defines
Times = tuple[float, float, float]  # median, low and high, in milliseconds


def main() -> None:
    """Serve one request and exit."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what Triton and torch print is not the answer

    def say(**fields: Any) -> None:
        answer.write(json.dumps(fields) + "\n")

    # A process that has started CUDA cannot be forked: until all is compiled, only others start it.
    with ProcessPoolExecutor(1, _FORK) as pool:
        say(**pool.submit(_gpu).result())
    request: Request = json.loads(sys.stdin.read())
    forms = {name: _loaded(name, source) for name, source in request["sources"].items()}
    say(doing="compiling")
    _compile_ahead(request["sizes"], forms)
    say(doing="copy and matrix product")
    versions = {"torch": torch.__version__, "triton": sys.modules["triton"].__version__}
    say(gpu=torch.cuda.get_device_name(), copy=_copy(), matrix=_matrix(), versions=versions)
    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))  # nobody has seen these inputs
    for size in request["sizes"]:
        timings, left_out = _timed(size, forms, request["own"], request["milliseconds"], lambda doing: say(doing=doing))
        say(timings=timings, left_out=left_out)


def _gpu() -> dict[str, Any]:
    """Free bytes, Triton's name for the GPU, and the bytes of shared memory that a program may have."""
    major, minor = torch.cuda.get_device_capability()
    properties = driver.active.utils.get_device_properties(torch.cuda.current_device())
    return {
        "free": torch.cuda.mem_get_info()[0],
        "target": f"sm_{major}{minor}",
        "shared": properties["max_shared_mem"],
    }


def _loaded(name: str, source: str) -> Form:
    """Return a submission's kernels, from the syntax tree that was linted; Triton wants the text in a file too."""
    path = f"{os.getcwd()}/{name.replace(' ', '_').replace(os.sep, '_')}.py"
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(source)
    return executed(source, path)


def _compile_ahead(sizes: list[Size], forms: dict[str, Form]) -> None:
    """Compile on all cores, into the cache on disk."""
    jobs: dict[str, tuple[Form, Launch]] = {}
    for launch in (launch for size in sizes for kernel in size["kernels"] for launch in kernel):
        types = [tensor["dtype"] for tensor in launch["tensors"].values()]
        for name, form in forms.items():
            jobs.setdefault(f"{name} {launch['tuning']} {launch['constexprs']} {types}", (form, launch))
    count = min(_COMPILERS, os.cpu_count() or 1)
    workers = [_FORK.Process(target=_compile, args=(list(jobs.values())[n::count],)) for n in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _compile(jobs: list[tuple[Form, Launch]]) -> None:
    for form, launch in jobs:
        with contextlib.suppress(Exception):  # what does not compile is told when it is to be timed
            tensors = {name: _empty(tensor, [64]) for name, tensor in launch["tensors"].items()}
            _launcher(form, launch, tensors, only_compile=True)()


def _empty(tensor: Tensor, shape: list[int]) -> torch.Tensor:
    return torch.empty(shape, dtype=getattr(torch, tensor["dtype"]), device="cuda")


def _bench(run: Run, milliseconds: int) -> Times:
    """Triton empties the L2 before each run."""
    run()
    torch.cuda.synchronize()
    time.sleep(_REST)
    median, low, high = do_bench(run, warmup=milliseconds // 4, rep=milliseconds, quantiles=QUANTILES)
    return float(median), float(low), float(high)


def _copy() -> float:
    """GB/s of a large copy, counting what is read and what is written."""
    free, _ = torch.cuda.mem_get_info()
    size = min(_COPIED, free // 8)
    source = torch.empty(size, dtype=torch.int8, device="cuda").random_(-128, 127)
    target = torch.empty_like(source)
    return 2 * size / _bench(lambda: target.copy_(source), 100)[0] * 1e-6


def _matrix() -> float:
    """TFLOP/s of a large fp16 product of random numbers."""
    a, b = (torch.randn(_SIDE, _SIDE, dtype=torch.float16, device="cuda") for _ in range(2))
    return float(2 * _SIDE**3 / _bench(lambda: a @ b, 100)[0] * 1e-9)


def _timed(
    size: Size, forms: dict[str, Form], own: dict[str, str], milliseconds: int, doing: Callable[[str], None]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return every form and every peer at one size, alternately: whatever the GPU's clocks do, they do to all.

    The fields of each timing, and what could not be timed, with the reason.
    """
    work = WORKS[size["work"]]
    tensors = _tensors(size)
    scalars = size["kernels"][0][0]["scalars"]
    work.complete(tensors, scalars)
    right = work.reference(tensors, scalars)
    peers = dict(work.functions)
    if not size["usual"]:
        peers.pop(COMPILED, None)  # it would take most of the time
    runs: dict[str, Run] = {}  # those that are timed alternately
    tunings: dict[str, str] = {}
    timings: list[dict[str, Any]] = []
    left_out: list[str] = []
    for name in (*forms, *own, *peers):
        doing(f"{size['name']}: {name}")
        try:
            if name in forms:
                runs[name], tunings[name] = _fastest(forms[name], size, tensors, right)
                continue
            if name in own:
                runs[name], tunings[name] = _by_itself(own[name], size, tensors, right), "launches itself"
                continue
            run = work.run(torch.compile(peers[name], dynamic=False) if name == COMPILED else peers[name], tensors)
            if name in work.alone:
                timings.append(_timing(name, [_bench(run, milliseconds)]))
            else:
                run()
                runs[name] = run
        except _Wrong as problem:
            left_out.append(f"{name}: {problem}")
        except torch.OutOfMemoryError:
            left_out.append(f"{name}: not enough memory")
        except Exception as error:
            torch.cuda.synchronize()  # raises if the GPU will take no more from this process
            said = str(error).strip() or "no message"
            left_out.append(f"{name}: {type(error).__name__}: {said.splitlines()[0][:200]}")
        torch.cuda.empty_cache()
    rounds: dict[str, list[Times]] = {name: [] for name in runs}
    for turn in range(_ROUNDS):
        doing(f"{size['name']}: round {turn + 1} of {_ROUNDS}")
        for name, run in runs.items():
            rounds[name].append(_bench(run, milliseconds // _ROUNDS))
    return timings + [_timing(name, times, tunings.get(name)) for name, times in rounds.items()], left_out


def _timing(name: str, rounds: list[Times], tuning: str | None = None) -> dict[str, Any]:
    median, low, high = (statistics.median(which) for which in zip(*rounds, strict=True))
    return {"name": name, "median": median, "low": low, "high": high, "tuning": tuning or "", "peer": tuning is None}


class _Wrong(Exception):
    """A kernel's results are wrong at this size, or it is none for it: it is not timed."""


def _fastest(form: Form, size: Size, tensors: Tensors, right: Tensors) -> tuple[Run, str]:
    """Return what launches all kernels of one form, each with its fastest parameters, and these;
    checked before timed.
    """
    runs, tunings = [], []
    for launches in size["kernels"]:
        tried: list[tuple[float, Run, str]] = []
        problem = None
        for launch in launches:
            run = _launcher(form, launch, tensors)
            try:
                _check(run, [launch], tensors, right)
                milliseconds = _bench(run, _TRIAL)[0] if len(launches) > 1 else 0.0
            except OutOfResources as error:  # these blocks do not fit; others may
                problem = error
            else:
                tried.append((milliseconds, run, launch["tuning"]))
        if problem is not None and not tried:
            raise problem
        _, run, tuning = min(tried, key=lambda one: one[0])
        runs.append(run)
        tunings.append(tuning)
    return (lambda: [run() for run in runs]), "; ".join(tunings)


def _by_itself(path: str, size: Size, tensors: Tensors, right: Tensors) -> Run:
    """Return what calls the `launch` of a file of ours, with those arguments of the kernels that it names; checked.

    It raises ValueError if this GPU or this size is none for it, and cannot be imported where Triton lacks what it
    is written in.
    """
    asked = [launches[0] for launches in size["kernels"]]
    values: dict[str, Any] = dict(tensors)
    for one in asked:
        values |= one["scalars"] | one["constexprs"]
    spec = spec_from_file_location("launches_itself", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        arguments = {name: values[name] for name in inspect.signature(module.launch).parameters}
        _check(lambda: module.launch(**arguments), asked, tensors, right)
    except (ImportError, ValueError) as error:
        raise _Wrong(str(error)) from error
    return lambda: module.launch(**arguments)


def _launcher(form: Form, launch: Launch, tensors: Tensors, *, only_compile: bool = False) -> Run:
    """Return what launches a kernel once, or only compiles it."""
    kernel, grid = form[launch["kernel"]], tuple(launch["grid"])
    arguments: dict[str, Any] = {name: _argument(name, tensor, tensors) for name, tensor in launch["tensors"].items()}
    arguments |= launch["scalars"] | launch["constexprs"]
    options = {"num_warps": launch["num_warps"], "num_stages": launch["num_stages"]}
    if launch["maxnreg"]:
        options["maxnreg"] = launch["maxnreg"]
    return lambda: kernel.run(**arguments, **options, grid=grid, warmup=only_compile)


def _argument(name: str, tensor: Tensor, tensors: Tensors) -> torch.Tensor:
    """Return a tensor that all launches share; or scratch of this one alone: another grid could not read what it
    leaves.
    """
    return _empty(tensor, tensor["shape"]).zero_() if tensor["scratch"] else tensors[name]


def _check(run: Run, launches: list[Launch], tensors: Tensors, right: Tensors) -> None:
    """Run once from a clean start, and compare. Also leaves the outputs behind that the next kernel starts from."""
    outputs = {
        name: tensor["value"]
        for launch in launches
        for name, tensor in launch["tensors"].items()
        if tensor["value"] is not None and not tensor["scratch"]
    }
    for name, value in outputs.items():
        tensors[name].fill_(value)
    run()
    torch.cuda.synchronize()
    for name in outputs:
        output = name.removesuffix("_ptr")
        if not bool(torch.isfinite(tensors[name]).all()):
            raise _Wrong(f"{output} has elements that are not numbers")
        if name in right:
            ours = tensors[name][: len(right[name])].double()
            off = float((ours - right[name]).norm() / right[name].double().norm())
            if off > ENOUGH:
                raise _Wrong(f"{output} is wrong at this size, by {off:.0%}")


def _tensors(size: Size) -> Tensors:
    """Fresh random inputs, and room for what is written first."""
    made: Tensors = {}
    for kernel in size["kernels"]:
        for name, tensor in kernel[0]["tensors"].items():
            if name not in made and not tensor["scratch"]:
                made[name] = _empty(tensor, tensor["shape"])
                if tensor["value"] is None:
                    made[name].normal_()
    return made
