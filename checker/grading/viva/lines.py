"""Somebody's own kernel as a viva shows it, line by line, and what one of its lines may be changed to.

A changed line is the student's, as it was typed, but for the one place. That it means what its mutant means is proven
for each: both are parsed and compared.
"""

from __future__ import annotations

import ast
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from checker.grading.viva.mutants import Replacement, replacements
from checker.grading.viva.operators import promised, untiled
from checker.submission.extract import Program
from checker.submission.nodes import parsed

LONGEST = 160  # characters of a line that is asked about
# What is true or slow on a GPU only, or asks for another algorithm: nobody can tell that from the line.
_LEFT_OUT = (promised, untiled)
_ATOMS = (ast.Name, ast.Constant, ast.Attribute, ast.Call, ast.Subscript)


@dataclass(frozen=True)
class Listing:
    """The lines of a text that are judged: functions and constants, numbered from 1."""

    lines: tuple[str, ...]
    number: dict[int, int]  # of a line of the whole text


@dataclass(frozen=True)
class Change:
    """One line of a text, and what stands there instead."""

    line: int  # of the whole text, from 1
    after: str

    def made_in(self, text: str) -> str:
        """Return the text with that line changed."""
        lines = text.split("\n")
        lines[self.line - 1] = self.after
        return "\n".join(lines)


def listing(text: str, program: Program) -> Listing:
    """Return what the judge runs of a submission's text, with an empty line between the parts."""
    spans = [(value.lineno, value.end_lineno or value.lineno) for value in program.constants.values()]
    for function in program.functions.values():
        first = min([function.lineno, *(one.lineno for one in function.decorator_list)])
        spans.append((first, function.end_lineno or function.lineno))
    lines, shown, number = text.split("\n"), list[str](), dict[int, int]()
    for first, last in sorted(set(spans)):
        shown += [""] if shown else []
        for line in range(first, last + 1):
            shown.append(lines[line - 1])
            number[line] = len(shown)
    return Listing(tuple(shown), number)


def changes(text: str, function: ast.FunctionDef, draw: random.Random) -> Iterator[Change]:
    """Changes of one line of a function, each in one place, in an order that is drawn: all operators take turns."""
    lines = text.split("\n")
    end = function.end_lineno or function.lineno
    # Without its decorators, and a tree of our own: replacements change it, and change it back.
    own = ast.parse("\n" * (function.lineno - 1) + "\n".join(lines[function.lineno - 1 : end])).body[0]
    assert isinstance(own, ast.FunctionDef)
    turns: dict[str, list[Replacement]] = defaultdict(list)
    for one in replacements(own):
        if one.operator not in _LEFT_OUT:
            turns[one.operator.__name__].append(one)
    for operator in turns.values():
        draw.shuffle(operator)
    seen = {(number, line) for number, line in enumerate(lines, start=1)}
    while turns:
        for name in draw.sample(sorted(turns), len(turns)):
            change = _change(lines, own, turns[name].pop())
            if not turns[name]:
                del turns[name]
            if change is not None and (change.line, change.after) not in seen:
                seen.add((change.line, change.after))
                yield change


def _change(lines: list[str], function: ast.FunctionDef, one: Replacement) -> Change | None:
    """Return a replacement as a change of one line; None if it is none, or changes nothing."""
    if isinstance(one.old, ast.Expr) and isinstance(one.old.value, ast.Constant):
        return None  # a docstring
    wanted = one.text
    old, new = _smallest(one.old, one.new)
    if not isinstance(old, ast.expr | ast.stmt | ast.keyword) or old.end_lineno != old.lineno:
        return None
    if wanted == ast.unparse(function):
        return None
    line = lines[old.lineno - 1]
    kept = {id(node): node for node in ast.walk(function) if isinstance(node, ast.expr)}
    for text in _texts(new, kept, line):
        after = _spliced(line, old, text)
        body = lines[function.lineno - 1 : function.end_lineno]
        body[old.lineno - function.lineno] = after
        if len(after) <= LONGEST and "\n" not in after and _means("\n".join(body), wanted):
            return Change(old.lineno, after)
    return None


def _means(text: str, wanted: str) -> bool:
    """Return whether a function's text is the one that is wanted, however it is written."""
    tree = parsed(text)
    return tree is not None and ast.unparse(tree) == wanted


def _smallest(old: ast.AST, new: ast.AST) -> tuple[ast.AST, ast.AST]:
    """Return the smallest part of a node in which another one differs, of those that have a place in the text."""
    if type(old) is not type(new):
        return old, new
    differ: list[tuple[object, object]] = []
    for (_, before), (_, after) in zip(ast.iter_fields(old), ast.iter_fields(new), strict=True):
        if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
            differ += [pair for pair in zip(before, after, strict=True) if not _same(*pair)]
        elif not _same(before, after):
            differ.append((before, after))
    match differ:
        case [(ast.expr() as before, ast.expr() as after)]:
            return _smallest(before, after)
    return old, new


def _same(one: object, other: object) -> bool:
    if isinstance(one, ast.AST) and isinstance(other, ast.AST):
        return ast.dump(one) == ast.dump(other)
    return type(one) is type(other) and one == other


def _texts(new: ast.AST, kept: dict[int, ast.expr], line: str) -> Iterator[str]:
    """Yield how a node may be written: what it takes from the line as it stands there, with parentheses or without."""
    parts: list[ast.expr] = []
    drawn_up = ast.unparse(_with_names(new, kept, parts))
    texts = [_part(line, part) for part in parts]
    for closed in (False, True):
        words = [
            f"({text})" if closed and not isinstance(part, _ATOMS) else text
            for part, text in zip(parts, texts, strict=True)
        ]
        text = re.sub(r"kept_(\d+)_of_it", lambda found, words=words: words[int(found[1])], drawn_up)  # type: ignore[misc]
        yield from (text, f"({text})")
    yield from (ast.unparse(new), f"({ast.unparse(new)})")


def _with_names(node: ast.AST, kept: dict[int, ast.expr], parts: list[ast.expr]) -> ast.AST:
    """Return a copy of a node in which a name stands for each part that was kept; these are gathered in `parts`."""
    if isinstance(node, ast.expr) and id(node) in kept and node.lineno == node.end_lineno:
        parts.append(node)
        return ast.Name(f"kept_{len(parts) - 1}_of_it", ast.Load())

    def copied(value: object) -> object:
        if isinstance(value, list):
            return [copied(one) for one in value]
        return _with_names(value, kept, parts) if isinstance(value, ast.AST) else value

    copy = type(node)(**{field: copied(value) for field, value in ast.iter_fields(node)})
    return ast.fix_missing_locations(ast.copy_location(copy, node))


def _part(line: str, node: ast.expr) -> str:
    return line.encode()[node.col_offset : node.end_col_offset].decode()  # columns count bytes


def _spliced(line: str, old: ast.expr | ast.stmt | ast.keyword, text: str) -> str:
    data = line.encode()
    return (data[: old.col_offset] + text.encode() + data[old.end_col_offset :]).decode()
