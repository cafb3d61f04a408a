"""Build what is derived: notebooks, shipped stubs, tables and reports of pages, recordings of solutions, pictures.

For course authors. A test compares what is there with what would be built, outside the parts that
are a student's to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from checker import catalog
from checker.check import launch, program_of
from checker.course import ladder, places
from checker.course.kernel import GAP
from checker.course.ladder import Rung, entry
from checker.course.language import ENGLISH, LANGUAGES, speaking
from checker.course.lesson import emptied, stubs_text
from checker.course.localised import built, languages
from checker.course.places import ROOT
from checker.judge.difference.events import Event, Kind, events_of, shape_of_loops
from checker.judge.difference.first import ROUNDED
from checker.judge.difference.recordings import Recorded, cases_of, file_of, packed, unpacked
from checker.judge.requests import launch_of
from checker.publish import hosted
from checker.publish.bundle import PAGES
from checker.publish.pictures import example, pictures
from checker.publish.start import in_a_browser, puzzle_table, start_notebook
from checker.report.screen import plain
from checker.report.terminal import report
from checker.sandbox.parent import Limits, pytorch_missing
from checker.sandbox.protocol.device import Device
from checker.sandbox.protocol.launch import Launch, TensorArgument
from checker.sandbox.protocol.records import DOT
from checker.sandbox.protocol.steps import MOST_STEPS
from checker.submission.definitions import newest

PARTS = "docs/parts"  # of several lessons
EXAMPLES = {"refused": "tests/wrong/p1_padding_loaded_as_zero.py"}
CLOSE = 1e-5  # of a block's largest number: as far as machines may differ
SHAKEN = 2.0**-21  # of each number that a launch is given: four roundings
SHAKES = 12  # launches: which of two scores is the larger one, all of them say alike once in 2,048 times


def example_report(path: Path) -> str:
    """Return the report on a kernel as a Markdown block."""
    return f"```\n{plain(report(example(path)), width=80)}\n```\n"


def page_text(page: str, root: Path = ROOT, language: str = ENGLISH) -> str:
    """Return a page with its tables and its sample reports brought up to date, as far as it has their marks."""

    def place(rung: Rung) -> str:
        path = places.script(rung.id, root, language if language in languages(rung.id, root) else ENGLISH)
        return path.relative_to(root).as_posix() if language == ENGLISH else f"../{path.relative_to(root).as_posix()}"

    parts: dict[str, Callable[[], str]] = {
        "puzzles": partial(puzzle_table, place, "`make progress` says what comes next."),
        "browser": partial(in_a_browser, hosted.SITE),
    }
    parts |= {name: partial(example_report, root / path) for name, path in EXAMPLES.items() if (root / path).exists()}
    for name, made in parts.items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*(<!-- /{name} -->)", re.DOTALL)
        with speaking(language):
            page = pattern.sub(lambda match, made=made: match[1] + made() + match[2], page)  # type: ignore[misc]
    return page


def language_of(page: Path) -> str:
    """Return the language of a page: README.zh.md is in Chinese."""
    return next((code for code in LANGUAGES if page.name.endswith(f".{code}.md")), ENGLISH)


def with_parts(script: str, root: Path = ROOT) -> str:
    """Return a puzzle's text with what it shares with other lessons, which stands in `docs/parts/` once, between its
    marks.
    """
    for part in sorted((root / PARTS).glob("*.md")):
        lines = part.read_text(encoding="utf-8").rstrip("\n").split("\n")
        text = "".join(f"# {line}".rstrip() + "\n" for line in lines)
        pattern = re.compile(rf"(^# <!-- {part.stem} -->\n).*?(^# <!-- /{part.stem} -->$)", re.DOTALL | re.MULTILINE)
        script = pattern.sub(lambda match, text=text: match[1] + text + match[2], script)  # type: ignore[misc]
    return script


def build(root: Path = ROOT) -> list[Path]:
    """Write every built file that is not up to date; return those."""
    pages = [root / name for name in PAGES if (root / name).exists()]
    wanted = {page: page_text(page.read_text(encoding="utf-8"), root, language_of(page)).encode() for page in pages}
    wanted |= pictures(root, EXAMPLES["refused"])
    for language in LANGUAGES:
        path = places.start(root, language)
        wanted[path] = hosted.hosted(start_notebook(language), path.relative_to(root / "notebooks").as_posix()).encode()
    for puzzle_id in ladder.stems():
        script, puzzle = places.script(puzzle_id, root), catalog.load(puzzle_id)
        text = with_parts(script.read_text(encoding="utf-8"), root)
        wanted[script] = text.encode()
        for path, made in built(emptied(text, puzzle), puzzle, root):
            if path.suffix == ".ipynb":
                made = hosted.hosted(made, path.relative_to(root / "notebooks").as_posix())
            wanted[path] = made.encode()
        if text.count(GAP) >= len(puzzle.kernels):  # else its stubs have been filled in, marks and all
            path = places.solution(puzzle_id, root)
            solution = path.read_text(encoding="utf-8") if path.exists() else ""
            wanted[places.stubs(puzzle_id, root / "checker")] = stubs_text(text, puzzle, solution).encode()
        path = file_of(puzzle_id, root / "checker")
        launches = recorded(puzzle_id, root)
        if launches and not (path.is_file() and alike(unpacked(path.read_bytes()), launches)):
            wanted[path] = packed(recorded(puzzle_id, root, SHAKES))
    written = []
    for path, data in wanted.items():
        for old in places.earlier(path):  # another puzzle has taken its number
            old.unlink()
        if not path.exists() or path.read_bytes() != data:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            written.append(path)
    return written


PATIENT = Limits(patience=100.0)  # nobody waits: a machine may be as slow as it likes


def recorded(puzzle_id: str, root: Path = places.ROOT, shakes: int = 0) -> list[Recorded]:
    """Return the launches of a puzzle's solution; none of a function that launches kernels.

    A launch that is too long to be recorded whole is left out. Sums of products round differently on other machines,
    and exp makes much of it where scores are large: such numbers get a spread, from launches with inputs that are as
    close as roundings (`shakes` of them).
    """
    puzzle = catalog.load(puzzle_id)
    if entry(puzzle_id).launches or (puzzle.pytorch and pytorch_missing()):
        return []
    program, _ = program_of(newest(places.solution(puzzle_id, root), puzzle.kernels), puzzle.kernels)
    device = Device.PYTORCH if puzzle.pytorch else Device.INTERPRETER
    found = []
    for kernel in puzzle.kernels:
        cases = cases_of(puzzle, kernel.name)
        asked = [replace(launch_of(case, puzzle), most_steps=MOST_STEPS) for case in cases]
        every = [_shaken(one, seed) for seed in range(shakes + 1) for one in asked]
        results = launch(program, every, PATIENT, device=device).results if cases else {}
        loops = shape_of_loops(program.source, kernel.name)
        for n, case in enumerate(cases):
            own, *shaken = (events_of(program.source, case, results[at]) for at in range(n, len(every), len(cases)))
            if shakes and (puzzle.pytorch or (results[n].log.kind == DOT).any()):
                own = {at: _spread(events, [one[at] for one in shaken]) for at, events in own.items()}
            found += [Recorded(kernel.name, case.name, loops, own)] if own else []
    return found


def _shaken(launch: Launch, seed: int) -> Launch:
    """Return a launch with other numbers, as close as roundings; of seed 0 itself."""
    rng = np.random.default_rng(seed)

    def moved(tensor: TensorArgument) -> TensorArgument:
        if not seed or tensor.values.dtype.kind != "f":
            return tensor
        by = 1 + SHAKEN * rng.choice((-1, 1), tensor.values.shape)
        return replace(tensor, values=(tensor.values * by).astype(tensor.values.dtype))

    return replace(launch, tensors={name: moved(tensor) for name, tensor in launch.tensors.items()})


def _spread(events: Sequence[Event], shaken: Sequence[Sequence[Event]]) -> list[Event]:
    """Return a program's events, names with how far their numbers are from those of launches that were shaken, if that
    is far.

    A launch that has other events, because a tensor in PyTorch was left as it was, does not count.
    """
    same = [other for other in shaken if [*map(_what, other)] == [*map(_what, events)]]
    return [_with_spread(*one) for one in zip(events, *same, strict=True)]


def _what(event: Event) -> tuple[Any, ...]:
    return event.kind, event.place, event.name, event.numbers is not None and event.numbers.shape


def _with_spread(event: Event, *shaken: Event) -> Event:
    if event.kind is not Kind.NAME or all(_same(event, one, CLOSE / 4) for one in shaken):
        return event
    numbers = [one.numbers for one in (event, *shaken) if one.numbers is not None]
    with np.errstate(invalid="ignore"):
        return replace(event, spread=np.nan_to_num(np.ptp(numbers, axis=0)))


def alike(old: Sequence[Recorded], new: Sequence[Recorded]) -> bool:
    """Return whether two recordings are the same, but for the last digits of their numbers."""
    if [(one.kernel, one.case, one.loops) for one in old] != [(one.kernel, one.case, one.loops) for one in new]:
        return False
    pairs = [(a.programs, b.programs) for a, b in zip(old, new, strict=True)]
    return all(
        a.keys() == b.keys() and all(len(a[n]) == len(b[n]) and all(map(_same, a[n], b[n])) for n in a)
        for a, b in pairs
    )


def _same(old: Event, new: Event, close: float = CLOSE) -> bool:
    if _what(old) != _what(new):
        return False
    if not np.array_equal(
        old.elements if old.elements is not None else (), new.elements if new.elements is not None else ()
    ):
        return False
    if old.numbers is None or new.numbers is None:
        return old.numbers is new.numbers
    finite = np.abs(new.numbers[np.isfinite(new.numbers)])
    least = close * float(finite.max()) if finite.size else 0.0
    rounded = 0.0 if old.spread is None else ROUNDED * old.spread
    return bool(np.isclose(old.numbers, new.numbers, close, least + rounded, equal_nan=True).all())
