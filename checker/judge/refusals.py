"""Accesses outside a tensor, by name or in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from checker.course.case import AxisKind, Case
from checker.course.misconception import Reach, Reaches
from checker.course.puzzle import Puzzle
from checker.course.text import Text
from checker.course.verdict import Finding, Status
from checker.judge.evidence import Locator, element_name, first_of_each, grid_position, program_name, tensor_name
from checker.judge.naming import cover, ideas
from checker.sandbox.protocol.results import Refusal


@dataclass(frozen=True, eq=False)
class Refused:
    """A case in which an access was refused."""

    case: Case
    refusal: Refusal

    def recognised_by(self, sign: Reaches) -> bool:
        """Return whether a kernel with this sign makes such an access."""
        seen = self.refusal
        if seen.tensor is None:
            return False
        return sign.recognises(self.case, seen.program, Reach(seen.store, seen.tensor, seen.lowest, seen.highest))


def name_refusals(puzzle: Puzzle, refused: list[Refused], where: Locator, code: Text) -> Iterator[Finding]:
    """Findings for accesses outside a tensor. A name hides all others: of one column, wrong addresses look alike.

    It has to explain at least half of the launches in which that line was refused.
    """
    if not refused:
        return  # which lines a kernel has takes longer to say than everything else here
    candidates = ideas(puzzle.misconceptions, Reaches, lambda sign: sign.line is None or bool(sign.line(code)))
    named, rest = cover(candidates, refused, lambda sign, item: item.recognised_by(sign), 1)
    for idea, items in named:
        if sum(_place(item) == _place(items[0]) for item in rest) > len(items):
            break
        general = refusal_finding(items[0], where)
        yield idea.finding(Status.OUT_OF_BOUNDS, general.where, (general.explanation,))
        return
    for item in first_of_each(refused, _place):
        yield refusal_finding(item, where)


def _place(refused: Refused) -> tuple[int, bool]:
    return refused.refusal.line, refused.refusal.store


def refusal_finding(refused: Refused, where: Locator) -> Finding:
    """Return an access outside its tensor, in plain words."""
    case, refusal = refused.case, refused.refusal
    did = "wrote" if refusal.store else "read"
    who = program_name(case, refusal.program)
    index: tuple[int, ...] | None = None
    if refusal.tensor is None:
        text = f"{who} {did} at an address that is near none of the tensors."
    else:
        index, text = _outside(case, refusal, who, did)
    return Finding(
        id="writes-outside" if refusal.store else "reads-outside",
        status=Status.OUT_OF_BOUNDS,
        title=f"The kernel {'writes' if refusal.store else 'reads'} outside its tensors",
        explanation=text[0].upper() + text[1:],
        hint=_hint(case, refusal.tensor),
        where=where(
            refusal.line, case=case, program=grid_position(case, refusal.program), tensor=refusal.tensor, index=index
        ),
        named=False,
    )


def _hint(case: Case, name: str | None) -> str:
    if name is not None and [axis.kind for axis in case.tensors[name].axes] == [AxisKind.HEAD, AxisKind.QUERY]:
        plain = tensor_name(name)
        return (
            f"Check the mask, then the offset. {plain} has no stride of its own, because nothing lies between its "
            f"numbers: each head has n_q of them, so those of a head begin at {plain}_ptr + head * n_q."
        )
    return "Check the mask first, then the offset: base + row * stride + column, with the tensor's own stride."


def _outside(case: Case, refusal: Refusal, who: str, did: str) -> tuple[tuple[int, ...] | None, str]:
    """(index that the address would have, sentence)."""
    assert refusal.tensor is not None
    tensor = case.tensors[refusal.tensor]
    name = tensor_name(refusal.tensor)
    shape = " x ".join(map(str, tensor.values.shape))
    lanes = f"lanes outside: {refusal.outside} of {refusal.lanes}"
    if refusal.dtype != tensor.values.dtype.name:
        return None, f"{who} {did} {name} as {refusal.dtype}, but its elements are {tensor.values.dtype.name}."
    if refusal.first < 0:
        return None, f"{who} {did} {-refusal.first} elements before the start of {name} ({shape}); {lanes}."
    if tensor.axes and tensor.axes[0].kind is AxisKind.PIECE:  # it goes on between the pieces
        held = f"of which the judge holds {tensor.values.shape[0]} runs of {tensor.values.shape[1]} elements"
        return None, f"{who} {did} element {refusal.first} of {name}, {held}; {lanes}."
    index, rest = [], refusal.first
    for stride in tensor.strides:
        index.append(rest // stride)
        rest %= stride
    element = element_name(refusal.tensor, tuple(index))
    too_far = [a for a, (i, extent) in enumerate(zip(index, tensor.values.shape, strict=True)) if i >= extent]
    ends = ""
    if too_far:
        last = tensor.values.shape[too_far[0]] - 1
        whole = (
            element_name(refusal.tensor, (last,))
            if len(tensor.strides) == 1
            else f"{tensor.axes[too_far[0]].word} {last}"
        )
        ends = f", but {name} ends at {whole}"
    return tuple(index), f"{who} {did} {element}{ends} ({name} has shape {shape}); {lanes}."
