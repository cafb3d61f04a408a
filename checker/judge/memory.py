"""Findings from a launch's access log: inputs changed, races, results never written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from checker.course.case import Case, Role
from checker.course.misconception import Unwritten
from checker.course.puzzle import Puzzle
from checker.course.text import Text
from checker.course.verdict import Finding, Status, Where
from checker.judge.evidence import (
    Evidence,
    Locator,
    element_name,
    grid_position,
    program_name,
    tensor_name,
    written_tensors,
)
from checker.judge.general import finding
from checker.judge.naming import explaining_all, ideas
from checker.judge.notes import Left, Note
from checker.sandbox.protocol.records import BARRIER, LOAD, STORE
from checker.sandbox.protocol.results import AccessLog, LaunchResult, marked

WRITTEN_TWICE = "written-twice"


def memory_notes(evidence: Evidence, where: Locator) -> list[Note]:
    """Return observations on a launch that ran to its end, apart from its values."""
    case, result = evidence.case, evidence.result
    assert result is not None
    if result.outside is not None:
        return [Note(_surroundings_changed(case, result.outside, where))]
    if changed := list(_inputs_changed(case, result, where)):
        return [Note(finding) for finding in changed]  # that y was not written then goes without saying
    sharing = list(_shared_elements(case, result.log, where))
    unwritten = list(_never_written(case, result, where))
    if sharing and unwritten:
        notes: list[Note] = [Left(_wrong_map(sharing[0].finding, unwritten[0]), shared=True)]
    else:
        notes = [*sharing, *(Left(finding, shared=False) for finding in unwritten)]
    notes += [Note(finding) for finding in _colliding_lanes(case, result.log, where)]
    return notes + ([] if sharing else [Note(finding) for finding in _missing_barrier(case, result.log, where)])


def _surroundings_changed(case: Case, name: str, where: Locator) -> Finding:
    return finding(
        "writes-outside",
        Status.OUT_OF_BOUNDS,
        where(None, case=case, tensor=name),
        named=False,
        tensor=tensor_name(name),
    )


def _inputs_changed(case: Case, result: LaunchResult, where: Locator) -> Iterator[Finding]:
    for position, (name, tensor) in enumerate(case.tensors.items()):
        stores = (result.log.kind == STORE) & (result.log.tensor == position)
        in_kernel = stores & (result.log.lanes > 0)  # PyTorch's operations in place have none
        changed = result.tensors[name].tobytes() != tensor.values.tobytes()
        if tensor.role is Role.INPUT and (changed or in_kernel.any()):
            yield finding(
                "input-changed" if in_kernel.any() else "input-changed/in-place",
                Status.INPUT_CHANGED,
                where(int(result.log.line[stores][0]) if stores.any() else None, case=case, tensor=name),
                tensor=tensor_name(name),
            )


def _accesses(log: AccessLog, kind: int, tensor: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """(programs, elements) of all accesses of a kind to a tensor, one entry per distinct element."""
    chosen = (log.kind == kind) & (log.tensor == tensor)
    return np.repeat(log.program[chosen], log.distinct[chosen]), log.elements[np.repeat(chosen, log.distinct)]


def _shared_elements(case: Case, log: AccessLog, where: Locator) -> Iterator[Note]:
    """Elements that one program writes and another one writes or reads: a race on a GPU."""
    for position, (name, tensor) in enumerate(case.tensors.items()):
        writers, written = _accesses(log, STORE, position)
        if written.size == 0:
            continue
        last = np.full(tensor.values.size, -1, np.int64)
        last[written] = writers
        readers, read = _accesses(log, LOAD, position)
        for id, programs, elements in ((WRITTEN_TWICE, writers, written), ("reads-anothers-result", readers, read)):
            foreign = np.flatnonzero((last[elements] >= 0) & (last[elements] != programs))
            if foreign.size == 0:
                continue
            first, element = int(programs[foreign[0]]), int(elements[foreign[0]])
            index = tuple(int(i) for i in np.unravel_index(element, tensor.values.shape))
            yield Note(
                finding(
                    id,
                    Status.NOT_DETERMINISTIC,
                    where(
                        _line(log, position, element),
                        case=case,
                        program=grid_position(case, first),
                        tensor=name,
                        index=index,
                    ),
                    tensor=tensor_name(name),
                    program=program_name(case, first).capitalize(),
                    element=element_name(name, index),
                    other=program_name(case, int(last[element])),
                )
            )


def _line(log: AccessLog, tensor: int, element: int) -> int | None:
    """Return the line of the first store to an element."""
    record = np.repeat(np.arange(log.kind.size), log.distinct)
    hits = record[log.elements == element]
    hits = hits[(log.kind[hits] == STORE) & (log.tensor[hits] == tensor)]
    return int(log.line[hits[0]]) if hits.size else None


def never_stored(case: Case, result: LaunchResult, name: str) -> npt.NDArray[np.bool_]:
    """Return which elements of a tensor no program stored; same shape as the tensor."""
    if result.on_gpu:
        return marked(result.tensors[name])
    position = list(case.tensors).index(name)
    missing = np.ones(case.tensors[name].values.size, dtype=bool)
    missing[_accesses(result.log, STORE, position)[1]] = False
    return missing.reshape(case.tensors[name].values.shape)


def _never_written(case: Case, result: LaunchResult, where: Locator) -> Iterator[Finding]:
    """Elements of the outputs that nobody stored."""
    for name in written_tensors(case):
        empty, asked = never_stored(case, result, name), case.asked.get(name, np.array(True))
        missing = empty & asked
        # Which tile a program has is the kernel's choice: of some programs, as much is asked for as if in order.
        if not missing.any() or (case.programs and (~empty).sum() >= np.broadcast_to(asked, empty.shape).sum()):
            continue
        first = tuple(int(i) for i in np.argwhere(missing)[0])
        position = list(case.tensors).index(name)
        stores = np.unique(result.log.line[(result.log.kind == STORE) & (result.log.tensor == position)])
        facts: dict[str, Any] = {"tensor": tensor_name(name), "element": element_name(name, first)}
        if not (stores.size or result.on_gpu):
            key = "not-written/no-store"
        elif missing.all():
            key = "not-written"
        else:
            key = "not-written/one" if missing.sum() == 1 else "not-written/some"
            facts |= {"all": missing.size} | ({"missing": missing.sum()} if missing.sum() > 1 else {})
        yield finding(
            key,
            Status.WRONG,
            where(
                int(stores[-1]) if stores.size else None,
                role=f"where {tensor_name(name)} is stored",
                case=case,
                tensor=name,
                index=first,
            ),
            **facts,
        )


def name_gaps(
    puzzle: Puzzle, notes: list[Note], evidence: list[Evidence], right: list[Case], where: Locator, code: Text
) -> list[Note]:
    """Return the notes, gaps by the name of the misconception that leaves out just this.

    It must be so in every launch in which something was left out, and it leaves out nothing in those of `right`: a tail
    looks like a block if there are two of them, and like everything if there are less.
    """
    if not any(isinstance(note, Left) for note in notes):
        return notes
    missing = [
        (e.case, {name: never_stored(e.case, e.result, name) for name in written_tensors(e.case)})
        for e in evidence
        if e.result is not None and e.result.error is None and e.result.refused is None
    ]
    gaps = [(case, gap) for case, gap in missing if any(elements.any() for elements in gap.values())]
    cases: dict[int | None, Case] = {one.case.id: one.case for one in evidence}

    def named(note: Note) -> Note:
        if not isinstance(note, Left):
            return note

        def possible(sign: Unwritten) -> bool:
            fits = sign.shared == note.shared and (sign.line is None or bool(sign.line(code)))
            return fits and not any(gap.any() for case in right for gap in sign.elements(case).values())

        candidates = ideas(puzzle.misconceptions, Unwritten, possible)
        idea = explaining_all(candidates, gaps, lambda sign, gap: sign.recognises(*gap))
        if idea is None:
            return note
        seen, found = note.finding, idea.signs[0].line
        place = where(max(one.line for one in found(code)), cases[seen.where.case_id]) if found else seen.where
        return replace(note, finding=idea.finding(seen.status, place, seen.examples))

    return [named(note) for note in notes]


def _wrong_map(sharing: Finding, unwritten: Finding) -> Finding:
    return finding(
        "wrong-row-map",
        Status.NOT_DETERMINISTIC,
        sharing.where,
        shared=sharing.explanation,
        left_out=unwritten.explanation,
    )


def _colliding_lanes(case: Case, log: AccessLog, where: Locator) -> Iterator[Finding]:
    hits = np.flatnonzero(log.overwritten > 0)
    if hits.size:
        hit = hits[0]
        name = list(case.tensors)[int(log.tensor[hit])]
        yield finding(
            "lanes-collide",
            Status.NOT_DETERMINISTIC,
            where(int(log.line[hit]), case=case, tensor=name),
            tensor=tensor_name(name),
            program=program_name(case, int(log.program[hit])).capitalize(),
            count=int(log.overwritten[hit]),
        )


def _missing_barrier(case: Case, log: AccessLog, where: Locator) -> Iterator[Finding]:
    """A program loads what it has stored, with no `tl.debug_barrier()` between.

    On a GPU the threads that load an element are not those that stored it: their order needs a barrier.
    """
    barrier = log.kind == BARRIER
    ends = np.cumsum(log.distinct)
    for position, (name, tensor) in enumerate(case.tensors.items()):
        of_tensor = ~barrier & (log.tensor == position)
        if tensor.role is not Role.STATE:
            continue  # reading back a mere output is a matter of traffic
        fresh = np.full(tensor.values.size, -1)  # the record that stored it, if there was no barrier since
        for n in np.flatnonzero(of_tensor | barrier):
            if barrier[n]:
                fresh[:] = -1
                continue
            elements = log.elements[ends[n] - log.distinct[n] : ends[n]]
            if log.kind[n] == STORE:
                fresh[elements] = n
            elif (fresh[elements] >= 0).any():
                first = elements[fresh[elements] >= 0][0]
                index = tuple(int(i) for i in np.unravel_index(first, tensor.values.shape))
                stored = int(fresh[first])
                if not np.array_equal(elements, log.elements[ends[stored] - log.distinct[stored] : ends[stored]]):
                    yield _overlapping(case, name, int(log.program[n]), index, where(int(log.line[n]), case=case))
                    return
                yield finding(
                    "missing-barrier",
                    Status.NOT_DETERMINISTIC,
                    where(int(log.line[n]), case=case, tensor=name, index=index),
                    tensor=tensor_name(name),
                    program=program_name(case, int(log.program[n])).capitalize(),
                    element=element_name(name, index),
                )
                return


def _overlapping(case: Case, name: str, program: int, index: tuple[int, ...], where: Where) -> Finding:
    """A program loads part of a tile that it has stored, and not the same tile: a barrier would not help."""
    axis = case.tensors[name].axes[1 if case.tensors[name].values.ndim > 1 else 0]
    return finding(
        "tile-and-step-differ",
        Status.NOT_DETERMINISTIC,
        replace(where, tensor=name, index=index, program=grid_position(case, program)),
        tensor=tensor_name(name),
        program=program_name(case, program).capitalize(),
        element=element_name(name, index),
        plural=axis.plural,
        block=axis.block,
    )
