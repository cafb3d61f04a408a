"""A training as its learner sees it: text before and after, progress, what Ctrl-C does, and the files that are kept."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from checker.box.parent import gpu_missing
from checker.course.status import Misuse
from checker.submission.read import Submission
from checker.train import source
from checker.train.result import Training
from checker.train.sizes import Size, text_for

LINES = 20  # of progress, where there is no terminal


class Stop:
    """Whether Ctrl-C was pressed: the step that runs is finished first. Pressed again, it ends everything at once."""

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked

    @contextmanager
    def by_interrupt(self) -> Iterator[None]:
        """Meanwhile, Ctrl-C asks."""

        def ask(number: int, frame: object) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True

        before = signal.signal(signal.SIGINT, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def prepare(device: str) -> None:
    """Make sure that PyTorch is there, and tell Triton where kernels run, before it is imported. Raises Misuse."""
    if find_spec("torch") is None:
        raise Misuse("Training needs PyTorch, which is not installed here: `make torch` installs it.")
    os.environ["TRITON_INTERPRET"] = "0" if device == "cuda" else "1"
    if device == "cpu":
        return
    import torch

    if missing := gpu_missing() or ("" if torch.cuda.is_available() else "This PyTorch cannot use the GPU."):
        raise Misuse(f"{missing} Without --device cuda, a smaller model is trained on the CPU.")


def trained(submission: Submission, size: Size, screen: Console, stop: Stop) -> Training:
    """Train as a submission defines it, and show how it goes. After `prepare`. Raises Misuse."""
    from checker.train import definitions, run

    names = definitions.definitions(submission)
    corpus = run.Corpus(text_for(size.device), size)
    try:
        with progress(screen, size) as tell:
            training, own = run.train(names, corpus, tell, stop)
        if size.device == "cuda" and not training.problem:
            training = _timed(training, names, submission, corpus, stop)
    except Misuse:
        raise
    except Exception as error:
        raise Misuse(source.told(error)) from error
    return training.timed()


def _timed(
    training: Training, names: Mapping[str, Any], submission: Submission, corpus: Any, stop: Stop
) -> Training:
    """The same, with the speed of every attention."""
    from checker.train import speed

    tuned = speed.tuned_kernels(corpus.size.width // corpus.size.heads)
    found, left_out = speed.speeds(
        names, speed.all_attentions(names, submission, tuned), corpus, speed.on_gpu, stop
    )
    launched = {name: str(kernel) for name, kernel in tuned.items()}
    return replace(training, speeds=found, launched=launched, left_out=tuple(left_out))


@contextmanager
def progress(screen: Console, size: Size) -> Iterator[Callable[[int, tuple[float, ...]], None]]:
    """What is to be called after each step: moves a bar on a terminal, and writes a line now and then elsewhere."""
    columns = (
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[losses]}"),
        TimeRemainingColumn(),
    )
    every = max(1, size.steps // LINES)
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=size.steps, losses="")

        def tell(step: int, losses: tuple[float, ...]) -> None:
            own, other = losses
            speed = 2 * size.tokens * (bar.tasks[0].speed or 0.0)
            bar.update(task, completed=step, losses=f"loss {own:.3f}, SDPA {other:.3f}  {speed:,.0f} tokens/s")
            if not screen.is_terminal and (step % every == 0 or step in (1, size.steps)):
                screen.print(f"step {step} of {size.steps}: loss {own:.3f}, SDPA {other:.3f}", soft_wrap=True)

        yield tell


def show(screen: Console, training: Training) -> None:
    """What the model wrote before and after, and what it came to."""
    for title, text in (("before training", training.before), ("now", training.after)):
        if text:
            screen.print(f"\nWritten by the model {title}:")
            screen.print(Padding(Text(text.strip()), (0, 0, 0, 4), expand=False))
    screen.print()
    for line in training.lines():
        screen.print(line, soft_wrap=True)
    if training.problem:
        screen.print(f"\n{training.problem}", soft_wrap=True)


def save(training: Training, folder: Path) -> list[Path]:
    """Write the numbers, and the picture if matplotlib is there; the files written. OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    data, picture = folder / "train.json", folder / "train.png"
    data.write_text(training.to_json(), encoding="utf-8")
    try:
        from checker.train import chart
    except ImportError:
        return [data]
    picture.write_bytes(chart.png(training))
    return [picture, data]
