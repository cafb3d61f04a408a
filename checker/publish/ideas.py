"""A teacher's page: every mistake of a puzzle that has a name, in the report's words, and the kernels that make it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from checker import catalog
from checker.course.edits import Edited, read
from checker.course.ladder import RUNGS
from checker.course.misconception import Misconception
from checker.course.places import ROOT


def page(puzzle_id: str, root: Path = ROOT) -> str:
    """Markdown: each idea of a puzzle, its variants, and what to change in the solution to have it.

    A wrong kernel stands with the idea that the report names first. Raises OSError where there are no wrong kernels.
    """
    wrong = root / "tests" / "wrong"
    kernels = {**read(wrong / f"{puzzle_id}.diff"), **_files(wrong.glob(f"{puzzle_id}_*.py"))}
    by_id: dict[str, list[Misconception]] = {}
    for one in catalog.load(puzzle_id).misconceptions:
        by_id.setdefault(one.id, []).append(one)
    of_others = [name for name, kernel in kernels.items() if kernel.findings[0] not in by_id]
    return "\n".join(
        [
            f"# Puzzle {puzzle_id}, {RUNGS[puzzle_id].title}: {len(by_id)} mistakes that a report names",
            "",
            *(line for id, ideas in by_id.items() for line in _of_one(id, ideas, kernels)),
            *(["## What any kernel may do wrong", ""] if of_others else []),
            *_kernels({name: kernels[name] for name in of_others}),
        ]
    )


def _of_one(id: str, ideas: Iterable[Misconception], kernels: Mapping[str, Edited]) -> Iterator[str]:
    yield from (f"## {id}", "")
    for title, explanation, question, hint in dict.fromkeys(
        (m.title, m.explanation, m.question, m.hint) for m in ideas
    ):
        yield from (f"**{title}.** {explanation}", "")
        yield from (f"*Asks:* {question}", "") if question else ()
        yield from (f"*Hint:* {hint}", "")
    yield from _kernels({name: kernel for name, kernel in kernels.items() if kernel.findings[0] == id})


def _files(paths: Iterable[Path]) -> dict[str, Edited]:
    """Wrong kernels that are whole files: what their docstrings say."""
    found = {}
    for path in sorted(paths):
        says = path.read_text(encoding="utf-8").split('"""')[1].strip()
        findings = tuple(says.partition("Finding: ")[2].split(" and "))
        found[path.stem] = Edited(path.stem, f"{says.partition(chr(10))[0]} (a whole file)", findings, ())
    return found


def _kernels(kernels: Mapping[str, Edited]) -> Iterator[str]:
    for name, kernel in kernels.items():
        yield from (f"`{name}`: {kernel.says}", "")
        if kernel.edits:
            yield from ("```diff", *kernel.edits, "```", "")
