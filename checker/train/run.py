"""One small GPT, trained twice side by side: with the learner's own attention kernels, and with PyTorch's."""

from __future__ import annotations

import datetime
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

from checker.course.status import Misuse
from checker.train.result import OWN, SDPA, Curve, Speeds, Training
from checker.train.sizes import Size

SEED = 0
SAMPLED = 200  # characters
TEMPERATURE = 0.8
Attention = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
Step = dict[str, tuple[float, float]]  # loss and seconds with each attention
Tell = Callable[[int, Step], None]  # gets each step, counted from 1


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """PyTorch's own attention, whichever of its kernels it chooses."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Corpus:
    """A text as numbers, a number a character, and what is drawn from it."""

    def __init__(self, text: str, size: Size):
        self.characters = sorted(set(text))
        self.text, self.size = text, size
        numbers = {character: number for number, character in enumerate(self.characters)}
        self._numbers = torch.tensor([numbers[character] for character in text], device=size.device)
        if len(text) <= size.context:
            raise Misuse(f"There are {len(text)} characters to learn from, fewer than the model looks at.")

    def batches(self) -> Iterator[torch.Tensor]:
        """Batches without end, always the same: (sequences, context + 1), each from a place drawn at random."""
        random = torch.Generator().manual_seed(SEED)
        length = torch.arange(self.size.context + 1)
        while True:
            start = torch.randint(len(self._numbers) - self.size.context, (self.size.sequences, 1), generator=random)
            yield self._numbers[(start + length).to(self._numbers.device)]


@dataclass
class Trained:
    """A model with one attention, and its optimizer."""

    model: Any
    size: Size
    optimizer: Any

    def step(self, tokens: torch.Tensor, rate: float) -> torch.Tensor:
        """Train on one batch; the loss before."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        with half_precision(self.size):
            logits = self.model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()


def half_precision(size: Size) -> AbstractContextManager[Any]:
    """On a GPU, q, k and v are bf16."""
    return torch.autocast("cuda", dtype=torch.bfloat16) if size.device == "cuda" else nullcontext()


def model_with(names: Mapping[str, Any], attention: Attention, corpus: Corpus) -> Trained:
    """Return the learner's GPT with an attention, which has no weights of its own: it always begins
    with the same ones.
    """
    size = corpus.size
    torch.manual_seed(SEED)
    model = names["GPT"](len(corpus.characters), size.context, size.width, size.heads, size.layers, attention)
    model = model.to(size.device)
    return Trained(model, size, torch.optim.AdamW(model.parameters(), lr=size.rate))


def train(
    names: Mapping[str, Any],
    corpus: Corpus,
    tell: Tell = lambda step, done: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Training:
    """Train with `own_attention` and with SDPA, step by step on the same batches; `stopped` is asked before each.

    A loss that is not a number ends it: what came before is kept, and `problem` says it. Raises what the learner's
    text raises.
    """
    size = corpus.size
    if size.device == "cpu":
        torch.set_num_threads(1)
    models = {OWN: model_with(names, names["own_attention"], corpus), SDPA: model_with(names, sdpa, corpus)}
    before = sample(models[OWN].model, corpus)
    steps: list[Step] = []
    problem = ""
    for step, tokens in zip(range(size.steps), corpus.batches(), strict=False):
        if stopped():
            break
        done: Step = {}
        for name, one in models.items():
            began = time.perf_counter()
            loss = one.step(tokens, size.rate_at(step)).item()  # waits for the GPU
            done[name] = loss, time.perf_counter() - began
        if wrong := [name for name, (loss, _) in done.items() if not math.isfinite(loss)]:
            problem = f"The loss with {' and with '.join(wrong)} is not a number at step {step + 1}: training stopped."
            break
        steps.append(done)
        tell(step + 1, done)
    own, other = (
        Curve(name, tuple(done[name][0] for done in steps), tuple(done[name][1] for done in steps)) for name in models
    )
    return Training(
        size,
        torch.cuda.get_device_name() if size.device == "cuda" else "one core of a CPU",
        (own, other),
        before,
        "" if problem else sample(models[OWN].model, corpus),
        speeds=(Speeds(size.context, {curve.name: curve.speed(size.tokens) for curve in (own, other)}),)
        if steps
        else (),
        problem=problem,
        versions={module: sys.modules[module].__version__ for module in ("torch", "triton")},
        date=datetime.date.today().isoformat(),
    )


def sample(model: Any, corpus: Corpus, count: int = SAMPLED) -> str:
    """Text that a model writes, always from the same random numbers."""
    random = torch.Generator().manual_seed(SEED)
    newline = corpus.characters.index("\n") if "\n" in corpus.characters else 0
    numbers = [newline]
    with torch.no_grad(), half_precision(corpus.size):
        for _ in range(count):
            seen = torch.tensor([numbers[-corpus.size.context :]], device=corpus.size.device)
            logits = model(seen)[0, -1].float().cpu()
            chances = torch.softmax(logits / TEMPERATURE, dim=0)
            numbers.append(int(torch.multinomial(chances, 1, generator=random)))
    return "".join(corpus.characters[number] for number in numbers[1:])
