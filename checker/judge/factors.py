"""One factor between an output and the right one in every case, by name: ln 2, the scale, one over a size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from checker.course.case import Array, Case
from checker.judge.compare import MOSTLY, agrees
from checker.judge.evidence import tensor_name
from checker.judge.wrong import Wrong
from checker.sandbox.protocol.records import is_size

FEWEST = 3  # values that have one factor by more than chance
SMALL_ERROR = 2e-2  # relative; below it a value is nearly right

_CONSTANTS = {"ln 2": float(np.log(2)), "log2(e)": float(np.log2(np.e)), "2": 2.0, "0.5": 0.5, "-1": -1.0}
_OF_D: dict[str, Callable[[float], float]] = {
    "D": lambda d: d,
    "1 / D": lambda d: 1 / d,
    "sqrt(D)": lambda d: d**0.5,
    "1 / sqrt(D)": lambda d: d**-0.5,
}


def one_factor(items: list[Wrong], name: str) -> str:
    """Return the factor by which an output is off wherever it is wrong, in a sentence; nothing if there is none.

    Not if it is nearly 1: then something was rounded, or is slightly off.
    """
    items = [item for item in items if name in item.wrong]
    ratios = np.concatenate([_ratios(item, name) for item in items])
    if ratios.size < FEWEST:
        return ""
    named = [named_in(item.case) for item in items]
    fits = [word for word in named[0] if _alike(word, named) and _fit(items, name, [of[word] for of in named])]
    factor = named[0][fits[0]] if fits else float(np.median(ratios))
    if abs(factor - 1) < SMALL_ERROR or factor == 0:
        return ""
    if not fits and not _fit(items, name, [factor] * len(items)):
        return ""
    number, here = f"{factor:.3g}", "" if not fits or fits[0] in _CONSTANTS else " in this one"
    what = f", which is {' or '.join(fits)}" if fits and number not in fits else ""
    return (
        f"Wherever it is wrong, {tensor_name(name)} is off by one factor ({number}{here}){what}: something was "
        "multiplied or divided by it once too often, or not often enough."
    )


def _alike(word: str, named: list[dict[str, float]]) -> bool:
    """Return whether every launch has a factor of this name; a size counts only if it differs: one launch has it by
    chance.
    """
    return all(word in of for of in named) and (
        not is_size(word.removeprefix("1 / ")) or len({of[word] for of in named}) > 1
    )


def _fit(items: list[Wrong], name: str, factors: list[float]) -> bool:
    """Return whether nearly all of an output is the right value times this, in each case."""
    for item, factor in zip(items, factors, strict=True):
        expected = item.expected[name]
        with np.errstate(all="ignore"):
            same = agrees(factor * expected.values, item.outputs[name], expected)
        if same.mean() < MOSTLY or same[item.wrong[name]].mean() < MOSTLY:
            return False
    return True


def _ratios(item: Wrong, name: str) -> Array:
    """Return the ratios of written to right values, where these are well above the rounding."""
    right, wrote = item.expected[name], item.outputs[name].astype(np.float64)
    with np.errstate(all="ignore"):
        ratios: Array = wrote / right.values
        large = item.wrong[name] & (np.abs(right.values) > 100 * right.tolerance) & np.isfinite(ratios)
    return ratios[large]


def named_in(case: Case) -> dict[str, float]:
    """Return factors that have a name in a launch, by it, the plainest first."""
    named = dict(_CONSTANTS)
    if scale := case.scalars.get("scale"):
        named |= {"scale": float(scale), "1 / scale": 1 / float(scale)}
    if d := case.constexprs.get("D"):
        named |= {word: of(float(d)) for word, of in _OF_D.items()}
    for size, value in case.scalars.items():
        if is_size(size) and value:
            named |= {size: float(value), f"1 / {size}": 1 / float(value)}
    return {word: factor for word, factor in named.items() if factor != 1}
