"""Sizes of the model, its text and its training time, on each device."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

from checker.course import places
from checker.course.ladder import RUNGS
from checker.course.lesson import script_cells
from checker.course.status import Misuse


@dataclass(frozen=True)
class Size:
    """A model and its training. A step takes `sequences` of `context` characters."""

    device: str
    sequences: int
    context: int
    width: int
    heads: int
    layers: int
    steps: int
    rate: float  # of learning, at its highest
    warm_up: int = 0  # steps until then; the rest follows a cosine down to a tenth. 0: it stays as it is

    @property
    def tokens(self) -> int:
        """Characters that a step predicts."""
        return self.sequences * self.context

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if not self.warm_up:
            return self.rate
        if step < self.warm_up:
            return self.rate * (step + 1) / self.warm_up
        way = (step - self.warm_up) / max(1, self.steps - self.warm_up)
        return self.rate * (0.55 + 0.45 * math.cos(math.pi * way))


CPU = Size("cpu", sequences=8, context=64, width=32, heads=2, layers=1, steps=400, rate=3e-3)
# What is timed on a GPU: steps that are long enough for Python to start their kernels meanwhile.
TIMED_CONTEXTS = (256, 4096, 16384)
TIMED_TOKENS = 65536
GPU = Size("cuda", sequences=64, context=256, width=384, heads=6, layers=6, steps=1000, rate=1e-3, warm_up=100)
_FENCED = re.compile(r"```.*?```\n*", re.DOTALL)
SIZES = {size.device: size for size in (CPU, GPU)}


def text_for(device: str) -> str:
    """Return what the model learns from: the lessons on a CPU, Shakespeare's plays on a GPU."""
    return lessons() if device == "cpu" else Path(__file__).with_name("shakespeare.txt").read_text(encoding="utf-8")


def lessons(root: Path = places.ROOT) -> str:
    """Return the prose of the lessons: the Markdown cells of the puzzles' files, without what is
    drawn or code in them.
    """
    found = []
    for puzzle_id in RUNGS:
        try:
            script = places.script(puzzle_id, root).read_text(encoding="utf-8")
        except (OSError, ValueError):  # it was removed, or is no text any more: the others are long enough
            continue
        found += [_FENCED.sub("", text) for kind, text in script_cells(script) if kind == "markdown"]
    if not found:
        raise Misuse("There are no lessons here to learn from. Begin with the course's folder: cd into it.")
    return "\n\n".join(found)
