"""Lessons as notebooks, and in other languages as files too: prose from the translation, everything else as in English.

Those lie in a folder of the language next to the English ones, `puzzles/zh/` and `notebooks/zh/`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from checker.course import ladder, places
from checker.course.columns import breaks, columns, has_wide
from checker.course.language import ENGLISH, LANGUAGES
from checker.course.lesson import (
    LESSON,
    as_lesson,
    notebook_json,
    notebook_text,
    script_cells,
    script_text,
    with_figures,
)
from checker.course.paragraphs import lessons, translated
from checker.course.places import ROOT, figures
from checker.course.puzzle import Puzzle

WIDTH = 100  # columns of a line of prose in a file; a sign of Chinese takes two
_TARGET = re.compile(r"(?<=\]\()(?!https?:|attachment:|#)([^)\s]+)(?=\))")
_MARK = re.compile(r"\d+[.)](?: |$)")  # at the beginning of a line it would be no prose
_CHECK = re.compile(r'^check\("(\w+)"\)$', re.MULTILINE)


def languages(puzzle_id: str, root: Path = ROOT) -> list[str]:
    """Return the languages, English apart, in which there is a lesson."""
    return [code for code in LANGUAGES if _source(puzzle_id, code, root).exists()]


def script_in(language: str, script: str, root: Path = ROOT) -> str:
    """Return a lesson's py:percent text in a language."""
    cells = [(kind, _settled(text, language, root)) for kind, text in _cells(script, language, root)]
    return script_text([(kind, _folded(text) if kind == "markdown" else text) for kind, text in cells])


def notebook_in(language: str, script: str, puzzle: Puzzle, root: Path = ROOT) -> str:
    """Return the same as a notebook, with its figures; in English where the language has no such lesson."""
    if language not in languages(puzzle.id, root):
        return with_figures(notebook_text(script, puzzle), figures(root))
    text = script_text(_cells(script, language, root))
    notebook = json.loads(with_figures(notebook_text(text, puzzle), figures(root)))
    for cell in notebook["cells"]:
        cell["source"] = _settled(cell["source"], language, root)
        cell["metadata"] |= {LESSON: _settled(as_lesson(cell), language, root)} if LESSON in cell["metadata"] else {}
    return notebook_json(notebook)


def built(script: str, puzzle: Puzzle, root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Yield what is built of a lesson: files, and their text. Its notebooks are not for hosts yet."""
    yield places.notebook(puzzle.id, root), notebook_in(ENGLISH, script, puzzle, root)
    for language in languages(puzzle.id, root):
        yield places.script(puzzle.id, root, language), script_in(language, script, root)
        yield places.notebook(puzzle.id, root, language), notebook_in(language, script, puzzle, root)


def _source(puzzle_id: str, language: str, root: Path) -> Path:
    return root / "puzzles" / language / f"{ladder.stems()[puzzle_id]}.md"


def _cells(script: str, language: str, root: Path) -> list[tuple[str, str]]:
    there = lessons(language, root)
    return [(kind, translated(text, there) if kind == "markdown" else text) for kind, text in script_cells(script)]


def _settled(text: str, language: str, root: Path) -> str:
    """Return a cell in a folder one further down, which asks for its language."""
    here = {path.stem for path in (root / "puzzles" / language).glob("*.md")}

    def moved(target: re.Match[str]) -> str:
        stem = ladder.without_number(Path(target[1].partition("#")[0]).stem)
        return target[1] if "/" not in target[1] and stem in here else f"../{target[1]}"

    parts = re.split(r"(`[^`]*`)", text)  # code, which has no links, but names files
    parts[::2] = [_TARGET.sub(moved, part) for part in parts[::2]]
    parts[1::2] = [re.sub(r"^`(puzzles|notebooks)/(?=\w+\.)", rf"`\1/{language}/", part) for part in parts[1::2]]
    text = "".join(parts)
    return _CHECK.sub(rf'check("\1", language="{language}")', text)


def _folded(text: str) -> str:
    """Prose in lines of no more than WIDTH columns; tables and code as they are."""
    lines, code = [], False
    for line in text.split("\n"):
        code ^= line.startswith("```")
        if code or columns(line) <= WIDTH or re.match(r"[|#!<]|```|\$\$", line) or not has_wide(line):
            lines.append(line)
            continue
        indent = "  " if line.startswith("* ") else ""
        inside = (at for at in breaks(line, WIDTH - len(indent)) if not _MARK.match(line, at))
        at = [0, *inside, len(line)]
        parts = [line[start:end].rstrip() for start, end in pairwise(at)]
        lines += [parts[0], *(indent + part for part in parts[1:])]
    return "\n".join(lines)
