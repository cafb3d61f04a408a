"""A training as its learner sees it: progress, what Ctrl-C does, what is said at the end, which files are kept."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from checker.course.saving import replace_whole
from checker.course.status import Misuse
from checker.sandbox.parent import torch_gpu_missing
from checker.submission.read import Submission
from checker.train import source
from checker.train.result import OWN, PICTURE, SDPA, Speeds, Training
from checker.train.sizes import TIMED_CONTEXTS, TIMED_TOKENS, Size, text_for

ON_CPU = "Without --device cuda, a smaller model is trained on the CPU."
NUMBERS = "train.json"
LINES = 20  # of progress, where there is no terminal


class Stop:
    """Ctrl-C, once pressed: the step that runs is finished first. Pressed again, it ends everything at once."""

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def by_interrupt(self) -> Iterator[None]:
        """Meanwhile, Ctrl-C asks; it cannot be lost inside an import, nor end the backward pass halfway."""

        def ask(number: int, frame: object) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True
            os.write(2, b"\nEnding after this step. Ctrl-C again ends it at once, and keeps nothing.\n")

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def insist(device: str, folder: Path) -> None:
    """Raise Misuse for what would stop a training from running or being saved, as far as is quickly known."""
    if find_spec("torch") is None:
        raise Misuse("Training needs PyTorch, which is not installed here: `make torch` installs it.")
    if device == "cuda" and (missing := torch_gpu_missing()):
        raise Misuse(f"{missing} {ON_CPU}")
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise Misuse(f"The results could not be written to {folder}: {there} is not a folder that can be written to.")


def prepare(device: str) -> None:
    """Tell Triton where kernels run, before it is imported. Raises Misuse."""
    os.environ["TRITON_INTERPRET"] = "0" if device == "cuda" else "1"
    if device == "cpu":
        from checker.sandbox.inside import patches

        patches.apply(patches.UNJUDGED)
        return
    from torch import cuda

    if not cuda.is_available():
        raise Misuse(f"This PyTorch cannot use the GPU. {ON_CPU}")


def trained(submission: Submission, size: Size, screen: Console, stop: Stop) -> Training:
    """Train as a submission defines it, and show how it goes. After `prepare`. Raises Misuse."""
    from checker.train import definitions, run

    names = definitions.definitions(submission)
    corpus = run.Corpus(text_for(size.device), size)
    try:
        with _progress(screen, size) as tell:
            training = run.train(names, corpus, tell, lambda: stop.asked)
        if size.device == "cuda" and not training.problem:
            training = _timed(training, names, submission, corpus, stop)
    except Exception as error:
        raise Misuse(source.sentence_on(error)) from error
    return training


def _timed(training: Training, names: Mapping[str, Any], submission: Submission, corpus: Any, stop: Stop) -> Training:
    """Return the same, with the speed of every attention. Whatever goes wrong here, what was trained is not lost."""
    from checker.train import run, speed

    found: list[Speeds] = []
    size = corpus.size
    try:
        for context in TIMED_CONTEXTS:
            tuned = speed.tuned_kernels(size.width // size.heads)
            attentions = speed.attentions(names, submission, tuned)
            batches = replace(size, context=context, sequences=TIMED_TOKENS // context)
            speeds = speed.speeds(names, attentions, run.Corpus(corpus.text, batches), speed.on_gpu, lambda: stop.asked)
            if stop.asked:
                break
            found.append(replace(speeds, launched={name: str(kernel) for name, kernel in tuned.items()}))
    except Exception as error:
        found = found or [*training.speeds]
        found[-1] = replace(found[-1], left_out=(*found[-1].left_out, source.sentence_on(error)))
    return replace(training, speeds=tuple(found) or training.speeds)


@contextmanager
def _progress(screen: Console, size: Size) -> Iterator[Callable[[int, dict[str, tuple[float, float]]], None]]:
    """Yield what is to be called after each step: moves a bar on a terminal, else writes a line now and then."""
    columns = (MofNCompleteColumn(), BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
    spent = 0.0
    moves = screen.file.isatty() and not screen.is_dumb_terminal  # rich takes FORCE_COLOR, too, for a terminal
    with Progress(*columns, console=screen, disable=not moves) as bar:
        task = bar.add_task("the first step", total=size.steps)

        def tell(step: int, done: Mapping[str, tuple[float, float]]) -> None:
            nonlocal spent
            (own, seconds), (other, beside) = done[OWN], done[SDPA]
            spent += seconds + beside
            now = f"loss {own:.3f}, with SDPA {other:.3f}; {size.tokens / seconds:,.0f} tokens/s"
            bar.update(task, completed=step, description=now)
            if not moves and step in (1, size.steps, *range(0, size.steps, max(1, size.steps // LINES))):
                left = spent / step * (size.steps - step)
                screen.print(f"step {step} of {size.steps}: {now}; {left:.0f} s left", soft_wrap=True)

        yield tell


def show(screen: Console, training: Training) -> None:
    """Print what the model wrote before and after, and what it came to."""
    for title, text in (("before", training.before), ("after", training.after)):
        if text:
            screen.print(f"\nWhat the model writes {title} training:\n{indent(text.strip(), '    ')}", soft_wrap=True)
    screen.print("\n" + "\n".join(training.lines()), soft_wrap=True)


def save(training: Training, page: str, folder: Path) -> list[Path]:
    """Write the page, the numbers, and the picture if matplotlib is there; the files written. OSError.

    One that went further stays: this one then lies next to it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    beside = f"{training.steps}-steps-" if _steps_kept(folder / NUMBERS) > training.steps else ""
    page = page.replace(f"({PICTURE})", f"({beside}{PICTURE})")
    files = {"page.md": page.encode(), NUMBERS: training.to_json().encode()}
    with suppress(ImportError):
        from checker.train import chart

        files[PICTURE] = chart.png(training)
    written = {folder / f"{beside}{name}": data for name, data in files.items()}
    for path, data in written.items():
        replace_whole(path, data)
    return [*written]


def _steps_kept(numbers: Path) -> int:
    """Return how many steps the training had that lies here; 0 if there is none."""
    try:
        return len(json.loads(numbers.read_text(encoding="utf-8"))["curves"][0]["losses"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return 0
