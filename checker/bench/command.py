"""What `bench` does: choose what is timed, measure or predict, keep the result as JSON and as a picture."""

from __future__ import annotations

from pathlib import Path

from checker import catalog
from checker.bench.result import IN_GLUON, Result, from_json
from checker.bench.run import BenchmarkFailed, Extent, Tell, measure, predict
from checker.box.parent import torch_gpu_missing
from checker.check import Outcome, program_of
from checker.course import ladder, places
from checker.course.places import ROOT
from checker.course.status import Misuse
from checker.submission.read import Submission, from_file

SOLUTIONS = ROOT / "solutions"

__all__ = ["BenchmarkFailed", "Extent", "of_the_course", "reread", "result_of", "save", "source_of"]


def source_of(puzzle_id: str, submission: Submission) -> str:
    """The kernels of a submission, and nothing else of it."""
    program, _ = program_of(submission, catalog.load(puzzle_id).kernels)
    return program.source


def of_the_course(puzzle_id: str, path: Path) -> str | Path:
    """A solution or a step of the speed track as it is timed: its linted kernels, or itself if it launches itself."""
    return path if places.launches_itself(path) else source_of(puzzle_id, from_file(path))


def result_of(outcome: Outcome, extent: Extent, tell: Tell, *, only_predict: bool = False) -> Result:
    """Time an accepted submission beside the course's own kernels, or predict if there is no GPU. Raises Misuse."""
    puzzle_id = outcome.verdict.puzzle
    assert puzzle_id is not None and outcome.submission is not None and outcome.program is not None
    if catalog.load(puzzle_id).pytorch:
        raise Misuse(f"Puzzle {puzzle_id} is written in PyTorch: it is judged by memory and work, and not timed.")
    if catalog.load(puzzle_id).timed is None:
        raise Misuse(f"Puzzle {puzzle_id} has no sizes to be timed at.")
    if only_predict or torch_gpu_missing():
        return predict(puzzle_id, extent, outcome.verdict.runs[0].traffic)
    sources: dict[str, str | Path] = {"yours": outcome.program.source}
    own = SOLUTIONS / f"{ladder.entry(puzzle_id).stem}.py"
    forms = {"solution": own}
    for path in places.steps(puzzle_id):  # the last of each kind remains
        forms[IN_GLUON if places.launches_itself(path) else "tuned"] = path
    for name, path in forms.items():
        if path.exists() and path.read_text(encoding="utf-8") != outcome.submission.text:
            sources[name] = of_the_course(puzzle_id, path)
    return measure(puzzle_id, sources, extent, tell)


def reread(path: Path) -> Result:
    """A result that was kept. Misuse if the file is none."""
    try:
        return from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Misuse(f"{path} cannot be shown: {error}.") from error


def save(result: Result, folder: Path) -> list[Path]:
    """Write JSON, and a picture if matplotlib is there; the files written."""
    folder.mkdir(parents=True, exist_ok=True)
    data, picture = (folder / f"{ladder.entry(result.puzzle).stem}.{kind}" for kind in ("json", "png"))
    data.write_text(result.to_json(), encoding="utf-8")
    try:
        from checker.bench import chart
    except ImportError:  # a GPU host's own environment may not have it
        return [data]
    picture.write_bytes(chart.png(result))
    return [data, picture]
