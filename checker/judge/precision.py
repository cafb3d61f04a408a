"""Losses of precision, which a few small inputs forgive, and thousands of keys do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker.course.case import Case
from checker.course.verdict import Status
from checker.judge.evidence import Evidence, Locator, first_of_each
from checker.judge.general import finding
from checker.judge.notes import Loss, Note
from checker.sandbox.protocol.records import (
    AS_FLOAT,
    IN_DOT,
    IN_LOOP,
    IN_STORE,
    IN_SUM,
    MULTIPLIED,
    NARROWED,
    ON_THE_WAY,
)

BITS = "fp16 has 11 significant bits: from 2048 on it has no odd numbers, and it ends at 65504."
LOSSES = {  # the key of what is said of each way
    IN_DOT: "dot-in-half",
    IN_SUM: "half-sum",
    IN_LOOP: "accumulator-in-half",
    IN_STORE: "rounded-to-half",
    ON_THE_WAY: "rounded-on-the-way",
    MULTIPLIED: "sizes-multiplied",
    AS_FLOAT: "position-as-float",
    NARROWED: "position-narrowed",
}
OF_SIZES = frozenset({MULTIPLIED, AS_FLOAT, NARROWED})


def losses(evidence: Evidence, where: Locator) -> list[Loss]:
    """Of each line of a launch that loses digits, the worst of its losses."""
    result = evidence.result
    if result is None:
        return []
    return [
        _loss(evidence.case, line, way, times, where)
        for way, line, times in first_of_each(result.log.losses, lambda loss: loss[1])
    ]


def _loss(case: Case, line: int, way: int, times: int, where: Locator) -> Loss:
    said = finding(LOSSES[way], Status.WRONG, where(line, case))
    if times > 1:
        counted = f"{said.explanation} In this case {times} operations have this fault, in all programs together."
        said = replace(said, explanation=counted)
    return Loss(said, way, way in OF_SIZES)


def most_telling(notes: Sequence[Note]) -> list[Note]:
    """Return the causes among several losses: a sum in half, say, is also computed with, and stored."""
    kept = list(notes)
    for later in (ON_THE_WAY, IN_STORE):
        informative = [note for note in kept if not (isinstance(note, Loss) and note.way == later)]
        if any(note.finding.named for note in informative):
            kept = informative
    return kept
