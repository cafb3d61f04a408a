"""The launches that a puzzle can ask for besides its cases: points of a space of sizes, blocks and numbers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from checker.course.case import Array, Case

Ints = npt.NDArray[np.int64]
Numbers = Mapping[str, float]  # one in each tensor, by its name, and scalars
SWEPT, FAR = 4_000, 1_000  # values of a size that are tried one after the other, and as many of any size
SMALL, TOGETHER, RELATED = (3_000, 3), (20_000, 4_000), (10_000, 1_500)  # points, and the most that a size is in them
FEW = 24  # programs that are all run
BETWEEN, SHORT, TRIED = (300.0, 12_000.0), 40, 64  # long and short sizes of drawn launches, and how many are tried
HALF, TYPES = (0, 0, 0, 1), (np.float32, np.float16)  # one launch in four is in fp16
MOST_COST = 2_000_000  # of a launch: elements of tensors, and quarters of a microsecond of the interpreter


@dataclass(frozen=True, eq=False)
class Space:
    """Launches of one kernel, by what is drawn of each."""

    proves: str  # the property that a launch is evidence for; a branch that no launch takes costs it too
    sizes: Mapping[str, tuple[int, int]]  # by name: the least and the most
    choices: Mapping[str, Sequence[int]]  # blocks and masks, and `half`
    numbers: Mapping[str, tuple[float, float]]  # by tensor or scalar: the range of one number in it
    arguments: Callable[[Mapping[str, Ints]], dict[str, Any]]
    """Columns of scalars and constexprs, shapes of PyTorch's tensors, `cost`, and `programs`: along each axis how many
    there are, and the first whose results depend on what it computes.
    """
    case: Callable[[str, Mapping[str, int], Numbers, np.random.Generator], Case]
    """(name, what is drawn, numbers, random numbers) → the launch; with usual data if only scalars have numbers."""


class Points(NamedTuple):
    """Columns by name, the cheapest launch first: what is drawn, what a kernel gets, the number in each tensor."""

    total: int
    several: Array  # points at which each size is more than its least, and what is causal or full is causal
    drawn: Mapping[str, Ints]
    columns: Mapping[str, Any]
    numbers: Mapping[str, Array]


def points(space: Space, random: np.random.Generator, written: Sequence[float]) -> Points:
    """Return points of a space. `written`: what sizes and data may be compared with."""
    parts = [_related(space, random, written), *(_together(space, random, *of) for of in (SMALL, TOGETHER))]
    near = np.ravel([[number - 1, number, number + 1, number + 2] for number in written])
    for name, (least, most) in space.sizes.items():
        far = np.exp(random.uniform(0, np.log(most), FAR))
        swept = np.clip(np.r_[least : least + SWEPT, near, far], least, most).astype(np.int64)
        parts.append({**_together(space, random, len(swept), 3), name: swept})
    every = {name: np.concatenate([part[name] for part in parts]) for name in space.sizes}
    total = sum(len(part[name]) for part in parts)
    for name, some in space.choices.items():
        blocks = [size for size in power(near) if min(some) <= size <= 8 * max(some) and max(some) > 1]  # no flags
        every[name] = random.choice([*some, *sorted({*blocks})], total)
    cost = space.arguments(every)["cost"] * random.uniform(1.0, 1.3, total)  # else each key had the same cheapest ones
    affordable = np.argsort(cost)[: np.sum(cost <= MOST_COST)]
    drawn, count = {name: values[affordable] for name, values in every.items()}, len(affordable)
    columns = space.arguments(drawn)
    for axis, (extent, first) in enumerate(columns["programs"]):
        any_one = first + random.integers(0, 1 << 40, count) % (extent - first)
        program = np.where(random.random(count) < 0.2, extent - 1, any_one)
        drawn |= {f"program{axis}": program}
        columns |= {f"program_id{axis}": program, f"num_programs{axis}": extent}
    numbers = {name: _numbers(random, bounds, count, written) for name, bounds in space.numbers.items()}
    with np.errstate(over="ignore"):
        half = {name: np.where(drawn["half"], x.astype(np.float16), x) for name, x in numbers.items()}
    numbers |= {name: x for name, x in half.items() if name.endswith("_ptr")}  # else an fp16 launch rounds it away
    columns |= {name: values for name, values in numbers.items() if not name.endswith("_ptr")}
    several = np.all([drawn[name] > least for name, (least, _) in space.sizes.items()], axis=0)
    several &= drawn.get("CAUSAL", 1) == 1
    return Points(count, several, drawn, columns, numbers)


def drawn(space: Space, random: np.random.Generator) -> Iterator[tuple[dict[str, int], dict[str, float]]]:
    """Yield three launches for each long size, of lengths between what cases have: what is drawn, and scalars.

    All other sizes are short, and blocks and gaps are any. All programs run, in whichever order a kernel takes tiles.
    """
    sizes = [name for name, (_, most) in space.sizes.items() if most >= BETWEEN[1] and not name.endswith("gap")]
    for third, long in itertools.product(range(3), sizes):
        at = _together(space, random, TRIED, SHORT)
        at |= {name: random.integers(*space.sizes[name], TRIED) for name in space.sizes if name.endswith("gap")}
        at[long] = np.exp(random.uniform(np.log(BETWEEN[0]), np.log(BETWEEN[1]), TRIED)).astype(np.int64)
        at |= {name: random.choice(np.array(of), TRIED) for name, of in space.choices.items()}
        columns = space.arguments(at)
        good = np.logical_and.reduce([columns["cost"] <= MOST_COST / 8, *(n <= FEW for n, _ in columns["programs"])])
        by_length = [one for one in np.argsort(at[long]) if good[one]]
        for one in random.permutation(np.array_split(by_length, 3)[third])[:1]:
            point = {name: int(values[one]) for name, values in at.items()}
            point |= {f"program{axis}": 0 for axis in range(len(columns["programs"]))}
            yield point, {n: random.uniform(*of) for n, of in space.numbers.items() if not n.endswith("_ptr")}


def some(count: int, program: int) -> tuple[int, ...]:
    """Programs to run, of `count`: the first, the last and one between; () if all are few."""
    return () if count <= FEW else tuple(sorted({0, program, count - 1}))


def power(n: Any) -> Ints:
    """Return the smallest powers of two that are at least n."""
    return np.asarray(1 << np.ceil(np.log2(np.maximum(n, 1))).astype(np.int64))


def _together(space: Space, random: np.random.Generator, count: int, largest: int) -> dict[str, Ints]:
    """Return points whose sizes are drawn by themselves, up to a largest one; one in five is the least."""
    drawn = {}
    for name, (least, most) in space.sizes.items():
        above = np.exp(random.uniform(0, np.log(min(largest, most)), count)).astype(np.int64) - 1
        drawn[name] = least + np.where(random.random(count) < 0.2, 0, above)
    return drawn


def _related(space: Space, random: np.random.Generator, written: Sequence[float]) -> dict[str, Ints]:
    """Return points at which one size is a multiple of another, or two have a product near a written number."""
    count, names = RELATED[0], [*space.sizes]
    every = np.stack([*_together(space, random, *RELATED).values()])
    one, other = random.integers(0, len(names), (2, count))
    by, over = random.integers(1, 4, (2, count))
    off, at = random.integers(-24, 25, count) * random.integers(0, 2, count), np.arange(count)
    product = random.choice(_between([1.0, *written]), count) // (every[other, at] + 1)
    every[one, at] = np.where(random.random(count) < 0.3, product, every[other, at] * by // over + off)
    return {name: np.clip(row, *space.sizes[name]) for name, row in zip(names, every, strict=True)}


def _between(numbers: Sequence[float]) -> Array:
    """Return numbers, and those halfway between two of them."""
    some = np.sort(np.array([*{*numbers}], float))[:40]  # np.unique would import more of NumPy
    return np.asarray((some[:, None] + some) / 2).ravel()


def _numbers(random: np.random.Generator, bounds: tuple[float, float], count: int, written: Sequence[float]) -> Array:
    """Numbers between bounds: small ones, any, those written down, those between two of these, and their logarithms."""
    low, high = bounds
    drawn = random.normal(0.0, min(3.0, high / 3), count) if low < 0 else random.uniform(low, high, count)
    drawn = np.where(random.random(count) < 0.2, random.uniform(low, high, count), drawn)
    between = _between([0.0, *written])
    with np.errstate(divide="ignore"):
        meant = np.concatenate([between, np.log(np.abs(between)), between * (1 + 1e-5), between * (1 - 1e-5)])
    every = np.concatenate([[low], meant, -meant])
    chosen = random.choice(every[(every >= low) & (every <= high)], count)
    drawn = np.where(random.random(count) < 0.4, chosen, drawn)
    return np.asarray(np.clip(drawn, low, high).astype(np.float32), np.float64)
