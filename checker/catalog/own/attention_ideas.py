"""The ideas of p6, p7 and c1, as they show in what a function of one's own returns.

Its kernels may be of any kind. What a kernel of the family would write with an idea, in tiles that are guessed from
the numbers with which kernels were launched, is what the function returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from checker import catalog
from checker.catalog.attention.pytorch.autograd import BACKWARD, FORWARD, family, unfolded
from checker.catalog.attention.pytorch.autograd_mistakes import IN_AUTOGRAD
from checker.catalog.own.attention import GRADIENTS
from checker.catalog.own.task import through, translated
from checker.course.case import Case, Outputs, Role
from checker.course.kernel import Kernel
from checker.course.misconception import Misconception, Unwritten, Writes, chosen, without

WHOLE = 1 << 12, 1 << 12  # of a backward pass that skips nothing, as if all of it were one tile
PARTS = ("dk", "dv"), ("dq",)  # which a kernel makes together
SEEN = "returned-early"  # what it leaves in new memory is seen without a name
# Of p7, those of the causal mask, beside those that are called so.
OF_MASKS = {"mask-forgotten", "mask-only-in-ds", "first-tile-left-out", "hidden-rows-nan"}
MIXED = "heads-and-sequences-mixed"
# What these leave in new memory is theirs; the one that is the easiest to mistake for others comes last.
OF_GRIDS = "grid-of-the-other-side", "grid-rounded-down", "axes-of-the-grid-exchanged"


def named_by(kernels: Sequence[Kernel], tiles: Sequence[tuple[int, int]]) -> tuple[Misconception, ...]:
    """Return the ideas of all of them, for kernels in any of these tiles (Br, Bc)."""
    forward = without(catalog.load("p6").misconceptions, SEEN)
    backward = without(catalog.load("p7").misconceptions, SEEN) if len(kernels) > 1 else ()
    masks = [one for one in backward if one.id.startswith("causal") or one.id in OF_MASKS]

    def of_gradients(ideas: Sequence[Misconception], *, masked: bool) -> Iterator[Misconception]:
        ways = [(tile, which) for which in PARTS for tile in (*tiles, WHOLE)]
        return translated(ideas, lambda sign: [_of(BACKWARD, sign, *way, masked=masked) for way in ways])

    return (
        *translated(forward, lambda sign: [_of(FORWARD, sign, tile) for tile in tiles]),
        *of_gradients(masks, masked=True),
        *of_gradients([one for one in backward if one not in masks], masked=False),
        *translated(without(IN_AUTOGRAD, *OF_GRIDS), lambda sign: [_where_alike(sign)]),
        *(one for id in (MIXED, *OF_GRIDS) for one in translated(chosen(IN_AUTOGRAD, id), _only_left_out)),
    )


def _only_left_out(sign: Writes | Unwritten) -> list[Writes | Unwritten]:
    return [_left_out(sign)] if isinstance(sign, Writes) else []


def _where_alike(sign: Writes | Unwritten) -> Writes | Unwritten:
    """Return what a function gives that launches kernels; of calls in which heads are shared nothing is known."""
    if isinstance(sign, Unwritten):
        return sign
    return replace(sign, outputs=lambda case: sign.outputs(case) if _alike(case) else {})


def _left_out(sign: Writes) -> Unwritten:
    """Return what such a function leaves as it was in new memory, if it leaves anything."""

    def elements(case: Case) -> dict[str, Any]:
        made = sign.outputs(case) if _alike(case) else {}
        return {name: np.isnan(x) for name, x in made.items() if np.isnan(x).any()}

    return Unwritten(elements)


def _alike(case: Case) -> bool:
    """Return whether K and V have as many heads as Q."""
    q, k = (case.tensors[name].values.shape for name in "qk")
    return bool(q[1] == k[1])


def _of(
    kernel: Kernel,
    sign: Writes | Unwritten,
    tile: tuple[int, int],
    which: tuple[str, ...] = (),
    *,
    masked: bool = False,
) -> Writes | Unwritten:
    """Return what a function returns of which a kernel has this idea, while others have none.

    `which`: the gradients that it makes. `masked`: the idea is one of the causal mask, which p7's kernels always have.
    """

    def made(case: Case, of: Callable[[Case], Outputs]) -> dict[str, Any]:
        if case.kernel != kernel.name or (masked and not case.constexprs["causal"]):
            return {}
        found = {
            n.removesuffix("_ptr"): x for n, x in of(_launch_of(case, *tile, which or tuple(case.tensors))).items()
        }
        returned = (n for n in found if n in case.tensors and case.tensors[n].role is Role.OUTPUT)
        return {name: unfolded(case, name, np.asarray(found[name])) for name in returned}

    return through(sign, made)


@lru_cache(maxsize=32)
def _launch_of(case: Case, Br: int, Bc: int, outputs: tuple[str, ...]) -> Case:
    """Return the same launch for all signs: so what several of them compute of it is computed once."""
    one = family(case, Br, Bc)
    kept = {n: t for n, t in one.tensors.items() if n.removesuffix("_ptr") not in GRADIENTS or n[:-4] in outputs}
    heads, n_q, _ = one.tensors["q_ptr"].values.shape
    return replace(one, tensors=kept, grid=(-(-n_q // Br), heads))
