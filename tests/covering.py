"""`python -m tests.covering`: search for designs that cover all there is to cover, and print the cheapest found.

Greedy, from many starts: the launch that covers most of what is missing for its price, again and again; then those
whose share others cover are dropped.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable

import numpy as np

from checker.catalog.cases.covering import Launch, boundaries, classes, visits

RELATIONS = ((16, 16), (16, 32), (32, 16))
TILES = 3  # on each side of a stored launch
STARTS = 6
PRICE = 2  # of a launch beside its visits

Item = tuple[object, ...]


def relation(br: int, bc: int) -> str:
    """How the two blocks compare."""
    return "Br < Bc" if br < bc else "Br = Bc" if br == bc else "Br > Bc"


def covered(launch: Launch, causal: bool) -> set[Item]:
    """What a launch covers: pairs of classes, and boundaries under its relation of blocks."""
    n_q, n_k, br, bc = np.int64(launch[0]), np.int64(launch[1]), *launch[2:]
    blocks = relation(br, bc)
    found = classes(n_q, n_k, br, bc, causal)
    factors = [("blocks", blocks), *((name, int(value)) for name, value in found.items())]
    items: set[Item] = set(itertools.combinations(factors, 2))
    for name, bits in boundaries(n_q, n_k, br, bc, causal).items():
        items |= {(blocks, name, kind) for kind in range(4) if bits >> kind & 1}
    return items


def every(causal: bool) -> list[Launch]:
    """All launches of a few tiles, one of each kind: the cheapest."""
    cheapest: dict[frozenset[Item], Launch] = {}
    for br, bc in RELATIONS:
        for launch in itertools.product(range(1, TILES * br + 1), range(1, TILES * bc + 1), [br], [bc]):
            kind = frozenset(covered(launch, causal))
            if kind not in cheapest or price(launch, causal) < price(cheapest[kind], causal):
                cheapest[kind] = launch
    return list(cheapest.values())


def price(launch: Launch, causal: bool) -> int:
    """What a launch costs, in visits of a pair of tiles."""
    return PRICE + int(visits(np.int64(launch[0]), np.int64(launch[1]), *launch[2:], causal))


def all_covered(launches: Iterable[Launch], causal: bool) -> set[Item]:
    """What several launches cover together."""
    return set().union(*(covered(launch, causal) for launch in launches))


def design(candidates: list[Launch], causal: bool, start: int) -> list[Launch]:
    """A design, found greedily; `start` breaks ties."""
    order = random.Random(start).sample(candidates, len(candidates))
    items = {launch: covered(launch, causal) for launch in order}
    wanted = set().union(*items.values())
    chosen: list[Launch] = []
    while wanted:
        chosen.append(max(order, key=lambda launch: len(items[launch] & wanted) / price(launch, causal)))
        wanted -= items[chosen[-1]]
    for launch in sorted(chosen, key=lambda launch: -price(launch, causal)):
        rest = [other for other in chosen if other != launch]
        if all_covered(rest, causal) == all_covered(order, causal):
            chosen = rest
    return chosen


def main() -> None:
    """Print both designs as they stand in `checker/catalog/cases/covering.py`."""
    for causal in (False, True):
        candidates = every(causal)
        found = (design(candidates, causal, start) for start in range(STARTS))
        best = min(found, key=lambda chosen: sum(price(launch, causal) for launch in chosen))
        print(f"{'CAUSAL' if causal else 'FULL'} = {tuple(sorted(best, key=lambda s: (s[2:], s)))}")


if __name__ == "__main__":
    main()
