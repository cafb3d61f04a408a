"""Kernels as edits of a puzzle's solution: what is wrong with each, what it gets, and which lines change.

    # p6_base_two: base-two
    exp2 for exp.

    -        alpha = tl.exp(mi - shift)
    +        alpha = tl.exp2(mi - shift)

A kernel begins with its name and the findings that it must get, if any, and a sentence on it. Then come its edits, with
an empty line before each, which are made one after the other: lines that go (-), that come (+), and that stay (a space
before them). Those that go or stay must follow one another just once in what the edits before have made.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_HEADING = re.compile(r"# (\w+)(?:: (\S+(?: and \S+)*))?")


class BadEdit(Exception):
    """An edit does not have its form, or does not fit the solution: a sentence that names the kernel and the text."""


@dataclass(frozen=True)
class Edited:
    """A kernel that is a solution with other lines."""

    name: str
    says: str
    findings: tuple[str, ...]
    edits: tuple[str, ...]

    def made_of(self, code: str) -> str:
        """Return the code after all edits. Raises BadEdit."""
        return edited(self.name, code, self.edits)


def read(path: Path) -> Mapping[str, Edited]:
    """Return the kernels of a file, by name, in its order. Raises OSError and BadEdit."""
    found: dict[str, Edited] = {}
    for part in re.split(r"^(?=# )", path.read_text(encoding="utf-8"), flags=re.MULTILINE):
        if part.strip():
            head, *edits = part.strip("\n").split("\n\n")
            heading, _, says = head.partition("\n")
            if not (match := _HEADING.fullmatch(heading)) or not says or not edits or match[1] in found:
                raise BadEdit(f"{path.name}: a kernel begins with `# name: finding`, a sentence and an edit:\n{head}")
            findings = tuple(match[2].split(" and ")) if match[2] else ()
            found[match[1]] = Edited(match[1], says, findings, tuple(edits))
    return found


def code_of(solution: str) -> str:
    """Return a solution without its docstring, which says what it solves."""
    return solution.partition('"""\n')[2]


def edited(name: str, code: str, edits: tuple[str, ...]) -> str:
    """Return the code after some edits. Raises BadEdit."""
    lines = code.split("\n")
    for edit in edits:
        changed = edit.split("\n")
        if any(line[:1] not in ("-", "+", " ") for line in changed):
            raise BadEdit(f"{name}: each line of an edit begins with -, + or a space:\n{edit}")
        old, new = ([line[1:] for line in changed if line[0] in signs] for signs in ("- ", "+ "))
        places = [at for at in range(len(lines)) if old and lines[at : at + len(old)] == old]
        if len(places) != 1:
            raise BadEdit(f"{name}: what goes or stays must be there once, and is there {len(places)} times:\n{edit}")
        lines[places[0] : places[0] + len(old)] = new
    return "\n".join(lines)


def changes(before: str, after: str) -> list[range]:
    """Return where two texts differ, as lines of the second, from 1; where lines are gone, their neighbours."""
    codes = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    return [
        range(first + 1, last + 1) if last > first else range(first, first + 2)
        for kind, _, _, first, last in codes
        if kind != "equal"
    ]
