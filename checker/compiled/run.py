"""Compile a learner's kernels, the course's next to them, and ask the compiler itself why an access is narrow."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from checker.compiled.form import Form
from checker.compiled.read import made
from checker.compiled.result import Made
from checker.compiled.slowness import Cause, Narrow
from checker.sandbox.compiling import Compiled, Compiler
from checker.sandbox.parent import Limits
from checker.submission.extract import Program


def compiled(programs: Mapping[str, Program], forms: Sequence[Form], *, cached: bool = True) -> dict[str, list[Made]]:
    """Return what becomes of some programs, by what they are called, each in all these forms; they compile side by
    side.
    """
    jobs = [form.job for form in forms]
    with ExitStack() as stack:
        compilers = {
            name: stack.enter_context(Compiler(program.source, jobs, Limits(), cached=cached))
            for name, program in programs.items()
        }
        results = {name: compiler.results() for name, compiler in compilers.items()}
    return {
        name: [made(programs[name], form, one) for form, one in zip(forms, results[name], strict=True)]
        for name in programs
    }


def causes(program: Program, form: Form, known: Made) -> dict[tuple[int, bool], tuple[Narrow, ...]]:
    """Return why accesses are narrow, by line and whether they store: the kernel is compiled again with each cause
    removed.
    """
    narrow = {(one.line, one.store): one for one in known.accesses if one.narrow}
    if not narrow:
        return {}
    job = replace(form.job, stages=("ttgir",))
    integers = tuple(name for name, kind in job.signature.items() if kind.startswith("i"))
    missing = [name for name in integers if name not in job.multiples]
    every = replace(job, multiples=integers)
    without_one = [replace(job, multiples=tuple(n for n in integers if n != name)) for name in missing]
    with (
        Compiler(program.source, [every, *without_one] if missing else [], Limits()) as aligned,
        Compiler(without_masks(program, {line for line, _ in narrow}), [every, job], Limits()) as unmasked,
    ):
        of_every, *of_others = [_widths(program, form, one) for one in aligned.results()] or [{}]
        of_both, of_unmasked = (_widths(program, form, one) for one in unmasked.results())
    found: dict[tuple[int, bool], tuple[Narrow, ...]] = {}
    for place, one in narrow.items():
        wide = of_every.get(place, 0)
        if wide > one.widths[0]:
            needed = [name for name, of in zip(missing, of_others, strict=True) if of.get(place, 0) < wide]
            found[place] = (Narrow(Cause.ALIGNMENT, tuple(needed or missing)),)
        elif of_unmasked.get(place, 0) > one.widths[0]:
            found[place] = (Narrow(Cause.MASK),)
        elif of_both.get(place, 0) > one.widths[0]:
            found[place] = (Narrow(Cause.MASK), Narrow(Cause.ALIGNMENT, tuple(missing)))
        else:
            found[place] = (Narrow(Cause.STRIDE),)
    return found


def _widths(program: Program, form: Form, result: Compiled) -> dict[tuple[int, bool], int]:
    """Return the narrowest instruction of each line; a tile that a unit of its own copies is as wide as any."""
    return {(one.line, one.store): one.widths[0] or 16 for one in made(program, form, result).accesses}


def without_masks(program: Program, lines: set[int]) -> str:
    """Return the program's text, in which loads and stores on these lines have no mask; lines keep their numbers."""
    text = program.source.split("\n")
    calls = [
        node
        for function in program.functions.values()
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("load", "store")
        and not lines.isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ]
    unwanted = [word.value for call in calls for word in call.keywords if word.arg in ("mask", "other")]
    for call in calls:  # the same by position
        assert isinstance(call.func, ast.Attribute)
        unwanted += call.args[1:3] if call.func.attr == "load" else call.args[2:3]
    for value in sorted(unwanted, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        first, last = value.lineno - 1, (value.end_lineno or value.lineno) - 1
        before = text[first].encode()[: value.col_offset].decode()
        after = text[last].encode()[value.end_col_offset :].decode()
        text[first : last + 1] = [f"{before}None{after}", *[""] * (last - first)]
    return "\n".join(text)
