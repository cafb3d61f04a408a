"""The compiler's texts with the student's lines next to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from checker.compiled import assembler, ttgir
from checker.compiled.assembler import SUBMISSION
from checker.course.clean import clean
from checker.sandbox.inside.lowering import ASSEMBLER

STAGES = {"ttgir": "ttgir", "llir": "llir", "ptx": ASSEMBLER}  # what can be asked for, and the name of its text

_NODE = re.compile(r"^(!\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_OF_LLVM = re.compile(r"!dbg (!\d+)")


def listing(
    texts: Mapping[str, str], stage: str, source: Sequence[str], number: Callable[[int], str] = str
) -> Iterator[str]:
    """Yield a stage's text; wherever it comes to another line of the `source`, that line stands
    above, with its number.
    """
    text, last = texts.get(STAGES[stage], ""), 0
    for line, one in _READERS[stage](clean(text, len(text))):
        if line != last and 0 < line <= len(source):
            yield f"{number(line):>4} │ {clean(source[line - 1].strip())}"
            last = line
        yield f"     │     {one.rstrip()}"


def _of_llvm(text: str) -> Iterator[tuple[int, str]]:
    """(line of the submission or 0, text) of each line of LLVM's own language."""
    nodes = {name: (kind, fields) for name, kind, fields in _NODE.findall(text)}

    def place(name: str) -> int:
        for _ in range(len(nodes)):
            kind, fields = nodes.get(name, ("", ""))
            if kind != "DILocation":
                return 0
            if SUBMISSION in _file(fields, nodes):
                found = re.search(r"\bline: (\d+)", fields)
                return int(found[1]) if found else 0
            inlined = re.search(r"inlinedAt: (!\d+)", fields)
            name = inlined[1] if inlined else ""
        return 0

    for line in text.split("\n"):
        if not line.startswith("!"):
            found = _OF_LLVM.search(line)
            yield place(found[1]) if found else 0, line


def _file(fields: str, nodes: Mapping[str, tuple[str, str]]) -> str:
    """Return the fields of the file that a location is in."""
    scope = re.search(r"scope: (!\d+)", fields)
    _, of_scope = nodes.get(scope[1] if scope else "", ("", ""))
    file = re.search(r"file: (!\d+)", of_scope)
    return nodes.get(file[1] if file else "", ("", ""))[1]


def _of_assembler(text: str) -> Iterator[tuple[int, str]]:
    return ((lines[0] if lines else 0, one) for lines, _, one in assembler.lined(text))


def _of_ttgir(text: str) -> Iterator[tuple[int, str]]:
    return ((lines[0] if lines else 0, one) for lines, one in ttgir.lined(text))


_READERS = {"ttgir": _of_ttgir, "llir": _of_llvm, "ptx": _of_assembler}
