"""The house words, which are to be gone from every text, with what to write instead; and docstrings that begin badly.

    python -m tests.english

It looks at Markdown files, the Markdown cells of lessons, and docstrings and sentences in `checker/`, but not at code,
names, or what a program has written. Exit status 1 if it finds anything.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from checker.course.places import ROOT

# Few patterns without false alarms: a word that has an honest second meaning comes with the words around it.
HOUSE = {
    r"sweeps?|sweeping": "pass",
    r"mend|mends|mended|mending": "fix",
    r"(each|every|no|one|per|next|first|last) turn|turn to turn|turns of (the|its|a|this)( \w+)? loop": "iteration",
    r"in turns": "alternately",
    r"behind the (end|last)": "past the end",
    r"one (\w+ )?less(?! than)": "one fewer",
    r"belongs? into": "belongs in",
    r"which share (of|is|it)": "what share",
    r"(is|are|be) no multiple": "is not a multiple",
    r"for you to (say|choose|decide)": "you decide",
    r"goes on|to go on": "continues",
    r"(is|are|was|were) (all )?in order(?! (to|of|that))": "is right",
    r"besides(?=\s*([.;:)|]|$))": "as well",
    r"beside": "next to, against, or besides",
    r"spines?": "main path",
    r"rungs?": "puzzle",
    r"ladders?": "puzzles, course",
    r"speed tracks?": "tuned versions",
}
RULES = [(re.compile(r"\b(" + old.replace(" ", r"\s+") + r")(?!\w)", re.IGNORECASE), new) for old, new in HOUSE.items()]
NO_PROSE = re.compile(r"^ *```.*?^ *```|`[^`]*`|<!--.*?-->|\]\([^)]*\)|^# [a-z0-9/-]+(?=:|$)", re.DOTALL | re.MULTILINE)
FIRST = {"What", "Whether", "Where", "Who", "Which", "How", "Why", "Those"}  # words that no docstring begins with
WRITTEN = ("build/", "benchmarks/results", "tests/gpu/agreement.md", "tests/versions")  # by programs


def found(text: str) -> Iterator[tuple[int, str, str]]:
    """(line from 0, the words, what to write) of each old word in Markdown."""
    prose = NO_PROSE.sub(lambda code: re.sub(r"[^\n]", "_", code[0]), text)
    for rule, instead in RULES:
        for match in rule.finditer(prose):
            yield text.count("\n", 0, match.start()), " ".join(match[0].split()), instead


def with_a_clause(source: str) -> Iterator[tuple[int, str, str]]:
    """Yield (line, first word, what to begin with) of docstrings that begin like a question; a property's may."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef)) or (
            isinstance(node, ast.FunctionDef) and not any("property" in ast.unparse(one) for one in node.decorator_list)
        ):
            word = (ast.get_docstring(node) or "").partition(" ")[0]
            start = "a verb" if isinstance(node, ast.FunctionDef) else "a noun"
            if word in FIRST or (start == "a noun" and word in {"From", "That"}):
                yield node.body[0].lineno, word, start


def lesson(script: str) -> str:
    """The Markdown cells of a lesson, each line where it was."""
    lines, inside = [], False
    for line in script.split("\n"):
        inside = "[markdown]" in line if line.startswith("# %%") else inside
        lines.append(line.removeprefix("#").removeprefix(" ") if inside else "")
    return "\n".join(lines)


def sentences(source: str) -> Iterator[tuple[int, str]]:
    """Yield (first line, text) of docstrings and of strings with spaces; not of names, such as a finding's."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\S ", node.value):
            yield node.lineno, node.value


def texts(root: Path) -> Iterator[tuple[Path, int, str]]:
    """(file, its first line, Markdown) of all that is looked at."""
    pages = [*root.glob("*.md"), *(page for room in root.glob("[a-z]*/") for page in room.rglob("*.md"))]
    for path in sorted(pages):
        translated = ".zh." in path.name or path.parent.name == "zh"
        if not translated and not path.relative_to(root).as_posix().startswith(WRITTEN):
            yield path, 1, path.read_text(encoding="utf-8")
    for path in sorted((root / "puzzles").glob("*.py")):
        yield path, 1, lesson(path.read_text(encoding="utf-8"))
    for path in sorted((root / "checker").rglob("*.py")):
        for line, text in sentences(path.read_text(encoding="utf-8")):
            yield path, line, text


def main() -> int:
    """Print each old word and each docstring that begins with a clause, with its place; return how many there are."""
    count = 0
    for path, first, text in texts(ROOT):
        for line, words, instead in found(text):
            print(f'{path.relative_to(ROOT)}:{first + line}: "{words}"; write: {instead}')
            count += 1
    for path in sorted(path for folder in ("checker", "tests", "benchmarks") for path in (ROOT / folder).rglob("*.py")):
        for line, word, start in with_a_clause(path.read_text(encoding="utf-8")):
            if start == "a noun" or path.is_relative_to(ROOT / "checker"):
                print(f"{path.relative_to(ROOT)}:{line}: {word}; begin with {start}")
                count += 1
    return count


if __name__ == "__main__":
    sys.exit(min(main(), 1))
