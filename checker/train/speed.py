"""Tokens per second of the same model with several attentions, on a GPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import triton
from triton.runtime.jit import KernelInterface

from checker import catalog
from checker.course import places
from checker.course.kernel import Kernel
from checker.course.puzzle import Tuning, Work
from checker.submission.read import Submission, from_file
from checker.train.definitions import definitions
from checker.train.kernels import kernels_of
from checker.train.result import OWN, SDPA, Speeds
from checker.train.run import Attention, Corpus, model_with, sdpa

Clock = Callable[[Callable[[], None]], float]  # seconds that some work takes
WARM_UP, MEASURED = 5, 30  # steps
TUNED, EAGER = "tuned kernels", "eager attention"
WORKS = {"p6": Work.CAUSAL_ATTENTION, "p7": Work.CAUSAL_BACKWARD}  # what the model's attention is made of


def eager(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attention as it is written on the board: the softmax of the whole matrix of scores."""
    n = q.shape[-2]
    hidden = torch.ones(n, n, dtype=torch.bool, device=q.device).triu(1)
    scores = (q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5).masked_fill(hidden, -float("inf"))
    return torch.softmax(scores, dim=-1).to(v.dtype) @ v


class Tuned:
    """A kernel that is launched with the fastest of some launch parameters, whatever blocks its caller names.

    Which are fastest is settled by its first launch, and may be others in another size.
    """

    def __init__(self, kernel: Any, asked: Kernel, tunings: tuple[Tuning, ...]):
        self.asked, self.tunings = asked, tunings
        self.across = "Bc" if "dk_ptr" in asked.parameters else "Br"  # programs own tiles of keys, or of queries
        tried = [triton.Config(dict(one.blocks), num_warps=one.num_warps, num_stages=one.num_stages) for one in tunings]
        self.tried = triton.autotune(configs=tried, key=[])(kernel)

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def launch(*arguments: Any, **named: Any) -> None:
            bound = dict(zip(self.asked.parameters, arguments, strict=False)) | named
            programs = grid(bound) if callable(grid) else grid
            rows = programs[0] * bound[self.across]  # that its caller's programs cover; what is too much is masked
            kept = {name: bound[name] for name in self.asked.parameters if name not in self.tunings[0].blocks}
            kernel = self.tried
            if best := getattr(kernel, "best_config", None):  # to ask the autotuner takes longer than some kernels do
                kernel, kept = kernel.fn, kept | best.all_kwargs()
            kernel[lambda meta: (triton.cdiv(rows, meta[self.across]), *programs[1:])](**kept)

        return launch

    def __str__(self) -> str:
        best = getattr(self.tried, "best_config", None)
        return f"{self.asked.name}: {best or self.tunings[0]}"


def tuned_kernels(size_d: int, root: Path = places.ROOT, most: int | None = None) -> dict[str, Tuned]:
    """Return the last tuned version of each puzzle, by kernel; none if this copy of the course has none.

    `most`: so many launch parameters of each are tried.
    """
    found = {}
    for puzzle_id, work in WORKS.items():
        puzzle = catalog.load(puzzle_id)
        steps = [path for path in places.steps(puzzle_id, root) if not places.launches_itself(path)]
        if not steps:
            return {}
        kernels = kernels_of(puzzle_id, from_file(steps[-1]))
        for asked in puzzle.kernels:
            found[asked.name] = Tuned(kernels[asked.name], asked, _tunings(puzzle.timed, asked, work, size_d)[:most])
    return found


def _tunings(timed: Any, asked: Kernel, work: Work, d: int) -> tuple[Tuning, ...]:
    """Return what is tried for a kernel where its puzzle is timed, at the first size with heads of this width."""
    for size in timed(0):
        tunings: tuple[Tuning, ...] = size.tunings[asked.name]
        if size.work is work and size.launch(asked.name, tunings[0].blocks).constexprs["D"] == d:
            return tunings
    raise ValueError(f"{asked.name} is not timed with heads of width {d}")


def with_kernels(submission: Submission, kernels: Mapping[str, Any]) -> Attention:
    """Return the learner's `own_attention`, which launches other kernels of the same names and parameters."""
    names = definitions(submission)
    for name, value in list(names.items()):
        if isinstance(value, KernelInterface) and value.__name__ in kernels:
            names[name] = kernels[value.__name__]
    attention: Attention = names["own_attention"]
    return attention


def _speed(names: Mapping[str, Any], attention: Attention, corpus: Corpus, clock: Clock) -> float:
    one, batches = model_with(names, attention, corpus), corpus.batches()

    def steps(count: int) -> None:
        for tokens in islice(batches, count):
            one.step(tokens, corpus.size.rate)

    steps(WARM_UP)
    return MEASURED * corpus.size.tokens / clock(lambda: steps(MEASURED))


def speeds(
    names: Mapping[str, Any],
    attentions: Mapping[str, Attention],
    corpus: Corpus,
    clock: Clock,
    stopped: Callable[[], bool] = lambda: False,
) -> Speeds:
    """Tokens per second with each attention, and what could not be timed, with the reason."""
    found: dict[str, float] = {}
    left_out = []
    for name, attention in attentions.items():
        if stopped():
            break
        try:
            found[name] = _speed(names, attention, corpus, clock)
        except torch.OutOfMemoryError:
            left_out.append(f"{name}: it needs more memory than this GPU has left.")
        except Exception as error:  # one that does not run does not keep the others from it
            said = str(error).strip() or "no message"
            left_out.append(f"{name}: {type(error).__name__}: {said.splitlines()[0][:200]}")
    return Speeds(corpus.size.context, found, left_out=tuple(left_out))


def on_gpu(work: Callable[[], None]) -> float:
    """Seconds that a GPU takes for some work, by its own clock."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1e3


def attentions(names: Mapping[str, Any], submission: Submission, tuned: Mapping[str, Tuned]) -> dict[str, Attention]:
    """Return what is timed, by name."""
    fast = {TUNED: with_kernels(submission, tuned)} if tuned else {}
    return {OWN: names["own_attention"], **fast, SDPA: sdpa, EAGER: eager}
