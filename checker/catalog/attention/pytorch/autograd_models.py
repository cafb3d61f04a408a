"""Results of wrong functions of autograd around right kernels: they pass on, or keep, something else."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from checker.catalog.attention.launch import wide
from checker.catalog.attention.pytorch.autograd import BACKWARD, family, memory_of
from checker.catalog.attention.reference import forward, sees
from checker.course.case import Array, Case, Outputs
from checker.course.misconception import Writes

BLOCKS = (16, 32, 64, 128)  # queries or keys of a tile that a function may choose


@dataclass(frozen=True)
class Idea:
    """A wrong step of a function. Arrays have the shape (heads of all sequences, rows, d)."""

    reads: Mapping[str, Callable[[Case, str], Array | None]] = field(
        default_factory=dict
    )  # what kernels see of a tensor
    writes: Callable[[Case, str, Array], Array | None] | None = None  # what comes out of what they store
    scales: tuple[Callable[[Case], float] | None, Callable[[Case], float] | None] = (None, None)  # of both directions
    causal: bool = True  # in the forward pass
    lse: Callable[[Array, Case], Array] | None = None
    delta: Callable[[Array], Array] | None = None
    returned: tuple[str, ...] = ("dq", "dk", "dv")  # what stands where these belong

    def outputs(self, case: Case) -> Mapping[str, Array]:
        """Return the outputs of a call; none where the kernels would leave the memory, or where the shapes would be
        others.
        """
        one = family(case)
        seen = {}
        for name in ("q", "k", "v", "do"):
            if f"{name}_ptr" in one.tensors:
                read = self.reads.get(name)
                x = wide(one, name) if read is None else read(case, name)
                if x is None:
                    return {}
                seen[name] = x
        right = float(case.scalars["scale"])
        scales = [right if scale is None else scale(case) for scale in self.scales]
        mask = sees(one)
        products = seen["q"] @ seen["k"].swapaxes(1, 2)
        made = forward(np.where(mask | (not self.causal), scales[0] * products, -np.inf), seen["v"])
        results = {"o": made.o}
        if case.kernel == BACKWARD.name:
            results = self._gradients(
                case, seen, made.o, made.lse, np.where(mask, scales[1] * products, -np.inf), scales[1]
            )
        found: dict[str, Array] = {}
        for name, values in results.items():
            x = values if self.writes is None else self.writes(case, name, values)
            if x is None or x.size != case.tensors[name].values.size:
                return {}
            found[name] = x.reshape(case.tensors[name].values.shape)
        return found

    def _gradients(
        self, case: Case, seen: Mapping[str, Array], o: Array, lse: Array, s: Array, scale: float
    ) -> dict[str, Array]:
        o = o.astype(case.tensors["q"].values.dtype).astype(np.float64)
        delta = (o * seen["do"]).sum(axis=-1)
        lse = lse if self.lse is None else self.lse(lse, case)
        delta = delta if self.delta is None else self.delta(delta)
        p = np.where(np.isinf(s), 0.0, np.exp(s - lse[..., None]))
        ds = p * (seen["do"] @ seen["v"].swapaxes(1, 2) - delta[..., None])
        made = {
            "dq": scale * (ds @ seen["k"]),
            "dk": scale * (ds.swapaxes(1, 2) @ seen["q"]),
            "dv": p.swapaxes(1, 2) @ seen["do"],
        }
        return {place: made[name] for place, name in zip(("dq", "dk", "dv"), self.returned, strict=True)}


def sign(idea: Idea) -> Writes:
    """Return the sign of an idea."""

    def outputs(case: Case) -> Outputs:
        with np.errstate(all="ignore"):
            return idea.outputs(case)

    return Writes(outputs)


def only_one_head(of: Writes) -> Writes:
    """Return the same idea where there is one head, and nothing said of other calls."""
    return replace(of, outputs=lambda case: of.outputs(case) if case.tensors["q"].values.shape[1] == 1 else {})


# What kernels see of a tensor, and what becomes of what they store.


def _folded(case: Case, name: str) -> tuple[int, int, int]:
    batch, heads, rows, d = case.tensors[name].values.shape
    return batch * heads, rows, d


def as_if_dense(case: Case, name: str) -> Array | None:
    """Its memory from the first element on, as if there were no gaps and no other order."""
    shape, memory = _folded(case, name), memory_of(case, name)
    return memory[: np.prod(shape)].reshape(shape) if memory.size >= np.prod(shape) else None


def _by_strides(case: Case, name: str, of: str) -> Array | None:
    """With the head stride and the row stride of another tensor, or its own, and none for sequences."""
    shape, memory = _folded(case, name), memory_of(case, name)
    _, head, row, _ = case.tensors[of].strides
    heads, rows, dims = np.ogrid[tuple(map(slice, shape))]
    at = heads * head + rows * row + dims
    return memory[at] if at.max() < memory.size else None


def by_own_strides(case: Case, name: str) -> Array | None:
    """With Q's own head stride and row stride or K's, as launches pass them, from head to head of all sequences."""
    return _by_strides(case, name, {"v": "k", "do": "q"}.get(name, name))


def _rows_first(case: Case, name: str) -> bool:
    """Return whether torch.empty_like of an input gives memory in which heads lie side by side."""
    _, head, row, _ = case.tensors[name.removeprefix("d") if name != "o" else "q"].strides
    return 0 < head <= row


def like_the_input(case: Case, name: str, values: Array) -> Array | None:
    """Stored without gaps, head by head, in what torch.empty_like has made of an input that lies otherwise."""
    if not _rows_first(case, name):
        return values
    batch, heads, rows, d = case.tensors[name].values.shape
    return np.asarray(values.reshape(batch, rows, heads, d).swapaxes(1, 2))


def by_strides_of_the_input(case: Case, name: str, values: Array) -> Array | None:
    """Stored by the strides of what torch.empty_like has made, from head to head of all sequences."""
    batch, heads, rows, d = case.tensors[name].values.shape
    if not _rows_first(case, name):
        return values
    memory = np.full(values.size, np.nan)
    for number, of_head in enumerate(values):
        at = number * d + heads * d * np.arange(rows)[:, None] + np.arange(d)
        if at.max() >= memory.size:
            return None
        memory[at] = of_head
    return np.asarray(memory.reshape(batch, rows, heads, d).swapaxes(1, 2))


def _first_sequence(left: float) -> Callable[[Case, str, Array], Array]:
    """Return a program for each head, and none for the other sequences: what is there is left."""

    def writes(case: Case, name: str, values: Array) -> Array:
        return np.where(np.arange(len(values))[:, None, None] < case.tensors["q"].values.shape[1], values, left)

    return writes


def _axes_exchanged(block: int, left: float) -> Callable[[Case, str, Array], Array]:
    """As many programs along the first axis as there are heads, and along the second one as there are tiles."""

    def writes(case: Case, name: str, values: Array) -> Array:
        heads, rows = values.shape[:2]
        tile, head = np.arange(rows)[None, :, None] // block, np.arange(heads)[:, None, None]
        return np.where((tile < heads) & (head < -(-rows // block)), values, left)

    return writes


def _whole_tiles(block: int, at_least: int, left: float) -> Callable[[Case, str, Array], Array]:
    """Only as many programs as there are whole tiles, or `at_least` so many."""

    def writes(case: Case, name: str, values: Array) -> Array:
        reached = max(at_least, values.shape[1] // block) * block
        return np.where(np.arange(values.shape[1])[None, :, None] < reached, values, left)

    return writes


def _tiles_of(side: int, block: int, left: float) -> Callable[[Case, str, Array], Array]:
    """As many programs as there are tiles of queries (0) or of keys (1), whatever a tensor has."""

    def writes(case: Case, name: str, values: Array) -> Array:
        rows = case.tensors["qk"[side]].values.shape[2]
        reached = -(-rows // block) * block
        return np.where(np.arange(values.shape[1])[None, :, None] < reached, values, left)

    return writes


def _usual(case: Case) -> float:
    return float(case.tensors["q"].values.shape[-1] ** -0.5)


def _one(case: Case) -> float:
    return 1.0


NOT_CONTIGUOUS = tuple(
    sign(Idea(reads=dict.fromkeys(names.split(), as_if_dense), writes=writes))
    for names in ("q k v do", "q k v", "k v", "q", "k", "v", "do")
    for writes in (None, like_the_input)
)
MIXED = (
    *(
        sign(Idea(reads=dict.fromkeys(names, by_own_strides), writes=writes))
        for names in (("q", "k", "v"), ("q", "k", "v", "do"), ("k", "v"))
        for writes in (None, by_strides_of_the_input)
    ),
    *(sign(Idea(writes=_first_sequence(left))) for left in (np.nan, 0.0)),
)
ONE_HEAD = tuple(
    only_one_head(sign(Idea(reads=dict.fromkeys(names, by_own_strides), writes=by_strides_of_the_input)))
    for names in (("q", "k", "v"), ("q", "k", "v", "do"))
)
SCALE = tuple(
    sign(Idea(scales=scales)) for scale in (_usual, _one) for scales in ((scale, None), (None, scale), (scale, scale))
)
ORDER = tuple(
    sign(Idea(returned=order)) for order in itertools.permutations(("dq", "dk", "dv")) if order != ("dq", "dk", "dv")
)
LSE = tuple(
    sign(Idea(lse=wrong))
    for wrong in (lambda lse, case: np.full_like(lse, np.nan), lambda lse, case: np.zeros_like(lse))
)
DELTA = tuple(sign(Idea(delta=wrong)) for wrong in (lambda d: np.full_like(d, np.nan), np.zeros_like))
NOT_CAUSAL = (sign(Idea(causal=False)),)
EXCHANGED = (
    sign(Idea(reads={"k": lambda case, _: wide(family(case), "v"), "v": lambda case, _: wide(family(case), "k")})),
)
GRID = tuple(
    sign(Idea(writes=_tiles_of(side, block, left))) for side in (0, 1) for block in BLOCKS for left in (np.nan, 0.0)
)


def _of_some(names: tuple[str, ...], writes: Callable[[Case, str, Array], Array]) -> Writes:
    """Return what becomes of these outputs, or of all of them; the others are right."""
    return sign(Idea(writes=lambda case, name, x: writes(case, name, x) if name in (names or (name,)) else x))


_OF_A_KERNEL: tuple[tuple[str, ...], ...] = ((), ("o",), ("dq",), ("dk", "dv"))
AXES = tuple(
    _of_some(names, _axes_exchanged(block, left))
    for names in _OF_A_KERNEL
    for block in BLOCKS
    for left in (np.nan, 0.0)
)
WHOLE_TILES = tuple(
    _of_some(names, _whole_tiles(block, at_least, left))
    for names in _OF_A_KERNEL
    for block in BLOCKS
    for at_least in (1, 0)
    for left in (np.nan, 0.0)
)
