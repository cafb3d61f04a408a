"""What is lost whatever the values: what a few small inputs forgive, thousands of keys do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from checker.box.protocol.records import (
    AS_FLOAT,
    IN_DOT,
    IN_LOOP,
    IN_STORE,
    IN_SUM,
    MULTIPLIED,
    NARROWED,
    ON_THE_WAY,
)
from checker.course.case import Case
from checker.course.verdict import Finding, Status
from checker.judge.evidence import Evidence, Locator, first_of_each
from checker.judge.notes import Loss, Note


@dataclass(frozen=True)
class Words:
    """One way to lose digits, in words."""

    id: str
    title: str
    explanation: str
    hint: str
    question: str


BITS = "fp16 has 11 significant bits: from 2048 on it has no odd numbers, and it ends at 65504."
LOSSES = {
    IN_DOT: Words(
        "dot-in-half",
        "tl.dot adds up in half precision",
        f"Its inputs may be fp16, but what it adds up must be fp32. {BITS}",
        "Leave out out_dtype, which is fp32 by default, and keep an accumulator that you pass in tl.float32.",
        "Which type does your product have, and which type has what it is added to? What is 2048 + 1 in it?",
    ),
    IN_SUM: Words(
        "half-sum",
        "tl.sum adds up in half precision",
        f"tl.sum keeps the type of the block that it sums, and that block is not fp32. {BITS}",
        "Sum before you round: convert with .to(tl.float32) right after the load. What a tl.dot takes is rounded for "
        "that product alone.",
        "Which type has the block that you sum in the marked line, and what is 2048 + 1 in that type?",
    ),
    IN_LOOP: Words(
        "accumulator-in-half",
        "A running sum is kept in half precision",
        "Each iteration rounds what all earlier ones have added up. The errors grow with the number of iterations, and "
        f"small terms are lost altogether. {BITS}",
        "Start the sum as tl.float32 and keep it so. Round once, when you store the result.",
        "Which type has your running sum after the marked line, and what is 2048 + 1 in that type?",
    ),
    IN_STORE: Words(
        "rounded-to-half",
        "A result is rounded to half precision before it goes to fp32 memory",
        f"The tensor holds fp32, so nothing is saved, and the digits are gone. {BITS}",
        "Store the sum as it is, in fp32.",
        "Which type does the output have in this case, and which type has what you store?",
    ),
    ON_THE_WAY: Words(
        "rounded-on-the-way",
        "A value is rounded to half precision, and then computed with",
        "What goes into a tl.dot may be rounded, and so may what is stored. What is rounded in between is missing in "
        f"everything that comes after it. {BITS} Below 0.00006 it has fewer digits still, and below 0.00000003 none.",
        "Continue with the fp32 value. Where a tl.dot needs fp16, round in its argument: tl.dot(a.to(b.dtype), b).",
        "Where do you use what the marked line rounds? Which of these places needs fp16?",
    ),
    MULTIPLIED: Words(
        "sizes-multiplied",
        "Two sizes are multiplied in 32 bits",
        "Sizes and program ids are 32 bits wide, and so is their product: from 46341 times 46341 on it passes 2**31, "
        "and is negative. Rows and columns of a large tensor come to more.",
        "Compare each with its own limit, or make one of them 64 bits wide first: .to(tl.int64).",
        "What is 50,000 times 50,000, and where do 32 bits end? Do you need the product at all?",
    ),
    AS_FLOAT: Words(
        "position-as-float",
        "A position or a size is computed with as a fraction",
        "From 16,777,216 on fp32 has no odd numbers, and fp16 has none from 2048 on: neighbours become the same.",
        "Keep positions and sizes integers: // and tl.cdiv divide them.",
        "What is 16,777,216 + 1 in fp32, which has 24 bits? Which operation in the marked line makes a fraction?",
    ),
    NARROWED: Words(
        "position-narrowed",
        "A position or a size is cut to fewer than 32 bits",
        "16 bits count to 32767, or unsigned to 65535, and 8 bits to 127 or 255. Beyond that, they wrap around.",
        "Leave it as it is, in 32 bits, or make it 64 bits wide: .to(tl.int64).",
        "A tensor may have 100,000 rows. Can the type of the marked line count them?",
    ),
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
    words = LOSSES[way]
    here = f" In this case that happens {times} times." if times > 1 else ""
    place = where(line, case)
    finding = Finding(
        words.id, Status.WRONG, words.title, words.explanation + here, words.hint, place, question=words.question
    )
    return Loss(finding, way, way in OF_SIZES)


def most_telling(notes: Sequence[Note]) -> list[Note]:
    """Of several, those that say what went wrong: what is summed in half, say, is also computed with, and stored."""
    kept = list(notes)
    for later in (ON_THE_WAY, IN_STORE):
        telling = [note for note in kept if not (isinstance(note, Loss) and note.way == later)]
        if any(note.finding.named for note in telling):
            kept = telling
    return kept
