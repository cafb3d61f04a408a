"""Candidates among the definitions of a kernel in a notebook's cells: one rule for whoever reads one.

What is run in a notebook replaces what was run before it, and a check there judges the definitions that were run last.
A saved notebook may hold others as well: an old try, a copy, the stub. Each kernel in it that was begun is a candidate,
and the best one counts. So whoever has seen a result in the notebook gets at least that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from checker.course.kernel import Kernel
from checker.submission.extract import NotASubmission, extract
from checker.submission.language import PYTORCH, language_of
from checker.submission.nodes import parsed
from checker.submission.read import (
    Cell,
    Chunk,
    Submission,
    blanked,
    cells_of,
    defines,
    from_cells,
    from_file,
    without_magics,
)

MOST = 3  # candidates, of which the best counts
MOST_TRIED = 20  # states of a notebook in which another candidate is sought
UNREADABLE_CODE = (NotASubmission, SyntaxError, RecursionError, MemoryError, ValueError)  # no program is in it
_IMPORT = re.compile(r"^(?:import|from)\s+(?:triton|torch)\b", re.MULTILINE)
_DEFINED = re.compile(r"^(?:def\s+(\w+)|(\w+)\s*[:=])", re.MULTILINE)


@dataclass(frozen=True)
class Candidate:
    """One definition of each kernel, of those in a file."""

    submission: Submission
    cells: Mapping[str, int] = field(default_factory=dict)  # positions of those with the definitions, by kernel
    every: Mapping[str, str] = field(default_factory=dict)  # of each with several: the numbers of all cells, in words
    imports_added: bool = False  # those of the course, because no cell imports anything of that kind

    @property
    def notes(self) -> list[str]:
        """Sentences that say which of several definitions it has."""
        return [
            f"{kernel} is defined in cells {every}; that in cell {self.cells[kernel] + 1} is the best, and counts."
            for kernel, every in self.every.items()
        ]


def candidates(path: Path, asked: Sequence[Kernel], name: str = "") -> list[Candidate]:
    """Return the candidates in a script or a notebook, at most MOST, the newest first. Raises Unreadable.

    `name`: of the file, in sentences.
    """
    if path.suffix != ".ipynb":
        return [Candidate(from_file(path, name))]
    return among(cells_of(path, name), asked, name or str(path))


def newest(path: Path, asked: Sequence[Kernel]) -> Submission:
    """Return the program of a script, or of a notebook as it was run last. Raises Unreadable."""
    return candidates(path, asked)[0].submission


def among(cells: Sequence[Cell], asked: Sequence[Kernel], name: str) -> list[Candidate]:
    """Return the candidates in a notebook's cells. Raises Unreadable.

    A stub is none if the same kernel was begun elsewhere. Two definitions in one cell stay there, for the judge to
    refuse.
    """
    submission = from_cells([(cell.kind, cell.text) for cell in cells], name)
    texts = [""] * len(cells)
    for chunk in submission.chunks:
        texts[(chunk.cell or 1) - 1] = chunk.text
    there = {kernel.name: [n for n, text in enumerate(texts) if defines(text, kernel.name)] for kernel in asked}
    begun = dict(there)
    for kernel in asked:
        if len(there[kernel.name]) > 1:
            started = [n for n in there[kernel.name] if _begun(texts[n], kernel)]
            begun[kernel.name] = started or there[kernel.name]
        for n in set(there[kernel.name]) - set(begun[kernel.name]):
            texts[n] = _without(texts[n], kernel.name)
    added = any(there.values()) and not any(_IMPORT.search(text) for text in texts)
    made: dict[str, Candidate] = {}
    twice = _some_twice(texts)
    for order in _orders(cells, texts, asked) if twice else [range(len(cells))]:
        kept = list(texts)
        for n, text in zip(order, latest([texts[n] for n in order]), strict=True) if twice else ():
            kept[n] = text
        chunks = tuple(replace(chunk, text=kept[(chunk.cell or 1) - 1]) for chunk in submission.chunks)
        if added:
            chunks = (_imports(asked), *chunks)
        one = replace(submission, chunks=chunks)
        taken = {name: n for name, some in begun.items() for n in some if defines(kept[n], name)}
        every = {name: _in_words(there[name]) for name in taken if len(there[name]) > 1}
        made.setdefault(program_text(one, asked) if twice else "", Candidate(one, taken, every, added))
        if len(made) == MOST:
            break
    return list(made.values())


def submission_of(cells: Iterable[str]) -> Submission:
    """Return the submission in cells that were run one after the other, with the numbers that the notebook shows."""
    return from_cells([("code" if text else "", text) for text in latest(list(cells))], "")


def latest(cells: Sequence[str]) -> list[str]:
    """Return the cells without what a later one defines anew; lines keep their numbers.

    A cell that is no Python is dropped if a later one defines the same function; else the judge tells.
    """
    defined: set[tuple[type, str]] = set()  # functions and values apart: a kernel is no value
    kept = []
    for text in reversed(cells):
        plain = without_magics(text)
        try:
            statements = ast.parse(plain).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            again = any(f"def {name}(" in plain for kind, name in defined if kind is ast.FunctionDef)
            kept.append("" if again else plain)
            continue
        named = [(statement, _names(statement)) for statement in statements]
        kept.append(blanked(plain, [statement for statement, names in named if names and names <= defined]))
        defined = defined.union(*(names for _, names in named))
    return kept[::-1]


def program_text(submission: Submission, asked: Sequence[Kernel]) -> str:
    """Return a text that two submissions share if their programs are equal; all of the code if there is no program."""
    try:
        return "\n".join(sorted(map(ast.dump, ast.parse(extract(submission, tuple(asked)).source).body)))
    except UNREADABLE_CODE:
        return submission.text


def _orders(cells: Sequence[Cell], texts: Sequence[str], asked: Sequence[Kernel]) -> Iterator[Sequence[int]]:
    """Yield orders in which the cells may have been run, by position: what is run later in one of them counts there.

    First that in which they were run, as far as their numbers tell. If there are several kernels, then nbgrader's own
    cells last, and the order of the file. Then each state before something that the kernels need was defined anew.
    """
    ran = sorted(range(len(cells)), key=lambda n: cells[n].ran)
    yield ran
    names = {kernel.name for kernel in asked}
    if len(names) > 1:
        yield sorted(ran, key=lambda n: cells[n].grade_id in names)
        yield range(len(cells))
    needed, before, ends = _needed(texts, names), set[str](), []
    for place, n in enumerate(ran):
        defined = needed.intersection(_defined(texts[n]))
        if defined & before:
            ends.append(place)
        before |= defined
    for end in ends[: -MOST_TRIED - 1 : -1]:
        yield ran[end:] + ran[:end]


def _needed(texts: Iterable[str], names: Iterable[str]) -> set[str]:
    """Return the names of kernels, and all names in them and in what they mention."""
    trees = (tree for text in texts if (tree := parsed(text)) is not None)
    functions = [one for tree in trees for one in tree.body if isinstance(one, ast.FunctionDef)]
    found: set[str] = set()
    waiting = {*names}
    while waiting:
        found |= waiting
        asked = [function for function in functions if function.name in waiting]
        waiting = {n.id for function in asked for n in ast.walk(function) if isinstance(n, ast.Name)} - found
    return found


def _begun(text: str, kernel: Kernel) -> bool:
    """Return whether a cell has more of a kernel than its stub."""
    try:
        program = extract(Submission("", (_imports([kernel]), Chunk(text))), (kernel,))
    except UNREADABLE_CODE:
        return True
    return bool(program.outside) or not program.empty(kernel.name)


def _imports(asked: Sequence[Kernel]) -> Chunk:
    """Return the course's own imports."""
    language = language_of(asked)
    return Chunk("\n".join([language.line] if language.module == PYTORCH.module else ["import triton", language.line]))


def _defined(text: str) -> list[str]:
    """Return the names that a text defines at the margin, each as often as it does."""
    return [function or value for function, value in _DEFINED.findall(text)]


def _some_twice(texts: Iterable[str]) -> bool:
    names = [name for text in texts for name in {*_defined(text)}]
    return len({*names}) < len(names)


def _in_words(positions: Sequence[int]) -> str:
    *others, last = (str(n + 1) for n in positions)
    return f"{', '.join(others)} and {last}"


def _without(text: str, kernel: str) -> str:
    """Return a cell without a kernel's definition, or without anything if Python cannot read it; lines keep their
    numbers.
    """
    if (tree := parsed(text)) is None:
        return "\n" * text.count("\n")
    return blanked(text, [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == kernel])


def _names(statement: ast.stmt) -> set[tuple[type, str]]:
    """Names that a top-level statement gives a function or a plain value."""
    if isinstance(statement, ast.FunctionDef):
        return {(ast.FunctionDef, statement.name)}
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {(ast.Assign, target.id) for target in targets if isinstance(target, ast.Name)}
