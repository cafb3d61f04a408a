"""Functions for notebooks: `check`, `run`, `step`, `trace`, `hint`, `predict`, `progress` and the others.

The notebook's own process is never trusted: it hands over the text of the cells that were run, and that
text walks the same road as a file does, in another process.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checker import catalog
from checker.answers.saved import VALIDATING
from checker.course import places
from checker.course.ladder import id_of
from checker.course.language import choose, spoken
from checker.course.status import Misuse
from checker.learner import hints, standing, stub
from checker.learner.experiment import Ran, asked
from checker.learner.progress import helped, opened
from checker.learner.solution import page
from checker.notebook.cells import below, note_times, place, run_so_far, times
from checker.notebook.interrupts import interruptible
from checker.report.screen import plain
from checker.report.translated import said
from checker.sandbox.processes import command_of, paths
from checker.submission.definitions import latest

__all__ = [
    "Ran",
    "Report",
    "bench",
    "check",
    "compiled",
    "hint",
    "own",
    "predict",
    "progress",
    "reset",
    "run",
    "solution",
    "step",
    "trace",
    "train",
]

note_times()


@dataclass(frozen=True, repr=False)
class Report:
    """An answer that shows itself: as rich as the front end can, in words elsewhere."""

    text: str
    html: str = ""
    markdown: str = ""
    png: str = ""  # in base64
    accepted: bool = False

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, str], dict[str, Any]]:
        shown = {"text/plain": self.text, "text/html": self.html}
        shown |= {"text/markdown": self.markdown, "image/png": self.png}
        return {kind: data for kind, data in shown.items() if data}, {"image/png": {"alt": self.text}}


class _Silent(Report):
    """An answer that shows nothing: nbgrader's Validate takes the result of a cell for a number of points."""

    def _ipython_display_(self) -> None:
        pass


@interruptible
def check(puzzle: int | str | None = None, *, device: str = "interpreter", language: str | None = None) -> Report:
    """Check the kernels of a puzzle as the cells that were run last define them; without a puzzle, all files as saved.

    `device`: `interpreter`, `cuda`, or `auto`, the one after the other. `language`: "zh" for Chinese, or "en"; it stays
    for what this notebook calls from then on.
    """
    if refused := _unspoken(language):
        return refused
    report = _asked("check", puzzle, device=device)
    if VALIDATING not in os.environ:
        return report
    if not report.accepted:
        print(report.text, file=sys.stderr)  # nbgrader's Validate tells a cell that failed by this alone
    return _Silent(**vars(report))


@interruptible
def progress(*, language: str | None = None) -> Report:
    """Return what is solved, how many hints were seen, what was predicted, and which puzzle comes next.

    `language`: as for `check`.
    """
    if refused := _unspoken(language):
        return refused
    found = opened()
    parts = [said(found.remark), plain(standing.table(found.progress))]
    if (ahead := found.progress.next_open()) is not None:
        parts.append(f"{said(standing.NEXT)} {places.shown(places.spoken_notebook(ahead))}")
    return Report("\n\n".join(filter(None, parts)), html=standing.in_notebook(found))


@interruptible
def bench(puzzle: int | str, *, every: bool = False) -> Report:
    """Time the kernels of a puzzle against their peers, or predict without a GPU; a picture. They are checked first."""
    return _asked("bench", puzzle, every=every)


@interruptible
def step(puzzle: int | str, *, program: int | None = None, size: str = "") -> Report:
    """Step through the kernels of a puzzle line by line, right or wrong, and see what every name holds.

    `program`: the one of the grid to begin with, counted along x first. `size`: words of a launch's name.
    """
    return _asked("step", puzzle, program=program, size=size)


@interruptible
def own(function: str = "", call: str = "", **claims: Any) -> Report:
    """Check a softmax or an attention that the cells define, whatever its signature.

    `function`: what is called, such as "FlashAttention.apply"; `call`: with what, such as "q, k, v, causal". `claims`:
    what it is for, as for `verify`: square=True, whole_tiles=True, dense=True, causal=True, kv_heads=True,
    types=("fp32",), head_dims=(64,), layout="bnhd".
    """
    return _asked("own", None, claims={"function": function, "call": call, **claims})


@interruptible
def trace(puzzle: int | str) -> Report:
    """Draw what the kernels of a puzzle load and store, right or wrong: tiles, their order, how often each is read."""
    return _asked("trace", puzzle)


@interruptible
def compiled(
    puzzle: int | str, *, target: str = "sm_90", size: str = "", launch: str = "", before: str | None = None
) -> Report:
    """Return what the compiler made of the kernels of a puzzle, line by line, and what in them is known to cost time.

    `target`: a GPU that you need not have. `size`: words of a timed size's name. `launch`: changes to the launch,
    such as "Br=128 num_warps=8". `before`: a file with an older version, to show its numbers next to yours.
    """
    older = None if before is None else str(Path(before).absolute())
    return _asked("compiled", puzzle, targets=target, size=size, launch=launch, before=older)


@interruptible
def train(*, steps: int | None = None, device: str = "cpu") -> Report:
    """Train the GPT of this notebook's cells with your own kernels, and show how it goes; then a picture.

    It goes into the folder `train`, with the numbers. `device`: `cpu`, or `cuda` for a larger model.
    """
    cells = run_so_far()
    if cells is None:
        return Report(said("This needs a notebook. In a terminal, type: make train"))
    with tempfile.TemporaryDirectory() as folder:
        path, picture = Path(folder, "notebook.ipynb"), Path("train", "train.png")
        code = [{"cell_type": "code", "source": text} for text in latest(cells)]
        path.write_text(json.dumps({"cells": code}), encoding="utf-8")
        before = picture.stat().st_mtime_ns if picture.exists() else 0
        asked = ["train", "--file", str(path), "--device", device, *(["--steps", str(steps)] if steps else [])]
        process = subprocess.Popen(
            [sys.executable, "-m", "checker", *asked],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths()), "PYTHONUTF8": "1"},
            start_new_session=True,  # an interrupt is handed on once: the second would end it at once
        )
        _shown_as_it_comes(process)
    if not picture.exists() or picture.stat().st_mtime_ns == before:
        return Report(said("There is no new picture."))
    return Report(said("The loss over the steps."), png=base64.b64encode(picture.read_bytes()).decode("ascii"))


@interruptible
def predict(puzzle: int | str, /, **guesses: Any) -> Report:
    """Compare guesses, by the names of a puzzle's questions, with what the accepted kernel of the cells does, and why.

    `...` stands for a guess to come: its question is shown. Without names, all questions are.
    """
    said = {name: None if guess is None or guess is ... else str(guess) for name, guess in guesses.items()}
    return _asked("predict", puzzle, guesses=said)


@interruptible
def run(kernel: Any, *arguments: Any, grid: int | Sequence[int] | None = None, **named: Any) -> Ran:
    """Launch a kernel of this notebook once, in the sandbox, with arrays, numbers and constexprs of your own.

    Arrays are NumPy's or PyTorch's, fp32, fp16 or bf16, and are not changed: `run(...)["y_ptr"]` is what the kernel
    made of one, in NumPy, which has no bf16 and gets fp32 for it.
    """
    cells = run_so_far()
    if cells is None:
        name = getattr(kernel, "__name__", str(kernel))
        return Ran(name, problem="This needs a notebook: it runs the kernel as its cells define it.")
    return asked(cells, kernel, arguments, named, grid)


@interruptible
def hint(puzzle: int | str, *, again: bool = False) -> Report:
    """Return the next hint for a puzzle, and no more: first on what a report has asked. `again`: those seen so far."""
    try:
        puzzle_id = id_of(puzzle)
    except Misuse as misuse:
        return Report(said(str(misuse)))
    found = opened()
    if not again and run_so_far() is not None and found.progress.of(puzzle_id).asked:
        told = _asked("hint", puzzle_id)
        if told.text:
            return told
    shown = hints.seen_hints(puzzle_id) if again else hints.next_hint(puzzle_id)
    parts = [(remark, remark) for remark in map(said, (found.remark, shown.remark))]
    for one in shown.hints:
        head = said(f"Hint {one.level} of {shown.total}: {one.title}")
        parts.append((f"{head}\n{hints.plain(one.text)}", f"**{head}**\n\n{one.text}"))
    next_one, again_all = f'hint("{puzzle_id}")', f'hint("{puzzle_id}", again=True)'
    comments = f'from checker.notebook import reset; reset("{puzzle_id}", help={stub.COMMENTS})'
    return _in_parts(parts, hints.closing(shown, next_one, again_all, comments, f'solution("{puzzle_id}")'))


@interruptible
def reset(puzzle: int | str, *, help: int = 0) -> Report:
    """Put the stub of a puzzle into a new cell below this one; your own cell stays.

    `help`: 1 adds the solution's comments, 2 puts the solution in, with some holes.
    """
    try:
        puzzle_id = id_of(puzzle)
        kernels = stub.shipped(catalog.load(puzzle_id), help)
        if help:
            helped(puzzle_id, help)
    except Misuse as misuse:
        return Report(said(str(misuse)))
    except OSError as error:
        return Report(said(f"progress.txt cannot be read or written: {error.strerror}. Nothing is lost."))
    code = "\n\n\n".join(kernels.values())
    if not below(code):
        return Report(code)
    return Report(said("It is in a new cell below. Fill it in, and run it: what was run last is checked."))


@interruptible
def solution(puzzle: int | str, *, force: bool = False) -> Report:
    """Return the solution of a puzzle and how it works, once yours is accepted. `force`: although it is not."""
    try:
        shown = page(id_of(puzzle), in_notebook=True, force=force)
    except Misuse as misuse:
        return Report(said(str(misuse)))
    parts = [(said(shown.remark), said(shown.remark))]
    if shown.open:
        code, walk_through = shown.code.strip(), shown.walk_through.strip()
        parts += [(code, f"```python\n{code}\n```"), (walk_through, walk_through)]
    return _in_parts(parts, shown.closing)


def _unspoken(language: str | None) -> Report | None:
    """Speak a language from now on, if one is named; what to say if there is no such language."""
    try:
        if language is not None:
            choose(language)
    except Misuse as misuse:
        return Report(said(str(misuse)))
    return None


def _in_parts(parts: Sequence[tuple[str, str]], closing: Sequence[tuple[str, str]]) -> Report:
    """Parts as plain text and as Markdown, those that are not empty; then sentences with what to type, if anything."""
    sentences = [(said(sentence), typed) for sentence, typed in closing]
    typed = [(f"{one} {typed}", f"{one} `{typed}`") if typed else (one, one) for one, typed in sentences]
    plain, rich = zip(*(part for part in (*parts, *typed) if part[0]), strict=True)
    return Report("\n\n".join(plain), markdown="\n\n".join(rich))


def _shown_as_it_comes(process: subprocess.Popen[str]) -> None:
    """Print what a process prints, until it ends. An interrupt of ours is one of its own, and it says what it did."""
    assert process.stdout is not None
    while True:
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
            process.wait()
            return
        except KeyboardInterrupt:
            process.send_signal(signal.SIGINT)


def _asked(verb: str, puzzle: int | str | None, **options: Any) -> Report:
    """Return what the judging process answers."""
    cells = run_so_far()
    if cells is None:
        typed = f"make {verb}" if puzzle is None else f"make {verb} PUZZLE={puzzle}"
        return Report(said(f"This needs a notebook. In a terminal, type: {typed}"))
    request = {"language": spoken(), "verb": verb, "puzzle": puzzle, "cells": cells, "place": place(), **options}
    request |= {"times": times()} if verb == "check" else {}
    try:
        done = subprocess.run(
            command_of("checker.answers.child"),
            input=json.dumps(request),
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        return Report(**json.loads(done.stdout))
    except (OSError, TypeError, ValueError) as error:
        return Report(said(f"! The checker itself failed: {error}. In a terminal, ./check may tell more."))
