"""The benchmark's child: kernels and peers on one GPU, in one process, one after the other.

Reads one JSON request from standard input, writes one JSON object a line to the descriptor that was
standard output: progress, sizes as they are done, and a last one with what the GPU can do.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import torch
import triton
from triton.testing import do_bench

from checker import catalog
from checker.bench import peers
from checker.bench.result import Size, Timing
from checker.bench.workload import size_of
from checker.box.inside.lowering import executed
from checker.course.puzzle import Case, Puzzle, Role, Tensor, Timed, Tuning, Work

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


def main() -> None:
    """Serve one request and exit."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)  # what Triton and torch print is not the answer
    request = json.loads(sys.stdin.read())

    def say(**fields: Any) -> None:
        answer.write(json.dumps(fields) + "\n")

    torch.manual_seed(int.from_bytes(os.urandom(4), "little"))  # nobody has seen these inputs
    puzzle = catalog.load(request["puzzle"])
    kernels = {name: _loaded(name, source) for name, source in request["sources"].items()}
    assert puzzle.timed is not None
    say(doing="compiling")
    _compile_ahead(puzzle.timed, kernels, request["every"])
    say(doing="copy and matrix product")
    limits = {"copy": _copy(), "matrix": _matrix()}
    free, _ = torch.cuda.mem_get_info()
    for timed in puzzle.timed(free):
        if timed.usual or request["every"]:
            size = _timed(puzzle, timed, kernels, request["milliseconds"], say)
            say(size=asdict(size))
    say(
        limits=limits,
        gpu=torch.cuda.get_device_name(),
        versions={"torch": torch.__version__, "triton": triton.__version__},
    )


def _loaded(name: str, source: str) -> dict[str, Any]:
    """A submission's kernels, from the syntax tree that was linted; Triton wants the text in a file too."""
    path = f"{os.getcwd()}/{name.replace(' ', '_').replace(os.sep, '_')}.py"
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(source)
    return executed(source, path)


def _compile_ahead(every_size: Callable[[int], list[Timed]], kernels: dict[str, dict[str, Any]], every: bool) -> None:
    """Compile on all cores, into the cache on disk. CUDA must not have been started in this process yet."""
    workers = min(_COMPILERS, os.cpu_count() or 1)
    pids = []
    for worker in range(workers):
        pid = os.fork()
        if pid == 0:
            with contextlib.suppress(BaseException):  # what does not compile is told when it is to be timed
                _compile_share(every_size, kernels, every, worker, workers)
            os._exit(0)
        pids.append(pid)
    for pid in pids:
        os.waitpid(pid, 0)


def _compile_share(
    every_size: Callable[[int], list[Timed]], kernels: dict[str, dict[str, Any]], every: bool, worker: int, workers: int
) -> None:
    free, _ = torch.cuda.mem_get_info()
    seen = set()
    for timed in every_size(free):
        if not (timed.usual or every):
            continue
        for kernel, tunings in timed.tunings.items():
            for tuning in tunings:
                case = timed.launch(kernel, tuning.blocks)
                for name, namespace in kernels.items():
                    types = [(t.bf16, t.values.dtype.name) for t in case.tensors.values()]
                    job = f"{name} {kernel} {sorted(case.constexprs.items())} {tuning} {types}"
                    if job in seen:
                        continue
                    seen.add(job)
                    if len(seen) % workers == worker:
                        tensors = {n: torch.empty(64, dtype=_kind(t), device="cuda") for n, t in case.tensors.items()}
                        with contextlib.suppress(Exception):
                            _launcher(namespace[kernel], case, tuning, tensors, only_compile=True)()


def _kind(tensor: Tensor) -> torch.dtype:
    kind: torch.dtype = torch.bfloat16 if tensor.bf16 else getattr(torch, tensor.values.dtype.name)
    return kind


def _bench(run: Callable[[], Any], milliseconds: int) -> tuple[float, float, float]:
    """(median, low, high) in milliseconds; Triton empties the L2 before each run."""
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


@dataclass
class _Field:
    """What runs at one size: in turns, or beforehand and alone."""

    runs: dict[str, Callable[[], Any]] = field(default_factory=dict)
    chosen: dict[str, str] = field(default_factory=dict)  # launch parameters, of the kernels
    alone: list[Timing] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def _timed(
    puzzle: Puzzle, timed: Timed, kernels: dict[str, dict[str, Any]], milliseconds: int, say: Callable[..., None]
) -> Size:
    """Every form and every peer at one size, in turns: so whatever the GPU's clocks do, they do to all."""
    cases = {name: timed.launch(name, tunings[0].blocks) for name, tunings in timed.tunings.items()}
    tensors = _tensors(timed, cases.values())
    entrants = _Field()
    _add_kernels(entrants, timed, kernels, tensors, say)
    _add_peers(entrants, timed, tensors, milliseconds, say)
    rounds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in entrants.runs}
    for turn in range(_ROUNDS):
        say(doing=f"{timed.name}: round {turn + 1} of {_ROUNDS}")
        for name, run in entrants.runs.items():
            rounds[name].append(_bench(run, milliseconds // _ROUNDS))
    in_turns = [
        _joined(name, times, entrants.chosen.get(name, ""), name not in kernels) for name, times in rounds.items()
    ]
    return replace(size_of(puzzle, timed), timings=(*entrants.alone, *in_turns), left_out=tuple(entrants.left_out))


def _add_kernels(
    entrants: _Field,
    timed: Timed,
    kernels: dict[str, dict[str, Any]],
    tensors: dict[str, torch.Tensor],
    say: Callable[..., None],
) -> None:
    right = peers.reference(timed.work, tensors)
    for name, namespace in kernels.items():
        say(doing=f"{timed.name}: {name}")
        try:
            entrants.runs[name], entrants.chosen[name] = _fastest(namespace, timed, tensors, right)
        except _Wrong as problem:
            entrants.left_out.append(f"{name}: {problem}")
        except Exception as error:
            if "CUDA" in str(error):
                raise
            entrants.left_out.append(f"{name}: {_first_line(error)}")


def _add_peers(
    entrants: _Field, timed: Timed, tensors: dict[str, torch.Tensor], milliseconds: int, say: Callable[..., None]
) -> None:
    for name, make in peers.makers(timed.work).items():
        if name == peers.COMPILED and not timed.usual:  # it would take most of the time
            continue
        say(doing=f"{timed.name}: {name}")
        try:
            run = make(tensors)
            if timed.work is Work.SOFTMAX or name in peers.SDPA:
                run()
                entrants.runs[name] = run
            else:  # all scores at once: by far not as fast, and there may not be memory for two of them
                entrants.alone.append(_joined(name, [_bench(run, milliseconds)], peer=True))
        except torch.OutOfMemoryError:
            entrants.left_out.append(f"{name}: not enough memory")
        except Exception as error:
            entrants.left_out.append(f"{name}: {_first_line(error)}")
        torch.cuda.empty_cache()


def _joined(name: str, rounds: list[tuple[float, float, float]], tuning: str = "", peer: bool = False) -> Timing:
    median, low, high = (statistics.median(which) for which in zip(*rounds, strict=True))
    return Timing(name, median, low, high, tuning, peer)


class _Wrong(Exception):
    """A kernel's results are wrong at this size: it is not timed."""


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:200] if str(error).strip() else 'no message'}"


def _fastest(
    namespace: dict[str, Any], timed: Timed, tensors: dict[str, torch.Tensor], right: dict[str, torch.Tensor]
) -> tuple[Callable[[], Any], str]:
    """What launches all kernels of one form, each with its fastest parameters, and these; checked before timed."""
    launches, chosen = [], []
    for kernel, tunings in timed.tunings.items():
        best: tuple[float, Callable[[], Any], Tuning] | None = None
        problem: Exception | None = None
        for tuning in tunings:
            case = timed.launch(kernel, tuning.blocks)
            run = _launcher(namespace[kernel], case, tuning, tensors)
            try:
                _check(run, case, tensors, right)
                milliseconds = _bench(run, _TRIAL)[0] if len(tunings) > 1 else 0.0
            except triton.runtime.errors.OutOfResources as error:  # these blocks do not fit; others may
                problem = error
                continue
            if best is None or milliseconds < best[0]:
                best = milliseconds, run, tuning
        if best is None:
            raise problem or RuntimeError("no launch parameters")
        launches.append(best[1])
        chosen.append(str(best[2]) if len(timed.tunings) == 1 else f"{kernel}: {best[2]}")
    return (lambda: [launch() for launch in launches]), "; ".join(chosen)


def _launcher(
    kernel: Any, case: Case, tuning: Tuning, tensors: dict[str, torch.Tensor], *, only_compile: bool = False
) -> Callable[[], Any]:
    """What launches a kernel once, or only compiles it."""
    arguments = {name: tensors[name] for name in case.tensors} | dict(case.scalars) | dict(case.constexprs)
    grid, options = tuple(case.grid), {"num_warps": tuning.num_warps, "num_stages": tuning.num_stages}
    if only_compile:
        return lambda: kernel.warmup(**arguments, grid=grid, **options)
    return lambda: kernel[grid](**arguments, **options)


def _check(
    run: Callable[[], Any], case: Case, tensors: dict[str, torch.Tensor], right: dict[str, torch.Tensor]
) -> None:
    """Run once from a clean start, and compare. Also leaves the outputs behind that the next kernel starts from."""
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT:
            tensors[name].fill_(_initial(tensor))
    run()
    torch.cuda.synchronize()
    for name, tensor in case.tensors.items():
        if tensor.role is not Role.INPUT and not bool(torch.isfinite(tensors[name]).all()):
            raise _Wrong(f"{name.removesuffix('_ptr')} has elements that are no numbers")
        if name in right and tensor.role is not Role.INPUT:
            ours = tensors[name][: len(right[name])].double()
            off = float((ours - right[name]).norm() / right[name].double().norm())
            if off > ENOUGH:
                raise _Wrong(f"{name.removesuffix('_ptr')} is wrong at this size, by {off:.0%}")


def _initial(tensor: Tensor) -> float:
    """What an output or a state holds before the launch: the same everywhere."""
    return float(tensor.values.flat[0])


def _tensors(timed: Timed, cases: Iterable[Case]) -> dict[str, torch.Tensor]:
    """Fresh random inputs, and room for the outputs."""
    made: dict[str, torch.Tensor] = {}
    for case in cases:
        for name, tensor in case.tensors.items():
            if name not in made:
                made[name] = torch.empty(tensor.values.shape, dtype=_kind(tensor), device="cuda")
                if tensor.role is Role.INPUT:
                    made[name].normal_()
    if timed.work is Work.CAUSAL_BACKWARD:
        made["o_ptr"], made["lse_ptr"] = peers.forward_for_backward(made)
    return made
