"""Outputs that differ from the reference: by the name of the idea that explains them, or else by where they are.

A misconception explains a case when its model gives just what the kernel did, and the right answer would have been
something else. A case without an explanation is located only if there is no name: the report says one thing at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from checker.course.case import Case
from checker.course.misconception import Load, Undefined, Writes
from checker.course.puzzle import Puzzle
from checker.course.verdict import Finding, Status
from checker.judge.evidence import Locator, tensor_name
from checker.judge.general import finding
from checker.judge.locate import located
from checker.judge.models import Models
from checker.judge.naming import Idea, cover, ideas
from checker.judge.notes import Note
from checker.judge.wrong import Wrong

MOST_COMPARED = 4  # of cases that tell little
LARGEST_COMPARED = 1 << 17  # elements of all tensors of such a case

_Named = list[tuple[Idea[Writes], list[Wrong]]]


def name_wrong(
    puzzle: Puzzle,
    items: list[Wrong],
    failed: list[Case],
    right: list[Case],
    where: Locator,
    others: Sequence[Wrong] = (),
) -> list[Note]:
    """Notes on outputs that differ from the reference, in the cases that are worth a diagnosis.

    `failed` are all cases that did not come out right, `right` those that did; `others`: what is wrong in further ones.
    """
    if not items:
        return []
    # What comes out wrong in a plainer case, whatever masked lanes hold, has another reason.
    if items[0].undefined:
        return [Note(_undefined_lanes(puzzle, items[0], where))]
    items = [item for item in items if not item.undefined]
    if items and items[0].unwritten_load and items[0].status is Status.NOT_A_NUMBER:
        return [Note(_read_before_stored(items[0], *items[0].unwritten_load, where))]
    models = Models(puzzle, items)
    informative = [case for case in right if case.informative]
    if any(item.case.informative for item in items):
        named = _named_by(models, items, informative)
    else:
        named = _named_by_sizes(models, items, informative, [case for case in right if not case.informative])
    if not named:
        return [located(items, failed, right, where)]
    named = [(_variant(models, idea, explained, informative, others), explained) for idea, explained in named]
    return [Note(_finding(models, idea, explained, where)) for idea, explained in named]


def _variant(
    models: Models, idea: Idea[Writes], explained: list[Wrong], right: list[Case], others: Sequence[Wrong]
) -> Idea[Writes]:
    """Return the variant of an idea that explains the same cases, and of others the most: of two heads say, all have
    the keys of the first one, and so have those that share keys in pairs.
    """
    small = {one.case.title: one for one in others if _size(one.case) <= LARGEST_COMPARED}
    variants = [idea]
    for own in models.possible(lambda _: True):
        if own.misconception.id == idea.misconception.id and own.misconception is not idea.misconception:
            signs = [sign for sign in own.signs if not any(models.refuted(sign, case) for case in right)]
            variants += [replace(own, signs=signs)] if models.explained(signs, explained) == len(explained) else []
    return max(variants, key=lambda one: models.explained(one.signs, small.values())) if len(variants) > 1 else idea


def _finding(models: Models, idea: Idea[Writes], explained: list[Wrong], where: Locator) -> Finding:
    """Return the finding by this name, with the case that shows it best."""
    sign = max(idea.signs, key=lambda s: sum(models.explains(s, item) for item in explained))
    best = max((item for item in explained if models.explains(sign, item)), key=lambda item: models.fit(sign, item))
    predicted = models.predicted(sign, best.case)
    place = best.place(where, sign.line, predicted)
    name = place.tensor or ""
    found = idea.finding(best.status, place, best.examples(name, predicted.get(name))[:2])
    return replace(found, certain=any(models.in_numbers(sign, item) for item in explained))


def _named_by(models: Models, items: list[Wrong], right: list[Case]) -> _Named:
    """Return the misconceptions that together explain the most cases, and the most basic one among them."""
    possible = models.possible(
        lambda sign: models.explains_most(sign, items) and not any(models.refuted(sign, case) for case in right)
    )
    named, rest = cover(possible, items, models.explains)
    # If the most basic case has no explanation, names for special ones would mislead.
    return [] if items[0] in rest else named


def _named_by_sizes(models: Models, items: list[Wrong], informative: list[Case], others: list[Case]) -> _Named:
    """Return the misconception that explains all cases, where none of them is telling: a mistake at the edge of a tile,
    say.

    Few are compared at first, because there can be many; and none that is large.
    """
    compared = sorted((i for i in items if _size(i.case) <= LARGEST_COMPARED), key=lambda i: _size(i.case))
    refuting = sorted((case for case in others if _size(case) <= LARGEST_COMPARED), key=_size)[: 2 * MOST_COMPARED]
    few, rest = compared[:MOST_COMPARED], compared[MOST_COMPARED:]
    possible = models.possible(
        lambda sign: bool(few) and models.explains_all(sign, few) and models.explains_all(sign, rest)
    )
    each = (replace(idea, signs=[sign]) for idea in possible for sign in idea.signs)
    right = [*informative, *refuting]
    found = next((one for one in each if not any(models.refuted(one.signs[0], case) for case in right)), None)
    return [(found, compared)] if found else []


def _size(case: Case) -> int:
    return sum(tensor.values.size for tensor in case.tensors.values())


def _read_before_stored(item: Wrong, name: str, line: int, where: Locator) -> Finding:
    output = tensor_name(name)
    return finding(
        "output-read-before-stored",
        item.status,
        where(line, item.case, tensor=item.first, index=item.at(item.first)),
        item.examples(item.first)[:2],
        output=output,
    )


def _undefined_lanes(puzzle: Puzzle, first: Wrong, where: Locator) -> Finding:
    if own := ideas(puzzle.misconceptions, Undefined):
        return own[0].finding(first.status, first.place(where, Load.LAST))
    return finding("undefined-masked-lanes", first.status, first.place(where, Load.LAST))
