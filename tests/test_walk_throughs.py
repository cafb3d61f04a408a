"""Each solution has a walk-through beside it, which quotes every line that the stub does not give."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from checker import catalog
from checker.course import ladder, places
from checker.course.lesson import span

QUOTE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
STEMS = ladder.stems()


def is_code(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def quotes(page: str) -> list[list[str]]:
    """The lines of each block of Python, without common indentation."""
    return [textwrap.dedent(block).rstrip("\n").split("\n") for block in QUOTE.findall(page)]


def places_of(quote: list[str], solution: list[str]) -> list[range]:
    """Where these lines stand in the solution one after the other."""
    ranges = (range(at, at + len(quote)) for at in range(len(solution) - len(quote) + 1))
    return [where for where in ranges if textwrap.dedent("\n".join(solution[n] for n in where)).split("\n") == quote]


def own_lines(puzzle_id: str, solution: list[str]) -> set[int]:
    """The lines of code that the solution adds to the stubs: in their kernels, and functions beside them."""
    given_text = places.stubs(puzzle_id).read_text().split("\n")
    names = [kernel.name for kernel in catalog.load(puzzle_id).kernels]
    functions = re.findall(r"^def (\w+)", "\n".join(solution), re.MULTILINE)
    added = set()
    for name in functions:
        in_stub = span(given_text, name) if name in names else None
        given = iter([given_text[n] for n in in_stub or () if is_code(given_text[n])])
        awaited = next(given, None)
        for number in span(solution, name) or ():
            line = solution[number]
            if awaited is not None and line.partition("  # fmt")[0] == awaited.partition("  # fmt")[0]:
                awaited = next(given, None)
            elif is_code(line):
                added.add(number)
        assert awaited is None, f"{name}: the stub's line is not found: {awaited}"
    return added


@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_a_walk_through_quotes_the_whole_solution_in_its_order(puzzle_id: str) -> None:
    solution = places.solution(puzzle_id).read_text().split("\n")
    after, quoted = 0, set()
    for quote in quotes(places.walk_through(puzzle_id).read_text()):
        text = "\n".join(quote)
        found = places_of(quote, solution)
        assert found, f"not in the solution as consecutive lines:\n{text}"
        following = [where for where in found if where.start >= after]
        assert following, f"quoted twice, or before what the solution has first:\n{text}"
        after = following[0].stop
        quoted |= set(following[0])
    left_out = [solution[number] for number in sorted(own_lines(puzzle_id, solution) - quoted)]
    assert not left_out, "\n".join(["nobody explains:", *left_out])


@pytest.mark.finished
@pytest.mark.parametrize("puzzle_id", STEMS, ids=STEMS.values())
def test_a_walk_through_can_be_read_anywhere(puzzle_id: str) -> None:
    """In a terminal a formula cannot be shown; and nobody reads a long page after success."""
    page = places.walk_through(puzzle_id).read_text()
    text = QUOTE.sub("", page)
    assert (100 if puzzle_id.startswith("w") else 250) <= len(text.split()) <= 600
    assert "$" not in text and "<details" not in text
    headings = re.findall(r"^#+ .*", text, re.MULTILINE)
    assert page.startswith(headings[0]) and headings[-1] == "## The one thing to read"
    assert all(heading.startswith("## ") for heading in headings[1:])


def test_no_walk_through_is_stray() -> None:
    folder = Path(places.ROOT / "solutions")
    assert {path.stem for path in folder.glob("*.md")} == {*STEMS.values(), "museum"}
