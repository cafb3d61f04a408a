"""How a function of attention is called, and what is therefore asked of it."""

from __future__ import annotations

from dataclasses import dataclass

from checker.course.claims import Claims
from checker.course.puzzle import Property


@dataclass(frozen=True)
class Given:
    """How a function is called."""

    claims: Claims
    scale: bool  # it gets one, and else it is 1 / sqrt(d)
    causal: bool  # it is told whether it is causal, and else it is as it claims
    lse: bool  # it returns LSE as well
    gradients: bool  # its output has a gradient
    kernels: tuple[str, ...]  # that its file has
    compared: tuple[int, ...] = ()  # whole numbers that something is compared with there


def properties(given: Given) -> tuple[Property, ...]:
    """Return what is asked."""
    claims, masks = given.claims, given.causal or given.claims.causal
    what = "O and LSE" if given.lse else "O"
    asked = {
        "values": f"{what}, with scores of every kind",
        "gradients": "dQ, dK and dV" if given.gradients else "",
        "any-length": "" if claims.whole_tiles else "any number of queries and keys",
        "causal": "causal" if masks else "",
        "hidden-queries": "queries that see no key" if masks and not claims.square else "",
        "heads": "several sequences and heads",
        "shared-heads": "heads of Q that share one of K and V" if claims.kv_heads else "",
        "any-layout": "" if claims.dense else "however Q, K and V lie in memory",
        "half": "half precision in and out" if {*claims.types} - {claims.types[0]} else "",
    }
    return tuple(Property(name, title, 0) for name, title in asked.items() if title)
