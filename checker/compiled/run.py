"""Compilation of a learner's kernels and the course's: the compiler's texts by line, and reasons of narrow accesses."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

from checker.compiled import assembler, ttgir
from checker.compiled.assembler import Instruction
from checker.compiled.form import Form
from checker.compiled.result import Access, Dot, Loop, Made
from checker.compiled.slowness import Cause, Narrow
from checker.course.targets import KNOWN, Target
from checker.sandbox.compiling import Compiled, Compiler
from checker.sandbox.inside.lowering import ASSEMBLER
from checker.sandbox.parent import Limits
from checker.submission.extract import Program

WIDEST = 16  # bytes that one instruction of one thread moves
_PORTION = 8  # registers of a thread are handed out in eights
_SCHEDULERS = 4  # each has a quarter of a core's registers, and warps of its own


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


def made(program: Program, form: Form, result: Compiled) -> Made:
    """Return what became of a kernel, as far as the texts tell."""
    target, warps = KNOWN[form.job.target], form.tuning.num_warps
    base = Made(form.job.kernel, target, form.words(result.job.options["num_stages"]), warps, texts=result.texts)
    if result.error is not None:
        return replace(base, error=result.error.message.strip().split("\n")[0], error_line=result.error.line)
    code = list(assembler.instructions(result.texts.get(ASSEMBLER, "")))
    unknown = [] if any(one.line for one in code) else ["the assembler text says nothing of lines"]
    try:
        layouts = ttgir.loops(result.texts.get("ttgir", ""))
    except ttgir.Unknown as problem:
        layouts = ttgir.Loops()
        unknown.append(f"Triton's own text: {problem}")
    fits, limited_by = None, ""
    if result.registers is not None and result.shared is not None:
        fits, limited_by = at_once(target, warps, result.registers, result.shared, result.tensor_memory or 0)
    functions = list(program.functions.values())
    return replace(
        base,
        instructions=len(code),
        registers=result.registers,
        spilled=result.spilled,
        shared=result.shared,
        tensor_memory=result.tensor_memory or None,
        at_once=fits,
        limited_by=limited_by,
        accesses=tuple(_accesses(code, layouts, warps * target.warp)),
        dots=tuple(_dots(functions, code)),
        loops=tuple(_loops(functions, code, layouts)),
        largest_block=max((block.elements for block in layouts.blocks.values()), default=0),
        unknown="; ".join(unknown),
        statements=_statements(functions),
    )


def _busiest(code: Iterable[Instruction]) -> tuple[list[Instruction], bool]:
    """Of a line's instructions those that count: of the loop that has most of them, if any does. And whether one does.

    A loop may stand there more than once: its rest, or a function that is inlined twice.
    """
    by_loop: dict[str, list[Instruction]] = defaultdict(list)
    for one in code:
        by_loop[one.loop].append(one)
    outside = by_loop.pop("", [])
    return (max(by_loop.values(), key=len), True) if by_loop else (outside, False)


def _accesses(code: Sequence[Instruction], layouts: ttgir.Loops, threads: int) -> Iterator[Access]:
    """Yield what each line loads, and what it stores."""
    by_line: dict[tuple[int, bool], list[Instruction]] = defaultdict(list)
    for one in code:
        if (moved := assembler.moved(one)) is not None and one.line:
            by_line[one.line, moved.store].append(one)
    for (line, store), found in sorted(by_line.items()):
        busiest, looped = _busiest(found)
        counted = [moved for one in busiest if (moved := assembler.moved(one)) is not None]
        block = layouts.blocks.get(line)
        widths = tuple(sorted({moved.bytes for moved in counted}))
        possible = max(widths)
        if block is not None:  # no thread can move more than its share of the block
            share = block.elements * block.bytes // threads
            possible = max(block.bytes, min(WIDEST, 1 << max(share.bit_length() - 1, 0)))
        asynchronous = all(moved.asynchronous for moved in counted)
        yield Access(line, store, widths, len(counted), looped, asynchronous, possible)


def _dots(functions: Iterable[ast.FunctionDef], code: Sequence[Instruction]) -> Iterator[Dot]:
    """Yield what each `tl.dot` became."""
    for call in _calls(functions, "dot"):
        own = [one for one in code if one.line in _span(call)]
        matrix = [one for one in own if assembler.matrix(one)]
        counted, looped = _busiest(matrix or [one for one in own if assembler.multiplies_and_adds(one)])
        if counted:
            kinds = dict.fromkeys(assembler.matrix(one) for one in counted)
            asked = next((word.value for word in call.keywords if word.arg == "input_precision"), None)
            precision = str(asked.value) if isinstance(asked, ast.Constant) else ""
            yield Dot(call.lineno, ", ".join(filter(None, kinds)), precision, len(counted), looped)


def _loops(functions: Iterable[ast.FunctionDef], code: Sequence[Instruction], layouts: ttgir.Loops) -> Iterator[Loop]:
    """Yield each `for` that is still a loop: the innermost one that has all of a loop's instructions, or calls what
    has.
    """
    every = [one for function in functions for one in ast.walk(function) if isinstance(one, ast.For)]
    dots = {line for call in _calls(functions, "dot") for line in _span(call)}
    by_loop: dict[str, list[Instruction]] = defaultdict(list)
    for one in code:
        if one.loop and one.lines:
            by_loop[one.loop].append(one)
    found: dict[int, tuple[ast.For, list[Instruction]]] = {}
    for body in by_loop.values():
        inside = {node: sum(not set(_span(node)).isdisjoint(one.lines) for one in body) for node in every}
        node = max(inside, key=lambda one: (inside[one], -len(_span(one))), default=None)
        if node is not None and len(body) > len(found.get(node.lineno, (node, []))[1]):
            found[node.lineno] = node, body  # of a loop and its rest, the loop
    for node, body in (found[line] for line in sorted(found)):
        loads = {one.line for one in body if (moved := assembler.moved(one)) is not None and not moved.store}
        through_shared = {one.line for one in body if assembler.writes_shared(one)}
        moved_lines = {lines[0] for lines in layouts.moved if not set(_span(node)).isdisjoint(lines)}
        yield Loop(
            node.lineno,
            node.end_lineno or node.lineno,
            any(one.line in dots for one in body),
            tuple(sorted(loads)),
            max((layouts.kept_ready.get(line, 0) for line in loads), default=0),
            len(body),
            tuple(one.line for one in body if assembler.divides(one)),
            tuple(one.line for one in body if assembler.scales_for_base_2(one)),
            tuple(sorted(moved_lines & through_shared)),
            sum(line in layouts.kept_ready for line in loads),
        )


def _statements(functions: Iterable[ast.FunctionDef]) -> dict[int, int]:
    """From each line of a statement to its first: a call that goes over several lines is known by the first."""
    simple = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return)
    nodes = [one for function in functions for one in ast.walk(function) if isinstance(one, simple)]
    return {line: node.lineno for node in nodes for line in _span(node)}


def _calls(functions: Iterable[ast.FunctionDef], name: str) -> Iterator[ast.Call]:
    """Calls of `tl.name`, in order of lines."""
    calls = [
        node
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]
    yield from sorted(calls, key=lambda call: call.lineno)


def _span(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def at_once(target: Target, warps: int, registers: int, shared: int, tensor_memory: int = 0) -> tuple[int, str]:
    """(programs that fit on one core, what keeps more of them out).

    `registers` of a thread, `shared` bytes of a program, `tensor_memory` columns of a program. Source: CUDA's occupancy
    calculator, whose rules hold for AMD's cores with their own numbers.
    """
    of_thread = -(-max(registers, 1) // _PORTION) * _PORTION
    of_scheduler = target.registers // _SCHEDULERS // (of_thread * target.warp)
    limits = {
        "programs": target.programs,
        "threads": target.threads // (warps * target.warp),
        "registers": of_scheduler * _SCHEDULERS // warps,
        "shared memory": target.shared // (shared + target.reserved) if shared + target.reserved else target.programs,
    }
    if target.tensor_memory and tensor_memory:
        limits["tensor memory"] = target.tensor_memory // tensor_memory
    name = min(limits, key=lambda limit: limits[limit])
    return limits[name], name
